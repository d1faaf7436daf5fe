"""``headroles sieves``: the list and its parts, the facts of one sieve, and what one counts on a text."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from headroles.sieves import BUILT_IN, PATTERNS

Command = Callable[..., tuple[int, str, str]]


def test_a_part_of_the_list_is_a_table_or_json(command: Command) -> None:
    for name, members in (("default", set(BUILT_IN)), ("patterns", set(PATTERNS))):
        code, out, err = command("sieves", name, "--json")
        assert (code, err) == (0, "")
        assert {entry["name"] for entry in json.loads(out)} == members
    code, out, _ = command("sieves", "families")
    assert code == 0
    names = [line.split()[0] for line in out.splitlines()[1:-1] if line[:1].strip()]
    assert names == ["local:<tokens>", "offset:<tokens>", "punctuation:<marks>", "syntactic:<relation>"]


def test_the_facts_of_a_sieve_are_printed_or_json(command: Command) -> None:
    code, out, err = command("sieves", "block")
    assert (code, err) == (0, "")
    assert out.splitlines()[0].strip() == "block"
    assert "contrast  0.02 beyond the head's own distance profile" in out
    (entry,) = json.loads(command("sieves", "offset:-2", "--json")[1])
    assert (entry["name"], entry["origin"], entry["margin"]) == ("offset:-2", "headroles", 0.1)


def test_what_a_sieve_counts_is_drawn_or_written(command: Command, planted: Path, tmp_path: Path) -> None:
    words = ("sieves", "block", "--show", "the dog", "--show", "the cat", "--model", planted)
    code, out, err = command(*words)
    assert (code, err) == (0, "")
    assert out.splitlines()[0] == "What the sieve block counts"
    assert "██" in out
    file = tmp_path / "block.svg"
    code, out, err = command(*words, "--svg", file)
    assert (code, out.split(), err) == (0, ["picture", str(file)], "")
    assert file.read_text(encoding="utf-8").startswith("<svg ")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["blok"], "no sieve is called 'blok'; did you mean 'block'?"),
        (["--show", "it"], "--show draws what one sieve counts, so name it: headroles sieves NAME"),
        (["block", "--show", " "], "on one text or two, none of them blank, but got ' '"),
        (["block", *["--show", "it"] * 3], "--show takes a text, or two for a pair, but got 3"),
        (["block", "--json", "--show", "it"], "--json prints facts of sieves, and --show draws one"),
        (["block", "--svg", "x.svg"], "--svg changes a drawing, which needs --show; leave it out"),
        (["offset", "--show", "it"], "'offset' is a family of sieves"),
        (["patterns", "--show", "it"], "'patterns' is a group of sieves"),
    ],
)
def test_a_wrong_call_is_one_sentence(command: Command, words: list[str], sentence: str) -> None:
    code, out, err = command("sieves", *words)
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert sentence in err
