"""A BERT of two layers whose states are known exactly: what each head looks at and writes is planned.

The hidden state has a place for each word, each position, and pairs of places that heads write to. A head
adds a number to one place of a pair and takes it from the other, so the mean of the state stays 0. Norms are
set to the identity: their epsilon is so large that no hidden state matters beside it. The last norm shows no
unread place. Layers have no MLP. So a state is the sum of the embedding and of what all heads write.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

LIST = "ant bee cat cow dog elk fox gnu hen jay koi owl pig ram rat yak ash bay elm fig"
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
WORDS = tuple(LIST.split())
VOCABULARY = (*SPECIAL, *WORDS)
LAYERS, SIZE, POSITIONS, PAIRS = 2, 36, 15, 6
"""Layers, size of a head, tokens of an input, and pairs of places; one more pair is read by nobody."""
DIFFERENT, TWICE = 9, (2, 4)
"""Different words of a text, and fewest and most of them that stand in it twice."""
SHARP = 40.0
"""Logit of attention where a word matches; half of it for "[CLS]", and as much less for later keys."""
LARGE = 1e12
"""Epsilon of the norms."""
Head = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Planned:
    """What a head does; one that is not planned looks evenly at all tokens and writes nothing.

    Attributes:
        writes: Number that is written where the head looks at words alone.
        pair: Where it is written; ``PAIRS`` for the pair that nobody reads.
        looks: "earlier": at earlier copies of the query's word, without any at "[CLS]". "copies": at these
            and at the query itself. "even": at all tokens alike.
        by_word: Whether the number of a word is ``writes`` times a number of its own (``sizes``).
        backup: Number in ``pair`` of the query at which the head looks at "[CLS]" as much as at an earlier
            copy, as where another head has written that already; 0: it does not look.
    """

    writes: float = 0.0
    pair: int = 0
    looks: str = "earlier"
    by_word: bool = False
    backup: float = 0.0


def sizes(pair: int) -> np.ndarray:
    """Return the number of every word in a pair of places; words are alike in law."""
    return np.random.default_rng(pair).normal(size=len(WORDS))


def copied_texts(count: int, seed: int = 0) -> list[str]:
    """Return texts of 9 different words in random order, 2 to 4 of which stand in it twice."""
    rng = np.random.default_rng(seed)
    texts = []
    for _ in range(count):
        words = rng.choice(WORDS, DIFFERENT, replace=False)
        again = words[: rng.integers(TWICE[0], TWICE[1] + 1)]
        texts.append(" ".join(rng.permutation([*words, *again]).tolist()))
    return texts


def exact_states(text: str, plan: Mapping[Head, Planned], removed: Collection[Head] = ()) -> np.ndarray:
    """Return the last states of "[CLS]", the words and "[SEP]", with the outputs of some heads set to zero.

    Returns:
        States (tokens, places), float64: words, positions, pairs, and the place that keeps the mean at 0.
    """
    words = text.split()
    tokens = ["[CLS]", *words, "[SEP]"]
    states = np.zeros((len(tokens), len(VOCABULARY) + POSITIONS + 2 * PAIRS + 1))
    for place, token in enumerate(tokens):
        states[place, [VOCABULARY.index(token), len(VOCABULARY) + place, -1]] = 1.0, 1.0, -2.0
    for layer in range(LAYERS):
        before = states.copy()
        for head, planned in plan.items():
            if head[0] != layer or head in removed or planned.pair == PAIRS:
                continue
            plus = len(VOCABULARY) + POSITIONS + 2 * planned.pair
            for place, word in enumerate(words, 1):
                copies = words[: place - 1].count(word)
                met = before[place, plus] if planned.backup else 0.0
                share = copies / (copies + 1.0) if planned.backup and met else float(copies > 0)
                share = 1.0 if planned.looks == "copies" else share
                own = sizes(planned.pair)[WORDS.index(word)] if planned.by_word else 1.0
                states[place, [plus, plus + 1]] += np.array([1.0, -1.0]) * share * own * planned.writes
    return states


def save_copies(folder: Path, plan: Mapping[Head, Planned], *, heads: int) -> Path:
    """Write the model and its tokenizer, which splits at blanks, into a new folder.

    Args:
        folder: The folder.
        plan: What heads do.
        heads: Number of heads of a layer.
    """
    import torch
    from transformers import BertConfig, BertModel

    config = BertConfig(
        vocab_size=len(VOCABULARY),
        hidden_size=heads * SIZE,
        num_hidden_layers=LAYERS,
        num_attention_heads=heads,
        intermediate_size=1,
        max_position_embeddings=POSITIONS,
        layer_norm_eps=LARGE,
    )
    model: Any = BertModel(config, add_pooling_layer=False)
    with torch.no_grad():
        for name, weights in model.named_parameters():
            weights.fill_(LARGE**0.5 if "LayerNorm.weight" in name else 0.0)
        _plant(model, plan)
    model.save_pretrained(folder)
    _save_tokenizer(folder)
    return folder


def _save_tokenizer(folder: Path) -> None:
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    raw = Tokenizer(models.WordLevel({word: k for k, word in enumerate(VOCABULARY)}, unk_token="[UNK]"))
    raw.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    raw.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    tokenizer = PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=raw,
        model_input_names=["input_ids", "attention_mask"],
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
        model_max_length=POSITIONS,
    )
    tokenizer.save_pretrained(folder)


def _plant(model: Any, plan: Mapping[Head, Planned]) -> None:
    import torch

    words, rest = len(VOCABULARY), model.config.hidden_size - 1
    pairs = words + POSITIONS
    assert pairs + 2 * (PAIRS + 1) <= rest
    model.embeddings.word_embeddings.weight[torch.arange(words), torch.arange(words)] = 1.0
    model.embeddings.word_embeddings.weight[:, rest] = -1.0
    model.embeddings.position_embeddings.weight[torch.arange(POSITIONS), words + torch.arange(POSITIONS)] = (
        1.0
    )
    model.embeddings.position_embeddings.weight[:, rest] = -1.0
    unread = pairs + 2 * PAIRS
    model.encoder.layer[-1].output.LayerNorm.weight[unread : unread + 2] = 0.0
    for (layer, head), planned in plan.items():
        _plant_head(model.encoder.layer[layer].attention, head, planned, pairs + 2 * planned.pair)


def _plant_head(attention: Any, head: int, planned: Planned, pair: int) -> None:
    """Write the weights of a head; of its own places, words come first, then positions, then "[CLS]"."""
    import torch

    own, special = slice(SIZE * head, SIZE * (head + 1)), len(SPECIAL)
    inner = attention.self
    query, key, value = (getattr(inner, name).weight[own] for name in ("query", "key", "value"))
    count, places, last = len(WORDS), torch.arange(POSITIONS), SIZE - 1
    words = torch.arange(count)
    sharp = SHARP * SIZE**0.5
    if planned.looks != "even":
        query[words, special + words] = sharp
        key[words, special + words] = 1.0
        later = (places[:, None] >= places[None]) if planned.looks == "earlier" else places[:, None] > places
        query[count : count + POSITIONS, len(VOCABULARY) + places] = -sharp * later.float()
        key[count + places, len(VOCABULARY) + places] = 1.0
        inner.query.bias[own][last] = sharp / 2
        key[last, VOCABULARY.index("[CLS]")] = 1.0
        if planned.backup:
            query[last, pair] = sharp / 2 / planned.backup
    numbers = torch.tensor(sizes(planned.pair)) if planned.by_word else torch.ones(count)
    value[0, special + words] = numbers.to(value)
    output = attention.output.dense.weight[:, own]
    output[pair, 0], output[pair + 1, 0] = planned.writes, -planned.writes


def exact_damage(texts: Sequence[str], plan: Mapping[Head, Planned], removed: Collection[Head]) -> np.ndarray:
    """Return the mean of 1 − cosine over all tokens of each text, with heads set to zero."""
    rows = []
    for text in texts:
        clean, without = exact_states(text, plan), exact_states(text, plan, removed)
        norms = np.linalg.norm(clean, axis=1) * np.linalg.norm(without, axis=1)
        rows.append((1 - (clean * without).sum(1) / norms).mean())
    return np.array(rows)
