"""Stored runs of every kind, made once and only read, and shards watched as they are scored."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.crashing import Shards

if TYPE_CHECKING:
    from headroles import Labelling


@pytest.fixture
def shards(monkeypatch: pytest.MonkeyPatch) -> Shards:
    """The shards that this process scores."""
    return Shards(monkeypatch)


@pytest.fixture(scope="session")
def made(
    probed_run: "Callable[..., Labelling]", finished: Path, summed: Path
) -> "Callable[[str], Labelling]":
    """A run by its name: one of every kind, and those whose parts lack something."""
    import headroles
    from headroles.records import CONDITION_GAPS, ProbeResults
    from tests.support.causal.ablated_runs import ablated_run
    from tests.support.causal.origins import why_run
    from tests.support.clustered_runs import clustered_run

    def with_part(run: "Labelling", part: str, **changes: Any) -> "Labelling":
        return replace(run, **{part: replace(getattr(run, part), **changes)})

    shape = (40, 2, 3)
    probe, ablate, why = (
        partial(probed_run, shape=(20, 2, 3)),
        partial(ablated_run, shape),
        partial(why_run, shape),
    )
    builds: dict[str, Callable[[], Labelling]] = {
        "label": lambda: headroles.load(finished),
        "sums": lambda: headroles.load(summed),
        "surface": lambda: surface_run(gradients=True),
        "surface, no gradients": lambda: surface_run(gradients=False),
        "probe": lambda: probe(assessed=True),
        "probe, no gaps or tallies": lambda: with_part(probe(), "probed", gaps=CONDITION_GAPS, tallies=None),
        "probe, nothing found": lambda: replace(probe(), probed=ProbeResults(None)),
        "cluster": clustered_run,
        "cluster by spectral": lambda: clustered_run(method="spectral"),
        "cluster by dbscan": lambda: clustered_run(method="dbscan"),
        "cluster, no neighbours": lambda: with_part(clustered_run(), "clustered", neighbours=None),
        "ablate": ablate,
        "ablate, no groups": lambda: ablate(groups=False),
        "ablate, no roles": lambda: ablate(roles=()),
        "ablate, screened": lambda: ablate(groups=False, screened=1),
        "why": lambda: why(size=8),
        "why, turning pairs": lambda: why(size=8, rotary=True),
        "why, no deals": lambda: why(size=8, redeals=0),
        "why, nothing removed": lambda: why(size=8, removed=False),
        "why, nothing held": lambda: why(size=8, held=False),
    }
    return cache(lambda name: with_grid(builds[name]()))


def surface_run(*, gradients: bool, shape: tuple[int, int, int] = (12, 2, 3)) -> "Labelling":
    """Return a run of surface statistics, its tests of attention that does not matter those of all kinds."""
    from headroles.stats import noop_tests
    from tests.support.made_runs import surface_labelling

    run = surface_labelling(shape, gradients=gradients)
    assert run.surface is not None
    return replace(run, surface=replace(run.surface, noop=noop_tests(run.scores, run.decision)))


def with_grid(run: "Labelling") -> "Labelling":
    """Return a run whose manifest says how many layers and heads it has."""
    grid = {**run.scores.stack.described, "heads": run.scores.heads}
    return replace(run, folder=None, manifest={**run.manifest, "model": {**run.manifest["model"], **grid}})


@pytest.fixture(scope="session")
def stored(
    made: "Callable[[str], Labelling]", tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], Path]:
    """The folder of a made run by its name; tests that write take ``copied``."""
    from headroles import save

    @cache
    def folder(name: str) -> Path:
        place = tmp_path_factory.mktemp("stored") / "run"
        save(made(name), place)
        return place

    return folder


@pytest.fixture
def copied(stored: Callable[[str], Path], tmp_path: Path) -> Callable[[str], Path]:
    """A copy of the folder of a made run, to be changed at will."""

    def copy(name: str) -> Path:
        return Path(shutil.copytree(stored(name), tmp_path / name))

    return copy


FEW: dict[str, Any] = {"keep": 20, "shard_size": 8, "maps": 6, "group": "document"}
"""Options of a run of 60 pairs of which the scores of 20 are kept."""


@pytest.fixture(scope="session")
def summed(planted: Path, table: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run that keeps sums; it is only read."""
    from headroles import label

    folder = tmp_path_factory.mktemp("runs") / "summed"
    sieves = ["local", "delimiter", "block"]
    label("QNLI", data=table, model=planted, max_length=48, sieve=sieves, out=folder, **FEW)
    return folder
