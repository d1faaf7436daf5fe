"""Commands for reports, tables, attention maps, plans, lists of sieves and tasks, and prepared texts."""

from typing import Any

import click

from headroles.cli.options import DEPPARSE, UNLABELED, option, with_options
from headroles.errors import visible


@click.command("report")
@click.argument("folder")
@option("out", str, "File to write, or folder with --figures.  [default: report.html, figures in FOLDER]")
@click.option("--figures", "form", type=str, help="Write only the figures, as svg, pdf or png files.")
@option("width", float, "Width of figures in millimetres; 89 for one column.  [default: 183]")
def report_command(folder: str, out: str | None, form: str | None, width: float | None) -> None:
    """Write the report of a run FOLDER, or with --figures all its figures as files.

    Comparisons have figures, too. Figures need the extra "figures" and Chrome or Chromium.
    """
    from headroles.terminal.console import console

    if form is None and width is not None:
        raise click.UsageError("--width is for figures, so it needs --figures; leave it out")
    if form is None:
        from headroles.exporting import report

        console().print(f"report  {report(folder, out)}", markup=False)
        return
    from headroles.exporting import figures

    for path in figures(folder, form, out, *(() if width is None else (width,))):
        console().print(f"figure  {path}", markup=False)


@click.command("table")
@click.argument("folder")
@option(
    "name",
    str,
    "roles, heads or findings; also best, statistics, clusters, changes or differences where they exist.",
)
@click.option("--markdown", is_flag=True, help="Markdown table; the default.")
@click.option("--latex", is_flag=True, help="LaTeX table for booktabs, with caption and label.")
@click.option("--csv", is_flag=True, help="CSV with all digits.")
def table_command(folder: str, name: str | None, markdown: bool, latex: bool, csv: bool) -> None:
    """Print a table of a run or comparison FOLDER for a paper; without --name, its main table."""
    from headroles.exporting import table

    forms = [form for form, given in (("markdown", markdown), ("latex", latex), ("csv", csv)) if given]
    if len(forms) > 1:
        raise click.UsageError(f"a table has one form, but got --{' and --'.join(forms)}; give one of them")
    click.echo(visible(table(folder, name, *forms)), nl=False)


@click.command("extract")
@click.argument("file")
@option(
    "out",
    str,
    "File of the maps, .safetensors or .npz; a .json file of the same name lists them.",
    required=True,
)
@option("model", str, "A folder or a name on the hub.  [default: the embedded MiniLM encoder]")
@option("revision", str, "Branch, tag or commit of a model on the hub.")
@click.option(
    "--word-level",
    is_flag=True,
    help="Sum attention to the pieces of a word, and average attention from them.",
)
@option("precision", str, "Precision of the maps: float16 or float32.", default="float16", show_default=True)
@option("limit", int, "A random subset of this many inputs.")
@option("first", int, "Only this many inputs, the first ones.")
@option("seed", int, "Seed of that subset.", default=0, show_default=True)
@option("group", str, "Field with the document or paragraph, which becomes the unit.  [default: group]")
@option("kind", str, "Attention of an encoder-decoder: encoder or decoder.  [default: encoder]")
@option(
    "max-length", int, "Longest input in tokens; longer inputs are left out.", default=128, show_default=True
)
@option("batch-size", int, "Largest batch.", default=32, show_default=True)
@option("device", str, "auto, cpu, cuda or mps.", default="auto", show_default=True)
@option("dtype", str, "float32, bfloat16 or float16.", default="float32", show_default=True)
@click.option("--overwrite", is_flag=True, help="Replace existing files.")
def extract_command(file: str, **given: Any) -> None:
    """Write a model's attention maps over the texts of FILE, for other tools.

    FILE holds JSON objects (a list, or one per line), each with a "text" (or a list of two), "text_a" (and
    "text_b"), "words" or the model's own "tokens"; other fields are kept. The size of the maps is printed
    before they are written.
    """
    from headroles.maps.extract import extract
    from headroles.terminal.console import console, progress

    def announce(extracted: object) -> None:
        console().print(f"writes  {extracted}", markup=False)

    with progress() as advance:
        done = extract(file, announce=announce, progress=advance, **given)
    console().print(f"maps    {done.file}\nlist    {done.file.with_suffix('.json')}", markup=False)


@click.command("plan")
@option("effect", float, "(mean − θ) / sd of the head to find, θ = null + margin.", required=True)
@option("heads", int, "Heads of the model over all layers.", required=True)
@option("sieves", int, "Number of roles to test.", default=1, show_default=True)
@option("power", float, "Probability of finding the head.", default=0.8, show_default=True)
@option("alpha", float, "Level of the correction.", default=0.05, show_default=True)
@option("correction", str, "Correction as for label, such as holm.", default="fdr_bh", show_default=True)
@option(
    "family", str, "Tests corrected together: of a sieve, run or layer.", default="sieve", show_default=True
)
@option("share", float, "Expected share of heads that hold the role.  [default: this head alone]")
@option("layers", int, "Layers of the model; for --family layer.")
def plan_command(**given: Any) -> None:
    """Compute how many examples a study needs before it is run."""
    from headroles.planning import study
    from headroles.terminal.console import console
    from headroles.terminal.label import show_plan

    show_plan(console(), study(**given))


@click.command("sieves")
def sieves_command() -> None:
    """List the sieves: name, question, source and origin."""
    from headroles.catalogue import entries
    from headroles.terminal.console import console
    from headroles.terminal.label import show_sieves

    show_sieves(console(), entries())


@click.command("tasks")
def tasks_command() -> None:
    """List the tasks."""
    from headroles.tasks import TASKS
    from headroles.terminal.console import console
    from headroles.terminal.label import show_tasks

    show_tasks(console(), list(TASKS.values()))


@click.group("preprocess")
def preprocess_group() -> None:
    """Prepare texts as inputs."""


@preprocess_group.command("unlabeled")
@click.argument("file")
@with_options(UNLABELED)
def unlabeled_command(file: str, **given: Any) -> None:
    """Cut running text into pairs of consecutive spans, as Clark et al. (2019) did.

    FILE is plain text (.gz too): documents between blank lines, or WikiText with its titles.
    """
    from headroles.preprocessing.pairs import preprocess_unlabeled
    from headroles.terminal.console import console

    console().print(str(preprocess_unlabeled(file, **given)), markup=False)


@preprocess_group.command("depparse")
@click.argument("file")
@with_options(DEPPARSE)
def depparse_command(file: str, **given: Any) -> None:
    """Write words and dependency trees in the format that headroles probe reads.

    FILE is CoNLL-U or lines of "word head-relation", whose gold trees are kept; a table of texts; or
    plain text. Texts are parsed, and each line of the output marks such trees as automatic.
    """
    from headroles.preprocessing.trees import preprocess_depparse
    from headroles.terminal.console import console

    console().print(str(preprocess_depparse(file, **given)), markup=False)


COMMANDS = (
    report_command,
    table_command,
    extract_command,
    plan_command,
    sieves_command,
    tasks_command,
    preprocess_group,
)
"""All commands of this module, in the order of ``headroles --help``."""
