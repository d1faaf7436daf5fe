"""The legend of figures of probes."""

import plotly.graph_objects as go

MEANINGS = {
    "beyond": "tested, beyond the baseline",
    "not": "tested, not beyond",
    "undetermined": "tested, undetermined",
    "untestable": "untestable",
    "chosen": "where it was chosen",
    "baseline": "best baseline",
    "published": "published",
}
"""What the marks of the best heads are, by the names of their traces; the first that are there come first."""
TRAINED = {
    "trained": "trained",
    "random": "control with random weights",
    "baseline": "baseline",
    "published": "published",
}
"""The same of trained probes."""


def probe_legend(figure: go.Figure) -> go.Figure:
    """The figure with a legend of the marks that it has.

    Args:
        figure: Of best heads or of trained probes; is changed.
    """
    names = {trace.name for trace in figure.data}
    meanings = TRAINED if "trained" in names else MEANINGS
    ranks = {name: 1000 + place for place, name in enumerate(meanings)}
    for trace in figure.data:
        shown = trace.name in meanings and any(
            value is not None and value == value for value in (trace.x if trace.x is not None else ())
        )
        trace.update(
            showlegend=shown,
            legendrank=ranks.get(trace.name, 2000),
            name=meanings.get(trace.name, trace.name),
        )
    figure.update_layout(showlegend=True)
    return figure
