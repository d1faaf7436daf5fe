"""Tiny checkpoints of a masked language model whose heads are written by hand; the script is seeded."""

from pathlib import Path
from typing import Any

import numpy as np

from tests.contract.inputs import WORDS
from tests.support.planted import plant, write_tokenizer

STEPS = 1024
"""Steps of a weight from 0 to 1: rounded so, weights are the same on every processor."""


def save_checkpoint(folder: Path, *, without: tuple[int, int] | None = None) -> None:
    """Write a BERT of 2 layers × 3 heads for masked words into a new folder.

    Attention is that of ``tests.support.planted``; heads also write to four dimensions that the loss reads.

    Args:
        folder: The folder.
        without: A head that attends evenly instead, by layer and head.
    """
    import torch
    from transformers import BertConfig, BertForMaskedLM

    folder.mkdir(parents=True)
    vocabulary = write_tokenizer(folder, {word for word in WORDS if word.isalpha()} | set(".,?!<>'\"&"))
    model: Any = BertForMaskedLM(
        BertConfig(
            vocab_size=vocabulary, hidden_size=24, num_hidden_layers=2, num_attention_heads=3,
            intermediate_size=8, max_position_embeddings=64,
        )
    )  # fmt: skip
    rng = np.random.default_rng(0)
    with torch.no_grad():
        for name, weights in model.named_parameters():
            if "LayerNorm" not in name:
                scale = 0.02 if "embeddings" in name else 0.5 if "transform" in name else 0.0
                weights.copy_(torch.from_numpy(rng.normal(0, 1, tuple(weights.shape)) * scale))
        plant(model.bert)
        for layer in model.bert.encoder.layer:
            layer.attention.self.value.weight[:, 20:] = torch.from_numpy(rng.normal(0, 0.7, (24, 4)))
            layer.attention.output.dense.weight[20:] = torch.from_numpy(rng.normal(0, 0.7, (4, 24)))
        if without is not None:
            head = slice(8 * without[1], 8 * without[1] + 8)
            model.bert.encoder.layer[without[0]].attention.self.query.weight[head] = 0
            model.bert.encoder.layer[without[0]].attention.self.query.bias[head] = 0
        for weights in model.parameters():
            weights.copy_((weights * STEPS).round() / STEPS)
    model.save_pretrained(folder)
