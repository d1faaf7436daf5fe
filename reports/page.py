"""The page of a run: one self-contained HTML file, by the kind of run."""

import numpy as np
from markupsafe import Markup

from headroles.kinds import kind_of
from headroles.records.assessment import VALUES
from headroles.records.findings import Labelling
from headroles.records.numbers import plural
from headroles.records.roles import explained_list, family_of, parts_of, phrase_of, tone_of, without_wholes
from headroles.reports.calibration import calibration_note
from headroles.reports.cards import PANEL_SCRIPTS, PANEL_STYLES, cards_json
from headroles.reports.embedded import files_json, files_of, findings_json, manifest_json
from headroles.reports.framed import for_papers, framed_page
from headroles.reports.label import (
    answer_of,
    expected_text,
    glossary,
    pair_sentences,
    pairs_of,
    support_sentence,
)
from headroles.reports.label_figures import figures
from headroles.reports.maps import BEYOND, SCRIPT, STYLE, CellLook, HeadMap, HeadMaps, head_maps, largest_of
from headroles.reports.sections.role_sheets import depth_sheet, values_table, verdict_sheet
from headroles.reports.summary import Role, Summary, summarise

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
    summary, files = summarise(labelling), files_of(labelling)
    roles, most = summary.roles, int(summary.held.sum(axis=0).max(initial=0))
    depth, drops = depth_sheet(summary), summary.assessment.drops if summary.assessment else VALUES
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
        titles=[phrase_of(name).title for name in summary.names],
        wholes=list(parts_of(summary.names)),
        supports=[
            (role.sieve, support_sentence(firmness, bool(role.contrast)))
            for role, firmness in zip(roles, summary.supports, strict=False)
        ],
        verdict_sheet=verdict_sheet(summary),
        values_sheet=values_table(summary, drops).sheet(),
        depth=depth.texts,
        calibration=calibration_note(summary),
        depth_header=depth.header,
        steady=_has_values(summary, "stability"),
        bayes=_has_values(summary, "bayes_factor"),
        marks=_marks(summary),
        verdict_words=explained_list(role.control for role in roles),
        kinds_of_verdicts=[
            kind
            for kind, tested in (
                ("explained", any(role.contrast for role in roles)),
                ("absent", any(role.bounded for role in roles)),
            )
            if tested
        ],
        stronger=sorted({role.stronger for role in roles if role.tally.strong}),
        slots=2 if most <= 4 else 3 if most <= 9 else 4,
        findings=Markup(findings_json(summary, labelling.manifest.get("model"))),
        cards=Markup(cards_json(labelling, summary)),
        files=tuple(files),
        embedded=Markup(files_json(files)),
        manifest=Markup(manifest_json(labelling.manifest)),
        pairs=pairs_of(summary),
        told=pair_sentences(summary),
        by_chance=expected_text,
        **for_papers(labelling),
    )


def _maps(summary: Summary) -> HeadMaps:
    """Return a map per role that together fit the window; scores of the calibrated kind share one scale."""
    size = summary.layers * summary.heads
    means = [
        summary.of("mean", role.position) - np.nan_to_num(summary.of("null", role.position))
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
            summary.stack.name(*divmod(cell, summary.heads)) for cell in np.flatnonzero(held[number]).tolist()
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


def _has_values(summary: Summary, column: str) -> bool:
    """Return whether a column of the run's assessment holds any value."""
    return bool((~np.isnan(summary.columns.get(column, np.array([])))).any())


def _marks(summary: Summary) -> list[list[tuple[Role, bool]]]:
    """Return the roles that every head holds, layer by layer, and whether each is a strong one."""
    shape = (len(summary.roles), summary.layers * summary.heads)
    held, strong = summary.held.reshape(shape), summary.strong.reshape(shape)
    return [
        [
            (summary.roles[place], bool(strong[place, cell]))
            for place in np.flatnonzero(held[:, cell]).tolist()
        ]
        for cell in range(shape[1])
    ]


def page_of(labelling: Labelling) -> str:
    """Return the report of any run folder: one HTML file that requests nothing."""
    return kind_of(labelling).page(labelling)
