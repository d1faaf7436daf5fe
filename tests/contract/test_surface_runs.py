"""Runs of surface statistics: planted heads stand out, even ones do not, gradients decide with the loss."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

import headroles
from headroles import Labelling
from tests.support.reference import rounding_bound

Headed = Callable[[str, str], Path]
ModelOf = Callable[[str], Path]
Surfaced = Callable[..., Labelling]
ABOVE, BELOW, UNDETERMINED, UNTESTABLE = 0, 1, 2, 3
NEAR = rounding_bound(64, float(np.log(64)))


@pytest.fixture
def measure(planted: Path, table: Path) -> Surfaced:
    """Measure surface statistics of the planted model on the table of pairs, unless told otherwise."""

    def made(**options: Any) -> Labelling:
        usual: dict[str, Any] = {"task": "QNLI", "data": table, "model": planted, "max_length": 48}
        return headroles.surface(**usual | options)

    return made


def of(run: Labelling, column: str, field: str = "decision") -> np.ndarray:
    """Return an array of the findings of a column."""
    found: np.ndarray = getattr(run.findings, field)[run.findings.of(f"surface:{column}")]
    return found


def test_planted_heads_lie_above_even_attention_where_they_look(measure: Surfaced) -> None:
    run = measure(data=None, max_length=64, test="t")
    for column, place in (("previous", (0, 0)), ("next", (1, 2)), ("separator", (0, 2))):
        mean = of(run, column, "mean")
        assert divmod(int(mean.argmax()), mean.shape[1]) == place
        assert of(run, column)[place] == ABOVE
    assert (of(run, "separator")[0, 0], of(run, "next")[0, 0]) == (BELOW, BELOW)
    for column in ("entropy", "entropy-first"):
        assert (of(run, column) != ABOVE).all()
        assert of(run, column)[0, 0] == BELOW
    position = run.findings.of("surface:entropy")
    values, null = run.scores.values[position, :, 1, 1].astype(float), run.scores.null[position]
    interval = stats.ttest_1samp(values, 0.0).confidence_interval(0.95)
    ends = of(run, "entropy", "low")[1, 1], of(run, "entropy", "high")[1, 1]
    assert ends == pytest.approx((interval.low, interval.high))
    below = stats.ttest_1samp(values - null, 0.0, alternative="less")
    tested = of(run, "entropy", "statistic")[1, 1], of(run, "entropy", "p_not")[1, 1]
    assert tested == pytest.approx((below.statistic, below.pvalue))


def test_even_heads_lie_neither_above_nor_below(measure: Surfaced, even: Path) -> None:
    run = measure(model=even)
    assert set(run.findings.decision.ravel().tolist()) == {UNDETERMINED}
    np.testing.assert_allclose(run.findings.mean, run.findings.null, atol=NEAR)


def test_nulls_are_what_even_attention_gives_in_each_input(measure: Surfaced, model_of: ModelOf) -> None:
    scores = measure().scores
    place, tokens = scores.sieves.index, scores.tokens.astype(float)
    np.testing.assert_allclose(scores.null[place("surface:separator")], 2 / tokens)
    np.testing.assert_allclose(scores.null[place("surface:previous")], (tokens - 1) / tokens**2)
    np.testing.assert_allclose(scores.null[place("surface:entropy-first")], np.log(tokens))
    np.testing.assert_array_equal(scores.cells[place("surface:separator→separator")], 2)
    causal = measure(model=model_of("gpt2"), limit=20)
    columns = zip(causal.scores.sieves, causal.scores.values, strict=True)
    assert [name.partition(":")[2] for name, row in columns if np.isnan(row).all()] == [
        "separator", "separator→separator", "other→separator", "next", "first→first", "first→separator",
        "first→text", "separator→first", "separator→self", "separator→own-text", "separator→other-text",
        "entropy-first",
    ]  # fmt: skip
    entropy = causal.scores.null[causal.scores.sieves.index("surface:entropy")]
    spread = [np.log(np.arange(1, count + 1)).mean() for count in causal.scores.tokens]
    np.testing.assert_allclose(entropy, spread)
    said = " ".join(causal.skipped)
    assert "surface:next does not apply to these inputs: queries see no later key" in said
    assert "below 50 units, no head is called below even attention, because" in said


def test_published_smooths_entropies_and_nothing_else_and_marks_are_punctuation(measure: Surfaced) -> None:
    usual, released, questions, none = (
        measure(), measure(preset="published"), measure(marks="?"), measure(marks="§")
    )  # fmt: skip
    for row, name in enumerate(usual.scores.sieves):
        same = np.array_equal(usual.scores.values[row], released.scores.values[row])
        assert same == ("entropy" not in name)
    assert usual.decision == released.decision
    assert usual.manifest["notes"] == []
    assert "smooths every row" in released.manifest["notes"][0]
    assert released.manifest["surface"] == {"marks": ".,", "smoothing": 1e-4, "loss": ""}
    row = usual.scores.sieves.index("surface:punctuation")
    assert not np.array_equal(usual.scores.values[row], questions.scores.values[row])
    assert np.isnan(none.scores.values[row]).all()
    assert (of(none, "punctuation") == UNTESTABLE).all()
    assert "surface:punctuation does not apply to these inputs: no input has what it counts." in none.skipped


def test_results_do_not_depend_on_batches_and_windows_are_told_of(
    measure: Surfaced, model_of: ModelOf
) -> None:
    one, seven = measure(batch_size=1), measure(batch_size=7)
    np.testing.assert_allclose(one.scores.values, seven.scores.values, rtol=0, atol=NEAR)
    assert "see different keys" in measure(model=model_of("modernbert"), limit=12).manifest["notes"][0]
    assert measure(model=model_of("bert"), limit=12).manifest["notes"] == []


def test_gradients_of_a_causal_model_stand_beside_the_statistics(
    measure: Surfaced, headed: Headed, tmp_path: Path
) -> None:
    done: list[tuple[int, int]] = []
    options = {"model": headed("gpt2", "CausalLM"), "limit": 12}
    out = tmp_path / "run"
    both = measure(gradients=True, progress=lambda *far: done.append(far), out=out, **options)
    plain = measure(**options)
    columns = len(plain.scores.sieves)
    kinds = ("first", "separator", "punctuation", "other")
    assert both.scores.sieves[columns:] == tuple(
        f"{measure}:{kind}" for measure in ("gradient", "attention×gradient") for kind in kinds
    )
    np.testing.assert_allclose(plain.scores.values, both.scores.values[:columns], rtol=0, atol=NEAR)
    assert done[-1] == (24, 24)
    assert both.manifest["surface"]["loss"].startswith("The loss of an input is ")
    assert (both.scores.values[both.scores.sieves.index("gradient:other")] > 0).all()
    assert (both.findings.decision[columns:] == -1).all()
    assert both.surface is not None
    assert {row.measure for row in both.surface.noop} == {"gradient", "attention×gradient"}
    facts = json.loads((out / "manifest.json").read_text(encoding="utf-8"))
    assert facts["parts"] == {"surface": ["layers.csv", "noop.csv"]}
    assert repr(headroles.load(out).surface) == repr(both.surface)


def test_labels_of_a_file_decide_the_loss_of_a_classifier(headed: Headed, tmp_path: Path) -> None:
    model = headed("bert", "SequenceClassification")
    runs = []
    for name, turn in (("said", 0), ("turned", 1)):
        rows = [
            {"text": f"it was signed {word}", "class": (k + turn) % 2} for k, word in enumerate("abcdefgh")
        ]
        (tmp_path / name).with_suffix(".jsonl").write_text("\n".join(map(json.dumps, rows)))
    for name, label in (("said", "class"), ("turned", "class"), ("said", None)):
        file = tmp_path / f"{name}.jsonl"
        runs.append(headroles.surface(data=file, label=label, text_a="text", model=model, gradients=True))
    row = runs[0].scores.sieves.index("gradient:other")
    assert not np.allclose(runs[0].scores.values[row], runs[1].scores.values[row])
    assert "its label" in runs[0].manifest["surface"]["loss"]
    assert "itself predicts" in runs[2].manifest["surface"]["loss"]


def test_layer_means_and_their_intervals_are_those_of_scipy(measure: Surfaced) -> None:
    run = measure(group="document", limit=40)
    assert run.surface is not None
    assert len(run.surface.layers) == len(run.scores.sieves) * run.scores.layers
    units = np.array(run.scores.units)
    for row in run.surface.layers:
        column = run.scores.sieves.index(row.column)
        heads = run.scores.values[column, :, row.layer].astype(np.float64).mean(axis=1)
        null = run.scores.null[column]
        own = [~np.isnan(heads) & (units == unit) for unit in dict.fromkeys(units)]
        means = [heads[there].mean() for there in own if there.any()]
        assert row.count == len(means)
        if len(means) > 1:
            interval = stats.ttest_1samp(means, 0.0).confidence_interval(0.95)
            assert (row.mean, row.low, row.high) == pytest.approx((np.mean(means), *interval))
        assert row.even == pytest.approx(np.mean([null[there].mean() for there in own if there.any()]))


def test_a_layer_of_which_one_unit_is_known_has_no_interval(measure: Surfaced) -> None:
    run = measure(limit=1)
    assert run.surface is not None
    known = [row for row in run.surface.layers if row.count]
    assert {row.count for row in known} == {1}
    assert not np.isnan([row.mean for row in known]).any()
    assert np.isnan([(row.low, row.high) for row in known]).all()
