"""Processes beside a run: what they import, and how many may be lost."""

import io
import os
import pickle
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from headroles.errors import BadInput
from headroles.extraction.parsing.pipeline import load_parser
from headroles.extraction.parsing.pool import ParserPool
from headroles.options.label import LabelOptions
from headroles.options.values import record_of
from headroles.progress import PARSE, SCORE, ignore_advance
from headroles.shards.engines import processes, server
from headroles.shards.engines.process import Process
from headroles.shards.engines.processes import Processes
from headroles.shards.work import Facts, Known, Order, Receipt

SIEVE = """
from beside import asked
from headroles import sieve

@sieve("mine")
def mine(example):
    return asked(example)
"""


@pytest.mark.slow
def test_workers_import_nothing_from_the_current_folder_and_find_sieves_all_the_same(
    planted: Path, table: Path, tmp_path: Path
) -> None:
    for name in ("json.py", "pickle.py", "headroles.py"):
        (tmp_path / name).write_text("raise SystemExit('a file of the user was run')")
    (tmp_path / "mine.py").write_text(SIEVE)
    (tmp_path / "beside").mkdir()
    (tmp_path / "beside" / "beside.py").write_text("def asked(example):\n    return example.special\n")
    words = ["label", "--task", "QNLI", "--data", table, "--model", planted, "--max-length", "48", "--limit"]
    words += ["20", "--sieve", "mine.py:mine", "--workers", "2", "--shard-size", "10", "--out", "run"]
    paths = [str(tmp_path / "beside"), *filter(None, [os.environ.get("PYTHONPATH")])]
    run = subprocess.run(
        [sys.executable, "-P", "-m", "headroles", *map(str, words)],  # as the command headroles does it
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)},
        capture_output=True,
        text=True,
        timeout=1200,
    )
    assert (run.returncode, "a file of the user" in run.stderr) == (0, False), run.stderr
    assert (tmp_path / "run" / "manifest.json").exists()


@pytest.mark.slow
def test_parsing_processes_import_nothing_from_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "json.py").write_text("raise SystemExit('a file of the user was run')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", ["", *sys.path])  # as in a notebook
    _, described = load_parser(None)
    pool = ParserPool(None, described, 1)
    try:
        ((texts, parses),) = pool.submit(["It rains ."])
        assert list(parses.result(timeout=240)) == texts
    finally:
        pool.close()


class _NoProcess(Process):
    """What an engine knows of a worker that loads its model."""

    def __init__(self) -> None:
        self.task, self.loaded, self.advanced = None, False, Counter()

    def dismiss(self) -> None:
        """There is nothing to be told."""

    def wait(self) -> None:
        """There is nothing to wait for."""


def test_losses_are_counted_and_not_starts() -> None:
    engine = Processes(Order(record_of(LabelOptions, task="QNLI", workers=9), None), ignore_advance)
    facts = Facts(2, 2, {}, "identity", (), {}, Known())
    worker = _NoProcess()
    engine._workers = [worker] * 9
    for _ in range(2):
        engine._note(worker, "lost", -9)
    engine._note(_NoProcess(), "facts", facts)
    for _ in range(2):
        engine._note(worker, "lost", -9)
    with pytest.raises(BadInput, match=r"but 3 were lost while loading the model \(signal 9\); where memory"):
        engine._note(worker, "lost", -9)


@pytest.mark.parametrize(("shards", "wanted"), [(None, 1), (1, 1), (2, 2), (9, 3)])
def test_all_workers_that_the_shards_can_use_are_started_at_once(
    shards: int | None, wanted: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[Process] = []

    class Loaded(_NoProcess):
        def __init__(self, order: Order, messages: Any) -> None:
            super().__init__()
            started.append(self)
            messages.put((self, ("facts", Facts(2, 2, {}, "identity", (), {}, Known()))))

    monkeypatch.setattr(processes, "Process", Loaded)
    order = Order(record_of(LabelOptions, task="QNLI", workers=3), None, shards=shards)
    with Processes(order, ignore_advance) as engine:
        assert engine.facts.identity == "identity"
    assert len(started) == wanted


def test_a_worker_adds_its_progress_up_and_sends_none_beside_a_receipt(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = 0.0
    monkeypatch.setattr(server, "monotonic", lambda: now)
    pipe = io.BytesIO()
    answers = server._Answers(pipe)

    def told() -> list[Any]:
        pipe.seek(0)
        messages = []
        while pipe.tell() < len(pipe.getvalue()):
            messages.append(pickle.load(pipe))
        pipe.seek(0)
        pipe.truncate()
        return messages

    answers.advance(3)
    answers.advance(4, PARSE)
    assert told() == []
    now += server.PAUSE
    answers.advance(5)
    assert told() == [("advance", (8, SCORE)), ("advance", (4, PARSE))]
    answers.advance(6)
    assert told() == []
    receipt = Receipt(0, 9, 90, 0, "", "", {}, (), ())
    answers.receipt(receipt)
    now += server.PAUSE
    answers.advance(1)
    assert told() == [("receipt", receipt), ("advance", (1, SCORE))]
