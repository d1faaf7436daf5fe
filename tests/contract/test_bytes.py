"""Bytes of a run do not depend on how it is made: stopped and taken up, overwritten, or at an address."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headroles
from headroles.kinds import KINDS, kind_of
from headroles.storage import place_of
from tests.contract.conftest import Made
from tests.contract.kinds import OF_MAPS, RUNS, inside, start
from tests.contract.same import byte_differences, folder_differences, names_of

CHEAP = ("label", "surface-of-maps")
"""Kinds that are made in every way by default."""
FIRST_SHARD = {name: 10 if name in OF_MAPS else 32 for name in RUNS} | {"probe": 8}
OF_SHARDS = r"scores/.*|shards/.*|plan\.json|manifest\.json|report\.html"
"""Files that are cut as shards are, or name their size."""


def stop_and_go_on(name: str, out: str) -> None:
    """Stop a run when its first shard is done, and start it again."""
    reached: list[int] = []

    def stop(done: int, total: int) -> None:
        reached.append(done)
        if done > FIRST_SHARD[name]:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt, match="1 finished shard is kept"):
        start(name, out=out, progress=stop)
    assert not (Path(out) / "findings.csv").exists()
    again: list[int] = []
    start(name, out=out, progress=lambda done, total: again.append(done))
    assert again[0] >= FIRST_SHARD[name]


def overwrite(name: str, out: str) -> None:
    """Make another run in the folder, which is then replaced; without leave it stays."""
    start(name, out=out, **({"alpha": 0.01} if name in OF_MAPS else {"first": 12}))
    before = {file: path.read_bytes() for file, path in names_of(Path(out)).items()}
    with pytest.raises(headroles.HeadrolesError, match="--overwrite"):
        start(name, out=out)
    assert {file: path.read_bytes() for file, path in names_of(Path(out)).items()} == before
    start(name, out=out, overwrite=True)


def make_at_an_address(name: str, out: str) -> None:
    """Make a run at an address, read and verify it there, and copy its files."""
    where = f"memory://contract/{name}"
    result = start(name, out=where)
    place = place_of(where)
    assert headroles.load(where).frame().equals(result.frame())
    try:
        for file in place.names():
            (Path(out) / file).parent.mkdir(parents=True, exist_ok=True)
            (Path(out) / file).write_bytes(place.read(file))
    finally:
        for file in place.names():
            place.delete(file)


WAYS: dict[str, Callable[[str, str], None]] = {
    "stopped": stop_and_go_on, "overwritten": overwrite, "at an address": make_at_an_address,
}  # fmt: skip


def of_all(others: tuple[str, ...], ways: dict[Any, Any], usual: object) -> list[Any]:
    """Return cheap runs in all ways, and others: in the usual way in CI, in all ways before a release."""
    when = {way: pytest.mark.ci if way == usual else pytest.mark.release for way in ways}
    dear = [
        pytest.param(name, way, marks=[mark, pytest.mark.xdist_group(f"live {name}")])
        for name in others
        for way, mark in when.items()
    ]
    return [*((name, way) for name in CHEAP for way in ways), *dear]


@pytest.mark.parametrize(("name", "way"), of_all((*KINDS[1:], "probe-of-maps"), WAYS, "stopped"))
def test_bytes_do_not_depend_on_how_a_run_is_made(
    name: str, way: str, made: Made, workspace: Path, tmp_path: Path
) -> None:
    usual = made(name)
    with inside(workspace):
        WAYS[way](name, str(tmp_path / "run"))
    assert byte_differences(usual, tmp_path / "run") == []


@pytest.mark.xdist_group("live cluster")
def test_judging_again_with_another_seed_gives_what_a_new_run_would(
    made: Made, workspace: Path, tmp_path: Path
) -> None:
    usual, run = made("cluster"), tmp_path / "run"
    with inside(workspace):
        start("cluster", out=str(run), resample_seed=7)
    assert "divergence.npz" in byte_differences(usual, run)
    headroles.judge_again(run, resample_seed=0)
    assert set(byte_differences(usual, run)) <= {"plan.json", "manifest.json", "report.html"}


@pytest.mark.parametrize(("name", "size"), of_all(KINDS[1:], dict.fromkeys((1, 7, 1000)), 7))
def test_results_do_not_depend_on_the_size_of_shards(
    name: str, size: int, made: Made, workspace: Path, tmp_path: Path
) -> None:
    usual = made(name)
    expected = headroles.load(usual)
    with inside(workspace):
        run = start(name, out=str(tmp_path / "run"), shard_size=size)
    assert kind_of(run).name == kind_of(expected).name
    assert run.manifest["shards"]["size"] == size
    np.testing.assert_allclose(run.scores.values, expected.scores.values, rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(run.findings.decision, expected.findings.decision)
    if run.exhibited is not None and expected.exhibited is not None:  # read again, or held from one shard
        kept, wanted = run.exhibited, expected.exhibited
        assert [exhibit.map for exhibit in kept.exhibits] == [exhibit.map for exhibit in wanted.exhibits]
        assert kept.counted.keys() == wanted.counted.keys()
        for mine, theirs in zip(kept.weights, wanted.weights, strict=True):
            np.testing.assert_allclose(mine.astype(int), theirs.astype(int), atol=1)
    if name in OF_MAPS:
        assert folder_differences(usual, tmp_path / "run", 1e-5, leave=OF_SHARDS) == []
