"""Tables of scores from anywhere get the findings that other libraries, and runs of sieves, give."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy import stats

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


def test_findings_are_those_of_scipy() -> None:
    for seed in range(3):
        values = random_scores(seed).astype(np.float32).astype(np.float64)
        run = headroles.judge_scores(
            table_of(values), margin=0.1, null=0.1, low=0, high=1, test="t", correction="fdr_bh"
        )
        flat, frame = values.reshape(len(values), -1), run.frame()
        p = stats.ttest_1samp(flat, 0.2, alternative="greater").pvalue
        np.testing.assert_allclose(frame["mean"], flat.mean(axis=0), rtol=1e-9)
        np.testing.assert_allclose(frame["p"], p, rtol=1e-7, atol=1e-12)
        adjusted = stats.false_discovery_control(p)
        small = adjusted < 0.5  # p far above alpha may be those of withheld claims
        np.testing.assert_allclose(frame["q"][small], adjusted[small], rtol=1e-7, atol=1e-12)
        assert ((frame["decision"] == "role") <= (adjusted <= 0.05)).all()


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


def test_every_form_of_table_gives_one_run_folder(tmp_path: Path) -> None:
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


def test_the_order_of_rows_and_missing_rows_do_not_matter() -> None:
    frame = table_of(random_scores(2))
    gone = frame.sample(frac=0.9, random_state=0)
    empty = frame.assign(score=frame["score"].where(frame.index.isin(gone.index)))
    first = headroles.judge_scores(gone.sort_index(), margin=0.1)
    second = headroles.judge_scores(empty, margin=0.1)
    np.testing.assert_allclose(first.findings.p, second.findings.p)
    assert "36 of 360 scores are missing." in second.skipped


def test_groups_are_the_units_and_a_contrast_decides_with_the_score() -> None:
    import pandas as pd

    frame = table_of(random_scores(3))
    frame = frame.assign(group=[unit[:-1] or unit for unit in frame["unit"]], sieve="mine", margin=0.1)
    grouped = headroles.judge_scores(frame, margin=0.1)
    assert grouped.findings.count.max() == len({unit[:-1] for unit in frame["unit"]})
    other = frame.assign(sieve="control", score=-0.2, margin=0.02)
    both = pd.concat([frame.assign(contrast="control"), other.assign(contrast="")])
    run = headroles.judge_scores(both, low=-1, high=1)
    assert [rule.role for rule in run.findings.rules] == [True, False]
    assert (run.frame()["decision"] != "role").all()


def test_what_the_table_does_not_say_is_said_and_roles_on_as_few_units_share_a_sentence() -> None:
    import pandas as pd

    notes = headroles.judge_scores(table_of(random_scores(4, 20), sieve="mine", more=1), margin=0.1).skipped
    assert notes[0].startswith("the table does not say which score chance gives; 0 was taken")
    assert "unknown for mine (--low, --high)" in notes[1]
    assert notes[2:] == (
        "columns that were not read: more.",
        "mine rests on 20 units; below 50, no head is called 'not'.",
    )
    assert headroles.judge_scores(table_of(random_scores(4)), margin=0.1, null=0, low=0, high=1).skipped == ()
    sizes = {"a": 20, "b": 1, "c": 20, "d": 7}
    tables = [table_of(random_scores(4, units), sieve=name) for name, units in sizes.items()]
    run = headroles.judge_scores(pd.concat(tables), margin=0.1, null=0, low=-10, high=10)
    assert [note for note in run.skipped if "on" in note.split()] == [
        "b rests on 1 unit and cannot be tested. Give more units.",
        "d rests on 7 units; below 50, no head is called 'not'.",
        "a, c rest on 20 units; below 50, no head is called 'not'.",
    ]


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
