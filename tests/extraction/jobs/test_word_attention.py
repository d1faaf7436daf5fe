"""Word attention on disk is the plain model's, summed and averaged over pieces."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import AutoModel

from headroles.errors import BadInput
from headroles.extraction.jobs.word_attention import SPECIAL_UNITS, WordMaps, read_word_maps
from headroles.extraction.model.checkpoint import find_checkpoint
from headroles.extraction.model.load import Model, load
from headroles.extraction.texts.tokens import example_of, tokenise
from headroles.records.passage import Passage, Words
from headroles.records.rules.names import FORMED
from tests.support.read_models import cut_into_blocks

ModelOf = Callable[[str], Path]
TEXTS = (
    "She can't believe it was signed",
    "Look",
    "the unbelievable committee objected to the long treaty in Paris",
    "nobody cannot",
)


def _passage(number: int, text: str) -> Passage:
    words = text.split()
    ends = np.cumsum([len(word) + 1 for word in words]) - 1
    spans = np.stack([ends - [len(word) for word in words], ends], axis=1).astype(np.int32)
    if words[-1] == "cannot":  # two words share one span, and the second has no piece of its own
        spans = np.concatenate([spans, spans[-1:]])
    heads = np.full(len(spans), -1, dtype=np.int32)
    return Passage(f"made/{number}", (text,), "document", (Words(spans, heads, ("dep",) * len(spans)),))


PASSAGES = [_passage(number, text) for number, text in enumerate(TEXTS)]


def _load(folder: Path, max_length: int = 64) -> Model:
    return load(find_checkpoint(str(folder), None), device="cpu", dtype="float32", max_length=max_length)


def _copied(model: Model, max_length: int = 64, batch_size: int = 3) -> tuple[WordMaps, list[np.ndarray]]:
    done: list[int] = []
    with read_word_maps(
        model, PASSAGES, batch_size=batch_size, max_length=max_length, advance=done.append
    ) as maps:
        copies = [maps(number).astype(np.float64) for number in range(len(PASSAGES))]
    assert sum(done) == len(PASSAGES)
    return maps, copies


def _plain(model: Model, folder: Path) -> list[np.ndarray]:
    """Loops over pieces of the plain eager model's attention."""
    network = AutoModel.from_pretrained(folder, attn_implementation="eager").eval()
    found = []
    for each in tokenise(model.tokenizer, PASSAGES, 64):
        example = example_of(each, each.passage.words, False)
        inputs = {name: torch.tensor([values]) for name, values in each.inputs.items()}
        with torch.inference_mode():
            layers = network(**inputs, output_attentions=True).attentions
        weights = torch.cat(layers, dim=1)[0].numpy().astype(np.float64)
        (words,) = each.passage.words or ()
        members = [np.flatnonzero(example.first), np.flatnonzero(example.special & ~example.first)]
        members += [np.flatnonzero(example.word == word) for word in range(len(words.heads))]
        made = np.zeros((len(members), len(members), len(weights)))
        for query, own in enumerate(members):
            for key, seen in enumerate(members):
                if len(own):
                    made[query, key] = weights[:, own][:, :, seen].sum(2).mean(1)
        found.append(made)
    return found


@pytest.mark.parametrize("name", ["bert", "roberta", "gpt2", "llama", "bloom"])
def test_word_attention_is_the_sum_over_attended_and_the_mean_over_attending_pieces(
    name: str, model_of: ModelOf
) -> None:
    model = _load(model_of(name))
    maps, copies = _copied(model)
    assert maps.kept.all()
    assert maps.special == (name in ("bert", "roberta"))
    for got, wanted in zip(copies, _plain(model, model_of(name)), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=0, atol=5e-4)
    assert (copies[3][-1] == 0).all()  # a word without a piece
    assert (copies[3][:, -1] == 0).all()
    assert (copies[3][-2] > 0).any()
    assert (copies[0][:SPECIAL_UNITS] != 0).any() == maps.special


def test_reading_in_blocks_and_in_other_batches_gives_the_same_maps(
    model_of: ModelOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, whole = _copied(_load(model_of("bert")))
    model = _load(model_of("bert"), 512)
    assert model.way.name == FORMED
    cut_into_blocks(monkeypatch, 4, 700)
    _, blocks = _copied(model, batch_size=1)
    for one, other in zip(whole, blocks, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-3)


def test_sentences_that_are_cut_are_marked(model_of: ModelOf) -> None:
    model = _load(model_of("bert"))
    sizes = np.array([each.size for each in tokenise(model.tokenizer, PASSAGES, 64)])
    longest = int(np.sort(sizes)[1])
    maps, copies = _copied(model, max_length=longest)
    np.testing.assert_array_equal(maps.kept, sizes <= longest)
    assert not maps.kept.all()
    for kept, copy in zip(maps.kept, copies, strict=True):
        assert (copy > 0).any() == kept


def test_a_full_disk_gives_one_sentence_before_anything_is_read(
    model_of: ModelOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int, start: int, size: int) -> None:
        raise OSError(28, "No space left on device")

    model = _load(model_of("bert"))
    monkeypatch.setattr("os.posix_fallocate", full, raising=False)
    with (
        pytest.raises(BadInput, match=r"takes .* GB on disk .* no room \(No space left on device\)"),
        read_word_maps(model, PASSAGES, batch_size=2, max_length=64, advance=lambda count: None),
    ):
        pass


def test_the_file_is_gone_when_the_block_ends(
    model_of: ModelOf, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    maps, copies = _copied(_load(model_of("bert")))
    assert sum(copy.size for copy in copies) == maps.cells.size
    assert not list(tmp_path.iterdir())
