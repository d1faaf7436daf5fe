"""Example heads next to each other: for each role its strongest head, on the input that shows it best."""

from xml.sax.saxutils import escape

import numpy as np
from jaxtyping import Bool, Float

from headroles.records.findings import Labelling
from headroles.records.kept_maps import KeptMaps, TypicalInput
from headroles.records.layers import Stack
from headroles.records.numbers import isolate
from headroles.records.roles import phrase_of
from headroles.reports.records import Role, Summary
from headroles.reports.views.panels import EDGE, ROW, SIZE, SOFT, Panel, at
from headroles.reports.views.svg import line_group, token_column
from headroles.reports.views.units import Unit, shorten, units_of, values_of, width_of

MOST_ROLES = 12
"""Most roles that are drawn."""
MOST_ROWS = 15
"""Most words of an input that are drawn."""
SAME = 0.5
"""Part of the counted attention that one stretch must have for both columns to show it."""
GAP = 62.0
"""Width between the two columns of words, in px."""
LONGEST = 10
"""Letters of a word that are drawn."""
SNUG = 0.92
"""Width of letters by the estimate, which is rather too large."""
GREY = "#8a929b"
"""Colour of attention that the role does not count."""
TITLE = 27
"""Letters of a title that are drawn."""


def chosen_examples(labelling: Labelling, summary: Summary) -> list[tuple[Role, TypicalInput]]:
    """Return a head and an input for every role: the strongest head, and its input with the highest score.

    Of a question that is read in two directions, the direction with the stronger head is taken. Of more than
    ``MOST_ROLES`` roles, those are taken whose heads lie furthest above their thresholds.

    Args:
        labelling: The run.
        summary: What a page of the run may say.

    Returns:
        Roles in the order of the summary. Roles that no head holds, and those without a kept input, are
        left out.
    """
    kept, findings = labelling.exhibited, labelling.findings
    if kept is None:
        return []
    best: dict[str, tuple[float, Role, TypicalInput]] = {}
    for number, role in enumerate(summary.roles):
        own = [
            exhibit
            for exhibit in kept.exhibits
            if exhibit.sieve == role.sieve and exhibit.rank == 1
            and summary.held[number, exhibit.layer, exhibit.head]
        ]  # fmt: skip
        means = findings.mean[role.position]
        strongest = max(own, key=lambda exhibit: float(means[exhibit.layer, exhibit.head]), default=None)
        if strongest is None:
            continue
        cell = (role.position, strongest.layer, strongest.head)
        above = float(findings.mean[cell] - findings.null[cell]) - findings.rules[role.position].margin
        question = role.sieve.removesuffix(":→").removesuffix(":←")
        if question not in best or best[question][0] < above:
            best[question] = (above, role, strongest)
    furthest = sorted(best.values(), key=lambda row: -row[0])[:MOST_ROLES]
    order = {role.sieve: number for number, role in enumerate(summary.roles)}
    return [row[1:] for row in sorted(furthest, key=lambda row: order[row[1].sieve])]


def example_panel(kept: KeptMaps, exhibit: TypicalInput, stack: Stack, colour: str) -> Panel:
    """Return one head on one input: lines from words to those they attend to, as strong as the weight.

    Weights between words are sums over the pieces attended to, averaged over the pieces that attend. Lines
    that the role counts are coloured, and so are their words, unless these are most words. Of a long input,
    the stretch of ``MOST_ROWS`` words is drawn in which the role counts most attention; where it counts far
    more between two stretches, these are drawn. Special tokens are drawn where the role counts them.

    Args:
        kept: Kept maps of the run.
        exhibit: One of its typical inputs.
        stack: The layers by their positions.
        colour: Of the role.
    """
    place = int(kept.places[exhibit.map, 0])
    example, weights = kept.examples[place], kept.weights[exhibit.map][None] / 255
    cells = kept.counted.get((place, exhibit.sieve))
    with_specials = cells is None or bool(cells[:, example.special].any())
    units = units_of(example, "words", with_specials, with_specials or not example.special[0])
    values = values_of(weights, units, units)[0]
    counted = _counted_share(cells, weights[0], units)
    size = min(MOST_ROWS, len(units))
    first, second = _best_stretches(counted if cells is not None else values, size)
    stretch = np.s_[first : first + size, second : second + size]
    of_role = counted[stretch]
    rest = np.maximum(values[stretch] - of_role, 0.0)
    if cells is None:
        of_role, rest = rest, of_role
    sides = [
        [Unit(shorten(unit.text, LONGEST), unit.places, unit.special) for unit in units[start : start + size]]
        for start in (first, second)
    ]
    wide = [max((width_of(unit.text, SIZE) for unit in side), default=0.0) * SNUG for side in sides]
    left, right = EDGE + wide[0], EDGE + wide[0] + GAP
    top = EDGE + 3 * ROW
    frame = (left + 4, right - 4, top + ROW)
    phrase = phrase_of(exhibit.sieve)
    title = shorten(phrase.title, TITLE)
    name = stack.name(exhibit.layer, exhibit.head)
    where = f"layer {stack.numbers[exhibit.layer]}, head {exhibit.head}"
    spans = dict.fromkeys(f"{start + 1}–{start + size}" for start in (first, second))
    part = f"words {' → '.join(spans)} of {len(units)}" if size < len(units) else ""
    parts = [
        f'<text x="{at(EDGE)}" y="{at(EDGE + SIZE)}" font-weight="600" fill="{colour}">'
        f"{escape(title)}</text>",
        f'<text x="{at(EDGE)}" y="{at(EDGE + ROW + SIZE)}" fill="{SOFT}">{where}</text>',
        f'<text x="{at(EDGE)}" y="{at(EDGE + 2 * ROW + SIZE)}" fill="{SOFT}">{part}</text>',
        *line_group("other attention", rest, frame, GREY),
        *line_group("what the role counts", of_role, frame, colour),
        *token_column("", sides[0], left, top, "end", _word_colours(of_role, colour)),
        *token_column("", sides[1], right, top, "start", _word_colours(of_role.T, colour)),
    ]
    lines = max(width_of(line, SIZE) for line in (title, where, part)) * SNUG
    across = max(right + wide[1], EDGE + lines) + EDGE
    words = f"Head {name} {phrase.one}: score {exhibit.score:.2f} on this input."
    strongest = _strongest(of_role, *sides)
    down = top + ROW * (1 + size) + EDGE
    return Panel(across, down, tuple(parts), f"{title}, {where}", f"{words}{strongest}")


def _counted_share(
    cells: Bool[np.ndarray, "queries keys"] | None,
    weights: Float[np.ndarray, "queries keys"],
    units: list[Unit],
) -> Float[np.ndarray, "units units"]:
    """Return the part of the attention between words that the role counts; 0 where it has no cells."""
    if cells is None:
        return np.zeros((len(units), len(units)))
    counted: np.ndarray = values_of((weights * cells)[None], units, units)[0]
    return counted


def _best_stretches(values: Float[np.ndarray, "units units"], size: int) -> tuple[int, int]:
    """Return the first words of the two stretches with the most attention from one to the other.

    Both are the same stretch where it has at least ``SAME`` of that attention inside. The earliest of equals
    is taken.
    """
    starts = len(values) - size + 1
    total = np.zeros((len(values) + 1,) * 2)
    total[1:, 1:] = values.cumsum(axis=0).cumsum(axis=1)
    inside = total[size:, size:] - total[:starts, size:] - total[size:, :starts] + total[:starts, :starts]
    inside = np.round(inside, 9)
    same = int(np.argmax(np.diagonal(inside)))
    if inside[same, same] >= SAME * inside.max():
        return same, same
    first, second = np.unravel_index(int(inside.argmax()), inside.shape)
    return int(first), int(second)


def _word_colours(counted: Float[np.ndarray, "rows columns"], colour: str) -> dict[int, str]:
    """Return the colour of the words with counted attention; of none where these are most words."""
    marked = np.flatnonzero((counted > 0).any(axis=1))
    return dict.fromkeys(marked.tolist(), colour) if 2 * len(marked) <= len(counted) else {}


def _strongest(values: Float[np.ndarray, "rows columns"], rows: list[Unit], columns: list[Unit]) -> str:
    """Return the strongest pair of words in a sentence; "" without any."""
    if not values.size or not values.max() > 0:
        return ""
    row, column = np.unravel_index(int(values.argmax()), values.shape)
    pair = f"“{isolate(rows[int(row)].text)}” to “{isolate(columns[int(column)].text)}”"
    return f" Strongest: {pair}, {values[row, column]:.2f}."
