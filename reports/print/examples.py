"""Example heads of all roles in rows, for papers: one SVG, which other forms embed."""

from base64 import b64encode
from dataclasses import replace

from headroles.records.findings import Labelling
from headroles.records.numbers import plural
from headroles.reports.figures.drawing import Figure
from headroles.reports.figures.panel import tone
from headroles.reports.print.dress import palette, pixels
from headroles.reports.summary import Summary
from headroles.reports.views.examples import chosen_examples, example_panel
from headroles.reports.views.panels import SIZE, join_panels

LETTERS = 6.0
"""Size of the letters in points."""
SVG = "svg"
"""Key of the SVG of a figure that is one already, in ``layout.meta``."""


def examples(labelling: Labelling, summary: Summary, width: float) -> Figure | None:
    """Draw the strongest head of every role on the input that shows the role best.

    Args:
        labelling: The run.
        summary: What its page may say.
        width: Of the figure in millimetres.

    Returns:
        A figure that holds its SVG; None where no example of a role was kept.
    """
    chosen = chosen_examples(labelling, summary)
    kept = labelling.exhibited
    if kept is None or not chosen:
        return None
    stack = labelling.scores.stack
    panels = [example_panel(kept, exhibit, stack, palette()[tone(role)[6:-1]]) for role, exhibit in chosen]
    across = max(panel.across for panel in panels)
    panels = [replace(panel, across=across) for panel in panels]
    widest = width / 25.4 * 72 * SIZE / LETTERS
    picture = join_panels([("", panels)], f"{width:g}mm", widest)
    high = pixels(width) * _height(picture)
    source = f"data:image/svg+xml;base64,{b64encode(picture.encode()).decode()}"
    sentence = f"The strongest head of {plural(len(chosen), 'role')}, on the input with its highest score."
    image = {"source": source, "xref": "paper", "yref": "paper", "x": 0, "y": 1, "sizex": 1, "sizey": 1}
    layout = {
        "height": high,
        "margin": {"l": 0, "r": 0, "t": 0, "b": 0},
        "meta": {"sentence": sentence, SVG: picture},
        "xaxis": {"visible": False},
        "yaxis": {"visible": False},
        "showlegend": False,
        "images": [image | {"sizing": "stretch"}],
    }
    return {"data": [], "layout": layout}


def _height(picture: str) -> float:
    """Return the height of an SVG by its width."""
    box = picture.partition('viewBox="0 0 ')[2].partition('"')[0]
    across, down = map(float, box.split())
    return down / across
