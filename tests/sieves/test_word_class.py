"""Contrasts against word class are their formula, pair by pair."""

import json
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib import import_module
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
CALIBRATION = Path(__file__).resolve().parents[2] / "benchmarks" / "calibration"


@dataclass(frozen=True)
class Reading:
    """The words of one input: forms, word classes, head of each (-1 for none), and how often it occurs."""

    forms: tuple[str, ...]
    upos: tuple[str, ...]
    heads: np.ndarray
    count: np.ndarray


def cells_of(upos: Sequence[str], count: np.ndarray, i: int, j: int) -> list[tuple[object, ...]]:
    """Return the cells of a pair of words of a sentence: five levels, the coarsest first, and three more."""
    kinds = [KINDS.get(name, name) for name in upos]
    reach, side, edged = abs(j - i), j > i, ["", *upos, ""]
    between = range(min(i, j) + 1, max(i, j))
    passed = sum(kinds[k] == kinds[j] for k in between)
    nearer = any(kinds[k] == kinds[j] for k in range(len(upos)) if k != i and abs(k - i) < reach)
    crossed = any(kinds[k] in ("NOUN", "VERB") for k in between)
    near = (min(passed, 2) + 1 if passed else int(nearer), crossed)
    distance = (side, sum(reach >= step for step in STEPS))
    often = int(count[j] > 2) + int(count[j] > 20)
    length = sum(len(upos) >= least for least in (7, 10, 13, 17, 22, 28))
    return [
        distance,
        (side, upos[j], near),
        (distance, upos[j], near),
        (side, upos[i], upos[j], near),
        (distance, upos[i], upos[j], near),
        (distance, kinds[j] if kinds[j] in ("NOUN", "VERB") else "", near, length),
        (distance, *edged[i : i + 3]),
        (side, near, *edged[j : j + 3], often),
    ]


def class_contrasts(
    readings: Sequence[Reading], attention: Sequence[np.ndarray], sizes: Sequence[int]
) -> list[np.ndarray]:
    """Return the mean attention on head words beyond what the other half of the sentences gives by cells."""
    halves, weight = [], [0, 0]
    for size in sizes:
        halves.append(int(weight[1] < weight[0]))
        weight[halves[-1]] += size
    pairs = [
        (row, i, j)
        for row, own in enumerate(readings)
        for i in range(len(own.forms))
        for j in range(len(own.forms))
        if i != j
    ]
    cells = zip(
        *(cells_of(readings[row].upos, readings[row].count, i, j) for row, i, j in pairs), strict=True
    )
    numbers: list[dict[object, int]] = [{} for _ in range(8)]
    keys = [
        np.array([known.setdefault(cell, len(known)) for cell in own])
        for known, own in zip(numbers, cells, strict=True)
    ]
    row, i, j = np.array(pairs).T
    seen = np.array([attention[row][:, i, j] for row, i, j in pairs])
    even = np.array([[1 / len(readings[row].forms)] for row, _, _ in pairs])
    half = np.array(halves)[row]
    beyond = np.zeros(seen.shape)
    for trained in range(2):

        def total(values: np.ndarray, key: np.ndarray, own: np.ndarray = half == trained) -> np.ndarray:
            sums = np.zeros((key.max() + 1, values.shape[1]))
            np.add.at(sums, key[own], values[own])
            return np.asarray(sums[key])

        curve, drawn = np.zeros(seen.shape), 0.0
        for key in keys[:5]:  # each level is drawn to the coarser one by a pair of a sentence of 20 words
            level = total(even, key) + drawn
            curve = np.where(level > 0, total(seen, key) + drawn * curve, 0.0) / np.where(
                level > 0, level, 1.0
            )
            drawn = 0.05
        for key in (keys[5], keys[6], keys[7], keys[5]):
            curve *= (total(seen, key) + 0.05) / (total(curve * even, key) + 0.05)
        query, every = row * 1000 + i, half >= 0
        spread = total(curve, query, every)
        expected = total(seen, query, every) * curve / np.where(spread > 0, spread, 1.0)
        beyond = np.where((half != trained)[:, None], seen - expected, beyond)
    head = np.array([readings[row].heads[i] for row, i, _ in pairs]) == j
    found = [beyond[(row == own) & head] for own in range(len(readings))]
    return [own.mean(axis=0) if len(own) else np.full(seen.shape[1], np.nan) for own in found]


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


@pytest.mark.ci
def test_on_gold_trees_no_fake_is_beyond_word_class_and_every_head_of_syntax_is(
    shared: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from headroles.extraction import read_conllu

    monkeypatch.setattr(sys, "path", [str(CALIBRATION), *sys.path])
    bench = import_module("word_class")
    trees = read_conllu(shared / "data" / "ud_english_ewt" / "en_ewt-ud-dev.conllu.gz", "EWT")
    learned = [bench.sentence_of(words, forms, Counter()) for _, words, forms in bench.sentences(trees[256:])]
    heads = bench.old_fakes() | bench.new_fakes(learned) | bench.ORACLES
    strong = bench.verdicts(*bench.scores(trees[:256], heads, ["obj"]), list(heads), ["obj"])
    found = {(own["relation"], own["head"]) for own in strong if own["beyond word class"]}
    weakest = "a quarter on the head word, the rest on nouns and verbs nearby"
    assert found == {(kind, name) for kind in ("all", "obj") for name in bench.ORACLES} - {("obj", weakest)}
