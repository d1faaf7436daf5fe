"""Parts of a run by name: one head, ``run.head(2, 8)``, and one role, ``run.roles["local"]``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from headroles.errors import UnknownName
from headroles.records.numbers import mean
from headroles.records.roles import phrase_of
from headroles.records.shown.brief import brief_lines
from headroles.records.shown.notebook import counts_table, escape_name, model_name, paragraph

if TYPE_CHECKING:
    import pandas as pd

    from headroles.records.findings import Labelling

MOST_HEADS = 12
"""Heads of a role that are named in its text; more in its table."""
Place = tuple[int, int]
"""Layer and head, both from 0."""


@dataclass(frozen=True, slots=True, eq=False)
class Head:
    """One head of a run.

    Attributes:
        layer: From 0.
        head: From 0, within its layer.
        model: Name of the model.
        sentence: What the head does, in one plain sentence.
        roles: Names of the roles that it holds, the strongest first.
        link: Place of the head in the report; "" where the run has no report on this machine.
        evidence: One row per role that was tested. See ``frame``.
    """

    layer: int
    head: int
    model: str
    sentence: str
    roles: tuple[str, ...]
    link: str
    evidence: pd.DataFrame

    def frame(self) -> pd.DataFrame:
        """Return one row per role that was tested, the roles of the head first, then by mean.

        Columns: ``sieve``, ``title`` in plain words, ``verdict``, ``mean`` with the ends ``low`` and ``high``
        of its 95 % interval, ``threshold``, ``contrast`` and ``contrast_threshold`` (NaN without a contrast),
        and ``q``.
        """
        return self.evidence.copy()

    def to_pandas(self) -> pd.DataFrame:
        """Return the same as ``frame``."""
        return self.frame()

    def __repr__(self) -> str:
        """Return the sentence, and a line per role, in at most 20 lines."""
        rows = _rows(self.evidence)
        facts = [("report", self.link)] if self.link else []
        facts += [(row["sieve"], f"{row['verdict']}, {_mean_text(row)}") for row in rows]
        return brief_lines(self._title(), facts, [self.sentence])

    def _repr_html_(self) -> str:
        """Return the sentence and the evidence as a table, for notebooks."""
        rows = [
            (row["sieve"], [row["verdict"], _mean_text(row), mean(row["threshold"]), _contrast_text(row)])
            for row in _rows(self.evidence)
        ]
        heads = ["verdict", "mean [95 %]", "threshold", "contrast (threshold)"]
        summary = paragraph(f"<strong>{escape_name(self._title())}</strong>. {escape(self.sentence)}")
        link = paragraph(f"In the report: <code>{escape(self.link)}</code>") if self.link else ""
        return summary + counts_table("Evidence, role by role", heads, rows) + link

    def _title(self) -> str:
        return f"Head {self.layer}-{self.head} of {self.model}"


@dataclass(frozen=True, slots=True, eq=False)
class RoleHeads:
    """The heads of a run, tested for one role.

    Attributes:
        sieve: Name of the role.
        heads: Layer and head of every head that holds it, the strongest first.
        counts: Heads per verdict, the role first; verdicts without a head are left out.
        evidence: One row per head. See ``frame``.
    """

    sieve: str
    heads: tuple[Place, ...]
    counts: Mapping[str, int]
    evidence: pd.DataFrame

    @property
    def title(self) -> str:
        """Return the role in plain words, such as "adjective → noun"."""
        return phrase_of(self.sieve).title

    @property
    def strongest(self) -> Place | None:
        """Return layer and head with the largest mean of those with the role; None without one."""
        return self.heads[0] if self.heads else None

    def frame(self) -> pd.DataFrame:
        """Return one row per head of the run, by layer and head.

        Columns: ``layer``, ``head``, ``verdict``, ``mean`` with the ends ``low`` and ``high`` of its 95 %
        interval, ``threshold``, ``contrast`` and ``contrast_threshold`` (NaN without a contrast), and ``q``.
        """
        return self.evidence.copy()

    def to_pandas(self) -> pd.DataFrame:
        """Return the same as ``frame``."""
        return self.frame()

    def __repr__(self) -> str:
        """Return counts and the strongest heads, in at most 20 lines."""
        facts = [("counts", self._counts_text()), *((name, text) for name, text in self._lines())]
        left = len(self.heads) - MOST_HEADS
        facts += [("…", f"{left} more (.heads)")] if left > 0 else []
        return brief_lines(f"{self.sieve}: {self.title}", facts)

    def _repr_html_(self) -> str:
        """Return counts, and the strongest heads as a table, for notebooks."""
        summary = paragraph(
            f"<strong>{escape_name(self.sieve)}</strong>: {escape_name(self.title)}. {self._counts_text()}."
        )
        if not self.heads:
            return summary
        caption = "Heads with the role, the strongest first"
        return summary + counts_table(
            caption, ["mean [95 %]"], [(name, [text]) for name, text in self._lines()]
        )

    def _counts_text(self) -> str:
        return ", ".join(f"{number} {verdict}" for verdict, number in self.counts.items()) or "no head"

    def _lines(self) -> list[tuple[str, str]]:
        """Return the strongest heads with their means."""
        rows = {(row["layer"], row["head"]): row for row in _rows(self.evidence)}
        return [(f"{layer}-{head}", _mean_text(rows[layer, head])) for layer, head in self.heads[:MOST_HEADS]]


class RoleMap(Mapping[str, RoleHeads]):
    """The roles of a run by the name of their sieve, in the order of the run.

    A name that the run does not have raises ``UnknownName`` with the nearest one.
    """

    def __init__(self, run: Labelling) -> None:
        """Keep the run."""
        self._run = run

    def __getitem__(self, sieve: str) -> RoleHeads:
        """Return the heads of a role.

        Raises:
            UnknownName: When the run did not test it.
        """
        if sieve not in self:
            raise UnknownName("role of this run", sieve, self)
        return _role_heads(self._run.evidence(), sieve, _first_outcome(self._run))

    def __contains__(self, sieve: object) -> bool:
        """Return whether the run tested a role."""
        return sieve in self._run.findings.roles

    def __iter__(self) -> Iterator[str]:
        """Return the names of the roles."""
        return iter(self._run.findings.roles)

    def __len__(self) -> int:
        """Return the number of roles."""
        return len(self._run.findings.roles)

    def get(self, sieve: str, default: Any = None) -> Any:
        """Return the heads of a role, or ``default`` where the run did not test it."""
        if sieve not in self:
            return default
        return self[sieve]

    def __repr__(self) -> str:
        """Return the number of heads with each role, in at most 20 lines."""
        return brief_lines(f"Roles of {len(self)} sieves", [*self._counts().items()])

    def _repr_html_(self) -> str:
        """Return the number of heads with each role as a table, for notebooks."""
        rows = [(name, [phrase_of(name).title, text]) for name, text in self._counts().items()]
        return counts_table("Heads with the role", ["in words", "heads"], rows)

    def _counts(self) -> dict[str, str]:
        """Return the number of heads with each role and the strongest one as text."""
        evidence, first = self._run.evidence(), _first_outcome(self._run)
        roles = {sieve: _role_heads(evidence, sieve, first) for sieve in self}
        return {
            sieve: f"{len(role.heads)}, strongest {'{}-{}'.format(*role.strongest)}"
            if role.strongest
            else "none"
            for sieve, role in roles.items()
        }


def head_of(run: Labelling, layer: int, head: int, sentence: str, link: str) -> Head:
    """Return one head of a run.

    Args:
        run: The run.
        layer: Its layer, from 0; the run has it.
        head: Its place in the layer.
        sentence: What it does.
        link: Its place in the report.
    """
    table = run.evidence()
    table = table[(table["layer"] == layer) & (table["head"] == head)]
    first = _first_outcome(run)
    order = (table["verdict"] != first).to_numpy().astype(int), -table["mean"].fillna(-np.inf).to_numpy()
    table = table.iloc[np.lexsort(order[::-1])].drop(columns=["layer", "head"]).reset_index(drop=True)
    titles = [phrase_of(sieve).title for sieve in table["sieve"]]
    table.insert(1, "title", titles)
    roles = tuple(table["sieve"][table["verdict"] == first])
    return Head(layer, head, model_name(run.manifest), sentence, roles, link, table)


def _first_outcome(run: Labelling) -> str:
    """Return the word for a head with a role."""
    from headroles.kinds import kind_of

    return kind_of(run).outcomes[0]


def _role_heads(evidence: pd.DataFrame, sieve: str, first: str) -> RoleHeads:
    """Return the heads of one role from the evidence of a run.

    Args:
        evidence: Of the run.
        sieve: The role.
        first: The verdict of a head with the role.
    """
    table = evidence[evidence["sieve"] == sieve].drop(columns="sieve").reset_index(drop=True)
    held = table[table["verdict"] == first].sort_values("mean", ascending=False, kind="stable")
    counts = table["verdict"].value_counts()
    ordered = sorted(counts.index, key=lambda verdict: (verdict != first, -counts[verdict]))
    return RoleHeads(
        sieve,
        tuple((int(layer), int(head)) for layer, head in zip(held["layer"], held["head"], strict=True)),
        {str(verdict): int(counts[verdict]) for verdict in ordered},
        table,
    )


def _rows(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows of a table by the names of its columns."""
    return [{str(name): value for name, value in row.items()} for row in table.to_dict("records")]


def _mean_text(row: Mapping[str, Any]) -> str:
    """Return the mean of a row with its interval as text."""
    low, high = mean(row["low"]), mean(row["high"])
    return f"{mean(row['mean'])} [{low}, {high}]"


def _contrast_text(row: Mapping[str, Any]) -> str:
    """Return the contrast of a row and its threshold as text; "" without a contrast."""
    if np.isnan(row["contrast"]):
        return ""
    return f"{mean(row['contrast'])} ({mean(row['contrast_threshold'])})"
