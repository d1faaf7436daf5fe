"""Measure the absolute norms of what each head takes from kinds of tokens, which ``parked`` does not show.

``parked`` compares values of a head with its other values. This prints one JSON line per head of the embedded
encoder: the mean norm ν of a transformed value of [CLS], [SEP], periods and commas, and words; that of the
distance of values from the mean value of the input, which is 0 where all tokens have the same value; and the
share of attention of words on each kind.

    python benchmarks/value_norms.py --data dev.tsv
"""

import csv
import json
from pathlib import Path

import click
import numpy as np
import torch

from headroles.extraction.capture.neurons import Call
from headroles.extraction.model.checkpoint import find_checkpoint
from headroles.extraction.model.load import load
from headroles.extraction.padding import pad_inputs
from headroles.extraction.texts.tokens import Tokenised, tokenise
from headroles.extraction.why.calls import read_calls, reading
from headroles.records.passage import Passage

KINDS = ("[CLS]", "[SEP]", "periods and commas", "words")


def kinds_of(given: Tokenised) -> np.ndarray:
    """Return the place in ``KINDS`` of every token."""
    special = np.flatnonzero(given.texts < 0)
    kinds = np.array([2 if token in (".", ",") else 3 for token in given.tokens])
    kinds[special] = 1
    kinds[special[0]] = 0
    return kinds


@click.command()
@click.option("--data", type=click.Path(path_type=Path), required=True, help="Table of GLUE's QNLI.")
@click.option("--rows", default=100, show_default=True)
def main(data: Path, rows: int) -> None:
    """Print norms and shares of attention by kind of token, one line per head."""
    model = load(find_checkpoint(None, None), device="cpu", dtype="float32", max_length=128, norms="some")
    norms = model.way.norms
    assert norms is not None, "the encoder has norms"
    with data.open(encoding="utf-8") as file:
        lines = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))[:rows]
    passages = [Passage(str(k), (line["question"], line["sentence"])) for k, line in enumerate(lines)]
    shape = (len(passages), model.layers, model.heads, len(KINDS))
    size, apart, share = (np.full(shape, np.nan) for _ in range(3))
    with reading(model):
        for place, given in enumerate(tokenise(model.tokenizer, passages, 128)):
            kinds = kinds_of(given)

            def take(layer: int, call: Call, place: int = place, kinds: np.ndarray = kinds) -> None:
                centred = call.value - call.value.mean(2, keepdim=True)
                own, other = (norms.of(layer, value)[0, :, 0].numpy() for value in (call.value, centred))
                weights = call.weights[0][:, torch.from_numpy(kinds == 3)].numpy().mean(axis=1)
                for kind in np.unique(kinds):
                    at = (place, layer, slice(None), kind)
                    size[at] = own[:, kinds == kind].mean(axis=1)
                    apart[at] = other[:, kinds == kind].mean(axis=1)
                    share[at] = weights[:, kinds == kind].sum(axis=1)

            read_calls(model, pad_inputs(model, [given]), take)
    for layer in range(model.layers):
        for head in range(model.heads):
            cell: dict[str, object] = {"head": f"{layer}-{head}"}
            for name, values in (("norm", size), ("apart", apart), ("attention", share)):
                means = np.nanmean(values[:, layer, head], axis=0).round(4).tolist()
                cell[name] = dict(zip(KINDS, means, strict=True))
            print(json.dumps(cell))


if __name__ == "__main__":
    main()
