"""The table of ``docs/reference/models.md`` is the table of the tests, row by row."""

import re
from pathlib import Path

from tests.support.architectures import TABLE
from tests.support.seq2seq import MODELS

ROOT = Path(__file__).resolve().parents[3]
TEXT = (ROOT / "docs" / "reference" / "models.md").read_text(encoding="utf-8")


def _rows() -> list[list[str]]:
    """Cells of the table of architectures."""
    start = TEXT.index("| architecture |")
    lines = TEXT[start:].split("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_every_tested_architecture_is_a_row_with_its_path() -> None:
    told = {row[0]: (row[2], row[3]) for row in _rows()}
    sides = {True: "changes the model", False: "same attention"}
    assert told == {name: (each.path, sides[each.rigid]) for name, each in TABLE.items()}
    assert len(TABLE) >= 20


def test_shared_keys_are_told_in_the_family() -> None:
    for name, family, *_ in _rows():
        heads = TABLE[name].key_heads
        assert ("grouped queries" in family) == (heads is not None and max(heads) > 1), name
        assert ("multi-query" in family) == (heads is not None and max(heads) == 1), name


def test_the_page_names_tests_that_exist_and_is_linked() -> None:
    named = set(re.findall(r"`(tests/[\w/]+\.py)`", TEXT))
    assert len(named) >= 6
    assert all((ROOT / name).is_file() for name in named)
    assert "docs/reference/models.md" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_encoder_decoders_that_are_tested_are_told_from_those_that_are_checked_when_loaded_only() -> None:
    text = (ROOT / "docs" / "how-to" / "encoder-decoders.md").read_text(encoding="utf-8")
    lines = text[text.index("| architecture |") :].split("\n\n")[0].splitlines()[2:]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    told = {name.lower() for names, _, how in rows for name in names.split(", ") if "test_cross.py" in how}
    assert told == {*MODELS}
    assert {how for *_, how in rows if "test_cross.py" not in how} == {
        "checked when loaded only", "refused when loaded"
    }  # fmt: skip
