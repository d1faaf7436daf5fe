"""What a run refuses that asks what makes heads attend, in one sentence each, before a model is loaded."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import headroles
from headroles import Labelling
from headroles.errors import BadInput, UnknownName
from headroles.runs.why import opening
from tests.storage.manifests import change_manifest


@pytest.fixture
def unloaded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail where a model is loaded."""
    monkeypatch.setattr(opening, "open_source", lambda *_: pytest.fail("a model was loaded"))


@pytest.mark.usefixtures("unloaded")
@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"attention": "maps.npz"}, "queries and keys are those of a model that runs, but --attention names"),
        ({"preset": "published"}, "the released code reads no queries and keys; leave --preset out"),
        ({"stream": True}, "units are cut into three groups before anything is measured, but --stream does"),
        ({"margin": 0.1}, "the parts of a contrast are compared without a margin; leave --margin out"),
        ({"family": "layer"}, "all heads of all roles are corrected together; leave --family out"),
        ({"test": "betting"}, "contrasts of logits have no bounds, which --test betting needs"),
        ({"redeals": 5}, "--redeals is 0 or at least 19, so that the largest of them .*, but got 5; give"),
        ({"redeals": -1}, "redeals must be a whole number of at least 0 and at most 999, but got -1"),
        ({"rotations": 9}, "rotations must be a whole number of at least 99 and at most 99,999, but got 9"),
        ({"references": 1}, "references must be a whole number of at least 2, but got 1"),
        ({"limit": 1}, "which takes at least 2 of them, but got [01]; give more inputs"),
        ({"data": "nowhere.tsv"}, "No such file: nowhere.tsv"),
    ],
)
def test_options_that_cannot_work_are_refused(labelled: Path, options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(BadInput, match=sentence):
        headroles.why(labelled, **options)


@pytest.mark.usefixtures("unloaded")
def test_what_is_no_label_run_is_refused(asked: Path, labelled: Path, tmp_path: Path) -> None:
    for run, sentence in (
        (
            "s3://bucket/run",
            "FOLDER names a folder of this machine, but got 's3://bucket/run'; copy the run here",
        ),
        (tmp_path / "none", "No such folder"),
        (tmp_path, "holds? .*does not"),
        (
            asked,
            f"FOLDER names the folder of a label run, but '{asked}' holds none; make one with",
        ),
    ):
        with pytest.raises(BadInput, match=sentence):
            headroles.why(run)
    with pytest.raises(BadInput, match=f"FOLDER names the folder of a label run, but '{asked}' holds none"):
        headroles.why(asked, task="QNLI")
    with pytest.raises(UnknownName, match="no option is called 'roles'"):
        headroles.why(labelled, roles=labelled)  # type: ignore[call-arg]


@pytest.mark.usefixtures("unloaded")
def test_the_label_run_is_not_replaced_by_a_run_that_asks_about_it(labelled: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(labelled)
    before = (labelled / "manifest.json").read_bytes()
    for out in (labelled, link, labelled / ".." / labelled.name):
        with pytest.raises(BadInput, match=r"into a folder of its own, but --out names .*; name another"):
            headroles.why(labelled, out=out, overwrite=True)
        with pytest.raises(BadInput, match=r"into a folder of its own, but --out names .*; name another"):
            headroles.ablate(roles=labelled, out=out, overwrite=True)
    assert (labelled / "manifest.json").read_bytes() == before


@pytest.mark.usefixtures("unloaded")
@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            {"kept": {"mode": "moments"}},
            "takes the scores of all of them, but the run in '.*' kept sums",
        ),
        (
            {"settings": {"weights": "norm"}},
            "queries and keys make attention, but .* labels norm-weighted",
        ),
        ({"settings": {"attention": "maps.npz"}}, "but the run in '.*' is of stored maps; name inputs with "),
    ],
)
def test_label_runs_of_sums_of_norms_and_of_stored_maps_are_refused(
    labelled: Path, tmp_path: Path, change: dict[str, Any], sentence: str
) -> None:
    run = Path(shutil.copytree(labelled, tmp_path / "run"))
    settings = change.get("settings", {})
    change_manifest(run, lambda record: record.update(change | {"settings": record["settings"] | settings}))
    with pytest.raises(BadInput, match=sentence):
        headroles.why(run)


def test_roles_of_another_model_are_refused(labelled: Path, even: Path) -> None:
    texts: dict[str, Any] = {"task": "QNLI", "data": labelled.parent / "pairs.tsv", "max_length": 48}
    with pytest.raises(BadInput, match=r"heads that are asked about, but .* labels other weights"):
        headroles.why(labelled, **texts, model=even)


def test_roles_computed_from_attention_are_left_out_and_named(
    planted: Path, table: Path, tmp_path: Path, scorer_file: str
) -> None:
    headroles.label(
        "QNLI", data=table, model=planted, max_length=48, sieve=["delimiter", scorer_file], maps=0,
        out=tmp_path / "labels",
    )  # fmt: skip
    run = headroles.why(tmp_path / "labels", rotations=99)
    assert {row.role for row in run.origins.origins} == {"delimiter"}  # type: ignore[union-attr]
    assert "busy is computed from attention, so its cells cannot be counted." in run.skipped


@pytest.fixture
def scorer_file(tmp_path: Path) -> str:
    """A sieve that computes from attention, and that every head passes."""
    file = tmp_path / "busy.py"
    file.write_text(
        "import numpy as np\n"
        "class Busy:\n"
        "    name, needs, low, high = 'busy', frozenset(), 0.0, 1.0\n"
        "    def score(self, attention, example):\n"
        "        return attention.max(axis=(1, 2))\n"
        "    def null(self, example):\n"
        "        return 0.0\n"
        "busy = Busy()\n"
    )
    return f"{file}:busy"


def test_rotary_positions_are_noted_and_no_rotation_is_tested(
    headed: Callable[[str, str], Path], table: Path, tmp_path: Path
) -> None:
    texts: dict[str, Any] = {
        "data": table,
        "text_a": "question",
        "max_length": 24,
        "model": headed("llama", "CausalLM"),
    }
    headroles.label(**texts, sieve=["first", "local"], margin=0.01, maps=0, out=tmp_path / "labels")
    run: Labelling = headroles.why(tmp_path / "labels", rotations=99)
    part = run.origins
    assert part is not None
    assert not part.products.free.any()
    assert any("Rotary positions turn all of the" in note for note in run.manifest["notes"])
    assert {row.few for row in part.origins} == {"untestable"}
    assert len(set(part.products.group.tolist())) == part.products.free.size // 2
