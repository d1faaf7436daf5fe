"""Show an atlas of several runs in the terminal."""

from rich.console import Console

from headroles.records.atlas.atlas import Atlas
from headroles.records.table import Sheet
from headroles.reports.answer.atlas import answer_of as atlas_answer
from headroles.reports.sections.across_sheets import counts_sheet, emerged_sheet, trends_sheet
from headroles.reports.sections.atlas_sheets import roles_sheet, runs_table
from headroles.terminal.console import (
    MARKS,
    SHORT,
    Detail,
    named_line,
    show_notes,
    show_report,
    show_sentences,
    show_title,
    terminal_table,
)


def show_atlas(console: Console, atlas: Atlas, folder: str, detail: Detail = SHORT) -> None:
    """Print the runs of an atlas, what they have in common, and where the page is.

    Args:
        console: Of any width.
        atlas: Of two runs or more.
        folder: Folder of the atlas, for the last line.
        detail: With ``verbose``, heads with each role, and the agreement of labels.
    """
    answer = atlas_answer(atlas)
    show_title(console, answer.title.translate(MARKS))
    for place, run in enumerate(atlas.runs):
        named_line(console, "" if place else "runs", f"{run.name}: {run.folder}")
    show_sentences(console, answer.sentences)
    console.print()
    console.print(terminal_table(runs_table(atlas).sheet("narrow")))
    sheets: list[Sheet] = [emerged_sheet(atlas)] * bool(atlas.steps)
    if detail.verbose:
        sheets += [roles_sheet(atlas), atlas.agreement.sheet(), counts_sheet(atlas), trends_sheet(atlas)]
    for sheet in sheets:
        if sheet.rows:
            console.print()
            console.print(terminal_table(sheet))
    show_notes(console, atlas.remarks, brief=not detail.verbose)
    show_report(console, folder)
