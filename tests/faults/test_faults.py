"""No kill, error, damage or hostile input loses a run, blesses one or ends in a traceback."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import EVERYTHING

NO_LIBRARY = 3
"""Exit code where no library can count changes of files."""
LEAST = {"kills": 14, "errors": 6, "flips": 1_000, "mutations": 500}
"""Fewest trials of each part of the short mode."""


def _run(*words: str, timeout: float) -> str:
    """Run the harness without a fault, and return what it prints; skip where it cannot count changes."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.faults", *words],
        cwd=Path(__file__).resolve().parents[2],
        capture_output=True,
        text=True,
        timeout=timeout,
    )
    if done.returncode == NO_LIBRARY and not EVERYTHING:
        pytest.skip(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.ci
def test_the_short_mode_finds_no_fault() -> None:
    said = _run("--short", timeout=900)
    lines = dict(re.findall(r"^(\w+)[^:]*: (.*)$", said, re.MULTILINE))
    assert [*lines] == [*LEAST]
    for part, least in LEAST.items():
        assert int(re.findall(r"\d+", lines[part])[0]) >= least, lines[part]


@pytest.mark.release
def test_an_hour_of_kills_errors_damages_and_mutations_finds_no_fault() -> None:
    _run("--minutes", "60", timeout=7200)
