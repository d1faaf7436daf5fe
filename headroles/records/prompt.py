"""A run at the prompt: its text, its heads and roles by name, and its arrays with named axes.

``run.head("2-8")`` is one head, ``run.roles["neighbours"]`` or ``run.roles["local"]`` the heads of one role.
Texts have at most 20 lines.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from headroles.errors import UnknownName
from headroles.records.brief import MOST_LINES, brief_lines, sentence_lines
from headroles.records.markup import counts_table, escape_name, fact, model_name, paragraph
from headroles.records.numbers import mean
from headroles.records.roles import phrase_of
from headroles.records.rules.rule import Decision

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

    from headroles.records.comparison import Comparison
    from headroles.records.findings import Labelling
    from headroles.records.replication import Replication

MOST_ROLES = 10
"""Most lines for the rows of a replication."""
MOST_HEADS = 12
"""Heads of a role that are named in its text; more in its table."""
TABLES = '.roles["name"], .head("2-8"), .to_pandas(), .to_xarray()'
"""What a run offers at the prompt."""
CHANGES = ("changed", "equivalent", "undetermined", "untestable", "identical")
ENDS = ("mean", "low", "high")
"""Columns of a mean with its interval."""
Place = tuple[int, int]
"""Layer and head, both from 0."""


class Evidence:
    """What has one row per test in ``evidence``."""

    evidence: pd.DataFrame
    __slots__ = ()

    def frame(self) -> pd.DataFrame:
        """Return one row per role that was tested, or per head of the run, with the evidence.

        Columns: ``sieve`` and its ``title`` in plain words, or ``layer`` and ``head``; ``verdict``, ``mean``
        with the ends ``low`` and ``high`` of its 95 % interval, ``threshold``, ``contrast`` and
        ``contrast_threshold`` (NaN without a contrast), and ``q``.
        """
        return self.evidence.copy()

    def to_pandas(self) -> pd.DataFrame:
        """Return the same as ``frame``."""
        return self.frame()

    def _rows(self) -> list[dict[str, Any]]:
        """Return the rows by the names of their columns, each with its mean as ``text``."""
        rows = [{str(name): value for name, value in row.items()} for row in self.evidence.to_dict("records")]
        return [row | {"text": "{} [{}, {}]".format(*(mean(row[k]) for k in ENDS))} for row in rows]


@dataclass(frozen=True, slots=True, eq=False)
class Head(Evidence):
    """One head of a run.

    Attributes:
        layer: From 0.
        head: From 0, within its layer.
        model: Name of the model.
        sentence: What the head does, in one plain sentence.
        roles: Names of the roles that it holds, the strongest first.
        link: Place of the head in the report; "" where the run has no report on this machine.
        evidence: One row per role that was tested: the roles of the head first, then by mean. See ``frame``.
    """

    layer: int
    head: int
    model: str
    sentence: str
    roles: tuple[str, ...]
    link: str
    evidence: pd.DataFrame

    def __repr__(self) -> str:
        """Return the sentence, and a line per role, in at most 20 lines."""
        facts = [("report", self.link)] if self.link else []
        facts += [(row["sieve"], f"{row['verdict']}, {row['text']}") for row in self._rows()]
        return brief_lines(self._title(), facts, [self.sentence])

    def _repr_html_(self) -> str:
        """Return the sentence and the evidence as a table, for notebooks."""
        rows = []
        for row in self._rows():
            contrast = f"{mean(row['contrast'])} ({mean(row['contrast_threshold'])})"
            cells = [row["verdict"], row["text"], mean(row["threshold"])]
            rows.append((row["sieve"], [*cells, "" if np.isnan(row["contrast"]) else contrast]))
        heads = ["verdict", "mean [95 %]", "threshold", "contrast (threshold)"]
        summary = paragraph(f"<strong>{escape_name(self._title())}</strong>. {escape(self.sentence)}")
        link = paragraph(f"In the report: <code>{escape(self.link)}</code>") if self.link else ""
        return summary + counts_table("Evidence, role by role", heads, rows) + link

    def _title(self) -> str:
        return f"Head {self.layer}-{self.head} of {self.model}"


@dataclass(frozen=True, slots=True, eq=False)
class RoleHeads(Evidence):
    """The heads of a run, tested for one role.

    Attributes:
        sieve: Name of the role.
        heads: Layer and head of every head that holds it, the strongest first.
        counts: Heads per verdict, the role first; verdicts without a head are left out.
        evidence: One row per head, by layer and head. See ``frame``.
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
        """Return layer and head with the best evidence of those with the role; None without one."""
        return self.heads[0] if self.heads else None

    def __repr__(self) -> str:
        """Return counts and the strongest heads, in at most 20 lines."""
        left = len(self.heads) - MOST_HEADS
        more = [("…", f"{left} more (.heads)")] if left > 0 else []
        facts = [("counts", self._counts_text()), *self._lines(), *more]
        return brief_lines(f"{self.sieve}: {self.title}", facts)

    def _repr_html_(self) -> str:
        """Return counts, and the strongest heads as a table, for notebooks."""
        names = f"<strong>{escape_name(self.sieve)}</strong>: {escape_name(self.title)}"
        rows = [(name, [text]) for name, text in self._lines()]
        table = counts_table("Heads with the role, the strongest first", ["mean [95 %]"], rows)
        return paragraph(f"{names}. {self._counts_text()}.") + table * bool(rows)

    def _counts_text(self) -> str:
        return ", ".join(f"{number} {verdict}" for verdict, number in self.counts.items()) or "no head"

    def _lines(self) -> list[tuple[str, str]]:
        """Return the strongest heads with their means."""
        texts = {(row["layer"], row["head"]): row["text"] for row in self._rows()}
        return [("{}-{}".format(*place), texts[place]) for place in self.heads[:MOST_HEADS]]


class RoleMap(Mapping[str, RoleHeads]):
    """The roles of a run by the name of their sieve, in the order of the run; their titles are taken, too.

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
        name = self._name(sieve)
        if name is None:
            raise UnknownName("role of this run", sieve, self)
        return self._heads(name, self._run.evidence())

    def __contains__(self, sieve: object) -> bool:
        """Return whether the run tested a role, by its name or its title."""
        return self._name(sieve) is not None

    def _name(self, given: object) -> str | None:
        """Return the name of a role that is given by its name or its title; None where there is none."""
        return next((name for name in self if given == name), None) or next(
            (name for name in self if given == phrase_of(name).title), None
        )

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
        return brief_lines(f"Roles of {len(self)} sieves", self._counts())

    def _repr_html_(self) -> str:
        """Return the number of heads with each role as a table, for notebooks."""
        rows = [(name, [phrase_of(name).title, text]) for name, text in self._counts()]
        return counts_table("Heads with the role", ["in words", "heads"], rows)

    def _counts(self) -> list[tuple[str, str]]:
        """Return the number of heads with each role and the strongest one as text."""
        evidence, lines = self._run.evidence(), []
        for sieve in self:
            heads = self._heads(sieve, evidence).heads
            lines.append((sieve, f"{len(heads)}, strongest {'{}-{}'.format(*heads[0])}" if heads else "none"))
        return lines

    def _heads(self, sieve: str, evidence: pd.DataFrame) -> RoleHeads:
        """Return the heads of one role from the evidence of the run."""
        table = evidence[evidence["sieve"] == sieve].drop(columns="sieve").reset_index(drop=True)
        first = outcomes_of(self._run)[0]
        held = table[table["verdict"] == first]
        lows = held["contrast_low"].fillna(held["low"])
        held = held.loc[lows.sort_values(ascending=False, kind="stable").index]
        heads = tuple(zip(held["layer"].astype(int).tolist(), held["head"].astype(int).tolist(), strict=True))
        counts = table["verdict"].value_counts()
        ordered = sorted(counts.index, key=lambda verdict: (verdict != first, -counts[verdict]))
        return RoleHeads(sieve, heads, {str(verdict): int(counts[verdict]) for verdict in ordered}, table)


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
    other = table["verdict"] != outcomes_of(run)[0]
    order = np.lexsort((-table["mean"].fillna(-np.inf).to_numpy(), other.to_numpy().astype(int)))
    roles = tuple(table["sieve"].iloc[order][~other.iloc[order]])
    table = table.iloc[order].drop(columns=["layer", "head"]).reset_index(drop=True)
    table.insert(1, "title", [phrase_of(sieve).title for sieve in table["sieve"]])
    return Head(layer, head, model_name(run.manifest), sentence, roles, link, table)


def outcomes_of(run: Labelling) -> tuple[str, ...]:
    """Return the decisions of a run in words, that of a head with a role first."""
    from headroles.kinds import kind_of

    return kind_of(run).outcomes


def labelling_text(run: Labelling, decided: np.ndarray, answer: Sequence[str]) -> str:
    """Return a run as text: model, inputs, decision, the answer, and counts of heads per role.

    Args:
        run: The run; facts that its manifest lacks are left out.
        decided: Decision of every sieve, layer and head, as the run shows it.
        answer: What the run found, in sentences. Roles have the lines that these leave.
    """
    source, counts = run.manifest.get("source") or {}, run.manifest.get("counts") or {}
    inputs = [str(name) for name in (run.manifest.get("task"), source.get("name")) if name]
    inputs += [
        f"{counts[name]:,} {name}" for name in ("examples", "units") if isinstance(counts.get(name), int)
    ]
    facts = {"model": _model(run.manifest), "inputs": ", ".join(inputs), "decision": _decision(run.decision)}
    words = outcomes_of(run)
    rows = {
        rule.sieve: _counts(decided[place], words)
        for place, rule in enumerate(run.findings.rules) if rule.role
    }  # fmt: skip
    left_out = f"{len(run.skipped)} on what was left out (.skipped)" if run.skipped else ""
    after = {"notes": left_out, "folder": run.folder or "", "more": TABLES}
    return _text(f"Labelling of {_heads(decided)}", facts, rows, "role", after, answer)


def comparison_text(comparison: Comparison, answer: Sequence[str]) -> str:
    """Return a comparison as text: the answer, both models, decision, and counts of changed heads per sieve.

    Args:
        comparison: Of two runs; facts that its manifest lacks are left out.
        answer: What changed, in sentences. Sieves have the lines that these leave.
    """
    differences = comparison.differences
    facts = {f"run {name.upper()}": _model(comparison.manifest.get(name)) for name in ("a", "b")}
    facts["decision"] = f"{_decision(comparison.decision)}; within ± {comparison.bound:g} is equivalent"
    found = zip(differences.rules, differences.outcome, strict=True)
    rows = {rule.sieve: _counts(outcome, CHANGES) for rule, outcome in found}
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
    title: str, before: Mapping[str, str], rows: Mapping[str, str], noun: str, after: Mapping[str, str],
    answer: Sequence[str] = (), most: int = MOST_LINES,
) -> str:  # fmt: skip
    """Return a result as text: the answer, facts, as many rows as there is room for, and further facts.

    Facts without a text are left out; rows have ``most`` lines, the one that counts those left out included.
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
    return "{} layers × {} heads".format(*codes.shape[1:])


def _model(manifest: Any) -> str:
    """Return the name of a run's model; "" where it is not known."""
    return str(fact(manifest, "model", "name") or "")


def _decision(decision: Decision) -> str:
    return f"{decision.test}, {decision.correction} over family {decision.family!r}, alpha {decision.alpha:g}"


def dataset_of(run: Labelling) -> xr.Dataset:
    """Return scores and findings of a run as a dataset. ``Labelling.to_xarray`` says what it holds."""
    import xarray as xr

    scores, findings, decision = run.scores, run.findings, run.decision
    rows, shape = [scores.sieves.index(name) for name in findings.sieves], findings.count.shape
    variables: dict[str, Any] = {
        "score": (("sieve", "input", "layer", "head"), scores.values[rows]),
        "chance": (("sieve", "input"), scores.null[rows]),
        "queries": (("sieve", "input"), scores.cells[rows]),
    }
    for name, column in run.frame().drop(columns=["sieve", "layer", "head"]).items():
        values = column.to_numpy()
        values = values.astype(str) if values.dtype == object else values
        variables[str(name)] = (("sieve", "layer", "head"), values.reshape(shape))
    coordinates: dict[str, Any] = {
        "sieve": np.array(findings.sieves, dtype=str), "input": np.array(scores.examples, dtype=str),
        "layer": scores.stack.positions, "head": np.arange(shape[2]),
        "role": ("sieve", np.array([rule.role for rule in findings.rules])),
        "unit": ("input", np.array(scores.units, dtype=str)), "tokens": ("input", scores.tokens),
    }  # fmt: skip
    facts = {
        "model": _model(run.manifest) or None, "task": run.manifest.get("task"),
        "headroles": run.manifest.get("headroles"), "test": decision.test, "correction": decision.correction,
        "family": decision.family, "alpha": decision.alpha, "folder": run.folder,
    }  # fmt: skip
    stated = {name: value for name, value in facts.items() if isinstance(value, str | float)}
    return xr.Dataset(variables, coords=coordinates, attrs=stated)
