"""Convert a file of an older tool into a file that commands of headroles read: ``convert_old()``."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from headroles.converting.pickles import read_pickle
from headroles.errors import BadInput, shorten
from headroles.options.extract import ConvertOptions
from headroles.options.keywords import keywords_of

PICKLES = (".pkl", ".pickle", ".p")
ENDINGS = {
    "maps": (".safetensors", ".npz"),
    "scores": (".parquet", ".csv"),
    "labels": (".csv",),
    "trees": (".jsonl",),
}
"""Endings of new files, by what they hold."""
PURPOSES = {
    "task": "--task names the task whose scores are taken from a folder",
    "tokens": "--tokens gives the tokens of maps",
    "score_name": "--score-name names the scores of one file",
}
"""What the options do that some files only take."""
JUDGE_NOTE = (
    "headroles judge --scores {file} --margin 2 --test t-published --correction none repeats the released "
    "labels: 2 beyond the null of 1 is the released threshold of 3"
)
SCORE_NOTE = (
    "headroles judge --scores {file} --margin X tests every head; X says how far beyond chance a mean must "
    "lie to count"
)
LABEL_NOTE = "labels without scores cannot be tested again; convert the scores that they were made of"


@dataclass(frozen=True, slots=True)
class Converted:
    """A file that was made from a file of an older tool.

    Attributes:
        file: The new file.
        kind: "maps", "scores", "labels" or "trees".
        count: Number of units.
        unit: "inputs" of maps, "rows" of tables, or "trees".
        notes: What differs from what headroles makes itself, and what to do next, one sentence each.
    """

    file: Path
    kind: str
    count: int
    unit: str
    notes: tuple[str, ...] = ()


@keywords_of(ConvertOptions, "old")
def convert_old(options: ConvertOptions) -> Converted:
    """Convert a file of an older tool into a file that commands of headroles read.

    A pickle is read by a reader that runs nothing in it: arrays of numbers, dictionaries, lists, texts and
    numbers are allowed, and nothing else is. What the file holds decides what is written: attention maps
    (``*_attn.pkl``), a table of scores (files of ``sieve_scores``, the whole folder, or JSON with a list of
    scores for each head), a table of labels (``*_gems.pkl``), or lines of trees (``dev.json``).

    Args:
        {options}

    Returns:
        The new file, and what differs.

    Raises:
        HeadrolesError: One of its subclasses, in one sentence, with nothing left half-written.
    """
    old, out = Path(options.old), Path(options.out)
    if old.is_dir():
        return _from_folder(old, out, options)
    if not old.exists():
        from headroles.addresses import no_such_file

        raise no_such_file(options.old)
    return _from_pickle(old, out, options) if old.suffix in PICKLES else _from_json(old, out, options)


def _check(options: ConvertOptions, kind: str, takes: str = "") -> None:
    """Refuse options that do not fit what the old file holds.

    Args:
        options: As they were given.
        kind: What the file holds.
        takes: The one option of ``PURPOSES`` that it takes; "" for none.

    Raises:
        BadInput: For another of them, or for a new file of another ending.
    """
    if Path(options.out).suffix not in ENDINGS[kind]:
        raise BadInput(
            f"'{options.old}' holds {kind}, which are written into a file that ends in "
            f"{' or '.join(ENDINGS[kind])}, but --out is '{options.out}'"
        )
    for name, purpose in PURPOSES.items():
        if name != takes and getattr(options, name) is not None:
            holder = "folder" if Path(options.old).is_dir() else "file"
            raise BadInput(f"{purpose}, but '{options.old}' is a {holder} of {kind}; leave the option out")


def _from_folder(old: Path, out: Path, options: ConvertOptions) -> Converted:
    """Write the scores of all sieves of a task as one table."""
    from headroles.converting.scores import folder_scores, write_scores

    _check(options, "scores", "task")
    scores = folder_scores(old, options.task)
    return Converted(out, "scores", write_scores(out, scores), "rows", (JUDGE_NOTE.format(file=out),))


def _from_pickle(old: Path, out: Path, options: ConvertOptions) -> Converted:
    """Convert a pickle by what it holds."""
    from headroles.converting.maps import convert_maps, is_maps
    from headroles.converting.scores import is_labels, is_scores, scores_of, write_labels, write_scores

    content = read_pickle(old)
    if is_maps(content):
        _check(options, "maps", "tokens")
        tokens = None if options.tokens is None else _read_tokens(Path(options.tokens))
        maps, notes = convert_maps(content, old, out, tokens, overwrite=options.overwrite)
        return Converted(out, "maps", maps.count, "inputs", tuple(notes))
    if is_scores(content):
        _check(options, "scores", "score_name")
        scores = scores_of(content, old, options.score_name)
        note = SCORE_NOTE if scores.null is None else JUDGE_NOTE
        return Converted(out, "scores", write_scores(out, [scores]), "rows", (note.format(file=out),))
    if is_labels(content):
        _check(options, "labels")
        return Converted(out, "labels", write_labels(out, content, old), "rows", (LABEL_NOTE,))
    raise BadInput(
        f"a pickle of maps, scores (inputs, layers, heads) or labels is converted, but '{old}' holds "
        f"{_described(content)}"
    )


def _described(content: Any) -> str:
    """Return what a pickle holds that cannot be converted, and what to do, as the end of a sentence."""
    if not isinstance(content, np.ndarray):
        return shorten(content)
    words = f"an array of shape {content.shape}"
    square = content.ndim == 2 and content.shape[0] == content.shape[1]
    if square and bool((np.diagonal(content) == 0).all()):
        return (
            f"{words}, which look like distances between heads; headroles cluster --divergence published "
            f"--attention MAPS computes them again"
        )
    if content.ndim == 2 and bool(((content >= 0) & (content <= 1)).all()):
        return f"{words}, which look like p values; convert the scores that they were computed from"
    return words


def _read_tokens(path: Path) -> list[Sequence[str]]:
    """Return the tokens of every input from a JSON list of lists, or of objects with ``tokens``."""
    from headroles.converting.values import texts_of

    rows = _read_json(path)
    lists = [row.get("tokens") if isinstance(row, dict) else row for row in rows if rows]
    tokens = [texts_of(listed) for listed in lists]
    if not tokens or not all(tokens):
        raise BadInput(
            f"--tokens names a JSON list with a list of tokens for each input, but '{path}' holds "
            f"{shorten(rows)}"
        )
    return [listed for listed in tokens if listed]


def _read_json(path: Path) -> Any:
    """Return what a JSON file holds.

    Raises:
        BadInput: When it cannot be read.
    """
    from headroles.extraction.texts.files import check_present, open_text

    check_present(str(path))
    try:
        with open_text(path) as file:
            return json.load(file)
    except (ValueError, RecursionError) as error:
        raise BadInput(f"'{path}' must be JSON in UTF-8, but it cannot be read: {error}") from error


def _from_json(old: Path, out: Path, options: ConvertOptions) -> Converted:
    """Convert JSON by what it holds: scores by head, or words with trees."""
    from headroles.converting.scores import HEAD, head_scores, write_scores
    from headroles.converting.trees import has_old_trees, write_trees
    from headroles.extraction.texts.json_inputs import read_rows

    content = None if ".jsonl" in old.suffixes else _read_json(old)
    if isinstance(content, dict) and content and all(map(HEAD.fullmatch, content)):
        _check(options, "scores", "score_name")
        scores = head_scores(content, old, options.score_name)
        return Converted(out, "scores", write_scores(out, [scores]), "rows", (SCORE_NOTE.format(file=out),))
    rows = read_rows(old) if content is None else _objects(content, old)
    if not has_old_trees(rows):
        raise BadInput(
            f"JSON with scores by head, or with words, heads and relns, is converted, but the first object "
            f"of '{old}' has {', '.join(map(str, rows[0])) or 'nothing'}"
        )
    _check(options, "trees")
    return Converted(out, "trees", write_trees(out, rows, old), "trees")


def _objects(content: Any, old: Path) -> list[dict[str, Any]]:
    """Return the objects of a JSON list, or the one object of a file.

    Raises:
        BadInput: When the list is empty, or holds something else.
    """
    rows = content if isinstance(content, list) else [content]
    if not rows or not all(isinstance(row, dict) for row in rows):
        raise BadInput(
            f"JSON to convert is an object or a list of objects, but '{old}' holds {shorten(content)}"
        )
    return rows
