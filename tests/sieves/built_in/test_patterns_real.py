"""Pattern sieves on attention of real pretrained models."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from headroles import Example, score

Maps = Callable[[str], Iterator[tuple[Example, np.ndarray]]]


@pytest.fixture(scope="module")
def maps(shared: Path) -> Maps:
    """The examples of a model, each with its attention."""
    folder = shared / "data" / "head_attention"

    def read(model: str) -> Iterator[tuple[Example, np.ndarray]]:
        for item in json.loads((folder / "index.json").read_text()):
            if item["model"] == model:
                tokens = tuple(item["queries"])
                special = np.array([token in ("[CLS]", "[SEP]") for token in tokens])
                text = np.cumsum([token == "[SEP]" for token in tokens])
                with np.load(folder / item["file"]) as found:
                    yield Example(item["file"], tokens, segment=np.where(special, -1, text)), found["attn"]

    return read


def test_known_heads_of_gpt2_are_found(maps: Maps) -> None:
    found = [score(attention, example, ["patterns"]) for example, attention in maps("gpt2")]
    assert len(found) == 6
    previous = np.array([each["previous"] for each in found])
    assert previous[:, 4, 11].min() > 0.99
    assert previous.mean(axis=0).argmax() == 4 * 12 + 11
    # Sinks: most heads of the later layers rest on the first token, none of the first layer's does.
    first = np.array([each["first"] for each in found]).mean(axis=0)
    assert (first[5:] > 0.5).mean() > 0.8
    assert first[0].mean() < 0.2
    assert np.isnan([each["next"] for each in found]).all()


def test_known_heads_of_bert_are_found(maps: Maps) -> None:
    found = [
        score(attention, example, ["next", "previous"]) for example, attention in maps("bert-base-uncased")
    ]
    assert len(found) == 4
    following = np.array([each["next"] for each in found])
    assert following[:, 2, [0, 9]].min() > 0.99
    assert np.array([each["previous"][3, 5] for each in found]).min() > 0.5
    assert set(np.argsort(following.mean(axis=0), axis=None)[-2:].tolist()) == {2 * 12, 2 * 12 + 9}
