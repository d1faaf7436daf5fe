"""Figures of origins of roles for print: maps of verdicts, and those of the page with legends."""

import numpy as np

from headroles.records.causal.origins import UNTESTABLE, VERTICAL
from headroles.records.findings import Labelling
from headroles.records.numbers import plural
from headroles.records.roles import phrase_of
from headroles.reports.figures.drawing import INK, SOFT, SYMBOLS, Figure, tone
from headroles.reports.marks import Entry
from headroles.reports.print.figures import with_sentence
from headroles.reports.print.legend import with_legend
from headroles.reports.print_maps import add_verdicts, look_entry, map_frames, map_title
from headroles.reports.why.figures import (
    NEURON_LOOKS,
    NEURONS,
    REMOVAL_LOOKS,
    REMOVALS,
    SHARES,
    STRIPS,
    why_panels,
)
from headroles.reports.why.words import CELL_LOOKS, LOOKS, VERDICTS, code_of, counts_by_role, origins_of

MAPS = "verdicts"
"""Name of the figure of maps."""
MOST_MAPS = 24
"""Roles above which maps are left out."""
KEYS = {
    SHARES: (LOOKS, (Entry("one half", INK, line="solid"),)),
    NEURONS: (NEURON_LOOKS, (Entry("both the same", INK, line="solid"),)),
    STRIPS: (
        {},
        (
            Entry("adds", tone(1), "square"), Entry("takes", tone(0), "square"),
            Entry("found", INK, "circle"),
        ),
    ),
    REMOVALS: (
        REMOVAL_LOOKS,
        (Entry("before", SOFT, "circle-open"), Entry("threshold", INK, "line-ns-open")),
    ),
}  # fmt: skip
"""Looks of verdicts, and further lines of the legend, by figure."""


def why_plots(labelling: Labelling, width: float) -> dict[str, Figure]:
    """Draw the maps of verdicts and all figures of the page, with legends.

    Args:
        labelling: Of a run that asks where roles come from.
        width: Of every figure in millimetres.

    Returns:
        Figures in the page's colours by name; no maps without roles, or of very many.
    """
    maps = maps_figure(labelling, width)
    plots = {} if maps is None else {MAPS: maps}
    for panel in why_panels(labelling):
        looks, more = KEYS[panel.key.partition("-")[0]]
        drawn = [*looks.items()]
        entries = [_entry(*drawn[code]) for code in panel.legend]
        plots[panel.key] = with_legend(with_sentence(panel), [*entries, *more])
    return plots


def _entry(word: str, look: tuple[int, int]) -> Entry:
    """Return the line of a verdict in a legend."""
    symbol, colour = look
    return Entry(word, tone(colour), SYMBOLS[symbol])


def maps_figure(labelling: Labelling, width: float) -> Figure | None:
    """Draw a map per role with the verdicts of the heads that hold it.

    Args:
        labelling: Of a run that asks where roles come from.
        width: Of the figure in millimetres.

    Returns:
        The figure; None without roles, or for very many.
    """
    counts = counts_by_role(origins_of(labelling))
    if not 0 < len(counts) <= MOST_MAPS:
        return None
    stack, heads = labelling.scores.stack, labelling.scores.heads
    figure, frames = map_frames(stack, heads, len(counts), width)
    for one, frame in zip(counts, frames, strict=True):
        codes = np.full((len(stack.layers), heads), -1)
        for row in one.rows:
            codes[stack.place(row.layer), row.head] = code_of(row.verdict)
        add_verdicts(figure, codes, frame, CELL_LOOKS)
        words = f"{one.count(VERTICAL)} of {len(one.rows)}"
        map_title(figure, phrase_of(one.role).title, words, frame)
    totals = {word: sum(one.count(word) for one in counts) for word in VERDICTS}
    said = ", ".join(f"{totals[word]:,} {word}" for word in VERDICTS if totals[word] or word != UNTESTABLE)
    figure["layout"]["meta"] = {
        "sentence": f"Origins of {plural(sum(totals.values()), 'role')} of heads: {said}. Layers as rows. "
        "Above each map: its vertical heads, of all that hold the role."
    }
    return with_legend(figure, [look_entry(look) for look in CELL_LOOKS if totals[look.word]])
