"""A run in a notebook: its answer in sentences, and the maps of its roles in a frame of their own.

The sentences are plain HTML, which stays where a notebook shows no frames. The frame holds one map of layers
and heads per role, drawn by a script that can reach neither the notebook nor the network.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from markupsafe import Markup

from headroles.kinds import kind_of
from headroles.records.findings import DECISIONS, Labelling, stronger_roles
from headroles.records.layers import Stack
from headroles.records.markup import (
    counts_table,
    escape_name,
    fact,
    heads_table,
    model_name,
    paragraph,
)
from headroles.records.numbers import mean, plural
from headroles.records.roles import (
    control_of,
    explained_list,
    parts_of,
    phrase_of,
    role_marks,
    without_wholes,
)
from headroles.records.rules.rule import BOTH, FAMILIES, Decision, Rule
from headroles.reports.document import environment, policy, template
from headroles.reports.embedded import script_json
from headroles.reports.summary import Summary

MOST_MARKS, MOST_HEADS = 35, 2048
"""Above these numbers of roles or heads a cell shows the number of the head's roles, not their marks."""
MOST_CELLS = 32 * 32 * 20
"""Most roles × heads that are drawn as maps; more are shown as tables."""
MOST_SENTENCES = 400
"""Most heads whose sentence the maps hold."""
STEPS = 1000
"""Means and ends of intervals are stored in steps of 1/1000."""
ABSENT = len(DECISIONS)
"""Digit of an absent head, after those of the decisions."""
WIDTH, MAP, NAMES, TITLE, REST = 900, 232, 44, 40, 80
"""Pixels of the frame: usual width; cells of a map, numbers at their left, title above them; the rest."""
LEAST_CELL, MOST_CELL, TALLEST = 6, 19, 640
"""Pixels: of the side of a cell, and the most of the frame's height."""


def maps_html(labelling: Labelling, summary: Summary, sentences: Sequence[str]) -> list[str]:
    """Return the maps of the roles of a run, for notebooks.

    Args:
        labelling: The run.
        summary: Its summary.
        sentences: What each head does, layer by layer; shown where there are at most ``MOST_SENTENCES``.

    Returns:
        HTML without a script outside of the sandboxed frame; tables where there is no map, or more than
        ``MOST_CELLS``.
    """
    roles = drawn_roles(summary)
    cells = len(roles) * summary.layers * summary.heads
    if not 0 < cells <= MOST_CELLS:
        return [tables_html(labelling)]
    page = maps_page(labelling, summary, sentences if len(sentences) <= MOST_SENTENCES else ())
    return [_frame(page, summary, len(roles))]


def maps_page(labelling: Labelling, summary: Summary, sentences: Sequence[str]) -> str:
    """Return one self-contained page with a map of layers × heads per role.

    Args:
        labelling: The run.
        summary: Its summary.
        sentences: What each head does, layer by layer; () to leave them out.
    """
    script = "\n".join(map(template, ("elements.js", "notebook.js")))
    data = maps_data(labelling, summary, sentences)
    verdicts = explained_list(summary.roles[number].control for number in drawn_roles(summary))
    return (
        environment()
        .get_template("notebook.html")
        .render(
            title=f"Roles of the heads of {summary.account.title}",
            style=Markup(_colours() + template("notebook.css")),
            script=Markup(script),
            policy=policy([script]),
            parts=any(role["parts"] for role in data["roles"]),
            bare=len(summary.roles) - len(drawn_roles(summary)) if summary.many else 0,
            verdicts=verdicts,
            data=Markup(script_json(json.dumps(data, ensure_ascii=False))),
        )
    )


def maps_data(labelling: Labelling, summary: Summary, sentences: Sequence[str]) -> dict[str, Any]:
    """Return what the maps draw: per role and head the mean with its interval, and the digit of its verdict.

    Numbers are steps of 1/1000, heads follow each other layer by layer, separated by blanks. Ends of
    intervals are distances from the mean. ``parts`` are the heads of a whole that hold one of its parts.
    """
    low, high = labelling.mean_intervals()
    findings, roles = labelling.findings, []
    drawn = without_wholes([role.sieve for role in summary.roles], summary.held)
    for number in drawn_roles(summary):
        role = summary.roles[number]
        center = findings.mean[role.position].ravel()
        code = findings.decision[role.position].ravel().copy()
        code[summary.absent[number].ravel()] = ABSENT
        roles.append(
            {
                "sieve": role.sieve,
                "title": phrase_of(role.sieve).title,
                "mark": role.code,
                "tone": role.tone,
                "verdict": role.verdict,
                "threshold": round(role.threshold, 4),
                "mean": _steps(center),
                "below": _steps(center - low[role.position].ravel()),
                "above": _steps(high[role.position].ravel() - center),
                "code": "".join(map(str, code.tolist())),
                "parts": np.flatnonzero(summary.held[number] & ~drawn[number]).tolist(),
            }
        )
    return {
        "layers": summary.stack.numbers,
        "heads": summary.heads,
        "size": cell_size(summary.heads),
        "words": [*kind_of(labelling).outcomes[:4], "", "absent"],
        "roles": roles,
        "sentences": [*sentences],
    }


def drawn_roles(summary: Summary) -> list[int]:
    """Return the numbers of the roles that have a map.

    A whole such as "delimiter" has one only where a head holds it and none of its parts. Where there are too
    many roles for a screen, only those that a head holds have one.
    """
    names = [role.sieve for role in summary.roles]
    held = [bool(heads.any()) for heads in without_wholes(names, summary.held)]
    wholes = parts_of(names)
    return [
        number for number, name in enumerate(names) if held[number] or not (summary.many or name in wholes)
    ]


def _steps(values: np.ndarray) -> str:
    """Return numbers in steps of 1/1000, separated by blanks; "" stands for NaN.

    Example:
        >>> _steps(np.array([0.25, np.nan, -0.0004]))
        '250  0'
    """
    return " ".join("" if np.isnan(value) else str(round(value * STEPS)) for value in values.tolist())


def _colours() -> str:
    """Return the colours of the page, light and dark."""
    style = template("page.css")
    dark = re.search(
        r"^@media \(prefers-color-scheme: dark\) {.*?^}\n", style, flags=re.DOTALL | re.MULTILINE
    )
    light = re.search(r"^:root {.*?^}\n", style, flags=re.DOTALL | re.MULTILINE)
    return "".join(found[0] for found in (light, dark) if found)


def cell_size(heads: int) -> int:
    """Return the side of a cell in pixels.

    Example:
        >>> cell_size(12), cell_size(64)
        (19, 6)
    """
    return min(MOST_CELL, max(LEAST_CELL, MAP // heads))


def _frame(page: str, summary: Summary, maps: int) -> str:
    """Return a page in a sandboxed frame, as high as its maps need in a usual notebook."""
    cell = cell_size(summary.heads) + 2
    across = max(1, WIDTH // (cell * summary.heads + NAMES))
    height = min(TALLEST, REST + -(-maps // across) * (cell * summary.layers + TITLE))
    document = page.replace("&", "&amp;").replace('"', "&quot;")
    return (
        f'<iframe srcdoc="{document}" sandbox="allow-scripts" title="Roles of every head, layers by heads" '
        f'style="width:100%;height:{height}px;border:0;resize:vertical"></iframe>'
    )


def tables_html(run: Labelling) -> str:
    """Return counts per role with its strongest head, and the roles of every head as tables.

    It has under 200 KB for 32 × 32 heads × 20 sieves.
    """
    findings, outcomes, stack = run.findings, kind_of(run).outcomes, run.scores.stack
    places, names = [findings.of(name) for name in findings.roles], [*findings.roles]
    held, strong = findings.decision[places] == 0, stronger_roles(findings, run.decision)
    marks, ends, rows = role_marks(names), run.mean_intervals(), []
    for holders, place, name, mark in zip(held, places, names, marks, strict=True):
        best = np.where(holders, findings.mean[place], np.nan)
        cells = _counts(findings.decision[place], len(outcomes))
        cells += _head_cells(stack, best, findings.mean[place], *(grid[place] for grid in ends))
        rows.append((name, [*cells, *([] if _many(held) else [mark])]))
    heads = [*outcomes, "strongest head", "mean [95 %]", *([] if _many(held) else ["mark"])]
    told = [
        f"{escape_name(name)}: {int(own.sum())} beyond {control_of(findings.rules[place].contrast)}, "
        f"{int(more.sum())} of them beyond {control_of(findings.rules[place].stronger)} (+)"
        for name, place, own, more in zip(names, places, held, strong, strict=True)
        if findings.rules[place].stronger and own.any()
    ]
    if _many(held):
        caption = "Number of roles by layer (rows) and head"
        cells_of = [[str(number or "") for number in row] for row in held.sum(axis=0).tolist()]
    else:
        caption, signs = "Roles by layer (rows) and head", [*marks, *(f"{mark}+" for mark in marks)]
        cells_of = _mark_cells(np.concatenate([held & ~strong, strong]), signs)
    method = _method(run.decision, findings.rules)
    return (
        paragraph(
            f"<strong>{escape_name(model_name(run.manifest))}</strong>. {_inputs(run.manifest)}{method}"
        )
        + (paragraph(f"{'; '.join(told)}.") if told else "")
        + counts_table("Heads by role", heads, rows)
        + heads_table(caption, cells_of, stack.numbers)
    )


def _counts(decision: np.ndarray, outcomes: int) -> list[object]:
    return [int((decision == code).sum()) for code in range(outcomes)]


def _head_cells(stack: Stack, value: np.ndarray, *grids: np.ndarray) -> list[object]:
    """Return the head with the largest value (layer-head), and its mean with the ends of its interval."""
    if not np.isfinite(value).any():
        return ["none", ""]
    at = np.unravel_index(int(np.nanargmax(value)), value.shape)
    center, low, high = (mean(float(grid[at])) for grid in grids)
    return [stack.name(int(at[0]), int(at[1])), f"{center} [{low}, {high}]"]


def _many(held: np.ndarray) -> bool:
    return held.shape[0] > MOST_MARKS or held[0].size > MOST_HEADS if len(held) else False


def _mark_cells(held: np.ndarray, marks: Sequence[str]) -> list[list[str]]:
    """Return marks of the roles of every layer and head."""
    return [
        [" ".join(marks[role] for role in np.flatnonzero(roles).tolist()) for roles in held[:, layer].T]
        for layer in range(held.shape[1])
    ]


def _method(decision: Decision, rules: Sequence[Rule]) -> str:
    """Return test, correction, family and level as text."""
    over = "no correction"
    if decision.correction != "none":
        both = BOTH * any(rule.together for rule in rules)
        family = escape_name(FAMILIES.get(decision.family, decision.family))
        over = f"{escape_name(decision.correction)} over {family}{both}"
    return f"{escape_name(decision.test)}, {over}, alpha {decision.alpha:g}."


def _inputs(facts: Mapping[str, Any]) -> str:
    """Return task, source and number of inputs as text from a manifest; for a comparison from its run A."""
    run = facts if "source" in facts else facts.get("a", {})
    names = [fact(run, "task"), fact(run, "source", "name")]
    words = [escape_name(name) for name in names if isinstance(name, str) and name]
    for name, noun in (("examples", "input"), ("units", "unit")):
        number = fact(facts, "counts", name)
        if isinstance(number, int):
            words.append(plural(number, noun))
    return f"{', '.join(words)}. " if words else ""
