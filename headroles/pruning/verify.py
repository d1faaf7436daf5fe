"""Check that a folder is as it was written: a run, a pruning, a comparison or an atlas."""

from math import isclose, isnan
from pathlib import Path

from headroles.addresses import is_address
from headroles.errors import BadInput
from headroles.records.causal.pruning import STEPS, Pruning
from headroles.shards.files import find_damaged_file
from headroles.shards.verify import ROUNDING, Verified, verify
from headroles.storage.atlas.folder import load_atlas
from headroles.storage.causal.pruning import load_pruning
from headroles.storage.comparison import load_comparison
from headroles.storage.folder import ATLAS, COMPARISON, RUN
from headroles.storage.integrity.manifest import AGAIN, check_run_folder, read_checked_manifest
from headroles.storage.integrity.reading import kind_of_folder
from headroles.storage.places import LocalPlace

NUMBERS = ("damage", "mean", "low", "high", "upper", "p", "missed")
"""Numbers of a step that follow from the damage of units."""


def verify_any(folder: str | Path, *, oracles: bool = False) -> Verified:
    """Check a run as ``shards.verify`` does, or another folder.

    Of all other folders every file must have the SHA-256 of the manifest. Of a pruning, the tests of all sets
    must follow from the stored damage of units.

    Args:
        folder: Of any kind.
        oracles: Whether other libraries recompute the findings of a run.

    Raises:
        BadInput: Naming the first file that is wrong.
    """
    check_run_folder(folder)
    place, kind = Path(folder), RUN if is_address(folder) else kind_of_folder(Path(folder))
    if kind == RUN:
        return verify(folder, oracles=oracles)
    if kind == COMPARISON:
        compared = load_comparison(place)
        counted = int(compared.manifest.get("counts", {}).get("examples", 0)), compared.differences.count.size
    elif kind == ATLAS:
        atlas = load_atlas(place)
        counted = sum(run.examples for run in atlas.runs), sum(each.held.size for each in atlas.findings)
    else:
        pruning = load_pruning(place)
        _check_steps(pruning, place)
        counted = len(pruning.units), len(pruning.steps)
    files = read_checked_manifest(place, kind)["files"]
    wrong = find_damaged_file(LocalPlace(place), files)
    if wrong is not None:
        raise BadInput(f"'{place / wrong}' is missing or was altered; {AGAIN[kind.name]}")
    return Verified(len(files), 0, *counted)


def _check_steps(pruning: Pruning, place: Path) -> None:
    """Refuse a table of steps that does not follow from the damage of units.

    Raises:
        BadInput: When a number or decision differs, or an interval lacks its mean.
    """
    from headroles.stats.causal.certificate import certify, possible_damage

    bounds = possible_damage(pruning.outcome)
    sizes = [step.size for step in pruning.steps]
    again = certify(sizes, pruning.change, pruning.clean, pruning.bound, pruning.alpha, bounds)
    for step, other in zip(pruning.steps, again, strict=True):
        pairs = [(getattr(step, name), getattr(other, name)) for name in NUMBERS]
        same = all(isclose(a, b, rel_tol=ROUNDING) or (isnan(a) and isnan(b)) for a, b in pairs)
        if not same or (step.count, step.decision) != (other.count, other.decision):
            raise BadInput(
                f"'{place / STEPS.file}' is not what the damage of the units gives for {step.size} heads; "
                "prune the run again"
            )
    fresh = () if pruning.check is None else (pruning.check.step,)
    for step in (*pruning.steps, *fresh):
        if step.mean < step.low or step.mean > step.high:
            raise BadInput(
                f"an interval holds its mean, but that of {step.size} heads in '{place}' does not; prune the "
                "run again"
            )
