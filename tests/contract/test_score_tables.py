"""Tables of scores from anywhere get the findings that runs of sieves give."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import headroles
from headroles import Labelling
from tests.contract.conftest import Made

if TYPE_CHECKING:
    import pandas as pd


def table_of(values: np.ndarray, **columns: Any) -> "pd.DataFrame":
    """Return a table of an array (units, layers, heads)."""
    import pandas as pd

    unit, layer, head = np.indices(values.shape).reshape(3, -1)
    rows = {"unit": [f"u{number}" for number in unit], "layer": layer, "head": head, "score": values.ravel()}
    return pd.DataFrame(rows | columns)


def random_scores(seed: int, units: int = 60) -> np.ndarray:
    """Return scores of 2 × 3 heads, some of them beyond 0.2."""
    rng = np.random.default_rng(seed)
    means = rng.choice([0.1, 0.2, 0.3], size=(2, 3))
    return np.clip(rng.normal(means, 0.15, size=(units, 2, 3)), 0, 1)


def exported(run: Labelling) -> "pd.DataFrame":
    """Return the scores of a run as a table, with everything that its rules say."""
    import pandas as pd

    scores, tables = run.scores, []
    place = np.repeat(np.arange(len(scores.examples)), scores.layers * scores.heads)
    for position, rule in enumerate(run.findings.rules):
        names = ("margin", "low", "high", "contrast", "stronger", "weaker", "role", "pooled", "question")
        frame = table_of(scores.values[position].astype(np.float64)).assign(
            unit=np.array(scores.examples, dtype=object)[place],
            group=np.array(scores.units, dtype=object)[place],
            tokens=scores.tokens[place],
            cells=scores.cells[position][place],
            null=scores.null[position][place],
            sieve=rule.sieve,
            **{name: getattr(rule, name) for name in names},
        )
        tables.append(frame)
    return pd.concat(tables, ignore_index=True)


@pytest.mark.parametrize("name", ["label-trees", "label"])
def test_the_exported_scores_of_a_run_give_its_findings(name: str, made: Made) -> None:
    import pandas as pd

    run = headroles.load(made(name))
    names = ("alpha", "test", "correction", "family", "resamples")
    judged = headroles.judge_scores(
        exported(run),
        **{field: getattr(run.decision, field) for field in names},
        resample_seed=run.decision.seed,
    )
    pd.testing.assert_frame_equal(judged.frame(), run.frame(), rtol=1e-9)
    pd.testing.assert_frame_equal(judged.labels(), run.labels())


def test_every_form_of_table_gives_one_run_and_the_order_of_rows_does_not_matter(tmp_path: Path) -> None:
    frame = table_of(random_scores(1), sieve="mine")
    frame.to_parquet(tmp_path / "scores.parquet")
    for ending in ("csv", "tsv", "csv.gz"):
        frame.to_csv(tmp_path / f"scores.{ending}", index=False, sep="\t" if ending == "tsv" else ",")
    given: dict[str, Any] = {"margin": 0.1, "low": 0, "high": 1, "model_name": "tiny"}
    memory = headroles.judge_scores(frame, **given)
    for ending in ("parquet", "csv", "tsv", "csv.gz"):
        out = tmp_path / ending.replace(".", "-")
        headroles.judge_scores(tmp_path / f"scores.{ending}", out=out, **given)
        np.testing.assert_array_equal(headroles.load(out).findings.p, memory.findings.p)
    again = headroles.judge_again(out, alpha=0.01, margin=0.2)
    assert again.findings.rules[0].margin == 0.2
    assert "tiny" in (out / "report.html").read_text(encoding="utf-8")
    gone = frame.sample(frac=0.9, random_state=0)
    empty = frame.assign(score=frame["score"].where(frame.index.isin(gone.index)))
    first, second = (headroles.judge_scores(rows, margin=0.1) for rows in (gone.sort_index(), empty))
    np.testing.assert_allclose(first.findings.p, second.findings.p)
    assert "36 of 360 scores are missing." in second.skipped


def test_bounds_decide_heads_without_spread_and_let_the_test_bet() -> None:
    constant = table_of(np.full((60, 1, 2), 0.5))
    known: dict[str, Any] = {"low": 0, "high": 1}
    for bounds, outcome in ((dict[str, Any](), False), (known, True)):
        found = headroles.judge_scores(constant, margin=0.1, **bounds).frame()
        assert ((found["decision"] == "role") == outcome).all()
    table = table_of(random_scores(5))
    number = table["unit"].factorize()[0]
    varying = table.assign(null=0.05 + 0.1 * number / number.max())
    run = headroles.judge_scores(table, margin=0.1, null=0.1, low=0, high=1, test="betting")
    (rule,) = run.findings.rules
    assert (rule.stated_low, rule.stated_high) == pytest.approx((-0.1, 0.9))
    assert not np.isnan(run.findings.p).any()
    (rule,) = headroles.judge_scores(varying, margin=0.1, low=0, high=1, test="betting").findings.rules
    assert (rule.stated_low, rule.stated_high) == (-1.0, 1.0)
