"""Archives and tables of Arrow: equal bytes for equal records, those of pyarrow, and back without pickle."""

import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from jaxtyping import Float, Int

from headroles import storage
from headroles.errors import BadInput
from headroles.records import SWAPS, seal_arrays
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


def test_a_record_comes_back_and_equal_records_give_equal_bytes() -> None:
    for compressed in (True, False):
        content = storage.archive_bytes(storage.arrays_of(grid()), compressed=compressed)
        assert content == storage.archive_bytes(storage.arrays_of(grid()), compressed=compressed)
        back = storage.record_of(Grid, storage.read_archive(content, "grid.npz"), notes={})
        assert_same(back, grid())
        assert not back.count.flags.writeable
    with pytest.raises(KeyError, match="pairs"):
        storage.record_of(Grid, storage.arrays_of(grid(), leave_out=("pairs",)), notes={})


def test_an_axis_has_one_length_in_all_arrays_of_a_record() -> None:
    arrays = storage.arrays_of(grid())
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
            storage.record_of(Grid, arrays | change, notes={})
        assert told in str(caught.value)


def test_a_file_that_is_no_archive_of_numbers_is_refused_and_nothing_in_it_is_run() -> None:
    objects: Any = np.array([{"a"}], dtype=object)
    whole, one, pickled = storage.archive_bytes(storage.arrays_of(grid())), io.BytesIO(), io.BytesIO()
    np.save(one, np.ones(2))
    np.savez(pickled, values=objects)
    for content in (b"", b"PK\x03\x04 torn", b"\x80\x04N.", whole[:-30], one.getvalue(), pickled.getvalue()):
        with pytest.raises(ValueError, match=r"no archive of arrays|allow_pickle|pickled"):
            storage.read_archive(content, "grid.npz")
    with pytest.raises(ValueError, match="pickle"):
        storage.archive_bytes({"values": objects})


def test_files_are_byte_for_byte_those_of_pyarrow_and_rows_come_back() -> None:
    values = np.linspace(0, 1, 24, dtype=np.float32).reshape(4, 6)
    values[2, 1] = np.nan
    flags = np.array([True, False, True, True, False, False])
    blob, every_other = [b"x", b"", b"yz", b"\x00"], np.arange(8, dtype=np.int32)[::2]
    ours = {
        "name": storage.texts(NAMES[:4]),
        "rows": storage.rows(values),
        "flags": storage.lists([2, 0, 1, 3], storage.numbers(flags)),
        "blob": storage.blobs(blob),
        "place": storage.numbers(every_other),
    }
    theirs = {
        "name": pa.array(NAMES[:4], pa.string()),
        "rows": pa.FixedSizeListArray.from_arrays(pa.array(values.ravel(), from_pandas=False), 6),
        "flags": pa.array([[True, False], [], [True], [True, False, False]], pa.list_(pa.bool_())),
        "blob": pa.array(blob, pa.binary()),
        "place": pa.array(every_other),
    }
    for metadata in (None, {"a": "b"}):
        table = pa.table(theirs) if metadata is None else pa.table(theirs).replace_schema_metadata(metadata)
        content = pa.BufferOutputStream()
        pq.write_table(table, content, compression="zstd", use_dictionary=False)
        assert storage.parquet_bytes(ours, metadata) == content.getvalue().to_pybytes()
    read = storage.read_parquet(storage.parquet_bytes(ours))
    part = pa.concat_tables([read.slice(2, 2), read.slice(0, 1)])
    np.testing.assert_array_equal(storage.numbers_of_rows(part["rows"]).reshape(3, 6), values[[2, 3, 0]])
    np.testing.assert_array_equal(storage.numbers_of(part["place"]), [4, 6, 0])
    assert len(storage.rows(np.zeros((0, 2, 3), dtype=np.float32))) == 0


def test_a_table_without_rows_still_has_its_columns(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(SWAPS.csv())
    assert len(storage.read_table(SWAPS, tmp_path / "a.csv")) == 0
    (tmp_path / "a.csv").write_text("x\n")
    with pytest.raises(KeyError, match="sieve"):
        storage.read_table(SWAPS, tmp_path / "a.csv")
