"""From a comparison to one self-contained HTML page."""

import base64
import json

import numpy as np
from markupsafe import Markup
from plotly.offline import get_plotlyjs

from headroles.records.comparison import COLUMNS, OUTCOMES, Comparison
from headroles.reports.document import environment, policy, template
from headroles.reports.figures.compare import Plot, plots
from headroles.reports.files import compared_files, files_json
from headroles.reports.summary.embedded import manifest_json, script_json
from headroles.reports.summary.two_runs import runs_told, subtitle
from headroles.reports.words import compare as compare_words
from headroles.reports.words import words
from headroles.reports.words.compare import layer_rows, names, sieve_verdict

SCRIPTS = ("shared/page.js", "shared/plots.js", "shared/sheets.js", "shared/files.js", "compare/compare.js")
STYLES = ("shared/page.css", "compare/compare.css")


def comparison_page(comparison: Comparison) -> str:
    """The report of a comparison: one HTML file that asks for nothing from anywhere.

    The same comparison gives the same text, byte for byte. Text from data is escaped everywhere, and
    the page's own policy lets only its own scripts run.

    Args:
        comparison: Of two runs.

    Returns:
        A complete HTML document.
    """
    scripts = [get_plotlyjs(), "\n".join(template(name) for name in SCRIPTS)]
    found = comparison.differences
    map_plot, means, outcomes, moved = plots(comparison)
    files = compared_files(comparison)
    return environment().get_template("compare/compare.html").render(
        comparison=comparison,
        found=found,
        names=names(comparison),
        command=str(comparison.manifest.get("command") or ""),
        drawn=_drawn(comparison),
        subtitle=subtitle(comparison),
        runs=runs_told(comparison.manifest),
        told=compare_words,
        words=words,
        verdicts=[sieve_verdict(comparison, place) for place in range(len(found.rules))],
        layers=layer_rows(comparison),
        heads=_heads(comparison),
        map=map_plot,
        beside=(means, outcomes),
        moved=moved,
        plot=_plot,
        style=Markup("\n".join(template(name) for name in STYLES)),
        scripts=[Markup(script) for script in scripts],
        policy=policy(scripts),
        differences=Markup(_differences_json(comparison)),
        files=("differences.csv", *files, "manifest.json"),
        embedded=Markup(files_json(files)),
        manifest=Markup(manifest_json(comparison.manifest)),
    )  # fmt: skip


def _drawn(comparison: Comparison) -> int:
    """Swaps behind the reference; 0 where there is none."""
    known = bool(comparison.swaps) and not np.isnan(comparison.swaps[-1].p)
    return int(comparison.manifest.get("settings", {}).get("swaps") or 0) if known else 0


def _heads(comparison: Comparison) -> list[tuple[str, str, str]]:
    """Heads that gained or lost a role: place, gained, lost."""
    return [
        (f"{row.layer}-{row.head}", str(row.gained).replace(";", ", "), str(row.lost).replace(";", ", "))
        for row in comparison.labels().itertuples()
        if row.gained or row.lost
    ]


def _plot(drawn: Plot) -> Markup:
    return Markup(script_json(drawn.figure.to_json(validate=False)))


def _differences_json(comparison: Comparison) -> str:
    """Every difference by column, for the page's scripts: 64-bit floats, little-endian, base64."""
    found = comparison.differences
    content = {
        "layers": found.count.shape[1],
        "heads": found.count.shape[2],
        "sieves": found.sieves,
        "names": COLUMNS,
        "precision": [],
        "columns": {name: _packed(getattr(found, name), "<f8") for name in COLUMNS},
        "decision": _packed(found.outcome, "u1"),
        "outcomes": OUTCOMES,
    }
    return script_json(json.dumps(content, separators=(",", ":")))


def _packed(values: np.ndarray, kind: str) -> str:
    return base64.b64encode(np.ascontiguousarray(values.ravel().astype(kind)).tobytes()).decode("ascii")
