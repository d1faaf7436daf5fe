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
from tests.faults.children import CROSSING, ERRORS, GROWING, Strike, end_group, is_alive, run_command
from tests.faults.parallel import do_in_forks

LEFTOVERS = (".partial", ".headroles-")
"""Parts of the names of what headroles has not finished writing."""
MEET = {"EXDEV": CROSSING} | dict.fromkeys(("ENOSPC", "EDQUOT"), ("open", "os.mkdir", *CROSSING))
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
        place = f"before change {self.strike.change} ({self.change})"
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
        removing = change.split(" ")[0] in ("os.remove", "os.rmdir")
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
    """Return the command that follows, and whether a run was lost.

    Where an older run was, the next command must find it whole, or the new one; or a half-done new run with
    a finished shard, with which the same command goes on without replacing anything.
    """
    case = prepared.case
    if case.finds is None:
        return case.words, []
    met, now = run_command(case.finds, place), contents(place)
    if met.fault is not None:
        return case.words, [f"no sentence: {' '.join(case.finds)}: {met.fault}"]
    if met.code == 0 and _is_whole(prepared, now):
        return case.words, []
    shards = [path for path in now if path.startswith("run/shards/") and path.endswith(".json")]
    if case.sharded and shards and "run/manifest.json" not in now:
        return tuple(word for word in case.words if word != "--overwrite"), []
    said = f"'{met.said.strip()}'" if met.code else "passes"
    wrong = differences(_without_leftovers(now), prepared.old)
    return case.words, [f"run lost: {' '.join(case.finds)} {said}; not as before: {', '.join(wrong[:4])}"]


def _is_whole(prepared: Prepared, now: Files) -> bool:
    """Return whether a folder is as it was before the command, or as after it."""
    return any(not differences(_without_leftovers(now), state) for state in (prepared.old, prepared.new))


def _without_leftovers(now: Files) -> Files:
    return {path: data for path, data in now.items() if not any(name in path for name in LEFTOVERS)}


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
    beside = sorted(now.keys() - prepared.new.keys())
    faults = [f"left over: {', '.join(beside[:4])}"] if beside else []
    wrong = [path for path in differences(now, prepared.new) if path not in beside]
    return [*faults, f"bytes differ: {', '.join(wrong[:4])}"] if wrong else faults


def kills(prepared: Sequence[Prepared], seed: int) -> list[tuple[Prepared, Strike]]:
    """Return a kill before every change of every command, the commands in turn, their changes spread."""
    chance, turns = random.Random(seed), []
    for item in prepared:
        several = item.case.workers > 1
        strikes = [
            Strike(number, alone=several and turn % 2 == 0, shards=several * (turn % 4))
            for turn, number in _spread(len(item.changes), chance)
        ]
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
