"""From documents to trained probes: rows, intervals, contests, weights, and what is left out."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy import stats
from transformers import AutoModel

from headroles.errors import BadInput, UnknownName
from headroles.extraction.model.checkpoint import find_checkpoint
from headroles.extraction.model.load import Model, load
from headroles.records.documents import Document
from headroles.runs.probe.trained.accuracy import ProbeAnswers, accuracy_rows, contests, right_heads
from headroles.runs.probe.trained.course import Course, ReadSettings
from headroles.runs.probe.trained.models import branching, randomise_weights
from headroles.runs.probe.trained.run import Training, train_probes
from headroles.runs.probe.trained.sentences import Sentence
from headroles.runs.probe.trained.training import Settings

ModelOf = Callable[[str], Path]
Jackknife = Callable[[Any, Any], tuple[float, float, int]]
VOCABULARY = ("who", "did", "it", "house", "small", "red", "rain", "unbelievable", "on", "in")
QUICK = Settings(rate=0.1, batch_size=8, epochs=40, patience=4)


def _document(name: str, seed: int, sentences: int = 4, chain: int = -1) -> Document:
    """Sentences whose words hang on a neighbour, but for the end of the chain, and end in punctuation."""
    rng = np.random.default_rng(seed)
    words: list[str] = []
    heads: list[int] = []
    relations: list[str] = []
    starts = []
    for _ in range(sentences):
        start, length = len(words), int(rng.integers(3, 8))
        starts.append(start)
        words += [*rng.choice(VOCABULARY, size=length).tolist(), "."]
        own = [start + k + chain if 0 <= k + chain < length else -1 for k in range(length)]
        heads += [*own, start]
        relations += [*("root" if head < 0 else "dep" for head in own), "PUNCT"]
    text, spans = " ".join(words), []
    place = 0
    for word in words:
        spans.append((place, place + len(word)))
        place += len(word) + 1
    return Document(
        key=name, text=text, spans=np.array(spans), words=tuple(words), sentences=np.array(starts),
        heads=np.array(heads), relations=tuple(relations),
    )  # fmt: skip


TRAIN = [_document(f"train/{k}", k, sentences=8) for k in range(20)]
TEST = [_document(f"test/{k}", 100 + k) for k in range(8)]


@pytest.fixture(scope="module")
def model(planted: Path) -> Model:
    """Head 0-0 attends to the word before, 1-2 to the word after."""
    return load(find_checkpoint(str(planted), None), device="cpu", dtype="float32", max_length=64)


@pytest.fixture(scope="module")
def vectors(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = np.random.default_rng(0)
    file = tmp_path_factory.mktemp("vectors") / "vectors.txt"
    rows = [" ".join([word, *map(str, rng.normal(size=4).round(3))]) for word in VOCABULARY[:-1]]
    file.write_text("\n".join(rows) + "\n")
    return file


@pytest.fixture(scope="module")
def trained(model: Model, vectors: Path) -> tuple[Training, list[tuple[str, int, int]]]:
    told: list[tuple[str, int, int]] = []
    found = train_probes(
        TRAIN, TEST, ["attention+words", "attention", "distances+words"],
        read=ReadSettings(model, 8, 64), vectors=vectors, settings=QUICK,
        progress=lambda *each: told.append(each),
    )  # fmt: skip
    return found, told


def test_probes_learn_the_planted_head_and_the_control_does_not(trained: Any) -> None:
    rows = {(row.classifier, row.weights): row for row in trained[0].trained}
    assert list(rows) == [
        ("right-branching", ""), ("left-branching", ""), ("distances+words", ""), ("attention", "trained"),
        ("attention+words", "trained"), ("attention", "random"), ("attention+words", "random"),
    ]  # fmt: skip
    uas = {name: row.uas for name, row in rows.items()}
    assert uas["left-branching", ""] == 1.0
    assert uas["right-branching", ""] == 0.0
    for name in ("attention", "attention+words"):
        assert uas[name, "trained"] > 0.95
        assert uas[name, "random"] < 0.6
        assert rows[name, "trained"].low <= uas[name, "trained"] <= rows[name, "trained"].high
    assert uas["distances+words", ""] > 0.95
    judged = sum(relation != "PUNCT" for each in TEST for relation in each.relations or ())
    assert {row.words for row in rows.values()} == {judged}
    assert {row.units for row in rows.values()} == {len(TEST)}
    assert {row.trained_on for row in rows.values()} == {0, 8 * 18}
    assert [row.epochs > 0 for row in rows.values()] == [False] * 2 + [True] * 5


def test_the_weights_name_the_planted_head_and_its_direction(trained: Any, model: Model) -> None:
    weights = trained[0].weights
    assert len(weights) == model.layers * model.heads * 2
    assert {(each.layer, each.head, each.direction) for each in weights} == {
        (layer, head, way) for layer in range(2) for head in range(3) for way in "→←"
    }
    by = {(each.layer, each.head, each.direction): each.weight for each in weights}
    assert by[0, 0, "→"] > 0 > by[0, 0, "←"]  # the word before is the head
    assert by[1, 2, "←"] > 0 > by[1, 2, "→"]  # the word after is the dependent


def test_every_pair_is_compared_and_the_sure_winner_is_sure(trained: Any) -> None:
    pairs = {(each.first, each.second): each for each in trained[0].contests}
    assert len(pairs) == 7 * 6 // 2
    better = pairs["attention (random weights)", "attention"]
    assert better.difference < -0.3
    assert better.high < 0
    assert better.p <= better.q < 0.01


def test_progress_tells_what_is_done(trained: Any) -> None:
    told = trained[1]
    stages = list(dict.fromkeys(stage for stage, _, _ in told))
    assert stages == [
        "reading attention", "training distances+words", "training attention", "training attention+words",
        "reading attention of random weights", "training attention (random weights)",
        "training attention+words (random weights)",
    ]  # fmt: skip
    sentences = sum(len(each.sentences) for each in (*TRAIN, *TEST))
    assert ("reading attention", sentences, sentences) in told


def test_equal_seeds_give_equal_results(model: Model) -> None:
    settings = replace(QUICK, epochs=2)
    first, again = (
        train_probes(
            TRAIN, TEST, ["attention"], read=ReadSettings(model, 8, 64), vectors=None, settings=settings
        )
        for _ in range(2)
    )
    assert repr(first) == repr(again)  # NaN equals itself there
    assert [row.weights for row in first.trained] == ["", "", "trained", "random"]


def test_what_was_cut_short_or_left_out_is_said(model: Model) -> None:
    settings = replace(QUICK, epochs=3, control=False, minutes=1e-9)
    longest = _document("long", 5, sentences=1)
    found = train_probes(
        [*TRAIN, TEST[0]], [*TEST, longest], ["attention"],
        read=ReadSettings(model, 8, 8), vectors=None, settings=settings,
    )  # fmt: skip
    shared, lost, stopped = found.notes
    assert shared.startswith("4 of 26 test sentences of at least 5 words are also among the training")
    assert re.match(r"\d+ of 164 training and \d+ of 33 test sentences are longer", lost)
    assert stopped.startswith("attention was stopped after 1 passes, at the end of its time")
    assert found.trained[0].words < sum(each.relations.count("dep") for each in TEST if each.relations)
    assert len(found.trained) == 3


def test_time_is_shared_out_among_the_probes_that_are_left() -> None:
    settings = replace(QUICK, minutes=10.0)
    course = Course(_sentences(0), 20, settings, lambda stage, done, total: None, [], fits=2, reserved=120.0)
    assert course.deadline() - course.started == pytest.approx((600 - 120) / 2, abs=5)
    late = replace(course, started=course.started - 3600)
    assert late.deadline() - course.started == pytest.approx(0, abs=5)
    assert replace(course, settings=QUICK).deadline() == float("inf")


def test_distances_and_words_need_no_model(vectors: Path) -> None:
    found = train_probes(
        TRAIN, TEST, ["distances+words"], read=None, vectors=vectors, settings=replace(QUICK, epochs=2)
    )
    assert [row.classifier for row in found.trained] == [
        "right-branching",
        "left-branching",
        "distances+words",
    ]
    assert found.weights == ()


def test_what_is_missing_is_said(model: Model, vectors: Path) -> None:
    read = ReadSettings(model, 8, 64)
    bare = replace(TEST[0], heads=None)

    def refused(said: str, classifiers: list[str], **given: Any) -> None:
        usual: dict[str, Any] = {"read": read, "vectors": vectors, "settings": QUICK}
        learned, tested = given.pop("learned", TRAIN), given.pop("tested", TEST)
        with pytest.raises((BadInput, UnknownName), match=said):
            train_probes(learned, tested, classifiers, **usual | given)

    refused("no classifier is called 'words'", ["words"])
    refused("at least one of attention, ", [])
    refused("needs a model, but got none", ["attention"], read=None)
    refused("needs word vectors", ["attention+words"], vectors=None)
    refused("need test documents with dependency trees, but 1 of 1", ["attention"], tested=[bare])
    refused("need training documents with dependency trees, but 0 of 0", ["attention"], learned=[])
    refused("but all 32 are too long", ["attention"], read=ReadSettings(model, 8, 4))
    refused("needs at least 2, but got 1", ["attention"], learned=TRAIN[:1])


def _sentences(seed: int, documents: int = 9) -> list[Sentence]:
    rng = np.random.default_rng(seed)
    made = []
    for number in range(documents * 5):
        words = int(rng.integers(2, 12))
        judged = rng.random(words) < 0.8
        heads = rng.integers(-1, words, size=words)
        made.append(Sentence(("a",) * words, heads, judged, f"document {number % documents}", number))
    return made


def test_punctuation_is_not_judged() -> None:
    sentence = Sentence(("a", "b", "."), np.array([1, -1, 1]), np.array([True, True, False]), "d", 0)
    right = np.array([1, -1, 1])
    assert right_heads([right], [sentence]).tolist() == [2]
    assert right_heads([np.array([1, -1, 0])], [sentence]).tolist() == [2]
    assert right_heads([np.array([2, -1, 1])], [sentence]).tolist() == [1]
    (row,) = accuracy_rows([ProbeAnswers("attention", "trained", np.array([1]), 5, 2)], [sentence], 0)
    assert (row.uas, row.words, row.units) == (0.5, 2, 1)
    assert np.isnan([row.low, row.high]).all()


def test_paired_tests_are_those_of_the_jackknife_over_documents(jackknifed: Jackknife) -> None:
    sentences = _sentences(1)
    rng = np.random.default_rng(2)
    hits = [[(rng.random(len(s.words)) < share) & s.judged for s in sentences] for share in (0.3, 0.45, 0.5)]
    answered = [
        ProbeAnswers(f"p{k}", "trained", np.array([int(each.sum()) for each in own]), 1, 1)
        for k, own in enumerate(hits)
    ]
    found = {(each.first, each.second): each for each in contests(answered, sentences)}
    assert len(found) == 3
    judged = np.concatenate([each.judged for each in sentences])
    units = np.concatenate([[int(each.unit.split()[1])] * len(each.words) for each in sentences])[judged]
    words = [np.concatenate(own)[judged].astype(float) for own in hits]
    for later, earlier in ((1, 0), (2, 0), (2, 1)):
        difference = words[later] - words[earlier]
        mean, error, count = jackknifed(difference, units)
        t, reach = mean / error, stats.t.isf(0.025, count - 1) * error
        got = found[f"p{later}", f"p{earlier}"]
        values = [got.difference, got.low, got.high, got.statistic, got.p]
        wanted = [mean, mean - reach, mean + reach, t, 2 * stats.t.sf(abs(t), count - 1)]
        np.testing.assert_allclose(values, wanted, rtol=1e-9)


def test_equal_probes_differ_by_nothing_and_few_documents_say_nothing() -> None:
    sentences = _sentences(3)
    right = np.array([int(each.judged.sum()) // 2 for each in sentences])
    both = [ProbeAnswers("attention", weights, right, 1, 1) for weights in ("trained", "random")]
    (contest,) = contests(both, sentences)
    assert (contest.second, contest.first) == ("attention", "attention (random weights)")
    assert (contest.difference, contest.low, contest.high, contest.p, contest.q) == (0, 0, 0, 1, 1)
    assert np.isnan(contest.statistic)
    other = replace(both[1], right=right // 2)
    (alone,) = contests([both[0], other], [replace(each, unit="one") for each in sentences])
    assert alone.difference < 0
    assert np.isnan([alone.low, alone.p, alone.q]).all()


def test_the_bootstrap_interval_resamples_documents() -> None:
    sentences = _sentences(4, documents=40)
    words = np.array([int(each.judged.sum()) for each in sentences])
    good = np.array([int(each.unit.split()[1]) % 2 for each in sentences])  # whole documents right or wrong
    (row,) = accuracy_rows([ProbeAnswers("attention", "trained", words * good, 1, 1)], sentences, 0)
    assert row.uas == pytest.approx((words * good).sum() / words.sum())
    assert (row.high - row.low) / 2 == pytest.approx(1.96 * 0.5 / 40**0.5, rel=0.15)


@pytest.mark.parametrize("name", ["bert", "roberta", "gpt2", "llama", "t5", "bart", "albert"])
def test_random_weights_keep_embeddings_and_nothing_else(name: str, model_of: ModelOf) -> None:
    model = load(find_checkpoint(str(model_of(name)), None), device="cpu", dtype="float32", max_length=64)
    with torch.random.fork_rng():
        before = torch.random.get_rng_state()
        first, again, other = (randomise_weights(model, seed) for seed in (1, 1, 2))
        assert torch.equal(before, torch.random.get_rng_state())
    embeddings = {
        path for path, module in model.network.named_modules() if isinstance(module, torch.nn.Embedding)
    }
    weights = model.network.state_dict()
    assert embeddings
    for path, weight in first.network.state_dict().items():
        kept = path.rpartition(".")[0] in embeddings or path.startswith("embeddings.")
        assert torch.equal(weight, again.network.state_dict()[path])
        assert torch.equal(weight, weights[path]) == (kept or weight.unique().numel() == 1), path
        if not kept and weight.dim() > 1:
            assert not torch.equal(weight, other.network.state_dict()[path])
    assert first.described["weights"] == "random but for the embeddings"
    plain = AutoModel.from_pretrained(model_of(name)).state_dict()
    for path, weight in weights.items():  # the model itself is left as it was
        assert path not in plain or torch.equal(weight, plain[path])


def test_neighbours_at_the_end_of_a_chain_are_the_root() -> None:
    assert branching("right-branching", 1).tolist() == [-1]
    assert branching("left-branching", 1).tolist() == [-1]
