"""The page of a run: one self-contained HTML file, by the kind of run."""

from typing import Any

import numpy as np
from markupsafe import Markup

from headroles.kinds import kind_of
from headroles.records.findings import Labelling
from headroles.records.numbers import plural
from headroles.records.shown.controls import explained_list
from headroles.records.shown.looks import family_of, parts_of, tone_of, without_wholes
from headroles.records.shown.phrases import phrase_of
from headroles.reports.answer.label import answer_of
from headroles.reports.figures.run import figures
from headroles.reports.files import files_json, files_of
from headroles.reports.framed import for_papers, framed_page
from headroles.reports.maps import BEYOND, SCRIPT, STYLE, CellLook, HeadMap, HeadMaps, head_maps, largest_of
from headroles.reports.records import Role, Summary
from headroles.reports.sections.calibration import calibration_note
from headroles.reports.sections.head_cards import PANEL_SCRIPTS, PANEL_STYLES, cards_json, cards_of
from headroles.reports.sections.role_sheets import HEADER, depth_rows, values_sheet, verdict_sheet
from headroles.reports.summary.embedded import findings_json, manifest_json
from headroles.reports.summary.pairs import (
    MOST_SENTENCES,
    expected_text,
    notable_pairs,
    pair_sentence,
    pairs_of,
)
from headroles.reports.summary.summary import summarise
from headroles.reports.summary.verdicts import support_sentence
from headroles.reports.words.glossary import glossary

SCRIPTS = (
    SCRIPT, "page/matrix.js", "shared/files.js", "shared/table.js", "shared/sheets.js",
    *PANEL_SCRIPTS, "page/heads.js",
)  # fmt: skip
STYLES = (STYLE, "page/page.css", "probes/probes.css", *PANEL_STYLES)

MOST_NAMED = 12
"""Heads with a role that the label of its map names."""
SECTIONS = (
    ("answer", "Answer"), ("heads", "Heads"), ("sure", "How sure"), ("depth", "Depth"),
    ("together", "Overlap"), ("findings", "All numbers"), ("methods", "Methods"),
)  # fmt: skip
"""Sections of the rail, by their ids."""


def page(labelling: Labelling) -> str:
    """Return the report of a run of roles: one HTML file that requests nothing.

    The same labelling gives the same text, byte for byte. Text from data is escaped everywhere,
    and the page's own policy lets only its own scripts run.

    Args:
        labelling: The result of a run.

    Returns:
        A complete HTML document.
    """
    summary = summarise(labelling)
    return framed_page(
        "page/page.html",
        STYLES,
        SCRIPTS,
        summary=summary,
        answer=answer_of(summary),
        sections=SECTIONS,
        panels={panel.key: panel for panel in figures(summary)},
        glossary=glossary(summary),
        head_maps=head_maps([_maps(summary)]),
        titles=[phrase_of(role.sieve).title for role in summary.roles],
        wholes=list(parts_of([role.sieve for role in summary.roles])),
        supports=[
            (role.sieve, support_sentence(firmness, bool(role.contrast)))
            for role, firmness in zip(summary.roles, summary.supports, strict=False)
        ],
        verdict_sheet=verdict_sheet(summary),
        values_sheet=values_sheet(summary, summary.assessment.drops if summary.assessment else ()),
        depth=depth_rows(summary),
        calibration=calibration_note(summary),
        depth_header=HEADER,
        steady=_has_values(summary, "stability"),
        bayes=_has_values(summary, "bayes_factor"),
        marks=_marks(summary),
        verdict_words=explained_list(role.control for role in summary.roles),
        kinds_of_verdicts=_kinds_of_verdicts(summary),
        stronger=sorted({role.stronger for role in summary.roles if role.tally.strong}),
        slots=_slots(summary),
        **for_papers(labelling),
        **_embedded(labelling, summary),
        **_pairs(summary),
    )


def _maps(summary: Summary) -> HeadMaps:
    """Return a map per role that together fit the window; scores of the calibrated kind share one scale."""
    table, size = summary.table, summary.table.layers * summary.table.heads
    means = [
        table.of("mean", role.position) - np.nan_to_num(table.of("null", role.position))
        for role in summary.roles
    ]
    peaks = [largest_of(beyond) for beyond in means]
    peak = max(peaks, default=0.0)
    held = summary.held.reshape(len(summary.roles), size)
    drawn = without_wholes([role.sieve for role in summary.roles], summary.held).reshape(held.shape)
    maps = []
    for number, role in enumerate(summary.roles):
        strong, absent = summary.strong[number].ravel(), summary.absent[number].ravel()
        whole = held[number] & ~drawn[number]
        codes = np.select([whole & strong, whole, strong, absent], [7, 6, 5, 8], 0)
        names = [
            table.stack.name(*divmod(cell, table.heads)) for cell in np.flatnonzero(held[number]).tolist()
        ]
        count = plural(role.tally.role, "head")
        listed = count if role.tally.role > MOST_NAMED else ", ".join(names) or "no head"
        maps.append(
            HeadMap(
                name=role.sieve, title=phrase_of(role.sieve).title, note=count, column=role.position,
                shade=BEYOND, largest=peak if peak <= 1 else peaks[number], looks=_looks(role),
                codes={int(cell): int(codes[cell]) for cell in np.flatnonzero(codes)},
                tone=tone_of(family_of(role.sieve)),
                label=f"{phrase_of(role.sieve).title}: {listed}. Arrow keys move between heads.",
                lines=("{head} · {title}", "{mean |mean||no score}", "{word}"),
            )
        )  # fmt: skip
    order = range(len(maps))
    return HeadMaps(
        id="map-grid",
        maps=maps,
        order=sorted(order, key=lambda number: -summary.roles[number].tally.role)
        if summary.many
        else [*order],
        scale=f"darkest {peak:.2f}" if peak <= 1 else "darkest at the largest of each role",
    )


def _looks(role: Role) -> tuple[CellLook, ...]:
    """Return the looks of a role by code.

    After the decisions stand 5 for a strong role, 6 for a role that is marked where its part is, 7 for both,
    and 8 for a head that is shown not to have the role.
    """
    strong, weak = (
        (f"role, beyond {role.stronger}", f"role, beyond {role.control} only")
        if role.stronger
        else ("role", "role")
    )
    return (
        CellLook(weak, "•", framed=True), CellLook("not"), CellLook("undetermined", hatched=True),
        CellLook("untestable", "×"), CellLook(role.verdict, "~"), CellLook(strong, "•", framed=True),
        CellLook(weak, "⋄", framed=True), CellLook(strong, "⋄", framed=True), CellLook("not, absent"),
    )  # fmt: skip


def _embedded(labelling: Labelling, summary: Summary) -> dict[str, Any]:
    """Return what the page's scripts read and what a reader can download."""
    files = files_of(labelling)
    return {
        "findings": Markup(findings_json(summary, labelling.manifest.get("model"))),
        "cards": Markup(cards_json(cards_of(labelling, summary))),
        "files": tuple(files),
        "embedded": Markup(files_json(files)),
        "manifest": Markup(manifest_json(labelling.manifest)),
    }


def _pairs(summary: Summary) -> dict[str, Any]:
    """Return pairs of roles, and sentences about the notable ones."""
    return {
        "pairs": pairs_of(summary),
        "told": [pair_sentence(pair) for pair in notable_pairs(summary)[:MOST_SENTENCES]],
        "by_chance": expected_text,
    }


def _has_values(summary: Summary, column: str) -> bool:
    """Return whether a column of the run's assessment holds any value."""
    return bool((~np.isnan(summary.table.columns.get(column, np.array([])))).any())


def _kinds_of_verdicts(summary: Summary) -> frozenset[str]:
    """Return which of "explained" and "absent" the run tested."""
    kinds = {"explained": "contrast", "absent": "bounded"}
    return frozenset(
        kind for kind, field in kinds.items() if any(getattr(role, field) for role in summary.roles)
    )


def _marks(summary: Summary) -> tuple[tuple[tuple[Role, bool], ...], ...]:
    """Return the roles that every head holds, layer by layer, and whether each is a strong one."""
    shape = (len(summary.roles), summary.table.layers * summary.table.heads)
    cells = zip(summary.held.reshape(shape).T.tolist(), summary.strong.reshape(shape).T.tolist(), strict=True)
    return tuple(
        tuple(
            (role, strong)
            for role, holds, strong in zip(summary.roles, cell, strong_cell, strict=True)
            if holds
        )
        for cell, strong_cell in cells
    )


def _slots(summary: Summary) -> int:
    """Return how many marks stand side by side in a cell of the matrix."""
    largest = int(summary.held.sum(axis=0).max(initial=0))
    return 2 if largest <= 4 else 3 if largest <= 9 else 4


def page_of(labelling: Labelling) -> str:
    """Return the report of any run folder: one HTML file that requests nothing."""
    return kind_of(labelling).page(labelling)
