"""Results as one JSON object, for other programs."""

import json
import math
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

import numpy as np

from headroles.kinds import kind_of, report_of
from headroles.records.assessment import count_extreme_p
from headroles.records.atlas.atlas import Atlas
from headroles.records.causal.pruning import Pruning
from headroles.records.comparison import OUTCOMES, Comparison
from headroles.records.findings import Labelling
from headroles.records.roles import phrase_of, role_marks
from headroles.reports.answer import Answer
from headroles.reports.console import MARKS
from headroles.reports.kinds.atlas_report import counts_table
from headroles.reports.kinds.prune import pruning_facts
from headroles.reports.recorded import all_notes, title_of


def result_json(result: Labelling | Comparison | Atlas | Pruning, folder: str) -> str:
    """Return a result as one JSON object; docs/reference/options.md lists its keys.

    Args:
        result: A run of any kind, a comparison, an atlas, or a pruning.
        folder: Its folder or address.
    """
    if isinstance(result, Comparison):
        facts = comparison_facts(result)
    elif isinstance(result, Pruning):
        facts = pruning_facts(result)
    else:
        facts = atlas_facts(result) if isinstance(result, Atlas) else run_facts(result)
    places = {"folder": folder, "report": f"{folder.rstrip('/')}/report.html"}
    return json.dumps(places | facts, indent=1, allow_nan=False)


def run_facts(labelling: Labelling) -> dict[str, Any]:
    """Return counts, strongest heads, sentences and notes of a run in JSON types."""
    kind = kind_of(labelling)
    layers, heads = labelling.findings.count.shape[1:]
    warnings, left_out = all_notes(labelling)
    facts = {
        "kind": kind.name,
        "title": title_of(labelling),
        **_answer(kind.answer(labelling)),
        "notes": _plain([*warnings, *left_out]),
        "layers": int(layers),
        "heads": int(heads),
        "results": _results(labelling, kind.decided(labelling), kind.outcomes),
    }
    if labelling.clustered is not None:
        known = labelling.clustered.cluster[labelling.clustered.cluster >= 0]
        facts["clusters"] = np.bincount(known).tolist() if known.size else []
    if labelling.probed is not None:
        best = labelling.probed.best.numbered(labelling.scores.stack)
        facts["best"] = [without_nan(vars(row)) for row in best]
    return facts


def _answer(answer: Answer) -> dict[str, Any]:
    """Return line and sentences of an answer."""
    return {
        "line": answer.line.translate(MARKS),
        "sentences": _plain(sentence.text for sentence in answer.sentences),
    }


def _plain(texts: Iterable[str]) -> list[str]:
    """Return texts without the marks of the page, each once."""
    return list(dict.fromkeys(text.translate(MARKS) for text in texts))


def _results(labelling: Labelling, decisions: np.ndarray, outcomes: tuple[str, ...]) -> dict[str, Any]:
    """Return every role with its mark, its title, its heads by outcome, and its strongest head."""
    findings, (low, high) = labelling.findings, labelling.mean_intervals()
    marks = role_marks(findings.roles)
    results = {}
    for name, mark in zip(findings.roles, marks, strict=True):
        place = findings.of(name)
        decided = decisions[place]
        results[name] = {
            "mark": mark,
            "title": phrase_of(name).title,
            "counts": {outcome: int((decided == code).sum()) for code, outcome in enumerate(outcomes)},
            "strongest": _strongest(labelling, place, low[place], high[place]),
        }
    return results


def _strongest(
    labelling: Labelling, place: int, low: np.ndarray, high: np.ndarray
) -> dict[str, int | float | None] | None:
    """Return the head with the largest mean among those with the role; None where there is none."""
    findings, layers = labelling.findings, labelling.scores.stack.numbers
    held = findings.decision[place] == 0
    if not held.any():
        return None
    best = np.where(held, findings.mean[place], -np.inf)
    layer, head = (int(index) for index in np.unravel_index(int(best.argmax()), best.shape))
    numbers = {"mean": findings.mean[place], "low": low, "high": high}
    means = {name: float(grid[layer, head]) for name, grid in numbers.items()}
    return without_nan({"layer": layers[layer], "head": head, **means})


def comparison_facts(comparison: Comparison) -> dict[str, Any]:
    """Return outcomes, roles gained and lost, sentences and notes of a comparison in JSON types."""
    differences, answer = comparison.differences, report_of(comparison).answer
    layers, heads = differences.count.shape[1:]
    results: dict[str, Any] = {}
    for place, rule in enumerate(differences.rules):
        if not rule.role:
            continue
        before, after = (
            run.decision[run.of(rule.sieve)] == 0 for run in (comparison.before, comparison.after)
        )
        results[rule.sieve] = {
            "title": phrase_of(rule.sieve).title,
            "counts": dict(zip(OUTCOMES, differences.counts(place), strict=True)),
            "gained": int((after & ~before).sum()),
            "lost": int((before & ~after).sum()),
        }
    return {
        "kind": "compare",
        "title": answer.title.translate(MARKS),
        **_answer(answer),
        "notes": _plain(comparison.remarks),
        "layers": int(layers),
        "heads": int(heads),
        "results": results,
    }


def atlas_facts(atlas: Atlas) -> dict[str, Any]:
    """Return runs with their counts, all tables over runs, sentences and notes of an atlas in JSON types."""
    answer = report_of(atlas).answer
    runs = []
    for place, (run, found) in enumerate(zip(atlas.runs, atlas.findings, strict=True)):
        near = count_extreme_p(atlas.p_values(place))
        counts = {role: int(held.sum()) for role, held in zip(found.roles, found.held, strict=True)}
        runs.append(
            without_nan(asdict(run))
            | {"heads_with": counts, "p": without_nan(asdict(near) | {"share": near.share})}
            | {"layers_of_roles": [without_nan(vars(row)) for row in atlas.several[place]]}
        )
    return {
        "kind": "atlas",
        "title": answer.title.translate(MARKS),
        **_answer(answer),
        "notes": _plain(atlas.remarks),
        "runs": runs,
        "agreement": [without_nan(vars(row)) for row in atlas.agreement],
        "in_runs": [vars(row) for row in counts_table(atlas)],
        "consensus": [without_nan(vars(row)) for row in atlas.consensus],
        "trends": [without_nan(vars(row)) for row in atlas.steps],
    }


def without_nan(values: dict[str, Any]) -> dict[str, Any]:
    """Return values with None in place of NaN and infinity, which JSON lacks.

    Example:
        >>> without_nan({"role": "local", "mean": 0.5, "q": float("nan")})
        {'role': 'local', 'mean': 0.5, 'q': None}
    """
    return {
        name: None if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in values.items()
    }
