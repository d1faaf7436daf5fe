"""compare(): two finished runs in, what changed between them out; no model is needed."""

import platform
import shlex
from collections.abc import Mapping
from dataclasses import asdict, replace
from importlib.metadata import version
from numbers import Integral, Real
from pathlib import Path
from typing import Any

from headroles.addresses import is_address
from headroles.comparing.match import matched
from headroles.errors import BadInput, UnknownName
from headroles.options.label import options_of
from headroles.records.comparison import Comparison
from headroles.records.example import Decision
from headroles.records.findings import Findings, Labelling
from headroles.reports.compare_page import comparison_page
from headroles.reports.words.words import plural
from headroles.stats.columns import Columns
from headroles.stats.comparing.paired import paired, pairs_of
from headroles.stats.comparing.summary import by_layer, remarks
from headroles.stats.comparing.swaps import swapped
from headroles.stats.engine import judge
from headroles.stats.relabel import Grid
from headroles.stats.resolution import FEWEST, MOST
from headroles.storage.comparison import COMPARISON, write_comparison
from headroles.storage.folder import check_free
from headroles.storage.remote import local_copy
from headroles.storage.run import load

KEPT = (
    "command", "headroles", "task", "source", "tokenizer", "model", "parser", "preset", "statistic",
    "counts", "versions",
)  # fmt: skip
"""What a comparison records of each run."""
PACKAGES = ("numpy", "scipy", "statsmodels", "pandas", "plotly")
SEEDED = {"resample_seed": "seed"}
SETTINGS = ("alpha", "test", "correction", "family", "resamples", "resample_seed", "interval")
"""How both runs are judged; what is not given is as in run A."""


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
    """Compare two runs head by head: what changed, what is equivalent, which roles came and went.

    The runs score the same examples with the same sieves under two models, or one model on two inputs
    of equal layout. Differences are B − A. Both runs are judged anew with one decision, so that their
    labels are on one footing.

    Args:
        dir_a: Folder of run A, such as that of a pretrained model.
        dir_b: Folder of run B, such as that of a fine-tuned one.
        bound: Differences within ± bound are equivalent, on the scale of the scores (0.05 is half of
            the usual margin of a role).
        swaps: Random swaps of the two runs within units, the reference of labels gained and lost; at
            least 99, or 0 for none.
        out: Folder to write, or its address; None: nothing is written.
        overwrite: Whether to replace a comparison with other settings.
        **decision: The decision of both, by the names of ``headroles judge``: ``alpha``, ``test``,
            ``correction``, ``family``, ``resamples``, ``resample_seed``, ``interval``. What is not
            given is as in run A.

    Raises:
        HeadrolesError: In one sentence, when the runs do not match or a setting does not exist, with
            nothing left half-written.
    """
    if is_address(out or ""):
        with local_copy(out or "", back=True) as place:
            return compare(dir_a, dir_b, bound=bound, swaps=swaps, out=place, overwrite=overwrite, **decision)
    bound, swaps = bound_of(bound), swaps_of(swaps)
    given = _given(decision)
    settings = {"a": str(dir_a), "b": str(dir_b), "bound": bound, "swaps": swaps} | given
    folder = None if out is None else Path(out)
    if folder is not None:
        check_free(folder, settings, overwrite, COMPARISON)
    stored = [load(each) for each in (dir_a, dir_b)]
    first, second, how = matched(*stored)
    chosen = replace(first.decision, **{SEEDED.get(name, name): each for name, each in given.items()})
    compared = _compared(first, second, chosen, bound, swaps)
    notes = [*_sampled((first, second)), *_judged_anew((first, second), (compared.before, compared.after))]
    manifest = _manifest(settings, compared, first, second) | {"matched": how}
    said = (*compared.remarks, *notes)
    compared = replace(compared, manifest=manifest | {"remarks": list(said)}, remarks=said)
    if folder is not None:
        write_comparison(folder, compared, comparison_page(compared))
    return compared


def bound_of(bound: Any) -> float:
    """The bound as a plain number; refused unless above 0."""
    if isinstance(bound, bool) or not isinstance(bound, Real) or not 0 < float(bound) < float("inf"):
        raise BadInput(
            f"the bound is the largest difference that counts as none, a number above 0 on the scale of the "
            f"scores, but {bound!r} came; the default is 0.05"
        )
    return float(bound)


def swaps_of(swaps: Any) -> int:
    """The number of swaps as a plain one; refused when too few for a p."""
    whole = isinstance(swaps, Integral) and not isinstance(swaps, bool)
    if not whole or (swaps != 0 and not FEWEST <= swaps <= MOST):
        raise BadInput(
            f"swaps must be a whole number of at least {FEWEST} and at most {MOST:,}, or 0 for none, but "
            f"{swaps!r} came"
        )
    return int(swaps)


def _given(decision: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that were given, as plain types."""
    for name in decision:
        if name not in SETTINGS:
            raise UnknownName("option", name, ("bound", "swaps", "out", "overwrite", *SETTINGS))
    asked = {name: each for name, each in decision.items() if each is not None}
    options = options_of(data="scores", **asked)
    return {name: getattr(options, name) for name in SETTINGS if name in asked}


def _compared(
    first: Labelling, second: Labelling, decision: Decision, bound: float, swaps: int
) -> Comparison:
    """Everything statistical about two runs that match."""
    both = (first.scores, second.scores)
    rules = (first.findings.rules, second.findings.rules)
    before, after = (judge(scores, own, decision) for scores, own in zip(both, rules, strict=True))
    differences = paired(*both, rules, decision, bound)
    columns = [Columns(scores, own) for scores, own in zip(both, rules, strict=True)]
    grid = Grid(first.scores.layers, first.scores.heads)
    moved = [pair.column for pair in pairs_of(*both, rules)]
    return Comparison(
        differences,
        before,
        after,
        decision,
        bound,
        layers=tuple(by_layer(differences, before, after)),
        swaps=tuple(swapped(columns[0], columns[1], grid, decision, swaps)),
        remarks=tuple(remarks(differences, moved, decision, bound, swaps)),
    )


def _sampled(stored: tuple[Labelling, Labelling]) -> list[str]:
    """Which runs kept sums, which say nothing of differences: only their subsamples are compared."""
    return [
        f"{name} kept sums of {run.moments.examples:,} inputs, which say nothing of differences input by "
        f"input: it is compared, and judged anew, on the random {len(run.scores.examples):,} of them whose "
        f"scores it kept."
        for name, run in zip("AB", stored, strict=True)
        if run.moments is not None
    ]


def _judged_anew(stored: tuple[Labelling, Labelling], anew: tuple[Findings, Findings]) -> list[str]:
    """How many labels the joint decision changed, run by run."""
    said = []
    for name, run, found in zip("AB", stored, anew, strict=True):
        roles = [rule.role for rule in found.rules]
        moved = int(((run.findings.decision == 0) != (found.decision == 0))[roles].sum())
        on = "on the units of both joined" if run.moments is None else "on its subsample alone"
        if moved:
            said.append(
                f"judged anew, with one decision for both runs and {on}, {name} differs from its own folder "
                f"in {plural(moved, 'label')}."
            )
    return said


def _manifest(
    settings: Mapping[str, Any], compared: Comparison, first: Labelling, second: Labelling
) -> dict[str, Any]:
    """Everything needed to reproduce the comparison, in JSON types; no clock."""
    runs = {
        name: {"folder": settings[name]} | {key: run.manifest[key] for key in KEPT if key in run.manifest}
        for name, run in (("a", first), ("b", second))
    }
    scores = first.scores
    return {
        "headroles": version("headroles"),
        "kind": "comparison",
        "command": _command(settings),
        **runs,
        "settings": dict(settings),
        "decision": asdict(compared.decision),
        "counts": {"examples": len(scores.examples), "units": len(set(scores.units))},
        "rules": [
            {"sieve": rule.sieve, "margin": rule.margin, "contrast": rule.contrast, "role": rule.role}
            for rule in compared.differences.rules
        ],
        "versions": {"python": platform.python_version()} | {name: version(name) for name in PACKAGES},
    }


def _command(settings: Mapping[str, Any]) -> str:
    """The command line that gives this comparison."""
    usual = {"bound": 0.05, "swaps": 1000}
    words = ["headroles", "compare", settings["a"], settings["b"]]
    for name, value in settings.items():
        if name not in ("a", "b") and value != usual.get(name):
            words += [f"--{name.replace('_', '-')}", str(value)]
    return shlex.join(words)


def default_folder(dir_a: str, dir_b: str) -> str:
    """Where the command line writes a comparison: ``compare/<name A>-<name B>``.

    Example:
        >>> default_folder("runs/QNLI-before", "runs/QNLI-after/")
        'compare/QNLI-before-QNLI-after'
    """
    return str(Path("compare") / "-".join(Path(each).resolve().name for each in (dir_a, dir_b)))
