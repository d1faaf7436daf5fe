"""A run that keeps moments: from finished shards to sums and subsample, and from these to its folder."""

import io
import json
from collections.abc import Sequence
from hashlib import sha256

import numpy as np

from headroles.options.label import LabelOptions
from headroles.records.example import Rule, Scores
from headroles.records.moments import Moments
from headroles.shards.files import shard_name, whole_files
from headroles.shards.moments import BESIDE, ROWS, Adding, candidates, rows_of, sample_size
from headroles.shards.tally import Tally, assembled, bounded
from headroles.shards.work import Facts
from headroles.storage.folder import EXAMPLES, MANIFEST, MOMENTS, PLAN
from headroles.storage.moments import moments_bytes
from headroles.storage.places import Place
from headroles.storage.scores import examples_bytes, part_bytes, part_name, scores_of


def put_together(
    place: Place,
    tally: Tally,
    rules: Sequence[Rule],
    facts: Facts,
    options: LabelOptions,
    adding: Adding | None,
) -> tuple[Scores, tuple[Rule, ...], Moments | None]:
    """Scores, the rules with what only the examples say, and the sums of all examples where they were kept.

    Args:
        place: Where the shards are.
        tally: Of all shards.
        rules: One per column.
        facts: Of the workers.
        options: Of the run.
        adding: Which was told of every shard; the scores are then of the subsample. None where all are kept.

    Raises:
        BadInput: When a shard is missing, or is not what its receipt says.
    """
    if adding is None:
        return (*assembled(place, tally, rules, facts), None)
    moments = adding.finish(tally.shards)
    names, grid = [rule.sieve for rule in rules], (facts.layers, facts.heads)
    if adding.finished:
        scores = scores_of_bytes(place.read(part_name(0)), place.read(EXAMPLES), names, grid)
    else:
        scores = sample_of(place, tally.shards, names, grid, options)
    known = np.where(moments.nulled > 0, moments.nulled, 1)
    null = np.where(moments.nulled > 0, moments.nulls / known, np.nan)
    return scores, bounded(rules, tally.low, tally.high, null[:, None], facts.scorers), moments


def settle(place: Place, moments: Moments, scores: Scores, shards: int) -> dict[str, str]:
    """Write sums and subsample of a finished run where they stay, while its shards are still there.

    Args:
        place: Of the run.
        moments: Of all examples.
        scores: Of the subsample.
        shards: How many there are.

    Returns:
        SHA-256, by name, of all files that stay besides results.
    """
    contents = {
        MOMENTS: moments_bytes(moments),
        part_name(0): part_bytes(scores),
        EXAMPLES: examples_bytes(scores),
    }
    for name, data in contents.items():
        place.write(name, data)
    stays = {name: sha256(data).hexdigest() for name, data in contents.items()}
    for name in (PLAN, *(shard_name(number, "json") for number in range(shards))):
        stays[name] = place.sha256(name)
    return stays


def drop_shards(place: Place, files: dict[str, str]) -> None:
    """Take away what only an unfinished run needs, once the manifest says that it is finished.

    Args:
        place: Of the run.
        files: All that stays, by name.
    """
    for folder in ("shards/", "scores/"):
        for name in place.names(folder):
            if name not in files:
                place.delete(name)


def files_said(place: Place) -> dict[str, str] | None:
    """SHA-256 of the files of a finished run, as its manifest says; None where none is finished."""
    try:
        files = json.loads(place.read(MANIFEST)).get("files")
    except (FileNotFoundError, ValueError, AttributeError):
        return None
    return files if isinstance(files, dict) else None


def sample_of(
    place: Place, shards: int, sieves: Sequence[str], grid: tuple[int, int], options: LabelOptions
) -> Scores:
    """The scores of the subsample, from what the shards kept; at most some three samples are held at once.

    Args:
        place: Of the run.
        shards: How many there are.
        sieves: Columns of the run.
        grid: Layers and heads.
        options: Of the run.

    Raises:
        BadInput: When a file of a shard is missing or was altered.
    """
    size = sample_size(options)
    held: list[Scores] = []
    for number in range(shards):
        rows, beside = whole_files(place, number, (ROWS, BESIDE))
        held.append(scores_of_bytes(rows, beside, sieves, grid))
        if number == shards - 1 or sum(len(each.examples) for each in held) > 2 * size:
            keys = [key for each in held for key in each.examples]
            few = candidates(keys, seed=options.seed, before=number * options.shard_size, size=size)
            ends = np.cumsum([len(each.examples) for each in held])
            held = [rows_of(each, own) for each, own in zip(held, np.split(few, ends[:-1]), strict=True)]
    return joined(held)


def joined(parts: Sequence[Scores]) -> Scores:
    """Scores of examples that follow each other, as one."""
    return Scores(
        sieves=parts[0].sieves,
        examples=tuple(key for part in parts for key in part.examples),
        units=tuple(unit for part in parts for unit in part.units),
        tokens=np.concatenate([part.tokens for part in parts]),
        cells=np.concatenate([part.cells for part in parts], axis=1),
        values=np.concatenate([part.values for part in parts], axis=1),
        null=np.concatenate([part.null for part in parts], axis=1),
    )


def scores_of_bytes(part: bytes, beside: bytes, sieves: Sequence[str], grid: tuple[int, int]) -> Scores:
    """The scores of some examples from two files, as ``score_tables.scores_of`` says.

    Args:
        part: As ``score_tables.part_bytes`` gives it.
        beside: As ``score_tables.examples_bytes``.
        sieves: Columns to be read.
        grid: Layers and heads.

    Raises:
        ValueError: When a file is damaged, or the two are of other examples.
        KeyError: When a column is missing.
    """
    import pyarrow.parquet as pq

    return scores_of(pq.read_table(io.BytesIO(part)), pq.read_table(io.BytesIO(beside)), sieves, grid)
