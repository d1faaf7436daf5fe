"""Output folders: names of their files, checks before they are replaced, and writing by rename.

Single files are written by rename. A whole folder is staged next to its destination, and replaces it
completely or not at all.
"""

import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from headroles.addresses import is_address
from headroles.errors import BadInput

MANIFEST, FINDINGS, LABELS, REPORT = "manifest.json", "findings.csv", "labels.csv", "report.html"
SCORES, EXAMPLES = "scores", "examples.parquet"
MOMENTS = "moments.npz"
"""Sums over random groups of examples, of runs that have too many examples to keep all scores."""
PLAN, SHARDS = "plan.json", "shards"
"""Plan of a run, written before its first shard, and the folder of shard files other than scores."""
EARLIER_RUN = ".before"
"""Subfolder that keeps an earlier run until the first shard of the run that replaces it is done."""
PRECISION, SENSITIVITY = "precision.csv", "sensitivity.csv"
TOGETHER, SETS, DEPTH = "together.csv", "sets.csv", "depth.csv"
TABLES = (FINDINGS, LABELS, PRECISION, SENSITIVITY, TOGETHER, SETS, DEPTH)
BEST, BASELINES, CONDITIONS = "best.csv", "baselines.csv", "conditions.csv"
TRAINED, CONTESTS, WEIGHTS, TALLIES = "trained.csv", "contests.csv", "weights.csv", "tallies.parquet"
PROBE_FILES = (BEST, BASELINES, CONDITIONS, TRAINED, CONTESTS, WEIGHTS, TALLIES)
"""Files that only runs of probes have; each is there when it is not empty."""
LAYERS, NOOP = "layers.csv", "noop.csv"
SURFACE_FILES = (LAYERS, NOOP)
"""Files that only runs of surface statistics have."""
DIVERGENCE, CLUSTERS, CHOICES = "divergence.npz", "clusters.csv", "choices.csv"
CLAIMS, NEIGHBOURS = "claims.csv", "neighbours.csv"
CLUSTER_FILES = (DIVERGENCE, CLUSTERS, CHOICES, CLAIMS, NEIGHBOURS)
"""Files that only runs that cluster heads have."""
TYPICAL, SHOWN, MAPS = "typical.csv", "shown.parquet", "maps.parquet"
KEPT_MAP_FILES = (TYPICAL, SHOWN, MAPS)
"""Files of runs of sieves that keep attention maps; ``shown.parquet`` has the text of inputs."""
FIGURES, FIGURE_ENDINGS = "figures", frozenset({".svg", ".pdf", ".png"})
"""The folder of figure files, and the endings of their names."""


@dataclass(frozen=True, slots=True)
class Kind:
    """Kind of output folder, and the names it may contain, so that no other folder is ever replaced.

    Attributes:
        name: "run" or "comparison", as the manifest's ``kind`` (missing for a run).
        holds: Names of all files and folders it may contain.
    """

    name: str
    holds: frozenset[str]


PARTS = (*TABLES, *PROBE_FILES, *SURFACE_FILES, *CLUSTER_FILES, *KEPT_MAP_FILES)
RUN = Kind(
    "run",
    frozenset({MANIFEST, REPORT, SCORES, EXAMPLES, MOMENTS, FIGURES, PLAN, SHARDS, EARLIER_RUN, *PARTS}),
)


def output_folder(out: str | None, settings: dict[str, Any], overwrite: bool) -> Path | None:
    """Check the run folder that options name and return it; None where nothing is to be written.

    Raises:
        BadInput: As ``check_free``.
    """
    if out is None:
        return None
    if is_address(out):
        raise BadInput(
            f"only runs of label without --attention are written to addresses, but --out is '{out}'; name a "
            f"folder, and copy it there"
        )
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
        names = {path.name for path in folder.iterdir()} if folder.exists() else set()
        fixed = folder.exists() and (folder.is_mount() or Path.cwd().is_relative_to(folder.resolve()))
    if fixed:
        raise BadInput(
            f"a {kind.name} folder is replaced as a whole, but '{folder}' is the current folder, holds it, "
            f"or is a mount point; name a new folder"
        )
    if not names:
        return
    names |= {str(Path(FIGURES) / name) for name in _foreign_figures(folder)}
    before = read_manifest(folder, MANIFEST if MANIFEST in names else PLAN)
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
            f"a {kind.name} folder is replaced as a whole, but '{folder}' also holds {others[0]!r}; "
            f"move it away, or name another folder with --out"
        )
    earlier = before.get("settings")
    known = earlier if isinstance(earlier, dict) else {}
    changed = sorted(name for name in {*known, *settings} if known.get(name) != settings.get(name))
    if changed and not overwrite:
        raise BadInput(
            f"'{folder}' holds a {kind.name} with other settings ({', '.join(changed)}); "
            f"give --overwrite to replace it, or another --out"
        )


def _foreign_figures(folder: Path) -> list[str]:
    """Return names in the figures folder that are no figures."""
    figures = folder / FIGURES
    return [path.name for path in figures.iterdir() if not _is_figure(path)] if figures.is_dir() else []


def _is_figure(path: Path) -> bool:
    return path.suffix in FIGURE_ENDINGS and path.is_file()


def clear_figures(folder: Path) -> None:
    """Remove figures, which belong to an earlier outcome; other files among them stay."""
    figures = folder / FIGURES
    if figures.is_dir() and not figures.is_symlink():
        for path in figures.iterdir():
            if _is_figure(path):
                path.unlink()
        with suppress(OSError):  # contains other files
            figures.rmdir()


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
    partial = {path: path.with_name(f".{path.name}.{os.getpid()}.partial") for path in contents}
    try:
        for path, content in contents.items():
            if isinstance(content, str):
                partial[path].write_text(content, encoding="utf-8", newline="")
            else:
                partial[path].write_bytes(content)
        for path, written in partial.items():
            written.replace(path)
    finally:
        for written in partial.values():
            written.unlink(missing_ok=True)


def read_manifest(folder: Path, name: str = MANIFEST) -> dict[str, Any]:
    """Read a folder's manifest, or another JSON file; empty when it is missing or no JSON object."""
    try:
        content = json.loads((folder / name).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


@contextmanager
def stage_if_named(folder: Path | None) -> Iterator[Path | None]:
    """Stage a folder as ``stage_folder`` does; None where nothing is to be written."""
    if folder is None:
        yield None
        return
    with stage_folder(folder) as staging:
        yield staging


@contextmanager
def stage_folder(folder: Path) -> Iterator[Path]:
    """Yield a temporary folder next to the wanted one; it replaces that on success and is removed otherwise.

    Raises:
        BadInput: When it cannot be written.
    """
    target = folder.resolve()
    temporary, new_parents = None, []
    try:
        with write_errors(f"the folder '{folder}'"):
            new_parents = [parent for parent in target.parents if not parent.exists()]
            target.parent.mkdir(parents=True, exist_ok=True)
            temporary = Path(mkdtemp(prefix=".headroles-", suffix=".partial", dir=target.parent))
            (temporary / "new").mkdir()
        yield temporary / "new"
        with write_errors(f"the folder '{folder}'"):
            _swap(temporary / "new", target, temporary / "before")
    finally:
        if temporary is not None:
            shutil.rmtree(temporary, ignore_errors=True)
        for parent in new_parents:
            with suppress(OSError):  # not empty any more
                parent.rmdir()


def _swap(new: Path, target: Path, old: Path) -> None:
    """Move a folder to its target and the folder there away; move that back when it fails."""
    try:
        if target.exists():
            target.rename(old)
        new.rename(target)
    finally:
        if old.exists() and not target.exists():
            old.rename(target)
