"""The page of a run: one self-contained HTML file, by the kind of run."""

from typing import Any

import numpy as np
from markupsafe import Markup
from plotly.offline import get_plotlyjs

from headroles.kinds import kind_of
from headroles.records.findings import Labelling
from headroles.reports.document import environment, policy, template
from headroles.reports.figures.panel import Panel, SecondPlot
from headroles.reports.figures.run import figures
from headroles.reports.files import files_json, files_of
from headroles.reports.records import Role, Summary
from headroles.reports.sections import clusters
from headroles.reports.sections.calibration import calibration_note
from headroles.reports.sections.head_cards import cards_json, cards_of
from headroles.reports.sections.probes import section
from headroles.reports.sections.role_sheets import HEADER, depth_rows, verdict_sheet
from headroles.reports.summary.embedded import findings_json, manifest_json, script_json
from headroles.reports.summary.pairs import (
    MOST_SENTENCES,
    expected_text,
    notable_pairs,
    pair_sentence,
    pairs_of,
    published_overlap,
)
from headroles.reports.summary.summary import summarise
from headroles.reports.summary.verdicts import support_sentence
from headroles.reports.words import words
from headroles.reports.words.probes import PUBLISHED

SCRIPTS = (
    "shared/page.js", "shared/plots.js", "page/matrix.js", "shared/files.js", "shared/table.js",
    "shared/sheets.js", "clusters/clusters.js", "attention/attention.js", "attention/draw.js",
    "cards/spread.js", "cards/examples.js", "cards/cards.js",
)  # fmt: skip
STYLES = (
    "shared/page.css", "probes/probes.css", "clusters/clusters.css", "attention/attention.css",
    "cards/cards.css",
)  # fmt: skip


def page(labelling: Labelling) -> str:
    """Return the report of a run with roles, probes or clusters: one HTML file that requests nothing.

    The same labelling gives the same text, byte for byte. Text from data is escaped everywhere,
    and the page's own policy lets only its own scripts run.

    Args:
        labelling: The result of a run.

    Returns:
        A complete HTML document.
    """
    summary = summarise(labelling)
    scripts = [get_plotlyjs(), "\n".join(template(name) for name in SCRIPTS)]
    return environment().get_template("page/page.html").render(
        summary=summary,
        words=words,
        panels=figures(summary),
        style=Markup("\n".join(template(name) for name in STYLES)),
        scripts=[Markup(script) for script in scripts],
        policy=policy(scripts),
        plot=_plot,
        supports=_supports(summary),
        verdict_sheet=verdict_sheet(summary) if summary.many else None,
        depth=depth_rows(summary),
        calibration=calibration_note(summary),
        depth_header=HEADER,
        probes=section(labelling),
        clusters=clusters.section(labelling, summary),
        told_published=PUBLISHED,
        steady=_has_values(summary, "stability"),
        bayes=_has_values(summary, "bayes_factor"),
        marks=_marks(summary),
        kinds_of_verdicts=_kinds_of_verdicts(summary),
        stronger=sorted({role.stronger for role in summary.roles if role.tally.strong}),
        slots=_slots(summary),
        **_embedded(labelling, summary),
        **_pairs(summary),
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
    """Return pairs of roles, sentences about the notable ones, and the published overlap."""
    return {
        "pairs": pairs_of(summary),
        "told": [pair_sentence(pair) for pair in notable_pairs(summary)[:MOST_SENTENCES]],
        "published": published_overlap(summary),
        "dealt": expected_text,
    }


def _plot(panel: Panel | SecondPlot) -> Markup:
    """Return a figure as JSON for the page."""
    return Markup(script_json(panel.figure.to_json(validate=False)))


def _supports(summary: Summary) -> tuple[str, ...]:
    """Return how firm each role's labels are, in words; "" where there is no value."""
    if not summary.supports:
        return ("",) * len(summary.roles)
    pairs = zip(summary.roles, summary.supports, strict=True)
    return tuple(support_sentence(firmness, bool(role.contrast)) for role, firmness in pairs)


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
