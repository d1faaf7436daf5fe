"""Output folders: names of their files, checks before they are replaced, and writing by rename.

Single files are written by rename. A whole folder is staged within its destination, and replaces what is
there completely or not at all.
"""

import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, TextIO

from headroles.errors import BadInput
from headroles.storage.integrity.leftovers import clear_leftovers, is_partial, partial_path
from headroles.storage.integrity.switch import begin_switch, commit_switch
from headroles.storage.places import read_regular

MANIFEST, FINDINGS, LABELS, REPORT = "manifest.json", "findings.csv", "labels.csv", "report.html"
SCORES, EXAMPLES = "scores", "examples.parquet"
MOMENTS = "moments.npz"
"""Sums over random groups of examples, of runs that have too many examples to keep all scores."""
PLAN, SHARDS = "plan.json", "shards"
"""Plan of a run, written before its first shard, and the folder of shard files other than scores."""
EARLIER_RUN = ".before"
"""Subfolder that keeps an earlier run until the first shard of the run that replaces it is done."""
PRECISION, SENSITIVITY = "precision.csv", "sensitivity.csv"
TOGETHER, SETS, DEPTH, SEVERAL = "together.csv", "sets.csv", "depth.csv", "several.csv"
VALUES = "values.csv"
TABLES = (FINDINGS, LABELS, PRECISION, SENSITIVITY, TOGETHER, SETS, DEPTH, SEVERAL, VALUES)
"""Tables of any run; that of values is there where a role asks for norm-weighted attention."""
TALLIES = "tallies.parquet"
PROBE_FILES = (
    "best.csv", "baselines.csv", "conditions.csv", "trained.csv", "contests.csv", "weights.csv", TALLIES,
)  # fmt: skip
"""Files that only runs of probes have; each is there when it is not empty."""
LAYERS = "layers.csv"
SURFACE_FILES = (LAYERS, "noop.csv")
"""Files that only runs of surface statistics have."""
DIVERGENCE = "divergence.npz"
CLUSTER_FILES = (DIVERGENCE, "clusters.csv", "choices.csv", "claims.csv", "neighbours.csv")
"""Files that only runs that cluster heads have."""
DAMAGE, HELD, SITES, REMOVALS = "damage.csv", "held.npz", "sites.csv", "removals.csv"
PREDICTION, GROUPS, MARGINS, HEAD_SETS = "prediction.csv", "groups.csv", "margins.csv", "sets.npz"
ABLATION_FILES = (DAMAGE, HELD, SITES, REMOVALS, PREDICTION, GROUPS, MARGINS, HEAD_SETS)
"""Files that only runs that take heads out have; all but the first and ``margins.csv`` where not empty."""
PRODUCTS = "origins.npz"
ORIGIN_FILES = ("origins.csv", "dimensions.csv", "knockouts.csv", PRODUCTS)
"""Files that only runs have that ask what makes heads attend; ``knockouts.csv`` where not empty."""
SHOWN, MAPS, CELLS = "shown.parquet", "maps.parquet", "cells.parquet"
KEPT_MAP_FILES = ("typical.csv", SHOWN, MAPS, CELLS)
"""Files of runs of sieves that keep attention maps; ``shown.parquet`` has the text of inputs, and
``cells.parquet`` is there where sieves count cells."""
FIGURES, FIGURE_ENDINGS = "figures", frozenset({".svg", ".pdf", ".png"})
"""The folder of figure files, and the endings of their names."""


@dataclass(frozen=True, slots=True)
class Kind:
    """Kind of output folder, and the names it may contain, so that no other folder is ever replaced.

    Attributes:
        name: "run", "comparison", "atlas" or "pruning", as the manifest's ``kind`` (missing for a run).
        holds: Names of all files and folders it may contain.
    """

    name: str
    holds: frozenset[str]

    @property
    def words(self) -> str:
        """Return the name with its article.

        Example:
            >>> Kind("atlas", frozenset()).words
            'an atlas'
        """
        return f"{'an' if self.name[0] in 'aeiou' else 'a'} {self.name}"


PARTS = (
    *TABLES, *PROBE_FILES, *SURFACE_FILES, *CLUSTER_FILES, *ABLATION_FILES, *ORIGIN_FILES, *KEPT_MAP_FILES,
)  # fmt: skip
RUN = Kind(
    "run",
    frozenset({MANIFEST, REPORT, SCORES, EXAMPLES, MOMENTS, FIGURES, PLAN, SHARDS, EARLIER_RUN, *PARTS}),
)
DIFFERENCES, SWAPS = "differences.csv", "swaps.csv"
"""Files that only comparisons have, besides tables of their own named as those of runs."""
COMPARISON = Kind("comparison", frozenset({MANIFEST, DIFFERENCES, LABELS, LAYERS, SWAPS, REPORT, FIGURES}))
AGREEMENT, CONSENSUS, TRENDS = "agreement.csv", "consensus.csv", "trends.csv"
"""Files that only atlases have, besides tables of their own named as those of runs."""
ATLAS = Kind("atlas", frozenset({MANIFEST, FINDINGS, SEVERAL, AGREEMENT, CONSENSUS, TRENDS, REPORT, FIGURES}))
PRUNED, CERTIFICATE, PRUNE_UNITS = "pruned.json", "certificate.json", "units.npz"
PRUNED_MODEL = "model"
"""Folder of the checkpoint without the removed heads."""
PRUNING = Kind(
    "pruning",
    frozenset({MANIFEST, PRUNED, CERTIFICATE, "steps.csv", PRUNE_UNITS, PRUNED_MODEL, REPORT, FIGURES}),
)
KINDS = (RUN, COMPARISON, ATLAS, PRUNING)
"""All kinds of output folders."""


JUDGED = frozenset(
    (
        "alpha",
        "bayes",
        "correction",
        "family",
        "interval",
        "margin",
        "resample_seed",
        "resamples",
        "test",
    )
)
"""Settings by which a stored run can be judged again, those of ``headroles judge``."""


def output_folder(out: str | None, settings: dict[str, Any], overwrite: bool) -> Path | None:
    """Check the run folder that options name and return it; None where nothing is to be written.

    Raises:
        BadInput: As ``check_free``.
    """
    if out is None:
        return None
    check_free(Path(out), settings, overwrite)
    return Path(out)


def check_free(folder: Path, settings: dict[str, Any], overwrite: bool, kind: Kind = RUN) -> None:
    """Refuse a folder that cannot be replaced, before any work is done.

    Raises:
        BadInput: When the folder is not of this kind, contains other files, has other settings while
            ``overwrite`` is off, or is the current folder or a mount point.
    """
    with write_errors(f"the {kind.name} folder '{folder}'"):
        if folder.is_file():
            raise BadInput(f"--out must be a folder, but '{folder}' is a file; name another")
        paths = folder.iterdir() if folder.exists() else ()
        names = {path.name for path in paths if not is_partial(path.name)}
        fixed = folder.exists() and (folder.is_mount() or Path.cwd().is_relative_to(folder.resolve()))
    if fixed:
        raise BadInput(
            f"{kind.words} folder is replaced as a whole, but '{folder}' is the current folder, holds it, "
            f"or is a mount point; name a new folder"
        )
    if not names:
        return
    names |= {str(Path(FIGURES) / name) for name in _foreign_figures(folder)}
    before = read_manifest(folder, MANIFEST if MANIFEST in names else PLAN)
    if "settings" not in before and MANIFEST not in names and kind == RUN and has_receipt(folder):
        before = {"headroles": None, "settings": settings}  # its shards say what they are when it goes on
    check_holds(str(folder), names, before, settings, overwrite, kind)


def check_holds(
    folder: str,
    there: set[str],
    before: dict[str, Any],
    settings: dict[str, Any],
    overwrite: bool,
    kind: Kind,
) -> None:
    """Refuse a folder or address that may not be replaced, by its contents and its manifest or plan.

    Args:
        folder: Path or address, for the error.
        there: Names of its files and folders.
        before: Its manifest or plan.
        settings: Settings of the new run.
        overwrite: Whether a run with other settings may be replaced.
        kind: Kind of the new folder.

    Raises:
        BadInput: When it is not of this kind, contains other files, or has other settings.
    """
    if "headroles" not in before or before.get("kind", RUN.name) != kind.name:
        raise BadInput(
            f"'{folder}' holds files that are no {kind.name} of headroles; name an empty or new folder"
        )
    others = sorted(there - kind.holds)
    if others:
        raise BadInput(
            f"{kind.words} folder is replaced as a whole, but '{folder}' also holds {others[0]!r}; "
            f"move it away, or name another folder with --out"
        )
    earlier = before.get("settings")
    known = earlier if isinstance(earlier, dict) else {}
    changed = sorted(name for name in {*known, *settings} if known.get(name) != settings.get(name))
    if changed and not overwrite:
        again = _judge_hint(folder, {name: settings.get(name) for name in changed}) if kind == RUN else ""
        raise BadInput(
            f"'{folder}' holds {kind.words} with other settings ({', '.join(changed)}); "
            f"{again}give --overwrite to replace it, or another --out"
        )


def _judge_hint(folder: str, changed: Mapping[str, Any]) -> str:
    """Return the command that decides a run by other settings; "" where they are more than a decision."""
    if not JUDGED.issuperset(changed) or None in changed.values():
        return ""
    flags = [
        f"--{name.replace('_', '-')}" + ("" if value is True else f" {value}")
        for name, value in changed.items()
    ]
    return f"headroles judge {folder} {' '.join(flags)} decides it again without the model; or "


def has_receipt(folder: Path) -> bool:
    """Return whether a folder holds a whole receipt of a shard, which only runs of headroles write."""
    return any(is_sealed_receipt(path) for path in sorted((folder / SHARDS).glob("*.json")))


def is_sealed_receipt(path: Path) -> bool:
    """Return whether a file is a receipt of a shard with the SHA-256 of its own fields."""
    record = read_manifest(path.parent, path.name)
    seal = record.pop("sha256", None)
    return "identity" in record and seal == receipt_seal(record)


def receipt_seal(record: Mapping[str, Any]) -> str:
    """Return the SHA-256 of the fields of a receipt, in JSON types."""
    return sha256(json.dumps(record, sort_keys=True).encode()).hexdigest()


def _foreign_figures(folder: Path) -> list[str]:
    """Return names in the figures folder that are no figures."""
    figures = folder / FIGURES
    return [path.name for path in figures.iterdir() if not _is_figure(path)] if figures.is_dir() else []


def _is_figure(path: Path) -> bool:
    return path.suffix in FIGURE_ENDINGS and path.is_file()


def figure_names(folder: Path) -> list[str]:
    """Return names of figures, relative to the folder of their run; other files among them are left out."""
    figures = folder / FIGURES
    if not figures.is_dir() or figures.is_symlink():
        return []
    return [f"{FIGURES}/{path.name}" for path in figures.iterdir() if _is_figure(path)]


@contextmanager
def write_errors(what: str) -> Iterator[None]:
    """Turn an ``OSError`` of writing into a ``BadInput`` of one sentence."""
    try:
        yield
    except OSError as error:
        raise BadInput(
            f"{what} cannot be written ({error.strerror or error}); name another --out, or make room"
        ) from error


@contextmanager
def make_folder(folder: Path) -> Iterator[None]:
    """Make a folder with its parents; remove those that were made if they stay empty."""
    new = [path for path in (folder, *folder.parents) if not path.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        yield
    finally:
        for path in new:
            with suppress(OSError):  # not empty any more
                path.rmdir()


def write_text(path: Path, text: str) -> None:
    """Write one file by rename.

    Raises:
        BadInput: When it cannot be written.
    """
    with write_errors(f"'{path}'"), make_folder(path.parent):
        write_files({path: text})


def write_files(contents: Mapping[Path, str | bytes]) -> None:
    """Write files, text as UTF-8; they get their names by rename, once all of them are written."""
    partial = {path: partial_path(path) for path in contents}
    names = {path.name for path in contents}
    try:
        for folder in {path.parent for path in contents}:
            clear_leftovers(folder, names.__contains__)
        for path, content in contents.items():
            if isinstance(content, str):
                partial[path].write_text(content, encoding="utf-8", newline="")
            else:
                partial[path].write_bytes(content)
        for written in partial.values():
            with written.open("rb") as file:
                os.fsync(file.fileno())  # else a power loss could keep the name without the bytes
        for path, written in partial.items():
            written.replace(path)
    finally:
        for written in partial.values():
            with suppress(OSError):  # the error of writing is the one to tell
                written.unlink(missing_ok=True)


@contextmanager
def whole_file(path: Path) -> Iterator[TextIO]:
    """Yield a text file that gets its name by rename, once it is whole, and remove remains of killed writers.

    Raises:
        BadInput: When it cannot be written.
    """
    partial = partial_path(path)
    with write_errors(f"'{path}'"), make_folder(path.parent):
        try:
            clear_leftovers(path.parent, path.name.__eq__)
            with partial.open("w", encoding="utf-8", newline="") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            partial.replace(path)
        finally:
            partial.unlink(missing_ok=True)


def read_manifest(folder: Path, name: str = MANIFEST) -> dict[str, Any]:
    """Read a folder's manifest, or another JSON file; empty when it is missing or no JSON object."""
    try:
        content = json.loads(read_regular(folder / name))
    except (OSError, ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}


@contextmanager
def stage_folder(folder: Path) -> Iterator[Path]:
    """Yield a temporary folder within the wanted one; on success its files replace all that are there.

    Raises:
        BadInput: When it cannot be written.
    """
    target, what = folder.resolve(), f"the folder '{folder}'"
    with ExitStack() as stack:
        with write_errors(what):
            stack.enter_context(make_folder(target))
            staging = begin_switch(target)
        stack.callback(shutil.rmtree, staging, ignore_errors=True)
        yield staging
        with write_errors(what):
            commit_switch(target, staging, None, MANIFEST)
