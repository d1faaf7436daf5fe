"""Compare two finished runs head by head: ``compare()``; no model is needed.

Settings, folders and what may be replaced are checked before scipy or plotly is imported.
"""

from collections.abc import Mapping
from numbers import Integral, Real
from pathlib import Path
from typing import Any

from headroles.addresses import check_place, is_address
from headroles.errors import BadInput, UnknownName, shorten
from headroles.options.label import options_of
from headroles.options.run import LARGEST
from headroles.records.comparison import Comparison
from headroles.stats.decision import FEWEST, MOST, check_decision
from headroles.storage.comparison import write_comparison
from headroles.storage.folder import COMPARISON, check_free
from headroles.storage.integrity.lock import lock_run_folder
from headroles.storage.integrity.manifest import check_run_folder
from headroles.storage.remote import local_copy
from headroles.storage.run import load

SETTINGS = ("alpha", "test", "correction", "family", "resamples", "resample_seed", "interval")
"""Settings of the decision for both runs; those not given are as in run A."""


def compare(
    dir_a: str | Path,
    dir_b: str | Path,
    *,
    bound: float = 0.05,
    swaps: int = 1000,
    out: str | Path | None = None,
    overwrite: bool = False,
    **decision: Any,
) -> Comparison:
    """Compare two runs head by head: differences, equivalences, and roles gained and lost.

    The runs score the same examples with the same sieves under two models, or one model on two inputs
    of equal layout. Differences are B − A. Both runs are judged again with one decision, so that their
    labels are comparable.

    Args:
        dir_a: Folder of run A, such as that of a pretrained model.
        dir_b: Folder of run B, such as that of a fine-tuned one.
        bound: Differences within ± bound are equivalent, on the scale of the scores (0.05 is half of
            the usual margin of a role).
        swaps: Random swaps of the two runs within units, the reference for labels gained and lost; at
            least 99, or 0 for none.
        out: Folder to write, or its address; None: nothing is written.
        overwrite: Whether to replace a comparison with other settings.
        **decision: The decision for both runs, by the names of ``headroles judge``: ``alpha``, ``test``,
            ``correction``, ``family``, ``resamples``, ``resample_seed``, ``interval``. Settings that are
            not given are as in run A.

    Raises:
        HeadrolesError: When the runs do not match or a setting does not exist; in one sentence, with
            nothing left half-written.
    """
    for where in (dir_a, dir_b):
        check_run_folder(where)
    if out is not None:
        check_place(out)
    if is_address(out or ""):
        with local_copy(out or "", back=True, new=True) as local_folder:
            return compare(
                dir_a, dir_b, bound=bound, swaps=swaps, out=local_folder, overwrite=overwrite, **decision
            )
    bound, swaps = check_bound(bound), check_swaps(swaps)
    settings = {"a": str(dir_a), "b": str(dir_b), "bound": bound, "swaps": swaps} | _given(decision)
    folder = None if out is None else Path(out)
    with lock_run_folder(folder):
        if folder is not None:
            check_free(folder, settings, overwrite, COMPARISON)
        runs = load(dir_a), load(dir_b)
        from headroles.comparing.differences import compare_runs
        from headroles.reports.compare_page import comparison_page

        compared = compare_runs(*runs, settings)
        if folder is not None:
            write_comparison(folder, compared, comparison_page(compared))
    return compared


def check_bound(bound: Any) -> float:
    """Return the bound as a plain number, and check that it is above 0."""
    number: Any = bound if isinstance(bound, Real) and not isinstance(bound, bool) else 0
    if not 0 < number <= LARGEST:
        raise BadInput(
            f"the bound is the largest difference that counts as none, a number above 0 on the scale of the "
            f"scores, but got {shorten(bound)}; the default is 0.05"
        )
    return float(number)


def check_swaps(swaps: Any) -> int:
    """Return the number of swaps as a plain one, and check that it is enough for a p."""
    is_whole = isinstance(swaps, Integral) and not isinstance(swaps, bool)
    if not is_whole or (swaps != 0 and not FEWEST <= swaps <= MOST):
        raise BadInput(
            f"swaps must be a whole number of at least {FEWEST} and at most {MOST:,}, or 0 for none, but "
            f"got {shorten(swaps)}"
        )
    return int(swaps)


def _given(decision: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that were given, as plain types."""
    for name in decision:
        if name not in SETTINGS:
            raise UnknownName("option", name, ("bound", "swaps", "out", "overwrite", *SETTINGS))
    settings = {name: value for name, value in decision.items() if value is not None}
    options = options_of(data="scores", **settings)
    check_decision(options.decision)
    return {name: getattr(options, name) for name in SETTINGS if name in settings}


def default_folder(dir_a: str, dir_b: str) -> str:
    """Return the folder that the command uses by default: ``compare/<name A>-<name B>``.

    Example:
        >>> default_folder("runs/QNLI-before", "runs/QNLI-after/")
        'compare/QNLI-before-QNLI-after'
    """
    for where in (dir_a, dir_b):
        check_place(where)
    return str(Path("compare") / "-".join(Path(run_folder).resolve().name for run_folder in (dir_a, dir_b)))
