"""The page of a comparison: one self-contained HTML file."""

import base64
import json

import numpy as np
from markupsafe import Markup
from plotly.offline import get_plotlyjs

from headroles.records.comparison import COLUMNS, OUTCOMES, Comparison
from headroles.reports.document import environment, policy, template
from headroles.reports.figures.compare import Plot, plots
from headroles.reports.files import comparison_files, files_json
from headroles.reports.sections.compare_sheets import layers_sheet
from headroles.reports.summary.embedded import manifest_json, script_json
from headroles.reports.summary.two_runs import run_rows, subtitle
from headroles.reports.words import compare, words
from headroles.reports.words.compare import run_names, sieve_verdict

SCRIPTS = ("shared/page.js", "shared/plots.js", "shared/sheets.js", "shared/files.js", "compare/compare.js")
STYLES = ("shared/page.css", "compare/compare.css")


def comparison_page(comparison: Comparison) -> str:
    """Return the report of a comparison: one HTML file that requests nothing.

    The same comparison gives the same text, byte for byte. Text from data is escaped everywhere, and
    the page's own policy lets only its own scripts run.

    Args:
        comparison: Of two runs.

    Returns:
        A complete HTML document.
    """
    scripts = [get_plotlyjs(), "\n".join(template(name) for name in SCRIPTS)]
    differences = comparison.differences
    map_plot, means, outcomes, moved = plots(comparison)
    files, layers = comparison_files(comparison), layers_sheet(comparison)
    return environment().get_template("compare/compare.html").render(
        comparison=comparison,
        found=differences,
        names=run_names(comparison),
        command=str(comparison.manifest.get("command") or ""),
        drawn=_swap_count(comparison),
        subtitle=subtitle(comparison),
        runs=run_rows(comparison.manifest),
        words=words,
        tested=compare.test_line(comparison.decision, comparison.bound),
        outcomes=compare.outcomes_sentence(comparison),
        roles_moved=compare.role_change_sentence(comparison),
        scores_moved=compare.score_change_sentence(comparison),
        labels_moved=compare.label_change_text(comparison.swaps[-1]) if comparison.swaps else "",
        how_to_read=compare.how_to_read(comparison),
        layer_header=layers.header,
        sieve_header=compare.SIEVE_HEADER,
        sieve_rows=compare.sieve_rows(comparison),
        with_range=words.with_range,
        swap_p=compare.swap_p,
        verdicts=[sieve_verdict(comparison, place) for place in range(len(differences.rules))],
        layers=layers.texts,
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


def _swap_count(comparison: Comparison) -> int:
    """Return the number of swaps behind the reference; 0 where there is none."""
    known = bool(comparison.swaps) and not np.isnan(comparison.swaps[-1].p)
    return int(comparison.manifest.get("settings", {}).get("swaps") or 0) if known else 0


def _heads(comparison: Comparison) -> list[tuple[str, str, str]]:
    """Return the heads that gained or lost a role: place, gained, lost."""
    return [
        (f"{row.layer}-{row.head}", str(row.gained).replace(";", ", "), str(row.lost).replace(";", ", "))
        for row in comparison.labels().itertuples()
        if row.gained or row.lost
    ]


def _plot(plot: Plot) -> Markup:
    """Return a figure as JSON for the page."""
    return Markup(script_json(plot.figure.to_json(validate=False)))


def _differences_json(comparison: Comparison) -> str:
    """Return every difference by column for the page's scripts: 64-bit floats, little-endian, base64."""
    differences = comparison.differences
    content = {
        "layers": differences.count.shape[1],
        "heads": differences.count.shape[2],
        "sieves": differences.sieves,
        "names": COLUMNS,
        "precision": [],
        "columns": {name: _base64(getattr(differences, name), "<f8") for name in COLUMNS},
        "decision": _base64(differences.outcome, "u1"),
        "outcomes": OUTCOMES,
    }
    return script_json(json.dumps(content, separators=(",", ":")))


def _base64(values: np.ndarray, kind: str) -> str:
    """Return the values as base64 of a fixed-size dtype."""
    return base64.b64encode(np.ascontiguousarray(values.ravel().astype(kind)).tobytes()).decode("ascii")
