"""The switches of mutants: off, they change nothing; one that is on makes its change alone."""

import builtins
from pathlib import Path

import pytest

from tests.strength.mutants import ROOT, Mutant, Switches, draw, room_of, sites_of, with_switches

SOURCE = '''
LEFT = 3

def told(value: int, *, much: bool = False) -> str:
    """Not 1 of these words."""
    if value < LEFT and not much:
        raise ValueError(f"{value + 1} is little")
    total = value * 2
    total += 1
    return str(total)
'''


@pytest.fixture
def switches(monkeypatch: pytest.MonkeyPatch) -> Switches:
    """Switches of made mutants."""
    switches = Switches()
    monkeypatch.setattr(builtins, "__mutant__", switches, raising=False)
    return switches


def _answers(switches: Switches) -> dict[str, list[str]]:
    """Return what the program answers with every switch in turn, and with none."""
    mutants: list[Mutant] = []
    with_switches(SOURCE, "told.py", mutants.append)
    space: dict[str, object] = {}
    exec(compile(with_switches(SOURCE, "told.py", mutants.index), "told.py", "exec"), space)
    answers = {}
    for number, mutant in [(-1, None), *enumerate(mutants)]:
        switches.on, got = number, []
        for value, much in ((2, False), (2, True), (3, False)):
            try:
                got.append(space["told"](value, much=much))  # type: ignore[operator]
            except ValueError:
                got.append("refused")
        answers[mutant.change if mutant is not None else "none"] = got
    return answers


def test_a_switch_makes_its_own_change_and_no_other(switches: Switches) -> None:
    assert _answers(switches) == {
        "none": ["refused", "5", "7"],
        "value < LEFT -> value <= LEFT": ["refused", "5", "refused"],
        "not much -> much": ["5", "refused", "7"],
        "value < LEFT and (not much) -> value < LEFT or not much": ["refused", "refused", "refused"],
        "value < LEFT and (not much) -> not (value < LEFT and (not much))": ["5", "refused", "refused"],
        "raise ValueError(f'{value + 1} is little') -> nothing": ["5", "5", "7"],
        "2 -> 3": ["refused", "7", "10"],
        "value * 2 -> value / 2": ["refused", "2.0", "2.5"],
        "1 -> 2": ["refused", "6", "8"],
        "total += 1 -> total -= 1": ["refused", "3", "5"],
    }
    assert switches.asked == set(range(9))


def test_a_draw_is_over_all_rooms_and_repeats_itself(tmp_path: Path) -> None:
    for room in ("stats", "headroles/cli", "headroles/runs"):
        (tmp_path / room).mkdir(parents=True)
        (tmp_path / room / "made.py").write_text(SOURCE)
    drawn = draw(12, 3, tmp_path)
    assert drawn == draw(12, 3, tmp_path)
    assert len({*drawn}) == 12
    assert {room_of(mutant) for mutant in drawn} == {"stats", "cli", "runs"}
    assert len(sites_of(ROOT / "stats" / "correction.py")) > 20
