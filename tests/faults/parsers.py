"""Every parser of files, with valid files to begin with: those in the folder ``seeds``, and packed maps."""

import io
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

SEEDS = Path(__file__).parent / "seeds"
LAYOUTS = {
    "conllu": "gold.conllu", "conll2012": "gold.conll", "gap": "gap.tsv", "winobias": "winobias.txt",
    "words": "words.txt", "jsonl": "gold.jsonl",
}  # fmt: skip
"""A valid file of every layout of trees and mentions."""


@dataclass(frozen=True, slots=True)
class Parser:
    """A reader of files, its valid files, and roughly how many inputs of the fastest one take its time."""

    name: str
    file: str
    seeds: tuple[bytes, ...]
    read: Callable[[Path], Any]
    cost: int = 1


def _seeds(*files: str) -> tuple[bytes, ...]:
    return tuple((SEEDS / file).read_bytes() for file in files)


def _listed(file: str) -> bytes:
    """Return the JSON lines of a file as one list."""
    return b"[" + b",\n".join((SEEDS / file).read_bytes().splitlines()) + b"]"


def _attention(layers: int, heads: int, *sizes: int) -> dict[str, np.ndarray]:
    """Return attention that looks back, of inputs of some sizes."""
    chance = np.random.default_rng(0)
    maps = {}
    for number, size in enumerate(sizes):
        weights = np.tril(chance.random((layers, heads, size, size)))
        maps[str(number)] = (weights / weights.sum(-1, keepdims=True)).astype(np.float32)
    return maps


def _packed(maps: dict[str, np.ndarray]) -> bytes:
    """Return maps as npz."""
    stored = io.BytesIO()
    np.savez(stored, **maps)  # type: ignore[arg-type]
    return stored.getvalue()


def _gold(layout: str | None) -> Callable[[Path], Any]:
    def read(path: Path) -> Any:
        from headroles.extraction import read_documents

        return read_documents(path, "x", layout)

    return read


def _table(path: Path) -> Any:
    from headroles.extraction import read_file

    columns = None if path.suffix == ".conllu" else ("question", "sentence")
    return read_file(path, columns, None if columns is None else "document", "x")


def _vectors(path: Path) -> Any:
    from headroles.extraction import read_vectors

    return read_vectors(path), read_vectors(path, {"the"})


def _objects(path: Path) -> Any:
    from headroles.inputs import has_trees, stream_objects

    return list(stream_objects([path], None, "x", has_trees(path)))


def _map_list(path: Path) -> Any:
    import headroles

    maps = path.with_suffix(".npz")
    maps.write_bytes(_packed(_attention(2, 3, 4, 3)))
    return headroles.label(attention=maps, sieve=["local"])


def _map_file(path: Path) -> Any:
    import headroles

    path.with_suffix(".json").write_text('[{"tokens": ["a", "b", "c"]}, {"tokens": ["d", "e"]}]')
    return headroles.label(attention=path, sieve=["local"])


def _manifest(path: Path) -> Any:
    import headroles

    return headroles.load(path.parent)


def parsers(work: Path) -> tuple[Parser, ...]:
    """Return every parser; texts are cut by ``inputs/model``, and a manifest is of ``finished/label/run``."""
    from safetensors.numpy import save

    model, maps = work / "inputs" / "model", _attention(1, 2, 3, 2)

    @cache
    def tokenizer() -> Any:
        from transformers import AutoTokenizer

        return AutoTokenizer.from_pretrained(model)

    def texts(path: Path) -> Any:
        from headroles.extraction import map_inputs, read_rows

        return map_inputs(tokenizer(), read_rows(path), str(path))

    def running(path: Path) -> Any:
        import headroles

        return headroles.convert_pairs(path, out="u.jsonl", model=model, max_length=16, overwrite=True)

    tables = [(file, _seeds(file)) for file in ("table.tsv", "table.csv", "table.jsonl", "gold.conllu")]
    tables.append(("table.json", (_listed("table.jsonl"),)))
    objects = (*_seeds("texts.jsonl", "trees.jsonl"), _listed("texts.jsonl"))
    manifest = (work / "finished" / "label" / "run" / "manifest.json").read_bytes()
    return (
        *(Parser(f"gold {name}", file, _seeds(file), _gold(name)) for name, file in LAYOUTS.items()),
        Parser("gold, detected", "x.txt", _seeds(*LAYOUTS.values()), _gold(None)),
        Parser("gold, a list", "x.json", (_listed("gold.jsonl"),), _gold(None)),
        *(Parser(f"table {file}", file, seeds, _table) for file, seeds in tables),
        Parser("objects", "x.json", objects, _objects),
        Parser("running text", "x.txt", _seeds("running.txt"), running, 8),
        Parser("texts of extract", "x.json", (*objects, *_seeds("tokens.jsonl")), texts, 3),
        Parser("word vectors", "x.txt", _seeds("vectors.txt", "plain-vectors.txt"), _vectors),
        Parser("list of maps", "x.json", _seeds("maps.json"), _map_list, 40),
        Parser("maps npz", "x.npz", (_packed(maps),), _map_file, 40),
        Parser("maps safetensors", "x.safetensors", (save(maps),), _map_file, 40),
        Parser("manifest", "run/manifest.json", (manifest,), _manifest, 40),
    )
