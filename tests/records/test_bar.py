"""The line that shows the progress of a run in a notebook."""

import sys
from types import SimpleNamespace
from typing import Any

import pytest

from headroles.options.finished import VerifyOptions
from headroles.options.keywords import keywords_of
from headroles.progress import LOAD, SCORE
from headroles.records.shown.bar import NotebookPhases, ProgressLine, progress_or_bar


class Output:
    """An output of a notebook: what was shown, and what replaced it."""

    def __init__(self) -> None:
        self.values: list[Any] = []

    def __call__(self, value: Any) -> Any:
        self.values.append(value)
        return self.values.append


class Clock:
    """A clock that stands still until it is set."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_line_counts_inputs_with_the_time_left_and_then_the_times_of_all_phases() -> None:
    output, clock = Output(), Clock()
    phases = NotebookPhases(output, clock)
    with phases.during(LOAD):
        assert repr(output.values[-1]) == "load model …"
        clock.now = 6.0
    phases.start(SCORE, 160)
    clock.now = 16.0
    phases.advance(40)
    assert repr(output.values[-1]) == "load model 0:06 · score 40 of 160, 0:30 left"
    html = output.values[-1]._repr_html_()
    assert '<progress value="40" max="160"' in html
    assert "load model 0:06 · " in html
    clock.now = 66.0
    phases.close()
    assert repr(output.values[-1]) == "load model 0:06 · score 1:00"
    assert "<progress" not in output.values[-1]._repr_html_()


def test_a_line_changes_at_most_a_few_times_a_second() -> None:
    output, clock = Output(), Clock()
    phases = NotebookPhases(output, clock)
    phases.start(SCORE, 1000)
    for _ in range(1000):
        clock.now += 0.001
        phases.advance(1)
    assert len(output.values) <= 5


def test_a_run_that_fails_shows_where_it_stopped() -> None:
    output, clock = Output(), Clock()
    phases = NotebookPhases(output, clock)
    phases.start(SCORE, 160)
    clock.now = 9.0
    phases.advance(80)
    phases.close(stopped=True)
    assert repr(output.values[-1]) == "score stopped at 80 of 160"
    assert "<progress" not in output.values[-1]._repr_html_()


def test_a_function_without_phases_counts_its_inputs() -> None:
    output, clock = Output(), Clock()
    phases = NotebookPhases(output, clock)
    clock.now = 5.0
    phases(3, 12)
    clock.now = 10.0
    phases(6, 12)
    assert repr(output.values[-1]) == "extract 6 of 12, 0:05 left"


def test_names_of_phases_are_text() -> None:
    assert "<i>" not in ProgressLine({"<i>": 1.0}, [("<b>", 1, 2, 3.0)])._repr_html_()


@keywords_of(VerifyOptions, "folder")
def _check(options: VerifyOptions, *, progress: Any = None) -> Any:
    """Check a run, and return how its progress is watched."""
    return progress


def test_scripts_show_no_bar_and_notebooks_do(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _check("run") is None
    output = Output()
    display = SimpleNamespace(display=lambda value, display_id: SimpleNamespace(update=output(value)))
    monkeypatch.setitem(
        sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: SimpleNamespace(kernel=1))
    )
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    phases = _check("run")
    assert isinstance(phases, NotebookPhases)
    phases.start(LOAD)
    assert repr(output.values[0]) == "load model …"
    assert _check("run", progress=print) is print


def test_a_bar_stops_where_an_error_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    output = Output()
    display = SimpleNamespace(display=lambda value, display_id: SimpleNamespace(update=output(value)))
    monkeypatch.setitem(
        sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: SimpleNamespace(kernel=1))
    )
    monkeypatch.setitem(sys.modules, "IPython.display", display)

    def fail() -> None:
        with progress_or_bar(None) as phases:
            phases.start(LOAD)
            raise OSError("disk")

    with pytest.raises(OSError, match="disk"):
        fail()
    assert repr(output.values[-1]) == "load model stopped"
