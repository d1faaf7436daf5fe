"""Commands in the README, the docs and help: their options exist and their values are allowed."""

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.shell_completion import ShellComplete

from headroles.cli.main import cli
from headroles.cli.options import SECTIONS, Command, section_of
from headroles.cli.pages import all_commands

ROOT = Path(__file__).parents[2]
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
PLACEHOLDERS = re.compile(r"[\[<|…]| \.\.\.|\b[A-Z]{3,}\b(?!-)")
"""Marks of lines that describe a command rather than type it."""


def _typed(page: Path) -> Iterator[str]:
    """Yield the command lines in the blocks of a page."""
    for block in re.findall(r"^```\w*\n(.*?)^```", page.read_text(encoding="utf-8"), re.S | re.M):
        for line in re.sub(r"\\\n\s*", "", block).splitlines():
            words = line.partition(" #")[0].strip().removeprefix("$ ").removeprefix(".venv/bin/")
            if words.startswith("headroles ") and not PLACEHOLDERS.search(re.sub(r"--task \S+", "", words)):
                yield words


TYPED = sorted({(page.name, line) for page in PAGES for line in _typed(page)})


def _parse(words: list[str]) -> None:
    """Parse a command line and check its values, without doing what it says."""
    command: click.Command = cli
    name: str | None = "headroles"
    context: click.Context | None = None
    while isinstance(command, click.Group):
        before = context
        name, found, words = command.resolve_command(click.Context(command), words)
        assert found is not None
        command = found
        context = click.Context(command, parent=before, info_name=name)
    assert isinstance(command, Command)
    command.check(command.make_context(name, words, parent=context))


@pytest.fixture(autouse=True)
def label_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stand where documented label runs have been made: ``ablate`` and ``why`` take their inputs."""
    for name in ("QNLI-all-MiniLM-L6-v2", "label-qnli", "label-stories"):
        folder = tmp_path / "runs" / name
        folder.mkdir(parents=True)
        settings = {"sieve": ["local"], "task": "QNLI"}
        (folder / "manifest.json").write_text(json.dumps({"headroles": "0.1.0", "settings": settings}))
    monkeypatch.chdir(tmp_path)


def test_there_are_commands_to_check() -> None:
    assert len(TYPED) > 40
    assert ("README.md", "headroles judge runs/mine --alpha 0.01 --correction holm") in TYPED


@pytest.mark.parametrize(("page", "line"), TYPED, ids=lambda words: str(words)[:70])
def test_a_documented_command_can_be_typed(page: str, line: str) -> None:
    _parse(shlex.split(line)[1:])


@pytest.mark.parametrize("name", dict(all_commands()))
def test_every_command_has_examples_that_can_be_typed(name: str) -> None:
    command = dict(all_commands())[name]
    assert command.page.examples
    assert section_of(command) in SECTIONS
    for example in command.page.examples:
        assert example.startswith(f"headroles {name}")
        _parse(shlex.split(example)[1:])


@pytest.mark.parametrize(
    ("words", "incomplete", "expected"),
    [
        (["label", "--device"], "", ["auto", "cpu", "cuda", "mps"]),
        (["label", "--correction"], "f", ["fdr_bh", "fdr_by", "fdr_tsbh"]),
        (["label", "--sieve"], "delimiter:", ["delimiter:cls", "delimiter:sep"]),
        (["probe"], "dep", ["dependency"]),
        (["table", "runs/x", "--format"], "l", ["latex"]),
        ([], "sur", ["surface"]),
    ],
)
def test_shells_complete_commands_and_values(words: list[str], incomplete: str, expected: list[str]) -> None:
    complete = ShellComplete(cli, {}, "headroles", "_HEADROLES_COMPLETE")
    assert [item.value for item in complete.get_completions(words, incomplete)] == expected
