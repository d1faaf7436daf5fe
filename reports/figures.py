"""From a summary to the figures of the page; none is ever shown."""

from headroles.reports.content import Summary
from headroles.reports.counts import layers, overlap, sensitivity
from headroles.reports.evidence import evidence, means
from headroles.reports.panel import Panel


def figures(summary: Summary) -> tuple[Panel, ...]:
    """Every figure in the order of the page; the sensitivity only where the run recorded it.

    Args:
        summary: What the page may say.

    Returns:
        Figures with title, sentence, caption and the table behind them.
    """
    if not summary.roles:
        return ()
    panels = [evidence(summary), means(summary), layers(summary), overlap(summary)]
    if summary.curves:
        panels.insert(2, sensitivity(summary))
    return tuple(panels)
