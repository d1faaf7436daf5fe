"""What README and tour say that commands print is what they print."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```\n(.*?)^```", re.S | re.M)
CUT = "…"
"""Mark of a line that is cut, and of lines left out."""


def _blocks(page: str) -> list[str]:
    """Return the blocks of commands of a page and the blocks of what they print, in their order."""
    return BLOCK.findall((ROOT / page).read_text(encoding="utf-8"))


def _is_command(block: str) -> bool:
    """Return whether a block holds commands."""
    return block.startswith("headroles ")


def _run(line: str, folder: Path) -> str:
    """Return what a command prints in a folder, with ordinary spaces."""
    words = [sys.executable, "-m", "headroles", *shlex.split(line)[1:]]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.replace("\N{NO-BREAK SPACE}", " ").replace("\N{NARROW NO-BREAK SPACE}", " ")


def _missing(block: str, printed: str) -> list[str]:
    """Return the lines of a block that no printed line begins with."""
    lines = [line.removesuffix(CUT).rstrip() for line in block.splitlines()]
    lines = [part.strip() for line in lines for part in line.split(CUT)]
    return [line for line in lines if line and line not in printed]


def test_missing_lines_are_found() -> None:
    assert _missing("• 2 heads look …\n…\nrole  heads\n", "• 2 heads look at it\nrole  heads\n") == []
    assert _missing("• 3 heads look …\n", "• 2 heads look at it\n") == ["• 3 heads look"]


@pytest.mark.slow
@pytest.mark.with_report
def test_the_tour_prints_what_it_shows(tmp_path: Path) -> None:
    shown, printed = 0, ""
    for block in _blocks("docs/start/tour.md"):
        if _is_command(block):
            lines = [line.replace(" --open", "") for line in block.splitlines()]
            printed = "".join(_run(line, tmp_path) for line in lines)
        else:
            assert _missing(block, printed) == []
            shown += 1
    assert shown == 5
    readme = next(block for block in _blocks("README.md") if block.startswith("72 heads of"))
    assert _missing(readme, _run("headroles show runs/QNLI-all-MiniLM-L6-v2", tmp_path)) == []
