"""Passages with trees, streamed through tiny models as runs do, and the scores of plain attention."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from headroles import score
from headroles.arrays import selection_of
from headroles.records import Passage, Words
from tests.support.annotated import RELATIONS

if TYPE_CHECKING:
    from headroles.extraction import Model

VOCABULARY = (
    "the", "committee", "didn't", "decide", "about", "unbelievable", "treaty", "it", "was", "signed", "in",
    "Paris", "long", "debate", "re-opening", ",", "!",
)  # fmt: skip


def tree_of(words: Sequence[str], heads: Sequence[int], relations: Sequence[str], **more: Any) -> Words:
    """Words that follow each other after one blank, with their tree."""
    ends = np.cumsum([len(word) + 1 for word in words]) - 1
    starts = ends - [len(word) for word in words]
    return Words(np.stack([starts, ends], axis=1), np.array(heads), tuple(relations), **more)


def _tree(rng: np.random.Generator, words: int) -> list[int]:
    """Heads of words: each depends on one of the four before it, in an order that is nearly the text's."""
    order = np.argsort(np.arange(words) + rng.integers(0, 4, words), kind="stable")
    heads = np.full(words, -1)
    for place in range(1, words):
        heads[order[place]] = order[max(0, place - int(rng.integers(1, 5)))]
    listed: list[int] = heads.tolist()
    return listed


def passages(
    texts: int = 2, count: int = 6, *, fewest: int = 3, most: int = 24, seed: int = 11
) -> list[Passage]:
    """Random texts with trees of near heads: words of one piece and of several, of many lengths."""
    rng = np.random.default_rng(seed)
    made = []
    for number in range(count):
        both, trees = [], []
        for _ in range(texts):
            words = rng.choice(VOCABULARY, size=rng.integers(fewest, most + 1)).tolist()
            both.append(" ".join(words))
            heads = _tree(rng, len(words))
            trees.append(tree_of(words, heads, rng.choice(RELATIONS, len(words)).tolist()))
        made.append(Passage(f"made/{number}", tuple(both), None, tuple(trees)))
    return made


def streamed(
    model: "Model",
    inputs: Sequence[Passage],
    sieves: Any = None,
    *,
    size: int = 5,
    longest: int = 96,
    lexicon: Any = None,
    known: bool = True,
    **how: Any,
) -> Any:
    """The shard of scores of a job of sieves, with the words of the passages unless nobody knows them."""
    from headroles.extraction import Annotator, SieveJob, stream_tokenised, tokenise

    words = Annotator(None) if known else None
    job = SieveJob(model, selection_of(None) if sieves is None else sieves, words, lexicon)
    shards = [tokenise(model.tokenizer, inputs, longest)]
    usual = {"batch_size": size, "advance": lambda count: None}
    (shard,) = stream_tokenised(model, shards, job, **usual | how)
    return shard


def plain_scores(model: "Model", network: Any, inputs: Sequence[Passage], names: Sequence[Any]) -> np.ndarray:
    """Scores of the plain eager network on each input alone, in float64: columns, examples, layers, heads."""
    import torch

    from headroles.extraction import example_of, tokenise

    columns = selection_of(names).columns
    found = np.full((len(columns), len(inputs), model.layers, model.heads), np.nan)
    for place, each in enumerate(tokenise(model.tokenizer, inputs, 96)):
        example = example_of(each, each.passage.words, True)
        tensors = {name: torch.tensor([values]) for name, values in each.inputs.items()}
        with torch.inference_mode():
            layers = network(**tensors, output_attentions=True).attentions
        for layer, attention in enumerate(layers):
            weights = attention.double().numpy()
            seen = (weights[0] > 0).any(0)
            scores = score(weights, example, names, visible=seen, sinks=True)
            for column, own in scores.items():
                found[columns.index(column), place, layer] = own[0]
    return found
