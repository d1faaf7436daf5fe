"""Options: one meaning in all commands, and what editors and type checkers see of the same keywords."""

import inspect
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import headroles
from headroles.cli.main import cli

ROOT = Path(__file__).resolve().parents[2]
FUNCTIONS = sorted(name for name in headroles.__all__ if hasattr(getattr(headroles, name), "record"))


def _commands(group: Any = cli, before: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every command that has options, by its words."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from _commands(command, f"{before}{name} ")
        elif hasattr(command, "record"):
            yield f"{before}{name}", command


COMMANDS = dict(_commands())
LISTED = re.compile(r"^  (?:-\w, )?(--[\w-]+)(?:/\S+| / \S+)?(?:  | [A-Z\[{]|$)", re.MULTILINE)
"""An option at the start of its line of help."""


def test_an_option_has_one_meaning_in_all_commands() -> None:
    meanings = defaultdict(set)
    for command in COMMANDS.values():
        for option in command.options:
            plain = frozenset(kind for kind in option.types if not kind.__name__.endswith(("Object", "Any")))
            meanings[option.name].add((option.option.help, option.option.group, plain - {type(None)}))
    assert {name: found for name, found in meanings.items() if len(found) > 1 and name != "file"} == {}


def test_help_lists_at_most_25_options_and_all_of_them_each_once_in_a_short_sentence_when_asked() -> None:
    for name, command in COMMANDS.items():
        own = [option for option in command.options if not option.option.argument]
        short, text = (
            CliRunner().invoke(cli, [*name.split(), flag], prog_name="headroles").output
            for flag in ("--help", "--help-all" if len(own) > 25 else "--help")
        )
        listed = LISTED.findall(short)
        assert len(listed) <= 25 or text == short, name
        assert (f"headroles {name} --help-all shows all {len(own)} options." in short) == (text != short)
        assert text == short or {*listed} - {"--help", "--help-all"} == {
            option.flag for option in own if not option.option.rare
        }
        flags = LISTED.findall(text)
        for option in command.options:
            assert option.option.argument or flags.count(option.flag) == 1, (name, option.flag)
            assert option.option.help.endswith("."), option.name
            assert len(option.option.help.split()) <= 30, option.name


def test_a_signature_and_its_documentation_have_every_option() -> None:
    assert {"label", "cluster", "surface", "probe", "extract", "view", "judge_again"} <= {*FUNCTIONS}
    for name in FUNCTIONS:
        function = getattr(headroles, name)
        parameters, text = inspect.signature(function).parameters, inspect.getdoc(function) or ""
        own = {command.record: command for command in COMMANDS.values()}.get(function.record)
        assert "{options}" not in text
        known = {field.name for field in fields(function.record)} & {*parameters}
        for option in () if own is None else own.options:
            if option.name in known:
                assert f"{option.name}: {option.option.help[:20]}" in text, (name, option.name)


def test_positions_are_those_of_the_signature() -> None:
    label: Any = headroles.label
    with pytest.raises(TypeError, match=r"takes at most 1 positional arguments \(task\), but got 2"):
        label("QNLI", "model")
    with pytest.raises(TypeError, match="several values of 'task'"):
        label("QNLI", task="MRPC")
    with pytest.raises(TypeError, match="needs 'dir_a'"):
        headroles.compare()  # type: ignore[call-arg]


@pytest.mark.release
def test_a_type_checker_sees_typos(tmp_path: Path) -> None:
    code = tmp_path / "typos.py"
    code.write_text(
        "import headroles\n"
        'headroles.label("QNLI", limt=5)\n'
        'headroles.label("QNLI", limit="five")\n'
        'headroles.judge_again("runs/QNLI", alhpa=0.01)\n'
        'headroles.label("QNLI", limit=5)\n'
    )
    words: list[str | Path]
    words = [sys.executable, "-m", "mypy", "--strict", "--config-file", ROOT / "pyproject.toml", code]
    done = subprocess.run(words, capture_output=True, text=True, cwd=ROOT, timeout=500, check=False)
    errors = [line.partition(".py:")[2] for line in done.stdout.splitlines() if "error:" in line]
    assert [line.partition(":")[0] for line in errors] == ["2", "3", "4"]
    assert 'Unexpected keyword argument "limt" for "label"; did you mean "limit"?' in errors[0]
    assert 'Argument "limit" to "label" has incompatible type "str"' in errors[1]
