"""Flips, cuts and losses of every file of finished runs: verify refuses all, judge blesses none."""

import os
import random
import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.faults.cases import PRUNE, Words, contents, differences, run_kinds
from tests.faults.children import Ended, keep_warm, run_command
from tests.faults.parallel import do_in_forks
from tests.faults.strikes import LEFTOVERS

SMALL = 20_000
"""Bytes of the largest files of which every byte is changed; of larger ones, a sample is."""
SAMPLE = 400
"""Bytes that are changed of a larger file."""
CHUNK = 50
"""Damages of a file that are done in one go."""
JUDGE: Words = ("judge", "run", "--alpha", "0.1")
DERIVED = (".csv", ".html", "plan.json")
"""Endings of files that judge writes anew, or does not need."""


@dataclass(frozen=True, slots=True)
class Damage:
    """A change of one file.

    Attributes:
        how: "flip", "cut", "append" or "missing".
        place: The byte that is changed, or the length after the cut.
        mask: Bits that are changed, from 1 to 255.
    """

    how: str
    place: int = 0
    mask: int = 1

    def of(self, data: bytes) -> bytes | None:
        """Return the changed bytes of a file; None for no file."""
        if self.how == "flip":
            return data[: self.place] + bytes([data[self.place] ^ self.mask]) + data[self.place + 1 :]
        return {"cut": data[: self.place], "append": data + b"\n", "missing": None}[self.how]


@dataclass(frozen=True, slots=True)
class Chunk:
    """Damages of one file of a finished run.

    Attributes:
        kind: Kind of the run.
        file: Path of the file in the run.
        damages: What is done to it, one after another.
        judged: Whether judge meets the damage, and then verify; else only verify does.
    """

    kind: str
    file: str
    damages: tuple[Damage, ...]
    judged: bool = False


@dataclass(frozen=True, slots=True)
class Finished:
    """A finished run of one kind, or a pruned model.

    Attributes:
        folder: Folder in which it is, as ``run``.
        files: Bytes of its files.
        judged: The same after ``judge`` with another level; empty for what has none.
    """

    folder: Path
    files: dict[str, bytes]
    judged: dict[str, bytes | None]


def finish(kind: str, work: Path) -> Finished:
    """Make a run of one kind, and judge a copy of it.

    Raises:
        RuntimeError: When one of the commands fails.
    """
    folder, copy = (work / "finished" / name for name in (kind, f"{kind}-judged"))
    folder.mkdir(parents=True)
    _succeed(run_command(run_kinds()[kind], folder))
    shutil.copytree(folder, copy)
    _succeed(run_command(JUDGE, copy))
    files = {path: data for path, data in contents(folder / "run").items() if data is not None}
    return Finished(folder, files, contents(copy))


def finish_pruning(work: Path) -> Finished:
    """Make a model without some of its heads; nothing judges it.

    Raises:
        RuntimeError: When the command fails.
    """
    folder = work / "finished" / "prune"
    folder.mkdir(parents=True)
    _succeed(run_command(PRUNE, folder))
    return Finished(folder, {path: data for path, data in contents(folder / "run").items() if data}, {})


def _succeed(ended: Ended) -> None:
    if ended.code != 0:
        raise RuntimeError(f"a command failed without being disturbed: {ended}")
    keep_warm(ended.modules)


def damages_for_verify(runs: dict[str, Finished], seed: int) -> list[Chunk]:
    """Return every cut and loss of every file, and changes of all their bytes or of a sample, shuffled."""
    chance, chunks = random.Random(seed), list[Chunk]()
    for kind, run in runs.items():
        for file, data in run.files.items():
            cuts = tuple(Damage("cut", length) for length in {0, len(data) // 2, len(data) - 1})
            chunks.append(Chunk(kind, file, (*cuts, Damage("append"), Damage("missing"))))
            places = list(range(len(data))) if len(data) <= SMALL else chance.sample(range(len(data)), SAMPLE)
            flips = [Damage("flip", place, chance.randint(1, 255)) for place in places]
            chance.shuffle(flips)
            chunks += [
                Chunk(kind, file, tuple(flips[first : first + CHUNK]))
                for first in range(0, len(flips), CHUNK)
            ]
    chance.shuffle(chunks)
    return chunks


def damages_for_judge(runs: dict[str, Finished], seed: int, flips: int) -> list[Chunk]:
    """Return a loss, two cuts, an addition and some changed bytes of every file, for judge, shuffled."""
    chance, chunks = random.Random(seed), list[Chunk]()
    for kind, run in runs.items():
        for file, data in run.files.items():
            usual = [Damage("cut", len(data) // 2), Damage("cut", len(data) - 1), Damage("append")]
            usual.append(Damage("missing"))
            places = [chance.randrange(len(data)) for _ in range(flips)]
            usual += [Damage("flip", place, chance.randint(1, 255)) for place in places]
            chunks += [Chunk(kind, file, (damage,), judged=True) for damage in usual]
    chance.shuffle(chunks)
    return chunks


def do_damages(
    runs: dict[str, Finished], chunks: Sequence[Chunk], work: Path, jobs: int, until: float
) -> tuple[int, list[str]]:
    """Damage copies of runs in forks until a time; gives the number of damages, and the faults."""

    def act(chunk: Chunk) -> list[str | None]:
        place = work / "damaged" / str(os.getpid())
        meet = _judge if chunk.judged else _verify
        return list(meet(runs[chunk.kind], chunk, place))

    results = [fault for faults in do_in_forks(act, chunks, jobs, until) for fault in faults]
    return len(results), [fault for fault in results if fault is not None]


def _verify(run: Finished, chunk: Chunk, place: Path) -> Iterator[str | None]:
    """Damage a file in a copy of a run, and have verify refuse it; each time the file is put back."""
    from headroles.errors import HeadrolesError
    from headroles.pruning.verify import verify_any

    folder = place / chunk.kind / "run"
    if not folder.exists():
        shutil.copytree(run.folder / "run", folder)
    for damage in chunk.damages:
        _write(folder / chunk.file, damage.of(run.files[chunk.file]))
        try:
            verify_any(folder)
            yield f"verify passes: {_words(chunk, damage)}"
        except HeadrolesError as error:
            yield None if "\n" not in str(error) else f"no sentence: {_words(chunk, damage)}: {error}"
        except Exception as error:
            yield f"no sentence: {_words(chunk, damage)}: {error!r}"
        _write(folder / chunk.file, run.files[chunk.file])


def _judge(run: Finished, chunk: Chunk, place: Path) -> Iterator[str | None]:
    """Damage a file in a copy of a run, and judge it.

    Judge refuses, or writes what it writes for the sound run; or verify still refuses the run afterwards.
    What decides is refused in any case.
    """
    for damage in chunk.damages:
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(run.folder, place)
        _write(place / "run" / chunk.file, damage.of(run.files[chunk.file]))
        words = _words(chunk, damage)
        ended = run_command(JUDGE, place)
        if ended.fault is not None:
            yield f"no sentence: {words}: {ended.fault}"
        elif ended.code == 0 and decides(chunk.file):
            yield f"judge takes: {words}"
        elif ended.code == 0 and differences(contents(place), run.judged):
            blessed = run_command(("verify", "run"), place).code == 0
            yield f"judge blesses: {words}" if blessed else None
        else:
            left = [path for path in contents(place) if any(name in path for name in LEFTOVERS)]
            yield f"left over: {words}: {', '.join(left[:4])}" if left else None


def decides(file: str) -> bool:
    """Return whether the decisions of a run rest on a file of it."""
    return not file.endswith(DERIVED) and not file.startswith("shards/") and not file.startswith("figures/")


def _write(file: Path, data: bytes | None) -> None:
    """Write a file, or remove it."""
    if data is None:
        file.unlink()
    else:
        file.write_bytes(data)


def _words(chunk: Chunk, damage: Damage) -> str:
    what = damage.how if damage.how in ("append", "missing") else f"{damage.how} at {damage.place}"
    return f"{chunk.kind}, {chunk.file}, {what}" + (f" by {damage.mask}" if damage.how == "flip" else "")


def figures(name: str, count: int, faults: Sequence[str]) -> tuple[str, list[tuple[str, str]]]:
    """Return a line of figures on damages, and the faults, each with the group it belongs to."""
    kinds = Counter(fault.split(":")[0] for fault in faults)
    words = ", ".join(f"{number} {kind}" for kind, number in sorted(kinds.items())) or "0 faults"
    return f"{name}: {count} damages: {words}", [(",".join(fault.split(",")[:2]), fault) for fault in faults]
