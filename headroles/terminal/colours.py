"""Colours of roles in the terminal: tones of the page, in shades that stand out on light and dark ground."""

import re
from collections.abc import Mapping
from functools import cache

from rich.console import Console
from rich.style import Style

from headroles.records.roles import CATEGORIES, SHADES
from headroles.reports.document import template

MIDDLE = 0.179
"""Relative luminance with the same contrast, 4.6 to 1, to white and to black."""
STEPS = 32
"""Shades tried between the light and the dark tone of the page."""
WHITE = "#ffffff"
SIXTEEN = ("bright_black", "blue", "red", "green", "magenta")
"""Colours of the families in a terminal of sixteen colours."""

Colour = tuple[float, float, float]


def chip(console: Console, tone: int) -> Style:
    """Return the style of a mark: white letters on the colour of a tone."""
    return Style(color=WHITE, bgcolor=_colour(console, tone), bold=True)


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
    return {tone: _between(_parsed(colour), _parsed(dark[tone])) for tone, colour in light.items()}


def _between(light: Colour, dark: Colour) -> str:
    """Return the mixture of two colours whose luminance is nearest to the middle."""
    mixtures = [
        tuple(a + (b - a) * step / STEPS for a, b in zip(light, dark, strict=True))
        for step in range(STEPS + 1)
    ]
    best = min(mixtures, key=lambda colour: abs(luminance(colour) - MIDDLE))  # type: ignore[arg-type]
    return "#" + "".join(f"{round(255 * part):02x}" for part in best)


def luminance(colour: Colour) -> float:
    """Return the relative luminance of a colour (WCAG 2), 0 to 1.

    Example:
        >>> round(luminance((1.0, 1.0, 1.0)), 6), luminance((0.0, 0.0, 0.0))
        (1.0, 0.0)
    """
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in colour]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _parsed(text: str) -> Colour:
    """Return ``#rrggbb`` as three parts from 0 to 1."""
    red, green, blue = (int(text[place : place + 2], 16) / 255 for place in (1, 3, 5))
    return red, green, blue
