"""Results of a surface run as tables that sort."""

from collections.abc import Mapping

from headroles.records.findings import Labelling
from headroles.records.numbers import number, p_text, two_decimals
from headroles.records.surface import NoOp
from headroles.reports.sheets import ENDS, MISSING, Cell, Sheet, count_cell, place_cell, word_cell
from headroles.reports.words.surface import (
    GROUP,
    column_name,
    decision_counts,
    even_attention,
    has_scores,
    interval_text,
    kind_name,
    layer_interval,
    layers_of,
    noop_of,
    peak,
)
from headroles.reports.words.words import Interval

STATISTICS = (
    "statistic", "even", "above", "below", "undetermined", "untestable", "largest in head",
    f"its mean {ENDS}", "q", "largest in layer", f"its mean {ENDS}",
)  # fmt: skip
TESTS = (
    "measure", "attention to", "layer", "units", f"score {ENDS}", "statistic", "p", "q", "decision"
)  # fmt: skip


def statistics_sheet(labelling: Labelling, names: Mapping[str, str] | None = None) -> Sheet:
    """Return one line per statistic: heads by decision, head and layer with the largest means.

    Args:
        labelling: The result of a surface run.
        names: Names of the columns to list; None: those of all statistics in words.
    """
    findings = labelling.findings
    if names is None:
        names = {name: column_name(name) for name in findings.sieves if name.startswith(GROUP)}
    rows = []
    for column, name in names.items():
        numbers = decision_counts(findings, column)
        cells = [word_cell(name), _number(even_attention(findings, column))]
        cells += [Cell(str(count), count) for count in numbers]
        if has_scores(findings, column):
            top = peak(labelling, column)
            cells += [place_cell(top.layer, top.head), _mean(column, top.mean), _chance(top.q)]
        else:
            cells += [MISSING] * 3
        layers = layers_of(labelling, column)
        if layers:
            most = max(layers, key=lambda row: row.mean)
            cells += [Cell(str(most.layer), most.layer), _mean(column, layer_interval(most))]
        else:
            cells += [MISSING] * 2
        rows.append(tuple(cells))
    return Sheet("Statistics", STATISTICS, tuple(rows))


def noop_sheet(labelling: Labelling) -> Sheet | None:
    """Return every test of attention that does not matter, but for kinds no input has; None without any."""
    noop = noop_of(labelling)
    kinds = {test.kind for test in noop if test.count}
    noop = tuple(test for test in noop if test.kind in kinds)
    return Sheet("Tests", TESTS, tuple(_test(test) for test in noop)) if noop else None


def _test(test: NoOp) -> tuple[Cell, ...]:
    """Return the line of one test."""
    ends = (test.mean, test.low, test.high)
    texts = [two_decimals(value) for value in ends]
    score = texts[0] if "–" in texts else f"{texts[0]} [{texts[1]}, {texts[2]}]"
    return (
        word_cell(test.measure),
        Cell(kind_name(test.kind), test.kind),
        Cell(str(test.layer), test.layer),
        count_cell(test.count),
        Cell(score, test.mean),
        Cell(two_decimals(test.statistic), test.statistic),
        _chance(test.p),
        _chance(test.q),
        word_cell(test.decision),
    )


def _number(value: float) -> Cell:
    """Return a number as a cell."""
    return Cell(number(value), value)


def _chance(value: float) -> Cell:
    """Return a p or q value as a cell."""
    return Cell(p_text(value), value)


def _mean(column: str, value: Interval) -> Cell:
    """Return a mean with its interval as a cell."""
    return Cell(interval_text(column, value), value.mean)
