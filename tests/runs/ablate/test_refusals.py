"""What a run of ablations refuses, in one sentence each, and what it does with few or short inputs."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headroles
from headroles import Labelling
from headroles.errors import BadInput
from tests.storage.manifests import hash_again

Ablate = Callable[..., Labelling]


@pytest.fixture
def ablate(planted: Path, table: Path) -> Ablate:
    """Take heads out of the planted model, which has no loss."""

    def made(**options: Any) -> Labelling:
        texts: dict[str, Any] = {
            "task": "QNLI",
            "data": table,
            "model": planted,
            "max_length": 48,
            "limit": 8,
        }
        return headroles.ablate(**texts | options)

    return made


@pytest.fixture(scope="module")
def full(planted: Path, table: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of a run with roles and sets, beside that of its label run."""
    folder = tmp_path_factory.mktemp("full")
    texts: dict[str, Any] = {"data": table, "model": planted, "max_length": 48, "limit": 12}
    headroles.label("QNLI", **texts, sieve=["local", "delimiter"], maps=0, out=folder / "labels")
    headroles.ablate(roles=folder / "labels", by=["mean", "cells"], groups=True, out=folder / "run")
    return folder


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (
            {"mask": 0.3},
            "--mask is for damage of loss or distribution, .* on representation, tokens; give a --m",
        ),
        ({"screen": 2}, "--screen is for damage of loss, .*; give a --model saved with a loss, or leave"),
        ({"margin": 1.0}, "the damage of representation is at most 1, so its margin lies below 1"),
        ({"kind": "cross"}, "--kind names attention that the model has"),
        ({"max_length": 3}, "max_length must be a whole number of at least 4, but got 3"),
        ({"limit": 1}, "reference inputs are of at least two, but got 1; give more inputs, or --by zero"),
    ],
)
def test_what_a_model_without_a_loss_cannot_use_is_refused(
    options: dict[str, Any], sentence: str, ablate: Ablate
) -> None:
    with pytest.raises(BadInput, match=sentence):
        ablate(**options)


def test_a_kind_of_attention_is_refused_where_a_loss_is_measured(
    headed: Callable[[str, str], Path], table: Path
) -> None:
    model = headed("bert", "MaskedLM")
    with pytest.raises(BadInput, match="--kind is for models with encoder and decoder, but loss needs"):
        headroles.ablate("QNLI", data=table, model=model, max_length=48, limit=4, kind="encoder")


def test_a_mask_is_refused_for_a_loss_of_next_words(headed: Callable[[str, str], Path], table: Path) -> None:
    with pytest.raises(BadInput, match=r"--mask is for losses of masked words, but .* a loss of next words"):
        headroles.ablate(
            data=table, text_a="question", model=headed("gpt2", "CausalLM"), max_length=48, limit=4, mask=0.3
        )


def test_a_margin_that_no_damage_reaches_is_refused_when_a_run_is_decided_again(
    full: Path, tmp_path: Path
) -> None:
    run = shutil.copytree(full / "run", tmp_path / "run")
    with pytest.raises(BadInput, match="of representation is at most 1, so its margin lies below 1"):
        headroles.judge_again(run, margin=1.5)


@pytest.mark.parametrize("by", ["zero", "even"])
def test_one_unit_is_enough_where_no_output_of_others_is_put_in(by: str, ablate: Ablate) -> None:
    run = ablate(limit=1, by=by)
    assert len(run.scores.examples) == 1
    assert run.ablated is not None
    assert (run.ablated.damage.verdict == 3).all()  # untestable


def test_one_unit_cannot_both_choose_heads_and_measure_them(
    headed: Callable[[str, str], Path], table: Path
) -> None:
    with pytest.raises(
        BadInput, match="takes at least 2 units, but got 1; give more inputs, or leave --scre"
    ):
        headroles.ablate(
            data=table, text_a="question", model=headed("gpt2", "CausalLM"), max_length=48, limit=1,
            by="zero", screen=2,
        )  # fmt: skip


def test_an_input_of_one_token_has_no_loss_of_next_words(
    headed: Callable[[str, str], Path], tmp_path: Path
) -> None:
    data = tmp_path / "words.tsv"
    data.write_text("text\na\nthe cat sat\nit is in the house\n")
    run = headroles.ablate(data=data, text_a="text", model=headed("gpt2", "CausalLM"), max_length=16)
    values = run.scores.values[run.scores.sieves.index("loss:mean")]
    assert np.isnan(values[0]).all()
    assert not np.isnan(values[1:]).any()


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ("", "a file to read must hold text, but .* is empty"),
        ("question\tsentence\n", "the data must hold at least one row, but .* has only a header"),
        ("question\tsentence\na\tb\n\tc\n", "line 3: every row has its texts, but 'question' is missing"),
    ],
)
def test_data_without_texts_are_refused(rows: str, sentence: str, ablate: Ablate, tmp_path: Path) -> None:
    data = tmp_path / "rows.tsv"
    data.write_text(rows)
    with pytest.raises(BadInput, match=sentence):
        ablate(data=data)


def test_roles_that_no_head_holds_are_noted_and_refused_where_heads_of_roles_are_taken_out(
    planted: Path, table: Path, tmp_path: Path
) -> None:
    none = tmp_path / "none"
    texts: dict[str, Any] = {"data": table, "model": planted, "max_length": 48, "limit": 8}
    headroles.label("QNLI", **texts, sieve="duplicate", margin=0.9, maps=0, out=none)
    run = headroles.ablate(roles=none)
    note = "No head holds a role on the units that decide roles, so nothing is asked about roles."
    assert note in run.manifest["notes"]
    for options, name in (({"groups": True}, "--groups"), ({"by": ["mean", "cells"]}, "--by cells")):
        with pytest.raises(BadInput, match=f"{name} needs heads that hold a role, but none does .*'{none}'"):
            headroles.ablate(roles=none, **options)


def test_a_label_run_of_few_units_is_refused(planted: Path, table: Path, tmp_path: Path) -> None:
    few = tmp_path / "few"
    headroles.label("QNLI", data=table, model=planted, limit=3, sieve="local", max_length=48, maps=0, out=few)
    with pytest.raises(BadInput, match=f"takes at least 4 units, but '{few}' has 3; label more inputs"):
        headroles.ablate(roles=few)


def test_a_label_run_of_stored_maps_brings_no_inputs(planted: Path, tmp_path: Path) -> None:
    texts = tmp_path / "texts.jsonl"
    texts.write_text("".join(f'{{"text": "the cat sat on the house {n} ."}}\n' for n in range(4)))
    headroles.extract(texts, out=tmp_path / "maps.safetensors", model=planted)
    headroles.label(attention=tmp_path / "maps.safetensors", sieve="local", maps=0, out=tmp_path / "run")
    with pytest.raises(BadInput, match="is of stored maps; name inputs with --task or --data, and --model"):
        headroles.ablate(roles=tmp_path / "run")


def test_a_damaged_label_run_is_refused(full: Path, tmp_path: Path) -> None:
    roles = Path(shutil.copytree(full / "labels", tmp_path / "labels"))
    scores = next(roles.glob("scores/*.parquet"))
    scores.write_bytes(scores.read_bytes()[:100])
    with pytest.raises(BadInput, match=f"the run in '{roles}' is damaged .*{scores.name} was altered"):
        headroles.ablate(roles=roles)
    manifest = roles / "manifest.json"
    manifest.write_text(manifest.read_text().replace("delimiter", "delimited", 1))
    with pytest.raises(BadInput, match=f"the run in '{roles}' is damaged .*manifest.json was altered"):
        headroles.ablate(roles=roles)


@pytest.mark.parametrize("file", ["damage.csv", "held.npz", "sets.npz"])
def test_a_damaged_file_of_a_run_is_named_and_made_again(file: str, full: Path, tmp_path: Path) -> None:
    run = Path(shutil.copytree(full / "run", tmp_path / "run"))
    before = (run / file).read_bytes()
    (run / file).write_bytes(before[:50])
    with pytest.raises(BadInput, match=f"{file} was altered since it was written.*; run it again"):
        headroles.load(run)
    hash_again(run)
    with pytest.raises(BadInput, match=f"damaged .*{file}.*; run it again"):
        headroles.load(run)
    (run / file).unlink()
    with pytest.raises(BadInput, match=f"{file} is missing, which manifest.json promises.*; run it again"):
        headroles.load(run)
    headroles.ablate(roles=full / "labels", by=["mean", "cells"], groups=True, out=run, overwrite=True)
    assert (run / file).read_bytes() == before
