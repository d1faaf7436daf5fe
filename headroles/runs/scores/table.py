"""Read a table of scores as scores and rules, with a sentence on everything that the table does not say."""

from __future__ import annotations

import io
import math
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from headroles.errors import BadInput, shorten
from headroles.extraction.texts.files import check_present, open_binary
from headroles.extraction.texts.rows import missing_column
from headroles.options.finished import ScoresOptions
from headroles.records.example import Scores
from headroles.records.objects import DataObject, refuse_name
from headroles.records.rules.rule import Rule
from headroles.stats.decision import ENOUGH_FOR_NOT
from headroles.storage.arrow.files import read_parquet

if TYPE_CHECKING:
    import pandas as pd

NEEDED = ("unit", "layer", "head", "score")
OF_INPUTS = ("group", "tokens")
"""Columns with one value for each unit."""
OF_CELLS = ("null", "cells")
"""Columns with one value for each sieve and unit."""
TEXTS = ("question", "contrast", "stronger", "weaker")
NUMBERS = ("margin", "low", "high")
FLAGS = ("role", "pooled")
OF_SIEVES = (*TEXTS, *NUMBERS, *FLAGS)
"""Columns with one value for each sieve."""
COLUMNS = ("sieve", *NEEDED, *OF_INPUTS, *OF_CELLS, *OF_SIEVES)
ENDINGS = (".parquet", ".csv", ".tsv", ".csv.gz", ".tsv.gz")
SIEVE = "score"
"""Name of the sieve of a table without the column ``sieve``."""
MOST_CELLS = 1_000_000_000
"""Most scores of a run, with those that are missing."""
LARGEST = 1e30
"""Largest size of a score; single precision holds it."""
TRUE = {"true": True, "false": False, "1": True, "0": False, "1.0": True, "0.0": False}
"""Truth values by their text."""


@dataclass(frozen=True, slots=True, eq=False)
class ScoreTable:
    """A table of scores as the engine takes it.

    Attributes:
        scores: One number per sieve, unit and head.
        rules: One for each sieve.
        notes: What the table does not say, one sentence each.
        sha256: SHA-256 of the file, or of the rows of an object.
    """

    scores: Scores
    rules: tuple[Rule, ...]
    notes: tuple[str, ...]
    sha256: str


def check_table(table: str | DataObject | None) -> None:
    """Refuse a table that is not there, or of an unknown ending, before anything heavy is imported.

    Raises:
        BadInput: When there is none.
    """
    if table is None:
        raise BadInput("scores to judge are a table, but none was given; name its file, or give a DataFrame")
    if isinstance(table, DataObject):
        return
    refuse_name(table)
    if not table.endswith(ENDINGS):
        raise BadInput(f"tables of scores end in {', '.join(ENDINGS)}, but got '{table}'")
    check_present(table)


def read_table(options: ScoresOptions) -> ScoreTable:
    """Read the table that options name, check every column, and lay the scores out as arrays.

    Raises:
        BadInput: When the table cannot be read, or breaks a rule; the message names the column.
    """
    assert options.scores is not None
    place = options.scores.name if isinstance(options.scores, DataObject) else f"'{options.scores}'"
    frame, digest = _frame_of(options.scores)
    for column in NEEDED:
        if column not in frame.columns:
            raise missing_column(place, column, list(frame.columns))
    if not len(frame):
        raise BadInput(f"{place}: a table of scores has at least one row, but this one is empty")
    layout = _Layout.of(frame, place)
    values = layout.grid(_numbers(frame, "score", place))
    own = {name: layout.by_sieve(name) for name in OF_SIEVES if name in frame.columns}
    rules = _rules(layout.sieves, own, options, place)
    null = layout.by_cell("null", 0.0 if options.null is None else options.null, np.isnan(values).all((2, 3)))
    varies = "null" in frame.columns
    rules = tuple(_with_null(rule, row, varies) for rule, row in zip(rules, null, strict=True))
    _check_bounds(values, rules, place)
    scores = Scores(
        sieves=layout.sieves,
        examples=layout.units,
        units=layout.by_unit("group", layout.units),
        tokens=np.array(layout.by_unit("tokens", [0] * len(layout.units)), dtype=np.int64),
        cells=layout.by_cell("cells", math.nan, np.zeros(values.shape[:2], dtype=np.bool_)),
        values=values.astype(np.float32),
        null=null,
    )
    _check_cells(scores, rules, place)
    return ScoreTable(scores, rules, _notes(frame, scores, rules, options), digest)


def _frame_of(table: str | DataObject) -> tuple[pd.DataFrame, str]:
    """Return a table as a frame, and its SHA-256."""
    import pandas as pd

    if isinstance(table, DataObject):
        if table.form not in ("table", "dictionaries"):
            raise BadInput(f"scores are a table or a list of dictionaries, but got {table.name}")
        frame = table.data if isinstance(table.data, pd.DataFrame) else pd.DataFrame(list(table.data))
        return frame, table.sha256
    try:
        with open_binary(table) as file:
            data = file.read()
        if Path(table).suffix == ".parquet":
            return read_parquet(data).to_pandas(), sha256(data).hexdigest()
        names = dict.fromkeys(("sieve", "unit", "group", *TEXTS), str)
        marks = "\t" if ".tsv" in Path(table).suffixes else ","
        missing = {name: ["", "nan", "NaN", "NA"] for name in ("score", *OF_CELLS, *NUMBERS)}
        text = io.BytesIO(data)
        packed: Literal["gzip"] | None = "gzip" if table.endswith(".gz") else None
        frame = pd.read_csv(
            text, sep=marks, dtype=names, keep_default_na=False, na_values=missing, compression=packed
        )
    except (OSError, EOFError, ValueError, MemoryError, zlib.error) as error:  # ValueError: pyarrow, pandas
        raise BadInput(
            f"'{table}' cannot be read as a table: {' '.join(str(error).split())[:200]}"
        ) from error
    return frame, sha256(data).hexdigest()


def _numbers(frame: pd.DataFrame, column: str, place: str) -> np.ndarray:
    """Return a column of finite numbers, NaN where there is none."""
    import pandas as pd

    try:
        values: np.ndarray = pd.to_numeric(frame[column]).to_numpy(np.float64, na_value=math.nan)
    except (TypeError, ValueError) as error:
        raise BadInput(f"{place}: the column {column!r} holds numbers, but {error}") from error
    if (np.abs(values) > LARGEST).any():
        raise BadInput(f"{place}: numbers are at most 1e30, but {column!r} has {np.nanmax(np.abs(values)):g}")
    return values


def _indices(frame: pd.DataFrame, column: str, place: str) -> np.ndarray:
    """Return a column of whole numbers from 0."""
    values = _numbers(frame, column, place)
    wrong = ~((values >= 0) & (values == np.floor(values)) & (values < 2**31))
    if wrong.any():
        raise BadInput(
            f"{place}: the column {column!r} holds whole numbers from 0, but has {values[wrong][0]:g}"
        )
    return values.astype(np.int64)


@dataclass(slots=True, eq=False)
class _Layout:
    """Where each row of a table belongs.

    Attributes:
        sieves: Names of the sieves, in the order of the table.
        units: Names of the units, in the order of the table.
        sieve, unit, layer, head: Numbers of each row.
    """

    frame: pd.DataFrame
    place: str
    sieves: tuple[str, ...]
    units: tuple[str, ...]
    sieve: np.ndarray
    unit: np.ndarray
    layer: np.ndarray
    head: np.ndarray

    @classmethod
    def of(cls, frame: pd.DataFrame, place: str) -> _Layout:
        """Number the sieves and units of a table, and check that no row is there twice."""
        names = frame["sieve"] if "sieve" in frame.columns else None
        sieve, sieves = _numbered([SIEVE] * len(frame) if names is None else names, "sieve", place)
        unit, units = _numbered(frame["unit"], "unit", place)
        layer, head = (_indices(frame, name, place) for name in ("layer", "head"))
        layout = cls(frame, place, sieves, units, sieve, unit, layer, head)
        if (cells := math.prod(layout.shape)) > MOST_CELLS:
            raise BadInput(
                f"{place}: sieves × units × layers × heads are at most {MOST_CELLS:,}, but got {cells:,}; "
                f"number layers and heads from 0 without gaps"
            )
        rows = np.ravel_multi_index((sieve, unit, layer, head), layout.shape)
        order = np.argsort(rows, kind="stable")
        twice = np.flatnonzero(np.diff(rows[order]) == 0)
        if twice.size:
            row = order[twice[0]]
            raise BadInput(
                f"{place}: every unit has one score for each sieve, layer and head, but "
                f"{units[unit[row]]!r} has two for {sieves[sieve[row]]!r} in head {layer[row]}-{head[row]}"
            )
        return layout

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """Sieves, units, layers and heads."""
        return len(self.sieves), len(self.units), int(self.layer.max()) + 1, int(self.head.max()) + 1

    def grid(self, column: np.ndarray) -> np.ndarray:
        """Return a value per sieve, unit, layer and head; NaN where there is no row."""
        values = np.full(self.shape, np.nan)
        values[self.sieve, self.unit, self.layer, self.head] = column
        return values

    def by_cell(self, name: str, usual: float, silent: np.ndarray) -> np.ndarray:
        """Return a number per sieve and unit, the same for all heads; NaN where nothing has a score."""
        if name not in self.frame.columns:
            return np.where(silent, np.nan, usual)
        given = _numbers(self.frame, name, self.place)
        table = np.full(self.shape[:2], np.nan)
        table[self.sieve, self.unit] = given
        other = table[self.sieve, self.unit]
        self._check_same(name, (given == other) | (np.isnan(given) & np.isnan(other)), "unit of a sieve")
        return table

    def by_unit(self, name: str, usual: Sequence[Any]) -> Any:
        """Return a value per unit, the same for all its rows."""
        if name not in self.frame.columns:
            return tuple(usual)
        if name == "tokens":
            given: np.ndarray = _indices(self.frame, name, self.place)
        else:
            given = np.array([str(value) for value in self.frame[name]], dtype=object)
        table = np.empty(len(self.units), dtype=given.dtype)
        table[self.unit] = given
        self._check_same(name, given == table[self.unit], "unit")
        return tuple(table.tolist())

    def by_sieve(self, name: str) -> list[Any]:
        """Return a value per sieve, the same for all its rows."""
        column = self.frame[name]
        given = _numbers(self.frame, name, self.place) if name in NUMBERS else _plain_texts(column)
        table = np.empty(len(self.sieves), dtype=given.dtype)
        table[self.sieve] = given
        other = table[self.sieve]
        same = given == other
        self._check_same(name, (same | np.isnan(given)) if name in NUMBERS else same, "sieve")
        return [_flag(value, name, self.place) if name in FLAGS else value for value in table.tolist()]

    def _check_same(self, name: str, same: np.ndarray, what: str) -> None:
        """Refuse a column that has several values where it has one."""
        if not np.all(same):
            row = int(np.flatnonzero(~same)[0])
            raise BadInput(
                f"{self.place}: the column {name!r} has one value for each {what}, but "
                f"{self.sieves[self.sieve[row]]!r}, unit {self.units[self.unit[row]]!r}, has several"
            )


def _numbered(column: Any, name: str, place: str) -> tuple[np.ndarray, tuple[str, ...]]:
    """Return the number of each name in a column, and the names in order of their first row."""
    import pandas as pd

    texts = pd.Series([("" if value is None else str(value)).strip() for value in column], dtype=object)
    if (texts == "").any() or (pd.Series(column).isna()).any():
        raise BadInput(f"{place}: the column {name!r} has a name in every row, but some are empty")
    numbers, names = pd.factorize(texts)
    return numbers, tuple(names.tolist())


def _plain_texts(column: Any) -> np.ndarray:
    """Return a column as texts; "" where there is none."""
    missing = column.isna()
    texts = ["" if empty else str(value) for value, empty in zip(column, missing, strict=True)]
    return np.array(texts, dtype=object)


def _flag(value: str, name: str, place: str) -> bool:
    """Return a truth value from its text."""
    if value.lower() not in TRUE:
        raise BadInput(f"{place}: the column {name!r} holds true or false, but has {shorten(value)}")
    return TRUE[value.lower()]


def _rules(
    sieves: Sequence[str], own: dict[str, list[Any]], options: ScoresOptions, place: str
) -> tuple[Rule, ...]:
    """Return the rule of each sieve: its own columns, and options where the table has none."""
    named = {name for column in ("contrast", "stronger", "weaker") for name in own.get(column, ()) if name}
    if unknown := sorted(named - {*sieves}):
        raise BadInput(
            f"{place}: a contrast is a sieve of the table, but {unknown[0]!r} is none; sieves: "
            f"{', '.join(sieves)}"
        )
    if not any(own.get("role", [sieve not in named for sieve in sieves])):
        raise BadInput(f"{place}: at least one sieve is a role, but none is one here; mend the column 'role'")
    rules = []
    for number, sieve in enumerate(sieves):
        fields = {name: values[number] for name, values in own.items()}
        role = fields.setdefault("role", sieve not in named)
        if role and options.margin is not None:
            fields["margin"] = options.margin
        if math.isnan(fields.setdefault("margin", math.nan)):
            raise BadInput(
                f"{place}: a margin says how far beyond chance a mean score must lie to count, but {sieve!r} "
                f"has none; give {'--margin, such as 0 for chance itself' if role else 'the column margin'}"
            )
        for name, usual in (("low", options.low), ("high", options.high)):
            if math.isnan(fields.get(name, math.nan)):
                fields[name] = math.nan if usual is None else usual
        rules.append(Rule(sieve, **fields))
    return tuple(rules)


def _with_null(rule: Rule, null: np.ndarray, varies: bool) -> Rule:
    """Return a rule with the mean chance value of its sieve, and with the bounds of scores less chance.

    Bounds that the user gives are stated before any data. Where the table has chance values of its own, they
    may be anything between these bounds.
    """
    known = null[~np.isnan(null)]
    level = float(known.mean()) if known.size else 0.0
    least, most = (rule.high, rule.low) if varies else (level, level)
    between = not varies or bool(((known >= rule.low) & (known <= rule.high)).all())
    if not (between and math.isfinite(rule.low + rule.high)):
        return replace(rule, null=level)
    return replace(rule, null=level, stated_low=rule.low - least, stated_high=rule.high - most)


def _check_bounds(values: np.ndarray, rules: Sequence[Rule], place: str) -> None:
    """Refuse scores outside the bounds that are given for their sieve."""
    for rule, scores in zip(rules, values, strict=True):
        known = scores[~np.isnan(scores)]
        room = 1e-6 * max(1.0, abs(rule.low), abs(rule.high)) if math.isfinite(rule.low + rule.high) else 1e-6
        if known.size and (known.min() < rule.low - room or known.max() > rule.high + room):
            raise BadInput(
                f"{place}: scores of {rule.sieve!r} lie between its lowest and highest possible score, "
                f"{rule.low:g} and {rule.high:g}, but reach from {known.min():g} to {known.max():g}"
            )


def _check_cells(scores: Scores, rules: Sequence[Rule], place: str) -> None:
    """Refuse a pooled sieve whose scores do not say how many things they are the mean of."""
    for position, rule in enumerate(rules):
        spoken = ~np.isnan(scores.values[position]).all(axis=(1, 2))
        if rule.pooled and np.isnan(scores.cells[position][spoken]).any():
            raise BadInput(
                f"{place}: a pooled sieve needs the column 'cells', the number of things that each score is "
                f"the mean of, but {rule.sieve!r} lacks some"
            )


def _notes(
    frame: pd.DataFrame, scores: Scores, rules: Sequence[Rule], options: ScoresOptions
) -> tuple[str, ...]:
    """Return what the table does not say, one sentence each."""
    notes = []
    if "null" not in frame.columns and options.null is None:
        notes.append("the table does not say which score chance gives; 0 was taken (--null).")
    unknown = [rule.sieve for rule in rules if math.isnan(rule.low) or math.isnan(rule.high)]
    if unknown:
        notes.append(
            f"the lowest or highest possible score is unknown for {', '.join(unknown)} (--low, --high): "
            f"heads without spread stay undetermined, and claims that hinge on few units are guarded less."
        )
    if extra := [str(name) for name in frame.columns if name not in COLUMNS]:
        notes.append(f"columns that were not read: {', '.join(extra)}.")
    gaps = int(np.isnan(scores.values).sum())
    if gaps:
        notes.append(f"{gaps:,} of {scores.values.size:,} scores are missing.")
    return (*notes, *_few_units(scores, rules))


def _few_units(scores: Scores, rules: Sequence[Rule]) -> list[str]:
    """Return a sentence for every number of units that is small, with the roles that rest on them."""
    few: dict[int, list[str]] = {}
    for position, rule in enumerate(rules):
        units = scores.count_units(position)
        if rule.role and 0 < units < ENOUGH_FOR_NOT:
            few.setdefault(units, []).append(rule.sieve)
    notes = []
    for units, roles in sorted(few.items()):
        rest = f"{', '.join(roles)} {'rests' if len(roles) == 1 else 'rest'} on"
        if units == 1:
            notes.append(f"{rest} 1 unit and cannot be tested. Give more units.")
        else:
            notes.append(f"{rest} {units} units; below {ENOUGH_FOR_NOT}, no head is called 'not'.")
    return notes
