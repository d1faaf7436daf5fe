"""Looks at the heads of a run that may stop: drawn in a terminal while they turn, one line each elsewhere."""

import numpy as np
from rich.table import Table
from rich.text import Text

from headroles.records.findings import DECISIONS
from headroles.records.roles import phrase_of
from headroles.records.stops.look import Look

MARKS = {"role": ("█", "bold blue"), "not": ("·", "dim"), "explained": ("~", "yellow"), "open": ("?", "red")}
"""Mark and style of a head by its state, in the order of the legend; other heads are untestable."""
UNTESTED = (" ", "dim")
TITLE = 28
"""Widest title of a role."""
LONGEST = 96
"""Most heads that are drawn one by one where there is room; of more, a bar has the shares."""
BAR = 48
"""Width of such a bar at most."""


def look_table(look: Look, width: int) -> Table:
    """Return a line for each role with its number of open heads and the state of every head, and a legend.

    Heads stand in the order of layers. A head is open until it is decided, and may be open again later.

    Args:
        look: The latest look.
        width: Columns of the terminal.
    """
    open_heads = [look.counts(place)["open"] for place in range(len(look.roles))]
    titles = [phrase_of(role).title for role in look.roles]
    digits = max(4, *(len(f"{count:,}") for count in open_heads), 0)
    room = max(1, width - min(TITLE, max(map(len, titles), default=0)) - digits - 3)
    table = Table.grid(padding=(0, 1, 0, 0))
    table.add_column(no_wrap=True, overflow="ellipsis", max_width=TITLE)
    table.add_column(justify="right", no_wrap=True, min_width=digits)
    table.add_column(no_wrap=True, overflow="crop")
    legend = Text.assemble(*(part for name, mark in MARKS.items() for part in (mark, f" {name}  ")))
    table.add_row(Text(f"look {look.number}"), "open", legend)
    for place, title in enumerate(titles):
        table.add_row(Text(title), f"{open_heads[place]:,}", _strip(look, place, room))
    table.add_row("", "", Text(look_line(look).partition(": ")[2].partition(";")[0]))
    return table


def _strip(look: Look, place: int, room: int) -> Text:
    """Return a mark for each head of a role; of many heads, a bar with the share of each state."""
    states = np.where(look.open[place], "open", np.array(DECISIONS)[look.decision[place]]).ravel()
    if states.size > min(LONGEST, room):
        order, bar = [*MARKS, "untestable"], min(BAR, room)
        ordered = sorted(states.tolist(), key=order.index)
        states = np.array(ordered)[np.arange(bar) * len(ordered) // bar]
    return Text.assemble(*(MARKS.get(state, UNTESTED) for state in states.tolist()))


def look_line(look: Look) -> str:
    """Return a look as one line: how much was read, how many heads are decided, and where some are open.

    Example:
        >>> decision = np.array([[[0, 1, 2]]])
        >>> look_line(Look(3, 192, 192, 1545, 1545, ("local",), decision, decision == 2))
        'look 3: 192 of 1,545 units, 2 of 3 roles × heads decided; open: local 1'
    """
    counts = {role: look.counts(place)["open"] for place, role in enumerate(look.roles)}
    still = ", ".join(f"{role} {count:,}" for role, count in counts.items() if count)
    return (
        f"look {look.number}: {look.units:,} of {look.all_units:,} units, {look.tests - look.left:,} of "
        f"{look.tests:,} roles × heads decided{f'; open: {still}' if still else ''}"
    )
