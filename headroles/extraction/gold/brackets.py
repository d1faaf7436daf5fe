"""Read coreference from brackets at words: ``(3`` opens a mention of entity 3, ``3)`` closes it."""

import re
from collections.abc import Callable

from headroles.errors import BadInput
from headroles.extraction.texts.lines import whole_number
from headroles.records.example import Mention

BRACKET_NOTE = re.compile(r"\((?P<one>[^()|]+)\)|\((?P<opens>[^()|]+)|(?<![^()|])(?P<closes>[^()|]+)\)")
PART = re.compile(r"(?P<entity>.+)\[(?P<part>\d+)/\d+\]")


class BracketReader:
    """Collects the mentions of one document while its words are read.

    Mentions may nest, cross, start or end together. A closing bracket closes the mention of its entity
    that was opened last. Notes at one word stand side by side, with or without bars between them:
    ``(1(2)`` and ``(1|(2)`` mean the same. Of a mention in several parts, ``(e5[1/2]`` … ``e5[2/2])``,
    only the first part is kept.

    Example:
        >>> brackets = BracketReader()
        >>> brackets.read("(1(2)", 0, 1, "line 1")
        >>> brackets.read("1)", 1, 2, "line 2")
        >>> brackets.closed()
        (Mention(start=0, stop=2, entity='1'), Mention(start=0, stop=1, entity='2'))
    """

    def __init__(self, entity: Callable[[str], str] = str) -> None:
        """Begin without mentions; ``entity`` turns the text of an opening bracket into the entity's name."""
        self._entity = entity
        self._open: dict[str, list[tuple[int, str]]] = {}
        self._mentions: list[Mention] = []

    def read(self, notes: str, start: int, stop: int, place: str) -> None:
        """Read the notes at a word.

        Args:
            notes: The notes, such as ``"(3(4)"``.
            start: First word of a mention that opens here.
            stop: One past the last word of a mention that closes here.
            place: File and line, for errors.

        Raises:
            BadInput: When the notes are not of this form, or close a mention that is not open.
        """
        rest = BRACKET_NOTE.sub("", notes).replace("|", "")
        if rest or not notes.strip("|"):
            raise BadInput(
                f"{place}: coreference is written (3 where a mention of entity 3 starts, 3) where it ends, "
                f"and (3) where it is one word, but got {notes!r}"
            )
        for note in BRACKET_NOTE.finditer(notes):
            whole, opens, closes = note.groups()
            if closes is None:
                name = self._entity(whole or opens)
                self._open.setdefault(name, []).append((start, place))
            if opens is None:
                self._close(closes if closes is not None else self._entity(whole), stop, place)

    def closed(self) -> tuple[Mention, ...]:
        """Return all mentions in the order of their first words, longer ones first where they start together.

        Raises:
            BadInput: When a mention was not closed, naming the line that opened it.
        """
        unclosed = [(place, name) for name, starts in self._open.items() for _, place in starts]
        if unclosed:
            raise BadInput(
                f"{unclosed[0][0]}: a mention that is opened is closed in the same document, but the one of "
                f"entity {unclosed[0][1]!r} is not"
            )
        return sort_mentions(self._mentions)

    def _close(self, name: str, stop: int, place: str) -> None:
        starts = self._open.get(name)
        if not starts:
            raise BadInput(
                f"{place}: a mention that is closed was opened before in the same document, but none of "
                f"entity {name!r} is open"
            )
        start, _ = starts.pop()
        part = PART.fullmatch(name)
        if start < stop and (part is None or whole_number(part["part"]) == 1):
            self._mentions.append(Mention(start, stop, name if part is None else part["entity"]))


def sort_mentions(mentions: list[Mention]) -> tuple[Mention, ...]:
    """Sort mentions by their first words, longer ones first where they start together."""
    return tuple(sorted(mentions, key=lambda mention: (mention.start, -mention.stop, mention.entity)))
