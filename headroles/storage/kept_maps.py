"""Attention maps of a few inputs of each head: choosing them for the head panel, and their files.

The panel shows the inputs with the highest and the lowest scores of every role that a head holds. Of heads
without a role it shows the same few inputs, chosen by a hash of their keys. No pickle is written or read.
"""

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int, UInt8

from headroles.records.example import Example, Scores
from headroles.records.findings import Findings
from headroles.records.kept_maps import (
    ANY_INPUT,
    LEAST_TYPICAL,
    MOST_TYPICAL,
    TYPICAL_INPUTS,
    KeptMaps,
    TypicalInput,
    WantedMaps,
)
from headroles.records.layers import Stack
from headroles.records.table import Table
from headroles.storage.arrow.arrays import blobs, lists, numbers, texts
from headroles.storage.arrow.files import parquet_bytes, read_parquet
from headroles.storage.folder import CELLS, MAPS, SHOWN
from headroles.storage.tables import read_table

RANKS = (*range(1, MOST_TYPICAL + 1), *range(-1, -LEAST_TYPICAL - 1, -1))
"""Ranks in the order of keeping maps: most typical examples first."""
LARGEST = 2_250_000
"""Most bytes of all maps together, compressed: in a report they are text of 3 MB."""
WHOLE = 64_000_000
"""Most bytes of all maps together before compression, such as 4,000 maps of 126 tokens."""

GOLDEN = (5**0.5 - 1) / 2
"""Multiples of it, less their whole part, spread evenly."""

Place = tuple[int, int, int]
"""Example (its index among those of the run), layer and head of a map."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """An input that the head panel may show.

    Attributes:
        sieve, rank, score: As in ``TypicalInput``.
        place: Example, layer and head of its map.
    """

    sieve: str
    rank: int
    score: float
    place: Place


def candidates(findings: Findings, scores: Scores) -> list[Candidate]:
    """Return inputs of every head, typical ones of every role that it holds, in the order of keeping maps.

    There is one round per rank: most typical examples first. Within a round roles alternate, each with its
    heads from the highest mean to the lowest. Heads without a role take turns as if they held one.

    Args:
        findings: Heads and their roles.
        scores: Scores of each example.
    """
    rows: list[tuple[int, int, Candidate]] = []
    for name in findings.roles:
        row, column = findings.of(name), scores.sieves.index(name)
        layers, heads = np.nonzero(findings.decision[row] == 0)
        strongest = np.argsort(-findings.mean[row, layers, heads], kind="stable")
        columns = np.ascontiguousarray(scores.values[column][:, layers, heads].T)
        for turn, number in enumerate(strongest):
            layer, head = int(layers[number]), int(heads[number])
            head_scores = columns[number]
            rows += [
                (
                    RANKS.index(rank),
                    turn,
                    Candidate(name, rank, float(head_scores[example]), (example, layer, head)),
                )
                for rank, example in rank_examples(head_scores)
            ]
    rows += _of_heads_without_roles(findings, scores)
    return [candidate for _, _, candidate in sorted(rows, key=lambda row: row[:2])]


def _of_heads_without_roles(findings: Findings, scores: Scores) -> list[tuple[int, int, Candidate]]:
    """Return round, turn and input of every head that holds no role; neighbours in turn are far apart."""
    roles = [findings.of(name) for name in findings.roles]
    layers, heads = np.nonzero(~(findings.decision[roles] == 0).any(axis=0))
    turns = np.argsort(np.arange(len(layers)) * GOLDEN % 1, kind="stable")
    examples = examples_by_hash(scores.examples, scores.tokens)
    return [
        (number, turn, Candidate(ANY_INPUT, number + 1, float("nan"), (example, *place)))
        for number, example in enumerate(examples)
        for turn, place in enumerate(zip(layers[turns].tolist(), heads[turns].tolist(), strict=True))
    ]


def examples_by_hash(keys: Sequence[str], tokens: Int[np.ndarray, " examples"]) -> list[int]:
    """Return examples for heads without a role, whatever their scores are.

    They are those whose keys have the smallest SHA-256, among the examples no longer than the median.

    Args:
        keys: Keys of the examples.
        tokens: Their lengths.

    Returns:
        Indices of at most ``MOST_TYPICAL`` examples.

    Example:
        >>> examples_by_hash(["a", "b", "c", "d", "e"], np.array([9, 5, 5, 5, 7]))
        [3, 2, 1]
    """
    short = np.flatnonzero(tokens <= np.median(tokens)).tolist() if len(tokens) else []
    return sorted(short, key=lambda index: (sha256(keys[index].encode()).digest(), index))[:MOST_TYPICAL]


def rank_examples(scores: Float[np.ndarray, " examples"]) -> list[tuple[int, int]]:
    """Return ranks and indices of a head's most and least typical examples.

    Args:
        scores: Scores of the head; examples with NaN are left out. Ties keep the order of the examples.

    Returns:
        Ranks 1, 2, 3 for the highest scores, then −1, −2 for the lowest of the others, if there are so many.

    Example:
        >>> rank_examples(np.array([0.2, np.nan, 0.9, 0.2, 0.5, 0.1]))
        [(1, 2), (2, 4), (3, 0), (-1, 5), (-2, 3)]
    """
    scored = np.flatnonzero(~np.isnan(scores))
    typical = scored[np.argsort(-scores[scored], kind="stable")][:MOST_TYPICAL]
    rising = scored[np.argsort(scores[scored], kind="stable")][: MOST_TYPICAL + LEAST_TYPICAL]
    least = rising[~np.isin(rising, typical)][:LEAST_TYPICAL]
    return [(rank, int(example)) for rank, example in enumerate(typical, 1)] + [
        (-rank, int(example)) for rank, example in enumerate(least, 1)
    ]


def wanted_maps(
    found: Sequence[Candidate], tokens: Int[np.ndarray, " examples"], most: int, bound: int = WHOLE
) -> list[Place]:
    """Return the maps of candidates, each once and in their order, up to the first beyond a limit.

    Args:
        found: Candidates, as ``candidates`` returns them.
        tokens: Length of each example of the run.
        most: Most maps.
        bound: Most bytes, one per query and key.
    """
    places = list(dict.fromkeys(candidate.place for candidate in found))[:most]
    sizes = np.cumsum([int(tokens[example]) ** 2 for example, _, _ in places])
    return places[: int(np.searchsorted(sizes, bound, side="right"))]


def wanted_by_example(found: Sequence[Candidate], places: Sequence[Place]) -> dict[int, WantedMaps]:
    """Return the heads whose maps are wanted, and the roles whose cells are, by example in rising order.

    Args:
        found: Candidates, as ``candidates`` returns them.
        places: The wanted maps among theirs.
    """
    examples = sorted({example for example, _, _ in places})
    heads: dict[int, dict[int, list[int]]] = {example: {} for example in examples}
    for example, layer, head in places:
        heads[example].setdefault(layer, []).append(head)
    sieves: dict[int, set[str]] = {example: set() for example in examples}
    chosen = set(places)
    for row in found:
        if row.place in chosen and row.sieve != ANY_INPUT:
            sieves[row.place[0]].add(row.sieve)
    return {example: WantedMaps(heads[example], tuple(sorted(sieves[example]))) for example in examples}


def choose_kept_maps(
    found: Sequence[Candidate],
    maps: Mapping[Place, UInt8[np.ndarray, "_ _"]],
    examples: Mapping[int, Example],
    limit: int,
    bound: int = LARGEST,
    counted: Mapping[tuple[int, str], Bool[np.ndarray, "_ _"]] = MappingProxyType({}),
) -> KeptMaps:
    """Return the candidates whose maps are among the first that fit, with these maps, for the head panel.

    Args:
        found: Candidates, as ``candidates`` returns them.
        maps: Attention in steps of 1/255, in the order of ``wanted_maps``.
        examples: At least the examples of the maps, by their indices.
        limit: Most maps that were requested.
        bound: Most bytes of the maps, compressed one by one.
        counted: The cells that a role's sieve counts on an example; cells of other examples are left out.
    """
    kept = sorted(_fitting_maps(maps, bound))
    shown = sorted({example for example, _, _ in kept})
    number = {place: index for index, place in enumerate(kept)}
    order = {name: index for index, name in enumerate(dict.fromkeys(candidate.sieve for candidate in found))}
    listed = sorted(
        (candidate for candidate in found if candidate.place in number),
        key=lambda candidate: (order[candidate.sieve], candidate.place[1:], RANKS.index(candidate.rank)),
    )
    pairs = {(candidate.place[0], candidate.sieve) for candidate in listed}
    return KeptMaps(
        examples=tuple(examples[index] for index in shown),
        places=np.array([(shown.index(place[0]), *place[1:]) for place in kept], np.int64).reshape(-1, 3),
        weights=tuple(maps[place] for place in kept),
        exhibits=tuple(
            TypicalInput(row.sieve, row.place[1], row.place[2], row.rank, row.score, number[row.place])
            for row in listed
        ),
        left=len(found) - len(listed),
        limit=limit,
        counted={
            (shown.index(example), name): cells
            for (example, name), cells in counted.items()
            if (example, name) in pairs
        },
    )


def _fitting_maps(maps: Mapping[Place, np.ndarray], bound: int) -> list[Place]:
    """Return the first maps that together stay within some bytes when compressed."""
    kept: list[Place] = []
    for place, weights in maps.items():
        bound -= len(pack_map(weights))
        if bound < 0:
            break
        kept.append(place)
    return kept


def pack_map(weights: UInt8[np.ndarray, "..."]) -> bytes:
    """Compress a map, or the bits of its cells, with zlib, row by row.

    Example:
        >>> len(pack_map(np.zeros((64, 64), np.uint8)))
        26
    """
    return zlib.compress(np.ascontiguousarray(weights).tobytes(), level=6)


def left_out_note(exhibited: KeptMaps) -> list[str]:
    """Return one sentence on the number of typical inputs without a map; none where none was left out."""
    if not exhibited.left:
        return []
    total = exhibited.left + len(exhibited.exhibits)
    return [
        f"{exhibited.left} of {total} inputs chosen for heads are not on their panels: at "
        f"most {exhibited.limit} attention maps are kept (--maps), and {LARGEST / 1e6:g} MB of them."
    ]


LISTS = {"segment": np.int32, "special": np.bool_, "first": np.bool_, "word": np.int32}
"""Arrays of ``Example`` stored as lists in ``shown.parquet``, one entry per token, with their types."""
COUNTS = ("left", "limit", "rows")
"""Numbers in the metadata of ``maps.parquet``; the last is the number of rows of ``typical.csv``."""


def kept_map_files(exhibited: KeptMaps, stack: Stack) -> dict[str, str | bytes]:
    """Return every file by its name.

    ``shown.parquet`` has a row per example: key, tokens, and per token text, kind and word as lists.
    ``maps.parquet`` has a row per map: row of its example, layer, head, and the weights, steps of 1/255
    as zlib bytes, row by row; its metadata has the number of typical inputs left out, the limit, and the
    number of rows of ``typical.csv``. ``cells.parquet`` has a row per example and role whose sieve counts
    cells: row of the example, role, and the cells as bits, row by row, as zlib bytes.

    Args:
        exhibited: The maps.
        stack: The layers of the run; ``maps.parquet`` has their positions.
    """
    files: dict[str, str | bytes] = {
        TYPICAL_INPUTS.file: _typical(exhibited).csv(),
        SHOWN: _examples_bytes(exhibited),
        MAPS: _maps_bytes(exhibited, stack),
    }
    return files | ({CELLS: _cells_bytes(exhibited)} if exhibited.counted else {})


def _typical(exhibited: KeptMaps) -> Table:
    keys = [exhibited.examples[example].key for example in exhibited.places[:, 0].tolist()]
    names = ("sieve", "layer", "head", "rank", "score", "map")
    columns = {name: [getattr(typical, name) for typical in exhibited.exhibits] for name in names}
    return TYPICAL_INPUTS.of(example=[keys[place] for place in columns["map"]], **columns)


def _examples_bytes(exhibited: KeptMaps) -> bytes:
    examples = exhibited.examples
    sizes = [example.size for example in examples]
    tokens = [token for example in examples for token in example.tokens]
    columns: dict[str, Any] = {
        "example": texts([example.key for example in examples]),
        "tokens": lists(sizes, texts(tokens)),
    }
    for name, kind in LISTS.items():
        values = [getattr(example, name) for example in examples]
        columns[name] = lists(sizes, numbers(np.concatenate([np.empty(0, kind), *values], dtype=kind)))
    return parquet_bytes(columns)


def _maps_bytes(exhibited: KeptMaps, stack: Stack) -> bytes:
    example, layer, head = exhibited.places.T
    places = {"example": example, "layer": stack.positions[layer], "head": head}
    columns: dict[str, Any] = {name: numbers(column.astype(np.int32)) for name, column in places.items()}
    columns["weights"] = blobs([pack_map(weights) for weights in exhibited.weights])
    counts = (exhibited.left, exhibited.limit, len(exhibited.exhibits))
    metadata = {name: str(count) for name, count in zip(COUNTS, counts, strict=True)}
    return parquet_bytes(columns, metadata, compression="none")


def _cells_bytes(exhibited: KeptMaps) -> bytes:
    keys = sorted(exhibited.counted)
    columns: dict[str, Any] = {
        "example": numbers(np.array([example for example, _ in keys], dtype=np.int32)),
        "sieve": texts([name for _, name in keys]),
        "cells": blobs([pack_map(np.packbits(exhibited.counted[key])) for key in keys]),
    }
    return parquet_bytes(columns)


def read_kept_maps(folder: Path, scores: Scores) -> KeptMaps:
    """Read the typical inputs and maps of a run folder.

    Args:
        folder: Folder of the run.
        scores: Scores of the run; examples, their lengths and their scores must be the same.

    Raises:
        KeyError: When a column is missing.
        OSError: When a file is missing.
        ValueError: When a file is damaged, or contradicts the scores of the run.
        BadInput: When arrays do not fit together.
    """
    examples = _read_examples(folder / SHOWN, scores)
    table = _read_table(folder / MAPS, ("example", "layer", "head", "weights"))
    layers = {number: place for place, number in enumerate(scores.stack.numbers)}
    table["layer"] = [layers.get(number, -1) for number in table["layer"]]
    places = np.array([table[name] for name in ("example", "layer", "head")], dtype=np.int64).T.reshape(-1, 3)
    _check_places(places, (len(examples), scores.layers, scores.heads))
    sizes = [examples[example].size for example in places[:, 0].tolist()]
    if sum(size**2 for size in sizes) > WHOLE:
        raise ValueError(f"the maps of {MAPS} are larger than any run keeps")
    weights = tuple(_unpack_map(content, size) for content, size in zip(table["weights"], sizes, strict=True))
    left, limit, count = _read_counts(folder / MAPS)
    rows = read_table(TYPICAL_INPUTS, folder / TYPICAL_INPUTS.file)
    if len(rows) != count:
        raise ValueError(f"{TYPICAL_INPUTS.file} has {len(rows)} rows, but {MAPS} says {count}")
    exhibits = tuple(
        TypicalInput(row.sieve, row.layer, row.head, row.rank, row.score, row.map) for row in rows
    )
    _check_rows(rows, examples, places, scores)
    return KeptMaps(examples, places, weights, exhibits, left, limit, _read_cells(folder / CELLS, examples))


def _read_cells(path: Path, examples: Sequence[Example]) -> dict[tuple[int, str], np.ndarray]:
    """Read the cells of roles on examples; older folders have none."""
    if not path.is_file():
        return {}
    table = _read_table(path, ("example", "sieve", "cells"))
    counted = {}
    for place, name, content in zip(*table.values(), strict=True):
        if place is None or name is None or not 0 <= place < len(examples):
            raise ValueError(f"{CELLS} has an example or a role that is not there")
        size = examples[place].size
        bits = np.frombuffer(_unpack(content, -(-(size**2) // 8), CELLS), dtype=np.uint8)
        counted[place, name] = np.unpackbits(bits, count=size**2).astype(np.bool_).reshape(size, size)
    if len(counted) < len(table["cells"]):
        raise ValueError(f"{CELLS} has the cells of an example and a role twice")
    return counted


def _read_examples(path: Path, scores: Scores) -> tuple[Example, ...]:
    """Read the examples, and check that they are examples of the run with the same lengths."""
    table = _read_table(path, ("example", "tokens", *LISTS))
    lengths = dict(zip(scores.examples, scores.tokens.tolist(), strict=True))
    examples = []
    for key, tokens, *columns in zip(*table.values(), strict=True):
        if any(cell is None for cell in (key, tokens, *columns)) or None in tokens:
            raise ValueError(f"{path.name} has an empty cell")
        if lengths.get(key) != len(tokens):
            raise ValueError(
                f"the example {key!r} of {path.name} is none of the run, or not as long as there"
            )
        if any(len(values) != len(tokens) or None in values for values in columns):
            raise ValueError(f"the lists of {key!r} in {path.name} have not one entry per token")
        segment, special, first, word = (np.array(values) for values in columns)
        examples.append(Example(key, tuple(tokens), segment, special, first, word))
    return tuple(examples)


def _check_places(places: Int[np.ndarray, "maps 3"], shape: tuple[int, int, int]) -> None:
    if (places < 0).any() or (places >= shape).any():
        raise ValueError(f"{MAPS} has a map of an example, a layer or a head that is not there")
    if len(np.unique(places, axis=0)) < len(places):
        raise ValueError(f"{MAPS} has two maps of one example and head")


def _check_rows(
    rows: Table, examples: tuple[Example, ...], places: Int[np.ndarray, "maps 3"], scores: Scores
) -> None:
    """Check that every row agrees with maps and scores, and has each rank of a role and head once."""
    if len({(row.sieve, row.layer, row.head, row.rank) for row in rows}) < len(rows):
        raise ValueError(f"{TYPICAL_INPUTS.file} has a rank of a role and head twice")
    sieves, same_key = (*scores.sieves, ANY_INPUT), dict[str, list[int]]()
    for place, key in enumerate(scores.examples):
        same_key.setdefault(key, []).append(place)
    for row in rows:
        known = row.sieve in sieves and row.rank in RANKS and 0 <= row.map < len(places)
        if not known:
            raise ValueError(f"{TYPICAL_INPUTS.file} has a sieve, rank or map that is not there")
        example, layer, head = places[row.map].tolist()
        if (row.example, row.layer, row.head) != (examples[example].key, layer, head):
            raise ValueError(
                f"{TYPICAL_INPUTS.file} names a map of {MAPS} that belongs to another example or head"
            )
        if row.sieve == ANY_INPUT:
            if not np.isnan(row.score) or row.rank < 1:
                raise ValueError(f"{TYPICAL_INPUTS.file} has a score or a low rank, but no role")
            continue
        head_scores = scores.values[scores.sieves.index(row.sieve), :, layer, head]
        if row.score not in head_scores[same_key[row.example]].tolist():
            raise ValueError(
                f"{TYPICAL_INPUTS.file} has a score of {row.example!r} that is not that of the run"
            )


def _unpack_map(content: Any, size: int) -> UInt8[np.ndarray, "queries keys"]:
    """Decompress a map of known size."""
    return np.frombuffer(_unpack(content, size**2, MAPS), dtype=np.uint8).reshape(size, size)


def _unpack(content: Any, size: int, file: str) -> bytes:
    """Decompress bytes of known number; never decompress more than that."""
    decompressor = zlib.decompressobj()
    try:
        data = decompressor.decompress(content, size + 1)
    except (zlib.error, TypeError) as error:
        raise ValueError(f"{file} has a map that is damaged") from error
    if len(data) != size or not decompressor.eof or decompressor.unused_data:
        raise ValueError(f"{file} has a map of another size than its example")
    return data


def _read_table(path: Path, names: tuple[str, ...]) -> dict[str, list[Any]]:
    """Read columns of a Parquet file by name."""
    table = read_parquet(path)
    return {name: table[name].to_pylist() for name in names}


def _read_counts(path: Path) -> list[int]:
    """Read the number of typical inputs left out, the limit of maps, and the number of rows."""
    import pyarrow.parquet as pq

    metadata = pq.read_schema(path).metadata or {}
    counts = [int(metadata[name.encode()]) for name in COUNTS]
    if min(counts) < 0:
        raise ValueError(f"{MAPS} has a count below 0")
    return counts
