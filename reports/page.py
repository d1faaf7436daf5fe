"""From a labelling to one self-contained HTML page."""

import base64
import hashlib
from functools import cache
from importlib.resources import files

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup
from plotly.offline import get_plotlyjs

from headroles.records import Labelling
from headroles.reports import words
from headroles.reports.content import Role, Summary
from headroles.reports.embedded import findings_json, manifest_json, script_json
from headroles.reports.figures import figures
from headroles.reports.panel import Panel
from headroles.reports.summary import summarise

SCRIPTS = ("page.js", "plots.js", "matrix.js", "table.js")


def page(labelling: Labelling) -> str:
    """The report: one HTML file that asks for nothing from anywhere.

    The same labelling gives the same text, byte for byte. Text from data is escaped everywhere,
    and the page's own policy lets only its own scripts run.

    Args:
        labelling: The result of a run.

    Returns:
        A complete HTML document.
    """
    summary = summarise(labelling)
    scripts = [get_plotlyjs(), "\n".join(_template(name) for name in SCRIPTS)]
    return _environment().get_template("page.html").render(
        summary=summary,
        words=words,
        panels=figures(summary),
        style=Markup(_template("page.css")),
        scripts=[Markup(script) for script in scripts],
        policy=_policy(scripts),
        findings=Markup(findings_json(summary)),
        manifest=Markup(manifest_json(labelling.manifest)),
        plot=_plot,
        shares=_shares(summary),
        marks=_marks(summary),
        slots=_slots(summary),
    )  # fmt: skip


def _environment() -> Environment:
    return Environment(
        loader=FunctionLoader(_template),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


@cache
def _template(name: str) -> str:
    return files("headroles.reports").joinpath("templates", name).read_text(encoding="utf-8")


def _policy(scripts: list[str]) -> str:
    """A content security policy: no request of any kind, no script but these."""
    digests = " ".join(
        "'sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() + "'"
        for script in scripts
    )
    return (
        f"default-src 'none'; script-src {digests}; style-src 'unsafe-inline'; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )


def _plot(panel: Panel) -> Markup:
    return Markup(script_json(panel.figure.to_json(validate=False)))


def _shares(summary: Summary) -> tuple[str, ...]:
    """The most frequent pairs of roles as sentences, the smaller role first."""
    pairs = [pair for pair in summary.overlaps if pair.both and _smaller(pair.first, pair.second, summary)]
    pairs.sort(key=lambda pair: (-pair.both, pair.first, pair.second))
    return tuple(words.overlap(pair, summary.roles) for pair in pairs[:5])


def _smaller(first: int, second: int, summary: Summary) -> bool:
    """Whether the first role has fewer heads (or as many and comes first)."""
    one, other = (summary.roles[role].tally.role for role in (first, second))
    return (one, first) < (other, second)


def _marks(summary: Summary) -> tuple[tuple[Role, ...], ...]:
    """The roles every head holds, layer by layer."""
    cells = summary.held.reshape(len(summary.roles), summary.table.layers * summary.table.heads).T
    return tuple(
        tuple(role for role, held in zip(summary.roles, cell, strict=True) if held)
        for cell in cells.tolist()
    )  # fmt: skip


def _slots(summary: Summary) -> int:
    """Marks side by side in a cell of the matrix."""
    most = int(summary.held.sum(axis=0).max(initial=0))
    return 2 if most <= 4 else 3 if most <= 9 else 4
