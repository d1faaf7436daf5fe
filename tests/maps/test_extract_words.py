"""What queries see is stored by the units of the maps, and attention that is no number never is."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import headroles
from headroles.arrays import selection_of
from headroles.errors import BadInput
from headroles.extraction.jobs.map_writer import visible_range, visible_units
from headroles.extraction.model.load import Model, load
from headroles.maps.examples import read_map_list, read_reach, visible_mask
from headroles.sieves.weights.reference import apply
from headroles.storage.map_files import MapFile
from tests.support.read_models import cut_into_blocks
from tests.support.reference import rounding_bound

ModelOf = Callable[[str], Path]
WORDS = "the unbelievable committee did n't believe in re-opening the treaty , nobody objected to it ."
WINDOW = 6


def _texts(folder: Path) -> Path:
    file = folder / "texts.json"
    halves = WORDS.split()[:9], WORDS.split()[5:]
    file.write_text(json.dumps([{"words": WORDS.split()}, *({"words": half} for half in halves)]))
    return file


def _listed(file: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(file.with_suffix(".json").read_text())["examples"]
    return found


def _extracted(model: Path, folder: Path, *, words: bool) -> Path:
    out = folder / f"{'words' if words else 'tokens'}.npz"
    headroles.extract(_texts(folder), out=out, model=model, word_level=words, precision="float32")
    return out


def _units(row: dict[str, Any]) -> list[list[int]]:
    """The pieces of each unit."""
    own: list[list[int]] = []
    for place, word in enumerate(row["word"]):
        if place and word >= 0 and word == row["word"][place - 1]:
            own[-1].append(place)
        else:
            own.append([place])
    return own


def _seen(row: dict[str, Any], layer: int) -> np.ndarray:
    """What tokens see, as the list of tokens says it."""
    n = len(row["tokens"])
    low, high = row["visible"][layer] if "visible" in row else (None, None)
    offset = np.arange(n)[None, :] - np.arange(n)[:, None]
    seen: np.ndarray = (offset >= (-n if low is None else low)) & (offset <= (n if high is None else high))
    return seen


@pytest.mark.parametrize("name", ["bert", "gpt2", "mistral", "olmo3", "modernbert"])
@pytest.mark.parametrize("blocks", [False, True])
def test_words_see_the_words_of_which_any_piece_sees_any_piece(
    blocks: bool, name: str, model_of: ModelOf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if blocks:
        cut_into_blocks(monkeypatch, 4, 5000)
    tokens = _listed(_extracted(model_of(name), tmp_path, words=False))
    words = _extracted(model_of(name), tmp_path, words=True)
    several = 0
    for number, (row, example) in enumerate(zip(tokens, read_map_list(words, "words").examples, strict=True)):
        own = _units(row)
        several += sum(len(each) > 1 for each in own)
        with MapFile.open(words) as maps:
            weights = maps[str(number)]
        for layer in range(2):
            seen = _seen(row, layer)
            wanted = np.array([[seen[np.ix_(one, other)].any() for other in own] for one in own])
            found = example.visible(layer)
            np.testing.assert_array_equal(np.ones_like(wanted) if found is None else found, wanted)
            assert not weights[layer][:, ~wanted].any()
    assert several > 5
    visible = _listed(words)[0].get("visible")
    assert visible == {"bert": None, "gpt2": [[None, 0]] * 2}.get(name, visible)


def test_maps_of_words_are_scored_within_what_words_see(model_of: ModelOf, tmp_path: Path) -> None:
    tokens = _listed(_extracted(model_of("mistral"), tmp_path, words=False))
    words = _extracted(model_of("mistral"), tmp_path, words=True)
    found = headroles.label(attention=words, sieve=["previous", "first"])
    sieves = selection_of(["previous", "first"])
    for number, (row, given) in enumerate(zip(tokens, read_map_list(words, "words").examples, strict=True)):
        own = _units(row)
        seen = _seen(row, 0)
        wanted = np.array([[seen[np.ix_(one, other)].any() for other in own] for one in own])
        example = headroles.Example("words", given.tokenised.tokens, segment=given.tokenised.texts)
        plan = sieves.plan(example, wanted)
        with MapFile.open(words) as maps:
            scores = np.stack([apply(plan, each.astype(np.float64)) for each in maps[str(number)]], axis=1)
        np.testing.assert_allclose(found.scores.values[:, number], scores, rtol=0, atol=rounding_bound(64))
        np.testing.assert_array_equal(found.scores.cells[:, number], plan.cells)
    assert np.isfinite(found.scores.values).all(axis=(1, 2, 3)).all()


def test_words_of_one_piece_each_are_told_as_offsets() -> None:
    window = np.tri(9, dtype=np.bool_) & ~np.tri(9, k=-4, dtype=np.bool_)
    assert visible_range(visible_units(window, np.arange(9))) == visible_range(window) == (-3, 0)
    assert visible_range(visible_units(np.tri(9, dtype=np.bool_), np.array([0, 0, 1, 2, 2, 2, 3, 4, 4]))) == (
        None,
        0,
    )
    assert visible_units(None, np.arange(9)) is None


def test_first_and_last_keys_come_back_as_they_were() -> None:
    rng = np.random.default_rng(4)
    for _ in range(200):
        size = int(rng.integers(1, 9))
        first, last = rng.integers(0, size, size), rng.integers(-1, size, size)
        place = np.arange(size)
        seen = (place >= first[:, None]) & (place <= last[:, None])
        rule = read_reach(json.loads(json.dumps(visible_range(seen))), size)
        assert rule is not None
        again = visible_mask(rule, size)
        np.testing.assert_array_equal(np.ones_like(seen) if again is None else again, seen)


def test_attention_that_is_no_number_is_not_stored(
    model_of: ModelOf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def spoilt(*given: Any, **options: Any) -> Model:
        model = load(*given, **options)
        with torch.no_grad():
            dict(model.network.named_parameters())["encoder.layer.1.attention.self.query.bias"][3] = torch.nan
        return model

    texts = _texts(tmp_path)
    monkeypatch.setattr("headroles.extraction.model.load.load", spoilt)
    for words in (False, True):
        with pytest.raises(BadInput, match="must be finite, but layer 1 gives some that are not"):
            headroles.extract(texts, out=tmp_path / "maps.npz", model=model_of("bert"), word_level=words)
    assert [each.name for each in tmp_path.iterdir()] == ["texts.json"]


def test_of_an_encoder_decoder_the_encoders_maps_are_stored(model_of: ModelOf, tmp_path: Path) -> None:
    out = _extracted(model_of("t5"), tmp_path, words=False)
    listed = json.loads(out.with_suffix(".json").read_text())
    assert listed["model"]["kind"] == "encoder"
    assert all("visible" not in row for row in listed["examples"])
    with MapFile.open(out) as maps:
        assert maps["0"].shape[:2] == (2, 4)
        assert (maps["0"] > 0).all()
