"""Print runs of any kind, and what was checked of them."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from headroles.errors import BadInput
from headroles.kinds import kind_of
from headroles.records.atlas.atlas import Atlas
from headroles.records.causal.pruning import Pruning
from headroles.records.comparison import Comparison
from headroles.records.findings import Labelling
from headroles.records.numbers import plural
from headroles.shards.verify import Verified
from headroles.stats.oracles.recompute import Check
from headroles.terminal.causal.prune import show_pruning
from headroles.terminal.compare import show_atlas, show_comparison
from headroles.terminal.console import SHORT, Detail

WITH_ROLES = ("label", "cluster")
"""Kinds of run whose heads have roles of sieves."""
NO_GRID = "--grid shows the roles of every head, but {} has none; leave it out"


def show_result(
    console: Console, result: Labelling | Comparison | Atlas | Pruning, folder: str, detail: Detail = SHORT
) -> None:
    """Print a run, a comparison, an atlas or a pruning, and where its report is.

    Args:
        console: Of any width.
        result: A run of any kind, a comparison, an atlas, or a pruning.
        folder: Its folder or address, as it is named in the last line.
        detail: How much is printed.

    Raises:
        BadInput: For a grid of a result without roles.
    """
    if isinstance(result, Comparison):
        if detail.grid:
            raise BadInput(NO_GRID.format("a comparison"))
        show_comparison(console, result, folder, detail)
        return
    if isinstance(result, Atlas):
        if detail.grid:
            raise BadInput(NO_GRID.format("an atlas"))
        show_atlas(console, result, folder, detail)
        return
    if isinstance(result, Pruning):
        if detail.grid:
            raise BadInput(NO_GRID.format("a pruned model"))
        show_pruning(console, result, folder, detail)
        return
    kind = kind_of(result)
    if detail.grid and kind.name not in WITH_ROLES:
        raise BadInput(NO_GRID.format(f"a run of {kind.name}"))
    kind.show(console, result, folder, detail)


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
