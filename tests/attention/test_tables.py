"""The tables of models in the documentation are those of the tests."""

from pathlib import Path

from tests.support.architectures import TABLE

ROOT = Path(__file__).resolve().parents[2]


def rows_of(page: str) -> list[list[str]]:
    """Cells of the table of architectures of a page."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    lines = text[text.index("| architecture |") :].split("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_every_tested_architecture_is_a_row_with_its_path_and_shared_keys() -> None:
    rows = rows_of("reference/models.md")
    sides = {True: "changes the model", False: "same attention"}
    told = {row[0]: (row[2], row[3]) for row in rows}
    assert told == {name: (each.path, sides[each.rigid]) for name, each in TABLE.items()}
    for name, family, *_ in rows:
        most = max(TABLE[name].key_heads or (0,))
        assert ("grouped queries" in family, "multi-query" in family) == (most > 1, most == 1), name
