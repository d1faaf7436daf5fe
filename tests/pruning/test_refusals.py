"""What a pruning refuses, in one sentence each, and what a kill leaves behind."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import headroles
from headroles.errors import BadInput
from headroles.options.causal.prune import PruneOptions
from headroles.storage.causal.pruning import load_pruning
from tests.pruning.made import Made, ablated_run

MadeOf = Callable[[str], Made]
RunOf = Callable[..., Path]


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({}, "but none was given; give --bound"),
        ({"bound": 0.0}, "bound must be a number above 0"),
        ({"bound": float("nan")}, "bound must be a number above 0"),
        ({"bound": 1.0, "outcome": "accuracy"}, "damage of accuracy is at most 1"),
        ({"bound": 0.1, "sizes": (0, 1)}, "--sizes are numbers of heads, at least 1, but got 0"),
        ({"bound": 0.1, "data": "x.tsv"}, "--data is of fresh inputs, which only --check reads"),
        ({"check": True}, "--check measures damage on fresh inputs; name their file with --data"),
        ({"check": True, "data": "x.tsv", "bound": 0.1}, "but got --bound; leave it out"),
        ({"check": True, "data": "x.tsv", "out": "y"}, "but got --out; leave it out"),
        ({"check": True, "data": "x.tsv", "alpha": 0.1}, "but got --alpha; leave it out"),
        ({"check": True, "data": "x.tsv", "seed": 1}, "but got --seed; leave it out"),
        ({"check": True, "data": "x.tsv", "overwrite": True}, "but got --overwrite; leave it out"),
        ({"bound": 0.1, "alpha": 1.0}, "alpha must lie between 0 and 1"),
    ],
)
def test_options_that_do_not_fit_are_refused(given: dict[str, Any], sentence: str) -> None:
    with pytest.raises(BadInput, match=sentence):
        PruneOptions(folder="run", **given)


def test_an_unknown_outcome_is_named_with_the_nearest() -> None:
    with pytest.raises(headroles.HeadrolesError, match="did you mean 'accuracy'"):
        PruneOptions(folder="run", bound=0.1, outcome="acuracy")


def test_a_run_of_another_kind_is_refused(tmp_path: Path, made_of: MadeOf) -> None:
    from dataclasses import replace

    from headroles.exporting import save

    save(replace(ablated_run(made_of("bert")), ablated=None), tmp_path / "run")
    with pytest.raises(BadInput, match="is a run of another kind; make one with headroles ablate"):
        headroles.prune(tmp_path / "run", bound=0.1)


def test_a_missing_folder_and_a_pruning_are_no_runs(run_of: RunOf, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="nowhere"):
        headroles.prune(tmp_path / "nowhere", bound=0.1)
    out = tmp_path / "pruned"
    headroles.prune(run_of("bert"), bound=0.1, sizes=[1], out=out)
    with pytest.raises(BadInput, match="is a model without some of its heads"):
        headroles.prune(out, bound=0.1)
    with pytest.raises(BadInput, match="this needs a pruning"):
        headroles.prune(tmp_path / "run", check=True, data="x.tsv")


def test_the_folder_of_the_run_is_never_written(run_of: RunOf) -> None:
    run = run_of("bert")
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    for out in (run, run / "pruned"):
        with pytest.raises(BadInput, match="a pruned model gets a folder of its own"):
            headroles.prune(run, bound=0.1, out=out)
    headroles.prune(run, bound=0.1, sizes=[1])
    assert {path: path.read_bytes() for path in run.rglob("*") if path.is_file()} == before


def test_a_changed_model_is_refused(made_of: MadeOf, tmp_path: Path) -> None:
    from headroles.exporting import save

    made = made_of("bert")
    moved = tmp_path / "checkpoint"
    shutil.copytree(made.model, moved)
    save(ablated_run(Made(moved, made.data, made.fresh, made.quiet)), tmp_path / "run")
    data = bytearray((moved / "model.safetensors").read_bytes())
    data[-3] ^= 1
    (moved / "model.safetensors").write_bytes(data)
    out = tmp_path / "pruned"
    with pytest.raises(BadInput, match=r"weights of .* are not those of"):
        headroles.prune(tmp_path / "run", bound=0.1, out=out)
    assert not out.exists()


def test_changed_inputs_are_refused(made_of: MadeOf, tmp_path: Path) -> None:
    from headroles.exporting import save

    made, data = made_of("bert"), tmp_path / "data.tsv"
    data.write_text(made.data.read_text())
    save(ablated_run(Made(made.model, data, made.fresh, made.quiet)), tmp_path / "run")
    data.write_text(made.data.read_text().replace("heads", "hands", 1))
    with pytest.raises(BadInput, match="were changed since; make the run again"):
        headroles.prune(tmp_path / "run", bound=0.1)


def test_too_few_units_are_refused_before_the_model_is_opened(run_of: RunOf) -> None:
    run = run_of("bert", limit=98)
    with pytest.raises(BadInput, match="has 49; ablate on at least 100"):
        headroles.prune(run, bound=0.1)


def test_more_heads_than_there_are_cannot_go(run_of: RunOf) -> None:
    with pytest.raises(BadInput, match="at most the 8 heads of the model, but got 9"):
        headroles.prune(run_of("bert"), bound=0.1, sizes=range(1, 10))


def test_an_outcome_that_the_model_lacks_is_refused(run_of: RunOf) -> None:
    run = run_of("encoder", outcomes=("representation",))
    with pytest.raises(BadInput, match="loss is measured on models with a head that has a loss"):
        headroles.prune(run, bound=0.1, outcome="loss")
    with pytest.raises(BadInput, match="accuracy is that of a model with classes"):
        headroles.prune(run_of("gpt2", "decoder"), bound=0.1, outcome="accuracy")


def test_a_bound_that_no_damage_of_the_run_reaches_is_refused(run_of: RunOf) -> None:
    run = run_of("encoder", outcomes=("representation",))
    with pytest.raises(BadInput, match="of representation is at most 1, so its bound lies below 1"):
        headroles.prune(run, bound=1.0)


@pytest.mark.parametrize("part", ["model.safetensors", "tokenizer.json", "config.json"])
def test_a_full_disk_is_one_sentence_and_leaves_no_folder(
    part: str, run_of: RunOf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The writers of weights and tokenizers raise kinds of errors of their own."""
    from safetensors import SafetensorError
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

    run, out = run_of("bert"), tmp_path / "pruned"
    errors = {"model.safetensors": SafetensorError, "tokenizer.json": Exception, "config.json": OSError}
    writer = PreTrainedTokenizerBase if part == "tokenizer.json" else PreTrainedModel

    def fail(*given: object, **options: object) -> None:
        raise errors[part]("No space left on device")

    monkeypatch.setattr(writer, "save_pretrained", fail)
    with pytest.raises(BadInput, match=r"the pruned model cannot be written \(No space left on device\)"):
        headroles.prune(run, bound=0.1, sizes=[1], out=out)
    assert not out.exists()


def test_units_that_a_screen_took_are_missed_in_one_sentence(run_of: RunOf) -> None:
    with pytest.raises(BadInput, match="has 40; ablate on more, or without --screen"):
        headroles.prune(run_of("bert", limit=80, screen=3), bound=0.1)


def test_layers_that_share_weights_are_refused(run_of: RunOf) -> None:
    with pytest.raises(BadInput, match="layers of AlbertModel share their weights"):
        headroles.prune(run_of("albert", outcomes=("representation",)), bound=0.1)


def test_another_pruning_is_replaced_only_on_request(run_of: RunOf, tmp_path: Path) -> None:
    run, out = run_of("bert"), tmp_path / "pruned"
    headroles.prune(run, bound=0.1, sizes=[1], out=out)
    headroles.prune(run, bound=0.1, sizes=[1], out=out)
    with pytest.raises(BadInput, match=r"holds a pruning with other settings \(sizes\)"):
        headroles.prune(run, bound=0.1, sizes=[2], out=out)
    pruning = headroles.prune(run, bound=0.1, sizes=[2], out=out, overwrite=True)
    assert load_pruning(out).removed.sum() == pruning.removed.sum() == 2
    (out / "notes.txt").write_text("mine")
    with pytest.raises(BadInput, match=r"also holds 'notes.txt'"):
        headroles.prune(run, bound=0.1, sizes=[3], out=out, overwrite=True)


def test_a_fault_while_writing_leaves_the_earlier_folder(
    run_of: RunOf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, out = run_of("bert"), tmp_path / "pruned"
    headroles.prune(run, bound=0.1, sizes=[1], out=out)
    before = {path.relative_to(out): path.read_bytes() for path in out.rglob("*") if path.is_file()}

    def fail(*given: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("headroles.storage.causal.pruning.finish_pruning", fail)
    with pytest.raises(KeyboardInterrupt):
        headroles.prune(run, bound=0.1, sizes=[2], out=out, overwrite=True)
    after = {path.relative_to(out): path.read_bytes() for path in out.rglob("*") if path.is_file()}
    assert after == before
    with pytest.raises(KeyboardInterrupt):
        headroles.prune(run, bound=0.1, sizes=[2], out=tmp_path / "new")
    assert not (tmp_path / "new").exists()
