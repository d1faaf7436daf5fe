"""The dependency probe written plainly: head by head, sentence by sentence, in numpy."""

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
    """Attention of one head between words: summed to a word's pieces, the mean from them.

    A word that shares all its pieces with another one gets and gives none.
    """
    kept = np.flatnonzero(word >= 0)
    starts = np.flatnonzero(np.diff(word[kept], prepend=-1))
    pieces = np.diff(np.append(starts, len(kept)))
    keys = np.add.reduceat(attention[kept][:, kept], starts, axis=1)
    there = word[kept][starts]
    seen = np.zeros((words, words), dtype=np.float32)
    seen[np.ix_(there, there)] = np.add.reduceat(keys, starts, axis=0) / pieces[:, None].astype(np.float32)
    return seen


def arcs_of(window: Window, probe: DependencyProbe) -> list[tuple[int, int, list[int]]]:
    """Dependent, head word and the rows that count the arc; words counted from the sentence's start."""
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
    """Right answers by row, direction, layer and head of an eager model that returns its attention."""
    config = network.config
    right = np.zeros((len(probe.rows), 2, config.num_hidden_layers, config.num_attention_heads), dtype=int)
    for places, inputs in batches:
        with torch.inference_mode():
            layers = [each.numpy() for each in network(**inputs, output_attentions=True).attentions]
        for row, place in enumerate(places):
            each = tokenised[place]
            word = example_of(each, each.passage.words, False).word
            window = windows[each.passage.key]
            arcs = arcs_of(window, probe)
            for layer, weights in enumerate(layers):
                for head in range(config.num_attention_heads):
                    seen = between_words(weights[row, head, : each.size, : each.size], word, window.size)
                    np.fill_diagonal(seen, -1)
                    for turn, looked in enumerate((seen, seen.T)):
                        chosen = looked.argmax(axis=1)
                        for dependent, governor, counted in arcs:
                            if chosen[dependent] == governor and looked[dependent, governor] > 0:
                                right[counted, turn, layer, head] += 1
    return right
