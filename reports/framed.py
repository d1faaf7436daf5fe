"""Pages in the common frame: a rail of sections, the answer first, methods last."""

from collections.abc import Sequence
from typing import Any

from markupsafe import Markup

from headroles.records import numbers
from headroles.records.findings import Labelling
from headroles.reports.document import PLOTLY, environment, policy, template
from headroles.reports.embedded import script_json
from headroles.reports.figures.drawing import figure_json
from headroles.reports.print.captions import decision_sentence, families_of, inputs_text, units_of
from headroles.reports.words import words
from headroles.reports.works import citation_bibtex, methods_text

STYLES = ("shared/page.css", "frame/frame.css")
SCRIPTS = ("frame/frame.js", "shared/page.js", "shared/plots.js")


def framed_page(name: str, styles: Sequence[str], scripts: Sequence[str], **content: Any) -> str:
    """Return a page in the common frame: one HTML file that requests nothing.

    Text from data is escaped everywhere, and the page's own policy lets only its own scripts run.

    Args:
        name: Of its template, which has the frame's parts.
        styles: Its style sheets after those of the frame.
        scripts: Its scripts after those of the frame.
        content: What the template shows.
    """
    plotly, script = template(PLOTLY), "\n".join(template(file) for file in (*SCRIPTS, *scripts))
    return environment().get_template(name).render(
        words=words,
        written=numbers,
        plot=_plot,
        style=Markup("\n".join(template(file) for file in (*STYLES, *styles))),
        plotly=Markup(plotly),
        script=Markup(script),
        policy=policy([plotly, script]),
        **content,
    )  # fmt: skip


def _plot(panel: Any) -> Markup:
    """Return a figure as JSON for the page."""
    return Markup(script_json(figure_json(panel.figure)))


def for_papers(labelling: Labelling) -> dict[str, str]:
    """Return the methods, references and the caption of the table of all numbers."""
    note = decision_sentence(labelling.decision, units_of(labelling), families_of(labelling))
    return {
        "methods": methods_text(labelling),
        "bibtex": citation_bibtex(labelling),
        "numbers_caption": f"Findings{inputs_text(labelling.manifest)}. {note}",
    }
