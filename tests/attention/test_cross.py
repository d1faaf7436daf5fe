"""Encoder, decoder and cross attention of encoder-decoders are scored as the plain models compute them."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headroles import Lexical, extraction, score
from headroles.arrays import selection_of
from headroles.errors import BadInput
from headroles.records import Passage
from tests.support.architectures import EAGER, FORMED, RETURNED
from tests.support.causal.plain import tensors_of
from tests.support.read_models import Kept, cut_into_blocks, opened, plain_network
from tests.support.reference import rounding_bound
from tests.support.seq2seq import MODELS, hand_made, pairs, plain, saved
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


def named(*names: str) -> list[Any]:
    """Parameters: one worker has all tests of an architecture; CI has the unusual ones."""
    marks = {name: [pytest.mark.xdist_group(name)] for name in names}
    return [
        pytest.param(name, marks=own if name in USUAL else [*own, pytest.mark.ci])
        for name, own in marks.items()
    ]


class Often(dict[str, int]):
    """How often a token occurs, by what it is."""

    def get(self, token: str, usual: Any = 0) -> int:
        """Return a number of the token."""
        return sum(map(ord, token)) % 7


@pytest.fixture(scope="module")
def folder_of(tokenizer_of: Callable[[str], Any], tmp_path_factory: pytest.TempPathFactory) -> Folder:
    """The folder of an encoder-decoder whose decoder has another number of layers than its encoder."""
    root = tmp_path_factory.mktemp("seq2seq")
    return cache(lambda name: saved(name, root, tokenizer_of))


def loaded(folder: Path, kind: str | None, max_length: int = 96, dtype: str = "float32") -> Any:
    """The model, ready to be read."""
    return opened(folder, max_length, dtype, kind=kind)


def values_of(model: Any, given: list[Passage], sieves: Any, **how: Any) -> np.ndarray:
    """Streamed scores: columns, examples, layers, heads."""
    lexicon = extraction.Lexicon(frequency=Often())
    values: np.ndarray = streamed(model, given, sieves, **{"size": 3, "lexicon": lexicon} | how).values
    return values


def reference(folder: Path, given: list[Passage], kind: str, model: Any, statistic: str) -> np.ndarray:
    """Scores of the plain model's returned attention in float64: columns, examples, layers, heads."""
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    start = model.tokenizer.tokenised(given[:1], 96)[0].tokens[0]
    columns = selection_of(EVERY, statistic=statistic).columns
    found = np.full((len(columns), len(given), model.layers, model.heads), np.nan)
    for place, (each, weights) in enumerate(zip(given, plain(folder, given, kind, tokenizer), strict=True)):
        example = hand_made(each, kind, tokenizer, start)
        frequency = np.array([Often().get(token) for token in example.tokens])
        example = replace(example, lexical=Lexical(frequency=frequency))
        queries = weights.shape[2]
        whole = np.zeros((*weights.shape[:2], example.size, example.size))
        whole[:, :, :queries, -weights.shape[3] :] = weights  # the square of the joint example
        seen = np.asarray((whole > 0).any((0, 1)))
        own = score(whole, example, EVERY, visible=seen, statistic=statistic, sinks=True)
        for column, values in own.items():
            found[columns.index(column), place] = values
    return found


@pytest.mark.parametrize("name", named(*MODELS))
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
                    wanted[statistic] = reference(folder_of(name), given, kind, model, statistic)
                sieves = selection_of(EVERY, statistic=statistic)
                for size in (1, 4):  # padding of either side changes nothing
                    values = values_of(model, given, sieves, size=size)
                    np.testing.assert_allclose(values, wanted[statistic], rtol=5e-5, atol=close)


@pytest.mark.parametrize("name", named("t5", "bart"))
def test_blocks_give_the_same_scores_as_the_whole(
    name: str, folder_of: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    given, sieves = pairs(5), selection_of(EVERY)
    models = [loaded(folder_of(name), kind, 400) for kind in TWO]
    whole = [values_of(model, given, sieves) for model in models]
    cut_into_blocks(monkeypatch, 6, 2048)
    for model, values in zip(models, whole, strict=True):
        assert model.way.name == FORMED
        np.testing.assert_allclose(values_of(model, given, sieves), values, rtol=0, atol=CLOSE)


@pytest.mark.parametrize(
    ("name", "kind", "part", "value"),
    [
        ("t5", "cross", "EncDecAttention", "v"),
        ("t5", "decoder", "SelfAttention", "v"),
        ("bart", "cross", "encoder_attn", "v_proj"),
        ("bart", "decoder", "self_attn", "v_proj"),
    ],
)
def test_each_kind_has_projections_and_norms_of_its_own_keys(
    name: str, kind: str, part: str, value: str, folder_of: Folder
) -> None:
    import torch

    bare = loaded(folder_of(name), kind)
    network, modules = bare.network, bare.way.modules
    given = bare.tokenizer.tokenised(pairs(1), 64)[0]
    inputs = tensors_of(given)
    projections = extraction.output_projections(network, inputs, modules)
    paths = {module: path for path, module in network.named_modules()}
    owners = [paths[each.module].rpartition(".")[0] for each in projections]
    assert [owner.rpartition(".")[2] for owner in owners] == [part] * bare.layers
    norms = extraction.value_norms(network, inputs, modules, everywhere=True)
    values, kept, attention = list[Any](), Kept(), Kept()
    for owner in owners:
        module = network.get_submodule(f"{owner}.{value}")
        module.register_forward_hook(lambda module, _, result: values.append(result))
    extraction.run(network, bare.way, inputs, [given.size], attention)
    extraction.run(network, replace(bare.way, norms=norms), inputs, [given.size], kept)
    for layer, each in enumerate(projections):
        by_head = values[layer][0].unflatten(-1, (4, 8)).transpose(0, 1)
        sizes = (by_head @ each.weight.detach()).norm(dim=-1)
        wanted = attention.whole(layer, 0).clone()
        wanted[:, :, wanted.shape[-1] - sizes.shape[1] :] *= sizes[:, None]
        total = wanted.sum(-1, keepdim=True)
        wanted = wanted / torch.where(total > 0, total, 1.0)
        torch.testing.assert_close(kept.whole(layer, 0), wanted, rtol=0, atol=1e-6)


def test_a_target_is_shifted_by_the_rule_of_the_model(folder_of: Folder, model_of: Folder) -> None:
    import torch

    with pytest.raises(BadInput, match="but the rule of BertModel is unknown; give the first text alone"):
        extraction.shift_right(plain_network(model_of("bert"), "eager"), [5, 6])
    network = loaded(folder_of("t5"), "decoder").network
    assert extraction.shift_right(network, [5, 6, 1]) == [0, 5, 6]
    network._shift_right = lambda labels: labels.flip(1)
    with pytest.raises(BadInput, match="but T5Model shifts it otherwise"):
        extraction.shift_right(network, [5, 6, 1])
    network._shift_right = lambda labels: torch.cat([labels[:, -1:], labels[:, :-1]], dim=1)
    assert extraction.shift_right(network, [5, 6, 1]) == [1, 5, 6]  # the language, where a model ends with it
