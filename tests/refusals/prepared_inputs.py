"""Objects, files and folders of refusals of inputs, models, storage, shards and maps."""

import json
import os
import pickle
import re
import shlex
import shutil
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from headroles import write_maps
from tests.refusals.prepared import command, even
from tests.support.folders import change_manifest, hash_again

if TYPE_CHECKING:
    from tests.refusals.names import Names

NUMBERS = count()
KEPT: dict[str, Any] = {"data": "pairs.tsv", "model": "planted", "max_length": 48, "limit": 8}
"""Options of a small run, which a row changes."""
GAP = "ID Text Pronoun Pronoun-offset A A-offset A-coref B B-offset B-coref\n".replace(" ", "\t")
"""The header of a GAP file."""
ZEROS = bytes(8000)


def laid(names: "Names", name: str, content: str | bytes) -> Path:
    """Write a file of text or bytes into a folder of its own, and return it."""
    folder = names.made / f"laid{next(NUMBERS)}"
    file = folder / name
    file.parent.mkdir(parents=True)
    file.write_bytes(content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content)
    return file


def pickled(names: "Names", *values: object, names_of: tuple[str, ...] = ("old.pkl",)) -> Path:
    """Pickle values into files of one folder; return the only file, or the folder of several."""
    folder = names.made / f"pickled{next(NUMBERS)}"
    folder.mkdir()
    for name, value in zip(names_of, values, strict=True):
        (folder / name).write_bytes(pickle.dumps(value))
    return folder if len(values) > 1 or names_of[0] != "old.pkl" else folder / names_of[0]


class Sharing:
    """What pickles as an array whose bytes other arrays have, too."""

    def __reduce__(self) -> Any:
        """Return how the array is made, and its state."""
        array: Any = np.zeros(1000)
        make, given, state = array.__reduce__()
        return make, given, (*state[:4], ZEROS)


def parquet(names: "Names", *given: Any) -> Path:
    """Write a Parquet file of columns, given as names and values in turn; bytes are stored as texts."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    file = names.made / f"{next(NUMBERS)}.parquet"
    columns = [pa.array(values) for values in given[1::2]]
    columns = [column.view("string") if pa.types.is_binary(column.type) else column for column in columns]
    pq.write_table(pa.Table.from_arrays(columns, names=list(given[::2])), file)
    return file


def beside(names: "Names", *rows: dict[str, Any] | str, **document: Any) -> Path:
    """Write even maps of 2 layers, one for each row, with a list of these rows beside them; return the maps.

    Tokens are "it" and "rains" unless a row has others. A text is the whole list, as it is.
    """
    folder = names.made / f"maps{next(NUMBERS)}"
    folder.mkdir()
    listed = [{"tokens": ["it", "rains"]} | row for row in rows if not isinstance(row, str)]
    sizes = [len(row["tokens"]) if isinstance(row["tokens"], list) else 2 for row in listed] or [2]
    maps = [(even(2, 2, size or 2), list("ab" * 9)[: size or 2]) for size in sizes]
    write_maps(folder / "a.npz", maps)
    text = json.dumps(document | {"examples": listed} if document else listed)
    (folder / "a.json").write_text(rows[0] if rows and isinstance(rows[0], str) else text, encoding="utf-8")
    return folder / "a.npz"


def _put(folder: Path, name: str, path: str, text: str) -> None:
    """Change a value of a JSON file by its keys; a manifest is sealed anew."""
    *keys, last = path.split(".")
    try:
        value = json.loads(text)
    except ValueError:
        value = text

    def change(record: dict[str, Any]) -> None:
        for key in keys:
            record = record[key]
        record[last] = value
        if text == "-":
            del record[last]

    if name == "manifest.json":
        change_manifest(folder, change)
        return
    record = json.loads((folder / name).read_text(encoding="utf-8"))
    change(record)
    (folder / name).write_text(json.dumps(record), encoding="utf-8")


def _swap(folder: Path, name: str, old: str, new: str) -> None:
    """Replace words in a file, which must be there."""
    text = (folder / name).read_text(encoding="utf-8")
    assert old in text
    (folder / name).write_text(text.replace(old, new), encoding="utf-8")


def _drop(folder: Path, *patterns: str) -> None:
    """Remove files, which must be there."""
    for pattern in patterns:
        for file in [*folder.glob(pattern)] or [folder / pattern]:
            file.unlink()


def _weights(folder: Path, name: str, change: str) -> None:
    """Change or drop tensors whose name holds some words."""
    from safetensors.torch import load_file, save_file

    file, found = folder / "model.safetensors", {}
    for key, tensor in load_file(file).items():
        if name not in key:
            found[key] = tensor
        elif change != "drop":
            found[key] = tensor * float("nan") if change == "nan" else tensor.char()
    save_file(found, file, {"format": "pt"})


CHANGES: dict[str, Callable[..., object]] = {
    "put": _put, "swap": _swap, "drop": _drop, "weights": _weights, "hash": hash_again,
    "write": lambda folder, name, text="": (folder / name).write_text(text, encoding="utf-8"),
    "move": lambda folder, name, other: (folder / name).rename(folder / other),
    "take": lambda folder, name, other: shutil.copytree(other, folder / name, dirs_exist_ok=True),
    "cut": lambda folder, name: os.truncate(folder / name, (folder / name).stat().st_size // 2),
    "make": lambda folder, name: (folder / name).mkdir(),
}  # fmt: skip
"""What a row may do to a copy of a folder: name and arguments, separated by ``; ``."""


def changed(names: "Names", source: str | Path, changes: str) -> Path:
    """Return a changed copy of a folder of the desk."""
    folder = names.made / f"changed{next(NUMBERS)}"
    shutil.copytree(names.desk / source, folder)
    for change in changes.split("; "):
        kind, *given = shlex.split(change)
        CHANGES[kind](folder, *given)
    return folder


def on_copy(names: "Names", words: str, changes: str) -> object:
    """Run a command or an expression, with ``@name`` as a changed copy of the folder of that name."""
    found = re.search(r"@([\w./-]+)", words)
    assert found
    words = words.replace(found[0], str(changed(names, found[1], changes)))
    return eval(words, names) if "(" in words else command(words)


def two_models(names: "Names") -> Path:
    """Write maps of two models with a list of both."""
    file = beside(names, {}, {})
    arrays: dict[str, Any] = {"0": even(1, 1, 2), "1": even(2, 1, 2)}
    np.savez(file, **arrays)
    return file


def gone(names: "Names") -> Any:
    """Return a place whose folder was taken away after the first file."""
    from headroles.storage import place_of

    place = place_of(str(names.made / "gone"))
    place.write("first", b"x")
    shutil.rmtree(names.made / "gone")
    return place
