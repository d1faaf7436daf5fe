"""Errors of workers, as the process of the run raises them, and the number of workers that may be lost."""

from dataclasses import dataclass
from traceback import format_exception

from headroles import errors
from headroles.errors import BadInput, HeadrolesError
from headroles.shards.work import Task

MOST_LOSSES = 3
"""Number of workers lost at the same shard, or at their start, that ends a run."""


def make_headroles_error(name: str | None, sentence: str) -> HeadrolesError | None:
    """Make an error of headroles from the name of its class and its sentence.

    Returns:
        The error; None when headroles has no error class of this name.
    """
    kind = getattr(errors, name or "", None)
    if not (isinstance(kind, type) and issubclass(kind, HeadrolesError)):
        return None
    error: HeadrolesError = kind.__new__(kind, sentence)
    error.args = (sentence,)
    return error


@dataclass(frozen=True, slots=True)
class Failure:
    """An error of a worker on Ray.

    Attributes:
        kind: Name of its class, when headroles defines it; None for any other error.
        said: Its sentence; for any other error the whole traceback.
    """

    kind: str | None
    said: str

    def error(self) -> Exception:
        """Return the error as the worker raised it; other errors as ``RuntimeError`` with their traceback."""
        return make_headroles_error(self.kind, self.said) or RuntimeError(
            f"a worker on Ray failed:\n{self.said}"
        )


def failure_of(error: Exception) -> Failure:
    """Return what another process needs to raise an error again."""
    if isinstance(error, HeadrolesError):
        return Failure(type(error).__name__, str(error))
    return Failure(None, "".join(format_exception(error)))


def describe_scoring(task: Task) -> str:
    """Describe the scoring of a shard, for messages."""
    return f"scoring shard {task.number} ({task.passages[0].key} and on)"


def lost_worker_error(doing: str, how: int | None = None) -> BadInput:
    """Return the error for workers that were lost too often at the same work.

    Args:
        doing: Their work, in words.
        how: Exit code of the last worker, or minus its signal; None where it is unknown.
    """
    ended = "" if how is None else f" (signal {-how})" if how < 0 else f" (exit code {how})"
    return BadInput(
        f"at most {MOST_LOSSES - 1} workers may be lost on one shard or at their start, but {MOST_LOSSES} "
        f"were lost while {doing}{ended}; where memory is short give fewer --workers or a smaller "
        "--batch-size, and start the same command again"
    )
