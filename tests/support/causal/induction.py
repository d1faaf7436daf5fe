"""A decoder of two layers whose next word is known exactly: a previous-token head, then an induction head.

The hidden state has a place for each word (the token), each position, each word (the token before), and
each word (the output). Norms are set to the identity: their epsilon is so large that no hidden state
matters beside it. Layers have no MLP.

Heads (layer-head): 0-0 looks at the token before and writes it down; 0-1 looks evenly and 0-2 at the first
token, and both read nothing; 0-3 looks at itself and writes where nobody reads. 1-0 looks at tokens that
follow an earlier copy of its own token, and raises their logit by ``GAIN``; 1-1 does the same in the
redundant model, and else reads nothing; 1-2 looks evenly and raises logits of seen words by ``WEAK``; 1-3
looks at the first token and reads nothing. A head of induction without a match looks at the first token,
of which it reads nothing.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import torch

BEGIN, UNKNOWN = "<s>", "<unk>"
LIST = """
ant bee cat cow dog elk fox gnu hen jay koi owl pig ram rat yak ash bay elm fig fir ivy oak yew cup fan jar
jug key lid map mug net pan pen pot
"""
WORDS = tuple(LIST.split())
VOCABULARY = (BEGIN, UNKNOWN, *WORDS)
GAIN, WEAK = 12.0, 0.05
"""Logit that an induction head adds to the word that it copies; that of a word seen in every place."""
POSITIONS, SIZE, HEADS, LAYERS = 64, 64, 4, 2
SHARP = 40.0
"""Logit of attention where a key matches; half of it for the first token, 0 elsewhere."""
LARGE = 1e12
"""Epsilon of the norms."""
PREVIOUS, IDLE, SINK, UNREAD = (0, 0), (0, 1), (0, 2), (0, 3)
INDUCTION, SECOND, BAG = (1, 0), (1, 1), (1, 2)


def save_induction(folder: Path, *, redundant: bool = False) -> Path:
    """Write the model and its tokenizer, which splits at blanks and opens every text with "<s>".

    Args:
        folder: A new folder.
        redundant: Whether 1-1 is a second induction head: each is then made up for by the other.
    """
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

    words = len(VOCABULARY)
    config = GPT2Config(
        vocab_size=words,
        n_positions=POSITIONS,
        n_embd=SIZE * HEADS,
        n_layer=LAYERS,
        n_head=HEADS,
        n_inner=1,
        layer_norm_epsilon=LARGE,
        tie_word_embeddings=False,
        bos_token_id=0,
        eos_token_id=None,
        architectures=["GPT2LMHeadModel"],
    )
    model: Any = GPT2LMHeadModel(config)
    with torch.no_grad():
        for name, weights in model.named_parameters():
            weights.fill_(LARGE**0.5 if "ln_" in name and name.endswith("weight") else 0.0)
        _plant(model, redundant)
    model.save_pretrained(folder)
    raw = Tokenizer(models.WordLevel({word: k for k, word in enumerate(VOCABULARY)}, unk_token=UNKNOWN))
    raw.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    raw.post_processor = processors.TemplateProcessing(
        single=f"{BEGIN} $A", pair=f"{BEGIN} $A $B", special_tokens=[(BEGIN, 0)]
    )
    tokenizer = PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=raw,
        model_input_names=["input_ids", "attention_mask"],
        bos_token=BEGIN,
        unk_token=UNKNOWN,
        model_max_length=POSITIONS,
    )
    tokenizer.save_pretrained(folder)
    return folder


def repeated_texts(count: int, seed: int = 0) -> list[str]:
    """Return texts of 8 to 14 different words, a few of which open it again at the end, in their order."""
    generator = np.random.default_rng(seed)
    texts = []
    for _ in range(count):
        words = generator.choice(WORDS, generator.integers(8, 15), replace=False).tolist()
        texts.append(" ".join([*words, *words[: generator.integers(4, len(words) + 1)]]))
    return texts


def exact_losses(
    text: str, *, removed: tuple[tuple[int, int], ...] = (), redundant: bool = False
) -> np.ndarray:
    """Return the exact loss of each next word, with the outputs of some heads set to zero.

    The first is that of the first word of the text, after "<s>".
    """
    ids = [0, *(VOCABULARY.index(word) for word in text.split())]
    copies = [head for head in ((INDUCTION, SECOND) if redundant else (INDUCTION,)) if head not in removed]
    losses = []
    for place in range(len(ids) - 1):
        logits = np.zeros(len(VOCABULARY))
        after = [j for j in range(1, place + 1) if ids[j - 1] == ids[place]]
        if after and PREVIOUS not in removed:
            for j in after:
                logits[ids[j]] += GAIN * len(copies) / len(after)
        if BAG not in removed:
            for j in range(1, place + 1):
                logits[ids[j]] += WEAK / (place + 1)
        losses.append(np.log(np.exp(logits).sum()) - logits[ids[place + 1]])
    return np.array(losses)


def _plant(model: Any, redundant: bool) -> None:
    """Write the weights; the last place of the hidden state keeps its mean at 0, as norms subtract it."""
    import torch

    words = len(VOCABULARY)
    token, place, before, answer = (
        torch.arange(start, start + count)
        for start, count in (
            (0, words), (words, POSITIONS), (words + POSITIONS, words), (2 * words + POSITIONS, words),
        )
    )  # fmt: skip
    spare, rest = 3 * words + POSITIONS, SIZE * HEADS - 1
    model.transformer.wte.weight[torch.arange(words), token] = 1.0
    model.transformer.wpe.weight[torch.arange(POSITIONS), place] = 1.0
    for embedding in (model.transformer.wte, model.transformer.wpe):
        embedding.weight[:, rest] = -1.0
    model.lm_head.weight[torch.arange(words), answer] = GAIN
    heads = {
        (layer, head): _Head(model.transformer.h[layer].attn, head)
        for layer in range(LAYERS)
        for head in range(HEADS)
    }
    scaled = SHARP * SIZE**0.5
    positions = torch.arange(POSITIONS)
    previous = heads[PREVIOUS]
    previous.query[place, (positions - 1).clamp(min=0)] = scaled
    previous.key[place, positions] = 1.0
    previous.read(token, torch.arange(words), before, rest)
    itself = heads[UNREAD]
    itself.query[place, positions] = scaled
    itself.key[place, positions] = 1.0
    itself.read(token, torch.zeros(words, dtype=torch.long), torch.full((words,), spare), rest)
    for head in (SINK, (1, 3)):
        heads[head].look_at_first(place, scaled)
    for head in (INDUCTION, SECOND)[: 1 + redundant]:
        copy = heads[head]
        copy.query[token, torch.arange(words)] = scaled
        copy.key[before, torch.arange(words)] = 1.0
        copy.look_at_first(place, scaled / 2)
        copy.read(token[1:], torch.arange(1, words), answer[1:], rest)
    heads[BAG].read(token[1:], torch.arange(1, words), answer[1:], rest, WEAK / GAIN)


class _Head:
    """Views of the weights of one head: what it reads of the hidden state, and where it writes."""

    def __init__(self, attention: Any, head: int) -> None:
        width, own = SIZE * HEADS, slice(SIZE * head, SIZE * (head + 1))
        self.query, self.key, self.value = (
            attention.c_attn.weight[:, part * width : (part + 1) * width][:, own] for part in range(3)
        )
        self.bias = attention.c_attn.bias[:width][own]
        self.output = attention.c_proj.weight[own]

    def look_at_first(self, place: "torch.Tensor", sharp: float) -> None:
        """Let every query match the first position."""
        self.bias[SIZE - 1] = sharp
        self.key[place[0], SIZE - 1] = 1.0

    def read(
        self,
        source: "torch.Tensor",
        through: "torch.Tensor",
        target: "torch.Tensor",
        rest: int,
        size: float = 1.0,
    ) -> None:
        """Copy places of the hidden state to other places, and keep the mean at 0."""
        self.value[source, through] = 1.0
        self.output[through, target] = size
        self.output[through, rest] = -size
