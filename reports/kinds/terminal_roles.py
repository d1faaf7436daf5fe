"""Roles in the terminal: counts with bars and strongest heads, the grid of layers and heads, and colours.

Colours are tones of the page, in shades that stand out on light and dark ground.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from rich.cells import cell_len, set_cell_size
from rich.console import Console, ConsoleOptions, JustifyMethod, RenderResult
from rich.style import Style
from rich.table import Table as RichTable
from rich.text import Text

from headroles.errors import visible
from headroles.records.numbers import isolate, join_names, plural, two_decimals
from headroles.records.roles import CATEGORIES, CONTROLS, SHADES, TAKES, VALUES, phrase_of
from headroles.reports.account import Named
from headroles.reports.document import template
from headroles.reports.summary import Role, Summary
from headroles.reports.words import ABSENT, POWER, STEADY, interval

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


@dataclass(frozen=True, slots=True)
class RoleCounts:
    """Every role with its heads as a bar and its strongest head, the rarest first.

    Attributes:
        summary: Of a run.
    """

    summary: Summary

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield a table that is as wide as the console, from 60 columns, and what its words mean."""
        roles = sorted(self.summary.roles, key=lambda role: (not role.tally.role, role.tally.role))
        shown = [role for role in roles if role.tally.role] if len(roles) > MOST else roles
        if shown:
            yield self._table(shown, console)
        if left := len(roles) - len(shown):
            yield Text(f"{plural(left, 'more role')} without a head", style="dim")
        explained = [role for role in self.summary.roles if role.tally.explained]
        controls = dict.fromkeys(part for role in explained for part in role.control.split(" or "))
        others = [control for control in controls if control != CONTROLS[VALUES]]
        if console.width < ROOM:
            return
        if others:
            names = join_names(others).replace(" and ", " or ")
            yield Text(f"explained: the score is high, but {names} explains it", style="dim")
        for role in explained:
            if role.control == CONTROLS[VALUES]:
                words = f"explained, for {isolate(role.sieve)}: the head attends there, and {TAKES}"
                yield Text(words, style="dim")
        if any(role.tally.undetermined for role in self.summary.roles):
            yield Text("undetermined: the inputs do not decide", style="dim")

    def _table(self, roles: Sequence[Role], console: Console) -> RichTable:
        wide, heads = console.width >= 100, self.summary.layers * self.summary.heads
        gap, more = 2 if wide else 1, dict[str, list[str]]()
        if console.width >= ROOM:  # verdicts other than roles; a dash where nothing can explain a role
            tallies = [role.tally for role in roles]
            explained = [f"{role.tally.explained:,}" if role.contrast else "–" for role in roles]
            more["explained" if wide else "ex-\nplained"] = explained
            more["undetermined" if wide else "unde-\ntermined"] = [f"{t.undetermined:,}" for t in tallies]
            if any(tally.untestable for tally in tallies):
                more["untestable" if wide else "untest-\nable"] = [f"{t.untestable:,}" for t in tallies]
        best = [role.strongest for role in roles]
        places = [self.summary.stack.name(one.layer, one.head) if one else "" for one in best]
        means = [interval(one.score) if one else "" for one in best]
        place, mean = max(4, *map(len, places)), max(17, *map(len, means))
        mark = max(len(role.code) for role in roles)
        count = max(len(f"{role.tally.role:,}") for role in roles)
        others = [max(map(len, [*heading.split("\n"), *column])) + gap for heading, column in more.items()]
        rest = mark + count + place + mean + 1 + sum(others) + 4 * gap
        titles = [visible(phrase_of(role.sieve).title) for role in roles]
        title = min(max(map(cell_len, titles)), max(NARROWEST, console.width - rest - SHORTEST))
        bar = max(SHORTEST, min(LONGEST, console.width - rest - title))
        table = RichTable(box=None, pad_edge=False, padding=(0, gap, 0, 0), header_style="dim")
        for heading in ("role", "heads", "strongest head [95 %]", *more):
            side: JustifyMethod = "right" if heading in more else "left"
            table.add_column(Text(heading), justify=side, no_wrap=True, vertical="bottom")
        for number, role in enumerate(roles):
            held = bool(role.tally.role)
            name = Text(f"{role.code:<{mark}}", chip(console, role.tone) if held else "")
            name.append(" " * gap + set_cell_size(titles[number], title), "" if held else "dim")
            bars = f"{bar_of(role.tally.role / heads, bar):<{bar}}", Style(color=_colour(console, role.tone))
            table.add_row(
                Text.assemble(name),
                Text.assemble(f"{role.tally.role:>{count},} ", bars),
                f"{places[number]:>{place}}{' ' * gap}{means[number]}",
                *(column[number] for column in more.values()), style="" if held else "dim",
            )  # fmt: skip
        return table


def bar_of(share: float, cells: int) -> str:
    """Return a bar of block characters, exact to an eighth of a cell; any share above 0 is seen.

    Example:
        >>> bar_of(0.5, 8), bar_of(0.001, 8), bar_of(0.0, 8)
        ('████', '▏', '')
    """
    eighths = max(round(share * cells * 8), 1 if share > 0 else 0)
    return "█" * (eighths // 8) + " ▏▎▍▌▋▊▉"[eighths % 8].strip()


@dataclass(frozen=True, slots=True)
class HeadGrid:
    """Layers × heads with the rarest role of every head, in blocks of heads that fit the width.

    Attributes:
        summary: Of a run.
    """

    summary: Summary

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield a line per layer and block; a role with parts counts only where a head holds none of them."""
        roles, numbers = self.summary.roles, self.summary.stack.numbers
        rarest, drawn = np.full(self.summary.held.shape[1:], -1), self.summary.drawn
        for place in sorted(range(len(roles)), key=lambda place: -roles[place].tally.role):
            rarest[drawn[place]] = place
        side = max(5, len(str(numbers[-1])))
        fitting = max(1, (console.width - side - 1) // CELL)
        for start in range(0, self.summary.heads, fitting):
            block = range(start, min(self.summary.heads, start + fitting))
            header = "".join(f"{head:^{CELL}}" for head in block).rstrip()
            yield Text(f"{'layer':>{side}} {header}", style="dim")
            for number, row in zip(numbers, rarest.tolist(), strict=True):
                line = Text.assemble((f"{number:>{side}} ", "dim"))
                for place in row[start : start + fitting]:
                    role = roles[place] if place >= 0 else None
                    style = chip(console, role.tone) if role else Style(dim=True)
                    line.append(f"{role.code if role else NONE:^{CELL}}", style)
                yield line


def verdict_lines(summary: Summary) -> list[Named]:
    """Return the lines of a terminal on what decisions mean, and on stability, power and overlap."""
    roles, supports, assessment = summary.roles, summary.supports, summary.assessment
    controls = {one for role in roles if role.tally.explained for one in role.control.split(" or ")}
    others = sorted(controls - {CONTROLS[VALUES]})
    strong = []
    for role, heads in zip(roles, summary.strong, strict=True):
        if role.stronger and role.tally.role:
            places = [summary.stack.name(layer, head) for layer, head in np.argwhere(heads).tolist()]
            strong.append(
                f"{role.sieve}: {plural(role.tally.role, 'head')} beyond {role.control}, "
                f"{role.tally.strong or 'none'} of them beyond {role.stronger}"
                + f" ({', '.join(places)})"
                * (0 < len(places) <= MOST_PLACES)
            )
    absent = [
        f"{role.sieve} {role.tally.absent} of {role.tally.not_role}" for role in roles if role.tally.absent
    ]
    few = [
        f"{role.sieve} ({firmness.minority} of {firmness.labels})"
        for role, firmness in zip(roles, supports, strict=False) if firmness.minority
    ]  # fmt: skip
    effects = span_text([end for support in supports for end in support.detectable])
    design = span_text([support.design for support in supports])
    together = assessment.together.where(first="syntactic", second="local") if assessment else ()
    pair = {row.contrasts: row for row in together}
    overlap = "" if len(pair) < 2 else (
        "syntactic heads that are also local: {0.both} of {0.heads_first}; without the contrast beyond "
        "distance {1.both} of {1.heads_first}"
    ).format(pair["with"], pair["without"])  # fmt: skip
    lines = [
        ("words", f"explained: score above the threshold, but {' or '.join(others)} accounts for it", others),
        ("words", f"explained, for parked: the head attends there, and {TAKES}",
         CONTROLS[VALUES] in controls),
        ("strong", "; ".join(strong), strong),
        ("absent", f"not, and mean within ± {ABSENT:g} of chance: {', '.join(absent)}", absent),
        ("share", f"heads that score above the threshold in under half of the units: {', '.join(few)}", few),
        ("stable", "in a fresh sample of as many units, the label is found again with probability ≥ "
         f"{STEADY:g} (not the probability that it is true)",
         any(support.steady is not None for support in supports)),
        ("effects", f"found with power {POWER:g}: {effects} SD above the threshold (by role, without "
         "contrasts)", effects),
        ("groups", f"units hold several examples: median design effect {design}, by role", design),
        ("overlap", overlap, overlap),
    ]  # fmt: skip
    return [Named(name, text) for name, text, there in lines if there]


def span_text(values: Sequence[float]) -> str:
    """Return the smallest and largest number; one where they look equal, "" where there is none."""
    numbers = [value for value in values if not math.isnan(value)]
    low, high = (two_decimals(end(numbers, default=math.nan)) for end in (min, max))
    return "" if not numbers else low if low == high else f"{low} to {high}"


def chip(console: Console, tone: int) -> Style:
    """Return the style of a mark: white letters on the colour of a tone."""
    return Style(color="#ffffff", bgcolor=_colour(console, tone), bold=True)


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
    themes = re.split(r"@media \(prefers-color-scheme: dark\)", template("page.css"), maxsplit=1)
    light, dark = (
        {int(tone): [int(colour[place : place + 2], 16) / 255 for place in (0, 2, 4)]
         for tone, colour in re.findall(r"--tone-(\d+):\s*#([0-9a-fA-F]{6})", theme)}
        for theme in themes
    )  # fmt: skip
    mixed = {}
    for tone, ends in light.items():
        pairs = [*zip(ends, dark[tone], strict=True)]
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
