"""Looks at the heads of a run that may stop, in a terminal and in a pipe."""

import io

import numpy as np
import pytest
from rich.console import Console

from headroles.progress import SCORE
from headroles.records.stops.look import Look, stop_record, stop_words
from headroles.terminal.phases import ShownPhases
from headroles.terminal.stops.looks import BAR, look_line, look_table


def _look(number: int = 2, heads: int = 6) -> Look:
    decision = np.array([[[0, 1, 2, 2, 3, 4] * (heads // 6)], [[2] * heads]])
    return Look(number, 128, 130, 640, 650, ("local", "block"), decision, decision == 2)


def _console(*, terminal: bool) -> Console:
    return Console(file=io.StringIO(), width=100, force_terminal=terminal, color_system=None)


def _text(console: Console) -> str:
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_a_table_has_a_mark_for_each_head_and_the_number_of_open_ones() -> None:
    console = _console(terminal=True)
    console.print(look_table(_look(), 100))
    lines = [line.rstrip() for line in _text(console).splitlines()]
    assert lines[0].split() == ["look", "2", "open", "█", "role", "·", "not", "~", "explained", "?", "open"]
    assert lines[1].endswith(" 2 █·?? ~")
    assert lines[2].endswith(" 6 ??????")
    assert lines[3].strip() == "128 of 640 units, 4 of 12 roles × heads decided"


@pytest.mark.parametrize(("heads", "width", "bar"), [(600, 100, BAR), (72, 60, 33), (600, 60, 33)])
def test_more_heads_than_there_is_room_for_are_a_bar_with_the_share_of_each_state(
    heads: int, width: int, bar: int
) -> None:
    console = _console(terminal=True)
    console.print(look_table(_look(heads=heads), width))
    first, second = (line.rstrip() for line in _text(console).splitlines()[1:3])
    marks = [mark for mark in first if mark in "█·~?"]
    assert marks == sorted(marks, key="█·~?".index)
    for mark, share in (("█", 1 / 6), ("·", 1 / 6), ("~", 1 / 6), ("?", 1 / 3)):
        assert abs(first.count(mark) - share * bar) <= 1
    assert second.count("?") == bar


def test_a_pipe_gets_a_line_for_every_look_and_only_where_it_is_asked_for() -> None:
    asked, silent = _console(terminal=False), _console(terminal=False)
    for console, watch in ((asked, True), (silent, False)):
        phases = ShownPhases(console, watch)
        phases.watch(_look(1))
        phases.watch(_look(2))
    assert _text(asked).splitlines() == [look_line(_look(1)), look_line(_look(2))]
    assert _text(silent) == ""


def test_a_terminal_draws_the_latest_look_above_the_bars() -> None:
    console = _console(terminal=True)
    phases = ShownPhases(console, True)
    phases.start(SCORE, 650)
    phases.watch(_look(1))
    phases.watch(_look(2))
    console.print(phases._drawn())
    lines = _text(console).splitlines()
    assert lines[0].startswith("look 2")
    assert lines[-1].startswith("score")


def test_the_line_of_a_look_names_roles_with_open_heads_only() -> None:
    decision = np.array([[[0, 1]], [[2, 1]]])
    look = Look(3, 64, 64, 640, 640, ("local", "block"), decision, decision == 2)
    assert look_line(look) == "look 3: 64 of 640 units, 3 of 4 roles × heads decided; open: block 1"


@pytest.mark.parametrize(
    ("enough", "units", "words"),
    [
        (0.5, 128, "The run stopped after 128 of 640 units, when 2 of 4 roles × heads were decided. Open: "),
        (1.0, 640, "The budget of 640 units ended with 2 of 4 roles × heads open: local 0-1; block 0-0."),
    ],
)
def test_the_sentence_on_a_stop_names_open_heads(enough: float, units: int, words: str) -> None:
    decision = np.array([[[0, 2]], [[2, 1]]])
    look = Look(2, units, units, 640, 640, ("local", "block"), decision, decision == 2, enough)
    assert look.stops == (enough == 0.5)
    assert stop_words(stop_record(look, 64)).startswith(words)
