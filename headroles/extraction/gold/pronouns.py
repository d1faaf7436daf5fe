"""Read ambiguous pronouns from GAP (Webster et al. 2018) and WinoBias (Zhao et al. 2018).

A GAP passage has a pronoun and two names it may refer to; a WinoBias sentence has a pronoun, the
occupation it refers to, and another occupation. Both are plain text, which is split into words so that
these mentions are whole words.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
from jaxtyping import Int

from headroles.errors import BadInput
from headroles.extraction.gold.brackets import sort_mentions
from headroles.extraction.texts.lines import number_lines, whole_number
from headroles.records.documents import Document
from headroles.records.example import Mention

WORD = re.compile(r"(?<=\w)['’]\w+|\w+|[^\w\s]")
FEMININE = frozenset({"she", "her", "hers", "herself"})
MASCULINE = frozenset({"he", "him", "his", "himself"})
NEUTRAL = frozenset({"they", "them", "their", "theirs", "themself", "themselves", "it", "its", "itself"})
PRONOUNS = FEMININE | MASCULINE | NEUTRAL
COLUMNS = ("ID", "Text", "Pronoun", "Pronoun-offset", "A", "A-offset", "A-coref", "B", "B-offset", "B-coref")
TRUTH = {"true": True, "false": False}
LINE = re.compile(r"\s*(?P<number>\d+)\s+(?P<sentence>\S.*)")
BRACKETED = re.compile(r"\[([^\[\]]*)\]")
STEREOTYPE = re.compile(r"(?<![a-z])(pro|anti)[-_]stereotyp", re.IGNORECASE)
TYPE = re.compile(r"type[-_]?(\d)", re.IGNORECASE)


def read_gap(path: Path, name: str) -> list[Document]:
    """Return one document per row of a tab-separated GAP file, read without quoting.

    Mentions are the pronoun, A and B, in whole words. The pronoun is of entity "pronoun", and so is a
    name that it refers to; the other names are of entities "A" and "B". The condition is the pronoun's
    gender, "feminine" or "masculine". Each document counts as one sentence.

    Raises:
        BadInput: Naming file, line and rule; cells, offsets, TRUE and FALSE, and pronouns are checked.
    """
    header: list[str] = []
    documents: list[Document] = []
    for number, line in number_lines(path):
        if not line.strip():
            continue
        cells = line.split("\t")
        if not header:
            header = cells
            _check_header(header, path, number)
            continue
        if len(cells) != len(header):
            raise BadInput(
                f"{path}, line {number}: a row has as many cells between tabs as the header ({len(header)}), "
                f"but got {len(cells)}"
            )
        row = dict(zip(header, cells, strict=True))
        documents.append(_gap_document(row, f"{path}, line {number}", name))
    if not documents:
        raise BadInput(f"a GAP file holds at least one row, but '{path}' has only a header")
    return documents


def _check_header(header: list[str], path: Path, number: int) -> None:
    absent = [column for column in COLUMNS if column not in header]
    if absent:
        raise BadInput(
            f"{path}, line {number}: a GAP file has the columns {', '.join(COLUMNS)}, "
            f"but {absent[0]!r} is not there"
        )


def _gap_document(row: dict[str, str], place: str, name: str) -> Document:
    text = row["Text"]
    places = {role: _span(row, role, place) for role in ("Pronoun", "A", "B")}
    spans = split_words(text, list(places.values()))
    pronoun = row["Pronoun"].lower()
    if pronoun not in FEMININE | MASCULINE:
        raise BadInput(
            f"{place}: the pronoun is one of {', '.join(sorted(FEMININE | MASCULINE))}, "
            f"but got {row['Pronoun']!r}"
        )
    entities = {role: "pronoun" if _refers(row, role, place) else role for role in ("A", "B")}
    mentions = [Mention(*word_range(spans, *places[role]), entities.get(role, "pronoun")) for role in places]
    return Document(
        key=f"{name}/{row['ID']}",
        text=text,
        spans=spans,
        words=tuple(text[start:stop] for start, stop in spans.tolist()),
        sentences=np.zeros(1, dtype=np.int32),
        mentions=sort_mentions(mentions),
        layout="gap",
        condition="feminine" if pronoun in FEMININE else "masculine",
    )


def _span(row: dict[str, str], role: str, place: str) -> tuple[int, int]:
    offset, spelled = row[f"{role}-offset"], row[role]
    start = whole_number(offset)
    if start is None or not spelled.strip() or row["Text"][start : start + len(spelled)] != spelled:
        raise BadInput(
            f"{place}: {role}-offset is the position of {role} in the text, in characters from 0, but "
            f"{spelled!r} is not at {offset!r:.40}"
        )
    return start, start + len(spelled)


def _refers(row: dict[str, str], role: str, place: str) -> bool:
    answer = row[f"{role}-coref"]
    if answer.strip().lower() not in TRUTH:
        raise BadInput(f"{place}: {role}-coref is TRUE or FALSE, but got {answer!r}")
    return TRUTH[answer.strip().lower()]


@dataclass(frozen=True, slots=True)
class _Line:
    """A line without its brackets, with the spans of the pronoun and of the occupation it refers to."""

    number: str
    text: str
    pronoun: tuple[int, int]
    occupation: tuple[int, int]

    @property
    def occupation_name(self) -> str:
        return _without_article(self.text[slice(*self.occupation)])


def read_winobias(path: Path, name: str) -> list[Document]:
    """Return one document per ``NUMBER sentence`` line with coreferent mentions in square brackets.

    One bracketed mention is an occupation, and the others are pronouns. The first pronoun is the one that
    a probe asks about; further ones (30 lines of 1,584 of the development part have one) are not mentions
    here.

    The pronoun and the bracketed occupation are of entity "pronoun". The other occupation of the
    sentence, of entity "other", is found with its article among the occupations that any line of the file
    puts in brackets. A line without one keeps two mentions, and no probe can ask about it. The condition
    is "pro" or "anti" where the file's name states it (``pro_stereotyped``). A pro and an anti line with
    the same number and type (``type1`` in the file's name) are one group, such as "type1/17".

    Raises:
        BadInput: Naming file, line and rule.
    """
    lines = [
        _parse_line(line, f"{path}, line {number}") for number, line in number_lines(path) if line.strip()
    ]
    occupations = {line.occupation_name for line in lines}
    stereotype, kind = STEREOTYPE.search(path.name), TYPE.search(path.name)
    condition = stereotype[1].lower() if stereotype else ""
    family = f"type{kind[1]}" if kind else ""
    return [_winobias_document(line, occupations, name, condition, family) for line in lines]


def _parse_line(line: str, place: str) -> _Line:
    parts = LINE.fullmatch(line.rstrip())
    brackets = list(BRACKETED.finditer(parts["sentence"])) if parts else []
    if parts is None or len(brackets) < 2 or parts["sentence"].count("[") != len(brackets):
        raise BadInput(
            f"{place}: a line is a number, a blank and a sentence with mentions in square brackets, as in "
            f"'1 [The cook] ate because [he] was hungry', but got {line.strip()!r}"
        )
    text, spans = "", []
    last = 0
    for match in brackets:
        text += parts["sentence"][last : match.start()]
        inside = match[1].strip()
        start = len(text) + len(match[1]) - len(match[1].lstrip())
        spans.append((start, start + len(inside)))
        text += match[1]
        last = match.end()
    text += parts["sentence"][last:]
    pronouns = [text[slice(*span)].lower() in PRONOUNS for span in spans]
    if pronouns.count(False) != 1 or any(start == stop for start, stop in spans):
        raise BadInput(
            f"{place}: one of the mentions in square brackets is an occupation and the others are pronouns "
            f"(such as he, him, his, she, her), but got {', '.join(repr(match[1]) for match in brackets)}"
        )
    return _Line(parts["number"], text, spans[pronouns.index(True)], spans[pronouns.index(False)])


def _without_article(mention: str) -> str:
    return re.sub(r"^(the|an?)\s+", "", mention.strip().lower())


def _winobias_document(
    line: _Line, occupations: set[str], name: str, condition: str, family: str
) -> Document:
    other = _other_occupation(line, occupations)
    places = [line.pronoun, line.occupation, *([other] if other else [])]
    spans = split_words(line.text, places)
    mentions = [
        Mention(*word_range(spans, *span), "other" if span == other else "pronoun") for span in places
    ]
    return Document(
        key="/".join(filter(None, [name, family, condition, line.number])),
        text=line.text,
        spans=spans,
        words=tuple(line.text[start:stop] for start, stop in spans.tolist()),
        sentences=np.zeros(1, dtype=np.int32),
        mentions=sort_mentions(mentions),
        group="/".join(filter(None, [family, line.number])),
        layout="winobias",
        condition=condition,
    )


def _other_occupation(line: _Line, occupations: set[str]) -> tuple[int, int] | None:
    """Return the span of the first other occupation, with its article; None where there is none."""
    names = sorted(occupations - {line.occupation_name}, key=lambda name: (-len(name), name))
    if not names:
        return None
    pattern = rf"(?<!\w)(?:(?:the|an?)\s+)?(?:{'|'.join(map(re.escape, names))})(?!\w)"
    for match in re.finditer(pattern, line.text, re.IGNORECASE):
        start, stop = match.span()
        if all(stop <= first or last <= start for first, last in (line.pronoun, line.occupation)):
            return start, stop
    return None


def split_words(text: str, known: Sequence[tuple[int, int]]) -> Int[np.ndarray, "words 2"]:
    """Return character spans of words: runs of letters and digits, endings such as 's, other marks singly.

    Args:
        text: Any text.
        known: Character spans; no word crosses the start or end of one.

    Example:
        >>> text = "Ann's cat-flap."
        >>> [text[start:stop] for start, stop in split_words(text, []).tolist()]
        ['Ann', "'s", 'cat', '-', 'flap', '.']
        >>> [text[start:stop] for start, stop in split_words(text, [(1, 4)]).tolist()]
        ['A', 'nn', "'", 's', 'cat', '-', 'flap', '.']
    """
    cuts = sorted({0, len(text), *(end for span in known for end in span)})
    spans = [match.span() for start, stop in pairwise(cuts) for match in WORD.finditer(text, start, stop)]
    return np.array(spans, dtype=np.int32).reshape(-1, 2)


def word_range(spans: Int[np.ndarray, "words 2"], start: int, stop: int) -> tuple[int, int]:
    """Return the first word of the characters from ``start`` to ``stop``, and one past the last."""
    return int(np.searchsorted(spans[:, 0], start)), int(np.searchsorted(spans[:, 1], stop, side="right"))
