"""Phases of a run: bars on a terminal, lines in a pipe, and numbers for callers in Python."""

import io
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

import headroles
from headroles.progress import KEEP, LOAD, PARSE, REPORT, SCORE, TEST, Phases
from headroles.terminal.phases import ShownPhases, duration, show_phases


class Heard(Phases):
    """Phases that keep what they are told."""

    def __init__(self) -> None:
        super().__init__()
        self.begun: list[str] = []
        self.ended: list[str] = []
        self.reached: dict[str, tuple[int, int]] = {}

    def start(self, name: str, total: int = 0) -> None:
        super().start(name, total)
        self.begun.append(name)

    def reach(self, name: str, done: int, total: int) -> None:
        super().reach(name, done, total)
        self.reached[name] = (done, total)

    def end(self, name: str) -> None:
        super().end(name)
        self.ended.append(name)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[float]]:
    """The second that it is."""
    now = [100.0]
    monkeypatch.setattr("headroles.terminal.phases.monotonic", lambda: now[0])
    return iter([now])


def _console(width: int = 80, *, terminal: bool) -> Console:
    return Console(file=io.StringIO(), width=width, force_terminal=terminal, color_system=None)


def _written(console: Console) -> str:
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_a_pipe_gets_one_line_for_every_phase_that_ends(clock: Iterator[list[float]]) -> None:
    (now,) = clock
    console = _console(terminal=False)
    with ShownPhases(console).shown() as phases:
        with phases.during(LOAD):
            now[0] += 6.12
        with phases.during(SCORE, 96):
            phases.advance(40)
            phases.advance(56)
            now[0] += 161
    assert _written(console).splitlines() == [
        "load model     6.1 s",
        "score          0.0 s  96 inputs",
    ]


def test_a_terminal_shows_the_bar_the_inputs_and_the_time_left(clock: Iterator[list[float]]) -> None:
    (now,) = clock
    phases = ShownPhases(_console(terminal=True))
    phases.start(LOAD)
    now[0] += 6.12
    phases.end(LOAD)
    phases.start(SCORE, 160)
    now[0] += 12
    phases.advance(96)
    console = _console(terminal=True)
    console.print(phases._drawn())
    load, score = _written(console).splitlines()
    assert load.split() == ["load", "model", "✓", "6.1", "s"]
    assert score.split()[0] == "score"
    assert score.rstrip().endswith("96/160  8 s left")
    assert "━" in score
    now[0] += 3
    console = _console(terminal=True)
    console.print(phases._drawn())
    assert "96/160  5 s left" in _written(console)


def test_phases_stand_in_their_order_whichever_starts_first() -> None:
    phases = ShownPhases(_console(terminal=True))
    phases.start(SCORE, 4)
    phases.start(PARSE, 4)
    console = _console(terminal=True)
    console.print(phases._drawn())
    assert [line.split()[0] for line in _written(console).splitlines()] == [PARSE, SCORE]


def test_nothing_is_drawn_of_a_run_that_must_be_quiet(capsys: pytest.CaptureFixture[str]) -> None:
    with show_phases(quiet=True) as phases, phases.during(LOAD):
        phases.advance(1)
    assert capsys.readouterr() == ("", "")
    with show_phases() as phases, phases.during(LOAD):
        time.sleep(0)
    assert capsys.readouterr().err.startswith("load model ")


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.04, "0.0 s"), (59.94, "59.9 s"), (59.96, "1 min 0 s"), (3599, "59 min 59 s"), (3600, "1 h 0 min")],
)
def test_times_are_said_as_people_say_them(seconds: float, words: str) -> None:
    assert duration(seconds) == words


def test_a_run_tells_its_phases_and_a_callback_gets_the_scored_inputs(
    planted: Path, table: Path, tmp_path: Path
) -> None:
    heard = Heard()
    given: dict[str, Any] = {"model": planted, "data": table, "max_length": 48, "limit": 20}
    given["sieve"] = ["local", "block"]
    headroles.label("QNLI", **given, progress=heard, out=tmp_path / "run")
    assert heard.begun == [LOAD, SCORE, TEST, KEEP, REPORT]
    assert heard.ended == heard.begun
    assert heard.reached == {SCORE: (20, 20)}
    told: list[tuple[int, int]] = []
    headroles.label("QNLI", **given, progress=lambda done, total: told.append((done, total)))
    assert told[-1] == (20, 20)
    assert [done for done, _ in told] == sorted(done for done, _ in told)


@pytest.mark.parametrize("workers", [1, 2])
def test_parsed_inputs_are_counted_whoever_parses_them(
    planted: Path, table: Path, tmp_path: Path, workers: int
) -> None:
    heard = Heard()
    headroles.label(
        "QNLI", model=planted, data=table, max_length=48, sieve="syntactic", limit=12, workers=workers,
        shard_size=4, progress=heard, maps=0, out=tmp_path / "run",
    )  # fmt: skip
    assert heard.begun == [LOAD, SCORE, PARSE, TEST, REPORT]
    assert heard.reached == {SCORE: (12, 12), PARSE: (12, 12)}
