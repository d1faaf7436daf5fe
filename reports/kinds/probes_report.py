"""The report of a run of probes: its figures, tables, sections and maps."""

import math
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from markupsafe import Markup

from headroles.records.findings import DECISIONS, Labelling
from headroles.records.numbers import percent, plural, points, with_range
from headroles.records.probes import BEST_HEADS, baseline_cell, best_head_cell, classifier_name
from headroles.records.table import MISSING, Cell, Column, Row, Sheet, Table
from headroles.reports import report as parts
from headroles.reports.account import Named, account_lines, all_notes, describe_test, title_of
from headroles.reports.drawing import FAINT, INK, RULE, SOFT, layer_ticks, plain
from headroles.reports.embedded import files_of, findings_json
from headroles.reports.kinds import probes as words
from headroles.reports.kinds.label_figures import figures
from headroles.reports.kinds.label_report import role_papers, role_prints, verdict_sheet
from headroles.reports.maps import MEAN, HeadMap, HeadMaps, HeadPanel, Told, key_of, largest_of
from headroles.reports.marks import Axis, Cells, Dots, Figure, Look, Note
from headroles.reports.papers import caption, families_of
from headroles.reports.recorded import last_sections
from headroles.reports.summary import summarise

LOOKS = {
    "beyond": Look(0, "diamond"), "not": Look(1), "undetermined": Look(7, "square"),
    "untestable": Look(FAINT, "x"),
}  # fmt: skip
"""Look of a tested accuracy by decision."""
MEANINGS = {
    "beyond": "tested, beyond the baseline", "undetermined": "undetermined", "not": "not beyond",
    "chosen": "where it was chosen", "baseline": "best baseline", "published": "published",
}  # fmt: skip
"""Meaning of the marks of best heads."""
TRAINED = {
    "trained": "trained", "random": "control with random weights", "baseline": "baseline",
    "published": "published",
}  # fmt: skip
"""Meaning of the marks of trained probes."""
TRAINED_LOOKS = {"trained": Look(0), "random": Look(0, "circle-open"), "baseline": Look(7, "square")}
HOVER = "%{text}<extra></extra>"
PUBLISHED_LOOK = {"": Look(FAINT, "x-thin-open")}
NEGATIVE, POSITIVE = "var(--tone-0)", "var(--tone-1)"
STRONG = 0.5
"""Least part of the largest weight at which a cell bears its sign."""
WEIGHTS = 30
"""Largest weights that are listed."""
GAPS, GAPS_OF_TERMINAL = 12, 5
"""Heads with the largest gaps that are shown in addition to the top head."""
FEW = 5
"""Most baselines whose table a terminal shows."""
LEVEL = {"range": [-2, 102], "tickvals": [0, 20, 40, 60, 80, 100], "showline": True}
GRID = Axis(settings={"showgrid": True, "gridcolor": RULE})
"""Axis of per cent, and that of rows."""
WIDE = 136
"""Columns of a terminal from which accuracies have a decimal."""
SHORT = {"undetermined": "?", "untestable": "×"}
SIGNS = "?: undetermined, ×: untestable"
RIGHT = "{mean}; baseline {null}"
"""Template of the accuracy of a head."""
MOST_MAPS = 12
"""Maps that stand on the page at first, at most."""
FAMILIES = dict.fromkeys(("sieve", "run", "layer"), "the rows of a probe")
"""Tests that are corrected together in the table of best heads."""


def report(run: Labelling) -> parts.Report:
    """Return the report of a run of probes."""
    asked = words.Asked(run)
    best = {"best": partial(_best_for_papers, asked)} if asked.results.best else {}
    return parts.Report(
        "headroles probes", title_of(run), words.answer_of(asked), all_notes(run), run.manifest,
        {**best, **role_papers(run)},
        page=partial(_page, asked), screen=lambda detail: [*_screen(asked, detail)], cell=lambda: (),
        facts=partial(_facts, asked), prints=partial(role_prints, run),
    )  # fmt: skip


def _facts(asked: words.Asked, detail: parts.Detail) -> list[Named]:
    """Return model, inputs, how the best heads were chosen, and the test, where they are asked for."""
    run, of = asked.run, f", relations of {asked.scheme}" if asked.scheme else ""
    if not detail.verbose:
        return []
    test = describe_test(run.decision, run.manifest.get("preset"), run.findings.rules)
    lines = {
        "best": asked.chosen if asked.results.best else "",
        "tested": test if run.findings.roles else "",
        "windows": asked.windows(losses=False),
    }
    return [
        *account_lines(run, of), *(Named(name, text, "") for name, text in lines.items() if text)
    ]  # fmt: skip


def _screen(asked: words.Asked, detail: parts.Detail) -> Iterator[parts.Grid | Named | str]:
    """Yield the tables of a terminal: best heads, few baselines, trained probes, and gaps."""
    results, wide = asked.results, detail.width >= WIDE
    for rows in asked.groups.values():
        yield replace(_best(rows, decimals=int(wide), brief=True), words={} if wide else SHORT)
    short = not wide and bool({*results.best["decision"].tolist()} & SHORT.keys())
    if results.best and detail.verbose:
        yield Named("columns", _columns_text(asked, short))
    elif short:
        yield SIGNS
    for probe in words.by_probe(results.baselines["row"].tolist()):
        sheet = _baselines(asked, probe, brief=True)
        if len(sheet.header) <= 1 + FEW:
            title = f"{probe}, all data{' (published)' * sheet.name.endswith('brackets')}"
            yield parts.Grid(replace(sheet, header=(title, *sheet.header[1:])))
    yield parts.Grid(results.trained, leave=_empty(results.trained))
    yield parts.Grid(results.contests)
    yield from _gaps(asked, GAPS_OF_TERMINAL)
    if detail.verbose and results.gaps:
        top = "the top head has the highest measure over all items, on which it is chosen"
        yield Named("top", f"{top}; it need not be a best head")
    if detail.verbose:
        for probe, counts in asked.counts.items():
            yield Named("heads", f"{probe}: {counts} heads × rows × directions", "")


def _columns_text(asked: words.Asked, short: bool) -> str:
    """Return the meaning of the columns of best heads in one paragraph."""
    best, honest = asked.results.best, asked.honest
    empty = _empty(best)
    told = {
        "head: layer-head from 0": True,
        "→ a word attends to its head most, ← its head is the word that attends to it most":
            any(best["direction"].tolist()),
        "chosen: % right on the half that head and baseline were chosen on, which flatters them; tested: % "
        "right on the other half, with its own 95 % interval; difference: from the baseline, in points, with "
        "the interval of the difference": honest,
        "chosen, tested: % right on all data, which head and baseline were chosen on: flattering": not honest,
        "contrast: attention on the right word beyond the head's own distance profile":
            "contrast" not in empty,
        asked.beyond: True,
        SIGNS: short,
        "published: BERT-base, other data and scheme, chosen on the data it is reported on":
            "published" not in empty,
    }  # fmt: skip
    return "; ".join(part for part, said in told.items() if said)


def _empty(table: Table) -> tuple[str, ...]:
    """Return the columns that are left out, because no row has a number in them."""
    names = ("contrast", "published")
    return tuple(name for name in names if name in table.data and np.isnan(table[name]).all())


def _best(rows: Table, *, decimals: int = 1, brief: bool = False) -> parts.Grid:
    """Return the best heads of a probe, one line per row; empty columns are left out.

    ``brief``: contrasts stand without intervals, published values without heads, and units in notes only.
    """
    margins, probe = words.margins_of(rows["margin"]), words.split_row(rows[0].row)[0]

    def row_cell(row: Row) -> Cell:
        name, title = words.split_row(row.row)[1], words.row_title(row.row, "")
        return Cell(name, name, title if title != name else "")

    in_per_cent, in_points = partial(percent, decimals=decimals), partial(points, decimals=decimals)
    published = partial(words.published_cell, decimals=decimals, heads=not brief)
    described: dict[str, dict[str, Any]] = {
        "row": {"heading": probe, "cell": row_cell}, "selection": {"text": in_per_cent},
        "q": {"heading": f"q (> {margins} points)" if margins else "q"}, "accuracy": {"text": in_per_cent},
        "difference": {"text": in_points}, "baseline": {"cell": partial(baseline_cell, decimals=decimals)},
        "contrast": {"heading": "contrast", "ends": ()} if brief else {}, "published": {"cell": published},
    }  # fmt: skip
    table = replace(rows, name=f"Best head of every row of {probe}")
    for name, changes in described.items():
        table = table.describe(name, **changes)
    return parts.Grid(table, "beyond", (*["units"] * brief, *_empty(rows)))


def _best_for_papers(asked: words.Asked) -> parts.Paper:
    """Return the best head of every row of every probe; cells that a row lacks have a dash."""
    best = asked.results.best
    rows = best.joined(asked.groups.values())
    probes = [words.split_row(row)[0] for row in rows["row"].tolist()]
    grid = _best(rows.extended(Column("probe", "The probe.", str, "probe"), probes))
    assert isinstance(grid.table, Table)
    table = grid.table.describe("row", heading="row")
    about = (
        ": right answers in per cent where it was chosen and where it was tested, and of the best baseline, "
        "with 95\u00a0% intervals clustered by unit: of the accuracy, and of its difference to the baseline"
    )
    return parts.Paper(
        best, caption(asked.run, "Best head of every row", FAMILIES, about), grid.leave,
        digits=[column.name for column in BEST_HEADS.columns],
        shown=replace(table, name="Best heads", first=("probe", *table.first)),
    )  # fmt: skip


def _baselines(asked: words.Asked, probe: str, *, brief: bool = False) -> Sheet:
    """Return rows × baselines of a probe on all data, published values in brackets, best heads' rows first.

    ``brief``: accuracies stand without intervals.
    """
    own = [row for row in asked.results.baselines if words.split_row(row.row)[0] == probe]
    by_cell = {(row.row, row.baseline): row for row in own}
    names, rows = dict.fromkeys(row.baseline for row in own), dict.fromkeys(row.row for row in own)
    best = [row.row for row in asked.groups.get(probe, ()) if row.row in rows]
    known = {row: asked.published.get(row, {}).get("baselines", {}) for row in rows}

    def cell(row: str, name: str) -> Cell:
        if (counted := by_cell.get((row, name))) is None:
            return MISSING
        text = percent(counted.accuracy) if brief else _accuracy(counted)
        return Cell(f"{text} ({percent(known[row][name])})" if name in known[row] else text, counted.accuracy)

    lines = (
        (Cell(words.split_row(row)[1], place), *(cell(row, name) for name in names))
        for place, row in enumerate(dict.fromkeys([*best, *rows]))
    )
    brackets = ", published values in brackets" * any(known.values())
    return Sheet(f"Baselines of {probe}, all data{brackets}", (probe, *names), tuple(lines))


def _accuracy(row: Row, name: str = "accuracy") -> str:
    """Return an accuracy of a row with its interval, in per cent."""
    return with_range(*map(percent, (getattr(row, name), row.low, row.high)))


def _gaps(asked: words.Asked, most: int) -> Iterator[parts.Grid]:
    """Yield the top head under two conditions, and ``most`` heads with the largest gaps below it.

    The top head has the highest measure over all items, and is chosen on the same items. The best head of a
    row (``BEST_HEADS``) is chosen on one half of the units and tested on the other, and may be another head.
    """
    gaps = asked.results.gaps
    for measure, first, second in dict.fromkeys((gap.measure, gap.first, gap.second) for gap in gaps):
        rows = gaps.where(measure=measure, first=first, second=second)
        top, size = int(np.nan_to_num(rows["both"], nan=-1.0).argmax()), np.abs(rows["difference"])
        order = [at for at in np.argsort(-size, kind="stable") if at != top and not math.isnan(size[at])]
        place = (rows["layer"][top], rows["head"][top])
        rows = rows.take([top, *order[:most]])

        def head(row: Row, place: tuple[int, int] = place) -> Cell:
            mark = " top head" * ((row.layer, row.head) == place)
            return Cell(f"{row.layer}-{row.head}{mark}", row.layer + row.head / 1000)

        headings = {"both": f"{measure}, all", "first_value": first, "second_value": second}
        for name, heading in headings.items():
            rows = rows.describe(name, heading=heading)
        yield parts.Grid(replace(rows.describe("head", cell=head), name=f"{measure}: {first} − {second}"))


def _in_per_cent(table: Table, *names: str) -> Table:
    """Return a table with some columns in per cent, as figures draw them."""
    return table.replace(**{name: 100 * table[name] for name in names})


def _best_figure(key: str, rows: Table) -> Figure:
    """Draw one row per relation or kind of mention: tested accuracy, selection, baseline, published value."""
    beating = int((rows["decision"] == "beyond").sum())
    texts = {}
    for row in rows:
        beyond = with_range(*map(points, (row.difference, row.difference_low, row.difference_high)))
        name, head = plain(words.split_row(row.row)[1]), plain(best_head_cell(row).text)
        texts[row.row] = Markup(
            f"<b>{name}</b>: {head}, {plain(row.decision)}<br>tested {_accuracy(row)} on {row.items:,} items"
            f"<br>chosen {percent(row.selection)}<br>{plain(row.baseline)} {percent(row.baseline_accuracy)}, "
            f"difference {beyond}"
            + ("" if math.isnan(row.published) else f"<br>published {percent(row.published)}")
        )
    drawn = _in_per_cent(rows, "accuracy", "low", "high", "selection", "baseline_accuracy", "published")
    dots = partial(Dots, hover=HOVER, text=lambda row: texts[row.row])
    return Figure(
        key,
        "",
        f"{beating} of {plural(len(rows), 'row')} {'has' if beating == 1 else 'have'} a best head that lies "
        "beyond the best baseline on data that chose neither.",
        "",
        drawn,
        [
            dots("baseline_accuracy", looks={"": Look(INK, "line-ns-open")}, name="baseline", size=17,
                 line=2),
            dots("selection", looks={"": Look(SOFT, "circle-open")}, name="chosen", size=11),
            dots("accuracy", ends=("low", "high"), by="decision", looks=LOOKS, size=9, line=2, bars=SOFT),
            dots("published", looks=PUBLISHED_LOOK, name="published", size=7),
        ],
        x=Axis("% right", LEVEL), y=GRID, meanings=MEANINGS,
        names=lambda row: f"{words.split_row(row.row)[1]}  {best_head_cell(row).text}",
    )  # fmt: skip


def _trained_figure(asked: words.Asked) -> Figure:
    """Draw the UAS of trained probes with intervals; controls are hollow, baselines square."""
    table = asked.results.trained
    texts = {classifier_name(row): f"{classifier_name(row)}: {_accuracy(row, 'uas')}" for row in table}
    drawn = _in_per_cent(table, "uas", "low", "high", "published")
    return Figure(
        "probe-trained",
        "",
        "Words whose head a trained probe finds (UAS, punctuation left out), on sentences it never saw.",
        "Intervals: 95\u00a0%, over documents; none below 20 of them. Random weights: the same probe on an "
        "untrained model.",
        drawn.replace(weights=[weights or "baseline" for weights in table["weights"].tolist()]),
        [
            Dots("uas", ends=("low", "high"), by="weights", looks=TRAINED_LOOKS, size=10, line=2, bars=SOFT,
                 hover=HOVER, text=lambda row: texts[classifier_name(row)]),
            Dots("published", looks=PUBLISHED_LOOK, name="published", hover=HOVER,
                 text=lambda row: f"published {row.published:.1f}"),
        ],
        x=Axis("UAS, %", LEVEL), y=GRID, names=classifier_name, numbers=table.sheet(leave=_empty(table)),
        meanings=TRAINED,
    )  # fmt: skip


def _weights_figure(asked: words.Asked, number: int, name: str) -> Figure:
    """Draw the weights that an attention-only probe learned for every head, a map for each direction."""
    learned, stack = asked.results.weights.where(classifier=name), asked.run.scores.stack
    layers = asked.run.scores.layers
    places = [stack.place(layer) for layer in learned["layer"].tolist()]
    learned = learned.extended(Column("place", "Place of the layer.", int), places)
    reach = float(np.nanmax(np.abs(learned["weight"]), initial=0.0)) or 1.0
    known = learned.take(~np.isnan(learned["weight"]))
    largest = known.take(np.argsort(-np.abs(known["weight"]), kind="stable")[:WEIGHTS])
    above = {"x": 0, "xref": "paper", "xanchor": "left", "y": 1, "yref": "paper", "yanchor": "bottom"}

    def sign(row: Row) -> str:
        return "+" if row.weight >= STRONG * reach else "−" if row.weight <= -STRONG * reach else ""

    def drawn(key: str, direction: str, meaning: str, sentence: str) -> Figure:
        return Figure(
            key,
            "",
            sentence,
            "On the log-odds scale, per unit of attention. Weights of at least half the largest have a sign. "
            "Heads that say the same share their weight, so a small one does not mean a useless head.",
            learned.where(direction=direction),
            [
                Cells("place", "head", "weight", (NEGATIVE, "var(--panel)", POSITIVE), (-reach, reach), "",
                      f"{direction} layer %{{customdata[0]}} head %{{customdata[1]}}<br>"
                      "weight %{customdata[2]:.2f}<extra></extra>", text=sign,
                      settings={"size": 14, "layers": stack,
                                "colorbar": {"tickfont": {"color": SOFT, "size": 12}}}),
                Note(f"{direction} {meaning}", {"size": 13, "color": INK, **above}),
            ],
            x=Axis("head", {"dtick": 1 if asked.run.scores.heads <= 16 else 4}),
            y=Axis("layer", layer_ticks(stack, 1 if layers <= 16 else 4, by_place=True)),
            height=80 + (34 if layers <= 16 else 22) * layers,
            layout={"margin": {"l": 44, "r": 8, "t": 34, "b": 48}},
        )  # fmt: skip

    key, table = f"probe-weights-{number}", replace(largest, name=f"Learned weights: {name}")
    return replace(
        drawn(key, "→", "a word attends to its head",
              "Learned weight of every head: positive (+, orange) = evidence for being the head, negative "
              "(−, blue) = evidence against."),
        numbers=table.describe("head", heading=f"the {WEIGHTS} largest").sheet(),
        beside=drawn(f"{key}-back", "←", "a head word attends to its dependent",
                     "The same for attention in the other direction."),
    )  # fmt: skip


def _page(asked: words.Asked) -> parts.Page:
    """Return sections and data of the page."""
    run, results = asked.run, asked.results
    summary, files, maps = summarise(run), files_of(run), _maps(asked)
    panels = [] if summary.many else [one for one in figures(summary) if one.key in ("means", "layers")]
    tested = [words.OUTCOMES.get(name, name) for name in DECISIONS]
    return parts.Page(
        f"Probes: {summary.account.model or words.answer_of(asked).title}",
        [
            parts.Section("profiles", "Heads", "Heads", [
                maps if maps.maps
                else parts.Text("No head was asked by itself; the trained probes are below.", ""),
            ]),
            parts.Section("probes", "Best heads", "Best heads", _best_blocks(asked) if results.best else ()),
            parts.Section("trained", "Trained probes", "Trained probes", _trained_blocks(asked)),
            parts.Section("gaps", "Conditions", "Two conditions compared", [
                parts.Text("The top head has the highest measure over all items; the others differ most "
                           "between the conditions. All heads are in conditions.csv. The top head is chosen "
                           "on the data it is shown on, so it need not be the best head above.", "lead"),
                *_gaps(asked, GAPS),
                parts.Text("Two-sided, q adjusted over the heads. The largest gaps were picked by their "
                           "size, so they flatter themselves."),
            ]),
            parts.Section("verdicts", "How sure", "How sure", [
                parts.Fold("Heads by decision, one line per row and direction",
                           [parts.Grid(verdict_sheet(summary))] if summary.roles else ()),
                *(parts.Fold(panel.title, [replace(panel, title="")]) for panel in panels),
                parts.Words(words.glossary(asked)),
            ]),
            parts.Section("findings", "All numbers", "All numbers", [
                parts.Text("One row per column, layer and head. Rows marked “contrast” are attention on the "
                           "right word beyond the head’s distances.", "lead"),
                parts.Text("This table, the plots and the downloads need JavaScript. The tables of best "
                           "heads do not.", "warning"),
                parts.Numbers(
                    "amod 2-8",
                    ["findings.csv", "labels.csv", *["precision.csv"] * bool(summary.precision), *files,
                     "run.json"],
                    caption(run, "Findings", families_of(run)),
                    note="Two 95\u00a0% intervals belong to an accuracy: its own (mean: low, high), and that "
                    "of its difference from the baseline, which is tested, laid around the accuracy.",
                ),
            ]),
            *last_sections(run),
        ],
        {
            "findings-columns":
                findings_json(summary, run.manifest.get("model"), words=[*tested, "contrast"]),
        },
        files,
        heads=HeadPanel(
            rows=[
                Told(title=map.title, column=map.column, percent=True, lines=(RIGHT, "{word}"))
                for map in maps.maps
            ],
            sentence="Beyond the baseline in {held} of "
            f"{len(maps.maps)} rows and directions, each tested by itself.",
            ranked=True,
        ) if maps.maps else None,
    )  # fmt: skip


def _trained_blocks(asked: words.Asked) -> list[parts.Block]:
    """Return trained probes, how they compare, and the weights that they learned for every head."""
    results, blocks = asked.results, list[parts.Block]()
    if results.trained:
        blocks += [_trained_figure(asked)]
        blocks += [parts.Text(words.PUBLISHED)] * bool(asked.published and not results.best)
    if results.contests:
        blocks += [
            parts.Text("Against each other", "heading"),
            parts.Grid(results.contests, leave=("statistic",)),
            parts.Text("Paired on the same words, clustered by document; two-sided."),
        ]
    names = enumerate(dict.fromkeys(results.weights["classifier"].tolist()))
    weights = (
        parts.Fold(f"Learned weights: {name}", [_weights_figure(asked, at, name)]) for at, name in names
    )
    return [*blocks, *weights]


def _best_blocks(asked: words.Asked) -> list[parts.Block]:
    """Return how the best heads were chosen, and every probe: its rows, these drawn, and its baselines."""
    counts, baselines = asked.counts, words.by_probe(asked.results.baselines["row"].tolist())
    scheme = f"Relations are those of the scheme {asked.scheme}." if asked.scheme else ""
    blocks: list[parts.Block] = [
        parts.Text(
            "The best head, direction and baseline of every row were chosen on one half of the units and "
            "tested on the other. Both numbers are shown: “chosen” flatters the best of many, “tested” does "
            "not."
            if asked.honest
            else "The best head, direction and baseline of every row were chosen on the data they are shown "
            "on, as published. The best of many looks better than it is, so nothing of it is tested.",
            "lead",
        ),
        parts.Text(f"{words.as_sentence(asked.chosen)} {words.as_sentence(asked.beyond)}"),
        *(parts.Text(note) for note in (scheme, words.as_sentence(asked.windows())) if note),
    ]
    for number, (probe, rows) in enumerate(asked.groups.items()):
        sheet = _baselines(asked, probe)
        blocks += [
            parts.Text(words.TITLES.get(probe, probe), "heading"),
            *[parts.Text(words.QUESTIONS.get(probe, ""), "lead")] * (probe in words.QUESTIONS),
            _best(rows, brief=True),
            parts.Text("q tests the difference against the margin, not against 0: an interval can exclude 0 "
                       "and q stay large. Items are words with a right answer. Units are the documents of "
                       "these words."),
            _best_figure(f"probe-{number}", rows),
            *[parts.Text(f"Every head is tested for each row and direction by itself: {counts.get(probe)}.")]
            * (probe in counts),
            *[parts.Fold(sheet.name, [parts.Grid(sheet)])] * (probe in baselines),
        ]  # fmt: skip
    return [*blocks, *[parts.Text(words.PUBLISHED)] * bool(asked.published)]


def _maps(asked: words.Asked) -> HeadMaps:
    """Return a map per row and direction that every head was tested in, and which stand on the page at first.

    At first stand the columns in which some head beats the baseline by itself, the best first; at most
    ``MOST_MAPS``, and the largest column where there is none.
    """
    findings, best = asked.run.findings, asked.results.best
    gain = {words.column_of(row): row.difference for row in best if not math.isnan(row.difference)}
    found = {name: int((findings.decision[findings.of(name)] == 0).sum()) for name in findings.roles}
    known = sorted(filter(found.get, found), key=lambda name: (-gain.get(name, -1.0), -found[name]))
    first = known[:MOST_MAPS] or findings.roles[:1]
    return HeadMaps(
        id="probe-maps",
        maps=[
            HeadMap(
                name=name, title=_column_title(name), note=f"{count} beyond", column=findings.of(name),
                shade=MEAN, largest=largest_of(findings.mean[findings.of(name)]), hidden=name not in first,
                percent=True, lines=("{head} · {title}", f"right {RIGHT}", "{word}"),
            )
            for name, count in found.items()
        ],
        first="rows with a head beyond its baseline",
        key=key_of(role="beyond the baseline"),
        caption="Every head by itself, on all units; the stronger the shade, the more often it is right. "
        "Every map has a scale of its own. →: the word attends; ←: it is attended to.",
    )  # fmt: skip


def _column_title(name: str) -> str:
    """Return a column of the findings in words, with its own name."""
    row, direction = (name[:-2], name[-1]) if name.endswith((":→", ":←")) else (name, "")
    label, title = f"{words.split_row(row)[1]} {direction}".rstrip(), words.row_title(row, direction)
    return title if title == label else f"{title} ({label})"
