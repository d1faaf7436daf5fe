"""Damage depends on the input alone: not on batches, threads, layers that are skipped, or rounding."""

from typing import Any

import numpy as np
import pytest
import torch
from transformers import BertConfig

from headroles.errors import BadInput
from headroles.extraction.ablation import network, prefix, trial
from headroles.extraction.ablation.arms import Ablator, Arm
from headroles.extraction.ablation.references import References, donor_places, draw_donors, token_classes
from headroles.extraction.ablation.replacing import Attended
from headroles.extraction.model.checkpoint import find_checkpoint
from headroles.extraction.model.load import load
from headroles.extraction.model.losses import LossOptions, LossTarget, losses, prepare_target
from tests.support.architectures import RETURNED, TABLE
from tests.support.causal.plain import (
    UNITS,
    inputs_of,
    one_minus_cosine,
    open_loss,
    open_model,
    plain_outputs,
    plain_run,
)

ARMS = [
    Arm(by, heads) for by in ("zero", "mean", "resample", "even") for heads in (((0, 1),), ((1, 0), (0, 2)))
]
CLEAN = Arm("zero", ())


def measured(ablator: Ablator, batch: Any, places: Any = None, targets: Any = None, arms: Any = ARMS) -> Any:
    """Damages of some inputs of a batch."""
    places = range(len(batch)) if places is None else places
    own = None if targets is None else [targets[place] for place in places]
    return ablator.measure([batch[place] for place in places], [UNITS[place] for place in places], own, arms)


@pytest.mark.parametrize("name", ["bert", "llama", "gpt2", "modernbert", "gpt-oss", "albert", "distilbert"])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_the_arm_that_changes_nothing_changes_exactly_nothing(model_of: Any, name: str, dtype: str) -> None:
    model = open_model(model_of(name), dtype)
    batch = inputs_of(model)
    ablator = Ablator(model, ["representation", "tokens"], References(batch, UNITS))
    effects = measured(ablator, batch, arms=[CLEAN, *ARMS, CLEAN, Arm("mean", ()), Arm("even", ())])
    for row in (0, -3, -2, -1):
        assert (effects.values["representation"][row] == 0).all()
        assert all((own[row] == 0).all() for own in effects.by_token["tokens"])
    assert (effects.values["representation"][1:-3] > 0).all()


@pytest.mark.parametrize(
    ("name", "head"), [("bert", "MaskedLM"), ("llama", "CausalLM"), ("gemma2", "CausalLM")]
)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_the_clean_arm_has_the_clean_loss_to_the_bit(headed: Any, name: str, head: str, dtype: str) -> None:
    model = open_loss(headed(name, head), dtype)
    prepared = [prepare_target(model, own, LossOptions(0.3)) for own in inputs_of(model)]
    batch, targets = [own for own, _ in prepared], [target for _, target in prepared]
    ablator = Ablator(model, ["loss", "distribution"], References(batch, UNITS))
    effects = measured(ablator, batch, targets=targets, arms=[*ARMS, CLEAN])
    assert (effects.values["loss"][-1] == 0).all()
    assert (effects.values["distribution"][-1] == 0).all()
    assert (effects.values["distribution"][:-1] > 0).all()
    for place, target in enumerate(targets):
        tokens = effects.clean_tokens[place]
        assert effects.clean[place] == pytest.approx(tokens[target.places].mean())
        assert np.isnan(np.delete(tokens, target.places)).all()


def test_batches_and_threads_change_no_bit(model_of: Any) -> None:
    model = open_model(model_of("llama"))
    batch = inputs_of(model)
    ablator = Ablator(model, ["representation", "tokens"], References(batch, UNITS))
    together = measured(ablator, batch)
    alone = [measured(ablator, batch, [place]) for place in range(len(batch))]
    for outcome in ("representation", "tokens"):
        apart = np.concatenate([own.values[outcome] for own in alone], axis=1)
        assert together.values[outcome].tobytes() == apart.tobytes()
    threads = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        again = measured(ablator, batch)
        assert Ablator(model, ["tokens"], References(batch, UNITS)).described == ablator.described
        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(threads)
    assert again.values["tokens"].tobytes() == together.values["tokens"].tobytes()
    assert again.norm.tobytes() == together.norm.tobytes()
    for place, own in enumerate(again.by_token["tokens"]):
        assert own.tobytes() == together.by_token["tokens"][place].tobytes()


@pytest.mark.parametrize(
    ("name", "kind"),
    [("bert", None), ("gpt2", None), ("llama", None), ("modernbert", None), ("gemma3", None),
     ("gpt-oss", None), ("mixtral", None), ("t5", "encoder"), ("t5", "decoder"), ("bart", "encoder"),
     ("bart", "decoder")],
)  # fmt: skip
def test_skipping_layers_changes_nothing_beyond_rounding(
    model_of: Any, name: str, kind: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = open_model(model_of(name), kind=kind)
    batch = inputs_of(model)
    arms = [Arm("zero", ((layer, 1),)) for layer in range(model.layers)]
    sharing = Ablator(model, ["tokens"])
    assert sharing.described["passes"] == "from the layer of the intervention on"
    before = {name: dict(module.__dict__) for name, module in model.network.named_modules()}
    quick = measured(sharing, batch, arms=arms)
    assert all(
        module.__dict__.keys() == before[name].keys() for name, module in model.network.named_modules()
    )
    monkeypatch.setattr(trial, "find_blocks", lambda *_: [])
    whole = Ablator(model, ["tokens"])
    assert whole.described["passes"] == "all layers"
    slow = measured(whole, batch, arms=arms)
    np.testing.assert_allclose(quick.values["tokens"], slow.values["tokens"], atol=1e-6)
    assert (slow.values["tokens"] > 1e-6).all()


def test_layers_are_computed_from_the_intervention_on(model_of: Any) -> None:
    model = open_model(model_of("llama"))
    ablator, calls = Ablator(model, ["tokens"]), list[int]()
    for layer, module in enumerate(model.network.layers):
        module.mlp.register_forward_hook(lambda *_, layer=layer: calls.append(layer))
    measured(ablator, inputs_of(model), [0], arms=[Arm("zero", ((2, 0),)), Arm("zero", ((1, 0), (2, 1)))])
    assert calls == [0, 1, 2, 1, 2, 2]


def test_what_comes_before_the_lowest_intervention_is_computed_for_one_row(
    model_of: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, rows = open_model(model_of("llama")), dict[str, list[int]]()
    for layer, block in enumerate(model.network.layers):
        for name, module in (("query", block.self_attn.q_proj), ("mlp", block.mlp)):
            seen = rows.setdefault(f"{layer} {name}", [])

            def forward(states: Any, own: Any = module.forward, seen: list[int] = seen) -> Any:
                seen.append(states.shape[0])
                return own(states)

            monkeypatch.setattr(module, "forward", forward)
    ablator = Ablator(model, ["tokens"])
    for seen in rows.values():
        seen.clear()
    measured(ablator, inputs_of(model), [0], arms=[Arm("zero", ((1, head),)) for head in range(4)])
    assert rows == {
        "0 query": [1], "0 mlp": [1], "1 query": [1, 1], "1 mlp": [1, 4], "2 query": [1, 4], "2 mlp": [1, 4],
    }  # fmt: skip


@pytest.mark.parametrize("by", ["zero", "even"])
def test_a_network_that_writes_into_its_queries_computes_them_for_every_row(model_of: Any, by: str) -> None:
    class Scaled(torch.nn.Module):
        def __init__(self, inner: Any) -> None:
            super().__init__()
            self.inner = inner

        def forward(self, states: Any) -> Any:
            return self.inner(states).mul_(1.0)

    model = open_model(model_of("llama"))
    batch, arms = inputs_of(model), [Arm(by, ((1, head),)) for head in range(4)]
    expected = measured(Ablator(model, ["tokens"]), batch, arms=arms)
    for block in model.network.layers:
        block.self_attn.q_proj = Scaled(block.self_attn.q_proj)
    ablator = Ablator(model, ["tokens"])
    assert ablator.described["passes"] == "from the layer of the intervention on"
    effects = measured(ablator, batch, arms=arms)
    np.testing.assert_allclose(effects.values["tokens"], expected.values["tokens"], atol=1e-6)


def test_a_row_that_changes_nothing_changes_nothing_where_sums_depend_on_the_number_of_rows(
    model_of: Any,
) -> None:
    model, passes = open_model(model_of("bert")), list[int]()
    batch = inputs_of(model)
    ablator = Ablator(model, ["representation", "tokens"])

    def rounded(module: Any, given: Any, output: Any) -> Any:
        passes.append(len(output))
        return output + 1e-4 * (len(output) - 1) * output.roll(1, -1)

    model.network.encoder.layer[1].output.dense.register_forward_hook(rounded)
    arms = [CLEAN, Arm("zero", ((0, 0),)), Arm("even", ()), Arm("zero", ((1, 0),)), Arm("zero", ((1, 1),))]
    effects = measured(ablator, batch, [0], arms=arms)
    assert passes == [1, 3, 1, 2]
    assert (effects.values["representation"][:, 0] == 0).tolist() == [True, False, True, False, False]
    assert (effects.by_token["tokens"][0] == 0).all(1).tolist() == [True, False, True, False, False]


def test_layers_that_share_one_module_are_computed_whole(model_of: Any) -> None:
    model = open_model(model_of("albert"))
    batch = inputs_of(model)
    ablator = Ablator(model, ["tokens"])
    assert ablator.described["passes"] == "all layers"
    effects = measured(ablator, batch, arms=[Arm("zero", ((layer, 2),)) for layer in range(3)])
    clean = plain(model, batch[0], {})
    for layer in range(3):
        expected = one_minus_cosine(plain(model, batch[0], {layer: 2}), clean)
        np.testing.assert_allclose(effects.by_token["tokens"][0][layer], expected, atol=2e-6)


def plain(model: Any, tokenised: Any, zeroed: dict[int, int]) -> torch.Tensor:
    """ALBERT's output with heads of some calls of its one attention module set to zero."""
    network, call = model.network, iter(range(100))
    network.set_attn_implementation("eager")
    (module,) = [own for path, own in network.named_modules() if path.endswith("attention.dense")]

    def hook(module: Any, given: Any) -> Any:
        own, layer = given[0].clone(), next(call)
        if layer in zeroed:
            own.view(*own.shape[:2], model.heads, -1)[:, :, zeroed[layer]] = 0
        return (own,)

    handle = module.register_forward_pre_hook(hook)
    with torch.inference_mode():
        output: torch.Tensor = network(**{key: torch.tensor([own]) for key, own in tokenised.inputs.items()})[
            0
        ]
    handle.remove()
    return output[0]


def test_small_passes_change_nothing_beyond_rounding(model_of: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    model = open_model(model_of("bert"))
    batch = inputs_of(model)
    ablator = Ablator(model, ["tokens"], References(batch, UNITS))
    wide = measured(ablator, batch)
    monkeypatch.setattr(network, "ROOM", 1)
    narrow = measured(ablator, batch)
    np.testing.assert_allclose(narrow.values["tokens"], wide.values["tokens"], atol=1e-6)


def test_passes_that_do_not_fit_are_halved_and_one_row_that_does_not_is_refused(
    model_of: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = open_model(model_of("bert"))
    batch, tried = inputs_of(model), list[int]()
    ablator = Ablator(model, ["tokens"])
    arms = [Arm("zero", ((0, head),)) for head in range(4)]
    whole = measured(ablator, batch, [0], arms=arms)
    measure, most = network.AblatedNetwork._measure, 2

    def small(self: Any, *arguments: Any) -> Any:
        tried.append(arguments[-1])
        if arguments[-1] > most:
            raise RuntimeError("DefaultCPUAllocator: can't allocate memory")
        return measure(self, *arguments)

    monkeypatch.setattr(network.AblatedNetwork, "_measure", small)
    halved = measured(ablator, batch, [0], arms=arms)
    assert tried == [4, 2]
    np.testing.assert_allclose(halved.values["tokens"], whole.values["tokens"], atol=1e-6)
    most = 0
    with pytest.raises(
        BadInput, match=f"one input of {batch[0].size} tokens does not fit in the memory of cpu"
    ):
        measured(ablator, batch, [0], arms=arms)


def test_resampled_outputs_are_those_of_drawn_inputs_averaged_over_draws(model_of: Any) -> None:
    model = open_model(model_of("bert"))
    batch = inputs_of(model)
    references = References(batch, UNITS)
    ablator = Ablator(model, ["tokens"], references, seed=3, draws=2)
    effects = measured(ablator, batch, arms=[Arm("resample", ((1, 2),))])
    for place, tokenised in enumerate(batch):
        donors = draw_donors(references, tokenised.passage.key, UNITS[place], draws=2, seed=3)
        assert place not in donors
        clean = plain_run(model, tokenised, "bert", lambda layer, own: None)
        changes = []
        for donor in donors:
            kept = plain_outputs(model, batch[donor], "bert")
            index = donor_places(token_classes(tokenised), token_classes(batch[donor]))

            def change(layer: int, own: torch.Tensor, kept: Any = kept, index: Any = index) -> None:
                if layer == 1:
                    own[:, 2] = kept[1][index, 2]

            changes.append(one_minus_cosine(plain_run(model, tokenised, "bert", change), clean))
        np.testing.assert_allclose(effects.by_token["tokens"][place][0], np.mean(changes, axis=0), atol=2e-6)


def test_norms_are_those_of_the_parts_of_a_layers_output(model_of: Any) -> None:
    model = open_model(model_of("llama"))
    batch = inputs_of(model)
    effects = measured(Ablator(model, ["tokens"]), batch, arms=[CLEAN])
    kept = plain_outputs(model, batch[0], "llama")
    for layer, block in enumerate(model.network.layers):
        weight = block.self_attn.o_proj.weight.detach().T.reshape(model.heads, -1, 32)
        parts = torch.einsum("thd,hdD->thD", kept[layer].clone(), weight)
        np.testing.assert_allclose(effects.norm[0, layer], parts.norm(dim=-1).mean(0), rtol=1e-4)


@pytest.mark.parametrize(
    ("name", "head"), [("bert", "MaskedLM"), ("llama", "CausalLM"), ("bert", "SequenceClassification")]
)
def test_the_screen_is_the_derivative_of_the_exact_damage(headed: Any, name: str, head: str) -> None:
    """Zeroing a head whose values are tiny is a small step, for which the screen must be exact."""
    model = open_loss(headed(name, head))
    with torch.no_grad():
        for path, weights in model.network.named_parameters():
            if "v_proj" in path or "self.value" in path:
                weights.mul_(1e-3)
    prepared = [prepare_target(model, own, LossOptions(0.3)) for own in inputs_of(model)]
    batch, targets = [own for own, _ in prepared], [target for _, target in prepared]
    ablator = Ablator(model, ["loss"], References(batch, UNITS))
    every = [(layer, at) for layer in range(model.layers) for at in range(model.heads)]
    for by in ("zero", "mean"):
        exact = measured(ablator, batch, targets=targets, arms=[Arm(by, (place,)) for place in every])
        screen = ablator.screen(batch, UNITS, targets, by).reshape(len(batch), -1).T
        scale = np.abs(exact.values["loss"]).max()
        assert scale > 1e-5
        np.testing.assert_allclose(screen, exact.values["loss"], atol=0.03 * scale)
    assert not any(weights.requires_grad for weights in model.network.parameters())


@pytest.mark.parametrize(
    ("name", "head"),
    [("modernbert", "MaskedLM"), ("electra", "MaskedLM"), ("albert", "MaskedLM"), ("xlm-roberta", "MaskedLM"),
     ("mistral", "CausalLM"), ("gemma3", "CausalLM"), ("gpt-neox", "CausalLM"), ("opt", "CausalLM"),
     ("cohere2", "CausalLM"), ("granite", "CausalLM"), ("phi", "CausalLM"), ("bert", "PreTraining")],
)  # fmt: skip
def test_logits_at_the_target_alone_give_the_loss_of_the_whole_output(
    headed: Any, name: str, head: str
) -> None:
    model = open_loss(headed(name, head))
    prepared = [prepare_target(model, own, LossOptions(0.3)) for own in inputs_of(model)]
    batch, targets = [own for own, _ in prepared], [target for _, target in prepared]
    effects = measured(Ablator(model, ["loss", "tokens"]), batch, targets=targets, arms=[CLEAN])
    model.network.set_attn_implementation("eager")
    for place, (tokenised, target) in enumerate(prepared):
        inputs = {key: torch.tensor([own]) for key, own in tokenised.inputs.items()}
        with torch.inference_mode():
            logits = model.network(**inputs)[0]
        (loss,), _ = losses(model, logits, [target])
        assert effects.clean[place] == pytest.approx(float(loss), abs=1e-5)


def test_an_input_without_a_next_word_has_no_damage_to_its_loss(headed: Any) -> None:
    model = open_loss(headed("gpt2", "CausalLM"))
    batch = inputs_of(model, ["a", "The heads of a model look at words."])
    targets = [prepare_target(model, own, LossOptions(0.3))[1] for own in batch]
    assert batch[0].size == 1
    ablator = Ablator(model, ["loss", "distribution", "tokens"])
    arms = [Arm("zero", ((0, 0),))]
    effects = measured(ablator, batch, targets=targets, arms=arms)
    assert np.isnan(effects.values["loss"]).tolist() == [[True, False]]
    assert np.isnan(effects.values["distribution"]).tolist() == [[True, False]]
    assert np.isnan(effects.clean).tolist() == [True, False]
    assert not np.isnan(effects.values["tokens"]).any()
    assert np.isnan(ablator.screen(batch, UNITS[:2], targets, "zero")).all((1, 2)).tolist() == [True, False]


def test_no_arms_give_no_rows(headed: Any) -> None:
    model = open_loss(headed("bert", "SequenceClassification"))
    batch = inputs_of(model)
    effects = measured(Ablator(model, ["loss"]), batch, targets=[LossTarget()] * len(batch), arms=[])
    assert effects.values["loss"].shape == (0, len(batch))
    assert effects.clean.shape == (len(batch),)
    assert effects.norm.shape == (len(batch), 2, 4)


def test_damage_to_the_loss_of_classes_follows_the_label(headed: Any) -> None:
    model = open_loss(headed("bert", "SequenceClassification"))
    batch = inputs_of(model)
    ablator, arms = Ablator(model, ["loss"]), [Arm("zero", ((0, 0),))]
    sides = [measured(ablator, batch, targets=[LossTarget(label=side)] * 4, arms=arms) for side in (0.0, 1.0)]
    own = measured(ablator, batch, targets=[LossTarget()] * 4, arms=arms)
    chosen = np.where(sides[0].clean < sides[1].clean, sides[0].values["loss"], sides[1].values["loss"])
    np.testing.assert_array_equal(own.values["loss"], chosen)
    assert "loss" not in own.by_token
    odds = np.exp(-sides[0].clean) + np.exp(-sides[1].clean)
    np.testing.assert_allclose(odds, 1, atol=1e-12)


def test_models_and_outcomes_that_do_not_fit_are_refused_in_a_sentence(model_of: Any, headed: Any) -> None:
    with pytest.raises(BadInput, match="call transformers' attention interface, but MPNetModel does not"):
        Ablator(open_model(model_of("mpnet")), ["tokens"])
    crossing = load(find_checkpoint(str(model_of("t5")), None), device="cpu", dtype="float32", max_length=64,
                    kind="cross")  # fmt: skip
    with pytest.raises(BadInput, match="--kind is cross; give --kind encoder or --kind decoder"):
        Ablator(crossing, ["tokens"])
    bert = open_model(model_of("bert"))
    with pytest.raises(BadInput, match="--outcome loss needs a model with a head that has a loss"):
        Ablator(bert, ["loss"])
    number = open_loss(headed("bert", "SequenceClassification", num_labels=1))
    with pytest.raises(
        BadInput, match="several classes or words, but BertForSequenceClassification puts out one"
    ):
        Ablator(number, ["distribution"])
    batch = inputs_of(bert)
    with pytest.raises(BadInput, match="none were given"):
        measured(Ablator(bert, ["tokens"]), batch, arms=[Arm("mean", ((0, 0),))])
    with pytest.raises(BadInput, match="none were given"):
        measured(Ablator(bert, ["tokens"]), batch, arms=[Arm("resample", ((0, 0),))])
    with pytest.raises(BadInput, match="of at least two, but got 1"):
        Ablator(bert, ["tokens"], References(batch, ["one"] * 4))
    with pytest.raises(BadInput, match="loaded without a head"):
        Ablator(bert, ["tokens"]).screen(batch, UNITS, [LossTarget()] * 4)


def test_a_model_of_next_words_that_sees_them_is_refused(
    headed: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = open_loss(headed("gpt2", "CausalLM"))
    batch = inputs_of(model)
    targets = [prepare_target(model, own, LossOptions(0.3))[1] for own in batch]
    ablator = Ablator(model, ["loss"])
    measured(ablator, batch, targets=targets, arms=[CLEAN])
    monkeypatch.setattr(Attended, "visible", lambda self, row: torch.ones(self.weights.shape[2:]) > 0)
    with pytest.raises(BadInput, match="a loss of next words needs a model that cannot see them"):
        measured(ablator, batch, targets=targets, arms=[CLEAN])


def test_layers_are_found_in_lists_that_hold_one_attention_each() -> None:
    from transformers import BertModel

    size: Any = {"hidden_size": 8, "num_hidden_layers": 3, "num_attention_heads": 2, "intermediate_size": 8}
    model: Any = BertModel(BertConfig(**size, vocab_size=9))
    attention = [layer.attention.self for layer in model.encoder.layer]
    assert prefix.find_blocks(model, attention) == list(model.encoder.layer)
    assert prefix.find_blocks(model, attention[:2]) == []
    assert prefix.find_blocks(model, [attention[0]] * 3) == []
    assert prefix.find_blocks(model, attention[::-1]) == []


@pytest.mark.parametrize("name", [name for name, own in TABLE.items() if own.path != RETURNED])
def test_heads_of_every_architecture_of_the_interface_can_be_taken_out(model_of: Any, name: str) -> None:
    model = open_model(model_of(name))
    batch = inputs_of(model)
    arms = [
        CLEAN,
        *(Arm(by, ((layer, 1),)) for layer in range(model.layers) for by in ("zero", "even", "mean")),
    ]
    ablator = Ablator(model, ["tokens"], References(batch, UNITS))
    effects = measured(ablator, batch, arms=arms)
    assert (effects.values["tokens"][0] == 0).all()
    assert (effects.values["tokens"][1:] > 1e-9).all()
    assert (ablator.described["passes"] == "all layers") == (name == "albert")
    assert ablator.described["norms"] == "of the part of the layer's output"
