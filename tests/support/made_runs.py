"""Made-up scores and runs: of sieves, of probes, and of the surface job."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
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


LOUD = '<b>loud</b>, "quoted" \u202e😀'
RECORDED = Path(__file__).parents[1] / "contract" / "recorded"


@cache
def recorded(kind: str) -> "Labelling":
    """Return a recorded run without its maps; tests change copies of it."""
    import headroles

    run: Labelling = headroles.load(RECORDED / kind / "run")
    return replace(run, exhibited=None, folder=None)


def probed_labelling() -> "Labelling":
    """Return a run of probes with everything that runs of probes may find."""
    from headroles.records import CONDITION_GAPS

    run = recorded("probe")
    assert run.probed is not None
    shift = np.random.default_rng(11).normal(0, 0.06, size=6)
    layer, head = np.divmod(np.arange(6), 3)
    same = {"measure": "accuracy", "first": "pro", "second": "anti", "both": 0.4, "second_value": 0.4}
    gaps = CONDITION_GAPS.of(
        layer=layer, head=head, first_value=0.4 + shift, difference=shift, low=shift - 0.05,
        high=shift + 0.05, **{name: [value] * 6 for name, value in {**same, "p": 0.2, "q": 0.6}.items()},
    )  # fmt: skip
    return replace(run, probed=replace(run.probed, gaps=gaps))


@pytest.fixture(scope="session")
def probed_run() -> "Callable[..., Labelling]":
    """Return a run of probes on examples, layers and heads, assessed on request."""

    def made(*, shape: tuple[int, int, int] = (20, 2, 3), assessed: bool = False) -> "Labelling":
        run = probed_labelling()
        assert run.scores.values.shape[1:] == shape
        return run if assessed else replace(run, assessment=None)

    return made


def surface_labelling(shape: tuple[int, int, int] = (24, 2, 3), *, gradients: bool = True) -> "Labelling":
    """Return a surface run of the first examples, layers and heads of the recorded one."""
    from headroles.records import SurfaceResults
    from headroles.stats import layer_means, noop_tests

    run, (examples, layers, heads) = recorded("surface"), shape
    scores = run.scores
    kept = [place for place, name in enumerate(scores.sieves) if gradients or "gradient" not in name]
    rules = [run.findings.rules[place] for place in kept]
    made = made_run(
        rules,
        scores.values[kept, :examples, :layers, :heads],
        facts=dict(run.manifest) | {"notes": [f"a note about {LOUD}"]},
        skipped=(f"{LOUD}: left out.",),
        assessed=True,
        key="QNLI/",
        null=scores.null[kept, :examples],
    )
    found = SurfaceResults(layer_means(made.scores, rules), noop_tests(made.scores, made.decision))
    return replace(made, surface=found)
