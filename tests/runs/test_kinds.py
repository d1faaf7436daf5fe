"""Every kind of run, on a model or on stored maps, has the same bytes however its shards are scored."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headroles
from headroles import Labelling
from headroles.kinds import KINDS, kind_of
from headroles.options.label import LabelOptions
from headroles.options.values import record_of
from headroles.runs import run as skeleton
from headroles.shards.verify import Verified, verify
from headroles.shards.work import Order, Receipt, Task
from headroles.shards.worker import Worker
from headroles.storage.places import place_of
from tests.runs.two_workers import two_workers

Start = Callable[..., Labelling]
WORDS = "the committee signed it in paris and she said that was there long ago"
SHARDS = 3
GRADIENTS = "model with gradients"
OPTIONS: dict[str, dict[str, Any]] = {
    "label": {"sieve": ["local", "delimiter"], "maps": 4},
    "cluster": {"sieve": ["local", "delimiter"], "maps": 4, "draws": 20},
    "surface": {},
    "probe": {"probes": ["dependency", "trees", "coreference"], "relations": "nsubj"},
    "ablate": {"by": ["mean", "cells"], "groups": True},
    "why": {"rotations": 99},
}
"""Options of each kind that take little time."""
OF_ROLES = {"ablate": "roles", "why": "folder"}
"""Kinds that need a model that runs, with their option for the label run."""

every_run = pytest.mark.parametrize(
    ("kind", "source"),
    [
        *((kind, "model") for kind in KINDS),
        *((kind, "stored maps") for kind in KINDS if kind not in OF_ROLES),
        ("surface", GRADIENTS),
    ],
)


@pytest.fixture(scope="module")
def inputs(planted: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Ten sentences of five documents: as texts, with gold annotation, and as stored maps."""
    rng, folder = np.random.default_rng(11), tmp_path_factory.mktemp("kinds")
    texts, gold, stored = [], [], []
    for number, size in enumerate(rng.integers(5, 10, 10).tolist()):
        words, group = rng.choice(WORDS.split(), size).tolist(), f"document {number // 2}"
        annotation = {
            "words": words,
            "heads": [0, *(int(rng.integers(1, word)) for word in range(2, size + 1))],
            "relations": ["root", *rng.choice(["nsubj", "obj"], size - 1).tolist()],
            "clusters": [[[0, 1], [2, 3]], [[1, 2], [3, 5]]],
        }
        texts.append({"text": " ".join(words), "document": group})
        gold.append(annotation)
        stored.append(annotation | {"key": f"no {number}", "group": group})
    files = {"texts": texts, "gold": gold, "list": stored}
    for name, rows in files.items():
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    maps = folder / "maps.safetensors"
    headroles.extract(folder / "list.jsonl", out=maps, model=planted, precision="float32")
    texts_of_run: dict[str, Any] = {"data": folder / "texts.jsonl", "text_a": "text", "group": "document"}
    out, sieves = folder / "labelled", ["local", "delimiter"]
    headroles.label(**texts_of_run, model=planted, max_length=48, sieve=sieves, maps=0, out=out)
    return {name: folder / f"{name}.jsonl" for name in files} | {
        "maps": maps, "model": planted, "labelled": out,
    }  # fmt: skip


@pytest.fixture(scope="module")
def start(inputs: dict[str, Path], headed: Callable[[str, str], Path]) -> Start:
    """Make a run of a kind on a source of attention, in three shards unless told otherwise."""

    def run(kind: str, source: str, **options: Any) -> Labelling:
        texts = {"data": inputs["texts"], "text_a": "text", "group": "document", "max_length": 48}
        given: dict[str, Any] = {"attention": inputs["maps"]}
        if source == GRADIENTS:
            given = texts | {"model": headed("bert", "MaskedLM"), "gradients": True}
        elif source == "model" and kind == "probe":
            given = {"data": inputs["gold"], "model": inputs["model"], "max_length": 48}
        elif source == "model":
            given = texts | {"model": inputs["model"]}
        if kind in OF_ROLES:
            given[OF_ROLES[kind]] = inputs["labelled"]
        given |= OPTIONS[kind] | {"shard_size": 4, "threads": 1}
        labelling: Labelling = getattr(headroles, kind)(**given | options)
        return labelling

    return run


@pytest.fixture(scope="module")
def usual(start: Start, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str], Path]:
    """The folder of an undisturbed run by kind and source, made when it is first needed."""
    root = tmp_path_factory.mktemp("usual")

    def folder(kind: str, source: str) -> Path:
        out = root / f"{kind} {source}"
        if not out.exists():
            start(kind, source, out=out)
        return out

    return folder


Usual = Callable[[str, str], Path]


def _contents(folder: Path) -> dict[str, bytes]:
    files = (file for file in folder.rglob("*") if file.is_file())
    return {file.relative_to(folder).as_posix(): file.read_bytes() for file in files}


def _names_of_differences(folder: Path, other: Path) -> list[str]:
    """Names of files that differ, or that one of two folders lacks."""
    contents, others = _contents(folder), _contents(other)
    return sorted(name for name in contents | others if contents.get(name) != others.get(name))


@every_run
def test_a_run_has_shards_and_a_plan_and_is_verified(kind: str, source: str, usual: Usual) -> None:
    folder = usual(kind, source)
    run, manifest = headroles.load(folder), json.loads((folder / "manifest.json").read_text())
    assert kind_of(run).name == kind
    assert manifest["shards"] == {"size": 4, "count": SHARDS}
    assert json.loads((folder / "plan.json").read_text())["examples"] == 10
    assert len(list((folder / "shards").glob("*.json"))) == SHARDS
    assert np.isfinite(run.scores.values).any()
    assert verify(folder) == Verified(len(manifest["files"]), SHARDS, 10, int(run.findings.count.size))


@every_run
def test_workers_that_open_the_inputs_themselves_give_the_same_bytes_in_any_order(
    kind: str, source: str, start: Start, usual: Usual, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(skeleton, "engine_of", two_workers)
    start(kind, source, out=tmp_path / "run")
    assert _names_of_differences(tmp_path / "run", usual(kind, source)) == []


@every_run
def test_a_run_that_was_stopped_after_a_shard_goes_on_to_the_same_bytes(
    kind: str, source: str, start: Start, usual: Usual, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scored: list[int] = []
    score, folder = Worker.score, tmp_path / "run"

    def counted(worker: Worker, task: Task, advance: Any = None) -> Receipt:
        if scored == [0]:
            scored.append(-1)
            raise KeyboardInterrupt
        scored.append(task.number)
        return score(worker, task, advance)

    monkeypatch.setattr(Worker, "score", counted)
    with pytest.raises(KeyboardInterrupt, match="1 finished shard is kept"):
        start(kind, source, out=folder)
    assert not (folder / "findings.csv").exists()
    start(kind, source, out=folder)
    assert scored == [0, -1, 1, 2]
    assert _names_of_differences(folder, usual(kind, source)) == []


@every_run
def test_a_run_at_an_address_is_read_and_verified_there(
    kind: str, source: str, start: Start, usual: Usual
) -> None:
    where, folder = f"memory://kinds/{kind} {source}", usual(kind, source)
    start(kind, source, out=where)
    place = place_of(where)
    try:
        assert {name: place.read(name) for name in place.names()} == _contents(folder)
        assert headroles.load(where).frame().equals(headroles.load(folder).frame())
        assert verify(where) == verify(folder)
    finally:
        for name in place.names():
            place.delete(name)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "source"),
    [("cluster", "model"), ("probe", "stored maps"), ("ablate", "model"), ("why", "model")],
)
def test_two_worker_processes_give_the_same_bytes(
    kind: str, source: str, start: Start, usual: Usual, tmp_path: Path
) -> None:
    start(kind, source, out=tmp_path / "run", workers=2)
    assert _names_of_differences(tmp_path / "run", usual(kind, source)) == []


@pytest.fixture(scope="module")
def ray_here() -> Iterator[None]:
    """A Ray that the process has joined, so that not every run starts one."""
    from headroles.shards.engines.on_ray.session import connect_to_ray

    with connect_to_ray(Order(record_of(LabelOptions, task="QNLI", engine="ray", workers=2), None, True, 1)):
        yield


@pytest.mark.slow
@pytest.mark.xdist_group("ray")
@pytest.mark.filterwarnings("ignore:`use_:DeprecationWarning")  # Ray's own defaults
@pytest.mark.filterwarnings("ignore::ResourceWarning")  # Ray leaves sockets and logs to the collector
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize(
    ("kind", "source"),
    [("cluster", "stored maps"), ("probe", "stored maps"), ("ablate", "model"), ("why", "model")],
)
def test_workers_on_ray_give_the_same_bytes(
    kind: str, source: str, ray_here: None, start: Start, usual: Usual, tmp_path: Path
) -> None:
    start(kind, source, out=tmp_path / "run", engine="ray", workers=2)
    assert _names_of_differences(tmp_path / "run", usual(kind, source)) == []
