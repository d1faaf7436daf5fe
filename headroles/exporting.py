"""Write finished runs and comparisons: run folders, reports, figures and tables; no model is needed.

Plotly and scipy are imported when the run is known to be there.
"""

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from os.path import isdir, isfile, join, split
from pathlib import Path, PurePath, PurePosixPath

from headroles import reports
from headroles.addresses import check_place, is_address
from headroles.errors import BadInput, describe_object
from headroles.options.finished import TableOptions
from headroles.options.keywords import keywords_of
from headroles.records.atlas.atlas import Atlas
from headroles.records.comparison import Comparison
from headroles.records.findings import Labelling
from headroles.reports.forms import WIDTH, check_form, check_width
from headroles.storage import folder as folders
from headroles.storage.atlas.folder import load_atlas
from headroles.storage.comparison import load_comparison
from headroles.storage.integrity import origin
from headroles.storage.integrity.lock import lock_present_folder, lock_run_folder
from headroles.storage.integrity.reading import kind_of_folder
from headroles.storage.moments import moments_bytes
from headroles.storage.places import place_of
from headroles.storage.remote import local_copy
from headroles.storage.run import load, write_examples, write_part, write_report, write_results

Where = str | Path
"""A path of this machine, or an address."""


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
        folders.check_free(target, dict(labelling.manifest.get("settings", {})), overwrite)
        with folders.stage_folder(target) as staging:
            write_part(staging, 0, labelling.scores)
            write_examples(staging, labelling.scores)
            if labelling.moments is not None:
                (staging / folders.MOMENTS).write_bytes(moments_bytes(labelling.moments))
            write_results(staging, labelling, reports.page_of(labelling))


def report(folder: Where, out: Where | None = None, *, overwrite: bool = False) -> Where:
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
    target, own = _target(folder, out, folders.REPORT)
    if not own:
        _check_file("report", folder, target)
        parent, name = split(target)
        marks = {name: origin.PAGE_MARK}
        return _export(parent, marks, lambda: {name: reports.page_of(load(folder))}, overwrite)[0]
    with local_copy(folder, back=True) as run, lock_present_folder(run):
        write_report(run, reports.page_of(load(run)))
    return target


def figures(
    folder: Where, form: str = "svg", out: Where | None = None, width: int | float = WIDTH, *,
    overwrite: bool = False,
) -> tuple[Where, ...]:  # fmt: skip
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
    target, own = _target(folder, out, folders.FIGURES)
    check_form(form)
    wide = check_width(width)
    if not is_address(target) and isfile(target):
        raise BadInput(f"figures go into a folder, but '{target}' is a file; name another --out")
    if not own and _real(target).is_relative_to(_real(folder)):
        raise BadInput(
            f"figures go into a folder of their own, but '{target}' is part of the run; drop --out "
            f"for '{join(folder, folders.FIGURES)}', or name a folder elsewhere"
        )
    with lock_present_folder(folder) if own and not is_address(folder) else nullcontext():
        plots = reports.figures_of(load_result(folder), wide)
        return _export(
            target, {f"{name}.{form}": origin.FIGURE_MARKS[form] for name in plots},
            lambda: {f"{name}.{form}": data for name, data in reports.files_of(plots, form).items()},
            own or overwrite, f"the figures in '{target}'",
        )  # fmt: skip


@keywords_of(TableOptions, "folder", "name", "format")
def table(options: TableOptions) -> str:
    """Return a table of a run, a comparison or an atlas as text for a paper, and write it to a file if asked.

    Markdown and LaTeX have the numbers as the report writes them, and a caption with test, correction, alpha
    and units. CSV has all digits.

    Args:
        {options}

    Returns:
        The text, ending with a line feed.

    Raises:
        HeadrolesError: When the folder holds neither, the run has no table of that name, or the file cannot
            be written.
    """
    _check_text("table", options.folder, options.out)
    result = load_result(options.folder)
    return _give_text(
        reports.table_text(result, options.name, options.format), options.out, options.overwrite
    )


def methods(
    run: Labelling | Comparison | Atlas | Where, form: str = "markdown", out: Where | None = None, *,
    overwrite: bool = False,
) -> str:  # fmt: skip
    r"""Return the methods of a run or a comparison as a paragraph for a paper, every number filled in.

    The paragraph names model, inputs, units, roles with chance values and margins, test, correction, what was
    left out, and versions. It says only what the run records.

    Args:
        run: A run of any kind, a comparison, the folder of one, or its address.
        form: "markdown" for the paragraph and its references, "latex" for LaTeX with ``\citep`` and the
            entries of BibTeX as comments, or "bibtex" for these entries alone.
        out: A file to write, too; None for none.
        overwrite: Whether a file there that headroles did not write is replaced.

    Returns:
        The text, ending with a line feed.

    Raises:
        HeadrolesError: When the folder holds neither, there is no such form, or the file cannot be written.
    """
    if isinstance(run, Labelling | Comparison | Atlas):
        result = run
    elif isinstance(run, str | Path):
        check_place(run)
        _check_text("methods text", run, out)
        result = load_result(run)
    else:
        given = describe_object(run)
        raise BadInput(f"methods() describes a run or a comparison, but got {given}; give one, or its folder")
    return _give_text(str(reports.methods_document(result, form)), out, overwrite)


def _check_text(what: str, folder: Where, out: Where | None) -> None:
    """Refuse to write a text to an address, to a folder, or over a file of its run."""
    if out is not None:
        if is_address(out) or isdir(out):
            raise BadInput(
                f"a {what} is written to a file of this machine, but --out is '{out}'; name a file"
            )
        _check_file(what, folder, Path(out))


def _give_text(text: str, out: Where | None, overwrite: bool) -> str:
    """Return a text, after it is written to a file, if there is one."""
    if out is not None:
        parent, name = split(out)
        _export(parent, {name: origin.mark_of(text)}, lambda: {name: text}, overwrite)
    return text


def load_result(folder: Where) -> Labelling | Comparison | Atlas:
    """Return the run, the comparison or the atlas of a folder.

    Args:
        folder: Folder of a run of any kind, of a comparison or of an atlas, or the address of one.

    Raises:
        BadInput: When the folder holds none of them, or is damaged.
    """
    with local_copy(folder) as run_folder:
        kind = kind_of_folder(run_folder)
        if kind == folders.ATLAS:
            return load_atlas(run_folder)
        return load_comparison(run_folder) if kind == folders.COMPARISON else load(run_folder)


def _export(
    where: Where, marks: Mapping[str, str | bytes], make: Callable[[], Mapping[str, str | bytes]],
    overwrite: bool, what: str = "",
) -> tuple[Where, ...]:  # fmt: skip
    """Write files into a folder or to an address, and return their places.

    ``marks`` has the bytes by which headroles knows each file, by name. ``make`` returns the contents; it is
    called once it is known that all may be written. ``what`` names them in errors; "" for a file by its path.
    """
    if is_address(where):
        place = place_of(where)
        for name, mark in marks.items():
            origin.check_replaceable_at(place, name, mark, overwrite)
        for name, data in make().items():
            place.write(name, data.encode() if isinstance(data, str) else data)
        return tuple(f"{place.url}/{name}" for name in marks)
    folder = Path(where)
    for name, mark in marks.items():
        origin.check_replaceable(folder / name, mark, overwrite)
    contents = {folder / name: data for name, data in make().items()}
    with folders.write_errors(what or f"'{folder / min(marks)}'"), folders.make_folder(folder):
        folders.write_files(contents)
    return tuple(contents)


def _target(folder: Where, out: Where | None, part: str) -> tuple[Where, bool]:
    """Return where to write a part of a run, and whether that is the place of the part in the run itself."""
    for where in (folder, *(() if out is None else (out,))):
        check_place(where)
    own = join(folder, part)
    target = own if out is None else out
    shown = str(target).rstrip("/") if is_address(target) else Path(target)
    return shown, _real(shown) == _real(own)


def _check_file(what: str, folder: Where, target: Where) -> None:
    """Refuse to write a report or a table over a file of its run."""
    real = _real(target)
    if real.parent == _real(folder) and any(real.name in kind.holds for kind in folders.KINDS):
        raise BadInput(
            f"a {what} must not replace a file of its run, but --out is '{target}'; name another file"
        )


def _real(where: Where) -> PurePath:
    """Return a place in a form that can be compared with others."""
    return PurePosixPath(str(where)) if is_address(where) else Path(where).resolve()
