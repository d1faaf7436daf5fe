"""Training finds what is planted, finds nothing in noise, repeats itself, and keeps the best pass."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from headroles.errors import BadInput
from headroles.extraction.jobs.word_attention import SPECIAL_UNITS, WordMaps
from headroles.extraction.parsing.vectors import Vectors
from headroles.runs.probe.trained.models import AttentionProbe, probe_of
from headroles.runs.probe.trained.sentences import Sentence, Source
from headroles.runs.probe.trained.training import Fit, Settings, held_out_loss, predict, split, train

MAPS, PLANTED = 6, 4
QUICK = Settings(rate=0.05, batch_size=8, epochs=30, patience=5)


def _made(turned: bool, count: int = 120, seed: int = 0) -> tuple[list[Sentence], WordMaps]:
    """Sentences in which one map attends to heads (or to dependents), ROOT being both special tokens."""
    rng = np.random.default_rng(seed)
    sentences, blocks = [], []
    for number in range(count):
        words = int(rng.integers(3, 9))
        attention = rng.dirichlet(np.ones(words + SPECIAL_UNITS), size=(MAPS, words + SPECIAL_UNITS))
        heads = np.array([int(rng.choice([k for k in range(words) if k != j])) for j in range(words)])
        heads[rng.integers(words)] = -1
        planted = np.full((words + SPECIAL_UNITS, words + SPECIAL_UNITS), 0.02)
        for dependent, head in enumerate(heads.tolist()):
            cells = [SPECIAL_UNITS + head] if head >= 0 else [0, 1]
            planted[SPECIAL_UNITS + dependent, cells] += 0.8 / len(cells)
        attention[PLANTED] = planted.T if turned else planted
        blocks.append(attention.transpose(1, 2, 0).astype(np.float16).ravel())
        judged = np.ones(words, dtype=np.bool_)
        sentences.append(Sentence(("a",) * words, heads, judged, f"document {number // 4}", number))
    starts = np.cumsum([0, *(len(block) for block in blocks)])[:-1]
    units = np.array([len(each.words) + SPECIAL_UNITS for each in sentences])
    kept = np.ones(count, dtype=np.bool_)
    return sentences, WordMaps(units, kept, True, MAPS, np.concatenate(blocks), starts)


def _accuracy(fit: Fit, source: Source, sentences: list[Sentence]) -> float:
    chosen = predict(fit.probe, source, sentences)
    right = [(heads == sentence.heads).mean() for heads, sentence in zip(chosen, sentences, strict=True)]
    return float(np.mean(right))


@pytest.mark.parametrize("turned", [False, True])
def test_a_planted_map_is_learned_with_its_direction(turned: bool) -> None:
    sentences, maps = _made(turned)
    source = Source(None, maps)
    fit = train(probe_of("attention", None, maps, 0), source, sentences[:80], QUICK)
    assert _accuracy(fit, source, sentences[80:]) > 0.99
    assert isinstance(fit.probe, AttentionProbe)
    largest = int(fit.probe.weight.argmax())
    assert (largest // 2, largest % 2) == (PLANTED, int(turned))


def test_a_planted_map_is_learned_with_words_too() -> None:
    sentences, maps = _made(False)
    vectors = Vectors({"a": 0}, np.array([[1.0, -1.0]], dtype=np.float32))
    source = Source(vectors, maps)
    fit = train(probe_of("attention+words", vectors, maps, 0), source, sentences[:80], QUICK)
    assert _accuracy(fit, source, sentences[80:]) > 0.99


def _permuted(sentences: list[Sentence]) -> list[Sentence]:
    """The same sentences with heads drawn at random from the candidates."""
    rng = np.random.default_rng(1)
    made = []
    for each in sentences:
        words = range(len(each.words))
        drawn = [rng.choice([-1, *(k for k in words if k != j)]) for j in words]
        made.append(replace(each, heads=np.array(drawn)))
    return made


def test_permuted_heads_leave_nothing_to_learn() -> None:
    sentences, maps = _made(False, count=240)
    shuffled = _permuted(sentences)
    source = Source(None, maps)
    fit = train(probe_of("attention", None, maps, 0), source, shuffled[:160], QUICK)
    chance = float(np.mean([1 / len(each.words) for each in shuffled[160:]]))
    assert _accuracy(fit, source, shuffled[160:]) == pytest.approx(chance, abs=0.06)


def test_equal_seeds_give_equal_numbers_and_others_do_not() -> None:
    sentences, maps = _made(False, count=40)
    vectors = Vectors({"b": 0}, np.ones((1, 2), dtype=np.float32))
    found = []
    for seed in (3, 3, 4):
        settings = replace(QUICK, epochs=2, seed=seed)
        probe = probe_of("attention+words", vectors, maps, seed)
        torch.rand(seed)  # torch's own generator plays no part
        fit = train(probe, Source(vectors, maps), sentences, settings)
        found.append((fit.losses, [weight.detach().clone() for weight in fit.probe.parameters()]))
    (first, weights), (again, same), (other, _) = found
    assert first == again != other
    assert all(torch.equal(one, two) for one, two in zip(weights, same, strict=True))


def test_the_best_pass_is_kept_and_patience_ends_training() -> None:
    sentences, maps = _made(False, count=60)
    sentences, source = _permuted(sentences), Source(None, maps)
    settings = replace(QUICK, rate=0.5, patience=3, epochs=50)
    fit = train(probe_of("attention", None, maps, 0), source, sentences, settings)
    learned, held = split(sentences, settings)
    assert fit.stopped == "held-out loss"
    assert len(fit.losses) == fit.epochs + settings.patience
    assert fit.losses[fit.epochs - 1] == min(fit.losses) < fit.losses[-1]
    assert held_out_loss(fit.probe, source, held) == pytest.approx(min(fit.losses), abs=1e-9)
    assert fit.trained_on == len(learned)


def test_training_ends_with_its_passes_or_its_time() -> None:
    sentences, maps = _made(False, count=20)
    source, settings = Source(None, maps), replace(QUICK, epochs=3, patience=3)
    seen: list[int] = []
    fit = train(probe_of("attention", None, maps, 0), source, sentences, settings, progress=seen.append)
    assert (fit.stopped, len(fit.losses), seen) == ("epochs", 3, [1, 2, 3])
    fit = train(probe_of("attention", None, maps, 0), source, sentences, settings, deadline=0.0)
    assert (fit.stopped, len(fit.losses)) == ("minutes", 1)


def test_whole_documents_are_held_out() -> None:
    sentences, _ = _made(False, count=100)
    learned, held = split(sentences, QUICK)
    documents = [{each.unit for each in part} for part in (learned, held)]
    assert not documents[0] & documents[1]
    assert len(documents[1]) == round(0.1 * 25)
    assert sorted(each.number for each in learned + held) == list(range(100))
    assert held != split(sentences, replace(QUICK, seed=9))[1]
    with pytest.raises(BadInput, match="needs at least 2, but got 1"):
        split(sentences[:4], QUICK)


def test_the_held_out_loss_is_the_mean_over_words_of_all_sentences() -> None:
    sentences, maps = _made(False, count=70)
    probe = probe_of("attention", None, maps, 0)
    candidates = np.concatenate([[len(each.words)] * len(each.words) for each in sentences])
    got = held_out_loss(probe, Source(None, maps), sentences)  # all weights zero: even over the candidates
    assert got == pytest.approx(float(np.log(candidates).mean()), abs=1e-5)


def test_a_loss_that_is_no_number_is_said_in_a_sentence() -> None:
    sentences, maps = _made(False, count=20)
    probe = probe_of("attention", None, maps, 0)
    with torch.no_grad():
        probe.get_parameter("weight").fill_(float("nan"))
    with pytest.raises(BadInput, match="must be a finite number, but it is nan; give a smaller --rate"):
        held_out_loss(probe, Source(None, maps), sentences)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"rate": 0.0}, "rate must be a number above 0, but got 0.0"),
        ({"epochs": 0}, "epochs must be a whole number of at least 1, but got 0"),
        ({"minutes": float("nan")}, "minutes must be a number above 0, but got nan"),
        ({"held_out": 1.0}, "held_out must lie between 0 and 1, both excluded, but got 1.0"),
        ({"seed": -1}, "seed must be a whole number of at least 0, but got -1"),
    ],
)
def test_settings_out_of_range_are_refused(given: dict[str, float], said: str) -> None:
    with pytest.raises(BadInput, match=said):
        Settings(**given)  # type: ignore[arg-type]
