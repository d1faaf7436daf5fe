"""Read the inputs of a run from JSON objects with the fields that ``headroles extract`` and probes read."""

from collections.abc import Iterator, Sequence
from typing import Any

from headroles.errors import BadInput
from headroles.extraction.gold.jsonlines import document_of
from headroles.extraction.texts.files import Location, open_text
from headroles.extraction.texts.json_inputs import given_texts, group_in, spaces_after
from headroles.extraction.texts.lines import join_words
from headroles.extraction.texts.rows import read_json_objects
from headroles.extraction.texts.sources import check_surrogates
from headroles.extraction.texts.windows import sentence_windows, window_passage
from headroles.records.passage import Passage

GROUP = "group"
"""Field with the document or paragraph of an object, where no other is named."""


def has_trees(where: Location) -> bool:
    """Return whether the first object of a file has words with a tree.

    Raises:
        BadInput: When the file cannot be read, or does not begin with an object.
    """
    with open_text(where) as lines:
        _, row = next(read_json_objects(lines, where))
    return _has_tree(row)


def stream_objects(files: Sequence[Location], group: str | None, name: str, trees: bool) -> Iterator[Passage]:
    """Yield the passages of JSON objects while they are read.

    An object has exactly one of ``text`` (a string, or a list of two for a pair), ``text_a`` (with
    ``text_b`` for a pair) and ``words``, which are joined by blanks, or as ``spaces`` says. Objects whose
    ``words`` have ``heads`` and ``relations`` are documents, as probes read them: each sentence is a passage,
    and the document is its group, unless a group is given.

    Args:
        files: The files.
        group: Field with the document or paragraph; None: ``group``, where an object has it.
        name: First part of the keys; the second is the number of the object, over all files.
        trees: Whether all objects have trees; else none has.

    Raises:
        BadInput: When an object breaks a rule; the message names its file and line.
    """
    number = 0
    for where in files:
        with open_text(where) as lines:
            for line, row in read_json_objects(lines, where):
                place = f"{where}, line {line}"
                if _has_tree(row) != trees:
                    raise BadInput(
                        f"{place}: all objects of the data have trees ('words', 'heads' and 'relations') "
                        f"or none has, but this one has {'none' if trees else 'one'} and the first "
                        f"has {'one' if trees else 'none'}; give them in two files"
                    )
                unit = group_in(row, group or GROUP, place) if group or GROUP in row else None
                if trees:
                    document = str(row.get("document", "")) if unit is None else unit
                    parsed = document_of(row, f"{name}/{number}", where, line, group=document)
                    yield from map(window_passage, sentence_windows([parsed]))
                else:
                    yield Passage(f"{name}/{number}", _texts(row, place), unit)
                number += 1


def _texts(row: dict[str, Any], place: str) -> tuple[str, ...]:
    """Return the text of an object without a tree, or both texts of a pair."""
    given, strings = given_texts(row, place)
    if given == "tokens":
        raise BadInput(
            f"{place}: 'tokens' are those of one model, which only headroles extract takes as they are; give "
            f"'text' or 'words'"
        )
    if given == "words":
        strings = [join_words(strings, spaces_after(row.get("spaces"), len(strings), place))[0]]
    return tuple(check_surrogates(text, given, place) for text in strings)


def _has_tree(row: dict[str, Any]) -> bool:
    """Return whether an object has words with heads and relations."""
    return {"words", "heads"} <= row.keys() and not row.keys().isdisjoint(("relations", "relns"))
