"""Measure heads that fake `block` or a role of equal words, beside heads that hold it, on real texts.

Each line of JSON is one head, role and task: mean score, mean of the contrast that decides, whether the head
gets the role, and the number of inputs (for `block`: of pairs). Texts are cut into words and marks, with
capital letters. Sentences of EWT are paired with the next one.

    python benchmarks/calibration/fakes.py --data ../shared/data
"""

import gzip
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import click
import numpy as np

from headroles.arrays import selection_of
from headroles.extraction.scoring.pairing import find_partners
from headroles.records.example import Example, Lexical, Scores
from headroles.records.rules.rule import Decision
from headroles.sieves.built_in.block import OPENING
from headroles.sieves.weights.reference import apply
from headroles.stats.engine import judge
from tests.support.fakes import (
    CLOCKS,
    KEYS,
    POSITIONS,
    PUNCTUATION,
    TEXTS,
    WH,
    Fake,
    by_copies,
    by_words,
    own_text,
)  # fmt: skip

TASKS = {"QNLI": (1, 2), "QQP": (3, 4), "MRPC": (3, 4)}
SAME_WORD = ("identical", "identical:other", "duplicate", "related:other")
AUXILIARY = (
    "is", "are", "was", "were", "do", "does", "did", "can", "could", "will", "would", "should",
)  # fmt: skip
STRIKES: dict[str, Callable[[list[str]], list[float]]] = {
    "wh-word": lambda words: [word.lower() in WH for word in words],
    "capital letter": lambda words: [word[:1].isupper() for word in words],
    "auxiliary word": lambda words: [word.lower() in AUXILIARY for word in words],
    "article": lambda words: [word.lower() in ("the", "a", "an") for word in words],
    "long word": lambda words: [len(word) > 8 for word in words],
    "initial of the input": lambda words: [word != "" and word[0] == "".join(words)[0] for word in words],
    "word that was there before": lambda words: [
        word != "" and word in words[:place] for place, word in enumerate(words)
    ],
}
OTHER_KEYS = {
    "most frequent token": by_words(
        lambda words: [
            word != "" and words.count(word) == max(words.count(other) for other in words if other)
            for word in words
        ]
    ),
    "wh and auxiliary words": by_words(lambda words: [word.lower() in WH + AUXILIARY for word in words]),
}
MOST = 96
"""Most tokens of an input."""


def texts_of(data: Path, task: str) -> Iterator[tuple[str, str]]:
    """Yield the pairs of texts of a task."""
    if task == "EWT":
        path = data / "ud_english_ewt" / "en_ewt-ud-dev.conllu.gz"
        lines = gzip.decompress(path.read_bytes()).decode().splitlines()
        texts = [line.removeprefix("# text = ") for line in lines if line.startswith("# text = ")]
        yield from list(pairwise(texts))[::2]
        return
    first, second = TASKS[task]
    for line in (data / "glue" / task / "dev.tsv").read_text(encoding="utf-8").splitlines()[1:]:
        row = line.split("\t")
        if len(row) > second:
            yield row[first], row[second]


def examples_of(data: Path, task: str, count: int) -> list[Example]:
    """Return the first inputs of a task, with partners of equal length."""
    examples: list[Example] = []
    for texts in texts_of(data, task):
        parts = [re.findall(r"\w+|[^\w\s]", text) for text in texts]
        tokens = ("[CLS]", *parts[0], "[SEP]", *parts[1], "[SEP]")
        if len(tokens) <= MOST and all(parts):
            segment = np.array([-1, *[0] * len(parts[0]), -1, *[1] * len(parts[1]), -1])
            word = np.where(segment >= 0, np.cumsum(segment >= 0) - 1, -1)
            lemmas = tuple(re.sub("(?<=..)(s|ed|ing)$", "", each.lower()) for part in parts for each in part)
            known = Lexical(lemmas=lemmas)
            examples.append(Example(str(len(examples)), tokens, segment=segment, word=word, lexical=known))
    examples = examples[:count]
    given = [SimpleNamespace(size=each.size, texts=each.segment, stack=None) for each in examples]
    partners = find_partners(cast(Any, given), [each.key for each in examples])
    places = [partners.of(place) for place in range(len(examples))]
    return [
        each if place is None else replace(each, partner=examples[place])
        for each, place in zip(examples, places, strict=True)
    ]


def alike(feature: Callable[[str], object]) -> Fake:
    """Return a head that looks at other tokens with the same feature."""

    def fake(example: Example) -> np.ndarray:
        names: dict[object, int] = {}
        kind = np.array([names.setdefault(feature(token), len(names)) for token in example.tokens])
        text = example.segment >= 0
        cells = np.equal.outer(kind, kind) & np.logical_and.outer(text, text)
        cells &= ~np.eye(example.size, dtype=np.bool_)
        return spread(cells)

    return fake


def spread(cells: np.ndarray) -> np.ndarray:
    """Return even attention over cells, and over everything where a query has none."""
    cells = np.where(cells.any(axis=1, keepdims=True), cells, True).astype(np.float64)
    rows: np.ndarray = cells / cells.sum(axis=1, keepdims=True)
    return rows


def frequency_class(examples: list[Example]) -> Callable[[str], object]:
    """Return the number of binary digits of how often a token occurs in all inputs."""
    counts = Counter(token for example in examples for token in example.tokens)
    return lambda token: counts[token].bit_length()


def near(fake: Fake, tokens: int) -> Fake:
    """Return a head whose attention is multiplied by a decay with distance."""

    def nearby(example: Example) -> np.ndarray:
        place = np.arange(example.size)
        cells = fake(example) * np.exp(-abs(np.subtract.outer(place, place)) / tokens)
        rows: np.ndarray = cells / cells.sum(axis=1, keepdims=True)
        return rows

    return nearby


def holder(role: str, share: float) -> Fake:
    """Return a head that gives a share of its attention to the cells of a role, and the rest to all."""
    (mask,) = selection_of([role]).masks

    def fake(example: Example) -> np.ndarray:
        rows: np.ndarray = (
            share * spread(mask.mask(example).rows(0, example.size)) + (1 - share) / example.size
        )
        return rows

    return fake


def fakes_of(role: str, examples: list[Example]) -> dict[str, Fake]:
    """Return fakes of a role, and two heads that hold it."""
    if role == "block":
        held = {"ORACLE full": own_text(1.0), "ORACLE half": own_text(0.5)}
        clocks = {f"previous {name}": by_words(strikes, "latest") for name, strikes in STRIKES.items()}
        stretches = {
            f"from {name} to the next": by_words(strikes, "since") for name, strikes in STRIKES.items()
        }
        for place, name in enumerate(("first", "second")):
            stretches[f"from copy of the {name} token to the next"] = by_copies(place, "since")
        return CLOCKS | clocks | stretches | POSITIONS | PUNCTUATION | held
    likeness = {
        "same length": alike(len),
        "same class of frequency": alike(frequency_class(examples)),
        "same first letter": alike(lambda token: token[:1]),
        "same first letter and length": alike(lambda token: (token[:1], len(token))),
    }
    keys = KEYS | OTHER_KEYS
    nearby = {f"{name}, decay 8": near(fake, 8) for name, fake in keys.items()}
    held = {f"ORACLE {name}": holder(role, share) for name, share in (("full", 1.0), ("half", 0.5))}
    return keys | nearby | likeness | POSITIONS | PUNCTUATION | {"own text": TEXTS["own text"]} | held


def measure(task: str, role: str, examples: list[Example]) -> Iterator[dict[str, object]]:
    """Yield a line per fake of a role."""
    fakes = fakes_of(role, examples)
    sieves = replace(selection_of([role]), paired=role == "block")
    names, rng = list(fakes), np.random.default_rng(9)
    values = np.full((len(sieves.columns), len(examples), 1, len(fakes)), np.nan)
    plans = [sieves.plan(example, None, np.float64) for example in examples]
    for place, (example, plan) in enumerate(zip(examples, plans, strict=True)):
        rows = np.stack([fake(example) for fake in fakes.values()])
        rows = rows * rng.gamma(16.0, 1 / 16, rows.shape)  # scores without spread are untestable
        values[:, place, 0] = apply(plan, rows / rows.sum(axis=2, keepdims=True))
    if role == "block":  # one value for each pair
        other = [int(example.partner.key) if example.partner else -1 for example in examples]
        first = np.array([own < partner for own, partner in enumerate(other)])
        both = (values[-1] + values[-1][other]) / 2
        values[-1] = np.where(first[:, None, None], both, np.nan)
    low, high = (np.stack([getattr(plan, name) for plan in plans], axis=1) for name in ("low", "high"))
    cells = np.stack([plan.cells for plan in plans], axis=1)
    keys = tuple(example.key for example in examples)
    tokens = np.array([example.size for example in examples])
    values = values.astype(np.float32)
    scores = Scores(sieves.columns, keys, keys, tokens, cells, values, np.zeros(cells.shape))
    rules = tuple(
        replace(rule, low=np.nanmin(low[at]), high=np.nanmax(high[at]))
        for at, rule in enumerate(sieves.rules())
    )
    found = judge(scores, rules, Decision())
    column = next(rule.contrast for rule in rules if rule.sieve == role)
    at = sieves.columns.index(column)
    for head, name in enumerate(names):
        yield {
            "task": task,
            "role": role,
            "head": name,
            "score": round(float(np.nanmean(values[0, :, 0, head])), 3),
            "contrast": round(float(np.nanmean(values[at, :, 0, head])), 3),
            "column": column,
            "units": int(np.isfinite(values[at, :, 0, head]).sum()),
            "labelled": bool(found.decision[found.of(role), 0, head] == 0),
        }


@click.command()
@click.option("--data", required=True, type=click.Path(exists=True, path_type=Path), help="The data folder.")
@click.option("--inputs", default=300, show_default=True, help="Inputs of each task.")
@click.option("--opening", default=OPENING, show_default=True, help="Tokens that open a text.")
@click.option("--quick", is_flag=True, help="150 inputs.")
def main(data: Path, inputs: int, opening: int, quick: bool) -> None:
    """Measure the fakes."""
    from headroles.sieves.built_in import block

    block.OPENING = opening
    for task in (*TASKS, "EWT"):
        examples = examples_of(data, task, 150 if quick else inputs)
        for role in ("block", *SAME_WORD):
            for line in measure(task, role, examples):
                click.echo(json.dumps(line))


if __name__ == "__main__":
    main()
