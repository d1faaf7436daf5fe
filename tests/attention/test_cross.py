"""Encoder, decoder and cross attention of encoder-decoders are scored as the plain models compute them."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from headroles import Band, Example, Lexical, score, sieve
from headroles.arrays import selection_of
from headroles.errors import BadInput
from headroles.extraction import (
    Lexicon,
    Model,
    TargetTokenizer,
    example_of,
    output_projections,
    run,
    shift_right,
    tokenise,
    value_norms,
)
from headroles.records import Passage
from tests.support.architectures import EAGER, FORMED, RETURNED
from tests.support.read_models import Kept, cut_into_blocks, plain_network
from tests.support.reference import rounding_bound
from tests.support.seq2seq import KINDS, MODELS, hand_made, loaded, pairs, plain, saved, square
from tests.support.streams import streamed

Folder = Callable[[str], Path]
EVERY = (
    "local", "delimiter", "delimiter:cls", "delimiter:sep", "block", "syntactic", "syntactic:nsubj",
    "syntactic:obj", "syntactic:amod", "syntactic:advmod", "next", "previous", "self", "first", "offset:2",
    "local:1", "punctuation", "punctuation:all", "identical", "identical:other", "subword",
    "subword:completing", "rare", "duplicate", "induction", "bag-of-words",
)  # fmt: skip
CLOSE = rounding_bound(96)
TWO = ("decoder", "cross")
USUAL = ("t5", "bart", "fsmt")
NAMES = [
    pytest.param(name, marks=[pytest.mark.xdist_group(name), *([] if name in USUAL else [pytest.mark.ci])])
    for name in MODELS
]


class Often(dict[str, int]):
    """How often a token occurs, by what it is."""

    def get(self, token: str, usual: Any = 0) -> int:
        """Return a number of the token."""
        return sum(map(ord, token)) % 7


@pytest.fixture(scope="session")
def folder_of(tokenizer_of: Callable[[str], Any], tmp_path_factory: pytest.TempPathFactory) -> Folder:
    """The folder of an encoder-decoder whose decoder has another number of layers than its encoder."""
    root = tmp_path_factory.mktemp("seq2seq")
    return cache(lambda name: saved(name, root, tokenizer_of))


def _values(model: Model, given: list[Passage], sieves: Any, **how: Any) -> np.ndarray:
    shard = streamed(model, given, sieves, **{"size": 3, "lexicon": Lexicon(frequency=Often())} | how)
    values: np.ndarray = shard.values
    return values


def _reference(
    folder: Path, given: list[Passage], kind: str, model: Model, statistic: str = "selectivity"
) -> np.ndarray:
    """Scores of the plain model's returned attention in float64: columns, examples, layers, heads."""
    from transformers import AutoTokenizer

    tokenizer, start = AutoTokenizer.from_pretrained(folder), _start_of(model, given)
    columns = selection_of(EVERY, statistic=statistic).columns
    found = np.full((len(columns), len(given), model.layers, model.heads), np.nan)
    for place, (each, weights) in enumerate(zip(given, plain(folder, given, kind, tokenizer), strict=True)):
        example = hand_made(each, kind, tokenizer, start)
        frequency = np.array([Often().get(token) for token in example.tokens])
        example = replace(example, lexical=Lexical(frequency=frequency))
        whole = square(weights) if kind == "cross" else weights
        seen = np.asarray((whole > 0).any((0, 1)))
        for column, own in score(
            whole, example, EVERY, visible=seen, statistic=statistic, sinks=True
        ).items():
            found[columns.index(column), place] = own
    return found


def _start_of(model: Model, given: list[Passage]) -> str:
    """The token that the decoder starts with."""
    start: str = model.tokenizer.tokenised(given[:1], 96)[0].tokens[0]
    return start


@pytest.mark.parametrize("name", NAMES)
def test_scores_of_decoder_and_cross_attention_are_those_of_the_plain_model(
    name: str, folder_of: Folder
) -> None:
    given = pairs(4)
    for kind in TWO:
        wanted = {}
        for longest, way in ((96, EAGER), (400, FORMED))[: 1 if name == "fsmt" else 2]:
            model = loaded(folder_of(name), kind, longest)
            assert (model.way.name, model.way.kind) == (RETURNED if name == "fsmt" else way, kind)
            assert (model.layers, model.heads, model.described["kind"]) == (3, 4, kind)
            for statistic, close in (("selectivity", CLOSE), ("bias", 20 * CLOSE)):
                if statistic not in wanted:
                    wanted[statistic] = _reference(folder_of(name), given, kind, model, statistic)
                sieves = selection_of(EVERY, statistic=statistic)
                for size in (1, 4):  # padding of either side changes nothing
                    values = _values(model, given, sieves, size=size)
                    np.testing.assert_allclose(values, wanted[statistic], rtol=5e-5, atol=close)


@pytest.mark.parametrize("name", [pytest.param("t5", marks=pytest.mark.xdist_group("t5")), "mbart"])
def test_an_encoder_is_read_by_itself_whether_or_not_it_is_asked_for(name: str, folder_of: Folder) -> None:
    given, sieves = pairs(4), selection_of(["delimiter", "local", "identical:other"])
    asked, usual = (loaded(folder_of(name), kind) for kind in ("encoder", None))
    assert asked.described == usual.described
    assert (asked.described["kind"], asked.layers) == ("encoder", 2)
    values = _values(asked, given, sieves)
    np.testing.assert_array_equal(values, _values(usual, given, sieves))
    assert not np.isnan(values[sieves.columns.index("delimiter")]).any()


def test_sieves_apply_to_a_kind_of_attention_where_they_mean_something(folder_of: Folder) -> None:
    sieves = selection_of(EVERY)
    for kind in TWO:
        values = _values(loaded(folder_of("bart"), kind), pairs(24), sieves)
        known = ~np.isnan(values).all(axis=(1, 2, 3))
        spoken = {column for column, said in zip(sieves.columns, known, strict=True) if said}
        said = {column.removesuffix(":matched") for column in spoken}
        anywhere = {"delimiter", "delimiter:cls", "delimiter:sep", "first", "punctuation", "punctuation:all"}
        if kind == "cross":
            assert said == anywhere | {"rare", "identical:other"}
            assert "identical:other:matched" in spoken
        else:  # one text, and no later key is visible
            behind = {"block", "bag-of-words", "identical:other", "next", "offset:2", "subword:completing"}
            assert said == set(EVERY) - behind


def test_cross_attention_counts_the_encoders_keys_for_the_decoders_queries(folder_of: Folder) -> None:
    from transformers import AutoTokenizer

    folder, given = folder_of("bart"), pairs()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    sieves = selection_of(["delimiter", "first", "identical:other", "rare"])
    values = _values(loaded(folder, "cross"), given, sieves)
    for number, (each, weights) in enumerate(
        zip(given, plain(folder, given, "cross", tokenizer), strict=True)
    ):
        read, said = (tokenizer(text).encodings[0] for text in each.texts)
        queries = (None, *said.tokens[:-1])
        asking = [place for place, token in enumerate(queries) if place > 1]  # behind </s> <s>
        specials = np.array(read.special_tokens_mask, bool)
        often = np.where(specials, 99, [Often().get(token) for token in read.tokens])
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
            np.testing.assert_allclose(got, np.broadcast_to(wanted, got.shape), rtol=0, atol=CLOSE)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.xdist_group(name)) for name in USUAL[:2]]
)
def test_reading_in_blocks_and_weights_in_half_precision_give_the_same_scores(
    name: str, folder_of: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    given, sieves = pairs(5), selection_of(EVERY)
    half = loaded(folder_of(name), "cross", dtype="bfloat16")
    assert half.way.name == FORMED
    few = selection_of(["delimiter", "punctuation:all"])
    wanted = _values(loaded(folder_of(name), "cross"), given, few)
    np.testing.assert_allclose(_values(half, given, few), wanted, rtol=0, atol=0.05)
    models = [loaded(folder_of(name), kind, 400) for kind in TWO]
    whole = [_values(model, given, sieves) for model in models]
    cut_into_blocks(monkeypatch, 6, 2048)
    for model, values in zip(models, whole, strict=True):
        assert model.way.name == FORMED
        np.testing.assert_allclose(_values(model, given, sieves), values, rtol=0, atol=CLOSE)


@pytest.mark.parametrize("name", ["even t5", "even bart"])
def test_even_attention_scores_nothing_in_every_kind(name: str, folder_of: Folder) -> None:
    for kind in KINDS:
        for longest, statistic, null in ((96, "selectivity", 0.0), (400, "bias", 1.0)):
            sieves = selection_of(EVERY, statistic=statistic)
            values = _values(loaded(folder_of(name), kind, longest), pairs(5), sieves)
            for column, of_column in zip(sieves.columns, values, strict=True):
                wanted = 0.0 if column.endswith(":matched") or column == "bag-of-words" else null
                said = of_column[~np.isnan(of_column)]
                np.testing.assert_allclose(said, wanted, rtol=0, atol=10 * CLOSE, err_msg=column)


@pytest.mark.parametrize(
    "name",
    [pytest.param("t5", marks=pytest.mark.xdist_group("t5")), *map(pytest.param, ["bart", "mbart"])],
)
def test_examples_are_those_put_together_by_hand(name: str, folder_of: Folder) -> None:
    from transformers import AutoTokenizer

    model = loaded(folder_of(name), "decoder")
    tokenizer = AutoTokenizer.from_pretrained(folder_of(name))
    for each in pairs(6):
        for kind in TWO:
            model.tokenizer.kind = kind
            (tokenised,) = tokenise(model.tokenizer, [each], 96)
            example = example_of(tokenised, each.words, True)
            by_hand = hand_made(each, kind, tokenizer, example.tokens[0])
            assert (example.tokens, example.arcs) == (by_hand.tokens, by_hand.arcs)
            for field in ("segment", "first", "word", "stack"):
                np.testing.assert_array_equal(getattr(example, field), getattr(by_hand, field))


def test_texts_that_are_too_long_are_cut_by_themselves(folder_of: Folder) -> None:
    model = loaded(folder_of("t5"), "cross")
    (long,) = tokenise(model.tokenizer, [Passage("long", ("the treaty " * 40, "it was"))], 12)
    assert long.stack is not None
    assert (long.truncated, int(long.stack.sum())) == (True, 12)
    assert long.size - 12 < 12
    (short,) = tokenise(model.tokenizer, [Passage("short", ("it was", "it was"))], 12)
    assert not short.truncated


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

    values = _values(loaded(folder_of("t5"), "cross"), pairs(4), selection_of([near, later]))
    assert np.isnan(values[0]).all()
    assert not np.isnan(values[1]).any()
    assert {len(np.unique(example.stack)) for example in seen} == {2}


@pytest.mark.parametrize("shift", [-2, 0, 3])
def test_a_head_that_goes_along_the_diagonal_of_both_texts_has_no_contrast(shift: int) -> None:
    words = ["a", "b", "a", "c", "b", "d", "a"]
    segment = np.repeat(np.array([1, 0]), [7, 7])
    joint = Example("joint", (*words, *words), segment=segment, stack=1 - segment)
    seen = np.zeros((14, 14), dtype=np.bool_)
    seen[:7, 7:] = True
    along = np.eye(14, k=7 + shift) * seen
    same = (np.array(joint.tokens)[:, None] == np.array(joint.tokens)) * seen
    heads = np.stack([along, seen / 7, same / np.maximum(same.sum(-1, keepdims=True), 1)])[None]
    found = score(heads, joint, ["identical:other"], visible=seen, sinks=True)
    np.testing.assert_allclose(found["identical:other:matched"][0, :2], 0, atol=1e-12)
    assert found["identical:other:matched"][0, 2] > 0.2
    assert abs(found["identical:other"][0, 1]) < 1e-12
    assert (found["identical:other"][0, 0] > 0.3) == (shift == 0)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.xdist_group(name)) for name in USUAL[:2]]
)
@pytest.mark.parametrize("kind", TWO)
def test_each_kind_has_projections_and_norms_of_its_own_keys(name: str, kind: str, folder_of: Folder) -> None:
    bare = loaded(folder_of(name), kind)
    given = bare.tokenizer.tokenised(pairs(1), 64)[0]
    inputs = {key: torch.tensor([ids]) for key, ids in given.inputs.items()}
    projections = output_projections(bare.network, inputs, bare.way.modules)
    assert len(projections) == bare.layers == 3
    paths = {module: path for path, module in bare.network.named_modules()}
    part = {"t5": {"cross": "EncDecAttention", "decoder": "SelfAttention"},
            "bart": {"cross": "encoder_attn", "decoder": "self_attn"}}[name][kind]  # fmt: skip
    assert all(f".{part}." in paths[each.module] for each in projections)
    norms = value_norms(bare.network, inputs, bare.way.modules, everywhere=True)
    weighted = replace(bare, way=replace(bare.way, norms=norms))
    values: list[Any] = []
    names = {"t5": "v", "bart": "v_proj"}
    for each in projections:
        owner = bare.network.get_submodule(paths[each.module].rpartition(".")[0])
        getattr(owner, names[name]).register_forward_hook(lambda module, _, result: values.append(result))
    lengths = [given.size]
    kept, attention = Kept(), Kept()
    run(bare.network, bare.way, inputs, lengths, attention)
    run(weighted.network, weighted.way, inputs, lengths, kept)
    for layer, each in enumerate(projections):
        by_head = values[layer][0].unflatten(-1, (4, 8)).transpose(0, 1)
        sizes = (by_head @ each.weight.detach()).norm(dim=-1)
        rows = attention.whole(layer, 0)
        wanted = rows.clone()
        wanted[:, :, rows.shape[-1] - sizes.shape[1] :] *= sizes[:, None]
        total = wanted.sum(-1, keepdim=True)
        wanted = wanted / torch.where(total > 0, total, 1.0)
        torch.testing.assert_close(kept.whole(layer, 0), wanted, rtol=0, atol=1e-6)


@pytest.mark.ci
@pytest.mark.parametrize("kind", TWO)
@pytest.mark.parametrize("name", ["t5", "mt5", "umt5"])
def test_where_positions_are_relative_left_padding_gives_the_same_weights(
    name: str, kind: str, folder_of: Folder
) -> None:
    from transformers import AutoTokenizer

    tokenizer, given = AutoTokenizer.from_pretrained(folder_of(name)), pairs(3)
    plainly, moved = (plain(folder_of(name), given, kind, tokenizer, left) for left in (0, 4))
    for right, left in zip(plainly, moved, strict=True):
        np.testing.assert_allclose(left, right, rtol=0, atol=CLOSE)


def test_a_decoder_starts_with_the_token_that_configuration_or_generation_name(
    folder_of: Folder, tmp_path: Path
) -> None:
    given = pairs(1)
    for name, said, start in (("bart", None, "</s>"), ("t5", None, "<pad>"), ("t5", 2, "<unk>")):
        folder = Path(shutil.copytree(folder_of(name), tmp_path / f"{name}{said}"))
        if said is not None:
            settings = json.loads((folder / "config.json").read_text())
            settings.pop("decoder_start_token_id", None)
            (folder / "config.json").write_text(json.dumps(settings))
            (folder / "generation_config.json").write_text(json.dumps({"decoder_start_token_id": said}))
        (tokenised,) = tokenise(loaded(folder, "decoder").tokenizer, given, 96)
        assert tokenised.tokens[0] == start


def test_a_target_is_shifted_by_the_rule_of_the_model_and_made_as_its_tokenizer_says(
    folder_of: Folder, model_of: Folder, tokenizer_of: Callable[[str], Any]
) -> None:
    from tokenizers import processors
    from transformers import PreTrainedTokenizerFast

    with pytest.raises(BadInput, match="but the rule of BertModel is unknown; give the first text alone"):
        shift_right(plain_network(model_of("bert"), "eager"), [5, 6])
    network = loaded(folder_of("t5"), "decoder").network
    assert shift_right(network, [5, 6, 1]) == [0, 5, 6]
    network._shift_right = lambda labels: labels.flip(1)
    with pytest.raises(BadInput, match="but T5Model shifts it otherwise"):
        shift_right(network, [5, 6, 1])
    network._shift_right = lambda labels: torch.cat([labels[:, -1:], labels[:, :-1]], dim=1)
    assert shift_right(network, [5, 6, 1]) == [1, 5, 6]  # the language, where a model ends with it

    class Speaking(PreTrainedTokenizerFast):
        """A tokenizer that ends texts to be said otherwise, as those of translators do."""

        def _switch_to_target_mode(self) -> None:
            ending = [("</s>", 1), ("<unk>", 2)]
            raw: Any = self._tokenizer
            raw.post_processor = processors.TemplateProcessing(
                single="$A </s> <unk>", pair="$A $B", special_tokens=ending
            )

    plainly, passage = tokenizer_of("t5"), Passage("x", ("look at words",))
    names = ["input_ids", "attention_mask"]
    speaking = Speaking(tokenizer_object=plainly._tokenizer, model_input_names=names)  # type: ignore[no-untyped-call]
    (read,), (said,) = (tokenise(own, [passage], 50) for own in (plainly, TargetTokenizer(speaking)))
    assert (read.tokens[-1], said.tokens[-2:]) == ("</s>", ("</s>", "<unk>"))
    assert said.tokens[:-1] == read.tokens
