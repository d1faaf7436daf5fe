"""Names that no system takes are refused in a line, leaving nothing."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support import table

Command = Callable[..., tuple[int, str, str]]

pytestmark = pytest.mark.xdist_group("refusals")

LONG = table("""
label      | --data LONG.tsv --text-a a --model MODEL
label      | --attention LONG.npz
label      | --task QNLI --model LONG
label      | --task QNLI --model MODEL --sieve related --vectors LONG
label      | --task QNLI --model MODEL --max-length 48 --sieve local --out LONG
label      | --task QNLI --model MODEL --sieve LONG.py:a
surface    | --data LONG.tsv --text-a a --model MODEL
probe      | dependency --data LONG.conllu --model MODEL
extract    | LONG.json --out maps.npz
extract    | texts.json --out LONG.npz
preprocess | unlabeled LONG.txt --out out.jsonl
preprocess | unlabeled text.txt --out LONG.jsonl
preprocess | depparse text.txt --out LONG.jsonl
judge      | LONG
verify     | LONG
report     | LONG
table      | LONG
compare    | LONG LONG
""")


def test_a_name_of_hundreds_of_characters_is_refused_in_a_line(
    command: Command, planted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, words in LONG:
        given = words.replace("LONG", "x" * 300).replace("MODEL", str(planted)).split()
        code, out, err = command(name, *given)
        assert (code, out, err.count("\n")) == (1, "", 1), (name, words, err)
        assert err.startswith("headroles: "), (name, words, err)
        assert len(err) < 600, (name, words, err)
        assert list(tmp_path.iterdir()) == []
