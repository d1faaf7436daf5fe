"""Kills and injected errors before the n-th change of files: what is there then, and after going on."""

import os
import random
import shutil
import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.faults.cases import Files, Prepared, Words, contents, differences
from tests.faults.children import (
    CROSSING,
    ERRORS,
    GROWING,
    Ended,
    Strike,
    end_group,
    is_alive,
    run_command,
    run_in_fork,
)
from tests.faults.parallel import do_in_forks

LEFTOVERS = (".partial", ".headroles-")
"""Parts of the names of what headroles has not finished writing."""
NAMED = ("open", "mkdir", "remove", "rmdir", *CROSSING)
"""The changes of names, which rights and file systems that are read only forbid."""
BETWEEN = ("was stopped while it", "is read when it is finished")
"""Words of a reader that meets a half-changed folder."""
MEET = (
    {"EXDEV": CROSSING}
    | dict.fromkeys(("ENOSPC", "EDQUOT"), (*GROWING, *CROSSING))
    | dict.fromkeys(("EACCES", "EROFS"), NAMED)
)
"""The changes that can meet an error, where not all can: files can be removed from a full disk."""
ORPHAN = 30
"""Seconds after the repeated command by which the workers of the killed one must have ended."""
SELDOM = 12
"""Of so many rounds over all cases, one has the cases with several workers, which take seconds."""


@dataclass(frozen=True, slots=True)
class Trial:
    """A command that was interrupted and repeated, and what was wrong, each as "kind: how"."""

    case: str
    strike: Strike
    change: str
    reached: bool
    faults: tuple[str, ...]

    def __str__(self) -> str:
        """Return the trial and its faults in a line."""
        what = self.strike.error or "kill"
        how = "in the middle of" if self.strike.half else "before"
        place = f"{how} change {self.strike.change} ({self.change})"
        where = f"at {self.strike.shards} shards" if self.strike.shards else place
        return f"{self.case}: {what} {where}: {'; '.join(self.faults)}"


def strike_once(prepared: Prepared, strike: Strike, place: Path) -> Trial:
    """Interrupt a command in a new folder, look at what is there, and repeat the command."""
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(prepared.before, place)
    case, faults = prepared.case, list[str]()
    ended = run_command(case.words, place, strike)
    reached = ended.code == -9 if strike.error is None else len(ended.changes) >= strike.change
    change = prepared.changes[strike.change - 1]
    if strike.error is not None:
        removing = change.split(" ")[0] in ("remove", "rmdir")
        faults += _faults_of_error(prepared, ended.code, ended.fault, contents(place), removing)
    if ended.code != 0:
        words, lost = _next_words(prepared, place)
        faults += [*lost, *_faults_of_repeat(prepared, words, place)]
    until = time.monotonic() + ORPHAN
    while strike.alone and is_alive(ended.group) and time.monotonic() < until:
        time.sleep(0.1)
    if strike.alone and is_alive(ended.group):
        end_group(ended.group)
        faults.append(f"blocked: a worker of the killed command lives on for {ORPHAN} s")
    shutil.rmtree(place, ignore_errors=True)
    return Trial(case.name, strike, change, reached, tuple(faults))


def _faults_of_error(
    prepared: Prepared, code: int | None, fault: str | None, now: Files, removing: bool
) -> list[str]:
    """Return what is wrong right after an error, which may have kept the command from removing something."""
    if fault is not None:
        return [f"no sentence: {fault}"]
    wrong = differences(_without_leftovers(now), prepared.new) if code == 0 else []
    faults = [f"bytes differ: exit code 0 with {', '.join(wrong[:4])}"] if wrong else []
    left = sorted(now.keys() - _without_leftovers(now).keys())
    if left and not removing:
        faults.append(f"left over: {', '.join(left[:4])} after an error")
    return faults


def _next_words(prepared: Prepared, place: Path) -> tuple[Words, list[str]]:
    """Return the command that follows, and what was lost.

    The older result or the new one is there whole, and a reader reads it; or a half-done new run with a
    finished shard, with which the same command goes on without replacing anything. Between the two, a reader
    says so, and whatever writes next finishes or undoes the rest.
    """
    case = prepared.case
    if case.finds is None:
        return case.words, []
    for turn in range(2):
        met = run_command(case.finds, place) if case.finds else Ended(0, "")
        shutil.rmtree(place / "runs", ignore_errors=True)  # where a reader of maps has its results
        now = contents(place)
        if met.fault is not None:
            return case.words, [f"no sentence: {' '.join(case.finds)}: {met.fault}"]
        if met.code == 0 and _is_whole(prepared, now):
            return case.words, []
        if case.sharded and _is_half_done(now):
            return tuple(word for word in case.words if word != "--overwrite"), []
        if turn or met.code == 0 or not any(text in met.said for text in BETWEEN):
            break
        if "run" not in case.finds:  # the same command finishes it
            return case.words, []
        run_in_fork(_lock, place)
    said = f"'{met.said.strip()}'" if met.code else "passes"
    wrong = differences(_without_leftovers(now), prepared.old)
    return case.words, [f"lost: {' '.join(case.finds)} {said}; not as before: {', '.join(wrong[:4])}"]


def _lock() -> None:
    """Do what every command does before it writes into a run folder."""
    from headroles.storage import lock_run_folder

    with lock_run_folder("run"):
        pass


def _is_half_done(now: Files) -> bool:
    """Return whether a run has finished shards, and is not finished itself."""
    shards = [path for path in now if path.startswith("run/shards/") and path.endswith(".json")]
    return bool(shards) and "run/manifest.json" not in now


def _is_whole(prepared: Prepared, now: Files) -> bool:
    """Return whether a folder is as it was before the command, or as after it."""
    return any(not differences(_without_leftovers(now), state) for state in (prepared.old, prepared.new))


def _without_leftovers(now: Files) -> Files:
    """Return files without those that are half-written, and without empty folders of new files."""
    folders = [name for name, data in now.items() if data is None and name.endswith(".after")]
    left = [name for name in folders if not any(other.startswith(f"{name}/") for other in now)]
    return {
        path: data
        for path, data in now.items()
        if path not in left and not any(name in path for name in LEFTOVERS)
    }


def _faults_of_repeat(prepared: Prepared, words: Words, place: Path) -> list[str]:
    """Repeat the command, and return what is wrong then.

    It may be refused where it was interrupted after its last change that matters.
    """
    ended = run_command(words, place)
    now = contents(place)
    if ended.fault is not None:
        return [f"no sentence: when repeated: {ended.fault}"]
    if ended.code != 0 and differences(_without_leftovers(now), prepared.new):
        return [f"blocked: the repeated command is refused: {ended.said.strip()}"]
    left = now if ended.code == 0 else _without_leftovers(now)  # a refused command clears up nothing
    beside = sorted(left.keys() - prepared.new.keys())
    faults = [f"left over: {', '.join(beside[:4])}"] if beside else []
    wrong = [path for path in differences(left, prepared.new) if path not in beside]
    return [*faults, f"bytes differ: {', '.join(wrong[:4])}"] if wrong else faults


def kills(prepared: Sequence[Prepared], seed: int) -> list[tuple[Prepared, Strike]]:
    """Return a kill before every change of every command, and in the middle of every write.

    The commands come in turn, their changes spread. Waiting for the disk changes nothing that a kill shows.
    """
    chance, turns = random.Random(seed), []
    for item in prepared:
        several, strikes = item.case.workers > 1, list[Strike]()
        for turn, number in _spread(len(item.changes), chance):
            event = item.changes[number - 1].split(" ")[0]
            alone, shards = several and turn % 2 == 0, several * (turn % 4)
            if event != "sync":
                strikes.append(Strike(number, alone=alone, shards=shards))
            if event == "write":
                strikes.append(Strike(number, alone=alone, half=True))
        turns.append([(item, strike) for strike in strikes])
    return list(_in_turn(turns))


def errors(prepared: Sequence[Prepared], seed: int) -> list[tuple[Prepared, Strike]]:
    """Return an error before every change of every command that it can meet, errors and commands in turn."""
    chance, turns = random.Random(seed), []
    for item in prepared:
        strikes = []
        for turn, number in _spread(len(item.changes), chance):
            event = item.changes[number - 1].split(" ")[0]
            fitting = [name for name in ERRORS if event in MEET.get(name, (event,))]
            error = "EXDEV" if event in CROSSING and turn % 3 == 0 else fitting[turn % len(fitting)]
            full = error in ("ENOSPC", "EDQUOT")
            strikes.append((item, Strike(number, error, lasting=full and event in GROWING)))
        turns.append(strikes)
    return list(_in_turn(turns))


def _spread(count: int, chance: random.Random) -> list[tuple[int, int]]:
    """Return the numbers from 1 to a count, numbered, so that the first ones lie far apart."""
    start = chance.random()
    places = [int((start + turn * 0.6180339887498949) % 1 * count) + 1 for turn in range(20 * count)]
    return list(enumerate(dict.fromkeys((*places, *range(1, count + 1)))))


def _in_turn(turns: Sequence[Sequence[tuple[Prepared, Strike]]]) -> Iterator[tuple[Prepared, Strike]]:
    """Yield the first strike of every command, then the second ones; seldom those of several workers."""
    queues, turn = [deque(strikes) for strikes in turns], 0
    while any(queues):
        for queue in queues:
            if queue and (queue[0][0].case.workers == 1 or turn % SELDOM == 0):
                yield queue.popleft()
        turn += 1


def do_strikes(
    strikes: Sequence[tuple[Prepared, Strike]], work: Path, jobs: int, until: float
) -> list[Trial]:
    """Do strikes in forks until a time."""

    def act(task: tuple[Prepared, Strike]) -> Trial:
        return strike_once(*task, work / "trials" / str(os.getpid()))

    (work / "trials").mkdir(exist_ok=True)
    return do_in_forks(act, strikes, jobs, until)
