"""Heads removed with a certificate: the saved model, the tested sets, and the certificate itself."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers

import headroles
from headroles.records.causal.pruning import NOT_TESTED, WITHIN, Pruning
from headroles.records.causal.statement import certificate_sentence
from headroles.storage.causal.pruning import load_pruning
from tests.pruning.made import Made

MadeOf = Callable[[str], Made]
RunOf = Callable[..., Path]
CLASSES: dict[str, Any] = {
    "bert": transformers.AutoModelForSequenceClassification,
    "llama": transformers.AutoModelForCausalLM,
    "qwen2": transformers.AutoModelForCausalLM,
    "gpt2": transformers.AutoModelForCausalLM,
    "encoder": transformers.AutoModel,
}
OUTCOMES = {"encoder": "representation"}


def _output(folder: Path, kind: Any, text: str = "the heads look at long words") -> torch.Tensor:
    """The first output of a checkpoint that plain transformers loads, on one text."""
    network = kind.from_pretrained(folder).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    with torch.no_grad():
        output: torch.Tensor = network(**tokenizer(text, return_tensors="pt"))[0]
    return output


@pytest.fixture
def pruned(run_of: RunOf, tmp_path: Path) -> Callable[..., tuple[Pruning, Path]]:
    """A pruning of a tiny model, and its folder."""

    def make(name: str, **options: Any) -> tuple[Pruning, Path]:
        outcome = OUTCOMES.get(name, "loss")
        run = run_of(name, outcomes=(outcome,), **({"label": "label"} if name == "bert" else {}))
        out = tmp_path / "pruned"
        given: dict[str, Any] = {"bound": 0.2, "out": out} | options
        return headroles.prune(run, **given), out

    return make


@pytest.mark.parametrize("name", CLASSES)
def test_quiet_heads_are_removed_and_plain_transformers_loads_the_rest(
    name: str, pruned: Any, made_of: MadeOf
) -> None:
    pruning, out = pruned(name, sizes="1-3")
    made = made_of(name)
    assert pruning.certified is not None
    assert pruning.certified.size == 3
    assert {(layer, head) for layer, heads in pruning.heads.items() for head in heads} == {*made.quiet}
    config = json.loads((out / "model" / "config.json").read_text())
    assert config["architectures"] == [type(CLASSES[name].from_pretrained(made.model)).__name__]
    before, after = (_output(folder, CLASSES[name]) for folder in (made.model, out / "model"))
    gap = float((before - after).abs().max() / before.abs().max())
    assert 0 < gap < 0.1


def test_a_projection_without_bias_gets_one_where_the_class_has_a_switch(
    pruned: Any, made_of: MadeOf
) -> None:
    pruning, out = pruned("llama", sizes=[3])
    assert pruning.manifest["replaced_by"] == "mean output"
    assert json.loads((out / "model" / "config.json").read_text())["attention_bias"] is True
    network = transformers.AutoModelForCausalLM.from_pretrained(out / "model")
    attention = network.model.layers[0].self_attn
    assert attention.o_proj.bias.abs().max() > 0
    assert attention.q_proj.bias.abs().max() == 0
    assert (attention.o_proj.weight.T.unflatten(0, (4, 8))[:2] == 0).all()


def test_a_projection_that_takes_no_bias_gets_zeros_and_the_certificate_says_so(pruned: Any) -> None:
    pruning, out = pruned("qwen2", sizes=[2])
    assert pruning.manifest["replaced_by"] == "zero"
    assert any("take no bias" in remark for remark in pruning.remarks)
    assert json.loads((out / "pruned.json").read_text())["replaced_by"] == "zero"


def test_the_mean_of_a_removed_head_is_folded_into_the_bias(pruned: Any, made_of: MadeOf) -> None:
    _, out = pruned("bert", sizes=[1])
    made = made_of("bert")
    before, after = (
        CLASSES["bert"].from_pretrained(folder).bert.encoder.layer for folder in (made.model, out / "model")
    )
    changed = [
        (layer, head)
        for layer in range(2)
        for head in range(4)
        if (after[layer].attention.output.dense.weight.T.unflatten(0, (4, 8))[head] == 0).all()
    ]
    assert len(changed) == 1
    (layer, head) = changed[0]
    difference = after[layer].attention.output.dense.bias - before[layer].attention.output.dense.bias
    rows = before[layer].attention.output.dense.weight.T.unflatten(0, (4, 8))[head]
    mean = torch.linalg.lstsq(rows.T, difference[:, None]).solution[:, 0]
    torch.testing.assert_close(mean @ rows, difference, rtol=0, atol=1e-6)
    others = [name for name, weights in before.state_dict().items() if "output.dense" not in name]
    assert all(torch.equal(before.state_dict()[name], after.state_dict()[name]) for name in others)


def test_cutting_heads_out_keeps_the_outputs_and_saves_parameters(pruned: Any) -> None:
    gain = pruned("bert", sizes=[3])[0].gain
    assert gain.heads == 3
    # of each head: 8 rows of 32 weights and a bias in three projections, and 8 columns of 32 in the fourth
    assert gain.parameters_before - gain.parameters_after == 3 * (3 * (8 * 32 + 8) + 8 * 32)
    assert gain.seconds_after > 0


def test_shared_keys_are_cut_only_where_the_whole_group_leaves(pruned: Any) -> None:
    gain = pruned("llama", sizes=[3])[0].gain
    assert gain.heads == 2  # both heads of the first group of layer 0; head 3 of layer 1 has a partner
    queries, keys = 2 * (8 * 32 + 8) + 2 * 8 * 32, 2 * (8 * 32 + 8)
    assert gain.parameters_before - gain.parameters_after == queries + keys


def test_an_architecture_that_cannot_be_cut_is_named_in_a_sentence(pruned: Any) -> None:
    gain = pruned("gpt2", sizes=[1])[0].gain
    assert "GPT2Attention" in gain.reason
    assert gain.heads == 0


def test_sets_grow_until_one_is_not_within_the_bound(pruned: Any) -> None:
    pruning, _ = pruned("gpt2", bound=0.002)
    decisions = [step.decision for step in pruning.steps]
    failed = decisions.index(next(decision for decision in decisions if decision != WITHIN))
    assert decisions[failed] != NOT_TESTED
    assert set(decisions[failed + 1 :]) <= {NOT_TESTED}
    assert len(decisions) <= failed + 1 + 3
    assert int(pruning.removed.sum()) == (pruning.steps[failed - 1].size if failed else 0)


def test_units_that_order_heads_test_none(pruned: Any) -> None:
    pruning, _ = pruned("bert", sizes=[1])
    assert pruning.manifest["units"] == {"ordered": 80, "tested": 80}
    assert len(pruning.units) == 80
    assert pruning.steps[0].count == 80


def test_another_seed_splits_the_units_otherwise(run_of: RunOf) -> None:
    run = run_of("bert", label="label")
    first, again, other = (headroles.prune(run, bound=0.2, sizes=[1], seed=seed) for seed in (0, 0, 1))
    assert first.units == again.units
    np.testing.assert_array_equal(first.change, again.change)
    assert {*first.units} != {*other.units}


def test_where_no_set_passes_no_model_is_saved_and_the_certificate_says_so(pruned: Any) -> None:
    pruning, out = pruned("encoder", bound=1e-9, sizes=[8])
    assert pruning.certified is None
    assert not (out / "model").exists()
    assert certificate_sentence(pruning).startswith("No head is removed")
    assert json.loads((out / "certificate.json").read_text())["certified"] is None


def test_accuracy_is_an_outcome_of_its_own(run_of: RunOf) -> None:
    pruning = headroles.prune(run_of("bert", label="label"), bound=0.2, outcome="accuracy", sizes=range(1, 3))
    step = pruning.steps[0]
    assert {*np.unique(pruning.change)} <= {-1.0, 0.0, 1.0}
    assert step.mean == pytest.approx(step.accuracy_before - step.accuracy_after)
    assert (pruning.clean == 1).all()


def test_a_run_without_labels_compares_with_the_prediction_of_the_whole_model(run_of: RunOf) -> None:
    pruning = headroles.prune(run_of("bert"), bound=0.2, outcome="accuracy", sizes=[1])
    assert pruning.steps[0].accuracy_before == 1
    assert any("no labels" in remark for remark in pruning.remarks)


def test_a_pruning_is_read_back_as_it_was_written(pruned: Any) -> None:
    pruning, out = pruned("bert", sizes=range(1, 3))
    again = load_pruning(out)
    assert again.steps == pruning.steps
    assert again.gain == pruning.gain
    assert again.remarks == pruning.remarks
    assert again.seen == pruning.seen
    for name in ("order", "single", "removed", "clean", "change"):
        np.testing.assert_array_equal(getattr(again, name), getattr(pruning, name))
    assert again.manifest["settings"]["bound"] == 0.2
    assert "BertForSequenceClassification" not in again.manifest["command"]


def test_the_files_list_heads_by_layer_and_state_the_certificate(pruned: Any) -> None:
    pruning, out = pruned("bert", sizes=[3])
    heads = json.loads((out / "pruned.json").read_text())
    assert heads["heads"] == {"0": [0, 1], "1": [3]}
    stated = json.loads((out / "certificate.json").read_text())
    assert stated["heads_removed"] == 3
    assert stated["certified"]["upper"] == pruning.steps[0].upper < stated["bound"]
    assert stated["units"] == {"ordered": 80, "tested": 80}
    assert stated["statements"][0] == certificate_sentence(pruning)
