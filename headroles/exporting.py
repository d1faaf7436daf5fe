"""Write finished runs and comparisons: run folders, reports, figures and tables; no model is needed."""

from collections.abc import Mapping
from contextlib import nullcontext
from numbers import Real
from os.path import isfile
from pathlib import Path
from typing import Any

from headroles.addresses import check_place, is_address
from headroles.errors import BadInput, describe_object
from headroles.records.comparison import Comparison
from headroles.records.findings import Labelling
from headroles.reports.page import page_of
from headroles.reports.print.dress import NARROWEST, WIDEST
from headroles.reports.print.figures import WIDTH, figures_of
from headroles.reports.print.files import check_form, files_of
from headroles.reports.print.tables import table_text
from headroles.storage.comparison import is_comparison, load_comparison
from headroles.storage.folder import (
    FIGURES,
    MOMENTS,
    REPORT,
    RUN,
    check_free,
    make_folder,
    stage_folder,
    write_errors,
    write_files,
    write_text,
)
from headroles.storage.integrity.lock import lock_present_folder, lock_run_folder
from headroles.storage.moments import moments_bytes
from headroles.storage.places import Place, place_of
from headroles.storage.remote import accept_address, local_copy
from headroles.storage.run import load, write_examples, write_part, write_report, write_results


def save(labelling: Labelling, folder: str | Path, *, overwrite: bool = False) -> None:
    """Write a labelling as a run folder.

    Raises:
        BadInput: When the folder holds something else, or cannot be written.
    """
    if not isinstance(labelling, Labelling):
        raise BadInput(f"save() writes a labelling, but got {describe_object(labelling)}; give the run first")
    check_place(folder)
    target = Path(folder)
    with lock_run_folder(target):
        check_free(target, dict(labelling.manifest.get("settings", {})), overwrite)
        with stage_folder(target) as staging:
            write_part(staging, 0, labelling.scores)
            write_examples(staging, labelling.scores)
            if labelling.moments is not None:
                (staging / MOMENTS).write_bytes(moments_bytes(labelling.moments))
            write_results(staging, labelling, page_of(labelling))


def report(folder: str | Path, out: str | Path | None = None) -> str | Path:
    """Write the report of a run folder, and return its place.

    Args:
        folder: Folder of a run, or its address.
        out: File to write; None for ``report.html`` in the folder, or at the address.

    Raises:
        BadInput: When the folder is no run, or the file cannot be written.
    """
    _check_places(folder, out)
    if is_address(folder) or is_address(out or ""):
        return _remote_report(folder, out)
    target = Path(folder) / REPORT if out is None else Path(out)
    if target.name in RUN.holds - {REPORT} and target.resolve().parent == Path(folder).resolve():
        raise BadInput(
            f"a report does not take the place of a part of its run, but --out is '{target}'; "
            f"name another file"
        )
    if target.resolve() != (Path(folder) / REPORT).resolve():
        write_text(target, page_of(load(folder)))
        return target
    with lock_present_folder(folder):
        write_report(Path(folder), page_of(load(folder)))
    return target


def figures(
    folder: str | Path, form: str = "svg", out: str | Path | None = None, width: int | float = WIDTH
) -> tuple[str | Path, ...]:
    """Write every figure of a run's or a comparison's report as a file.

    These are the figures of the page in its light colours on white, with legends for colours and symbols;
    the label matrix is among them. Axis titles have 9 points, other text 7 to 8.

    Args:
        folder: Folder of a run of any kind or of a comparison, or the address of one.
        form: "svg" (text stays text), "pdf" or "png" (300 dots an inch).
        out: Folder or address to write to; the folder is made if it does not exist, and files with the
            same names are replaced. None for ``figures`` in the folder, or at its address.
        width: Width of every figure in millimetres, 60 to 500; 183 for two columns of a journal, 89 for one.

    Returns:
        The files, named like the figures of the report, in its order.

    Raises:
        HeadrolesError: When the folder holds neither, the form is unknown, the width is out of range, or
            kaleido or a Chromium is missing; nothing is written then.
    """
    _check_places(folder, out)
    check_form(form)
    wide = _width(width)
    where = _figure_address(folder, out) or _figure_folder(Path(folder), out)
    own = isinstance(where, Path) and where.resolve() == (Path(folder) / FIGURES).resolve()
    with lock_present_folder(folder) if own else nullcontext():
        with local_copy(folder) as run_folder:
            result = _load_run_or_comparison(run_folder)
        drawings = files_of(figures_of(result, wide), form)
        return _write_figures({f"{name}.{form}": data for name, data in drawings.items()}, where)


def _write_figures(drawings: Mapping[str, str | bytes], where: Path | Place) -> tuple[str | Path, ...]:
    """Write the files of figures into a folder or to an address, and return where they are."""
    if not isinstance(where, Path):
        for name, data in drawings.items():
            where.write(name, data.encode() if isinstance(data, str) else data)
        return tuple(f"{where.url}/{name}" for name in drawings)
    contents = {where / name: data for name, data in drawings.items()}
    with write_errors(f"the figures in '{where}'"), make_folder(where):
        write_files(contents)
    return tuple(contents)


@accept_address()
def table(folder: str | Path, name: str | None = None, form: str = "markdown") -> str:
    """Return a table of a run or a comparison as text for a paper.

    Args:
        folder: Folder of a run of any kind, or of a comparison.
        name: "roles", "heads", "findings", "best" (runs of probes), "statistics" (of surface runs),
            "clusters" (of runs that cluster heads), "changes" or "differences" (of comparisons); None
            for the main table of the run.
        form: "markdown", "latex" (for booktabs) or "csv". The first two have the numbers as the report
            writes them and a caption with test, correction, alpha and units; "csv" has all digits.

    Returns:
        The text, ending with a line feed.

    Raises:
        HeadrolesError: When the folder holds neither, or the run has no table of that name.
    """
    return table_text(_load_run_or_comparison(Path(folder)), name, form)


def _check_places(folder: object, out: object | None) -> None:
    """Check that a folder, and where to write, are names that a system takes."""
    for where in (folder, *(() if out is None else (out,))):
        check_place(where)


def _figure_address(folder: str | Path, out: str | Path | None) -> Place | None:
    """Return the address to write figures to; None when they go into a local folder."""
    run = str(folder).rstrip("/")
    target = f"{run}/{FIGURES}" if out is None else str(out).rstrip("/")
    if not is_address(target):
        return None
    if target == run or (target.startswith(f"{run}/") and target != f"{run}/{FIGURES}"):
        raise BadInput(
            f"figures go into a folder of their own, but '{target}' is part of the run; leave --out away for "
            f"'{run}/{FIGURES}', or name a folder elsewhere"
        )
    return place_of(target)


def _load_run_or_comparison(folder: Path) -> Labelling | Comparison:
    """Load the run or comparison of a folder."""
    return load_comparison(folder) if is_comparison(folder) else load(folder)


def _width(width: Any) -> float:
    """Return the width as a plain number, and check its range."""
    real = isinstance(width, Real) and not isinstance(width, bool)
    if not real or not NARROWEST <= float(width) <= WIDEST:
        raise BadInput(
            f"the width of figures is a number of millimetres from {NARROWEST:g} to {WIDEST:g}, but "
            f"got {width!r}; 89 is a column of a journal, 183 are two"
        )
    return float(width)


def _figure_folder(folder: Path, out: str | Path | None) -> Path:
    """Return the folder to write into, and check that figures do not mix with other files of a run."""
    own_folder = (folder / FIGURES).resolve()
    target = folder / FIGURES if out is None else Path(out)
    if isfile(target):
        raise BadInput(f"figures go into a folder, but '{target}' is a file; name another --out")
    if target.resolve().is_relative_to(folder.resolve()) and target.resolve() != own_folder:
        raise BadInput(
            f"figures go into a folder of their own, but '{target}' is part of the run; leave --out away for "
            f"'{folder / FIGURES}', or name a folder elsewhere"
        )
    return target


def _remote_report(folder: str | Path, out: str | Path | None) -> str | Path:
    """Write the report of a run at an address, or to an address, and return its place."""
    run = str(folder).rstrip("/")
    target = f"{run}/{REPORT}" if out is None else str(out)
    target_folder, _, name = target.rpartition("/")
    if target_folder == run and name in RUN.holds - {REPORT}:
        raise BadInput(
            f"a report does not take the place of a part of its run, but --out is '{target}'; "
            f"name another file"
        )
    if target == f"{run}/{REPORT}":
        with local_copy(run, back=True) as copy:
            report(copy)
        return target
    page = page_of(load(folder))
    if not is_address(target):
        write_text(Path(target), page)
        return Path(target)
    place_of(target_folder).write(name, page.encode())
    return target
