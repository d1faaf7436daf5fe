"""Encoder, decoder and cross attention of encoder-decoders are scored as the plain models compute them."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoTokenizer

from headroles import Example, sieve
from headroles.arrays import selection_of
from headroles.errors import BadInput
from headroles.extraction.capture import attention as capture_attention
from headroles.extraction.capture import blocks as capture_blocks
from headroles.extraction.capture import joint as capture_joint
from headroles.extraction.capture import weights as capture_weights
from headroles.extraction.capture.cross import visible_cross
from headroles.extraction.model.checkpoint import find_checkpoint
from headroles.extraction.model.load import Model, load
from headroles.extraction.parsing.annotate import Annotator
from headroles.extraction.parsing.lexicon import Lexicon
from headroles.extraction.scoring.job import SieveJob
from headroles.extraction.scoring.reader import Shard
from headroles.extraction.stream import stream
from headroles.extraction.texts.tokens import example_of, tokenise
from headroles.extraction.views.parts import prepare_pair
from headroles.records.example import Lexical
from headroles.records.passage import Passage
from headroles.records.rules.names import EAGER, FORMED, RETURNED
from headroles.sieves.masks import Band
from headroles.sieves.selection import Selection
from headroles.sieves.weights.reference import apply
from tests.support.read_models import cut_into_blocks
from tests.support.reference import rounding_bound
from tests.support.seq2seq import KINDS, MODELS, hand_made, loaded, pairs, plain, saved, square

Folder = Callable[[str], Path]
PATTERNS = (
    "next", "previous", "self", "first", "offset:2", "local:1", "punctuation", "punctuation:all", "identical",
    "identical:other", "subword", "subword:completing", "rare", "duplicate", "induction", "bag-of-words",
)  # fmt: skip
BUILT_IN = (
    "local", "delimiter", "delimiter:cls", "delimiter:sep", "block", "syntactic", "syntactic:nsubj",
    "syntactic:obj", "syntactic:amod", "syntactic:advmod",
)  # fmt: skip
EVERY = BUILT_IN + PATTERNS
LONGEST = 96
"""Pieces in the longest text, for bounds of rounding."""


@pytest.fixture(scope="module")
def folder_of(tokenizer_of: Callable[[str], Any], tmp_path_factory: pytest.TempPathFactory) -> Folder:
    root = tmp_path_factory.mktemp("seq2seq")
    return cache(lambda name: saved(name, root, tokenizer_of))


def _scores(
    model: Model, passages: Sequence[Passage], sieves: Selection, size: int = 3, most: int = 96
) -> Shard:
    often = Lexicon(frequency=_Often())
    job = SieveJob(model, sieves, Annotator(None), often)
    (shard,) = stream(model, passages, job, batch_size=size, max_length=most, advance=lambda count: None)
    return shard


class _Often(dict[str, int]):
    """How often a token occurs, by what it is."""

    def get(self, token: str, usual: Any = 0) -> int:
        return sum(map(ord, token)) % 7


def _reference(
    folder: Path, passages: Sequence[Passage], sieves: Selection, kind: str, model: Model
) -> np.ndarray:
    """Scores of the plain model's returned attention in float64: columns, examples, layers, heads."""
    tokenizer = AutoTokenizer.from_pretrained(folder)
    start = model.tokenizer.tokenised(passages[:1], 96)[0].tokens[0]
    found = []
    for each, weights in zip(passages, plain(folder, passages, kind, tokenizer), strict=True):
        example = hand_made(each, kind, tokenizer, start)
        often = np.array([_Often().get(token) for token in example.tokens])
        example = replace(example, lexical=Lexical(frequency=often))
        whole = square(weights) if kind == "cross" else weights
        visible: np.ndarray = np.asarray((whole > 0).any((0, 1)))
        columns = []
        for layer in whole:
            planned = apply(sieves.plan(example, visible, np.float64), layer)
            seeing = [each.score_visible(layer, example, visible) for each in sieves.scorers]  # type: ignore[attr-defined]
            columns.append(np.stack([*planned, *seeing]))
        found.append(np.stack(columns, axis=1))
    return np.stack(found, axis=1)


@pytest.mark.parametrize("kind", ["decoder", "cross"])
@pytest.mark.parametrize("name", MODELS)
def test_scores_of_a_run_are_those_of_the_plain_models_attention(
    name: str, kind: str, folder_of: Folder
) -> None:
    passages, sieves = pairs(4), selection_of(EVERY)
    wanted = None
    for longest, way in ((96, EAGER), (400, FORMED))[: 1 if name == "fsmt" else 2]:
        model = loaded(folder_of(name), kind, longest)
        assert (model.way.name, model.way.kind) == (RETURNED if name == "fsmt" else way, kind)
        assert (model.layers, model.heads, model.described["kind"]) == (3, 4, kind)
        if wanted is None:
            wanted = _reference(folder_of(name), passages, sieves, kind, model)
        shard = _scores(model, passages, sieves)
        np.testing.assert_allclose(shard.values, wanted, rtol=0, atol=rounding_bound(LONGEST))


@pytest.mark.parametrize("kind", ["decoder", "cross"])
def test_biases_of_a_run_are_those_of_the_plain_models_attention(kind: str, folder_of: Folder) -> None:
    passages, sieves, folder = pairs(5), selection_of(BUILT_IN, statistic="bias"), folder_of("bart")
    model = loaded(folder, kind)
    wanted = _reference(folder, passages, sieves, kind, model)
    np.testing.assert_allclose(_scores(model, passages, sieves).values, wanted, rtol=5e-5, atol=5e-5)


@pytest.mark.parametrize("name", ["t5", "mbart"])
def test_an_encoder_is_read_by_itself_whether_or_not_it_is_asked_for(name: str, folder_of: Folder) -> None:
    passages, sieves = pairs(4), selection_of(["delimiter", "local", "identical:other"])
    asked, usual = (loaded(folder_of(name), kind) for kind in ("encoder", None))  # type: ignore[arg-type]
    assert asked.described == usual.described
    assert (asked.described["kind"], asked.layers) == ("encoder", 2)
    values = _scores(asked, passages, sieves).values
    np.testing.assert_array_equal(values, _scores(usual, passages, sieves).values)
    assert not np.isnan(values[sieves.columns.index("delimiter")]).any()


@pytest.mark.parametrize("kind", ["decoder", "cross"])
def test_sieves_apply_to_a_kind_of_attention_where_they_mean_something(kind: str, folder_of: Folder) -> None:
    model, sieves = loaded(folder_of("bart"), kind), selection_of(EVERY)
    values = _scores(model, pairs(24), sieves).values
    spoken = {
        column
        for column, of_column in zip(sieves.columns, values, strict=True)
        if not np.isnan(of_column).all()
    }
    said = {column.removesuffix(":matched") for column in spoken}
    anywhere = {"delimiter", "delimiter:cls", "delimiter:sep", "first", "punctuation", "punctuation:all"}
    if kind == "cross":
        assert said == anywhere | {"rare", "identical:other"}
        assert "identical:other:matched" in spoken
    else:  # one text, and no later key is visible
        behind = {"block", "bag-of-words", "identical:other", "next", "offset:2", "subword:completing"}
        assert said == set(EVERY) - behind


def test_cross_attention_counts_the_encoders_keys_for_the_decoders_queries(folder_of: Folder) -> None:
    folder = folder_of("bart")
    tokenizer, passages = AutoTokenizer.from_pretrained(folder), pairs()
    sieves = selection_of(["delimiter", "first", "identical:other", "rare"])
    values = _scores(loaded(folder, "cross"), passages, sieves).values
    found = plain(folder, passages, "cross", tokenizer)
    for number, (each, weights) in enumerate(zip(passages, found, strict=True)):
        read, said = (tokenizer(text).encodings[0] for text in each.texts)
        queries = (None, *said.tokens[:-1])
        asking = [place for place, token in enumerate(queries) if place > 1]  # behind </s> <s>
        specials = np.array(read.special_tokens_mask, bool)
        often = np.where(specials, 99, [_Often().get(token) for token in read.tokens])
        for name, cells in (
            ("delimiter", [specials for _ in queries]),
            ("first", [np.arange(len(specials)) == 0 for _ in queries]),
            ("rare", [often == often.min() for _ in queries]),
            ("identical:other", [[own == key for key in read.tokens] & ~specials for own in queries]),
        ):
            rows = [(row, cells[row]) for row in asking if 0 < np.sum(cells[row]) < len(specials)]
            chance = np.mean([keys.mean() for _, keys in rows]) if rows else np.nan
            mass = [weights[:, :, row, keys].sum(-1) for row, keys in rows]
            wanted = (np.mean(mass, axis=0) - chance) / (1 - chance) if rows else np.nan
            got = values[sieves.columns.index(name), number]
            np.testing.assert_allclose(
                got, np.broadcast_to(wanted, got.shape), rtol=0, atol=rounding_bound(LONGEST)
            )


@pytest.mark.parametrize("kind", ["decoder", "cross"])
@pytest.mark.parametrize("name", ["t5", "bart"])
def test_reading_in_blocks_gives_the_same_scores(
    name: str, kind: str, folder_of: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, passages, sieves = loaded(folder_of(name), kind, 400), pairs(5), selection_of(EVERY)
    assert model.way.name == FORMED
    whole = _scores(model, passages, sieves).values
    cut_into_blocks(monkeypatch, 6, 2048)
    np.testing.assert_allclose(
        _scores(model, passages, sieves).values, whole, rtol=0, atol=rounding_bound(LONGEST)
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["even t5", "even bart"])
def test_even_attention_scores_nothing_in_every_kind(name: str, kind: str, folder_of: Folder) -> None:
    for longest, statistic, null in ((96, "selectivity", 0.0), (400, "bias", 1.0), (400, "selectivity", 0.0)):
        model, sieves = loaded(folder_of(name), kind, longest), selection_of(EVERY, statistic=statistic)
        values = _scores(model, pairs(5), sieves).values
        for column, of_column in zip(sieves.columns, values, strict=True):
            wanted = 0.0 if column.endswith(":matched") or column == "bag-of-words" else null
            said = of_column[~np.isnan(of_column)]
            close = rounding_bound(LONGEST, magnitude=1 if null == 0 else 10)
            np.testing.assert_allclose(said, wanted, rtol=0, atol=close, err_msg=column)


@pytest.mark.parametrize("kind", ["decoder", "cross"])
@pytest.mark.parametrize("name", ["t5", "umt5", "marian", "fsmt"])
def test_padding_of_either_side_changes_nothing_but_rounding(name: str, kind: str, folder_of: Folder) -> None:
    model, passages, sieves = loaded(folder_of(name), kind), pairs(6), selection_of(EVERY)
    alone = _scores(model, passages, sieves, size=1).values
    np.testing.assert_allclose(
        _scores(model, passages, sieves, size=6).values, alone, rtol=0, atol=rounding_bound(LONGEST)
    )


@pytest.mark.parametrize("kind", ["decoder", "cross"])
@pytest.mark.parametrize("name", ["t5", "mt5", "umt5"])
def test_where_positions_are_relative_left_padding_gives_the_same_weights(
    name: str, kind: str, folder_of: Folder
) -> None:
    tokenizer, passages = AutoTokenizer.from_pretrained(folder_of(name)), pairs(3)
    plainly, moved = (plain(folder_of(name), passages, kind, tokenizer, left) for left in (0, 4))
    for right, left in zip(plainly, moved, strict=True):
        np.testing.assert_allclose(left, right, rtol=0, atol=rounding_bound(LONGEST))


@pytest.mark.parametrize("name", ["t5", "bart", "mbart"])
def test_pieces_are_those_of_the_view_and_words_stay_with_them_behind_the_start_token(
    name: str, folder_of: Folder
) -> None:
    model = loaded(folder_of(name), "decoder")
    tokenizer = AutoTokenizer.from_pretrained(folder_of(name))
    for each in pairs(6):
        entry = prepare_pair(model.network, tokenizer, each.texts, 96)
        for kind in ("decoder", "cross"):
            model.tokenizer.kind = kind
            (tokenised,) = tokenise(model.tokenizer, [each], 96)
            example = example_of(tokenised, each.words, True)
            sides = entry.sides[kind] if kind == "cross" else entry.sides[kind][:1]
            for field in ("segment", "special", "first"):
                wanted = np.concatenate([getattr(side, field) for side in sides])
                np.testing.assert_array_equal(getattr(example, field), wanted)
            assert example.tokens == sum((side.tokens for side in sides), ())
            assert example.arcs is not None
            assert each.words is not None
            by_hand = hand_made(each, kind, tokenizer, example.tokens[0])
            np.testing.assert_array_equal(example.word, by_hand.word)
            assert example.arcs == by_hand.arcs
            np.testing.assert_array_equal(example.stack, by_hand.stack)
            spelled: dict[int, str] = {}
            for token, word in zip(example.tokens, example.word.tolist(), strict=True):
                spelled[word] = spelled.get(word, "") + token.strip("▁Ġ")
            texts = [text[start:stop] for text, own in zip(each.texts, each.words, strict=True)
                     for start, stop in own.spans.tolist()]  # fmt: skip
            heard = [texts[word] for word in sorted(spelled) if word >= 0]
            known = [spelled[word] for word in sorted(spelled) if word >= 0]
            assert [one for one, other in zip(known, heard, strict=True) if one.isascii() and one == other]
            assert all(one == other for one, other in zip(known, heard, strict=True) if "<unk>" not in one)


def test_texts_that_are_too_long_are_cut_by_themselves(folder_of: Folder) -> None:
    model = loaded(folder_of("t5"), "cross")
    long = Passage("long", ("the treaty " * 40, "it was"))
    (tokenised,) = tokenise(model.tokenizer, [long], 12)
    assert tokenised.truncated
    assert tokenised.stack is not None
    assert tokenised.stack.sum() == 12
    assert tokenised.size - 12 < 12
    (tokenised,) = tokenise(model.tokenizer, [Passage("short", ("it was", "it was"))], 12)
    assert not tokenised.truncated


def test_bands_of_others_keep_to_one_text_and_other_masks_are_taken_as_they_are(folder_of: Folder) -> None:
    seen: list[Example] = []

    @sieve("near")
    def near(example: Example) -> Band:
        return Band(-200, 200, example.size)

    @sieve("second half")
    def later(example: Example) -> np.ndarray:
        seen.append(example)
        keys: np.ndarray = np.cumsum(example.stack) > example.stack.sum() / 2
        return keys

    model, sieves = loaded(folder_of("t5"), "cross"), selection_of([near, later])
    values = _scores(model, pairs(4), sieves).values
    assert np.isnan(values[0]).all()
    assert not np.isnan(values[1]).any()
    assert {len(np.unique(example.stack)) for example in seen} == {2}


def test_a_kind_that_a_model_does_not_have_is_refused(folder_of: Folder, model_of: Folder) -> None:
    with pytest.raises(BadInput, match=r"has one stack of layers and no 'cross' attention; allowed: self"):
        loaded(model_of("bert"), "cross")
    with pytest.raises(
        BadInput, match=r"encoder and decoder and no 'self' attention; allowed: encoder, decoder, cross"
    ):
        loaded(folder_of("t5"), "self")


def test_single_texts_have_no_decoder(folder_of: Folder) -> None:
    model = loaded(folder_of("t5"), "decoder")
    with pytest.raises(BadInput, match=r"decoder attention needs pairs.*'alone' is a single text"):
        tokenise(model.tokenizer, [Passage("alone", ("it was signed",))], 50)


def test_what_is_misread_is_refused(folder_of: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    own = capture_weights.own_eager

    def other(module: torch.nn.Module) -> Callable[..., Any]:
        def eager(*given: Any, **rest: Any) -> Any:
            output, weights = own(module)(*given, **rest)
            return output, weights * 1.001

        return eager

    for module in (capture_attention, capture_blocks, capture_joint, capture_weights):
        monkeypatch.setattr(module, "own_eager", other)
    for longest in (96, 400):
        with pytest.raises(BadInput, match="but its cross attention is not"):
            loaded(folder_of("t5"), "cross", longest)


@pytest.mark.parametrize("shift", [-2, 0, 3])
def test_a_head_that_goes_along_the_diagonal_of_both_texts_has_no_contrast(shift: int) -> None:
    words = ["a", "b", "a", "c", "b", "d", "a"]
    segment = np.repeat(np.array([1, 0]), [7, 7])
    joint = Example("joint", (*words, *words), segment=segment, stack=1 - segment)
    even = np.zeros((1, 14, 14))
    even[0, :7, 7:] = 1 / 7
    along = np.eye(14, k=7 + shift)[None] * (even > 0)
    same = (np.array(joint.tokens)[:, None] == np.array(joint.tokens)) * (even > 0)
    lexical = same / np.maximum(same.sum(-1, keepdims=True), 1)
    sieves = selection_of(["identical:other"])
    planned = sieves.plan(joint, visible_cross((7, 7)), np.float64)
    score, contrast = apply(planned, np.concatenate([along, even, lexical]))
    np.testing.assert_allclose(contrast[:2], 0, atol=1e-12)
    assert abs(score[1]) < 1e-12
    assert contrast[2] > 0.2
    assert (score[0] > 0.3) == (shift == 0)


@pytest.mark.parametrize("name", ["t5", "bart"])
def test_half_precision_weights_give_nearly_the_same_scores(name: str, folder_of: Folder) -> None:
    sieves, passages = selection_of(["delimiter", "punctuation:all"]), pairs(4)
    half = load(
        find_checkpoint(str(folder_of(name)), None),
        device="cpu",
        dtype="bfloat16",
        max_length=96,
        kind="cross",
    )
    assert half.way.name == FORMED
    wanted = _scores(loaded(folder_of(name), "cross"), passages, sieves).values
    np.testing.assert_allclose(_scores(half, passages, sieves).values, wanted, rtol=0, atol=0.05)
