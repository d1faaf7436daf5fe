"""Nothing that a name holds steers the terminal: control characters and direction marks are spelled out."""

import os
import pty
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.table import Table
from rich.text import Text

from headroles.errors import CONTROL, visible
from headroles.terminal.console import VisibleConsole

Command = Callable[..., tuple[int, str, str]]

STEERING = [*map(chr, (*range(9), *range(11, 32), *range(127, 160))), *"\u200e\u200f\u2028\u2029\u061c"]
STEERING += [*"\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"]
NAME = "a\x1b[31mb\u202ec\x9b2Jd"
SPELLED = r"a\x1b[31mb\u202ec\x9b2Jd"


@pytest.mark.parametrize("character", STEERING, ids=ascii)
def test_every_steering_character_is_spelled_out_in_letters(character: str) -> None:
    assert visible(f"a{character}b").isascii()
    assert visible(f"a{character}b").isprintable()


def test_letters_line_feeds_and_tabs_stay_as_they_are() -> None:
    text = "naïve 東京 🙂 עברית\u200d\u00a0x\ty\nz\\x1b"
    assert visible(text) == text


def _table() -> Table:
    table = Table(NAME, "n", box=None)
    table.add_row(NAME, "1")
    table.add_row(Text(NAME, style="bold"), "2")
    return table


@pytest.mark.parametrize(
    ("printed", "times"),
    [(NAME, 1), (Text(f"x {NAME} y"), 1), (Text.assemble((NAME, "red"), NAME), 2), (_table(), 2)],
    ids=["string", "text", "styles", "table"],
)
def test_what_is_printed_holds_no_raw_character(
    printed: object, times: int, capsys: pytest.CaptureFixture[str]
) -> None:
    VisibleConsole(highlight=False, soft_wrap=True, width=140).print(printed, markup=False)
    out = capsys.readouterr().out
    assert out.count(SPELLED) >= times
    assert CONTROL.search(out) is None


def test_colours_of_a_terminal_are_kept(capsys: pytest.CaptureFixture[str]) -> None:
    VisibleConsole(force_terminal=True, color_system="standard", width=80).print(Text(NAME, style="red"))
    assert capsys.readouterr().out == f"\x1b[31m{SPELLED}\x1b[0m\n"


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("label", "--task", NAME), 1),
        (("label", "--data", f"{NAME}.tsv", "--text-a", NAME), 1),
        (("judge", NAME), 1),
        (("label", f"--{NAME}"), 2),
        ((NAME,), 2),
    ],
)
def test_error_sentences_hold_no_raw_character(words: tuple[str, ...], code: int, command: Command) -> None:
    got, out, err = command(*words)
    assert (got, out) == (code, "")
    assert SPELLED in err
    assert CONTROL.search(err) is None


def test_columns_of_a_table_are_named_without_raw_characters(command: Command, tmp_path: Path) -> None:
    file = tmp_path / "t.tsv"
    file.write_text(f"a\t{NAME}\nx\ty\n")
    code, _, err = command("label", "--data", file, "--text-a", "b")
    assert code == 1
    assert SPELLED in err
    assert CONTROL.search(err) is None


def test_a_terminal_that_hangs_up_gets_no_second_error() -> None:
    """The terminal goes away while the command waits; its last sentence cannot be written."""
    master, slave = pty.openpty()
    waits = (
        "import signal, sys; from headroles.cli import main\n"
        "signal.signal(signal.SIGHUP, signal.SIG_DFL)\n"
        "def wait(**_): print('ready', flush=True); signal.pause()\n"
        "main.cli.commands['sieves'].callback = wait; sys.argv[1:] = ['sieves']; main.main()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", waits], stdin=slave, stdout=subprocess.PIPE, stderr=slave, process_group=0
    ) as process:
        os.close(slave)
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        os.close(master)
        process.send_signal(signal.SIGHUP)
        assert process.wait(timeout=60) == 130
