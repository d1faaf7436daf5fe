"""Example heads next to each other: for each role its strongest head, on the input that shows it best.

They are one figure for papers, an SVG that other forms embed.
"""

from base64 import b64encode
from dataclasses import replace

import numpy as np
from jaxtyping import Float

from headroles.records.findings import Labelling
from headroles.records.kept_maps import KeptMaps, TypicalInput
from headroles.records.layers import Stack
from headroles.records.numbers import plural
from headroles.records.roles import phrase_of
from headroles.reports import pictures
from headroles.reports.drawing import Figure, tone
from headroles.reports.pictures import EDGE, ROW, SNUG, width_of
from headroles.reports.prints import SVG, palette, pixels
from headroles.reports.summary import Role, Summary

MOST_ROLES, MOST_ROWS = 12, 15
"""Most roles, and most words of an input, that are drawn."""
SAME = 0.5
"""Part of the counted attention that one stretch must have for both columns to show it."""
APART = 62.0
"""Width between the two columns of words, in px."""
LONGEST_WORD, LONGEST_TITLE = 10, 27
"""Letters of a word and of a title that are drawn."""
GREY = "#8a929b"
"""Colour of attention that the role does not count."""
LETTERS = 6.0
"""Size of the letters in points."""


def examples(labelling: Labelling, summary: Summary, width: float) -> Figure | None:
    """Draw the strongest head of every role on the input that shows the role best.

    Args:
        labelling: The run.
        summary: What its page may say.
        width: Of the figure in millimetres.

    Returns:
        A figure that holds its SVG; None where no example of a role was kept.
    """
    chosen = _chosen(labelling, summary)
    kept = labelling.exhibited
    if kept is None or not chosen:
        return None
    stack = labelling.scores.stack
    panels = [_panel(kept, exhibit, stack, palette()[tone(role.tone)[6:-1]]) for role, exhibit in chosen]
    across = max(panel.across for panel in panels)
    panels = [replace(panel, across=across) for panel in panels]
    widest = width / 25.4 * 72 * pictures.SIZE / LETTERS
    picture = pictures.join_panels([("", panels)], f"{width:g}mm", widest)
    across, down = map(float, picture.partition('viewBox="0 0 ')[2].partition('"')[0].split())
    source = f"data:image/svg+xml;base64,{b64encode(picture.encode()).decode()}"
    sentence = f"The strongest head of {plural(len(chosen), 'role')}, on the input with its highest score."
    image = {"source": source, "xref": "paper", "yref": "paper", "x": 0, "y": 1, "sizex": 1, "sizey": 1}
    layout = {
        "height": pixels(width) * (down / across), "margin": {"l": 0, "r": 0, "t": 0, "b": 0},
        "meta": {"sentence": sentence, SVG: picture}, "xaxis": {"visible": False},
        "yaxis": {"visible": False}, "showlegend": False, "images": [image | {"sizing": "stretch"}],
    }  # fmt: skip
    return {"data": [], "layout": layout}


def _chosen(labelling: Labelling, summary: Summary) -> list[tuple[Role, TypicalInput]]:
    """Return a head and an input for every role: the strongest head, and its input with the highest score.

    Of a question that is read in two directions, the direction with the stronger head is taken. Of more than
    ``MOST_ROLES`` roles, those are taken whose heads lie furthest above their thresholds. Roles that no head
    holds, and those without a kept input, are left out.
    """
    findings = labelling.findings
    exhibits = labelling.exhibited.exhibits if labelling.exhibited else ()
    best: dict[str, tuple[float, int, TypicalInput]] = {}
    for number, role in enumerate(summary.roles):
        means = findings.mean[role.position]
        strongest = max(
            (each for each in exhibits if each.sieve == role.sieve and each.rank == 1
             and summary.held[number, each.layer, each.head]),
            key=lambda each: float(means[each.layer, each.head]), default=None,
        )  # fmt: skip
        if strongest is None:
            continue
        cell = (role.position, strongest.layer, strongest.head)
        above = float(findings.mean[cell] - findings.null[cell]) - findings.rules[role.position].margin
        question = role.sieve.removesuffix(":→").removesuffix(":←")
        if question not in best or best[question][0] < above:
            best[question] = (above, number, strongest)
    furthest = sorted(best.values(), key=lambda row: -row[0])[:MOST_ROLES]
    furthest.sort(key=lambda row: row[1])
    return [(summary.roles[number], exhibit) for _, number, exhibit in furthest]


def _panel(kept: KeptMaps, exhibit: TypicalInput, stack: Stack, colour: str) -> pictures.Panel:
    """Return one head on one input: lines from words to those they attend to, as strong as the weight.

    Weights between words are sums over the pieces attended to, averaged over the pieces that attend. Lines
    that the role counts are coloured, and so are their words, unless these are most words. Of a long input,
    the stretch of ``MOST_ROWS`` words is drawn in which the role counts most attention; where it counts far
    more between two stretches, these are drawn. Special tokens are drawn where the role counts them.
    """
    place = int(kept.places[exhibit.map, 0])
    example, weights = kept.examples[place], kept.weights[exhibit.map][None] / 255
    cells = kept.counted.get((place, exhibit.sieve))
    with_specials = cells is None or bool(cells[:, example.special].any())
    units = pictures.units_of(example, "words", with_specials, with_specials or not example.special[0])
    values = pictures.values_of(weights, [units, units])[0]
    counted = values if cells is None else pictures.values_of(weights * cells, [units, units])[0]
    size = min(MOST_ROWS, len(units))
    starts = _best_stretches(counted, size)
    stretch = np.s_[starts[0] : starts[0] + size, starts[1] : starts[1] + size]
    of_role = counted[stretch]
    rest = np.maximum(values[stretch] - of_role, 0.0)
    short = [replace(unit, text=pictures.shorten(unit.text, LONGEST_WORD)) for unit in units]
    sides = [short[start : start + size] for start in starts]
    wide = [max((width_of(unit.text) for unit in side), default=0.0) * SNUG for side in sides]
    left, right, top = EDGE + wide[0], EDGE + wide[0] + APART, EDGE + 3 * ROW
    frame = (left + 4, right - 4, top + ROW)
    phrase = phrase_of(exhibit.sieve)
    title = pictures.shorten(phrase.title, LONGEST_TITLE)
    where = f"layer {stack.numbers[exhibit.layer]}, head {exhibit.head}"
    spans = dict.fromkeys(f"{start + 1}–{start + size}" for start in starts)
    part = f"words {' → '.join(spans)} of {len(units)}" if size < len(units) else ""
    marked = [np.flatnonzero((own > 0).any(axis=1)).tolist() for own in (of_role, of_role.T)]
    marked = [places if 2 * len(places) <= size else [] for places in marked]
    parts = [
        *pictures.heading(title, where, part, fill=colour),
        pictures.line_group("other attention", rest, frame, GREY),
        pictures.line_group("what the role counts", of_role, frame, colour),
        pictures.token_column("", sides[0], left, top, "end", marked[0], colour),
        pictures.token_column("", sides[1], right, top, "start", marked[1], colour),
    ]
    across = max(right + wide[1], EDGE + max(map(width_of, (title, where, part))) * SNUG) + EDGE
    name = stack.name(exhibit.layer, exhibit.head)
    words = f"Head {name} {phrase.one}: score {exhibit.score:.2f} on this input."
    if of_role.size and of_role.max() > 0:
        words += f" Strongest: {pictures.strongest_pair(of_role, sides)}"
    return pictures.Panel(across, top + ROW * (1 + size) + EDGE, parts, f"{title}, {where}", words)


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
