"""Where results are written: what a folder holds, whether it may be replaced, and nothing half-written.

A folder that is made beside the wanted one, and takes its place whole or not at all.
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
"""What a run of shards is written down as before its first one, and what its shards leave beside scores."""
BEFORE = ".before"
"""Where an earlier run waits inside its folder until the first shard of the run that replaces it is done."""
PRECISION, SENSITIVITY = "precision.csv", "sensitivity.csv"
TOGETHER, SETS, DEPTH = "together.csv", "sets.csv", "depth.csv"
TABLES = (FINDINGS, LABELS, PRECISION, SENSITIVITY, TOGETHER, SETS, DEPTH)
BEST, BASELINES, CONDITIONS = "best.csv", "baselines.csv", "conditions.csv"
TRAINED, CONTESTS, WEIGHTS, TALLIES = "trained.csv", "contests.csv", "weights.csv", "tallies.parquet"
PROBED = (BEST, BASELINES, CONDITIONS, TRAINED, CONTESTS, WEIGHTS, TALLIES)
"""What only runs of probes hold; each is there when there is something to say."""
LAYERS, NOOP = "layers.csv", "noop.csv"
SURFACE = (LAYERS, NOOP)
"""What only runs of surface statistics hold."""
DIVERGENCE, CLUSTERS, CHOICES = "divergence.npz", "clusters.csv", "choices.csv"
CLAIMS, NEIGHBOURS = "claims.csv", "neighbours.csv"
CLUSTERED = (DIVERGENCE, CLUSTERS, CHOICES, CLAIMS, NEIGHBOURS)
"""What only runs that cluster heads hold."""
TYPICAL, SHOWN, MAPS = "typical.csv", "shown.parquet", "maps.parquet"
EXHIBITED = (TYPICAL, SHOWN, MAPS)
"""What runs of sieves hold that keep attention maps; ``shown.parquet`` has the text of inputs."""
FIGURES, DRAWN = "figures", frozenset({".svg", ".pdf", ".png"})
"""The folder of figures as files, and how their names end."""


@dataclass(frozen=True, slots=True)
class Kind:
    """What a folder may be, so that nothing else is ever replaced.

    Attributes:
        name: "run" or "comparison", as the manifest's ``kind`` says (a run's says nothing).
        holds: Names of all it may hold.
    """

    name: str
    holds: frozenset[str]


PARTS = (*TABLES, *PROBED, *SURFACE, *CLUSTERED, *EXHIBITED)
RUN = Kind(
    "run", frozenset({MANIFEST, REPORT, SCORES, EXAMPLES, MOMENTS, FIGURES, PLAN, SHARDS, BEFORE, *PARTS})
)


def asked_for(out: str | None, settings: dict[str, Any], overwrite: bool) -> Path | None:
    """The run folder that options ask for, when it may be written; None where nothing is to be written.

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
        BadInput: When the folder is not of this kind, holds more than it may, is one with other
            settings while ``overwrite`` is off, or is the current folder or a mount point.
    """
    with writing(f"the {kind.name} folder '{folder}'"):
        if folder.is_file():
            raise BadInput(f"--out must be a folder, but '{folder}' is a file; name another")
        there = {each.name for each in folder.iterdir()} if folder.exists() else set()
        fixed = folder.exists() and (folder.is_mount() or Path.cwd().is_relative_to(folder.resolve()))
    if fixed:
        raise BadInput(
            f"a {kind.name} folder is replaced as a whole, but '{folder}' is the current folder, holds it, "
            f"or is a mount point; name a new folder"
        )
    if not there:
        return
    there |= {str(Path(FIGURES) / name) for name in _beside_figures(folder)}
    before = manifest_in(folder, MANIFEST if MANIFEST in there else PLAN)
    check_holds(str(folder), there, before, settings, overwrite, kind)


def check_holds(
    folder: str,
    there: set[str],
    before: dict[str, Any],
    settings: dict[str, Any],
    overwrite: bool,
    kind: Kind,
) -> None:
    """Refuse what may not be replaced: what is at a path or address, and its manifest or plan.

    Raises:
        BadInput: When it is not of this kind, holds more than it may, or has other settings.
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
    settled = before.get("settings")
    known = settled if isinstance(settled, dict) else {}
    changed = sorted(name for name in {*known, *settings} if known.get(name) != settings.get(name))
    if changed and not overwrite:
        raise BadInput(
            f"'{folder}' holds a {kind.name} with other settings ({', '.join(changed)}); "
            f"give --overwrite to replace it, or another --out"
        )


def _beside_figures(folder: Path) -> list[str]:
    """Names of what lies among the figures of a folder and is none."""
    place = folder / FIGURES
    return [each.name for each in place.iterdir() if not _drawn(each)] if place.is_dir() else []


def _drawn(path: Path) -> bool:
    return path.suffix in DRAWN and path.is_file()


def clear_figures(folder: Path) -> None:
    """Remove figures, which are of an earlier outcome; whatever else lies among them stays."""
    place = folder / FIGURES
    if place.is_dir() and not place.is_symlink():
        for each in place.iterdir():
            if _drawn(each):
                each.unlink()
        with suppress(OSError):  # holds something else
            place.rmdir()


@contextmanager
def writing(what: str) -> Iterator[None]:
    """Say in one sentence what the system says when something cannot be written."""
    try:
        yield
    except OSError as error:
        raise BadInput(
            f"{what} cannot be written ({error.strerror or error}); name another --out, or make room"
        ) from error


@contextmanager
def made(folder: Path) -> Iterator[None]:
    """A folder to write into, made with its parents; those made leave again when nothing came into them."""
    new = [each for each in (folder, *folder.parents) if not each.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        yield
    finally:
        for each in new:
            with suppress(OSError):  # holds something by now
                each.rmdir()


def write_text(path: Path, text: str) -> None:
    """Write one file by rename.

    Raises:
        BadInput: When it cannot be written.
    """
    with writing(f"'{path}'"), made(path.parent):
        renamed({path: text})


def renamed(contents: Mapping[Path, str | bytes]) -> None:
    """Write files that take their places by rename, once all of them are written; text as UTF-8."""
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


def manifest_in(folder: Path, name: str = MANIFEST) -> dict[str, Any]:
    """What a folder's manifest, or another file of JSON, says; nothing when it is no JSON object."""
    try:
        found = json.loads((folder / name).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


@contextmanager
def staged_or_none(folder: Path | None) -> Iterator[Path | None]:
    """A folder in the making as ``staged`` gives it; None where nothing is to be written."""
    if folder is None:
        yield None
        return
    with staged(folder) as staging:
        yield staging


@contextmanager
def staged(folder: Path) -> Iterator[Path]:
    """A folder beside the wanted one, which takes its place when all went well and vanishes otherwise.

    Raises:
        BadInput: When it cannot be written.
    """
    place = folder.resolve()
    beside, made = None, []
    try:
        with writing(f"the folder '{folder}'"):
            made = [parent for parent in place.parents if not parent.exists()]
            place.parent.mkdir(parents=True, exist_ok=True)
            beside = Path(mkdtemp(prefix=".headroles-", suffix=".partial", dir=place.parent))
            (beside / "new").mkdir()
        yield beside / "new"
        with writing(f"the folder '{folder}'"):
            _swap(beside / "new", place, beside / "before")
    finally:
        if beside is not None:
            shutil.rmtree(beside, ignore_errors=True)
        for parent in made:
            with suppress(OSError):  # holds something by now
                parent.rmdir()


def _swap(new: Path, place: Path, old: Path) -> None:
    """Put a folder in its place, and what was there aside; back again when that fails."""
    try:
        if place.exists():
            place.rename(old)
        new.rename(place)
    finally:
        if old.exists() and not place.exists():
            old.rename(place)
