"""Runs that keep moments: read sums and subsample from finished shards, and write them to the run folder."""

import json
from collections.abc import Sequence
from hashlib import sha256

import numpy as np

from headroles.options.run import CommonOptions
from headroles.records.example import Scores
from headroles.records.moments import Moments
from headroles.records.rules.rule import Rule
from headroles.shards.files import read_checked_files, shard_name
from headroles.shards.moments import BESIDE, ROWS, RunningSums, sample_size, select_candidates
from headroles.shards.receipts import Receipts, assemble_scores, with_score_bounds
from headroles.shards.work import Facts
from headroles.storage.arrow.files import read_parquet
from headroles.storage.folder import EXAMPLES, MANIFEST, MOMENTS, PLAN
from headroles.storage.moments import moments_bytes
from headroles.storage.places import Place
from headroles.storage.scores import examples_bytes, part_bytes, part_name, scores_from_tables


def assemble_run(
    place: Place,
    tally: Receipts,
    rules: Sequence[Rule],
    facts: Facts,
    options: CommonOptions,
    adding: RunningSums | None,
) -> tuple[Scores, tuple[Rule, ...], Moments | None]:
    """Return the scores of a run, its rules with bounds and chance values, and its sums where it keeps them.

    Args:
        place: Where the shards are.
        tally: Receipts of all shards.
        rules: One per column.
        facts: Facts of the workers.
        options: Options of the run.
        adding: The sums of all shards; the scores are then those of the subsample. None where the scores of
            all examples are kept.

    Returns:
        Scores, rules, and the sums of all examples; None instead of the sums where all scores are kept.

    Raises:
        BadInput: When a shard is missing, or a file is not the one in its receipt.
    """
    if adding is None:
        return (*assemble_scores(place, tally, rules, facts), None)
    moments = adding.finish(tally.shards)
    names, grid = [rule.sieve for rule in rules], (facts.layers, facts.heads)
    if adding.finished:
        scores = scores_of_bytes(place.read(part_name(0)), place.read(EXAMPLES), names, grid)
    else:
        scores = read_subsample(place, tally.shards, names, grid, options)
    known = np.where(moments.nulled > 0, moments.nulled, 1)
    null = np.where(moments.nulled > 0, moments.nulls / known, np.nan)
    return (
        scores,
        with_score_bounds(rules, tally.low, tally.high, null[:, None], facts.known.scorers),
        moments,
    )


def write_final_sums(place: Place, moments: Moments, scores: Scores, shards: int) -> dict[str, str]:
    """Write the final files of sums and subsample, while the shards are still there.

    Args:
        place: The place of the run.
        moments: Sums of all examples.
        scores: Scores of the subsample.
        shards: Number of shards.

    Returns:
        SHA-256 by name of all files that stay besides the results.
    """
    contents = {
        MOMENTS: moments_bytes(moments),
        part_name(0): part_bytes(scores),
        EXAMPLES: examples_bytes(scores),
    }
    for name, data in contents.items():
        place.write(name, data)
    digests = {name: sha256(data).hexdigest() for name, data in contents.items()}
    for name in (PLAN, *(shard_name(number, "json") for number in range(shards))):
        digests[name] = place.sha256(name)
    return digests


def drop_shards(place: Place, files: dict[str, str]) -> None:
    """Delete the files that only an unfinished run needs, once its manifest is written.

    Args:
        place: The place of the run.
        files: SHA-256 of the files that stay, by name.
    """
    for folder in ("shards/", "scores/"):
        for name in place.names(folder):
            if name not in files:
                place.delete(name)


def files_in_manifest(place: Place) -> dict[str, str] | None:
    """Return the SHA-256 of the files of a finished run from its manifest; None where no run is finished."""
    try:
        files = json.loads(place.read(MANIFEST)).get("files")
    except (FileNotFoundError, ValueError, AttributeError):
        return None
    return files if isinstance(files, dict) else None


def read_subsample(
    place: Place, shards: int, sieves: Sequence[str], grid: tuple[int, int], options: CommonOptions
) -> Scores:
    """Read the scores of the subsample from the shards; memory holds at most about three samples at once.

    Args:
        place: The place of the run.
        shards: Number of shards.
        sieves: Columns of the run.
        grid: Number of layers and heads.
        options: Options of the run.

    Raises:
        BadInput: When a file of a shard is missing or was altered.
    """
    size = sample_size(options)
    parts: list[Scores] = []
    for number in range(shards):
        rows, beside = read_checked_files(place, number, (ROWS, BESIDE))
        parts.append(scores_of_bytes(rows, beside, sieves, grid))
        if number == shards - 1 or sum(len(part.examples) for part in parts) > 2 * size:
            keys = [key for part in parts for key in part.examples]
            selected = select_candidates(
                keys, seed=options.seed, before=number * options.shard_size, size=size
            )
            ends = np.cumsum([len(part.examples) for part in parts])
            masks = np.split(selected, ends[:-1])
            parts = [part.take(mask) for part, mask in zip(parts, masks, strict=True)]
    return concatenate_scores(parts)


def concatenate_scores(parts: Sequence[Scores]) -> Scores:
    """Concatenate the scores of examples that follow each other."""
    return Scores(
        sieves=parts[0].sieves,
        examples=tuple(key for part in parts for key in part.examples),
        units=tuple(unit for part in parts for unit in part.units),
        tokens=np.concatenate([part.tokens for part in parts]),
        cells=np.concatenate([part.cells for part in parts], axis=1),
        values=np.concatenate([part.values for part in parts], axis=1),
        null=np.concatenate([part.null for part in parts], axis=1),
        stack=parts[0].stack,
    )


def scores_of_bytes(part: bytes, beside: bytes, sieves: Sequence[str], grid: tuple[int, int]) -> Scores:
    """Read the scores of some examples from two files, as ``storage.scores.scores_of`` does.

    Args:
        part: A file as ``storage.scores.part_bytes`` gives it.
        beside: A file as ``storage.scores.examples_bytes`` gives it.
        sieves: Columns to be read.
        grid: Number of layers and heads.

    Raises:
        ValueError: When a file is damaged, or the two are of other examples.
        KeyError: When a column is missing.
    """
    return scores_from_tables(read_parquet(part), read_parquet(beside), sieves, grid)
