"""No kill, error, damage or hostile input loses a run, blesses one or ends in a traceback."""

import random
import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from tests.faults.children import Ended
from tests.faults.damage import Damage, decides
from tests.faults.mutations import mutate
from tests.faults.parsers import CONLLU, GAP
from tests.faults.strikes import _spread

ROOT = Path(__file__).resolve().parents[2]
LEAST = {"kills": 30, "errors": 14, "flips": 6_000, "mutations": 2_000}
"""Fewest trials of each part of the short mode."""


@pytest.mark.slow
def test_the_short_mode_finds_no_fault() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.faults", "--short"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    lines = dict(re.findall(r"^(\w+)[^:]*: (.*)$", done.stdout, re.MULTILINE))
    assert [*lines] == [*LEAST]
    for part, least in LEAST.items():
        assert int(re.findall(r"\d+", lines[part])[0]) >= least, lines[part]


def test_an_end_is_good_in_success_or_with_one_sentence() -> None:
    assert Ended(0, "note\nanother").fault is None
    assert Ended(1, "headroles: no such file\n").fault is None
    assert "lines instead of a sentence" in str(Ended(1, "one\ntwo").fault)
    assert "never ended" in str(Ended(None, "").fault)
    assert "exit code -11" in str(Ended(-11, "").fault)
    said = 'Traceback (most recent call last):\n  File "headroles/a.py", line 3, in b\nKeyError: 1\n'
    assert Ended(1, said).fault == 'traceback: File "headroles/a.py", line 3, in b: KeyError: 1'


def test_every_change_is_struck_once_and_the_first_strikes_lie_apart() -> None:
    for count in (1, 2, 7, 60):
        numbers = [number for _, number in _spread(count, random.Random(count))]
        assert sorted(numbers) == list(range(1, count + 1))
    assert min(abs(one - other) for one, other in pairwise(numbers[:4])) > 10


def test_damage_changes_one_byte_the_length_or_the_file() -> None:
    assert Damage("flip", 1, 3).of(b"abc") == b"aac"
    assert Damage("cut", 1).of(b"abc") == b"a"
    assert Damage("append").of(b"abc") == b"abc\n"
    assert Damage("missing").of(b"abc") is None


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        ("scores/part-00000.parquet", True),
        ("manifest.json", True),
        ("findings.csv", False),
        ("shards/0.json", False),
    ],
)
def test_scores_and_the_manifest_decide_and_tables_do_not(file: str, expected: bool) -> None:
    assert decides(file) is expected


def test_mutations_repeat_with_their_seed_and_change_nearly_every_input() -> None:
    seeds = (CONLLU.encode(), GAP.encode())

    def made(seed: int) -> list[bytes]:
        chance = random.Random(seed)
        return [mutate(seeds[0], seeds, chance) for _ in range(200)]

    assert made(1) == made(1)
    assert made(1) != made(2)
    assert sum(data == seeds[0] for data in made(1)) < 20
    assert any(len(data) > 4300 for data in made(1))
