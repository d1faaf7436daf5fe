"""From a surface run to one self-contained HTML page."""

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
from headroles.reports.content import Account, Line
from headroles.reports.document import environment, policy, template
from headroles.reports.figures.panel import Panel
from headroles.reports.figures.surface import ATTENTION, ENTROPY, IMPORTANCE, Figure, figures
from headroles.reports.sections.surface_sheets import noop_sheet, statistics_sheet
from headroles.reports.summary.embedded import findings_json, manifest_json, script_json
from headroles.reports.summary.summary import summarise
from headroles.reports.words import words
from headroles.reports.words.surface import (
    DECIDED,
    GROUP,
    MEASURES,
    counts,
    harmless_lines,
    known,
    named,
    promise,
    sentence,
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
    """What is said of one statistic.

    Attributes:
        name: Of the statistic, in words.
        counts: Heads above even attention, below it, undetermined, untestable.
        text: The sentences.
    """

    name: str
    counts: tuple[int, int, int, int]
    text: str


def surface_page(labelling: Labelling) -> str:
    """The report of a surface run: one HTML file that asks for nothing from anywhere.

    The same labelling gives the same text, byte for byte. Text from data is escaped everywhere, and
    the page's own policy lets only its own scripts run.

    Args:
        labelling: With ``surface``; columns without any score are said to have nothing to say.

    Returns:
        A complete HTML document.
    """
    scripts = [get_plotlyjs(), "\n".join(template(name) for name in SCRIPTS)]
    summary = summarise(labelling)
    drawn = figures(labelling)
    return environment().get_template("surface/surface.html").render(
        account=_account(summary.account, labelling),
        words=words,
        verdicts=_verdicts(labelling),
        statistics=statistics_sheet(labelling),
        promise=promise(labelling.decision),
        attention=_of(drawn, ATTENTION),
        entropy=_of(drawn, ENTROPY),
        importance=_of(drawn, IMPORTANCE),
        harmless=harmless_lines(labelling),
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


def _account(told: Account, labelling: Labelling) -> Account:
    """What was run, in the words of tests against even attention."""
    decision = labelling.decision
    name = labelling.manifest.get("model", {}).get("name")
    whose = f"the attention heads of {words.isolate(str(name))}" if name else "attention heads"
    notes = labelling.manifest.get("notes") or ()
    remarks = labelling.assessment.remarks if labelling.assessment else ()
    return replace(
        told,
        title=f"Where {whose} look",
        main=tuple(_line(line, decision) for line in told.main),
        warnings=(*([notes] if isinstance(notes, str) else map(str, notes)), *remarks),
    )


def _line(line: Line, decision: Decision) -> Line:
    """A line of the account whose words are those of roles, in the words of this page."""
    said = {
        "alpha": f"{decision.alpha:g}, for above and for below even attention",
        "family": FAMILIES.get(decision.family, decision.family),
        "margin": f"{line.value} from even attention",
    }
    return replace(line, value=said.get(line.term, line.value))


def _verdicts(labelling: Labelling) -> tuple[Verdict, ...]:
    found = labelling.findings
    return tuple(
        Verdict(named(column), counts(found, column), sentence(labelling, column))
        for column in found.sieves
        if column.startswith(GROUP)
    )


def _marks(labelling: Labelling) -> str:
    """The characters that counted as punctuation, apart from each other; "" where it is not recorded."""
    told = labelling.manifest.get("surface")
    return " ".join(str(told.get("marks") or "")) if isinstance(told, Mapping) else ""


def _of(drawn: Sequence[Figure], part: str) -> list[Figure]:
    return [each for each in drawn if each.part == part]


def _importances(labelling: Labelling) -> list[tuple[str, str]]:
    """Name and sentences of every importance."""
    return [
        (named(column), sentence(labelling, column))
        for column in labelling.findings.sieves
        if column.partition(":")[0] in MEASURES
    ]


def _plot(drawn: Panel) -> Markup:
    return Markup(script_json(drawn.figure.to_json(validate=False)))


def _layers_json(labelling: Labelling) -> str:
    """Names of columns in words; means over layers and tests of attention as their files have them."""
    surface, found = labelling.surface, labelling.findings
    content = {
        "decided": DECIDED,
        "names": [named(name) for name in found.sieves],
        "fine": [name.partition(":")[0] in MEASURES for name in found.sieves],
        "known": [known(found, name) for name in found.sieves],
        "layers.csv": _rows(LayerMean, surface.layers if surface else ()),
        "noop.csv": _rows(NoOp, surface.noop if surface else ()),
    }
    return script_json(json.dumps(content, separators=(",", ":")))


def _rows(kind: type, records: Sequence[Any]) -> dict[str, Any]:
    """Records as a header and rows; null for NaN, because JSON has none."""
    rows = [
        [None if isinstance(cell, float) and math.isnan(cell) else cell for cell in astuple(each)]
        for each in records
    ]
    return {"header": [each.name for each in fields(kind)], "rows": rows}
