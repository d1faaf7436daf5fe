"""Contrasts against word class are their formula, pair by pair."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headroles
from headroles import Arc, Example
from headroles.arrays import selection_of

CLASSES = ("NOUN", "VERB", "DET", "ADJ", "PRON", "ADP", "AUX", "X")
KINDS = {"PROPN": "NOUN", "PRON": "NOUN", "AUX": "VERB"}
STEPS = (1, 2, 3, 4, 5, 7, 10, 15)


@dataclass(frozen=True)
class Reading:
    """The words of one input: forms, word classes, head of each (-1 for none), and how often it occurs."""

    forms: tuple[str, ...]
    upos: tuple[str, ...]
    heads: np.ndarray
    count: np.ndarray


def cell_of(upos: Sequence[str], count: np.ndarray, i: int, j: int) -> list[tuple[object, ...]]:
    """Return the cell of a pair of words of one sentence on each level, the coarsest first."""
    kinds = [KINDS.get(name, name) for name in upos]
    reach, side = abs(j - i), j > i
    between = range(min(i, j) + 1, max(i, j))
    passed = sum(kinds[k] == kinds[j] for k in between)
    nearer = any(kinds[k] == kinds[j] for k in range(len(upos)) if k != i and abs(k - i) < reach)
    crossed = any(kinds[k] in ("NOUN", "VERB") for k in between)
    near = (min(passed, 2) + 1 if passed else int(nearer), crossed)
    distance = (side, sum(reach >= step for step in STEPS))
    often = int(count[j] > 2) + int(count[j] > 20)
    return [
        distance,
        (side, upos[j], near),
        (distance, upos[j], near),
        (side, upos[i], upos[j], near),
        (distance, upos[i], upos[j], near),
        (distance, upos[i], upos[j], near, often),
    ]


def class_contrasts(
    readings: Sequence[Reading], attention: Sequence[np.ndarray], sizes: Sequence[int]
) -> list[np.ndarray]:
    """Return the mean attention on head words beyond what the other half of the sentences gives by cells."""
    halves, weight = [], [0, 0]
    for size in sizes:
        halves.append(int(weight[1] < weight[0]))
        weight[halves[-1]] += size
    numbers: list[dict[object, int]] = [{} for _ in range(6)]
    pairs, places = [], []
    for own in readings:
        both = [(i, j) for i in range(len(own.forms)) for j in range(len(own.forms)) if i != j]
        cells = [cell_of(own.upos, own.count, i, j) for i, j in both]
        pairs.append(np.array(both).T)
        places.append(
            [[known.setdefault(cell[k], len(known)) for cell in cells] for k, known in enumerate(numbers)]
        )
    sums = [np.zeros((2, len(known), len(attention[0]))) for known in numbers]
    counts = [np.zeros((2, len(known), 1)) for known in numbers]
    for half, own, (i, j), levels, rows in zip(halves, readings, pairs, places, attention, strict=True):
        for level, place in enumerate(levels):
            np.add.at(sums[level][half], place, len(own.forms) * rows[:, i, j].T)
            np.add.at(counts[level][half], place, 1)
    found = []
    for half, own, (i, j), levels, rows in zip(halves, readings, pairs, places, attention, strict=True):
        curve = np.zeros((len(i), len(rows)))
        for level, place in enumerate(levels):  # each level is drawn to the coarser one by two pairs
            total, count = (table[level][1 - half][place] for table in (sums, counts))
            curve = (total + 2.0 * (level > 0) * curve) / np.maximum(count + 2.0 * (level > 0), 1)
        beyond = []
        for word in np.flatnonzero(own.heads >= 0):
            row, head = i == word, int(own.heads[word])
            mass, level = rows[:, word, j[row]].sum(axis=1), curve[row].sum(axis=0)
            rate = np.divide(mass, level, out=np.zeros(len(rows)), where=level > 0)
            beyond.append(rows[:, word, head] - rate * curve[row & (j == head)][0])
        found.append(np.mean(beyond, axis=0) if beyond else np.full(len(rows), np.nan))
    return found


def _written(count: int, seed: int) -> list[Reading]:
    """Return sentences of random letters, classes and trees."""
    rng, made = np.random.default_rng(seed), []
    for size in rng.integers(3, 12, count):
        order, heads = rng.permutation(size), np.full(size, -1)
        for place in range(1, size):
            heads[order[place]] = order[rng.integers(place)]
        forms = rng.choice(list("abcdefghijklmnop"), size=size, p=np.arange(1, 17) / 136)
        made.append(Reading(tuple(forms.tolist()), tuple(rng.choice(CLASSES, size).tolist()), heads, heads))
    often = Counter(form for own in made for form in own.forms)
    return [replace(own, count=np.array([often[form] for form in own.forms])) for own in made]


@pytest.mark.xdist_group("planted")
@pytest.mark.parametrize("count", [48, 38])
def test_a_run_scores_the_contrast_less_a_share_of_that_against_distance(
    count: int, planted: Path, tmp_path: Path
) -> None:
    readings, lines = _written(count, 1), []
    for own in readings:
        for word, (form, upos, head) in enumerate(zip(own.forms, own.upos, own.heads, strict=True), 1):
            relation = "root" if head < 0 else "obj"
            lines.append(f"{word}\t{form}\t_\t{upos}\t_\t_\t{head + 1}\t{relation}\t_\t_")
        lines.append("")
    (tmp_path / "made.conllu").write_text("\n".join(lines) + "\n")
    (tmp_path / "made.json").write_text(json.dumps([{"words": own.forms} for own in readings]))
    given: dict[str, Any] = {"model": planted, "max_length": 48}
    sieves = ["syntactic", "syntactic:obj"]
    run = headroles.label(data=tmp_path / "made.conllu", sieve=sieves, maps=0, **given)
    headroles.extract(tmp_path / "made.json", out=tmp_path / "maps.npz", precision="float32", **given)
    with np.load(tmp_path / "maps.npz") as arrays:
        maps = [arrays[str(number)].reshape(6, len(own.forms) + 2, -1) for number, own in enumerate(readings)]
    inner = [given[:, 1:-1, 1:-1].astype(np.float64) for given in maps]
    wanted = np.array(class_contrasts(readings, inner, [given.shape[-1] for given in maps]))
    values = {
        name: run.scores.values[run.scores.sieves.index(name)].reshape(count, 6) for name in run.scores.sieves
    }
    for name, share in (("syntactic", 0.2), ("syntactic:obj", 0.3)):
        found = values[f"{name}:class"]
        if count < 40:  # fewer than 20 sentences in a half say nothing
            assert np.isnan(found).all()
            continue
        np.testing.assert_allclose(found, wanted - share * values[f"{name}:matched"], rtol=0, atol=1e-5)


def test_sentences_that_are_too_small_too_long_or_behind_the_last_word_are_not_compared() -> None:
    sizes = (2, 257, 3, 256, 256, 256)
    starts = np.cumsum(sizes) - sizes
    arcs = [
        Arc(int(start) + k, int(start), "obj")
        for start, size in zip(starts, sizes, strict=True)
        for k in range(1, size)
    ]
    total = sum(sizes)
    example = Example("long", ("w",) * total, word=np.arange(total), arcs=tuple(arcs), upos=("X",) * total)
    ((pairs,),) = selection_of("syntactic").word_pairs_of([example])
    assert pairs is not None
    assert set(np.searchsorted(starts, pairs.query, side="right") - 1) == {2, 3}
    assert len(pairs.query) == 3 * 2 + 256 * 255
    assert selection_of("syntactic").word_pairs_of([replace(example, upos=None)]) == [(None,)]
