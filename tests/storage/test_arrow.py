"""Arrays of Arrow are those that pyarrow makes, without the libraries that it would import."""

import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headroles.storage.arrow import arrays
from headroles.storage.arrow.arrays import blobs, lists, numbers, numbers_of, numbers_of_rows, rows, texts
from headroles.storage.arrow.files import parquet_bytes, read_parquet

NAMES = ["", "a", "Größe", "👩‍🚀", "a" * 1000, "\x00"]


@pytest.mark.parametrize("kind", [np.int32, np.int64, np.float32, np.float64, np.uint8, np.bool_])
@pytest.mark.parametrize("count", [0, 1, 7, 8, 9, 1000])
def test_numbers_are_those_of_pyarrow(kind: type, count: int) -> None:
    values: np.ndarray = np.random.default_rng(count).integers(0, 2, count).astype(kind)
    if kind in (np.float32, np.float64):
        values[::3] = np.nan
    ours, theirs = numbers(values), pa.array(values, from_pandas=False)
    assert ours.type == theirs.type
    assert ours.null_count == 0
    np.testing.assert_array_equal(ours.to_numpy(zero_copy_only=False), values)
    assert kind in (np.float32, np.float64) or ours.equals(theirs)


def test_numbers_of_every_second_place_are_laid_out_anew() -> None:
    assert numbers(np.arange(10, dtype=np.int32)[::2]).to_pylist() == [0, 2, 4, 6, 8]


@pytest.mark.parametrize("values", [[], NAMES, NAMES[:1]])
def test_texts_blobs_and_lists_are_those_of_pyarrow(values: list[str]) -> None:
    assert texts(values).equals(pa.array(values, pa.string()))
    encoded = [value.encode() for value in values]
    assert blobs(encoded).equals(pa.array(encoded, pa.binary()))
    nested = [values, [], values[::-1]]
    ours = lists([len(part) for part in nested], texts([value for part in nested for value in part]))
    assert ours.equals(pa.array(nested, pa.list_(pa.string())))
    for array in (texts(values), blobs(encoded), ours):
        array.validate(full=True)


def test_rows_come_back_from_files_and_from_slices() -> None:
    values = np.random.default_rng(1).random((9, 2, 3), dtype=np.float32)
    values[2, 1] = np.nan
    flat = pa.array(values.ravel(), from_pandas=False)
    assert str(rows(values).type) == str(pa.FixedSizeListArray.from_arrays(flat, 6).type)
    table = read_parquet(parquet_bytes({"rows": rows(values), "place": numbers(np.arange(9))}))
    np.testing.assert_array_equal(numbers_of_rows(table["rows"]).reshape(values.shape), values)
    part = pa.concat_tables([table.slice(5, 3), table.slice(0, 2)])
    np.testing.assert_array_equal(numbers_of_rows(part["rows"]).reshape(5, 2, 3), values[[5, 6, 7, 0, 1]])
    np.testing.assert_array_equal(numbers_of(part["place"]), [5, 6, 7, 0, 1])


def test_missing_numbers_and_lists_are_refused() -> None:
    with pytest.raises(TypeError):
        numbers_of(pa.chunked_array([pa.array([1.0, None])]))
    kind = pa.list_(pa.float32(), 2)
    for values in ([[1.0, 2.0], None], [[1.0, None]]):
        with pytest.raises(TypeError):
            numbers_of_rows(pa.chunked_array([pa.array(values, kind)]))
    with pytest.raises(ValueError, match="lists of one length"):
        numbers_of_rows(pa.chunked_array([pa.array([[1.0], []], pa.list_(pa.float32()))]))


def test_files_are_byte_for_byte_those_of_pyarrow() -> None:
    values = np.linspace(0, 1, 24, dtype=np.float32).reshape(4, 6)
    sizes, flags = [2, 0, 1, 3], np.array([True, False, True, True, False, False])
    ours = {
        "name": texts(NAMES[:4]),
        "rows": rows(values),
        "flags": lists(sizes, numbers(flags)),
        "blob": blobs([b"x", b"", b"yz", b"\x00"]),
    }
    theirs = {
        "name": pa.array(NAMES[:4], pa.string()),
        "rows": pa.FixedSizeListArray.from_arrays(pa.array(values.ravel()), 6),
        "flags": pa.array([[True, False], [], [True], [True, False, False]], pa.list_(pa.bool_())),
        "blob": pa.array([b"x", b"", b"yz", b"\x00"], pa.binary()),
    }
    for metadata in (None, {"a": "b"}):
        table = pa.table(theirs) if metadata is None else pa.table(theirs).replace_schema_metadata(metadata)
        content = pa.BufferOutputStream()
        pq.write_table(table, content, compression="zstd", use_dictionary=False)
        made = parquet_bytes(ours, metadata)
        assert made == content.getvalue().to_pybytes()


def test_more_than_offsets_can_state_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrays, "LARGEST", 5)
    assert len(texts(["abc", "de"])) == 2
    with pytest.raises(ValueError, match="at most 5 bytes or values, but got 6"):
        texts(["abc", "def"])


def test_writing_and_reading_scores_imports_neither_pandas_nor_functions_of_arrow() -> None:
    code = """
import sys
import numpy as np
from headroles.records.example import Scores
from headroles.storage.arrow.files import read_parquet
from headroles.storage.scores import examples_bytes, part_bytes, scores_from_tables
values = np.zeros((1, 2, 1, 3), dtype=np.float32)
scores = Scores(("s",), ("a", "b"), ("a", "b"), np.array([3, 4]), np.ones((1, 2)), values, np.ones((1, 2)))
tables = (read_parquet(part_bytes(scores)), read_parquet(examples_bytes(scores)))
assert scores_from_tables(*tables, scores.sieves, (1, 3)).values.shape == values.shape
print([name for name in ("pandas", "pyarrow.compute") if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["[]"]


def test_a_table_without_rows_keeps_the_length_of_its_lists() -> None:
    empty = rows(np.zeros((0, 2, 3), dtype=np.float32))
    assert (len(empty), empty.type.list_size) == (0, 6)
