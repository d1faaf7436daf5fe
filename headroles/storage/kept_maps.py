"""Attention maps kept for head cards, as files of a run folder and back; no pickle.

Which examples head cards show: the highest and the lowest scores of every role that a head holds.
"""

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, Int, UInt8

from headroles.records.example import Example, Scores
from headroles.records.findings import Findings
from headroles.records.kept_maps import LEAST_TYPICAL, MOST_TYPICAL, Exhibit, Exhibited
from headroles.storage.folder import MAPS, SHOWN, TYPICAL
from headroles.storage.tables import csv_of, records_in

RANKS = (*range(1, MOST_TYPICAL + 1), *range(-1, -LEAST_TYPICAL - 1, -1))
"""Ranks in the order in which maps are kept: typical examples first."""
LARGEST = 2_250_000
"""Bytes that all maps together may take, compressed: in a report they are text of 3 MB."""
WHOLE = 64_000_000
"""Bytes that all maps together may take before they are compressed, such as 4,000 of 126 tokens."""

Place = tuple[int, int, int]
"""What a map is of: an example (its place among those of the run), a layer and a head."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """An example that a head card would show.

    Attributes:
        sieve: The role.
        rank: 1, 2, 3 for the highest scores; −1, −2 for the lowest.
        score: Of the head on the example.
        place: Of its map.
    """

    sieve: str
    rank: int
    score: float
    place: Place


def candidates(findings: Findings, scores: Scores) -> list[Candidate]:
    """The examples of every role that a head holds, in the order in which their maps are kept.

    In rounds, one per rank: most typical examples first. Within a round roles take turns, each with its
    heads from the highest mean score to the lowest, so that a limit leaves something of every role.

    Args:
        findings: Which heads hold which roles.
        scores: What they scored on each example.
    """
    found: list[tuple[int, int, Candidate]] = []
    for name in findings.roles:
        row, column = findings.of(name), scores.sieves.index(name)
        layers, heads = np.nonzero(findings.decision[row] == 0)
        strongest = np.argsort(-findings.mean[row, layers, heads], kind="stable")
        columns = np.ascontiguousarray(scores.values[column][:, layers, heads].T)
        for turn, number in enumerate(strongest):
            layer, head = int(layers[number]), int(heads[number])
            own = columns[number]
            found += [
                (RANKS.index(rank), turn, Candidate(name, rank, float(own[example]), (example, layer, head)))
                for rank, example in ranked(own)
            ]
    return [each for _, _, each in sorted(found, key=lambda row: row[:2])]


def ranked(scores: Float[np.ndarray, " examples"]) -> list[tuple[int, int]]:
    """Ranks and places of a head's most and least typical examples.

    Args:
        scores: Of the head; an example with NaN is none. Of equal scores the first example comes first.

    Returns:
        1, 2, 3 with the highest scores, then −1, −2 with the lowest of the others, as far as there are.

    Example:
        >>> ranked(np.array([0.2, np.nan, 0.9, 0.2, 0.5, 0.1]))
        [(1, 2), (2, 4), (3, 0), (-1, 5), (-2, 3)]
    """
    scored = np.flatnonzero(~np.isnan(scores))
    typical = scored[np.argsort(-scores[scored], kind="stable")][:MOST_TYPICAL]
    rising = scored[np.argsort(scores[scored], kind="stable")][: MOST_TYPICAL + LEAST_TYPICAL]
    contrary = rising[~np.isin(rising, typical)][:LEAST_TYPICAL]
    return [(rank, int(each)) for rank, each in enumerate(typical, 1)] + [
        (-rank, int(each)) for rank, each in enumerate(contrary, 1)
    ]


def wanted(
    found: Sequence[Candidate], tokens: Int[np.ndarray, " examples"], most: int, bound: int = WHOLE
) -> list[Place]:
    """The maps that candidates ask for, each once and in their order, up to the first beyond a limit.

    Args:
        found: From ``candidates``.
        tokens: Length of each example of the run.
        most: Maps at most.
        bound: Bytes at most, one per query and key.
    """
    places = list(dict.fromkeys(each.place for each in found))[:most]
    sizes = np.cumsum([int(tokens[example]) ** 2 for example, _, _ in places])
    return places[: int(np.searchsorted(sizes, bound, side="right"))]


def exhibited_of(
    found: Sequence[Candidate],
    maps: Mapping[Place, UInt8[np.ndarray, "_ _"]],
    examples: Mapping[int, Example],
    limit: int,
    bound: int = LARGEST,
) -> Exhibited:
    """What head cards show: candidates whose maps are among the first that fit.

    Args:
        found: From ``candidates``.
        maps: Attention in steps of 1/255, in the order of ``wanted``.
        examples: At least those of the maps, by their places.
        limit: Maps that were asked for at most.
        bound: Bytes that the maps may take at most, compressed one by one.
    """
    kept = sorted(_fitting(maps, bound))
    shown = sorted({example for example, _, _ in kept})
    number = {place: index for index, place in enumerate(kept)}
    order = {name: index for index, name in enumerate(dict.fromkeys(each.sieve for each in found))}
    listed = sorted(
        (each for each in found if each.place in number),
        key=lambda each: (order[each.sieve], each.place[1:], RANKS.index(each.rank)),
    )
    return Exhibited(
        examples=tuple(examples[each] for each in shown),
        places=np.array([(shown.index(place[0]), *place[1:]) for place in kept], np.int64).reshape(-1, 3),
        weights=tuple(maps[place] for place in kept),
        exhibits=tuple(
            Exhibit(each.sieve, each.place[1], each.place[2], each.rank, each.score, number[each.place])
            for each in listed
        ),
        left=len(found) - len(listed),
        limit=limit,
    )


def _fitting(maps: Mapping[Place, np.ndarray], bound: int) -> list[Place]:
    """The first maps that stay within some bytes when they are compressed."""
    kept: list[Place] = []
    for place, weights in maps.items():
        bound -= len(packed(weights))
        if bound < 0:
            break
        kept.append(place)
    return kept


def packed(weights: UInt8[np.ndarray, "queries keys"]) -> bytes:
    """A map as zlib bytes, row by row.

    Example:
        >>> len(packed(np.zeros((64, 64), np.uint8)))
        26
    """
    return zlib.compress(np.ascontiguousarray(weights).tobytes(), level=6)


def told(exhibited: Exhibited) -> list[str]:
    """How many examples have no map, as one sentence; none where none was left out."""
    if not exhibited.left:
        return []
    total = exhibited.left + len(exhibited.exhibits)
    return [
        f"{exhibited.left} of {total} most and least typical inputs of heads are not on the head cards: at "
        f"most {exhibited.limit} attention maps are kept (--maps), and {LARGEST / 1e6:g} MB of them."
    ]


LISTS = {"segment": "int32", "special": "bool_", "first": "bool_", "word": "int32"}
"""Arrays of ``Example`` that are lists of ``shown.parquet``, one entry per token, with their types."""
COUNTS = ("left", "limit", "rows")
"""Numbers in the metadata of ``maps.parquet``; the last is that of the rows of ``typical.csv``."""


@dataclass(frozen=True, slots=True)
class Row:
    """One row of ``typical.csv``: an example shown for a role of a head.

    Attributes:
        sieve: The role.
        layer: Layer of the head.
        head: The head.
        rank: 1, 2, 3 for the highest scores; −1, −2 for the lowest.
        example: Key of the example.
        score: Of the head on it.
        map: Row of ``maps.parquet``, from 0.
    """

    sieve: str
    layer: int
    head: int
    rank: int
    example: str
    score: float
    map: int


def files_of_exhibited(exhibited: Exhibited) -> dict[str, str | bytes]:
    """Every file by its name.

    ``shown.parquet`` has a row per example: key, tokens, and per token text, kind and word as lists.
    ``maps.parquet`` has a row per map: row of its example, layer, head, and the weights, steps of 1/255
    as zlib bytes, row by row; its metadata has how many examples were left out, the limit, and the
    number of rows of ``typical.csv``.
    """
    return {TYPICAL: csv_of(Row, _rows(exhibited)), SHOWN: _shown(exhibited), MAPS: _maps(exhibited)}


def _rows(exhibited: Exhibited) -> list[Row]:
    keys = [exhibited.examples[example].key for example in exhibited.places[:, 0].tolist()]
    return [
        Row(each.sieve, each.layer, each.head, each.rank, keys[each.map], each.score, each.map)
        for each in exhibited.exhibits
    ]


def _shown(exhibited: Exhibited) -> bytes:
    import pyarrow as pa

    columns: dict[str, Any] = {
        "example": pa.array([each.key for each in exhibited.examples], pa.string()),
        "tokens": pa.array([each.tokens for each in exhibited.examples], pa.list_(pa.string())),
    }
    for name, kind in LISTS.items():
        values = [getattr(each, name).tolist() for each in exhibited.examples]
        columns[name] = pa.array(values, pa.list_(getattr(pa, kind)()))
    return _parquet(pa.table(columns), "zstd")


def _maps(exhibited: Exhibited) -> bytes:
    import pyarrow as pa

    columns: dict[str, Any] = {
        name: pa.array(column, pa.int32())
        for name, column in zip(("example", "layer", "head"), exhibited.places.T, strict=True)
    }
    columns["weights"] = pa.array([packed(each) for each in exhibited.weights], pa.binary())
    counts = (exhibited.left, exhibited.limit, len(exhibited.exhibits))
    said = {name: str(count) for name, count in zip(COUNTS, counts, strict=True)}
    return _parquet(pa.table(columns).replace_schema_metadata(said), "none")


def _parquet(table: Any, compression: str) -> bytes:
    import pyarrow.parquet as pq

    content = BytesIO()
    pq.write_table(table, content, compression=compression, use_dictionary=False)
    return content.getvalue()


def exhibited_in(folder: Path, scores: Scores) -> Exhibited:
    """What a run folder keeps for head cards.

    Args:
        folder: Of the run.
        scores: Of the run, which the examples, their lengths and their scores must be those of.

    Raises:
        KeyError: When a column is missing.
        OSError: When a file is missing.
        ValueError: When a file is damaged, or says what is not so of the run.
        BadInput: When arrays do not fit together.
    """
    examples = _examples(folder / SHOWN, scores)
    table = _table(folder / MAPS, ("example", "layer", "head", "weights"))
    places = np.array([table[name] for name in ("example", "layer", "head")], dtype=np.int64).T.reshape(-1, 3)
    _check_places(places, (len(examples), scores.layers, scores.heads))
    sizes = [examples[example].size for example in places[:, 0].tolist()]
    if sum(size**2 for size in sizes) > WHOLE:
        raise ValueError(f"the maps of {MAPS} are larger than any run keeps")
    weights = tuple(_unpacked(each, size) for each, size in zip(table["weights"], sizes, strict=True))
    left, limit, count = _counts(folder / MAPS)
    rows: list[Row] = records_in(Row, folder / TYPICAL)
    if len(rows) != count:
        raise ValueError(f"{TYPICAL} has {len(rows)} rows, but {MAPS} says {count}")
    exhibits = tuple(Exhibit(r.sieve, r.layer, r.head, r.rank, r.score, r.map) for r in rows)
    _check_rows(rows, examples, places, scores)
    return Exhibited(examples, places, weights, exhibits, left, limit)


def _examples(path: Path, scores: Scores) -> tuple[Example, ...]:
    """The examples, which must be some of the run's, as long as they were there."""
    table = _table(path, ("example", "tokens", *LISTS))
    lengths = dict(zip(scores.examples, scores.tokens.tolist(), strict=True))
    found = []
    for key, tokens, *lists in zip(*table.values(), strict=True):
        if any(each is None for each in (key, tokens, *lists)) or None in tokens:
            raise ValueError(f"{path.name} has an empty cell")
        if lengths.get(key) != len(tokens):
            raise ValueError(
                f"the example {key!r} of {path.name} is none of the run, or not as long as there"
            )
        if any(len(each) != len(tokens) or None in each for each in lists):
            raise ValueError(f"the lists of {key!r} in {path.name} have not one entry per token")
        segment, special, first, word = (np.array(each) for each in lists)
        found.append(Example(key, tuple(tokens), segment, special, first, word))
    return tuple(found)


def _check_places(places: Int[np.ndarray, "maps 3"], shape: tuple[int, int, int]) -> None:
    if (places < 0).any() or (places >= shape).any():
        raise ValueError(f"{MAPS} has a map of an example, a layer or a head that is not there")
    if len(np.unique(places, axis=0)) < len(places):
        raise ValueError(f"{MAPS} has two maps of one example and head")


def _check_rows(
    rows: list[Row], examples: tuple[Example, ...], places: Int[np.ndarray, "maps 3"], scores: Scores
) -> None:
    """Every row must say what maps and scores say, each rank of a role and head once."""
    if len({(row.sieve, row.layer, row.head, row.rank) for row in rows}) < len(rows):
        raise ValueError(f"{TYPICAL} has a rank of a role and head twice")
    for row in rows:
        known = row.sieve in scores.sieves and row.rank in RANKS and 0 <= row.map < len(places)
        if not known:
            raise ValueError(f"{TYPICAL} has a sieve, rank or map that is not there")
        example, layer, head = places[row.map].tolist()
        if (row.example, row.layer, row.head) != (examples[example].key, layer, head):
            raise ValueError(f"{TYPICAL} names a map of {MAPS} that is of another example or head")
        own = scores.values[scores.sieves.index(row.sieve), :, layer, head]
        there = [place for place, key in enumerate(scores.examples) if key == row.example]
        if row.score not in own[there].tolist():
            raise ValueError(f"{TYPICAL} has a score of {row.example!r} that is not that of the run")


def _unpacked(content: Any, size: int) -> UInt8[np.ndarray, "queries keys"]:
    """A map of some size from its bytes; never more is unpacked than it has."""
    reading = zlib.decompressobj()
    try:
        plain = reading.decompress(content, size**2 + 1)
    except (zlib.error, TypeError) as error:
        raise ValueError(f"{MAPS} has a map that is damaged") from error
    if len(plain) != size**2 or not reading.eof or reading.unused_data:
        raise ValueError(f"{MAPS} has a map of another size than its example")
    return np.frombuffer(plain, dtype=np.uint8).reshape(size, size)


def _table(path: Path, names: tuple[str, ...]) -> dict[str, list[Any]]:
    """Columns of a Parquet file by their names."""
    import pyarrow.parquet as pq

    table = pq.read_table(path)
    return {name: table[name].to_pylist() for name in names}


def _counts(path: Path) -> list[int]:
    """How many examples were left out, the most maps that were to be kept, and how many rows there are."""
    import pyarrow.parquet as pq

    said = pq.read_schema(path).metadata or {}
    counts = [int(said[name.encode()]) for name in COUNTS]
    if min(counts) < 0:
        raise ValueError(f"{MAPS} has a count below 0")
    return counts
