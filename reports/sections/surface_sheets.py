"""What a surface run found as tables that sort."""

import math

from headroles.records.findings import Labelling
from headroles.records.surface import NoOp
from headroles.reports.content import Interval
from headroles.reports.sections.probe_sheets import Cell, Sheet
from headroles.reports.words.surface import (
    GROUP,
    between,
    counts,
    even,
    kind_told,
    known,
    layers_of,
    named,
    peak,
    told_interval,
)
from headroles.reports.words.words import chance_of, number, two

INTERVAL = "[95\u00a0%]"
STATISTICS = (
    "statistic", "even", "above", "below", "undetermined", "untestable", "largest in head",
    f"its mean {INTERVAL}", "q", "largest in layer", f"its mean {INTERVAL}",
)  # fmt: skip
TESTS = (
    "measure", "attention to", "layer", "units", f"score {INTERVAL}", "statistic", "p", "q", "decision"
)  # fmt: skip
EMPTY = Cell("–", math.nan)


def statistics_sheet(labelling: Labelling) -> Sheet:
    """One line per statistic: heads by decision, the head and the layer with the largest means."""
    found = labelling.findings
    rows = []
    for column in (name for name in found.sieves if name.startswith(GROUP)):
        told = counts(found, column)
        cells = [Cell(named(column), named(column)), _number(even(found, column))]
        cells += [Cell(str(count), count) for count in told]
        if known(found, column):
            top = peak(found, column)
            cells += [Cell(top.place, top.layer + top.head / 10_000), _mean(column, top.mean), _chance(top.q)]
        else:
            cells += [EMPTY] * 3
        layers = layers_of(labelling, column)
        if layers:
            most = max(layers, key=lambda row: row.mean)
            cells += [Cell(str(most.layer), most.layer), _mean(column, between(most))]
        else:
            cells += [EMPTY] * 2
        rows.append(tuple(cells))
    return Sheet("Statistics", STATISTICS, tuple(rows))


def noop_sheet(labelling: Labelling) -> Sheet | None:
    """Every test of attention that does not matter, but for kinds no input has; None where there is none."""
    noop = labelling.surface.noop if labelling.surface else ()
    told = {each.kind for each in noop if each.count}
    noop = tuple(each for each in noop if each.kind in told)
    return Sheet("Tests", TESTS, tuple(_test(each) for each in noop)) if noop else None


def _test(each: NoOp) -> tuple[Cell, ...]:
    ends = (each.mean, each.low, each.high)
    texts = [two(value) for value in ends]
    shown = texts[0] if "–" in texts else f"{texts[0]} [{texts[1]}, {texts[2]}]"
    return (
        Cell(each.measure, each.measure),
        Cell(kind_told(each.kind), each.kind),
        Cell(str(each.layer), each.layer),
        Cell(f"{each.count:,}", each.count),
        Cell(shown, each.mean),
        Cell(two(each.statistic), each.statistic),
        _chance(each.p),
        _chance(each.q),
        Cell(each.decision, each.decision),
    )


def _number(value: float) -> Cell:
    return Cell(number(value), value)


def _chance(value: float) -> Cell:
    return Cell(chance_of(value), value)


def _mean(column: str, value: Interval) -> Cell:
    return Cell(told_interval(column, value), value.mean)
