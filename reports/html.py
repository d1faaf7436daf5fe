"""The page of a report: one self-contained HTML file, made by one template from blocks."""

from types import SimpleNamespace
from typing import Any

import numpy as np
from markupsafe import Markup

from headroles.kinds import kind_of
from headroles.records.findings import Labelling
from headroles.reports.document import NO_FINDINGS, PLOTLY, environment, policy, template
from headroles.reports.drawing import figure_json
from headroles.reports.embedded import files_json, manifest_json, pack, script_json
from headroles.reports.maps import head_maps
from headroles.reports.marks import Figure, plotly_json
from headroles.reports.report import Report, shown

STYLES = ("page.css", "attention.css", "report.css")
SCRIPTS, OF_FINDINGS = ("elements.js", "report.js"), ("findings.js", "maps.js")
"""Scripts of all pages, and those of pages with findings."""
FINDINGS = "findings-columns"
"""Id of all findings on a page."""


def page_of(labelling: Labelling) -> str:
    """Return the report of any run folder: one HTML file that requests nothing."""
    return kind_of(labelling).page(labelling)


def page_html(report: Report) -> str:
    """Return the page of a report: one HTML file that requests nothing.

    The same result gives the same text, byte for byte. Text from data is escaped everywhere, and the page's
    own policy lets only its own scripts run.
    """
    page = report.page()
    plotly, found = template(PLOTLY), FINDINGS in page.data
    script = "\n".join(template(file) for file in (*SCRIPTS, *(OF_FINDINGS if found else ()), *page.scripts))
    data = {
        FINDINGS: NO_FINDINGS,
        **page.data,
        "files": files_json(page.files),
        "manifest": manifest_json(report.manifest),
    }
    return (
        environment()
        .get_template("report.html")
        .render(
            report=report,
            page=page,
            sections=[
                ("answer", "Answer"),
                *((s.key, s.label) for s in page.sections if s.label and shown(s.blocks)),
            ],
            data={name: Markup(json) for name, json in data.items()},
            drawn=_drawn,
            shown=shown,
            head_maps=head_maps([*page.maps()], page.heads) if found else "",
            style=Markup("\n".join(template(file) for file in STYLES)),
            plotly=Markup(pack(np.frombuffer(plotly.encode(), np.uint8))),
            script=Markup(script),
            policy=policy([plotly, script]),
            **page.values,
        )
    )


def _drawn(figure: Figure) -> Any:
    """Return the JSON of a figure, and its height in pixels."""
    made = plotly_json(figure)
    return SimpleNamespace(json=Markup(script_json(figure_json(made))), height=made["layout"]["height"])
