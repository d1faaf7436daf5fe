"""Read a pickle of plain values and arrays of numbers, without running anything in it: ``read_pickle()``.

A pickle is a program for a small stack machine. The reader of Python calls whatever function that program
names. This one is a machine of its own: it imports nothing, and calls nothing that the file names. It knows
the few names by which numpy writes arrays, and builds the arrays itself (``arrays.py``).
"""

import mmap
import os
import pickletools
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

from headroles.converting.arrays import KNOWN, Name, Unfinished, call_name
from headroles.errors import BadInput, shorten

MOST_STEPS = 20_000_000
"""Most steps of the program; 36,000 parsed sentences with their words take 8 million."""
WIDEST = 8
"""Bytes of the longest whole number."""
LONGEST_LINE = 1_000
"""Bytes of the longest line that holds a name or a number."""
OPERATIONS = {operation.code: operation for operation in pickletools.opcodes}
"""Steps of the machine of Python, by their character."""
LENGTHS = {-2: "<B", -3: "<i", -4: "<I", -5: "<Q"}
"""Layout of the length before an argument, by its kind in ``pickletools``."""
CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}
PUTS = {"PUT", "BINPUT", "LONG_BINPUT"}
GETS = {"GET", "BINGET", "LONG_BINGET"}
TEXTS = {"SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8"}
BYTES = {
    "SHORT_BINBYTES", "BINBYTES", "BINBYTES8", "BYTEARRAY8", "SHORT_BINSTRING", "BINSTRING",
}  # fmt: skip
"""Bytes, and the strings of Python 2, which may hold text or the numbers of an array."""


class Refusal(Exception):
    """Why a file is not read, as the middle of a sentence."""


def read_pickle(path: Path) -> Any:
    """Return what a pickle holds: arrays of numbers, dictionaries, lists, tuples, text, bytes and numbers.

    Pickles of all protocols (0 to 5) can be read, also those of Python 2 and of any version of numpy. Arrays
    are views of the file, which stays mapped while they are used, so a large file takes little memory.

    Args:
        path: The file.

    Returns:
        Lists, tuples and dictionaries with text as keys; None, truth values, whole numbers of at most 8
        bytes, floats, text and bytes; arrays of truth values, whole numbers and floats. Strings of Python 2
        are bytes.

    Raises:
        BadInput: When the file is missing, cut off or no pickle, or holds anything else.
    """
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            if not size:
                raise Refusal("it is empty")
            return _Machine(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)).run()
    except OSError as error:
        raise BadInput(f"'{path}' cannot be read ({error.strerror or error}); name a file") from error
    except Refusal as refusal:
        raise BadInput(
            f"a pickle is read that holds arrays of numbers, dictionaries, lists, texts and numbers and "
            f"nothing else, but '{path}' is refused: {refusal}"
        ) from refusal


class _Machine:
    """The stack machine of one file.

    Attributes:
        stack: Values of the innermost open mark.
    """

    def __init__(self, file: mmap.mmap) -> None:
        """Start before the first step of a file."""
        self._file, self._view, self._place = file, memoryview(file), 0
        self._marks: list[list[Any]] = []
        self._memo: dict[int, Any] = {}
        self._bytes_of_arrays = 0
        self.stack: list[Any] = []

    def run(self) -> Any:
        """Take all steps, and return the value at the end.

        Raises:
            Refusal: For a step that is not allowed, or a program that does not end well.
        """
        for _ in range(MOST_STEPS):
            name, argument = self._step()
            if name == "STOP":
                break
            try:
                self._do(name, argument)
            except (IndexError, TypeError, ValueError, KeyError, OverflowError, struct.error) as error:
                raise Refusal(f"it is damaged at byte {self._place:,}") from error
        else:
            raise Refusal(f"it takes more than {MOST_STEPS:,} steps")
        if len(self.stack) != 1 or self._marks:
            raise Refusal("it does not end with one value")
        return self.stack[0]

    def _step(self) -> tuple[str, memoryview]:
        """Return the name of the next step, and the bytes of its argument."""
        operation = OPERATIONS.get(chr(self._read(1)[0]))
        if operation is None:
            raise Refusal("it is no pickle" if self._place == 1 else f"it is damaged at byte {self._place:,}")
        if operation.name not in STEPS:
            raise Refusal(f"it takes the step {operation.name}, which plain values do not need")
        if operation.arg is None:
            return operation.name, memoryview(b"")
        kind = operation.arg.n
        if kind >= 0:
            return operation.name, self._read(kind)
        if kind in LENGTHS:
            layout = LENGTHS[kind]
            (length,) = struct.unpack(layout, self._read(struct.calcsize(layout)))
            return operation.name, self._read(length)
        return operation.name, self._line(lines=2 if operation.name == "GLOBAL" else 1)

    def _read(self, length: int) -> memoryview:
        """Return the next bytes."""
        if not 0 <= length <= len(self._view) - self._place:
            raise Refusal("it is cut off, or states a length beyond its end")
        start, self._place = self._place, self._place + length
        return self._view[start : self._place]

    def _line(self, lines: int) -> memoryview:
        """Return the next lines, without the last line end."""
        start = end = self._place
        for _ in range(lines):
            end = self._file.find(b"\n", end) + 1
            if not end:
                raise Refusal("it is cut off")
        self._place = end
        return self._view[start : end - 1]

    def _do(self, name: str, argument: memoryview) -> None:
        """Take one step."""
        stack = self.stack
        if name in CONSTANTS:
            stack.append(CONSTANTS[name])
        elif name in TEXTS:
            stack.append(str(argument, "utf-8"))
        elif name in BYTES:
            stack.append(argument.toreadonly() if len(argument) > LONGEST_LINE else bytes(argument))
        elif name in GETS:
            stack.append(self._memo[_number(name, argument)])
        elif name in PUTS:
            self._keep(_number(name, argument))
        elif name == "MEMOIZE":
            self._keep(len(self._memo))
        elif name in SIMPLE:
            SIMPLE[name](self, argument)
        elif name in ARGUMENTS:
            stack.append(ARGUMENTS[name](argument))

    def _keep(self, number: int) -> None:
        """Keep the top of the stack under a number."""
        value = self.stack[-1]
        self._memo[number] = value
        if isinstance(value, Unfinished):
            value.places.append(number)

    def mark(self, _: memoryview) -> None:
        """Open a mark."""
        self._marks.append(self.stack)
        self.stack = []

    def close(self) -> list[Any]:
        """Close the innermost mark, and return its values."""
        values, self.stack = self.stack, self._marks.pop()
        return values

    def pop(self, _: memoryview) -> None:
        """Drop the top of the stack, or an open mark."""
        if self.stack:
            self.stack.pop()
        else:
            self.close()

    def extend(self, values: list[Any]) -> None:
        """Add values to the list on top."""
        target = self.stack[-1]
        if type(target) is not list:
            raise TypeError
        target.extend(values)

    def fill(self, values: list[Any]) -> None:
        """Set items of the dictionary on top."""
        target = self.stack[-1]
        if type(target) is not dict or len(values) % 2:
            raise TypeError
        for key, value in zip(values[::2], values[1::2], strict=True):
            target[_key(key)] = value

    def take_name(self, _: memoryview) -> None:
        """Replace a module and a name on the stack by the name that they give."""
        name, module = self.stack.pop(), self.stack.pop()
        self.stack.append(_known(module, name))

    def call(self, _: memoryview) -> None:
        """Replace a known name and its arguments by what it stands for."""
        given, name = self.stack.pop(), self.stack.pop()
        if not isinstance(name, Name) or type(given) is not tuple:
            raise Refusal(f"it calls {shorten(name)}, which is no known name")
        try:
            self.stack.append(self._counted(call_name(name, given)))
        except ValueError as error:
            raise Refusal(f"{error}") from error

    def build(self, _: memoryview) -> None:
        """Give the unfinished array or type below the top its content, and put it in its place."""
        state, target = self.stack.pop(), self.stack[-1]
        if not isinstance(target, Unfinished) or type(state) is not tuple:
            raise Refusal("it sets the state of something that is no array")
        try:
            value = self._counted(target.build(state))
        except ValueError as error:
            raise Refusal(f"{error}") from error
        self.stack[-1] = value
        for number in target.places:
            if self._memo.get(number) is target:
                self._memo[number] = value

    def _counted(self, value: Any) -> Any:
        """Return a value, after checking that all arrays together hold no more bytes than the file."""
        self._bytes_of_arrays += getattr(value, "nbytes", 0)
        if self._bytes_of_arrays > len(self._view):
            raise Refusal("its arrays share their bytes, so that they hold more of them than the file")
        return value


def _known(module: Any, name: Any) -> Name:
    """Return a known name.

    Raises:
        Refusal: For any other.
    """
    if not isinstance(module, str) or not isinstance(name, str) or (module, name) not in KNOWN:
        raise Refusal(f"it names {shorten(f'{module}.{name}')}")
    return Name(module, name)


def _line_text(argument: memoryview) -> str:
    """Return a line as ASCII text."""
    if len(argument) > LONGEST_LINE:
        raise ValueError
    return str(argument, "ascii")


def _number(name: str, argument: memoryview) -> int:
    """Return the number under which a value is kept."""
    if name in ("PUT", "GET"):
        return int(_line_text(argument))
    return int.from_bytes(argument, "little")


def _key(key: Any) -> str:
    """Return a key of a dictionary as text."""
    text = str(key, "utf-8") if isinstance(key, bytes) else key
    if type(text) is not str:
        raise Refusal("a dictionary has a key that is no text")
    return text


def _whole(value: int) -> int:
    """Return a whole number of usual size."""
    if value.bit_length() >= 8 * WIDEST:
        raise Refusal(f"it holds a whole number of more than {WIDEST} bytes")
    return value


def _old_whole(argument: memoryview) -> bool | int:
    """Return a whole number of protocol 0; "00" and "01" are truth values."""
    text = _line_text(argument)
    return text == "01" if text in ("00", "01") else _whole(int(text.removesuffix("L")))


def _old_string(argument: memoryview) -> bytes:
    """Return a quoted string of protocol 0."""
    text = bytes(argument).strip()
    if len(text) < 2 or text[:1] not in (b"'", b'"') or text[-1:] != text[:1]:
        raise ValueError
    return text[1:-1].decode("unicode_escape").encode("latin-1")


def _long(argument: memoryview) -> int:
    """Return a whole number as bytes, least first."""
    return _whole(int.from_bytes(argument[: WIDEST + 1], "little", signed=True)) if len(argument) else 0


ARGUMENTS: dict[str, Callable[[memoryview], Any]] = {
    "INT": _old_whole,
    "LONG": _old_whole,
    "LONG1": lambda given: _long(given) if len(given) <= WIDEST else _whole(1 << 99),
    "LONG4": lambda given: _long(given) if len(given) <= WIDEST else _whole(1 << 99),
    "BININT": lambda given: struct.unpack("<i", given)[0],
    "BININT1": lambda given: given[0],
    "BININT2": lambda given: struct.unpack("<H", given)[0],
    "FLOAT": lambda given: float(_line_text(given)),
    "BINFLOAT": lambda given: struct.unpack(">d", given)[0],
    "STRING": _old_string,
    "UNICODE": lambda given: str(given, "raw-unicode-escape"),
    "EMPTY_LIST": lambda _: [],
    "EMPTY_TUPLE": lambda _: (),
    "EMPTY_DICT": lambda _: {},
    "GLOBAL": lambda given: _known(*_line_pair(given)),
}
"""Steps that put one value on the stack, made from their argument."""


def _line_pair(argument: memoryview) -> list[str]:
    """Return the two lines of a name."""
    if len(argument) > LONGEST_LINE:
        raise ValueError
    module, name = str(argument, "utf-8").split("\n")
    return [module, name]


def _tuple_of(count: int) -> Callable[[_Machine, memoryview], None]:
    """Return the step that makes a tuple of the last values."""

    def make(machine: _Machine, _: memoryview) -> None:
        values = machine.stack[-count:]
        if len(values) != count:
            raise IndexError
        machine.stack[-count:] = [tuple(values)]

    return make


def _append(machine: _Machine, _: memoryview) -> None:
    value = machine.stack.pop()
    machine.extend([value])


def _appends(machine: _Machine, _: memoryview) -> None:
    machine.extend(machine.close())


def _set_item(machine: _Machine, _: memoryview) -> None:
    value, key = machine.stack.pop(), machine.stack.pop()
    machine.fill([key, value])


def _set_items(machine: _Machine, _: memoryview) -> None:
    machine.fill(machine.close())


def _list(machine: _Machine, _: memoryview) -> None:
    values = machine.close()
    machine.stack.append(values)


def _tuple(machine: _Machine, _: memoryview) -> None:
    values = machine.close()
    machine.stack.append(tuple(values))


def _dict(machine: _Machine, _: memoryview) -> None:
    values = machine.close()
    machine.stack.append({})
    machine.fill(values)


def _pop_mark(machine: _Machine, _: memoryview) -> None:
    machine.close()


def _nothing(machine: _Machine, _: memoryview) -> None:
    """Do nothing: the step says how the file is cut into frames, or which protocol it has."""


SIMPLE: dict[str, Callable[[_Machine, memoryview], None]] = {
    "PROTO": _nothing,
    "FRAME": _nothing,
    "MARK": _Machine.mark,
    "POP": _Machine.pop,
    "POP_MARK": _pop_mark,
    "LIST": _list,
    "TUPLE": _tuple,
    "DICT": _dict,
    "TUPLE1": _tuple_of(1),
    "TUPLE2": _tuple_of(2),
    "TUPLE3": _tuple_of(3),
    "APPEND": _append,
    "APPENDS": _appends,
    "SETITEM": _set_item,
    "SETITEMS": _set_items,
    "STACK_GLOBAL": _Machine.take_name,
    "REDUCE": _Machine.call,
    "BUILD": _Machine.build,
}
"""Steps that change the stack."""
STEPS = {"STOP", "MEMOIZE", *CONSTANTS, *TEXTS, *BYTES, *PUTS, *GETS, *ARGUMENTS, *SIMPLE}
"""All steps that are allowed."""
