"""Figures of a run that takes heads out, for print: maps of verdicts, and those of the page with legends."""

import numpy as np

from headroles.records.causal.ablation import VERDICTS
from headroles.records.findings import Labelling
from headroles.records.numbers import plural
from headroles.records.shown.phrases import phrase_of
from headroles.reports.causal.figures import DAMAGE, LOOKS, SCORES, SCREENED, ablation_panels
from headroles.reports.causal.forests import CELLS, GROUPS, PREDICTION, SITES
from headroles.reports.causal.words import (
    CELL_LOOKS,
    NEGLIGIBLE,
    ablation_of,
    arm_name,
    arm_of,
    tone,
    verdict_counts,
)
from headroles.reports.figures.drawing import FAINT, INK, SOFT, SYMBOLS, Figure
from headroles.reports.print.figures import file_names, with_sentence
from headroles.reports.print.legend import Entry, with_legend
from headroles.reports.print.maps import add_verdicts, look_entry, map_frames, map_title

MAPS = "verdicts"
"""Name of the figure of maps."""
MOST_MAPS = 24
"""Roles above which the maps of roles are left out."""
THRESHOLD = Entry("threshold", INK, line="solid")
ENTRIES = {
    DAMAGE: (THRESHOLD,),
    SCREENED: (Entry("both the same", FAINT, line="dot"),),
    SCORES: (Entry("holds the role", SOFT, "circle"), Entry("does not", SOFT, "circle-open"), THRESHOLD),
    PREDICTION: (
        Entry("more damage", tone(1), "circle"), Entry("less damage", tone(0), "circle"),
        Entry("undetermined", tone(4), "circle"), Entry("no relation", FAINT, line="dot"),
    ),
    f"{PREDICTION}-damage": (
        Entry("negligible", tone(7), "circle"), Entry("undetermined", tone(4), "square"), THRESHOLD,
    ),
    SITES: (
        Entry("larger at its sites", tone(1), "diamond"), Entry("smaller", tone(0), "diamond"),
        Entry("undetermined", tone(4), "diamond"), Entry("beyond controls", SOFT, "circle-open"),
    ),
    CELLS: (
        Entry("its cells matter", tone(1), "diamond"), Entry("other cells matter more", tone(0), "diamond"),
        Entry("undetermined", tone(4), "diamond"),
    ),
    GROUPS: (
        Entry("more than random sets", tone(1), "diamond"), Entry("undetermined", tone(4), "diamond"),
        Entry("sum of single heads", INK, "x-thin-open"), Entry("random sets", FAINT, line="solid"),
    ),
}  # fmt: skip
"""Lines of the legend that follow those of verdicts or layers, by figure."""


def ablation_plots(labelling: Labelling, width: float) -> dict[str, Figure]:
    """Draw the maps of verdicts and all figures of the page, with legends.

    Args:
        labelling: Of a run that takes heads out.
        width: Of every figure in millimetres.

    Returns:
        Figures in the page's colours by name; ``scores-local`` for the scores of the role "local".
    """
    held = ablation_of(labelling).held
    plots = {MAPS: maps_figure(labelling, width)}
    slugs = file_names(held.roles) if held else []
    for panel in ablation_panels(labelling):
        part, _, rest = panel.key.partition("-")
        name = f"{part}-{slugs[int(rest)]}" if part == SCORES else panel.key
        entries = [*_entries(labelling, part, panel.legend), *ENTRIES.get(part, ())]
        plots[name] = with_legend(with_sentence(panel), entries)
        if panel.beside is not None:
            plots[panel.beside.key] = with_legend(with_sentence(panel.beside), ENTRIES[panel.beside.key])
    return plots


def _entries(labelling: Labelling, part: str, legend: tuple[int, ...]) -> list[Entry]:
    """Return entries of the verdicts, or of the layers, that a figure draws."""
    if part == SCORES:
        numbers = labelling.scores.stack.numbers
        return [Entry(f"layer {numbers[row]}", tone(row % 8), SYMBOLS[row % len(SYMBOLS)]) for row in legend]
    return [Entry(VERDICTS[code], tone(LOOKS[code][1]), SYMBOLS[LOOKS[code][0]]) for code in legend]


def maps_figure(labelling: Labelling, width: float) -> Figure:
    """Draw the verdict of every head, and a map per role with the verdicts of the heads that hold it.

    Args:
        labelling: Of a run that takes heads out.
        width: Of the figure in millimetres.
    """
    ablated, arm = ablation_of(labelling), arm_of(labelling)
    codes = ablated.damage.verdict[ablated.damage.of(arm)]
    held = ablated.held
    roles = [role for role in held.roles if held.heads(role).any()] if held else []
    roles = roles if len(roles) <= MOST_MAPS else []
    figure, frames = map_frames(labelling.scores.stack, codes.shape[1], 1 + len(roles), width)
    add_verdicts(figure, codes, frames[0], CELL_LOOKS)
    map_title(figure, "verdicts", plural(codes.size, "head"), frames[0])
    for role, frame in zip(roles, frames[1:], strict=True):
        assert held is not None
        own = np.where(held.heads(role), codes, -1)
        add_verdicts(figure, own, frame, CELL_LOOKS)
        negligible = f"{int((own == NEGLIGIBLE).sum())} of {int((own >= 0).sum())}"
        map_title(figure, phrase_of(role).title, negligible, frame)
    counts = verdict_counts(labelling, arm)
    known = [code for code in range(len(VERDICTS)) if counts[code]]
    sentence = ", ".join(f"{counts[code]} {VERDICTS[code]}" for code in known)
    beside = " Above the map of a role: its negligible heads, of all that hold it." * bool(roles)
    figure["layout"]["meta"] = {
        "sentence": f"Verdicts of all heads ({arm_name(arm)}): {sentence}. Layers as rows.{beside}"
    }
    return with_legend(figure, [look_entry(CELL_LOOKS[code]) for code in known])
