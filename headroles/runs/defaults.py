"""The usual run folder of a command, and sieves as callers of several runs give them."""

from collections.abc import Sequence
from pathlib import Path

from headroles.extraction.model.checkpoint import EMBEDDED
from headroles.options.inputs import called
from headroles.sieves.base import Sieve


def default_folder(task: str | None, data: str | None, model: str | None, kind: str = "") -> str:
    """Where the command line writes a run: ``runs/<inputs>-<model>``, the kind before it where there is one.

    Example:
        >>> default_folder("QNLI", None, None)
        'runs/QNLI-all-MiniLM-L6-v2'
        >>> default_folder("QNLI", None, None, "surface")
        'runs/surface-QNLI-all-MiniLM-L6-v2'
    """
    inputs = task or called(data)
    parts = (kind, inputs, Path(model or EMBEDDED).resolve().name)
    return str(Path("runs") / "-".join(part for part in parts if part))


def sieve_tuple(sieve: str | Sieve | Sequence[str | Sieve]) -> tuple[str | Sieve, ...]:
    """Sieves as a caller gives them, one by itself or several, as a tuple."""
    return (sieve,) if isinstance(sieve, str) or not isinstance(sieve, Sequence) else tuple(sieve)
