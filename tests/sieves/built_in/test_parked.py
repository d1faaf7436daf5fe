"""The role parked: planted heads that park, take values, or ignore separators; error rates and power."""

import csv
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoModel, AutoTokenizer

import headroles
from headroles import Example
from headroles.arrays import score, selection_of
from headroles.errors import BadInput, BadSieve
from headroles.extraction.capture.attention import run
from headroles.extraction.model.checkpoint import find_checkpoint
from headroles.extraction.model.load import ALL_NORMS, SOME_NORMS, Model, load
from headroles.extraction.scoring.job import SieveJob
from headroles.extraction.stream import stream
from headroles.extraction.texts.tokens import example_of, tokenise
from headroles.records.example import Scores
from headroles.records.findings import DECISIONS, Labelling
from headroles.records.passage import Passage
from headroles.records.rules.rule import Decision, Rule
from headroles.sieves.base import MaskSieve
from headroles.sieves.built_in.block import block
from headroles.sieves.built_in.parked import asking, parked
from headroles.sieves.weights.reference import apply
from headroles.stats.assessment.drops import value_drops
from headroles.stats.columns import Columns
from headroles.stats.engine import judge
from tests.support.architectures import RETURNED, TABLE
from tests.support.planted import real_report
from tests.support.read_models import Kept, cut_into_blocks
from tests.support.reference import rounding_bound

Label = Callable[..., Labelling]
ModelOf = Callable[[str], Path]
PAIR = Example(
    "pair",
    ("[CLS]", "it", "rains", ",", "[SEP]", "no", ".", "[SEP]"),
    segment=np.array([-1, 0, 0, 0, -1, 1, 1, -1]),
)
TEXTS = (
    "The committee did not decide, and nobody in Paris objected to it at all.",
    "Look, it was signed.",
    "She can't believe that it was signed after the debate. What a day.",
)


def test_keys_are_the_first_token_separators_and_marks_and_all_others_ask() -> None:
    keys = np.array([True, False, False, True, True, False, True, True])
    np.testing.assert_array_equal(parked.mask(PAIR), keys)
    assert asking(PAIR).tolist() == [-1, 1, 2, -1, -1, 5, -1, -1]
    plain = Example("plain", tuple("ab.c"))
    np.testing.assert_array_equal(parked.mask(plain), [True, False, True, False])


def test_the_score_is_the_share_beyond_chance_over_the_tokens_that_ask() -> None:
    rng = np.random.default_rng(0)
    attention = rng.dirichlet(np.ones(8), size=(1, 3, 8))
    keys = [0, 3, 4, 6, 7]
    found = score(attention, PAIR, ["parked"])
    assert list(found) == ["parked"]  # one array has no values, so there is no second column
    share = attention[0][:, [1, 2, 5]][..., keys].sum(-1).mean(-1)
    np.testing.assert_allclose(found["parked"][0], (share - 5 / 8) / (3 / 8), rtol=0, atol=1e-12)


def _model(folder: Path, norms: str, max_length: int = 128) -> Model:
    checkpoint = find_checkpoint(str(folder), None)
    return load(checkpoint, device="cpu", dtype="float32", max_length=max_length, norms=norms)


@pytest.mark.parametrize("name", ["bert", "gpt2", "llama", "t5"])
@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize("blocks", [False, True])
def test_both_columns_are_the_reference_on_attention_and_on_norm_weighted_attention(
    name: str, batch: int, blocks: bool, model_of: ModelOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, longest = model_of(name), 512 if blocks else 128
    passages = [Passage(str(number), (text,)) for number, text in enumerate(TEXTS)]
    both, every, plain = (_model(folder, norms, longest) for norms in (SOME_NORMS, ALL_NORMS, "none"))
    if blocks:
        cut_into_blocks(monkeypatch, 8, 4 * 4 * 20 * 3)
        monkeypatch.setattr("headroles.extraction.scoring.prepared.reads_as_batch", lambda *_: False)
    selection = selection_of(["parked", "delimiter"])
    job = SieveJob(both, selection, None)
    (shard,) = stream(both, passages, job, batch_size=batch, max_length=longest, advance=lambda count: None)
    only = replace(parked, values_below=None)
    for place, given in enumerate(tokenise(both.tokenizer, passages, longest)):
        example = example_of(given, None, arcs=False)
        visible = np.tri(example.size, dtype=np.bool_) if both.way.causal else None
        plan = selection_of([only]).plan(example, visible, np.float64)
        wanted = []
        for model in (plain, every):
            kept = Kept()
            inputs = {key: torch.tensor([ids]) for key, ids in given.inputs.items()}
            run(model.network, model.way, inputs, [given.size], kept)
            layers = [kept.whole(layer, 0).double().numpy() for layer in range(model.layers)]
            wanted.append(np.stack([apply(plan, layer)[0] for layer in layers]))
        close = rounding_bound(4 * example.size)
        np.testing.assert_allclose(shard.values[0, place], wanted[0], rtol=0, atol=close)
        np.testing.assert_allclose(shard.values[1, place], -wanted[1], rtol=0, atol=close)
        assert shard.cells[1, place] == shard.cells[0, place]
    assert shard.low[1] == -shard.high[0]
    assert shard.high[1] == -shard.low[0]


@pytest.fixture(scope="module")
def parking(planted: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The planted BERT with values: of layer 0, head 1 attends as head 2 does, to special tokens.

    Values of head 2 are small at special tokens, those of head 1 are large. All other values are alike.
    """
    folder = tmp_path_factory.mktemp("models") / "parking"
    network = AutoModel.from_pretrained(planted)
    weights = dict(network.named_parameters())
    with torch.no_grad():
        for layer in range(2):
            weights[f"encoder.layer.{layer}.attention.self.value.bias"][::8] = 1.0
            weights[f"encoder.layer.{layer}.attention.output.dense.weight"].copy_(torch.eye(24))
        for which in ("query", "key"):
            for part in ("weight", "bias"):
                rows = weights[f"encoder.layer.0.attention.self.{which}.{part}"]
                rows[8:16] = rows[16:24]
        # dimension 16 of the hidden state is the flag of special tokens, after the norm of embeddings
        hidden = network.embeddings(torch.tensor([[2, 30, 31, 32, 3]]))[0, :, 16]
        flag = float(hidden[[0, 4]].mean() - hidden[1:4].mean())
        value = weights["encoder.layer.0.attention.self.value.weight"]
        value[16, 16], value[8, 16] = -1 / flag, 3 / flag
    network.save_pretrained(folder)
    AutoTokenizer.from_pretrained(planted).save_pretrained(folder)
    return folder


def test_a_head_is_parked_where_values_of_separators_are_small_and_takes_values_where_they_are_large(
    label: Label, parking: Path, tmp_path: Path
) -> None:
    with real_report():
        found = label(model=parking, sieve=["parked", "delimiter"], maps=2, out=tmp_path / "run")
    findings = found.findings
    decided = findings.decision[findings.of("parked")]
    words = [[DECISIONS[code] for code in row] for row in decided.tolist()]
    assert words == [["not", "explained", "role"], ["not"] * 3]
    assert (findings.decision[findings.of("delimiter")][0] == 0).tolist() == [False, True, True]
    verdicts = found.evidence().set_index(["sieve", "layer", "head"])["verdict"]
    assert verdicts["parked", 0, 1] == "takes values there"
    assert verdicts["parked", 0, 2] == "role"
    drops = found.assessment.drops if found.assessment else ()
    assert [(row.layer, row.head) for row in drops] == [(k // 3, k % 3) for k in range(6)]
    parks, takes = drops[2], drops[1]
    assert parks.norm < 0 < parks.low < parks.drop < parks.high
    assert takes.drop < 0 < takes.attention < takes.norm
    again = headroles.load(tmp_path / "run")
    assert again.assessment is not None
    assert repr(again.assessment.drops) == repr(drops)  # NaN where a head has no spread
    rows = list(csv.DictReader((tmp_path / "run" / "values.csv").read_text().splitlines()))
    assert [float(row["drop"]) for row in rows] == [row.drop for row in drops]
    page = (tmp_path / "run" / "report.html").read_text()
    assert "takes values there" in page
    assert "Scores by attention and by norm" in page


def test_even_values_change_nothing(label: Label, parking: Path) -> None:
    found = label(model=parking, sieve="parked")
    second, first = (
        found.scores.values[found.scores.sieves.index(name), :, 1] for name in ("parked:values", "parked")
    )
    np.testing.assert_allclose(second, -first, rtol=0, atol=1e-5)


def test_many_examples_kept_as_sums_give_the_same_roles(label: Label, parking: Path) -> None:
    kept = label(model=parking, sieve="parked", keep=30, stream=True, maps=0)
    assert kept.moments is not None
    assert kept.assessment is not None
    decided = kept.findings.decision[0]
    assert decided[0].tolist() != [0, 0, 0]
    whole = label(model=parking, sieve="parked")
    assert whole.assessment is not None
    for one, other in zip(kept.assessment.drops, whole.assessment.drops, strict=True):
        assert abs(one.drop - other.drop) < 0.02


def test_two_workers_give_the_scores_of_one(label: Label, parking: Path, tmp_path: Path) -> None:
    settings: dict[str, Any] = {"model": parking, "sieve": ["parked"], "shard_size": 20, "maps": 0}
    one = label(**settings)
    two = label(**settings, workers=2, out=tmp_path / "run")
    np.testing.assert_array_equal(one.scores.values, two.scores.values)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"weights": "norm"}, "--weights is 'norm'; leave --weights out"),
        ({"statistic": "bias"}, "--statistic is 'bias'; leave --statistic out"),
    ],
)
def test_a_run_with_one_kind_of_weights_alone_is_refused(
    wrong: dict[str, Any], words: str, label: Label
) -> None:
    with pytest.raises(BadInput, match=words):
        label(sieve="parked", **wrong)


def test_stored_maps_are_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "maps.npz", example=np.full((1, 1, 2, 2), 0.5, dtype=np.float32))
    refused: tuple[tuple[dict[str, Any], str], ...] = (
        ({"sieve": "parked"}, "stored maps hold weights only; give --model, or leave the sieve out"),
        ({"weights": "norm"}, "stored maps hold weights only; give --model, or leave --weights out"),
    )
    for more, words in refused:
        with pytest.raises(BadInput, match=words):
            headroles.label(attention=tmp_path / "maps.npz", **more)


@pytest.mark.parametrize("name", [name for name, told in TABLE.items() if told.path == RETURNED][:2])
def test_models_outside_the_interface_are_refused(name: str, model_of: ModelOf, label: Label) -> None:
    with pytest.raises(BadInput, match="without the sieve parked"):
        label(model=model_of(name), sieve="parked")


def test_a_second_contrast_is_refused_at_the_sieve() -> None:
    assert isinstance(block, MaskSieve)
    with pytest.raises(BadSieve, match="'block' has values_below and another"):
        replace(block, values_below=0.1)


RULES = [Rule("parked", contrast="parked:values"), Rule("parked:values", margin=-0.1, role=False)]


def _judged(weight: np.ndarray, norm: np.ndarray) -> np.ndarray:
    """Decisions of runs of one head each; columns are runs."""
    units = len(weight)
    values = np.stack([weight, -norm])[:, :, None].astype(np.float32)
    names = tuple(map(str, range(units)))
    scores = Scores(
        ("parked", "parked:values"), names, names, np.ones(units, dtype=int), np.ones((2, units)), values,
        np.zeros((2, units)),
    )  # fmt: skip
    rules = [replace(rule, low=-1.0, high=1.0) for rule in RULES]
    decided: np.ndarray = judge(scores, rules, Decision(correction="none"), None).decision[0, 0]
    return decided


def _drawn(rng: np.random.Generator, mean: float, shape: tuple[int, int], spread: float) -> np.ndarray:
    """Right-skewed scores with this mean: selectivities of sinks have long tails."""
    return mean + spread * (rng.gamma(4.0, 0.5, size=shape) - 2.0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("weight", "norm"), [(0.1, -0.2), (0.1, 0.1), (0.6, 0.1)], ids=["weight", "both", "norm"]
)
@pytest.mark.parametrize("correlated", [False, True])
def test_heads_at_a_boundary_are_called_parked_in_at_most_alpha_of_runs(
    weight: float, norm: float, correlated: bool
) -> None:
    rng = np.random.default_rng(5)
    runs, units = 4000, 100
    first = _drawn(rng, weight, (units, runs), 0.1)
    second = norm + (first - weight) if correlated else _drawn(rng, norm, (units, runs), 0.1)
    wrong = float((_judged(first, second) == 0).mean())
    assert wrong <= 0.05 + 3 * (0.05 * 0.95 / runs) ** 0.5


@pytest.mark.slow
def test_clear_heads_are_found_in_nearly_all_runs() -> None:
    rng = np.random.default_rng(6)
    runs, units = 500, 100
    for norm, code in ((0.0, 0), (0.3, 4)):
        drawn = (_drawn(rng, mean, (units, runs), 0.1) for mean in (0.4, norm))
        assert float((_judged(*drawn) == code).mean()) > 0.95


@pytest.mark.slow
def test_intervals_of_the_drop_cover_it() -> None:
    rng = np.random.default_rng(7)
    runs, units = 2000, 100
    shared = rng.normal(0, 0.1, size=(units, runs))
    weight, norm = 0.4 + shared, 0.1 + shared + 0.05 * rng.standard_normal((units, runs))
    names = tuple(map(str, range(units)))
    scores = Scores(
        ("parked", "parked:values"), names, names, np.ones(units, dtype=int), np.ones((2, units)),
        np.stack([weight, -norm])[:, :, None].astype(np.float32), np.zeros((2, units)),
    )  # fmt: skip
    rows = value_drops(Columns(scores, RULES), Decision(), runs)
    covered = np.mean([row.low <= 0.3 <= row.high for row in rows])
    assert 0.935 <= covered <= 0.965


def _count(sequence: Sequence[int], code: int) -> int:
    return sum(one == code for one in sequence)


def test_the_answer_counts_parked_heads_as_the_table_does(label: Label, parking: Path) -> None:
    from headroles.reports.answer.label import answer_of
    from headroles.reports.summary.summary import summarise

    found = label(model=parking, sieve=["parked", "delimiter", "local"])
    findings = found.findings
    held = findings.decision[findings.of("delimiter")].ravel() == 0
    codes = findings.decision[findings.of("parked")].ravel()[held].tolist()
    sentence = answer_of(summarise(found)).sentences[0].text
    total = int(held.sum())
    assert total == 2
    assert f"{total} of 6 heads attend to special tokens." in sentence
    assert (
        f"{_count(codes, 0)} of the {total} is parked: it takes hardly more there than elsewhere." in sentence
    )
    assert f"{_count(codes, 4)} of the {total} takes values there." in sentence
