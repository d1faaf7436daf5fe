"""From a summary to the figures of the page; none is ever shown."""

from headroles.reports.content import Summary
from headroles.reports.counts import layers, overlap
from headroles.reports.evidence import evidence, means
from headroles.reports.forest import pairs
from headroles.reports.moved import sensitivity
from headroles.reports.p_strip import p_strip
from headroles.reports.panel import Panel


def figures(summary: Summary) -> tuple[Panel, ...]:
    """Every figure in the order of the page; sensitivity and pairs only where the run computed them.

    Exact sets of roles are left out where there are many: hardly any two heads hold the same.

    Args:
        summary: What the page may say.

    Returns:
        Figures with title, sentence, caption and the table behind them.
    """
    if not summary.roles:
        return ()
    panels = (
        evidence(summary), p_strip(summary), means(summary), sensitivity(summary),
        layers(summary), None if summary.many else overlap(summary), pairs(summary),
    )  # fmt: skip
    return tuple(panel for panel in panels if panel is not None)
