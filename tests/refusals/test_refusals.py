"""Every mistake gets its sentence, and every place of the product that refuses has a row."""

import re
import shlex
from collections import Counter
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from click.core import ParameterSource

from headroles.cli.main import cli
from headroles.errors import HeadrolesError
from headroles.options.values import record_of
from tests.refusals.asking import CODES, Row, read_rows
from tests.refusals.conftest import Answered
from tests.refusals.sites import ROOT, Site, reached, sites
from tests.support import table

pytestmark = pytest.mark.xdist_group("refusals")

UNREACHABLE = table((Path(__file__).parent / "unreachable.txt").read_text(encoding="utf-8"))
"""Words of sentences that no row can get, and why."""
LONGEST = 60
"""Most characters of key words."""


def test_every_mistake_gets_its_sentence(answered: Answered) -> None:
    wrong = []
    for row, answer in answered.answers:
        code = CODES.get(row.stage, 1)
        begins = answer.text.startswith("headroles: ") or row.stage not in ("options", "light", "command")
        if answer.code != code or row.words not in answer.text or not begins:
            wrong.append(
                f"{row.place} {row.asked}\n   wanted {code} …{row.words}…\n   got {answer.code} {answer.text}"
            )
    assert not wrong, "\n".join(wrong)


def test_key_words_are_short_and_no_row_stands_twice() -> None:
    rows = [row for row in read_rows() if row.stage != "files"]
    assert [row.place for row in rows if len(row.words) > LONGEST or not row.words] == []
    asked = Counter((row.stage, row.asked) for row in rows if row.stage != "elsewhere")
    assert [row for row, count in asked.items() if count > 1] == []


@pytest.mark.ci
def test_a_refused_option_imports_nothing_heavy(answered: Answered) -> None:
    assert {row.asked: answer.imported for row, answer in answered.answers if answer.imported} == {}


def _as_keywords(words: list[str]) -> str | None:
    """Return the sentence that the record of a command has for the same options in Python; None for none."""
    command = cli.commands[words[0]]
    record: Any = getattr(command, "record", None)
    if record is None:
        return None
    context = command.make_context(words[0], words[1:])
    known = {field.name for field in fields(record)}
    given = {
        name: value
        for name, value in context.params.items()
        if name in known and context.get_parameter_source(name) is ParameterSource.COMMANDLINE
    }
    try:
        record_of(record, **given)
    except HeadrolesError as error:
        return f"headroles: {error}\n"
    return None


def test_a_refused_option_is_the_same_sentence_as_a_keyword(answered: Answered) -> None:
    """Python refuses by the same record, unless the option is one of what a command prints."""
    pairs = [
        (row.asked, _as_keywords(shlex.split(row.asked)), answer.text)
        for row, answer in answered.answers
        if row.stage == "options"
    ]
    asked = [pair for pair in pairs if pair[1] is not None]
    assert len(asked) >= 100
    assert [pair for pair in asked if pair[1] != pair[2]] == []


def test_a_sentence_is_one_short_line(answered: Answered) -> None:
    for row, answer in answered.answers:
        if answer.code != 1:
            continue
        text = answer.text.removesuffix("\n").replace(str(answered.root), "")
        assert "\n" not in text, row
        assert not re.search(r"Traceback|object at 0x|\[0\., 0\.", text), row
        assert not [value for value in re.findall(r"(?<!\w)'([^']*)'", text) if len(value) > 80], row


def test_a_refusal_leaves_every_file_as_it_was(answered: Answered) -> None:
    assert answered.after == answered.before


def _elsewhere(rows: list[Row]) -> set[Site]:
    """Return the sites that another file reaches; it must name a piece of the sentence, or the function."""
    found = set()
    for row in rows:
        if row.stage != "elsewhere":
            continue
        text = (ROOT / row.asked).read_text(encoding="utf-8").replace("\\", "")
        own = {site for site in sites() if row.words in site.name}
        assert own, f"{row.place}: no sentence holds {row.words!r}"
        functions = {site.function.rpartition(".")[2] for site in own}
        pieces = [piece for piece in row.words.split("…") if len(piece) >= 8]
        silent = not any(site.words for site in own)
        assert silent or any(piece in text for piece in [*pieces, *functions]), f"{row.place}: not there"
        found |= own
    return found


def test_every_place_that_refuses_has_a_row(answered: Answered) -> None:
    places = [place for _, answer in answered.answers for place in answer.places]
    left = {*sites()} - reached(places) - _elsewhere(read_rows())
    known = {site for site in left if any(words in site.name for words, _ in UNREACHABLE)}
    lacking = sorted(site.name[:150] for site in left - known)
    assert not lacking, f"{len(lacking)} of {len(sites())} have none:\n" + "\n".join(lacking)


def test_what_no_row_reaches_is_little_and_has_a_reason() -> None:
    assert len(UNREACHABLE) <= 40
    for words, reason in UNREACHABLE:
        assert [site for site in sites() if words in site.name], words
        assert reason
