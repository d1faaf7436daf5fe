"""Differences between folders and texts: words exact, numbers as near as a tolerance says."""

import json
import re
from math import isclose
from pathlib import Path
from typing import Any

import numpy as np

NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?(?![\w.])")
SMALLEST = 1e-5
"""Part of the tolerance that is allowed as an absolute difference, for what would be 0 without rounding."""
OF_MACHINE = ("headroles", "versions", "machine", "sha256", "files", "code", "identity")
"""Fields of records of a run that say which version and machine made it, and hashes over these."""
TEXTS = (".csv", ".json", ".jsonl", ".txt", ".md", ".tex", ".html")


def text_difference(old: str, new: str, tolerance: float = 0.0) -> str:
    """Return the first line in which two texts differ, old and new; "" where there is none."""
    if old == new:
        return ""
    lines, others = old.splitlines(), new.splitlines()
    for number, (line, other) in enumerate(zip(lines, others, strict=False), start=1):
        if line != other and not _same_line(line, other, tolerance):
            return f"line {number}: {line[:300]!r} → {other[:300]!r}"
    return "" if len(lines) == len(others) else f"{len(lines)} lines → {len(others)}"


def _same_line(line: str, other: str, tolerance: float) -> bool:
    if NUMBER.split(line) != NUMBER.split(other):
        return False
    pairs = zip(NUMBER.findall(line), NUMBER.findall(other), strict=True)
    return all(old == new or _near(float(old), float(new), tolerance) for old, new in pairs)


def _near(old: float, new: float, tolerance: float) -> bool:
    return isclose(old, new, rel_tol=tolerance, abs_tol=tolerance * SMALLEST)


def manifest_facts(text: str) -> dict[str, Any]:
    """Return a manifest, a plan or a receipt without what depends on versions and machine."""
    return {name: value for name, value in json.loads(text).items() if name not in OF_MACHINE}


def names_of(folder: Path) -> dict[str, Path]:
    """Return the files of a folder by name, hidden ones left out."""
    files = {file.relative_to(folder).as_posix(): file for file in folder.rglob("*") if file.is_file()}
    return {name: file for name, file in sorted(files.items()) if not name.rpartition("/")[2].startswith(".")}


def byte_differences(old: Path, new: Path) -> list[str]:
    """Return the names of files that differ in a byte, or that one of two folders lacks."""
    before, after = names_of(old), names_of(new)
    return sorted(
        name
        for name in before.keys() | after.keys()
        if name not in before or name not in after or before[name].read_bytes() != after[name].read_bytes()
    )


def folder_differences(old: Path, new: Path, tolerance: float = 0.0, leave: str = "") -> list[str]:
    """Return a sentence on each file that differs between two folders, with its first difference.

    Args:
        old: The one folder.
        new: The other.
        tolerance: Relative difference of numbers that is allowed.
        leave: Regular expression of names that are not compared.
    """
    before, after = names_of(old), names_of(new)
    found = []
    for name in sorted(before.keys() | after.keys()):
        if leave and re.fullmatch(leave, name):
            continue
        if name not in before or name not in after:
            found.append(f"{name}: only {'old' if name in before else 'new'}")
        elif difference := file_difference(before[name], after[name], tolerance):
            found.append(f"{name}: {difference}")
    return found


def file_difference(old: Path, new: Path, tolerance: float) -> str:
    """Return the first difference of two files; "" where there is none."""
    if old.read_bytes() == new.read_bytes():
        return ""
    if old.name in ("manifest.json", "plan.json") or (old.parent.name == "shards" and old.suffix == ".json"):
        texts = [json.dumps(manifest_facts(file.read_text("utf-8")), indent=1) for file in (old, new)]
        return text_difference(texts[0], texts[1], tolerance)
    if old.suffix in TEXTS:
        return text_difference(old.read_text("utf-8"), new.read_text("utf-8"), tolerance)
    if old.suffix in (".npz", ".parquet", ".safetensors"):
        return arrays_difference(old, new, tolerance)
    return "bytes differ"


def arrays_difference(old: Path, new: Path, tolerance: float) -> str:
    """Return in which array or column two files differ; "" where there is none."""
    near: dict[str, Any] = {"rtol": tolerance, "atol": tolerance * SMALLEST}
    try:
        if old.suffix == ".parquet":
            from pandas import read_parquet
            from pandas.testing import assert_frame_equal

            assert_frame_equal(read_parquet(old), read_parquet(new), **near)
            return ""
        before, after = arrays_of(old), arrays_of(new)
        assert before.keys() == after.keys()
        for name, array in before.items():
            if array.dtype.kind == "f":
                np.testing.assert_allclose(after[name], array, err_msg=name, **near)
            else:
                np.testing.assert_array_equal(after[name], array, err_msg=name)
    except AssertionError as error:
        return " ".join(str(error).split())[:300]
    return ""


def arrays_of(file: Path) -> dict[str, np.ndarray]:
    """Return the arrays of a file by name."""
    if file.suffix == ".npz":
        with np.load(file, allow_pickle=False) as arrays:
            return dict(arrays)
    from safetensors.numpy import load_file

    return load_file(file)
