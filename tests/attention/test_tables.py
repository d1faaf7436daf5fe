"""The tables of models in the documentation are those of the tests; cells that runs keep are counted ones."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headroles
from headroles import Example, Labelling, MaskSieve
from headroles.catalogue import sieve_of
from tests.support.architectures import TABLE
from tests.support.seq2seq import MODELS

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs" / "reference" / "models.md").read_text(encoding="utf-8")


def _rows(text: str) -> list[list[str]]:
    """Cells of the table of architectures."""
    lines = text[text.index("| architecture |") :].split("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_every_tested_architecture_is_a_row_with_its_path_and_shared_keys() -> None:
    told = {row[0]: (row[2], row[3]) for row in _rows(TEXT)}
    sides = {True: "changes the model", False: "same attention"}
    assert told == {name: (each.path, sides[each.rigid]) for name, each in TABLE.items()}
    for name, family, *_ in _rows(TEXT):
        heads = TABLE[name].key_heads
        assert ("grouped queries" in family) == (heads is not None and max(heads) > 1), name
        assert ("multi-query" in family) == (heads is not None and max(heads) == 1), name


def test_the_page_names_tests_that_exist_and_is_linked() -> None:
    named = set(re.findall(r"`(tests/[\w/]+\.py)`", TEXT))
    assert named
    assert all((ROOT / name).is_file() for name in named)
    assert "docs/reference/models.md" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_encoder_decoders_that_are_tested_are_told_from_those_that_are_checked_when_loaded_only() -> None:
    rows = _rows((ROOT / "docs" / "how-to" / "encoder-decoders.md").read_text(encoding="utf-8"))
    told = {name.lower() for names, _, how in rows for name in names.split(", ") if "test_cross.py" in how}
    assert told == {*MODELS}
    others = {how for *_, how in rows if "test_cross.py" not in how}
    assert others == {"checked when loaded only", "refused when loaded"}


# Cells that a run keeps of its roles.

Label = Callable[..., Labelling]
EASY: dict[str, Any] = {"margin": 0.0, "alpha": 0.9}
"""Settings that give many heads a role."""


@pytest.mark.parametrize("causal", [False, True])
def test_kept_cells_are_those_of_the_sieve_on_the_tokens_of_the_input(
    causal: bool, label: Label, model_of: Callable[[str], Path], tmp_path: Path
) -> None:
    options: dict[str, Any] = {"model": model_of("gpt2")} if causal else {}
    label(sieve=["local", "previous", "block", "first"], **EASY, **options, out=tmp_path / "run")
    kept = headroles.load(tmp_path / "run").exhibited
    assert kept is not None
    assert {name for _, name in kept.counted} >= {"local", "previous"}
    roles = {"local", "previous", "block", "first"}
    shown = {(int(kept.places[each.map, 0]), each.sieve) for each in kept.exhibits if each.sieve in roles}
    assert set(kept.counted) == shown
    for (place, name), cells in kept.counted.items():
        wanted = headroles.show_sieve(name, kept.examples[place], causal=causal).cells.counted
        np.testing.assert_array_equal(cells, wanted)


def test_cells_of_sieves_that_read_a_parser_are_kept_and_those_that_compute_have_none(label: Label) -> None:
    class Last:
        name, needs = "last", frozenset[str]()

        def score(self, attention: np.ndarray, example: Example) -> np.ndarray:
            mean: np.ndarray = attention[:, :, -1].mean(axis=1)
            return mean

        def null(self, example: Example) -> float:
            return 0.0

    sieve = sieve_of("syntactic")
    assert isinstance(sieve, MaskSieve)
    bare = replace(sieve, name="heads", contrast=None, word_class=None)
    kept = label(sieve=[bare, Last()], **EASY).exhibited
    assert kept is not None
    assert {each.sieve for each in kept.exhibits} >= {"last", "heads"}
    assert {name for _, name in kept.counted} == {"heads"}
    assert any(cells.any() for cells in kept.counted.values())
    for (place, _), cells in kept.counted.items():
        example: Example = kept.examples[place]
        assert not cells[:, example.special].any()
        assert (example.word[np.argwhere(cells)] >= 0).all()
