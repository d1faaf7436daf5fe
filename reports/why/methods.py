"""Methods of a run that asks why heads attend where they do, as sentences for a paper."""

from collections.abc import Mapping

from headroles.records.causal.ablation import FEWEST_UNITS
from headroles.records.findings import Labelling
from headroles.records.numbers import isolate, join_names, plural
from headroles.reports.why.words import noun, origins_of, pairs

FIELLER, SELECTED = "Fieller, 1954", "Benjamini and Bogomolov, 2014"
HAAR, CONTRASTIVE = "Mezzadri, 2007", "Lee et al., 2026"
WORKS = (FIELLER, SELECTED, HAAR, CONTRASTIVE)
"""Works that the sentences cite, by their short references."""
NAMED = 16
"""Most roles that the sentences name."""
ROTATIONS = 9_999
"""Random rotations of every head, where the manifest does not say it."""


def origin_sentences(labelling: Labelling) -> list[str]:
    """Return how contrasts were decomposed, and how parts and removals were tested.

    Args:
        labelling: Of a run that asks where roles come from. What it does not record is left out.
    """
    origins = origins_of(labelling)
    products, held = origins.products, origins.held
    names = [isolate(role) for role in dict.fromkeys(products.roles)]
    some = [*names[:NAMED], *([plural(len(names) - NAMED, "other")] if len(names) > NAMED else [])]
    asked = f": {join_names(some)}" if some else ""
    knocked = len(origins.knocked.units) if origins.knocked is not None else 0
    removed = f", and scores without parts of queries on {plural(knocked, 'further unit')}" if knocked else ""
    return [
        f"We asked where {plural(len(products.roles), 'role')} of heads come from in queries and keys"
        f"{asked}.",
        f"Heads held these roles as decided on {plural(len(held.units), 'unit')}. Products of queries and "
        f"keys were measured on {plural(len(products.units), 'other unit')}{removed}.",
        "The contrast of a role is the mean logit of its cells minus that of the other visible keys, "
        "averaged over the queries that have both.",
        "It is the sum over dimensions of scaling × query × (mean key of the cells − mean key of the rest), "
        "without position bias.",
        *_vertical(labelling), *_dimensions(labelling), *_rotations(labelling), *_directions(labelling),
        *_removals(labelling),
    ]  # fmt: skip


def works_of_origins(labelling: Labelling) -> tuple[str, ...]:
    """Return the short references of the works that the sentences of a run cite."""
    text = " ".join(origin_sentences(labelling))
    return tuple(work for work in WORKS if work in text)


def _facts(labelling: Labelling) -> Mapping[str, object]:
    """Return the facts on products in the manifest."""
    facts = labelling.manifest.get("why")
    return facts if isinstance(facts, Mapping) else {}


def _vertical(labelling: Labelling) -> list[str]:
    """Return how the part that all queries share was tested."""
    references = _facts(labelling).get("references")
    number = references.get("inputs") if isinstance(references, Mapping) else 0
    drawn = f" over {number:,} inputs of other units" if isinstance(number, int) and number else ""
    return [
        f"The vertical part replaces every query by the head’s mean query{drawn}.",
        "The mean query has an error of its own, which all units share. It is part of every p value and "
        "interval of the vertical part, with Satterthwaite’s degrees of freedom.",
        "A role of a head is vertical if this part is significantly larger than the rest of the contrast, "
        "and by query if it is significantly smaller.",
        f"Both needed a contrast significantly above 0, {FEWEST_UNITS} units and as many for the mean query, "
        "and were corrected over all roles of heads together.",
        f"Intervals of the vertical share are those of Fieller for a ratio ({FIELLER}).",
    ]


def _dimensions(labelling: Labelling) -> list[str]:
    """Return how dimensions or frequency pairs were tested; [] without tests."""
    origins = origins_of(labelling)
    if not origins.dimensions:
        return []
    one = "frequency pair" if pairs(origins) else "dimension"
    level = float(origins.dimensions["level"][0])
    families = len(origins.products.roles)
    tested = round(labelling.decision.alpha * families / level) if level > 0 else 0
    of = f" = {labelling.decision.alpha:g} × {families:,} / {tested:,}" if tested else ""
    return [
        f"A {one} was found if its part of the contrast was significantly more than twice the fair share, "
        f"the contrast divided by {noun(origins, len({*origins.dimensions['dimension'].tolist()}))}.",
        f"These tests were corrected by the method of Benjamini and Hochberg within each role of a head, at "
        f"the level {level:.3g}{of}: alpha times the share of roles of heads that were selected "
        f"({SELECTED}).",
    ]


def _rotations(labelling: Labelling) -> list[str]:
    """Return how concentration on few neurons was tested; why not, where the basis is fixed."""
    origins = origins_of(labelling)
    if not origins.products.roles:
        return []
    if not origins.products.free.all():
        return [
            "Rotary positions fix the dimensions of a head, so concentration was not compared with random "
            "rotations."
        ]
    count = _facts(labelling).get("rotations")
    number = count if isinstance(count, int) else ROTATIONS
    return [
        "Concentration is the participation ratio of the mean parts, (Σ c²)² / Σ c⁴: 1 for a single "
        "dimension, all dimensions where all parts are equal.",
        f"It was compared with {number:,} random rotations of the head’s space by Haar measure ({HAAR}), "
        "which change no logit. P values were corrected over all roles of heads.",
    ]


def _directions(labelling: Labelling) -> list[str]:
    """Return how the directions of a role were counted; [] without re-deals."""
    redeals = origins_of(labelling).products.redealt.shape[1]
    if not redeals:
        return []
    return [
        "Directions are singular vectors of the contrastive covariance, the mean of scaling × query × "
        f"(difference of mean keys)ᵀ ({CONTRASTIVE}).",
        "A re-deal moves the cells by chance to other queries at the same offsets.",
        f"A direction counts if its singular value lies above the 95\u00a0% point of the largest one over "
        f"{redeals:,} re-deals. This is no test where many queries share a key, as with special tokens: any "
        "shared key has such a direction.",
    ]


def _removals(labelling: Labelling) -> list[str]:
    """Return how scores after removals were tested; [] without removals."""
    if not origins_of(labelling).knockouts:
        return []
    return [
        "Found dimensions were removed from the queries of a head, and in another pass the directions of a "
        "role. Attention was computed and scored again.",
        "The mean score after a removal was tested against the threshold of the role in both directions: "
        "“falls” below it, “holds” above it.",
        "These tests were corrected over all removals of the same kind, separately for the role itself and "
        "for other roles of the head.",
    ]


def sure_sentences(labelling: Labelling) -> tuple[str, ...]:
    """Return the conditions under which the verdicts of the page hold, one sentence each.

    Args:
        labelling: Of a run that asks where roles come from.
    """
    origins = origins_of(labelling)
    sentences = [
        f"Units are split into groups that never overlap: {plural(len(origins.held.units), 'unit')} decided "
        f"the roles, {len(origins.products.units):,} measured where they come from"
        + (f", and {len(origins.knocked.units):,} the removals." if origins.knocked is not None else "."),
        f"Fewer than {FEWEST_UNITS} units decide nothing.",
        "A vertical part says what the mean query does. It does not say where in the model the key got it.",
    ]
    if origins.products.redealt.shape[1]:
        sentences.append(
            "The number of directions is no test where many queries share a key, as with special tokens: any "
            "shared key has such a direction. What their removal does is tested."
        )
    if origins.products.free.all():
        sentences.append(
            "Dimensions of a head have no meaning of their own: any rotation gives the same attention. So a "
            "found dimension is a neuron of the role only where rotations spread the contrast more. Even "
            "then, dimensions of unequal scale are enough: they concentrate all roles of a head alike."
        )
    else:
        sentences.append(
            "Rotary positions turn dimensions in pairs, so a pair is what can carry a role. Random rotations "
            "of the space would change the attention."
        )
    if origins.knockouts:
        sentences.append(
            "A removal changes one head, and its own score. It says nothing about the output of the model."
        )
    return tuple(sentences)
