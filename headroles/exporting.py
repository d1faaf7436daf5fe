"""Write finished runs and comparisons: run folders, reports, figures and tables; no model is needed.

Plotly and scipy are imported when the run is known to be there.
"""

from collections.abc import Iterable, Mapping
from contextlib import nullcontext
from os.path import isdir, isfile
from pathlib import Path

from headroles.addresses import check_place, is_address
from headroles.errors import BadInput, describe_object
from headroles.options.finished import TableOptions
from headroles.options.keywords import keywords_of
from headroles.records.atlas.atlas import Atlas
from headroles.records.comparison import Comparison
from headroles.records.findings import Labelling
from headroles.reports.print.settings import WIDTH, check_form, check_width
from headroles.storage.atlas.folder import load_atlas
from headroles.storage.comparison import load_comparison
from headroles.storage.folder import (
    ATLAS,
    COMPARISON,
    FIGURES,
    KINDS,
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
from headroles.storage.integrity.origin import (
    FIGURE_MARKS,
    PAGE_MARK,
    check_replaceable,
    check_replaceable_at,
    mark_of,
)
from headroles.storage.integrity.reading import kind_of_folder
from headroles.storage.moments import moments_bytes
from headroles.storage.places import Place, place_of
from headroles.storage.remote import local_copy
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
            write_results(staging, labelling, _page_of(labelling))


def _page_of(labelling: Labelling) -> str:
    """Return the report of a run."""
    from headroles.reports.page import page_of

    return page_of(labelling)


def report(folder: str | Path, out: str | Path | None = None, *, overwrite: bool = False) -> str | Path:
    """Write the report of a run folder, and return its place.

    Args:
        folder: Folder of a run, or its address.
        out: File to write; None for ``report.html`` in the folder, or at the address.
        overwrite: Whether a file at ``out`` that headroles did not write is replaced. The report in the
            folder of the run is always replaced.

    Raises:
        BadInput: When the folder is no run, the file cannot be written, or headroles did not write the one
            that is there.
    """
    _check_places(folder, out)
    if is_address(folder) or is_address(out or ""):
        return _remote_report(folder, out, overwrite)
    target = Path(folder) / REPORT if out is None else Path(out)
    if target.name in RUN.holds - {REPORT} and target.resolve().parent == Path(folder).resolve():
        raise BadInput(
            f"a report must not replace a file of its run, but --out is '{target}'; name another file"
        )
    if target.resolve() != (Path(folder) / REPORT).resolve():
        check_replaceable(target, PAGE_MARK, overwrite)
        write_text(target, _page_of(load(folder)))
        return target
    with lock_present_folder(folder):
        write_report(Path(folder), _page_of(load(folder)))
    return target


def figures(
    folder: str | Path,
    form: str = "svg",
    out: str | Path | None = None,
    width: int | float = WIDTH,
    *,
    overwrite: bool = False,
) -> tuple[str | Path, ...]:
    """Write every figure of the report of a run, a comparison or an atlas as a file.

    These are the figures of the page in its light colours on white, with legends for colours and symbols;
    the label matrix is among them. Axis titles have 9 points, other text 7 to 8.

    Args:
        folder: Folder of a run of any kind, of a comparison or of an atlas, or the address of one.
        form: "svg" (text stays text), "pdf" or "png" (300 dots an inch).
        out: Folder or address to write to. The folder is made if it does not exist. Figures of the same names
            that headroles drew are replaced. None for ``figures`` in the folder, or at its address.
        width: Width of every figure in millimetres, 60 to 500; 183 for two columns of a journal, 89 for one.
        overwrite: Whether files of the same names that headroles did not draw are replaced, too. In the
            folder ``figures`` of a run or comparison they always are.

    Returns:
        The files, named like the figures of the report, in its order.

    Raises:
        HeadrolesError: When the folder holds neither, the form is unknown, the width is out of range, kaleido
            or a Chromium is missing, or headroles did not draw a file that is in the way. Nothing is written
            then.
    """
    _check_places(folder, out)
    check_form(form)
    wide = check_width(width)
    where = _figure_address(folder, out) or _figure_folder(Path(folder), out)
    own = isinstance(where, Path) and where.resolve() == (Path(folder) / FIGURES).resolve()
    with lock_present_folder(folder) if own else nullcontext():
        result = load_result(folder)
        from headroles.reports.print.figures import figures_of
        from headroles.reports.print.files import files_of

        plots = figures_of(result, wide)
        if not (own or out is None):
            _check_figures([f"{name}.{form}" for name in plots], where, form, overwrite)
        drawings = files_of(plots, form)
        return _write_figures({f"{name}.{form}": data for name, data in drawings.items()}, where)


def _check_figures(names: Iterable[str], where: Path | Place, form: str, overwrite: bool) -> None:
    """Refuse to replace files with the names of figures that headroles did not write."""
    for name in names:
        if isinstance(where, Path):
            check_replaceable(where / name, FIGURE_MARKS[form], overwrite)
        else:
            check_replaceable_at(where, name, FIGURE_MARKS[form], overwrite)


def _write_figures(drawings: Mapping[str, bytes], where: Path | Place) -> tuple[str | Path, ...]:
    """Write the files of figures into a folder or to an address, and return where they are."""
    if not isinstance(where, Path):
        for name, data in drawings.items():
            where.write(name, data)
        return tuple(f"{where.url}/{name}" for name in drawings)
    contents: dict[Path, str | bytes] = {where / name: data for name, data in drawings.items()}
    with write_errors(f"the figures in '{where}'"), make_folder(where):
        write_files(contents)
    return tuple(contents)


@keywords_of(TableOptions, "folder", "name", "format")
def table(options: TableOptions) -> str:
    """Return a table of a run, a comparison or an atlas as text for a paper, or write it to a file.

    Markdown and LaTeX have the numbers as the report writes them, and a caption with test, correction, alpha
    and units. CSV has all digits. ``methods`` gives the text of ``headroles.methods`` instead.

    Args:
        {options}

    Returns:
        The text, ending with a line feed.

    Raises:
        HeadrolesError: When the folder holds neither, the run has no table of that name, or the file cannot
            be written.
    """
    folder, out = options.folder, options.out
    if out is not None:
        _check_table_file(folder, out)
    result = load_result(folder)
    if options.methods:
        text = methods(result, options.format)
    else:
        from headroles.reports.print.tables import table_text

        text = table_text(result, options.name, options.format)
    if out is not None:
        check_replaceable(Path(out), mark_of(text), options.overwrite)
        write_text(Path(out), text)
    return text


def methods(run: Labelling | Comparison | Atlas | str | Path, form: str = "markdown") -> str:
    r"""Return the methods of a run or a comparison as a paragraph for a paper, every number filled in.

    The paragraph names model, inputs, units, roles with chance values and margins, test, correction, what was
    left out, and versions. It says only what the run records.

    Args:
        run: A run of any kind, a comparison, the folder of one, or its address.
        form: "markdown" for the paragraph and its references, "latex" for LaTeX with ``\citep`` and the
            entries of BibTeX as comments, or "bibtex" for these entries alone.

    Returns:
        The text, ending with a line feed.

    Raises:
        HeadrolesError: When the folder holds neither, or there is no such form.
    """
    if isinstance(run, Labelling | Comparison | Atlas):
        result = run
    elif isinstance(run, str | Path):
        check_place(run)
        result = load_result(run)
    else:
        raise BadInput(
            f"methods() describes a run or a comparison, but got {describe_object(run)}; give one, or its "
            f"folder"
        )
    from headroles.reports.works import methods_document

    return methods_document(result, form)


def _check_table_file(folder: str | Path, out: str | Path) -> None:
    """Refuse an address, a folder, and a part of the run as the file of a table."""
    if is_address(out) or isdir(out):
        raise BadInput(f"a table is written to a file of this machine, but --out is '{out}'; name a file")
    target = Path(out)
    if (
        target.name in frozenset[str]().union(*(kind.holds for kind in KINDS))
        and target.resolve().parent == Path(folder).resolve()
    ):
        raise BadInput(
            f"a table must not replace a file of its run, but --out is '{target}'; name another file"
        )


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
            f"figures go into a folder of their own, but '{target}' is part of the run; drop --out "
            f"for '{run}/{FIGURES}', or name a folder elsewhere"
        )
    return place_of(target)


def load_result(folder: str | Path) -> Labelling | Comparison | Atlas:
    """Return the run, the comparison or the atlas of a folder.

    Args:
        folder: Folder of a run of any kind, of a comparison or of an atlas, or the address of one.

    Raises:
        BadInput: When the folder holds none of them, or is damaged.
    """
    with local_copy(folder) as run_folder:
        kind = kind_of_folder(run_folder)
        if kind == ATLAS:
            return load_atlas(run_folder)
        return load_comparison(run_folder) if kind == COMPARISON else load(run_folder)


def _figure_folder(folder: Path, out: str | Path | None) -> Path:
    """Return the folder to write into, and check that figures do not mix with other files of a run."""
    own_folder = (folder / FIGURES).resolve()
    target = folder / FIGURES if out is None else Path(out)
    if isfile(target):
        raise BadInput(f"figures go into a folder, but '{target}' is a file; name another --out")
    if target.resolve().is_relative_to(folder.resolve()) and target.resolve() != own_folder:
        raise BadInput(
            f"figures go into a folder of their own, but '{target}' is part of the run; drop --out "
            f"for '{folder / FIGURES}', or name a folder elsewhere"
        )
    return target


def _remote_report(folder: str | Path, out: str | Path | None, overwrite: bool) -> str | Path:
    """Write the report of a run at an address, or to an address, and return its place."""
    run = str(folder).rstrip("/")
    target = f"{run}/{REPORT}" if out is None else str(out)
    target_folder, _, name = target.rpartition("/")
    if target_folder == run and name in RUN.holds - {REPORT}:
        raise BadInput(
            f"a report must not replace a file of its run, but --out is '{target}'; name another file"
        )
    if target == f"{run}/{REPORT}":
        with local_copy(run, back=True) as copy:
            report(copy)
        return target
    if not is_address(target):
        check_replaceable(Path(target), PAGE_MARK, overwrite)
        write_text(Path(target), _page_of(load(folder)))
        return Path(target)
    place = place_of(target_folder)
    check_replaceable_at(place, name, PAGE_MARK, overwrite)
    place.write(name, _page_of(load(folder)).encode())
    return target
