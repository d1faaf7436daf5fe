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
from typing import Any

import numpy as np

LIST = """
ant bee cat cow dog elk fox gnu hen jay koi owl pig ram rat yak ash bay elm fig fir ivy oak yew cup fan jar
jug key lid map mug net pan pen pot
"""
WORDS = tuple(LIST.split())
VOCABULARY = ("<s>", "<unk>", *WORDS)
COUNT = len(VOCABULARY)
GAIN, WEAK = 12.0, 0.05
"""Logit that an induction head adds to the word that it copies; that of a word seen in every place."""
POSITIONS, SIZE, HEADS, LAYERS = 64, 64, 4, 2
WIDTH = SIZE * HEADS
SHARP = 40.0 * SIZE**0.5
"""Query of attention where a key matches; half of it for the first token, 0 elsewhere."""
LARGE = 1e12
"""Epsilon of the norms."""
PREVIOUS, SINK, UNREAD, INDUCTION, SECOND, BAG, IDLE = (0, 0), (0, 2), (0, 3), (1, 0), (1, 1), (1, 2), (1, 3)


def save_induction(folder: Path, *, redundant: bool = False) -> Path:
    """Write the model and its tokenizer, which splits at blanks and opens every text with "<s>".

    In the redundant model 1-1 is a second induction head: each is then made up for by the other.
    """
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

    config = GPT2Config(
        vocab_size=COUNT, n_positions=POSITIONS, n_embd=WIDTH, n_layer=LAYERS, n_head=HEADS, n_inner=1,
        layer_norm_epsilon=LARGE, tie_word_embeddings=False, bos_token_id=0, eos_token_id=None,
        architectures=["GPT2LMHeadModel"],
    )  # fmt: skip
    model: Any = GPT2LMHeadModel(config)
    with torch.no_grad():
        for name, weights in model.named_parameters():
            weights.fill_(LARGE**0.5 if "ln_" in name and name.endswith("weight") else 0.0)
        _plant(model, redundant)
    model.save_pretrained(folder)
    raw = Tokenizer(models.WordLevel({word: k for k, word in enumerate(VOCABULARY)}, unk_token="<unk>"))
    raw.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    raw.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 0)])
    tokenizer = PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=raw, model_input_names=["input_ids", "attention_mask"], bos_token="<s>",
        unk_token="<unk>", model_max_length=POSITIONS,
    )  # fmt: skip
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


def exact_loss(text: str, removed: tuple[tuple[int, int], ...] = (), *, redundant: bool = False) -> float:
    """Return the exact mean loss of the words of a text, with the outputs of some heads set to zero."""
    ids = [0, *(VOCABULARY.index(word) for word in text.split())]
    copies = [head for head in ((INDUCTION, SECOND) if redundant else (INDUCTION,)) if head not in removed]
    losses = []
    for place in range(len(ids) - 1):
        logits = np.zeros(COUNT)
        after = [j for j in range(1, place + 1) if ids[j - 1] == ids[place] and PREVIOUS not in removed]
        for j in after:
            logits[ids[j]] += GAIN * len(copies) / len(after)
        for j in range(1, place + 1):
            logits[ids[j]] += WEAK / (place + 1) * (BAG not in removed)
        losses.append(np.log(np.exp(logits).sum()) - logits[ids[place + 1]])
    return float(np.mean(losses))


def _plant(model: Any, redundant: bool) -> None:
    """Write the weights; the last place of the hidden state keeps its mean at 0, as norms subtract it."""
    words, places, rest = np.arange(COUNT), np.arange(POSITIONS), WIDTH - 1
    place, before, answer = COUNT + places, COUNT + POSITIONS + words, 2 * COUNT + POSITIONS + words
    embeddings = (model.transformer.wte.weight, model.transformer.wpe.weight)
    embeddings[0][words, words] = embeddings[1][places, place] = 1.0
    for embedding in embeddings:
        embedding[:, rest] = -1.0
    model.lm_head.weight[words, answer] = GAIN

    def part(head: tuple[int, int], which: int) -> Any:
        """Where a head's queries (0), keys (1) or values (2) are read from the hidden state."""
        start = which * WIDTH + SIZE * head[1]
        return model.transformer.h[head[0]].attn.c_attn.weight[:, start : start + SIZE]

    def look_at_first(head: tuple[int, int], sharp: float) -> None:
        """Let every query match the first position."""
        model.transformer.h[head[0]].attn.c_attn.bias[SIZE * (head[1] + 1) - 1] = sharp
        part(head, 1)[COUNT, SIZE - 1] = 1.0

    def copy(head: tuple[int, int], through: np.ndarray, target: Any, size: float = 1.0) -> None:
        """Write the words that a head sees to other places, and keep the mean at 0."""
        output = model.transformer.h[head[0]].attn.c_proj.weight[SIZE * head[1] : SIZE * (head[1] + 1)]
        part(head, 2)[words[-len(target) :], through] = 1.0
        output[through, target] = size
        output[through, rest] = -size

    for head, wanted in ((PREVIOUS, np.maximum(places - 1, 0)), (UNREAD, places)):
        part(head, 0)[place, wanted] = SHARP
        part(head, 1)[place, places] = 1.0
    copy(PREVIOUS, words, before)
    copy(UNREAD, 0 * words, np.full(COUNT, 3 * COUNT + POSITIONS))
    look_at_first(SINK, SHARP)
    look_at_first(IDLE, SHARP)
    for head in (INDUCTION, SECOND)[: 1 + redundant]:
        part(head, 0)[words, words] = SHARP
        part(head, 1)[before, words] = 1.0
        look_at_first(head, SHARP / 2)
        copy(head, words[1:], answer[1:])
    copy(BAG, words[1:], answer[1:], WEAK / GAIN)
