"""Kills and injected errors before the n-th change of files: what is there then, and after going on."""

import os
import random
import shutil
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.faults.cases import Prepared, contents, differences
from tests.faults.children import CROSSING, ERRORS, GROWING, Strike, end_group, is_alive, run_command
from tests.faults.parallel import do_in_forks

LEFTOVERS = (".partial", ".headroles-")
"""Parts of the names of what headroles has not finished writing."""
MEET = {"EXDEV": CROSSING} | dict.fromkeys(("ENOSPC", "EDQUOT"), ("open", "os.mkdir", *CROSSING))
"""The changes that can meet an error, where not all can: files can be removed from a full disk."""
KINDS = ("bytes differ", "run lost", "blocked", "left over", "no sentence")
"""Kinds of faults."""
ORPHAN = 30
"""Seconds after the repeated command by which the workers of the killed one must have ended."""
SELDOM = 12
"""Of so many rounds over all cases, one has the cases with several workers, which take seconds."""


@dataclass(frozen=True, slots=True)
class Trial:
    """A command that was interrupted and repeated.

    Attributes:
        case: Name of the command.
        strike: What it met.
        change: The change of files that was struck.
        reached: Whether the command made so many changes.
        faults: What was wrong, as "kind: how"; none where all is as it must be.
        seconds: What the trial took.
    """

    case: str
    strike: Strike
    change: str
    reached: bool
    faults: tuple[str, ...]
    seconds: float

    def __str__(self) -> str:
        """Return the trial in a line."""
        what = self.strike.error or "kill"
        place = f"before change {self.strike.change} ({self.change})"
        return f"{self.case}: {what} {f'at {self.strike.shards} shards' if self.strike.shards else place}"


def strike_once(prepared: Prepared, strike: Strike, place: Path) -> Trial:
    """Interrupt a command in a new folder, look at what is there, and repeat the command.

    Args:
        prepared: The command, with what is there before and after it.
        strike: What it meets.
        place: The folder, which is removed before and after.
    """
    start = time.monotonic()
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(prepared.before, place)
    case, faults = prepared.case, list[str]()
    ended = run_command(case.words, place, strike)
    reached = ended.code == -9 if strike.error is None else len(ended.changes) >= strike.change
    now = contents(place)
    change = prepared.changes[strike.change - 1]
    if strike.error is not None:
        faults += _faults_of_error(prepared, strike, ended.code, ended.fault, now)
    words: tuple[str, ...] | None = case.words
    if ended.code != 0:
        words, lost = _next_words(prepared, place)
        faults += lost
    if words is not None and ended.code != 0:
        faults += _faults_of_repeat(prepared, words, place)
    if strike.alone:
        faults += _living_on(ended.group)
    shutil.rmtree(place, ignore_errors=True)
    return Trial(case.name, strike, change, reached, tuple(faults), time.monotonic() - start)


def _living_on(group: int) -> list[str]:
    """Return a fault where a worker outlives its killed command for long, and end the worker."""
    until = time.monotonic() + ORPHAN
    while is_alive(group):
        if time.monotonic() > until:
            end_group(group)
            return [f"blocked: a worker of the killed command lives on for {ORPHAN} s"]
        time.sleep(0.1)
    return []


def _faults_of_error(
    prepared: Prepared, strike: Strike, code: int | None, fault: str | None, now: dict[str, bytes | None]
) -> list[str]:
    """Return what is wrong right after an error."""
    if fault is not None:
        return [f"no sentence: {fault}"]
    wrong = differences(_without_leftovers(now), prepared.new) if code == 0 else []
    faults = [f"bytes differ: exit code 0 with {', '.join(wrong[:4])}"] if wrong else []
    removing = prepared.changes[strike.change - 1].split(" ")[0] in ("os.remove", "os.rmdir")
    left = sorted(now.keys() - _without_leftovers(now).keys())
    if left and not removing:  # else the error itself kept the command from removing it
        faults.append(f"left over: {', '.join(left[:4])} after an error")
    return faults


def _next_words(prepared: Prepared, place: Path) -> tuple[tuple[str, ...], list[str]]:
    """Return the command that follows, and whether a run was lost.

    Where an older run was, the next command must find it whole, or the new one; or a half-done new run with
    a finished shard, with which the same command goes on without replacing anything.
    """
    case = prepared.case
    if case.finds is None:
        return case.words, _parted(prepared, contents(place))
    met = run_command(case.finds, place)
    now = _without_leftovers(contents(place))
    if met.fault is not None:
        return case.words, [f"no sentence: {' '.join(case.finds)}: {met.fault}"]
    whole = [not differences(now, state) for state in (prepared.old, prepared.new)]
    if met.code == 0 and any(whole):
        return case.words, []
    if case.sharded and _is_half_done(now):
        return case.going_on, []
    said = f"'{met.said.strip()}'" if met.code else "passes"
    wrong = differences(now, prepared.old)
    return case.words, [f"run lost: {' '.join(case.finds)} {said}; not as before: {', '.join(wrong[:4])}"]


def _is_half_done(now: dict[str, bytes | None]) -> bool:
    """Return whether a folder holds finished shards of a run without its end."""
    shards = [path for path in now if path.startswith("run/shards/") and path.endswith(".json")]
    return bool(shards) and "run/manifest.json" not in now


def _parted(prepared: Prepared, now: dict[str, bytes | None]) -> list[str]:
    """Return a fault where a list of maps stands beside maps that are not its own."""
    if prepared.case.words[0] not in ("extract", "convert") or "maps.json" not in now:
        return []
    files = _without_leftovers(now)
    whole = [not differences(files, state) for state in (prepared.old, prepared.new)]
    return [] if any(whole) else ["run lost: a list of maps stands with the maps of another"]


def _without_leftovers(now: dict[str, bytes | None]) -> dict[str, bytes | None]:
    return {path: data for path, data in now.items() if not any(name in path for name in LEFTOVERS)}


def _faults_of_repeat(prepared: Prepared, words: Sequence[str], place: Path) -> list[str]:
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
        numbers = spread(len(item.changes), chance)
        several = item.case.workers > 1
        turns.append(
            [
                (item, Strike(number, alone=several and turn % 2 == 0, shards=several * (turn % 4)))
                for turn, number in numbers
            ]
        )
    return list(_in_turn(turns))


def errors(prepared: Sequence[Prepared], seed: int) -> list[tuple[Prepared, Strike]]:
    """Return an error before every change of every command that it can meet, errors and commands in turn."""
    chance, turns = random.Random(seed), []
    for item in prepared:
        strikes = []
        for turn, number in spread(len(item.changes), chance):
            event = item.changes[number - 1].split(" ")[0]
            fitting = [name for name in ERRORS if event in MEET.get(name, (event,))]
            error = "EXDEV" if event in CROSSING and turn % 3 == 0 else fitting[turn % len(fitting)]
            full = error in ("ENOSPC", "EDQUOT")
            strikes.append((item, Strike(number, error, lasting=full and event in GROWING)))
        turns.append(strikes)
    return list(_in_turn(turns))


def spread(count: int, chance: random.Random) -> list[tuple[int, int]]:
    """Return the numbers from 1 to a count, numbered, so that the first ones lie far apart."""
    start, order = chance.random(), list[int]()
    for turn in range(20 * count):
        number = int((start + turn * 0.6180339887498949) % 1 * count) + 1
        if number not in order:
            order.append(number)
    order += [number for number in range(1, count + 1) if number not in order]
    return list(enumerate(order))


def _in_turn(
    turns: Sequence[Sequence[tuple[Prepared, Strike]]],
) -> Iterator[tuple[Prepared, Strike]]:
    """Yield the first strike of every command, then the second ones; seldom those of several workers."""
    positions = [0] * len(turns)
    for round_ in range(SELDOM * max((len(strikes) for strikes in turns), default=0)):
        for number, strikes in enumerate(turns):
            if positions[number] < len(strikes):
                item, strike = strikes[positions[number]]
                if item.case.workers == 1 or round_ % SELDOM == 0:
                    positions[number] += 1
                    yield item, strike


def do_strikes(
    strikes: Sequence[tuple[Prepared, Strike]], work: Path, jobs: int, until: float
) -> list[Trial]:
    """Do strikes in forks until a time."""

    def act(task: tuple[Prepared, Strike]) -> Trial:
        return strike_once(*task, work / "trials" / str(os.getpid()))

    (work / "trials").mkdir(exist_ok=True)
    return do_in_forks(act, strikes, jobs, until)


def figures(name: str, trials: Sequence[Trial]) -> tuple[str, list[tuple[str, str]]]:
    """Return a line of figures on trials, and the faults, each with the group it belongs to."""
    reached = sum(trial.reached for trial in trials)
    faults = [
        (f"{fault.split(':')[0]}: {trial.case}", f"{fault} [{trial}]")
        for trial in trials
        for fault in trial.faults
    ]
    counts = Counter(group.split(":")[0] for group, _ in faults)
    words = ", ".join(f"{counts[kind]} {kind}" for kind in KINDS)
    seconds = sum(trial.seconds for trial in trials) / max(1, len(trials))
    commands = len({trial.case for trial in trials})
    line = f"{name}: {reached} of {len(trials)} reached over {commands} commands: {words}"
    return f"{line}; {seconds:.2f} s a trial", faults
