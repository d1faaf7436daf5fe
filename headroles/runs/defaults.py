"""Defaults that several kinds of runs share: the run folder, and the sieves of a caller as a tuple."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from headroles.extraction.model.checkpoint import EMBEDDED
from headroles.options.inputs import input_name
from headroles.sieves.base import Sieve
from headroles.tasks import task_of


def default_folder(options: Mapping[str, Any], kind: str = "") -> str:
    """Return the run folder that a command uses by default: ``runs/<inputs>-<model>``, or the kind first.

    Args:
        options: Those of the command, with ``task``, ``data``, ``model`` and ``attention``.
        kind: First word of the name; "" for none.

    Example:
        >>> nothing = dict.fromkeys(("task", "data", "model", "attention"))
        >>> default_folder(nothing | {"task": "QNLI"})
        'runs/QNLI-all-MiniLM-L6-v2'
        >>> default_folder(nothing | {"attention": "stored.npz"}, "surface")
        'runs/surface-stored-maps'
    """
    if options["attention"]:
        parts = kind, input_name(options["attention"]), "maps"
    else:
        inputs = task_of(options["task"]).name if options["task"] else input_name(options["data"])
        parts = kind, inputs, Path(options["model"] or EMBEDDED).resolve().name
    return str(Path("runs") / "-".join(part for part in parts if part))


def sieve_tuple(sieve: str | Sieve | Sequence[str | Sieve]) -> tuple[str | Sieve, ...]:
    """Return the sieves of a caller, one or several, as a tuple."""
    return (sieve,) if isinstance(sieve, str) or not isinstance(sieve, Sequence) else tuple(sieve)
