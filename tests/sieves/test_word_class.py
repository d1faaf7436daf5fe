"""Contrasts against word class: the formula, heads that know no syntax, and heads that do."""

from collections import Counter
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headroles import Example
from headroles.arrays import selection_of
from headroles.errors import BadSieve
from headroles.plans.class_profile import LEAST, SHRINKAGE, split_in_halves
from headroles.plans.word_pairs import (
    KINDS,
    LONGEST,
    MOST,
    InputWords,
    WordPairs,
    coarser,
    with_frequency,
    word_classes,
    word_pairs,
)
from headroles.records.example import Arc
from headroles.records.passage import Passage
from headroles.sieves.base import ClassContrast, Contrast, MaskSieve, both_texts
from headroles.sieves.built_in.syntactic import sentences_of, syntactic
from headroles.sieves.language.relations import LEFT_OUT, canonical
from headroles.sieves.weights.reference import apply
from headroles.sieves.weights.word_class import pairs_of, reference
from tests.fakes.word_class import FAKES, ORACLES, Reading

CLASSES = ("NOUN", "VERB", "DET", "ADJ", "PRON", "ADP")


def _sentences(count: int, seed: int = 0) -> list[Example]:
    """Sentences of random words and trees."""
    rng = np.random.default_rng(seed)
    made = []
    for number in range(count):
        size = int(rng.integers(4, 12))
        upos = tuple(rng.choice(CLASSES, size=size).tolist())
        order = rng.permutation(size)
        arcs = [
            Arc(int(word), int(order[rng.integers(place)]), "obj")
            for place, word in enumerate(order)
            if place
        ]
        made.append(
            Example(
                f"made/{number}",
                ("[CLS]", *(f"w{rng.integers(40)}" for _ in range(size)), "[SEP]"),
                segment=np.array([-1, *[0] * size, -1]),
                word=np.array([-1, *range(size), -1]),
                arcs=tuple(arcs),
                upos=upos,
            )
        )
    return made


def _naive(
    pairs: Sequence[WordPairs],
    cells: Sequence[np.ndarray],
    attention: Sequence[np.ndarray],
    halves: np.ndarray,
) -> list[np.ndarray]:
    """Return the contrasts pair by pair, with dictionaries."""
    found = []
    for place, (own, weights) in enumerate(zip(pairs, attention, strict=True)):
        others = [other for other in range(len(pairs)) if halves[other] != halves[place]]
        sums: list[dict[int, np.ndarray]] = [{} for _ in range(6)]
        counts: list[Counter[int]] = [Counter() for _ in range(6)]
        for other in others:
            levels = coarser(cells[other])
            for number, (query, key) in enumerate(zip(pairs[other].query, pairs[other].key, strict=True)):
                value = attention[other][:, query, key] * pairs[other].size[number]
                for level, codes in enumerate(levels):
                    code = int(codes[number])
                    sums[level][code] = sums[level].get(code, 0.0) + value
                    counts[level][code] += 1
        profile = np.zeros((len(own.query), len(weights)))
        for number in range(len(own.query)):
            value = np.zeros(len(weights))
            for level, codes in enumerate(coarser(cells[place])):
                code, weight = int(codes[number]), SHRINKAGE * (level > 0)
                total = sums[level].get(code, 0.0) + weight * value
                value = total / max(counts[level][code] + weight, 1)
            profile[number] = value
        differences = []
        for pair in own.counted[0]:
            row = own.query == own.query[pair]
            mass = weights[:, own.query[pair], own.key[row]].sum(axis=1)
            expected = mass * profile[pair] / profile[row].sum(axis=0)
            differences.append(weights[:, own.query[pair], own.key[pair]] - expected)
        found.append(np.mean(differences, axis=0))
    return found


def test_the_reference_follows_the_formula_pair_by_pair() -> None:
    examples = _sentences(2 * LEAST + 3)
    rng = np.random.default_rng(1)
    pairs = [own for (own,) in pairs_of([syntactic], examples) if own is not None]
    counts = [rng.integers(1, 40, len(example.upos or ())) for example in examples]
    attention = [rng.dirichlet(np.ones(len(count)), (3, len(count))) for count in counts]
    halves = np.arange(len(examples)) % 2 == 1
    cells = [with_frequency(own.cell, count[own.key]) for own, count in zip(pairs, counts, strict=True)]
    got = reference(pairs, counts, attention, halves)
    wanted = _naive(pairs, cells, attention, halves)
    np.testing.assert_allclose(np.stack(got)[:, 0], np.stack(wanted), atol=1e-12)


def test_too_few_sentences_in_a_half_say_nothing() -> None:
    examples = _sentences(2 * LEAST)
    pairs = [own for (own,) in pairs_of([syntactic], examples) if own is not None]
    counts = [np.ones(len(example.upos or ()), dtype=np.int64) for example in examples]
    even = [np.full((1, len(count), len(count)), 1 / len(count)) for count in counts]
    enough = reference(pairs, counts, even, np.arange(len(examples)) % 2 == 1)
    lacking = reference(pairs, counts, even, np.arange(len(examples)) >= LEAST - 1)
    np.testing.assert_allclose(np.stack(enough), 0, atol=0.03)
    assert np.isnan(np.stack(lacking)).all()


def test_cells_tell_the_nearest_noun_from_the_next_one_and_from_later_ones() -> None:
    # "the dog saw a cat" from the verb: both nouns are nearest on their side, "dog" is nearest of all
    classes = word_classes(("DET", "NOUN", "VERB", "DET", "NOUN", "PROPN"))
    (pairs,) = word_pairs([InputWords(np.zeros(6, dtype=np.int64), classes, [])])
    nearness = {
        (int(query), int(key)): int(cell) % 8
        for query, key, cell in zip(pairs.query, pairs.key, pairs.cell, strict=True)
    }
    assert nearness[2, 1] == 0  # nearest of all, nothing in between
    assert nearness[2, 4] == 2  # nearest on its side
    assert nearness[2, 5] == 5  # one noun in between
    assert nearness[0, 5] == 7  # two nouns, and a verb


def test_an_arc_between_words_that_are_not_compared_counts_no_pair_that_follows() -> None:
    first, second = ([0, 2], [1, 3]), ([0], [1])
    counted = [(np.array(asking), np.array(asked)) for asking, asked in (first, second)]
    words = InputWords(np.array([0, 0, 1, 1, 1]), np.zeros(5, dtype=np.int64), counted)
    (pairs,) = word_pairs([words])
    assert [counted.tolist() for counted in pairs.counted] == [[0], []]
    assert (pairs.query[0], pairs.key[0]) == (2, 3)


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 5))
def test_inputs_have_the_same_pairs_alone_and_together(seed: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    inputs = []
    for size in rng.integers(0, 12, count).tolist():
        asking = rng.integers(0, max(size, 1), 3)[: size and 3]
        asked = rng.integers(0, max(size, 1), 3)[: size and 3]
        groups = rng.integers(-1, 3, size)
        inputs.append(InputWords(groups, rng.integers(0, KINDS, size), [(asking, asked), (asked, asking)]))
    for own, (alone,) in zip(word_pairs(inputs), ([*word_pairs([own])] for own in inputs), strict=True):
        for name in ("query", "key", "cell", "size", "groups"):
            np.testing.assert_array_equal(getattr(own, name), getattr(alone, name))
        for ours, theirs in zip(own.counted, alone.counted, strict=True):
            np.testing.assert_array_equal(ours, theirs)


def test_groups_that_are_too_small_too_long_or_behind_the_last_word_are_left_out() -> None:
    sizes = (2, LONGEST + 1, 3, *[LONGEST] * 3)
    groups = np.repeat(np.arange(len(sizes)), sizes)
    (pairs,) = word_pairs([InputWords(groups, np.zeros(len(groups), dtype=np.int64), [])])
    kept = np.unique(groups[pairs.query])
    assert kept.tolist() == [2, 3]
    assert sum(sizes[group] for group in kept) <= MOST


def test_halves_keep_units_whole_and_weigh_about_the_same() -> None:
    rng = np.random.default_rng(0)
    units, sizes = [f"u{number}" for number in rng.integers(30, size=200)], rng.integers(5, 60, 200).tolist()
    halves = split_in_halves(units, sizes)
    assert all(len({*halves[np.array(units) == unit]}) == 1 for unit in set(units))
    assert 0.4 < np.sum(np.array(sizes)[halves]) / np.sum(sizes) < 0.6


def test_sentences_are_what_arcs_join_even_in_trees_with_a_circle() -> None:
    arcs = (Arc(0, 1, "a"), Arc(1, 2, "a"), Arc(2, 0, "a"), Arc(3, 4, "a"))
    labels = sentences_of(Example("circle", tuple("abcdef"), word=np.arange(6), arcs=arcs))
    assert labels[3] == labels[4] != labels[5]


def test_words_without_classes_and_cross_attention_have_no_pairs() -> None:
    (example,) = _sentences(1)
    plain = Example(example.key, example.tokens, word=example.word, arcs=example.arcs)
    assert pairs_of([syntactic], [plain]) == [(None,)]


def test_a_contrast_against_word_class_needs_one_between_words() -> None:
    beyond = Contrast(margin=0.1, cells=both_texts, scope=both_texts)
    with pytest.raises(BadSieve, match="none between words"):
        MaskSieve("tokens", both_texts, contrast=beyond, word_class=ClassContrast(sentences_of, 0.2))


def _bench(examples: Sequence[Example], heads: Sequence[Reading]) -> dict[str, np.ndarray]:
    """Return selectivity, contrast against distance and score against word class of fakes and oracles."""
    makers = {**FAKES, **ORACLES}
    attention = [np.stack([make(reading) for make in makers.values()]) for reading in heads]
    selection = selection_of(["syntactic"])
    pairs = [own for (own,) in selection.word_pairs_of(examples) if own is not None]
    halves = split_in_halves(
        [example.group or example.key for example in examples], [e.size for e in examples]
    )
    beyond = reference(pairs, [reading.count for reading in heads], attention, halves)
    rows = []
    for example, between, contrast in zip(examples, attention, beyond, strict=True):
        whole = np.full((len(makers), example.size, example.size), 1 / example.size)
        whole[:, 1:-1] = 0
        whole[:, 1:-1, 1:-1] = between
        scores = apply(selection.plan(example, None, np.float64), whole)
        rows.append([scores[0], scores[1], contrast[0] - selection.class_spaces[0].share[0] * scores[1]])
    return dict(zip(makers, np.array(rows).transpose(2, 1, 0), strict=True))


def _beyond(scores: np.ndarray) -> bool:
    """Return whether contrasts lie beyond their margins: t of at least 1.65 for both."""
    return all(
        (own.mean() - margin) / (own.std(ddof=1) / np.sqrt(len(own))) > 1.65
        for own, margin in ((scores[1], 0.05), (scores[2], 0.0))
    )


def _judged(passages: Sequence[Passage]) -> tuple[set[str], set[str]]:
    """Return the fakes and the oracles whose contrasts against distance and word class hold on some texts."""
    spelled = [
        [
            text[start:stop].lower()
            for text, words in zip(passage.texts, passage.words or (), strict=True)
            for start, stop in words.spans
        ]
        for passage in passages
    ]
    counts = Counter(form for forms in spelled for form in forms)
    examples, readings = [], []
    for passage, forms in zip(passages, spelled, strict=True):
        arcs: list[Arc] = []
        classes: list[str] = []
        for words in passage.words or ():
            pairs = zip(words.heads.tolist(), words.relations, strict=True)
            arcs += [
                Arc(len(classes) + word, len(classes) + head, relation)
                for word, (head, relation) in enumerate(pairs)
                if head >= 0
            ]
            classes += words.upos or ()
        heads = np.full(len(forms), -1)
        for arc in arcs:
            heads[arc.dependent] = -1 if canonical(arc.relation) in LEFT_OUT else arc.head
        example = Example(
            passage.key,
            ("[CLS]", *forms, "[SEP]"),
            segment=np.array([-1, *[0] * len(forms), -1]),
            word=np.array([-1, *range(len(forms)), -1]),
            arcs=tuple(arcs),
            group=passage.group,
            upos=tuple(classes),
        )
        if len(forms) > 2 and (heads >= 0).any():
            examples.append(example)
            count = np.array([counts[form] for form in forms])
            readings.append(Reading(tuple(forms), tuple(classes), heads, count))
    strong = {name for name, scores in _bench(examples, readings).items() if _beyond(scores)}
    return strong & FAKES.keys(), strong & ORACLES.keys()


def test_on_gold_trees_no_fake_is_beyond_word_class_and_every_oracle_is(shared: Path) -> None:
    from headroles.extraction.texts.conllu import read_conllu

    passages = read_conllu(shared / "data" / "ud_english_ewt" / "en_ewt-ud-dev.conllu.gz", "EWT")[:256]
    fakes, oracles = _judged(passages)
    assert not fakes
    assert oracles == ORACLES.keys()


def test_on_parsed_samples_no_fake_is_beyond_word_class_and_every_oracle_is() -> None:
    from headroles.extraction.parsing.pipeline import load_parser, parse_texts

    parser, _ = load_parser(None)
    rows = (files("headroles") / "samples" / "QNLI.tsv").read_text(encoding="utf-8").splitlines()[1:]
    texts = [row.split("\t")[2] for row in rows]
    trees = parse_texts(parser, texts)
    passages = [Passage(text, (text,), None, (words,)) for text, words in zip(texts, trees, strict=True)]
    fakes, oracles = _judged(passages)
    assert not fakes
    assert oracles == ORACLES.keys()
