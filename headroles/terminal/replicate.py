"""Show a replication in the terminal: how many roles of A hold on B, row by row, and its best heads."""

from rich.console import Console
from rich.text import Text

from headroles.records.numbers import plural
from headroles.records.replication import Replication
from headroles.records.rules.rule import FAMILIES
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
    roles = found.rows.take(found.rows["roles"] > 0)
    explained = any(row.explained for row in roles)
    console.print(terminal_table(roles.sheet("narrow", leave=[] if explained else ["explained"])))
    bare = len(found.rows) - len(roles)
    if bare:
        console.print(Text(f"{bare} without a role in A", style="dim"))
    decided = found.best.take(found.best["decision"] != "")
    for table in [decided] * bool(found.best) + [found.gaps] * bool(found.gaps):
        console.print()
        console.print(terminal_table(table.sheet("narrow")))
    console.print()
    named_line(console, "r", "correlation of head means in A and B, over all heads; described, not tested")
    if out is not None:
        console.print(Text(f"table   {out}"))


def summary(found: Replication) -> str:
    """Return how many roles of A hold on B, in one sentence.

    Example:
        >>> from headroles.records.rules.rule import Decision
        >>> summary(Replication(Decision()))
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
