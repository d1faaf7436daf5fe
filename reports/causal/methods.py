"""Methods of a run that takes heads out, as sentences for a paper."""

from collections.abc import Mapping, Sequence

from headroles.records.causal.ablation import ENOUGH_FOR_LITTLE, FEWEST_UNITS
from headroles.records.causal.columns import EVEN, WHOLE, Column, arm_name, parse_column
from headroles.records.findings import Labelling
from headroles.records.numbers import isolate, join_names, plural
from headroles.reports.ablate import Measured

PUT = {
    "mean": "its mean over other inputs",
    "zero": "zero",
    "resample": "its output on other inputs",
}
"""What replaces the output of a head."""
WORKS = ("Michel et al., 2019", "Voita et al., 2019", "Schuirmann, 1987")
"""Works that the sentences cite, by their short references."""
NAMED = 16
"""Most roles that the sentences name."""


def ablation_sentences(labelling: Labelling) -> list[str]:
    """Return what was taken out, what damage is, its threshold, and how roles were tested.

    Args:
        labelling: Of a run that takes heads out. What it does not record is left out.
    """
    measured = Measured(labelling)
    ablated = measured.ablated
    arms = [parse_column(arm) for arm in ablated.damage.arms]
    names = ablated.damage.arms
    firsts = dict(zip((arm.outcome for arm in arms[::-1]), names[::-1], strict=True)).values()
    facts = labelling.manifest.get("ablation")
    facts = facts if isinstance(facts, Mapping) else {}
    sentences = [
        f"We took out one head at a time (Michel et al., 2019; Voita et al., 2019): {_acts(arms)}.",
    ]
    if any(arm.what == "mean" for arm in arms):
        references = facts.get("references")
        number = references.get("inputs") if isinstance(references, Mapping) else None
        drawn = f" of {number:,} inputs" if isinstance(number, int) else " of other inputs"
        sentences.append(
            f"Means are those{drawn}, by class of token (first, special, other), and cross-fitted over units."
        )
    sentences.append(f"Damage is the {join_names([measured.measure(arm) for arm in [*firsts][::-1]])}.")
    limits = [f"{measured.threshold(arm)} for {arm_name(arm)}" for arm in ablated.damage.arms]
    sentences += [
        f"The smallest damage that counts was {join_names(limits)}.",
        "A head is needed if its damage lies significantly above this threshold, interfering if it lies "
        "below minus the threshold, and negligible if two one-sided tests show it within both "
        "(Schuirmann, 1987).",
        "Each must hold with three more units at the value that speaks most against it: of the head for "
        "“negligible”, and of any head of the layer for the others. Where the threshold is a share of the "
        "loss, the tests carry its error.",
        f"“Negligible” and “interfering” need {ENOUGH_FOR_LITTLE} units. Below {FEWEST_UNITS} units nothing "
        f"was decided.",
    ]
    return [*sentences, *_roles(measured)]


def _acts(arms: Sequence[Column]) -> str:
    """Return what was done to a head, in the past."""
    what = [name for name in WHOLE if any(arm.what == name for arm in arms)]
    outputs = [PUT[name] for name in what if name in PUT]
    parts = [f"its output was replaced by {', or by '.join(outputs)}"] * bool(outputs)
    parts += ["its attention was replaced by even attention"] * (EVEN in what)
    return ", or ".join(parts)


def _roles(measured: Measured) -> list[str]:
    """Return how the roles of a label run were held and tested; [] without one."""
    ablated = measured.ablated
    held = ablated.held
    if held is None:
        return []
    names = [isolate(role) for role in held.roles[:NAMED]]
    rest = len(held.roles) - NAMED
    sentences = [
        f"Heads held {join_names([*names, plural(rest, 'other')] if rest > 0 else names)} as decided on "
        f"{plural(len(held.units), 'unit')} of a label run, and damage of roles was measured on other units.",
    ]
    if ablated.roles:
        sentences.append(
            "For every role, the area under the curve between holding it and damage was computed over the "
            "heads of each layer in every unit, and its mean over units was tested against 0.5 in both "
            "directions. More or less damage had to be rarer among random labels of as many heads in each "
            "layer, too."
        )
    if ablated.sites:
        sentences.append(
            "At the sites of a role, the damage of its heads was compared with that at other tokens of like "
            "loss and position, and with that of heads of the layer without the role, scaled to the mean "
            "damage of the head; both had to be larger."
        )
    if ablated.cells:
        sentences.append(
            "Attention on the cells of a role was removed and compared with removing the same mass from "
            "other cells at the same offsets."
        )
    groups = measured.rows(ablated.groups)
    if len(groups):
        sentences.append(
            f"All heads of a role were taken out together and compared with {groups['sets'][0]} random sets "
            "of as many heads in each layer and in each half of its norms, beyond the line of damage by norm."
        )
    return sentences
