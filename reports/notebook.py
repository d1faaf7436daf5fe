"""A run in a notebook: its answer in sentences, and the maps of its roles in a frame of their own.

The sentences are plain HTML, which stays where a notebook shows no frames. The frame holds one map of layers
and heads per role, drawn by a script that can reach neither the notebook nor the network.
"""

import json
import re

import numpy as np
from markupsafe import Markup

from headroles.kinds import kind_of
from headroles.records.findings import DECISIONS, Labelling
from headroles.records.markup import counts_table, escape_name, fact, heads_table, model_name, paragraph
from headroles.records.numbers import mean, plural
from headroles.records.roles import control_of, explained_list, parts_of, phrase_of
from headroles.records.rules.rule import BOTH, FAMILIES
from headroles.reports.document import environment, policy, template
from headroles.reports.embedded import script_json
from headroles.reports.kinds.label import head_sentences
from headroles.reports.summary import Summary, summarise

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
WIDTH, MAP, NAMES, TITLE, REST = 900, 232, 44, 54, 80
"""Pixels of the frame: usual width; cells of a map, numbers at their left, title above them; the rest."""
LEAST_CELL, MOST_CELL, TALLEST = 6, 19, 640
"""Pixels: of the side of a cell, and the most of the frame's height."""


def maps_html(labelling: Labelling, summary: Summary) -> list[str]:
    """Return the maps of the roles of a run, for notebooks.

    Args:
        labelling: The run.
        summary: Its summary. What each head does is told of at most ``MOST_SENTENCES``.

    Returns:
        HTML without a script outside of the sandboxed frame; tables where there is no map, or more than
        ``MOST_CELLS``. A whole such as "delimiter" has a map only where a head holds it and none of its
        parts. Where there are too many roles for a screen, only those that a head holds have one.
    """
    drawn, wholes = summary.drawn, parts_of(summary.names)
    shown = [
        number for number, name in enumerate(summary.names)
        if drawn[number].any() or not (summary.many or name in wholes)
    ]  # fmt: skip
    heads = summary.layers * summary.heads
    if not 0 < len(shown) * heads <= MOST_CELLS:
        return [tables_html(labelling)]
    low, high = labelling.mean_intervals()
    findings, roles = labelling.findings, []
    for number in shown:
        role = summary.roles[number]
        center = findings.mean[role.position].ravel()
        code = np.where(summary.absent[number], ABSENT, findings.decision[role.position]).ravel()
        roles.append({
            "sieve": role.sieve, "title": phrase_of(role.sieve).title, "mark": role.code, "tone": role.tone,
            "verdict": role.verdict, "threshold": round(role.threshold, 4), "mean": _steps(center),
            "below": _steps(center - low[role.position].ravel()),  # ends are distances from the mean
            "above": _steps(high[role.position].ravel() - center),
            "code": "".join(map(str, code.tolist())),
        })  # fmt: skip
    size = min(MOST_CELL, max(LEAST_CELL, MAP // summary.heads))
    data = {
        "layers": summary.stack.numbers, "heads": summary.heads, "size": size,
        "words": [*kind_of(labelling).outcomes[:4], "", "absent"], "roles": roles,
        "sentences": head_sentences(summary) if heads <= MOST_SENTENCES else [],
    }  # fmt: skip
    style, script = template("page.css"), "\n".join(map(template, ("elements.js", "notebook.js")))
    ends = (r"^:root {.*?^}\n", r"^@media \(prefers-color-scheme: dark\) {.*?^}\n")
    found = (re.search(end, style, flags=re.DOTALL | re.MULTILINE) for end in ends)
    page = environment().get_template("notebook.html").render(
        title=f"Roles of the heads of {summary.account.title}",
        style=Markup("".join(match[0] for match in found if match) + template("notebook.css")),
        script=Markup(script),
        policy=policy([script]),
        bare=len(summary.roles) - len(shown) if summary.many else 0,
        verdicts=explained_list(summary.roles[number].control for number in shown),
        data=Markup(script_json(json.dumps(data, ensure_ascii=False))),
    )  # fmt: skip
    rows = -(-len(shown) // max(1, WIDTH // ((size + 2) * summary.heads + NAMES)))
    height = min(TALLEST, REST + rows * ((size + 2) * summary.layers + TITLE))
    document = page.replace("&", "&amp;").replace('"', "&quot;")
    return [
        f'<iframe srcdoc="{document}" sandbox="allow-scripts" title="Roles of every head, layers by heads" '
        f'style="width:100%;height:{height}px;border:0;resize:vertical"></iframe>'
    ]


def _steps(values: np.ndarray) -> str:
    """Return numbers in steps of 1/1000, separated by blanks; "" stands for NaN.

    Example:
        >>> _steps(np.array([0.25, np.nan, -0.0004]))
        '250  0'
    """
    return " ".join("" if np.isnan(value) else str(round(value * STEPS)) for value in values.tolist())


def tables_html(run: Labelling) -> str:
    """Return counts per role with its strongest head, and the roles of every head as tables.

    It has under 200 KB for 32 × 32 heads × 20 sieves.
    """
    summary, outcomes = summarise(run), kind_of(run).outcomes
    held, roles, stack, decision = summary.held, summary.roles, summary.stack, run.decision
    many = len(roles) > MOST_MARKS or (bool(roles) and held[0].size > MOST_HEADS)
    rows = []
    for role in roles:
        best = role.strongest
        text = "{} [{}, {}]".format(*map(mean, best.score)) if best else ""
        strongest = [stack.name(best.layer, best.head) if best else "none", text]
        rows.append((role.sieve, [*role.tally[: len(outcomes)], *strongest, *[role.code] * (not many)]))
    stronger = [run.findings.rules[role.position].stronger for role in roles]
    told = [
        f"{escape_name(role.sieve)}: {role.tally.role} beyond {control_of(role.contrast)}, "
        f"{role.tally.strong} of them beyond {control_of(second)} (+)"
        for role, second in zip(roles, stronger, strict=True)
        if second and role.tally.role
    ]
    caption, cells = "Number of roles by layer (rows) and head", [
        [str(number or "") for number in layer] for layer in held.sum(axis=0).tolist()
    ]  # fmt: skip
    if not many:
        caption = "Roles by layer (rows) and head"
        marks = [role.code for role in roles] + [f"{role.code}+" for role in roles]
        both = np.concatenate([held & ~summary.strong, summary.strong])
        cells = [
            [" ".join(marks[role] for role in np.flatnonzero(own).tolist()) for own in both[:, layer].T]
            for layer in range(summary.layers)
        ]
    over = "no correction"
    if decision.correction != "none":
        family = escape_name(FAMILIES.get(decision.family, decision.family))
        together = BOTH * any(rule.together for rule in run.findings.rules)
        over = f"{escape_name(decision.correction)} over {family}{together}"
    names = [fact(run.manifest, "task"), fact(run.manifest, "source", "name")]
    words = [escape_name(name) for name in names if isinstance(name, str) and name]
    sizes = [(fact(run.manifest, "counts", f"{noun}s"), noun) for noun in ("example", "unit")]
    words += [plural(size, noun.replace("example", "input")) for size, noun in sizes if isinstance(size, int)]
    inputs = f"{', '.join(words)}. " if words else ""
    method = f"{escape_name(decision.test)}, {over}, alpha {decision.alpha:g}."
    heads = [*outcomes, "strongest head", "mean [95 %]", *["mark"] * (not many)]
    return (
        paragraph(f"<strong>{escape_name(model_name(run.manifest))}</strong>. {inputs}{method}")
        + (paragraph(f"{'; '.join(told)}.") if told else "")
        + counts_table("Heads by role", heads, rows)
        + heads_table(caption, cells, stack.numbers)
    )
