"""Roles in the terminal: counts with bars and strongest heads, and the grid of layers and heads."""

from collections.abc import Sequence

import numpy as np
from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.text import Text

from headroles.records.numbers import isolate, join_names, plural
from headroles.records.roles import CONTROLS, TAKES, VALUES, phrase_of, without_wholes
from headroles.reports.records import Role, Summary
from headroles.reports.words.words import interval
from headroles.terminal.colours import chip, ink

SHORTEST, LONGEST = 6, 24
"""Widths of a bar."""
NARROWEST = 12
"""Least width of the title of a role, where it must be cut."""
MOST = 40
"""Above this number of roles, roles without a head are in the report only."""
NONE = "·"
ROOM = 76
"""Width of the terminal from which verdicts other than roles have columns."""
WIDE_HEADINGS, NARROW_HEADINGS = ("explained", "undetermined"), ("ex-\nplained", "unde-\ntermined")
CELL = 3
"""Width of a cell of the grid."""


def show_counts(console: Console, summary: Summary) -> None:
    """Print every role with its heads as a bar and its strongest head, the rarest first.

    Args:
        console: Of any width from 60 columns.
        summary: Of the run.
    """
    roles = sorted(summary.roles, key=lambda role: (not role.tally.role, role.tally.role))
    shown = [role for role in roles if role.tally.role] if len(roles) > MOST else roles
    if shown:
        for line in _lines(shown, summary, console):
            console.print(line)
    if left := len(roles) - len(shown):
        console.print(Text(f"{plural(left, 'more role')} without a head", style="dim"))
    for meaning in _meanings(summary.roles) if console.width >= ROOM else ():
        console.print(Text(meaning, style="dim"))


def _lines(roles: Sequence[Role], summary: Summary, console: Console) -> list[Text]:
    """Return headings and a line per role, as wide as the console."""
    wide, heads = console.width >= 100, summary.table.layers * summary.table.heads
    headings, columns = _verdicts(roles, wide) if console.width >= ROOM else ([], [])
    gap = 2 if wide else 1
    widths = [
        max(*map(len, heading.split("\n")), *map(len, column))
        for heading, column in zip(headings, columns, strict=True)
    ]
    count = max(len(f"{role.tally.role:,}") for role in roles)
    places = [_place(summary, role) for role in roles]
    means = [interval(role.strongest.score) if role.strongest else "" for role in roles]
    place, mean = max(4, *map(len, places)), max(17, *map(len, means))
    mark = max(len(role.code) for role in roles)
    rest = mark + count + place + mean + 1 + sum(width + gap for width in widths) + 4 * gap
    title = min(
        max(cell_len(phrase_of(role.sieve).title) for role in roles),
        max(NARROWEST, console.width - rest - SHORTEST),
    )
    bar = max(SHORTEST, min(LONGEST, console.width - rest - title))
    lines = _headings(headings, widths, gap, (mark + gap + title, count + 1 + bar, place + gap + mean))
    for number, role in enumerate(roles):
        line = Text(style="" if role.tally.role else "dim")
        line.append(f"{role.code:<{mark}}", chip(console, role.tone) if role.tally.role else "")
        line.append(" " * gap + set_cell_size(phrase_of(role.sieve).title, title) + " " * gap)
        line.append(f"{role.tally.role:>{count},} ")
        line.append(f"{bar_of(role.tally.role / heads, bar):<{bar}}", ink(console, role.tone))
        line.append(f"{' ' * gap}{places[number]:>{place}}{' ' * gap}{means[number]:<{mean}}")
        for column, width in zip(columns, widths, strict=True):
            line.append(f"{' ' * gap}{column[number]:>{width}}")
        lines.append(line)
    return lines


def _verdicts(roles: Sequence[Role], wide: bool) -> tuple[list[str], list[list[str]]]:
    """Return headings and columns of the heads that are explained, undetermined and untestable."""
    headings = [*(WIDE_HEADINGS if wide else NARROW_HEADINGS)]
    columns = [[_explained(role) for role in roles], [f"{role.tally.undetermined:,}" for role in roles]]
    if any(role.tally.untestable for role in roles):
        headings.append("untestable" if wide else "untest-\nable")
        columns.append([f"{role.tally.untestable:,}" for role in roles])
    return headings, columns


def _headings(
    headings: Sequence[str], widths: Sequence[int], gap: int, parts: tuple[int, int, int]
) -> list[Text]:
    """Return the lines of headings; those of two lines end in the last one."""
    role, heads, strongest = parts
    depth = max((heading.count("\n") for heading in headings), default=0) + 1
    lines = []
    for level in range(depth):
        last = level == depth - 1
        line = f"{'role' if last else '':<{role}}{' ' * gap}{'heads' if last else '':<{heads}}{' ' * gap}"
        line += f"{'strongest head [95 %]' if last else '':<{strongest}}"
        for heading, width in zip(headings, widths, strict=True):
            words = heading.split("\n")
            word = words[level - depth + len(words)] if level - depth + len(words) >= 0 else ""
            line += f"{' ' * gap}{word:>{width}}"
        lines.append(Text(line.rstrip(), style="dim"))
    return lines


def _explained(role: Role) -> str:
    """Return how many heads of a role are explained; a dash where nothing can explain it."""
    return f"{role.tally.explained:,}" if role.contrast else "–"


def _place(summary: Summary, role: Role) -> str:
    """Return the strongest head of a role; "" where there is none."""
    best = role.strongest
    return summary.table.stack.name(best.layer, best.head) if best else ""


def _meanings(roles: Sequence[Role]) -> list[str]:
    """Return what the words of the table mean, as far as they are needed."""
    explained = [role for role in roles if role.tally.explained]
    controls = dict.fromkeys(part for role in explained for part in role.control.split(" or "))
    others = [control for control in controls if control != CONTROLS[VALUES]]
    lines = []
    if others:
        lines.append(f"explained: the score is high, but {_alternatives(others)} explains it")
    lines += [
        f"explained, for {isolate(role.sieve)}: the head attends there, and {TAKES}"
        for role in explained
        if role.control == CONTROLS[VALUES]
    ]
    if any(role.tally.undetermined for role in roles):
        lines.append("undetermined: the inputs do not decide")
    return lines


def _alternatives(names: list[str]) -> str:
    """Return names joined by "or"."""
    return join_names(names).replace(" and ", " or ")


def bar_of(share: float, cells: int) -> str:
    """Return a bar of block characters, exact to an eighth of a cell; any share above 0 is seen.

    Example:
        >>> bar_of(0.5, 8), bar_of(0.001, 8), bar_of(0.0, 8)
        ('████', '▏', '')
    """
    eighths = max(round(share * cells * 8), 1 if share > 0 else 0)
    return "█" * (eighths // 8) + " ▏▎▍▌▋▊▉"[eighths % 8].strip()


def show_grid(console: Console, summary: Summary) -> None:
    """Print layers × heads with the rarest role of every head, in blocks of heads that fit the width.

    Args:
        console: Of any width.
        summary: Of the run.
    """
    chosen = rarest(summary)
    heads, numbers = chosen.shape[1], summary.table.stack.numbers
    side = max(5, len(str(numbers[-1])))
    fitting = max(1, (console.width - side - 1) // CELL)
    for start in range(0, heads, fitting):
        block = range(start, min(heads, start + fitting))
        console.print(
            Text(f"{'layer':>{side}} " + "".join(f"{head:^{CELL}}" for head in block).rstrip(), style="dim")
        )
        for layer, number in enumerate(numbers):
            line = Text.assemble((f"{number:>{side}} ", "dim"))
            for head in block:
                role = int(chosen[layer, head])
                if role < 0:
                    line.append(f"{NONE:^{CELL}}", style="dim")
                else:
                    line.append(
                        f"{summary.roles[role].code:^{CELL}}", style=chip(console, summary.roles[role].tone)
                    )
            console.print(line)


def rarest(summary: Summary) -> np.ndarray:
    """Return the place of the rarest role of every head, layers × heads; −1 where it holds none.

    A role with parts counts only where the head holds none of its parts.
    """
    drawn = without_wholes([role.sieve for role in summary.roles], summary.held)
    order = sorted(range(len(summary.roles)), key=lambda place: -summary.roles[place].tally.role)
    chosen = np.full(summary.held.shape[1:], -1)
    for place in order:
        chosen[drawn[place]] = place
    return chosen
