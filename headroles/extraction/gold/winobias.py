"""Sentences of WinoBias (Zhao et al. 2018): a pronoun, the occupation it refers to, and another one."""

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from headroles.errors import BadInput
from headroles.extraction.gold.brackets import in_order
from headroles.extraction.gold.lines import numbered
from headroles.extraction.gold.spotting import PRONOUNS, spotted, words_of
from headroles.records.documents import Document, Mention

LINE = re.compile(r"\s*(?P<number>\d+)\s+(?P<sentence>\S.*)")
BRACKETED = re.compile(r"\[([^\[\]]*)\]")
STEREOTYPE = re.compile(r"(?<![a-z])(pro|anti)[-_]stereotyp", re.IGNORECASE)
TYPE = re.compile(r"type[-_]?(\d)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Line:
    """A line without its brackets: where the pronoun and the occupation it refers to stand in the text."""

    number: str
    text: str
    pronoun: tuple[int, int]
    occupation: tuple[int, int]

    @property
    def named(self) -> str:
        return _bare(self.text[slice(*self.occupation)])


def read_winobias(path: Path, name: str) -> list[Document]:
    """One document per ``NUMBER sentence`` line with corefering mentions in square brackets.

    One bracketed mention is an occupation; the first of the others, which are pronouns, is asked for,
    and further ones (30 lines of 1,584 of the development part have one) are not mentions here.

    The pronoun and the bracketed occupation are of entity "pronoun". The other occupation of the
    sentence, of entity "other", is found among the occupations that any line of the file brackets,
    its article with it; a line without one keeps two mentions and cannot be asked. The condition is
    "pro" or "anti" where the file's name says so (``pro_stereotyped``); a pro and an anti line with
    the same number and type (``type1`` in the file's name) are one group, such as "type1/17".

    Raises:
        BadInput: Naming file, line and rule.
    """
    lines = [_line(line, f"{path}, line {number}") for number, line in numbered(path) if line.strip()]
    occupations = {line.named for line in lines}
    stereotype, kind = STEREOTYPE.search(path.name), TYPE.search(path.name)
    condition = stereotype[1].lower() if stereotype else ""
    family = f"type{kind[1]}" if kind else ""
    return [_document(line, occupations, name, condition, family) for line in lines]


def _line(line: str, place: str) -> _Line:
    parts = LINE.fullmatch(line.rstrip())
    brackets = list(BRACKETED.finditer(parts["sentence"])) if parts else []
    if parts is None or len(brackets) < 2 or parts["sentence"].count("[") != len(brackets):
        raise BadInput(
            f"{place}: a line is a number, a blank and a sentence with mentions in square brackets, as in "
            f"'1 [The cook] ate because [he] was hungry', but {line.strip()!r} came"
        )
    text, spans = "", []
    last = 0
    for found in brackets:
        text += parts["sentence"][last : found.start()]
        inside = found[1].strip()
        start = len(text) + len(found[1]) - len(found[1].lstrip())
        spans.append((start, start + len(inside)))
        text += found[1]
        last = found.end()
    text += parts["sentence"][last:]
    pronouns = [text[slice(*span)].lower() in PRONOUNS for span in spans]
    if pronouns.count(False) != 1 or any(start == stop for start, stop in spans):
        raise BadInput(
            f"{place}: one of the mentions in square brackets is an occupation and the others are pronouns "
            f"(such as he, him, his, she, her), but {', '.join(repr(each[1]) for each in brackets)} came"
        )
    return _Line(parts["number"], text, spans[pronouns.index(True)], spans[pronouns.index(False)])


def _bare(mention: str) -> str:
    return re.sub(r"^(the|an?)\s+", "", mention.strip().lower())


def _document(line: _Line, occupations: set[str], name: str, condition: str, family: str) -> Document:
    other = _other(line, occupations)
    places = [line.pronoun, line.occupation, *([other] if other else [])]
    spans = spotted(line.text, places)
    mentions = [Mention(*words_of(spans, *span), "other" if span == other else "pronoun") for span in places]
    return Document(
        key="/".join(filter(None, [name, family, condition, line.number])),
        text=line.text,
        spans=spans,
        words=tuple(line.text[start:stop] for start, stop in spans.tolist()),
        sentences=np.zeros(1, dtype=np.int32),
        mentions=in_order(mentions),
        group="/".join(filter(None, [family, line.number])),
        layout="winobias",
        condition=condition,
    )


def _other(line: _Line, occupations: set[str]) -> tuple[int, int] | None:
    """Where the first other occupation stands, with its article; None where there is none."""
    names = sorted(occupations - {line.named}, key=lambda each: (-len(each), each))
    if not names:
        return None
    pattern = rf"(?<!\w)(?:(?:the|an?)\s+)?(?:{'|'.join(map(re.escape, names))})(?!\w)"
    for found in re.finditer(pattern, line.text, re.IGNORECASE):
        start, stop = found.span()
        if all(stop <= first or last <= start for first, last in (line.pronoun, line.occupation)):
            return start, stop
    return None
