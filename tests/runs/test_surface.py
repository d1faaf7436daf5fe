"""A whole run of surface statistics: planted heads stand out, even ones do not, and nothing is ignored."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from headroles import Labelling, judge_again, load
from headroles.errors import BadInput, UnknownName
from headroles.options.surface import SurfaceOptions
from headroles.options.values import record_of
from headroles.reports.words.surface import ROWS
from headroles.runs.surface.run import surface
from headroles.sieves.surface import COLUMNS, ENTROPIES, KINDS
from tests.storage.manifests import hash_again
from tests.support.reference import rounding_bound

Headed = Callable[..., Path]
ModelOf = Callable[[str], Path]
Surfaced = Callable[..., Labelling]
ABOVE, BELOW, UNTESTABLE = 0, 1, 3
IMPORTANCES = tuple(f"{measure}:{kind}" for measure in ("gradient", "attention×gradient") for kind in KINDS)


@pytest.fixture
def measure(planted: Path, table: Path) -> Surfaced:
    """Surface statistics of the planted model on the table of pairs, unless told otherwise."""

    def made(**options: Any) -> Labelling:
        usual: dict[str, Any] = {"task": "QNLI", "data": table, "model": planted, "max_length": 48}
        return surface(**usual | options)

    return made


def _decision(labelling: Labelling, column: str) -> np.ndarray:
    found: np.ndarray = labelling.findings.decision[labelling.findings.of(column)]
    return found


def test_planted_heads_lie_above_even_attention_where_they_look(measure: Surfaced) -> None:
    labelling = measure(data=None, max_length=64)
    assert labelling.scores.sieves == COLUMNS
    mean = labelling.findings.mean
    for column, place in (("previous", (0, 0)), ("next", (1, 2)), ("separator", (0, 2))):
        name = f"surface:{column}"
        row = mean[labelling.findings.of(name)]
        assert np.unravel_index(row.argmax(), row.shape) == place
        assert _decision(labelling, name)[place] == ABOVE
    assert (_decision(labelling, "surface:separator")[0, 0], _decision(labelling, "surface:next")[0, 0]) == (
        BELOW, BELOW,
    )  # fmt: skip
    for name in ENTROPIES:
        assert (_decision(labelling, name) != ABOVE).all()
        assert _decision(labelling, name)[0, 0] == BELOW


def test_intervals_are_of_the_mean_score_and_tests_of_its_difference_from_even_attention(
    measure: Surfaced,
) -> None:
    labelling = measure(data=None, max_length=64, test="t")
    found, position = labelling.findings, labelling.findings.of("surface:entropy")
    values = labelling.scores.values[position, :, 1, 1].astype(float)
    null = labelling.scores.null[position]
    mean = stats.ttest_1samp(values, 0.0).confidence_interval(0.95)
    assert (found.low[position, 1, 1], found.high[position, 1, 1]) == pytest.approx((mean.low, mean.high))
    below = stats.ttest_1samp(values - null, 0.0, alternative="less")
    assert (found.statistic[position, 1, 1], found.p_not[position, 1, 1]) == pytest.approx(
        (below.statistic, below.pvalue)
    )


def test_even_heads_lie_neither_above_nor_below(measure: Surfaced, even: Path) -> None:
    labelling = measure(model=even)
    assert set(labelling.findings.decision.ravel().tolist()) == {2}
    np.testing.assert_allclose(
        labelling.findings.mean, labelling.findings.null, atol=rounding_bound(64, float(np.log(64)))
    )


def test_nulls_are_what_even_attention_gives_in_each_input(measure: Surfaced) -> None:
    scores = measure().scores
    place = scores.sieves.index
    tokens = scores.tokens.astype(float)
    np.testing.assert_allclose(scores.null[place("surface:separator")], 2 / tokens)
    np.testing.assert_allclose(scores.null[place("surface:previous")], (tokens - 1) / tokens**2)
    np.testing.assert_allclose(scores.null[place("surface:entropy-first")], np.log(tokens))
    np.testing.assert_array_equal(scores.cells[place("surface:separator→separator")], 2)


def test_results_do_not_depend_on_how_inputs_are_batched(measure: Surfaced) -> None:
    one, seven = measure(batch_size=1), measure(batch_size=7)
    close = rounding_bound(64, float(np.log(64)))
    np.testing.assert_allclose(one.scores.values, seven.scores.values, rtol=0, atol=close)
    assert one.surface == seven.surface


def test_published_smooths_entropies_and_nothing_else(measure: Surfaced) -> None:
    usual, released = measure(), measure(preset="published")
    for row, name in enumerate(COLUMNS):
        same = np.array_equal(usual.scores.values[row], released.scores.values[row])
        assert same == (name not in ENTROPIES)
    assert usual.decision == released.decision
    assert usual.manifest["notes"] == []
    assert "smooths every row" in released.manifest["notes"][0]
    assert released.manifest["surface"] == {"marks": ".,", "smoothing": 1e-4, "loss": ""}


def test_marks_say_what_punctuation_is(measure: Surfaced) -> None:
    usual, questions = measure(), measure(marks="?")
    row = COLUMNS.index("surface:punctuation")
    assert not np.array_equal(usual.scores.values[row], questions.scores.values[row])
    none = measure(marks="§")
    assert np.isnan(none.scores.values[row]).all()
    assert (_decision(none, "surface:punctuation") == UNTESTABLE).all()
    assert "surface:punctuation does not apply to these inputs: no input has what it counts." in none.skipped


def test_a_run_folder_is_read_back_and_judged_again(measure: Surfaced, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    made = measure(out=folder)
    back = load(folder)
    assert back.surface == made.surface
    np.testing.assert_array_equal(back.scores.values, made.scores.values)
    np.testing.assert_allclose(back.scores.null, made.scores.null)
    stricter = judge_again(folder, alpha=1e-6)
    assert stricter.decision.alpha == 1e-6
    assert stricter.surface == made.surface
    assert (stricter.findings.decision == ABOVE).sum() <= (made.findings.decision == ABOVE).sum()
    assert stricter.manifest["command"].startswith("headroles surface --task QNLI")
    with pytest.raises(BadInput, match="without a margin"):
        judge_again(folder, margin=0.1)


def test_a_causal_model_has_no_next_token_and_no_spread_of_the_first_row(
    measure: Surfaced, model_of: ModelOf
) -> None:
    labelling = measure(model=model_of("gpt2"), limit=20)
    silent = [name for name, row in zip(COLUMNS, labelling.scores.values, strict=True) if np.isnan(row).all()]
    assert silent == [
        "surface:separator", "surface:separator→separator", "surface:other→separator", "surface:next",
        *ROWS, "surface:entropy-first",
    ]  # fmt: skip
    said = " ".join(labelling.skipped)
    assert "surface:next does not apply to these inputs: queries see no later key" in said
    assert "below 50 units, no head is called below even attention, because" in said
    entropy = labelling.scores.null[COLUMNS.index("surface:entropy")]
    places = [np.log(np.arange(1, n + 1)).mean() for n in labelling.scores.tokens]
    np.testing.assert_allclose(entropy, places)


def test_layers_with_windows_of_their_own_are_told_of(measure: Surfaced, model_of: ModelOf) -> None:
    labelling = measure(model=model_of("modernbert"), limit=12)
    assert "see different keys" in labelling.manifest["notes"][0]
    assert measure(model=model_of("bert"), limit=12).manifest["notes"] == []


@pytest.mark.parametrize(("name", "head"), [("bert", "MaskedLM"), ("gpt2", "CausalLM")])
def test_gradients_stand_beside_the_statistics(
    measure: Surfaced, headed: Headed, tmp_path: Path, name: str, head: str
) -> None:
    done: list[tuple[int, int]] = []
    options = {"model": headed(name, head), "limit": 12, "out": tmp_path / "run"}
    both = measure(gradients=True, progress=lambda *far: done.append(far), **options)
    assert both.scores.sieves == (*COLUMNS, *IMPORTANCES)
    assert done[-1] == (24, 24)
    assert both.manifest["surface"]["loss"].startswith("The loss of an input is ")
    assert both.manifest["notes"] == []
    other = both.scores.values[both.scores.sieves.index("gradient:other")]
    assert (other > 0).all()
    assert (both.findings.decision[len(COLUMNS) :] == -1).all()
    assert both.surface is not None
    assert {each.measure for each in both.surface.noop} == {"gradient", "attention×gradient"}
    assert load(tmp_path / "run").surface is not None
    plain = measure(**options | {"out": None})
    np.testing.assert_allclose(
        plain.scores.values,
        both.scores.values[: len(COLUMNS)],
        rtol=0,
        atol=rounding_bound(64, float(np.log(64))),
    )


def test_labels_of_a_file_decide_the_loss_of_a_classifier(headed: Headed, tmp_path: Path) -> None:
    rows = [{"text": f"it was signed {word}", "class": k % 2} for k, word in enumerate("abcdefgh")]
    other = [{"text": f"it was signed {word}", "class": 1 - k % 2} for k, word in enumerate("abcdefgh")]
    said, turned = tmp_path / "said.jsonl", tmp_path / "turned.jsonl"
    said.write_text("\n".join(json.dumps(row) for row in rows))
    turned.write_text("\n".join(json.dumps(row) for row in other))
    options: dict[str, Any] = {
        "text_a": "text",
        "model": headed("bert", "SequenceClassification"),
        "gradients": True,
    }
    first, second, none = (
        surface(data=file, label=label, **options)
        for file, label in ((said, "class"), (turned, "class"), (said, None))
    )
    row = first.scores.sieves.index("gradient:other")
    assert not np.allclose(first.scores.values[row], second.scores.values[row])
    assert "its label" in first.manifest["surface"]["loss"]
    assert "itself predicts" in none.manifest["surface"]["loss"]
    said.write_text("\n".join(json.dumps(row | {"class": None}) for row in rows))
    with pytest.raises(BadInput, match="every input has a label"):
        surface(data=said, label="class", **options)


def test_an_encoder_without_a_loss_is_refused(measure: Surfaced) -> None:
    with pytest.raises(BadInput, match="gradients need a model saved with a head"):
        measure(gradients=True)


def test_options_of_losses_are_refused_where_the_loss_has_no_use_of_them(
    measure: Surfaced, headed: Headed
) -> None:
    with pytest.raises(BadInput, match="--mask is for losses of masked words"):
        measure(gradients=True, mask=0.3, model=headed("gpt2", "CausalLM"))
    with pytest.raises(BadInput, match="labels are for models of classes"):
        measure(gradients=True, label="document", model=headed("bert", "MaskedLM"))


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"margin": 0.1}, "without a margin"),
        ({"mask": 0.2}, "--mask changes a loss, which needs --gradients"),
        ({"label": "class"}, "--label changes a loss, which needs --gradients"),
        ({"label": "class", "gradients": True}, "--label names a column of --data"),
        ({"mask": 1.0, "gradients": True}, "mask must lie between 0 and 1"),
        ({"marks": ""}, "one or more marks"),
        ({"gradients": 2}, "gradients must be True or False"),
    ],
)
def test_options_that_cannot_be_meant_are_refused(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(BadInput, match=sentence):
        record_of(SurfaceOptions, task="QNLI", **options)


def test_an_option_of_another_run_is_unknown() -> None:
    with pytest.raises(UnknownName, match="sieve"):
        record_of(SurfaceOptions, task="QNLI", sieve="local")


def test_a_run_with_gradients_promises_its_tables_and_is_refused_without_them(
    measure: Surfaced, headed: Headed, tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    made = measure(gradients=True, model=headed("gpt2", "CausalLM"), limit=12, out=folder)
    facts = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    assert facts["parts"] == {"surface": ["layers.csv", "noop.csv"]}
    assert repr(load(folder).surface) == repr(made.surface)
    for name in ("noop.csv", "layers.csv"):
        content = (folder / name).read_bytes()
        (folder / name).write_bytes(content.rpartition(b"\n")[0].rpartition(b"\n")[0] + b"\n")
        hash_again(folder)
        with pytest.raises(BadInput, match=rf"damaged or from another version .*the rows of {name}"):
            load(folder)
        (folder / name).unlink()
        with pytest.raises(BadInput, match=f"{name} is missing, which manifest"):
            judge_again(folder)
        (folder / name).write_bytes(content)
        hash_again(folder)
    assert repr(judge_again(folder).surface) == repr(made.surface)
