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
    "label", "label --overwrite", "judge label", "report label", "moments --overwrite", "maps --overwrite",
    "surface --overwrite", "cluster --overwrite", "probe --overwrite", "ablate --overwrite",
    "why --overwrite", "prune --overwrite", "prune --check", "compare --overwrite", "extract",
    "scores --overwrite", "atlas --overwrite", "convert maps --overwrite",
)  # fmt: skip
"""The commands that the short mode interrupts."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What is asked of a mode.

    Attributes:
        work: Folder for inputs and trials.
        seed: Seed of everything that is drawn.
        jobs: Trials at a time.
        short: Whether only a few trials are done, the same ones every time.
        minutes: Length of the long mode.
        parts: Parts that are done.
        save: Folder for all faults and for mutated inputs with one; None saves none.
    """

    work: Path
    seed: int
    jobs: int
    short: bool
    minutes: float
    parts: tuple[str, ...]
    save: Path | None

    def until(self, part: str) -> float:
        """Return the time at which a part that begins now ends."""
        if self.short:
            return float("inf")
        share = SHARES[part] / sum(SHARES[name] for name in self.parts)
        return time.monotonic() + 60 * self.minutes * share


Figures = tuple[str, list[tuple[str, str]]]
"""A line of figures on a part, and its faults, each with the group it belongs to."""


def _prepare(settings: Settings) -> list[Prepared]:
    """Prepare the commands that are interrupted."""
    chosen = [case for case in cases() if not settings.short or case.name in SHORT]
    first = [prepare(case, settings.work) for case in chosen if case.name in ("label", "probe")]
    later = [case for case in chosen if case.name not in ("label", "probe")]

    def act(case: Case) -> Prepared:
        return prepare(case, settings.work)

    return [*first, *do_in_forks(act, later, settings.jobs)]


def _strike(settings: Settings, part: str, prepared: list[Prepared]) -> Figures:
    """Kill commands, or have them meet errors."""
    until, kills = settings.until(part), part == "kills"
    planned = (strikes.kills if kills else strikes.errors)(prepared, settings.seed)
    if settings.short:
        planned = planned[: 48 if kills else 22]
    done = strikes.do_strikes(planned, settings.work, settings.jobs, until)
    return strikes.figures(part, done)


def _damage(settings: Settings) -> Figures:
    """Damage finished runs and a pruned model: half of the time for verify, half for judge."""
    start, until = time.monotonic(), settings.until("flips")
    kinds = ("label",) if settings.short else tuple(run_kinds())
    runs = {kind: damage.finish(kind, settings.work) for kind in kinds}
    runs_and_pruning = runs | {"prune": damage.finish_pruning(settings.work)}
    to_verify = damage.damages_for_verify(runs_and_pruning, settings.seed)
    to_judge = damage.damages_for_judge(runs, settings.seed, 1 if settings.short else 12)
    if settings.short:
        to_verify = [chunk for chunk in to_verify if chunk.file == "manifest.json" or len(chunk.damages) < 6]
        to_judge = [chunk for chunk in to_judge if damage.decides(chunk.file)][:30]
    half = (start + until) / 2
    count, faults = damage.do_damages(runs_and_pruning, to_verify, settings.work, settings.jobs, half)
    line, groups = damage.figures("flips, verify", count, faults)
    count, faults = damage.do_damages(runs, to_judge, settings.work, settings.jobs, until)
    more, more_groups = damage.figures("judge", count, faults)
    return f"{line}; {more}", groups + more_groups


def _mutate(settings: Settings) -> Figures:
    """Mutate files and arguments."""
    until = settings.until("mutations")
    if not (settings.work / "finished" / "label").exists():
        damage.finish("label", settings.work)
    count = 2_000 if settings.short else 10_000_000
    jobs, save = settings.jobs, settings.save
    return mutations.figures(mutations.do_mutations(settings.work, count, settings.seed, jobs, until, save))


def run(settings: Settings) -> int:
    """Do the parts, print their figures and each group of faults, and return the number of faults."""
    warm_up()
    make_inputs(settings.work / "inputs")
    prepared = _prepare(settings) if {"kills", "errors"} & {*settings.parts} else []
    total = 0
    for part in settings.parts:
        start = time.monotonic()
        if part in ("kills", "errors"):
            line, faults = _strike(settings, part, prepared)
        else:
            line, faults = _damage(settings) if part == "flips" else _mutate(settings)
        print(f"{line}; {time.monotonic() - start:.0f} s in all", flush=True)
        for group, count in Counter(group for group, _ in faults).most_common():
            first = next(fault for name, fault in faults if name == group)
            print(f"  {count} x {first[:400]}", flush=True)
        if settings.save is not None and faults:
            settings.save.mkdir(parents=True, exist_ok=True)
            (settings.save / f"{part}.txt").write_text(
                "\n".join(fault for _, fault in faults), errors="backslashreplace"
            )
        total += len(faults)
    return total


@click.command()
@click.option("--minutes", type=float, default=30.0, show_default=True, help="Length of the long mode.")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of all that is drawn.")
@click.option("--only", type=click.Choice([*SHARES]), help="Do this part only.")
@click.option("--jobs", type=int, default=2, show_default=True, help="Trials at a time.")
@click.option("--short", is_flag=True, help="A few trials, the same ones every time, as the tests do.")
@click.option(
    "--save", type=click.Path(path_type=Path), help="Folder for all faults, and for the mutated inputs."
)
def main(minutes: float, seed: int, only: str | None, jobs: int, short: bool, save: Path | None) -> None:
    """Interrupt every command, damage every file and mutate every input; exit with 1 where one goes wrong."""
    work = Path(tempfile.mkdtemp(prefix="faults-"))
    saved = None if save is None else save.resolve()
    try:
        faults = run(Settings(work, seed, jobs, short, minutes, (only,) if only else (*SHARES,), saved))
    finally:
        shutil.rmtree(work, ignore_errors=True)
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
