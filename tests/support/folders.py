"""Folders as bytes, records compared field by field, and manifests changed as their writers would."""

import json
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np


def contents(folder: Path) -> dict[str, bytes]:
    """Return the bytes of all files below a folder, hidden ones too, by their paths."""
    files = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
    return {name: path.read_bytes() for name, path in sorted(files.items())}


def names(folder: Path) -> list[str]:
    """Return the sorted names of what is in a folder."""
    return sorted(path.name for path in folder.iterdir())


def verify(folder: str | Path, *, oracles: bool = False) -> Any:
    """Check the hashes, shards and findings of a run, and return the counts."""
    from headroles.shards import verify as module

    return module.verify(folder, oracles=oracles)


def assert_same(one: Any, other: Any, path: str = "") -> None:
    """Check that two records are equal in every field: arrays bit for bit and by type, NaN equal to NaN."""
    assert type(one) is type(other) or (isinstance(one, float) and isinstance(other, float)), path
    if isinstance(one, np.ndarray):
        assert (one.dtype, one.shape) == (other.dtype, other.shape), path
        np.testing.assert_array_equal(one, other, err_msg=path)
    elif is_dataclass(one):
        for field in fields(one):
            assert_same(getattr(one, field.name), getattr(other, field.name), f"{path}.{field.name}")
    elif isinstance(one, tuple | list):
        assert_same(dict(enumerate(one)), dict(enumerate(other)), path)
    elif isinstance(one, Mapping):
        assert {*one} == {*other}, path
        for name in one:
            assert_same(one[name], other[name], f"{path}[{name!r}]")
    else:
        assert one == other or (one != one and other != other), f"{path}: {one!r} {other!r}"


def change_manifest(folder: Path, change: Callable[[dict[str, Any]], Any] = lambda record: None) -> None:
    """Change the record of a manifest in place, and seal it anew."""
    from headroles.storage import manifest_text

    file = folder / "manifest.json"
    record = json.loads(file.read_text(encoding="utf-8"))
    change(record)
    file.write_text(manifest_text(record), encoding="utf-8")


def hash_again(folder: Path) -> None:
    """Write the hashes of all files into the manifest as they are now, without those that are missing."""
    hashes = {name: sha256(data).hexdigest() for name, data in contents(folder).items()}

    def update(record: dict[str, Any]) -> None:
        record["files"] = {name: hashes[name] for name in record["files"] if name in hashes}

    change_manifest(folder, update)
