"""A tiny BERT whose queries and keys are made by hand, so that the parts of contrasts are known."""

from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy.linalg import hadamard
from scipy.stats import ortho_group
from transformers import BertConfig, BertModel

from headroles.extraction import Model
from tests.support.read_models import opened

SIZE, HEADS = 8, 4
ONE, THREE, ROTATED, BY_QUERY = range(HEADS)
"""Heads of layer 0: one dimension, three dimensions, the same rotated, and one that matches queries."""
CLASSES = 3
"""Classes of tokens that are not special, by their ids."""
STRENGTH = 6.0
"""Query times key, of a separator in the first heads and of the same class in the last."""


def class_of(ids: np.ndarray) -> np.ndarray:
    """Class of each token by its id."""
    return ids % CLASSES


def plant(folder: Path, tokenizer: Any) -> tuple[Model, np.ndarray]:
    """Save the model with a tokenizer of BERT's kind; gives it, and the rotation of head ``ROTATED``."""
    config = BertConfig(
        hidden_size=SIZE * HEADS, num_attention_heads=HEADS, num_hidden_layers=1, intermediate_size=16,
        vocab_size=400, max_position_embeddings=128,
    )  # fmt: skip
    network: Any = BertModel(config).eval()  # type: ignore[no-untyped-call]
    codes = torch.tensor(hadamard(SIZE * HEADS), dtype=torch.float32)
    separator, first, classes = codes[1], codes[2], codes[3 : 3 + CLASSES]
    rotation = ortho_group.rvs(SIZE, random_state=7)
    turn = torch.tensor(rotation, dtype=torch.float32)
    with torch.no_grad():
        table = network.embeddings
        for part in (table.word_embeddings, table.position_embeddings, table.token_type_embeddings):
            part.weight.zero_()
        ids = np.arange(config.vocab_size)
        table.word_embeddings.weight[:] = classes[class_of(ids)]
        table.word_embeddings.weight[tokenizer.sep_token_id] = separator
        table.word_embeddings.weight[tokenizer.cls_token_id] = first
        own = network.encoder.layer[0].attention.self
        for part in (own.query, own.key):
            part.weight.zero_()
            part.bias.zero_()
        read = codes / codes.shape[1]  # rows are orthogonal, so a row reads its own feature
        own.query.bias[ONE * SIZE] = STRENGTH
        own.key.weight[ONE * SIZE] = read[1]
        own.query.bias[THREE * SIZE : THREE * SIZE + 3] = STRENGTH / 3
        own.key.weight[THREE * SIZE : THREE * SIZE + 3] = read[1]
        rows = slice(ROTATED * SIZE, (ROTATED + 1) * SIZE)
        own.query.bias[rows] = turn @ (STRENGTH * torch.eye(SIZE)[0])
        own.key.weight[rows] = turn @ torch.outer(torch.eye(SIZE)[0], read[1])
        rows = slice(BY_QUERY * SIZE, BY_QUERY * SIZE + CLASSES)
        own.query.weight[rows] = STRENGTH * read[3 : 3 + CLASSES]
        own.key.weight[rows] = read[3 : 3 + CLASSES]
    network.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return opened(folder), rotation
