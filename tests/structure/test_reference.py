"""Pages of the reference are those of the code; commands in documentation and help can be typed."""

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from click.shell_completion import ShellComplete

import headroles
from headroles.catalogue import entries
from headroles.cli.main import cli
from headroles.cli.reference import made
from tests.contract.recorded import unpack
from tests.support import table

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = (ROOT / "README.md", *sorted(DOCS.rglob("*.md")))
PLACEHOLDERS = re.compile(r"[\[<|…]| \.\.\.|\b[A-Z]{3,}\b(?!-)")
"""Marks of lines that describe a command rather than type it."""
BLOCK = re.compile(r"^```\w*\n(.*?)^```", re.S | re.M)


def _commands(group: click.Group = cli, before: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every command with its whole name."""
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from _commands(command, f"{before}{name} ")
        else:
            yield f"{before}{name}", command


def test_made_files_are_those_of_the_code() -> None:
    old = [path.name for path, text in made().items() if path.read_text(encoding="utf-8") != text]
    assert old == [], "run python -m headroles.cli.reference"


def test_the_reference_has_every_public_name_sieve_command_and_option_once() -> None:
    sieves, commands = (
        (DOCS / "reference" / f"{name}.md").read_text(encoding="utf-8") for name in ("sieves", "commands")
    )
    python = "".join(file.read_text("utf-8") for file in (DOCS / "reference" / "python").glob("*.md"))
    assert sorted(re.findall(r"^::: headroles\.(\w+)$", python, re.M)) == sorted(headroles.__all__)
    own = [sieve.name.replace("<", "&lt;") for sieve in entries() if sieve.origin == "headroles"]
    assert [name for name in own if sieves.count(f"\n| `{name}` |") != 1] == []
    parts = re.split(r"^### headroles ", commands, flags=re.M)[1:]
    by_name = {part.partition("\n")[0]: part for part in parts}
    assert by_name.keys() == {name for name, _ in _commands()}
    for name, command in _commands():
        for option in command.options:
            label = option.name.upper() if option.option.argument else option.flag
            assert by_name[name].count(f"| `{label}` |") == 1, (name, label)
        assert all(example in by_name[name] for example in command.page.examples)


def test_columns_of_recorded_tables_are_those_of_the_page_of_files() -> None:
    page = (DOCS / "reference" / "files.md").read_text(encoding="utf-8")
    listed: dict[str, list[list[str]]] = {}
    for name, part in re.findall(r"^### `(\w+)\.csv`\n(.*?)(?=^##|\Z)", page, re.S | re.M):
        listed.setdefault(name, []).append(re.findall(r"^\| `([^`]+)` \|", part, re.M))
    recorded = sorted((ROOT / "tests" / "contract" / "recorded").rglob("*.csv"))
    tables = [file for file in recorded if file.stem in listed]
    for file in tables:
        header = file.read_text(encoding="utf-8").splitlines()[0].split(",")
        fitting = [names for names in listed[file.stem] if {*names} <= {*header, "kv_group"}]
        assert fitting, f"{file.relative_to(ROOT)}: {header}"
    assert listed.keys() - {file.stem for file in tables} <= {"conditions", "replicated", "sites", "values"}
    rows = re.findall(r"^\| `([^`]+)` \| (.*?) \|", page, re.M)
    assert [name for name, meaning in rows if not meaning.strip()] == []


def _typed(page: Path) -> Iterator[str]:
    """Yield the command lines in the blocks of a page."""
    for block in BLOCK.findall(page.read_text(encoding="utf-8")):
        for line in re.sub(r"\\\n\s*", "", block).splitlines():
            words = line.partition(" #")[0].strip().removeprefix("$ ").removeprefix(".venv/bin/")
            if words.startswith("headroles ") and not PLACEHOLDERS.search(re.sub(r"--task \S+", "", words)):
                yield words


def _parse(words: list[str]) -> None:
    """Parse a command line and check its values, without doing what it says."""
    command: click.Command = cli
    name: str | None = "headroles"
    context: click.Context | None = None
    while isinstance(command, click.Group):
        before = context
        name, found, words = command.resolve_command(click.Context(command), words)
        assert found is not None
        command, context = found, click.Context(found, parent=before, info_name=name)
    command.check(command.make_context(name, words, parent=context))  # type: ignore[attr-defined]


def test_documented_commands_and_examples_of_help_can_be_typed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("QNLI-all-MiniLM-L6-v2", "label-qnli", "label-stories"):
        unpack("label", tmp_path / "runs").rename(tmp_path / "runs" / name)
    monkeypatch.chdir(tmp_path)
    lines = {line for page in PAGES for line in _typed(page)}
    assert len(lines) > 40
    assert "headroles judge runs/mine --alpha 0.01 --correction holm" in lines
    for name, command in _commands():
        assert command.page.examples, name
        assert all(example.startswith(f"headroles {name}") for example in command.page.examples)
        lines |= {*command.page.examples}
    faults = []
    for line in sorted(lines):
        try:
            _parse(shlex.split(line)[1:])
        except (click.ClickException, headroles.HeadrolesError) as error:
            faults.append(f"{line}: {error}")
    assert faults == []


def _run(line: str, folder: Path) -> str:
    """Return what a command prints in a folder, with ordinary spaces."""
    words = [sys.executable, "-m", "headroles", *shlex.split(line)[1:]]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.replace("\N{NO-BREAK SPACE}", " ").replace("\N{NARROW NO-BREAK SPACE}", " ")


def _missing(block: str, printed: str) -> list[str]:
    """Return the lines of a block that no printed line begins with; "…" marks what is left out."""
    lines = [line.removesuffix("…").rstrip() for line in block.splitlines()]
    return [part.strip() for line in lines for part in line.split("…") if part.strip() not in printed]


def test_shells_complete_commands_and_values() -> None:
    for words, incomplete, expected in table("""
        label --device         |            | auto cpu cuda mps
        label --correction     | f          | fdr_bh fdr_by fdr_tsbh
        label --sieve          | delimiter: | delimiter:cls delimiter:sep
        probe                  | dep        | dependency
        show runs/x --format   | l          | latex
                               | sur        | surface
    """):
        complete = ShellComplete(cli, {}, "headroles", "_HEADROLES_COMPLETE")
        assert [
            item.value for item in complete.get_completions(words.split(), incomplete)
        ] == expected.split()


@pytest.mark.release
def test_commands_of_the_readme_and_the_tour_print_what_these_pages_show(tmp_path: Path) -> None:
    shown, printed = 0, ""
    for block in BLOCK.findall((DOCS / "start" / "tour.md").read_text(encoding="utf-8")):
        if block.startswith("headroles "):
            lines = [line.replace(" --open", "") for line in block.splitlines()]
            printed = "".join(_run(line, tmp_path) for line in lines)
        else:
            assert _missing(block, printed) == []
            shown += 1
    assert shown == 5
    readme = BLOCK.findall((ROOT / "README.md").read_text(encoding="utf-8"))
    answer = next(block for block in readme if block.startswith("72 heads of"))
    assert _missing(answer, _run("headroles show runs/QNLI-all-MiniLM-L6-v2", tmp_path)) == []
