"""Every job gets from stored maps the numbers that it gets from the model that made them."""

import json
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import headroles
from headroles.arrays import selection_of
from headroles.errors import BadInput
from headroles.extraction.jobs.both import JointJob
from headroles.extraction.jobs.divergence import DivergenceJob, DivergenceSums
from headroles.extraction.jobs.keep_maps import KeepMapsJob
from headroles.extraction.jobs.questions import ProbeJob, answer_columns
from headroles.extraction.jobs.surface import SurfaceJob
from headroles.extraction.model.checkpoint import find_checkpoint
from headroles.extraction.model.load import load
from headroles.extraction.parsing.lexicon import Lexicon
from headroles.extraction.scoring.job import SieveJob
from headroles.extraction.source import AttentionSource
from headroles.extraction.stream import stream
from headroles.extraction.texts.tokens import example_of
from headroles.extraction.texts.windows import window_passage
from headroles.maps.documents import read_map_documents
from headroles.maps.examples import read_map_list
from headroles.maps.stored import open_stored_maps
from headroles.records.documents import Window
from headroles.runs.surface.work import surface_counting
from headroles.sieves.base import annotation_of
from headroles.sieves.probes.coreference import CoreferenceProbe
from headroles.sieves.probes.dependency import DependencyProbe
from headroles.sieves.probes.trees import TreeProbe

ModelOf = Callable[[str], Path]
TEXT = "the committee decide about unbelievable treaty it was signed in Paris long debate , !"
WORDS = TEXT.split()
CLOSE = 1e-6
SIEVES = ["local", "delimiter", "block", "previous", "offset:2", "rare"]


def _extracted(model: Path, folder: Path, count: int = 11, precision: str = "float32") -> Path:
    """Maps of random texts of 1 to 24 words, and of one that is too long to be read in a batch."""
    rng = np.random.default_rng(7)
    lengths = [*rng.integers(1, 25, size=count - 1), 70]
    rows = [
        {"text": " ".join(rng.choice(WORDS, size=length)), "key": f"no {k}"}
        for k, length in enumerate(lengths)
    ]
    (folder / "in.json").write_text(json.dumps(rows))
    headroles.extract(
        folder / "in.json", out=folder / "m.npz", model=model, precision=precision, max_length=200
    )
    return folder / "m.npz"


def _streamed(source: AttentionSource, passages: Any, job: Any) -> list[Any]:
    return list(stream(source, passages, job, batch_size=4, max_length=200, advance=lambda count: None))


def _results(source: AttentionSource, passages: Any) -> dict[str, np.ndarray]:
    """Scores, divergences, surface statistics and kept maps of one source."""
    lexicon = Lexicon(frequency=dict.fromkeys([*WORDS, "[CLS]"], 3))
    one = np.arange(len(passages))
    sums = DivergenceSums(one, np.ones_like(one), source.layers, source.heads)
    sieving = SieveJob(source, selection_of(SIEVES), None, lexicon)
    ((scores, content),) = _streamed(source, passages, JointJob(sieving, DivergenceJob(source, sums)))
    job = SurfaceJob(source, surface_counting(".,!"))
    (surface,) = _streamed(source, passages, job)
    (kept,) = _streamed(source, passages, KeepMapsJob([{1: [0, 2]}] * len(passages)))
    return {
        "scores": scores.values,
        "cells": scores.cells,
        "bounds": np.stack([scores.low, scores.high]),
        "divergences": np.load(BytesIO(content))["sums"] / np.log(2),
        "surface": surface.values / np.log(200),
        "even": surface.null,
        "unequal": np.array(job.unequal),
        "maps": np.concatenate([given.maps[1].ravel() for given in kept]) / 255 * CLOSE,
        "words": np.concatenate([given.example().word for given in kept]),
    }


@pytest.mark.parametrize("name", ["bert", "gpt2", "mistral", "modernbert", "mpnet"])
def test_stored_maps_give_every_job_the_numbers_of_the_model(
    name: str, model_of: ModelOf, tmp_path: Path
) -> None:
    file = _extracted(model_of(name), tmp_path)
    model = load(find_checkpoint(str(model_of(name)), None), device="cpu", dtype="float32", max_length=200)
    with open_stored_maps(file, "m") as maps:
        assert (maps.layers, maps.heads) == (model.layers, model.heads)
        stored, ran = _results(maps, maps.passages), _results(model, maps.passages)
    for kind, wanted in ran.items():
        np.testing.assert_allclose(stored[kind], wanted, rtol=0, atol=CLOSE, err_msg=kind)
    assert np.isfinite(ran["scores"]).any(axis=(2, 3)).sum() >= 30


def test_scores_of_stored_maps_are_those_of_plain_arrays_in_double_precision(
    planted: Path, tmp_path: Path
) -> None:
    file = _extracted(planted, tmp_path)
    arrays = np.load(file)
    found = headroles.label(attention=file, sieve=["local", "delimiter", "previous"])
    for number, given in enumerate(read_map_list(file, "m").examples):
        example = example_of(given.tokenised, None, arcs=False)
        plain = headroles.score(arrays[str(number)], example, ["local", "delimiter", "previous"])
        for column, wanted in plain.items():
            scores = found.scores.values[found.scores.sieves.index(column), number]
            np.testing.assert_allclose(scores, wanted, rtol=0, atol=3e-6)


@pytest.mark.parametrize("words", [False, True])
@pytest.mark.parametrize("name", ["bert", "gpt2"])
def test_probes_get_from_stored_maps_the_answers_of_the_model(
    name: str, words: bool, model_of: ModelOf, tmp_path: Path
) -> None:
    rng = np.random.default_rng(11)
    rows = []
    for size in (7, 12, 3, 9):
        heads = [0, *(int(rng.integers(1, word)) for word in range(2, size + 1))]
        relations = ["root", *rng.choice(["nsubj", "obj", "det"], size - 1).tolist()]
        row = {"words": rng.choice(WORDS, size).tolist(), "heads": heads, "relations": relations}
        rows.append(row | {"clusters": [[[0, 1], [2, 3]]], "group": "one"})
    (tmp_path / "in.json").write_text(json.dumps(rows))
    file = tmp_path / "m.safetensors"
    headroles.extract(
        tmp_path / "in.json", out=file, model=model_of(name), precision="float32", word_level=words
    )
    documents = read_map_documents(file, "m")
    assert {document.group for document in documents} == {"one"}
    windows = {each.key: Window(each, 0, len(each.words), 0) for each in documents}
    probes = (DependencyProbe(("nsubj", "obj")), TreeProbe("uas"), CoreferenceProbe())
    model = load(find_checkpoint(str(model_of(name)), None), device="cpu", dtype="float32", max_length=200)
    with open_stored_maps(file, "m") as maps:
        (stored,) = _streamed(maps, maps.passages, ProbeJob(maps, probes, windows))
    passages = [window_passage(window) for window in windows.values()]
    (ran,) = _streamed(model, passages, ProbeJob(model, probes, windows))
    contrasts = np.array([column.matched for column in answer_columns(probes)])
    np.testing.assert_array_equal(stored.items, ran.items)
    np.testing.assert_array_equal(stored.hits, ran.hits)
    np.testing.assert_array_equal(stored.values[~contrasts], ran.values[~contrasts])
    if not words:  # chance of a word of maps by words does not know of pieces
        np.testing.assert_allclose(stored.values, ran.values, rtol=0, atol=CLOSE)


def test_documents_of_a_list_without_words_are_spelled_from_tokens(tmp_path: Path) -> None:
    row = {"tokens": ["[CLS]", "un", "##do", "Ġit", "x"], "word": [-1, 0, 0, 2, 3]}
    row |= {"heads": [0, 1, 1, 1], "relations": ["root", "a", "b", "c"], "tags": ["VERB", "ADV", "PRON", "X"]}
    (document,) = read_map_documents(_listed(tmp_path, row), "any")
    assert document.words == ("undo", "_", "it", "x")
    assert (document.key, document.tags) == ("any/0", ("VERB", "ADV", "PRON", "X"))
    with pytest.raises(
        BadInput, match="example 0: probes need the word of each token, but the list does not have it"
    ):
        read_map_documents(_listed(tmp_path, {"tokens": ["a"]}), "any")
    with pytest.raises(BadInput, match="tokens belong to words from 0 to 0, as many as 'words' has"):
        read_map_documents(_listed(tmp_path, {"tokens": ["a", "b"], "word": [0, 1], "words": ["a"]}), "any")


def _listed(folder: Path, *rows: dict[str, Any], layers: int = 2) -> Path:
    """Maps of random attention from anywhere, with a list of these rows."""
    rng = np.random.default_rng(3)
    arrays = {}
    for number, row in enumerate(rows):
        n = len(row["tokens"])
        weights = rng.random((layers, 3, n, n))
        arrays[str(number)] = weights / weights.sum(axis=-1, keepdims=True)
    np.savez(folder / "any.npz", **arrays)
    (folder / "any.json").write_text(json.dumps(rows))
    return folder / "any.npz"


def test_words_trees_and_mentions_of_a_list_are_those_of_the_examples(tmp_path: Path) -> None:
    row = {
        "tokens": ["[CLS]", "Ann", "saw", "Bo", "##b", "She", "left", "[SEP]"],
        "segment": [-1, 0, 0, 0, 0, 0, 0, -1],
        "word": [-1, 0, 1, 2, 2, 3, 4, -1],
        "sentences": [3, 2],
        "heads": [2, 0, 2, 2, 0],
        "relations": ["nsubj", "root", "obj", "nsubj", "root"],
        "clusters": [[[0, 1], [3, 4]]],
    }
    with open_stored_maps(_listed(tmp_path, row), "any") as maps:
        (given,) = maps.tokenizer.tokenised(maps.passages, 4)
        example = example_of(given, given.passage.words, arcs=True)
    assert [(arc.dependent, arc.head) for arc in example.arcs or ()] == [(0, 1), (2, 1), (3, 4)]
    assert example.word.tolist() == row["word"]
    assert [(mention.start, mention.entity) for mention in example.mentions or ()] == [(0, "0"), (3, "0")]
    assert annotation_of(example) == {"words", "arcs", "mentions"}
    found = headroles.label(attention=tmp_path / "any.npz", sieve=["syntactic", "coreference"])
    assert np.isfinite(found.scores.values[[0, 1]]).all()


def test_one_input_is_scored_and_nothing_about_it_is_tested(tmp_path: Path) -> None:
    file = _listed(tmp_path, {"tokens": list("abcdefgh")})
    found = headroles.label(attention=file, sieve=["local", "previous"], out=tmp_path / "run")
    assert np.isfinite(found.scores.values).all()
    frame = found.frame()
    assert set(frame["decision"]) == {"untestable"}
    assert "local rests on 1 unit and cannot be tested. Give more inputs." in found.skipped
    assert headroles.judge_again(tmp_path / "run", alpha=0.1).findings.decision.min() == 3


def test_a_list_of_tokens_alone_describes_a_model_of_unknown_architecture(tmp_path: Path) -> None:
    rows = [{"tokens": [f"{letter}{number}" for letter in "abcdef"]} for number in range(3)]
    (tmp_path / "any.json").write_text("")
    file = _listed(tmp_path, *rows)
    content = {
        "examples": rows,
        "model": {"name": ["odd"], "kv_heads": ["x"], "threads": "many", "note": "mine"},
    }
    (tmp_path / "any.json").write_text(json.dumps(content))
    with open_stored_maps(file, "any") as maps:
        described = maps.described
    texts = ("name", "origin", "architecture", "device", "dtype", "tokenizer", "capture")
    assert [described[name] for name in texts] == [
        "any", "stored maps", "unknown", "none", "as stored", "unknown", "stored maps"
    ]  # fmt: skip
    assert (described["layers"], described["heads"], described["threads"]) == (2, 3, 1)
    assert (described["note"], "kv_heads" in described) == ("mine", False)
    assert headroles.label(attention=file, sieve=["local"]).manifest["model"]["architecture"] == "unknown"


def test_gradients_of_stored_maps_are_refused(tmp_path: Path) -> None:
    class Loss:
        def read_graph(self, *given: object) -> None: ...

        def loss(self, output: torch.Tensor) -> torch.Tensor:
            return output

    with open_stored_maps(_listed(tmp_path, {"tokens": ["a", "b"]}), "any") as maps:
        inputs = maps.tokenizer.tokenised(maps.passages, 4)
        with pytest.raises(BadInput, match="gradients need a model that runs, but stored maps were given"):
            maps.read(inputs, Loss())
