"""Archives and tables of Arrow: equal bytes for equal records, those of pyarrow, and back without pickle."""

import io
import sys
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from jaxtyping import Float, Int

from headroles.errors import BadInput
from headroles.records import seal_arrays
from headroles.storage import (
    archive_bytes,
    arrays_of,
    blobs,
    lists,
    numbers,
    numbers_of,
    numbers_of_rows,
    parquet_bytes,
    read_archive,
    read_parquet,
    record_of,
    rows,
    texts,
)
from tests.support.folders import assert_same

NAMES = ["", "a", "Größe", "👩‍🚀", "a" * 1000, "\x00"]


@dataclass(frozen=True, slots=True, eq=False)
class Grid:
    """A record with all types of fields."""

    names: tuple[str, ...]
    way: str
    share: float
    values: Float[np.ndarray, "rows columns"]
    count: Int[np.ndarray, " rows"]
    pairs: Float[np.ndarray, "columns 2"]
    notes: dict[str, str]

    def __post_init__(self) -> None:
        """Check the arrays."""
        seal_arrays(self, "grids", {"rows": len(self.names)})


def grid() -> Grid:
    """Return a record."""
    values = np.ones((2, 3), np.float32)
    return Grid(("a", "b\u0301"), "mean", 0.1, values, np.arange(2), np.zeros((3, 2)), {})


@pytest.mark.parametrize("compressed", [True, False])
def test_a_record_comes_back_and_equal_records_give_equal_bytes(compressed: bool) -> None:
    content = archive_bytes(arrays_of(grid()), compressed=compressed)
    assert content == archive_bytes(arrays_of(grid()), compressed=compressed)
    back = record_of(Grid, read_archive(content, "grid.npz"), notes={})
    assert_same(back, grid())
    assert not back.count.flags.writeable
    with pytest.raises(KeyError, match="pairs"):
        record_of(Grid, arrays_of(grid(), leave_out=("pairs",)), notes={})


def test_an_axis_has_one_length_in_all_arrays_of_a_record() -> None:
    arrays = arrays_of(grid())
    values, count, pairs = (arrays[name] for name in ("values", "count", "pairs"))
    for change, told in (
        ({"values": values[:1]}, "'values' as floats of shape (2, 3), but got float32 of"),
        ({"values": values[0]}, "'values' as floats of shape (2, columns), but got float32"),
        ({"values": values.astype(int)}, "'values' as floats of shape (2, 3), but got int64"),
        ({"count": count.astype(float)}, "'count' as whole numbers of shape (2,)"),
        ({"pairs": pairs[:2]}, "'pairs' as floats of shape (3, 2), but got float64 of"),
        ({"pairs": pairs[:, :1]}, "'pairs' as floats of shape (3, 2)"),
    ):
        with pytest.raises(BadInput) as caught:
            record_of(Grid, arrays | change, notes={})
        assert told in str(caught.value)


def test_a_file_that_is_no_archive_of_numbers_is_refused_and_nothing_in_it_is_run() -> None:
    objects: Any = np.array([{"a"}], dtype=object)
    whole, one, pickled = archive_bytes(arrays_of(grid())), io.BytesIO(), io.BytesIO()
    np.save(one, np.ones(2))
    np.savez(pickled, values=objects)
    for content in (b"", b"PK\x03\x04 torn", b"\x80\x04N.", whole[:-30], one.getvalue(), pickled.getvalue()):
        with pytest.raises(ValueError, match=r"no archive of arrays|allow_pickle|pickled"):
            read_archive(content, "grid.npz")
    with pytest.raises(ValueError, match="pickle"):
        archive_bytes({"values": objects})


@pytest.mark.parametrize("kind", [np.int32, np.int64, np.float32, np.float64, np.uint8, np.bool_])
def test_numbers_are_those_of_pyarrow(kind: type) -> None:
    for count in (0, 1, 7, 8, 9, 1000):
        values: np.ndarray = np.random.default_rng(count).integers(0, 2, count).astype(kind)
        if kind in (np.float32, np.float64):
            values[::3] = np.nan
        ours, theirs = numbers(values), pa.array(values, from_pandas=False)
        assert (ours.type, ours.null_count) == (theirs.type, 0)
        np.testing.assert_array_equal(ours.to_numpy(zero_copy_only=False), values)
        assert kind in (np.float32, np.float64) or ours.equals(theirs)
    assert numbers(np.arange(10, dtype=np.int32)[::2]).to_pylist() == [0, 2, 4, 6, 8]


@pytest.mark.parametrize("values", [[], NAMES, NAMES[:1]])
def test_texts_blobs_and_lists_are_those_of_pyarrow(values: list[str]) -> None:
    encoded = [value.encode() for value in values]
    nested = [values, [], values[::-1]]
    ours = lists([len(part) for part in nested], texts([value for part in nested for value in part]))
    assert texts(values).equals(pa.array(values, pa.string()))
    assert blobs(encoded).equals(pa.array(encoded, pa.binary()))
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
    empty = rows(np.zeros((0, 2, 3), dtype=np.float32))
    assert (len(empty), empty.type.list_size) == (0, 6)


def test_missing_numbers_and_too_long_columns_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(TypeError):
        numbers_of(pa.chunked_array([pa.array([1.0, None])]))
    for values in ([[1.0, 2.0], None], [[1.0, None]]):
        with pytest.raises(TypeError):
            numbers_of_rows(pa.chunked_array([pa.array(values, pa.list_(pa.float32(), 2))]))
    with pytest.raises(ValueError, match="lists of one length"):
        numbers_of_rows(pa.chunked_array([pa.array([[1.0], []], pa.list_(pa.float32()))]))
    monkeypatch.setattr(sys.modules[texts.__module__], "LARGEST", 5)
    assert len(texts(["abc", "de"])) == 2
    with pytest.raises(ValueError, match="at most 5 bytes or values, but got 6"):
        texts(["abc", "def"])


def test_files_are_byte_for_byte_those_of_pyarrow() -> None:
    values = np.linspace(0, 1, 24, dtype=np.float32).reshape(4, 6)
    flags = np.array([True, False, True, True, False, False])
    blob = [b"x", b"", b"yz", b"\x00"]
    ours = {"name": texts(NAMES[:4]), "rows": rows(values), "flags": lists([2, 0, 1, 3], numbers(flags))}
    theirs = {
        "name": pa.array(NAMES[:4], pa.string()),
        "rows": pa.FixedSizeListArray.from_arrays(pa.array(values.ravel()), 6),
        "flags": pa.array([[True, False], [], [True], [True, False, False]], pa.list_(pa.bool_())),
        "blob": pa.array(blob, pa.binary()),
    }
    for metadata in (None, {"a": "b"}):
        table = pa.table(theirs) if metadata is None else pa.table(theirs).replace_schema_metadata(metadata)
        content = pa.BufferOutputStream()
        pq.write_table(table, content, compression="zstd", use_dictionary=False)
        assert parquet_bytes(ours | {"blob": blobs(blob)}, metadata) == content.getvalue().to_pybytes()
