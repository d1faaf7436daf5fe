"""Archives of arrays: equal bytes for equal records, and back without pickle, checked by annotations."""

import io
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from jaxtyping import Float, Int

from headroles.errors import BadInput
from headroles.records.arrays import seal_arrays
from headroles.storage.archive import archive_bytes, arrays_of, read_archive, record_of


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


def _grid() -> Grid:
    return Grid(
        ("a", "b\u0301"), "mean", 0.1, np.ones((2, 3), np.float32), np.arange(2), np.zeros((3, 2)), {}
    )


@pytest.mark.parametrize("compressed", [True, False])
def test_a_record_comes_back_and_equal_records_give_equal_bytes(compressed: bool) -> None:
    content = archive_bytes(arrays_of(_grid()), compressed=compressed)
    assert content == archive_bytes(arrays_of(_grid()), compressed=compressed)
    arrays = read_archive(content, "grid.npz")
    back = record_of(Grid, arrays, notes={"told": "apart"})
    assert (back.names, back.way, back.share, back.notes) == (
        ("a", "b\u0301"),
        "mean",
        0.1,
        {"told": "apart"},
    )
    np.testing.assert_array_equal(back.values, _grid().values)
    assert back.values.dtype == np.float32
    assert not back.count.flags.writeable


@pytest.mark.parametrize(
    ("name", "change", "told"),
    [
        ("values", lambda array: array[:1], "'values' as floats of shape (2, 3), but got float32 of"),
        ("values", lambda array: array[0], "'values' as floats of shape (2, columns), but got float32"),
        ("values", lambda array: array.astype(int), "'values' as floats of shape (2, 3), but got int64"),
        ("count", lambda array: array.astype(float), "'count' as whole numbers of shape (2,)"),
        ("pairs", lambda array: array[:2], "'pairs' as floats of shape (3, 2), but got float64 of"),
        ("pairs", lambda array: array[:, :1], "'pairs' as floats of shape (3, 2)"),
    ],
)  # fmt: skip
def test_an_axis_has_one_length_in_all_arrays_of_a_record(
    name: str, change: Callable[[np.ndarray], np.ndarray], told: str
) -> None:
    arrays = arrays_of(_grid())
    with pytest.raises(BadInput) as caught:
        record_of(Grid, arrays | {name: change(arrays[name])}, notes={})
    assert told in str(caught.value)


def test_an_array_that_is_missing_is_named() -> None:
    arrays = arrays_of(_grid(), leave_out=("pairs",))
    with pytest.raises(KeyError, match="pairs"):
        record_of(Grid, arrays, notes={})
    with pytest.raises(ValueError, match="could not convert"):
        record_of(Grid, arrays | {"share": np.array("much")}, notes={})


def _saved(array: np.ndarray, *, archive: bool) -> bytes:
    content = io.BytesIO()
    if archive:
        np.savez(content, values=array)
    else:
        np.save(content, array)
    return content.getvalue()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"PK\x03\x04 torn",
        b"\x80\x04N.",
        archive_bytes(arrays_of(_grid()))[:-30],
        _saved(np.ones(2), archive=False),
        _saved(np.array([{"a"}], dtype=object), archive=True),
        _saved(np.array([{"a"}], dtype=object), archive=False),
    ],
)
def test_a_file_that_is_no_archive_of_numbers_is_refused_and_nothing_in_it_is_run(content: bytes) -> None:
    with pytest.raises(ValueError, match=r"no archive of arrays|allow_pickle|pickled"):
        read_archive(content, "grid.npz")


def test_objects_are_never_written() -> None:
    with pytest.raises(ValueError, match="pickle"):
        archive_bytes({"values": np.array([{"a"}], dtype=object)})
