"""Write attention maps of any source to disk, for the commands that read stored maps: ``write_maps()``."""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from headroles.addresses import check_place
from headroles.arrays import array_of, checked_attention
from headroles.errors import BadInput, UnknownName, shorten
from headroles.maps.extract import ExtractedMaps, list_text
from headroles.maps.writer import open_maps, size_in_bytes
from headroles.options.extract import is_unfinished
from headroles.records.example import Example
from headroles.storage.map_files import KINDS, file_form


def write_maps(
    path: str | Path,
    maps: Iterable[tuple[Any, Sequence[str] | Mapping[str, Any]]],
    *,
    model: str | None = None,
    precision: str = "float32",
    sinks: bool = False,
    overwrite: bool = False,
) -> ExtractedMaps:
    """Write attention arrays and their tokens as stored maps, which ``--attention`` of the commands reads.

    Args:
        path: File of the maps, ending in .safetensors or .npz. The list of examples is written into a file of
            the same name that ends in .json.
        maps: For each input a pair: its attention, float (layers, heads, tokens, tokens) with rows as
            queries, and its tokens. Instead of tokens, an object as in the list of examples
            (``docs/how-to/maps.md``) may be given, with ``tokens`` and any other fields, such as ``segment``,
            ``word``, ``texts`` and ``spans``, ``heads`` and ``relations``, ``visible``, ``key`` or ``group``.
            Arrays of numbers become lists.
        model: Name of the model, for reports; None: that of the file.
        precision: "float32" or "float16".
        sinks: Whether rows may sum to less than 1, because part of the attention went to a sink.
        overwrite: Whether a file and a list that are there may be replaced.

    Returns:
        The maps that were written.

    Raises:
        UnknownName: For another precision.
        BadInput: For arrays that are no attention of their tokens or of one model, for fields that break a
            rule of the list, for a file that is there, or one that cannot be written.

    Example:
        >>> import tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> even = np.full((2, 3, 4, 4), 0.25)
        >>> listed = {"tokens": ["[CLS]", "it", "rains", "[SEP]"], "segment": [-1, 0, 0, -1]}
        >>> written = write_maps(f"{folder.name}/maps.npz", [(even, listed)])
        >>> written.count, written.layers, written.heads, written.units
        (1, 2, 3, 4)
        >>> folder.cleanup()
    """
    from headroles.maps.examples import examples_of
    from headroles.maps.stored import MapReader

    check_place(path)
    target = Path(path)
    _check_target(target, precision, overwrite)
    arrays: dict[str, np.ndarray] = {}
    rows: list[dict[str, Any]] = []
    for number, pair in enumerate(maps):
        array, row = _input_of(pair, number, sinks)
        arrays[str(number)] = array
        rows.append(row)
    if not rows:
        raise BadInput("a file of maps holds at least one input, but none was given")
    list_file = target.with_suffix(".json")
    examples = examples_of(rows, list_file, target.stem)
    shape = arrays["0"].shape[:2]
    listed = {example.tokenised.passage.key: example for example in examples}
    reader = MapReader(arrays, listed, shape, sinks)
    for example in examples:
        reader(example.tokenised)  # refuses what a run on the maps would refuse
    shapes = {name: array.shape for name, array in arrays.items()}
    described = {"model": {} if model is None else {"name": model}, "precision": precision, "sinks": sinks}
    with open_maps(target, shapes, precision) as writing:
        for name, array in arrays.items():
            writing.arrays[name][...] = array
        writing.listed = partial(list_text, described, rows, f"'{target}'")
    tokens = sum(array.shape[-1] for array in arrays.values())
    size = size_in_bytes(list(shapes.values()), precision)
    layers, heads = shape
    return ExtractedMaps(target, len(rows), 0, layers, heads, tokens, "tokens", size)


def _check_target(target: Path, precision: str, overwrite: bool) -> None:
    """Check the precision and the file before anything is read."""
    if precision not in KINDS:
        raise UnknownName("precision", precision, KINDS)
    file_form(target)
    if not target.parent.is_dir():
        raise BadInput(f"maps are written into a folder that is there, but there is no '{target.parent}'")
    for file in (target, target.with_suffix(".json")):
        if file.exists() and not overwrite and not is_unfinished(target):
            raise BadInput(f"'{file}' is there already; give overwrite=True to replace it, or another name")


def _input_of(pair: Any, number: int, sinks: bool) -> tuple[np.ndarray, dict[str, Any]]:
    """Return the checked attention of one input, and its object for the list."""
    try:
        attention, given = pair
    except (TypeError, ValueError) as error:
        raise BadInput(
            f"maps hold the attention and the tokens of each input, as a pair, but input {number} is "
            f"{shorten(pair)}"
        ) from error
    fields = dict(given) if isinstance(given, Mapping) else {"tokens": given}
    row = {name: value.tolist() if hasattr(value, "tolist") else value for name, value in fields.items()}
    tokens = row.get("tokens")
    listed = list(tokens) if isinstance(tokens, Sequence) and not isinstance(tokens, str) else []
    if not listed or not all(isinstance(token, str) for token in listed):
        raise BadInput(
            f"input {number}: tokens are a list of strings, at least one, but got {shorten(tokens)}; give "
            f"those of the rows of its attention"
        )
    array = array_of(attention)
    checked_attention(array, Example(f"input {number}", tuple(listed)), sinks=sinks)
    return array, row | {"tokens": listed, "attns": str(number)}
