"""Heads that are taken out: damage is that of the plain model changed by hand; what is planted is found."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from math import comb
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import headroles
from headroles import Labelling
from headroles.extraction import (
    Ablator,
    Arm,
    Folds,
    LossOptions,
    LossTarget,
    References,
    Tokenised,
    donor_places,
    draw_donors,
    mean_outputs,
    prepare_target,
    remove_cells,
    remove_matched,
    token_classes,
    tokenise,
)
from headroles.records import VERDICTS, Passage
from tests.support import table as rows_of
from tests.support.causal import induction as built
from tests.support.causal.plain import (
    UNITS,
    Change,
    apart,
    cases,
    inputs_of,
    open_loss,
    plain_attention,
    plain_outputs,
    plain_run,
    tensors_of,
    unchanged,
    with_targets,
)
from tests.support.read_models import opened

ModelOf = Callable[[str], Path]
CLEAN = Arm("zero", ())
HEADS = ((0, 1), (1, 3), (1, 0))
LEAST_MATCH, FEWEST = 0.5, 10
"""Least share of a role's attention that other cells have to match it, and fewest tokens of a class."""


def places_of(model: Any) -> list[tuple[int, int]]:
    """Layer and number of every head."""
    return [(layer, head) for layer in range(model.layers) for head in range(model.heads)]


# Removing attention.


def without_cells(weights: np.ndarray, cells: np.ndarray, visible: np.ndarray) -> np.ndarray:
    """Weights without a role's cells, row by row."""
    new = weights.copy()
    for i, row in enumerate(weights):
        if (cells[i] & visible[i]).any():
            kept = np.where(cells[i] & visible[i], 0.0, row)
            if kept.sum() <= 1e-6 * row.sum():
                kept = (visible[i] & ~cells[i]).astype(float)
            new[i] = kept * row.sum() / max(kept.sum(), 1e-300)
    return new


def without_matched(weights: np.ndarray, cells: np.ndarray, visible: np.ndarray) -> tuple[np.ndarray, float]:
    """Weights without as much attention on other cells at the same offsets, cell by cell, and the share."""
    new, taken, total = weights.copy(), 0.0, 0.0
    size = len(weights)
    for offset in range(1 - size, size):
        rows = range(max(0, -offset), min(size, size - offset))
        places = [(i, i + offset) for i in rows if visible[i, i + offset]]
        role = sum(weights[place] for place in places if cells[place])
        other = sum(weights[place] for place in places if not cells[place])
        total += role
        if other > 0:
            share = min(1.0, role / other)
            taken += share * other
            for place in places:
                new[place] *= 1.0 if cells[place] else 1 - share
    for i, row in enumerate(weights):
        if new[i].sum() <= 1e-6 * row.sum():
            new[i] = visible[i] & ~cells[i]
        new[i] *= row.sum() / max(new[i].sum(), 1e-300)
    return new, taken / total if total else 1.0


@given(st.integers(2, 7), st.booleans(), st.floats(0, 1), st.integers(0, 10**6))
def test_removals_are_loops_over_cells(size: int, causal: bool, share: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    visible = np.tri(size, dtype=bool) if causal else np.ones((size, size), dtype=bool)
    weights = np.where(visible, rng.dirichlet(np.ones(size), size), 0.0)
    weights /= weights.sum(1, keepdims=True)
    cells = rng.random((size, size)) < share
    arrays = [torch.from_numpy(array) for array in (weights, cells, visible)]
    new, changed = remove_cells(*arrays)
    np.testing.assert_allclose(new, without_cells(weights, cells, visible), atol=1e-12)
    assert changed.tolist() == (cells & visible).any(1).tolist()
    new, changed, matched = remove_matched(*arrays)
    wanted, share = without_matched(weights, cells, visible)
    np.testing.assert_allclose(new, wanted, atol=1e-9)
    assert matched == pytest.approx(share, abs=1e-12)
    assert changed.numpy()[np.abs(wanted - weights).max(1) > 1e-9].all()


# Every intervention is a change of the plain model by hand.


def made_cells(tokenised: Tokenised, seed: int) -> np.ndarray:
    """A made-up role of an input: some cells, all of them in one row, and none in another."""
    cells: np.ndarray = np.random.default_rng(seed).random((tokenised.size, tokenised.size)) < 0.2
    cells[1], cells[2] = True, False
    return cells


class ByHand:
    """What interventions on one input of a batch put in the place of outputs, from the plain model."""

    def __init__(self, model: Any, name: str, kind: str | None, references: References) -> None:
        """Take the model, and the inputs that means and draws are from."""
        self.model, self.name, self.kind, self.references = model, name, kind, references
        self.outputs = [plain_outputs(model, given, name, kind) for given in references.inputs]

    def changes(self, arm: Arm, ablator: Ablator, place: int) -> Iterator[Change]:
        """Yield the changes of an arm, whose damages are averaged; none where there is nothing to match."""
        tokenised, unit = self.references.inputs[place], self.references.units[place]
        if arm.by == "zero":
            yield self._put(arm, lambda layer, head: 0.0)
        elif arm.by == "mean":
            classes, means = token_classes(tokenised), ablator.means()
            yield self._put(arm, lambda layer, head: means.of(unit, classes, layer)[:, head])
        elif arm.by == "resample":
            drawn = draw_donors(self.references, tokenised.passage.key, unit, draws=2, seed=3)
            assert place not in drawn
            for donor in drawn.tolist():
                theirs = token_classes(self.references.inputs[donor])
                index = donor_places(token_classes(tokenised), theirs)
                yield self._put(arm, self._drawn(donor, index))
        else:
            yield from self._reweighed(arm, place)

    def _drawn(self, donor: int, places: np.ndarray) -> Callable[[int, int], Any]:
        return lambda layer, head: self.outputs[donor][layer][places, head]

    def _reweighed(self, arm: Arm, place: int) -> Iterator[Change]:
        weights, values = plain_attention(self.model, self.references.inputs[place], self.name, self.kind)
        ((layer, head),) = arm.heads
        own, share = weights[layer][head], 1.0
        seen = own > 0
        if arm.by == "even":
            own = seen / seen.sum(1, keepdims=True)
        elif arm.by == "cells":
            own = without_cells(own, arm.cells[place], seen)
        else:
            own, share = without_matched(own, arm.cells[place], seen)
        output = (torch.from_numpy(own) @ values[layer][head].double()).float()
        if share >= LEAST_MATCH:
            yield self._put(arm, lambda layer, head: output)

    def _put(self, arm: Arm, new: Callable[[int, int], Any]) -> Change:
        def change(layer: int, own: torch.Tensor) -> None:
            for own_layer, head in arm.heads:
                if own_layer == layer:
                    own[:, head] = new(layer, head)

        return change

    def run(self, place: int, change: Change = unchanged) -> torch.Tensor:
        """The output of the plain model on an input."""
        return plain_run(self.model, self.references.inputs[place], self.name, change, self.kind)


@pytest.mark.parametrize(
    ("name", "kind"),
    cases("bert: llama: t5:decoder", "gpt2: gemma2: roberta: distilbert: t5:encoder bart:decoder"),
)
def test_every_intervention_is_what_a_hook_on_the_plain_model_gives(
    name: str, kind: str, model_of: ModelOf
) -> None:
    model = opened(model_of(name), kind=kind or None)
    batch = inputs_of(model)
    references = References(batch, UNITS)
    cells = [made_cells(given, place) for place, given in enumerate(batch)]
    whole = [Arm(by, (head,)) for by in ("zero", "mean", "even", "resample") for head in HEADS]
    removed = [Arm(by, (head,), cells) for by in ("cells", "cells:matched") for head in HEADS]
    arms = [*whole, *removed, Arm("mean", HEADS), Arm("zero", HEADS)]
    ablator = Ablator(model, ["tokens", "representation"], references, seed=3, draws=2)
    assert ablator.described["passes"] == "from the layer of the intervention on"
    effects = ablator.measure(batch, UNITS, None, arms)
    hand = ByHand(model, name, kind or None, references)
    unmatched = 0
    for place, number in np.ndindex(len(batch), len(arms)):
        clean = hand.run(place)
        outputs = [hand.run(place, change) for change in hand.changes(arms[number], ablator, place)]
        by_token = effects.by_token["tokens"][place][number]
        mean = effects.values["representation"][number, place]
        assert effects.values["tokens"][number, place] == pytest.approx(by_token.mean(), nan_ok=True)
        if not outputs:
            unmatched += 1
            assert np.isnan(by_token).all()
            assert np.isnan(mean)
            continue
        wanted = np.mean([apart(output, clean) for output in outputs], axis=0)
        np.testing.assert_allclose(by_token, wanted, atol=3e-6, err_msg=str(arms[number].by))
        whole_input = np.mean([apart(output.mean(0), clean.mean(0)) for output in outputs])
        assert mean == pytest.approx(whole_input, abs=3e-6)
        assert by_token.max() > 1e-6
    assert unmatched < len(batch) * len(HEADS)


@pytest.mark.parametrize(
    ("name", "head"),
    cases(
        "bert:MaskedLM llama:CausalLM bert:SequenceClassification",
        "gpt2:SequenceClassification roberta:MaskedLM distilbert:MaskedLM gpt2:CausalLM gemma2:CausalLM "
        "llama:SequenceClassification",
    ),
)
def test_damage_to_loss_and_distribution_is_that_of_the_plain_models_logits(
    name: str, head: str, headed: Any
) -> None:
    model = open_loss(headed(name, head))
    batch, targets = with_targets(model)
    references = References(batch, UNITS)
    arms = [*(Arm(by, (each,)) for by in ("zero", "mean") for each in HEADS), Arm("mean", HEADS), CLEAN]
    ablator = Ablator(model, ["loss", "distribution", "representation"], references)
    effects = ablator.measure(batch, UNITS, targets, arms)
    hand, classes = ByHand(model, name, None, references), head == "SequenceClassification"
    for place, target in enumerate(targets):
        clean = hand.run(place).double()
        places = torch.from_numpy(target.places)
        words = clean.argmax()[None] if classes else torch.from_numpy(target.words)
        rows = clean[None] if classes else clean[places]
        loss = torch.nn.functional.cross_entropy(rows, words, reduction="none")
        assert effects.clean[place] == pytest.approx(float(loss.mean()), abs=1e-5)
        if not classes:
            np.testing.assert_allclose(effects.clean_tokens[place][target.places], loss, atol=1e-5)
            assert np.isnan(np.delete(effects.clean_tokens[place], target.places)).all()
        for number, arm in enumerate(arms):
            (change,) = hand.changes(arm, ablator, place)
            changed = hand.run(place, change).double()
            changed = changed[None] if classes else changed[places]
            risen = torch.nn.functional.cross_entropy(changed, words, reduction="none") - loss
            moved = (changed.softmax(-1) - rows.softmax(-1)).abs().sum(-1) / 2
            for outcome, wanted in (("loss", risen), ("distribution", moved)):
                damage = effects.values[outcome][number, place]
                assert damage == pytest.approx(float(wanted.mean()), abs=2e-5)
                assert arm.heads or damage == 0
                if not classes:
                    by_token = effects.by_token[outcome][place][number]
                    np.testing.assert_allclose(by_token[places], wanted, atol=2e-5)
                    assert np.isnan(np.delete(by_token, places)).all()
            assert (effects.values["representation"][number, place] > 0) == bool(arm.heads)
    assert ("loss" in effects.by_token) != classes


@pytest.mark.parametrize(
    ("name", "head"),
    cases(
        "albert:MaskedLM bert:PreTraining gemma3:CausalLM cohere2:CausalLM",
        "modernbert:MaskedLM electra:MaskedLM xlm-roberta:MaskedLM mistral:CausalLM gpt-neox:CausalLM "
        "opt:CausalLM granite:CausalLM phi:CausalLM",
    ),
)
def test_logits_at_the_target_alone_give_the_loss_of_the_whole_output(
    name: str, head: str, headed: Any
) -> None:
    model = open_loss(headed(name, head))
    batch, targets = with_targets(model)
    effects = Ablator(model, ["loss", "tokens"]).measure(batch, UNITS, targets, [CLEAN])
    model.network.set_attn_implementation("eager")
    for place, (given_input, target) in enumerate(zip(batch, targets, strict=True)):
        with torch.inference_mode():
            logits = model.network(**tensors_of(given_input))[0][0, target.places].double()
        wanted = torch.nn.functional.cross_entropy(logits, torch.from_numpy(target.words))
        assert effects.clean[place] == pytest.approx(float(wanted), abs=1e-5)


@pytest.mark.parametrize(
    ("name", "dtype"),
    rows_of("""
        bert       | float16
        llama      | bfloat16
        gpt2       | float32
        modernbert | bfloat16
        gpt-oss    | float16
        albert     | bfloat16
        distilbert | float32
    """),
)
def test_arms_that_change_nothing_change_exactly_nothing(name: str, dtype: str, model_of: ModelOf) -> None:
    model = opened(model_of(name), dtype=dtype)
    batch = inputs_of(model)
    none = [np.zeros((given.size, given.size), dtype=bool) for given in batch]
    still = [CLEAN, Arm("mean", ()), Arm("even", ())]
    if name != "gpt-oss":  # parts of its rows go to sinks
        still += [Arm(by, ((1, 2),), none) for by in ("cells", "cells:matched")]
    arms = [*still, *(Arm(by, (head,)) for by in ("zero", "mean", "resample") for head in HEADS)]
    ablator = Ablator(model, ["representation", "tokens"], References(batch, UNITS))
    effects = ablator.measure(batch, UNITS, None, arms)
    for values in (effects.values["representation"], effects.values["tokens"]):
        assert (values[: len(still)] == 0).all()
        assert (values[len(still) :] > 0).all()
    assert all((own[: len(still)] == 0).all() for own in effects.by_token["tokens"])


@pytest.mark.parametrize("dtype", ["float32", pytest.param("bfloat16", marks=pytest.mark.ci)])
def test_batches_and_threads_change_no_bit(dtype: str, headed: Any) -> None:
    model = open_loss(headed("llama", "CausalLM"), dtype)
    batch, targets = with_targets(model)
    references = References(batch, UNITS)
    ablator = Ablator(model, ["loss", "distribution", "tokens"], references)
    arms = [Arm(by, (head,)) for by in ("zero", "mean", "resample", "even") for head in HEADS] + [CLEAN]
    together = ablator.measure(batch, UNITS, targets, arms)
    alone = [
        ablator.measure(batch[k : k + 1], UNITS[k : k + 1], targets[k : k + 1], arms)
        for k in range(len(batch))
    ]
    threads = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        again = ablator.measure(batch, UNITS, targets, arms)
        assert Ablator(model, ["tokens"], references).described == ablator.described
        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(threads)
    for outcome, values in together.values.items():
        assert (values[-1] == 0).all()
        assert values.tobytes() == again.values[outcome].tobytes()
        assert values.tobytes() == np.concatenate([each.values[outcome] for each in alone], axis=1).tobytes()
        for place, own in enumerate(together.by_token[outcome]):
            assert own.tobytes() == again.by_token[outcome][place].tobytes()
    assert together.norm.tobytes() == again.norm.tobytes()
    assert together.clean.tobytes() == np.concatenate([each.clean for each in alone]).tobytes()


def test_norms_are_those_of_the_parts_of_a_layers_output(model_of: ModelOf) -> None:
    model = opened(model_of("llama"))
    batch = inputs_of(model)
    effects = Ablator(model, ["tokens"]).measure(batch, UNITS, None, [])
    assert effects.values["tokens"].shape == (0, len(batch))
    for place, given_input in enumerate(batch):
        outputs = plain_outputs(model, given_input, "llama")
        for layer, block in enumerate(model.network.layers):
            weight = block.self_attn.o_proj.weight.detach().T.reshape(model.heads, -1, 32)
            parts = torch.einsum("thd,hdD->thD", outputs[layer].clone(), weight)
            np.testing.assert_allclose(effects.norm[place, layer], parts.norm(dim=-1).mean(0), rtol=1e-4)


# How passes are made.


def test_layers_are_computed_from_the_intervention_on_and_all_before_it_for_one_row(
    model_of: ModelOf,
) -> None:
    model, rows = opened(model_of("llama")), dict[str, list[int]]()
    ablator, batch = Ablator(model, ["tokens"]), inputs_of(model)[:1]
    for layer, block in enumerate(model.network.layers):
        seen = rows.setdefault(f"mlp {layer}", [])
        block.mlp.register_forward_hook(lambda module, given, output, seen=seen: seen.append(len(output)))
    ablator.measure(batch, UNITS[:1], None, [Arm("zero", ((1, head),)) for head in range(4)])
    assert rows == {"mlp 0": [1], "mlp 1": [1, 4], "mlp 2": [1, 4]}


@pytest.mark.parametrize("by", ["zero", "even"])
def test_a_network_that_writes_into_its_queries_gives_the_same(model_of: ModelOf, by: str) -> None:
    model = opened(model_of("llama"))
    batch, arms = inputs_of(model), [Arm(by, ((1, head),)) for head in range(4)]
    wanted = Ablator(model, ["tokens"]).measure(batch, UNITS, None, arms)
    for block in model.network.layers:
        block.self_attn.q_proj.register_forward_hook(lambda module, given, output: output.mul_(1.0))
    ablator = Ablator(model, ["tokens"])
    assert ablator.described["passes"] == "from the layer of the intervention on"
    effects = ablator.measure(batch, UNITS, None, arms)
    np.testing.assert_allclose(effects.values["tokens"], wanted.values["tokens"], atol=1e-6)


def test_a_row_that_changes_nothing_changes_nothing_where_sums_depend_on_the_number_of_rows(
    model_of: ModelOf,
) -> None:
    model, passes = opened(model_of("bert")), list[int]()
    batch = inputs_of(model)[:1]
    ablator = Ablator(model, ["representation", "tokens"])

    def rounded(module: Any, given: Any, output: Any) -> Any:
        passes.append(len(output))
        return output + 1e-4 * (len(output) - 1) * output.roll(1, -1)

    model.network.encoder.layer[1].output.dense.register_forward_hook(rounded)
    arms = [CLEAN, Arm("zero", ((0, 0),)), Arm("even", ()), Arm("zero", ((1, 0),)), Arm("zero", ((1, 1),))]
    effects = ablator.measure(batch, UNITS[:1], None, arms)
    assert passes == [1, 3, 1, 2]
    still = [True, False, True, False, False]
    assert (effects.values["representation"][:, 0] == 0).tolist() == still
    assert (effects.by_token["tokens"][0] == 0).all(1).tolist() == still


def test_passes_that_do_not_fit_are_halved(model_of: ModelOf) -> None:
    model, tried = opened(model_of("bert")), list[int]()
    batch, arms = inputs_of(model), [Arm("zero", ((0, head),)) for head in range(4)]
    ablator = Ablator(model, ["tokens"])
    whole = ablator.measure(batch, UNITS, None, arms)

    def small(module: Any, given: Any) -> None:
        tried.append(len(given[0]))
        if len(given[0]) > 2:
            raise RuntimeError("DefaultCPUAllocator: can't allocate memory")

    model.network.encoder.layer[1].output.dense.register_forward_pre_hook(small)
    halved = ablator.measure(batch, UNITS, None, arms)
    assert {4, 2} <= {*tried}
    np.testing.assert_allclose(halved.values["tokens"], whole.values["tokens"], atol=1e-6)


# Damage to first order, and inputs without a loss.


@pytest.mark.parametrize(
    ("name", "head"), cases("bert:MaskedLM bert:SequenceClassification", "llama:CausalLM")
)
def test_the_screen_is_the_derivative_of_the_exact_damage(headed: Any, name: str, head: str) -> None:
    model = open_loss(headed(name, head))
    with torch.no_grad():  # to take out a head whose values are tiny is a small step
        for path, weights in model.network.named_parameters():
            if "v_proj" in path or "self.value" in path:
                weights.mul_(1e-3)
    batch, targets = with_targets(model)
    ablator = Ablator(model, ["loss"], References(batch, UNITS))
    every = places_of(model)
    for by in ("zero", "mean"):
        exact = ablator.measure(batch, UNITS, targets, [Arm(by, (place,)) for place in every]).values["loss"]
        screen = ablator.screen(batch, UNITS, targets, by)
        assert screen.shape == (len(batch), model.layers, model.heads)
        scale = np.abs(exact).max()
        assert scale > 1e-5
        np.testing.assert_allclose(screen.reshape(len(batch), -1).T, exact, atol=0.03 * scale)
    np.testing.assert_array_equal(ablator.screen(batch, UNITS, targets), screen)
    assert not any(weights.requires_grad for weights in model.network.parameters())


def test_an_input_without_a_next_word_has_no_damage_to_its_loss(headed: Any) -> None:
    model = open_loss(headed("gpt2", "CausalLM"))
    batch, targets = with_targets(model, ["a", "The heads of a model look at words."])
    assert batch[0].size == 1
    ablator = Ablator(model, ["loss", "distribution", "tokens"])
    effects = ablator.measure(batch, UNITS[:2], targets, [Arm("zero", ((0, 0),))])
    assert np.isnan(effects.values["loss"]).tolist() == [[True, False]]
    assert np.isnan(effects.values["distribution"]).tolist() == [[True, False]]
    assert np.isnan(effects.clean).tolist() == [True, False]
    assert not np.isnan(effects.values["tokens"]).any()
    assert np.isnan(ablator.screen(batch, UNITS[:2], targets, "zero")).all((1, 2)).tolist() == [True, False]


def test_damage_to_the_loss_of_classes_follows_the_label_or_else_the_models_own_answer(headed: Any) -> None:
    model = open_loss(headed("bert", "SequenceClassification"))
    batch, arms = inputs_of(model), [Arm("zero", ((0, 0),))]
    zero, one, own = (
        Ablator(model, ["loss"]).measure(batch, UNITS, [LossTarget(label=side)] * len(batch), arms)
        for side in (0.0, 1.0, LossTarget().label)
    )
    np.testing.assert_allclose(np.exp(-zero.clean) + np.exp(-one.clean), 1, atol=1e-12)
    chosen = np.where(zero.clean < one.clean, zero.values["loss"], one.values["loss"])
    np.testing.assert_array_equal(own.values["loss"], chosen)


# References.


def made_input(key: str, texts: list[int]) -> Tokenised:
    """An input whose tokens belong to these texts; −1 for special ones."""
    count = len(texts)
    return Tokenised(
        Passage(key, ("x",)), {"input_ids": list(range(count))}, ("x",) * count,
        np.array(texts, dtype=np.int32), np.zeros((count, 2), dtype=np.int64),
        class_id=np.zeros(count, dtype=bool), truncated=False,
    )  # fmt: skip


def random_outputs(tokenised: Tokenised) -> list[torch.Tensor]:
    """Two layers of two heads of size 3, drawn by the input's key."""
    generator = torch.Generator().manual_seed(int(tokenised.passage.key[1:]))
    return [torch.randn(tokenised.size, 2, 3, generator=generator) for _ in range(2)]


@given(st.sets(st.text(min_size=1, max_size=5), min_size=2, max_size=20), st.integers(0, 99))
def test_both_folds_have_half_of_the_units_in_any_order(units: set[str], seed: int) -> None:
    folds = Folds(units, seed)
    sizes = np.bincount([folds.fold(unit) for unit in units], minlength=2)
    assert abs(sizes[0] - sizes[1]) <= 1
    assert [folds.fold(unit) for unit in units] == [Folds(sorted(units), seed).fold(unit) for unit in units]


def test_means_are_those_of_the_other_fold_by_class_of_token() -> None:
    inputs = [made_input(f"k{k}", [-1, *[0] * (4 + k % 3), -1, *[1] * 3, -1]) for k in range(12)]
    inputs[0] = made_input("k0", [-1, -1, -1, 0])
    units = [f"u{k // 2}" for k in range(12)]
    references = References(inputs, units)
    means = mean_outputs(references, 5, random_outputs)
    sizes = set()
    for place, unit in enumerate(units):
        classes = np.array([0, *(2 - (inputs[place].texts[1:] < 0))])
        assert token_classes(inputs[place]).tolist() == classes.tolist()
        others = [k for k in range(12) if means.folds.fold(units[k]) != means.folds.fold(unit)]
        assert {*others}.isdisjoint(k for k in range(12) if units[k] == unit)
        for layer in range(2):
            outputs = torch.cat([random_outputs(inputs[k])[layer] for k in others]).double()
            numbers = np.concatenate([token_classes(inputs[k]) for k in others])
            for token, number in enumerate(classes):
                own = outputs[numbers == number]
                sizes.add((int(number), len(own) >= FEWEST))
                wanted = (own if len(own) >= FEWEST else outputs).mean(0)
                torch.testing.assert_close(means.of(unit, classes, layer)[token], wanted, atol=1e-6, rtol=0)
    assert sizes == {(0, False), (1, True), (2, True)}
    assert means.digest == mean_outputs(references, 5, random_outputs).digest
    with ThreadPoolExecutor(3) as executor:
        assert means.digest == mean_outputs(references, 5, random_outputs, executor.map).digest
    assert means.digest != mean_outputs(references, 6, random_outputs).digest


@pytest.mark.parametrize("tokens", [FEWEST - 1, FEWEST])
def test_ten_tokens_of_a_class_have_a_mean_of_their_own(tokens: int) -> None:
    inputs = [made_input(f"k{k}", [-1] * (1 + tokens) + [0] * 3) for k in range(2)]
    means = mean_outputs(References(inputs, ["a", "b"]), 0, random_outputs)
    outputs = random_outputs(inputs[1])[0].double()
    wanted = (outputs[1 : 1 + tokens] if tokens == FEWEST else outputs).mean(0)
    torch.testing.assert_close(means.of("a", np.array([1]), 0)[0], wanted)


@given(st.integers(2, 12), st.integers(1, 6), st.integers(0, 99))
def test_donors_are_of_other_units_and_depend_on_the_key(count: int, draws: int, seed: int) -> None:
    units = [f"u{k % 3}" for k in range(count)]
    references = References([made_input(f"k{k}", [0, 0]) for k in range(count)], units)
    donors = draw_donors(references, "k1", "u1", draws=draws, seed=seed)
    assert len(donors) == draws
    assert "u1" not in {units[donor] for donor in donors}
    assert len({*donors.tolist()}) == draws or draws > sum(unit != "u1" for unit in units)
    assert draw_donors(references, "k1", "u1", draws=draws, seed=seed).tolist() == donors.tolist()
    many = [draw_donors(references, f"k{k}", "u1", draws=6, seed=seed).tolist() for k in range(8)]
    assert count < 4 or len({*map(tuple, many)}) > 1


classes_of_tokens = st.lists(st.integers(0, 2), min_size=1, max_size=9)


@given(classes_of_tokens, classes_of_tokens)
def test_donated_tokens_have_the_class_and_the_nearest_place(own: list[int], theirs: list[int]) -> None:
    places = donor_places(np.array(own), np.array(theirs))
    for i, (number, place) in enumerate(zip(own, places, strict=True)):
        allowed = [j for j, other in enumerate(theirs) if other == number] or list(range(len(theirs)))
        far = [abs(i / max(len(own) - 1, 1) - j / max(len(theirs) - 1, 1)) for j in range(len(theirs))]
        assert place in allowed
        assert far[place] == pytest.approx(min(far[j] for j in allowed))
    assert donor_places(np.array(own), np.array(own)).tolist() == list(range(len(own)))


# Whole runs: sites, cells and sets on random heads.

CROWD = {"num_attention_heads": 8}
AGAIN = """
import numpy as np
from headroles import sieve

@sieve("again", source="made up")
def again(example):
    "Looks at the same token before."
    tokens = np.array(example.tokens)
    return np.tri(example.size, k=-1, dtype=bool) & (tokens[:, None] == tokens[None])
"""
VOCABULARY = ("the", "committee", "decide", "about", "unbelievable", "treaty", "it", "signed", "debate")


def crowd_texts() -> list[str]:
    """Random texts, whose words have one piece or several, some of them again and again."""
    rng = np.random.default_rng(2)
    return [" ".join(rng.choice(VOCABULARY, 12)) for _ in range(60)]


@pytest.fixture(scope="module")
def crowd(headed: Any, tmp_path_factory: pytest.TempPathFactory) -> Labelling:
    """A run on a random model of 2 × 8 heads, which hold roles by chance, as labels ask for little."""
    folder = tmp_path_factory.mktemp("crowd")
    (folder / "again.py").write_text(AGAIN, encoding="utf-8")
    how: dict[str, Any] = {
        "data": crowd_texts(),
        "model": headed("bert", "MaskedLM", **CROWD),
        "max_length": 64,
    }
    sieves = [f"{folder / 'again.py'}:again", "previous"]
    asked: dict[str, Any] = {"margin": 0.0, "alpha": 0.8, "correction": "none"}
    headroles.label(**how, **asked, sieve=sieves, maps=0, out=folder / "labels")
    return headroles.ablate(
        **how, roles=folder / "labels", by=("zero", "cells"), groups=True, outcome=("loss", "tokens"),
        mask=0.6, seed=4,
    )  # fmt: skip


def part_of(run: Labelling) -> Any:
    """What a run that takes heads out found."""
    assert run.ablated is not None
    return run.ablated


def column(run: Labelling, name: str) -> np.ndarray:
    """The values of a column by example, layer and head."""
    values: np.ndarray = run.scores.values[run.scores.sieves.index(name)]
    return values


def place_of(key: str) -> int:
    """The place of an example among the given texts."""
    return int(key.rpartition("/")[2])


def at_sites(damage: np.ndarray, sites: np.ndarray, order: np.ndarray, opens: np.ndarray) -> float:
    """Mean damage at sites less that at other tokens of the stratum, or of the nearest one, token by token.

    Strata are up to five groups of at least five tokens in an order, times whether a token opens a word. The
    nearest has the same group, or else the fewest groups between, the same kind of piece, the higher group.
    """
    counted = sorted(np.flatnonzero(~np.isnan(order)).tolist(), key=lambda place: order[place])
    groups = min(5, max(1, len(counted) // 5))
    strata = {place: (k * groups // len(counted), bool(opens[place])) for k, place in enumerate(counted)}
    others: dict[tuple[int, bool], list[float]] = {}
    for place, stratum in strata.items():
        if not sites[place]:
            others.setdefault(stratum, []).append(float(damage[place]))
    asked = [place for place in strata if sites[place]]
    if not asked or not others:
        return float("nan")
    differences = []
    for place in asked:
        group, kind = strata[place]
        nearest = min(others, key=lambda own: (abs(own[0] - group), own[1] != kind, -own[0]))
        differences.append(damage[place] - np.mean(others[nearest]))
    return float(np.mean(differences))


@pytest.mark.xdist_group("crowd")
def test_damage_at_sites_and_of_sets_is_that_of_each_input_alone(crowd: Labelling, headed: Any) -> None:
    model = open_loss(headed("bert", "MaskedLM", **CROWD))
    ablator, part = Ablator(model, ["loss", "tokens"]), part_of(crowd)
    alone = [Arm("zero", (head,)) for head in places_of(model)]
    together = [
        Arm("zero", tuple(head for head in places_of(model) if own[head])) for own in part.sets.members
    ]
    asked = part.held.apart(crowd.scores.units, crowd.scores.examples)
    assert {name for name in crowd.scores.sieves if ":sites:" in name} == {
        "loss:sites:again", "tokens:sites:again",  # "previous" applies to every token
    }  # fmt: skip
    for place in np.flatnonzero(asked)[:10]:
        key = crowd.scores.examples[place]
        (plain,) = tokenise(model.tokenizer, [Passage(key, (crowd_texts()[place_of(key)],))], 64)
        read, target = prepare_target(model, plain, LossOptions(0.6, seed=4))
        effects = ablator.measure([read], [key], [target], [*alone, *together])
        tokens = plain.tokens[1:-1]
        sites = np.array([token in tokens[:k] for k, token in enumerate(tokens)])
        opens = np.array([not token.startswith("##") for token in tokens])
        for arm, outcome in enumerate(("loss", "tokens")):
            clean = effects.clean_tokens[0][1:-1]
            order = clean if outcome == "loss" else np.arange(len(tokens), dtype=float)
            damage = effects.by_token[outcome][0][: len(alone), 1:-1]
            wanted = [at_sites(own, sites, order, opens) for own in damage]
            got = column(crowd, f"{outcome}:sites:again")[place].ravel()
            np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-7, err_msg=f"{key} {outcome}")
            sets = effects.values[outcome][len(alone) :, 0]
            np.testing.assert_allclose(part.sets.damage[arm, :, place], sets, rtol=1e-4, atol=1e-7)
    for name in crowd.scores.sieves:
        missing = np.isnan(column(crowd, name)).all(axis=(1, 2))
        assert missing[~asked].all() if ":sites:" in name or ":cells:" in name else not missing.any()
    np.testing.assert_array_equal(np.isnan(part.sets.damage).all(axis=(0, 1)), ~asked)


@pytest.mark.xdist_group("crowd")
def test_cells_are_removed_from_heads_that_hold_the_role_and_from_no_other(crowd: Labelling) -> None:
    held = part_of(crowd).held
    for role in held.roles:
        if held.heads(role).any():
            measured = ~np.isnan(column(crowd, f"loss:cells:{role}")).all(axis=0)
            np.testing.assert_array_equal(measured, held.heads(role))
            cells = crowd.scores.cells[crowd.scores.sieves.index(f"loss:cells:{role}")]
            assert (cells[~np.isnan(cells)] >= 0).all()


@pytest.mark.xdist_group("crowd")
def test_random_sets_are_like_the_heads_of_the_role_and_all_different(crowd: Labelling) -> None:
    sets, held = part_of(crowd).sets, part_of(crowd).held
    norms = column(crowd, "norm").mean(axis=0)
    upper = norms.argsort(axis=1, kind="stable").argsort(axis=1) >= norms.shape[1] // 2
    drawn = 0
    for role in {*sets.roles}:
        own = held.heads(role)
        mine = np.array([name == role for name in sets.roles])
        members = sets.members[mine]
        sizes = [
            (int((half & own)[layer].sum()), int(half[layer].sum()))
            for half in (upper, ~upper)
            for layer in (0, 1)
        ]
        possible = np.prod([comb(all_heads, some) for some, all_heads in sizes], dtype=object)
        assert len(members) == 1 + min(99, possible - 1)
        drawn += possible > 100
        assert sets.number[mine].tolist() == list(range(len(members)))
        np.testing.assert_array_equal(members[0], own)
        assert len({each.tobytes() for each in members}) == len(members)
        for half in (upper, ~upper):
            assert ((members & half).sum(axis=2) == (own & half).sum(axis=1)).all()
    assert drawn


# Whole runs: heads that are written by hand.

ALL = [(layer, head) for layer in range(built.LAYERS) for head in range(built.HEADS)]
INPUTS = 80
Made = Callable[[bool], Labelling]


def varied_texts(count: int) -> list[str]:
    """Texts of four blocks of words, some of which occur again in another order, so at many distances."""
    rng, texts = np.random.default_rng(3), []
    for _ in range(count):
        blocks = rng.choice(built.WORDS, 12, replace=False).reshape(4, 3).tolist()
        again = [blocks[k] for k in rng.permutation(4)[: rng.integers(2, 5)]]
        texts.append(" ".join(word for block in (*blocks, *again) for word in block))
    return texts


REPEATED = built.repeated_texts(INPUTS, 5)


@pytest.fixture(scope="module")
def copying(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """A run on the model that copies, or on the one with two induction heads, made once."""

    @cache
    def made(redundant: bool) -> Labelling:
        folder = tmp_path_factory.mktemp("copying")
        model = built.save_induction(folder / "model", redundant=redundant)
        how: dict[str, Any] = {"model": model, "max_length": 48, "text_a": "text"}
        for name, texts in (("varied", varied_texts(INPUTS)), ("repeated", REPEATED)):
            (folder / f"{name}.tsv").write_text("\n".join(["text", *texts, ""]), encoding="utf-8")
        sieves, out = ("induction", "first"), folder / "labels"
        headroles.label(data=folder / "varied.tsv", sieve=sieves, maps=0, out=out, **how)
        by = ("zero",) if redundant else ("zero", "cells", "cells:matched")
        return headroles.ablate(data=folder / "repeated.tsv", roles=out, by=by, groups=redundant, **how)

    return made


def verdicts(run: Labelling) -> dict[tuple[int, ...], str]:
    """What is said of each head."""
    return {head: VERDICTS[code] for head, code in np.ndenumerate(part_of(run).damage.verdict[0])}


@pytest.mark.xdist_group("copying")
@pytest.mark.parametrize("redundant", [False, True])
def test_damage_of_every_head_is_the_exact_one(copying: Made, redundant: bool) -> None:
    run = copying(redundant)
    texts = [REPEATED[place_of(key)] for key in run.scores.examples]
    clean = np.array([built.exact_losses(text, redundant=redundant).mean() for text in texts])
    np.testing.assert_allclose(column(run, "loss:clean")[:, 0, 0], clean, atol=1e-4)
    assert part_of(run).damage.threshold[0] == pytest.approx(0.01 * clean.mean(), rel=1e-4)
    for head in ALL:
        removed = [built.exact_losses(text, removed=(head,), redundant=redundant).mean() for text in texts]
        np.testing.assert_allclose(column(run, "loss:zero")[:, *head], removed - clean, atol=1e-4)


@pytest.mark.xdist_group("copying")
def test_the_induction_head_is_needed_at_its_sites_and_heads_that_do_nothing_are_negligible(
    copying: Made,
) -> None:
    run = copying(False)
    found, needed = verdicts(run), {built.PREVIOUS, built.INDUCTION}
    assert {head for head, verdict in found.items() if verdict == "needed"} == needed
    assert {found[head] for head in ALL if head not in needed} == {"negligible"}
    (site,) = part_of(run).sites
    assert (site.role, site.layer, site.head, site.decision) == (
        "induction",
        *built.INDUCTION,
        "at its sites",
    )
    assert site.controls == 3
    assert site.difference == pytest.approx(site.mean, abs=0.01)
    at = column(run, "loss:sites:induction")
    for head in (built.SECOND, built.BAG, (1, 3)):
        assert abs(np.nanmean(at[:, *head])) < 0.01
    assert np.nanmean(at[:, *built.INDUCTION]) > 1
    cells = {(row.role, row.layer, row.head): row for row in part_of(run).cells}
    assert cells["induction", *built.INDUCTION].cells > 1
    assert cells["first", *built.SINK].cells == 0


@pytest.mark.xdist_group("copying")
def test_the_role_predicts_damage_and_a_quiet_role_none(copying: Made) -> None:
    part = part_of(copying(False))
    rows = {row.role: row for row in part.roles}
    assert (rows["induction"].area, rows["induction"].decision) == (1.0, "more damage")
    assert (rows["induction"].needed, rows["first"].quiet) == (1, 1)
    assert rows["first"].negligible == rows["first"].heads - part.held.heads("first")[built.INDUCTION]


@pytest.mark.xdist_group("copying")
def test_two_heads_that_make_up_for_each_other_are_negligible_alone_and_needed_together(
    copying: Made,
) -> None:
    run = copying(True)
    pair = (built.INDUCTION, built.SECOND)
    assert {verdicts(run)[head] for head in pair} == {"negligible"}
    assert verdicts(run)[built.PREVIOUS] == "needed"
    (group,) = [row for row in part_of(run).groups if row.role == "induction"]
    both, clean = (
        np.mean([built.exact_losses(text, redundant=True, removed=heads).mean() for text in REPEATED])
        for heads in (pair, ())
    )
    assert group.damage == pytest.approx(both - clean, rel=1e-3)
    assert (group.heads, group.sets, group.decision) == (2, 0, "untestable")  # no other two are like them
    assert group.excess == pytest.approx(group.damage, abs=0.01)
    assert group.q_excess < 1e-6


def test_a_screen_takes_out_few_heads_and_leaves_out_the_units_that_chose_them(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder = tmp_path_factory.mktemp("screened")
    how: dict[str, Any] = {"model": built.save_induction(folder / "model"), "max_length": 48}
    texts = varied_texts(60)
    headroles.label(data=texts, sieve="previous", maps=0, out=folder / "labels", **how)
    for roles, screen in ((folder / "labels", 1), (None, 2)):
        run = headroles.ablate(data=texts, roles=roles, screen=screen, references=60, **how)
        chosen = run.manifest["ablation"]["heads"]
        values = column(run, "loss:mean")
        chose = np.isnan(values).all(axis=(1, 2))
        taken = ~np.isnan(values[~chose]).any(axis=0)
        assert len({unit for unit, own in zip(run.scores.units, chose, strict=True) if own}) == 30
        assert (chosen["run"], chosen["of"], chosen["chosen_by"]) == (taken.sum(), 8, 30)
        assert not np.isnan(column(run, "loss:clean")).any()
        assert not np.isnan(column(run, "loss:screen")).any()
        assert (part_of(run).damage.verdict[0][~taken] == 3).all()
        assert taken[built.INDUCTION]
        if roles is None:
            assert taken.sum() == 2
            assert not taken[built.PREVIOUS]  # a part of its output changes nothing to first order
        else:
            held = part_of(run).held
            assert held.heads("previous")[built.PREVIOUS]
            assert not (chose & held.apart(run.scores.units, run.scores.examples)).any()
            assert taken[0].all()  # one head holds the role, and three of its layer are its controls
            assert taken[1].sum() == 1


def test_a_model_without_a_loss_has_damage_of_its_states_between_0_and_1(planted: Path, table: Path) -> None:
    run = headroles.ablate("QNLI", data=table, model=planted, max_length=48, limit=10)
    assert run.scores.sieves == ("representation:mean", "tokens:mean", "norm")
    assert part_of(run).held is None
    for name in run.scores.sieves[:2]:
        assert ((column(run, name) >= 0) & (column(run, name) <= 1)).all()
