"""No kill, error, damage or hostile input loses a run, blesses one or ends in a traceback."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

LEAST = {"kills": 14, "errors": 6, "flips": 1_000, "mutations": 500}
"""Fewest trials of each part of the short mode."""


@pytest.mark.ci
def test_the_short_mode_finds_no_fault() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.faults", "--short"],
        cwd=Path(__file__).resolve().parents[2],
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    lines = dict(re.findall(r"^(\w+)[^:]*: (.*)$", done.stdout, re.MULTILINE))
    assert [*lines] == [*LEAST]
    for part, least in LEAST.items():
        assert int(re.findall(r"\d+", lines[part])[0]) >= least, lines[part]
