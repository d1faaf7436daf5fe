"""Show a replication in the terminal: how many roles of A hold on B, row by row, and its best heads."""

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from headroles.records.numbers import p_text, plural, two_decimals
from headroles.records.replication import BestReplicate, GapReplicate, Replication, ReplicationCounts
from headroles.reports.sheets import Cell, Sheet, count_cell, word_cell
from headroles.reports.words.probes import percent, points, with_interval
from headroles.reports.words.words import FAMILIES
from headroles.terminal.console import named_line, terminal_table
from headroles.terminal.facts import describe_run, describe_test


def show_replication(console: Console, found: Replication, out: str | None) -> None:
    """Print what was found in one line, then the two runs, the counts of every row, best heads and gaps.

    Args:
        console: A console of any width.
        found: The replication.
        out: File that was written; None for none.
    """
    named_line(console, "found", summary(found))
    for name in ("a", "b"):
        named_line(console, name.upper(), describe_run(found.manifest[name]))
    named_line(console, "tested", describe_test(found.decision, found.manifest["a"].get("preset")))
    over = FAMILIES.get(found.decision.family, found.decision.family)
    ways = " (both directions of a row)" * any(row.columns > 1 for row in found.rows)
    named_line(console, "family", f"the roles of A, of {over}{ways}; fixed before B was read")
    for note in found.notes:
        named_line(console, "note", note, style="yellow")
    console.print()
    console.print(terminal_table(_rows(found.rows)))
    bare = sum(not row.roles for row in found.rows)
    if bare:
        console.print(Text(f"{bare} without a role in A", style="dim"))
    if found.best:
        console.print()
        console.print(terminal_table(_best(found.best)))
    if found.gaps:
        console.print()
        console.print(terminal_table(_gaps(found.gaps)))
    console.print()
    named_line(console, "r", "correlation of head means in A and B, over all heads; described, not tested")
    if out is not None:
        console.print(Text(f"table   {out}"))


def summary(found: Replication) -> str:
    """Return how many roles of A hold on B, in one sentence.

    Example:
        >>> from headroles.records.rules.rule import Decision
        >>> summary(Replication(Decision(), (), (), ()))
        'A has no role in the columns of both, so there is nothing to replicate.'
    """
    counts, total = found.outcomes, len(found.replicates)
    if not total:
        return "A has no role in the columns of both, so there is nothing to replicate."
    sentence = f"{counts['role']} of {plural(total, 'role')} of A hold on B; there {counts['not']} are not, "
    sentence += f"{counts['explained']} explained by their contrasts, " * (counts["explained"] > 0)
    sentence += f"{counts['undetermined']} undetermined, {counts['untestable']} untestable."
    claimed = [best for best in found.best if best.decision]
    if claimed:
        held = sum(best.decision == "beyond" for best in claimed)
        sentence += (
            f" Of the best heads of {plural(len(claimed), 'row')} beyond their baselines in A, {held} "
        )
        sentence += "are on B."
    if found.gaps:
        held = sum(gap.decision == "gap" for gap in found.gaps)
        sentence += f" Of {plural(len(found.gaps), 'gap')} between conditions in A, {held} hold on B."
    return sentence


def _gaps(gaps: Sequence[GapReplicate]) -> Sheet:
    """Return the gaps between conditions that A found, and their results on B."""
    lines = [
        (
            word_cell(
                f"{gap.first} − {gap.second}" + (f", {gap.measure}" if gap.measure != "accuracy" else "")
            ),
            word_cell(f"{gap.layer}-{gap.head}"),
            Cell(points(gap.difference_a), gap.difference_a),
            Cell(with_interval(*map(points, (gap.difference, gap.low, gap.high))), gap.difference),
            Cell(p_text(gap.q), gap.q),
            word_cell(gap.decision),
        )
        for gap in gaps
    ]
    header = ("gap in A", "head", "A: points", "B: points", "q", "B")
    return Sheet("Gaps of A on B", header, tuple(lines))


def _rows(rows: Sequence[ReplicationCounts]) -> Sheet:
    """Return a line per row with a role in A; the other rows are only counted."""
    explained = any(row.explained for row in rows)
    lines = [
        (
            word_cell(row.name),
            *map(count_cell, (row.roles, row.role, *([row.explained] if explained else []))),
            *map(count_cell, (row.not_role, row.undetermined, row.untestable)),
            Cell(two_decimals(row.correlation), row.correlation),
        )
        for row in rows
        if row.roles
    ]
    decisions = (*(("explained",) if explained else ()), "not", "undetermined", "untestable")
    return Sheet("Roles of A on B", ("row", "roles in A", "role in B", *decisions, "r"), tuple(lines))


def _best(best: Sequence[BestReplicate]) -> Sheet:
    """Return the best heads of A above their baselines, and their results on B."""
    lines = []
    for head in best:
        if head.decision:
            ends = (head.difference, head.difference_low, head.difference_high)
            lines.append(
                (
                    word_cell(head.row),
                    word_cell(f"{head.layer}-{head.head} {head.direction}".rstrip()),
                    Cell(percent(head.accuracy_a), head.accuracy_a),
                    Cell(points(head.difference_a), head.difference_a),
                    Cell(percent(head.accuracy), head.accuracy),
                    Cell(with_interval(*(points(value) for value in ends)), head.difference),
                    Cell(p_text(head.q), head.q),
                    word_cell(head.decision),
                )
            )
    header = ("best head of A", "head", "A: % right", "A: beyond", "B: % right", "B: beyond", "q", "B")
    return Sheet("Best heads of A on B", header, tuple(lines))
