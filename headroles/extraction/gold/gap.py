"""Passages of GAP (Webster et al. 2018): an ambiguous pronoun, and two names it may refer to."""

from pathlib import Path

import numpy as np

from headroles.errors import BadInput
from headroles.extraction.gold.brackets import in_order
from headroles.extraction.gold.lines import numbered
from headroles.extraction.gold.spotting import FEMININE, MASCULINE, spotted, words_of
from headroles.records.documents import Document, Mention

COLUMNS = ("ID", "Text", "Pronoun", "Pronoun-offset", "A", "A-offset", "A-coref", "B", "B-offset", "B-coref")
TRUTH = {"true": True, "false": False}


def read_gap(path: Path, name: str) -> list[Document]:
    """One document per row of a tab-separated GAP file, read without quoting.

    Mentions are the pronoun, A and B, each whole words. The pronoun is of entity "pronoun", and so is a
    name that it refers to; the other names are of entities "A" and "B". The condition is the pronoun's
    gender, "feminine" or "masculine". Each document counts as one sentence.

    Raises:
        BadInput: Naming file, line and rule: cells, offsets, TRUE and FALSE, and pronouns are checked.
    """
    header: list[str] = []
    documents: list[Document] = []
    for number, line in numbered(path):
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
                f"but {len(cells)} came"
            )
        row = dict(zip(header, cells, strict=True))
        documents.append(_document(row, f"{path}, line {number}", name))
    if not documents:
        raise BadInput(f"a GAP file holds at least one row, but '{path}' has only a header")
    return documents


def _check_header(header: list[str], path: Path, number: int) -> None:
    missing = [column for column in COLUMNS if column not in header]
    if missing:
        raise BadInput(
            f"{path}, line {number}: a GAP file has the columns {', '.join(COLUMNS)}, "
            f"but {missing[0]!r} is not there"
        )


def _document(row: dict[str, str], place: str, name: str) -> Document:
    text = row["Text"]
    places = {what: _span(row, what, place) for what in ("Pronoun", "A", "B")}
    spans = spotted(text, list(places.values()))
    pronoun = row["Pronoun"].lower()
    if pronoun not in FEMININE | MASCULINE:
        raise BadInput(
            f"{place}: the pronoun is one of {', '.join(sorted(FEMININE | MASCULINE))}, "
            f"but {row['Pronoun']!r} came"
        )
    entities = {what: "pronoun" if _refers(row, what, place) else what for what in ("A", "B")}
    mentions = [Mention(*words_of(spans, *places[what]), entities.get(what, "pronoun")) for what in places]
    return Document(
        key=f"{name}/{row['ID']}",
        text=text,
        spans=spans,
        words=tuple(text[start:stop] for start, stop in spans.tolist()),
        sentences=np.zeros(1, dtype=np.int32),
        mentions=in_order(mentions),
        layout="gap",
        condition="feminine" if pronoun in FEMININE else "masculine",
    )


def _span(row: dict[str, str], what: str, place: str) -> tuple[int, int]:
    offset, spelled = row[f"{what}-offset"], row[what]
    start = int(offset) if offset.isdecimal() else -1
    if start < 0 or not spelled.strip() or row["Text"][start : start + len(spelled)] != spelled:
        raise BadInput(
            f"{place}: {what}-offset is where {what} stands in the text, counted in characters from 0, "
            f"but {spelled!r} does not stand at {offset!r}"
        )
    return start, start + len(spelled)


def _refers(row: dict[str, str], what: str, place: str) -> bool:
    answer = row[f"{what}-coref"]
    if answer.strip().lower() not in TRUTH:
        raise BadInput(f"{place}: {what}-coref is TRUE or FALSE, but {answer!r} came")
    return TRUTH[answer.strip().lower()]
