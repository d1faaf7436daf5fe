"""The report of an atlas: its tables, figures, maps and sections."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from functools import partial
from itertools import compress
from operator import attrgetter
from typing import Any

import numpy as np

from headroles.records import table as tables
from headroles.records.assessment import MIDDLE, count_extreme_p
from headroles.records.atlas.atlas import RUNS as COLLECTED
from headroles.records.atlas.atlas import Atlas, AtlasRun
from headroles.records.numbers import count, percent_text, plural, share, two_decimals
from headroles.records.roles import looks_of, phrase_of, without_wholes
from headroles.records.table import COUNT, ENDS, Cell, Column, Row, Table, counted, interval_ends
from headroles.reports.account import Named
from headroles.reports.drawing import plain
from headroles.reports.embedded import LARGEST
from headroles.reports.kinds.atlas import answer_of, short_model
from headroles.reports.maps import MARKS, StillMap, StillMaps, StillRow, still_map
from headroles.reports.marks import Axis, Cells, Figure, Line, Look, Note, ticks
from headroles.reports.papers import P_VALUES, p_row
from headroles.reports.print_maps import atlas_maps
from headroles.reports.report import (
    Block,
    Command,
    Detail,
    Downloads,
    Fold,
    Grid,
    Methods,
    Page,
    Paper,
    Report,
    Section,
    Text,
)
from headroles.reports.words import CAPTION, middle_row, middle_verdict, points
from headroles.reports.works import citation_bibtex, methods_text
from headroles.storage.atlas.folder import atlas_texts

SHADES = 8
"""Steps of the shade of a cell."""
LISTED = 12
"""Heads that the description of a map names at most."""
BINS = 20
"""Fields of equal width in which p values are counted: the first and the last are those near 0 and 1."""
ROW = 30
"""Height of a row of cells in pixels."""
MOST_COLUMNS = 12
"""Pairs of runs that have a name and numbers in a map of agreement; more do not fit on a small screen."""
MARGIN = {"l": 12, "r": 12, "t": 8}
COLOURS = 8
"""Colours of runs; a ninth run takes the first again, with another line."""
DASHES = ("solid", "dash", "dot")
QUARTERS, QUARTER_TEXTS = (0, 0.25, 0.5, 0.75, 1), ("0", "0.25", "0.5", "0.75", "1")
HOVER = (
    "%{fullData.name}, layer %{customdata[0]}: %{y:.2f} "
    "[%{customdata[1]:.2f}, %{customdata[2]:.2f}]<extra></extra>"
)
"""Hover text of a layer of a run."""
ENDS_TEXT = "with 95\u00a0% intervals over inputs"


def _over_inputs(row: Row) -> Cell:
    """Return what the inputs say about the middle layers; a dash where they were not compared."""
    ends = Row(several_low=row.middle_low, several_high=row.middle_high)
    text = "–" if math.isnan(row.middle_surplus) else middle_verdict(ends)
    return Cell(text, text)


RUNS = Table(
    "", "Roles a head, p values near 0 or 1, and heads with several roles in the middle layers", "a run",
    (
        Column("run", "Name of the run.", str, "run", terminal="narrow"),
        Column("group", "Its model and rule.", str, "rule"),
        counted("inputs", "Number of inputs.", "inputs"), counted("units", "Number of units."),
        Column("tokens", "Mean length of an input in tokens.", float, "tokens an input", count,
               terminal="narrow", short="tokens", within=COUNT),
        counted("roles_held", "Heads with a role.", "heads with a role", terminal="narrow", short="heads"),
        Column("roles_a_head", "Mean number of roles a head.", float, f"roles a head {ENDS}", two_decimals,
               ("roles_a_head_low", "roles_a_head_high"), terminal="narrow"),
        *interval_ends("roles_a_head_low", "roles_a_head_high"),
        Column("several", "Share of heads with two or more roles.", float, f"two or more roles {ENDS}", share,
               ("several_low", "several_high")),
        *interval_ends("several_low", "several_high"),
        Column("near_0_or_1", "Share of p values below 0.05 or above 0.95.", float, "p near 0 or 1",
               percent_text, terminal="narrow", short="p near 0, 1", within=tables.SHARE),
        Column("middle_surplus", "Share of heads with two or more roles in the middle third of layers, less "
               "that in the others.", float, f"middle layers, points {ENDS}", points,
               ("middle_low", "middle_high"), terminal="narrow", short=f"middle, points {ENDS}"),
        *interval_ends("middle_low", "middle_high"),
        Column("middle_p", "p of no surplus.", float, "over inputs", cell=_over_inputs),
        Column("middle_reference", "Share of choices of as many layers with a surplus as large.", float,
               "choices as large", share),
    ),
    name="Runs",
)  # fmt: skip
CELLS = Table("", "Cells of a figure", "a cell", (
    counted("row", "Row, from 0."), counted("column", "Place in the row, from 0."),
    Column("value", "Its number.", within=tables.SHARE),
))  # fmt: skip
ROLE = Column("role", "The role.", str, "role")
OTHERS = ("role", "layer", "head", "in_all", "lost", "rises", "falls")
"""Names of columns beside those of runs."""


RUN = Column("run", "Name of the run.", str, "run")
P_OF_ROLES = P_VALUES.describe("role", heading="role")
P_OF_RUNS = replace(P_OF_ROLES, columns=(RUN, *P_OF_ROLES.columns))


def report(atlas: Atlas) -> Report:
    """Return the report of an atlas of two runs or more."""
    answer, rules = answer_of(atlas), "; ".join(dict.fromkeys(run.rule for run in atlas.runs))

    def note(make: Callable[[Atlas], Table], words: str = "", **more: Any) -> Callable[[], Paper]:
        def paper() -> Paper:
            table = make(atlas)
            about = f"{words or table.title}: {plural(len(atlas.runs), 'run')}. Test: {rules}."
            return Paper(table, about, **more)

        return paper

    found, empty = _somewhere(atlas)
    trends = "Trends of scores over the steps of a training, and the step from which a role holds"
    named = [("" if place else "runs", f"{run.name}: {run.folder}") for place, run in enumerate(atlas.runs)]
    return Report(
        "headroles atlas", answer.title, answer, (atlas.remarks, ()), atlas.manifest,
        {
            "runs": note(runs_table),
            "agreement": note(
                attrgetter("agreement"), f"Agreement of labels over heads (Cohen's kappa), {ENDS_TEXT}"
            ),
            "in-runs": note(counts_table),
            "consensus": note(
                attrgetter("consensus"), "Heads with a role in some run, over all runs of a group",
                shown=found, leave=empty,
            ),
            "trends": note(attrgetter("steps"), trends, shown=_moving(atlas)),
            "roles": note(roles_table),
            "p-values": note(_p_table, "P values before correction that lie near 0 or 1"),
            "several": note(
                attrgetter("layers"), f"Roles a head and heads with several roles by layer, {ENDS_TEXT}"
            ),
            "findings": note(attrgetter("table"), "All findings of all runs"),
        },
        page=partial(_page, atlas), screen=partial(_screen, atlas), cell=lambda: (),
        facts=lambda detail: [Named(*line, "") for line in named],
        prints=lambda width: {"maps": atlas_maps(atlas, width)},
    )  # fmt: skip


def _screen(atlas: Atlas, detail: Detail) -> list[Grid]:
    """Return the tables of a terminal, in which most are as on the page."""
    tables = [emerged_table(atlas)]
    if detail.verbose:
        tables += [roles_table(atlas), atlas.agreement, counts_table(atlas), _moving(atlas)]
    return [Grid(runs_table(atlas)), *(Grid(table.sheet()) for table in tables)]


def runs_table(atlas: Atlas) -> Table:
    """Return one line per run: inputs, their length, roles a head, p near 0 or 1, and the middle layers."""
    rows = []
    each = zip(atlas.runs, atlas.several, atlas.findings, strict=True)
    for place, (run, several, found) in enumerate(each):
        whole, middle = several[0] if several else None, middle_row(several)
        row = {
            "run": run.name, "group": run.group, "inputs": run.examples, "units": run.units,
            "tokens": run.tokens, "roles_held": found.held.any(axis=0).sum(),
            "near_0_or_1": count_extreme_p(atlas.p_values(place)).share,
        }  # fmt: skip
        for end in ("", "_low", "_high"):
            row[f"roles_a_head{end}"] = getattr(whole, f"mean{end}", math.nan)
            row[f"several{end}"] = getattr(whole, f"several{end}", math.nan)
        names = ("several", "several_low", "several_high", "p", "reference")
        for name, own in zip(("surplus", "low", "high", "p", "reference"), names, strict=True):
            row[f"middle_{name}"] = getattr(middle, own, math.nan)
        rows.append(row)
    return RUNS.rows(rows)


def _of_runs(runs: Iterable[AtlasRun], meaning: str, kind: Any = int, heading: str = "{}") -> list[Column]:
    """Return a column for each run, named like it; "run lost" for one that is named like another column."""
    names = [run.name for run in runs]
    return [
        Column(f"run {name}" if name in OTHERS else name, meaning, kind, heading.format(name))
        for name in names
    ]


def _with(columns: Sequence[Column], values: Iterable[Any]) -> dict[str, Any]:
    """Return values by the names of their columns."""
    return {column.name: value for column, value in zip(columns, values, strict=True)}


def roles_table(atlas: Atlas) -> Table:
    """Return heads with each role in every run, and those with the role in all of them."""
    runs = _of_runs(atlas.runs, "Heads with the role in the run; none where it was not tested.", "int | None")
    alike, rows = len(_models(atlas)) == 1, []
    for role in atlas.roles:
        grids = [found.held[found.of(role)] if role in found.tested else None for found in atlas.findings]
        known = [grid for grid in grids if grid is not None]
        everywhere = int(np.all(known, axis=0).sum()) if alike and len(known) == len(grids) else None
        counts = _with(runs, (None if grid is None else int(grid.sum()) for grid in grids))
        rows.append({"role": role, **counts, "in_all": everywhere})
    in_all = [Column("in_all", "Heads with the role in all runs.", "int | None", "in all")] * alike
    return Table("", "Heads with each role", "a role", (ROLE, *runs, *in_all)).rows(rows)


def _models(atlas: Atlas) -> list[list[int]]:
    """Return the places of the runs of every model, which have the same heads; checkpoints are one model."""
    if atlas.steps:
        return [list(range(len(atlas.runs)))]
    models: dict[tuple[object, ...], list[int]] = {}
    for place, run in enumerate(atlas.runs):
        models.setdefault((run.weights or run.model, run.layers, run.heads), []).append(place)
    return list(models.values())


def counts_table(atlas: Atlas) -> Table:
    """Return, per role, in at least how many runs heads hold it, by the test of partial conjunction."""
    table, rows = atlas.consensus, []
    most = int(table["runs"].max(initial=0))
    for group, role in dict.fromkeys((row.group, row.sieve) for row in table):
        own = table.where(group=group, sieve=role)
        runs = int(own["runs"].max())
        numbers = [int((own["at_least"] >= u).sum()) if u <= runs else None for u in range(1, most + 1)]
        counts = {f"at_least_{u}": number for u, number in enumerate(numbers, 1)}
        everywhere = int(((own["held"] == own["runs"]) & (own["runs"] == runs)).sum()) if runs else None
        rows.append({"role": role, "group": group, "runs": runs, **counts, "labelled_in_all": everywhere})
    return Table(
        "", "Heads with each role in at least so many runs", "a role",
        (
            ROLE, Column("group", "Model and rule of the runs.", str, "rule"),
            counted("runs", "Runs that could test the role.", "runs"),
            *(
                Column(f"at_least_{u}", f"Heads with the role in at least {u} runs.", "int | None",
                       f"in at least {u}")
                for u in range(1, most + 1)
            ),
            Column("labelled_in_all", "Heads with the label in all runs.", "int | None", "labelled in all"),
        ),
        name="Heads by the runs in which they hold a role",
    ).rows(rows)  # fmt: skip


def _somewhere(atlas: Atlas) -> tuple[Table, tuple[str, ...]]:
    """Return the roles of heads with a role in some run of a group, and columns that none has a number in."""
    table = atlas.consensus
    shown = table.take((table["held"] > 0) | (table["at_least"] > 0))
    return shown, tuple(name for name in ("r", "mean") if np.isnan(shown[name]).all())


def _moving(atlas: Atlas) -> Table:
    """Return the roles of heads that change over the steps of a training, or hold at the last step."""
    table = atlas.steps
    moves = np.isin(table["trend"].astype(str), ("rises", "falls"))
    return table.take((table["emerged"] != "") | (table["lost"] != "") | moves)


def emerged_table(atlas: Atlas) -> Table:
    """Return, per role, how many heads hold it from each step until the last."""
    meaning, rows = "Heads that hold the role from this step until the last.", []
    steps = _of_runs(atlas.runs, meaning, heading="from {}")
    for role in dict.fromkeys(atlas.steps["sieve"].tolist()):
        own = atlas.steps.where(sieve=role)
        counts, trends = Counter(own["emerged"].tolist()), Counter(own["trend"].tolist())
        ends = {"lost": int((own["lost"] != "").sum()), "rises": trends["rises"], "falls": trends["falls"]}
        rows.append({"role": role, **_with(steps, (counts[run.name] for run in atlas.runs)), **ends})
    return Table("", "Heads by the step from which they hold a role", "a role", (
        ROLE, *steps, counted("lost", "Heads that lose it.", "lost"),
        counted("rises", "Heads whose score rises.", "rise"),
        counted("falls", "Heads whose score falls.", "fall"),
    )).rows(rows)  # fmt: skip


def _p_table(atlas: Atlas) -> Table:
    """Return p values near 0 or 1 by run and role, and those of all runs."""
    rows = []
    for run, found in zip(atlas.runs, atlas.findings, strict=True):
        named = [(role, found.numbers["p"][found.of(role)]) for role in found.roles]
        named.append(("all roles", found.numbers["p"]))
        rows += [{"run": run.name, **p_row(role, p)} for role, p in named]
    whole = np.concatenate([atlas.p_values(place) for place in range(len(atlas.runs))])
    return P_OF_RUNS.rows([*rows, {"run": "all runs", **p_row("all roles", whole)}])


def _heads_table(atlas: Atlas, places: Sequence[int]) -> Table:
    """Return the marks of every head in runs of one model; wholes are left out where a part holds."""
    marks = {role: look.mark for role, look in zip(atlas.roles, looks_of(atlas.roles), strict=True)}
    runs, found = [atlas.runs[place] for place in places], [atlas.findings[place] for place in places]
    drawn = [([marks[role] for role in each.roles], without_wholes(each.roles, each.held)) for each in found]
    columns, rows = _of_runs(runs, "Its roles in the run.", str), []
    for layer, head in np.ndindex(len(runs[0].layers), runs[0].heads):
        held = (" ".join(compress(own, grid[:, layer, head])) or "–" for own, grid in drawn)
        rows.append({"layer": runs[0].layers[layer], "head": head, **_with(columns, held)})
    return Table("", "Roles of every head", "a head", (tables.LAYER, tables.HEAD, *columns)).rows(rows)


def _agreement(atlas: Atlas) -> Iterator[Figure]:
    """Draw kappa of every role and pair of runs, and the means over pairs: a figure per group."""
    for place, group in enumerate(atlas.groups):
        table = atlas.agreement.where(group=group)
        if not table:
            continue
        kappa = {(row.sieve, row.run_a, row.run_b): row.kappa for row in table if row.sieve}
        roles = list(dict.fromkeys(role for role, *_ in kappa))
        pairs = list(dict.fromkeys((a, b) for _, a, b in kappa if a))
        words = [[plain(name.removesuffix(f" {group}")) for name in pair] for pair in pairs]
        hovers = [*(" and ".join(pair) for pair in words), "mean"]
        many = len(hovers) > MOST_COLUMNS
        named = [] if many else [*map("<br>".join, words), "<b>mean</b>"]
        cells = [
            {"row": row, "column": column, "value": kappa.get((role, *pair), math.nan)}
            for row, role in enumerate(roles)
            for column, pair in enumerate([*pairs, ("", "")])
        ]
        hovertext = [hovers[cell["column"]] for cell in cells if not math.isnan(cell["value"])]
        yield Figure(
            "agreement" if len(atlas.groups) == 1 else f"agreement-{place + 1}",
            f"Agreement of labels: {group}",
            f"Cohen's kappa of the heads with each role, for every pair of runs ({group}).",
            "1 is full agreement, 0 that of labels with the same counts at random. No field: in both "
            "runs no head holds the role, or one of them could not test it. Intervals over inputs stand in "
            "the table."
            + " A column is a pair of runs, in the order of the table; the last is the mean." * many,
            CELLS.rows(cells),
            [
                Cells("row", "column", "value", ("var(--panel)", "var(--tone-2)"), (0, 1), "",
                      "%{hovertext}: kappa %{customdata[2]:.2f}<extra></extra>",
                      text=None if many else lambda row: two_decimals(row.value),
                      settings={"size": 11, "hovertext": hovertext}),
            ],
            x=Axis("", {"tickangle": 0 if len(hovers) <= 8 else 90} | ticks(range(len(named)), named)),
            y=Axis("", ticks(range(len(roles)), map(plain, roles))), height=90 + ROW * len(roles),
            numbers=table.sheet(leave=["group"]), layout={"margin": MARGIN | {"b": 60}},
        )  # fmt: skip


def _p_values(atlas: Atlas) -> Figure:
    """Draw where the p values of every run lie between 0 and 1."""
    cells = []
    for row in range(len(atlas.runs)):
        counts = np.histogram(atlas.p_values(row), np.linspace(0, 1, BINS + 1))[0]
        shares = counts / counts.sum() if counts.any() else np.full(BINS, np.nan)
        cells += [{"row": row, "column": place, "value": part} for place, part in enumerate(shares)]
    table, places = _p_table(atlas), ticks((BINS * part - 0.5 for part in QUARTERS), QUARTER_TEXTS)
    return Figure(
        "p-values", "p values of all runs",
        f"{percent_text(table[-1].share)} of {plural(table[-1].tests, 'p value')} lie near 0 or 1, one row "
        "per run.",
        "Per cent of the p values of a run in each twentieth of the line from 0 to 1. The first "
        "field is p below 0.05, the last p above 0.95. With a contrast, p is the larger of the two tests.",
        CELLS.rows(cells),
        [
            Cells("row", "column", "value", ("var(--panel)", "var(--tone-0)"), (0, 1), "",
                  "%{customdata[2]:.1%} of p<extra></extra>", settings={"size": 11},
                  text=lambda row: f"{100 * row.value:.0f}" if row.value >= 0.005 else ""),
        ],
        x=Axis("p before correction", {"range": [-0.6, BINS - 0.4]} | places),
        y=Axis("", ticks(range(len(atlas.runs)), (plain(run.name) for run in atlas.runs))),
        height=70 + ROW * len(atlas.runs), numbers=table.sheet(), layout={"margin": MARGIN | {"b": 52}},
    )  # fmt: skip


def _several(atlas: Atlas) -> Figure:
    """Draw roles a head and the share of heads with several roles, over relative depth, a line per run."""
    lines, tops = [], {"y": 0.0, "y2": 0.0}
    for number, (run, several) in enumerate(zip(atlas.runs, atlas.several, strict=True)):
        rows = several.take([row.scope not in ("all", MIDDLE) for row in several])
        shift = 0.3 * (number - (len(atlas.runs) - 1) / 2) / max(len(atlas.runs), 4) / run.blocks
        tone, dash = number % COLOURS, DASHES[number // COLOURS % len(DASHES)]
        for axis, name, times in (("y", "mean", 1), ("y2", "several", 100)) if rows else ():
            value, low, high = (times * rows[f"{name}{end}"] for end in ("", "_low", "_high"))
            tops[axis] = max(tops[axis], high.max())
            lines.append(Line(
                (run.depths + shift).tolist(), value.tolist(), run.name, Look(tone), HOVER, dash, number,
                (low.tolist(), high.tolist()), (run.layers,), axis, 1.5, 7,
            ))  # fmt: skip
    first, alike = atlas.runs[0], len({(run.layers, run.blocks) for run in atlas.runs}) == 1
    step = 1 if len(first.layers) <= 16 else 4
    places = ticks(QUARTERS, QUARTER_TEXTS)
    if alike:
        places = ticks(first.depths[::step].tolist(), map(str, first.layers[::step]))

    def axis_of(name: str, domain: list[float]) -> Axis:
        high = tops[name] or 1.0
        ends = [-0.06 * high, 1.12 * high]
        return Axis("", {"domain": domain, "range": ends, "nticks": 5, "anchor": "x"})

    at = {"x": 0, "xref": "paper", "xanchor": "left", "y": 1, "yanchor": "bottom"}
    return Figure(
        "several", "Roles a head by layer",
        "Roles a head, and heads with two or more roles, by layer: a line per run.", CAPTION, atlas.layers,
        [
            *lines, Note("Roles a head", {**at, "yref": "y domain"}),
            Note("Heads with two or more roles, %", {**at, "yref": "y2 domain"}),
        ],
        x=Axis(
            "layer" if alike else "relative depth",
            {"showgrid": False, "range": [0, 1], "anchor": "free", "position": 0} | places,
        ),
        y=axis_of("y", [0.55, 1.0]), axes={"yaxis2": axis_of("y2", [0.0, 0.43])}, height=460,
        numbers=atlas.layers.sheet(), layout={"margin": {"l": 56, "r": 16, "t": 28, "b": 52}},
    )  # fmt: skip


def _maps(atlas: Atlas) -> StillMaps:
    """Return maps of all roles and runs; shades of a role have one scale for all runs of one statistic."""
    rows = []
    for role, look in zip(atlas.roles, looks_of(atlas.roles), strict=True):
        tops, title = atlas.largest_means(role), phrase_of(role).title
        asked = [place for place, found in enumerate(atlas.findings) if role in found.tested]
        drawn = [_map(atlas, place, role, tops[atlas.runs[place].statistic]) for place in asked]
        rows.append(StillRow(drawn, title, role if role != title else "", look.tone))
    key = [("", "holds the role"), (MARKS["explained"], "explained by distance or position")]
    key.append((MARKS["undetermined"], "undetermined"))
    about = "The stronger the shade, the larger the mean; one scale for all runs with one statistic."
    return StillMaps(rows, key, about)


def _map(atlas: Atlas, place: int, role: str, top: float) -> StillMap:
    """Return the map of one role in one run; ``top`` is the mean with the full shade."""
    run, found = atlas.runs[place], atlas.findings[place]
    number = found.of(role)
    mean, held, verdict = found.numbers["mean"][number], found.held[number], found.verdict[number]
    part = np.nan_to_num(mean / top).clip(0, 1) if top > 0 else np.zeros(mean.shape)
    step = np.ceil(part * SHADES).astype(int)
    shades = [("shade toned", level / SHADES, step == level) for level in range(1, SHADES + 1)]
    names = [f"{run.layers[layer]}-{head}" for layer, head in np.argwhere(held).tolist()]
    listed = f": {', '.join(names[:LISTED])}{' and more' if len(names) > LISTED else ''}" if names else ""
    heads = plural(len(names), "head")
    drawing = still_map(
        run.layers, run.heads, f"{run.name}, {role}: {heads} of {held.size} with the role{listed}",
        [*shades, ("open", 1.0, verdict == "undetermined"), ("held", 1.0, held)],
        {MARKS["explained"]: np.char.startswith(verdict.astype(str), "explained")}, small=True,
    )  # fmt: skip
    return StillMap(run.name, heads, drawing)


def _page(atlas: Atlas) -> Page:
    """Return sections and files of the page; large tables stay in the folder."""
    texts = atlas_texts(atlas).items()
    files = {name: text for name, text in texts if len(text) <= LARGEST and text.count("\n") > 1}
    found, empty = _somewhere(atlas)
    heads: list[Block] = [Grid(_heads_table(atlas, places)) for places in _models(atlas)]
    # Layers have different lengths, so their texts stand in place of an array.
    collected = COLLECTED.rows(
        asdict(run) | {"layers": ", ".join(map(str, run.layers))} for run in atlas.runs
    )
    return Page(
        "Atlas: " + " · ".join(dict.fromkeys(short_model(run.model) for run in atlas.runs)),
        [
            Section("roles", "Roles", "Roles, run by run", [
                _maps(atlas), Fold("Heads with each role as a table", [Grid(roles_table(atlas))]),
            ]),
            Section("steps", "Steps", "Steps of the training", [
                Text("From which step heads hold a role until the last, in an unbroken row of tests from the "
                     "last step back.", "lead"),
                Grid(emerged_table(atlas)),
                Text("At most alpha of the heads named here are false. A trend is the mean change of the "
                     "score from one step to the next, tested on both sides."),
                Fold("Trends and steps of every head", [Grid(_moving(atlas), "rises")]),
            ]),
            Section("across", "Across runs", "Across runs", [
                Text("In at least how many runs heads hold a role, tested over all runs at once.", "lead"),
                Grid(counts_table(atlas), leave=("group",) if len(atlas.groups) == 1 else ()),
                Text("Each column is a family of its own: at most alpha of its heads are false. Labelled in "
                     "all: heads with the label in every run, which no test over runs protects."),
                Fold("Every head with a role in some run", [Grid(found, leave=empty)]),
            ]),
            Section("agreement-of-labels", "Agreement", "Agreement of labels", [
                *_agreement(atlas),
                Text("Heads are matched within one model and one rule of decision only. Intervals in the "
                     "tables: kappa of fresh samples of both inputs, in 95\u00a0% of samples. Heads are not "
                     "a sample, so nothing is tested over them."),
            ]),
            Section("sure", "p values", "p values", [_p_values(atlas)]),
            Section("depth", "Depth", "Depth", [
                _several(atlas),
                Grid(runs_table(atlas)),
                Text("Middle layers, in percentage points: share of heads with two or more roles in the "
                     "middle third of layers less that in the other layers. Over inputs: what the 95\u00a0% "
                     "interval says. Choices as large: the share of all choices of as many layers with a "
                     "difference at least as large (descriptive, not a test)."),
            ]),
            Section("heads", "All heads", "All heads", [
                Text("Roles of every head by run. A click on a heading sorts. The marks are those of the "
                     "reports of the runs.", "lead"),
                *heads, Downloads((*files, "manifest.json")),
            ]),
            Section("methods", "Methods", "Methods", [Methods(methods_text(atlas), citation_bibtex(atlas))]),
            Section("run", "", "What was collected", [
                Command(str(atlas.manifest.get("command") or "")), Grid(collected),
            ]),
        ],
        {},
        files,
    )  # fmt: skip
