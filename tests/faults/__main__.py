"""The long mode: ``python -m tests.faults --minutes 30``, from the root of the project."""

import os
import shutil
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import click

from tests.faults import damage, mutations, strikes
from tests.faults.cases import Case, Prepared, cases, make_inputs, prepare, run_kinds
from tests.faults.children import LIBRARY, compile_library, warm_up
from tests.faults.parallel import do_in_forks

SHARES = {"kills": 0.5, "errors": 0.15, "flips": 0.2, "mutations": 0.15}
"""Parts, and their shares of the time."""
SHORT = (
    "label --overwrite", "label -w 2 --overwrite", "judge label", "moments --overwrite", "probe --overwrite",
    "prune --overwrite", "compare --overwrite", "extract", "convert maps --overwrite",
)  # fmt: skip
"""The commands that the short mode interrupts."""
NO_LIBRARY = 3
"""Exit code where no library can count changes of files."""
KILLS, ERRORS, MUTATIONS = 16, 8, 500
"""Trials of the short mode."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What is asked: a folder, a seed, trials at a time, and a length in minutes or a short mode."""

    work: Path
    seed: int
    jobs: int
    minutes: float | None

    def until(self, part: str) -> float:
        """Return the time at which a part that begins now ends."""
        if self.minutes is None:
            return float("inf")
        return time.monotonic() + 60 * self.minutes * SHARES[part]


def _prepare(settings: Settings) -> list[Prepared]:
    """Prepare the commands that are interrupted."""
    chosen = [case for case in cases() if settings.minutes or case.name in SHORT]
    first = [prepare(case, settings.work) for case in chosen if case.name in ("label", "probe")]
    later = [case for case in chosen if case.name not in ("label", "probe")]

    def act(case: Case) -> Prepared:
        return prepare(case, settings.work)

    return [*first, *do_in_forks(act, later, settings.jobs)]


def do_part(part: str, settings: Settings, prepared: list[Prepared]) -> tuple[str, list[str]]:
    """Kill commands, have them meet errors, damage what they finished, or mutate files; gives the faults."""
    until, work, jobs, is_short = settings.until(part), settings.work, settings.jobs, not settings.minutes
    if part in ("kills", "errors"):
        planned = (strikes.kills if part == "kills" else strikes.errors)(prepared, settings.seed)
        few = {"kills": KILLS, "errors": ERRORS}[part]
        trials = strikes.do_strikes(planned[:few] if is_short else planned, work, jobs, until)
        reached = sum(trial.reached for trial in trials)
        return f"{reached} of {len(trials)} reached", [str(trial) for trial in trials if trial.faults]
    if part == "flips":
        kinds = ("label", "prune") if is_short else (*run_kinds(), "prune")
        runs = {kind: damage.finish(kind, work) for kind in kinds}
        chunks = damage.plan_damages(runs, settings.seed)
        if is_short:
            manifest = [each for each in chunks if each[:2] == ("label", "manifest.json")]
            chunks = [*manifest[::5], *(each for each in chunks if len(each.damages) < 6)]
        count, faults = damage.do_damages(runs, chunks, work, jobs, until)
        return f"{count} damages that verify must refuse", faults
    asked = MUTATIONS if is_short else 10_000_000
    count, faults = mutations.do_mutations(work, asked, settings.seed, jobs, until)
    return f"{count} files", faults


def run(settings: Settings) -> int:
    """Do the parts, print their figures and their first faults, and return the number of faults."""
    warm_up()
    make_inputs(settings.work / "inputs")
    prepared, total = _prepare(settings), 0
    for part in SHARES:
        line, faults = do_part(part, settings, prepared)
        print(f"{part}: {line}: {len(faults)} faults", flush=True)
        for fault in faults[:20]:
            print(f"  {fault[:4400]}", flush=True)
        total += len(faults)
    return total


def _begin_again_with_library() -> NoReturn:
    """Replace this process by one that counts changes of files; exit with 3 where none can."""
    work = Path(tempfile.mkdtemp(prefix="faults-"))
    if shutil.which("cc") is None or not sys.platform.startswith("linux"):
        print("changes of files are counted by a library that cc compiles on Linux, and here is none")
        sys.exit(NO_LIBRARY)
    variables = os.environ | {"LD_PRELOAD": str(compile_library(work))}
    os.execve(sys.executable, [sys.executable, "-m", "tests.faults", *sys.argv[1:]], variables)


@click.command()
@click.option("--minutes", type=float, default=30.0, show_default=True, help="Length of the long mode.")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of all that is drawn.")
@click.option("--jobs", type=int, default=2, show_default=True, help="Trials at a time.")
@click.option("--short", is_flag=True, help="A few trials, the same ones every time, as the tests do.")
def main(minutes: float, seed: int, jobs: int, short: bool) -> None:
    """Interrupt every command, damage every file and mutate every input; exit with 1 where one goes wrong."""
    given = os.environ.get("LD_PRELOAD", "")
    if not given.endswith(LIBRARY):
        _begin_again_with_library()
    work = Path(given).parent
    try:
        faults = run(Settings(work, seed, jobs, None if short else minutes))
    finally:
        shutil.rmtree(work, ignore_errors=True)
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
