"""Errors on their way home from a worker, and how often a worker may be lost at one thing."""

from dataclasses import dataclass
from traceback import format_exception

from headroles import errors
from headroles.errors import BadInput, HeadrolesError
from headroles.shards.work import Task

LOSSES = 3
"""How often a shard, or the start of a worker, may end with the loss of its worker."""


def ours(name: str | None, said: str) -> HeadrolesError | None:
    """An error of headroles from the name of its class and its sentence; None where no class is called so."""
    kind = getattr(errors, name or "", None)
    if not (isinstance(kind, type) and issubclass(kind, HeadrolesError)):
        return None
    made: HeadrolesError = kind.__new__(kind, said)
    made.args = (said,)
    return made


@dataclass(frozen=True, slots=True)
class Failure:
    """An error of a worker on Ray.

    Attributes:
        kind: Name of its class, when it is one of headroles; None for any other.
        said: Its sentence, or the whole trace of any other.
    """

    kind: str | None
    said: str

    def error(self) -> Exception:
        """The error as the worker raised it; any other one as a ``RuntimeError`` with its trace."""
        return ours(self.kind, self.said) or RuntimeError(f"a worker on Ray failed:\n{self.said}")


def failure_of(error: Exception) -> Failure:
    """What of an error crosses to another process."""
    if isinstance(error, HeadrolesError):
        return Failure(type(error).__name__, str(error))
    return Failure(None, "".join(format_exception(error)))


def scoring(task: Task) -> str:
    """What a worker does with a shard, in words."""
    return f"scoring shard {task.number} ({task.passages[0].key} and on)"


def lost(doing: str, how: int | None = None) -> BadInput:
    """What is to be said when workers were lost too often at one thing.

    Args:
        doing: What they did, in words.
        how: Exit code of the last one, or minus its signal; None where nobody knows.
    """
    ended = "" if how is None else f" (signal {-how})" if how < 0 else f" (exit code {how})"
    return BadInput(
        f"a worker may be lost {LOSSES - 1} times at one thing, but {LOSSES} were lost while {doing}{ended}; "
        f"where memory is short give fewer --workers or a smaller --batch-size, and start the same command "
        f"again"
    )
