"""The report of a surface run: its figures as in Clark et al. (2019), tables, sections and maps."""

import math
from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from headroles.records.findings import Labelling
from headroles.records.numbers import isolate, mean, number
from headroles.records.table import (
    ENDS,
    MISSING,
    Cell,
    Column,
    Row,
    Sheet,
    Table,
    chance,
    counted,
    head_cell,
    interval_ends,
)
from headroles.reports.account import account
from headroles.reports.embedded import findings_json
from headroles.reports.figures.drawing import SOFT, SYMBOLS
from headroles.reports.maps import MEAN, HeadMap, HeadMaps, HeadPanel, Told, short_number
from headroles.reports.marks import Axis, Dots, Figure, Key, Line, Look, is_steep, layers_axis
from headroles.reports.papers import caption
from headroles.reports.print.run_tables import findings_table
from headroles.reports.recorded import account_lines, last_sections
from headroles.reports.report import (
    LONG,
    Beside,
    Detail,
    Drawing,
    Fold,
    Grid,
    Named,
    Numbers,
    Page,
    Paper,
    Points,
    Report,
    Section,
    Text,
    Words,
)
from headroles.reports.summary import summarise
from headroles.reports.surface import (
    DECISION_WORDS,
    ENTROPIES,
    FAMILIES,
    GROUP,
    MEASURES,
    NAMES,
    PLACES,
    ROWS,
    SINKS,
    Measured,
    answer_of,
    column_name,
    column_sentence,
    glossary,
    interval_text,
    noop_sentences,
    short_name,
    value_text,
)
from headroles.stats.decision import ENOUGH_FOR_NOT
from headroles.terminal.facts import all_notes, describe_test, title_of

ATTENTION, ENTROPY, IMPORTANCE = "mean attention", "entropy (nats)", ""
"""Parts of the page, by the titles of the second axis of their figures; importances have one each."""
FIGURES = {
    ATTENTION: {
        "kinds": ("To the first token, separators and punctuation", [*SINKS]),
        "separators": ("To separators, from separators and from other tokens", [*NAMES][2:4]),
        "neighbours": ("To the previous, the next and the same token", [*PLACES]),
        "rows-first": ("From the first token", ROWS[:3]),
        "rows-separator": ("From separators", (ROWS[3], "surface:separator→separator", *ROWS[5:])),
    },
    ENTROPY: {key.partition(":")[2]: (NAMES[key][0], [key]) for key in ENTROPIES},
}
"""Title and columns of every figure of attention and entropy."""
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
    "%{fullData.name}<br>layer %{customdata[6]} head %{customdata[7]}: %{text}<br>"
    "mean %{customdata[0]:.3f} [%{customdata[1]:.3f}, %{customdata[2]:.3f}], even %{customdata[3]:.3f}"
    "<br>q above %{customdata[4]:.2g}, q below %{customdata[5]:.2g}<extra></extra>"
)
"""Hover text of a head."""
HOVER_MEAN = (
    "%{fullData.name}, mean of layer %{customdata[0]}<br>%{y:.4~g} "
    "[%{customdata[1]:.4~g}, %{customdata[2]:.4~g}]<extra></extra>"
)
"""Hover text of the mean of a layer."""
ABOVE, BELOW = DECISION_WORDS[:2]
FINE = ("mean", "null", "low", "high", "mean_low", "mean_high")
"""Numbers that have three digits where there are importances, which can be far below a thousandth."""
WIDE = 120
"""Columns of a terminal from which means by layer have three decimals."""
NONE = Row(layer=None, head=None, **dict.fromkeys(("mean", "low", "high", "q"), math.nan))
"""Head or layer of a statistic without means."""
OUTCOMES = ("above", "below", "undetermined", "untestable")
STATISTICS = Table("", "Where attention heads look", "a statistic", (
    Column("statistic", "Name of the statistic.", str, "statistic", column_name, short="attention to",
           terminal="narrow"),
    Column("even", "Value of even attention.", float, "even"),
    counted("above", "Heads above even attention.", "above", text=str, terminal="narrow"),
    counted("below", "Heads below even attention.", "below", text=str, terminal="narrow"),
    counted("undetermined", "Heads that the inputs do not decide.", "undetermined", text=str),
    counted("untestable", "Heads that cannot be tested.", "untestable", text=str),
    Column("layer", "Layer of the head with the largest mean.", "int | None"),
    Column("head", "The head with the largest mean.", "int | None", "largest in head", short="strongest",
           cell=lambda row: MISSING if row.head is None else head_cell(row), terminal="narrow"),
    Column("mean", "Its mean.", float, f"its mean {ENDS}", mean, ("low", "high"), short=f"mean {ENDS}",
           terminal="narrow"),
    *interval_ends(),
    chance("q", "Its q of the test above even attention.", "q", terminal="narrow"),
    Column("largest_layer", "The layer with the largest mean.", "int | None", "largest in layer",
           lambda value: "–" if value is None else str(value)),
    Column("layer_mean", "Its mean.", float, f"its mean {ENDS}", mean, ("layer_low", "layer_high")),
    *interval_ends("layer_low", "layer_high"),
), name="Statistics")  # fmt: skip
"""Every statistic, with the head and the layer that have the largest means."""


def report(run: Labelling) -> Report:
    """Return the report of a surface run."""
    measured = Measured(run)
    about = (
        ": heads above and below even attention, and the head and the layer with the largest means with "
        "their 95\u00a0% intervals"
    )
    papers = {
        "statistics": lambda: Paper(statistics(measured), caption(run, STATISTICS.title, FAMILIES, about)),
        "findings": partial(findings_table, run),
    }
    return Report(
        "headroles surface", title_of(run), answer_of(measured), all_notes(run), run.manifest, papers,
        page=partial(_page, measured), screen=partial(_screen, measured),
        cell=lambda: [Grid(statistics(measured))], facts=partial(_facts, measured),
    )  # fmt: skip


def _facts(measured: Measured, detail: Detail) -> list[Named]:
    """Return model, inputs, test and loss, where they are asked for."""
    run, loss = measured.run, measured.run.manifest.get("surface", {}).get("loss")
    tested = describe_test(run.decision, run.manifest.get("preset")).replace("one sieve", "one statistic")
    lines = [Named("tested", f"against even attention, both ways; {tested}", "")]
    lines += [Named("loss", _lower_first(loss), "")] if loss else []
    return [*account_lines(run), *lines] if detail.verbose else []


def _lower_first(line: str) -> str:
    """Return a sentence with a small first letter, to follow a name."""
    return line[0].lower() + line[1:]


def _screen(measured: Measured, detail: Detail) -> list[Grid | Named]:
    """Return the tables of a terminal: means by layer, strongest heads, importance; and sentences."""
    tested = [name for name in measured.columns if name.startswith(GROUP)]
    decimals = 3 if detail.width >= WIDE else 2
    usual, rows = ([name for name in tested if (name in ROWS) == own] for own in (False, True))
    table = statistics(measured).describe("statistic", text=short_name)
    blocks: list[Grid | Named] = [
        Grid(_by_layer(measured, usual, "layer", decimals)),
        *([Grid(_by_layer(measured, rows, "rows", decimals))] if rows else []),
        Grid(table.take(~np.isnan(table["mean"]) & ~np.isin(table["statistic"], ENTROPIES))),
    ]
    for measure in MEASURES:
        if columns := [name for name in measured.importances(measure) if measured.has(name)]:
            blocks.append(Grid(_by_layer(measured, columns, measure)))
    if detail.verbose:
        blocks += [
            Named("entropy", f"of {short_name(name)}: {_lower_first(column_sentence(measured, name))}", "")
            for name in ENTROPIES if measured.has(name)
        ]  # fmt: skip
        blocks += [Named("loss", _lower_first(line), "") for line in noop_sentences(measured)]
    return blocks


def _by_layer(
    measured: Measured, columns: Sequence[str], corner: str, decimals: int | None = None
) -> Sheet:  # fmt: skip
    """Return the means by layer, the largest of each column in bold; then those of even attention.

    Args:
        measured: What the run measured.
        columns: The columns.
        corner: Heading of the layers.
        decimals: Of every mean; None for three digits.
    """

    def cell(value: float, strong: bool = False) -> Cell:
        known = number(value) if decimals is None else f"{value:.{decimals}f}"
        return MISSING if math.isnan(value) else Cell(known, value, strong=strong)

    rows: list[tuple[Cell, ...]] = []
    means = [{layer: row.mean for layer, row in measured.by_layer(name).items()} for name in columns]
    for layer in measured.run.scores.stack.numbers:
        cells = (
            (own.get(layer, math.nan), len(own) > 1 and own.get(layer) == max(own.values())) for own in means
        )
        rows.append((Cell(str(layer), layer), *(cell(*known) for known in cells)))
    evens = [measured.even(name) for name in columns]
    if not all(map(math.isnan, evens)):
        rows.append((Cell("even", "even"), *map(cell, evens)))
    header = [NAMES[name][2] if name in NAMES else short_name(name) for name in columns]
    return Sheet("Means by layer", (corner, *header), tuple(rows))


def statistics(measured: Measured) -> Table:
    """Return one row per statistic: heads by decision, head and layer with the largest means."""
    rows = []
    for name in measured.statistics:
        top = measured.peak(name) if measured.has(name) else NONE
        most = max(measured.by_layer(name).values(), key=lambda row: row.mean, default=NONE)
        of_head = {key: getattr(top, key) for key in ("layer", "head", "mean", "low", "high", "q")}
        of_layer = {f"layer_{key}": getattr(most, key) for key in ("mean", "low", "high")}
        counts = dict(zip(OUTCOMES, measured.counts(name), strict=True))
        known = {"statistic": name, "even": measured.even(name), "largest_layer": most.layer}
        rows.append(known | counts | of_head | of_layer)
    return STATISTICS.rows(rows)


def _figures(measured: Measured, part: str) -> list[Figure]:
    """Draw the figures of a part of the page that have something to show."""
    wanted = FIGURES.get(part) or {
        f"importance-{place}": (formula, measured.importances(measure))
        for place, (measure, (formula, _)) in enumerate(MEASURES.items())
    }
    drawn = []
    for key, (title, columns) in wanted.items():
        if known := [name for name in columns if measured.has(name)]:
            drawn.append(_figure(measured, part, (key, title), known))
    return drawn


def _figure(measured: Measured, part: str, name: tuple[str, str], columns: Sequence[str]) -> Figure:
    """Draw columns over layers: a mark per head, a line through the means, and even attention."""
    stack, labels = measured.run.scores.stack, {column: short_name(column) for column in columns}
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
            lines.append(Line(ends, (even, even), label, Look(tone, ""), hover, dash, place, 1.5))
    dense = measured.run.findings.mean[0].size > DENSE
    over_heads = [
        *lines,
        Dots("at", "mean", by="series", looks=looks, size=4 if dense else 6, line=1, hover=HOVER,
             custom=OF_HEAD, text=lambda row: str(row.decision), marker={"opacity": 0.4 if dense else 0.7},
             toggles=str, rows=heads, filled=lambda row: bool(row.decision == ABOVE)),
        Key("head above even attention", Look(SOFT)),
        Key("head not above it", Look(SOFT, "circle-open")),
        Key("even attention", Look(SOFT, ""), dash),
    ]  # fmt: skip
    steep = part == IMPORTANCE and is_steep(means["mean"]) and not (means["low"] <= 0).any()
    return Figure(
        *name,
        _highlight(measured, labels, part),
        "",
        means,
        [
            *(over_heads if part != IMPORTANCE else ()),
            Dots("at", "mean", ("low", "high"), "series", looks, size=11, hover=HOVER_MEAN,
                 custom=("layer", "low", "high"), marker={"symbol": "line-ew-open", "line": {"width": 3}},
                 toggles=str, joined=True, cap=4),
            Key("mean of a layer", Look(SOFT, ""), "solid"),
        ],
        x=layers_axis(stack, range=[-0.6, stack.blocks - 0.4], showgrid=False),
        y=Axis(part or name[1], LOGARITHMIC if steep else LINEAR),
        height=340,
        numbers=_numbers(measured, labels, name[1], part),
    )  # fmt: skip


def _highlight(measured: Measured, labels: Mapping[str, str], part: str) -> str:
    """Return the layer with the largest mean of every column; with one column, the smallest as well."""
    parts, write = (
        [],
        (lambda column, row: value_text(column, row.mean)) if part == IMPORTANCE else interval_text,
    )
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
    header, known = ["layer"], {column: measured.by_layer(column) for column in labels}
    for label in labels.values():
        header += [f"{label} {ENDS}"] + ["even"] * (part != IMPORTANCE)
    rows = []
    for layer in measured.run.scores.stack.numbers:
        cells = [Cell(str(layer), layer)]
        for column in labels:
            row: Row | None = known[column].get(layer)
            cells += [Cell(interval_text(column, row), row.mean) if row else MISSING]
            cells += [Cell(number(row.even), row.even) if row else MISSING] * (part != IMPORTANCE)
        rows.append(tuple(cells))
    return Sheet(title, tuple(header), tuple(rows))


def _page(measured: Measured) -> Page:
    """Return sections and data of the page."""
    run, decision, summary = measured.run, measured.run.decision, summarise(measured.run)
    said, tests = noop_sentences(measured), measured.noop
    tests = tests.take(np.isin(tests["kind"], [*{test.kind for test in tests if test.count}]))
    tables = (measured.layer_means, measured.noop)
    files = {table.file: table.csv() for table in tables if len(table) or table is tables[0]}
    surface = run.manifest.get("surface")
    marks = " ".join(str(surface.get("marks") or "")) if isinstance(surface, Mapping) else ""
    importances = [
        f"{column_name(name)}: {column_sentence(measured, name)}" for name in measured.importances(*MEASURES)
    ]
    maps, names = _maps(measured), measured.run.findings.sieves
    fine = any(name.partition(":")[0] in MEASURES for name in names)
    terms = {"noun": "statistic", "chance": "even", "tested": [ABOVE, BELOW]} if measured.statistics else {}
    margin = next(line.value for line in account(run).main if line.term == "margin")
    precision = ["precision.csv"] * bool(summary.precision)
    return Page(
        f"Surface: {summary.account.model or answer_of(measured).title}",
        [
            Section("profiles", "Heads", "Heads", [
                maps,
                Fold("Every head as a table", [
                    Text("▲ above even attention, ▼ below. A click on a heading sorts.", "lead"),
                    Grid(_every_head(measured), limit=LONG),
                ], "every-head"),
            ]),
            Section("attention", "Layers", "Layer by layer", [
                Text("A mark per head, filled where it lies above even attention. The line is the mean of each "
                     "layer with its 95\u00a0% interval; the dotted line is even attention.", "lead"),
                Beside(_figures(measured, ATTENTION)),
                Text("Marks of one layer stand apart so that they do not hide each other. After Figure 2 of "
                     "Clark et al. (2019)."
                     + (f" Punctuation: tokens that are one of “{isolate(marks)}”." if marks else "")),
            ]),
            Section("entropies", "How broad", "How broad", [
                Text("Entropy of the attention of every head, in nats: 0 is one token only, the dashed line is "
                     "even attention.", "lead"),
                Beside(_figures(measured, ENTROPY)),
                Text("After Figure 4 of Clark et al. (2019)."),
            ]),
            Section("importance", "Loss", "What the loss needs", [
                *([Points(said)] if said else []),
                Beside(_figures(measured, IMPORTANCE)),
                Text("Importance of an attention weight: the absolute derivative of the loss by this weight, "
                     "and that derivative times the weight. Means over weights to one kind of token, over "
                     "inputs and heads of a layer. After Figure 3 of Clark et al. (2019)."),
                *([Fold("Every importance in words", [Points(importances)])] if importances else []),
                Fold("Tests: does attention to a kind of token matter less?", [
                    Grid(tests, "less important"),
                    Text("Score of an input: (o − k) / a. k is the mean importance of weights to tokens of "
                         "the kind, o that of weights to other tokens, a the mean of both. 0: both matter the "
                         "same; 1: only other tokens matter. “Less important”: significantly above 0. “Not "
                         f"less”: significantly below 0, which needs at least {ENOUGH_FOR_NOT} units; p and q "
                         "shown are those of “less important”. Each direction is corrected by itself over the "
                         "layers of one measure and kind."),
                ]),
            ]),
            Section("verdicts", "How sure", "How sure", [
                Grid(statistics(measured)),
                Fold("Every statistic in words", [Drawing("surface/verdicts.html", {
                    name: (column_name(name), measured.counts(name), column_sentence(measured, name))
                    for name in measured.statistics
                })]),
                Words(glossary(decision)),
            ]),
            Section("findings", "All numbers", "All numbers", [
                Text("One row per statistic (column “sieve”), layer and head; q is that of “above even”, q of "
                     "not that of “below even”. Importances are described, not tested.", "lead"),
                Text("This table, the plots and the downloads need JavaScript. The other tables do not.",
                     "warning"),
                Numbers(
                    "separator 2-9",
                    ["findings.csv", "labels.csv", "layers.csv", *["noop.csv"] * bool(len(measured.noop)),
                     *precision, "run.json"],
                    caption(run, "Findings", FAMILIES),
                    "Statistic",
                ),
            ]),
            *last_sections(run, {
                "alpha": f"{decision.alpha:g}, for above and for below even attention",
                "family": FAMILIES.get(decision.family, decision.family),
                "margin": f"{margin} from even attention",
            }),
        ],
        {
            "findings-columns": findings_json(
                summary, run.manifest.get("model"), words=DECISION_WORDS, fine=FINE if fine else (), **terms
            )
        },
        files,
        heads=HeadPanel(
            rows=[
                Told(title=map.title, column=map.column, lines=("{mean}", "{word}")) for map in maps.maps
            ],
            sentence="Mean attention with its 95 % interval, and its decision against even attention.",
        ),
        styles=["surface/surface.css"],
    )  # fmt: skip


def _every_head(measured: Measured) -> Sheet:
    """Return the means of every head, with a mark where they are above or below even attention."""
    findings, stack = measured.run.findings, measured.run.scores.stack
    columns = {name: findings.of(name) for name in measured.columns}

    def cell(name: str, place: tuple[int, ...]) -> Cell:
        at = (columns[name], *place)
        value = float(findings.mean[at])
        text = number(value) if name.partition(":")[0] in MEASURES else f"{value:.3f}"
        mark = {0: "▲", 1: "▼"}.get(int(findings.decision[at]), "")
        return MISSING if math.isnan(value) else Cell(text, value, mark)

    rows = tuple(
        (
            head_cell(Row(layer=stack.numbers[place[0]], head=place[1])),
            *(cell(name, place) for name in columns),
        )
        for place in np.ndindex(findings.mean.shape[1:])
    )
    return Sheet("Every head", ("head", *map(column_name, columns)), rows)


def _maps(measured: Measured) -> HeadMaps:
    """Return a map per statistic that has scores; importances, which are not tested, when they are chosen."""
    findings, maps = measured.run.findings, []
    for name in measured.columns:
        column, tested = findings.of(name), name.startswith(GROUP)
        ends = [float(end(findings.mean[column])) for end in (np.nanmin, np.nanmax)]
        above = f"{measured.counts(name)[0]} above even"
        title = short_name(name) if tested and name not in ENTROPIES else column_name(name)
        maps.append(
            HeadMap(
                name=name, title=title[:1].upper() + title[1:], column=column, shade=MEAN, hidden=not tested,
                note=above if tested and name not in ENTROPIES else "–".join(map(short_number, ends)),
                largest=ends[1], lines=("{head} · {title}", "mean {mean}{; even attention |null}", "{word}"),
            )
        )  # fmt: skip
    return HeadMaps(
        id="surface-maps",
        maps=maps,
        first="all statistics of attention",
        key=(("•", "above even attention"), ("▨", "undetermined")),
        caption="The stronger the shade, the larger the mean; every map has a scale of its own.",
    )
