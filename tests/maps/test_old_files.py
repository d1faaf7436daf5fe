"""The script of docs/maps.md turns the pickles of the released code into files of maps that commands read."""

import json
import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headroles
from headroles.maps.documents import read_map_documents
from headroles.maps.examples import read_map_list

DOCS = Path(__file__).resolve().parents[2] / "docs" / "maps.md"
PAIR = ["[CLS]", "it", "was", "signed", "[SEP]", "who", "sat", "?", "[SEP]"]


def _attention(seed: int, size: int) -> np.ndarray:
    rows = np.random.default_rng(seed).dirichlet(np.ones(size), size=(2, 3, size))
    return rows.astype(np.float16)


def _convert(examples: list[dict[str, Any]], folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Run the script of the docs in a folder with an old file."""
    monkeypatch.chdir(folder)
    (folder / "unlabeled_attn.pkl").write_bytes(pickle.dumps(examples, -1))
    (script,) = re.findall(r"```python\n(import json.*?)```", DOCS.read_text(), re.DOTALL)
    exec(script, {})
    return folder / "unlabeled.npz"


def test_old_maps_of_pairs_are_labelled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old: list[dict[str, Any]] = [
        {"tokens": [*PAIR[:2], f"w{k}", *PAIR[3:]], "attns": _attention(k, len(PAIR))} for k in range(3)
    ]
    file = _convert(old, tmp_path, monkeypatch)
    example = read_map_list(file, "u").examples[0].tokenised
    assert example.texts.tolist() == [-1, 0, 0, 0, -1, 1, 1, 1, -1]
    assert example.class_id.tolist() == [True] + [False] * 8
    found = headroles.label(attention=file, sieve=["delimiter", "block"])
    alone = found.scores.sieves.index("block:swap")  # inputs of one layout have no partners
    assert np.isfinite(np.delete(found.scores.values, alone, axis=0)).all()
    assert np.isnan(found.scores.values[alone]).all()
    double = [each["attns"].astype(np.float64) for each in old]
    np.testing.assert_allclose(headroles.head_distances(double).diagonal(), 0)


def test_old_maps_of_words_bring_their_trees(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words, pieces = ["it", "rejoined", "us"], ["[CLS]", "it", "re", "##join", "##ed", "us", "[SEP]"]
    tree = {"heads": [2, 0, 2], "relns": ["nsubj", "root", "obj"]}
    old = [{"words": words, "tokens": pieces, "attns": _attention(1, 5)} | tree]
    file = _convert(old, tmp_path, monkeypatch)
    (document,) = read_map_documents(file, "u")
    assert document.words == tuple(words)
    assert document.relations == ("nsubj", "root", "obj")
    found = headroles.label(attention=file, sieve=["syntactic"])
    assert np.isfinite(found.scores.values[0]).all()
    assert json.loads(file.with_suffix(".json").read_text())[0]["word"] == [-1, 0, 1, 2, -1]
