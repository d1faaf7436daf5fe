"""Coreference written in brackets at words: ``(3`` opens a mention of entity 3, ``3)`` closes it."""

import re
from collections.abc import Callable

from headroles.errors import BadInput
from headroles.records.documents import Mention

NOTE = re.compile(r"\((?P<one>[^()|]+)\)|\((?P<opens>[^()|]+)|(?P<closes>[^()|]+)\)")
PART = re.compile(r"(?P<entity>.+)\[(?P<part>\d+)/\d+\]")


class Brackets:
    """The mentions of one document while its words are read.

    Mentions may nest, cross, start or end together; a closing bracket closes the entity's mention
    that was opened last. Notes at one word stand side by side, with or without bars between them:
    ``(1(2)`` and ``(1|(2)`` say the same. Of a mention in several parts, ``(e5[1/2]`` … ``e5[2/2])``,
    the first part is taken.

    Example:
        >>> brackets = Brackets()
        >>> brackets.read("(1(2)", 0, 1, "line 1")
        >>> brackets.read("1)", 1, 2, "line 2")
        >>> brackets.closed()
        (Mention(start=0, stop=2, entity='1'), Mention(start=0, stop=1, entity='2'))
    """

    def __init__(self, entity: Callable[[str], str] = str) -> None:
        """Take how the entity's name is found in what an opening bracket holds; all of it by default."""
        self._entity = entity
        self._open: dict[str, list[tuple[int, str]]] = {}
        self._found: list[Mention] = []

    def read(self, notes: str, start: int, stop: int, place: str) -> None:
        """Take the notes at a word.

        Args:
            notes: Such as ``"(3(4)"``.
            start: First word of a mention that opens here.
            stop: One past the last word of a mention that closes here.
            place: File and line, for errors.

        Raises:
            BadInput: When the notes are something else, or a mention is closed that is not open.
        """
        beside = NOTE.sub("", notes).replace("|", "")
        if beside or not notes.strip("|"):
            raise BadInput(
                f"{place}: coreference is written (3 where a mention of entity 3 starts, 3) where it ends, "
                f"and (3) where it is one word, but {notes!r} came"
            )
        for note in NOTE.finditer(notes):
            one, opens, closes = note.groups()
            if closes is None:
                name = self._entity(one or opens)
                self._open.setdefault(name, []).append((start, place))
            if opens is None:
                self._close(closes if closes is not None else self._entity(one), stop, place)

    def closed(self) -> tuple[Mention, ...]:
        """All mentions in the order of their first words, longer first where they start together.

        Raises:
            BadInput: When one was opened and not closed, naming where it was opened.
        """
        left = [(place, name) for name, starts in self._open.items() for _, place in starts]
        if left:
            raise BadInput(
                f"{left[0][0]}: a mention that is opened is closed in the same document, but the one of "
                f"entity {left[0][1]!r} is not"
            )
        return in_order(self._found)

    def _close(self, name: str, stop: int, place: str) -> None:
        starts = self._open.get(name)
        if not starts:
            raise BadInput(
                f"{place}: a mention that is closed was opened before in the same document, but none of "
                f"entity {name!r} is open"
            )
        start, _ = starts.pop()
        part = PART.fullmatch(name)
        if start < stop and (part is None or int(part["part"]) == 1):
            self._found.append(Mention(start, stop, name if part is None else part["entity"]))


def in_order(mentions: list[Mention]) -> tuple[Mention, ...]:
    """Mentions in the order of their first words, longer first where they start together."""
    return tuple(sorted(mentions, key=lambda each: (each.start, -each.stop, each.entity)))
