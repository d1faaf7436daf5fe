"""Real layouts: the pairs of a table as examples of the embedded encoder's tokenizer, with their partners."""

import csv
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from transformers import AutoTokenizer

from headroles.extraction.model.checkpoint import find_checkpoint
from headroles.extraction.scoring.pairing import find_partners
from headroles.extraction.texts.tokens import example_of, tokenise
from headroles.records.example import Example
from headroles.records.passage import Passage
from headroles.tasks import TASKS


def read_pairs(task: str, file: Path, count: int) -> list[Passage]:
    """Return the first rows of a task's table as passages."""
    with file.open(encoding="utf-8") as lines:
        rows = csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
        texts = [tuple(row[name] for name in TASKS[task].columns) for row in rows]
    return [Passage(f"{task}/{number}", pair) for number, pair in enumerate(texts[:count])]


def read_layouts(passages: Sequence[Passage]) -> tuple[list[Example], list[tuple[int, int]]]:
    """Return the examples of passages, each with its partner, and the places of the pairs."""
    tokenizer = AutoTokenizer.from_pretrained(find_checkpoint(None, None).target)
    tokenised = tokenise(tokenizer, passages, 512)
    partners = find_partners(tokenised, [passage.key for passage in passages])
    examples = [example_of(given, None, arcs=False) for given in tokenised]
    pairs = list(zip(partners.first.tolist(), partners.second.tolist(), strict=True))
    whole = list(examples)
    for one, other in pairs:
        whole[one] = replace(examples[one], partner=examples[other])
        whole[other] = replace(examples[other], partner=examples[one])
    return whole, pairs
