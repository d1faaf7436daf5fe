"""Rows of tables that no reader can take are one sentence that names the place."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headroles.errors import BadInput
from headroles.extraction.texts.json_inputs import read_rows
from headroles.extraction.texts.rows import read_table_rows

DEEP = '{"text": ' + "[" * 100_000 + "]" * 100_000 + "}"
LONG = '{"text": ' + "9" * 5000 + "}"
GOOD = '{"text": "it rains"}'


@pytest.mark.parametrize("line", [DEEP, LONG, '{"text": ', "[1]"], ids=["deep", "digits", "cut", "a list"])
def test_a_line_that_is_no_object_is_named(line: str, tmp_path: Path) -> None:
    file = tmp_path / "x.jsonl"
    file.write_text(f"{GOOD}\n\n{line}\n")
    for read in (read_table_rows, read_rows):
        with pytest.raises(BadInput, match=r"x\.jsonl, line 3: each line is one JSON object, but"):
            list(read(file))


@pytest.mark.parametrize("row", [DEEP, LONG], ids=["deep", "digits"])
def test_a_list_that_cannot_be_read_is_one_sentence(row: str, tmp_path: Path) -> None:
    file = tmp_path / "x.json"
    file.write_text(f"[{GOOD}, {row}]")
    with pytest.raises(BadInput, match=r"x\.json' must be a list of JSON objects, or one a line, but"):
        read_rows(file)


def test_lines_end_where_files_of_json_lines_say(tmp_path: Path) -> None:
    file = tmp_path / "x.jsonl"
    rows = [{"text": "one\u2028line"}, {"text": "another"}]
    file.write_text("\r\n".join(json.dumps(row, ensure_ascii=False) for row in rows), newline="")
    assert [row for _, row in read_table_rows(file)] == read_rows(file) == rows


@pytest.mark.parametrize("value", ["NaN", "-Infinity", "1e999"])
def test_a_label_that_is_no_number_is_not_a_unit_of_that_name(value: str, tmp_path: Path) -> None:
    file = tmp_path / "x.jsonl"
    file.write_text(
        f'{{"text": "it rains", "group": null, "other": NaN}}\n{{"text": "a", "group": {value}}}\n'
    )
    assert len(list(read_table_rows(file, ["text"]))) == 2
    with pytest.raises(BadInput, match="line 2: 'group' is a name or a number, or null where it is unknown"):
        list(read_table_rows(file, ["text"], ["group"]))


def test_texts_of_parquet_that_are_not_utf_8_are_one_sentence(tmp_path: Path) -> None:
    broken = pa.array([b"it rains", b"caf\xe9"]).view(pa.string())
    pq.write_table(pa.table({"text": broken}), tmp_path / "x.parquet")
    with pytest.raises(BadInput, match=r"must be text in UTF-8, but .* holds the byte 0xe9 in one of"):
        list(read_table_rows(tmp_path / "x.parquet", ["text"]))
