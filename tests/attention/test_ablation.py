"""Heads that are taken out: damage is that of the plain model changed by hand; what is planted is found."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import headroles
from headroles import Labelling, extraction
from headroles.records import VERDICTS, Passage
from tests.support.causal import induction as built
from tests.support.causal.plain import (
    UNITS,
    Change,
    cases,
    inputs_of,
    open_loss,
    plain_attention,
    plain_outputs,
    plain_run,
    with_targets,
)
from tests.support.read_models import in_threads, opened

ModelOf = Callable[[str], Path]
HEADS = ((0, 1), (1, 3), (1, 0))
LEAST_MATCH, FEWEST = 0.9, 10
"""Least share of a role's attention that other cells have to match it, and fewest tokens of a class."""


def arms_of(*ways: str, heads: tuple[tuple[int, int], ...] = HEADS, cells: Any = None) -> list[Any]:
    """Every intervention on every head alone."""
    return [extraction.Arm(by, (head,), cells) for by in ways for head in heads]


def clean_arm() -> Any:
    """An intervention that takes no head out."""
    return extraction.Arm("zero", ())


def ablator_of(model: Any, *outcomes: str, **how: Any) -> Any:
    """What takes heads out, whose means and draws are from the inputs of the tests."""
    return extraction.Ablator(model, outcomes, extraction.References(inputs_of(model), UNITS), **how)


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


def without_matched(
    weights: np.ndarray, cells: np.ndarray, visible: np.ndarray, texts: np.ndarray
) -> tuple[np.ndarray, float]:
    """Weights without as much attention on other cells at the same offsets, cell by cell, and the share."""
    new, taken, total = weights.copy(), 0.0, 0.0
    asked, keys = texts | cells[~texts].any(), texts | cells[:, ~texts].any()
    size = len(weights)
    for offset in range(1 - size, size):
        rows = range(max(0, -offset), min(size, size - offset))
        places = [(i, i + offset) for i in rows if visible[i, i + offset]]
        role = sum(weights[place] for place in places if cells[place])
        others = [place for place in places if not cells[place] and asked[place[0]] and keys[place[1]]]
        other = sum(weights[place] for place in others)
        total += role
        taken += min(role, other)
        for place in sorted(others, key=lambda place: -weights[place]):
            lost = min(weights[place], max(role, 0.0))
            new[place], role = weights[place] - lost, role - lost
    for i, row in enumerate(weights):
        if new[i].sum() <= 1e-6 * row.sum():
            new[i] = visible[i] & ~cells[i]
        new[i] *= row.sum() / max(new[i].sum(), 1e-300)
    return new, taken / total if total else 1.0


# Every intervention is a change of the plain model by hand.


class ByHand:
    """The plain model with the outputs of some heads changed, for inputs that are each other's references."""

    def __init__(self, model: Any, name: str, kind: str | None = None) -> None:
        """Take the model."""
        self.model, self.name, self.kind, self.inputs = model, name, kind, inputs_of(model)
        self.outputs = [plain_outputs(model, each, name, kind) for each in self.inputs]

    def changes(self, arm: Any, ablator: Any, place: int) -> Iterator[Change]:
        """Yield the changes of an arm, whose damages are averaged; none where there is nothing to match."""
        own, unit = self.inputs[place], UNITS[place]
        classes = extraction.token_classes(own)
        if arm.by == "zero":
            yield self._put(arm, lambda layer, head: 0.0)
        elif arm.by == "mean":
            means = ablator.means()
            yield self._put(arm, lambda layer, head: means.of(unit, classes, layer)[:, head])
        elif arm.by == "resample":
            references = extraction.References(self.inputs, UNITS)
            drawn = extraction.draw_donors(references, own.passage.key, unit, draws=2, seed=3).tolist()
            assert place not in drawn
            for donor in drawn:
                index = extraction.donor_places(classes, extraction.token_classes(self.inputs[donor]))
                theirs = [layer[index] for layer in self.outputs[donor]]
                yield self._put(arm, lambda layer, head, theirs=theirs: theirs[layer][:, head])
        else:
            yield from self._reweighed(arm, own, place)

    def _reweighed(self, arm: Any, tokenised: Any, place: int) -> Iterator[Change]:
        import torch

        weights, values = plain_attention(self.model, tokenised, self.name, self.kind)
        ((layer, head),) = arm.heads
        own, share = weights[layer][head], 1.0
        seen = own > 0
        if arm.by == "even":
            own = seen / seen.sum(1, keepdims=True)
        elif arm.by == "cells":
            own = without_cells(own, arm.cells[place], seen)
        else:
            own, share = without_matched(own, arm.cells[place], seen, tokenised.texts >= 0)
        output = (torch.from_numpy(own) @ values[layer][head].double()).float()
        if share >= LEAST_MATCH:
            yield self._put(arm, lambda layer, head: output)

    def _put(self, arm: Any, new: Callable[..., Any]) -> Change:
        def change(layer: int, own: Any) -> None:
            for own_layer, head in arm.heads:
                if own_layer == layer:
                    own[:, head] = new(layer, head)

        return change

    def run(self, tokenised: Any, change: Change | None = None) -> Any:
        """The output of the plain model in float64."""
        return plain_run(self.model, tokenised, self.name, change, self.kind).double()


def apart(first: Any, second: Any) -> np.ndarray:
    """1 − cosine by the library, at most 1."""
    import torch

    distance: np.ndarray = (1 - torch.nn.functional.cosine_similarity(first, second, dim=-1)).numpy()
    return distance.clip(max=1)


@pytest.mark.parametrize(
    ("name", "kind"),
    cases("bert: llama: t5:decoder", "gpt2: gemma2: roberta: distilbert: t5:encoder bart:decoder"),
)
def test_every_intervention_is_what_a_hook_on_the_plain_model_gives(
    name: str, kind: str, model_of: ModelOf
) -> None:
    model = opened(model_of(name), kind=kind or None)
    hand = ByHand(model, name, kind or None)
    cells = []
    for place, tokenised in enumerate(hand.inputs):
        own = np.random.default_rng(place).random((tokenised.size, tokenised.size)) < 0.2
        own[1], own[2] = True, False
        cells.append(own)
    together = [extraction.Arm(by, HEADS) for by in ("mean", "zero")]
    arms = [*arms_of("zero", "mean", "even", "resample"), *arms_of("cells", "cells:matched", cells=cells)]
    arms += together
    none = [np.zeros_like(own) for own in cells]
    still = [extraction.Arm("even", ()), *arms_of("cells", "cells:matched", heads=((1, 2),), cells=none)]
    ablator = ablator_of(model, "tokens", "representation", seed=3, draws=2)
    assert ablator.described["passes"] == "from the layer of the intervention on"
    effects = ablator.measure(hand.inputs, UNITS, None, arms + still)
    assert (effects.values["tokens"][len(arms) :] == 0).all()
    assert (effects.values["representation"][len(arms) :] == 0).all()
    unmatched = 0
    for place, number in np.ndindex(len(hand.inputs), len(arms)):
        clean = hand.run(hand.inputs[place])
        changes = hand.changes(arms[number], ablator, place)
        outputs = [hand.run(hand.inputs[place], change) for change in changes]
        by_token = effects.by_token["tokens"][place][number]
        mean = effects.values["representation"][number, place]
        assert effects.values["tokens"][number, place] == pytest.approx(by_token.mean(), nan_ok=True)
        if not outputs:
            unmatched += 1
            assert np.isnan([*by_token, mean]).all()
            continue
        wanted = np.mean([apart(output, clean) for output in outputs], axis=0)
        np.testing.assert_allclose(by_token, wanted, atol=3e-6, err_msg=str(arms[number].by))
        whole = np.mean([apart(output.mean(0), clean.mean(0)) for output in outputs])
        assert mean == pytest.approx(whole, abs=3e-6)
        assert by_token.max() > 1e-6
    assert unmatched < len(hand.inputs) * len(HEADS)


@pytest.mark.parametrize(
    ("name", "head"),
    cases(
        "bert:MaskedLM llama:CausalLM bert:SequenceClassification albert:MaskedLM bert:PreTraining "
        "gemma3:CausalLM",
        "gpt2:SequenceClassification roberta:MaskedLM distilbert:MaskedLM gpt2:CausalLM gemma2:CausalLM "
        "llama:SequenceClassification modernbert:MaskedLM electra:MaskedLM mistral:CausalLM phi:CausalLM "
        "gpt-neox:CausalLM opt:CausalLM granite:CausalLM cohere2:CausalLM",
    ),
)
def test_damage_to_loss_and_distribution_is_that_of_the_plain_models_logits(
    name: str, head: str, headed: Any
) -> None:
    import torch

    model = open_loss(headed(name, head))
    batch, targets = with_targets(model)
    arms = [*arms_of("zero", "mean"), extraction.Arm("mean", HEADS), clean_arm()]
    references = extraction.References(batch, UNITS)
    ablator = extraction.Ablator(model, ["loss", "distribution", "representation"], references)
    effects = ablator.measure(batch, UNITS, targets, arms)
    hand, classes = ByHand(model, name), head == "SequenceClassification"
    for place, (tokenised, target) in enumerate(zip(batch, targets, strict=True)):
        clean = hand.run(tokenised)
        places = [0] if classes else target.places
        words = clean.argmax()[None] if classes else torch.from_numpy(target.words)
        rows = clean[None] if classes else clean[places]
        loss = torch.nn.functional.cross_entropy(rows, words, reduction="none")
        assert effects.clean[place] == pytest.approx(float(loss.mean()), abs=1e-5)
        if not classes:
            np.testing.assert_allclose(effects.clean_tokens[place][places], loss, atol=1e-5)
            assert np.isnan(np.delete(effects.clean_tokens[place], places)).all()
        for number, arm in enumerate(arms):
            (change,) = hand.changes(arm, ablator, place)
            changed = hand.run(tokenised, change)
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


def test_batches_and_threads_change_no_bit_and_norms_are_those_of_the_parts_of_a_layers_output(
    headed: Any,
) -> None:
    import torch

    model = open_loss(headed("llama", "CausalLM"))
    batch, targets = with_targets(model)
    ablator = ablator_of(model, "loss", "distribution", "tokens")
    arms = [*arms_of("zero", "mean", "resample", "even"), clean_arm()]
    together = ablator.measure(batch, UNITS, targets, arms)
    parts = [slice(place, place + 1) for place in range(len(batch))]
    alone = [ablator.measure(batch[own], UNITS[own], targets[own], arms) for own in parts]
    with in_threads(3):
        again = ablator.measure(batch, UNITS, targets, arms)
    for outcome, values in together.values.items():
        assert (values[-1] == 0).all()
        np.testing.assert_array_equal(values, again.values[outcome])
        np.testing.assert_array_equal(values, np.concatenate([each.values[outcome] for each in alone], 1))
        for own, other in zip(together.by_token[outcome], again.by_token[outcome], strict=True):
            np.testing.assert_array_equal(own, other)
    np.testing.assert_array_equal(together.norm, again.norm)
    np.testing.assert_array_equal(together.clean, np.concatenate([each.clean for each in alone]))
    for place, tokenised in enumerate(batch):
        for layer, outputs in enumerate(plain_outputs(model, tokenised, "llama")):
            weight = model.network.model.layers[layer].self_attn.o_proj.weight.detach()
            added = torch.einsum("thd,Dhd->thD", outputs, weight.unflatten(1, (model.heads, -1)))
            wanted = added.float().norm(dim=-1).mean(0)
            np.testing.assert_allclose(together.norm[place, layer], wanted, rtol=1e-4)


# Damage to first order, and inputs without a loss.


@pytest.mark.parametrize(
    ("name", "head"), cases("bert:MaskedLM bert:SequenceClassification", "llama:CausalLM")
)
def test_the_screen_is_the_derivative_of_the_exact_damage(headed: Any, name: str, head: str) -> None:
    import torch

    model = open_loss(headed(name, head))
    with torch.no_grad():  # to take out a head whose values are tiny is a small step
        for path, weights in model.network.named_parameters():
            if "v_proj" in path or "self.value" in path:
                weights.mul_(1e-3)
    batch, targets = with_targets(model)
    ablator = extraction.Ablator(model, ["loss"], extraction.References(batch, UNITS))
    shape = (len(batch), model.layers, model.heads)
    for by in ("zero", "mean"):
        arms = arms_of(by, heads=tuple(np.ndindex(shape[1:])))
        exact = ablator.measure(batch, UNITS, targets, arms).values["loss"].T.reshape(shape)
        screen = ablator.screen(batch, UNITS, targets, by)
        scale = np.abs(exact).max()
        assert scale > 1e-5
        np.testing.assert_allclose(screen, exact, atol=0.03 * scale)
    np.testing.assert_array_equal(ablator.screen(batch, UNITS, targets), screen)
    assert not any(weights.requires_grad for weights in model.network.parameters())


def test_damage_to_a_loss_that_is_not_there_is_none(
    headed: Any,
) -> None:
    model = open_loss(headed("gpt2", "CausalLM"))
    batch, targets = with_targets(model, ["a", "The heads of a model look at words."])
    assert batch[0].size == 1
    ablator = extraction.Ablator(model, ["loss", "distribution", "tokens"])
    arms = arms_of("zero", heads=((0, 0),))
    effects = ablator.measure(batch, UNITS[:2], targets, arms)
    for found in (effects.clean, effects.values["loss"][0], effects.values["distribution"][0]):
        assert np.isnan(found).tolist() == [True, False]
    assert not np.isnan(effects.values["tokens"]).any()
    assert np.isnan(ablator.screen(batch, UNITS[:2], targets, "zero")).all((1, 2)).tolist() == [True, False]


# References.


def made_input(key: str, texts: list[int]) -> Any:
    """An input whose tokens belong to these texts; −1 for special ones."""
    count = len(texts)
    return extraction.Tokenised(
        Passage(key, ("x",)), {"input_ids": list(range(count))}, ("x",) * count,
        np.array(texts, dtype=np.int32), np.zeros((count, 2), dtype=np.int64),
        class_id=np.zeros(count, dtype=bool), truncated=False,
    )  # fmt: skip


def random_outputs(tokenised: Any) -> list[Any]:
    """Two layers of two heads of size 3, drawn by the input's key."""
    import torch

    generator = torch.Generator().manual_seed(int(tokenised.passage.key[1:]))
    return [torch.randn(tokenised.size, 2, 3, generator=generator) for _ in range(2)]


def test_means_are_those_of_the_other_fold_by_class_of_token() -> None:
    import torch

    inputs = [made_input(f"k{k}", [-1, *[0] * (4 + k % 3), -1, *[1] * 3, -1]) for k in range(12)]
    inputs[0] = made_input("k0", [-1, -1, -1, 0])
    units = [f"u{k // 2}" for k in range(12)]
    references = extraction.References(inputs, units)
    means = extraction.mean_outputs(references, 5, random_outputs)
    numbers = [extraction.token_classes(each) for each in inputs]
    for place, unit in enumerate(units):
        classes = np.array([0, *(2 - (inputs[place].texts[1:] < 0))])
        assert numbers[place].tolist() == classes.tolist()
        others = [k for k in range(12) if means.folds.fold(units[k]) != means.folds.fold(unit)]
        assert len(others) == 6
        for layer in range(2):
            outputs = torch.cat([random_outputs(inputs[k])[layer] for k in others]).double()
            wanted = {}
            for number in {*classes.tolist()}:  # six tokens open an input, and more are of the other classes
                own = outputs[np.concatenate([numbers[k] for k in others]) == number]
                assert (len(own) >= FEWEST) == (number > 0)
                wanted[number] = (own if number else outputs).mean(0)
            rows = torch.stack([wanted[number] for number in classes.tolist()])
            torch.testing.assert_close(means.of(unit, classes, layer), rows, atol=1e-6, rtol=0)
    digests = [extraction.mean_outputs(references, seed, random_outputs).digest for seed in (5, 6)]
    with ThreadPoolExecutor(3) as executor:
        digests.append(extraction.mean_outputs(references, 5, random_outputs, executor.map).digest)
    assert [digest == means.digest for digest in digests] == [True, False, True]
    for tokens in (FEWEST - 1, FEWEST):  # ten tokens of a class have a mean of their own
        inputs = [made_input(f"k{k}", [-1] * (1 + tokens) + [0] * 3) for k in range(2)]
        means = extraction.mean_outputs(extraction.References(inputs, ["a", "b"]), 0, random_outputs)
        outputs = random_outputs(inputs[1])[0].double()
        row = (outputs[1 : 1 + tokens] if tokens == FEWEST else outputs).mean(0)
        torch.testing.assert_close(means.of("a", np.array([1]), 0)[0], row)


@given(st.integers(2, 12), st.integers(1, 6), st.integers(0, 99))
def test_folds_are_halves_in_any_order_and_donors_are_of_other_units_and_depend_on_the_key(
    count: int, draws: int, seed: int
) -> None:
    names = [f"name {k}" for k in range(count)]
    one, other = extraction.Folds({*names}, seed), extraction.Folds(sorted(names), seed)
    sides = [one.fold(name) for name in names]
    assert sides == [other.fold(name) for name in names]
    assert sum(sides) in (count // 2, count - count // 2)
    units = [f"u{k % 3}" for k in range(count)]
    references = extraction.References([made_input(f"k{k}", [0, 0]) for k in range(count)], units)
    first, again, *many = (
        extraction.draw_donors(references, key, "u1", draws=draws, seed=seed).tolist()
        for key in ("k1", "k1", *(f"k{k}" for k in range(8)))
    )
    assert first == again
    assert len(first) == draws
    assert "u1" not in {units[donor] for donor in first}
    assert len({*first}) == draws or draws > sum(unit != "u1" for unit in units)
    assert count < 6 or draws < 4 or len({*map(tuple, many)}) > 1


classes_of_tokens = st.lists(st.integers(0, 2), min_size=1, max_size=9)


@given(classes_of_tokens, classes_of_tokens)
def test_donated_tokens_have_the_class_and_the_nearest_place(own: list[int], theirs: list[int]) -> None:
    places = extraction.donor_places(np.array(own), np.array(theirs))
    for i, (number, place) in enumerate(zip(own, places, strict=True)):
        allowed = [j for j, other in enumerate(theirs) if other == number] or list(range(len(theirs)))
        far = [abs(i / max(len(own) - 1, 1) - j / max(len(theirs) - 1, 1)) for j in range(len(theirs))]
        assert place in allowed
        assert far[place] == pytest.approx(min(far[j] for j in allowed))
    assert extraction.donor_places(np.array(own), np.array(own)).tolist() == list(range(len(own)))


# Whole runs: sites, cells and sets on random heads.

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


def part_of(run: Labelling) -> Any:
    """What a run that takes heads out found."""
    assert run.ablated is not None
    return run.ablated


def column(run: Labelling, name: str) -> np.ndarray:
    """The values of a column by example, layer and head."""
    values: np.ndarray = run.scores.values[run.scores.sieves.index(name)]
    return values


def at_sites(damage: np.ndarray, sites: np.ndarray, order: np.ndarray, opens: np.ndarray) -> float:
    """Mean damage at sites less that at other tokens of the stratum, or of the nearest one, token by token.

    Strata are up to five groups of at least ten tokens in an order, times their earlier and later half, times
    whether a token opens a word. The nearest has the same group, or else the fewest groups between, the same
    kind of piece, the same half, the higher group.
    """
    counted = sorted(np.flatnonzero(~np.isnan(order)).tolist(), key=lambda place: order[place])
    groups = min(5, max(1, len(counted) // 10))
    group_of = {place: k * groups // len(counted) for k, place in enumerate(counted)}
    strata = {}
    for place, group in group_of.items():
        own = sorted(other for other in group_of if group_of[other] == group)
        late = len(own) >= 10 and own.index(place) * 2 >= len(own)
        strata[place] = (group, bool(opens[place]), late)
    others: dict[tuple[int, bool, bool], list[float]] = {}
    for place, stratum in strata.items():
        if not sites[place]:
            others.setdefault(stratum, []).append(float(damage[place]))
    differences = []
    for place, (group, kind, half) in strata.items():
        if sites[place] and others:
            nearest = min(
                others, key=lambda own: (abs(own[0] - group), own[1] != kind, own[2] != half, -own[0])
            )
            differences.append(damage[place] - np.mean(others[nearest]))
    return float(np.mean(differences)) if differences else float("nan")


def test_damage_at_sites_and_of_sets_is_that_of_each_input_alone(headed: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    texts = [" ".join(rng.choice(VOCABULARY, 12)) for _ in range(60)]
    (tmp_path / "again.py").write_text(AGAIN, encoding="utf-8")
    folder, labels = headed("bert", "MaskedLM", num_attention_heads=8), tmp_path / "labels"
    how: dict[str, Any] = {"data": texts, "model": folder, "max_length": 64}
    chance: dict[str, Any] = {"margin": 0.0, "alpha": 0.8, "correction": "none", "maps": 0}
    chance |= {"test": "t-published"}
    sieves = [f"{tmp_path / 'again.py'}:again", "previous"]
    headroles.label(**how, **chance, sieve=sieves, out=labels)  # heads hold roles by chance
    run = headroles.ablate(
        **how, roles=labels, sieve=sieves[:1], by="zero", groups=True, outcome=("loss", "tokens"), mask=0.6,
        seed=4,
    )  # fmt: skip
    sets, model = part_of(run).sets, open_loss(folder)
    ablator = extraction.Ablator(model, ["loss", "tokens"])
    arms = arms_of("zero", heads=tuple(np.ndindex(2, 8)))
    arms += [extraction.Arm("zero", tuple(map(tuple, np.argwhere(own)))) for own in sets.members]
    assert len(sets.roles) == len(sets.members) > 100
    apart = part_of(run).held.apart(run.scores.units, run.scores.examples)
    asked = {name for name in run.scores.sieves if ":sites:" in name}
    assert asked == {"loss:sites:again", "tokens:sites:again"}  # "previous" applies to every token
    for place in np.flatnonzero(apart)[:10]:
        key = run.scores.examples[place]
        text = texts[int(key.rpartition("/")[2])]
        (plain,) = extraction.tokenise(model.tokenizer, [Passage(key, (text,))], 64)
        read, target = extraction.prepare_target(model, plain, extraction.LossOptions(0.6, seed=4))
        effects = ablator.measure([read], [key], [target], arms)
        tokens = plain.tokens[1:-1]
        sites = np.array([token in tokens[:k] for k, token in enumerate(tokens)])
        opens = np.array([not token.startswith("##") for token in tokens])
        orders = {"loss": effects.clean_tokens[0][1:-1], "tokens": np.arange(len(tokens), dtype=float)}
        for arm, (outcome, order) in enumerate(orders.items()):
            damage = effects.by_token[outcome][0][:16, 1:-1]
            wanted = [at_sites(own, sites, order, opens) for own in damage]
            got = column(run, f"{outcome}:sites:again")[place].ravel()
            np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-7, err_msg=f"{key} {outcome}")
            together = effects.values[outcome][16:, 0]
            np.testing.assert_allclose(sets.damage[arm, :, place], together, rtol=1e-4, atol=1e-7)
    np.testing.assert_array_equal(np.isnan(sets.damage).all(axis=(0, 1)), ~apart)
    norms = column(run, "norm").mean(axis=0)
    upper = norms.argsort(axis=1, kind="stable").argsort(axis=1) >= 4
    for members, role in zip(sets.members, sets.roles, strict=True):  # random sets are like the heads
        for half in (upper, ~upper):
            own = (half & part_of(run).held.heads(role)).sum(axis=1)
            np.testing.assert_array_equal((half & members).sum(axis=1), own)
    different = {(role, own.tobytes()) for role, own in zip(sets.roles, sets.members, strict=True)}
    assert len(different) == len(sets.roles)


# Whole runs: heads that are written by hand.

INPUTS = 80
REPEATED = built.repeated_texts(INPUTS, 5)
ALL = [*np.ndindex(built.LAYERS, built.HEADS)]


def varied_texts(count: int) -> list[str]:
    """Texts of four blocks of words, some of which occur again in another order, so at many distances."""
    rng, texts = np.random.default_rng(3), []
    for _ in range(count):
        blocks = rng.choice(built.WORDS, 12, replace=False).reshape(4, 3).tolist()
        again = [blocks[k] for k in rng.permutation(4)[: rng.integers(2, 5)]]
        texts.append(" ".join(word for block in (*blocks, *again) for word in block))
    return texts


@pytest.mark.parametrize("redundant", [False, True])
def test_heads_are_needed_at_their_sites_unless_others_make_up_for_them_and_damage_is_the_exact_one(
    redundant: bool, tmp_path: Path
) -> None:
    model, out = built.save_induction(tmp_path / "model", redundant=redundant), tmp_path / "labels"
    how: dict[str, Any] = {"model": model, "max_length": 48, "text_a": "text"}
    for name, texts in (("varied", varied_texts(INPUTS)), ("repeated", REPEATED)):
        (tmp_path / f"{name}.tsv").write_text("\n".join(["text", *texts, ""]), encoding="utf-8")
    headroles.label(data=tmp_path / "varied.tsv", sieve=("induction", "first"), maps=0, out=out, **how)
    by = ("zero",) if redundant else ("zero", "cells", "cells:matched")
    run = headroles.ablate(data=tmp_path / "repeated.tsv", roles=out, by=by, groups=redundant, **how)
    part, copying = part_of(run), {built.INDUCTION, built.SECOND} if redundant else {built.INDUCTION}

    texts = [REPEATED[int(key.rpartition("/")[2])] for key in run.scores.examples]
    clean, both = (
        np.array([built.exact_loss(text, removed, redundant=redundant) for text in texts])
        for removed in ((), tuple(copying))
    )
    np.testing.assert_allclose(column(run, "loss:clean")[:, 0, 0], clean, atol=1e-4)
    assert part.damage.threshold[0] == pytest.approx(0.01 * clean.mean(), rel=1e-4)
    for head in ALL:
        removed = [built.exact_loss(text, (head,), redundant=redundant) for text in texts]
        np.testing.assert_allclose(column(run, "loss:zero")[:, *head], removed - clean, atol=1e-4)
    needed = {head for head in ALL if VERDICTS[part.damage.verdict[0][head]] == "needed"}
    assert {VERDICTS[part.damage.verdict[0][head]] for head in ALL if head not in needed} == {"negligible"}
    assert needed == ({built.PREVIOUS} if redundant else {built.PREVIOUS, built.INDUCTION})
    if redundant:
        (group,) = [row for row in part.groups if row.role == "induction"]
        assert group.damage == pytest.approx((both - clean).mean(), rel=1e-3)
        assert (group.heads, group.sets, group.decision) == (2, 0, "untestable")  # no other two are like them
        assert group.excess == pytest.approx(group.damage, abs=0.01)
        assert group.q_excess < 1e-6
        return
    (site,) = part.sites
    assert (site.role, site.layer, site.head) == ("induction", *built.INDUCTION)
    assert (site.decision, site.controls) == ("at its sites", 0)  # heads that do nothing are no controls
    at = np.nanmean(column(run, "loss:sites:induction"), axis=0)
    assert at[built.INDUCTION] > 1
    assert all(abs(at[head]) < 0.01 for head in (built.SECOND, built.BAG, built.IDLE))
    cells = {(row.role, row.layer, row.head): row.cells for row in part.cells}
    assert cells["induction", *built.INDUCTION] > 1
    assert cells["first", *built.SINK] == 0
    measured = ~np.isnan(column(run, "loss:cells:induction")).all(axis=0)
    np.testing.assert_array_equal(measured, part.held.heads("induction"))
    rows = {row.role: row for row in part.roles}
    assert (rows["induction"].area, rows["induction"].decision) == (1.0, "undetermined")
    assert rows["induction"].p_labels == pytest.approx(
        0.5, abs=0.02
    )  # one head in four does most, on either side
    assert (rows["induction"].needed, rows["first"].quiet) == (1, 1)
    assert rows["first"].negligible == rows["first"].heads - part.held.heads("first")[built.INDUCTION]


def test_a_screen_takes_out_few_heads_and_leaves_out_the_units_that_chose_them(tmp_path: Path) -> None:
    texts = varied_texts(60)
    how: dict[str, Any] = {"model": built.save_induction(tmp_path / "model"), "max_length": 48}
    headroles.label(data=texts, sieve="previous", maps=0, out=tmp_path / "labels", **how)
    run = headroles.ablate(data=texts, roles=tmp_path / "labels", screen=1, references=60, **how)
    part, values = part_of(run), column(run, "loss:mean")
    chose = np.isnan(values).all(axis=(1, 2))
    taken = ~np.isnan(values[~chose]).any(axis=0)
    assert taken.sum(axis=1).tolist() == [4, 1]  # the head of the role, and three of its layer
    assert taken[built.INDUCTION]
    assert (part.damage.verdict[0][~taken] == 3).all()
    assert len({unit for unit, own in zip(run.scores.units, chose, strict=True) if own}) == 30
    chosen = run.manifest["ablation"]["heads"]
    assert (chosen["run"], chosen["of"], chosen["chosen_by"]) == (5, 8, 30)
    assert not np.isnan([column(run, "loss:clean"), column(run, "loss:screen")]).any()
    assert part.held.heads("previous")[built.PREVIOUS]
    assert not (chose & part.held.apart(run.scores.units, run.scores.examples)).any()
