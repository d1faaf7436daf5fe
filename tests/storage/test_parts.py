"""Parts of a run folder: the manifest says which there are, and what it promises must be there, whole."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import headroles
from headroles.errors import BadInput
from headroles.exporting import report, save
from headroles.records.findings import Labelling
from headroles.records.probes import ProbeResults
from headroles.records.surface import SurfaceResults
from headroles.stats.surface import noop_tests
from headroles.storage.folder import CLUSTER_FILES, KEPT_MAP_FILES, LAYERS, NOOP, PROBE_FILES, SURFACE_FILES
from tests.storage.manifests import change_manifest, hash_again
from tests.support.clustered_runs import clustered_run
from tests.support.made_runs import surface_labelling

Made = Callable[..., Labelling]
PARTS = {"surface": SURFACE_FILES, "clustered": CLUSTER_FILES, "probed": PROBE_FILES}
DAMAGED = "is damaged or from another version"


def _measured(gradients: bool = True) -> Labelling:
    """A run of surface statistics, its tests of attention that does not matter those of all kinds."""
    run = surface_labelling((12, 2, 3), gradients=gradients)
    assert run.surface is not None
    model = dict(run.manifest["model"]) | {"layers": 2, "heads": 3}
    return replace(
        run,
        surface=replace(run.surface, noop=noop_tests(run.scores, run.decision)),
        manifest=dict(run.manifest) | {"model": model},
    )


@pytest.fixture(scope="module")
def _saved(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    place = tmp_path_factory.mktemp("parts")
    runs = {"surface": _measured(), "clustered": clustered_run()}
    for name, run in runs.items():
        save(run, place / name)
    return {name: place / name for name in runs}


@pytest.fixture
def saved(_saved: dict[str, Path], probed_run: Made, tmp_path: Path) -> Callable[[str], Path]:
    """A run of a kind, to be spoiled."""

    def copy(part: str) -> Path:
        if part == "probed":
            save(probed_run(), tmp_path / part)
            return tmp_path / part
        return Path(shutil.copytree(_saved[part], tmp_path / part))

    return copy


def _manifest(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    return found


def _promising(folder: Path, promise: Any) -> None:
    """Write the manifest with another promise; without any where it is None."""
    hash_again(folder)
    change_manifest(folder, lambda facts: facts.pop("parts"))
    change_manifest(folder, lambda facts: facts.update({} if promise is None else {"parts": promise}))


@pytest.mark.parametrize("part", PARTS)
def test_the_manifest_names_the_part_of_a_run_and_its_files(saved: Callable[[str], Path], part: str) -> None:
    folder = saved(part)
    assert _manifest(folder)["parts"] == {part: sorted(PARTS[part])}
    run = headroles.load(folder)
    assert [each for each in PARTS if getattr(run, each) is not None] == [part]
    assert "parts" not in run.manifest


def test_a_plain_run_promises_its_maps_alone_and_strangers_files_make_it_no_other(
    run: Path, saved: Callable[[str], Path]
) -> None:
    assert _manifest(run)["parts"] == {"exhibited": sorted(KEPT_MAP_FILES)}
    shutil.copy(saved("surface") / LAYERS, run / LAYERS)
    assert headroles.load(run).surface is None


@pytest.mark.parametrize(("part", "name"), [(part, name) for part in PARTS for name in PARTS[part]])
def test_a_promised_file_that_is_missing_is_refused(
    saved: Callable[[str], Path], part: str, name: str
) -> None:
    folder = saved(part)
    headroles.load(folder)
    (folder / name).unlink()
    with pytest.raises(BadInput, match=f"{DAMAGED} .*{name} is missing, which manifest.json promises"):
        headroles.load(folder)
    with pytest.raises(BadInput, match=DAMAGED):
        report(folder)


def test_a_run_that_lost_all_files_of_its_part_does_not_pass_for_a_plain_one(
    saved: Callable[[str], Path],
) -> None:
    for part, names in PARTS.items():
        folder = saved(part)
        for name in names:
            (folder / name).unlink()
        with pytest.raises(BadInput, match="is missing, which manifest"):
            headroles.judge_again(folder)


@pytest.mark.parametrize("part", PARTS)
def test_folders_from_before_manifests_named_parts_go_by_their_files(
    saved: Callable[[str], Path], part: str
) -> None:
    folder = saved(part)
    whole = headroles.load(folder)
    _promising(folder, None)
    run = headroles.load(folder)
    assert [each for each in PARTS if getattr(run, each) is not None] == [part]
    assert repr(run.surface) == repr(whole.surface)
    if part == "probed":
        return
    (folder / PARTS[part][0]).unlink()
    hash_again(folder)
    with pytest.raises(BadInput, match=f"{DAMAGED} .*{PARTS[part][0]}"):
        headroles.load(folder)
    for name in PARTS[part][1:]:
        (folder / name).unlink()
    hash_again(folder)
    assert getattr(headroles.load(folder), part) is None


@pytest.mark.parametrize(
    "promise",
    [
        ["surface"], "surface", 1, {"surface": "layers.csv"}, {"surface": ["manifest.json"]}, {"colour": []},
        {"surface": [["layers.csv"]]}, {"surface": None}, {"probed": ["layers.csv"]},
    ],
)  # fmt: skip
def test_promises_that_no_run_makes_are_refused(saved: Callable[[str], Path], promise: Any) -> None:
    folder = saved("surface")
    _promising(folder, promise)
    with pytest.raises(BadInput, match=DAMAGED):
        headroles.load(folder)


def test_probes_that_found_nothing_come_back_as_such(probed_run: Made, tmp_path: Path) -> None:
    save(replace(probed_run(), probed=ProbeResults(None)), tmp_path / "run")
    assert _manifest(tmp_path / "run")["parts"] == {"probed": []}
    found = headroles.load(tmp_path / "run").probed
    assert found is not None
    assert (found.tallies, found.best, found.weights) == (None, (), ())


@pytest.mark.parametrize(
    ("name", "change", "told"),
    [
        (LAYERS, lambda lines: lines[:-1], "the rows of layers.csv are not every column and layer"),
        (LAYERS, lambda lines: lines[:1], "the rows of layers.csv"),
        (LAYERS, lambda lines: [*lines, lines[-1]], "the rows of layers.csv"),
        (LAYERS, lambda lines: [lines[0], lines[2], lines[1], *lines[3:]], "the rows of layers.csv"),
        (LAYERS, lambda lines: [each.replace("surface:first", "surface:last") for each in lines], "the rows"),
        (LAYERS, lambda lines: [each.rpartition(",")[0] for each in lines], "KeyError: 'even'"),
        (NOOP, lambda lines: lines[:-1], "the rows of noop.csv are not every importance"),
        (NOOP, lambda lines: lines[:1], "the rows of noop.csv"),
        (NOOP, lambda lines: [lines[0], lines[1], *lines[1:]], "the rows of noop.csv"),
        (NOOP, lambda lines: [each.replace(",separator,", ",comma,") for each in lines], "the rows of noop"),
        (NOOP, lambda lines: [each.replace("undetermined", "maybe") for each in lines], "a decision 'maybe'"),
        (NOOP, lambda lines: [each.replace("undetermined", "") for each in lines], "a decision ''"),
        (NOOP, lambda lines: [each.replace("undetermined", "role") for each in lines], "a decision 'role'"),
    ],
)  # fmt: skip
def test_tables_of_surface_statistics_with_other_rows_are_refused(
    saved: Callable[[str], Path], name: str, change: Callable[[list[str]], list[str]], told: str
) -> None:
    folder = saved("surface")
    before = (folder / name).read_text(encoding="utf-8").splitlines()
    after = change(before)
    assert after != before
    (folder / name).write_text("\n".join(after) + "\n", encoding="utf-8")
    hash_again(folder)
    with pytest.raises(BadInput, match=DAMAGED) as caught:
        headroles.load(folder)
    assert told in str(caught.value)


def test_runs_without_gradients_have_no_tests_of_importance_and_no_table_of_them(tmp_path: Path) -> None:
    run = _measured(gradients=False)
    save(run, tmp_path / "run")
    assert _manifest(tmp_path / "run")["parts"] == {"surface": [LAYERS]}
    found = headroles.load(tmp_path / "run").surface
    assert isinstance(found, SurfaceResults)
    assert found.noop == ()
    shutil.copy(tmp_path / "run" / LAYERS, tmp_path / "run" / NOOP)
    with pytest.raises(BadInput, match=DAMAGED):
        headroles.load(tmp_path / "run")


def test_a_table_that_is_no_text_is_one_sentence(saved: Callable[[str], Path]) -> None:
    folder = saved("surface")
    for content in (b"", b"\x00" * 9, b"\xff\xfe", b'column,"layer\n' + b"9" * 200_000):
        (folder / LAYERS).write_bytes(content)
        with pytest.raises(BadInput, match=DAMAGED):
            headroles.load(folder)
