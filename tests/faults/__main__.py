"""The long mode: ``python -m tests.faults --minutes 30``, from the root of the project."""

import shutil
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import click

from tests.faults import damage, mutations, strikes
from tests.faults.cases import Case, Prepared, cases, make_inputs, prepare, run_kinds
from tests.faults.children import warm_up
from tests.faults.parallel import do_in_forks

SHARES = {"kills": 0.5, "errors": 0.15, "flips": 0.2, "mutations": 0.15}
"""Parts, and their shares of the time."""
SHORT = (
    "label", "label --overwrite", "label -w 2 --overwrite", "judge label", "report label",
    "moments --overwrite", "maps --overwrite", "surface --overwrite", "cluster --overwrite",
    "probe --overwrite", "ablate --overwrite", "why --overwrite", "prune --overwrite", "prune --check",
    "compare --overwrite", "extract", "scores --overwrite", "atlas --overwrite", "convert maps --overwrite",
)  # fmt: skip
"""The commands that the short mode interrupts."""
KILLS, ERRORS, MUTATIONS = 32, 16, 2_000
"""Trials of the short mode."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What is asked of a mode.

    Attributes:
        work: Folder for inputs and trials.
        seed: Seed of everything that is drawn.
        jobs: Trials at a time.
        minutes: Length of the long mode; None for a few trials, the same ones every time.
        parts: Parts that are done.
        save: Folder for all faults and for mutated inputs with one; None saves none.
    """

    work: Path
    seed: int
    jobs: int
    minutes: float | None
    parts: tuple[str, ...]
    save: Path | None

    def until(self, part: str) -> float:
        """Return the time at which a part that begins now ends."""
        if self.minutes is None:
            return float("inf")
        share = SHARES[part] / sum(SHARES[name] for name in self.parts)
        return time.monotonic() + 60 * self.minutes * share


Figures = tuple[str, list[tuple[str, str]]]
"""A line of figures on a part, and its faults, each with the group it belongs to."""


def _prepare(settings: Settings) -> list[Prepared]:
    """Prepare the commands that are interrupted."""
    chosen = [case for case in cases() if settings.minutes or case.name in SHORT]
    first = [prepare(case, settings.work) for case in chosen if case.name in ("label", "probe")]
    later = [case for case in chosen if case.name not in ("label", "probe")]

    def act(case: Case) -> Prepared:
        return prepare(case, settings.work)

    return [*first, *do_in_forks(act, later, settings.jobs)]


def do_part(part: str, settings: Settings, prepared: list[Prepared]) -> Figures:
    """Kill commands, have them meet errors, damage what they finished, or mutate files and arguments."""
    until, work, jobs, is_short = settings.until(part), settings.work, settings.jobs, not settings.minutes
    if part in ("kills", "errors"):
        planned = (strikes.kills if part == "kills" else strikes.errors)(prepared, settings.seed)
        few = {"kills": KILLS, "errors": ERRORS}[part]
        return strikes.figures(
            part, strikes.do_strikes(planned[:few] if is_short else planned, work, jobs, until)
        )
    if part == "flips":
        kinds = ("label", "prune") if is_short else (*run_kinds(), "prune")
        runs = {kind: damage.finish(kind, work) for kind in kinds}
        chunks = damage.plan_damages(runs, settings.seed)
        if is_short:
            whole = ("label", "manifest.json")  # every byte of it
            chunks = [each for each in chunks if (each.kind, each.file) == whole or len(each.damages) < 6]
        return damage.figures(*damage.do_damages(runs, chunks, work, jobs, until))
    if not (work / "finished" / "label").exists():
        damage.finish("label", work)
    count = MUTATIONS if is_short else 10_000_000
    return mutations.figures(mutations.do_mutations(work, count, settings.seed, jobs, until, settings.save))


def run(settings: Settings) -> int:
    """Do the parts, print their figures and each group of faults, and return the number of faults."""
    warm_up()
    make_inputs(settings.work / "inputs")
    prepared = _prepare(settings) if {"kills", "errors"} & {*settings.parts} else []
    total = 0
    for part in settings.parts:
        start = time.monotonic()
        line, faults = do_part(part, settings, prepared)
        print(f"{line}; {time.monotonic() - start:.0f} s in all", flush=True)
        for group, count in Counter(group for group, _ in faults).most_common():
            first = next(fault for name, fault in faults if name == group)
            print(f"  {count} x {first[:400]}", flush=True)
        if settings.save is not None and faults:
            settings.save.mkdir(parents=True, exist_ok=True)
            text = "\n".join(fault for _, fault in faults)
            (settings.save / f"{part}.txt").write_text(text, errors="backslashreplace")
        total += len(faults)
    return total


@click.command()
@click.option("--minutes", type=float, default=30.0, show_default=True, help="Length of the long mode.")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of all that is drawn.")
@click.option("--only", type=click.Choice([*SHARES]), help="Do this part only.")
@click.option("--jobs", type=int, default=2, show_default=True, help="Trials at a time.")
@click.option("--short", is_flag=True, help="A few trials, the same ones every time, as the tests do.")
@click.option("--save", type=click.Path(path_type=Path), help="Folder for faults, and for mutated inputs.")
def main(minutes: float, seed: int, only: str | None, jobs: int, short: bool, save: Path | None) -> None:
    """Interrupt every command, damage every file and mutate every input; exit with 1 where one goes wrong."""
    work = Path(tempfile.mkdtemp(prefix="faults-"))
    saved, parts = None if save is None else save.resolve(), (only,) if only else (*SHARES,)
    try:
        faults = run(Settings(work, seed, jobs, None if short else minutes, parts, saved))
    finally:
        shutil.rmtree(work, ignore_errors=True)
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
