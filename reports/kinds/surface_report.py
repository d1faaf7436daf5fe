"""The report of a surface run: its figures as in Clark et al. (2019), tables, sections and maps."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from headroles.records.findings import Labelling
from headroles.records.numbers import isolate, number
from headroles.records.surface import KINDS
from headroles.records.table import ENDS, MISSING, Cell, Column, Row, Sheet, Table, head_cell
from headroles.reports import maps, marks
from headroles.reports import report as blocks
from headroles.reports.account import Named, account
from headroles.reports.drawing import SOFT, SYMBOLS
from headroles.reports.kinds import claims, surface
from headroles.reports.kinds.surface import ENTROPIES, GROUP, MEASURES, ROWS, Measured
from headroles.reports.marks import Axis, Dots, Figure, Key, Line, Look
from headroles.reports.papers import caption
from headroles.reports.recorded import verdicts_page
from headroles.reports.report import LONG, Beside, Detail, Fold, Grid, Points, Section, Text
from headroles.stats.decision import ENOUGH_FOR_NOT

ATTENTION, ENTROPY, IMPORTANCE = "mean attention", "entropy (nats)", ""
"""Parts of the page, by the titles of the second axis of their figures; importances have one each."""
FIGURES: Mapping[str, Mapping[str, tuple[str, Sequence[str]]]] = {
    ATTENTION: {
        "kinds": ("To the first token, separators and punctuation", [*surface.SINKS]),
        "separators": ("To separators, from separators and from other tokens",
                       ["surface:separator→separator", "surface:other→separator"]),
        "neighbours": ("To the previous, the next and the same token", [*surface.PLACES]),
        "rows-first": ("From the first token", ROWS[:3]),
        "rows-separator": ("From separators", (ROWS[3], "surface:separator→separator", *ROWS[5:])),
    },
    ENTROPY: {key.partition(":")[2]: (surface.NAMES[key][0], [key]) for key in ENTROPIES},
    IMPORTANCE: {
        f"importance-{place}": (formula, [f"{measure}:{kind}" for kind in KINDS])
        for place, (measure, (formula, _)) in enumerate(MEASURES.items())
    },
}  # fmt: skip
"""Title and columns of every figure, by the part of the page."""
TONES = {"first": 0, "separator": 1, "punctuation": 2, "other": 7}
"""Colours of kinds of tokens, the same in every figure; other columns take them in turn."""
STEP = 0.17
"""Between the marks of two columns in one layer, so that they do not hide each other."""
DENSE = 300
"""Heads above which their marks are small and faint."""
LINEAR = {"rangemode": "tozero", "exponentformat": "e"}
LOGARITHMIC = {"type": "log", "dtick": 1, "tickformat": ".0e", "minor": {"dtick": "D1", "ticks": "outside"}}
SERIES, PLACE = Column("series", "The column in few words.", str), Column("at", "Place along the axis.")
OF_HEAD = ("mean", "low", "high", "null", "q", "q_not", "layer", "head")
HOVER = (
    "%{fullData.name}<br>layer %{customdata[6]} head %{customdata[7]}: %{text}<br>mean %{customdata[0]:.3f} "
    "[%{customdata[1]:.3f}, %{customdata[2]:.3f}], even %{customdata[3]:.3f}<br>q above "
    "%{customdata[4]:.2g}, q below %{customdata[5]:.2g}<extra></extra>"
)
"""Hover text of a head."""
HOVER_MEAN = (
    "%{fullData.name}, mean of layer %{customdata[0]}<br>%{y:.4~g} [%{customdata[1]:.4~g}, "
    "%{customdata[2]:.4~g}]<extra></extra>"
)
"""Hover text of the mean of a layer."""
ABOVE, BELOW = surface.DECISION_WORDS[:2]
SIGNS = {0: maps.MARKS["above"], 1: maps.MARKS["below"]}
"""Marks of heads above and below even attention, by their codes."""
FINE = ("mean", "null", "low", "high", "mean_low", "mean_high")
"""Numbers that have three digits where there are importances, which can be far below a thousandth."""
WIDE = 120
"""Columns of a terminal from which means by layer have three decimals."""


def report(run: Labelling) -> blocks.Report:
    """Return the report of a surface run."""
    measured = Measured(run)
    about = (
        ": heads above and below even attention, and the head and the layer with the largest means with "
        "their 95\u00a0% intervals"
    )
    papers: dict[str, Callable[[], Any]] = {"statistics": lambda: blocks.Paper(
        measured.table, caption(run, surface.STATISTICS.title, surface.FAMILIES, about)
    )}  # fmt: skip
    loss = run.manifest.get("surface", {}).get("loss")
    lines = [
        claims.tested_line(run, "against even attention, both ways", "one sieve", "one statistic"),
        *([Named("loss", _lower_first(loss), "")] if loss else []),
    ]
    return claims.report_about(
        run, "surface", surface.answer_of(measured), papers, lambda: lines, page=partial(_page, measured),
        screen=partial(_screen, measured), cell=lambda: [Grid(measured.table)],
    )  # fmt: skip


def _lower_first(line: str) -> str:
    return line[0].lower() + line[1:]


def _screen(measured: Measured, detail: Detail) -> list[Grid | Named]:
    """Return the tables of a terminal: means by layer, strongest heads, importance; and sentences."""
    tested = measured.of(GROUP, known=True)
    decimals = 3 if detail.width >= WIDE else 2
    usual, rows = ([name for name in tested if (name in ROWS) == own] for own in (False, True))
    table = measured.table.describe("statistic", text=surface.short_name)
    strongest = Grid(table.take(~np.isnan(table["mean"]) & ~np.isin(table["statistic"], ENTROPIES)))
    importances = [(measured.of(measure, known=True), measure, None) for measure in MEASURES]
    first, others = (
        [Grid(_means(measured, *wanted)) for wanted in every if wanted[0]]
        for every in ([(usual, "layer", decimals), (rows, "rows", decimals)], importances)
    )
    found: list[Grid | Named] = [*first, strongest, *others]
    if detail.verbose:
        found += [
            Named("entropy", f"of {surface.short_name(name)}: "
                  f"{_lower_first(surface.column_sentence(measured, name))}", "")
            for name in ENTROPIES if measured.has(name)
        ]  # fmt: skip
        found += [Named("loss", _lower_first(line), "") for line in surface.noop_sentences(measured)]
    return found


def _by_layer(
    measured: Measured, header: Sequence[str], columns: Sequence[str],
    cells: Callable[[str, Row | None], list[Cell]],
) -> Sheet:  # fmt: skip
    """Return a row for every layer: the cells of every column, made of its mean over the layer, if known."""
    known = {column: measured.by_layer(column) for column in columns}
    rows = [
        (Cell(str(layer), layer), *(c for name in columns for c in cells(name, known[name].get(layer))))
        for layer in measured.run.scores.stack.numbers
    ]
    return Sheet("Means by layer", tuple(header), tuple(rows))


def _means(measured: Measured, columns: Sequence[str], corner: str, decimals: int | None = None) -> Sheet:
    """Return the means by layer, the largest of each column in bold; then those of even attention."""

    def cell(value: float, strong: bool = False) -> Cell:
        known = number(value) if decimals is None else f"{value:.{decimals}f}"
        return MISSING if math.isnan(value) else Cell(known, value, strong=bool(strong))

    def cells(name: str, row: Row | None) -> list[Cell]:
        most = measured.layers.where(column=name)["mean"]
        return [cell(row.mean, len(most) > 1 and row.mean == most.max()) if row else MISSING]

    header = [surface.words_of(name)[2] for name in columns]
    sheet = _by_layer(measured, [corner, *header], columns, cells)
    evens = [measured.rows[name].even for name in columns]
    last = () if all(map(math.isnan, evens)) else ((Cell("even", "even"), *map(cell, evens)),)
    return replace(sheet, rows=(*sheet.rows, *last))


def _figures(measured: Measured, part: str) -> list[Figure]:
    """Draw the figures of a part of the page that have something to show."""
    return [
        _figure(measured, part, (key, title), known)
        for key, (title, columns) in FIGURES[part].items()
        if (known := [name for name in columns if measured.has(name)])
    ]


def _figure(measured: Measured, part: str, name: tuple[str, str], columns: Sequence[str]) -> Figure:
    """Draw columns over layers: a mark per head, a line through the means, and even attention."""
    stack, labels = measured.run.scores.stack, {column: surface.short_name(column) for column in columns}
    tones = [TONES.get(column.partition(":")[2], 3 * (place > 0)) for place, column in enumerate(columns)]
    if len(set(tones)) < len(tones):
        tones = [*range(len(tones))]
    looks = {
        label: Look(tone, SYMBOLS[place % len(SYMBOLS)])
        for place, (label, tone) in enumerate(zip(labels.values(), tones, strict=True))
    }
    shifts = {column: STEP * (place - (len(columns) - 1) / 2) for place, column in enumerate(columns)}

    def placed(table: Table, key: str) -> Table:
        rows = table.take(np.isin(table[key], columns))
        shift = np.array([shifts[column] for column in rows[key]])
        named = rows.extended(SERIES, [labels[column] for column in rows[key]])
        return named.extended(PLACE, rows["layer"] + shift)

    means, heads = placed(measured.layers, "column"), placed(measured.heads, "sieve")
    lines, dash = [], "dash" if part == ENTROPY else "dot"
    for place, (label, look) in enumerate(looks.items()):
        own = means.where(series=label)
        if len(own) and part != IMPORTANCE:
            ends, even = (own["layer"][0] - 0.5, own["layer"][-1] + 0.5), float(own["even"].mean())
            tone = SOFT if part == ENTROPY else look.tone
            hover = f"%{{fullData.name}}, even {even:.3g}<extra></extra>"
            lines.append(Line(ends, (even, even), label, Look(tone, ""), hover, dash, place, width=1.5))
    dense = measured.run.findings.mean[0].size > DENSE
    over_heads = [
        *lines,
        Dots("at", "mean", by="series", looks=looks, size=4 if dense else 6, line=1, hover=HOVER,
             custom=OF_HEAD, text=lambda row: str(row.decision), marker={"opacity": 0.4 if dense else 0.7},
             toggles=str, rows=heads, filled=lambda row: bool(row.decision == ABOVE)),
        Key("head above even attention", Look(SOFT)), Key("head not above it", Look(SOFT, "circle-open")),
        Key("even attention", Look(SOFT, ""), dash),
    ]  # fmt: skip
    steep = part == IMPORTANCE and marks.is_steep(means["mean"]) and not (means["low"] <= 0).any()
    return Figure(
        *name, _highlight(measured, labels, part),
        "",
        means,
        [
            *(over_heads if part != IMPORTANCE else ()),
            Dots("at", "mean", ("low", "high"), "series", looks, size=11, hover=HOVER_MEAN,
                 custom=("layer", "low", "high"), marker={"symbol": "line-ew-open", "line": {"width": 3}},
                 toggles=str, joined=True, cap=4),
            Key("mean of a layer", Look(SOFT, ""), "solid"),
        ],
        x=marks.layers_axis(stack, range=[-0.6, stack.blocks - 0.4], showgrid=False),
        y=Axis(part or name[1], LOGARITHMIC if steep else LINEAR), height=340,
        numbers=_numbers(measured, labels, name[1], part),
    )  # fmt: skip


def _highlight(measured: Measured, labels: Mapping[str, str], part: str) -> str:
    """Return the layer with the largest mean of every column; with one column, the smallest as well."""
    parts, write = [], (lambda _, row: number(row.mean)) if part == IMPORTANCE else surface.interval_text
    for column, label in labels.items():
        rows = sorted(measured.layers.where(column=column), key=lambda row: row.mean)
        ends = [f"layer {row.layer} ({write(column, row)})" for row in rows[:1] + rows[-1:]]
        if len(rows) > 1 and len(labels) == 1:
            return f"Mean over a layer: from {ends[0]} to {ends[1]}."
        parts += [f"{label} in {ends[-1]}"] if ends else []
    alone = measured.run.findings.count.shape[1] == 1
    which = "Mean over the only layer" if alone else "Largest mean over a layer"
    return f"{which}: {'; '.join(parts)}." if parts else "No means over layers."


def _numbers(measured: Measured, labels: Mapping[str, str], title: str, part: str) -> Sheet:
    """Return every mean with its interval layer by layer and, but for importance, even attention."""
    shown = 1 if part == IMPORTANCE else 2
    header = [text for label in labels.values() for text in (f"{label} {ENDS}", "even")[:shown]]

    def cells(name: str, row: Row | None) -> list[Cell]:
        if row is None:
            return [MISSING] * shown
        return [Cell(surface.interval_text(name, row), row.mean), Cell(number(row.even), row.even)][:shown]

    return replace(_by_layer(measured, ["layer", *header], [*labels], cells), name=title)


def _page(measured: Measured) -> blocks.Page:
    run, decision, importances = measured.run, measured.run.decision, measured.of(*MEASURES)
    said, tests, shown = surface.noop_sentences(measured), measured.tables.noop, _maps(measured)
    tests = tests.take(np.isin(tests["kind"], [*{test.kind for test in tests if test.count}]))
    facts = run.manifest.get("surface")
    signs = " ".join(str(facts.get("marks") or "")) if isinstance(facts, Mapping) else ""
    in_words = [
        f"{surface.column_name(name)}: {surface.column_sentence(measured, name)}" for name in importances
    ]
    in_bars = {
        name: (surface.column_name(name), vars(measured.rows[name]), surface.column_sentence(measured, name))
        for name in measured.of(GROUP)
    }
    terms: dict[str, Any] = {"noun": "statistic", "chance": "even", "tested": [ABOVE, BELOW]}
    margin = next(line.value for line in account(run).main if line.term == "margin")
    return verdicts_page(
        run,
        f"Surface: {account(run).model or surface.answer_of(measured).title}",
        [
            Section("profiles", "Heads", "Heads", [
                shown,
                Fold("Every head as a table", [
                    Text("▲ above even attention, ▼ below. A click on a heading sorts.", "lead"),
                    Grid(_every_head(measured), limit=LONG),
                ], "every-head"),
            ]),
            Section("attention", "Layers", "Layer by layer", [
                Text("A mark per head, filled where it lies above even attention. The line is the mean of "
                     "each layer with its 95\u00a0% interval; the dotted line is even attention.", "lead"),
                Beside(_figures(measured, ATTENTION)),
                Text("Marks of one layer stand apart so that they do not hide each other. After Figure 2 of "
                     "Clark et al. (2019)."
                     + (f" Punctuation: tokens that are one of “{isolate(signs)}”." if signs else "")),
            ]),
            Section("entropies", "How broad", "How broad", [
                Text("Entropy of the attention of every head, in nats: 0 is one token only, the dashed line "
                     "is even attention.", "lead"),
                Beside(_figures(measured, ENTROPY)), Text("After Figure 4 of Clark et al. (2019)."),
            ]),
            Section("importance", "Loss", "What the loss needs", [
                *([Points(said)] if said else []), Beside(_figures(measured, IMPORTANCE)),
                Text("Importance of an attention weight: the absolute derivative of the loss by this weight, "
                     "and that derivative times the weight. Means over weights to one kind of token, over "
                     "inputs and heads of a layer. After Figure 3 of Clark et al. (2019)."),
                *([Fold("Every importance in words", [Points(in_words)])] if in_words else []),
                Fold("Tests: does attention to a kind of token matter less?", [
                    Grid(tests, "less important"),
                    Text("Score of an input: (o − k) / a. k is the mean importance of weights to tokens of "
                         "the kind, o that of weights to other tokens, a the mean of both. 0: both matter "
                         "the same; 1: only other tokens matter. “Less important”: significantly above 0. "
                         f"“Not less”: significantly below 0, which needs at least {ENOUGH_FOR_NOT} units; p "
                         "and q shown are those of “less important”. Each direction is corrected by itself "
                         "over the layers of one measure and kind."),
                ]),
            ]),
            Section("verdicts", "How sure", "How sure", [
                Grid(measured.table),
                Fold("Every statistic in words", [blocks.Drawing("verdict_bars", in_bars)]),
                blocks.Words(surface.glossary(decision)),
            ]),
        ],
        maps.HeadPanel(
            rows=[
                maps.Told(title=m.title, column=m.column, lines=("{mean}", "{word}")) for m in shown.maps
            ],
            sentence="Mean attention with its 95 % interval, and its decision against even attention.",
        ),
        (
            "One row per statistic (column “sieve”), layer and head. q belongs to “above even”, and q of not "
            "to “below even”. Importances are described, not tested.",
            "separator 2-9", caption(run, "Findings", surface.FAMILIES), (),
        ),
        {
            "alpha": f"{decision.alpha:g}, for above and for below even attention",
            "family": surface.FAMILIES.get(decision.family, decision.family),
            "margin": f"{margin} from even attention",
        },
        nouns=("Statistic", "Decision"),
        files={
            table.file: table.csv() for table in (measured.tables.layers, measured.tables.noop) if len(table)
        },
        words=surface.DECISION_WORDS, fine=FINE if importances else (),
        **(terms if measured.of(GROUP) else {}),
    )  # fmt: skip


def _every_head(measured: Measured) -> Sheet:
    """Return the means of every head, with a mark where they are above or below even attention."""
    findings, stack = measured.run.findings, measured.run.scores.stack
    heads = np.ndindex(findings.mean.shape[1:])
    names, columns = measured.of(GROUP, *MEASURES, known=True), []
    for name in names:
        at, write = findings.of(name), "{:.3f}".format if name.startswith(GROUP) else number
        known = zip(findings.mean[at].ravel().tolist(), findings.decision[at].ravel().tolist(), strict=True)
        columns.append([
            MISSING if math.isnan(value) else Cell(write(value), value, SIGNS.get(code, ""))
            for value, code in known
        ])  # fmt: skip
    places = [head_cell(Row(layer=stack.numbers[layer], head=head)) for layer, head in heads]
    rows = tuple(zip(places, *columns, strict=True))
    return Sheet("Every head", ("head", *map(surface.column_name, names)), rows)


def _maps(measured: Measured) -> maps.HeadMaps:
    """Return a map per statistic that has scores; importances, which are not tested, when they are chosen."""
    findings, shown = measured.run.findings, []
    for name in measured.of(GROUP, *MEASURES, known=True):
        column, group = findings.of(name), name.partition(":")[0]
        brief = group == GROUP and name not in ENTROPIES
        title = (surface.short_name if brief else surface.column_name)(name)
        ends = [float(end(findings.mean[column])) for end in (np.nanmin, np.nanmax)]
        spread, above = "–".join(map(maps.short_number, ends)), f"{measured.rows[name].above} above even"
        shown.append(claims.verdict_map(
            name, title[:1].upper() + title[1:], above if brief else spread,
            ("mean {mean}{; even attention |null}", "{word}"), column=column, shade=maps.MEAN,
            largest=ends[1], hidden=group != GROUP,
        ))  # fmt: skip
    return maps.HeadMaps(
        id="surface-maps",
        maps=shown,
        first="all statistics of attention",
        key=maps.key_of(role="above even attention"),
        caption="The stronger the shade, the larger the mean; every map has a scale of its own.",
    )
