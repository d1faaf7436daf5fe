"""Ask which heads without syntax are "beyond word class", and which heads that know the head word are not.

All heads are planted attention between the words of a sentence, scored and tested by the shipped code, in
shards of 256 inputs. Fakes know places, word classes, lengths and frequencies of the sentence. Tables of
offsets are learned from other trees, so they are as good as such a table can be. Oracles put a share of
their attention on the head word, and the rest evenly.

    python benchmarks/calibration/word_class.py --data ../shared/data

Prints one line of JSON for each head and relation that is beyond distance: D and C (means), C/D, the number
of inputs, q (t-skew, corrected over the heads of its kind by Benjamini and Hochberg), and the verdict. The
unit is the input. A last line for each text counts verdicts.
"""

import csv
import itertools
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
import numpy as np
import torch

from headroles.arrays import selection_of
from headroles.extraction import read_conllu
from headroles.extraction.scoring.classes.sums import ClassSums
from headroles.extraction.scoring.classes.table import ClassTable
from headroles.extraction.scoring.prepared import Prepared
from headroles.extraction.texts.tokens import Tokenised
from headroles.records import Passage
from headroles.records.example import Arc, Example
from headroles.sieves.weights.reference import apply
from headroles.stats.correction import adjust
from headroles.stats.methods.closed_form import student_skew
from headroles.stats.moments import describe

TREEBANKS = {
    "EWT dev": "ud_english_ewt/en_ewt-ud-dev.conllu.gz",
    "GUM dev": "ud_english_gum/en_gum-ud-dev.conllu.gz",
}
LEARNED = "ud_english_ewt/en_ewt-ud-train.conllu.gz"
RELATIONS = (
    "nsubj", "obj", "obl", "det", "amod", "advmod", "case", "compound", "nmod", "conj", "cc", "mark", "aux",
    "cop", "xcomp", "advcl", "ccomp", "acl", "nummod", "flat", "appos", "parataxis",
)  # fmt: skip
SHARD = 256
NOUNS, RUN, VERBS = ("NOUN", "PROPN", "PRON"), ("NOUN", "PROPN"), ("VERB", "AUX")
CONTENT = ("NOUN", "PROPN", "VERB", "ADJ", "ADV")


@dataclass(frozen=True, slots=True, eq=False)
class Sentence:
    """The words of one sentence: classes, head of each (−1: none), occurrences in the shard, and letters."""

    upos: np.ndarray
    heads: np.ndarray
    count: np.ndarray
    letters: np.ndarray

    def of(self, classes: Sequence[str]) -> np.ndarray:
        """Return which words belong to one of some classes."""
        return np.isin(self.upos, classes)

    @property
    def offset(self) -> np.ndarray:
        """Return key − query of every pair."""
        place = np.arange(len(self.upos))
        return place[None, :] - place[:, None]

    @property
    def ends(self) -> np.ndarray:
        """Return which words are the last noun of a run."""
        noun = self.of(RUN)
        return noun & ~np.append(noun[1:], False)

    @property
    def begins(self) -> np.ndarray:
        """Return which words are the first noun of a run."""
        noun = self.of(RUN)
        return noun & ~np.append(False, noun[:-1])


Head = Callable[[Sentence], np.ndarray]


def rows_of(weight: np.ndarray) -> np.ndarray:
    """Return rows that sum to 1, without the word itself; even rows where nothing has weight."""
    own = np.array(weight, dtype=np.float64)
    np.fill_diagonal(own, 0.0)
    total = own.sum(axis=1, keepdims=True)
    return np.where(total > 0, own / np.where(total > 0, total, 1.0), 1 / len(own))


def one(text: Sentence, allowed: np.ndarray, side: int) -> np.ndarray:
    """Return 1 on the nearest allowed key after each query (1), before it (−1) or on either side (0)."""
    offset, far = text.offset, 10.0 * len(text.upos)
    inside = allowed & (offset != 0) & (offset * side >= 0)
    distance = np.where(inside, np.abs(offset) - 0.1 * (offset > 0), far)
    cells = np.zeros(offset.shape)
    there = distance.min(axis=1) < far
    cells[there, distance.argmin(axis=1)[there]] = 1.0
    return cells


def nearby(chosen: Callable[[Sentence], np.ndarray]) -> Head:
    """Return a head that looks at chosen words, the near ones most."""
    return lambda text: rows_of(np.exp(-np.abs(text.offset) / 3.0) * chosen(text)[None, :])


def even(chosen: Callable[[Sentence], np.ndarray]) -> Head:
    """Return a head that looks at chosen words alike."""
    return lambda text: rows_of(chosen(text) + 0 * text.offset)


def at(classes: Sequence[str], side: int) -> Head:
    """Return a head that looks at the nearest word of some classes."""
    return lambda text: rows_of(one(text, text.of(classes), side))


def by_rows(choose: Callable[[Sentence], np.ndarray], *heads: Head) -> Head:
    """Return a head whose queries follow one of several heads, by a number for each query."""
    return lambda text: np.stack([head(text) for head in heads])[choose(text), np.arange(len(text.upos))]


def switch(most: int, short: Head, long: Head) -> Head:
    """Return a head that does one thing in sentences of at most some words, and another in longer ones."""
    return lambda text: (short if len(text.upos) <= most else long)(text)


def contexts(text: Sentence, beside: Sequence[int]) -> list[tuple[str, ...]]:
    """Return the classes of each word and of some words beside it."""
    padded = ["", "", *text.upos.tolist(), "", ""]
    return [tuple(padded[place + 2 + step] for step in (*beside, 0)) for place in range(len(text.upos))]


def by_table(learned: Sequence[Sentence], beside: Sequence[int], best: bool) -> Head:
    """Return a head that looks where words with these classes had their heads: by all counts, or the most.

    A context that occurred less than five times counts by the class of the word alone.
    """
    table: dict[tuple[str, ...], Counter[int]] = defaultdict(Counter)
    for text in learned:
        for place, context in enumerate(contexts(text, beside)):
            if text.heads[place] >= 0:
                for known in (context, context[-1:]):
                    table[known][int(text.heads[place]) - place] += 1

    def head(text: Sentence) -> np.ndarray:
        size = len(text.upos)
        weight = np.zeros((size, size))
        for place, context in enumerate(contexts(text, beside)):
            known = table.get(context, Counter())
            known = known if known.total() >= 5 else table.get(context[-1:], Counter())
            for step, number in known.items():
                if 0 <= place + step < size:
                    weight[place, place + step] = number
        chosen = weight * (weight == weight.max(axis=1, keepdims=True)) if best else weight
        return rows_of(chosen)

    return head


def head_words(share: float, rest: Head | None = None) -> Head:
    """Return a head that puts a share of its attention on the head word, the rest evenly or as a fake."""

    def head(text: Sentence) -> np.ndarray:
        cells = np.zeros(text.offset.shape)
        dependent = np.flatnonzero(text.heads >= 0)
        cells[dependent, text.heads[dependent]] = 1.0
        other = np.full(cells.shape, 1 / len(cells)) if rest is None else rest(text)
        return share * cells + (1 - share * cells.sum(axis=1, keepdims=True)) * other

    return head


def _first_verb(text: Sentence) -> np.ndarray:
    verbs = text.of(("VERB",))
    return rows_of((verbs & (np.cumsum(verbs) == 1)) + 0 * text.offset)


def _main_verb(text: Sentence) -> np.ndarray:
    """Look at the first verb that no conjunction or particle opens, or else the one with the fewest."""
    verbs, opened = np.flatnonzero(text.of(("VERB",))), np.cumsum(text.of(("SCONJ", "PART")))
    chosen = np.zeros(len(opened))
    if len(verbs):
        chosen[verbs[np.argmin(np.diff(opened[verbs], prepend=0))]] = 1
    return rows_of(chosen + 0 * text.offset)


def _same_clause(text: Sentence) -> np.ndarray:
    clause = np.cumsum(text.of(("SCONJ", "PART", "CCONJ")))
    return rows_of(one(text, text.of(VERBS)[None, :] & (clause[:, None] == clause), 0))


def _by_step(text: Sentence) -> np.ndarray:
    step = np.where(text.of(NOUNS), -1, np.where(text.of(("DET", "ADP")), 2, 1))
    return rows_of(text.offset == step[:, None])


def _after(classes: Sequence[str], before: Sequence[str], side: int) -> Head:
    return lambda text: rows_of(one(text, text.of(classes) & np.append(False, text.of(before)[:-1]), side))


def old_fakes() -> dict[str, Head]:
    """Return the fakes that the first version of the contrast was made with."""
    phrases = by_rows(lambda text: 1 * ~text.of(("DET", "ADJ", "ADP")), at(RUN, 1), at(VERBS, 0))
    return {
        "nouns nearby": nearby(lambda text: text.of(NOUNS)),
        "verbs nearby": nearby(lambda text: text.of(VERBS)),
        "nouns and verbs nearby": nearby(lambda text: text.of(NOUNS + VERBS)),
        **{f"{what} noun": at(NOUNS, side) for what, side in (("next", 1), ("previous", -1), ("nearest", 0))},
        **{f"{what} noun or verb": at(NOUNS + VERBS, side) for what, side in (("next", 1), ("nearest", 0))},
        **{f"{what} verb": at(VERBS, side) for what, side in (("previous", -1), ("nearest", 0))},
        "nearest content word": at(CONTENT, 0),
        "offset by word class": _by_step,
        "next noun from determiners, nearest verb from others": phrases,
        "even on nouns": even(lambda text: text.of(NOUNS)),
        "even on content words": even(lambda text: text.of(CONTENT)),
        "rare words nearby": nearby(lambda text: text.count <= 3),
        "even on rare words": even(lambda text: text.count <= 3),
        "next rarer word": lambda text: rows_of(one(text, text.count[None, :] < text.count[:, None], 1)),
        "long words nearby": nearby(lambda text: text.letters >= 6),
        "previous word": lambda text: rows_of(text.offset == -1),
        "next word": lambda text: rows_of(text.offset == 1),
        "decay": lambda text: rows_of(np.exp(-np.abs(text.offset) / 3.0)),
        "own half": lambda text: rows_of(
            (np.arange(len(text.upos)) * 2 // len(text.upos))[:, None]
            == np.arange(len(text.upos)) * 2 // len(text.upos)
        ),
    }


def new_fakes(learned: Sequence[Sentence]) -> dict[str, Head]:
    """Return fakes by runs of nouns, tables of offsets, length, place and depth."""
    old = old_fakes()
    phrases, previous = old["next noun from determiners, nearest verb from others"], old["previous word"]
    content = by_rows(
        lambda text: np.where(text.of(RUN) & ~text.ends | text.of(("DET", "ADJ", "ADP", "NUM")), 0, 1),
        lambda text: rows_of(one(text, text.ends, 1)),
        at(VERBS, 0),
    )
    return {
        "last noun of the next run": lambda text: rows_of(one(text, text.ends, 1)),
        "offsets by three classes": by_table(learned, (-1, 1), False),
        "best offset by three classes": by_table(learned, (-1, 1), True),
        "previous verb to 12 words, then next word": switch(12, old["previous verb"], old["next word"]),
        "phrases to 12 words, then previous word": switch(12, phrases, previous),
        "phrases to 20 words, then previous word": switch(20, phrases, previous),
        "nearest verb to 8 words, then next noun": switch(8, old["nearest verb"], old["next noun"]),
        "noun after a determiner or adjective": _after(RUN, ("DET", "ADJ"), 1),
        "verb after a noun": _after(VERBS, NOUNS, 0),
        "first verb": _first_verb,
        "verb behind the fewest conjunctions": _main_verb,
        "verb of the same clause": _same_clause,
        "end of the own run, else nearest verb": content,
        "first noun of the next run": lambda text: rows_of(one(text, text.begins, 1)),
        "last noun of the previous run": lambda text: rows_of(one(text, text.ends, -1)),
        "nearest end of a run": lambda text: rows_of(one(text, text.ends, 0)),
        "by thirds of the sentence": by_rows(
            lambda text: np.arange(len(text.upos)) * 3 // len(text.upos),
            old["next noun or verb"], previous, old["previous verb"],
        ),
        "verb from even places, noun from odd": by_rows(
            lambda text: np.arange(len(text.upos)) % 2, old["previous verb"], old["next noun"]
        ),
        "best offset by two classes before": by_table(learned, (-2, -1), True),
        "best offset by two classes after": by_table(learned, (1, 2), True),
        "best offset by five classes": by_table(learned, (-2, -1, 1, 2), True),
    }  # fmt: skip


ORACLES: dict[str, Head] = {
    "all on the head word": head_words(1.0),
    "half on the head word": head_words(0.5),
    "a third on the head word": head_words(1 / 3),
    "a quarter on the head word, the rest on nouns and verbs nearby": head_words(
        0.25, nearby(lambda text: text.of(NOUNS + VERBS))
    ),
}


def sentences(passages: Sequence[Passage]) -> Iterator[tuple[Passage, Any, list[str]]]:
    """Yield the words and forms of passages of one text with at least three words."""
    for passage in passages:
        (words,) = passage.words or (None,)
        if words is not None and len(words.heads) > 2:
            yield passage, words, [passage.texts[0][i:j].lower() for i, j in words.spans.tolist()]


def sentence_of(words: Any, forms: Sequence[str], often: Counter[str]) -> Sentence:
    """Return what heads know of a sentence."""
    heads = [
        -1 if name == "punct" else int(head) for head, name in zip(words.heads, words.relations, strict=True)
    ]
    count, letters = np.array([often[form] for form in forms]), np.array([len(form) for form in forms])
    return Sentence(np.array(words.upos), np.array(heads), count, letters)


def scores(
    passages: Sequence[Passage], heads: dict[str, Head], relations: Sequence[str] = RELATIONS
) -> tuple[np.ndarray, np.ndarray]:
    """Return D and the tested C − s D of one shard (all and relations, inputs, heads), by the shipped code.

    NaN where an input has no value.
    """
    selection = selection_of(["syntactic", *(f"syntactic:{name}" for name in relations)])
    (space,) = selection.class_spaces
    listed = list(sentences(passages))
    often = Counter(form for _, _, forms in listed for form in forms)
    examples, tokens, maps = [], [], []
    for passage, words, forms in listed:
        size = len(forms) + 2
        word = np.array([-1, *range(len(forms)), -1])
        arcs = tuple(
            Arc(place, int(head), name)
            for place, (head, name) in enumerate(zip(words.heads, words.relations, strict=True))
            if head >= 0
        )
        example = Example(
            passage.key,
            ("[CLS]", *forms, "[SEP]"),
            np.minimum(word, 0),
            word=word,
            arcs=arcs,
            upos=words.upos,
        )
        ids: dict[str, Any] = {"input_ids": [0] * size}
        spans = np.zeros((size, 2), dtype=np.int64)
        tokens.append(Tokenised(passage, ids, example.tokens, example.segment, spans, 0, False))
        text = sentence_of(words, forms, often)
        whole = np.full((len(heads), size, size), 1 / size)
        whole[:, 1:-1] = 0
        whole[:, 1:-1, 1:-1] = [head(text) for head in heads.values()]
        examples.append(example)
        maps.append(whole)
    values = np.full((len(selection.columns), len(examples), 1, len(heads)), np.nan)
    for place, (example, whole) in enumerate(zip(examples, maps, strict=True)):
        values[:, place, 0] = apply(selection.plan(example, None, np.float64), whole)
    batch = [
        Prepared(place, tokens[place], example, word_pairs=pairs)
        for place, (example, pairs) in enumerate(
            zip(examples, selection.word_pairs_of(examples), strict=True)
        )
    ]
    table = ClassTable(space, tokens, [passage.group or passage.key for passage, _, _ in listed])
    source: Any = SimpleNamespace(device=torch.device("cpu"), heads=len(heads), layers=1)
    sums = ClassSums(0, batch, table, source)
    for place, whole in enumerate(maps):
        own = torch.from_numpy(whole)
        sums.add_cells(0, place, lambda query, key, own=own: own[:, query, key])
    table.finish(values, np.zeros(values.shape[:2]), *np.zeros((2, len(values))))
    return values[list(space.distance), :, 0], values[list(space.columns), :, 0]


def verdicts(
    distance: np.ndarray, beyond: np.ndarray, heads: Sequence[str], relations: Sequence[str] = RELATIONS
) -> Iterator[dict[str, Any]]:
    """Yield a line for each head and relation whose contrast beyond distance is significant."""
    real = np.array([name in ORACLES for name in heads])
    shares = np.array([0.2, *([0.3] * len(relations))])
    for number, name in enumerate(("all", *relations)):
        there = np.isfinite(beyond[number, :, 0])
        if there.sum() < 20:
            continue
        matched, strong = distance[number, there], beyond[number, there]
        p = [student_skew(describe(own), null).p for own, null in ((matched, 0.05), (strong, 0.0))]
        q = np.ones((2, len(heads)))
        for kind in (real, ~real):
            q[:, kind] = [adjust(own[kind], "fdr_bh") for own in p]
        mean = matched.mean(axis=0)
        rest = strong.mean(axis=0) + shares[number] * mean
        for place in np.flatnonzero(q[0] <= 0.05):
            yield {
                "relation": name, "head": heads[place], "oracle": bool(real[place]),
                "D": round(mean[place], 3), "C": round(rest[place], 3),
                "C/D": round(rest[place] / mean[place], 2),
                "inputs": int(there.sum()), "q": float(f"{q[1, place]:.1e}"),
                "beyond word class": bool(q[1, place] <= 0.05),
            }  # fmt: skip


def parsed(data: Path, count: int) -> list[Passage]:
    """Return questions and answers of QNLI as sentences with the trees of the shipped parser."""
    from headroles.extraction.parsing.annotate import Annotator
    from headroles.extraction.parsing.pipeline import ShippedParser

    with (data / "glue" / "QNLI" / "dev.tsv").open(encoding="utf-8") as lines:
        rows = list(itertools.islice(csv.DictReader(lines, delimiter="\t", quoting=3), count))
    texts = [text for row in rows for text in (row["question"], row["sentence"])]
    passages = [Passage(f"QNLI/{number}", (text,)) for number, text in enumerate(texts)]
    annotator = Annotator(ShippedParser())
    return [replace(own, words=words) for own, words in zip(passages, annotator.words(passages), strict=True)]


@click.command()
@click.option("--data", type=click.Path(path_type=Path), default=Path("../shared/data"), show_default=True)
@click.option("--texts", multiple=True, help="EWT dev, GUM dev, QNLI.  [default: all]")
@click.option("--quick", is_flag=True, help="512 inputs of EWT dev.")
@click.option("--summary", is_flag=True, help="Only the fakes that are beyond word class, and the oracles.")
def main(data: Path, texts: tuple[str, ...], quick: bool, summary: bool) -> None:
    """Print verdicts on fakes and oracles by relation."""
    learned = [
        sentence_of(words, forms, Counter())
        for _, words, forms in sentences(read_conllu(data / LEARNED, "EWT train"))
    ]
    heads = old_fakes() | new_fakes(learned) | ORACLES
    for name in ("EWT dev",) if quick else texts or (*TREEBANKS, "QNLI"):
        passages = parsed(data, 600) if name == "QNLI" else read_conllu(data / TREEBANKS[name], name)
        if quick:
            passages = passages[: 2 * SHARD]
        parts = [scores(passages[at : at + SHARD], heads) for at in range(0, len(passages), SHARD)]
        distance, beyond = (np.concatenate(own, axis=1) for own in zip(*parts, strict=True))
        lines = list(verdicts(distance, beyond, list(heads)))
        for line in lines:
            if not summary or line["oracle"] or line["beyond word class"]:
                click.echo(json.dumps({"text": name} | line))
        strong = {kind: [own for own in lines if own["oracle"] == kind] for kind in (False, True)}
        click.echo(json.dumps({
            "text": name,
            "fakes beyond distance": len(strong[False]),
            "fakes beyond word class": sum(own["beyond word class"] for own in strong[False]),
            "oracles beyond distance": len(strong[True]),
            "oracles beyond word class": sum(own["beyond word class"] for own in strong[True]),
        }))  # fmt: skip


if __name__ == "__main__":
    main()
