"""The figures of a run in the order of the page; nothing is drawn on a screen."""

from headroles.reports.figures.counts import layers, overlap
from headroles.reports.figures.means import means
from headroles.reports.figures.p_strip import p_strip
from headroles.reports.figures.pairs import pairs
from headroles.reports.figures.panel import Panel
from headroles.reports.figures.sensitivity import sensitivity
from headroles.reports.figures.several import several
from headroles.reports.records import Summary


def figures(summary: Summary) -> tuple[Panel, ...]:
    """Draw every figure in the order of the page; sensitivity and pairs only where the run computed them.

    Exact sets of roles are left out where there are many: hardly any two heads hold the same.

    Args:
        summary: What the page may say.

    Returns:
        Figures with title, sentence, caption and the table behind them.
    """
    if not summary.roles:
        return ()
    panels = (
        means(summary), p_strip(summary), sensitivity(summary),
        layers(summary), several(summary), None if summary.many else overlap(summary), pairs(summary),
    )  # fmt: skip
    return tuple(panel for panel in panels if panel is not None)
