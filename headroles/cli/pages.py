"""Pages of the reference about commands and sieves, made from the command line and the catalogue."""

from collections.abc import Callable, Iterator

import click

from headroles.catalogue import Entry, entries
from headroles.cli.main import cli
from headroles.cli.options import CONTEXT, SECTIONS, Command, Name, section_of
from headroles.options.described import in_groups

COMMANDS = """# Commands

This page lists every command with its options and with examples, as `headroles COMMAND --help` does. Help
shows at most 25 options of a command, and `--help-all` shows all.
[Options](options.md) lists every option once, with all commands that take it.
`python -m headroles.cli.reference` makes both pages.

The exit code is 0 when a command is done. After a mistake it is 1, and one sentence on stderr explains the
mistake. After a wrong usage it is 2.
"""
SIEVES = """# Sieves

A sieve is a question to every head. This page lists all sieves that headroles has. `headroles sieves` prints
the same, and the plug-ins that are installed. `headroles sieves NAME --show "a text"` draws what a sieve
counts. [Sieves of your own](../sieves.md) shows how to write one. `python -m headroles.cli.reference` makes
this page.

`--sieve` takes a name of this page, and may be repeated. The *margin* is how far above chance a mean must
lie. `--margin` sets another one. A sieve may have a *contrast*: a second number with a margin of its own.
Then a head has the role only if both numbers are high enough
([Beyond distance](../explanation/contrasts.md)).
"""
SETS: tuple[tuple[str, str, Callable[[Entry], bool]], ...] = (
    ("In every run", "`headroles label` uses these when no `--sieve` is given.", lambda sieve: sieve.default),
    (
        "Patterns",
        "`--sieve patterns` stands for all of them.",
        lambda sieve: sieve.group == "patterns" and not sieve.default,
    ),
    (
        "More sieves",
        "Name them one by one.",
        lambda sieve: (
            sieve.kind not in ("family", "group") and sieve.group != "patterns" and not sieve.default
        ),
    ),
    ("Families", "A family takes a parameter after the colon.", lambda sieve: sieve.kind == "family"),
    ("Sets", "A set stands for several sieves.", lambda sieve: sieve.kind == "group"),
)
"""Headings of the page of sieves: what is said of each, and which sieves stand below it."""


def all_commands(group: click.Group = cli, before: str = "") -> Iterator[tuple[str, Command]]:
    """Yield all commands with their names, those of groups too."""
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from all_commands(command, f"{before}{name} ")
        elif isinstance(command, Command):
            yield f"{before}{name}", command


def commands_page() -> str:
    """Return the page with usage, options and examples of every command."""
    commands = dict(all_commands())
    parts = [COMMANDS]
    for section in SECTIONS:
        parts.append(f"## {section}")
        parts += [
            _command(name, command) for name, command in commands.items() if section_of(command) == section
        ]
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


def _command(name: str, command: Command) -> str:
    """Return the part of the page about one command."""
    context = click.Context(command, info_name=f"headroles {name}", **CONTEXT)
    usage = command.get_usage(context).removeprefix("Usage: ")
    usage = " ".join(usage.split())
    parts = [f"### headroles {name}", click.unstyle(_plain(command.help or ""))]
    parts.append(f"```text\n{usage}\n```")
    if command.page.examples:
        parts.append("```\n" + "\n".join(command.page.examples) + "\n```")
    arguments = [option for option in command.options if option.option.argument]
    groups = [*([("Arguments", arguments)] if arguments else []), *in_groups(command.options)]
    rows = []
    for group, members in groups:
        rows.append(f"| **{group}** | |")
        for option in members:
            label = option.name.upper() if option.option.argument else option.flag
            values = _values(command, option.name)
            default = f" Default: {option.default}." if option.default and not option.required else ""
            rows.append(f"| `{label}` | {_cell(option.option.meaning + values + default)} |")
    parts.append(
        f'??? note "Options of headroles {name}"\n\n'
        + _indented("| option | meaning |\n| --- | --- |\n" + "\n".join(rows))
    )
    return "\n\n".join(parts)


def _values(command: Command, name: str) -> str:
    """Return the names that an option takes, as a sentence; "" where it takes others."""
    kind = next((parameter.type for parameter in command.params if parameter.name == name), None)
    if not isinstance(kind, Name):
        return ""
    return f" One of {', '.join(f'`{choice}`' for choice in kind.choices)}."


def sieves_page() -> str:
    """Return the page with all built-in sieves."""
    sound = [sieve for sieve in entries() if sieve.origin == "headroles" and not sieve.error]
    parts = [SIEVES]
    for heading, words, belongs in SETS:
        rows = [_sieve(sieve) for sieve in sound if belongs(sieve)]
        if rows:
            head = "| sieve | question | needs | margin | contrast | source |\n" + "| --- " * 6 + "|"
            parts.append(f"## {heading}\n\n{words}\n\n{head}\n" + "\n".join(rows))
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


def _sieve(sieve: Entry) -> str:
    """Return the row of a sieve."""
    example = f" For example `{sieve.example}`." if sieve.example else ""
    cells = (
        f"`{sieve.name}`",
        sieve.question + example,
        ", ".join(sieve.needs) or "–",
        "–" if sieve.margin is None else f"{sieve.margin:g}",
        "–" if sieve.contrast is None else f"{sieve.contrast:g}",
        sieve.source or "–",
    )
    return "| " + " | ".join(_cell(cell) for cell in cells) + " |"


def _plain(text: str) -> str:
    """Return a help text as paragraphs on one line each."""
    return "\n\n".join(" ".join(part.split()) for part in text.split("\n\n"))


def _indented(text: str) -> str:
    """Return a text as the content of a fold."""
    return "\n".join(f"    {line}" for line in text.splitlines())


def _cell(text: str) -> str:
    """Return text as the cell of a table."""
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")
