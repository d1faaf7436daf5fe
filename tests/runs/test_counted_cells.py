"""The cells that a run keeps of its roles are those that the sieves count, whoever counts them."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headroles
from headroles import Labelling
from headroles.catalogue import sieve_of
from headroles.records.example import Example
from headroles.records.kept_maps import ANY_INPUT
from headroles.sieves.base import MaskSieve

Label = Callable[..., Labelling]
EASY: dict[str, Any] = {"margin": 0.0, "alpha": 0.9}
"""Settings that give many heads a role."""


@pytest.mark.parametrize("causal", [False, True])
def test_kept_cells_are_those_of_the_sieve_on_the_tokens_of_the_input(
    causal: bool, label: Label, model_of: Callable[[str], Path]
) -> None:
    options: dict[str, Any] = {"model": model_of("gpt2")} if causal else {}
    kept = label(sieve=["local", "previous", "block", "first"], **EASY, **options).exhibited
    assert kept is not None
    assert {name for _, name in kept.counted} >= {"local", "previous"}
    shown = {(int(kept.places[each.map, 0]), each.sieve) for each in kept.exhibits if each.sieve != ANY_INPUT}
    assert set(kept.counted) == shown
    for (place, name), cells in kept.counted.items():
        wanted = headroles.show_sieve(name, kept.examples[place], causal=causal).cells.counted
        np.testing.assert_array_equal(cells, wanted)


def test_cells_of_sieves_that_read_a_parser_are_kept(label: Label) -> None:
    sieve = sieve_of("syntactic")
    assert isinstance(sieve, MaskSieve)
    bare = replace(sieve, name="heads", contrast=None, word_class=None)
    kept = label(sieve=[bare], **EASY).exhibited
    assert kept is not None
    assert any(cells.any() for cells in kept.counted.values())
    for (place, _), cells in kept.counted.items():
        example: Example = kept.examples[place]
        assert not cells[:, example.special].any()
        assert (example.word[np.argwhere(cells)] >= 0).all()


def test_a_sieve_that_computes_from_attention_keeps_no_cells(label: Label) -> None:
    class Last:
        name, needs = "last", frozenset[str]()

        def score(self, attention: np.ndarray, example: Example) -> np.ndarray:
            mean: np.ndarray = attention[:, :, -1].mean(axis=1)
            return mean

        def null(self, example: Example) -> float:
            return 0.0

    kept = label(sieve=[Last(), "local"], **EASY).exhibited
    assert kept is not None
    assert {each.sieve for each in kept.exhibits} >= {"last"}
    assert {name for _, name in kept.counted} <= {"local"}


def test_cells_come_back_from_a_folder_and_an_older_folder_has_none(label: Label, tmp_path: Path) -> None:
    run = label(out=tmp_path / "run")
    assert run.exhibited is not None
    loaded = headroles.load(tmp_path / "run").exhibited
    assert loaded is not None
    assert {key: cells.tolist() for key, cells in loaded.counted.items()} == {
        key: cells.tolist() for key, cells in run.exhibited.counted.items()
    }
