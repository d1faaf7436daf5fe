"""A run in a notebook: its answer in sentences, and the maps of its roles in a frame of their own.

The sentences are plain HTML, which stays where a notebook shows no frames. The frame holds one map of layers
and heads per role, drawn by a script that can reach neither the notebook nor the network.
"""

import json
import re
from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np
from markupsafe import Markup

from headroles.kinds import kind_of
from headroles.records.findings import DECISIONS, Labelling, stronger_roles
from headroles.records.roles import explained_list, parts_of, phrase_of, without_wholes
from headroles.records.shown.notebook import answer_html, labelling_html, paragraph
from headroles.reports.answer.records import Answer
from headroles.reports.document import environment, policy, template
from headroles.reports.embedded import script_json
from headroles.reports.summary import Summary

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


def notebook_html(labelling: Labelling, summary: Summary, answer: Answer, sentences: Sequence[str]) -> str:
    """Return the answer of a run and the maps of its roles, for notebooks.

    Args:
        labelling: The run.
        summary: Its summary.
        answer: Its answer.
        sentences: What each head does, layer by layer; shown where there are at most ``MOST_SENTENCES``.

    Returns:
        HTML without a script outside of the sandboxed frame; tables where there is no map, or more than
        ``MOST_CELLS``.
    """
    roles = drawn_roles(summary)
    cells = len(roles) * summary.layers * summary.heads
    if not 0 < cells <= MOST_CELLS:
        return tables_html(labelling, answer)
    page = maps_page(labelling, summary, sentences if len(sentences) <= MOST_SENTENCES else ())
    return answer_html(answer) + _frame(page, summary, len(roles)) + _report_html(labelling)


def tables_html(labelling: Labelling, answer: Answer) -> str:
    """Return the answer of a run, counts per role and the roles of every head as tables, without scripts."""
    tables = labelling_html(
        labelling.findings,
        labelling.mean_intervals(),
        labelling.decision,
        labelling.manifest,
        kind_of(labelling).outcomes,
        stronger_roles(labelling.findings, labelling.decision),
        labelling.scores.stack,
    )
    return answer_html(answer) + tables + _report_html(labelling)


def maps_page(labelling: Labelling, summary: Summary, sentences: Sequence[str]) -> str:
    """Return one self-contained page with a map of layers × heads per role.

    Args:
        labelling: The run.
        summary: Its summary.
        sentences: What each head does, layer by layer; () to leave them out.
    """
    script, data = template("notebook/maps.js"), maps_data(labelling, summary, sentences)
    verdicts = explained_list(summary.roles[number].control for number in drawn_roles(summary))
    return (
        environment()
        .get_template("notebook/maps.html")
        .render(
            title=f"Roles of the heads of {summary.account.title}",
            style=Markup(_colours() + template("notebook/maps.css")),
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
    style = template("shared/page.css")
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


def _report_html(labelling: Labelling) -> str:
    """Return where the full report is; "" where the run has none on this machine."""
    path = labelling.report_path
    return paragraph(f"Full report: <code>{escape(str(path))}</code>") if path else ""
