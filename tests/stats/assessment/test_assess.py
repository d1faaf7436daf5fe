"""What is said beyond the tests, its tables, and the way from label() to the run folder and back."""

import csv
import json
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pingouin
import pytest
from scipy import stats as reference

import headroles
from headroles.errors import BadInput
from headroles.records.assessment import Assessment, Depth, Precision, RoleOverlap, SensitivityRow
from headroles.records.example import Scores
from headroles.records.findings import Labelling
from headroles.records.rules.rule import Decision, Rule
from headroles.stats.assessment.assess import assess
from headroles.stats.engine import judge
from tests.storage.manifests import change_manifest, hash_again

Run = tuple[Scores, list[Rule]]
Label = Callable[..., Labelling]


def _assessed(run: Run, decision: Decision | None = None, **more: object) -> Assessment:
    decided = decision or Decision()
    return assess(*run, decided, judge(*run, decided), **more)  # type: ignore[arg-type]


def test_effects_factors_and_design_are_those_of_the_libraries_head_by_head(
    scores_of: Callable[..., Run],
) -> None:
    run = scores_of(0, units=30, per_unit=2)
    precision = _assessed(run, Decision(test="t"), bayes=True).precision
    for k, rule in enumerate(run[1]):
        examples = run[0].values[k].astype(np.float64).reshape(30, 2, 2, 6)
        units = examples.mean(axis=1)
        for place in np.ndindex(2, 6):
            column = units[(slice(None), *place)]
            at = (k, *place)
            d = (column.mean() - rule.margin) / column.std(ddof=1)
            theirs = float(pingouin.compute_effsize(column, rule.margin, paired=False, eftype="hedges"))
            assert precision.hedges_g[at] == pytest.approx(np.sign(d) * abs(theirs), rel=1e-6)
            bayes = float(pingouin.bayesfactor_ttest(d * 30**0.5, 30, paired=True))
            assert precision.bayes_factor[at] == pytest.approx(bayes, rel=2e-3)
            inflated = (column.var(ddof=1) / 30) / (examples[(..., *place)].var(ddof=1) / 60)
            assert precision.design_effect[at] == pytest.approx(inflated, rel=1e-6)


def test_what_was_not_asked_for_is_left_out(scores_of: Callable[..., Run]) -> None:
    precision = _assessed(scores_of(1)).precision
    assert np.isnan(precision.bayes_factor).all()
    assert not np.isnan(precision.hedges_g).any()


def test_untestable_heads_have_no_stability(scores_of: Callable[..., Run]) -> None:
    scores, rules = scores_of(2)
    values = scores.values.copy()
    values[2, :, 0, 0] = np.nan
    stability = _assessed((replace(scores, values=values), rules)).precision.stability
    assert np.isnan(stability[2, 0, 0])
    assert not np.isnan(stability[2, 0, 1:]).any()


def test_contrasts_have_precision_but_no_stability(scores_of: Callable[..., Run]) -> None:
    precision = _assessed(scores_of(2)).precision
    assert np.isnan(precision.stability[1]).all()
    assert not np.isnan(precision.stability[[0, 2, 3]]).any()
    assert not np.isnan(precision.detectable).any()


def test_the_detectable_effect_is_found_with_the_power_it_says(scores_of: Callable[..., Run]) -> None:
    run = scores_of(3, units=60)
    decision = Decision(test="t", correction="bonferroni")
    least = _assessed(run, decision).precision.detectable[2, 0, 0]
    critical = reference.t.isf(0.05 / 12, 59)
    assert reference.nct.sf(critical, 59, least * 60**0.5) == pytest.approx(0.8, abs=1e-8)


def test_false_discovery_rates_let_a_head_pass_at_alpha_times_the_share_found(
    scores_of: Callable[..., Run],
) -> None:
    run = scores_of(3, units=60)
    found = judge(*run, Decision())
    roles = int((found.decision[2] == 0).sum())
    least = assess(*run, Decision(), found).precision.detectable[2, 0, 0]
    critical = reference.t.isf(0.05 * roles / 12, 59)
    assert 1 < roles < 12
    assert reference.nct.sf(critical, 59, least * 60**0.5) == pytest.approx(0.8, abs=1e-8)


def test_pairs_are_given_without_contrasts_where_these_matter(scores_of: Callable[..., Run]) -> None:
    scores, rules = scores_of(4, units=80, layers=4, heads=8)
    found = judge(scores, rules, Decision())
    together = assess(scores, rules, Decision(), found).together
    assert {(pair.first, pair.second) for pair in together if pair.contrasts == "without"} == {
        ("s0", "s2"), ("s0", "s3"), ("s2", "s0"), ("s3", "s0")
    }  # fmt: skip
    bare = judge(scores, [replace(rule, contrast="") for rule in rules], Decision())
    for pair in together:
        labels = (found if pair.contrasts == "with" else bare).decision
        one, other = (labels[rules.index(next(r for r in rules if r.sieve == name))] == 0
                      for name in (pair.first, pair.second))  # fmt: skip
        assert (pair.heads_first, pair.heads_second) == (one.sum(), other.sum())
        assert pair.both == (one & other).sum()
    assert any(pair.both != other.both for pair in together for other in together
               if (pair.first, pair.second) == (other.first, other.second))  # fmt: skip


@pytest.mark.parametrize(
    ("decision", "said"),
    [
        (Decision(), []),
        (Decision("wilcoxon"), ["pseudo-median"]),
        (Decision("sign"), ["median"]),
        (
            Decision("sign-flip"),
            ["symmetric about the threshold", "use t with fdr_bh, not sign-flip with fdr_bh"],
        ),
        (Decision(correction="fdr_tsbh"), ["fdr_tsbh assumes independent heads"]),
        (Decision(correction="holm-sidak"), ["holm-sidak assumes independent or positively"]),
        (Decision(correction="maxT"), ["use t-skew with holm, not t-skew with maxT"]),
        (
            Decision("sign-flip", "maxT"),
            [
                "symmetric about the threshold",
                "jointly symmetric",
                "use t with holm, not sign-flip with maxT",
            ],
        ),
    ],
)
def test_remarks_say_what_a_reader_of_the_decisions_must_know(
    scores_of: Callable[..., Run], decision: Decision, said: list[str]
) -> None:
    told = _assessed(scores_of(5, units=60), replace(decision, resamples=499)).remarks
    remarks = [
        remark for remark in told if "depend on few units" not in remark
    ]  # of heads, not of the decision
    assert len(remarks) == len(said)
    for remark, part in zip(remarks, said, strict=True):
        assert part in remark


@pytest.mark.parametrize("test", ["t", "t-skew", "bootstrap-t", "sign-flip"])
def test_fewer_than_fifty_units_are_remarked_on(scores_of: Callable[..., Run], test: str) -> None:
    decision = Decision(test, resamples=499)
    few = _assessed(scores_of(6, units=49), decision).remarks
    assert any(
        f"fewer than 50 units: s0 (49), s2 (49), s3 (49). With so few, {test} errs" in each for each in few
    )
    enough = _assessed(scores_of(6, units=50), decision).remarks
    assert not any("fewer than" in remark for remark in enough)


def test_few_units_of_one_head_or_of_a_contrast_are_remarked_on(scores_of: Callable[..., Run]) -> None:
    scores, rules = scores_of(6, units=60)
    values = scores.values.copy()
    values[1, 30:] = np.nan
    values[2, 5:, 0, 0] = np.nan
    remark = _assessed((replace(scores, values=values), rules)).remarks[0]
    assert "fewer than 50 units: s0 (30), s2 (5). With so few, t-skew errs" in remark


@pytest.mark.parametrize(
    ("decision", "units", "said"),
    [
        (
            Decision("sign-flip", "holm"),
            7,
            "with 7 units has no p below 0.0078. So no head can get the role",
        ),
        (
            Decision("sign-flip", "fdr_bh"),
            7,
            "So only 2 heads or more, together, can get the role. A single head needs more units",
        ),
        (
            Decision("bootstrap-t", "fdr_bh", resamples=99),
            60,
            "only 3 heads or more, together, can get the role. A single head needs 239",
        ),
        (Decision("sign-flip", "holm"), 8, ""),
        (Decision("bootstrap-t", "fdr_bh", resamples=239), 60, ""),
    ],
)
def test_a_p_too_coarse_for_a_head_that_stands_alone_is_remarked_on(
    scores_of: Callable[..., Run], decision: Decision, units: int, said: str
) -> None:
    remarks = _assessed(scores_of(6, units=units), decision).remarks  # 12 heads in a family
    coarse = [remark for remark in remarks if "has no p below" in remark]
    assert [remark.split(":")[0] for remark in coarse] == (["s0", "s2", "s3"] if said else [])
    assert all(said in remark for remark in coarse)


def test_equal_seeds_give_equal_assessments(scores_of: Callable[..., Run]) -> None:
    run = scores_of(7, units=40)
    first, again, other = (_assessed(run, Decision(seed=seed)) for seed in (1, 1, 2))
    for each in fields(Precision):
        np.testing.assert_array_equal(
            getattr(first.precision, each.name), getattr(again.precision, each.name)
        )
    assert str(first.together) == str(again.together)
    assert str(first.depth) == str(again.depth)
    assert (str(first.together), str(first.depth)) != (str(other.together), str(other.depth))
    np.testing.assert_array_equal(first.precision.stability, other.precision.stability)  # draws nothing


def test_the_tables_of_a_run_come_back_as_they_were(label: Label, tmp_path: Path) -> None:
    before = label(out=tmp_path / "run", bayes=True)
    after = headroles.load(tmp_path / "run")
    assert before.assessment is not None
    assert after.assessment is not None
    for each in fields(Precision):
        np.testing.assert_array_equal(
            getattr(after.assessment.precision, each.name), getattr(before.assessment.precision, each.name)
        )
    for name in ("moved", "together", "depth", "remarks"):
        assert str(getattr(after.assessment, name)) == str(getattr(before.assessment, name))
    with (tmp_path / "run" / "precision.csv").open(newline="") as text:
        rows = list(csv.DictReader(text))
    assert len(rows) == before.findings.count.size
    assert list(rows[0]) == ["sieve", "layer", "head", *(each.name for each in fields(Precision))]
    assert {kind.__name__ for kind in (SensitivityRow, RoleOverlap, Depth)} == {
        "SensitivityRow",
        "RoleOverlap",
        "Depth",
    }


def test_a_run_without_these_tables_is_still_a_run(run: Path) -> None:
    (run / "together.csv").unlink()
    with pytest.raises(headroles.HeadrolesError, match=r"together\.csv is missing, which manifest"):
        headroles.load(run)
    hash_again(run)  # as written before there was such a table
    assert headroles.load(run).assessment is None
    assert headroles.judge_again(run).assessment is not None
    assert (run / "together.csv").is_file()


@pytest.mark.parametrize("name", ["precision.csv", "sensitivity.csv", "together.csv", "depth.csv"])
@pytest.mark.parametrize("spoiled", ["a,b\n1,2\n", "sieve,convention,value,heads\nx,margin,many,1\n"])
def test_a_damaged_table_is_one_sentence(run: Path, name: str, spoiled: str) -> None:
    (run / name).write_text(spoiled)
    with pytest.raises(BadInput, match="is damaged or from another version"):
        headroles.load(run)


def test_half_samples_of_older_versions_are_no_stability_until_the_run_is_judged_again(run: Path) -> None:
    now = headroles.load(run).assessment
    change_manifest(run, lambda record: record["settings"].update(splits=200))
    before = headroles.load(run).assessment
    assert now is not None
    assert before is not None
    assert np.isnan(before.precision.stability).all()
    np.testing.assert_array_equal(before.precision.hedges_g, now.precision.hedges_g)
    after = headroles.judge_again(run).assessment
    assert after is not None
    np.testing.assert_allclose(after.precision.stability, now.precision.stability, rtol=1e-12)
    assert "splits" not in json.loads((run / "manifest.json").read_text())["settings"]


def test_judging_again_takes_every_way_of_deciding(run: Path) -> None:
    judged = headroles.judge_again(
        run, test="bootstrap-t", correction="maxT", family="run", resamples=299, resample_seed=4,
        interval="bca", bayes=True,
    )  # fmt: skip
    wanted = Decision("bootstrap-t", "maxT", "run", 0.05, 299, 4, "bca")
    assert judged.decision == wanted
    assert headroles.load(run).decision == wanted
    settings = json.loads((run / "manifest.json").read_text())["settings"]
    assert (settings["resamples"], settings["resample_seed"]) == (299, 4)
    assert judged.assessment is not None
    assert not np.isnan(judged.assessment.precision.bayes_factor).all()


def test_too_few_resamples_are_refused_before_anything_is_scored(label: Label, tmp_path: Path) -> None:
    counted: list[int] = []
    with pytest.raises(BadInput, match="give at least 119 resamples"):
        label(
            out=tmp_path / "run", test="sign-flip", correction="holm", resamples=99,
            progress=lambda done, total: counted.append(done),
        )  # fmt: skip
    assert not counted
    assert not (tmp_path / "run").exists()


def test_the_interval_asked_for_is_shown(scores_of: Callable[..., Run]) -> None:
    run = scores_of(8, units=40)
    ends = {each: judge(*run, Decision(interval=each, resamples=999)) for each in ("test", "t", "bca")}
    column = run[0].values[2, :, 0, 0].astype(np.float64)
    student = reference.ttest_1samp(column, 0).confidence_interval(0.95)
    assert (ends["t"].low[2, 0, 0], ends["t"].high[2, 0, 0]) == pytest.approx((student.low, student.high))
    theirs = reference.bootstrap(
        (column,), np.mean, method="BCa", n_resamples=999, rng=np.random.default_rng(0)
    ).confidence_interval
    assert ends["bca"].low[2, 0, 0] == pytest.approx(theirs.low, rel=1e-9)
    assert ends["bca"].high[2, 0, 0] == pytest.approx(theirs.high, rel=1e-9)
    assert len({round(float(each.low[2, 0, 0]), 9) for each in ends.values()}) == 3
    for each in ends.values():
        np.testing.assert_array_equal(each.p, ends["test"].p)
