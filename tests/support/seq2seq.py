"""Tiny encoder-decoders with random weights, pairs with trees, and what the plain models attend to."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from headroles import Arc, Example, extraction
from headroles.records import Passage
from tests.support.architectures import configured
from tests.support.streams import passages

DEEPER = {"num_decoder_layers": 3, "decoder_layers": 3}
"""Settings by which decoders have 3 layers, where encoders have 2."""
MODELS = ("t5", "mt5", "umt5", "bart", "mbart", "marian", "pegasus", "fsmt")


def saved(name: str, folder: Path, tokenizer_of: Callable[[str], Any]) -> Path:
    """The folder of a model with random weights."""
    import torch
    import transformers as library

    kind, config, settings = configured(name)
    deeper = {key: layers for key, layers in DEEPER.items() if ("num" in key) == ("T5" in config)}
    torch.manual_seed(1)
    model = library.AutoModel.from_config(getattr(library, f"{config}Config")(**settings | deeper)).eval()  # type: ignore[no-untyped-call]
    with torch.no_grad():
        for weights in model.parameters():
            if weights.dim() > 1:
                weights.normal_(0, 0.1 if kind == "t5" and "T5" in config else 0.2)  # T5 scales no logits
    place = folder / name
    model.save_pretrained(place)
    tokenizer_of(kind).save_pretrained(place)
    return place


def pairs(count: int = 8) -> list[Passage]:
    """Random pairs with trees, of 2 to 20 words each, of several pieces where they are long."""
    return passages(2, count, fewest=2, most=20, seed=3)


def plain(folder: Path, passages: Sequence[Passage], kind: str, tokenizer: Any) -> list[np.ndarray]:
    """Weights (layers, heads, queries, keys) of the plain eager model, passage by passage."""
    import torch
    from transformers import AutoModel

    network = AutoModel.from_pretrained(folder, attn_implementation="eager").eval()
    start, pad = getattr(network.config, "decoder_start_token_id", None), network.config.pad_token_id
    found = []
    for each in passages:
        read = tokenizer(each.texts[0], split_special_tokens=True)["input_ids"]
        said = tokenizer(text_target=each.texts[1], split_special_tokens=True)["input_ids"]
        first = said[-1] if "MBart" in type(network).__name__ else pad if start is None else start
        given = {"input_ids": torch.tensor([read]), "decoder_input_ids": torch.tensor([[first, *said[:-1]]])}
        with torch.inference_mode():
            output = network(**given, output_attentions=True, use_cache=False)
        found.append(torch.stack(output[f"{kind}_attentions"])[:, 0].double().numpy())
    return found


def hand_made(passage: Passage, kind: str, tokenizer: Any, start: str) -> Example:
    """The example of a pair, put together here piece by piece rather than by what is tested."""
    both, trees = [], passage.words or ()
    for text, words in enumerate(passage.texts):
        encoded = tokenizer(**{"text_target" if text else "text": [words]}, split_special_tokens=True)
        (encoding,) = encoded.encodings
        (alone,) = extraction.tokenise(tokenizer, [Passage("x", (words,))], 10**6)
        word = extraction.example_of(alone, [trees[text]] if trees else None, False).word
        both.append((encoding.tokens, np.array(encoding.special_tokens_mask, bool), word))
    (read, read_special, read_word), (said_tokens, said_special, said_word) = both
    base = len(trees[0].heads) if trees else 0
    tokens = [start, *said_tokens[:-1]]
    segment = np.concatenate([[-1], np.where(said_special, -1, 1)[:-1]])
    word = np.concatenate([[-1], np.where(said_word >= 0, said_word + base, -1)[:-1]])
    first = np.arange(len(tokens)) == 0
    stack = np.zeros(len(tokens), dtype=np.int32)
    if kind == "cross":
        segment = np.concatenate([segment, np.where(read_special, -1, 0)])
        word = np.concatenate([word, read_word])
        opens = np.array([token == tokenizer.cls_token for token in read]) & read_special
        first = np.concatenate([first, opens])
        stack = np.concatenate([stack, np.ones(len(read), dtype=np.int32)])
        tokens += read
    arcs = tuple(
        Arc(shift + place, shift + int(head), relation)
        for shift, each in zip((0, base), trees, strict=False)
        for place, (head, relation) in enumerate(zip(each.heads, each.relations, strict=True))
        if head >= 0
    )
    return Example(
        passage.key, tuple(tokens), segment=segment, first=first, word=word, arcs=arcs, stack=stack
    )
