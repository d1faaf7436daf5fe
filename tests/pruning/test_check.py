"""A certificate on fresh inputs: texts that were used are left out, and the damage is tested once more."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headroles
from headroles.errors import BadInput
from headroles.pruning.verify import verify_any
from headroles.records.causal.pruning import WITHIN, Pruning
from headroles.records.causal.statement import check_sentence
from headroles.storage.causal.pruning import load_pruning
from tests.pruning.made import Made, table

MadeOf = Callable[[str], Made]
RunOf = Callable[..., Path]


@pytest.fixture
def bert(run_of: RunOf, tmp_path: Path) -> Path:
    """The folder of a classifier without three heads."""
    out = tmp_path / "pruned"
    headroles.prune(run_of("bert", label="label"), bound=0.05, sizes=[3], out=out)
    return out


def _checked(folder: Path, made: Made) -> Pruning:
    return headroles.prune(folder, check=True, data=made.fresh)


def test_the_damage_is_tested_on_inputs_whose_texts_were_never_used(bert: Path, made_of: MadeOf) -> None:
    check = _checked(bert, made_of("bert")).check
    assert check is not None
    assert (check.examples, check.left_out) == (80, 20)
    assert check.step.count == 80
    assert check.step.size == 3
    assert check.step.decision == WITHIN
    assert check.step.low < check.step.mean < check.step.upper < 0.05


def test_a_check_is_written_into_the_folder_which_stays_whole(bert: Path, made_of: MadeOf) -> None:
    before = load_pruning(bert)
    checked = _checked(bert, made_of("bert"))
    again = load_pruning(bert)
    assert again.check == checked.check
    assert again.steps == before.steps
    stated = json.loads((bert / "certificate.json").read_text())
    assert stated["fresh"]["left_out"] == 20
    assert check_sentence(checked, checked.check) in stated["statements"]  # type: ignore[arg-type]
    assert verify_any(bert).findings == 1


def test_the_same_inputs_give_the_damage_of_the_certificate(
    bert: Path, made_of: MadeOf, tmp_path: Path
) -> None:
    """Both checkpoints from files give what the network gave whose heads were replaced in memory."""
    pruning, data = load_pruning(bert), tmp_path / "same.tsv"
    rows = made_of("bert").data.read_text().splitlines()
    tested = {int(unit.rpartition("/")[2]) for unit in pruning.units}
    data.write_text(
        "\n".join([rows[0], *(row for number, row in enumerate(rows[1:]) if number in tested)]) + "\n"
    )
    from dataclasses import replace

    from headroles.storage.causal.pruning import rewrite_pruning

    rewrite_pruning(bert, replace(pruning, seen=()), "<!doctype html>")
    check = headroles.prune(bert, check=True, data=data).check
    assert check is not None
    assert check.step.damage == pytest.approx(pruning.steps[0].damage, abs=1e-6)
    assert check.step.accuracy_after == pruning.steps[0].accuracy_after


def test_inputs_that_were_all_used_are_refused(bert: Path, made_of: MadeOf) -> None:
    with pytest.raises(BadInput, match="all 160 of --data share a text"):
        headroles.prune(bert, check=True, data=made_of("bert").data)


@pytest.mark.parametrize(
    ("label", "sentence"),
    [
        ("", "every input has a label, but 'rows/0' has none; mend or drop it"),
        ("maybe", "a label of .* is 0 to 1, or LABEL_0, LABEL_1, but 'rows/0' has 'maybe'"),
    ],
)
def test_rows_without_a_right_label_are_refused_and_nothing_is_written(
    label: str, sentence: str, bert: Path, tmp_path: Path
) -> None:
    header, first, *rest = table(5, 30).splitlines()
    data = tmp_path / "rows.tsv"
    data.write_text("\n".join([header, f"{first.split(chr(9))[0]}\t{label}", *rest]) + "\n")
    before = {path: path.read_bytes() for path in bert.rglob("*") if path.is_file()}
    with pytest.raises(BadInput, match=sentence):
        headroles.prune(bert, check=True, data=data)
    assert {path: path.read_bytes() for path in bert.rglob("*") if path.is_file()} == before


def test_a_table_without_the_column_of_labels_is_refused(bert: Path, tmp_path: Path) -> None:
    data = tmp_path / "texts.tsv"
    data.write_text("text\nthe heads look at words\n")
    with pytest.raises(BadInput, match="the column 'label' is needed but not there; columns: text"):
        headroles.prune(bert, check=True, data=data)


@pytest.mark.parametrize(
    ("name", "outcome", "sentence"),
    [
        ("bert", "tokens", "is about tokens, which needs none; leave it out"),
        (
            "llama",
            None,
            "labels are for models of classes, but .* a loss of next words; leave --label out",
        ),
    ],
)
def test_labels_that_a_certificate_does_not_read_are_refused(
    name: str, outcome: str | None, sentence: str, run_of: RunOf, made_of: MadeOf, tmp_path: Path
) -> None:
    out = tmp_path / "pruned"
    headroles.prune(run_of(name), bound=0.9, outcome=outcome, sizes=[1], out=out)
    with pytest.raises(BadInput, match=sentence):
        headroles.prune(out, check=True, data=made_of(name).fresh, label="label")


@pytest.mark.parametrize(
    "file", ["units.npz", "steps.csv", "certificate.json", "pruned.json", "model/model.safetensors"]
)
def test_a_damaged_file_of_a_pruned_model_is_named(file: str, bert: Path, made_of: MadeOf) -> None:
    with (bert / file).open("ab") as end:
        end.write(b"x")
    with pytest.raises(BadInput, match=f"{file} was altered since it was written.*; prune the run again"):
        _checked(bert, made_of("bert"))
    (bert / file).unlink()
    with pytest.raises(BadInput, match=f"{file} is missing, which manifest.json promises.*; prune the run "):
        _checked(bert, made_of("bert"))


def test_few_fresh_units_show_nothing(bert: Path, tmp_path: Path) -> None:
    data = tmp_path / "few.tsv"
    data.write_text(table(5, 30))
    check = headroles.prune(bert, check=True, data=data).check
    assert check is not None
    assert check.step.decision != WITHIN


def test_a_check_needs_the_model_that_was_pruned(
    run_of: RunOf, made_of: MadeOf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import shutil

    made = made_of("bert")
    moved = tmp_path / "checkpoint"
    shutil.copytree(made.model, moved)
    own = Made(moved, made.data, made.fresh, made.quiet)
    from headroles.exporting import save
    from tests.pruning.made import ablated_run

    save(ablated_run(own, label="label"), tmp_path / "own")
    out = tmp_path / "pruned"
    headroles.prune(tmp_path / "own", bound=0.05, sizes=[1], out=out)
    shutil.rmtree(moved)
    with pytest.raises(BadInput, match="checkpoint"):
        _checked(out, made)


def test_verify_recomputes_every_test_and_finds_altered_files(bert: Path) -> None:
    assert verify_any(bert).findings == 1
    weights = bert / "model" / "model.safetensors"
    data = bytearray(weights.read_bytes())
    data[-1] ^= 1
    weights.write_bytes(data)
    with pytest.raises(BadInput, match=r"model/model.safetensors was altered"):
        verify_any(bert)


def test_numbers_that_do_not_follow_from_the_units_are_found(bert: Path) -> None:
    from dataclasses import replace

    from headroles.storage.causal.pruning import rewrite_pruning

    pruning = load_pruning(bert)
    made_up: Any = replace(pruning, steps=(replace(pruning.steps[0], upper=0.001),))
    rewrite_pruning(bert, made_up, "<!doctype html>")
    with pytest.raises(BadInput, match="not what the damage of the units gives for 3 heads"):
        verify_any(bert)
    rewrite_pruning(bert, replace(pruning, change=np.asarray(pruning.change)), "<!doctype html>")
    assert verify_any(bert).examples == 80
