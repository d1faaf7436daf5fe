"""Results of runs and comparisons as HTML for notebooks: tables, short marks of roles, and wording of means.

The HTML has no script and no style but that of its elements, and every text is escaped. Colours are those
of the notebook, light or dark. Reports use the same marks and wording.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Bool, Float, Int

from headroles.records.layers import Stack
from headroles.records.numbers import mean
from headroles.records.roles import control_of, role_marks
from headroles.records.rules.rule import Decision, Rule

if TYPE_CHECKING:
    from headroles.reports.answer.records import Answer

LONGEST = 80
"""Characters of a name that are shown."""
MOST_ROWS = 60
"""Rows of a table of counts."""
MOST_MARKS, MOST_HEADS = 35, 2048
"""Above these numbers of roles or heads a cell shows the number of the head's roles, not their marks."""
NO_HEAD = ("none", "")
BOTH = ", both directions of a row together"
"""Addition to the family of probes whose rows have two directions."""
FAMILIES = {
    "sieve": "the heads of one sieve",
    "run": "all heads and sieves of the run",
    "layer": "the heads of one sieve in one layer",
}
TABLE = (
    '<table cellpadding="4" cellspacing="0" border="0" '
    'style="font-variant-numeric:tabular-nums;white-space:nowrap;margin:.5em 0 1em">'
)
CAPTION = '<caption style="caption-side:top;text-align:left;color:inherit;padding:.3em 0">'
SCROLLED = '<div style="overflow-x:auto;max-width:100%" tabindex="0" role="region" aria-label="{}">'
PARAGRAPH = '<p style="max-width:62em;margin:.5em 0;overflow-wrap:anywhere">{}</p>'
Grid = Float[np.ndarray, "sieves layers heads"]
Codes = Int[np.ndarray, "sieves layers heads"]


@runtime_checkable
class TestGrid(Protocol):
    """Tests by sieve, layer and head."""

    @property
    def rules(self) -> tuple[Rule, ...]:
        """Rule that each sieve was tested by, in the order of the first axis."""

    @property
    def low(self) -> Grid:
        """Lower ends of 95 % intervals."""

    @property
    def high(self) -> Grid:
        """Upper ends."""


@runtime_checkable
class FindingsGrid(TestGrid, Protocol):
    """Findings of a run, as far as a notebook shows them."""

    @property
    def mean(self) -> Grid:
        """Mean scores."""

    @property
    def decision(self) -> Codes:
        """Codes of the decisions; 0 is a role, 4 a score that its contrast explains."""


def answer_html(answer: Answer) -> str:
    """Return title, line, sentences and warnings of an answer, in the colours of the notebook."""
    items = "".join(
        f"<li><strong>{escape(sentence.lead)}</strong>{escape(sentence.text[len(sentence.lead) :])}</li>"
        for sentence in answer.sentences
    )
    warnings = "".join(f"<li>{escape(warning)}</li>" for warning in answer.warnings)
    count = len(answer.warnings)
    more = (
        f'<details style="margin:.5em 0"><summary>{count} warning{"s" * (count > 1)}</summary>'
        f'<ul style="max-width:62em">{warnings}</ul></details>'
        if warnings
        else ""
    )
    said = f'<ul style="max-width:62em;margin:.5em 0">{items}</ul>' if items else ""
    title, line = paragraph(f"<strong>{escape(answer.title)}</strong>"), paragraph(escape(answer.line))
    return f"{title}{line}{said}{more}"


def labelling_html(
    findings: FindingsGrid,
    ends: tuple[np.ndarray, np.ndarray],
    decision: Decision,
    facts: Mapping[str, Any],
    outcomes: Sequence[str],
    strong: Bool[np.ndarray, "roles layers heads"],
    stack: Stack,
) -> str:
    """Return counts per role with its strongest head, and the roles of every head.

    Args:
        findings: Findings of the run.
        ends: Lower and upper ends of the interval of every mean, shaped as the findings.
        decision: Test, correction and level that judged it.
        facts: The run's manifest; missing facts are left out.
        outcomes: The decisions in words, in their order.
        strong: Roles that lie beyond their second contrast, too; their marks have a plus.
        stack: The layers by their positions.

    Returns:
        HTML without scripts; under 200 KB for 32 × 32 heads × 20 sieves.
    """
    places = [place for place, rule in enumerate(findings.rules) if rule.role]
    names = [findings.rules[place].sieve for place in places]
    held = findings.decision[places] == 0
    marks = role_marks(names)
    rows = []
    for holders, place, name, mark in zip(held, places, names, marks, strict=True):
        strongest = _largest(np.where(holders, findings.mean[place], np.nan))
        cells = [
            *_outcome_counts(findings.decision[place], len(outcomes)),
            *_head_cells(stack, strongest, findings.mean, *ends, place),
        ]
        rows.append((name, [*cells, *([] if _many(held) else [mark])]))
    heads = [*outcomes, "strongest head", "mean [95 %]", *([] if _many(held) else ["mark"])]
    summary = paragraph(
        f"<strong>{escape_name(model_name(facts))}</strong>. {_inputs(facts)}{_method(decision, findings)}"
    )
    counts = counts_table("Heads by role", heads, rows)
    return summary + _strong_counts(findings, held, strong) + counts + _roles(held, marks, strong, stack)


def _outcome_counts(decision: np.ndarray, outcomes: int) -> list[object]:
    return [int((decision == code).sum()) for code in range(outcomes)]


def _largest(values: Float[np.ndarray, "layers heads"]) -> tuple[int, int] | None:
    """Return layer and head of the largest number; None where all are NaN."""
    if not np.isfinite(values).any():
        return None
    layer, head = np.unravel_index(int(np.nanargmax(values)), values.shape)
    return int(layer), int(head)


def _head_cells(
    stack: Stack,
    head: tuple[int, int] | None,
    value: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    place: int,
) -> tuple[str, str]:
    """Return a head (layer-head), and its value with the ends of its interval, as text."""
    if head is None:
        return NO_HEAD
    center, least, most = (mean(float(grid[place][head])) for grid in (value, low, high))
    return stack.name(*head), f"{center} [{least}, {most}]"


def _strong_counts(
    findings: FindingsGrid,
    held: Bool[np.ndarray, "roles layers heads"],
    strong: Bool[np.ndarray, "roles layers heads"],
) -> str:
    """Return how many heads hold each role beyond its first and its second contrast; "" for none."""
    roles = [rule for rule in findings.rules if rule.role]
    counts = [
        f"{escape_name(rule.sieve)}: {int(heads.sum())} beyond {control_of(rule.contrast)}, "
        f"{int(strong_heads.sum())} of them beyond {control_of(rule.stronger)} (+)"
        for rule, heads, strong_heads in zip(roles, held, strong, strict=True)
        if rule.stronger and heads.any()
    ]
    return paragraph(f"{'; '.join(counts)}.") if counts else ""


def _roles(
    held: Bool[np.ndarray, "roles layers heads"],
    marks: Sequence[str],
    strong: Bool[np.ndarray, "roles layers heads"],
    stack: Stack,
) -> str:
    """Return a table of the roles of every head, by their marks where these fit."""
    if _many(held):
        numbers = held.sum(axis=0)
        cells = [[str(number or "") for number in row] for row in numbers.tolist()]
        return heads_table("Number of roles by layer (rows) and head", cells, stack.numbers)
    cells = _mark_cells(np.concatenate([held & ~strong, strong]), [*marks, *(f"{mark}+" for mark in marks)])
    return heads_table("Roles by layer (rows) and head", cells, stack.numbers)


def _many(held: np.ndarray) -> bool:
    return held.shape[0] > MOST_MARKS or held[0].size > MOST_HEADS if len(held) else False


def _mark_cells(held: Bool[np.ndarray, "roles layers heads"], marks: Sequence[str]) -> list[list[str]]:
    """Return marks of the roles of every layer and head."""
    return [
        [" ".join(marks[role] for role in np.flatnonzero(roles).tolist()) for roles in held[:, layer].T]
        for layer in range(held.shape[1])
    ]


def _method(decision: Decision, tests: TestGrid) -> str:
    """Return test, correction, family and level as text."""
    if decision.correction == "none":
        return f"{escape_name(decision.test)}, no correction, alpha {decision.alpha:g}."
    over = escape_name(FAMILIES.get(decision.family, decision.family))
    both = BOTH * any(rule.together for rule in tests.rules)
    correction = f"{escape_name(decision.test)}, {escape_name(decision.correction)} over {over}{both}"
    return f"{correction}, alpha {decision.alpha:g}."


def model_name(facts: Any) -> str:
    """Return the name of a run's model from its manifest."""
    return str(_nested(facts, "model", "name") or "a model without a name")


def _inputs(facts: Mapping[str, Any]) -> str:
    """Return task, source and number of inputs as text from a manifest."""
    names = [_nested(facts, "task"), _nested(facts, "source", "name")]
    words = [escape_name(name) for name in names if isinstance(name, str) and name]
    for name, noun in (("examples", "input"), ("units", "unit")):
        number = _nested(facts, "counts", name)
        if isinstance(number, int):
            words.append(f"{number:,} {noun}{'s' * (number != 1)}")
    return f"{', '.join(words)}. " if words else ""


def _nested(facts: Any, *names: str) -> Any:
    """Return the value at a path of names in nested mappings; None where it is missing."""
    for name in names:
        facts = facts.get(name) if isinstance(facts, Mapping) else None
    return facts


def counts_table(caption: str, heads: Sequence[str], rows: Sequence[tuple[str, Sequence[object]]]) -> str:
    """Return a table with a row per sieve: its name, then cells of plain numbers or names.

    Args:
        caption: Caption of the table, as plain text.
        heads: Titles of the columns after the first.
        rows: Name and cells of each sieve.
    """
    parts = [TABLE, f"{CAPTION}{escape(caption)}</caption>", '<thead style="text-align:right"><tr><td></td>']
    parts += [f"<th>{escape(head)}</th>" for head in heads]
    parts.append('</tr></thead><tbody style="text-align:right">')
    for name, cells in rows[:MOST_ROWS]:
        markup = "".join(f"<td>{escape(str(cell))}</td>" for cell in cells)
        parts.append(f"<tr><th>{escape_name(name)}</th>{markup}</tr>")
    parts.append("</tbody></table>")
    left = len(rows) - MOST_ROWS
    more = paragraph(f"{left} more rows are left out here; .frame() has them all.") if left > 0 else ""
    return _scrollable(caption, "".join(parts)) + more


def heads_table(caption: str, cells: Iterable[Iterable[str]], layers: Sequence[int]) -> str:
    """Return a table with a row per layer and a column per head.

    Args:
        caption: Meaning of a cell, as plain text.
        cells: Plain text per layer and head; a dot replaces empty text.
        layers: Position of each layer.
    """
    rows = [[escape(cell) or "·" for cell in row] for row in cells]
    numbers = "".join(f"<th>{head}</th>" for head in range(len(rows[0]) if rows else 0))
    parts = [
        TABLE,
        f"{CAPTION}{escape(caption)}</caption>",
        f"<thead><tr><td></td>{numbers}</tr></thead><tbody>",
    ]
    for layer, row in zip(layers, rows, strict=True):
        parts.append(f"<tr><th>{layer}</th>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>")
    return _scrollable(caption, "".join([*parts, "</tbody></table>"]))


def _scrollable(label: str, table: str) -> str:
    """Wrap a table so that it scrolls by itself where the notebook is narrower, by keyboard too."""
    return f"{SCROLLED.format(escape(label))}{table}</div>"


def paragraph(markup: str) -> str:
    """Return a paragraph of markup."""
    return PARAGRAPH.format(markup)


def escape_name(text: object) -> str:
    """Escape a name, cut it where it is long, and isolate it from the text direction of its sentence.

    Example:
        >>> escape_name("<b>"), escape_name("syntactic:amod")
        ('&lt;b&gt;', 'syntactic:amod')
    """
    words = str(text)
    shown = words if len(words) <= LONGEST else words[: LONGEST - 1] + "…"
    return escape(shown) if shown.isascii() else f"<bdi>{escape(shown)}</bdi>"
