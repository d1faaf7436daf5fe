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
from headroles.reports.account import all_notes, title_of
from headroles.reports.console import MARKS
from headroles.reports.kinds.atlas_report import counts_table
from headroles.reports.kinds.prune import pruning_facts
from headroles.reports.summary import summarise


def result_json(result: Labelling | Comparison | Atlas | Pruning, folder: str) -> str:
    """Return a result as one JSON object; docs/reference/options.md lists its keys.

    Args:
        result: A run of any kind, a comparison, an atlas, or a pruning.
        folder: Its folder or address.
    """
    if isinstance(result, Pruning):
        facts = pruning_facts(result)
    elif isinstance(result, Labelling):
        facts = run_facts(result)
    else:
        answer, name = report_of(result).answer, "atlas" if isinstance(result, Atlas) else "compare"
        facts = _stated(name, answer.title.translate(MARKS), answer, result.remarks)
        facts |= _atlas_facts(result) if isinstance(result, Atlas) else _comparison_facts(result)
    places = {"folder": folder, "report": f"{folder.rstrip('/')}/report.html"}
    return json.dumps(places | facts, indent=1, allow_nan=False)


def _stated(kind: str, title: str, answer: Any, notes: Iterable[str]) -> dict[str, Any]:
    """Return what every result states: texts without the marks of the page, each once."""

    def plain(texts: Iterable[str]) -> list[str]:
        return list(dict.fromkeys(text.translate(MARKS) for text in texts))

    return {
        "kind": kind, "title": title, "line": answer.line.translate(MARKS),
        "sentences": plain(sentence.text for sentence in answer.sentences), "notes": plain(notes),
    }  # fmt: skip


def run_facts(labelling: Labelling) -> dict[str, Any]:
    """Return counts, strongest heads, sentences and notes of a run in JSON types."""
    kind, findings = kind_of(labelling), labelling.findings
    layers, heads = findings.count.shape[1:]
    warnings, left_out = all_notes(labelling)
    facts = _stated(kind.name, title_of(labelling), kind.answer(labelling), [*warnings, *left_out])
    decisions, numbers = kind.decided(labelling), labelling.scores.stack.numbers
    results: dict[str, Any] = {}
    for role, mark in zip(summarise(labelling).roles, role_marks(findings.roles), strict=True):
        name, place, best, strongest = role.sieve, role.position, role.strongest, None
        if best is not None:
            ends = dict(zip(("mean", "low", "high"), best.score, strict=True))
            strongest = without_nan({"layer": numbers[best.layer], "head": best.head, **ends})
        counts = {
            outcome: int((decisions[place] == code).sum()) for code, outcome in enumerate(kind.outcomes)
        }
        results[name] = {
            "mark": mark, "title": phrase_of(name).title, "counts": counts, "strongest": strongest
        }  # fmt: skip
    facts |= {"layers": int(layers), "heads": int(heads), "results": results}
    if labelling.clustered is not None:
        known = labelling.clustered.cluster[labelling.clustered.cluster >= 0]
        facts["clusters"] = np.bincount(known).tolist() if known.size else []
    if labelling.probed is not None:
        best_heads = labelling.probed.best.numbered(labelling.scores.stack)
        facts["best"] = [without_nan(vars(row)) for row in best_heads]
    return facts


def _comparison_facts(found: Comparison) -> dict[str, Any]:
    """Return outcomes, and roles gained and lost, of a comparison in JSON types."""
    differences, results = found.differences, dict[str, Any]()
    for place, rule in enumerate(differences.rules):
        if rule.role:
            before, after = (run.decision[run.of(rule.sieve)] == 0 for run in (found.before, found.after))
            results[rule.sieve] = {
                "title": phrase_of(rule.sieve).title,
                "counts": dict(zip(OUTCOMES, differences.counts(place), strict=True)),
                "gained": int((after & ~before).sum()), "lost": int((before & ~after).sum()),
            }  # fmt: skip
    layers, heads = differences.count.shape[1:]
    return {"layers": int(layers), "heads": int(heads), "results": results}


def _atlas_facts(atlas: Atlas) -> dict[str, Any]:
    """Return runs with their counts, and all tables over runs, in JSON types."""
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
        "runs": runs, "agreement": [without_nan(vars(row)) for row in atlas.agreement],
        "in_runs": [vars(row) for row in counts_table(atlas)],
        "consensus": [without_nan(vars(row)) for row in atlas.consensus],
        "trends": [without_nan(vars(row)) for row in atlas.steps],
    }  # fmt: skip


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
