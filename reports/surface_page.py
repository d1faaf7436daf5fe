"""The page of a surface run: one self-contained HTML file."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, fields, replace
from typing import Any

from markupsafe import Markup
from plotly.offline import get_plotlyjs

from headroles.records.example import Decision
from headroles.records.findings import Labelling
from headroles.records.surface import LayerMean, NoOp
from headroles.reports.document import environment, policy, template
from headroles.reports.figures.panel import Panel
from headroles.reports.figures.surface import ATTENTION, ENTROPY, IMPORTANCE, Figure, figures
from headroles.reports.records import Account, Line
from headroles.reports.sections.surface_sheets import noop_sheet, statistics_sheet
from headroles.reports.summary.embedded import findings_json, manifest_json, script_json
from headroles.reports.summary.summary import summarise
from headroles.reports.words import surface as surface_words
from headroles.reports.words import words
from headroles.reports.words.surface import (
    DECISION_WORDS,
    GROUP,
    MEASURES,
    column_name,
    column_sentence,
    has_scores,
    noop_sentences,
    promise,
)

SCRIPTS = (
    "shared/page.js", "shared/plots.js", "surface/surface.js", "shared/files.js", "shared/table.js",
    "shared/sheets.js", "surface/heads.js",
)  # fmt: skip
STYLES = ("shared/page.css", "probes/probes.css", "surface/surface.css")
FAMILIES = {
    "sieve": "the heads of one statistic",
    "run": "all heads and statistics of the run",
    "layer": "the heads of one statistic in one layer",
}


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict about one statistic.

    Attributes:
        name: Of the statistic, in words.
        counts: Heads above even attention, below it, undetermined, untestable.
        text: The sentences.
    """

    name: str
    counts: tuple[int, int, int, int]
    text: str


def surface_page(labelling: Labelling) -> str:
    """Return the report of a surface run: one HTML file that requests nothing.

    The same labelling gives the same text, byte for byte. Text from data is escaped everywhere, and
    the page's own policy lets only its own scripts run.

    Args:
        labelling: With ``surface``; the page states which columns have no score.

    Returns:
        A complete HTML document.
    """
    scripts = [get_plotlyjs(), "\n".join(template(name) for name in SCRIPTS)]
    summary = summarise(labelling)
    panels = figures(labelling)
    return environment().get_template("surface/surface.html").render(
        account=_account(summary.account, labelling),
        words=words,
        verdicts=_verdicts(labelling),
        statistics=statistics_sheet(labelling),
        promise=promise(labelling.decision),
        attention=_figures_of(panels, ATTENTION),
        entropy=_figures_of(panels, ENTROPY),
        importance=_figures_of(panels, IMPORTANCE),
        harmless=noop_sentences(labelling),
        tests=noop_sheet(labelling),
        importances=_importances(labelling),
        marks=_marks(labelling),
        skipped=labelling.skipped,
        precision=bool(summary.table.precision),
        noop=bool(labelling.surface and labelling.surface.noop),
        plot=_plot,
        style=Markup("\n".join(template(name) for name in STYLES)),
        scripts=[Markup(script) for script in scripts],
        policy=policy(scripts),
        findings=Markup(findings_json(summary, labelling.manifest.get("model"))),
        layers=Markup(_layers_json(labelling)),
        manifest=Markup(manifest_json(labelling.manifest)),
    )  # fmt: skip


def _account(account: Account, labelling: Labelling) -> Account:
    """Return what was run, in the words of tests against even attention."""
    decision = labelling.decision
    name = labelling.manifest.get("model", {}).get("name")
    heads = f"the attention heads of {words.isolate(str(name))}" if name else "attention heads"
    notes = labelling.manifest.get("notes") or ()
    remarks = labelling.assessment.remarks if labelling.assessment else ()
    return replace(
        account,
        title=f"Where {heads} look",
        main=tuple(_line(line, decision) for line in account.main),
        warnings=(*([notes] if isinstance(notes, str) else map(str, notes)), *remarks),
    )


def _line(line: Line, decision: Decision) -> Line:
    """Return a line of the account with the words of roles replaced by those of this page."""
    texts = {
        "alpha": f"{decision.alpha:g}, for above and for below even attention",
        "family": FAMILIES.get(decision.family, decision.family),
        "margin": f"{line.value} from even attention",
    }
    return replace(line, value=texts.get(line.term, line.value))


def _verdicts(labelling: Labelling) -> tuple[Verdict, ...]:
    """Return the verdict about every statistic."""
    findings = labelling.findings
    return tuple(
        Verdict(
            column_name(column),
            surface_words.decision_counts(findings, column),
            column_sentence(labelling, column),
        )
        for column in findings.sieves
        if column.startswith(GROUP)
    )


def _marks(labelling: Labelling) -> str:
    """Return the characters that counted as punctuation, separated by spaces; "" where none is recorded."""
    surface = labelling.manifest.get("surface")
    return " ".join(str(surface.get("marks") or "")) if isinstance(surface, Mapping) else ""


def _figures_of(panels: Sequence[Figure], part: str) -> list[Figure]:
    """Return the figures of one part of the page."""
    return [figure for figure in panels if figure.part == part]


def _importances(labelling: Labelling) -> list[tuple[str, str]]:
    """Return name and sentences of every importance."""
    return [
        (column_name(column), column_sentence(labelling, column))
        for column in labelling.findings.sieves
        if column.partition(":")[0] in MEASURES
    ]


def _plot(panel: Panel) -> Markup:
    """Return a figure as JSON for the page."""
    return Markup(script_json(panel.figure.to_json(validate=False)))


def _layers_json(labelling: Labelling) -> str:
    """Return names of columns in words, and means over layers and tests of attention as in their files."""
    surface, findings = labelling.surface, labelling.findings
    content = {
        "decided": DECISION_WORDS,
        "names": [column_name(name) for name in findings.sieves],
        "fine": [name.partition(":")[0] in MEASURES for name in findings.sieves],
        "known": [has_scores(findings, name) for name in findings.sieves],
        "layers.csv": _rows(LayerMean, surface.layers if surface else ()),
        "noop.csv": _rows(NoOp, surface.noop if surface else ()),
    }
    return script_json(json.dumps(content, separators=(",", ":")))


def _rows(kind: type, records: Sequence[Any]) -> dict[str, Any]:
    """Return records as a header and rows; null for NaN, because JSON has none."""
    rows = [
        [None if isinstance(cell, float) and math.isnan(cell) else cell for cell in astuple(record)]
        for record in records
    ]
    return {"header": [field.name for field in fields(kind)], "rows": rows}
