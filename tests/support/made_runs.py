"""Made-up scores and runs: of sieves, of probes, and of the surface job."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

if TYPE_CHECKING:
    from headroles import Labelling
    from headroles.records import Decision, Rule, Scores


def made_scores(
    names: Sequence[str],
    values: np.ndarray,
    *,
    units: Sequence[str] = (),
    key: str = "e",
    tokens: int = 20,
    cells: float = 12.5,
    null: float | np.ndarray = 0.0,
) -> "Scores":
    """Return scores from values by column, example, layer and head; units are examples unless given."""
    from headroles.records import Scores

    columns, examples = values.shape[:2]
    keys = tuple(f"{key}{number}" for number in range(examples))
    return Scores(
        sieves=tuple(names),
        examples=keys,
        units=tuple(units) or keys,
        tokens=np.full(examples, tokens),
        cells=np.full((columns, examples), cells),
        values=values.astype(np.float32),
        null=np.zeros((columns, examples)) + null,
    )


def made_run(
    rules: "Sequence[Rule]",
    values: np.ndarray,
    *,
    decision: "Decision | None" = None,
    facts: Mapping[str, Any] | None = None,
    skipped: tuple[str, ...] = (),
    assessed: bool = False,
    bayes: bool = False,
    **how: Any,
) -> "Labelling":
    """Return the run that judges values by rules; ``how`` are keywords of ``made_scores``."""
    from headroles import Labelling
    from headroles.records import Decision
    from headroles.stats import assess, judge

    decision = decision or Decision()
    scores = made_scores([rule.sieve for rule in rules], values, **how)
    with np.errstate(all="ignore"):
        findings = judge(scores, rules, decision)
        assessment = assess(scores, rules, decision, findings, bayes=bayes) if assessed else None
    return Labelling(scores, findings, decision, dict(facts or {}), skipped, assessment)


RELATIONS = (
    "all", "case", "det", "nsubj", "amod", "advmod", "obj", "compound", "nmod:poss", "conj", "mark", "aux",
)  # fmt: skip
KINDS_OF_MENTION = ("all", "pronoun", "proper", "nominal")
PROBE = {
    "halves": {"selection": 31, "test": 29, "seed": 3},
    "scheme": "ud",
    "windows": {"size": 128, "stride": 64, "lost": {"coreference:pronoun": 12}},
}


@pytest.fixture(scope="session")
def probed_run() -> "Callable[..., Labelling]":
    """A made-up run of probes on 6 layers of 12 heads; relations of any number and name, made once."""
    cached = cache(probed_labelling)

    def made(relations: "tuple[str, ...]" = RELATIONS, **options: Any) -> "Labelling":
        shaped = {name: options.pop(name) for name in ("shape", "assessed") if name in options}
        run = cached(relations, **shaped)
        return replace(run, manifest={**run.manifest, **options})

    return made


def probed_labelling(
    relations: "tuple[str, ...]" = RELATIONS,
    *,
    shape: tuple[int, int, int] = (60, 6, 12),
    assessed: bool = False,
) -> "Labelling":
    """Return a run of probes with everything that runs of probes may find."""
    from headroles.records import ProbeResults

    chance = np.random.default_rng(11)
    rows = [f"dependency:{each}" for each in relations]
    rows += [f"coreference:{kind}" for kind in KINDS_OF_MENTION] + ["trees:uas"]
    published: dict[str, Any] = {row: {"accuracy": 0.585, "head": "8-2"} for row in rows[:4]}
    published |= {
        "trained:attention": 0.61,
        "coreference:all": {"accuracy": 0.65, "baselines": {"rules": 0.69}},
    }
    facts = {
        "headroles": "0.1.0",
        "command": "headroles probe dependency coreference --data gum.conllu",
        "model": {"name": "tiny/model", "architecture": "BertModel", "origin": "a folder"}
        | {"layers": shape[1], "heads": shape[2]},
        "source": {"kind": "file", "name": "gum.conllu"},
        "counts": {"examples": shape[0], "units": shape[0]},
        "preset": "calibrated",
        "statistic": "accuracy",
        "probe": {"published": published, **PROBE},
    }
    rules, values, null = _accuracies(rows, shape, chance)
    how: dict[str, Any] = {"key": "dev/GUM_", "tokens": 40, "cells": 7.0, "null": null}
    run = made_run(rules, values, facts=facts, assessed=assessed, **how)
    best = tuple(_best(row, run.scores, chance) for row in rows)
    return replace(
        run, probed=ProbeResults(_tallies(rows, shape[0], chance), best, *_beyond(rows, shape, chance))
    )


def _accuracies(
    rows: list[str], shape: tuple[int, int, int], chance: np.random.Generator
) -> "tuple[list[Rule], np.ndarray, np.ndarray]":
    """Return rules, accuracies between 0 and 1, and those of the best baseline; contrasts come last."""
    from headroles.records import Rule

    directions = {"dependency": ("→", "←"), "trees": ("→", "←"), "coreference": ("",)}
    columns = [f"{row}:{way}".removesuffix(":") for row in rows for way in directions[row.partition(":")[0]]]
    matched = [f"{name}:matched" for name in columns if name.startswith("dependency")]
    asked = "Is the word attended to most right?"
    rules = [Rule(name, asked, margin=0.0, low=0.0, high=1.0) for name in columns]
    rules += [Rule(name, margin=0.05, role=False, low=-1.0, high=1.0) for name in matched]
    level = chance.beta(0.5, 2.5, size=(len(rules), 1, *shape[1:]))
    values = (level + chance.normal(0, 0.12, size=(len(rules), *shape))).clip(0, 1)
    null = chance.beta(6, 8, size=(len(rules), 1)) * np.ones((1, shape[0]))
    null[len(columns) :] = 0
    return rules, values, null


def _best(row: str, scores: "Scores", chance: np.random.Generator) -> Any:
    """Return the head with the largest mean on the first half of the examples, on the second half."""
    from headroles.records import BestHead

    names = [name for name in scores.sieves if name.removesuffix(":→").removesuffix(":←") == row]
    half = len(scores.examples) // 2
    places = [scores.sieves.index(name) for name in names]
    chosen = scores.values[places, :half].mean(axis=1)
    column, layer, head = (int(each) for each in np.unravel_index(chosen.argmax(), chosen.shape))
    tested = scores.values[places[column], half:, layer, head].astype(float)
    accuracy, error = float(tested.mean()), float(tested.std(ddof=1) / np.sqrt(tested.size))
    baseline = float(scores.null[places[column], 0])
    p = float(chance.choice([1e-9, 0.003, 0.2, 0.7]))
    decision = "beyond" if p < 0.05 else "undetermined" if p < 0.5 else "not"
    contrast = (0.11, 0.05, 0.17) if row.startswith("dependency") else (float("nan"),) * 3
    return BestHead(
        row, names[column].removeprefix(row).strip(":"), layer, head, int(chance.integers(40, 4000)),
        tested.size, float(chosen.max()), accuracy, accuracy - 2 * error, accuracy + 2 * error,
        "-1" if row.startswith("dependency") else "nearest", baseline, accuracy - baseline,
        accuracy - baseline - 2 * error, accuracy - baseline + 2 * error, 0.0, 3.1, p, p, 1 - p, 1 - p,
        *contrast, decision,
    )  # fmt: skip


def _tallies(rows: list[str], examples: int, chance: np.random.Generator) -> Any:
    from headroles.records import BaselineCounts

    items = chance.integers(0, 9, size=(len(rows), examples))
    hits = chance.integers(0, 9, size=(len(rows), examples, 3)).clip(max=items[..., None])
    hits[:, :, 2] = -1
    lost = chance.integers(0, 2, size=(len(rows), examples))
    return BaselineCounts(tuple(rows), ("-1", "nearest", "rules"), ((0, 1),) * len(rows), hits, items, lost)


TRAINED = (
    ("right-branching", "", 0.26), ("distances+words", "trained", 0.55), ("attention", "random", 0.31),
    ("attention", "trained", 0.61), ("attention+words", "trained", 0.75),
)  # fmt: skip
"""Classifier, weights and accuracy of trained probes."""


def _beyond(rows: list[str], shape: tuple[int, int, int], chance: np.random.Generator) -> tuple[Any, ...]:
    """Return baselines, gaps, trained probes, contests and weights."""
    from headroles.records import Baseline, ConditionGap, ProbeComparison, ProbeWeight, TrainedProbe

    names = {
        "dependency": ("-3", "-2", "-1", "+1", "+2", "+3"),
        "trees": ("right-branching", "left-branching", "random tree"),
        "coreference": ("nearest", "head match", "rules"),
    }
    baselines = tuple(
        Baseline(row, name, 900, shape[0], 0.08 * k + 0.2, 0.08 * k + 0.17, 0.08 * k + 0.23)
        for row in rows
        for k, name in enumerate(names[row.partition(":")[0]])
    )
    grid = list(np.ndindex(shape[1:]))
    shifts = chance.normal(0, 0.06, size=len(grid)).tolist()
    gaps = tuple(
        ConditionGap(*place, "accuracy", "pro", "anti", 0.4 + shift, 0.4 + shift, 0.4, shift, shift - 0.05,
            shift + 0.05, 0.2, 0.6)
        for place, shift in zip(grid, shifts, strict=True)
    )  # fmt: skip
    trained = tuple(
        TrainedProbe(name, weights, uas, uas - 0.02, uas + 0.02, 20_000, shape[0], 9000 * bool(weights), 7, 0)
        for name, weights, uas in TRAINED
    )
    contests = (
        ProbeComparison("attention+words", "attention", 0.14, 0.11, 0.17, 9.1, 1e-12, 2e-12),
        ProbeComparison("attention", "attention (random weights)", 0.30, 0.27, 0.33, 19.0, 1e-20, 1e-20),
    )
    strength = chance.normal(0, 2, size=(2, len(grid))).tolist()
    weights = tuple(
        ProbeWeight("attention", *place, way, value)
        for way, values in zip("→←", strength, strict=True)
        for place, value in zip(grid, values, strict=True)
    )
    return baselines, gaps, trained, contests, weights


@pytest.fixture(scope="session")
def surface_run() -> "Callable[..., Labelling]":
    """A made-up surface run: separators draw attention in the middle layers, where they matter little."""
    return cache(surface_labelling)


SURFACE = (
    "first", "separator", "separator→separator", "other→separator", "punctuation", "previous", "next", "self",
    "entropy", "entropy-first",
)  # fmt: skip
LOUD = '<b>loud</b>, "quoted" \u202e😀'


def surface_labelling(
    shape: tuple[int, int, int] = (60, 6, 12),
    *,
    lacking: tuple[str, ...] = (),
    gradients: bool = True,
    rows: tuple[str, ...] = (),
) -> "Labelling":
    """Return a surface run; columns that are lacking have no value, gradients may be left out, rows added."""
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
    rules, values, null = _surface_values(shape, lacking, gradients, rows)
    how: dict[str, Any] = {"key": "QNLI/", "tokens": 64, "cells": 64.0, "null": null}
    run = made_run(rules, values, facts=facts, skipped=(f"{LOUD}: left out.",), assessed=True, **how)
    return replace(run, surface=_surface(run.scores))


def _surface_values(
    shape: tuple[int, int, int], lacking: tuple[str, ...], gradients: bool, rows: tuple[str, ...]
) -> "tuple[list[Rule], np.ndarray, np.ndarray]":
    """Return rules, values and chance: mean attention and entropies of inputs of 64 tokens, importances."""
    from headroles.records import Rule

    chance = np.random.default_rng(5)
    examples, layers, heads = shape
    kinds = ("first", "separator", "punctuation", "other")
    names = [*(f"surface:{each}" for each in SURFACE), *rows]
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
    return rules, values, null


def _surface(scores: "Scores") -> Any:
    """Return means over layers, and tests of separators that do not matter."""
    from scipy import stats

    from headroles.records import LayerMean, NoOp, SurfaceResults

    layers, noop = [], []
    for place, name in enumerate(scores.sieves):
        even = float(scores.null[place].mean()) if name.startswith("surface") else float("nan")
        for layer in range(scores.layers):
            units = scores.values[place, :, layer].astype(float).mean(axis=1)
            mean, reach = float(units.mean()), 2 * float(stats.sem(units))
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
    return SurfaceResults(tuple(layers), tuple(noop))
