"""Made-up surface runs for tests of pages and terminals."""

from typing import Any

import numpy as np
from scipy import stats

from headroles.records.example import Decision, Rule, Scores
from headroles.records.findings import Labelling
from headroles.records.surface import LayerMean, NoOp, Surface
from headroles.stats.assessment.assess import assess
from headroles.stats.engine import judge

SURFACE = (
    "first", "separator", "separator→separator", "other→separator", "punctuation", "previous", "next", "self",
    "entropy", "entropy-first",
)  # fmt: skip
LOUD = '<b>loud</b>, "quoted" \u202e😀'


def made_up(
    shape: tuple[int, int, int] = (60, 6, 12), *, lacking: tuple[str, ...] = (), gradients: bool = True
) -> Labelling:

    scores, rules = _surface_scores(shape, lacking, gradients)
    decision = Decision()
    with np.errstate(all="ignore"):
        findings = judge(scores, rules, decision)
        assessment = assess(scores, rules, decision, findings, splits=4)
    facts = {
        "headroles": "0.1.0",
        "command": "headroles surface --task QNLI",
        "task": "QNLI",
        "model": {"name": "tiny/<i>model</i>", "architecture": "BertModel", "origin": "a folder"},
        "source": {"kind": "sample", "name": "QNLI"},
        "counts": {"examples": shape[0], "units": shape[0]},
        "preset": "calibrated",
        "statistic": "mean attention",
        "notes": [f"a note about {LOUD}"],
    }
    return Labelling(
        scores, findings, decision, facts, (f"{LOUD}: left out.",), assessment, surface=_surface(scores)
    )


def _surface_scores(
    shape: tuple[int, int, int], lacking: tuple[str, ...], gradients: bool
) -> tuple[Scores, list[Rule]]:
    """Mean attention and entropies of inputs of 64 tokens, importances where asked for."""
    chance = np.random.default_rng(5)
    examples, layers, heads = shape
    kinds = ("first", "separator", "punctuation", "other")
    names = [f"surface:{each}" for each in SURFACE]
    rules = [
        Rule(name, "", 0.0, 0.0, low=0.0, high=np.log(64) if "entropy" in name else 1.0) for name in names
    ]
    if gradients:
        names += [f"{measure}:{kind}" for measure in ("gradient", "attention×gradient") for kind in kinds]
        rules += [Rule(name, margin=0.0, role=False) for name in names[len(rules) :]]
    level = chance.beta(0.35, 3.0, size=(len(names), 1, layers, heads))
    middle = np.exp(-(((np.arange(layers) - layers / 2) / 1.5) ** 2))
    for name in ("surface:separator", "surface:other→separator", "surface:separator→separator"):
        level[names.index(name), 0] += 0.5 * middle[:, None] * chance.random(heads)
    values = np.abs(level + chance.normal(0, 0.03, size=(len(names), *shape))).clip(0, 1)
    null = np.full((len(names), examples), 1 / 64) * (1 + chance.random(examples))
    for place, name in enumerate(names):
        if "entropy" in name:
            values[place] = np.log(64) * (1 - values[place].clip(0, 0.99))
            null[place] = np.log(64)
        if "gradient" in name:
            values[place] *= 0.002 if name.startswith("g") else 0.0001
            values[place] *= 1 - 0.98 * middle[:, None] * name.endswith("separator")
            null[place] = 0
        if name in lacking:
            values[place] = np.nan
    keys = tuple(f"QNLI/{number}" for number in range(examples))
    cells = np.full((len(names), examples), 64.0)
    found = Scores(tuple(names), keys, keys, np.full(examples, 64), cells, values.astype(np.float32), null)
    return found, rules


def _surface(scores: Scores) -> Any:
    """Means over layers, and tests of separators that do not matter."""
    layers, noop = [], []
    for place, name in enumerate(scores.sieves):
        even = float(scores.null[place].mean()) if name.startswith("surface") else float("nan")
        for layer in range(scores.layers):
            units = scores.values[place, :, layer].astype(float).mean(axis=1)
            mean, error = float(units.mean()), float(stats.sem(units))
            reach = 2.0 * error
            layers.append(LayerMean(name, layer, units.size, mean, mean - reach, mean + reach, even))
    for measure in ("gradient", "attention×gradient"):
        if f"{measure}:other" not in scores.sieves:
            continue
        other, own = (
            scores.values[scores.sieves.index(f"{measure}:{kind}")].astype(float).mean(axis=2)
            for kind in ("other", "separator")
        )
        for layer, score in enumerate(((other - own) / (other + own)).T):
            mean, error = float(score.mean()), float(stats.sem(score))
            found = stats.ttest_1samp(score, 0, alternative="greater")
            p = float(found.pvalue)
            outcome = "less important" if p < 0.01 else "not less" if p > 0.99 else "undetermined"
            ends = (mean, mean - 2 * error, mean + 2 * error)
            noop.append(
                NoOp(measure, "separator", layer, score.size, *ends, float(found.statistic), p, p, outcome)
            )
    return Surface(tuple(layers), tuple(noop))
