"""Files in the formats of the released code, written as that code writes them."""

import json
import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

PAIR = ["[CLS]", "it", "was", "signed", "[SEP]", "who", "sat", "?", "[SEP]"]
WORDS = ["It", "rejoined", "us", "."]
PIECES = ["[CLS]", "it", "re", "##join", "##ed", "us", ".", "[SEP]"]
TREE: dict[str, list[Any]] = {"heads": [2, 0, 2, 2], "relns": ["nsubj", "root", "dobj", "punct"]}
SCORE_FILES = {
    "local": "local/all_heads_all_sents_locbias_band2_{}.pkl",
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


def attention(seed: int, size: int, layers: int = 2, heads: int = 3) -> np.ndarray:
    """Return random attention in half precision, as ``extract_attention.py`` keeps it."""
    rows = np.random.default_rng(seed).dirichlet(np.ones(size), size=(layers, heads, size))
    return rows.astype(np.float16)


def write_pickle(path: Path, content: Any, protocol: int = -1) -> Path:
    """Write a pickle, and return its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(pickle.dumps(content, protocol))
    return path


def old_pairs(count: int) -> list[dict[str, Any]]:
    """Return the content of ``unlabeled_attn.pkl``: pairs of texts as tokens."""
    return [
        {"tokens": [*PAIR[:2], f"w{number}", *PAIR[3:]], "attns": attention(number, len(PAIR))}
        for number in range(count)
    ]


def old_words(count: int) -> list[dict[str, Any]]:
    """Return the content of ``dev_attn.pkl`` made with ``--word_level``: words with trees, all different."""
    size = len(WORDS) + 2
    return [
        {"words": [WORDS[0] + "!" * number, *WORDS[1:]], "tokens": PIECES, "attns": attention(number, size)}
        | TREE
        for number in range(count)
    ]


def write_scores(folder: Path, task: str, scores: Mapping[str, np.ndarray]) -> Path:
    """Write a folder ``sieve_scores`` of one task; inputs without a pair have 0, as released."""
    for sieve, values in scores.items():
        file = folder / SCORE_FILES[sieve].format(task)
        write_pickle(file, np.nan_to_num(values))
        if sieve.startswith("syntactic"):
            relation = file.name.split("_")[0]
            having = set(np.flatnonzero(~np.isnan(values).all(axis=(1, 2))).tolist())
            write_pickle(file.parent / f"{relation}_participating_sents_{task}.pkl", having)
    return folder


def write_trees(path: Path, count: int) -> Path:
    """Write ``dev.json``: a list of words with relations and heads."""
    path.write_text(json.dumps([{"words": WORDS} | TREE for _ in range(count)]))
    return path
