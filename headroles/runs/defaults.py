"""Defaults that several kinds of runs share: the run folder, and the sieves of a caller as a tuple."""

from collections.abc import Sequence
from pathlib import Path

from headroles.extraction.model.checkpoint import EMBEDDED
from headroles.options.inputs import input_name
from headroles.sieves.base import Sieve


def default_folder(task: str | None, data: str | None, model: str | None, kind: str = "") -> str:
    """Return the run folder that a command uses by default: ``runs/<inputs>-<model>``, or the kind first.

    Example:
        >>> default_folder("QNLI", None, None)
        'runs/QNLI-all-MiniLM-L6-v2'
        >>> default_folder("QNLI", None, None, "surface")
        'runs/surface-QNLI-all-MiniLM-L6-v2'
    """
    inputs = task or input_name(data)
    parts = (kind, inputs, Path(model or EMBEDDED).resolve().name)
    return str(Path("runs") / "-".join(part for part in parts if part))


def sieve_tuple(sieve: str | Sieve | Sequence[str | Sieve]) -> tuple[str | Sieve, ...]:
    """Return the sieves of a caller, one or several, as a tuple."""
    return (sieve,) if isinstance(sieve, str) or not isinstance(sieve, Sequence) else tuple(sieve)
