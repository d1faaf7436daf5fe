"""Measure how many units the test by betting needs until heads are decided, against tests of a fixed number.

Run: ``python -m benchmarks.sequential RUN... [--orders 20] [--lowest -0.5 -1 -2]``. RUN are folders of
``headroles label`` that keep all scores. Units come in random orders, a look at every 16. The bounds of each
input follow from its layout, by the model's tokenizer; attention is not computed again.
"""

import argparse
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
from jaxtyping import Float, Int

import headroles
from headroles.extraction.texts.tokens import tokenise
from headroles.options.finished import ScoresOptions
from headroles.plans.plan import beyond_bounds
from headroles.records.example import Scores
from headroles.records.findings import Labelling
from headroles.records.rules.rule import Decision, Rule
from headroles.runs.label.kind import KIND
from headroles.runs.label.work import SieveWork
from headroles.sieves.bounds import bounds_before_data
from headroles.stats.columns import Columns, select_examples, unit_numbers
from headroles.stats.correction import significant
from headroles.stats.decision import ENOUGH_FOR_NOT
from headroles.stats.engine import judge
from headroles.stats.families import adjust_families, family_members, joint_explained_p, joint_role_p
from headroles.stats.methods.betting import BETS

LOOK = 16
SHARES = (0.8, 0.9, 0.95, 1.0)
FIXED = (32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024)
"""Numbers of units tried for the test of a fixed number."""
FIXED_ORDERS = 3
Grid = Float[np.ndarray, "columns heads"]


def lowest_scores(run: Labelling) -> tuple[SieveWork, Float[np.ndarray, "columns examples"]]:
    """Return the work of a run, and the smallest score that each input could have, by column."""
    options = KIND.options(run.manifest["settings"])
    if isinstance(options, ScoresOptions):
        raise SystemExit("a run of label is needed, but this one judged a table of scores")
    corpus = KIND.read_corpus(options)
    work = SieveWork(options, corpus)
    passages = {passage.key: passage for passage in corpus}
    tokenised = tokenise(
        work.source.tokenizer, [passages[key] for key in run.scores.examples], options.max_length
    )
    selection = replace(work.sieves.selection, paired=False)
    low = np.full((len(run.findings.rules), len(tokenised)), np.nan)
    place = {rule.sieve: k for k, rule in enumerate(run.findings.rules)}
    rows = [place[name] for name in selection.columns]
    for start in range(0, len(tokenised), 64):
        part = tokenised[start : start + 64]
        batch = work.sieves.sieving(work.source).annotate(part, np.arange(len(part)))
        for offset, prepared in enumerate(batch):
            low[rows, start + offset] = selection.plan(prepared.example, None).low
    return work, low


def bounded_run(
    run: Labelling, work: SieveWork, low: Float[np.ndarray, "columns examples"], lowest: float | None
) -> tuple[Scores, tuple[Rule, ...]]:
    """Return scores without inputs beyond the bounds, and rules with the bounds.

    Args:
        run: A run of label.
        work: Its sieves.
        low: Smallest score that each input could have.
        lowest: Lowest selectivity of every sieve without a swap; None: each one's own.
    """
    selection = work.sieves.selection
    masks = [
        mask if lowest is None or mask.swap is not None else replace(mask, lowest=lowest)
        for mask in selection.masks
    ]
    bounds = bounds_before_data(masks, selection.beside, selection.swaps, selection.scorers)
    values = run.scores.values.copy()
    rules = []
    for k, rule in enumerate(run.findings.rules):
        least, most = bounds[rule.sieve]
        beyond = beyond_bounds(low[k], low[k], np.array(least), np.array(most))
        values[k, beyond] = np.nan
        rules.append(replace(rule, stated_low=least, stated_high=most))
    return replace(run.scores, values=values), tuple(rules)


def log_capitals(columns: Columns, order: np.ndarray, looks: np.ndarray) -> tuple[list[Grid], ...]:
    """Return ln E above and below, and the units with a score, at every look: a row per column."""
    above, below, counts = (list[list[np.ndarray]]([] for _ in looks) for _ in range(3))
    for column in columns:
        values, theta = column.values[order], column.rule.margin
        low, high = column.stated
        seen = np.cumsum(~np.isnan(values), axis=0)
        for rows, gain in (
            (above, (values - theta) / (theta - low)),
            (below, (theta - values) / (high - theta)),
        ):
            gain = np.nan_to_num(gain)
            sums = np.stack([np.cumsum(np.log1p(bet * gain), axis=0)[looks - 1] for bet in BETS])
            most = sums.max(axis=0)
            capital = most + np.log(np.exp(sums - most).mean(axis=0))
            for look in range(len(looks)):
                rows[look].append(capital[look])
        for look, number in enumerate(looks):
            counts[look].append(seen[number - 1])
    return tuple([np.stack(rows) for rows in found] for found in (above, below, counts))


def decisions(
    above: Grid, below: Grid, count: Grid, rules: tuple[Rule, ...], grid: tuple[int, int]
) -> Int[np.ndarray, "columns heads"]:
    """Return decisions of one look: 0 role, 1 not, 2 undetermined, 3 untestable, 4 explained, by column."""
    p, p_not = (np.exp(-np.maximum(capital, 0.0)) for capital in (above, below))
    p, p_not = (np.where(count >= 2, side, np.nan) for side in (p, p_not))
    enough = count >= ENOUGH_FOR_NOT
    joint, explained = joint_role_p(p, rules), joint_explained_p(p, p_not, enough, rules, bets=True)
    families = family_members(rules, *grid, "sieve")
    decided = np.where(np.isnan(joint), 3, 2)
    for code, side, counted in ((4, explained, True), (1, p_not, enough), (0, joint, True)):
        q = np.where(counted, adjust_families(side, families, "fdr_bh", 0.05), np.nan)
        decided[significant(q, 0.05, side)] = code
    return decided


def measure(run: Labelling, work: SieveWork, low: np.ndarray, lowest: float | None, orders: int) -> None:
    """Print, for every role, the labels of a fixed number of units and the units until heads are decided."""
    scores, rules = bounded_run(run, work, low, lowest)
    grid = (scores.layers, scores.heads)
    fixed = judge(scores, rules, Decision()).decision.reshape(len(rules), -1)
    columns = Columns(scores, rules)
    units = len(dict.fromkeys(scores.units))
    looks = np.array([*range(LOOK, units, LOOK), units])
    roles = [k for k, rule in enumerate(rules) if rule.role]
    reached: dict[int, list[list[float]]] = {k: [] for k in roles}
    ends: dict[int, list[np.ndarray]] = {k: [] for k in roles}
    for seed in range(orders):
        order = np.random.default_rng(seed).permutation(units)
        capitals = log_capitals(columns, order, looks)
        found = np.stack(
            [
                decisions(above, below, count, rules, grid)
                for above, below, count in zip(*capitals, strict=True)
            ]
        )
        for k in roles:
            share = (found[:, k] != 2).mean(axis=1)
            reached[k].append([_first_look(share >= need - 1e-9, looks) for need in SHARES])
            ends[k].append(found[-1, k])
    shares = fixed_shares(scores, rules)
    sizes = np.array([*(size for size in FIXED if size < units), units])
    for k in roles:
        planned = [
            np.median([_first_look(row >= need - 1e-9, sizes) for row in shares[:, :, k]]) for need in SHARES
        ]
        own, end = fixed[k], ends[k][0]
        left = np.isnan(scores.values[k]).all(axis=(1, 2)).mean()
        agree = np.mean([(labels == own)[own != 2].mean() for labels in ends[k]])
        median = np.median(np.array(reached[k]), axis=0)
        print(
            f"{rules[k].sieve:<16} lowest {rules[k].stated_low:+.2f}, without {left:5.1%} of inputs; "
            f"{int((~np.isnan(columns[k].values).all(axis=1)).sum())} units; t-skew {_counts(own)}; "
            f"betting {_counts(end)}; same {agree:.1%}; units until 80, 90, 95, 100 % are decided: "
            f"{_units(median)} (t-skew at a fixed number: {_units(planned)})",
            flush=True,
        )


def fixed_shares(scores: Scores, rules: tuple[Rule, ...]) -> Float[np.ndarray, "orders sizes columns"]:
    """Return the share of heads that ``t-skew`` decides at fixed numbers of units, in random orders."""
    numbers = unit_numbers(scores.units)
    units = int(numbers.max()) + 1
    rows = []
    for seed in range(FIXED_ORDERS):
        rank = np.argsort(np.random.default_rng(seed).permutation(units))[numbers]
        sizes = [size for size in FIXED if size < units] + [units]
        decided = [judge(select_examples(scores, rank < size), rules, Decision()).decision for size in sizes]
        rows.append([(grid != 2).mean(axis=(1, 2)) for grid in decided])
    return np.array(rows)


def _first_look(reached: np.ndarray, looks: np.ndarray) -> float:
    """Return the units of the first look at which something holds; inf where none."""
    return float(looks[np.argmax(reached)]) if reached.any() else float("inf")


def _units(numbers: Iterable[float]) -> str:
    """Return numbers of units; "never" where something does not happen."""
    return ", ".join("never" if np.isinf(number) else f"{number:.0f}" for number in numbers)


def _counts(decided: np.ndarray) -> str:
    """Return the numbers of roles, nots and explained heads."""
    return " + ".join(str(int((decided == code).sum())) for code in (0, 1, 4))


def main() -> None:
    """Read the command line and measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", nargs="+", type=Path)
    parser.add_argument("--orders", type=int, default=20)
    parser.add_argument("--lowest", nargs="*", type=float, default=[])
    asked = parser.parse_args()
    for folder in asked.runs:
        run = headroles.load(folder)
        work, low = lowest_scores(run)
        print(f"{folder.name}: lowest scores by column {np.fmin.reduce(low, axis=1).round(3).tolist()}")
        for lowest in asked.lowest or [None]:
            measure(run, work, low, lowest, asked.orders)


if __name__ == "__main__":
    main()
