"""What a terminal and a pipe get: phases, lists, colours, and no character that steers a terminal."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from headroles.errors import CONTROL, visible
from tests.contract.recorded import COMMANDS, RECORDED, command_text
from tests.contract.same import text_difference

Command = Callable[..., tuple[int, str, str]]
STEERING = [*map(chr, (*range(9), *range(11, 32), *range(127, 160))), *"\u200e\u200f\u2028\u2029\u061c"]
STEERING += [*"\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"]
NAME, SPELLED = "a\x1b[31mb\u202ec\x9b2Jd", r"a\x1b[31mb\u202ec\x9b2Jd"


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_prints_what_is_recorded(name: str) -> None:
    expected = (RECORDED / "commands" / f"{name}.txt").read_text(encoding="utf-8")
    assert text_difference(expected, command_text(*COMMANDS[name])) == ""


def test_steering_characters_are_spelled_out_in_letters_and_all_others_stay() -> None:
    for character in STEERING:
        assert visible(f"a{character}b").isascii()
        assert visible(f"a{character}b").isprintable()
    text = "naïve 東京 🙂 עברית\u200d\u00a0x\ty\nz\\x1b"
    assert visible(text) == text


def test_error_sentences_hold_no_raw_character(command: Command) -> None:
    wrong = ((["label", "--task", NAME], 1), (["judge", NAME], 1), (["label", f"--{NAME}"], 2), ([NAME], 2))
    for words, expected in wrong:
        code, out, err = command(*words)
        assert (code, out) == (expected, "")
        assert SPELLED in err
        assert CONTROL.search(err) is None


def test_a_pipe_gets_a_line_for_every_phase_that_ends(
    planted: Path, table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("--data", table, "--model", planted, "--max-length", 48, "--sieve", "local", "--first", 50)
    command_text("label", "--task", "QNLI", *map(str, words), "--out", str(tmp_path / "run"))
    lines = capsys.readouterr().err.splitlines()
    phases = [re.sub(r"[\d.]+ s", "N s", line) for line in lines]
    assert [" ".join(line.split()) for line in phases] == [
        "load model N s", "score N s 50 inputs", "test N s", "keep maps N s", "report N s",
    ]  # fmt: skip


def test_a_terminal_gets_colours_of_the_families_and_no_color_gets_none(
    again: Callable[[str], tuple[Path, dict[str, str]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = str(again("label")[0])
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLORTERM", "truecolor")
    monkeypatch.setenv("TERM", "xterm-256color")
    colours = re.findall(r"48;2;(\d+);(\d+);(\d+)", command_text("show", folder, "--grid"))
    assert len(set(colours)) == 3
    monkeypatch.setenv("NO_COLOR", "1")
    assert ";2;" not in command_text("show", folder, "--grid")
