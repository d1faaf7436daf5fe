"""The page of a run that takes heads out: one self-contained HTML file."""

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Int
from markupsafe import Markup

from headroles.records.causal.ablation import VERDICTS, Ablation
from headroles.records.findings import Labelling
from headroles.records.roles import looks_of, phrase_of
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
    FAMILIES,
    MARKS,
    NEEDED,
    NEGLIGIBLE,
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
from headroles.reports.print.captions import decision_sentence, inputs_text, units_of
from headroles.reports.records import Account
from headroles.reports.summary.account import with_values
from headroles.reports.summary.embedded import findings_json, manifest_json, script_json
from headroles.reports.summary.summary import summarise

SCRIPTS = (
    "heads/maps.js", "heads/verdicts.js", "causal/columns.js", "shared/files.js", "shared/table.js",
    "shared/sheets.js", "causal/maps.js",
)  # fmt: skip
STYLES = ("heads/maps.css", "probes/probes.css", "causal/causal.css")
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
    data = _data(labelling)
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
        map_titles=_map_titles(data),
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
        findings=Markup(findings_json(summary, labelling.manifest.get("model"))),
        ablation=Markup(script_json(json.dumps(data, separators=(",", ":"), ensure_ascii=False))),
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


def _data(labelling: Labelling) -> dict[str, Any]:
    """Return what the maps and the panel of a head show: verdicts of all arms, and the heads of all roles."""
    ablated, findings = ablation_of(labelling), labelling.findings
    damage, held, main = ablated.damage, ablated.held, arm_of(labelling)
    arms = [main, *(arm for arm in damage.arms if arm != main)]
    heads = [(int(layer), int(head)) for layer, head in _places(findings.count.shape[1:])]
    roles = [role for role in held.roles if held.heads(role).any()] if held else []
    return {
        "verdicts": VERDICTS,
        "marks": MARKS,
        "columns": [_column_title(name) for name in findings.sieves],
        "units": [unit_of(labelling, name).strip() if name != "norm" else "" for name in findings.sieves],
        "arms": [
            {
                "column": findings.of(arm),
                "name": arm,
                "title": arm_name(arm),
                "map": "Verdicts" if arm == main else f"Verdicts ({arm_name(arm)})",
                "note": _note(labelling, arm),
                "threshold": float(damage.threshold[damage.of(arm)]),
                "codes": "".join(map(str, damage.verdict[damage.of(arm)].ravel().tolist())),
            }
            for arm in arms
        ],
        "roles": _roles(labelling, roles),
        "sentences": [head_sentence(labelling, *place) for place in heads]
        if len(heads) <= MOST_SENTENCES
        else [],
    }


def _map_titles(data: Mapping[str, Any]) -> list[str]:
    """Return the titles of all maps in the order of the page's script."""
    first, *others = [arm["map"] for arm in data["arms"]]
    return [first, "Damage", *(role["title"] for role in data["roles"]), *others]


def _places(shape: Sequence[int]) -> list[tuple[int, int]]:
    """Return layer and head of every head, layer by layer."""
    layers, heads = shape
    return [(layer, head) for layer in range(layers) for head in range(heads)]


def _column_title(name: str) -> str:
    """Return a column in words with a capital letter."""
    text = arm_name(name)
    return f"{text[:1].upper()}{text[1:]}"


def _note(labelling: Labelling, arm: str) -> str:
    """Return the count beside the title of a map."""
    return f"{verdict_counts(labelling, arm)[NEEDED]} needed"


def _roles(labelling: Labelling, roles: Sequence[str]) -> list[dict[str, Any]]:
    """Return title, heads and scores of the roles that a head holds."""
    ablated = ablation_of(labelling)
    held, damage = ablated.held, ablated.damage
    if held is None:
        return []
    codes = damage.verdict[damage.of(arm_of(labelling))]
    looks = dict(zip(held.roles, looks_of(held.roles), strict=True))
    return [
        {
            "name": role,
            "title": phrase_of(role).title,
            "tone": looks[role].tone,
            "heads": [int(cell) for cell in held.heads(role).ravel().nonzero()[0]],
            "note": _negligible(codes[held.heads(role)]),
            "score": [_rounded(score) for score in held.score[held.roles.index(role)].ravel().tolist()],
        }
        for role in roles
    ]


def _negligible(codes: Int[np.ndarray, " heads"]) -> str:
    """Return how many heads of a role are negligible."""
    return f"{int((codes == NEGLIGIBLE).sum())} of {codes.size} negligible"


def _rounded(score: float) -> float | None:
    """Return a score with three decimals; None for NaN, because JSON has none."""
    return None if math.isnan(score) else round(score, 3)
