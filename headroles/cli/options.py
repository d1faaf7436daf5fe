"""Options of the command line, made from the records of options, and help in groups."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib import import_module
from types import NoneType
from typing import Any

import click
from click.shell_completion import CompletionItem

from headroles.options.described import Described, described, in_groups, shown
from headroles.options.listed import DisplayOptions
from headroles.options.values import record_of

SECTIONS = ("Label and ask", "Compare and combine", "Look", "Keep and check")
"""Headings of ``headroles --help``, in their order."""
NUMBERS: dict[type, Any] = {int: click.INT, float: click.FLOAT}
SHORT = {"quiet": "-q", "verbose": "-v"}
"""Options that have one letter, too."""
PRINTS = ("quiet", "verbose", "json", "open")
"""Options of what a command with a report prints."""
ROLES = (*PRINTS, "grid")
"""Options of what a command prints that shows roles."""
ASKED = ("yes",)
"""Option of a command that may ask whether to go on."""
WATCHED = (*ROLES, "watch")
"""Options of what a command prints whose run may stop when its heads are decided."""
MOST_SHOWN = 25
"""Most options in the help of a command; of a command with more, rare ones stand in ``--help-all``."""
CONTEXT: dict[str, Any] = {"help_option_names": ["-h", "--help"], "max_content_width": 100}
"""Settings of every command."""


class Name(click.Choice[str]):
    """One of several names, which help shows and shells complete; records refuse other names."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return any text, so that the record says which name is nearest."""
        return str(value)


class PathName(click.Path):
    """The name of a file or folder, which shells complete; records refuse what no system takes."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return any text, so that the record says what is wrong with it."""
        return value


class SieveName(click.ParamType[str]):
    """A sieve, which shells complete."""

    name = "sieve"

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Return the sieves and groups whose names begin with what was typed."""
        from headroles.plugins import sieve_names

        return [CompletionItem(name) for name in sieve_names() if name.startswith(incomplete)]


def parameter_of(option: Described) -> click.Parameter:
    """Return an option as a parameter of the command line."""
    if option.option.argument:
        return click.Argument(
            [option.name],
            required=option.required or option.repeatable,
            nargs=-1 if option.repeatable else 1,
            type=_type_of(option),
        )
    flag = option.flag
    words = f"{flag}/--no-{flag[2:]}" if option.types == (bool, NoneType) else flag
    several = option.repeatable and int not in option.types
    value = None if option.repeatable and not several else option.value
    more: dict[str, Any] = {} if option.required else {"default": value}
    if option.option.alone is not None:
        name = "FILE" if option.option.path else "NAME"
        more |= {"is_flag": False, "flag_value": option.option.alone, "metavar": f"[{name}]"}
    elif bool in option.types:
        more["is_flag"] = True
    return click.Option(
        [*([SHORT[option.name]] if option.name in SHORT else []), words, option.name],
        type=None if bool in option.types else _type_of(option),
        help=_help_of(option),
        required=option.required,
        multiple=several,
        **more,
    )


def _type_of(option: Described) -> Any:
    """Return the type of an option on the command line."""
    if option.name == "sieve":
        return SieveName()
    if option.option.choices:
        return Name(option.option.choices)
    if option.option.path:
        return PathName()
    return next(
        (NUMBERS[kind] for kind in option.types if kind in NUMBERS and not option.repeatable), click.STRING
    )


def _help_of(option: Described) -> str:
    """Return the help of an option, with its default at the end."""
    default = f"  [default: {option.default}]" if option.default and not option.required else ""
    return f"{option.option.meaning}{default}"


@dataclass(frozen=True, slots=True)
class Page:
    """How help shows a command.

    Attributes:
        section: Heading of ``headroles --help`` that lists it, from ``SECTIONS``.
        examples: Command lines that work as they are, or after a change of names.
    """

    section: str = ""
    examples: tuple[str, ...] = ()


class Command(click.Command):
    """A command whose options are those of a record, listed in groups, with examples.

    The record is imported when the options are needed, so that other commands start without it.
    """

    def __init__(
        self, *given: Any, place: str = "", page: Page | None = None, prints: Sequence[str] = (), **more: Any
    ) -> None:
        """Keep where the record is, and how help shows the command.

        Args:
            *given: As click takes it.
            place: Module in ``headroles.options`` and class, such as ``"label:LabelOptions"``.
            page: How help shows the command.
            prints: Names of the options of ``DisplayOptions`` that it takes.
            **more: As click takes it.
        """
        self._place, self.page, self._prints = place, page or Page(), tuple(prints)
        self._params: list[click.Parameter] | None = None
        super().__init__(*given, **more)

    @property
    def record(self) -> type:
        """The record of options."""
        module, _, name = self._place.partition(":")
        record: type = getattr(import_module(f"headroles.options.{module}"), name)
        return record

    @property
    def options(self) -> tuple[Described, ...]:
        """The options of the record that are shown, and those of what the command prints."""
        printing = tuple(option for option in described(DisplayOptions) if option.name in self._prints)
        return (*shown(self.record), *printing)

    @property
    def params(self) -> list[click.Parameter]:
        """The parameters of the command line, made from the records."""
        if self._params is None:
            self._params = [parameter_of(option) for option in self.options]
        return self._params

    @params.setter
    def params(self, given: list[click.Parameter]) -> None:
        """Leave the parameters to the record; click sets none."""

    @property
    def hides(self) -> bool:
        """Whether help leaves rare options to ``--help-all``."""
        return sum(not option.option.argument for option in self.options) > MOST_SHOWN

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the parameters, and ``--help-all`` where help leaves some out."""
        names, params = ("--help-all",), super().get_params(ctx)
        words = "Show all options and exit."
        every = click.Option(
            names, is_flag=True, is_eager=True, expose_value=False, callback=_show_all, help=words
        )
        return [*params, every] if self.hides else params

    def check(self, ctx: click.Context) -> dict[str, Any]:
        """Refuse wrong values, before anything else is imported.

        Returns:
            The values of the record by name; as ``display`` those of what is printed, if there are any.

        Raises:
            HeadrolesError: As the records say.
        """
        given = dict(ctx.params)
        printing = {name: given.pop(name) for name in self._prints}
        display = DisplayOptions(**printing)
        record_of(self.record, **given)
        return given | ({"display": display} if printing else {})

    def invoke(self, ctx: click.Context) -> Any:
        """Check all values, and then do what the command does."""
        ctx.params = self.check(ctx)
        return super().invoke(ctx)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options in their groups, then the examples, and how to see the options left out."""
        arguments = [option for option in self.options if option.option.argument]
        if arguments:
            with formatter.section("Arguments"):
                formatter.write_dl([(option.name.upper(), _help_of(option)) for option in arguments])
        named = [parameter for parameter in self.get_params(ctx) if isinstance(parameter, click.Option)]
        parameters = {parameter.name: parameter for parameter in named}
        left_out = self.hides and not ctx.meta.get(_show_all.__name__)
        for group, members in in_groups(self.options):
            pairs = [(member, parameters.pop(member.name)) for member in members]
            listed = [parameter for member, parameter in pairs if not (left_out and member.option.rare)]
            _write_list(formatter, group, listed, ctx)
        _write_list(formatter, "Other", parameters.values(), ctx)
        if self.page.examples:
            with formatter.section("Examples"):
                for example in self.page.examples:
                    formatter.write(f"{'':>{formatter.current_indent}}{example}\n")
        if left_out:
            count = len(self.options) - len(arguments)
            formatter.write(f"\n{ctx.command_path} --help-all shows all {count} options.\n")


def _show_all(ctx: click.Context, parameter: click.Parameter, asked: bool) -> None:
    """Print the help of a command with all its options, and end."""
    if asked:
        ctx.meta[_show_all.__name__] = True
        click.echo(ctx.get_help(), color=ctx.color)
        ctx.exit()


class Commands(click.Group):
    """All commands, listed in sections."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write one line for every command, in the sections."""
        commands = {name: self.get_command(ctx, name) for name in self.list_commands(ctx)}
        for section in SECTIONS:
            rows = [
                (name, one_line(command.help or ""))
                for name, command in commands.items()
                if command is not None and section_of(command) == section
            ]
            if rows:
                with formatter.section(section):
                    formatter.write_dl(rows)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands, in the order in which they were added."""
        return list(self.commands)


def one_line(text: str) -> str:
    """Return the first sentence of a help text, without its full stop.

    Example:
        >>> one_line("Label heads. More follows.")
        'Label heads'
    """
    return " ".join(text.split()).partition(". ")[0].removesuffix(".")


def section_of(command: click.Command) -> str:
    """Return the heading that lists a command."""
    page = getattr(command, "page", None)
    return page.section if isinstance(page, Page) else SECTIONS[-1]


def command(
    name: str, place: str, section: str, *examples: str, prints: Sequence[str] = ()
) -> Callable[[Callable[..., Any]], click.Command]:
    """Make a command from a function that takes the options of a record by name.

    Args:
        name: Name of the command.
        place: Module in ``headroles.options`` and class of its options, such as ``"label:LabelOptions"``.
        section: Heading of ``headroles --help`` that lists it, from ``SECTIONS``.
        *examples: Command lines for its help.
        prints: Names of the options of ``DisplayOptions`` that it takes, as its argument ``display``.
    """
    page = Page(section, examples)
    return click.command(name, cls=Command, place=place, page=page, prints=prints, context_settings=CONTEXT)


def _write_list(
    formatter: click.HelpFormatter,
    heading: str,
    parameters: Iterable[click.Parameter],
    ctx: click.Context,
) -> None:
    """Write parameters under a heading; arguments have no line."""
    rows: Sequence[tuple[str, str]] = [
        record for parameter in parameters if (record := parameter.get_help_record(ctx)) is not None
    ]
    if rows:
        with formatter.section(heading):
            formatter.write_dl(rows)
