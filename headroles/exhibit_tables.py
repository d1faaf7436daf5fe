"""Attention maps kept for head cards, as files of a run folder and back; no pickle."""

import zlib
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Int, UInt8

from headroles.exhibited import Exhibit, Exhibited
from headroles.exhibiting import RANKS, WHOLE, packed
from headroles.folder import MAPS, SHOWN, TYPICAL
from headroles.records import Example, Scores
from headroles.tables import csv_of, records_in

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
