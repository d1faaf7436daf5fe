"""Inputs of the recorded runs: made-up sentences with trees and mentions, pairs, and a table of scores."""

import csv
import json
from io import StringIO
from pathlib import Path

import numpy as np

SCRIPT = "<script>alert(1)</script>"
TURNED = "\u202eright to left\u202c"
STEERING = 'a\x1b[31m "red" \u2066word\u2069'
HOSTILE = (SCRIPT, TURNED, STEERING, "'; DROP & <b>bold</b> \\textbf{x} $y_1$ | *z*")
"""Texts that a writer must not take for markup, marks of direction, or commands of a terminal."""

NOUNS = ("cat", "dog", "house", "street", "man", "girl", "river", "boat", "table", "song", "king", "tree")
VERBS = ("saw", "liked", "found", "built", "lost", "painted", "heard", "crossed")
ADJECTIVES = ("small", "red", "old", "quiet", "cold", "tall")
ADVERBS = ("often", "never", "slowly", "again")
OTHERS = ("the", "a", "it", "she", "who", "did", "in", "and", ".", "?", ",")
WORDS = (*NOUNS, *VERBS, *ADJECTIVES, *ADVERBS, *OTHERS)

PAIRS, MORE_PAIRS, TREES, TRAINING, LISTED, SCORES = (
    "pairs & more.tsv", "others.tsv", "trees.conllu", "training.conllu", "listed.jsonl", "scores.csv",
)  # fmt: skip
"""Files that ``write_inputs`` writes."""

Row = tuple[str, str, int, str, str]
"""Word, part of speech, number of its head, relation, and entity ("" where it is none)."""


def clause(rng: np.random.Generator) -> list[Row]:
    """Return a sentence with its tree; its subject is sometimes a pronoun."""
    rows: list[Row] = []

    def phrase(entity: str) -> list[tuple[str, str, str, str]]:
        noun = [(str(rng.choice(NOUNS)), "NOUN", "", entity)]
        adjective = [(str(rng.choice(ADJECTIVES)), "ADJ", "amod", "")] if rng.random() < 0.5 else []
        return [(str(rng.choice(["the", "a"])), "DET", "det", ""), *adjective, *noun]

    entities = rng.permutation(["1", "2", "3"]).tolist()
    pronoun = [(str(rng.choice(["it", "she"])), "PRON", "", entities[0])]
    subject = pronoun if rng.random() < 0.4 else phrase(entities[0])
    adverb = [(str(rng.choice(ADVERBS)), "ADV", "advmod", "")] if rng.random() < 0.5 else []
    verb, thing = len(subject) + len(adverb) + 1, phrase(entities[1])
    for word, part, relation, entity in subject:
        rows.append((word, part, len(subject) if relation else verb, relation or "nsubj", entity))
    rows += [(word, part, verb, relation, "") for word, part, relation, _ in adverb]
    rows.append((str(rng.choice(VERBS)), "VERB", 0, "root", ""))
    for word, part, relation, entity in thing:
        rows.append((word, part, verb + len(thing) if relation else verb, relation or "obj", entity))
    return [*rows, (".", "PUNCT", verb, "punct", "")]


def text_of(rows: list[Row]) -> str:
    """Return the words of a sentence."""
    return " ".join(row[0] for row in rows)


def pairs_text(seed: int, count: int = 60) -> str:
    """Return a table of questions and sentences in documents; some of its texts are hostile."""
    rng = np.random.default_rng(seed)
    lines = ["question\tsentence\tdocument"]
    for number in range(count):
        question = f"did {text_of(clause(rng))[:-2]} ?"
        sentence = text_of(clause(rng))
        if number % 15 == 14:
            sentence = f"{HOSTILE[number // 15 % 4]} {sentence}"
        lines.append(f"{question}\t{sentence}\tdocument {number // 3}")
    return "\n".join(lines) + "\n"


def treebank_text(documents: int, seed: int) -> str:
    """Return documents of three to five sentences in CoNLL-U, with entities."""
    rng = np.random.default_rng(seed)
    lines = []
    for number in range(documents):
        lines.append(f"# newdoc id = {'<i>' if number == 1 else 'd'}{number}")
        for _ in range(int(rng.integers(3, 6))):
            for place, (word, part, head, relation, entity) in enumerate(clause(rng), start=1):
                misc = f"Entity=({entity}-thing)" if entity else "_"
                lines.append(f"{place}\t{word}\t{word}\t{part}\t_\t_\t{head}\t{relation}\t_\t{misc}")
            lines.append("")
    return "\n".join(lines) + "\n"


def listed_text(count: int = 20) -> str:
    """Return sentences with words, trees and clusters of mentions as JSON lines, in documents of two."""
    rng = np.random.default_rng(13)
    lines = []
    for number in range(count):
        rows = clause(rng)
        record = {
            "words": [row[0] for row in rows],
            "heads": [row[2] for row in rows],
            "relations": [row[3] for row in rows],
            "clusters": [[[0, 1], [len(rows) - 2, len(rows) - 1]]],
            "key": f"no {number}",
            "group": f"document {number // 2}",
        }
        lines.append(json.dumps(record))
    return "\n".join(lines) + "\n"


def scores_text(units: int = 54) -> str:
    """Return a table of scores whose sieves and first unit have hostile names; some scores are missing."""
    rng, text = np.random.default_rng(3), StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(["sieve", "unit", "layer", "head", "score", "null", "margin", "low", "high", "question"])
    for place, name in enumerate((*HOSTILE[:3], "plain")):
        level = np.random.default_rng(place).choice([0.1, 0.22, 0.6], size=(2, 3))
        for unit in range(units):
            values = (level + rng.normal(0, 0.08, size=level.shape)).clip(0, 1).round(4)
            for (layer, head), value in np.ndenumerate(values):
                score = "" if unit % 17 == 5 and layer else f"{value:g}"
                own = f"u{unit}" if unit else SCRIPT
                table.writerow((name, own, layer, head, score, 0.1, 0.1, 0, 1, f"Is it {name}?"))
    return text.getvalue()


def write_inputs(folder: Path) -> None:
    """Write all inputs into a folder."""
    texts = {
        PAIRS: pairs_text(7),
        MORE_PAIRS: pairs_text(8, 156),
        TREES: treebank_text(20, 5),
        TRAINING: treebank_text(8, 6),
        LISTED: listed_text(),
        SCORES: scores_text(),
    }
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
