"""The report of a comparison of two runs: its figures, tables, sections and maps."""

import base64
import json
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import compress
from typing import Any

import numpy as np

from headroles.records.comparison import ALL_ROLES, COLUMNS, OUTCOMES, Comparison
from headroles.records.markup import model_name
from headroles.records.numbers import isolate, plural
from headroles.records.prompt import MOST_HEADS
from headroles.records.roles import phrase_of, role_marks, titles_of
from headroles.records.table import Cell, Row, Sheet, Table
from headroles.records.table import Column as TableColumn
from headroles.reports import marks
from headroles.reports.account import Named, describe_run
from headroles.reports.drawing import ACCENT, FAINT, INK, SOFT, bar_width, layer_ticks, tone
from headroles.reports.embedded import script_json
from headroles.reports.kinds import compare as words
from headroles.reports.kinds.compare import CHANGED, Compared
from headroles.reports.maps import DIFFERENCE, MARKS, CellLook, HeadMap, HeadMaps, HeadPanel, Told, largest_of
from headroles.reports.notebook import MOST_MARKS
from headroles.reports.prints import file_names, with_legend
from headroles.reports.report import (
    Block,
    Command,
    Detail,
    Drawing,
    Fold,
    Grid,
    Methods,
    Numbers,
    Page,
    Paper,
    Report,
    Section,
    Text,
    Words,
)
from headroles.reports.works import citation_bibtex, methods_text

LOOKS = {
    "changed": marks.Look(1, "triangle-up"), "equivalent": marks.Look(0, "circle-open"),
    "undetermined": marks.Look(7, "square"), "identical": marks.Look(4, "square-open"),
}  # fmt: skip
"""Look of every outcome that has a mark."""
HATCHED = {"undetermined": "/", "untestable": "."}
"""Hatching of the bars of outcomes."""
GAINED, LOST = MARKS["gained"], MARKS["lost"]
SIGNS = {word: MARKS.get(word, "") for word in OUTCOMES}
"""Mark of a cell of the maps for print, by outcome; gained and lost roles are added."""
CELL_LOOKS = tuple(
    CellLook(f"{word}{told}", mark or SIGNS[word].replace(MARKS["undetermined"], ""),
             framed=word == "changed", hatched=word == "undetermined")
    for mark, told in (("", ""), (GAINED, ", role gained"), (LOST, ", role lost"))
    for word in OUTCOMES
)  # fmt: skip
"""Looks of cells by outcome: of heads that kept their label, that gained, and that lost the role."""
HOVERED = ("mean_a", "mean_b", "difference", "low", "high", "q", "q_equivalent", "layer", "head")
HOVER = (
    "%{fullData.name}<br>layer %{customdata[7]} head %{customdata[8]}<br>"
    "A %{customdata[0]:.3f}, B %{customdata[1]:.3f}<br>"
    "difference %{customdata[2]:.3f} [%{customdata[3]:.3f}, %{customdata[4]:.3f}]<br>"
    "q %{customdata[5]:.2e}, q of equivalence %{customdata[6]:.2e}<extra></extra>"
)
"""Hover text of a head."""
HEADINGS = {
    "mean_a": "mean A", "mean_b": "mean B",
    "p_equivalent": "p of equivalence", "q_equivalent": "q of equivalence",
}  # fmt: skip
"""Columns of the table of all numbers whose heading is not their name."""
MOST = 15
"""Largest changes in the table on the page at most."""
PLACE = TableColumn("place", "Place of the layer among those that are read.", int)
MOVED = TableColumn("moved", "Whether the role was gained or lost.", str)
MARK = TableColumn("mark", "Short mark of the role.", str, "mark")


def report(found: Comparison) -> Report:
    """Return the report of a comparison of two runs."""
    compared = Compared(found)
    answer = words.answer_of(compared)
    return Report(
        "headroles compare", answer.title, answer, (found.remarks, ()), found.manifest,
        {
            "changes": lambda: Paper(compared.changes, words.caption(compared), leave=("p",)),
            "differences": lambda: Paper(compared.table, words.caption(compared)),
        },
        page=partial(_page, compared), screen=partial(_screen, compared), cell=partial(_cell, compared),
        facts=lambda detail: [Named(name.upper(), describe_run(found.manifest[name]), "") for name in "ab"],
        prints=lambda width: dict(_maps_for_print(compared)),
    )  # fmt: skip


def _screen(compared: Compared, detail: Detail) -> list[Named | Grid]:
    """Return units and test, outcomes by layer and by sieve, and what moved, where they are asked for."""
    if not detail.verbose:
        return []
    facts, row = compared.found.manifest, compared.swaps
    counts, swaps = facts["counts"], compared.drawn
    drawn = f"; {swaps:,} swaps, seed {compared.found.decision.seed}" if swaps else ""
    units = f"{counts['units']}, from {plural(counts['examples'], 'example')} ({facts['matched']})"
    return [
        Named("units", units, ""), Named("tested", words.test_line(compared) + drawn, ""),
        Grid(compared.layers.sheet()),
        Grid(compared.changes, leave=() if compared.drawn else ("swapped", "p")),
        Named("found", words.outcomes_sentence(compared), ""),
        *([] if row is None else [Named("labels", f"of all roles: {words.label_change_text(row)}", "")]),
        Named("moved", words.layers_sentences(compared), ""),
    ]  # fmt: skip


def _cell(compared: Compared) -> list[Text | Grid]:
    """Return both models, outcomes by sieve, and the roles that every head gained and lost."""
    found, names = compared.found, compared.found.before.roles
    a, b = (isolate(model_name(found.manifest.get(name))) for name in ("a", "b"))
    _, layers, heads = found.differences.count.shape
    signs, many = role_marks(names), len(names) > MOST_MARKS or layers * heads > MOST_HEADS
    before, after = (
        run.decision[compared.roles].reshape(len(names), layers * heads) == 0
        for run in (found.before, found.after)
    )
    moves = [(sign, held.T) for sign, held in ((GAINED, after & ~before), (LOST, before & ~after))]

    def cell(head: int) -> Cell:
        texts = [
            f"{sign}{held[head].sum()}" if many else f"{sign}{f' {sign}'.join(compress(signs, held[head]))}"
            for sign, held in moves if held[head].any()
        ]  # fmt: skip
        return Cell(" ".join(texts) or "·", "")

    rows = [
        (Cell(str(layer), layer), *(cell(place * heads + head) for head in range(heads)))
        for place, layer in enumerate(found.stack.numbers)
    ]
    title = f"{'Number of roles' if many else 'Roles'} gained (+) and lost (−), by layer (rows) and head"
    by_head = Grid(Sheet(title, ("", *map(str, range(heads))), tuple(rows)))
    of_role = dict(zip(names, signs, strict=True))
    table = compared.changes.extended(MARK, [of_role.get(row.sieve, "–") for row in compared.changes])
    shown = ("sieve", *OUTCOMES, "difference", "gained", "lost", *([] if many else ["mark"]))
    return [
        Text(f"B − A: A is {a}, B is {b}. {words.test_line(compared)}."),
        Grid(replace(table, name="Heads by sieve").sheet(only=shown)),
        by_head if (before != after).any() else Text("No head gained or lost a role."),
    ]


def _by_sieve(compared: Compared) -> marks.Figure:
    """Draw means of A and B, and outcomes by layer, of which a reader sees one sieve at a time."""
    means, outcomes, found = [], [], compared.found

    def guide(ends: list[float], shift: float) -> marks.Line:
        name, colour, dash = "no difference", SOFT, "solid"
        if shift:
            name, colour, dash = f"± {compared.bound}", FAINT, "dash"
        moved = [end + shift for end in ends]
        return marks.Line(ends, moved, name, marks.Look(colour, ""), dash=dash, width=1)

    for row in compared.changes:
        rows, by_layer = (table.where(sieve=row.sieve) for table in (compared.table, found.layers))
        known = np.concatenate([rows["mean_a"], rows["mean_b"]])
        known = known[~np.isnan(known)]
        ends = [float(known.min()), float(known.max())] if known.size else []
        means.append(marks.Figure(
            "means", row.sieve,
            "Mean score in A against mean score in B; the dashed lines lie at ± the bound.",
            str(row.changed), rows,
            [
                *(guide(ends, shift) for shift in (0.0, found.bound, -found.bound) if ends),
                marks.Dots("mean_a", "mean_b", by="outcome", looks=LOOKS, size=9, line=2, hover=HOVER,
                           custom=HOVERED),
            ],
            x=marks.Axis("mean in A", {"showline": True}), y=marks.Axis("mean in B", {"showline": True}),
            height=430,
        ))  # fmt: skip
        outcomes.append(marks.Figure(
            "outcomes", row.sieve, "Heads in each layer that changed, are equivalent, or neither.", "",
            by_layer,
            [
                marks.Trace({
                    "type": "bar", "x": by_layer["layer"].tolist(), "y": by_layer[word].tolist(),
                    "name": word,
                    "marker": {
                        "color": LOOKS[word].colour if word in LOOKS else FAINT,
                        "pattern": {"shape": HATCHED.get(word, ""), "fillmode": "replace"},
                    },
                    "hovertemplate": "layer %{x}: %{y} %{fullData.name}<extra></extra>", "showlegend": True,
                    **bar_width(found.stack),
                })
                for word in OUTCOMES
            ],
            x=marks.layers_axis(found.stack, showgrid=False), y=marks.Axis("heads", {"rangemode": "tozero"}),
            height=430, layout={"barmode": "stack", "bargap": 0.25},
        ))  # fmt: skip
    return replace(
        means[0], title="", parts=means, beside=replace(outcomes[0], title="", parts=outcomes),
        caption="Diamonds and orange: changed. Open circles and blue: equivalent within "
        f"±{compared.bound}. Grey crosses, or hatched: undetermined.",
    )  # fmt: skip


def _label_changes(compared: Compared) -> marks.Figure:
    """Draw labels gained above 0 and labels lost below it, in each layer."""
    rows = compared.layers
    reach = max(1, *rows["gained"].tolist(), *rows["lost"].tolist())
    bars = [
        marks.Trace({
            "type": "bar", "x": rows["layer"].tolist(), "y": (sign * rows[name]).tolist(), "name": name,
            "marker": {"color": colour}, "text": [f"{mark}{moved}" if moved else "" for moved in rows[name]],
            "textposition": "outside", "cliponaxis": False, "textfont": {"color": INK, "size": 12},
            "customdata": rows[name].tolist(), "showlegend": True, **bar_width(compared.found.stack),
            "hovertemplate": "layer %{x}: %{customdata} %{fullData.name}<extra></extra>",
        })
        for name, mark, sign, colour in (("gained", GAINED, 1, tone(2)), ("lost", LOST, -1, ACCENT))
    ]  # fmt: skip
    whole = {"dtick": 1} if reach <= 5 else {}
    return marks.Figure(
        "moved", "", "Labels gained (up) and lost (down) in each layer, all roles together.", "", rows,
        [*bars, marks.Rule(0.0, "y", colour=FAINT, width=1)],
        x=marks.layers_axis(compared.found.stack, showgrid=False),
        y=marks.Axis("labels", {"range": [-1.25 * reach, 1.25 * reach], **whole}),
        height=280, layout={"barmode": "relative", "bargap": 0.35},
    )  # fmt: skip


def _maps_for_print(compared: Compared) -> Iterator[tuple[str, Any]]:
    """Yield a map per sieve by name: layers × heads, shaded by the difference, symmetric around 0."""
    found, stack = compared.found, compared.found.stack
    _, layers, heads = found.differences.count.shape
    steps = [1 if size <= 16 else 4 for size in (layers, heads)]
    signs = np.array(["", GAINED, LOST], dtype=object)
    meanings = [*((mark, word) for word, mark in SIGNS.items()), (GAINED, "role gained in B")]
    entries = [marks.Entry(f"{mark or 'no mark'}  {word}") for mark, word in [*meanings, (LOST, "role lost")]]
    colours = (LOOKS["equivalent"].colour, "var(--panel)", LOOKS["changed"].colour)
    key = {"tickfont": {"color": SOFT, "size": 12}, "title": {"text": "B − A", "font": {"size": 12}}}
    for number, slug in enumerate(file_names(found.differences.sieves)):
        sieve = found.differences.sieves[number]
        rows = compared.table.where(sieve=sieve).extended(PLACE, np.repeat(np.arange(layers), heads))
        rows = rows.extended(MOVED, signs[_moves(compared, number)])
        reach = largest_of(np.abs(rows["difference"]), found.bound)
        drawn = marks.plotly_json(marks.Figure(
            "map", "", "", "", rows,
            [
                marks.Cells("place", "head", "difference", colours, (-reach, reach), sieve, "",
                            text=lambda row: SIGNS[row.outcome] + row.moved, settings={"colorbar": key}),
            ],
            x=marks.Axis("head", {"dtick": steps[1]}),
            y=marks.Axis("layer", layer_ticks(stack, steps[0], by_place=True)),
            height=90 + (34 if layers <= 16 else 22) * layers,
        ))  # fmt: skip
        sentence = "Difference B − A of every head, layers as rows and heads as columns."
        drawn["layout"]["meta"] = {"sentence": f"{isolate(sieve)}: {sentence}"}
        yield f"map-{slug}", with_legend(drawn, entries)


def _moves(compared: Compared, sieve: int) -> np.ndarray:
    """Return 1 for heads that gained the role of a sieve, 2 for those that lost it, 0 for others."""
    before, after = (
        run.decision[sieve].ravel() == 0 for run in (compared.found.before, compared.found.after)
    )
    moves: np.ndarray = np.where(after, 1, 2) * (before != after)
    return moves


def _page(compared: Compared) -> Page:
    """Return sections and data of the page."""
    found, maps = compared.found, _maps(compared)
    names, roles = words.run_names(found.manifest), compared.roles
    files = {table.file: table.csv() for table in (found.moved, found.layers, found.swaps)}
    moved = found.moved.take((found.moved["gained"] != "") | (found.moved["lost"] != ""))
    changed = (compared.table["outcome"] == "changed") & np.repeat(roles, found.differences.count[0].size)
    largest = replace(compared.table, name="Largest changes").take(changed)
    largest = largest.take(np.argsort(-np.abs(largest["difference"]), kind="stable")[:MOST])
    largest = largest.describe("sieve", heading="role").describe("q", heading="q (≠ 0)")
    shown = ("sieve", *OUTCOMES, "difference")

    def title(row: Row) -> Cell:
        text = phrase_of(row.sieve).title
        return Cell(text, text, row.sieve if text != row.sieve else "")

    of_roles = compared.changes.take(roles).describe("sieve", heading="role", cell=title)
    contrasts = compared.changes.take(~roles).describe("sieve", heading="contrast")
    contrasts = replace(contrasts, name=f"Contrasts of roles ({len(contrasts)})")
    by_chance = (
        "“By swaps”: how many change by chance, when A and B are swapped at random within each unit and both "
        "are labelled anew."
        if compared.drawn
        else "No swaps were drawn, so how many change by chance is not known."
    )
    swaps = f"{compared.drawn:,} swaps, " if compared.drawn else ""

    def titled(table: Table, *only: str) -> list[Block]:
        grid = Grid(table.sheet(only=only))
        return [Text(table.name, "heading"), grid] if len(table) else []

    return Page(
        f"Compared: {names[0]} → {names[1]}",
        [
            Section("verdicts", "Heads", "Heads", [
                maps,
                *titled(largest, "head", "sieve", "mean_a", "mean_b", "difference", "q"),
                Words(words.glossary(compared)),
            ]),
            Section("layers", "Layers", "Layer by layer", [
                Text(words.layers_sentences(compared), "lead"),
                _label_changes(compared),
                Fold("The numbers of every layer", [
                    Grid(compared.layers),
                    Text("A row counts the heads and roles of a layer, without contrasts. Layers are "
                         "not a sample."),
                ]),
            ]),
            Section("sieves", "Sieves", "Sieve by sieve", [
                Grid(of_roles.sheet(only=shown)),
                Fold(contrasts.name, [Grid(contrasts.sheet(only=shown))]),
                Fold("Means of A and B drawn, one sieve at a time", [_by_sieve(compared)]),
                Words(words.verdicts(compared), "Every sieve in words", ""),
                Fold("Every sieve by layer", [Grid(replace(found.layers, name="Sieves by layer").sheet(
                    leave=("labels_a", "labels_b", "gained", "lost")))]),
            ]),
            Section("swaps", "Roles moved", "Roles gained and lost", [
                Text(f"Roles that heads gained and lost from A to B. {by_chance}", "lead"),
                Grid(found.swaps, ALL_ROLES),
                *titled(moved, "head", "gained", "lost"),
            ]),
            Section("findings", "All numbers", "All numbers", [
                Text("One row per sieve, layer and head, contrasts included. q of equivalent heads is 1: "
                     "they are taken out of the list of changed ones before it is corrected.", "lead"),
                Text("This table and the plots need JavaScript. The sentences, the layers and the roles "
                     "gained and lost do not.", "warning"),
                Numbers("local 2-9", ["differences.csv", *files, "manifest.json"], words.caption(compared),
                        decision="Outcome"),
            ]),
            Section("methods", "Methods", "Methods", [Methods(methods_text(found), citation_bibtex(found))]),
            Section("run", "", "What was compared", [
                Command(str(found.manifest.get("command") or "")),
                Text(f"Tested: {words.test_line(compared)}; {swaps}seed {found.decision.seed}."),
                Drawing("runs_compared", {"rows": words.recorded_of_two(found.manifest)}),
                Text("Rows in grey are the same in both."),
            ]),
        ],
        {"findings-columns": _differences_json(compared)},
        files,
        heads=HeadPanel(
            rows=[Told(
                title=map.title if map.title == map.name else f"{map.title} ({map.name})", column=map.column,
                lines=("A {mean_a}, B {mean_b}; {difference}", "{word}"),
            ) for map in maps.maps],
            sentence="Means of A and B, and their difference with its 95 % interval.",
        ),
    )  # fmt: skip


def _differences_json(compared: Compared) -> str:
    """Return every difference by column for the page's scripts: 64-bit floats, little-endian, base64."""
    differences = compared.found.differences

    def packed(name: str, kind: str) -> str:
        return base64.b64encode(getattr(differences, name).astype(kind).tobytes()).decode("ascii")

    content = {
        "layers": compared.found.stack.numbers, "heads": differences.count.shape[2],
        "sieves": differences.sieves, "titles": titles_of(differences.sieves), "names": COLUMNS,
        "precision": [], "roles": [],
        "columns": {name: packed(name, "<f8") for name in COLUMNS},
        "decision": packed("outcome", "u1"), "decisions": OUTCOMES, "words": OUTCOMES,
        "decided": "outcome",
        "table": [
            *((name, name) for name in ("sieve", "layer", "head")), ("outcome", "decision"),
            *((HEADINGS.get(name, name), name) for name in COLUMNS if name != "statistic"),
        ],
    }  # fmt: skip
    return script_json(json.dumps(content, separators=(",", ":")))


def _maps(compared: Compared) -> HeadMaps:
    """Return a map of differences per role; contrasts have one when they are chosen."""
    found, maps = compared.found, []
    for column, rule in enumerate(found.differences.rules):
        outcome = found.differences.outcome[column].ravel()
        moved = len(OUTCOMES) * _moves(compared, column) * rule.role
        maps.append(HeadMap(
            name=rule.sieve, title=phrase_of(rule.sieve).title if rule.role else rule.sieve,
            note=f"{int((outcome == CHANGED).sum())} changed", column=column, shade=DIFFERENCE,
            looks=CELL_LOOKS, hidden=not rule.role,
            codes={int(cell): int(outcome[cell] + moved[cell]) for cell in np.flatnonzero(moved)},
            largest=largest_of(np.abs(found.differences.difference[column]), found.bound),
            lines=("{head} · {title}", "A {mean_a}, B {mean_b}; difference {difference}", "{word}"),
        ))  # fmt: skip
    return HeadMaps(
        id="compare-maps", maps=maps, first="all roles",
        key=(
            (SIGNS["changed"], "changed"), (GAINED, "role gained in B"), (LOST, "role lost"),
            *((SIGNS[word], word) for word in ("undetermined", "untestable", "identical")),
        ),
        caption="Orange: more in B; blue: less. The strongest shade of a map is its largest difference, at "
        f"least {compared.bound}. No mark: equivalent within ±{compared.bound}.",
    )  # fmt: skip
