"""The page of a run that takes heads out: one self-contained HTML file."""

import math
from typing import Any

import numpy as np
from jaxtyping import Bool, Int
from markupsafe import Markup

from headroles.records.causal.ablation import VERDICTS, Ablation
from headroles.records.causal.columns import NORM
from headroles.records.findings import Labelling
from headroles.records.shown.phrases import phrase_of
from headroles.reports.causal.answer import answer_of, head_sentence
from headroles.reports.causal.figures import LOOKS, damage_panels, margins_panel, scores_panels, screen_panel
from headroles.reports.causal.forests import cells_panel, groups_panel, prediction_panel, sites_panel
from headroles.reports.causal.sheets import (
    arms_sheet,
    cells_sheet,
    damage_sheet,
    groups_sheet,
    roles_sheet,
    sites_sheet,
)
from headroles.reports.causal.words import (
    CELL_LOOKS,
    FAMILIES,
    INTERFERING,
    NEEDED,
    NEGLIGIBLE,
    UNDETERMINED,
    UNTESTABLE,
    ablation_of,
    arm_name,
    arm_of,
    glossary,
    threshold_text,
    unit_of,
    verdict_counts,
)
from headroles.reports.files import files_json, files_of
from headroles.reports.framed import for_papers, framed_page
from headroles.reports.maps import (
    MEAN,
    SCRIPT,
    STYLE,
    HeadMap,
    HeadMaps,
    HeadPanel,
    Told,
    head_maps,
    largest_of,
    short_number,
)
from headroles.reports.print.captions import decision_sentence, inputs_text, units_of
from headroles.reports.records import Account
from headroles.reports.summary.account import with_values
from headroles.reports.summary.embedded import findings_json, manifest_json
from headroles.reports.summary.summary import summarise

SCRIPTS = (
    "shared/files.js", "shared/table.js", "shared/sheets.js", SCRIPT,
)  # fmt: skip
STYLES = (STYLE, "probes/probes.css", "causal/causal.css")
KEY = (NEEDED, NEGLIGIBLE, INTERFERING, UNDETERMINED, UNTESTABLE)
"""Order of the verdicts in the key of the maps."""
MOST_ROWS = 2000
"""Rows of the table of damages that stand on the page; ``damage.csv`` has all."""
MOST_SENTENCES = 2000
"""Heads whose sentence the page holds."""


def ablation_page(labelling: Labelling) -> str:
    """Return the report of a run that takes heads out: one HTML file that requests nothing.

    The same labelling gives the same text, byte for byte. Text from data is escaped everywhere, and
    the page's own policy lets only its own scripts run.

    Args:
        labelling: With ``ablated``.

    Returns:
        A complete HTML document.
    """
    summary, ablated, files = summarise(labelling), ablation_of(labelling), files_of(labelling)
    first, *others = damage_panels(labelling)
    maps = _maps(labelling)
    sites, cells = sites_panel(labelling), cells_panel(labelling)
    damages, screened = damage_sheet(labelling), screen_panel(labelling)
    return framed_page(
        "causal/page.html",
        STYLES,
        SCRIPTS,
        account=_account(summary.account, labelling),
        answer=answer_of(labelling),
        sections=_sections(ablated, bool(sites or cells)),
        looks=[(code, *LOOKS[code], VERDICTS[code]) for code in LOOKS],
        maps=maps,
        head_maps=head_maps([maps], _panel(labelling)),
        arms=arms_sheet(labelling),
        damage=first,
        other_damages=[*others, *([screened] if screened else [])],
        damages=damages if len(damages.rows) <= MOST_ROWS else None,
        prediction=prediction_panel(labelling),
        scores=scores_panels(labelling),
        layers=labelling.scores.stack.numbers,
        roles=roles_sheet(labelling),
        sites=sites,
        site_table=sites_sheet(labelling),
        cells=cells,
        cell_table=cells_sheet(labelling),
        groups=groups_panel(labelling),
        group_table=groups_sheet(labelling),
        margins=margins_panel(labelling),
        glossary=glossary(labelling),
        precision=bool(summary.table.precision),
        skipped=labelling.skipped,
        files=tuple(files),
        embedded=Markup(files_json(files)),
        findings=Markup(findings_json(summary, labelling.manifest.get("model"), **_terms(labelling))),
        manifest=Markup(manifest_json(labelling.manifest)),
        **for_papers(labelling)
        | {"numbers_caption": _caption(labelling)},
    )  # fmt: skip


def _caption(labelling: Labelling) -> str:
    """Return the caption of the table of all numbers, as it is copied."""
    note = decision_sentence(labelling.decision, units_of(labelling), FAMILIES)
    return f"Damage of heads{inputs_text(labelling.manifest)}. {note}"


def _sections(ablated: Ablation, where: bool) -> list[tuple[str, str]]:
    """Return id and label of every section of the page."""
    known = [
        ("answer", "Answer", True), ("profiles", "Heads", True), ("damage", "Damage", True),
        ("roles", "Which heads", bool(ablated.held)),
        ("sites", "Where", where),
        ("groups", "Together", bool(ablated.groups)), ("verdicts", "How sure", True),
        ("findings", "All numbers", True), ("methods", "Methods", True),
    ]  # fmt: skip
    return [(key, label) for key, label, drawn in known if drawn]


def _account(account: Account, labelling: Labelling) -> Account:
    """Return what was run, in the words of damage."""
    arms = ablation_of(labelling).damage.arms
    texts = {
        "alpha": f"{labelling.decision.alpha:g}, for every verdict by itself",
        "family": FAMILIES.get(labelling.decision.family, labelling.decision.family),
        "margin": "; ".join(f"{threshold_text(labelling, arm)}: {arm_name(arm)}" for arm in arms),
    }
    return with_values(account, texts)


def _terms(labelling: Labelling) -> dict[str, Any]:
    """Return how the table of all numbers writes damages, with the verdicts of the arms as decisions.

    Damages can be far below a thousandth: three digits then show what three decimals would not.
    """
    damage, findings = ablation_of(labelling).damage, labelling.findings
    return {
        "verdicts": [(findings.of(arm), damage.verdict[damage.of(arm)]) for arm in damage.arms],
        "words": [*VERDICTS, "not tested"],
        "fine": ["mean", "null", "low", "high", "margin", "mean_low", "mean_high"],
        "noun": "column",
        "first": arm_of(labelling),
    }


def _arms(labelling: Labelling) -> list[str]:
    """Return the arms, that of the answer first."""
    main = arm_of(labelling)
    return [main, *(arm for arm in ablation_of(labelling).damage.arms if arm != main)]


def _damage(labelling: Labelling, column: str) -> str:
    """Return the template of a number of a column with its unit."""
    unit = unit_of(labelling, column) if column != NORM else ""
    return f"{{|mean|{unit}}}" if unit else "{mean}"


def _maps(labelling: Labelling) -> HeadMaps:
    """Return a map of verdicts per arm, one of the damage, and one per role with verdicts of its heads."""
    ablated, findings, (main, *others) = ablation_of(labelling), labelling.findings, _arms(labelling)
    column, text = findings.of(main), f"damage {_damage(labelling, main)}"
    damages = findings.mean[column]
    ends = (
        [short_number(float(end(damages))) for end in (np.nanmin, np.nanmax)]
        if np.isfinite(damages).any()
        else []
    )
    codes = ablated.damage.verdict[ablated.damage.of(main)]

    def verdicts(arm: str, title: str, hidden: bool = False) -> HeadMap:
        return HeadMap(
            name=arm, title=title, note=f"{verdict_counts(labelling, arm)[NEEDED]} needed",
            column=findings.of(arm), looks=CELL_LOOKS, hidden=hidden,
            lines=("{head} · {title}", f"damage {_damage(labelling, arm)}", "{word}"),
        )  # fmt: skip

    roles = [
        HeadMap(
            name=role, title=phrase_of(role).title, note=_negligible(codes[held.heads(role)]), column=column,
            looks=CELL_LOOKS, heads=_heads(held.heads(role)),
            lines=("{head} · {title}", text, "{word}; holds the role"),
            outside=("{head} · {title}", text, "{word}; does not hold the role"),
        )
        for held in [ablated.held] if held
        for role in _held_roles(labelling)
    ]  # fmt: skip
    damage = HeadMap(
        name="damage", title="Damage", note=" to ".join(ends), column=column, shade=MEAN, looks=(),
        largest=largest_of(damages), lines=("{head} · {title}", text, "{word}"),
    )  # fmt: skip
    return HeadMaps(
        id="ablation-maps",
        maps=[
            verdicts(main, "Verdicts"), damage, *roles,
            *(verdicts(arm, f"Verdicts ({arm_name(arm)})", hidden=True) for arm in others),
        ],
        first="verdicts, damage and all roles",
        key=[(CELL_LOOKS[code].mark or "▨", VERDICTS[code]) for code in KEY],
        caption="The map of a role shows the verdicts of the heads that hold it; the other heads stay empty. "
        "In the map of damage, darker is more.",
    )  # fmt: skip


def _panel(labelling: Labelling) -> HeadPanel:
    """Return the panel of a head: its damage by every arm, its scores of roles, and the other columns."""
    findings, held, arms = labelling.findings, ablation_of(labelling).held, _arms(labelling)
    of_arms = [
        Told(title=arm_name(arm), column=findings.of(arm), lines=(_damage(labelling, arm), "{word}"))
        for arm in arms
    ]
    of_roles = [
        Told(
            title=f"score: {phrase_of(role).title}", heads=_heads(held.heads(role)),
            values={"score": ["–" if math.isnan(score) else f"{score:z.3f}" for score in scores]},
            lines=("{score}", "role"), outside=("{score}", "–"),
        )
        for role in _held_roles(labelling) if held
        for scores in [held.score[held.roles.index(role)].ravel().tolist()]
    ]  # fmt: skip
    others = [
        Told(
            title=_column_title(name),
            column=findings.of(name),
            plain=True,
            lines=(_damage(labelling, name), "–"),
        )
        for name in findings.sieves
        if name not in arms
    ]
    places = [divmod(cell, findings.count.shape[2]) for cell in range(findings.count[0].size)]
    return HeadPanel(
        rows=[*of_arms, *of_roles, *others],
        sentences=[head_sentence(labelling, *place) for place in places]
        if len(places) <= MOST_SENTENCES
        else (),
        sentence="Damage with its 95 % interval, and the verdict.",
    )


def _held_roles(labelling: Labelling) -> list[str]:
    """Return the roles that a head holds."""
    held = ablation_of(labelling).held
    return [role for role in held.roles if held.heads(role).any()] if held else []


def _heads(chosen: Bool[np.ndarray, "layers heads"]) -> list[int]:
    """Return the numbers of the chosen heads, counted layer by layer."""
    return np.flatnonzero(chosen).tolist()


def _column_title(name: str) -> str:
    """Return a column in words with a capital letter."""
    text = arm_name(name)
    return f"{text[:1].upper()}{text[1:]}"


def _negligible(codes: Int[np.ndarray, " heads"]) -> str:
    """Return how many heads of a role are negligible."""
    return f"{int((codes == NEGLIGIBLE).sum())} of {codes.size} negligible"
