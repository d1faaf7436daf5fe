"""The page of a report: one self-contained HTML file, made by one template from blocks."""

from types import SimpleNamespace
from typing import Any

from markupsafe import Markup

from headroles.records import numbers
from headroles.records.findings import Labelling
from headroles.reports.document import PLOTLY, environment, policy, template
from headroles.reports.figures.drawing import figure_json
from headroles.reports.files import files_json, files_of
from headroles.reports.marks import Figure, plotly_json
from headroles.reports.report import Report, shown
from headroles.reports.summary.account import account, with_values
from headroles.reports.summary.embedded import manifest_json, script_json
from headroles.reports.words import words
from headroles.reports.words.citations import citation_bibtex
from headroles.reports.words.methods import methods_text

STYLES = ("shared/page.css", "frame/frame.css", "heads/maps.css", "probes/probes.css", "causal/causal.css")
SCRIPTS = (
    "frame/frame.js", "shared/page.js", "shared/plots.js", "shared/choices.js", "heads/maps.js",
    "heads/verdicts.js", "causal/columns.js", "shared/files.js", "shared/table.js", "shared/sheets.js",
    "causal/maps.js",
)  # fmt: skip


def page_html(report: Report, run: Labelling) -> str:
    """Return the page of a run: one HTML file that requests nothing.

    The same run gives the same text, byte for byte. Text from data is escaped everywhere, and the page's own
    policy lets only its own scripts run.

    Args:
        report: Of the run.
        run: The run, for its methods and what is recorded of it.

    Returns:
        A complete HTML document.
    """
    page = report.page()
    plotly = template(PLOTLY)
    script = "\n".join(template(file) for file in (*SCRIPTS, *page.scripts))
    listed = [(section.key, section.label) for section in page.sections if shown(section.blocks)]
    return (
        environment()
        .get_template("report.html")
        .render(
            report=report,
            page=page,
            sections=[("answer", "Answer"), *listed, ("methods", "Methods")],
            drawn=_drawn,
            shown=shown,
            safe=Markup,
            words=words,
            written=numbers,
            account=with_values(account(run), dict(page.account)),
            methods=methods_text(run),
            bibtex=citation_bibtex(run),
            skipped=run.skipped,
            embedded=Markup(files_json(files_of(run))),
            manifest=Markup(manifest_json(run.manifest)),
            style=Markup("\n".join(template(file) for file in (*STYLES, *page.styles))),
            plotly=Markup(plotly),
            script=Markup(script),
            policy=policy([plotly, script]),
        )
    )


def _drawn(figure: Figure) -> Any:
    """Return the JSON of a figure, and its height in pixels."""
    made = plotly_json(figure)
    return SimpleNamespace(json=Markup(script_json(figure_json(made))), height=made["layout"]["height"])
