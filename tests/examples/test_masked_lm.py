"""The masked-word example: sequences and hidden words, the schedule, training, measuring, and its folder."""

import importlib.util
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from headroles.extraction.model.checkpoint import CARRIER

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "masked-lm"
SAMPLES = Path(__file__).resolve().parents[2] / "headroles" / "samples"
needs_model = pytest.mark.skipif(
    importlib.util.find_spec(CARRIER) is None, reason="needs the embedded model (extra 'demo')"
)


@pytest.fixture(scope="module")
def scripts() -> Iterator[dict[str, Any]]:
    """The scripts as modules, which import each other by their names."""
    sys.path.insert(0, str(FOLDER))
    names = ("masked_text", "train", "measure", "texts")
    try:
        yield {name: importlib.import_module(name) for name in names}
    finally:
        sys.path.remove(str(FOLDER))
        for name in names:
            sys.modules.pop(name, None)


@pytest.fixture(scope="module")
def tokenizer(planted: Path) -> Any:
    """The tokenizer of the planted model."""
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(planted)


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The shipped questions and answers as plain text, every five pairs one document."""
    rows = (SAMPLES / "QNLI.tsv").read_text(encoding="utf-8").splitlines()[1:]
    sentences = [cell for row in rows for cell in row.split("\t")[1:3]]
    blocks = ["\n".join(sentences[start : start + 10]) for start in range(0, len(sentences), 10)]
    file = tmp_path_factory.mktemp("texts") / "samples.txt"
    file.write_text("\n\n".join(blocks) + "\n", encoding="utf-8")
    return file


def _document(scripts: dict[str, Any], lengths: list[int]) -> Any:
    """A document of words with these numbers of pieces."""
    starts = np.concatenate([[True] + [False] * (length - 1) for length in lengths])
    return scripts["masked_text"].Document("made", np.arange(200, 200 + len(starts)), starts)


@given(lengths=st.lists(st.integers(1, 5), min_size=20, max_size=300), seed=st.integers(0, 99))
def test_sequences_hold_whole_words_of_a_document_in_order(
    lengths: list[int], seed: int, scripts: dict[str, Any], tokenizer: Any
) -> None:
    document = _document(scripts, lengths)
    made = scripts["masked_text"]
    draws = np.random.default_rng(seed)
    seen: list[int] = []
    for sequence in made.cut_document(document, tokenizer, draws):
        assert made.SHORTEST + 2 <= len(sequence.tokens) <= made.LENGTH
        assert sequence.tokens[0] == tokenizer.cls_token_id
        assert sequence.tokens[-1] == tokenizer.sep_token_id
        special = sequence.words == -1
        pieces = sequence.tokens[~special]
        assert document.starts[pieces[0] - 200]
        assert (np.diff(pieces) == 1).all()
        assert (np.diff(sequence.words[~special], prepend=-1) != 0).tolist() == document.starts[
            pieces - 200
        ].tolist()
        assert sequence.types.max() == (special.sum() == 3)
        seen += pieces.tolist()
    assert seen == sorted(set(seen))
    assert len(seen) >= len(document.pieces) - 2 * made.SHORTEST


@given(
    lengths=st.lists(st.integers(1, 4), min_size=16, max_size=60),
    share=st.floats(0.01, 0.9),
    seed=st.integers(0, 99),
)
def test_whole_words_are_hidden_and_special_tokens_never(
    lengths: list[int], share: float, seed: int, scripts: dict[str, Any], tokenizer: Any
) -> None:
    made, draws = scripts["masked_text"], np.random.default_rng(seed)
    for sequence in made.cut_document(_document(scripts, lengths), tokenizer):
        hidden = made.draw_words(sequence, share, draws)
        chosen = set(sequence.words[hidden].tolist())
        assert -1 not in chosen
        assert np.isin(sequence.words, list(chosen)).tolist() == hidden.tolist()
        assert len(chosen) == max(1, round(share * (sequence.words.max() + 1)))
        tokens = made.replace_words(sequence, hidden, tokenizer, draws)
        assert (tokens[~hidden] == sequence.tokens[~hidden]).all()


def test_eight_of_ten_hidden_words_become_masks(scripts: dict[str, Any], tokenizer: Any) -> None:
    made, draws = scripts["masked_text"], np.random.default_rng(0)
    masked = kept = total = 0
    for _ in range(60):
        for sequence in made.cut_document(_document(scripts, [1] * 120), tokenizer):
            hidden = made.draw_words(sequence, 0.5, draws)
            tokens = made.replace_words(sequence, hidden, tokenizer, draws)
            masked += int((tokens[hidden] == tokenizer.mask_token_id).sum())
            kept += int((tokens[hidden] == sequence.tokens[hidden]).sum())
            total += int(hidden.sum())
    assert abs(masked / total - 0.8) < 5 * np.sqrt(0.16 / total)
    assert abs(kept / total - 0.1) < 5 * np.sqrt(0.09 / total) + 0.001


def _settings(scripts: dict[str, Any], **given: Any) -> Any:
    usual = {
        "minutes": None, "steps": None, "fall_from": None, "batch_size": 4, "learning_rate": 1e-3,
        "share": 0.2, "seed": 0, "frozen": False, "checkpoint_minutes": 5.0,
    }  # fmt: skip
    return scripts["train"].Settings(**usual | given)


def test_the_rate_rises_stays_and_falls_and_a_repetition_by_steps_has_the_same_rates(
    scripts: dict[str, Any],
) -> None:
    schedule = scripts["train"].Schedule(_settings(scripts, minutes=10.0))
    rates: list[float] = []
    while (rate := schedule.rate(len(rates), len(rates) / 100)) is not None:
        rates.append(rate)
    assert schedule.fall_from == 700
    assert len(rates) == schedule.steps == 1000
    assert rates[0] == pytest.approx(1e-3 / 60)
    assert rates[60:700] == [1e-3] * 640
    assert (np.diff(rates[700:]) < 0).all()
    assert 0 < rates[-1] < 1e-5
    again = scripts["train"].Schedule(_settings(scripts, steps=1000, fall_from=700))
    assert [again.rate(step, 0.0) for step in range(1001)] == [*rates, None]


@needs_model
def test_a_few_steps_lower_the_loss_and_the_folder_is_a_model_for_all(
    scripts: dict[str, Any], texts: Path, tmp_path: Path
) -> None:
    from transformers import AutoModelForMaskedLM, AutoTokenizer

    import headroles

    out = tmp_path / "model"
    words = ["--texts", str(texts), "--out", str(out), "--steps", "24", "--batch-size", "8"]
    done = CliRunner().invoke(scripts["train"].main, words, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    first, *_, last = map(json.loads, done.output.splitlines())
    assert (first["documents"], last["steps"], last["seed"]) == (32, 24, 0)
    assert {path.name for path in out.iterdir()} == {
        "config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json",
    }  # fmt: skip
    AutoTokenizer.from_pretrained(out)
    network = AutoModelForMaskedLM.from_pretrained(out, use_safetensors=True)
    decoder, embeddings = network.get_output_embeddings(), network.get_input_embeddings()
    assert decoder.weight is embeddings.weight
    assert _loss(scripts, out, texts) < _loss(scripts, None, texts) - 0.3
    run = headroles.surface("QNLI", model=out, gradients=True, limit=4)
    assert {test.kind for test in run.surface.noop if test.count} >= {"separator"}  # type: ignore[union-attr]


def _loss(scripts: dict[str, Any], model: Path | None, texts: Path) -> float:
    """Return the mean loss of hidden words of some batches, with the body of a model or of the beginning."""
    import torch
    from transformers import AutoTokenizer

    from headroles.extraction.model.checkpoint import find_checkpoint

    training = scripts["train"]
    source = find_checkpoint(None, None).target
    tokenizer = AutoTokenizer.from_pretrained(source)
    documents = scripts["masked_text"].read_documents(texts, tokenizer)
    settings = _settings(scripts, seed=5)
    if model is None:
        network = training.load_network(source, documents, settings)
    else:
        from transformers import AutoModelForMaskedLM

        network = AutoModelForMaskedLM.from_pretrained(model, use_safetensors=True)
    batches = training.endless_batches(documents, tokenizer, settings)
    with torch.inference_mode():
        return float(np.mean([float(training.loss_of(network.eval(), next(batches))[0]) for _ in range(6)]))


@needs_model
def test_accuracy_is_that_of_the_guesses_and_lies_in_its_interval(
    scripts: dict[str, Any], texts: Path, tmp_path: Path
) -> None:
    out = tmp_path / "model"
    words = ["--texts", str(texts), "--out", str(out), "--steps", "1", "--frozen"]
    assert CliRunner().invoke(scripts["train"].main, words, catch_exceptions=False).exit_code == 0
    asked = ["--model", str(out), "--texts", str(texts), "--limit", "6"]
    done = CliRunner().invoke(scripts["measure"].main, asked, catch_exceptions=False)
    assert done.exit_code == 0
    facts = json.loads(done.output)
    assert facts["documents"] == 6
    for name in scripts["measure"].MEASURES:
        share, low, high = facts[name]
        assert 0 <= low <= share <= high <= 1


def test_shares_and_their_intervals_are_those_of_resampled_documents(scripts: dict[str, Any]) -> None:
    rng = np.random.default_rng(4)
    hits = 0
    for _ in range(200):
        true = rng.beta(8, 12, size=60)
        sizes = rng.integers(20, 60, size=60)
        right = rng.binomial(sizes, true)
        counts = np.stack([np.stack([right, sizes], axis=1)] * 3, axis=1).astype(float)
        share, low, high = scripts["measure"].shares(counts, 0)["words"]
        assert share == round(right.sum() / sizes.sum(), 4)
        hits += low <= 0.4 <= high
    assert hits >= 180  # of 200 intervals of 95 %


def test_the_body_stays_as_it_is_for_the_baseline(
    scripts: dict[str, Any], planted: Path, texts: Path
) -> None:
    network = scripts["train"].load_network(str(planted), [], _settings(scripts, frozen=True))
    trained = {name for name, weight in network.named_parameters() if weight.requires_grad}
    assert trained
    assert all(name.startswith("cls.") for name in trained)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ([], "the end of training is --minutes or --steps, but got both or none; give one of them"),
        (["--steps", "2", "--minutes", "1"], "the end of training is --minutes or --steps, but got both"),
    ],
)
def test_an_end_that_is_not_clear_is_refused(
    words: list[str], sentence: str, scripts: dict[str, Any], texts: Path, tmp_path: Path
) -> None:
    given = ["--texts", str(texts), "--out", str(tmp_path / "model"), *words]
    done = CliRunner().invoke(scripts["train"].main, given)
    assert (done.exit_code, list(tmp_path.iterdir())) == (1, [])
    assert done.output.startswith(f"Error: {sentence}")


def test_corpora_become_documents_of_plain_text(scripts: dict[str, Any], tmp_path: Path) -> None:
    files = {
        "a.conllu": "# newdoc id = a\n# text = It rains.\n1\tIt\n\n# text = Go.\n\n# newdoc\n# text = No.\n",
        "b.conll": "#begin document (x); part 0\nx\t0\t0\tIt\nx\t0\t1\trains\n\nx\t0\t0\tGo\n#end document\n",
        "c.tsv": 'ID\tText\n1\tShe said "no.\n2\tGo.\n',
    }
    wanted = {
        "a.conllu": "It rains.\nGo.\n\nNo.\n",
        "b.conll": "It rains\nGo\n",
        "c.tsv": 'She said "no.\n\nGo.\n',
    }
    for name, content in files.items():
        (tmp_path / name).write_text(content)
        done = CliRunner().invoke(
            scripts["texts"].main, [str(tmp_path / name), "--out", str(tmp_path / "out.txt")]
        )
        assert done.exit_code == 0, done.output
        assert (tmp_path / "out.txt").read_text() == wanted[name]
