"""Descriptions of options: what an option means, which values it takes, and where help lists it.

An option is a field of a frozen dataclass (a record) whose annotation holds an ``Option``. The record checks
values by it; the command line, the keywords of functions, their documentation, the page
``docs/reference/options.md`` and the type stub of the package are made from it. So everything about an
option is written once.
"""

from collections.abc import Iterable, Iterator
from dataclasses import MISSING, Field, dataclass, fields, replace
from types import NoneType
from typing import Annotated, Any, get_args, get_origin

from headroles.errors import BadInput, UnknownName

GROUPS = ("Inputs", "Model", "Questions", "Decision", "Output", "Running")
"""Headings of help, in their order."""
LEADING = (
    "task",
    "source",
    "data",
    "text_a",
    "text_b",
    "group",
    "model",
    "revision",
    "sieve",
    "head",
    "page",
    "figures",
    "table",
    "methods",
    "out",
    "workers",
)
"""Options that come first under their heading."""
INFINITY = float("inf")


@dataclass(frozen=True, slots=True)
class Option:
    """What an option means; one option has one description, wherever it stands.

    Attributes:
        help: Its meaning, one sentence or two.
        group: The heading of help that lists it, from ``GROUPS``.
        detail: What it means for one command in particular, as a sentence; "" for nothing more.
        choices: Names that it takes; () for any value.
        any_case: Whether these names may be given in capital or small letters.
        kind: Name of the thing in errors, such as "kind of attention"; "" for the name of the option.
        least: Smallest value; None for no limit.
        most: Largest value; None for no limit.
        above: Number that the value lies above; None for no limit.
        below: Number that the value lies below; None for no limit.
        default: The default in words, where the value of the field does not say it.
        path: Whether the text is the path of a file or folder.
        argument: Whether it is an argument of the command line without a name.
        required: Whether the command line requires it.
        hidden: Whether help and signatures leave it out, because the command takes no value for it.
        rare: Whether the help of a command with many options leaves it to ``--help-all``.
        alone: Value that it has where it stands without one; None where it needs a value.
        python: Its type in Python, where functions take more than the record holds.
        in_python: What functions take beyond the command line, as a sentence; "" for nothing more.
    """

    help: str
    group: str
    detail: str = ""
    choices: tuple[str, ...] = ()
    any_case: bool = False
    kind: str = ""
    least: float | None = None
    most: float | None = None
    above: float | None = None
    below: float | None = None
    default: str = ""
    path: bool = False
    argument: bool = False
    required: bool = False
    hidden: bool = False
    rare: bool = False
    alone: str | None = None
    python: str = ""
    in_python: str = ""

    def but(self, **changes: Any) -> "Option":
        """Return the option with other values of some attributes, for one command."""
        return replace(self, **changes)

    @property
    def meaning(self) -> str:
        """The help with its detail."""
        return f"{self.help} {self.detail}".strip()

    def check(self, name: str, value: Any) -> None:
        """Refuse a name that is no choice, and a number out of range.

        Args:
            name: Name of the option.
            value: A value of its type, or several values in a tuple. None and booleans are never refused.

        Raises:
            UnknownName: For a name that is no choice, with the nearest one.
            BadInput: For a number out of range.
        """
        for single in value if isinstance(value, tuple) else (value,):
            if single is None or isinstance(single, bool):
                continue
            if self.choices and single not in self.choices:
                raise UnknownName(self.kind or name.replace("_", " "), single, self.choices)
            if isinstance(single, int | float) and not self._holds(single):
                kind = "a whole number" if isinstance(single, int) else "a number"
                words = (
                    f"lie {self.limits}" if self.limits.startswith("between") else f"be {kind} {self.limits}"
                )
                raise BadInput(f"{name} must {words}, but got {single}")

    def _holds(self, value: float) -> bool:
        """Return whether a number lies within the limits; NaN never does."""
        return (
            value == value  # not NaN
            and (self.least is None or value >= self.least)
            and (self.most is None or value <= self.most)
            and (self.above is None or value > self.above)
            and (self.below is None or value < self.below)
        )

    @property
    def limits(self) -> str:
        """The limits of numbers in words; "" where there are none."""
        if self.above is not None and self.below is not None and self.below < INFINITY:
            return f"between {self.above:,} and {self.below:,}, both excluded"
        low = f"of at least {self.least:,}" if self.least is not None else ""
        low = f"above {self.above:,}" if self.above is not None else low
        high = f"at most {self.most:,}" if self.most is not None else ""
        high = f"below {self.below:,}" if self.below is not None and self.below < INFINITY else high
        return " and ".join(part for part in (low, high) if part)


@dataclass(frozen=True, slots=True)
class Described:
    """One field of a record with its description.

    Attributes:
        name: Name of the field and of the keyword.
        option: Its description.
        types: Types of its values; for a field that takes several values, those of a single one.
        repeatable: Whether it takes several values.
        value: The default of the record; None where there is none.
        missing: Whether the field has no default.
    """

    name: str
    option: Option
    types: tuple[type, ...]
    repeatable: bool
    value: Any
    missing: bool

    @property
    def required(self) -> bool:
        """Whether the command line requires it."""
        return self.missing or self.option.required

    @property
    def flag(self) -> str:
        """Its name on the command line; ``as_`` is a word of Python, so its flag is ``--as``."""
        return self.name if self.option.argument else "--" + self.name.rstrip("_").replace("_", "-")

    @property
    def default(self) -> str:
        """Its default in words; "" for a flag that is off, and where it is required."""
        if self.required or self.option.default:
            return self.option.default
        if isinstance(self.value, tuple):
            return ", ".join(map(str, self.value))
        return "" if self.value in (None, False, "") else f"{self.value}"

    @property
    def python(self) -> str:
        """Its type in Python as source text, with everything that functions take."""
        if self.option.python:
            return self.option.python
        names = [kind.__name__ for kind in self.types if kind is not NoneType]
        if self.option.path:
            names.append("Path")
        if self.repeatable:
            names.append(f"Sequence[{' | '.join(names)}]")
        return " | ".join([*names, *(["None"] if NoneType in self.types else [])])


def described(record: type) -> tuple[Described, ...]:
    """Return the described options of a record, in the order of its fields.

    Raises:
        TypeError: When a field has no description, which is a mistake in the code of the record.

    Example:
        >>> @dataclass
        ... class Small:
        ...     limit: Annotated[int | None, Option("A random sample.", "Inputs", least=1)] = None
        >>> [option] = described(Small)
        >>> option.flag, option.types
        ('--limit', (<class 'int'>, <class 'NoneType'>))
    """
    return tuple(_described(field) for field in fields(record))


def _described(field: "Field[Any]") -> Described:
    """Return the description of one field."""
    notes = get_args(field.type)[1:] if get_origin(field.type) is Annotated else ()
    option = next((note for note in notes if isinstance(note, Option)), None)
    if option is None or option.group not in GROUPS:
        raise TypeError(f"field {field.name!r} needs an Option of one of the groups {GROUPS}")
    plain = get_args(field.type)[0]
    repeatable = get_origin(plain) is tuple
    single = get_args(plain)[0] if repeatable else plain
    missing = field.default is MISSING
    usual = None if missing else field.default
    return Described(field.name, option, get_args(single) or (single,), repeatable, usual, missing)


def check_values(record: Any) -> None:
    """Check every value of a record against the description of its option.

    Raises:
        UnknownName: For a name that is no choice.
        BadInput: For a number out of range.
    """
    for option in described(type(record)):
        option.option.check(option.name, getattr(record, option.name))


def shown(record: type) -> tuple[Described, ...]:
    """Return the described options of a record that help and signatures show."""
    return tuple(option for option in described(record) if not option.option.hidden)


def in_groups(options: Iterable[Described]) -> Iterator[tuple[str, list[Described]]]:
    """Yield every group that has options, and its options, in the order of ``GROUPS``."""
    place = {name: position for position, name in enumerate(LEADING)}
    options = sorted(options, key=lambda option: place.get(option.name, len(place)))
    for group in GROUPS:
        members = [
            option for option in options if option.option.group == group and not option.option.argument
        ]
        if members:
            yield group, members
