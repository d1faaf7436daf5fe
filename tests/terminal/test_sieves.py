"""Sieves in the terminal: the list, the facts of one, and the cells that one counts."""

import io

import numpy as np

from headroles import Arc, Example, show_sieve
from headroles.catalogue import Entry, entries
from headroles.terminal.console import VisibleConsole
from headroles.terminal.sieves import show_cells, show_sieve_facts, show_sieves

TREE = Example(
    "tree",
    ("[CLS]", "old", "dogs", "bark", "[SEP]"),
    segment=np.array([-1, 0, 0, 0, -1]),
    word=np.array([-1, 0, 1, 2, -1]),
    arcs=(Arc(0, 1, "amod"), Arc(1, 2, "nsubj")),
)


def _console(width: int) -> VisibleConsole:
    return VisibleConsole(file=io.StringIO(), width=width, highlight=False, soft_wrap=True)


def _lines(console: VisibleConsole) -> list[str]:
    assert isinstance(console.file, io.StringIO)
    return [line.rstrip() for line in console.file.getvalue().splitlines()]


def test_every_sieve_has_a_row_of_at_most_two_lines_at_100_columns() -> None:
    console = _console(100)
    show_sieves(console, entries())
    lines = _lines(console)
    assert max(map(len, lines[:-1])) <= 100
    rows = [line for line in lines[1:-1] if not line.startswith(" ")]
    assert [row.split()[0] for row in rows] == [entry.name for entry in entries()]
    assert len(lines) <= 2 + 2 * len(rows)
    assert lines[0].split() == ["sieve", "set", "needs", "contrast", "does", "the", "head", "…"]
    (coreference,) = [row for row in rows if row.startswith("coreference")]
    assert coreference.split()[:4] == ["coreference", "mentions", "0.1", "look"]


def test_the_default_set_families_and_groups_are_marked() -> None:
    console = _console(100)
    show_sieves(console, [*entries(), Entry("mine", "acme", "all of local, block", kind="group")])
    sets = {line.split()[0]: line.split()[1] for line in _lines(console) if line[:1].strip()}
    assert (sets["local"], sets["next"], sets["local:<tokens>"], sets["mine"]) == (
        "default",
        "patterns",
        "family",
        "group",
    )


def test_sources_are_shown_where_there_is_room_and_origins_where_they_differ() -> None:
    narrow, wide = _console(100), _console(160)
    for console in (narrow, wide):
        show_sieves(console, [Entry("good", "acme", "Does the head look up?", "a book", kind="mask")])
    assert _lines(narrow)[1].split() == ["good", "look", "up?", "acme"]
    assert _lines(wide)[1].split() == ["good", "look", "up?", "a", "book", "acme"]


def test_a_list_of_broken_plug_ins_alone_has_their_errors_on_whole_lines() -> None:
    console = _console(60)
    show_sieves(console, [Entry("bad", "acme", error="it cannot be loaded " * 8)])
    assert _lines(console)[0] == "bad  broken: " + ("it cannot be loaded " * 8).strip()


def test_the_facts_of_a_sieve_name_its_margin_contrast_and_bounds() -> None:
    console = _console(100)
    listed = {entry.name: entry for entry in entries()}
    for name in ("bag-of-words", "local:<tokens>"):
        show_sieve_facts(console, listed[name])
    show_sieve_facts(console, Entry("bad", "acme", error="no lexicon"))
    lines = _lines(console)
    for line in (
        "margin    0.1 beyond chance",
        "contrast  0.08 beyond the head's own distance profile",
        "bounds    high 1",
        "kind      a scorer: computes from attention",
        "set       family",
        "as in     local:4",
        "broken  no lexicon",
    ):
        assert line in lines


def test_cells_are_a_grid_of_queries_and_keys() -> None:
    console = _console(100)
    show_cells(console, show_sieve("syntactic:amod", TREE))
    assert _lines(console) == [
        "What the sieve syntactic:amod counts",
        "Does the head look from a word at the head word of each amod dependent, beyond what distance gives?",
        "",
        "          0 1 2 3 4  key",
        " 0 [CLS]",
        " 1   old  · ·██ · ·",
        " 2  dogs",
        " 3  bark",
        " 4 [SEP]",
        "██ counted (▓▓ ▒▒ with less weight)   · compared within",
        "",
        "1 of 5 tokens count as queries; 1 cell count, of 5 compared.",
        "Contrast beyond distance: 1 of 6 pairs of words count; a role needs more than 0.05.",
    ]


def test_cells_with_less_weight_are_lighter() -> None:
    console = _console(100)
    pair = Example("pair", ("a", "b", "c", "d"), segment=np.array([0, 1, 1, 1]))
    show_cells(console, show_sieve("block", pair))
    assert [line[-8:] for line in _lines(console)[4:8]] == ["██ · · ·", " ·▒▒▒▒▒▒", " ·▒▒▒▒▒▒", " ·▒▒▒▒▒▒"]


def test_an_input_that_does_not_fit_is_a_list_of_queries() -> None:
    for width, tokens in ((30, 20), (200, 70)):
        console = _console(width)
        show_cells(console, show_sieve("local", Example("long", tuple(f"t{n}" for n in range(tokens)))))
        lines = _lines(console)
        assert lines[3] == "  0 t0 → t0 t1 t2"
        assert lines[5] == "  2 t2 → t0 t1 t2 t3 t4"
        assert ("… 10 more queries" in lines) == (tokens == 70)


def test_the_sentence_of_a_sieve_without_cells_stands_alone() -> None:
    console = _console(100)
    show_cells(console, show_sieve("bag-of-words", TREE))
    lines = _lines(console)
    assert (
        lines[2] == "This sieve counts no cells: it computes its score from the attention of a whole layer."
    )
    assert not [line for line in lines if "·" in line]


def test_tokens_and_names_are_printed_as_they_are_and_steer_no_terminal() -> None:
    console = _console(100)
    show_cells(console, show_sieve("next", Example("odd", ("[red]", "\x1b[31m", "\u202eabc", "語"))))
    text = "\n".join(_lines(console))
    assert "[red]" in text
    assert "\x1b" not in text
    assert "\u202e" not in text
