"""The best head of a row, chosen on one half of the units and tested on the other."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from headroles.records.example import Scores
from headroles.records.findings import DECISIONS, Findings
from headroles.records.probes import BEST_HEADS, BaselineCounts
from headroles.records.rules.rule import Decision, Rule
from headroles.records.table import Table
from headroles.stats.engine import judge
from headroles.stats.probes.baselines import best_rival, within_0_and_1

BEYOND = {"role": "beyond"}
"""Names of outcomes in the table of best heads, where they differ from those elsewhere."""


@dataclass(frozen=True, slots=True)
class RowColumns:
    """The columns of one row of a probe.

    Attributes:
        row: Its position in the tallies.
        directions: Name of each direction.
        columns: Position of each direction's column of right answers.
        contrasts: Position of each direction's column of contrasts; −1 for none.
    """

    row: int
    directions: tuple[str, ...]
    columns: tuple[int, ...]
    contrasts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Pick:
    """The choice for a row: a direction, a head, a baseline; and the accuracy when it was chosen."""

    direction: int
    head: int
    rival: int
    selection: float


def best_heads(
    scores: Scores,
    rules: Sequence[Rule],
    tallies: BaselineCounts,
    rows: Sequence[RowColumns],
    decision: Decision,
    chosen: Bool[np.ndarray, " examples"],
    tested: Bool[np.ndarray, " examples"] | None = None,
) -> Table:
    """Return the best head, direction and baseline of every row, and their accuracies on other data.

    H0 per row: accuracy of the head minus that of the baseline, over all items of the row in the
    population the units come from, is at most the margin; the alternative is that it is larger
    ("not": the other way round). Both are fixed before the test half is looked at, so the test is
    that of a single head. Unit: that of ``scores``; errors are clustered by it
    (``headroles.stats.pooled``). Corrected over ``rows``, both directions apart. Assumptions: those
    of ``decision.test``, for the units of the test half.

    Args:
        scores: Shares of right answers, and contrasts, per column.
        rules: One per column; all of a row share one margin.
        tallies: Of the baselines.
        rows: The rows that are corrected together (those of one probe).
        decision: Test, correction, alpha.
        chosen: Examples of the selection half.
        tested: Examples of the test half; the other ones when None.

    Returns:
        One row for each of ``rows``, in that order.
    """
    where = ~chosen if tested is None else tested
    picks = [_pick(scores, tallies, row, chosen) for row in rows]
    units = [unit for unit, kept in zip(scores.units, where, strict=True) if kept]
    test = _Test(decision, units, [tallies.rows[row.row] for row in rows])
    items = tallies.items[[row.row for row in rows]][:, where].astype(np.float64)
    pairs = list(zip(rows, picks, strict=True))
    right = np.stack([_of_head(scores, row.columns, pick)[where] for row, pick in pairs])
    beyond = np.stack([_of_head(scores, row.contrasts, pick)[where] for row, pick in pairs])
    rival = np.stack([_of_rival(tallies, row, pick)[where] for row, pick in pairs])
    nothing = np.zeros_like(rival)
    margins = [rules[row.columns[0]].margin for row in rows]
    race = test.findings(right, rival, items, margins)
    level = test.findings(right, nothing, items, [0.0] * len(rows))
    contrast = test.findings(beyond, nothing, items, [0.0] * len(rows), smallest=-1.0)
    return BEST_HEADS.rows(
        _row(k, pair, tallies, scores.heads, (race, level, contrast), int(items[k].sum()))
        for k, pair in enumerate(pairs)
    )


def _pick(scores: Scores, tallies: BaselineCounts, row: RowColumns, chosen: np.ndarray) -> _Pick | None:
    rival, items = best_rival(tallies, row.row, chosen), tallies.items[row.row, chosen]
    if rival is None:
        return None
    shares = scores.values[list(row.columns)][:, chosen].reshape(len(row.columns), len(items), -1)
    counts = (np.nan_to_num(shares.astype(np.float64)) * items[None, :, None]).sum(axis=1)
    right = counts.round(3) / items.sum()  # shares are in single precision: equal counts stay equal
    direction, head = np.unravel_index(int(right.argmax()), right.shape)
    return _Pick(int(direction), int(head), rival, float(right[direction, head]))


def _of_head(scores: Scores, columns: Sequence[int], pick: _Pick | None) -> Float[np.ndarray, " examples"]:
    if pick is None or columns[pick.direction] < 0:
        return np.full(len(scores.examples), np.nan)
    values = scores.values[columns[pick.direction]].reshape(len(scores.examples), -1)
    chosen: np.ndarray = values[:, pick.head].astype(np.float64)
    return chosen


def _of_rival(tallies: BaselineCounts, row: RowColumns, pick: _Pick | None) -> Float[np.ndarray, " examples"]:
    items = tallies.items[row.row]
    blank = np.full(items.shape, np.nan)
    if pick is None:
        return blank
    shares: np.ndarray = np.divide(tallies.hits[row.row, :, pick.rival], items, out=blank, where=items > 0)
    return shares


@dataclass(frozen=True, slots=True)
class _Test:
    """One column of one head for each row, judged over the units of the test half."""

    decision: Decision
    units: Sequence[str]
    names: Sequence[str]

    def findings(
        self,
        values: np.ndarray,
        null: np.ndarray,
        items: np.ndarray,
        margins: Sequence[float],
        smallest: float = 0.0,
    ) -> Findings:
        """Return findings of the rows, all of them one family; values lie between ``smallest`` and 1."""
        rules = [
            Rule(name, margin=margin, pooled=True, low=smallest, high=1.0)
            for name, margin in zip(self.names, margins, strict=True)
        ]
        scores = Scores(
            sieves=tuple(self.names),
            examples=tuple(map(str, range(len(self.units)))),
            units=tuple(self.units),
            tokens=np.zeros(len(self.units), dtype=np.int64),
            cells=items,
            values=values[:, :, None, None].astype(np.float32),
            null=null,
        )
        return judge(scores, rules, replace(self.decision, family="run"))


def _row(
    k: int,
    pair: tuple[RowColumns, _Pick | None],
    tallies: BaselineCounts,
    heads: int,
    outcomes: tuple[Findings, Findings, Findings],
    items: int,
) -> dict[str, Any]:
    row, pick = pair
    race, level, contrast = outcomes

    def at(found: Findings, name: str) -> float:
        return float(getattr(found, name)[k, 0, 0])

    base = at(race, "null")
    outcome = DECISIONS[int(race.decision[k, 0, 0])]
    return {
        "row": tallies.rows[row.row],
        "direction": row.directions[pick.direction] if pick else "",
        "layer": pick.head // heads if pick else -1,
        "head": pick.head % heads if pick else -1,
        "items": items,
        "units": int(race.count[k, 0, 0]),
        "selection": pick.selection if pick else float("nan"),
        "accuracy": at(level, "mean"),
        "low": within_0_and_1(at(level, "low")),
        "high": within_0_and_1(at(level, "high")),
        "baseline": tallies.baselines[pick.rival] if pick else "",
        "baseline_accuracy": base,
        "difference": at(race, "mean") - base,
        "difference_low": float(np.clip(at(race, "low") - base, -1.0, 1.0)),
        "difference_high": float(np.clip(at(race, "high") - base, -1.0, 1.0)),
        "margin": at(race, "margin"),
        "statistic": at(race, "statistic"),
        "p": at(race, "p"),
        "q": at(race, "q"),
        "p_not": at(race, "p_not"),
        "q_not": at(race, "q_not"),
        "contrast": at(contrast, "mean"),
        "contrast_low": at(contrast, "low"),
        "contrast_high": at(contrast, "high"),
        "decision": BEYOND.get(outcome, outcome),
    }
