"""The fine-tuning example: what it trains, refuses and writes, and that headroles reads the folder."""

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from headroles.errors import BadInput
from headroles.extraction.model.checkpoint import CARRIER, EMBEDDED_SHA256, weights_hash

if TYPE_CHECKING:
    from headroles import Labelling

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "examples" / "finetune-mrpc" / "finetune.py"
HEADER = "Quality\t#1 ID\t#2 ID\t#1 String\t#2 String"
THINGS = ("rain", "dog", "house", "committee")


@pytest.fixture(scope="module")
def example() -> Any:
    """The script as a module."""
    spec = importlib.util.spec_from_file_location("finetune_mrpc", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def pairs_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Eight made-up pairs, half of them of one meaning, in GLUE's layout: with byte-order mark and quotes."""
    rows = [HEADER]
    for number, thing in enumerate(THINGS):
        first = f'The small "{thing} was seen in the old town on day {number} .'
        rows.append(
            f"1\t{number}\t{number}1\t{first}\tOn day {number} they saw the {thing} in the old town ."
        )
        rows.append(f"0\t{number}\t{number}2\t{first}\tNobody knows who took the {number} red keys .")
    file = tmp_path_factory.mktemp("mrpc") / "train.tsv"
    file.write_text("\n".join(rows) + "\n", encoding="utf-8-sig")
    return file


@pytest.fixture(scope="module")
def tokenizer(planted: Path) -> Any:
    """The tokenizer of the planted model."""
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(planted)


def test_pairs_come_with_their_labels_whatever_the_subset(
    example: Any, tokenizer: Any, pairs_file: Path
) -> None:
    pairs = example.read_pairs(pairs_file, tokenizer, None, 0)
    assert [pair.label for pair in pairs] == [1, 0] * 4
    known = {tuple(pair.inputs["input_ids"]): pair.label for pair in pairs}
    assert len(known) == 8
    some = example.read_pairs(pairs_file, tokenizer, 3, 0)
    assert len(some) == 3
    assert all(known[tuple(pair.inputs["input_ids"])] == pair.label for pair in some)
    assert [pair.inputs for pair in example.read_pairs(pairs_file, tokenizer, 3, 0)] == [
        pair.inputs for pair in some
    ]


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("test.tsv", "index\t#1 String\t#2 String\n0\ta\tb\n", "the column 'Quality' is needed but not th"),
        ("odd.tsv", f"{HEADER}\n1\t1\t2\ta\tb\n2\t1\t2\ta\tb\n", "row 2 below the header: 'Quality' is 0 or"),
        ("rows.jsonl", '{"Quality": 1}\n', "the files of MRPC end in .tsv or .csv, with or without .gz, but"),
    ],
)
def test_files_without_labels_are_refused(
    name: str, text: str, sentence: str, example: Any, tokenizer: Any, tmp_path: Path
) -> None:
    file = tmp_path / name
    file.write_text(text)
    with pytest.raises(BadInput, match=sentence):
        example.read_pairs(file, tokenizer, None, 0)


def test_an_output_folder_that_holds_something_is_refused_before_any_work(
    example: Any, pairs_file: Path, tmp_path: Path
) -> None:
    from click.testing import CliRunner

    (tmp_path / "mine.txt").write_text("keep me")
    words = ["--train", str(pairs_file), "--out", str(tmp_path)]
    done = CliRunner().invoke(example.main, words)
    assert done.exit_code == 1
    sentence = f"--out must be a new or empty folder, but '{tmp_path}' is there already; name another"
    assert done.output == f"Error: {sentence}\n"
    assert [each.name for each in tmp_path.iterdir()] == ["mine.txt"]


def test_batches_hold_every_pair_once_and_little_padding(example: Any) -> None:
    sizes = np.random.default_rng(3).integers(10, 100, size=1000).tolist()
    first, again, other = (example.epoch_batches(sizes, 16, np.random.default_rng(k)) for k in (0, 0, 1))
    assert sorted(np.concatenate(first).tolist()) == list(range(1000))
    assert max(map(len, first)) == 16
    assert sum(len(batch) * max(sizes[place] for place in batch) for batch in first) < 1.15 * sum(sizes)
    assert [batch.tolist() for batch in first] == [batch.tolist() for batch in again]
    assert [batch.tolist() for batch in first] != [batch.tolist() for batch in other]


@pytest.mark.parametrize("steps", [1, 2, 20, 690])
def test_the_learning_rate_rises_to_its_highest_and_falls_to_almost_none(example: Any, steps: int) -> None:
    shares = [example.share_of_rate(step, steps) for step in range(steps)]
    top = int(np.argmax(shares))
    assert shares[top] == 1
    assert top == max(1, round(0.1 * steps)) - 1
    assert np.all(np.diff(shares[: top + 1]) > 0)
    assert np.all(np.diff(shares[top:]) < 0)
    assert min(shares) > 0
    assert example.share_of_rate(steps, steps) == 0  # where the schedule stands after the last step


def _trained(example: Any, folder: Path, pairs: Any, seed: int) -> tuple[Any, dict[str, Any]]:
    """A random classifier as small as the planted model after 30 epochs, and its weights."""
    import torch
    from transformers import BertConfig, BertForSequenceClassification

    torch.manual_seed(seed)
    network = BertForSequenceClassification(BertConfig.from_pretrained(folder))
    example.train(network, pairs, example.Settings(30, 4, 1e-2, seed), 0)
    return network, network.state_dict()


@pytest.mark.slow
def test_training_learns_and_a_seed_fixes_every_weight(
    example: Any, tokenizer: Any, pairs_file: Path, planted: Path
) -> None:
    pairs = example.read_pairs(pairs_file, tokenizer, None, 0)
    network, first = _trained(example, planted, pairs, 0)
    _, again = _trained(example, planted, pairs, 0)
    _, other = _trained(example, planted, pairs, 1)
    assert example.evaluate(network, pairs, 3, 0) == {"pairs": 8, "accuracy": 1.0, "f1": 1.0}
    assert all(weights.equal(again[name]) for name, weights in first.items())
    assert not all(weights.equal(other[name]) for name, weights in first.items())


@pytest.mark.slow
def test_checkpoints_are_kept_from_before_the_first_step_to_after_the_last(
    example: Any, pairs_file: Path, tmp_path: Path
) -> None:
    from click.testing import CliRunner
    from safetensors.torch import load_file

    if importlib.util.find_spec(CARRIER) is None:
        reason = "the extra 'demo' is not installed"
        pytest.fail(reason) if os.environ.get("HEADROLES_REQUIRE_ALL") == "1" else pytest.skip(reason)
    words = ["--train", str(pairs_file), "--out", str(tmp_path), "--epochs", "1", "--limit", "6"]
    done = CliRunner().invoke(example.main, [*words, "--batch-size", "3", "--checkpoints", "3"])
    assert done.exit_code == 0, done.output
    folders = sorted(tmp_path.iterdir())
    assert [folder.name for folder in folders] == ["step-0", "step-1", "step-2"]
    weights = [load_file(folder / "model.safetensors") for folder in folders]
    start = load_file(Path(example.find_checkpoint(None, None).target) / "model.safetensors")
    name = next(name for name in weights[0] if name.endswith("layer.5.attention.self.query.weight"))
    assert weights[0][name].equal(start[name.removeprefix("bert.")])
    assert not weights[1][name].equal(weights[0][name])
    assert not weights[2][name].equal(weights[1][name])
    assert all((folder / "tokenizer.json").exists() for folder in folders)


def test_accuracy_and_f1_are_those_of_scikit_learn(example: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from sklearn.metrics import accuracy_score, f1_score

    said, right = np.random.default_rng(5).integers(0, 2, size=(2, 61)).tolist()
    monkeypatch.setattr(example, "guesses", lambda *_: zip(said, right, strict=True))
    figures = example.evaluate(None, range(61), 16, 0)
    assert figures["accuracy"] == pytest.approx(accuracy_score(right, said), abs=1e-4)
    assert figures["f1"] == pytest.approx(f1_score(right, said), abs=1e-4)


@pytest.fixture(scope="module")
def tuned(pairs_file: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Any]]:
    """The folder that the script wrote after one epoch on six of the pairs, and what it printed."""
    if importlib.util.find_spec(CARRIER) is None:
        reason = "the extra 'demo' is not installed"
        pytest.fail(reason) if os.environ.get("HEADROLES_REQUIRE_ALL") == "1" else pytest.skip(reason)
    folder = tmp_path_factory.mktemp("tuned") / "model"
    files = ["--train", str(pairs_file), "--dev", str(pairs_file), "--out", str(folder)]
    done = subprocess.run(
        [sys.executable, str(SCRIPT), *files, "--epochs", "1", "--limit", "6", "--batch-size", "3"],
        env=os.environ | {"OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=720,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "epoch 1 of 1: loss 0." in done.stderr
    return folder, [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.slow
def test_the_script_writes_a_whole_model_without_pickles(tuned: tuple[Path, list[Any]]) -> None:
    folder, told = tuned
    assert [(line["when"], line["pairs"]) for line in told] == [("before", 8), ("after", 8)]
    assert all(0 <= line[name] <= 1 for line in told for name in ("accuracy", "f1"))
    names = {each.name for each in folder.iterdir()}
    assert names == {"config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"}
    config = json.loads((folder / "config.json").read_text())
    assert config["architectures"] == ["BertForSequenceClassification"]


@pytest.mark.slow
def test_headroles_labels_from_the_folder(
    tuned: tuple[Path, list[Any]], label: "Callable[..., Labelling]", pairs_file: Path
) -> None:
    folder, _ = tuned
    usual: dict[str, Any] = {"task": "MRPC", "data": pairs_file, "limit": 8, "sieve": ["local", "block"]}
    after, before = label(**usual, model=folder), label(**usual, model=None)
    model = after.manifest["model"]
    assert model["weights_sha256"] == weights_hash(folder) != EMBEDDED_SHA256
    assert (model["architecture"], model["layers"], model["heads"]) == ("BertModel", 6, 12)
    assert model["missing_weights"] == []
    assert after.scores.examples == before.scores.examples
    assert np.array_equal(after.scores.tokens, before.scores.tokens)
    assert not np.array_equal(after.scores.values, before.scores.values)
