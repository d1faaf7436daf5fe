"""Measure how many hidden words a masked-word model guesses, on texts that it was not trained on.

Prints a line of JSON per file: the share of words that are right, of pieces that are right, and of words that
are the most frequent one, each with a 95 % interval from resampled documents.
"""

import json
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np
import torch
from jaxtyping import Float
from masked_text import IGNORED, Document, cut_document, draw_words, pad_batch, read_documents
from transformers import AutoModelForMaskedLM, AutoTokenizer
from transformers.utils import logging as library_logging

from headroles.errors import BadInput, HeadrolesError

SHARE = 0.15
"""Share of words that are hidden; each of their pieces becomes [MASK]."""
BATCH = 32
DRAWS = 2000
MEASURES = ("words", "pieces", "most_frequent_word")


def count_document(
    network: Any, tokenizer: Any, document: Document, frequent: int, draws: np.random.Generator
) -> Float[np.ndarray, "measures 2"]:
    """Return how many hidden words and pieces of a document are right, and how many there are.

    A word is right when all of its pieces are. The rows are words, pieces, and words that are right when the
    piece ``frequent`` is guessed for all.
    """
    totals = np.zeros((len(MEASURES), 2))
    sequences = list(cut_document(document, tokenizer))
    for start in range(0, len(sequences), BATCH):
        batch = sequences[start : start + BATCH]
        hidden = [draw_words(sequence, SHARE, draws) for sequence in batch]
        tokens = [
            np.where(mask, tokenizer.mask_token_id, sequence.tokens)
            for sequence, mask in zip(batch, hidden, strict=True)
        ]
        inputs = pad_batch(tokens, batch, hidden, int(tokenizer.pad_token_id))
        labels = inputs.pop("labels")
        guesses = np.full(labels.shape, IGNORED)
        with torch.inference_mode():
            states = network.base_model(**inputs).last_hidden_state[labels != IGNORED]
            guesses[(labels != IGNORED).numpy()] = network.cls(states).argmax(dim=1).numpy()
        for row, sequence in enumerate(batch):
            true = labels[row, : len(sequence.tokens)].numpy()
            known = true != IGNORED
            right = (guesses[row, : len(true)] == true)[known]
            words = sequence.words[known]
            counts, whole = np.bincount(words), np.bincount(words, weights=right)
            usual = np.bincount(words, weights=(true == frequent)[known])
            there = counts > 0
            totals[0] += (whole == counts)[there].sum(), there.sum()
            totals[1] += right.sum(), len(right)
            totals[2] += ((usual == counts) & there).sum(), there.sum()
    return totals


def shares(counts: Float[np.ndarray, "documents measures 2"], seed: int) -> dict[str, list[float]]:
    """Return each share with its 95 % interval: percentiles over resampled documents."""
    draws = np.random.default_rng(seed)
    total = counts.sum(axis=0)
    chosen = draws.integers(len(counts), size=(DRAWS, len(counts)))
    resampled = counts[chosen].sum(axis=1)
    ends = np.percentile(resampled[..., 0] / np.maximum(resampled[..., 1], 1), [2.5, 97.5], axis=0)
    return {
        name: [round(float(number), 4) for number in (total[row, 0] / total[row, 1], *ends[:, row])]
        for row, name in enumerate(MEASURES)
    }


def measure(model: Path, texts: Sequence[Path], seed: int, limit: int | None) -> None:
    """Print the shares of every file.

    Raises:
        HeadrolesError: When a file cannot be used.
    """
    library_logging.set_verbosity(logging.ERROR)
    library_logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    tokenizer = AutoTokenizer.from_pretrained(model)
    network = AutoModelForMaskedLM.from_pretrained(model, use_safetensors=True).eval()
    for path in texts:
        documents = read_documents(path, tokenizer)
        if not documents:
            raise BadInput(f"a file of texts holds documents of 16 pieces or more, but '{path}' has none")
        draws = np.random.default_rng(seed)
        if limit is not None and limit < len(documents):
            documents = [documents[place] for place in sorted(draws.permutation(len(documents))[:limit])]
        firsts = np.concatenate([document.pieces[document.starts] for document in documents])
        frequent = int(np.bincount(firsts).argmax())
        counts = np.stack(
            [count_document(network, tokenizer, document, frequent, draws) for document in documents]
        )
        facts = {"file": path.name, "documents": len(documents), "hidden_words": int(counts[:, 0, 1].sum())}
        click.echo(json.dumps(facts | shares(counts, seed)))


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--model", type=click.Path(exists=True, file_okay=False, path_type=Path), required=True)
@click.option("--texts", type=Path, required=True, multiple=True, help="Plain text; repeat for more files.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
@click.option("--limit", type=click.IntRange(1), help="Measure on a random subset of this many documents.")
def main(model: Path, texts: tuple[Path, ...], seed: int, limit: int | None) -> None:
    """Measure how many hidden words a masked-word model guesses right."""
    try:
        measure(model, texts, seed, limit)
    except HeadrolesError as error:
        raise click.ClickException(str(error)) from error


if __name__ == "__main__":
    main()
