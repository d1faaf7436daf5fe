"""Moments as a file and back: npz without pickle, equal bytes for equal sums."""

from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from headroles.records.arrays import check_arrays
from headroles.records.example import Scores
from headroles.records.moments import GRIDS, GROUPS, SUMS, Moments
from headroles.storage.archive import archive_bytes, arrays_of, read_archive, record_of
from headroles.storage.folder import MOMENTS

COUNTS = ("start", "stop", "examples", "tokens")


def moments_bytes(moments: Moments) -> bytes:
    """Return moments as the content of a file; only groups with examples are written, as shards have few."""
    groups = np.flatnonzero(moments.weight.any(axis=(0, 2, 3)))
    arrays = arrays_of(moments, leave_out=COUNTS) | {
        "numbers": np.array([getattr(moments, name) for name in COUNTS], dtype=np.int64),
        "groups": groups.astype(np.int64),
        **{name: getattr(moments, name)[:, groups] for name in SUMS},
    }
    return archive_bytes(arrays | {"sha256": np.array(_digest(arrays), dtype=np.str_)})


def parse_moments(content: bytes) -> Moments:
    """Return moments from the content of their file.

    Raises:
        ValueError: When it is damaged, or holds numbers that sums cannot have.
        KeyError: When an array is missing.
        BadInput: When shapes or shards are not those of moments.
    """
    arrays = read_archive(content, MOMENTS)
    if str(arrays.pop("sha256")) != _digest(arrays):
        raise ValueError("the moments are not what they were when they were written")
    groups, numbers = arrays["groups"], arrays["numbers"]
    if groups.dtype.kind != "i" or numbers.dtype.kind != "i" or numbers.shape != (len(COUNTS),):
        raise ValueError("the moments lack some of their arrays")
    if len(np.unique(groups)) != groups.size or not ((groups >= 0) & (groups < GROUPS)).all():
        raise ValueError(f"the groups of moments are not some of {GROUPS}, each once")
    what = f"moments of {arrays['sieves'].size} sieves in {groups.size} groups"
    check_arrays(Moments, arrays, what, {"sieves": arrays["sieves"].size, "groups": groups.size})
    _check_numbers(arrays)
    whole = {name: _all_groups(arrays[name], groups) for name in SUMS}
    counts = dict(zip(COUNTS, map(int, numbers), strict=True))
    return record_of(Moments, arrays, **counts, **whole)


def _all_groups(
    sums: Float[np.ndarray, "sieves present layers heads"], groups: Int[np.ndarray, " present"]
) -> Float[np.ndarray, "sieves groups layers heads"]:
    """Return sums of all groups from those of the groups that have examples."""
    whole = np.zeros((len(sums), GROUPS, *sums.shape[2:]))
    whole[:, groups] = sums
    return whole


def _digest(arrays: Mapping[str, np.ndarray]) -> str:
    """Return SHA-256 over all arrays of the file, with their names and shapes."""
    digest = sha256()
    for name, array in sorted(arrays.items()):
        digest.update(
            f"{name} {array.dtype.str} {array.shape}".encode() + np.ascontiguousarray(array).tobytes()
        )
    return digest.hexdigest()


def _check_numbers(arrays: Mapping[str, np.ndarray]) -> None:
    """Refuse numbers that sums cannot have."""
    for name in ("cells", "celled", "nulls", "nulled", "spoke", *GRIDS[:3], *SUMS):
        if not np.isfinite(arrays[name]).all():
            raise ValueError(f"the moments {name!r} hold something else than numbers")
    if any((arrays[name] < 0).any() for name in ("count", "square", "weight")):
        raise ValueError("counts, squares and weights are at least 0")


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
        raise ValueError(f"{MOMENTS} has other sieves or heads than the scores")
    return moments
