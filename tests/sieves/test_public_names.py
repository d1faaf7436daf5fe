"""What a third party can state with public names: contrasts, scopes, groups, families and bounds."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

import headroles
from headroles import Band, Contrast, Example, Match, Pairs, Same, Without, score, sieve, sieve_family
from headroles.errors import BadSieve
from headroles.records.example import Scores
from headroles.records.findings import DECISIONS
from headroles.records.rules.rule import Decision
from headroles.sieves.base import MaskSieve, Scorer
from headroles.sieves.families import SieveFamily
from headroles.sieves.selection import select
from headroles.stats.engine import judge
from headroles.testing import check_sieve, made_example

RNG = np.random.default_rng(7)
PAIR = made_example(RNG, texts=2, words=9, key="pair")
ATTENTION = RNG.dirichlet(np.ones(PAIR.size), size=(2, 3, PAIR.size))


def _own(example: Example) -> Same:
    return Same(example.segment)


def _both(example: Example) -> Same:
    return Same(np.where(example.segment >= 0, 0, -1))


def _text(example: Example) -> np.ndarray:
    return example.segment


def _word_pairs(example: Example) -> Pairs:
    arcs = [arc for arc in example.arcs or () if arc.relation == "obj"]
    ends = np.array([[arc.dependent, arc.head] for arc in arcs]).reshape(-1, 2)
    return Pairs(ends[:, 0], ends[:, 1], int(example.word.max()) + 1)


def _token_pairs(example: Example) -> np.ndarray:
    cells = np.zeros((example.size, example.size), dtype=np.bool_)
    for arc in example.arcs or ():
        if arc.relation == "obj":
            cells[np.ix_(example.word == arc.dependent, example.word == arc.head)] = True
    return cells


def _other_words(example: Example) -> Without:
    words = int(example.word.max()) + 1
    return Without(headroles.Keys(np.ones(words, dtype=np.bool_)), Band(0, 0, words))


def _word(example: Example) -> np.ndarray:
    return example.word


REBUILT = {
    "block": sieve(
        "block",
        scope=_both,
        groups=_text,
        contrast=Contrast(margin=0.02, cells=_own, scope=_both, groups=_text),
    )(_own),
    "syntactic:obj": sieve(
        "syntactic:obj",
        needs=["arcs"],
        groups=_word,
        arcs=True,
        contrast=Contrast(margin=0.05, cells=_word_pairs, scope=_other_words, words=True),
    )(_token_pairs),
}
"""Built-in sieves, made of public names only."""


@pytest.mark.parametrize("name", sorted(REBUILT))
@pytest.mark.parametrize("statistic", ["selectivity", "bias"])
def test_a_built_in_sieve_rebuilt_from_public_names_has_the_same_scores(name: str, statistic: str) -> None:
    own = score(ATTENTION, PAIR, [REBUILT[name]], statistic=statistic)
    ours = score(ATTENTION, PAIR, [name], statistic=statistic)
    assert list(own) == list(ours) == [name, f"{name}:matched"]
    for column, values in ours.items():
        assert np.isfinite(values).all()
        assert own[column].tobytes() == values.tobytes()


def test_a_contrast_that_is_a_number_counts_the_sieves_own_cells_within_the_texts() -> None:
    def near(example: Example) -> Match:
        return Match(np.arange(example.size), np.arange(example.size) + 1)

    short = sieve("near", contrast=0.04)(near)
    long = sieve("near", contrast=Contrast(0.04, near, _both))(near)
    assert short.contrast is not None
    assert short.contrast.margin == 0.04
    assert {name: values.tobytes() for name, values in score(ATTENTION, PAIR, [short]).items()} == {
        name: values.tobytes() for name, values in score(ATTENTION, PAIR, [long]).items()
    }


def test_a_contrast_that_is_a_number_takes_keys_for_every_query() -> None:
    keys = sieve("keys", contrast=0.05)(lambda example: np.arange(example.size) % 3 == 1)
    columns = score(ATTENTION, PAIR, [keys])
    assert np.isfinite(columns["keys:matched"]).all()
    check_sieve(keys)


def test_a_contrast_that_is_a_number_needs_a_scope_where_special_tokens_count() -> None:
    with pytest.raises(BadSieve, match="'first' counts special tokens; give a Contrast with a scope"):
        sieve("first", specials=True, contrast=0.05)(lambda example: example.first)
    scoped = sieve("first", specials=True, contrast=0.05, scope=lambda example: np.ones(example.size, bool))
    assert scoped(lambda example: example.first).contrast is not None


@pytest.mark.parametrize("margin", [float("nan"), float("inf"), "0.1", True, None])
def test_a_margin_is_a_finite_number(margin: object) -> None:
    with pytest.raises(BadSieve, match=r"a margin is a finite number, such as 0\.1, but the sieve 'x' has"):
        sieve("x", margin=margin)(_own)  # type: ignore[arg-type]


def test_queries_without_a_group_ask_nothing() -> None:
    def half(example: Example) -> np.ndarray:
        return np.where(np.arange(example.size) < example.size // 2, 0, -1)

    def later(example: Example) -> np.ndarray:
        cells = np.tile(np.arange(example.size) % 2 == 0, (example.size, 1))
        cells[example.size // 2 :] = False
        return cells

    even = sieve("even", groups=half)(lambda example: np.arange(example.size) % 2 == 0)
    by_hand = sieve("even")(later)
    np.testing.assert_allclose(
        score(ATTENTION, PAIR, even)["even"], score(ATTENTION, PAIR, by_hand)["even"], atol=1e-12
    )


@pytest.mark.parametrize(
    ("groups", "sentence"),
    [
        (
            lambda example: np.zeros(example.size - 1, dtype=int),
            r"a whole number for each token or word, shape",
        ),
        (lambda example: np.zeros(example.size), "but got float64"),
        (lambda example: np.full(example.size, -2), "numbered from 0, .* but got -2 to -2"),
        (lambda example: np.full(example.size, 10**9), "numbered from 0, .* but got 1000000000 to"),
        (lambda example: 1 / 0, r"the groups of sieve 'odd' failed on example 'pair' \(ZeroDivisionError"),
    ],
)
@pytest.mark.parametrize("of_contrast", [False, True])
def test_groups_that_are_no_groups_are_one_sentence(
    groups: Callable[[Example], np.ndarray], sentence: str, of_contrast: bool
) -> None:
    if of_contrast:
        odd = sieve("odd", contrast=Contrast(0.1, _own, _both, groups=groups))(_own)
        sentence = sentence.replace("'odd'", "'odd:matched'")
    else:
        odd = sieve("odd", groups=groups)(_own)
    for lay in (
        lambda example: select([odd]).masks_of([example]),
        lambda example: select([odd]).plan(example, None),
    ):
        with pytest.raises(BadSieve, match=sentence):
            lay(PAIR)
    with pytest.raises(BadSieve, match=sentence):
        select([odd]).long_plan(PAIR, None)


SOUND: dict[str, Callable[[Example], object]] = {"cells": _word_pairs, "scope": _other_words}


@pytest.mark.parametrize("field", sorted(SOUND))
@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (lambda example: 1 / 0, r"the contrast 'odd:matched' failed on example 'pair' \(ZeroDivisionError"),
        (
            lambda example: np.ones((2, 2), dtype=bool),
            r"sieve 'odd:matched' made a mask of shape \(2, 2\) .* which has \d+ words",
        ),
    ],
)
def test_functions_of_a_contrast_that_fail_are_one_sentence(
    field: str, wrong: Callable[[Example], object], sentence: str
) -> None:
    cells, scope = (wrong if part == field else sound for part, sound in SOUND.items())
    odd = sieve("odd", needs=["arcs"], contrast=Contrast(0.1, cells, scope, words=True))(_token_pairs)
    for lay in (
        lambda example: select([odd]).masks_of([example]),
        lambda example: select([odd]).plan(example, None),
        lambda example: select([odd]).long_plan(example, None),
    ):
        with pytest.raises(BadSieve, match=sentence):
            lay(PAIR)


def test_a_scope_that_fails_is_one_sentence() -> None:
    def scope(example: Example) -> np.ndarray:
        raise KeyError("lexicon")

    odd = sieve("odd", scope=scope)(_own)
    with pytest.raises(BadSieve, match=r"the scope of sieve 'odd' failed on example 'pair' \(KeyError"):
        score(ATTENTION, PAIR, odd)


# Families.


def _ring(distance: int) -> MaskSieve:
    def away(example: Example) -> np.ndarray:
        place = np.arange(example.size)
        cells: np.ndarray = np.abs(place[:, None] - place[None, :]) == distance
        return cells

    return sieve(f"ring:{distance}")(away)


@sieve_family("ring", parameter="n", example="5")
def ring(distance: str) -> MaskSieve:
    """Does the head look exactly so far?"""
    return _ring(int(distance))


def test_a_family_states_how_it_is_listed_and_what_it_asks() -> None:
    assert isinstance(ring, SieveFamily)
    assert (ring.listed, ring.question, ring.source) == (
        "ring:<n>",
        "Does the head look exactly so far?",
        __name__,
    )
    check_sieve(ring)
    made = ring.sieve("3")
    assert isinstance(made, MaskSieve)
    assert (made.name, made.question) == ("ring:3", "Does the head look exactly so far?")


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (
            lambda text: _ring(int(text)),
            r"'f:x' is no sieve of the family f:<n> \(invalid literal .* as in f:5",
        ),
        (lambda text: 1 / 0, r"the family f:<n> failed on 'f:x' \(ZeroDivisionError: .*\); mend it"),
        (lambda text: None, "the family f:<n> makes sieves, but 'f:x' gave a NoneType"),
        (lambda text: MaskSieve, "the family f:<n> makes sieves, but 'f:x' gave a type"),
        (lambda text: _ring(3), "names such as 'f:5', but 'f:x' gave a sieve called 'ring:3'"),
    ],
)
def test_a_family_that_makes_no_sieve_is_one_sentence(
    make: Callable[[str], MaskSieve], sentence: str
) -> None:
    family = sieve_family("f", parameter="n", example="5")(make)
    with pytest.raises(BadSieve, match=sentence):
        family.sieve("x")


@pytest.mark.parametrize("name", ["", "a:b", "a;b", "a\nb", " a", 3])
def test_the_name_of_a_family_can_stand_before_a_colon(name: str) -> None:
    with pytest.raises(BadSieve, match="a family of sieves has a printable name without ':' and ';'"):
        sieve_family(name, parameter="n", example="5")(_ring)  # type: ignore[arg-type]


@pytest.mark.parametrize("given", [{"parameter": "", "example": "5"}, {"parameter": "n", "example": 5}])
def test_a_family_states_its_parameter_and_an_example(given: dict[str, str]) -> None:
    with pytest.raises(BadSieve, match=r"the family 'f' states its (parameter|example) as text"):
        sieve_family("f", **given)(lambda text: _ring(5))


# Scorers: bounds.


class _Constant:
    """A score that is the same everywhere."""

    needs: frozenset[str] = frozenset()
    margin = 0.2

    def __init__(self, value: float, low: float | None = 0.0, high: float | None = 1.0) -> None:
        self.name, self.value = "constant", value
        if low is not None:
            self.low = low
        if high is not None:
            self.high = high

    def score(self, attention: np.ndarray, example: Example) -> np.ndarray:
        return np.full(len(attention), self.value)

    def null(self, example: Example) -> float:
        return 0.1


@pytest.mark.parametrize(
    ("value", "low", "high", "decision"),
    [
        (0.9, 0.0, 1.0, "role"),
        (0.0, 0.0, 1.0, "not"),
        (0.9, None, None, "untestable"),
        (0.9, 0.0, None, "untestable"),
    ],
)
def test_the_bounds_and_the_margin_of_a_scorer_decide_where_all_scores_are_one_number(
    value: float, low: float | None, high: float | None, decision: str
) -> None:
    scorer = _Constant(value, low, high)
    assert isinstance(scorer, Scorer)
    (rule,) = select([scorer]).rules()
    assert rule.margin == 0.2
    keys = tuple(f"input/{number}" for number in range(60))
    scores = Scores(
        sieves=("constant",),
        examples=keys,
        units=keys,
        tokens=np.full(60, 9),
        cells=np.full((1, 60), np.nan),
        values=np.full((1, 60, 1, 2), value, dtype=np.float32),
        null=np.full((1, 60), 0.1),
    )
    findings = judge(scores, [replace(rule, null=0.1)], Decision())
    assert {DECISIONS[code] for code in findings.decision.ravel()} == {decision}


def test_bounds_that_a_score_leaves_are_found_by_the_check() -> None:
    with pytest.raises(
        BadSieve, match=r"scores of 'constant' lie between its bounds 0.0 and 0.5, but one is 0.9"
    ):
        check_sieve(_Constant(0.9, 0.0, 0.5))
    check_sieve(_Constant(0.9, 0.0, 1.0))
