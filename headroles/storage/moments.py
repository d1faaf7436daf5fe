"""Moments as a file and back: npz without pickle, equal bytes for equal sums."""

import io
import zipfile
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from headroles.records.example import Scores
from headroles.records.moments import ARRAYS, GRIDS, GROUPS, SUMS, Moments
from headroles.storage.folder import MOMENTS

COUNTS = ("start", "stop", "examples", "tokens")
INTEGERS = ("celled", "nulled", "spoke", "count")


def moments_bytes(moments: Moments) -> bytes:
    """Return moments as the content of a file; only groups with examples are written, as shards have few."""
    groups = np.flatnonzero(moments.weight.any(axis=(0, 2, 3)))
    arrays: dict[str, Any] = {
        "sieves": np.array(moments.sieves, dtype=np.str_),
        "inputs": np.array(moments.inputs, dtype=np.str_),
        "numbers": np.array([getattr(moments, name) for name in COUNTS], dtype=np.int64),
        "groups": groups.astype(np.int64),
        **{name: getattr(moments, name) for name in ARRAYS if name not in SUMS},
        **{name: getattr(moments, name)[:, groups] for name in SUMS},
    }
    arrays["sha256"] = np.array(_digest(arrays), dtype=np.str_)
    content = io.BytesIO()
    np.savez(content, allow_pickle=False, **arrays)
    return content.getvalue()


def parse_moments(content: bytes) -> Moments:
    """Return moments from the content of their file.

    Raises:
        ValueError: When it is damaged, or its arrays do not fit together.
        KeyError: When an array is missing.
        BadInput: When shapes or shards are not those of moments.
    """
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in ("sieves", "inputs", "numbers", "groups", *ARRAYS)}
            digest = str(archive["sha256"])
    except (zipfile.BadZipFile, EOFError, OSError) as error:
        raise ValueError(f"moments are an npz file, but this is none ({error})") from error
    for name, array in arrays.items():
        kind = {"sieves": "U", "inputs": "U", "numbers": "i", "groups": "i"} | dict.fromkeys(INTEGERS, "i")
        if array.dtype.kind != kind.get(name, "f"):
            raise ValueError(f"the moments {name!r} are not of their type")
    groups = arrays["groups"]
    if (
        groups.ndim != 1
        or len(np.unique(groups)) != len(groups)
        or not ((groups >= 0) & (groups < GROUPS)).all()
    ):
        raise ValueError(f"the groups of moments are not some of {GROUPS}, each once")
    if arrays["numbers"].shape != (len(COUNTS),) or arrays["count"].ndim != 3:
        raise ValueError("the moments have not the arrays that they are made of")
    columns, grid = len(arrays["sieves"]), arrays["count"].shape[1:]
    whole = {name: np.zeros((columns, GROUPS, *grid)) for name in SUMS}
    for name in SUMS:
        if arrays[name].shape != (columns, len(groups), *grid):
            raise ValueError(f"the moments {name!r} are not of their groups and heads")
        whole[name][:, groups] = arrays[name]
    _check_numbers(arrays, whole)
    if digest != _digest(arrays):
        raise ValueError("the moments are not what they were when they were written")
    rest = {name: arrays[name] for name in ARRAYS if name not in SUMS}
    start, stop, examples, tokens = map(int, arrays["numbers"])
    names = tuple(map(str, arrays["sieves"]))
    inputs = str(arrays["inputs"])
    return Moments(names, start, stop, examples, tokens, inputs, **rest, **whole)


def _digest(arrays: Mapping[str, np.ndarray]) -> str:
    """Return SHA-256 over all arrays of the file, with their names and shapes."""
    digest = sha256()
    for name, array in sorted(arrays.items()):
        digest.update(
            f"{name} {array.dtype.str} {array.shape}".encode() + np.ascontiguousarray(array).tobytes()
        )
    return digest.hexdigest()


def _check_numbers(arrays: dict[str, np.ndarray], whole: dict[str, np.ndarray]) -> None:
    """Refuse numbers that sums cannot have."""
    for name in ("cells", "celled", "nulls", "nulled", "spoke", *GRIDS[:3]):
        if not np.isfinite(arrays[name]).all():
            raise ValueError(f"the moments {name!r} hold something else than numbers")
    if not all(np.isfinite(sums).all() for sums in whole.values()) or (whole["weight"] < 0).any():
        raise ValueError("the sums of groups hold something else than numbers")
    if (arrays["count"] < 0).any() or (arrays["square"] < 0).any():
        raise ValueError("counts and squares are at least 0")


def read_moments(folder: Path, manifest: Mapping[str, Any], scores: Scores) -> Moments | None:
    """Read the moments of a run that kept them; None for a run that kept all scores.

    Args:
        folder: Folder of the run.
        manifest: Manifest of the run.
        scores: Scores of its subsample; the moments must have the same columns and heads.

    Raises:
        OSError: When the file cannot be read.
        ValueError: When the file is damaged, or has other columns or heads.
        KeyError: When an array is missing.
        BadInput: When shapes or shards are not those of moments.
    """
    if dict(manifest.get("kept", {})).get("mode") != "moments":
        return None
    moments = parse_moments((folder / MOMENTS).read_bytes())
    if moments.sieves != scores.sieves or moments.count.shape[1:] != scores.values.shape[2:]:
        raise ValueError(f"{MOMENTS} is of other sieves or heads than the scores")
    return moments
