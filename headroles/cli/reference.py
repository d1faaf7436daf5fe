"""Make the type stub of the package and pages of the reference: ``python -m headroles.cli.reference``.

They follow from the records of options and results, the commands and the catalogue of sieves. A test compares
them with the files.
"""

import inspect
import re
from pathlib import Path
from typing import Any

import headroles
from headroles.cli.files_page import files_page
from headroles.cli.options import SECTIONS, section_of
from headroles.cli.pages import all_commands, commands_page, sieves_page
from headroles.options.described import Described, in_groups

PACKAGE = Path(__file__).parents[1]
HOMES: dict[str, str] = vars(headroles)["_HOMES"]
STUB, PAGES = PACKAGE / "__init__.pyi", PACKAGE.parent / "docs" / "reference"
IMPORTS = {
    "Any": "typing",
    "Callable": "collections.abc",
    "Iterable": "collections.abc",
    "Path": "pathlib",
    "Phases": "headroles.progress",
    "Sequence": "collections.abc",
    "Sieve": "headroles.sieves.base",
}
"""Modules of the names in types of options."""
COMPLETION = """# Options

This page lists every option of every command. `python -m headroles.cli.reference` makes it, together with the
types of the Python functions, from one description of each option. An option means the same in every command.
Where commands differ in a detail or a default, their names follow in brackets. In Python an option has the
same name, with `_` in place of `-`: `headroles.label("QNLI", batch_size=8)`.

## Completion in the shell

Shells complete commands, options and their values after one line in their start file:

| shell | file | line |
| --- | --- | --- |
| bash | `~/.bashrc` | `eval "$(_HEADROLES_COMPLETE=bash_source headroles)"` |
| zsh | `~/.zshrc` | `eval "$(_HEADROLES_COMPLETE=zsh_source headroles)"` |
| fish | `~/.config/fish/config.fish` | `_HEADROLES_COMPLETE=fish_source headroles \\| source` |

Then `headroles label --device <TAB>` offers `auto cpu cuda mps`, and `headroles label --correction f<TAB>`
offers `fdr_bh fdr_by fdr_tsbh`. In Python, editors and notebooks complete the keywords of all functions.

## What a command prints

Results go to stdout. Phases and errors go to stderr: bars with the time left on a terminal, one line for
every finished phase in a pipe. A pipe and a terminal with `NO_COLOR` get no colours. `headroles show RUN`
prints a finished run or comparison again.

The help of a command shows at most 25 options. `--help-all` shows all of them. `headroles show RUN` shows
other sides of a run, one at a time:

| option | what it shows |
| --- | --- |
| `--head 2-8` | what one head does, with its findings; also `2.8` or `L2H8`. With `--json`: its card |
| `--page` | the report, written anew, or to a file: `--page FILE` |
| `--figures svg` | every figure as a file: `svg`, `pdf` or `png` |
| `--table` | the main table as text for a paper, or another one: `--table NAME` |
| `--methods` | the methods as a paragraph with references |

| option | what is printed |
| --- | --- |
| none | the answer in sentences, counts with bars and the strongest heads, notes, the path of the report |
| `--verbose`, `-v` | the test, every table, and what the words mean, too |
| `--grid` | layers × heads with the rarest role of every head, too |
| `--quiet`, `-q` | the path of the report alone, and no phases |
| `--json` | one JSON object |

The JSON object has these keys; a number that does not exist is `null`:

| key | what |
| --- | --- |
| `folder`, `report` | where the result is |
| `kind` | `label`, `probe`, `surface`, `cluster`, `compare` or `atlas` |
| `title`, `line`, `sentences`, `notes` | what a terminal shows, as text |
| `layers`, `heads` | size of the model: layers, and heads in a layer |
| `results` | a role, probe row or statistic by its name: `mark`, `title`, `counts` and `strongest` |
| `clusters` | of `cluster`: heads in each cluster |
| `best` | of `probe`: the best head of every row, as in `best.csv` |

`counts` are heads by outcome. `strongest` is the head of the first outcome whose interval has the highest
lower end, of its contrast or else of its mean: `layer`, `head`, `mean`, and the 95 % interval from `low` to
`high`; or `null`. In a comparison
`results` has `title`, `counts`, `gained` and `lost`. An atlas has
`runs`, `agreement`, `in_runs`, `consensus` and `trends` in place of `layers`, `heads` and `results`. These
are lists of rows: `in_runs` as in `headroles show ATLAS --table in-runs --format csv`, the others with the
columns of their files. `trends` is empty without `--steps`.

"""


def stub() -> str:
    """Return the type stub of the package: every public name, functions with all their keywords."""
    functions, reexports = [], []
    for name, module in sorted(HOMES.items()):
        value = getattr(headroles, name)
        if hasattr(value, "record"):
            functions.append(_function(name, value))
        else:
            reexports.append(f"from {module} import {name} as {name}")
    body = "\n".join(functions)
    used = {name: module for name, module in IMPORTS.items() if re.search(rf"\b{name}\b", body)}
    returned = {
        f"from {kind.__module__} import {kind.__name__}"
        for name in HOMES
        if hasattr(value := getattr(headroles, name), "record")
        for kind in [inspect.signature(value).return_annotation]
        if kind.__name__ not in HOMES and kind.__module__ != "builtins"
    }
    imports = [f"from {module} import {name}" for name, module in used.items()]
    head = '"""Types of the public names, made by ``python -m headroles.cli.reference``."""\n'
    listed = "".join(f'    "{name}",\n' for name in sorted(HOMES))
    return "\n".join(
        [
            head,
            *sorted({*imports, *returned, *reexports}, key=_import_order),
            f"\n__all__ = [\n{listed}]\n",
            body,
        ]
    )


def _import_order(line: str) -> tuple[bool, str]:
    """Put imports of the standard library before those of the package."""
    return "from headroles" in line, line


def _function(name: str, function: Any) -> str:
    """Return the stub of one function."""
    signature = inspect.signature(function)
    lines, keyword = [], False
    for parameter in signature.parameters.values():
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY and not keyword:
            lines.append("*")
            keyword = True
        annotation = parameter.annotation
        kind = annotation if isinstance(annotation, str) else _plain(annotation)
        default = "" if parameter.default is inspect.Parameter.empty else f" = {_literal(parameter.default)}"
        lines.append(f"{parameter.name}: {kind}{default}")
    summary = (inspect.getdoc(function) or "").splitlines()[0]
    inner = "".join(f"    {line},\n" for line in lines)
    return f'def {name}(\n{inner}) -> {signature.return_annotation.__name__}:\n    """{summary}"""\n'


def _plain(annotation: Any) -> str:
    """Return an annotation of a function's own keyword as source text, without names of modules."""
    return re.sub(r"\b(?:\w+\.)+(?=\w)", "", inspect.formatannotation(annotation))


def _literal(value: Any) -> str:
    """Return a default as Python source, with quotes as formatters set them."""
    if isinstance(value, tuple):
        return f"({', '.join(map(_literal, value))}{',' * (len(value) == 1)})"
    return f'"{value}"' if isinstance(value, str) else repr(value)


def options_page() -> str:
    """Return the page with all commands and all options."""
    commands = dict(all_commands())
    lines = [COMPLETION, "## Commands\n"]
    for section in SECTIONS:
        names = [f"`{name}`" for name, command in commands.items() if section_of(command) == section]
        lines.append(f"- {section}: {', '.join(names)}")
    takers: dict[str, list[tuple[str, Described]]] = {}
    for name, command in commands.items():
        for option in command.options:
            takers.setdefault(option.name, []).append((name, option))
    for group, members in in_groups([taken[0][1] for taken in takers.values()]):
        lines += [f"\n## {group}\n", "| option | meaning | values | default | commands |", "| --- " * 5 + "|"]
        lines += [_row(takers[option.name]) for option in members]
    return "\n".join(lines) + "\n"


def _row(takers: list[tuple[str, Described]]) -> str:
    """Return the row of one option: its one meaning, and what differs from command to command."""
    first = takers[0][1]
    details = _by_command([(name, option.option.detail) for name, option in takers])
    defaults = _by_command([(name, option.default) for name, option in takers])
    values = _by_command([(name, _values(option)) for name, option in takers])
    meaning = f"{first.option.help} {details}".strip()
    cells = (f"`{first.flag}`", meaning, values, defaults, ", ".join(name for name, _ in takers))
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _values(option: Described) -> str:
    """Return the values of an option in words."""
    if option.option.choices:
        return ", ".join(f"`{name}`" for name in option.option.choices)
    if option.repeatable and int in option.types:
        return "numbers such as 0,2-4"
    names = {
        bool: "flag",
        int: "whole number",
        float: "number",
        str: "path" if option.option.path else "text",
    }
    words = next((words for kind, words in names.items() if kind in option.types), "text")
    return f"{words} {option.option.limits}".strip()


def _by_command(values: list[tuple[str, str]]) -> str:
    """Return one value where all commands have it, else each value with its commands."""
    commands: dict[str, list[str]] = {}
    for name, value in values:
        commands.setdefault(value, []).append(name)
    if len(commands) == 1:
        return next(iter(commands))
    return " ".join(
        f"{value.rstrip('.')} ({', '.join(names)})." for value, names in commands.items() if value
    )


def made() -> dict[Path, str]:
    """Return the text of every file that this module makes."""
    return {
        STUB: stub(),
        PAGES / "options.md": options_page(),
        PAGES / "commands.md": commands_page(),
        PAGES / "files.md": files_page(),
        PAGES / "sieves.md": sieves_page(),
    }


def write() -> None:
    """Write the files."""
    for path, text in made().items():
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write()
