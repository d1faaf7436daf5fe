"""Tokenizers of every make, trained here on a few sentences, from a file of texts to a labelling.

A tokenizer may add no special tokens (GPT-2), cut bytes or SentencePiece pieces, take a whole text as one
word (Llama 2), open with a token and end with none, or have no padding token; words come from the texts and
never from it.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers
from transformers import AutoTokenizer, PreTrainedTokenizerFast

import headroles
from headroles.extraction.model.checkpoint import find_checkpoint
from headroles.extraction.model.load import load

ModelOf = Callable[[str], Path]
SENTENCES = (
    "The committee did not decide about the long treaty.",
    "It was signed in Paris after a long debate; nobody objected!",
    "She can't believe it isn't unbelievable, re-opening co-ops.",
    "The small dog chased the red cat, and the cat ran home.",
    "Why did the naïve café owner pay €20 for 東京 tea? 🙂",
    "Readers who like long books read the long book again.",
)
DELIMITERS = ("delimiter", "delimiter:cls", "delimiter:sep")


def _byte_level(special: list[str]) -> Tokenizer:
    """GPT-2's make: every byte has a sign, blanks are part of the pieces."""
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=380, special_tokens=special, initial_alphabet=alphabet, show_progress=False
    )
    made.train_from_iterator(SENTENCES, trainer)
    return made


def _unigram(special: list[str]) -> Tokenizer:
    """SentencePiece's make: pieces of a unigram model, words begin with a low line."""
    made = Tokenizer(models.Unigram())
    made.normalizer = normalizers.NFKC()
    made.pre_tokenizer = pre_tokenizers.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=200, special_tokens=special, unk_token="<unk>", show_progress=False
    )
    made.train_from_iterator(SENTENCES, trainer)
    return made


def _whole_text(special: list[str]) -> Tokenizer:
    """Llama 2's make: blanks are replaced beforehand and nothing cuts words, unknown signs become bytes."""
    byte_pieces = [f"<0x{byte:02X}>" for byte in range(256)]
    made = Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=True, fuse_unk=True))
    made.pre_tokenizer = pre_tokenizers.Metaspace()  # for training alone: no piece reaches over a blank
    trainer = trainers.BpeTrainer(
        vocab_size=390, special_tokens=[*special, *byte_pieces], show_progress=False, limit_alphabet=60
    )
    made.train_from_iterator([text for text in SENTENCES if text.isascii()], trainer)
    made.pre_tokenizer = pre_tokenizers.Sequence([])
    made.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    return made


def _closed(made: Tokenizer, single: str, names: tuple[str, ...]) -> None:
    made.post_processor = processors.TemplateProcessing(
        single=single,
        pair=f"{single} $B:1",
        special_tokens=[(name, made.token_to_id(name)) for name in names],
    )


def tokenizer_like(kind: str) -> Any:
    """A fast tokenizer of a make, freshly trained."""
    special = ["<unk>", "<s>", "</s>"]
    if kind == "byte-level, nothing added":
        made, names = _byte_level(["<|endoftext|>"]), {"eos_token": "<|endoftext|>"}
    elif kind == "byte-level, framed":
        made, names = _byte_level(special), {"cls_token": "<s>", "sep_token": "</s>", "unk_token": "<unk>"}
        _closed(made, "<s> $A </s>", ("<s>", "</s>"))
    elif kind == "SentencePiece unigram, closed":
        made, names = _unigram(special), {"eos_token": "</s>", "unk_token": "<unk>"}
        _closed(made, "$A </s>", ("</s>",))
    else:
        made, names = _whole_text(special), {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}
        _closed(made, "<s> $A", ("<s>",))
    return PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=made, model_input_names=["input_ids", "attention_mask"], **names
    )


KINDS = {
    "byte-level, nothing added": ("gpt2", set(DELIMITERS)),
    "byte-level, framed": ("roberta", set()),
    "SentencePiece unigram, closed": ("t5", {"delimiter:cls"}),
    "whole text, opened": ("llama", {"delimiter:sep"}),
}  # fmt: skip
"""A tiny model for each make, and the delimiter sieves that cannot apply to it."""


@pytest.fixture(params=KINDS)
def fitted(request: pytest.FixtureRequest, model_of: ModelOf, tmp_path: Path) -> tuple[str, Path]:
    """A make, and a tiny model with a tokenizer of it that has no padding token."""
    import shutil

    folder = Path(shutil.copytree(model_of(KINDS[request.param][0]), tmp_path / "model"))
    for file in folder.glob("*token*"):
        file.unlink()
    tokenizer_like(request.param).save_pretrained(folder)
    assert AutoTokenizer.from_pretrained(folder).pad_token is None
    return request.param, folder


def test_a_tokenizer_of_any_make_serves_a_whole_run(fitted: tuple[str, Path], tmp_path: Path) -> None:
    kind, folder = fitted
    data = tmp_path / "texts.tsv"
    data.write_text("sentence\n" + "\n".join(SENTENCES) + "\n")
    sieves = ["local", *DELIMITERS, "syntactic", "previous", "subword"]
    found = headroles.label(data=data, text_a="sentence", model=folder, sieve=sieves, max_length=96, maps=0)
    silent = {
        name
        for name, values in zip(found.scores.sieves, found.scores.values, strict=True)
        if np.isnan(values).all()
    }
    silent -= {"syntactic:class"}  # too few sentences for a profile
    assert silent == KINDS[kind][1]
    for name in silent:
        assert f"{name} does not apply to these inputs: nothing in them can be counted." in found.skipped
    for name in ("local", "syntactic", "previous", "subword"):
        values = found.scores.values[found.scores.sieves.index(name)]
        assert np.isfinite(values).all(axis=(1, 2)).sum() >= 5
        assert np.ptp(values[np.isfinite(values)]) > 0


def test_the_words_of_a_text_do_not_depend_on_the_tokenizer(fitted: tuple[str, Path]) -> None:
    from headroles.extraction.parsing.annotate import Annotator
    from headroles.extraction.texts.tokens import example_of, tokenise
    from headroles.records.passage import Passage, Words

    kind, folder = fitted
    model = load(find_checkpoint(str(folder), None), device="cpu", dtype="float32", max_length=96)
    for number, text in enumerate(SENTENCES):
        cut = text.replace(".", " .").replace(",", " ,").replace("!", " !").replace("?", " ?").split()
        place, spans = 0, []
        for word in cut:
            place = text.index(word, place)
            spans.append((place, place + len(word)))
            place += len(word)
        words = Words(np.array(spans), np.full(len(cut), -1), ("dep",) * len(cut))
        passage = Passage(f"made/{number}", (text,), None, (words,))
        (tokenised,) = tokenise(model.tokenizer, [passage], 96)
        example = example_of(tokenised, Annotator(None).words([passage])[0], True)
        apart = {k for k, (start, _) in enumerate(spans) if start == 0 or text[start - 1] == " "}
        assert apart <= set(example.word[example.segment == 0].tolist()) <= set(range(len(cut)))
        assert (np.diff(example.word[example.segment == 0]) >= 0).all()
        if kind == "whole text, opened":
            encoded = model.tokenizer(text)
            assert set(encoded.word_ids()) == {None, 0}
        for piece, span, word in zip(tokenised.tokens, tokenised.spans, example.word, strict=True):
            if word >= 0 and text[span[0] : span[1]].strip():
                assert text[span[0] : span[1]].strip()[0] in cut[word], (piece, word)
