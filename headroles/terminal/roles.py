"""Roles in the terminal: counts with bars and strongest heads, the grid of layers and heads, and colours.

Colours are tones of the page, in shades that stand out on light and dark ground.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache

import numpy as np
from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.style import Style
from rich.text import Text

from headroles.records.assessment import Assessment
from headroles.records.numbers import isolate, join_names, plural, two_decimals
from headroles.records.shown.controls import CONTROLS, TAKES, VALUES
from headroles.records.shown.looks import CATEGORIES, SHADES, without_wholes
from headroles.records.shown.phrases import phrase_of
from headroles.reports.document import template
from headroles.reports.records import Role, Summary, Support
from headroles.reports.summary.verdicts import counts_beyond
from headroles.reports.words.words import ABSENT, POWER, STEADY, interval

SHORTEST, LONGEST = 6, 24
"""Widths of a bar."""
NARROWEST = 12
"""Least width of the title of a role, where it must be cut."""
MOST = 40
"""Above this number of roles, roles without a head are in the report only."""
NONE = "·"
ROOM = 76
"""Width of the terminal from which verdicts other than roles have columns."""
CELL = 3
"""Width of a cell of the grid."""
MOST_PLACES = 12
"""Most heads that a line names."""
MIDDLE = 0.179
"""Relative luminance with the same contrast, 4.6 to 1, to white and to black."""
STEPS = 32
"""Shades tried between the light and the dark tone of the page."""
SIXTEEN = ("bright_black", "blue", "red", "green", "magenta")
"""Colours of the families in a terminal of sixteen colours."""


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
    headings, columns = list[str](), list[list[str]]()
    if console.width >= ROOM:  # verdicts other than roles; a dash where nothing can explain a role
        headings = ["explained", "undetermined"] if wide else ["ex-\nplained", "unde-\ntermined"]
        columns = [
            [f"{role.tally.explained:,}" if role.contrast else "–" for role in roles],
            [f"{role.tally.undetermined:,}" for role in roles],
        ]
        if any(role.tally.untestable for role in roles):
            headings.append("untestable" if wide else "untest-\nable")
            columns.append([f"{role.tally.untestable:,}" for role in roles])
    gap = 2 if wide else 1
    widths = [
        max(*map(len, heading.split("\n")), *map(len, column))
        for heading, column in zip(headings, columns, strict=True)
    ]
    count = max(len(f"{role.tally.role:,}") for role in roles)
    best = [role.strongest for role in roles]
    places = [summary.table.stack.name(one.layer, one.head) if one else "" for one in best]
    means = [interval(one.score) if one else "" for one in best]
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


def _meanings(roles: Sequence[Role]) -> list[str]:
    """Return what the words of the table mean, as far as they are needed."""
    explained = [role for role in roles if role.tally.explained]
    controls = dict.fromkeys(part for role in explained for part in role.control.split(" or "))
    others = [control for control in controls if control != CONTROLS[VALUES]]
    lines = []
    if others:
        names = join_names(others).replace(" and ", " or ")
        lines.append(f"explained: the score is high, but {names} explains it")
    lines += [
        f"explained, for {isolate(role.sieve)}: the head attends there, and {TAKES}"
        for role in explained
        if role.control == CONTROLS[VALUES]
    ]
    if any(role.tally.undetermined for role in roles):
        lines.append("undetermined: the inputs do not decide")
    return lines


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


def verdict_lines(summary: Summary) -> list[tuple[str, str]]:
    """Return name and text of each line on explained, strong and absent heads, and on shares of units."""
    lines = []
    controls = sorted(
        {one for role in summary.roles if role.tally.explained for one in role.control.split(" or ")}
    )
    others = [control for control in controls if control != CONTROLS[VALUES]]
    if others:
        words = f"score above the threshold, but {' or '.join(others)} accounts for it"
        lines.append(("words", f"explained: {words}"))
    if CONTROLS[VALUES] in controls:
        lines.append(("words", f"explained, for parked: the head attends there, and {TAKES}"))
    strong = []
    for role, heads in zip(summary.roles, summary.strong, strict=True):
        if role.stronger and role.tally.role:
            places = [summary.table.stack.name(layer, head) for layer, head in np.argwhere(heads).tolist()]
            named = f" ({', '.join(places)})" if 0 < len(places) <= MOST_PLACES else ""
            strong.append(f"{role.sieve}: {counts_beyond(role)}{named}")
    if strong:
        lines.append(("strong", "; ".join(strong)))
    absent = [
        f"{role.sieve} {role.tally.absent} of {role.tally.not_role}"
        for role in summary.roles
        if role.tally.absent
    ]
    if absent:
        lines.append(("absent", f"not, and mean within ± {ABSENT:g} of chance: {', '.join(absent)}"))
    few = [
        f"{role.sieve} ({firmness.minority} of {firmness.labels})"
        for role, firmness in zip(summary.roles, summary.supports, strict=False)
        if firmness.minority
    ]
    if few:
        words = f"heads that score above the threshold in under half of the units: {', '.join(few)}"
        lines.append(("share", words))
    return lines


def support_lines(label_supports: Sequence[Support], assessment: Assessment | None) -> list[tuple[str, str]]:
    """Return name and text of each line below the counts: stability, power, design effect and overlap."""
    lines = []
    if any(support.steady is not None for support in label_supports):
        words = f"in a fresh sample of as many units, the label is found again with probability ≥ {STEADY:g}"
        lines.append(("stable", f"{words} (not the probability that it is true)"))
    effects = _range(end for support in label_supports for end in support.detectable)
    if effects:
        words = f"found with power {POWER:g}: {effects} SD above the threshold (by role, without contrasts)"
        lines.append(("effects", words))
    design = _range(support.design for support in label_supports)
    if design:
        lines.append(("groups", f"units hold several examples: median design effect {design}, by role"))
    pair = {
        pair.contrasts: pair
        for pair in (assessment.together if assessment else ())
        if (pair.first, pair.second) == ("syntactic", "local")
    }
    if len(pair) == 2:
        found, bare = pair["with"], pair["without"]
        words = f"{found.both} of {found.heads_first}; without the contrast beyond distance {bare.both} of "
        lines.append(("overlap", f"syntactic heads that are also local: {words}{bare.heads_first}"))
    return lines


def _range(values: Iterable[float]) -> str:
    """Return the smallest and largest number; one where they look equal, "" where there is none."""
    numbers = [value for value in values if value == value]
    if not numbers:
        return ""
    low, high = two_decimals(min(numbers)), two_decimals(max(numbers))
    return low if low == high else f"{low} to {high}"


def chip(console: Console, tone: int) -> Style:
    """Return the style of a mark: white letters on the colour of a tone."""
    return Style(color="#ffffff", bgcolor=_colour(console, tone), bold=True)


def ink(console: Console, tone: int) -> Style:
    """Return the style of a bar in the colour of a tone."""
    return Style(color=_colour(console, tone))


def _colour(console: Console, tone: int) -> str:
    """Return the colour of a tone; one of the sixteen where a terminal has no others, by its family."""
    if console.color_system in ("standard", "windows"):
        return SIXTEEN[(tone - CATEGORIES) // SHADES]
    return tones()[tone]


@cache
def tones() -> Mapping[int, str]:
    """Return the colour of every tone as ``#rrggbb``, read from the style of the page.

    It lies between the tones of the light and the dark theme, where white and black contrast equally.

    Example:
        >>> tones()[8] not in ("#000000", "#ffffff")
        True
    """
    style = template("shared/page.css")
    light, dark = (
        {int(tone): colour for tone, colour in re.findall(r"--tone-(\d+):\s*(#[0-9a-fA-F]{6})", part)}
        for part in re.split(r"@media \(prefers-color-scheme: dark\)", style, maxsplit=1)
    )
    mixed = {}
    for tone in light:
        pairs = [
            tuple(int(theme[tone][place : place + 2], 16) / 255 for theme in (light, dark))
            for place in (1, 3, 5)
        ]
        mixtures = [[a + (b - a) * step / STEPS for a, b in pairs] for step in range(STEPS + 1)]
        best = min(mixtures, key=lambda colour: abs(luminance(colour) - MIDDLE))
        mixed[tone] = "#" + "".join(f"{round(255 * part):02x}" for part in best)
    return mixed


def luminance(colour: Sequence[float]) -> float:
    """Return the relative luminance of a colour (WCAG 2), 0 to 1.

    Example:
        >>> round(luminance((1.0, 1.0, 1.0)), 6), luminance((0.0, 0.0, 0.0))
        (1.0, 0.0)
    """
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in colour]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
