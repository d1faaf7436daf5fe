"""Commands on finished runs: compare, atlas, show, view, share, judge, verify."""

import json
from collections.abc import Callable
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from headroles.addresses import is_address
from headroles.cli.options import ASKED, PRINTS, ROLES, command
from headroles.cli.results import go_on, open_report, print_result
from headroles.errors import BadInput, visible
from headroles.options.listed import DisplayOptions

if TYPE_CHECKING:
    from headroles.options.finished import ShowOptions


@command(
    "compare",
    "finished:CompareCommandOptions",
    "Compare and combine",
    "headroles compare runs/QNLI-bert-base runs/QNLI-fine-tuned",
    "headroles compare runs/QNLI-bert-base runs/MRPC-bert-base --replicate --out replicated.csv",
    prints=(*PRINTS, *ASKED),
)
def compare_command(display: DisplayOptions, replicate: bool, **given: Any) -> None:
    """Compare two runs head by head.

    It shows differences, and roles gained and lost, in the columns that both runs have. The runs may have
    other models or other inputs. Inputs that both have are paired. Differences are B − A. No model is
    needed.

    With --replicate, the roles of run A are tested on the inputs of run B. Both runs use one model and the
    same sieves or probes. B is judged by the test, margins and alpha of A, and corrected over the roles of
    A only.
    """
    if replicate:
        _replicate(display, **given)
        return
    from headroles.comparing.compare import compare, default_folder
    from headroles.progress import COMPARE
    from headroles.runs.feasibility import outlook_of_runs

    go_on(outlook_of_runs(given["dir_a"], given["dir_b"]), display)
    given["out"] = given["out"] or default_folder(given["dir_a"], given["dir_b"])
    _make(partial(compare, **given), COMPARE, given["out"], display)


def _replicate(display: DisplayOptions, **given: Any) -> None:
    """Print how many roles of run A hold on the inputs of run B, and write them where that is asked."""
    other = next((name for name in ("quiet", "json", "open") if getattr(display, name)), None)
    if other is not None:
        raise BadInput(
            f"--replicate has no page and no JSON, so it excludes --{other}; leave one out, or name a table "
            "with --out"
        )
    from headroles.comparing.replicate import replicate
    from headroles.kinds import report_of
    from headroles.options.finished import ReplicateOptions
    from headroles.reports.console import console, named_line
    from headroles.reports.report import Detail
    from headroles.reports.terminal import show

    out, names = console(), [field.name for field in fields(ReplicateOptions)]
    found = replicate(**{name: given[name] for name in names})
    show(out, report_of(found), None, Detail(display.verbose, width=out.width))
    if given["out"] is not None:
        named_line(out, "table", given["out"])


@command(
    "atlas",
    "finished:AtlasOptions",
    "Compare and combine",
    "headroles atlas runs/QNLI-bert-base runs/QQP-bert-base runs/MRPC-bert-base",
    prints=PRINTS,
)
def atlas_command(display: DisplayOptions, **given: Any) -> None:
    """Show several label runs on one page.

    It shows their roles side by side, p values near 0 or 1, roles by layer, and how far labels agree. The
    runs label one model on several tasks or corpora. Runs of other models are shown by counts and depth. No
    model is needed.
    """
    from headroles.comparing.atlas import atlas, default_folder
    from headroles.progress import COLLECT

    given["out"] = given["out"] or default_folder(given["runs"])
    _make(partial(atlas, **given), COLLECT, given["out"], display)


@command(
    "show",
    "finished:ShowOptions",
    "Look",
    "headroles show runs/QNLI-all-MiniLM-L6-v2",
    "headroles show runs/QNLI-all-MiniLM-L6-v2 --head 2-8",
    "headroles show runs/QNLI-all-MiniLM-L6-v2 --page --open",
    "headroles show runs/QNLI-all-MiniLM-L6-v2 --figures pdf --width 89 --out figures",
    "headroles show runs/QNLI-all-MiniLM-L6-v2 --table heads --format latex --out heads.tex",
    "headroles show runs/QNLI-all-MiniLM-L6-v2 --methods",
    prints=ROLES,
)
def show_command(display: DisplayOptions, **given: Any) -> None:
    """Show a finished run or comparison.

    It prints the answer, also of an atlas and of a pruned model. With --head, it says what one head does.
    With --page or --figures, it writes the report or its figures. With --table or --methods, it prints text
    for a paper. Figures need the extra "figures" and Chrome or Chromium.
    """
    from headroles.options.finished import ShowOptions

    options = ShowOptions(**given)
    allowed = {"": ROLES, "head": ("json",), "page": ("open",)}.get(options.asked, ())
    other = next((name for name in ROLES if getattr(display, name) and name not in allowed), None)
    if other is not None:
        raise BadInput(
            f"--{other} is about the whole answer, but got --{options.asked}, too; leave one of them out"
        )
    display.check_place(options.out or options.page or options.folder)
    if options.asked:
        _show_part(options, display)
        return
    from headroles.exporting import load_result
    from headroles.storage.causal.pruning import load_pruning
    from headroles.storage.folder import PRUNING
    from headroles.storage.integrity.reading import kind_of_folder

    where = options.folder
    pruned = not is_address(where) and kind_of_folder(Path(where)) == PRUNING
    print_result(load_pruning(Path(where)) if pruned else load_result(where), where, display)


def _show_part(options: "ShowOptions", display: DisplayOptions) -> None:
    """Print one head, a table or the methods of a run, or write its report or figures."""
    from headroles import exporting
    from headroles.reports.console import console
    from headroles.storage.run import load

    folder, out, over = options.folder, options.out, options.overwrite
    if options.head is not None:
        run = load(folder)
        shown = run.head(options.head)
        if display.json:
            from headroles.sharing.head_cards import head_cards

            cards = head_cards(run)["cards"]
            card = next(card for card in cards if (card["layer"], card["head"]) == (shown.layer, shown.head))
            click.echo(json.dumps(card, indent=1, allow_nan=False))
        else:
            click.echo(repr(shown))
    elif options.asked == "page":
        page = str(exporting.report(folder, out or options.page or None, overwrite=over))
        console().print(f"report  {page}", markup=False)
        if display.open:
            open_report(page)
    elif options.figures is not None:
        width = {} if options.width is None else {"width": options.width}
        for path in exporting.figures(folder, options.figures, out, overwrite=over, **width):
            console().print(f"figure  {path}", markup=False)
    else:
        form = options.format or "markdown"
        if options.methods:
            text = exporting.methods(folder, form, out, overwrite=over)
        else:
            text = exporting.table(folder, options.table or None, form, out=out, overwrite=over)
        name = "methods" if options.methods else "table  "
        click.echo(f"{name} {out}" if out is not None else visible(text), nl=out is not None)


@command(
    "view",
    "view:ViewOptions",
    "Look",
    'headroles view "The cat sat on the mat because it was tired."',
    'headroles view "The old sailor mended the torn sail." --run runs/QNLI-all-MiniLM-L6-v2',
    'headroles view "Who sat?" "The cat sat." --layers 2 --svg layer-2.svg --as heat',
)
def view_command(**given: Any) -> None:
    """Show a model's attention over a text as one HTML page.

    The text is TEXT, or the pair of TEXT and TEXT_B. The page shows single heads, all layers × heads, and the
    parts of each weight. In an encoder-decoder, the encoder reads TEXT and the decoder reads TEXT_B. With
    --run, heads have the roles that the run found in them, and keys of a role have its colour. With
    --attention, stored maps are shown.
    """
    from headroles.reports.console import console
    from headroles.viewing.read import view
    from headroles.viewing.viewed import PAGE

    if given["also"] and not given["svg"]:
        raise BadInput("--also is another text in an SVG, so it goes with --svg; leave it out, or give --svg")
    given["out"] = given["out"] or (None if given["svg"] else PAGE)
    viewed = view(**given)
    lines = [("model", viewed.view.model), *(("note", note) for note in viewed.view.notes)]
    lines += [("view", given[name]) for name in ("svg", "out") if given[name]]
    for name, words in lines:
        console().print(f"{name:<8}{words}", markup=False)


@command(
    "share",
    "finished:ShareOptions",
    "Keep and check",
    "headroles share runs/QNLI-all-MiniLM-L6-v2",
    "headroles share runs/QNLI-all-MiniLM-L6-v2 --to user/roles-of-minilm",
)
def share_command(out: str | None, **given: Any) -> None:
    """Print a block of a run or atlas for a model card, or upload it.

    The block has the answer, heads per role with bounds, the error rate, command and citation. With --to, the
    run goes to the hub as a data set with a card, head cards and JSON Schemas. Texts of inputs stay here
    unless --with-maps is given. The block of an atlas has heads per role in at least so many runs.
    """
    from headroles.sharing.share import share

    shared = share(out=out, **given)
    if out is None:
        click.echo(visible(shared.card), nl=False)
    else:
        click.echo(visible(f"block   {out}"))
    if shared.address is not None:
        click.echo(visible(f"data    {shared.address} ({len(shared.files)} files)"), err=True)


@command(
    "judge",
    "finished:JudgeCommandOptions",
    "Keep and check",
    "headroles judge runs/QNLI-all-MiniLM-L6-v2 --alpha 0.01 --correction holm",
    "headroles judge --scores scores.parquet --margin 0.1 --low 0 --high 1 --out runs/scores",
    prints=PRINTS,
)
def judge_command(display: DisplayOptions, folder: str | None, **given: Any) -> None:
    """Judge a run again, or a table of scores; no model is needed.

    It says which labels change. With --out, a new folder is written, and FOLDER stays as it is.

    With --scores, every head of the table is tested, and a run folder is written that all other commands
    read. The table has a row for each unit, layer and head, with its score. Layers and heads count from 0.
    Further columns are described in the guide to scores of other tools.
    """
    from headroles.progress import JUDGE

    if folder is None:
        from headroles.runs.scores.run import default_folder, judge_scores

        given["out"] = given["out"] or default_folder(given["scores"])
        _make(partial(judge_scores, **given), JUDGE, given["out"], display)
        return
    from headroles.judging.again import changes_of, judge_stored
    from headroles.options.finished import JudgeOptions
    from headroles.progress import show_phases

    decided = {field.name: given[field.name] for field in fields(JudgeOptions) if field.name in given}
    where = given["out"] or folder
    display.check_place(where)
    with show_phases(quiet=display.quiet) as phases, phases.during(JUDGE):
        before, after = judge_stored(JudgeOptions(folder=folder, **decided))
    if not (display.quiet or display.json):
        click.echo(visible(changes_of(before, after)))
    print_result(after, where, display)


def _make(make: Callable[[], Any], phase: str, folder: str, display: DisplayOptions) -> None:
    """Make a result in one phase, and print it.

    Args:
        make: Returns the result.
        phase: Name of the phase.
        folder: Where the result lies then, a folder or an address.
        display: How much is printed.
    """
    from headroles.progress import show_phases

    display.check_place(folder)
    with show_phases(quiet=display.quiet) as phases, phases.during(phase):
        result = make()
    print_result(result, folder, display)


@command(
    "verify",
    "finished:VerifyOptions",
    "Keep and check",
    "headroles verify runs/QNLI-all-MiniLM-L6-v2 --oracles",
)
def verify_command(folder: str, oracles: bool) -> None:
    """Check that a run is whole and its findings are right.

    Every file must be as it was written, and all shards must be there. Findings and labels are computed again
    from the stored scores, and must be those of the tables. No model is needed. With --oracles, other
    libraries recompute the findings, and a table shows the largest differences. Of a pruned model, its files
    and its certificate are checked; of a comparison or an atlas, its files.
    """
    from headroles.cli.display import show_checks, show_verified
    from headroles.pruning.verify import verify_any
    from headroles.reports.console import console
    from headroles.shards.verify import refuse_differences

    verified = verify_any(folder, oracles=oracles)
    if oracles:
        show_checks(console(), verified.checks)
        refuse_differences(verified.checks, folder)
    show_verified(console(), verified, folder)


COMMANDS = (
    compare_command,
    atlas_command,
    show_command,
    view_command,
    share_command,
    judge_command,
    verify_command,
)
