"""Commands that write what a finished run found: its report, its figures, its tables."""

import click

from headroles.cli_options import option


@click.command("report")
@click.argument("folder")
@option("out", str, "File to write, or folder with --figures.  [default: report.html, figures in FOLDER]")
@click.option("--figures", "form", type=str, help="Write the figures alone, as svg, pdf or png files.")
@option("width", float, "Of figures, in millimetres; 89 for one column.  [default: 183]")
def report_command(folder: str, out: str | None, form: str | None, width: float | None) -> None:
    """Write the report of a run FOLDER, or with --figures all its figures as files.

    Figures can be had of a comparison, too. They need the extra "figures" and Chrome or Chromium.
    """
    from headroles.terminal_console import console

    if form is None and width is not None:
        raise click.UsageError("--width is that of figures, which --figures asks for; leave it out")
    if form is None:
        from headroles.run import report

        console().print(f"report  {report(folder, out)}", markup=False)
        return
    from headroles.exporting import figures

    for path in figures(folder, form, out, *(() if width is None else (width,))):
        console().print(f"figure  {path}", markup=False)


@click.command("table")
@click.argument("folder")
@option(
    "name", str, "roles, heads, findings; best, statistics, clusters, changes or differences where they are."
)
@click.option("--markdown", is_flag=True, help="Between pipes; usual.")
@click.option("--latex", is_flag=True, help="For booktabs, with caption and label.")
@click.option("--csv", is_flag=True, help="All digits.")
def table_command(folder: str, name: str | None, markdown: bool, latex: bool, csv: bool) -> None:
    """Print a table of a run or comparison FOLDER for a paper; without --name what it is about."""
    from headroles.exporting import table

    asked = [form for form, wanted in (("markdown", markdown), ("latex", latex), ("csv", csv)) if wanted]
    if len(asked) > 1:
        raise click.UsageError(f"a table has one form, but --{' and --'.join(asked)} came; give one of them")
    click.echo(table(folder, name, *asked), nl=False)


COMMANDS = (report_command, table_command)
