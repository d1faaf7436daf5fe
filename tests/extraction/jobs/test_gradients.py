"""Importance of attention is autograd on the plain model's own attention, averaged over the right cells."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers

from headroles.errors import BadInput
from headroles.extraction.capture import attention as capture_attention
from headroles.extraction.capture import blocks as capture_blocks
from headroles.extraction.capture import joint as capture_joint
from headroles.extraction.capture import weights as capture_weights
from headroles.extraction.capture.attention import run
from headroles.extraction.capture.method import CaptureMethod
from headroles.extraction.capture.readers import VisibleArray
from headroles.extraction.jobs import gradients
from headroles.extraction.jobs.gradients import MEASURES, gradient_shards, max_batch_size
from headroles.extraction.model.checkpoint import find_checkpoint
from headroles.extraction.model.losses import (
    CAUSAL,
    LossModel,
    LossOptions,
    LossTarget,
    load_with_loss,
    losses,
    prepare_target,
)
from headroles.extraction.scoring.reader import Shard
from headroles.extraction.texts.tokens import Tokenised, example_of, tokenise
from headroles.records.passage import Passage
from headroles.records.rules.names import EAGER, FORMED, RETURNED
from headroles.sieves.surface import KINDS, kinds
from tests.support.reference import rounding_bound

Headed = Callable[..., Path]
TEXTS = (
    "The committee did not decide about the long treaty, and nobody in Paris objected to it at all.",
    "Look!",
    "She can't believe that it was signed after the debate; what a day, what a treaty.",
)
OPTIONS = LossOptions(0.3, seed=3)
MASKED_ONES = ("bert", "roberta", "distilbert", "albert", "electra", "modernbert")
CAUSAL_ONES = ("gpt2", "llama", "mistral", "gemma2")
INSIDE = [
    *((name, "MaskedLM") for name in MASKED_ONES),
    *((name, "CausalLM") for name in CAUSAL_ONES),
    *((name, "SequenceClassification") for name in ("bert", "distilbert", "albert", "modernbert", "gemma2")),
]
OUTSIDE = [
    *((name, "MaskedLM") for name in ("mpnet", "deberta-v2")),
    *((name, "CausalLM") for name in ("gptj", "bloom", "falcon")),
]


def _load(folder: Path) -> LossModel:
    return load_with_loss(find_checkpoint(str(folder), None), device="cpu", dtype="float32", max_length=128)


def _passages(texts: Sequence[str] = TEXTS) -> list[Passage]:
    return [Passage(text[:12], (text,)) for text in texts]


def _shard(model: LossModel, passages: Sequence[Passage], batch_size: int = 8, **options: Any) -> Shard:
    (found,) = gradient_shards(
        model,
        passages,
        options.pop("kinds", kinds),
        options=options.pop("options", OPTIONS),
        batch_size=batch_size,
        max_length=128,
        advance=options.pop("advance", lambda count: None),
    )
    return found


def _eager(model: LossModel) -> Any:
    """The library's own model, nothing frozen, attention by its eager function."""
    library = getattr(transformers, str(model.described["architecture"]))
    return library.from_pretrained(model.described["name"], attn_implementation="eager").eval()


def _alone(
    network: Any, model: LossModel, passage: Passage
) -> tuple[list[torch.Tensor], Tokenised, LossTarget]:
    """Attention of one unpadded input in the library's own run, with gradients of the library's own loss."""
    (tokenised,) = tokenise(model.tokenizer, [passage], 128)
    shown, target = prepare_target(model, tokenised, OPTIONS)
    inputs = {name: torch.tensor([each]) for name, each in shown.inputs.items()}
    asked = torch.full_like(inputs["input_ids"], -100)
    asked[0, target.places + (model.about == CAUSAL)] = torch.from_numpy(target.words)
    if not len(target.places):
        asked = network(**inputs).logits.argmax(-1)
    output = network(**inputs, labels=asked, output_attentions=True)
    for weights in output.attentions:
        weights.retain_grad()
    output.loss.backward()
    return list(output.attentions), tokenised, target


def _by_hand(network: Any, model: LossModel, passage: Passage) -> np.ndarray:
    """Importances (columns, layers, heads) of one input, cell by cell."""
    attentions, tokenised, target = _alone(network, model, passage)
    own = {name: keys.copy() for name, keys in kinds(example_of(tokenised, None, arcs=False)).items()}
    found = np.full((2, len(own), model.layers, model.heads), np.nan)
    for row, keys in enumerate(own.values()):
        if model.about == "masked words":
            keys[target.places] = False
        for layer, weights in enumerate(attentions):
            assert weights.grad is not None
            for head in range(model.heads):
                seen = (weights[0] > 0).any(0).numpy()
                sizes = weights.grad[0, head].abs().numpy()
                both = (sizes, sizes * weights[0, head].detach().numpy())
                for measure, each in enumerate(both):
                    means = [each[seen[:, key], key].mean() for key in np.flatnonzero(keys)]
                    found[measure, row, layer, head] = np.mean(means) if means else np.nan
    return found.reshape(-1, model.layers, model.heads)


def _check_close(ours: np.ndarray, theirs: np.ndarray) -> None:
    """Equal up to what float32 rounds in sums of another order."""
    np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=rounding_bound(96, float(np.nanmax(theirs))))


@pytest.mark.parametrize(("name", "head"), [*INSIDE, *OUTSIDE])
def test_importances_are_those_of_the_librarys_loss_on_each_input_alone(
    name: str, head: str, headed: Headed
) -> None:
    model = _load(headed(name, head))
    assert model.way.name == (RETURNED if (name, head) in OUTSIDE else EAGER)
    shard = _shard(model, _passages())
    network = _eager(model)
    for place, passage in enumerate(_passages()):
        wanted = _by_hand(network, model, passage)
        _check_close(shard.values[:, place], wanted)
    assert np.nanmax(shard.values[:4]) > 1e-6
    assert all(weights.grad is None for weights in model.network.parameters())


class Gradients:
    """A reader that keeps gradients, and the loss of a batch."""

    def __init__(self, model: LossModel, targets: list[LossTarget]) -> None:
        self.model, self.targets = model, targets
        self.weights: list[torch.Tensor] = []
        self.value = 0.0

    def read_graph(self, layer: int, weights: torch.Tensor, visible: Sequence[VisibleArray]) -> None:
        weights.retain_grad()
        self.weights.append(weights)

    def loss(self, output: torch.Tensor) -> torch.Tensor:
        total = losses(self.model, output, self.targets)[0].sum()
        self.value = float(total.detach())
        return total


def _batch(
    model: LossModel, texts: Sequence[str]
) -> tuple[dict[str, torch.Tensor], list[int], list[LossTarget]]:
    """Texts as one padded batch, as the model gets them, and their targets."""
    made = [prepare_target(model, each, OPTIONS) for each in tokenise(model.tokenizer, _passages(texts), 128)]
    lengths = [each.size for each, _ in made]
    inputs = {}
    for name in made[0][0].inputs:
        table = torch.zeros((len(made), max(lengths)), dtype=torch.long)
        for row, (each, _) in enumerate(made):
            table[row, : lengths[row]] = torch.tensor(each.inputs[name])
        inputs[name] = table
    return inputs, lengths, [target for _, target in made]


@pytest.mark.parametrize(("name", "head"), INSIDE)
def test_gradients_of_a_padded_batch_are_autograd_on_eager_attentions_to_the_bit(
    name: str, head: str, headed: Headed
) -> None:
    model = _load(headed(name, head))
    inputs, lengths, targets = _batch(model, TEXTS[:1] if head == "SequenceClassification" else TEXTS)
    reader = Gradients(model, targets)
    run(model.network, model.way, inputs, lengths, reader)
    output = _eager(model)(**inputs, output_attentions=True)
    for weights in output.attentions:
        weights.retain_grad()
    losses(model, output[0], targets)[0].sum().backward()  # type: ignore[no-untyped-call]
    assert len(reader.weights) == len(output.attentions) == model.layers
    for ours, theirs in zip(reader.weights, output.attentions, strict=True):
        assert ours.grad is not None
        close = rounding_bound(len(ours.grad), float(theirs.grad.abs().max()))
        torch.testing.assert_close(ours.grad, theirs.grad, rtol=0, atol=close)


@pytest.fixture(params=["MaskedLM", "SequenceClassification"])
def double(request: pytest.FixtureRequest, headed: Headed) -> LossModel:
    """A tiny BERT in double precision."""
    model = _load(headed("bert", request.param))
    model.network.double()
    return model


def test_gradients_are_finite_differences_of_the_loss_in_double_precision(
    double: LossModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    inputs, lengths, targets = _batch(double, TEXTS)
    reader = Gradients(double, targets)
    run(double.network, double.way, inputs, lengths, reader)
    rng = np.random.default_rng(5)
    step = 1e-4
    for layer in range(double.layers):
        for _ in range(4):
            example = int(rng.integers(len(lengths)))
            cell = (
                example,
                int(rng.integers(double.heads)),
                *rng.integers(lengths[example], size=2).tolist(),
            )
            found = []
            for shift in (step, -step):
                with monkeypatch.context() as patched:
                    shifted = _shifted(layer, cell, shift)
                    for module in (capture_attention, capture_blocks, capture_joint, capture_weights):
                        patched.setattr(module, "own_eager", shifted)
                    moved = Gradients(double, targets)
                    run(double.network, double.way, inputs, lengths, moved)
                    found.append(moved.value)
            gradient = reader.weights[layer].grad
            assert gradient is not None
            scale = float(gradient.abs().max())
            difference = (found[0] - found[1]) / (2 * step)
            assert difference == pytest.approx(float(gradient[cell]), rel=1e-5, abs=1e-5 * scale)


def _shifted(
    layer: int, cell: Sequence[int], shift: float
) -> Callable[[torch.nn.Module], Callable[..., Any]]:
    """Eager attention whose one weight is larger in one layer: its output moves by that share of a value."""
    honest = capture_weights.own_eager
    example, head, query, key = cell
    calls = iter(range(10**6))

    def own(module: torch.nn.Module) -> Callable[..., Any]:
        def attend(module: Any, queries: Any, keys: Any, values: Any, mask: Any, **rest: Any) -> Any:
            output, weights = honest(module)(module, queries, keys, values, mask, **rest)
            if next(calls) == layer:
                push = torch.zeros_like(output)
                push[example, query, head] = shift * values[example, head, key]
                output = output + push
            return output, weights

        return attend

    return own


@pytest.mark.parametrize(
    ("name", "head"),
    [
        ("bert", "MaskedLM"),
        ("modernbert", "MaskedLM"),
        ("mistral", "CausalLM"),
        ("bloom", "CausalLM"),
        ("bert", "SequenceClassification"),
        ("gpt2", "SequenceClassification"),
    ],
)
def test_batches_padding_and_order_do_not_change_values(name: str, head: str, headed: Headed) -> None:
    model = _load(headed(name, head))
    passages = _passages()
    together, alone = _shard(model, passages), _shard(model, passages, batch_size=1)
    turned = _shard(model, passages[::-1])
    for other in (alone.values, turned.values[:, ::-1]):
        _check_close(together.values, other)
    assert np.nanmax(together.values) > 1e-6


def test_columns_are_all_kinds_by_gradient_then_by_attention_times_gradient(headed: Headed) -> None:
    model = _load(headed("bert", "MaskedLM"))
    shard = _shard(model, _passages())
    made = tokenise(model.tokenizer, _passages(), 128)
    assert shard.values.shape == (len(MEASURES) * len(KINDS), 3, model.layers, model.heads)
    assert shard.values.dtype == np.float32
    np.testing.assert_array_equal(shard.cells[0], 1)
    np.testing.assert_array_equal(shard.cells[1], 1)
    np.testing.assert_array_equal(shard.cells[:4], shard.cells[4:])
    left = [each.size - len(prepare_target(model, each, OPTIONS)[1].places) for each in made]
    np.testing.assert_array_equal(shard.cells[:4].sum(0), left)
    assert shard.null.shape == (0, 3)
    assert shard.examples == tuple(passage.key for passage in _passages())
    assert (shard.low == 0).all()
    assert np.isinf(shard.high).all()
    assert (shard.values[4:] <= shard.values[:4])[~np.isnan(shard.values[4:])].all()


def test_a_kind_without_keys_and_an_input_without_a_loss_say_nothing(headed: Headed) -> None:
    model = _load(headed("gpt2", "CausalLM"))
    shard = _shard(model, _passages(("a", "The treaty, signed.")))
    assert np.isnan(shard.values[:, 0]).all()
    silent = np.isnan(shard.values[:4, 1]).all(axis=(1, 2))
    assert silent.tolist() == [False, True, False, False]
    np.testing.assert_array_equal(shard.cells[:4, 0], [1, 0, 0, 0])


def test_a_model_of_next_words_that_sees_them_is_refused(headed: Headed) -> None:
    model = _load(headed("bert", "CausalLM"))
    with pytest.raises(BadInput, match=r"a model that cannot see them, but .*BertLMHeadModel\) does; give"):
        _shard(model, _passages())


def test_batches_are_as_large_as_memory_allows(headed: Headed, monkeypatch: pytest.MonkeyPatch) -> None:
    model = _load(headed("bert", "MaskedLM"))
    one = 4 * (gradients.COPIES * 2 * 4 * 128**2 + gradients.LOGITS * 128 * 400)
    done: list[int] = []
    for room, batches in ((one - 1, [1, 1, 1]), (2 * one, [2, 1]), (3 * one, [3])):
        monkeypatch.setattr(gradients, "BUDGET", room)
        assert max_batch_size(model, 128) == max(1, room // one)
        done.clear()
        _shard(model, _passages(), advance=done.append)
        assert done == batches
    assert max_batch_size(model, 64) > 3


def test_classes_of_decoders_without_a_padding_token_are_read_one_by_one(headed: Headed) -> None:
    model = _load(headed("gpt2", "SequenceClassification"))
    assert model.network.config.pad_token_id is None
    done: list[int] = []
    _shard(model, _passages(), advance=done.append)
    assert done == [1, 1, 1]


def test_a_batch_that_does_not_fit_is_halved(headed: Headed, monkeypatch: pytest.MonkeyPatch) -> None:
    model = _load(headed("bert", "MaskedLM"))
    usual = _shard(model, _passages())

    def tight(own: LossModel, output: torch.Tensor, targets: Sequence[LossTarget]) -> Any:
        if len(targets) > 1:
            raise torch.OutOfMemoryError("out of memory")
        return losses(own, output, targets)

    monkeypatch.setattr(gradients, "losses", tight)
    _check_close(_shard(model, _passages()).values, usual.values)


def test_weights_formed_beside_the_model_have_no_gradients(headed: Headed) -> None:
    model = _load(headed("bert", "MaskedLM"))
    inputs, lengths, targets = _batch(model, TEXTS)
    model.network.set_attn_implementation(FORMED)
    with pytest.raises(TypeError, match="run it with 'headroles-eager'"):
        run(model.network, CaptureMethod(FORMED), inputs, lengths, Gradients(model, targets))


def test_the_graph_begins_at_the_first_layers_weights(headed: Headed) -> None:
    model = _load(headed("bert", "MaskedLM"))
    inputs, lengths, targets = _batch(model, TEXTS)
    seen: list[torch.Tensor] = []
    hook = model.network.bert.embeddings.register_forward_hook(lambda *each: seen.append(each[2]))
    reader = Gradients(model, targets)
    run(model.network, model.way, inputs, lengths, reader)
    hook.remove()
    assert [each.requires_grad for each in seen] == [False]
    assert all(weights.requires_grad for weights in reader.weights)


def test_shards_come_in_order_while_they_are_done(headed: Headed, monkeypatch: pytest.MonkeyPatch) -> None:
    model = _load(headed("bert", "SequenceClassification", num_labels=3))
    passages = [Passage(f"x{k}", (TEXTS[k % 3],)) for k in range(5)]
    labels = {passage.key: str(k // 3) for k, passage in enumerate(passages)}
    options = LossOptions(0.15, labels=labels)
    monkeypatch.setattr("headroles.extraction.stream.SHARD", 2)
    shards: Iterator[Shard] = gradient_shards(
        model, passages, kinds, options=options, batch_size=2, max_length=128, advance=lambda count: None
    )
    found = list(shards)
    assert [shard.examples for shard in found] == [("x0", "x1"), ("x2", "x3"), ("x4",)]
    values = np.concatenate([shard.values for shard in found], axis=1)
    assert not np.allclose(values[:4, 0], values[:4, 3], rtol=1e-3)  # the same text, another label
