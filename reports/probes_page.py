"""The page of a run of probes: one self-contained HTML file."""

import json
import math
from typing import Any

from markupsafe import Markup

from headroles.records.findings import DECISIONS, Labelling
from headroles.reports.answer.probes import answer_of
from headroles.reports.embedded import files_json, files_of, findings_json, manifest_json, script_json
from headroles.reports.framed import for_papers, framed_page
from headroles.reports.label_figures import figures
from headroles.reports.sections.probes import Section, section
from headroles.reports.sections.role_sheets import verdict_sheet
from headroles.reports.summary import summarise
from headroles.reports.words.probes import OUTCOMES, PUBLISHED, glossary, row_title, split_row

SCRIPTS = (
    "heads/maps.js", "probes/names.js", "shared/files.js", "shared/table.js", "shared/sheets.js",
    "probes/maps.js",
)  # fmt: skip
STYLES = (
    "heads/maps.css",
    "probes/probes.css",
)
FIGURES = ("layers", "means")
"""Figures of all heads, in folds; not where there are too many rows to tell apart."""
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
        choices=[entry["title"] for entry in maps],
        verdicts=verdict_sheet(summary) if summary.roles else None,
        panels=[panel for panel in figures(summary) if panel.key in FIGURES and not summary.many],
        glossary=glossary(labelling.decision, probes.beyond),
        told_published=PUBLISHED,
        files=tuple(files),
        skipped=summary.skipped,
        findings=Markup(findings_json(summary, labelling.manifest.get("model"))),
        names=Markup(script_json(json.dumps({"maps": maps, "decided": _decided()}, ensure_ascii=False))),
        embedded=Markup(files_json(files)),
        manifest=Markup(manifest_json(labelling.manifest)),
        **for_papers(labelling),
    )


def probe_maps(labelling: Labelling) -> list[dict[str, Any]]:
    """Return title, column and number of beating heads of every map, and which stand on the page at first.

    At first stand the columns in which some head beats the baseline by itself, the best first; at most
    ``MOST``, and the largest column where there is none.
    """
    findings, probed = labelling.findings, labelling.probed
    gain = {
        f"{row.row}:{row.direction}" if row.direction else row.row: row.difference
        for row in (probed.best if probed else ())
        if not math.isnan(row.difference)
    }
    maps: list[dict[str, Any]] = []
    for name in findings.roles:
        row, direction = _column_parts(name)
        decided = findings.decision[findings.of(name)]
        heads = int((decided == DECISIONS.index("role")).sum())
        label = split_row(row)[1] + (f" {direction}" if direction else "")
        title = row_title(row, direction)
        full = title if title == label else f"{title} ({label})"
        maps.append({"name": name, "sieve": findings.of(name), "title": full, "heads": heads})
    order = sorted(
        (place for place, entry in enumerate(maps) if entry["heads"]),
        key=lambda place: (-gain.get(maps[place]["name"], -1.0), -maps[place]["heads"]),
    )
    shown = set(order[:MOST]) or ({0} if maps else set())
    return [entry | {"shown": place in shown} for place, entry in enumerate(maps)]


def _column_parts(name: str) -> tuple[str, str]:
    """Return row and direction of a column of the findings."""
    direction = name[-1] if name.endswith((":→", ":←")) else ""
    return name.removesuffix(f":{direction}") if direction else name, direction


def _decided() -> list[str]:
    """Return the decisions about heads in the words of probes, by code."""
    return [OUTCOMES.get(name, name) for name in DECISIONS]


def _sections(probes: Section) -> list[tuple[str, str]]:
    """Return id and label of every section of the page."""
    known = [
        ("profiles", "Heads", True), ("probes", "Best heads", bool(probes.blocks)),
        ("trained", "Trained probes", probes.trained is not None), ("gaps", "Conditions", bool(probes.gaps)),
        ("verdicts", "How sure", True), ("findings", "All numbers", True), ("methods", "Methods", True),
    ]  # fmt: skip
    return [("answer", "Answer"), *((key, label) for key, label, drawn in known if drawn)]
