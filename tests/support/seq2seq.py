"""Tiny encoder-decoders with random weights, pairs with trees, and what the plain models attend to."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from headroles import Arc, Example
from headroles.extraction import Model, example_of, tokenise
from headroles.records import Passage
from tests.support.architectures import configured
from tests.support.read_models import opened
from tests.support.streams import passages

DEEPER = {"num_decoder_layers": 3, "decoder_layers": 3}
"""Settings by which decoders have 3 layers, where encoders have 2."""
MODELS = ("t5", "mt5", "umt5", "bart", "mbart", "marian", "pegasus", "fsmt")
KINDS = ("encoder", "decoder", "cross")
RETURNED = {"encoder": "encoder_attentions", "decoder": "decoder_attentions", "cross": "cross_attentions"}


def saved(name: str, folder: Path, tokenizer_of: Callable[[str], Any]) -> Path:
    """A model with random weights; with "even " before its name one whose queries, keys and biases are 0."""
    import transformers as library

    kind, config, settings = configured(name.removeprefix("even "))
    deeper = {key: layers for key, layers in DEEPER.items() if ("num" in key) == ("T5" in config)}
    torch.manual_seed(1)
    model = library.AutoModel.from_config(getattr(library, f"{config}Config")(**settings | deeper)).eval()  # type: ignore[no-untyped-call]
    with torch.no_grad():
        for path, weights in model.named_parameters():
            if weights.dim() > 1:
                weights.normal_(0, 0.1 if kind == "t5" and "T5" in config else 0.2)  # T5 scales no logits
            asks = any(part in path for part in (".q.", ".k.", "q_proj", "k_proj", "relative_attention_bias"))
            if name.startswith("even ") and asks:
                weights.zero_()
    place = folder / name
    model.save_pretrained(place)
    tokenizer_of(kind).save_pretrained(place)
    return place


def loaded(folder: Path, kind: str | None, max_length: int = 96, dtype: str = "float32") -> Model:
    """The model, ready to be read."""
    return opened(folder, max_length, dtype, kind=kind)


def pairs(count: int = 8, seed: int = 3) -> list[Passage]:
    """Random pairs with trees, of 2 to 20 words each, of several pieces where they are long."""
    return passages(2, count, fewest=2, most=20, seed=seed)


def plain(
    folder: Path, passages: Sequence[Passage], kind: str, tokenizer: Any, left: int = 0
) -> list[np.ndarray]:
    """Weights (layers, heads, queries, keys) of the plain eager model, passage by passage.

    Args:
        folder: Of the model.
        passages: Pairs.
        kind: Which attention.
        tokenizer: The plain one.
        left: Padding put before either text, whose rows and columns are cut off again.
    """
    from transformers import AutoModel

    network = AutoModel.from_pretrained(folder, attn_implementation="eager").eval()
    start, pad = getattr(network.config, "decoder_start_token_id", None), network.config.pad_token_id
    found = []
    for each in passages:
        read = tokenizer(each.texts[0], split_special_tokens=True)["input_ids"]
        said = tokenizer(text_target=each.texts[1], split_special_tokens=True)["input_ids"]
        first = said[-1] if "MBart" in type(network).__name__ else pad if start is None else start
        inputs = {}
        for side, ids in (("", read), ("decoder_", [first, *said[:-1]])):
            inputs[f"{side}input_ids"] = torch.tensor([[pad] * left + ids])
            inputs[f"{side}attention_mask"] = torch.tensor([[0] * left + [1] * len(ids)])
        with torch.inference_mode():
            output = network(**inputs, output_attentions=True, use_cache=False)
        layers = [layer[0, :, left:, left:].double().numpy() for layer in output[RETURNED[kind]]]
        found.append(np.stack(layers))
    return found


def hand_made(passage: Passage, kind: str, tokenizer: Any, start: str) -> Example:
    """The example of a pair, put together here piece by piece rather than by what is tested."""
    both = []
    for text, arguments in enumerate(([passage.texts[0]], [])):
        said = {"text_target": [passage.texts[1]]} if text else {}
        (encoding,) = tokenizer(
            *([arguments] if arguments else []), **said, split_special_tokens=True
        ).encodings
        (alone,) = tokenise(tokenizer, [Passage("x", (passage.texts[text],))], 10**6)
        word = example_of(alone, [passage.words[text]] if passage.words else None, False).word
        both.append((encoding.tokens, np.array(encoding.special_tokens_mask, bool), word))
    (read, read_special, read_word), (said_tokens, said_special, said_word) = both
    words = passage.words or ()
    base = len(words[0].heads) if words else 0
    decoder = (start, *said_tokens[:-1])
    segment = np.concatenate([[-1], np.where(said_special, -1, 1)[:-1]])
    word = np.concatenate([[-1], np.where(said_word >= 0, said_word + base, -1)[:-1]])
    first = np.arange(len(decoder)) == 0
    if kind == "cross":
        segment = np.concatenate([segment, np.where(read_special, -1, 0)])
        word = np.concatenate([word, read_word])
        opens = np.array([token == tokenizer.cls_token for token in read]) & read_special
        first = np.concatenate([first, opens])
    arcs = tuple(
        Arc(shift + place, shift + int(head), relation)
        for shift, each in zip((0, base), words, strict=False)
        for place, (head, relation) in enumerate(zip(each.heads, each.relations, strict=True))
        if head >= 0
    )
    tokens = (*decoder, *read) if kind == "cross" else decoder
    stack = (np.arange(len(tokens)) >= len(decoder)).astype(np.int32)
    return Example(passage.key, tokens, segment=segment, first=first, word=word, arcs=arcs, stack=stack)


def square(weights: np.ndarray) -> np.ndarray:
    """Cross attention (layers, heads, queries, keys) in the square of the joint example."""
    layers, heads, queries, keys = weights.shape
    laid = np.zeros((layers, heads, queries + keys, queries + keys))
    laid[:, :, :queries, queries:] = weights
    return laid
