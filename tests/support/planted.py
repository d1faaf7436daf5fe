"""A model whose heads are written by hand, a table of pairs, and runs on them."""

import re
import shutil
import sys
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

if TYPE_CHECKING:
    import torch

    from headroles import Labelling

SAMPLES = Path(__file__).resolve().parents[2] / "headroles" / "samples"


@pytest.fixture(scope="session")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A BERT of 2 layers x 3 heads that takes 64 tokens, its heads written by hand.

    0-0 looks at the previous token, 0-1 evenly, 0-2 at special tokens; 1-0 evenly, 1-1 at the
    query's own text, 1-2 at the next token. All six are a little disturbed by what the words are.
    """
    return save_planted(tmp_path_factory.mktemp("models") / "planted")


@pytest.fixture(scope="session")
def even(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same BERT with queries and keys of zero: every head attends evenly."""
    folder = tmp_path_factory.mktemp("models") / "even"
    _save_bert(folder, lambda model: None)
    return folder


@pytest.fixture(scope="session")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """60 pairs of texts in 20 documents, one text longer than its pair."""
    return write_pairs(tmp_path_factory.mktemp("tables") / "pairs.tsv")


@pytest.fixture
def label(planted: Path, table: Path) -> "Callable[..., Labelling]":
    """Label the planted model on the table of pairs, unless told otherwise."""
    from headroles import label

    def run(**options: Any) -> "Labelling":
        usual: dict[str, Any] = {"task": "QNLI", "data": table, "model": planted}
        return label(**usual | {"max_length": 48, "sieve": ["local", "delimiter", "block"]} | options)

    return run


@pytest.fixture(scope="session")
def finished(planted: Path, table: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run; tests that write into it take the fixture ``run`` instead."""
    from headroles import label

    folder = tmp_path_factory.mktemp("runs") / "finished"
    sieves = ["local", "delimiter", "block"]
    with real_report():
        label("QNLI", data=table, model=planted, max_length=48, sieve=sieves, out=folder)
    return folder


@pytest.fixture
def run(finished: Path, tmp_path: Path) -> Path:
    """A copy of a finished run, to be changed at will."""
    return Path(shutil.copytree(finished, tmp_path / "run"))


@contextmanager
def real_report() -> Iterator[None]:
    """Draw the real report, also where a test's own runs write a small page (``tests.conftest``)."""
    modules = [module for name, module in [*sys.modules.items()] if name.startswith("headroles.reports")]
    with pytest.MonkeyPatch.context() as patch:
        for module in modules:
            for name, drawing in [*vars(module).items()]:
                if getattr(getattr(drawing, "__code__", None), "co_name", "") == "small":
                    patch.setattr(module, name, drawing.__wrapped__)
        yield


def save_planted(folder: Path) -> Path:
    """Write the model of the fixture ``planted`` into a new folder, and return the folder."""
    _save_bert(folder, plant)
    return folder


SHORT_LONG = ((5, 9), (8, 16))
"""Words of both texts of the fixture ``table``, from the fewest to below the most."""
UNEQUAL = ((3, 18), (3, 18))
"""The same for pairs in which either text is the longer one, so that exchanged layouts differ much."""


def write_pairs(
    file: Path, count: int = 60, sizes: tuple[tuple[int, int], tuple[int, int]] = SHORT_LONG
) -> Path:
    """Write the table of the fixture ``table``, or one of other lengths, and return its file."""
    rng = np.random.default_rng(7)
    words = ["the", "a", "cat", "dog", "house", "rain", "who", "did", "sat", "on", "in", "small", "red"]
    words += ["is", "it"]
    rows = ["question\tsentence\tdocument"]
    for row in range(count):
        first = " ".join(rng.choice(words, size=rng.integers(*sizes[0])))
        second = " ".join(rng.choice(words, size=rng.integers(*sizes[1])))
        rows.append(f"{first} ?\t{second} .\tdocument {row // 3}")
    file.write_text("\n".join(rows) + "\n")
    return file


def write_tokenizer(folder: Path, words: Collection[str]) -> int:
    """Write a tokenizer of whole words and letters for 64 tokens, and return the size of its vocabulary."""
    from transformers import BertTokenizer

    signs = list("abcdefghijklmnopqrstuvwxyz0123456789")
    known = sorted({*words, *signs}) + [f"##{sign}" for sign in signs]
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *known]
    (folder / "vocab.txt").write_text("\n".join(vocabulary) + "\n")
    tokenizer = BertTokenizer.from_pretrained(str(folder))
    tokenizer.model_max_length = 64
    tokenizer.save_pretrained(folder)
    return len(vocabulary)


def _save_bert(folder: Path, change: "Callable[[torch.nn.Module], None]") -> None:
    import torch
    from transformers import BertConfig, BertModel

    folder.mkdir()
    samples = "".join(file.read_text() for file in sorted(SAMPLES.glob("*.tsv")))
    vocabulary = write_tokenizer(folder, set(re.findall(r"[a-z]+|[^\sa-z]", samples.lower())))
    torch.manual_seed(0)
    model = BertModel(
        BertConfig(
            vocab_size=vocabulary, hidden_size=24, num_hidden_layers=2, num_attention_heads=3,
            intermediate_size=8, max_position_embeddings=64,
        )
    )  # fmt: skip
    with torch.no_grad():
        for name, weights in model.named_parameters():
            if "embeddings" not in name and "LayerNorm" not in name:
                weights.zero_()
        change(model)
    model.save_pretrained(folder)


def plant(model: "torch.nn.Module") -> None:
    """Write the heads of the fixture ``planted`` into a BERT of 2 layers x 3 heads of size 8; no gradients.

    Position is in dimensions 0 to 15, special tokens in 16 and 17, the text in 18 and 19.
    """
    import torch

    weights = dict(model.named_parameters())
    steps = torch.tensor([1.0, 0.5, 0.25, 0.11], dtype=torch.float64)
    angles = torch.arange(64)[:, None] * steps
    waves = torch.cat([angles.cos(), angles.sin()], dim=1)
    weights["embeddings.position_embeddings.weight"].zero_()[:, :16] = torch.cat([waves, -waves], dim=1)
    words = weights["embeddings.word_embeddings.weight"].mul_(4)
    words[:, :20] = 0
    words[2:4, 16], words[2:4, 17] = 1.0, -1.0
    texts = weights["embeddings.token_type_embeddings.weight"].zero_()
    texts[:, 18], texts[:, 19] = torch.tensor([1.0, -1.0]), torch.tensor([-1.0, 1.0])
    for layer, head, offset in ((0, 0, -1), (1, 2, 1)):
        query, key = _query_and_key(weights, layer, head)
        turn = torch.zeros(8, 8)
        for k, angle in enumerate((steps * offset).tolist()):
            cosine, sine = float(np.cos(angle)), float(np.sin(angle))
            turn[[k, k, k + 4, k + 4], [k, k + 4, k, k + 4]] = torch.tensor([cosine, -sine, sine, cosine])
        query[:, :8], key[:, :8] = 3 * turn, 3 * torch.eye(8)
    query, key = _query_and_key(weights, 0, 2)
    key[0, 16] = 3
    weights["encoder.layer.0.attention.self.query.bias"][16] = 3
    query, key = _query_and_key(weights, 1, 1)
    query[0, 18], key[0, 18] = 2, 2
    for layer, head in ((0, 0), (0, 2), (1, 1), (1, 2)):
        query, key = _query_and_key(weights, layer, head)
        query[7, 20], key[7, 21] = 0.5, 0.5


def _query_and_key(weights: "dict[str, torch.nn.Parameter]", layer: int, head: int) -> "list[torch.Tensor]":
    rows = slice(8 * head, 8 * head + 8)
    names = [f"encoder.layer.{layer}.attention.self.{which}.weight" for which in ("query", "key")]
    return [weights[name][rows] for name in names]


@pytest.fixture(scope="module")
def module_unguarded() -> Iterator[None]:
    """Let labels hinge on few units, so that q are those of the p of the tests alone."""
    with _without_guard():
        yield


@pytest.fixture
def unguarded() -> Iterator[None]:
    """Do the same for one test."""
    with _without_guard():
        yield


@contextmanager
def _without_guard() -> Iterator[None]:
    from headroles.stats import missing_p

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys.modules[missing_p.__module__], "missed_p", _none_missed)
        yield


def _none_missed(sample: Any, *_: Any) -> np.ndarray:
    return np.zeros(sample.mean.shape)
