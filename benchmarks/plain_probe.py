"""A plain dependency probe in numpy, head by head and sentence by sentence, as a baseline."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from headroles.extraction.texts.tokens import Tokenised, example_of
from headroles.records.documents import Window
from headroles.sieves.language.relations import LEFT_OUT, canonical, covers
from headroles.sieves.probes.dependency import DependencyProbe

Batch = tuple[np.ndarray, dict[str, torch.Tensor]]


def between_words(attention: np.ndarray, word: np.ndarray, words: int) -> np.ndarray:
    """Return the attention of one head between words: the sum to the pieces of a word, the mean from them.

    A word that shares all its pieces with another word has no attention, neither to it nor from it.
    """
    tokens = np.flatnonzero(word >= 0)
    starts = np.flatnonzero(np.diff(word[tokens], prepend=-1))
    pieces = np.diff(np.append(starts, len(tokens)))
    keys = np.add.reduceat(attention[tokens][:, tokens], starts, axis=1)
    present = word[tokens][starts]
    result = np.zeros((words, words), dtype=np.float32)
    result[np.ix_(present, present)] = np.add.reduceat(keys, starts, axis=0) / pieces[:, None].astype(
        np.float32
    )
    return result


def arcs_of(window: Window, probe: DependencyProbe) -> list[tuple[int, int, list[int]]]:
    """Return dependent, head word and the rows that count the arc; words count from the window's start."""
    document = window.document
    heads, relations = document.heads, document.relations
    assert heads is not None
    assert relations is not None
    arcs = []
    for word in range(window.start, window.stop):
        if heads[word] >= 0 and canonical(relations[word]) not in LEFT_OUT:
            counted = [k for k, row in enumerate(probe.rows) if k and covers(row, relations[word], "ud")]
            arcs.append((word - window.start, int(heads[word]) - window.start, [0, *counted]))
    return arcs


def right_heads(
    network: Any,
    batches: Sequence[Batch],
    tokenised: Sequence[Tokenised],
    windows: dict[str, Window],
    probe: DependencyProbe,
) -> np.ndarray:
    """Count right answers by row, direction, layer and head, of an eager model that returns its attention."""
    config = network.config
    right = np.zeros((len(probe.rows), 2, config.num_hidden_layers, config.num_attention_heads), dtype=int)
    for places, inputs in batches:
        with torch.inference_mode():
            layers = [layer.numpy() for layer in network(**inputs, output_attentions=True).attentions]
        for row, place in enumerate(places):
            item = tokenised[place]
            word = example_of(item, item.passage.words, False).word
            window = windows[item.passage.key]
            arcs = arcs_of(window, probe)
            for layer, weights in enumerate(layers):
                for head in range(config.num_attention_heads):
                    attention = between_words(weights[row, head, : item.size, : item.size], word, window.size)
                    np.fill_diagonal(attention, -1)
                    for direction, scores in enumerate((attention, attention.T)):
                        chosen = scores.argmax(axis=1)
                        for dependent, governor, counted in arcs:
                            if chosen[dependent] == governor and scores[dependent, governor] > 0:
                                right[counted, direction, layer, head] += 1
    return right
