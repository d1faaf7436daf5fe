"""Heads removed with a certificate: the saved model, the tested sets, fresh inputs, and the commands."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headroles
from headroles import Pruning
from headroles.errors import BadInput
from headroles.pruning import screening_units
from headroles.records import FreshCheck, Rule, statements
from headroles.storage import load_pruning
from tests.conftest import Command
from tests.support.prunable import Prunable, ablated_run, labelled_texts
from tests.support.scores import scored

pytestmark = pytest.mark.xdist_group("prunable")
WITHIN, NOT_TESTED = "within the bound", "not tested"
CLASSES = {
    "bert": "AutoModelForSequenceClassification",
    "llama": "AutoModelForCausalLM",
    "qwen2": "AutoModelForCausalLM",
    "gated": "AutoModelForCausalLM",
    "gpt2": "AutoModelForCausalLM",
    "encoder": "AutoModel",
}
RunOf = Callable[..., Path]


@pytest.fixture
def run_of(prunable: Callable[[str], Prunable], tmp_path: Path) -> RunOf:
    """The folder of a run of ablations of a tiny model, by its name."""

    def make(name: str, **options: Any) -> Path:
        headroles.save(ablated_run(prunable(name), **options), tmp_path / "run", overwrite=True)
        return tmp_path / "run"

    return make


@pytest.fixture
def pruned(run_of: RunOf, tmp_path: Path) -> Callable[..., tuple[Pruning, Path]]:
    """A pruning of a tiny model, and its folder."""

    def make(name: str, **options: Any) -> tuple[Pruning, Path]:
        outcome = "representation" if name == "encoder" else "loss"
        run = run_of(name, outcomes=(outcome,), **({"label": "label"} if name == "bert" else {}))
        out = tmp_path / "pruned"
        asked: dict[str, Any] = {"bound": 0.2, "out": out} | options
        return headroles.prune(run, **asked), out

    return make


def _network(name: str, folder: Path) -> Any:
    """Return the network of a checkpoint, loaded by plain transformers."""
    import transformers

    return getattr(transformers, CLASSES[name]).from_pretrained(folder).eval()


def _output(name: str, folder: Path) -> Any:
    """Return the first output of a checkpoint on one text."""
    import torch
    from transformers import AutoTokenizer

    inputs = AutoTokenizer.from_pretrained(folder)("the heads look at long words", return_tensors="pt")
    with torch.no_grad():
        return _network(name, folder)(**inputs)[0]


@pytest.mark.parametrize("name", CLASSES)
def test_quiet_heads_are_removed_and_plain_transformers_loads_the_rest(
    name: str, pruned: Any, prunable: Callable[[str], Prunable]
) -> None:
    pruning, out = pruned(name, sizes="1-3")
    made = prunable(name)
    assert pruning.certified is not None
    assert pruning.certified.size == 3
    assert {(layer, head) for layer, heads in pruning.heads.items() for head in heads} == {*made.quiet}
    config = json.loads((out / "model" / "config.json").read_text())
    assert config["architectures"] == [type(_network(name, made.model)).__name__]
    before, after = (_output(name, folder) for folder in (made.model, out / "model"))
    assert 0 < float((before - after).abs().max() / before.abs().max()) < 0.1
    assert json.loads((out / "pruned.json").read_text())["heads"] == {"0": [0, 1], "1": [3]}
    stated = json.loads((out / "certificate.json").read_text())
    assert (stated["heads_removed"], stated["units"]) == (3, {"ordered": 80, "tested": 80})
    assert stated["certified"]["upper"] == pruning.steps[-1].upper < stated["bound"]


def test_means_are_folded_into_biases_where_the_class_has_a_switch_and_zeros_elsewhere(pruned: Any) -> None:
    import torch
    from transformers import AutoTokenizer

    pruning, out = pruned("llama", sizes=[3])
    assert pruning.manifest["replaced_by"] == "mean output"
    whole, smaller = _network("llama", out / "model"), headroles.load_cut(out, device="cpu")
    attention = whole.model.layers[0].self_attn
    assert attention.o_proj.bias.abs().max() > 0
    assert attention.q_proj.bias.abs().max() == 0
    assert (attention.o_proj.weight.T.unflatten(0, (4, 8))[:2] == 0).all()
    gain = pruning.gain  # both heads of the first group of layer 0; head 3 of layer 1 has a partner
    queries, keys = 2 * (8 * 32 + 8) + 2 * 8 * 32, 2 * (8 * 32 + 8)
    assert (gain.heads, gain.parameters_before - gain.parameters_after) == (2, queries + keys)
    inputs = AutoTokenizer.from_pretrained(out / "model")("the heads look at words", return_tensors="pt")
    with torch.no_grad():
        torch.testing.assert_close(smaller(**inputs)[0], whole(**inputs)[0], rtol=0, atol=1e-5)
    assert smaller.model.layers[0].self_attn.k_proj.out_features == 8
    counts = [sum(weights.numel() for weights in network.parameters()) for network in (whole, smaller)]
    assert counts[0] - counts[1] == queries + keys
    pruning, out = pruned("gated", sizes=[3], overwrite=True)  # a head has rows of a gate beside its queries
    whole, smaller = _network("gated", out / "model"), headroles.load_cut(out, device="cpu")
    assert smaller.model.layers[0].self_attn.q_proj.out_features == 2 * 2 * 8
    counts = [sum(weights.numel() for weights in network.parameters()) for network in (whole, smaller)]
    assert pruning.gain.parameters_before - pruning.gain.parameters_after == counts[0] - counts[1] > queries
    with torch.no_grad():
        torch.testing.assert_close(smaller(**inputs)[0], whole(**inputs)[0], rtol=0, atol=1e-5)
    pruning, out = pruned("qwen2", sizes=[2], overwrite=True)  # whose projection takes no bias
    assert pruning.manifest["replaced_by"] == "zero"
    assert any("take no bias" in remark for remark in pruning.remarks)
    assert json.loads((out / "pruned.json").read_text())["replaced_by"] == "zero"


def test_heads_of_layers_that_share_their_weights_are_not_removed(pruned: Any) -> None:
    with pytest.raises(BadInput, match="but layers of Zamba2ForCausalLM share their weights"):
        pruned("shared", sizes=[1])


def test_the_mean_of_a_removed_head_is_its_rows_of_the_projection_and_nothing_else_changes(
    pruned: Any, prunable: Callable[[str], Prunable]
) -> None:
    import torch

    _, out = pruned("bert", sizes=[1])
    folders = (prunable("bert").model, out / "model")
    before, after = (_network("bert", folder).bert.encoder.layer for folder in folders)
    changed = [
        (layer, head)
        for layer in range(2)
        for head in range(4)
        if (after[layer].attention.output.dense.weight.T.unflatten(0, (4, 8))[head] == 0).all()
    ]
    ((layer, head),) = changed
    difference = after[layer].attention.output.dense.bias - before[layer].attention.output.dense.bias
    rows = before[layer].attention.output.dense.weight.T.unflatten(0, (4, 8))[head]
    mean = torch.linalg.lstsq(rows.T, difference[:, None]).solution[:, 0]
    torch.testing.assert_close(mean @ rows, difference, rtol=0, atol=1e-5)
    others = [name for name in before.state_dict() if "output.dense" not in name]
    assert all(torch.equal(before.state_dict()[name], after.state_dict()[name]) for name in others)


def test_cutting_heads_out_saves_parameters_and_names_what_cannot_be_cut(pruned: Any) -> None:
    gain = pruned("bert", sizes=[3])[0].gain
    # of each head: 8 rows of 32 weights and a bias in three projections, and 8 columns of 32 in the fourth
    assert gain.parameters_before - gain.parameters_after == 3 * (3 * (8 * 32 + 8) + 8 * 32)
    gain = pruned("gpt2", sizes=[1], overwrite=True)[0].gain
    assert "GPT2Attention" in gain.reason
    assert gain.heads == 0


def test_sets_grow_until_one_is_not_within_the_bound(pruned: Any) -> None:
    pruning, _ = pruned("gpt2", bound=0.002)
    decisions = [step.decision for step in pruning.steps]
    failed = decisions.index(next(decision for decision in decisions if decision != WITHIN))
    assert decisions[failed] != NOT_TESTED
    assert {*decisions[failed + 1 :]} <= {NOT_TESTED}
    assert len(decisions) <= failed + 1 + 3
    assert int(pruning.removed.sum()) == (pruning.steps[failed - 1].size if failed else 0)


def test_units_that_order_heads_test_none_the_seed_splits_them_and_options_reach_the_command(
    run_of: RunOf,
) -> None:
    run = run_of("bert", label="label")
    first, again, other = (headroles.prune(run, bound=0.2, sizes=[1], seed=seed) for seed in (0, 0, 1))
    assert "--bound 0.2" in first.manifest["command"]
    assert "--seed" not in first.manifest["command"]
    assert "--seed 1" in other.manifest["command"]
    assert first.manifest["units"] == {"ordered": 80, "tested": 80}
    assert len(first.units) == first.steps[0].count == 80
    assert first.units == again.units
    np.testing.assert_array_equal(first.change, again.change)
    assert {*first.units} != {*other.units}


def test_units_that_chose_heads_are_those_without_damage_in_a_run_with_a_screen() -> None:
    values = np.full((2, 4, 2), 0.1)
    values[0, :, 1] = np.nan  # the unit b has no damage at all, and of a one input has none
    values[:, [1, 2]] = np.nan
    for name, chose in (("loss:screen", [False, False, True, False]), ("norm", [False] * 4)):
        scores = scored(values, [Rule("loss:mean"), Rule(name)], units=["a", "a", "b", "c"])
        assert screening_units(scores, "loss:mean").tolist() == chose


def test_where_no_set_passes_no_model_is_saved_and_the_certificate_says_so(pruned: Any) -> None:
    pruning, out = pruned("encoder", bound=1e-9, sizes=[8])
    assert pruning.certified is None
    assert not (out / "model").exists()
    stated = json.loads((out / "certificate.json").read_text())
    assert stated["certified"] is None
    assert stated["statements"][0].startswith("No head is removed")


def test_accuracy_is_an_outcome_of_its_own_and_without_labels_the_predictions_count(run_of: RunOf) -> None:
    options: dict[str, Any] = {"bound": 0.2, "outcome": "accuracy", "sizes": [1]}
    pruning = headroles.prune(run_of("bert", label="label"), **options)
    step = pruning.steps[0]
    assert {*np.unique(pruning.change)} <= {-1.0, 0.0, 1.0}
    assert step.mean == pytest.approx(step.accuracy_before - step.accuracy_after)
    assert (pruning.clean == 1).all()
    risen = pruning.steps.take([0]).replace(
        low=[-0.04], mean=[-0.02], upper=[-0.005], high=[0.01], decision=[WITHIN]
    )
    fresh = FreshCheck(risen[0], "fresh.tsv", "", 80, 0)
    for said in statements(replace(pruning, steps=risen, check=fresh))[:3:2]:
        assert "accuracy rises by at least 0.5 points" in said
        assert "The mean is a rise of 2.0 points" in said
        assert "fewer than 3.67 % of inputs would be missed with a probability above 5 %" in said
    assert "95 % interval: a rise of 4.0 points to a fall of 1.0 points" in said


def test_fresh_inputs_test_the_damage_once_more_without_texts_that_were_used(
    pruned: Any, prunable: Callable[[str], Prunable], command: Command, tmp_path: Path
) -> None:
    pruning, out = pruned("bert", bound=0.05, sizes=[3])
    checked = headroles.prune(out, check=True, data=prunable("bert").fresh)
    check = checked.check
    assert check is not None
    assert (check.examples, check.left_out, check.step.count, check.step.size) == (80, 20, 80, 3)
    assert check.step.decision == WITHIN
    assert check.step.low < check.step.mean < check.step.upper < 0.05
    again = load_pruning(out)
    assert again.check == check
    assert again.steps.csv() == pruning.steps.csv()
    assert json.loads((out / "certificate.json").read_text())["fresh"]["left_out"] == 20
    assert f"{out} is whole" in command("verify", out)[1]
    facts = json.loads(command("show", out, "--json")[1])
    assert (facts["kind"], facts["removed"]) == ("pruning", {"0": [0, 1], "1": [3]})
    assert "is a model without some of its heads" in command("judge", out)[2]
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    header, first, *rest = labelled_texts(5, 30).splitlines()
    data = tmp_path / "rows.tsv"
    for wrong, sentence in (("", "every input has a label"), ("maybe", "but 'maybe' is none")):
        data.write_text("\n".join([header, f"{first.split(chr(9))[0]}\t{wrong}", *rest]) + "\n")
        with pytest.raises(BadInput, match=sentence):
            headroles.prune(out, check=True, data=data)
        assert {path: path.read_bytes() for path in out.rglob("*") if path.is_file()} == before
    data.write_text(labelled_texts(5, 30))
    check = headroles.prune(out, check=True, data=data).check
    assert check is not None
    assert check.step.decision != WITHIN  # few units show nothing


def test_checkpoints_from_files_give_the_damage_of_heads_replaced_in_memory(
    pruned: Any, prunable: Callable[[str], Prunable], tmp_path: Path
) -> None:
    pruning, out = pruned("bert", bound=0.05, sizes=[3])
    rows = prunable("bert").data.read_text().splitlines()
    tested = {int(unit.rpartition("/")[2]) for unit in pruning.units}
    again = [row.replace("\t", " again\t") for number, row in enumerate(rows[1:]) if number in tested]
    (tmp_path / "near.tsv").write_text("\n".join([rows[0], *again]) + "\n")
    check = headroles.prune(out, check=True, data=tmp_path / "near.tsv").check
    assert check is not None
    assert check.step.damage == pytest.approx(pruning.steps[0].damage, abs=0.01)  # one word more in each text
