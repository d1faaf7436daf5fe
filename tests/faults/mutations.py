"""Mutated files: each is used, or refused in one sentence."""

import io
import os
import random
import re
import shutil
import signal
import traceback
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

from tests.faults.parallel import do_in_forks
from tests.faults.parsers import Parser, parsers

BATCH = 400
"""Inputs of the fastest parser that are read in one go."""
SLOW = 20
"""Seconds after which reading a small input counts as endless."""
HUGE = b"9" * 5000
INSERTS = (
    HUGE, b"-" + HUGE, b"0" * 5000, b"1e999", b"NaN", b"-1", b"1.5", b"\0", b"\r", b"\n\n", b"\t",
    b"\t\t\t", b" ", b"\xff\xfe", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"\\ud800", b"\\u0000",
    "\u202e\u2028\x85".encode(), b"\x1b[31m", b"[" * 3000, b'{"a":' * 2000, b"(" * 3000, b"null", b"true",
    b'"', b"[]", b"{}", b"(1", b"1)", b"|", b"#", b"# newdoc id = ", b"#begin document (x); part 0",
    b"x" * 70000, b"1-2", b"1.1", "é😀".encode(), b"_", b"/../../x", b",",
)  # fmt: skip
NUMBER, FIELD = re.compile(rb"-?\d+(?:\.\d+)?"), re.compile(rb'[^\t\n {}\[\],":]+')
COUNTS = (b"0", b"-1", b"1", b"7", b"999999999", b"9223372036854775808", HUGE, b"0.5", b"1e5", b"null")


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


def do_mutations(work: Path, count: int, seed: int, jobs: int, until: float) -> tuple[int, list[str]]:
    """Try about so many mutated files in forks until a time; gives the number of files, and the faults."""
    targets = parsers(work)
    sizes = [max(1, min(BATCH // parser.cost, 2 * count // len(targets))) for parser in targets]

    def act(batch: tuple[int, int]) -> tuple[int, list[str]]:
        place, (number, turn) = _own_place(work), batch
        parser, chance = targets[number], random.Random(f"{seed} {targets[number].name} {turn}")
        faults = list[str]()
        for content in parser.seeds if turn == 0 else ():
            refused = _try(parser, content, place, is_valid=True)
            if refused is not None:
                faults.append(f"{parser.name}: a valid file is refused: {refused} in {content[:4000]!r}")
        for _ in range(sizes[number]):
            content = mutate(chance.choice(parser.seeds), parser.seeds, chance)
            fault = _try(parser, content, place)
            if fault is not None:
                faults.append(f"{parser.name}: {fault} in {content[:4000]!r}")
        return sizes[number], faults

    batches = [(number, turn) for turn in range(-(-count // sum(sizes))) for number in range(len(targets))]
    done = do_in_forks(act, batches, jobs, until)
    return sum(tried for tried, _ in done), [fault for _, faults in done for fault in faults]


def _own_place(work: Path) -> Path:
    """Return the folder of this fork with a run of its own."""
    place = work / "mutated" / str(os.getpid())
    if not place.exists():
        shutil.copytree(work / "finished" / "label" / "run", place / "run")
        os.environ["HF_HUB_OFFLINE"] = "1"
        signal.signal(signal.SIGALRM, _stop)
    os.chdir(place)
    return place


def _stop(number: int, frame: object) -> None:
    raise TimeoutError(f"not done after {SLOW} s")


def _try(parser: Parser, content: bytes, place: Path, *, is_valid: bool = False) -> str | None:
    """Return the fault of a file; None where it was used, or, unless it is valid, refused well."""
    from headroles.errors import HeadrolesError

    (place / parser.file).write_bytes(content)
    try:
        with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            signal.alarm(SLOW)
            parser.read(place / parser.file)
        return None
    except HeadrolesError as error:
        text = str(error)
        is_sentence = text.strip() and "\n" not in text and "\r" not in text
        if is_valid:
            return text
        return None if is_sentence else f"several lines: {text[:200]!r}"
    except BaseException:
        return traceback.format_exc()[-1500:]
    finally:
        signal.alarm(0)
