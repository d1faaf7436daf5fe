"""Mutated files and arguments: each is used, or refused in one sentence."""

import contextlib
import os
import random
import re
import shutil
import signal
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from tests.faults.functions import HUGE, Function, functions, mutate_arguments
from tests.faults.parallel import do_in_forks
from tests.faults.parsers import Parser, parsers

BATCH = 400
"""Inputs of the fastest parser that are read in one go."""
SLOW = 20
"""Seconds after which reading a small input counts as endless."""
INSERTS = (
    HUGE.encode(), b"-" + HUGE.encode(), b"0" * 5000, b"1e999", b"NaN", b"-1", b"1.5", b"\0", b"\r", b"\n\n",
    b"\t", b"\t\t\t", b" ", b"\xff\xfe", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"\\ud800", b"\\u0000",
    "\u202e\u2028\x85".encode(), b"\x1b[31m", b"[" * 3000, b'{"a":' * 2000, b"(" * 3000, b"null", b"true",
    b'"', b"[]", b"{}", b"(1", b"1)", b"|", b"#", b"# newdoc id = ", b"#begin document (x); part 0",
    b"x" * 70000, b"1-2", b"1.1", "é😀".encode(), b"_", b"/../../x", b",",
)  # fmt: skip
NUMBER, FIELD = re.compile(rb"-?\d+(?:\.\d+)?"), re.compile(rb'[^\t\n {}\[\],":]+')
COUNTS = (
    b"0", b"-1", b"1", b"7", b"999999999", b"9223372036854775808", HUGE.encode(), b"0.5", b"1e5", b"null"
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Outcome:
    """Inputs of one target that were tried.

    Attributes:
        target: Name of the parser or function.
        tried: Number of inputs.
        used: Number of inputs that were not refused.
        faults: What was wrong with others.
    """

    target: str
    tried: int
    used: int
    faults: tuple[str, ...]


def mutate(data: bytes, others: Sequence[bytes], chance: random.Random) -> bytes:
    """Return the bytes of a file after one to four random changes."""
    for _ in range(chance.choice((1, 1, 1, 2, 2, 3, 4))):
        start, stop = sorted(chance.randint(0, len(data)) for _ in range(2))
        stop = min(stop, start + chance.choice((1, 1, 4, 30, 1000)))
        how = chance.randrange(10)
        if how == 0 and data:
            place = chance.randrange(len(data))
            data = data[:place] + bytes([data[place] ^ 1 << chance.randrange(8)]) + data[place + 1 :]
        elif how == 1:
            data = data[:start] + data[stop:]
        elif how == 2:
            data = data[:stop] + data[start:stop] * chance.choice((1, 2, 50)) + data[stop:]
        elif how == 3:
            other = chance.choice(others)
            cut = chance.randint(0, len(other))
            data = data[:start] + other[cut : cut + chance.choice((5, 50, 5000))] + data[stop:]
        elif how in (4, 5):
            data = data[:start] + chance.choice(INSERTS) + data[start:]
        elif how == 6:
            lines = data.splitlines(keepends=True) or [b""]
            first, second = (chance.randrange(len(lines)) for _ in range(2))
            lines[first], lines[second] = lines[second], chance.choice((lines[first], b"\n"))
            data = b"".join(lines)
        else:
            pattern, values = ((NUMBER, COUNTS), (FIELD, INSERTS), (NUMBER, INSERTS))[how - 7]
            found = list(pattern.finditer(data))
            if found:
                match = chance.choice(found)
                data = data[: match.start()] + chance.choice(values) + data[match.end() :]
    return data


def size_of(target: Parser | Function, count: int, targets: int) -> int:
    """Return the number of inputs of a batch, at most twice its share of the wanted number."""
    return max(1, min(BATCH // target.cost, 2 * count // targets))


@cache
def _targets(work: Path) -> tuple[Parser | Function, ...]:
    return (*parsers(work), *functions(work))


def do_mutations(
    work: Path, count: int, seed: int, jobs: int, until: float, save: Path | None
) -> list[Outcome]:
    """Try about so many mutated inputs in forks until a time; inputs with faults are saved.

    Args:
        work: Folder with ``inputs/model`` and ``finished/label/run``.
        count: Number of inputs.
        seed: Seed of the mutations.
        jobs: Number of forks.
        until: Time of ``time.monotonic`` after which no batch is begun.
        save: Folder for inputs with faults; None saves none.
    """

    def act(batch: tuple[int, int]) -> Outcome:
        place = _own_place(work)
        target = _targets(place)[batch[0]]
        chance = random.Random(f"{seed} {target.name} {batch[1]}")
        tried, used, faults = size_of(target, count, len(_targets(work))), 0, list[str]()
        for number in range(tried):
            given, fault = _try(target, place, chance)
            used += fault == ""
            if fault:
                faults.append(f"{target.name}: {fault}")
                if save is not None:
                    _save(save / f"{target.name.replace(' ', '-')}-{seed}-{batch[1]}-{number}", given, fault)
        return Outcome(target.name, tried, used, tuple(faults))

    targets = _targets(work)
    rounds = -(-count // sum(size_of(target, count, len(targets)) for target in targets))
    batches = [(number, turn) for turn in range(rounds) for number in range(len(targets))]
    return do_in_forks(act, batches, jobs, until)


def _own_place(work: Path) -> Path:
    """Return the folder of this fork with a run of its own, and be silent in it."""
    place = work / "mutated" / str(os.getpid())
    if not place.exists():
        shutil.copytree(work / "finished" / "label" / "run", place / "finished" / "label" / "run")
        shutil.copytree(work / "finished" / "label" / "run", place / "run")
        (place / "inputs").mkdir()
        (place / "inputs" / "model").symlink_to(work / "inputs" / "model")
        os.environ["HF_HUB_OFFLINE"] = "1"
        signal.signal(signal.SIGALRM, _stop)
    os.chdir(place)
    return place


def _stop(number: int, frame: object) -> None:
    raise TimeoutError(f"not done after {SLOW} s")


def _try(target: Parser | Function, place: Path, chance: random.Random) -> tuple[bytes, str | None]:
    """Try one input; gives it, and its fault: "" where it was used, None where it was refused well."""
    from headroles.errors import HeadrolesError

    given: bytes
    try:
        with _silence():
            signal.alarm(SLOW)
            if isinstance(target, Parser):
                given = mutate(chance.choice(target.seeds), target.seeds, chance)
                file = place / target.file
                file.write_bytes(given)
                target.read(file)
            else:
                arguments = mutate_arguments(target, chance)
                given = _as_text(arguments)
                target.call(**arguments)
        return given, ""
    except HeadrolesError as error:
        text = str(error)
        return (
            given,
            None
            if text.strip() and "\n" not in text and "\r" not in text
            else f"several lines: {text[:200]!r}",
        )
    except BaseException as error:
        return given, f"{type(error).__name__} at {_place_of(error)}: {_shorten(error)}"
    finally:
        signal.alarm(0)


@contextlib.contextmanager
def _silence() -> Iterator[None]:
    """Send what libraries and commands print to nowhere."""
    with (
        open(os.devnull, "w") as nowhere,
        contextlib.redirect_stdout(nowhere),
        contextlib.redirect_stderr(nowhere),
    ):
        yield


def _as_text(arguments: dict[str, Any]) -> bytes:
    """Return arguments as text; whole numbers may have too many digits to be spelt."""
    words = []
    for name, value in arguments.items():
        try:
            words.append(f"{name} = {value!r}"[:20_000])
        except ValueError:
            words.append(f"{name} = a number of too many digits")
    return "\n".join(words).encode(errors="backslashreplace")


def _place_of(error: BaseException) -> str:
    """Return the last line of headroles that an exception passed through."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if re.search(r"/(headroles|stats|sieves|reports)/", frame.filename)]
    ours = [frame for frame in ours if not re.search("site-packages|/tests/", frame.filename)]
    frame = (ours or list(frames))[-1]
    return f"{Path(frame.filename).parent.name}/{Path(frame.filename).name}:{frame.lineno}"


def _shorten(error: BaseException) -> str:
    """Return the words of an exception in a line."""
    with contextlib.suppress(Exception):
        return " ".join(str(error).split())[:150]
    return "without words"


def _save(file: Path, given: bytes, fault: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(given)
    file.with_name(f"{file.name}.fault").write_text(fault, errors="backslashreplace")


def figures(outcomes: Sequence[Outcome]) -> tuple[str, list[tuple[str, str]]]:
    """Return a line of figures, and the faults, each with the group it belongs to: its place in the code."""
    faults = [(fault.split(": ", 2)[1], fault) for outcome in outcomes for fault in outcome.faults]
    tried, used = (sum(counts) for counts in zip(*((o.tried, o.used) for o in outcomes), strict=True))
    targets = len({outcome.target for outcome in outcomes})
    line = f"mutations: {tried} inputs of {targets} parsers and functions: {used} used, "
    return f"{line}{len(faults)} neither used nor refused in a sentence", faults
