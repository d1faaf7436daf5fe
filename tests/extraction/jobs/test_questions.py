"""Probes read on the device answer as the numpy reference does on the plain model's attention."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoModel

from headroles.extraction.jobs.questions import Answers, ProbeJob, answer_columns
from headroles.extraction.model.checkpoint import find_checkpoint
from headroles.extraction.model.load import Model, load
from headroles.extraction.stream import stream
from headroles.extraction.texts.pieces import count_pieces
from headroles.extraction.texts.tokens import example_of, tokenise
from headroles.extraction.texts.windows import document_windows, sentence_windows, window_passage
from headroles.records.documents import Document, Window
from headroles.records.example import Mention
from headroles.records.passage import Passage
from headroles.sieves.probes.choices import arc_contrast, choose_candidates, hits, right_by_row, sentence_of
from headroles.sieves.probes.coreference import CoreferenceProbe
from headroles.sieves.probes.dependency import DependencyProbe
from headroles.sieves.probes.trees import TreeProbe
from tests.support.reference import rounding_bound
from tests.support.word_attention import word_attention

ModelOf = Callable[[str], Path]
VOCABULARY = [
    "the", "committee", "decide", "about", "unbelievable", "treaty", "it", "was", "signed", "in", "Paris",
    "long", "debate", "re-opening", ",", "!",
]  # fmt: skip
RELATIONS = ("nsubj", "obj", "amod", "det", "punct")
PROBES = (DependencyProbe(("nsubj", "obj", "det")), TreeProbe("uuas"), TreeProbe("uas", "found"))


def _document(seed: int, sentences: int = 3) -> Document:
    """Random words and random trees, every sentence with one root; mentions of two entities."""
    rng = np.random.default_rng(seed)
    words: list[str] = []
    heads: list[int] = []
    relations: list[str] = []
    starts = []
    for _ in range(sentences):
        count, start = int(rng.integers(2, 13)), len(words)
        starts.append(start)
        words += rng.choice(VOCABULARY, count).tolist()
        order = rng.permutation(count)
        own = np.full(count, -1)
        for place in range(1, count):
            own[order[place]] = start + order[rng.integers(place)]
        heads += own.tolist()
        relations += ["root" if head < 0 else str(rng.choice(RELATIONS)) for head in own]
    ends = np.cumsum([len(word) + 1 for word in words]) - 1
    spans = np.stack([ends - [len(word) for word in words], ends], axis=1)
    where = sorted(rng.choice(len(words), min(6, len(words)), replace=False).tolist())
    mentions = tuple(Mention(word, word + 1, "ab"[k % 2]) for k, word in enumerate(where))
    return Document(
        f"d{seed}", " ".join(words), spans, tuple(words), np.array(starts), np.array(heads), tuple(relations),
        mentions=mentions,
    )  # fmt: skip


def _load(folder: Path, max_length: int) -> Model:
    return load(find_checkpoint(str(folder), None), device="cpu", dtype="float32", max_length=max_length)


def _answers(model: Model, windows: Sequence[Window], probes: tuple[Any, ...], size: int) -> Answers:
    passages = [window_passage(window) for window in windows]
    job = ProbeJob(model, probes, {window.key: window for window in windows})
    (found,) = stream(model, passages, job, batch_size=size, max_length=96, advance=lambda count: None)
    return found


def _plain(folder: Path, model: Model, passage: Passage) -> tuple[np.ndarray, np.ndarray]:
    """Word attention of every layer of the plain eager model, and what even attention puts on words."""
    network = AutoModel.from_pretrained(folder, attn_implementation="eager").eval()
    (each,) = tokenise(model.tokenizer, [passage], 96)
    word = example_of(each, passage.words, False).word
    with torch.inference_mode():
        inputs = {name: torch.tensor([values]) for name, values in each.inputs.items()}
        layers = [layer[0].double().numpy() for layer in network(**inputs, output_attentions=True).attentions]
    seen = (layers[0] > 0).any(axis=0)
    layers.append((seen / seen.sum(axis=1, keepdims=True))[None])
    kept = np.flatnonzero(word >= 0)
    made = [word_attention(layer[:, kept][:, :, kept], word[kept]) for layer in layers]
    return np.stack(made[:-1]), made[-1][0]


@pytest.mark.parametrize("name", ["bert", "roberta", "gpt2", "mistral", "gptj"])
@pytest.mark.parametrize(("max_length", "whole"), [(96, False), (512, False), (96, True)])
def test_answers_are_those_of_the_numpy_reference_on_plain_attention(
    name: str, max_length: int, whole: bool, model_of: ModelOf
) -> None:
    model = _load(model_of(name), max_length)
    documents = [_document(seed, sentences=6 if whole else 3) for seed in range(4)]
    windows = sentence_windows(documents)
    if whole:
        windows = document_windows(documents, count_pieces(model.tokenizer, documents), size=60, stride=30)
        assert len({window.fresh - window.start for window in windows}) > 2
    found = _answers(model, windows, PROBES, size=5)
    columns = {each.name: k for k, each in enumerate(answer_columns(PROBES))}
    for place, window in enumerate(windows):
        attention, even = _plain(model_of(name), model, window_passage(window))
        choices, _ = PROBES[0].choices(window)
        assert found.items[:4, place].tolist() == choices.rows.sum(axis=1).tolist()
        compared = ~np.eye(window.size, dtype=bool) & (sentence_of(window)[:, None] == sentence_of(window))
        for layer, own in enumerate(attention):
            for turn, arrow in enumerate("→←"):
                right = right_by_row(hits(choose_candidates(own, choices, turn == 1), choices), choices)
                ends = (choices.query, choices.right.argmax(axis=1))
                beyond = arc_contrast(own, even, compared, *(ends[::-1] if turn else ends))
                sums = choices.rows.astype(float) @ beyond
                for row, label in enumerate(PROBES[0].rows):
                    items = found.items[row, place]
                    shown = found.values[columns[f"dependency:{label}:{arrow}"], place, layer]
                    matched = found.values[columns[f"dependency:{label}:{arrow}:matched"], place, layer]
                    if items:
                        np.testing.assert_allclose(shown, right[row] / items, atol=rounding_bound(96))
                        np.testing.assert_allclose(matched, sums[row] / items, atol=rounding_bound(96))
                    else:
                        assert np.isnan(shown).all()
                        assert np.isnan(matched).all()
            for probe, label in zip(PROBES[1:], ("uuas", "uas"), strict=True):
                decoded = probe.decode(own, window)[0]
                for turn, arrow in enumerate(probe.directions):
                    column = columns[":".join(part for part in ("trees", label, arrow) if part)]
                    items = probe.items(window)[0]
                    if items:
                        np.testing.assert_allclose(
                            found.values[column, place, layer], decoded[turn] / items, atol=rounding_bound(96)
                        )


def test_answers_do_not_depend_on_batches(model_of: ModelOf) -> None:
    model = _load(model_of("bert"), 96)
    windows = sentence_windows([_document(seed) for seed in range(6)])
    one = _answers(model, windows, PROBES, size=1)
    many = _answers(model, windows, PROBES, size=16)
    dependency = [k for k, each in enumerate(answer_columns(PROBES)) if not each.matched]
    np.testing.assert_array_equal(many.values[dependency], one.values[dependency])
    np.testing.assert_allclose(many.values, one.values, atol=rounding_bound(96))
    np.testing.assert_array_equal(many.hits, one.hits)


@pytest.mark.parametrize("name", ["bert", "gpt2"])
def test_one_pass_serves_all_probes_and_windows_ask_each_word_once(name: str, model_of: ModelOf) -> None:
    model = _load(model_of(name), 96)
    documents = [_document(seed, sentences=9) for seed in range(3)]
    pieces = [np.full(len(each.words), 2) for each in documents]
    windows = document_windows(documents, pieces, size=40, stride=20)
    assert len(windows) > len(documents)
    probes = (DependencyProbe(("nsubj",)), CoreferenceProbe())
    both = _answers(model, windows, probes, size=4)
    (alone,) = (_answers(model, windows, probes[1:], size=4),)
    np.testing.assert_array_equal(both.values[-4:], alone.values)
    arcs = sum(int((each.heads >= 0).sum()) for each in documents if each.heads is not None)
    punct = sum((each.relations or ()).count("punct") for each in documents)
    assert both.items[0].sum() == arcs - punct
    lost = sum(int(probes[1].choices(window)[1][0]) for window in windows)
    assert both.items[2].sum() + lost == sum(len(each.mentions or ()) - 2 for each in documents)


def test_a_head_that_sees_no_candidate_is_not_right(model_of: ModelOf) -> None:
    model = _load(model_of("gpt2"), 96)
    document = _document(1, sentences=1)
    count = len(document.words)
    heads = np.full(count, 0)
    heads[0], heads[1:] = 1, np.arange(-1, count - 2)
    heads[1] = -1
    relations = ("nsubj", "root", *("obj" for _ in range(count - 2)))
    first = Document(
        document.key, document.text, document.spans, document.words, np.array([0]), heads, relations
    )
    found = _answers(model, sentence_windows([first]), PROBES[:1], size=1)
    column = [each.name for each in answer_columns(PROBES[:1])].index("dependency:nsubj:→")
    assert (found.values[column, 0] == 0).all()
