"""Mean outputs are those of other units, by class of token, and draws depend on seed and key alone."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from headroles.errors import BadInput
from headroles.extraction.ablation.references import (
    FEWEST,
    Folds,
    References,
    donor_places,
    draw_donors,
    mean_outputs,
    token_classes,
)
from headroles.extraction.texts.tokens import Tokenised
from headroles.records.passage import Passage


def made(key: str, texts: list[int]) -> Tokenised:
    """An input whose tokens belong to these texts."""
    count = len(texts)
    return Tokenised(
        passage=Passage(key, ("x",)),
        inputs={"input_ids": list(range(count))},
        tokens=("x",) * count,
        texts=np.array(texts, dtype=np.int32),
        spans=np.zeros((count, 2), dtype=np.int64),
        class_id=np.zeros(count, dtype=bool),
        truncated=False,
    )


def outputs_of(tokenised: Tokenised) -> list[torch.Tensor]:
    """Two layers of two heads of size 3, drawn by the input's key."""
    generator = torch.Generator().manual_seed(int(tokenised.passage.key[1:]))
    return [torch.randn(tokenised.size, 2, 3, generator=generator) for _ in range(2)]


@given(st.sets(st.text(min_size=1, max_size=5), min_size=2, max_size=20), st.integers(0, 99))
def test_both_folds_have_units(units: set[str], seed: int) -> None:
    folds = Folds(units, seed)
    sizes = np.bincount([folds.fold(unit) for unit in units], minlength=2)
    assert sizes.min() >= 1
    assert abs(sizes[0] - sizes[1]) <= 1
    assert [folds.fold(unit) for unit in units] == [Folds(sorted(units), seed).fold(unit) for unit in units]


def test_means_are_those_of_the_other_fold_by_class() -> None:
    seed = 5
    inputs = [made(f"k{k}", [-1, *[0] * (4 + k % 3), -1, *[1] * 3, -1]) for k in range(12)]
    units = [f"u{k // 2}" for k in range(12)]
    means = mean_outputs(References(inputs, units), seed, outputs_of)
    for place, unit in enumerate(units):
        classes = token_classes(inputs[place])
        assert classes.tolist()[0] == 0
        assert (classes == 1).sum() == 2
        others = [k for k in range(12) if means.folds.fold(units[k]) != means.folds.fold(unit)]
        assert place not in others
        for layer in range(2):
            pooled: dict[int, list[torch.Tensor]] = {number: [] for number in range(3)}
            for k in others:
                output = outputs_of(inputs[k])[layer]
                for token, number in enumerate(token_classes(inputs[k])):
                    pooled[number].append(output[token])
            everything = torch.stack([own for some in pooled.values() for own in some])
            for token, number in enumerate(classes):
                enough = len(pooled[number]) >= FEWEST
                expected = (torch.stack(pooled[number]) if enough else everything).double().mean(0)
                torch.testing.assert_close(means.of(unit, classes, layer)[token], expected, atol=1e-6, rtol=0)
    assert len(pooled[0]) < FEWEST <= len(pooled[1])
    assert means.digest == mean_outputs(References(inputs, units), seed, outputs_of).digest
    with ThreadPoolExecutor(3) as executor:
        assert means.digest == mean_outputs(References(inputs, units), seed, outputs_of, executor.map).digest
    assert means.digest != mean_outputs(References(inputs, units), seed + 1, outputs_of).digest


@given(st.integers(2, 12), st.integers(1, 6), st.integers(0, 99))
def test_donors_are_of_other_units_and_depend_on_the_key(count: int, draws: int, seed: int) -> None:
    units = [f"u{k % 3}" for k in range(count)]
    references = References([made(f"k{k}", [0, 0]) for k in range(count)], units)
    donors = draw_donors(references, "k1", "u1", draws=draws, seed=seed)
    assert len(donors) == draws
    assert not {units[donor] for donor in donors} & {"u1"}
    others = sum(unit != "u1" for unit in units)
    assert len(set(donors.tolist())) == draws or draws > others
    again = draw_donors(references, "k1", "u1", draws=draws, seed=seed)
    assert again.tolist() == donors.tolist()


def test_draws_without_another_unit_are_refused() -> None:
    references = References([made("k0", [0]), made("k1", [0])], ["same", "same"])
    with pytest.raises(BadInput, match="all reference inputs are of the unit of 'k0'"):
        draw_donors(references, "k0", "same", draws=1, seed=0)


@given(
    st.lists(st.integers(0, 2), min_size=1, max_size=9), st.lists(st.integers(0, 2), min_size=1, max_size=9)
)
def test_donated_tokens_have_the_class_and_the_nearest_place(own: list[int], theirs: list[int]) -> None:
    places = donor_places(np.array(own), np.array(theirs))
    for i, (number, place) in enumerate(zip(own, places, strict=True)):
        if number in theirs:
            assert theirs[place] == number
        allowed = [j for j, other in enumerate(theirs) if other == number] or list(range(len(theirs)))

        def far(j: int, i: int = i) -> float:
            return abs(i / max(len(own) - 1, 1) - j / max(len(theirs) - 1, 1))

        assert far(place) == pytest.approx(min(map(far, allowed)))


def test_an_input_of_its_own_layout_gives_itself() -> None:
    classes: Any = np.array([0, 2, 2, 1, 2, 1])
    assert donor_places(classes, classes).tolist() == [0, 1, 2, 3, 4, 5]
