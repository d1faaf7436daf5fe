"""Checks of what a pruning starts from, before anything heavy is imported."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from headroles.errors import BadInput
from headroles.options.causal.prune import PruneOptions
from headroles.records.causal.ablation import ENOUGH_FOR_LITTLE
from headroles.storage.folder import RUN
from headroles.storage.integrity.manifest import read_checked_manifest

OBJECTS = ("an object in memory", "object")
"""Origins of models, and kinds of inputs, that no command can open again."""


def read_run_manifest(folder: str) -> Mapping[str, Any]:
    """Return the manifest of the run of ablations in a folder.

    Raises:
        BadInput: When the folder holds no finished run of ablations, or one of objects in memory.
    """
    manifest = read_checked_manifest(Path(folder), RUN)
    if not (manifest.get("parts") or {}).get("ablated"):
        raise BadInput(
            "heads are removed in the order of their damage, which headroles ablate measures, but "
            f"'{folder}' is a run of another kind; make one with headroles ablate"
        )
    origins = {"model": manifest["model"].get("origin"), "inputs": (manifest.get("source") or {}).get("kind")}
    for what, origin in origins.items():
        if origin in OBJECTS:
            raise BadInput(
                f"pruning opens model and inputs of the run again, but the {what} of '{folder}' were given "
                "as an object in memory; save them as files, and make the run again"
            )
    units, settings = (manifest.get("counts") or {}).get("units"), manifest.get("settings") or {}
    if isinstance(units, int) and not settings.get("screen"):
        check_enough(folder, units - units // 2)
    return manifest


def check_enough(folder: str, testing: int, screened: bool = False) -> None:
    """Refuse a run with too few units that did not order its heads.

    Args:
        folder: The run.
        testing: Its number of such units.
        screened: Whether units also estimated which heads to take out.

    Raises:
        BadInput: When a certificate needs more.
    """
    if testing < ENOUGH_FOR_LITTLE:
        wanted = "more, or without --screen" if screened else f"at least {2 * ENOUGH_FOR_LITTLE - 1}"
        raise BadInput(
            f"a certificate needs {ENOUGH_FOR_LITTLE} units that did not order the heads, but one half of "
            f"'{folder}' has {testing}; ablate on {wanted}"
        )


def check_out(options: PruneOptions) -> Path | None:
    """Return the folder to write; None where nothing is written.

    Raises:
        BadInput: When it is the folder of the run, or lies in it.
    """
    if options.out is None:
        return None
    out, run = Path(options.out), Path(options.folder)
    if out.resolve().is_relative_to(run.resolve()):
        raise BadInput(
            f"a pruned model gets a folder of its own, but --out '{out}' is the folder of the run, or lies "
            "in it; name another folder"
        )
    return out
