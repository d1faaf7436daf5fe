"""Commands on finished runs: compare, replicate, view, report, table, judge, verify."""

from typing import Any

import click

from headroles.cli.options import command
from headroles.errors import visible


@command(
    "compare",
    "finished:CompareOptions",
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

    given["out"] = given["out"] or default_folder(given["dir_a"], given["dir_b"])
    show_comparison(console(), compare(**given), given["out"])


@command(
    "replicate",
    "finished:ReplicateOptions",
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
    "view:ViewOptions",
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
    "finished:ReportOptions",
    "Look",
    "headroles report runs/QNLI-all-MiniLM-L6-v2",
    "headroles report runs/QNLI-all-MiniLM-L6-v2 --figures pdf --width 89 --out figures",
)
def report_command(folder: str, figures: str | None, width: float | None, **given: Any) -> None:
    """Write the report of a run, or all its figures.

    Comparisons have figures, too. Figures need the extra "figures" and Chrome or Chromium.
    """
    from headroles import exporting
    from headroles.terminal.console import console

    if figures is None:
        console().print(f"report  {exporting.report(folder, **given)}", markup=False)
        return
    if width is not None:
        given["width"] = width
    for path in exporting.figures(folder, figures, **given):
        console().print(f"figure  {path}", markup=False)


@command(
    "table",
    "finished:TableOptions",
    "Look",
    "headroles table runs/QNLI-all-MiniLM-L6-v2",
    "headroles table runs/QNLI-all-MiniLM-L6-v2 --name heads --format latex --out heads.tex",
)
def table_command(folder: str, name: str | None, format: str, out: str | None, overwrite: bool) -> None:
    """Print a table of a run or comparison for a paper."""
    from headroles.exporting import table

    text = table(folder, name, format, out=out, overwrite=overwrite)
    click.echo(f"table   {out}" if out is not None else visible(text), nl=out is not None)


@command(
    "judge",
    "finished:JudgeOptions",
    "Keep and check",
    "headroles judge runs/QNLI-all-MiniLM-L6-v2 --alpha 0.01 --correction holm",
)
def judge_command(**given: Any) -> None:
    """Judge a run again from its stored scores; no model is needed."""
    from headroles.judging.again import judge_again
    from headroles.terminal.console import console
    from headroles.terminal.run import show_run

    show_run(console(), judge_again(**given), given["folder"])


@command(
    "verify",
    "finished:VerifyOptions",
    "Keep and check",
    "headroles verify runs/QNLI-all-MiniLM-L6-v2 --oracles",
)
def verify_command(folder: str, oracles: bool) -> None:
    """Check every hash of a run, and that its findings follow from its scores.

    Every file must be as it was written, and all shards must be there. Findings and labels are computed again
    from the stored scores, and must be those of the tables. No model is needed. With --oracles, other
    libraries recompute the findings, and a table shows the largest differences.
    """
    from headroles.shards.verify import refuse_differences, verify
    from headroles.terminal.console import console
    from headroles.terminal.run import show_checks, show_verified

    verified = verify(folder, oracles=oracles)
    if oracles:
        show_checks(console(), verified.checks)
        refuse_differences(verified.checks, folder)
    show_verified(console(), verified, folder)


COMMANDS = (
    compare_command,
    replicate_command,
    view_command,
    report_command,
    table_command,
    judge_command,
    verify_command,
)
