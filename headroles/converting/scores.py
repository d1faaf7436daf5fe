"""Turn old scores into a table that ``headroles judge --scores`` reads, and old labels into a table."""

import io
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from headroles.converting.pickles import read_pickle
from headroles.errors import BadInput, UnknownName, shorten
from headroles.storage.folder import write_errors, write_files

Values = Float[np.ndarray, "inputs layers heads"]
NAMES = (
    (re.compile(r"all_heads_all_sents_locbias_band2_(?P<task>.+)\.pkl"), "local"),
    (re.compile(r"all_heads_all_sents_locbias_band4_(?P<task>.+)\.pkl"), "local:4"),
    (re.compile(r"all_heads_all_sents_noops_score_(?P<task>.+)_subtype_CLS\.pkl"), "delimiter:cls"),
    (re.compile(r"all_heads_all_sents_noops_score_(?P<task>.+)_subtype_SEP\.pkl"), "delimiter:sep"),
    (re.compile(r"all_heads_all_sents_noops_score_(?P<task>.+)\.pkl"), "delimiter"),
    (re.compile(r"all_heads_all_sents_block_score_(?P<task>.+)\.pkl"), "block"),
    (re.compile(r"all_all_heads_all_scores_(?P<task>.+)\.pkl"), "syntactic"),
    (re.compile(r"nsubj_all_heads_all_scores_(?P<task>.+)\.pkl"), "syntactic:nsubj"),
    (re.compile(r"dobj_all_heads_all_scores_(?P<task>.+)\.pkl"), "syntactic:obj"),
    (re.compile(r"amod_all_heads_all_scores_(?P<task>.+)\.pkl"), "syntactic:amod"),
    (re.compile(r"advmod_all_heads_all_scores_(?P<task>.+)\.pkl"), "syntactic:advmod"),
)
"""Names of the files of scores that the released notebooks write, and the sieves they belong to."""
SIEVES = tuple(sieve for _, sieve in NAMES)
EVEN = 1.0
"""Score of even attention, as the released code assumes for every sieve."""
LABELS = (
    "local", "syntactic", "delimiter", "syntactic:nsubj", "syntactic:obj", "syntactic:amod",
    "syntactic:advmod", "block", "delimiter:cls", "delimiter:sep",
)  # fmt: skip
"""Sieves in the order of the columns of ``<task>_gems.pkl``; its last column is empty."""
HEAD = re.compile(r"(\d{1,4})-(\d{1,4})")
"""A layer and a head, from 0, as published scores of retrieval heads name them."""
MOST_CELLS = 500_000_000
"""Most scores of one table."""


@dataclass(frozen=True, slots=True, eq=False)
class OldScores:
    """Scores of one sieve.

    Attributes:
        sieve: Its name.
        values: One score per input, layer and head; NaN where there is none.
        null: Score of even attention; None where the file does not imply one.
    """

    sieve: str
    values: Values
    null: float | None


def released_sieve(file: str) -> tuple[str, str] | None:
    """Return the task and the sieve of a file of scores by its name; None for any other file.

    Example:
        >>> released_sieve("all_heads_all_sents_noops_score_sst-2_subtype_CLS.pkl")
        ('sst-2', 'delimiter:cls')
        >>> released_sieve("nsubj_participating_sents_qnli.pkl") is None
        True
    """
    for pattern, sieve in NAMES:
        if found := pattern.fullmatch(file):
            return found["task"], sieve
    return None


def is_scores(content: Any) -> bool:
    """Return whether an old file holds scores: an array (inputs, layers, heads), or a list of grids."""
    if isinstance(content, np.ndarray):
        return content.ndim == 3
    listed = isinstance(content, list) and bool(content)
    return listed and all(isinstance(item, np.ndarray) and item.ndim == 2 for item in content)


def is_labels(content: Any) -> bool:
    """Return whether an old file holds labels: a row of 1 and −1 for every head."""
    grid = isinstance(content, np.ndarray) and content.ndim == 2 and content.shape[1] == len(LABELS) + 1
    return grid and bool((np.abs(content) == 1).all())


def scores_of(content: Any, file: Path, sieve: str | None) -> OldScores:
    """Return the scores of one file.

    Scores of a relation are 0 for all heads where an input has no pair of it. Such inputs have no score.

    Args:
        content: An array (inputs, layers, heads), or a list of arrays (layers, heads).
        file: The file, whose name says of which sieve the scores are where the released code wrote it.
        sieve: Name of the sieve; None: that of the file's name.

    Raises:
        BadInput: When the grids differ in size, or a score is infinite.
    """
    shapes = sorted({grid.shape for grid in content})
    if len(shapes) != 1:
        raise BadInput(f"'{file}': the scores of all inputs have one shape, but got {shorten(shapes)}")
    values = np.stack(list(content)).astype(np.float64)
    if np.isinf(values).any():
        raise BadInput(f"'{file}': scores are finite, or NaN where there is none, but some are infinite")
    known = released_sieve(file.name)
    if known is not None and known[1].startswith("syntactic"):
        values[(values == 0).all(axis=(1, 2))] = np.nan
    name = sieve or (known[1] if known else file.stem)
    return OldScores(name, values, EVEN if known else None)


def folder_scores(folder: Path, task: str | None) -> list[OldScores]:
    """Return the scores of all sieves of one task in a folder ``sieve_scores``, with its subfolders.

    Raises:
        BadInput: When the folder has no file of scores, or those of several tasks while none is named.
        UnknownName: For another task than those of the files.
    """
    files: dict[str, dict[str, Path]] = {}
    for path in sorted(folder.rglob("*.pkl")):
        if known := released_sieve(path.name):
            files.setdefault(known[0].upper(), {})[known[1]] = path
    if not files:
        raise BadInput(
            f"a folder of sieve scores holds files such as all_heads_all_sents_locbias_band2_qnli.pkl, but "
            f"'{folder}' holds none; name a file"
        )
    if task is None and len(files) > 1:
        raise BadInput(
            f"a table has the scores of one task, but '{folder}' has those of {', '.join(files)}; name one "
            f"with --task"
        )
    chosen = next(iter(files)) if task is None else task
    if chosen not in files:
        raise UnknownName("task", chosen, files)
    found = [(sieve, files[chosen][sieve]) for sieve in SIEVES if sieve in files[chosen]]
    return [_file_scores(path) for _, path in found]


def _file_scores(path: Path) -> OldScores:
    """Return the scores of one file of a folder."""
    content = read_pickle(path)
    if not is_scores(content):
        raise BadInput(
            f"'{path}' holds scores as an array (inputs, layers, heads), but got {shorten(content)}"
        )
    return scores_of(content, path, None)


def head_scores(content: Mapping[str, Any], file: Path, sieve: str | None) -> OldScores:
    """Return the scores of a JSON object that maps each head to its scores, one for each input.

    Published scores of retrieval heads have this form: ``{"0-3": [0.1, 0.0], "0-4": [0.2, 0.7]}``, layer and
    head from 0.

    Raises:
        BadInput: When a name is no head, or heads have different numbers of scores.
    """
    grid: dict[tuple[int, int], list[float]] = {}
    for name, scores in content.items():
        head, plain = HEAD.fullmatch(name), isinstance(scores, list) and bool(scores)
        if head is None or not plain or not all(_is_number(score) for score in scores):
            raise BadInput(
                f"'{file}': each head, such as \"3-11\", has a list of scores, but got "
                f"{shorten({name: scores})}"
            )
        grid[int(head[1]), int(head[2])] = [float(score) for score in scores]
    counts = sorted({len(scores) for scores in grid.values()})
    if len(counts) != 1:
        raise BadInput(
            f"'{file}': every head has a score for each input, but heads have {counts[0]} to {counts[-1]} "
            f"scores; fill up with NaN, so that equal places are of one input"
        )
    layers, heads = (1 + max(place) for place in zip(*grid, strict=True))
    if layers * heads * counts[0] > MOST_CELLS:
        raise BadInput(f"'{file}': a table has at most {MOST_CELLS:,} scores; give fewer heads or inputs")
    values = np.full((counts[0], layers, heads), np.nan)
    for (layer, head_number), scores in grid.items():
        values[:, layer, head_number] = scores
    return OldScores(sieve or file.name.partition(".")[0], values, None)


def _is_number(value: object) -> bool:
    """Return whether a value of JSON is a finite number, or NaN."""
    return isinstance(value, int | float) and not isinstance(value, bool) and not math.isinf(value)


def write_scores(path: Path, scores: Sequence[OldScores]) -> int:
    """Write scores as one table with a row for each sieve, input, layer and head, and return its rows.

    Raises:
        BadInput: When it cannot be written.
    """
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet as pq

    columns: dict[str, list[np.ndarray]] = {name: [] for name in ("sieve", "unit", "layer", "head", "score")}
    nulls = []
    for given in scores:
        inputs, layers, heads = np.nonzero(~np.isnan(given.values))
        columns["sieve"].append(np.full(len(inputs), given.sieve, dtype=object))
        columns["unit"].append(inputs)
        columns["layer"].append(layers)
        columns["head"].append(heads)
        columns["score"].append(given.values[inputs, layers, heads])
        nulls.append(np.full(len(inputs), np.nan if given.null is None else given.null))
    whole = {name: np.concatenate(parts) for name, parts in columns.items()}
    if all(given.null is not None for given in scores):
        whole["null"] = np.concatenate(nulls)
    table = pa.table(whole)
    sink = pa.BufferOutputStream()
    with write_errors(f"'{path}'"):
        if path.suffix == ".csv":
            pyarrow.csv.write_csv(table, sink)
        else:
            pq.write_table(table, sink, compression="zstd")
        write_files({path: sink.getvalue().to_pybytes()})
    return int(table.num_rows)


def write_labels(path: Path, content: np.ndarray, file: Path) -> int:
    """Write old labels as a table with a row for each head, and return its rows.

    The columns are those of ``labels.csv`` in a run folder. The released code numbers heads over all layers
    and knows only models with as many layers as heads in a layer.

    Raises:
        BadInput: When the number of heads is no square, or the table cannot be written.
    """
    side = math.isqrt(len(content))
    if side * side != len(content):
        raise BadInput(
            f"'{file}': the released code labels models with as many layers as heads in a layer, but got "
            f"{len(content)} heads"
        )
    rows = [["layer", "head", "roles", *LABELS]]
    for place, labels in enumerate(content[:, : len(LABELS)] > 0):
        roles = ";".join(name for name, held in zip(LABELS, labels, strict=True) if held)
        rows.append([str(place // side), str(place % side), roles, *("1" if held else "" for held in labels)])
    text = io.StringIO()
    text.writelines(",".join(row) + "\n" for row in rows)
    with write_errors(f"'{path}'"):
        write_files({path: text.getvalue()})
    return len(rows) - 1
