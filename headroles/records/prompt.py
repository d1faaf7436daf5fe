"""A run at the prompt: its text, its heads and roles by name, and its arrays with named axes.

``run.head(2, 8)`` is one head, ``run.roles["local"]`` the heads of one role. Texts have at most 20 lines.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from headroles.errors import UnknownName
from headroles.records.brief import MOST_LINES, brief_lines, sentence_lines
from headroles.records.markup import counts_table, escape_name, model_name, paragraph
from headroles.records.numbers import mean
from headroles.records.roles import phrase_of
from headroles.records.rules.rule import Decision

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

    from headroles.records.comparison import Comparison
    from headroles.records.findings import Findings, Labelling
    from headroles.records.replication import Replication

MOST_ROLES = 10
"""Most lines for the rows of a replication."""
MOST_HEADS = 12
"""Heads of a role that are named in its text; more in its table."""
TABLES = '.roles["name"], .head(layer, head), .to_pandas(), .to_xarray()'
"""What a run offers at the prompt."""
CHANGES = ("changed", "equivalent", "undetermined", "untestable")
HEAD_AXES = ("sieve", "layer", "head")
SCORE_AXES = ("sieve", "input", "layer", "head")
INPUT_AXES = ("sieve", "input")
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
    table.insert(1, "title", [phrase_of(sieve).title for sieve in table["sieve"]])
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


def labelling_text(
    findings: Findings,
    decision: Decision,
    manifest: Mapping[str, Any],
    outcomes: Sequence[str],
    notes: int,
    folder: str | None,
    answer: Sequence[str],
) -> str:
    """Return a run as text: model, inputs, decision, the answer, and counts of heads per role.

    Args:
        findings: Findings of the run.
        decision: Test, correction and level that judged it.
        manifest: The run's manifest; missing facts are left out.
        outcomes: The decisions in words, in their order.
        notes: Number of notes on what was left out.
        folder: Folder of the run; None where it is not known, or nothing was written.
        answer: What the run found, in sentences. Roles have the lines that these leave.
    """
    source, counts = manifest.get("source") or {}, manifest.get("counts") or {}
    inputs = [str(name) for name in (manifest.get("task"), source.get("name")) if name]
    inputs += [
        f"{counts[name]:,} {name}" for name in ("examples", "units") if isinstance(counts.get(name), int)
    ]
    facts = {"model": _model(manifest), "inputs": ", ".join(inputs), "decision": _decision(decision)}
    rows = {
        rule.sieve: _counts(findings.decision[place], outcomes)
        for place, rule in enumerate(findings.rules)
        if rule.role
    }
    left_out = f"{notes} on what was left out (.skipped)" if notes else ""
    after = {"notes": left_out, "folder": folder or "", "more": TABLES}
    return _text(f"Labelling of {_heads(findings.decision)}", facts, rows, "role", after, answer)


def comparison_text(comparison: Comparison, answer: Sequence[str]) -> str:
    """Return a comparison as text: the answer, both models, decision, and counts of changed heads per sieve.

    Args:
        comparison: Of two runs; facts that its manifest lacks are left out.
        answer: What changed, in sentences. Sieves have the lines that these leave.
    """
    differences = comparison.differences
    facts = {f"run {name.upper()}": _model(comparison.manifest.get(name)) for name in ("a", "b")}
    facts["decision"] = f"{_decision(comparison.decision)}; within ± {comparison.bound:g} is equivalent"
    rows = {
        rule.sieve: _counts(outcome, CHANGES)
        for rule, outcome in zip(differences.rules, differences.outcome, strict=True)
    }
    after = {"tables": ".to_pandas(), .labels(), .by_layer(), .by_role()"}
    return _text(f"Comparison of {_heads(differences.outcome)}", facts, rows, "sieve", after, answer)


def replication_text(found: Replication) -> str:
    """Return a replication as text: roles of run A by their decision in run B."""
    words = ", ".join(f"{number} {name}" for name, number in sorted(found.outcomes.items())) or "none"
    facts = {"in run B": words, "decision": _decision(found.decision)}
    rows = {row.name: f"{row.role} of {row.roles} roles again" for row in found.rows}
    tables = ".frame(), .by_column(), .by_row(), .best_heads(), .condition_gaps()"
    after = {"notes": f"{len(found.notes)} (.notes)" if found.notes else "", "tables": tables}
    title = f"Replication of {len(found.replicates)} roles of run A"
    return _text(title, facts, rows, "row", after, most=MOST_ROLES)


def _text(
    title: str,
    before: Mapping[str, str],
    rows: Mapping[str, str],
    noun: str,
    after: Mapping[str, str],
    answer: Sequence[str] = (),
    most: int = MOST_LINES,
) -> str:
    """Return a result as text: facts, as many rows as there is room for, and further facts; "" is none.

    Args:
        title: The first line.
        before: Facts by name, above the rows.
        rows: Text of each row by name.
        noun: What a row is, in the singular.
        after: Facts by name, below the rows.
        answer: Sentences above all facts.
        most: Most lines of rows, the one that counts those left out included.
    """
    above, below = ([(name, text) for name, text in facts.items() if text] for facts in (before, after))
    room = min(most, MOST_LINES - 1 - len(sentence_lines(answer)) - len(above) - len(below))
    shown = [*rows.items()][: room if len(rows) <= room else room - 1]
    left = len(rows) - len(shown)
    more = [("…", f"{left} more {noun}{'s' * (left > 1)}")] if left else []
    return brief_lines(title, [*above, *shown, *more, *below], answer)


def _counts(codes: np.ndarray, words: Sequence[str]) -> str:
    """Return how many heads have each decision, those without any left out."""
    numbers = [(int((codes == code).sum()), word) for code, word in enumerate(words)]
    return ", ".join(f"{number} {word}" for number, word in numbers if number) or "no head"


def _heads(codes: np.ndarray) -> str:
    layers, heads = codes.shape[1:]
    return f"{layers} layers × {heads} heads"


def _model(manifest: Any) -> str:
    """Return the name of a run's model; "" where it is not known."""
    model = manifest.get("model") if isinstance(manifest, Mapping) else None
    return str(model.get("name") or "") if isinstance(model, Mapping) else ""


def _decision(decision: Decision) -> str:
    return f"{decision.test}, {decision.correction} over family {decision.family!r}, alpha {decision.alpha:g}"


def dataset_of(run: Labelling) -> xr.Dataset:
    """Return scores and findings of a run as a dataset. ``Labelling.to_xarray`` says what it holds."""
    import xarray as xr

    scores, findings = run.scores, run.findings
    rows = [scores.sieves.index(name) for name in findings.sieves]
    table = run.frame()
    shape = findings.count.shape
    variables: dict[str, Any] = {
        "score": (SCORE_AXES, scores.values[rows]),
        "chance": (INPUT_AXES, scores.null[rows]),
        "queries": (INPUT_AXES, scores.cells[rows]),
    }
    for name in table.columns.drop(["sieve", "layer", "head"]):
        values = table[name].to_numpy()
        variables[name] = (
            HEAD_AXES,
            (values.astype(str) if values.dtype == object else values).reshape(shape),
        )
    coordinates: dict[str, Any] = {
        "sieve": np.array(findings.sieves, dtype=str),
        "input": np.array(scores.examples, dtype=str),
        "layer": scores.stack.positions,
        "head": np.arange(shape[2]),
        "role": ("sieve", np.array([rule.role for rule in findings.rules])),
        "unit": ("input", np.array(scores.units, dtype=str)),
        "tokens": ("input", scores.tokens),
    }
    facts = {
        "model": _model(run.manifest) or None,
        "task": run.manifest.get("task"),
        "headroles": run.manifest.get("headroles"),
        "test": run.decision.test,
        "correction": run.decision.correction,
        "family": run.decision.family,
        "alpha": run.decision.alpha,
        "folder": run.folder,
    }
    stated = {name: value for name, value in facts.items() if isinstance(value, str | float)}
    return xr.Dataset(variables, coords=coordinates, attrs=stated)
