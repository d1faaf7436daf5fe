"""Families of sieves that differ in one parameter, such as ``local:4``, and the decorator that makes one."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from headroles.errors import BadSieve, HeadrolesError, shorten
from headroles.records.roles import RoleWords
from headroles.sieves.base import MaskSieve, Scorer, Sieve


@dataclass(frozen=True, slots=True)
class SieveFamily:
    """Sieves that differ in one parameter, given behind the name: ``ring:5`` is of the family ``ring``.

    Attributes:
        name: Its name, without a colon.
        make: Makes the sieve of a parameter, which is any text that is not empty. A ``ValueError`` means that
            the parameter is wrong. The sieve's name is the name of the family, a colon, and the parameter in
            its usual spelling.
        parameter: What the parameter is, in one word, which lists show as ``ring:<distance>``.
        example: A parameter that works.
        question: The question of the sieves, in words, with the parameter unnamed.
        source: The source of the idea.
        words: Returns what outputs say about the role of a parameter; None: its name.
    """

    name: str
    make: Callable[[str], Sieve]
    parameter: str
    example: str
    question: str = ""
    source: str = ""
    words: Callable[[str], RoleWords] | None = None

    def __post_init__(self) -> None:
        """Check the names.

        Raises:
            BadSieve: For a name that cannot stand before a colon, or an empty parameter or example.
        """
        named = isinstance(self.name, str) and self.name.isprintable() and self.name.strip() == self.name
        if not named or not self.name or set(":;") & set(self.name):
            raise BadSieve(
                f"a family of sieves has a printable name without ':' and ';', but got {shorten(self.name)}; "
                f"rename it"
            )
        for field, value in (("parameter", self.parameter), ("example", self.example)):
            if not isinstance(value, str) or not value:
                raise BadSieve(
                    f"the family {self.name!r} states its {field} as text, but got {shorten(value)}; give "
                    f"one, such as parameter='distance' and example='5' of a family 'ring'"
                )

    @property
    def listed(self) -> str:
        """Return the name as lists show it, such as ``ring:<distance>``."""
        return f"{self.name}:<{self.parameter}>"

    def sieve(self, parameter: str) -> Sieve:
        """Return the sieve of a parameter; a mask without a question gets that of the family.

        Raises:
            BadSieve: For a wrong parameter, or a family that makes no sieve of its name.
        """
        given = f"{self.name}:{parameter}"
        try:
            made = self.make(parameter)
        except HeadrolesError:
            raise
        except ValueError as error:
            raise BadSieve(
                f"{shorten(given)} is no sieve of the family {self.listed} ({error}); give a parameter as in "
                f"{self.name}:{self.example}"
            ) from error
        except Exception as error:  # a third party's function may raise anything
            raise BadSieve(
                f"the family {self.listed} failed on {shorten(given)} ({type(error).__name__}: {error}); "
                f"mend it"
            ) from error
        name = getattr(made, "name", None)
        if isinstance(made, type) or not isinstance(made, MaskSieve | Scorer):
            raise BadSieve(
                f"the family {self.listed} makes sieves, but {shorten(given)} gave a {type(made).__name__}; "
                f"mend it"
            )
        if not isinstance(name, str) or not name.startswith(f"{self.name}:"):
            raise BadSieve(
                f"sieves of the family {self.listed} have names such as '{self.name}:{self.example}', but "
                f"{shorten(given)} gave a sieve called {shorten(name)}; mend it"
            )
        if isinstance(made, MaskSieve) and not made.question:
            return replace(made, question=self.question)
        return made


def sieve_family(
    name: str,
    *,
    parameter: str,
    example: str,
    question: str = "",
    source: str = "",
    words: Callable[[str], RoleWords] | None = None,
) -> Callable[[Callable[[str], Sieve]], SieveFamily]:
    """Turn a function that makes a sieve from a parameter into a family of sieves.

    Args:
        name: Name before the colon; for a plug-in the entry point's name.
        parameter: What the parameter is, in a word.
        example: A parameter that works.
        question: The question of the sieves; the first line of the docstring when empty.
        source: The source of the idea; the module when empty.
        words: Returns what pages and other outputs say about the role of a parameter; None: its name.

    Raises:
        BadSieve: For a name that cannot stand before a colon.

    Example:
        >>> from headroles.sieves.base import sieve
        >>> from headroles.sieves.masks import Band
        >>> @sieve_family("ahead", parameter="tokens", example="5")
        ... def ahead(tokens: str) -> Sieve:
        ...     "Keys that many tokens ahead."
        ...     distance = int(tokens)
        ...     return sieve(f"ahead:{distance}")(lambda example: Band(distance, distance, example.size))
        >>> ahead.listed, ahead.sieve("3").name
        ('ahead:<tokens>', 'ahead:3')
    """

    def make(function: Callable[[str], Sieve]) -> SieveFamily:
        first = (function.__doc__ or "").strip().splitlines()
        return SieveFamily(
            name=name,
            make=function,
            parameter=parameter,
            example=example,
            question=question or (first[0] if first else ""),
            source=source or function.__module__,
            words=words,
        )

    return make
