"""Commands on finished runs: compare, replicate, view, report, table, judge, verify."""

from typing import Any

import click

from headroles.cli.options import command
from headroles.errors import visible
from headroles.options.finished import (
    CompareOptions,
    JudgeOptions,
    ReplicateOptions,
    ReportOptions,
    TableOptions,
    VerifyOptions,
)
from headroles.options.values import record_of
from headroles.options.view import ViewOptions


@command(
    "compare",
    CompareOptions,
    "Compare and combine",
    "headroles compare runs/QNLI-bert-base runs/QNLI-fine-tuned",
)
def compare_command(**given: Any) -> None:
    """Compare two runs head by head: differences, and roles gained and lost.

    Both runs score the same examples with the same sieves under two models, or one model on two inputs
    of equal layout. Differences are B − A. No model is needed.
    """
    from headroles.comparing.compare import compare, default_folder
    from headroles.terminal.compare import show_comparison
    from headroles.terminal.console import console

    options = record_of(CompareOptions, **given)
    given["out"] = given["out"] or default_folder(options.dir_a, options.dir_b)
    show_comparison(console(), compare(**given), given["out"])


@command(
    "replicate",
    ReplicateOptions,
    "Compare and combine",
    "headroles replicate runs/QNLI-bert-base runs/MRPC-bert-base --out replicated.csv",
)
def replicate_command(**given: Any) -> None:
    """Test the roles that run A found on the other inputs of run B.

    Both runs use one model and the same sieves or probes. B is judged by the test, margins and alpha of
    A, and corrected over the roles of A only. No model is needed.
    """
    from headroles.comparing.replicate import replicate
    from headroles.terminal.console import console
    from headroles.terminal.replicate import show_replication

    show_replication(console(), replicate(**given), given["out"])


@command(
    "view",
    ViewOptions,
    "Look",
    'headroles view "The cat sat on the mat because it was tired."',
    'headroles view "Who sat?" "The cat sat." --layers 2 --svg layer-2.svg',
)
def view_command(**given: Any) -> None:
    """Show a model's attention over TEXT, or TEXT and TEXT_B, as one HTML page.

    The page shows single heads, all layers × heads, and the parts of each weight. In an encoder-decoder,
    the encoder reads TEXT and the decoder reads TEXT_B. With --attention, stored maps are shown.
    """
    from headroles.terminal.console import console
    from headroles.viewing import PAGE, view

    given["out"] = given["out"] or (None if given["svg"] else PAGE)
    viewed = view(**given)
    lines = [("model", viewed.view.model), *(("note", note) for note in viewed.view.notes)]
    lines += [("view", given[name]) for name in ("svg", "out") if given[name]]
    for name, words in lines:
        console().print(f"{name:<8}{words}", markup=False)


@command(
    "report",
    ReportOptions,
    "Look",
    "headroles report runs/QNLI-all-MiniLM-L6-v2",
    "headroles report runs/QNLI-all-MiniLM-L6-v2 --figures pdf --width 89 --out figures",
)
def report_command(**given: Any) -> None:
    """Write the report of a run, or all its figures.

    Comparisons have figures, too. Figures need the extra "figures" and Chrome or Chromium.
    """
    from headroles.terminal.console import console

    options = record_of(ReportOptions, **given)
    if options.figures is None:
        from headroles.exporting import report

        console().print(f"report  {report(options.folder, options.out)}", markup=False)
        return
    from headroles.exporting import figures

    width = {} if options.width is None else {"width": options.width}
    for path in figures(options.folder, options.figures, options.out, **width):
        console().print(f"figure  {path}", markup=False)


@command(
    "table",
    TableOptions,
    "Look",
    "headroles table runs/QNLI-all-MiniLM-L6-v2",
    "headroles table runs/QNLI-all-MiniLM-L6-v2 --name heads --format latex --out heads.tex",
)
def table_command(**given: Any) -> None:
    """Print a table of a run or comparison for a paper."""
    from headroles.exporting import table

    options = record_of(TableOptions, **given)
    click.echo(visible(table(options.folder, options.name, options.format)), nl=False)


@command(
    "judge",
    JudgeOptions,
    "Keep and check",
    "headroles judge runs/QNLI-all-MiniLM-L6-v2 --alpha 0.01 --correction holm",
)
def judge_command(**given: Any) -> None:
    """Judge the stored scores of a run again; no model is needed."""
    from headroles.judging.again import judge_again
    from headroles.terminal.console import console
    from headroles.terminal.run import show_run

    show_run(console(), judge_again(**given), given["folder"])


@command("verify", VerifyOptions, "Keep and check", "headroles verify runs/QNLI-all-MiniLM-L6-v2 --oracles")
def verify_command(**given: Any) -> None:
    """Check every hash of a run, and that its findings follow from its scores.

    Every file must be what it was when it was written, all shards must be there, and findings and labels,
    computed again from the stored scores, must be those of the tables. No model is needed. With --oracles,
    other libraries recompute the findings, and a table shows the largest differences.
    """
    options = record_of(VerifyOptions, **given)
    from headroles.shards.verify import refuse_differences, verify
    from headroles.terminal.console import console
    from headroles.terminal.run import show_checks, show_verified

    verified = verify(options.folder, oracles=options.oracles)
    if options.oracles:
        show_checks(console(), verified.checks)
        refuse_differences(verified.checks, options.folder)
    show_verified(console(), verified, options.folder)


COMMANDS = (
    compare_command,
    replicate_command,
    view_command,
    report_command,
    table_command,
    judge_command,
    verify_command,
)
