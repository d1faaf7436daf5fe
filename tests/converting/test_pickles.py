"""The reader of pickles returns plain values and arrays, and refuses everything else without running it."""

import codecs
import collections
import copyreg
import datetime
import functools
import io
import os
import pickle
import re
import struct
import tracemalloc
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from headroles.converting import arrays as known_arrays
from headroles.converting import pickles
from headroles.converting.pickles import read_pickle
from headroles.errors import BadInput

PROTOCOLS = range(6)
NUMBERS = arrays.arrays(
    st.sampled_from(["f2", "f4", "f8", "i1", "u2", ">i4", "<i8", ">f4", "?"]),
    arrays.array_shapes(max_dims=5, max_side=4),
)
PLAIN: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**62), 2**62)
    | st.floats(allow_nan=False)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=9)
    | st.binary(max_size=9),
    lambda inner: (
        st.lists(inner, max_size=5)
        | st.tuples(inner, inner, inner, inner)
        | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"]), max_size=5), inner, max_size=4)
    ),
    max_leaves=12,
)


def _read(data: bytes, folder: Path) -> Any:
    file = folder / "old.pkl"
    file.write_bytes(data)
    return read_pickle(file)


@given(value=PLAIN, protocol=st.sampled_from(PROTOCOLS))
@settings(max_examples=60, deadline=None)
def test_plain_values_of_every_protocol_come_back(
    value: Any, protocol: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    assert _read(pickle.dumps(value, protocol), tmp_path_factory.mktemp("p")) == value


@given(array=NUMBERS, protocol=st.sampled_from(PROTOCOLS), order=st.sampled_from("CF"))
@settings(max_examples=60, deadline=None)
def test_arrays_of_every_protocol_come_back(
    array: np.ndarray, protocol: int, order: Any, tmp_path_factory: pytest.TempPathFactory
) -> None:
    given_array = np.array(array, order=order)
    got = _read(pickle.dumps([given_array, given_array], protocol), tmp_path_factory.mktemp("p"))
    for back in got:
        assert back.dtype == array.dtype
        np.testing.assert_array_equal(back, array)


def test_scalars_of_numpy_are_numbers(tmp_path: Path) -> None:
    assert _read(pickle.dumps([np.float32(0.5), np.int64(7), np.bool_(True)]), tmp_path) == [0.5, 7, True]


@pytest.mark.parametrize("core", ["numpy.core", "numpy._core"])
def test_a_pickle_of_python_2_is_read(core: str, tmp_path: Path) -> None:
    array = np.arange(6, dtype="<f2").reshape(2, 3)
    state = pickle.dumps((1, (2, 3), "DTYPE", False), 2)[2:-1]
    dtype = b"cnumpy\ndtype\nU\x02f2K\x00K\x01\x87R(K\x03U\x01<NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb"
    raw = array.tobytes()
    data = (
        b"\x80\x02]q\x00}q\x01(U\x05attnsq\x02c"
        + core.encode()
        + b".multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85U\x01b\x87R"
        + b"(K\x01K\x02K\x03\x86"
        + dtype
        + b"\x89U"
        + bytes([len(raw)])
        + raw
        + b"tb"
        + b"U\x06tokens]q\x05(X\x02\x00\x00\x00itU\x03caf"
        + b"eua."
    )
    assert state
    (row,) = _read(data, tmp_path)
    np.testing.assert_array_equal(row["attns"], array)
    assert row["tokens"] == ["it", b"caf"]


class Calls:
    """An object whose pickle calls a function with arguments."""

    def __init__(self, function: Callable[..., Any], *given: Any, state: Any = None) -> None:
        """Keep both."""
        self.parts = (function, given) if state is None else (function, given, state)

    def __reduce__(self) -> Any:
        """Return what is called."""
        return self.parts


class Plain:
    """A class of this module."""


MARKER = "headroles-was-here"
RUN = f"open({MARKER!r}, 'w').close()"
ATTACKS: dict[str, Any] = {
    "a command": Calls(os.system, f"touch {MARKER}"),
    "a process": Calls(os.popen, f"touch {MARKER}"),
    "eval": Calls(eval, RUN),
    "exec": Calls(exec, RUN),
    "getattr": Calls(getattr, [], "append"),
    "a file": Calls(open, MARKER, "w"),
    "an import": Calls(__import__, "os"),
    "numpy.load": Calls(np.load, MARKER, None, True),
    "numpy.fromfile": Calls(np.fromfile, MARKER),
    "numpy.memmap": Calls(np.memmap, MARKER, "f4", "w+", 0, (4,)),
    "numpy.zeros": Calls(np.zeros, (10**6,)),
    "a partial": Calls(functools.partial, print),
    "copyreg": Calls(copyreg._reconstructor, Plain, object, None),  # type: ignore[attr-defined]
    "an instance": Plain(),
    "an ordered dictionary": collections.OrderedDict(a=1),
    "a default dictionary": collections.defaultdict(list, a=[1]),
    "a date": datetime.date(2020, 1, 1),
    "a set": {1, 2},
    "a frozen set": frozenset((1,)),
    "a complex number": 1j,
    "an array of objects": np.array([Plain(), [1]], dtype=object),
    "an array of text": np.array(["a", "b"]),
    "an array with fields": np.zeros(2, dtype=[("a", "f4")]),
    "an array of dates": np.array(["2020-01-01"], dtype="M8[D]"),
    "a masked array": np.ma.masked_array([1.0, 2.0], [True, False]),
    "another codec": Calls(codecs.encode, "abc", "rot13"),
    "a bytes codec": Calls(codecs.encode, b"abc", "hex"),
    "a huge number": 10**40,
    "a key that is no text": {1: 2},
    "a nested attack": [{"tokens": ["a"], "attns": np.ones(2), "more": Calls(os.system, f"touch {MARKER}")}],
}


@pytest.mark.parametrize("name", ATTACKS)
@pytest.mark.parametrize("protocol", [0, 2, 4, 5])
def test_anything_else_is_refused_in_a_sentence_and_nothing_runs(
    name: str, protocol: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    data = pickle.dumps(ATTACKS[name], protocol)
    with pytest.raises(BadInput, match=re.escape("and nothing else, but '")) as error:
        _read(data, tmp_path)
    assert "\n" not in str(error.value)
    assert not (tmp_path / MARKER).exists()


RAW: dict[str, bytes] = {
    "empty": b"",
    "no pickle": b"attns",
    "an old instance": b"(ios\nsystem\n.",
    "an object": b"(cos\nsystem\no.",
    "a made object": b"\x80\x02cnumpy\nndarray\n)\x81.",
    "a persistent id": b"Pabc\n.",
    "a binary persistent id": b"K\x01Q.",
    "an extension": b"\x80\x02\x82\x01.",
    "a dotted name": b"\x80\x04\x8c\x05numpy\x8c\x0fndarray.tofile\x93.",
    "a name of builtins": b"cbuiltins\neval\n.",
    "a buffer outside": b"\x80\x05\x97.",
    "a set": b"\x80\x04\x8f.",
    "no mark": b"t.",
    "an empty stack": b".",
    "two values": b"K\x01K\x02.",
    "an open mark": b"(K\x01.",
    "no such number": b"h\x05.",
    "an append to text": b"X\x01\x00\x00\x00aK\x01a.",
    "a list as arguments": b"cnumpy\ndtype\n]R.",
    "a call of a number": b"K\x01)R.",
    "a state of a number": b"K\x01)b.",
    "a state of a name": b"cnumpy\nndarray\n}b.",
    "an array of another class": b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\ndtype\nK\x00\x85U\x01btR.",
    "a line without end": b"I" + b"1" * 100,
    "a long number": b"I" + b"1" * 5000 + b"\n.",
    "bad text": b"X\x02\x00\x00\x00\xff\xfe.",
    "a lone surrogate": b"X\x03\x00\x00\x00\xed\xa0\x80.",
}


@pytest.mark.parametrize("name", RAW)
def test_programs_that_python_does_not_write_are_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="nothing else, but"):
        _read(RAW[name], tmp_path)


BIG = 2**40
BOMBS: dict[str, bytes] = {
    "long text": b"\x80\x04\x8d" + struct.pack("<Q", BIG) + b"a.",
    "long bytes": b"\x80\x04\x8e" + struct.pack("<Q", BIG) + b"a.",
    "a long byte array": b"\x80\x05\x96" + struct.pack("<Q", BIG) + b"a.",
    "a long frame": b"\x80\x04\x95" + struct.pack("<Q", BIG) + b"K\x01.",
    "a negative length": b"T" + struct.pack("<i", -5) + b"a.",
    "a long whole number": b"\x8b" + struct.pack("<i", 2**30) + b"a.",
    "a wide whole number": b"\x8b" + struct.pack("<i", 100_000) + b"\xff" * 100_000 + b".",
}


@pytest.mark.parametrize("name", BOMBS)
def test_stated_sizes_take_no_memory(name: str, tmp_path: Path) -> None:
    tracemalloc.start()
    try:
        if name == "a long frame":
            assert _read(BOMBS[name], tmp_path) == 1  # frames are not read as such
        else:
            with pytest.raises(BadInput, match=r"cut off|more than 8 bytes"):
                _read(BOMBS[name], tmp_path)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 2**24


def test_a_number_to_keep_a_value_under_takes_no_memory(tmp_path: Path) -> None:
    assert _read(b"K\x01r" + struct.pack("<I", 2**32 - 1) + b".", tmp_path) == 1


def _array_program(shape: bytes, raw: bytes) -> bytes:
    dtype = b"cnumpy\ndtype\nU\x02f8K\x00K\x01\x87R(K\x03U\x01<NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb"
    head = b"\x80\x02cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85U\x01b\x87R(K\x01"
    return head + shape + dtype + b"\x89U" + bytes([len(raw)]) + raw + b"tb."


@pytest.mark.parametrize(
    ("shape", "raw"),
    [
        (b"\x8a\x05" + (BIG - 1).to_bytes(5, "little") + b"\x85", b"\0" * 8),
        (b"\x8a\x07" + (2**50).to_bytes(7, "little") + b"K\x00\x86", b""),
        (b"J\xff\xff\xff\xff\x85", b"\0" * 8),
        (b"K\x02\x85", b"\0" * 8),
        (b"NN\x86", b"\0" * 8),
        (b"(" + b"K\x01" * 70 + b"t", b"\0" * 8),
    ],
)
def test_shapes_that_do_not_fit_the_bytes_are_refused(shape: bytes, raw: bytes, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="array"):
        _read(_array_program(shape, raw), tmp_path)


def test_arrays_that_share_bytes_are_refused(tmp_path: Path) -> None:
    raw = np.zeros(1000)
    data = pickle.dumps(raw, 4)
    assert len(_read(data, tmp_path)) == 1000
    body = io.BytesIO()
    pickler = pickle.Pickler(body, 4)
    shared = raw.tobytes()
    parts = [
        Calls(
            np._core.multiarray._reconstruct,  # type: ignore[attr-defined]
            np.ndarray,
            (0,),
            b"b",
            state=(1, (1000,), np.dtype("f8"), False, shared),
        )
        for _ in range(10)
    ]
    pickler.dump(parts)
    with pytest.raises(BadInput, match="share their bytes"):
        _read(body.getvalue(), tmp_path)


def test_too_many_steps_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pickles, "MOST_STEPS", 100)
    with pytest.raises(BadInput, match="more than 100 steps"):
        _read(b"(" + b"]" * 200 + b"l.", tmp_path)


def test_a_deep_pickle_is_read_without_recursion(tmp_path: Path) -> None:
    value = _read(b"]" * 100_000 + b"a" * 99_999 + b".", tmp_path)
    assert isinstance(value, list)
    while value:  # taken apart from above
        (value,) = value


@given(data=st.binary(max_size=60))
@settings(max_examples=100, deadline=None)
def test_random_bytes_give_a_value_or_a_sentence(
    data: bytes, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with suppress(BadInput):  # anything else is an error of the reader
        _read(data, tmp_path_factory.mktemp("p"))


@given(place=st.integers(0, 400), value=st.integers(0, 255), protocol=st.sampled_from(PROTOCOLS))
@settings(max_examples=150, deadline=None)
def test_altered_and_truncated_pickles_give_a_value_or_a_sentence(
    place: int, value: int, protocol: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    whole = pickle.dumps(
        [{"tokens": ["it", "rains"], "attns": np.ones((1, 2, 2, 2), "f2"), "n": 3}], protocol
    )
    folder = tmp_path_factory.mktemp("p")
    at = place % len(whole)
    for data in (whole[:at], whole[:at] + bytes([value]) + whole[at + 1 :]):
        with suppress(BadInput):  # anything else is an error of the reader
            _read(data, folder)


def test_the_reader_imports_no_pickle_module() -> None:
    for module in (pickles, known_arrays):
        text = Path(str(module.__file__)).read_text()
        assert not re.search(
            r"^\s*(import|from) +(pickle|marshal|shelve|dill|joblib|importlib)\b", text, re.M
        )


def test_a_missing_file_and_a_folder_are_refused(tmp_path: Path) -> None:
    for path in (tmp_path / "none.pkl", tmp_path):
        with pytest.raises(BadInput, match="cannot be read"):
            read_pickle(path)


def test_a_large_array_is_a_view_of_the_file(tmp_path: Path) -> None:
    file = tmp_path / "old.pkl"
    file.write_bytes(pickle.dumps([np.ones(2**20, "f4")], 4))
    tracemalloc.start()
    try:
        (array,) = read_pickle(file)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert array.sum() == 2**20
    assert peak < 2**20
    assert not array.flags.writeable
