"""Simulate the decisions about every column of real runs, with heads moved to θ, and count the false ones.

Units of a run are drawn with replacement, all heads and the column with its contrast together. Heads are
moved by adding a constant, so that a mean lies exactly where a setting puts it. Tests, the guard against
decisions that hinge on few units, and corrections are the shipped code; every figure is given with the guard
and without it.

    python benchmarks/calibration/columns.py RUN ...  # adds to docs/reference/calibration.json

Settings of a column alone, which are the worst cases of the decisions that it takes part in:

* ``all``: every head at θ.
* ``near``: only heads whose real mean lies between θ/2 and 3θ + 0.1, at θ: shapes that heads at θ have.
* ``mixed``: heads beyond θ stay where they are, all others are at θ (for "not": heads below stay).

Settings of a column with the contrast that decides with it:

* ``as is``: nothing is moved.
* ``at the margin``: the score as it is, the contrast of every head at its margin.
"""

import json
import os
import sys
import zlib
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import click
import numpy as np
from counts import ALPHA
from simulate import FIGURES, written
from threadpoolctl import threadpool_limits

from headroles.stats.claims import guarded_p
from headroles.stats.columns import Column, Columns, handle_flat_scores
from headroles.stats.correction import adjust, significant
from headroles.stats.decision import ENOUGH_FOR_NOT
from headroles.stats.methods.closed_form import Outcome
from headroles.stats.methods.names import METHODS
from headroles.stats.moments import Sample, sample_from_sums
from headroles.stats.relabel import CentredPowers

OUT = Path(__file__).resolve().parents[2] / "docs" / "reference"
UNITS = (30, 60, 128, 300)
TEST = "t-skew"
CHUNK = 50
"""Runs drawn at once."""
CLAIMS = ("role", "not", "explained")
SHARE = 0.5
"""Share of the variance that one unit holds above which an interval is marked."""


@dataclass(frozen=True)
class Real:
    """Scores of one column of a run and of the contrast that decides with it.

    Attributes:
        task: Where they are from.
        column: The scores, of the units that have them.
        contrast: Those of the contrast; None without one.
    """

    task: str
    column: Column
    contrast: Column | None

    @property
    def moves(self) -> np.ndarray:
        """Return which heads have spread in both columns."""
        both = [each.values.std(axis=0) > 1e-4 for each in (self.column, self.contrast) if each is not None]
        return np.logical_and.reduce(both)

    @property
    def near(self) -> np.ndarray:
        """Return which heads have shapes that a head at θ can have."""
        mean, margin = self.column.values.mean(axis=0), self.column.rule.margin
        return (mean > margin / 2) & (mean < 3 * margin + 0.1)


def real_columns(folder: str) -> list[Real]:
    """Return every column of a run, those of roles with the contrast that decides with them."""
    from headroles.storage.run import load

    run = load(folder)
    task = str(run.manifest["task"] or Path(folder).name)
    columns = {column.rule.sieve: column for column in Columns(run.scores, run.findings.rules)}
    found = []
    for column in columns.values():
        contrast = columns.get(column.rule.contrast)
        parts = [each for each in (column, contrast) if each is not None]
        whole = ~np.isnan(np.concatenate([each.values for each in parts], axis=1)).any(axis=1)
        if whole.sum() >= ENOUGH_FOR_NOT:
            cut = [replace(each, values=each.values[whole]) for each in parts]
            found.append(Real(task, cut[0], cut[1] if contrast is not None else None))
    return found


@dataclass(frozen=True)
class Draw:
    """Many runs of one column: moments of (runs, heads), and the means over all units.

    Attributes:
        column: The column, whose bounds hold for heads as they are.
        sample: Moments of every run and head.
        truth: Mean of every head over all units.
    """

    column: Column
    sample: Sample
    truth: np.ndarray

    def outcome(self, at: np.ndarray, guarded: bool) -> Outcome:
        """Return the test with every head's mean moved to a value.

        Args:
            at: Means over all units to which heads are moved.
            guarded: Whether claims that hinge on few units are withheld, and so count as p = 1.
        """
        shift = at - self.truth
        moved = replace(self.sample, mean=self.sample.mean + shift)
        far = float(np.abs(shift).max(initial=0.0))
        column, margin = self.column, self.column.rule.margin
        found = METHODS[TEST](column.values, moved, margin, 0, 0)
        if not guarded:
            wide = replace(column, low=column.low - far, high=column.high + far)
            return handle_flat_scores(found, wide, moved)
        found = handle_flat_scores(found, column, moved)
        return replace(
            found,
            p=guarded_p(found.p, column, moved, TEST, 1),
            p_not=guarded_p(found.p_not, column, moved, TEST, -1),
        )


def drawn(column: Column, index: np.ndarray) -> Draw:
    """Return the moments of runs over resampled units, whose numbers are (units, runs)."""
    size = len(column.values)
    weights = np.stack([np.bincount(run, minlength=size) for run in index.T]).astype(np.float64)
    sample = sample_from_sums(*CentredPowers(column.values).sums(weights))
    return Draw(column, sample, column.values.mean(axis=0))


class Counts:
    """Means over runs, by key."""

    def __init__(self) -> None:
        self._sums: dict[str, np.ndarray] = {}
        self.runs = 0

    def add(self, key: str, figures: list[float]) -> None:
        """Add the sums of one chunk."""
        self._sums[key] = self._sums.get(key, 0.0) + np.asarray(figures, dtype=np.float64)

    def means(self) -> dict[str, list[float]]:
        """Return the mean of every figure over all runs."""
        return {key: [round(float(each), 4) for each in sums / self.runs] for key, sums in self._sums.items()}


def _errors(p: np.ndarray, allowed: np.ndarray, false: np.ndarray) -> list[float]:
    """Return the sums over runs of "any false claim" under holm, and of the false share under fdr_bh."""
    any_false = significant(adjust(p, "holm"), ALPHA) & allowed & false
    claimed = significant(adjust(p, "fdr_bh"), ALPHA) & allowed
    share = (claimed & false).sum(axis=1) / np.maximum(claimed.sum(axis=1), 1)
    return [float(any_false.any(axis=1).sum()), float(share.sum())]


def _alone(counts: Counts, draw: Draw, near: np.ndarray, moves: np.ndarray) -> None:
    """Count false roles and nots of a column by itself, in every setting."""
    margin, truth = draw.column.rule.margin, draw.truth
    at = np.full(truth.shape, margin)
    for guarded in (True, False):
        key = "guarded" if guarded else "bare"
        outcome = draw.outcome(at, guarded)
        for setting, heads in (("all", moves), ("near", moves & near)):
            if heads.any():
                every = np.ones((1, int(heads.sum())), dtype=bool)
                role = _errors(outcome.p[:, heads], every, every)[0]
                other = _errors(outcome.p_not[:, heads], every, every)[0]
                counts.add(f"{setting}, {key}", [role, other])
        sides = []
        for side, beyond in ((0, truth > margin), (1, truth < margin)):
            mixed = draw.outcome(np.where(beyond, truth, at), guarded)
            p = (mixed.p_not if side else mixed.p)[:, moves]
            sides.append(_errors(p, np.ones(p.shape, dtype=bool), ~beyond[None, moves])[1])
        counts.add(f"mixed, {key}", sides)


def _together(counts: Counts, draw: Draw, contrast: Draw | None, moves: np.ndarray) -> None:
    """Count false and true claims of a column with the contrast that decides with it."""
    margin, truth = draw.column.rule.margin, draw.truth
    settings = [("as is", None if contrast is None else contrast.truth)]
    if contrast is not None:
        settings.append(("at the margin", np.full(truth.shape, contrast.column.rule.margin)))
    for guarded in (True, False):
        own = draw.outcome(truth, guarded)
        enough = draw.sample.count >= ENOUGH_FOR_NOT
        for setting, at in settings:
            beyond, p = truth > margin, own.p
            claims = {"role": (p, np.ones(p.shape, dtype=bool), ~beyond)}
            if contrast is not None and at is not None:
                edge = contrast.column.rule.margin
                other = contrast.outcome(at, guarded)
                claims["role"] = (np.maximum(p, other.p), claims["role"][1], ~(beyond & (at > edge)))
                explained = np.maximum(p, other.p_not)
                claims["explained"] = (explained, enough, ~(beyond & (at < edge)))
            claims["not"] = (own.p_not, enough, ~(truth < margin))
            figures = []
            for name in CLAIMS:
                if name in claims:
                    p_of, allowed, false = (each[..., moves] for each in claims[name])
                    made = significant(adjust(p_of, "fdr_bh"), ALPHA) & allowed
                    figures += [*_errors(p_of, allowed, false[None]), float(made.sum())]
            counts.add(f"{setting}, {'guarded' if guarded else 'bare'}", figures)


def _coverage(draw: Draw, index: np.ndarray, moves: np.ndarray) -> np.ndarray:
    """Return, per head, the runs whose interval covers the mean, those unmarked, and those that are both."""
    outcome = draw.outcome(draw.truth, False)
    covered = ((outcome.low <= draw.truth) & (draw.truth <= outcome.high))[:, moves]
    values, sample = draw.column.values[index], draw.sample
    farthest = np.maximum(values.max(axis=0) - sample.mean, sample.mean - values.min(axis=0))
    unmarked = ~(farthest**2 > SHARE * sample.sd**2 * (sample.count - 1))[:, moves]
    return np.stack([covered.sum(axis=0), unmarked.sum(axis=0), (covered & unmarked).sum(axis=0)])


def simulated(real: Real, units: int, runs: int, seed: int) -> dict[str, object]:
    """Simulate all figures of one column and number of units."""
    column, moves = real.column, real.moves
    counts, name = Counts(), f"{real.task} {column.rule.sieve} {units}"
    cover = np.zeros((3, int(moves.sum())))
    for number in range(runs // CHUNK):
        rng = np.random.default_rng([seed, zlib.crc32(name.encode()), number])
        index = rng.integers(0, len(column.values), (units, CHUNK))
        draw = drawn(column, index)
        contrast = None if real.contrast is None else drawn(real.contrast, index)
        _alone(counts, draw, real.near, moves)
        if column.rule.role:
            _together(counts, draw, contrast, moves)
        cover += _coverage(draw, index, moves)
        counts.runs += CHUNK
    share = cover[0] / counts.runs
    return {
        "task": real.task,
        "sieve": column.rule.sieve,
        "role": column.rule.role,
        "contrast": column.rule.contrast if real.contrast is not None else "",
        "units": units,
        "of": len(column.values),
        "heads": int(moves.sum()),
        "near": int((moves & real.near).sum()),
        "kurtosis": _kurtosis(column.values[:, moves]),
        "errors": counts.means(),
        "coverage": {
            "mean": round(float(share.mean()), 4),
            "worst": round(float(share.min()), 4),
            "marked": round(1 - float(cover[1].sum()) / (counts.runs * cover.shape[1]), 4),
            "unmarked mean": round(float(cover[2].sum() / cover[1].sum()), 4),
            "below 0.9": int((share < 0.9).sum()),
        },
    }


def _kurtosis(values: np.ndarray) -> list[float]:
    """Return the median and the largest kurtosis over the heads."""
    far = (values - values.mean(axis=0)) / values.std(axis=0)
    each = (far**4).mean(axis=0)
    return [round(float(np.median(each)), 1), round(float(each.max()), 1)]


def one(real: Real, units: int, runs: int, seed: int) -> dict[str, object]:
    """Simulate one cell in its own process, on one thread."""
    with threadpool_limits(1):
        return simulated(real, units, runs, seed)


@click.command()
@click.argument("folders", nargs=-1, required=True)
@click.option("--runs", default=400, show_default=True, help="Runs of every cell, a multiple of 50.")
@click.option("--units", multiple=True, type=int, default=UNITS, show_default=True, help="Repeatable.")
@click.option("--seed", default=0, show_default=True)
@click.option("--jobs", default=os.cpu_count() or 1, show_default=True, help="Processes.")
@click.option("--out", default=str(OUT), show_default=True, help="Folder with calibration.json.")
def main(folders: tuple[str, ...], runs: int, units: tuple[int, ...], seed: int, jobs: int, out: str) -> None:
    """Simulate the columns of run folders (headroles label); others in calibration.json stay."""
    if runs < CHUNK or runs % CHUNK:
        sys.exit(f"runs are simulated {CHUNK} at a time, but got {runs}; give a multiple of {CHUNK}")
    requests = [(real, size) for folder in folders for real in real_columns(folder) for size in units]
    with ProcessPoolExecutor(jobs) as pool:
        futures = [pool.submit(one, real, size, runs, seed) for real, size in requests]
        with click.progressbar(futures, label="cells", file=sys.stderr) as done:
            cells = [future.result() for future in done]
    about = {"runs": runs, "seed": seed, "units": list(units), "alpha": ALPHA, "test": TEST}
    place = Path(out)
    data = json.loads((place / FIGURES).read_text(encoding="utf-8"))
    before = data.get("columns", {"about": about, "cells": []})
    if before["about"] != about:
        sys.exit(f"figures of columns share their settings, but {place / FIGURES} has {before['about']}")
    new = {_place(cell) for cell in cells}
    kept = [cell for cell in before["cells"] if _place(cell) not in new]
    written(data | {"columns": {"about": about, "cells": kept + cells}}, place)


def _place(cell: dict[str, object]) -> tuple[object, ...]:
    """Return task, column and units of a cell."""
    return cell["task"], cell["sieve"], cell["units"]


if __name__ == "__main__":
    main()
