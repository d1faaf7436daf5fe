"""What reports of tests about heads share: words for roles and counts, the answer, and maps of verdicts."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from headroles.records.findings import Labelling
from headroles.records.numbers import isolate, join_names, number, with_range
from headroles.records.roles import phrase_of
from headroles.records.rules.rule import Decision
from headroles.records.table import Row, Table
from headroles.reports import account
from headroles.reports.account import Named
from headroles.reports.answer import Answer, Sentence
from headroles.reports.maps import HeadMap
from headroles.reports.marks import Figure
from headroles.reports.papers import findings_table
from headroles.reports.report import Block, Detail, Fold, Grid, Report

NAMED = 4
"""Roles or heads that a sentence names at most."""
FEW = 12
"""Heads that a terminal lists without ``--verbose``."""
BARS = "Bars: 95\u00a0% intervals."


@dataclass(frozen=True, eq=False)
class OfRun:
    """A run, with the words for what it found; subclasses know what that is.

    Attributes:
        run: A run of the kind that the words are about.
    """

    run: Labelling


def role_title(role: str) -> str:
    """Return a role in words, as sentences and figures name it.

    Example:
        >>> role_title("syntactic:amod"), role_title("delimiter:cls")
        ('adjective → noun', 'class token')
    """
    return isolate(phrase_of(role).title)


def does(role: str, heads: int) -> str:
    """Return what some heads of a role do."""
    return isolate(phrase_of(role).one if heads == 1 else phrase_of(role).many)


def place_name(row: Row) -> str:
    """Return the name of the head of a row, such as "2-9"."""
    return f"{row.layer}-{row.head}"


def damage_text(value: float, low: float, high: float, unit: str = "") -> str:
    """Return a number with its interval and unit; alone where it has no interval.

    Example:
        >>> damage_text(0.0663, 0.0601, 0.0724, " nats").split()
        ['0.0663', '[0.0601,', '0.0724]', 'nats']
    """
    return "–" if math.isnan(value) else with_range(*map(number, (value, low, high))) + unit


def some_of(count: int, whole: str, one: str, many: str, shown: str) -> str:
    """Return how many of a whole do something; of none, that it is not shown.

    Example:
        >>> some_of(1, "9 heads", "is", "are", "is shown to be"), some_of(0, "9 heads", "is", "are", "may be")
        ('1 of 9 heads is', 'None of 9 heads may be')
    """
    return f"{count:,} of {whole} {one if count == 1 else many}" if count else f"None of {whole} {shown}"


def first_names(names: Iterable[str], more: Callable[[int], str] = "{:,} more".format) -> str:
    """Return the first names, and in words how many there are besides."""
    known = [*names]
    rest = len(known) - NAMED
    return join_names([*known[:NAMED], *([more(rest)] if rest > 0 else [])])


def with_test(rows: Table, column: str = "decision") -> Table:
    """Return the rows that could be tested."""
    return rows.take(rows[column] != "untestable")


def count_of(rows: Table, word: str, column: str = "decision") -> int:
    """Return how many rows have a decision."""
    return int((rows[column] == word).sum())


def corrected(decision: Decision, nothing: str, expected: str, chance: str) -> str:
    """Return the text of what a correction controls: nothing, expected false claims, or the chance of any."""
    if decision.correction == "none":
        return nothing
    return expected if decision.correction.startswith("fdr") else chance


def of_model(run: Labelling) -> str:
    """Return whose heads a run has, after a blank; "" where it does not say."""
    model = account.account(run).model
    return f" of {isolate(model)}" if model else ""


def answer_about(
    run: Labelling, title: str, about: Iterable[str], sentences: Iterable[Sentence], *, named: bool = False
) -> Answer:
    """Return an answer whose line begins with the facts of a run.

    Args:
        run: Any run.
        title: The question.
        about: Further parts of the line; "" for none.
        sentences: The answer.
        named: Whether the line names the model, too.
    """
    facts = account.account(run)
    known = (isolate(fact) for fact in (facts.model * named, *facts.facts) if fact)
    line = " · ".join([*known, *filter(None, about)])
    return Answer(title, line, tuple(sentences), facts.warnings)


def report_about(
    run: Labelling, kind: str, answer: Answer, papers: dict[str, Callable[[], Any]],
    facts: Callable[[], Iterable[Named]], **more: Any,
) -> Report:  # fmt: skip
    """Return the report of a run.

    Args:
        run: Any run.
        kind: Its command.
        answer: Its answer.
        papers: Tables for papers; that of all findings follows.
        facts: Lines of a terminal that is asked for more, below model and inputs.
        **more: As of ``Report``.
    """

    def lines(detail: Detail) -> list[Named]:
        return [*account.account_lines(run), *facts()] if detail.verbose else []

    return Report(
        f"headroles {kind}", account.title_of(run), answer, account.all_notes(run), run.manifest,
        papers | {"findings": partial(findings_table, run)}, facts=lines, **more,
    )  # fmt: skip


def tested_line(run: Labelling, each: str, old: str, new: str) -> Named:
    """Return the line of a terminal on the test, with another word for what is corrected together."""
    test = account.describe_test(run.decision, run.manifest.get("preset"))
    return Named("tested", f"{each}; {test.replace(old, new)}", "")


def with_tests(figures: Sequence[Figure | Fold], grid: Grid, title: str = "") -> list[Block]:
    """Return figures with the table of all their tests on request; nothing without figures."""
    title = title or f"All tests: {figures[0].title.lower()}" if figures else ""
    return [*figures, Fold(title, [grid])] if figures else []


def verdict_map(name: str, title: str, note: str, lines: Sequence[str], **more: Any) -> HeadMap:
    """Return a map of heads that are told with their name and that of the map, and these lines."""
    above = "{head} · {title}"
    if "outside" in more:
        more["outside"] = (above, *more["outside"])
    return HeadMap(name=name, title=title, note=note, lines=(above, *lines), **more)
