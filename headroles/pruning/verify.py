"""Check that a folder is as it was written: a run of any kind, or a pruning."""

from math import isclose, isnan
from pathlib import Path

from headroles.addresses import is_address
from headroles.errors import BadInput
from headroles.records.causal.pruning import Pruning
from headroles.shards.verify import ROUNDING, Verified, verify
from headroles.storage.causal.pruning import is_pruning, load_pruning
from headroles.storage.folder import PRUNING, STEPS
from headroles.storage.integrity.manifest import check_run_folder, read_checked_manifest

NUMBERS = ("damage", "mean", "low", "high", "upper", "p")
"""Numbers of a step that follow from the damage of units."""


def verify_any(folder: str | Path, *, oracles: bool = False) -> Verified:
    """Check a run as ``shards.verify`` does, or a pruning.

    Of a pruning, every file must have the SHA-256 of the manifest, and the tests of all sets must follow from
    the stored damage of units.

    Args:
        folder: Folder of a finished run or of a pruning.
        oracles: Whether other libraries recompute the findings of a run.

    Raises:
        BadInput: Naming the first file that is wrong.
    """
    check_run_folder(folder)
    if is_address(folder) or not is_pruning(Path(folder)):
        return verify(folder, oracles=oracles)
    place = Path(folder)
    pruning = load_pruning(place)
    _check_steps(pruning, place)
    files = read_checked_manifest(place, PRUNING)["files"]
    return Verified(len(files), 0, len(pruning.units), len(pruning.steps))


def _check_steps(pruning: Pruning, place: Path) -> None:
    """Refuse a table of steps that does not follow from the damage of units.

    Raises:
        BadInput: When a number or decision differs.
    """
    from headroles.stats.causal.certificate import certify, largest_damage

    worst = largest_damage(pruning.outcome)
    sizes = [step.size for step in pruning.steps]
    again = certify(sizes, pruning.change, pruning.clean, pruning.bound, pruning.alpha, worst)
    for step, other in zip(pruning.steps, again, strict=True):
        pairs = [(getattr(step, name), getattr(other, name)) for name in NUMBERS]
        same = all(isclose(a, b, rel_tol=ROUNDING) or (isnan(a) and isnan(b)) for a, b in pairs)
        if not same or (step.count, step.decision) != (other.count, other.decision):
            raise BadInput(
                f"'{place / STEPS}' is not what the damage of the units gives for {step.size} heads; prune "
                "the run again"
            )
