"""The page of a run of probes: one self-contained HTML file."""

import math
from collections.abc import Sequence

from markupsafe import Markup

from headroles.records.findings import DECISIONS, Labelling
from headroles.reports.answer.probes import answer_of
from headroles.reports.embedded import files_json, files_of, findings_json, manifest_json
from headroles.reports.figures.panel import Panel
from headroles.reports.framed import for_papers, framed_page
from headroles.reports.label_figures import figures
from headroles.reports.label_report import verdict_sheet
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
)
from headroles.reports.marks import Figure, plotly_json
from headroles.reports.sections.probes import Section, section
from headroles.reports.summary import summarise
from headroles.reports.words.probes import OUTCOMES, PUBLISHED, glossary, row_title, split_row

SCRIPTS = (
    "shared/files.js", "shared/table.js", "shared/sheets.js", SCRIPT,
)  # fmt: skip
STYLES = (STYLE, "probes/probes.css")
FIGURES = ("layers", "means")
"""Figures of all heads, in folds; not where there are too many rows to tell apart."""
WORDS = [*(OUTCOMES.get(name, name) for name in DECISIONS), "contrast"]
"""Decisions about heads in the words of probes, by code."""
RIGHT = "{mean}; baseline {null}"
"""Template of the accuracy of a head."""
MOST = 12
"""Largest number of maps in a row; of more, the best heads have one."""


def probes_page(labelling: Labelling) -> str:
    """Return the report of a run of probes: one HTML file that requests nothing.

    The same labelling gives the same text, byte for byte.

    Args:
        labelling: Of a run with probes.
    """
    summary, probes = summarise(labelling), section(labelling)
    assert probes is not None
    files, maps = files_of(labelling), probe_maps(labelling)
    return framed_page(
        "probes/page.html",
        STYLES,
        SCRIPTS,
        summary=summary,
        account=summary.account,
        answer=answer_of(labelling),
        sections=_sections(probes),
        probes=probes,
        maps=maps,
        head_maps=head_maps([maps] if maps.maps else [], _panel(maps.maps)),
        verdicts=verdict_sheet(summary) if summary.roles else None,
        panels=[_panel_of(figure) for figure in figures(summary) if figure.key in FIGURES]
        if not summary.many
        else [],
        glossary=glossary(labelling.decision, probes.beyond),
        told_published=PUBLISHED,
        files=tuple(files),
        skipped=summary.skipped,
        findings=Markup(findings_json(summary, labelling.manifest.get("model"), words=WORDS)),
        embedded=Markup(files_json(files)),
        manifest=Markup(manifest_json(labelling.manifest)),
        **for_papers(labelling),
    )


def _panel_of(drawn: Figure) -> Panel:
    """Return a figure with its table."""
    sheet = drawn.sheet
    assert sheet is not None
    words = (drawn.key, drawn.title, drawn.sentence, drawn.caption)
    return Panel(*words, plotly_json(drawn), sheet.header, sheet.texts)


def probe_maps(labelling: Labelling) -> HeadMaps:
    """Return a map per row and direction that every head was tested in, and which stand on the page at first.

    At first stand the columns in which some head beats the baseline by itself, the best first; at most
    ``MOST``, and the largest column where there is none.
    """
    findings, probed = labelling.findings, labelling.probed
    gain = {
        f"{row.row}:{row.direction}" if row.direction else row.row: row.difference
        for row in (probed.best if probed else ())
        if not math.isnan(row.difference)
    }
    columns = [(name, findings.of(name)) for name in findings.roles]
    heads = [int((findings.decision[column] == DECISIONS.index("role")).sum()) for _, column in columns]
    order = sorted(
        (place for place, count in enumerate(heads) if count),
        key=lambda place: (-gain.get(columns[place][0], -1.0), -heads[place]),
    )
    first = set(order[:MOST]) or {0}
    return HeadMaps(
        id="probe-maps",
        maps=[
            HeadMap(
                name=name, title=_title(name), note=f"{count} beyond", column=column, shade=MEAN,
                largest=largest_of(findings.mean[column]), hidden=place not in first, percent=True,
                lines=("{head} · {title}", f"right {RIGHT}", "{word}"),
            )
            for place, ((name, column), count) in enumerate(zip(columns, heads, strict=True))
        ],
        first="rows with a head beyond its baseline",
        key=(("•", "beyond the baseline"), ("▨", "undetermined")),
        caption="Every head by itself, on all units; the stronger the shade, the more often it is right. "
        "Every map has a scale of its own. →: the word attends; ←: it is attended to.",
    )  # fmt: skip


def _title(name: str) -> str:
    """Return a column of the findings in words, with its own name."""
    row, direction = _column_parts(name)
    label = split_row(row)[1] + (f" {direction}" if direction else "")
    title = row_title(row, direction)
    return title if title == label else f"{title} ({label})"


def _panel(maps: Sequence[HeadMap]) -> HeadPanel:
    """Return the panel of a head: the rows that it gets beyond their baseline first, then by accuracy."""
    return HeadPanel(
        rows=[
            Told(title=map.title, column=map.column, percent=True, lines=(RIGHT, "{word}")) for map in maps
        ],
        sentence="Beyond the baseline in {held} of "
        f"{len(maps)} rows and directions, each tested by itself.",
        ranked=True,
    )


def _column_parts(name: str) -> tuple[str, str]:
    """Return row and direction of a column of the findings."""
    direction = name[-1] if name.endswith((":→", ":←")) else ""
    return name.removesuffix(f":{direction}") if direction else name, direction


def _sections(probes: Section) -> list[tuple[str, str]]:
    """Return id and label of every section of the page."""
    known = [
        ("profiles", "Heads", True), ("probes", "Best heads", bool(probes.blocks)),
        ("trained", "Trained probes", probes.trained is not None), ("gaps", "Conditions", bool(probes.gaps)),
        ("verdicts", "How sure", True), ("findings", "All numbers", True), ("methods", "Methods", True),
    ]  # fmt: skip
    return [("answer", "Answer"), *((key, label) for key, label, drawn in known if drawn)]
