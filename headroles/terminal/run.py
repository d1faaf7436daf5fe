"""Print runs of any kind, and what was checked of them."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from headroles.kinds import kind_of
from headroles.records.findings import Labelling
from headroles.reports.words.words import plural
from headroles.shards.verify import Verified
from headroles.stats.oracles.recompute import Check


def show_run(console: Console, labelling: Labelling, folder: str) -> None:
    """Print the findings of a run, and where its report is.

    Args:
        console: Of any width.
        labelling: Of any kind of run.
        folder: Of the run, as it is named in the last line.
    """
    kind_of(labelling).show(console, labelling, folder)


def show_checks(console: Console, checks: Sequence[Check]) -> None:
    """Print what other libraries recomputed, and what was not recomputed and why.

    Args:
        console: Of any width.
        checks: Quantities with their oracles.
    """
    table = Table(box=None, pad_edge=False)
    for title in ("quantity", "oracle"):
        table.add_column(title, overflow="fold")
    for title in ("compared", "largest difference", "at most"):
        table.add_column(title, justify="right", overflow="fold")
    for check in checks:
        if not check.reason:
            mark = "" if check.fits else " !"
            table.add_row(
                check.quantity, check.oracle, f"{check.compared:,}",
                f"{check.difference:.1e}{mark}", f"{check.tolerance:g}",
            )  # fmt: skip
    console.print(table)
    console.print(
        "differences are absolute, of numbers beyond 1 relative",
        markup=False,
        highlight=False,
        soft_wrap=True,
    )
    for check in checks:
        if check.reason:
            line = f"not recomputed: {check.quantity} ({check.reason})"
            console.print(line, markup=False, highlight=False, soft_wrap=True)


def show_verified(console: Console, verified: Verified, folder: str) -> None:
    """Print the counts of what was checked of a run and found right.

    Args:
        console: Of any width.
        verified: Counts of what was checked.
        folder: Of the run.
    """
    lines = [f"files     {verified.files}: every SHA-256 is that of the manifest"]
    if verified.shards:
        lines.append(f"shards    {verified.shards}: all there, {plural(verified.examples, 'example')}")
    lines.append(f"findings  {verified.findings}: as the stored scores give them, up to rounding")
    for line in (*lines, f"{folder} is whole"):
        console.print(line, markup=False, highlight=False, soft_wrap=True)
