"""Files of texts in every form, what is read of them, and files of older tools as these write them."""

import gzip
import json
import pickle
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from headroles.inputs import Identity, Sketches
from headroles.kinds import kind_named
from tests.support import table

if TYPE_CHECKING:
    from headroles.records import Passage, Words

ROWS = [{"text": f"sentence number {n} is here", "from": f"document {n // 4}"} for n in range(50)]
"""Rows of a table of texts in 13 documents."""
Read = list[tuple[str, tuple[str, ...], str | None]]


def write(path: Path, content: str | bytes) -> Path:
    """Write text or bytes, gzipped where the name says so, and return the path."""
    raw = content.encode() if isinstance(content, str) else content
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(raw) if path.suffix.lower() == ".gz" else raw)
    return path


def write_rows(path: Path, rows: list[dict[str, Any]]) -> Path:
    """Write rows as a file of the kind that its name says."""
    kind = path.suffixes[0]
    if kind == ".parquet":
        import pyarrow as pa
        import pyarrow.parquet as pq

        pq.write_table(pa.Table.from_pylist(rows), path, row_group_size=7)
        return path
    if kind == ".jsonl":
        return write(path, "".join(json.dumps(row) + "\n" for row in rows))
    if kind == ".json":
        return write(path, json.dumps(rows, indent=1))
    import pandas as pd

    return write(path, pd.DataFrame(rows).to_csv(index=False, sep={".tsv": "\t", ".csv": ","}[kind]))


def sections(file: Path) -> dict[str, list[tuple[str, ...]]]:
    """Return the tables of a file by the names in square brackets above them."""
    named = (part.split("]\n", 1) for part in file.read_text("utf-8").split("\n[")[1:])
    return {name: table(rows) for name, rows in named}


def rows_of(file: Path) -> list[dict[str, Any]]:
    """Return the objects of a file of JSON lines."""
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


def corpus_of(data: Any = None, **options: Any) -> Any:
    """Return the corpus of a labelling run on some data, without its model."""
    from headroles.extraction import Checkpoint
    from headroles.inputs import read_corpus

    given = {"data": str(data) if isinstance(data, Path) else data} | options
    return read_corpus(
        kind_named("label").options(given), frozenset(), Checkpoint("none", "none", None, "nowhere")
    )


def facts(passages: "Iterable[Passage]") -> Read:
    """Return key, texts and group of each passage."""
    return [(passage.key, passage.texts, passage.group) for passage in passages]


def read_rows(data: Any, **options: Any) -> Read:
    """Return what a corpus of ``ROWS`` gives, after checking that a second pass gives the same."""
    corpus = corpus_of(data, **{"text_a": "text", "group": "from"} | options)
    first, second = facts(corpus), facts(corpus)
    assert first == second
    return first


def spelled(text: str, words: "Words") -> list[str]:
    """Return the words of a text by their spans."""
    return [text[start:stop] for start, stop in words.spans.tolist()]


def words_between_blanks(text: str) -> "Words":
    """Return the words that stand between blanks, each a root."""
    from headroles.records import Words

    spans, start = [], 0
    for word in text.split():
        start = text.index(word, start)
        spans.append((start, start + len(word)))
        start += len(word)
    count = len(spans)
    return Words(np.array(spans, np.int32).reshape(-1, 2), np.full(count, -1, np.int32), ("root",) * count)


def conllu(
    number: object, form: str, head: object = 0, relation: str = "dep", misc: str = "_", **cells: str
) -> str:
    """Return a line of CoNLL-U; a multi-word token where the number is a span."""
    first = [cells.get(name, "_") for name in ("lemma", "upos", "xpos", "feats")]
    tree = ["_", "_"] if "-" in str(number) else [str(head), relation]
    return "\t".join([str(number), form, *first, *tree, "_", misc])


PAIR = ["[CLS]", "it", "was", "signed", "[SEP]", "who", "sat", "?", "[SEP]"]
WORDS = ["It", "rejoined", "us", "."]
PIECES = ["[CLS]", "it", "re", "##join", "##ed", "us", ".", "[SEP]"]
TREE: dict[str, list[Any]] = {"heads": [2, 0, 2, 2], "relns": ["nsubj", "root", "dobj", "punct"]}
SCORE_FILES = {
    "local": "local/all_heads_all_sents_locbias_band2_{}.pkl",
    "local:4": "local/all_heads_all_sents_locbias_band4_{}.pkl",
    "delimiter": "delimiter/all_heads_all_sents_noops_score_{}.pkl",
    "delimiter:cls": "delimiter/all_heads_all_sents_noops_score_{}_subtype_CLS.pkl",
    "delimiter:sep": "delimiter/all_heads_all_sents_noops_score_{}_subtype_SEP.pkl",
    "block": "block/all_heads_all_sents_block_score_{}.pkl",
    "syntactic": "syntactic/all_all_heads_all_scores_{}.pkl",
    "syntactic:nsubj": "syntactic/nsubj_all_heads_all_scores_{}.pkl",
    "syntactic:obj": "syntactic/dobj_all_heads_all_scores_{}.pkl",
    "syntactic:amod": "syntactic/amod_all_heads_all_scores_{}.pkl",
    "syntactic:advmod": "syntactic/advmod_all_heads_all_scores_{}.pkl",
}
"""Files of the released notebooks by sieve; the braces stand for the task."""


def old_attention(seed: int, size: int) -> np.ndarray:
    """Return random attention (2 layers, 3 heads) in half precision, as ``extract_attention.py`` keeps it."""
    return np.random.default_rng(seed).dirichlet(np.ones(size), size=(2, 3, size)).astype(np.float16)


def write_pickle(path: Path, content: Any, protocol: int = -1) -> Path:
    """Write a pickle, and return its path."""
    return write(path, pickle.dumps(content, protocol))


def old_pairs(count: int) -> list[dict[str, Any]]:
    """Return the content of ``unlabeled_attn.pkl``: pairs of texts as tokens."""
    return [
        {"tokens": [*PAIR[:2], f"w{n}", *PAIR[3:]], "attns": old_attention(n, len(PAIR))}
        for n in range(count)
    ]


def old_words(count: int) -> list[dict[str, Any]]:
    """Return the content of ``dev_attn.pkl`` made with ``--word_level``: words with trees, all different."""
    return [
        {"words": ["It" + "!" * n, *WORDS[1:]], "tokens": PIECES, "attns": old_attention(n, 6)} | TREE
        for n in range(count)
    ]


def write_old_scores(folder: Path, task: str, scores: Mapping[str, np.ndarray]) -> Path:
    """Write a folder ``sieve_scores`` of one task; inputs without a pair have 0, as released."""
    for sieve, values in scores.items():
        write_pickle(folder / SCORE_FILES[sieve].format(task), np.nan_to_num(values))
    return folder


def sketches_of(*texts: str) -> dict[str, str]:
    """Return what the manifest of a run keeps of its texts, to tell whether another run has them, too."""
    from headroles.records import Passage

    sketches = Sketches()
    for text in texts:
        sketches.add(Identity().marks(Passage("x", (text,))))
    encoded: dict[str, str] = sketches.encode()
    return encoded
