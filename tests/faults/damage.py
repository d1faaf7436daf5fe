"""Flips, cuts and losses of every file of finished runs and of a pruned model: verify refuses all of them."""

import contextlib
import io
import os
import random
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from tests.faults.cases import PRUNE, contents, run_kinds, succeed
from tests.faults.parallel import do_in_forks

SMALL = 20_000
"""Bytes of the largest files of which every byte is changed; of larger ones, a sample is."""
SAMPLE = 400
"""Bytes that are changed of a larger file."""
CHUNK = 50
"""Damages of a file that are done in one go."""


class Damage(NamedTuple):
    """A change of one file: a flip of bits of the byte at a place, or a cut, or one of two others."""

    how: str
    place: int = 0
    mask: int = 1

    def of(self, data: bytes) -> bytes | None:
        """Return the changed bytes of a file; None for no file."""
        if self.how == "flip":
            return data[: self.place] + bytes([data[self.place] ^ self.mask]) + data[self.place + 1 :]
        return {"cut": data[: self.place], "append": data + b"\n", "missing": None}[self.how]


class Chunk(NamedTuple):
    """Damages of one file of what a command of a kind finished, done one after another."""

    kind: str
    file: str
    damages: tuple[Damage, ...]


def finish(kind: str, work: Path) -> dict[str, bytes]:
    """Make a run of one kind, or a pruned model, and return the bytes of its files."""
    folder = work / "finished" / kind
    folder.mkdir(parents=True)
    succeed(PRUNE if kind == "prune" else run_kinds()[kind], folder)
    return {path: data for path, data in contents(folder / "run").items() if data is not None}


def plan_damages(runs: dict[str, dict[str, bytes]], seed: int) -> list[Chunk]:
    """Return every cut and loss of every file, and changes of all their bytes or of a sample, shuffled."""
    chance, chunks = random.Random(seed), list[Chunk]()
    for kind, files in runs.items():
        for file, data in files.items():
            cuts = tuple(Damage("cut", length) for length in {0, len(data) // 2, len(data) - 1})
            chunks.append(Chunk(kind, file, (*cuts, Damage("append"), Damage("missing"))))
            places = list(range(len(data))) if len(data) <= SMALL else chance.sample(range(len(data)), SAMPLE)
            flips = [Damage("flip", place, chance.randint(1, 255)) for place in places]
            chance.shuffle(flips)
            parts = range(0, len(flips), CHUNK)
            chunks += [Chunk(kind, file, tuple(flips[first : first + CHUNK])) for first in parts]
    chance.shuffle(chunks)
    return chunks


def do_damages(
    runs: dict[str, dict[str, bytes]], chunks: Sequence[Chunk], work: Path, jobs: int, until: float
) -> tuple[int, list[str]]:
    """Damage copies of runs in forks until a time; gives the number of damages, and the faults."""

    def act(chunk: Chunk) -> list[str | None]:
        folder = work / "damaged" / str(os.getpid()) / chunk.kind / "run"
        if not folder.exists():
            shutil.copytree(work / "finished" / chunk.kind / "run", folder)
        return list(_verify(folder, chunk, runs[chunk.kind][chunk.file]))

    results = [fault for faults in do_in_forks(act, chunks, jobs, until) for fault in faults]
    return len(results), [fault for fault in results if fault is not None]


def _verify(folder: Path, chunk: Chunk, data: bytes) -> Iterator[str | None]:
    """Damage a file in a copy of a run, and have verify refuse it; each time the file is put back."""
    from headroles.cli.main import cli
    from headroles.errors import HeadrolesError

    file = folder / chunk.file
    for damage in chunk.damages:
        words = f"{chunk.kind}, {chunk.file}, {damage.how} at {damage.place} by {damage.mask}"
        changed = damage.of(data)
        if changed is None:
            file.unlink()
        else:
            file.write_bytes(changed)
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                cli.main(["verify", str(folder)], standalone_mode=False, prog_name="headroles")
            yield f"verify passes: {words}"
        except HeadrolesError as error:
            yield None if "\n" not in str(error) else f"no sentence: {words}: {error}"
        except Exception as error:
            yield f"no sentence: {words}: {error!r}"
        file.write_bytes(data)
