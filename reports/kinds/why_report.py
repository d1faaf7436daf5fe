"""The report of a run that asks why heads attend where they do: its figures, tables, sections and maps."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from headroles.records.causal import origins as records
from headroles.records.causal.origins import BY_QUERY, UNDETERMINED, UNTESTABLE, VERTICAL, open_share
from headroles.records.findings import Labelling
from headroles.records.numbers import number, plural, two_decimals
from headroles.records.roles import phrase_of
from headroles.records.rules.rule import FAMILIES as OF_TESTS
from headroles.records.table import COUNT, ENDS, HEAD, LAYER, Column, Row, Table, counted, interval_ends
from headroles.reports import marks
from headroles.reports import report as blocks
from headroles.reports.account import account
from headroles.reports.drawing import FAINT, INK, SOFT, plain, shortened
from headroles.reports.kinds import claims, why
from headroles.reports.kinds.claims import FEW, count_of, damage_text, place_name, role_title, with_test
from headroles.reports.kinds.why import FAMILIES, VERDICTS, VERTICAL_COLUMN, Asked, share_text
from headroles.reports.maps import MARKS, CellLook, HeadMaps, HeadPanel
from headroles.reports.marks import Axis, Dots, Figure, Line, Look, Rule, Shape
from headroles.reports.papers import caption
from headroles.reports.print_maps import MOST_MAPS, verdict_maps
from headroles.reports.recorded import verdicts_page
from headroles.reports.report import LONG, Detail, Fold, Grid, Paper, Section, Words

LOOKS = {VERTICAL: Look(1, "square"), BY_QUERY: Look(0, "hexagon"), UNDETERMINED: Look(4)}
NEURON_LOOKS = {records.FEW: Look(1, "triangle-up"), records.AS_ROTATED: Look(4)}
REMOVAL_LOOKS = {
    records.FALLS: Look(1, "triangle-down"), records.HOLDS: Look(0, "square"), UNDETERMINED: Look(4),
}  # fmt: skip
"""Looks of the verdicts on shares, on neurons and on removals."""
CELL_LOOKS = (
    CellLook(VERTICAL, MARKS["vertical"], tone=1, shade=1),
    CellLook(BY_QUERY, MARKS["by query"], tone=0, shade=1), CellLook(UNDETERMINED, hatched=True),
    CellLook(UNTESTABLE, MARKS["untestable"], faint=True, shade=1),
)  # fmt: skip
"""Look of every verdict in the cells of maps, in the order of their codes."""
HOVER = "%{text}<br>%{fullData.name}<extra></extra>"
WIDEST = (-1.0, 2.0)
"""Vertical shares that the axis shows at most; marks beyond stand at its ends."""
TALLEST, STEPS, LEAST = 620, (3.5, 16.0), 15
"""Height in pixels of a figure with many heads, of the row of a head, and of the heads of a role at least."""
FULL = 0.5
"""Part of a contrast from which a dimension has the full colour."""
EACH, MOST = 3, 24
"""Heads of a role whose dimensions are drawn, and heads in all."""
BY_ROLE = ("role", "heads", *VERDICTS, "few", "rotated", "found")
"""Columns of the table of roles with all digits."""
PLACE, HEIGHT = Column("place", "Row of a field.", int), Column("height", "Height in a figure, from the top.")
SHOWN = ("at", "at_low", "at_high")
"""Columns of a share and of its ends inside the axis."""
LARGEST = Table("", "Which dimensions carry the contrast?", "a head", (
    LAYER, HEAD, Column("role", "The role.", str, "role"),
    counted("found", "Dimensions with more than twice their fair share.", "found"),
    counted("dimension", "Dimension of the largest part.", "largest dimension"),
    Column("share", "Its share of the contrast.", float, f"its share {ENDS}", open_share, ("low", "high")),
    *interval_ends(),
    Column("q", "Of “at most twice the fair share”.", float, "q", within=COUNT),
))  # fmt: skip
"""The largest part of a contrast."""


def report(run: Labelling) -> blocks.Report:
    """Return the report of a run that asks where roles come from."""
    asked, origins = Asked(run), Asked(run).origins
    roles, heads, removals = roles_grid(asked), heads_grid(asked), Grid(origins.knockouts)

    def paper(title: str, grid: Grid, digits: Sequence[str] = ()) -> Paper:
        text = caption(run, title, FAMILIES, ", with 95\u00a0% intervals", len(origins.products.units))
        assert isinstance(grid.table, Table)
        return Paper(grid.table, text, grid.leave, digits=digits)

    tests = {
        "heads": ("Origins of the roles of heads", heads),
        "dimensions": ("Parts of dimensions", dimensions_grid(asked)),
        "removals": ("Scores without directions of queries", removals),
    }
    papers: dict[str, Callable[[], Any]] = {
        "roles": lambda: paper(why.ROLES.title, roles, BY_ROLE),
        **{name: partial(paper, *made) for name, made in tests.items() if len(made[1])},
    }
    family = OF_TESTS.get(run.decision.family, run.decision.family)
    return claims.report_about(
        run, "why", why.answer_of(asked), papers,
        lambda: [claims.tested_line(run, "each verdict by itself", family, FAMILIES["run"])],
        page=partial(_page, asked), screen=partial(_screen, asked), cell=lambda: [roles, heads, removals],
        prints=partial(_maps_for_print, asked),
    )  # fmt: skip


def roles_grid(asked: Asked) -> Grid:
    """Return one line per role: its heads by verdict, shares, neurons and directions."""
    ranked = (asked.origins.origins["rank"] >= 0).any()
    leave = {
        "few": asked.fixed, "when_rotated": asked.fixed, "rank": not ranked,
        "falls": not asked.origins.knockouts.where(by=records.SUBSPACE),
    }  # fmt: skip
    return Grid(asked.roles, leave=tuple(name for name, gone in leave.items() if gone))


def heads_grid(asked: Asked) -> Grid:
    """Return one line per head and role with all tests."""
    table = asked.origins.origins
    leave = (
        *["bias"] * (not table["bias"].any()), *["rotated", "q_few", "few"] * asked.fixed,
        *["rank", "strongest", "expected"] * bool((table["rank"] < 0).all()),
    )  # fmt: skip
    return Grid(table, "few neurons", leave, limit=LONG)


def dimensions_grid(asked: Asked, *, found: bool = False) -> Grid:
    """Return one line per head, role and dimension; of those with more than twice their share on request."""
    table = asked.origins.dimensions
    if asked.one != "dimension":
        table = table.describe("dimension", heading=asked.one, short="fre-\nquency\npair")
    if not found:
        return Grid(table)
    return Grid(replace(table.where(found=True), name="Found dimensions"), leave=("found",), limit=LONG)


def _screen(asked: Asked, detail: Detail) -> list[Grid | Words]:
    """Return the tables of a terminal, which have the threshold of a removal behind its score."""
    titles = {role: phrase_of(role).title for role in asked.origins.held.roles}
    removals = replace(asked.origins.knockouts, first=("head", "by", "role", "scored", "before", "after"))
    more = [dimensions_grid(asked, found=True), Grid(removals)] if detail.verbose else []
    grids = [roles_grid(asked), replace(heads_grid(asked), strong="", most=FEW), *more]
    words = [Words(why.glossary(asked))] if detail.verbose else []
    return [*(replace(grid, words=titles) for grid in grids), *words]


def _bands(rows: Table, roles: Sequence[str], key: str) -> tuple[Table, float, list[Shape], dict[str, Any]]:
    """Return rows with heights, role by role, pixels of a row, bands of roles, and settings of the figure."""
    known = [role for role in roles if (rows["role"] == role).any()]
    step = min(max(TALLEST / (len(rows) + len(known)), STEPS[0]), STEPS[1])
    order, heights, ends, at = list[int](), list[float](), list[tuple[float, float]](), 0.0
    for role in known:
        own = np.flatnonzero(rows["role"] == role)
        order += own[np.argsort(rows[key][own], kind="stable")].tolist()
        high = max(len(own), LEAST / step)
        heights += [at + (high - len(own)) / 2 + 0.5 + place for place in range(len(own))]
        ends.append((at, at + high))
        at += high + 1
    total = ends[-1][1]
    band = {
        "type": "rect", "xref": "x domain", "yref": "y", "layer": "below", "line": {"width": 0},
        "fillcolor": "var(--rule)", "opacity": 0.28, "x0": 0, "x1": 1,
    }  # fmt: skip
    names, middles = [plain(role_title(role)) for role in known], [(low + high) / 2 for low, high in ends]
    settings = marks.ticks(middles, names) | {"range": [total + 0.3, -0.3], "showgrid": False, "ticks": ""}
    shapes = [Shape(band | {"y0": low, "y1": high}) for low, high in ends]
    frame = {"height": round(86 + step * max(total, 5)), "layout": MARGIN, "y": Axis("", settings)}
    return rows.take(order).extended(HEIGHT, heights), step, shapes, frame


MARGIN = {"margin": {"l": 12, "r": 16, "t": 8, "b": 56}}
"""Margins of figures with names at the left."""


def _named(row: Row) -> str:
    return f"{shortened(role_title(row.role))} · {place_name(row)}"


def _dots(x: str, ends: tuple[str, ...], looks: dict[str, Look], step: float, text: Any) -> Dots:
    """Return the dots of bands, with level intervals."""
    return Dots(
        x, "height", ends, "verdict", looks, size=min(step, 7.0), line=1.2, hover=HOVER, text=text,
        marker={"line": {"width": 0}}, toggles=str, level=True,
    )  # fmt: skip


def _shares(asked: Asked) -> Iterator[Figure]:
    """Draw the vertical share of every head by role, where a head could be tested."""
    if not (tested := with_test(asked.origins.origins, "verdict")):
        return
    rows, step, shapes, frame = _bands(tested, asked.origins.held.roles, "share")
    share, (low, high) = rows["share"], WIDEST
    open_end = np.isnan(rows["share_low"]) | np.isnan(rows["share_high"])
    for name, values in zip(SHOWN, (share, rows["share_low"], rows["share_high"]), strict=True):
        rows = rows.extended(Column(name, ""), np.clip(np.where(open_end, share, values), low, high))
    beyond = int(((share < low) | (share > high)).sum())
    more = f" {plural(beyond, 'share')} below {number(low)} or above {number(high)} at the ends."
    counts = {word: count_of(rows, word, "verdict") for word in LOOKS}
    title = "Vertical share of every head"
    table = replace(asked.roles, name=title).describe("share", heading="vertical share, median (range)")
    yield Figure(
        "shares",
        title,
        "Part of the contrast that the mean query gives alone, by role: "
        f"{', '.join(f'{count:,} {word}' for word, count in counts.items() if count)}.",
        "Right of the line (one half): vertical, most of the push is the same for every query. Left: by "
        f"query. Dotted: none and all of it. Bars: 95\u00a0% intervals.{more * bool(beyond)}",
        rows,
        [
            *shapes,
            _dots(SHOWN[0], SHOWN[1:], LOOKS, step,
                  lambda row: f"{_named(row)}\nvertical share {share_text(row)}"),
            Rule(0.5, name="one half"), *(Rule(end, dash="dot", colour=FAINT, width=1) for end in (0.0, 1.0)),
        ],
        x=Axis("vertical share of the contrast", {
            "range": [max(low, min(-0.2, *share) - 0.1), min(high, max(1.2, *share) + 0.1)], "nticks": 8,
            "showline": True,
        }),
        numbers=table.sheet(only=("role", "heads", *VERDICTS, "share")), **frame,
    )  # fmt: skip


def _neurons(asked: Asked) -> Iterator[Figure]:
    """Draw the participation of every head against that after rotations, where the basis is free."""
    rows = with_test(asked.origins.origins, "few")
    if not rows:
        return
    own, rotated = rows["participation"], rows["rotated"]
    room = 0.15 * (rotated.max() - rotated.min()) + 0.2
    ends = [max(0.0, float(rotated.min() - room)), float(rotated.max() + room)]
    found = count_of(rows, records.FEW, "few")
    title = "Spread over dimensions, before and after rotations"
    ordered = replace(rows.take(np.argsort(own / rotated, kind="stable")), name=title)
    yield Figure(
        "neurons",
        title,
        f"Dimensions that the contrast is spread over, against those after random rotations. {found:,} of "
        f"{plural(len(rows), 'role')} of heads {'is' if found == 1 else 'are'} carried by few neurons.",
        "Line: where both are the same. Far below it: fewer neurons than a basis without meaning gives. "
        "Whether that is more than chance is tested.",
        rows,
        [
            Dots("rotated", "participation", by="few", looks=NEURON_LOOKS, hover=HOVER, toggles=str,
                 marker={"opacity": 0.85, "line": {"width": 0}},
                 text=lambda row: f"{_named(row)}\nparticipation {number(row.participation)}, "
                 f"{number(row.rotated)} when rotated"),
            Line(ends, ends, "the same", Look(INK, ""), width=1.5),
        ],
        x=Axis("participation when rotated (median)", {"range": ends, "showgrid": False, "nticks": 7}),
        y=Axis("participation", {"range": [0, 1.08 * max(own.max(), rotated.max())], "nticks": 7}),
        height=380,
        numbers=ordered.describe("q_few", heading="q", text=number).sheet(
            only=("head", "role", "participation", "rotated", "q_few", "few")
        ),
    )  # fmt: skip


def _strips(asked: Asked) -> Iterator[Figure]:
    """Draw the parts of all dimensions of the heads with the largest contrasts, where any could be tested."""
    table, one = asked.origins.origins, asked.one
    chosen = list[int]()
    for role in asked.origins.held.roles:
        own = np.flatnonzero((table["role"] == role) & (table["verdict"] != UNTESTABLE))
        chosen += own[np.argsort(-table["contrast"][own], kind="stable")][:EACH].tolist()
    heads = table.take(chosen[:MOST])
    if not heads:
        return
    tests = [asked.dimensions(head) for head in heads]
    rows = tests[0].joined(tests).extended(PLACE, np.repeat(range(len(tests)), [*map(len, tests)]))
    names = [plain(role_title(head.role)) + f" · {place_name(head)}" for head in heads]
    most = min(float(np.nanmax(np.abs(rows["share"]), initial=0.0)) or 1.0, FULL)
    found = int(rows["found"].sum())
    cut = f" The {EACH} strongest heads of each role are drawn." if len(heads) < len(table) else ""
    largest = []
    for head, parts in zip(heads, tests, strict=True):
        test = parts[int(parts["mean"].argmax())]
        ends = {"low": test.low / head.contrast, "high": test.high / head.contrast}
        largest.append(vars(test) | {"found": head.found} | ends)
    yield Figure(
        "dimensions",
        LARGEST.title,
        f"Part of each {one} in the contrast of the strongest heads. {found:,} of {plural(len(rows), one)} "
        f"{'has' if found == 1 else 'have'} more than twice the fair share.",
        f"Orange: adds to the contrast, blue: takes from it; full colour from {two_decimals(most)} of it. "
        f"Dots: found.{cut}",
        rows,
        [
            marks.Cells("place", "dimension", "share", ("var(--tone-0)", "var(--panel)", "var(--tone-1)"),
                  (-most, most), "parts",
                  f"%{{hovertext}}<br>{one} %{{customdata[1]}}: %{{customdata[2]:.3~g}} of the contrast, q "
                  "%{customdata[3]:.2~g}<extra></extra>",
                  ("q",), settings={"hovertext": [names[row] for row in rows["place"]]},
                  meanings={"adds": "var(--tone-1)", "takes": "var(--tone-0)"}),
            Dots("dimension", "place", by="found", looks={True: Look(INK)}, name="found", size=5, hover="",
                 marker={"line": {"color": "var(--panel)", "width": 1}}),
        ],
        x=Axis(one, {"nticks": 9, "ticks": ""}),
        y=Axis("", marks.ticks(range(len(heads)), names) | {"ticks": ""}),
        height=92 + 19 * max(len(heads), 3), layout=MARGIN,
        numbers=LARGEST.rows(largest).describe("dimension", heading=f"largest {one}").sheet(
            only=("head", "role", "found", "dimension", "share", "q")
        ),
    )  # fmt: skip


def _removals(asked: Asked) -> Iterator[Figure]:
    """Draw scores before and after removals: of the role itself, by what is removed, then of other roles."""
    rows = with_test(asked.origins.knockouts, "verdict")
    own, subspace = rows["role"] == rows["scored"], rows["by"] == records.SUBSPACE
    for key, title, who, what, chosen in (
        ("subspace", "Without the directions of the role", "the role", "directions", own & subspace),
        ("dimensions", "Without the found dimensions", "the role", "found dimensions", own & ~subspace),
        ("others", "Other roles of these heads", "other roles of the head", "directions", ~own & subspace),
    ):
        if chosen.any():
            yield _removal(asked, key, title, f"{who} before and after these {what}", rows.take(chosen))


def _removal(asked: Asked, key: str, title: str, what: str, tested: Table) -> Figure:
    """Draw scores before and after one sort of removal, role by role."""
    rows, step, shapes, frame = _bands(tested, asked.origins.held.roles, "before")
    falls, holds = (count_of(rows, verdict, "verdict") for verdict in (records.FALLS, records.HOLDS))
    lines = {
        "x": [score for row in rows for score in (row.before, row.after, None)],
        "y": [height for row in rows for height in (row.height, row.height, None)],
    }

    def text(row: Row) -> str:
        scored = "" if row.role == row.scored else f", score of {shortened(role_title(row.scored))}"
        after = damage_text(row.after, row.low, row.high)
        ends = f"before {number(row.before)}, after {after}, threshold {number(row.threshold)}"
        return f"{_named(row)}{scored}\n{ends}"

    return Figure(
        f"removals-{key}", title,
        f"Score of {what} are removed from the query. It falls below the threshold in {falls:,} of "
        f"{len(rows):,}, and holds in {holds:,}.",
        "Circles: before. Strokes: threshold. Filled: after, with 95\u00a0% intervals.",
        rows,
        [
            *shapes,
            marks.Trace({"type": "scatter", **lines, "mode": "lines", "name": "change", "opacity": 0.6,
                         "line": {"color": FAINT, "width": 1}, "hoverinfo": "skip"}),
            Dots("before", "height", looks={"": Look(SOFT, "circle-open")}, name="before", hover="",
                 size=0.9 * min(step, 7.0), marker={"line": {}}),
            Dots("threshold", "height", looks={"": Look(INK, "line-ns-open")}, name="threshold", hover="",
                 size=step),
            _dots("after", ("low", "high"), REMOVAL_LOOKS, step, text),
        ],
        x=Axis("score", {"nticks": 7, "showline": True}),
        numbers={
            "head": "", "role": "role", "scored": "", "removed": "removed", "before": "", "after": "",
            "threshold": "", "verdict": "",
        },
        **frame,
    )  # fmt: skip


def _page(asked: Asked) -> blocks.Page:
    run, origins = asked.run, asked.origins
    shares, neurons, strips, removals = ([*draw(asked)] for draw in (_shares, _neurons, _strips, _removals))
    columns = {f"{VERTICAL_COLUMN}{one.role}": _codes(asked, one.role, len(VERDICTS)) for one in asked.roles}
    rotary = (
        "Rotary positions fix the dimensions of these heads, so no random rotation is a fair comparison. "
        "Frequency pairs are tested instead."
    )
    removed: list[Figure | Fold] = [*removals[:1], *(Fold(figure.title, [figure]) for figure in removals[1:])]
    every = Grid(origins.knockouts, "falls", limit=LONG)
    first: dict[str, Any] = {"first": next(iter(columns))} if columns else {}
    return verdicts_page(
        run,
        f"Origins: {account(run).model or why.answer_of(asked).title}",
        [
            Section("profiles", "Heads", "Heads", [_maps(asked, bool(neurons))] if columns else []),
            Section("shares", "Same push", "Same push for every query?", claims.with_tests(
                shares, roles_grid(asked), "Every role, with all counts"
            )),
            Section("neurons", "Neurons", "Few neurons?", [
                *neurons, *[blocks.Text(rotary, "lead")] * (asked.fixed and not neurons), *strips,
                Fold(f"All found {asked.one}s", [dimensions_grid(asked, found=True)]),
            ]),
            Section("removals", "Removals", "What happens without them?", claims.with_tests(
                removed, every, "All removals, with all tests"
            )),
            Section("verdicts", "How sure", "How sure", [
                blocks.Points(why.sure_sentences(asked)), Words(why.glossary(asked)),
            ]),
        ],
        _panel(asked),
        (
            "One row per column, layer and head. A column “vertical” has the vertical part of a contrast, "
            "minus the rest. Decisions are those of the page.",
            "vertical 2-9",
            caption(run, "Contrasts of roles and their vertical parts", FAMILIES,
                    units=len(origins.products.units)),
            [Fold("Every role of every head, with all tests", [heads_grid(asked)])],
        ),
        {"family": FAMILIES["run"], "margin": "0: the vertical part of a contrast against the rest"},
        verdicts=[(run.findings.of(name), codes) for name, codes in columns.items()],
        noun="column", words=[*VERDICTS, "no role", "contrast"], **first,
    )  # fmt: skip


def _codes(asked: Asked, role: str, nothing: int) -> np.ndarray:
    """Return the code of the verdict of every head about one role, as layers × heads."""
    codes = np.full(asked.run.findings.count.shape[1:], nothing)
    for row in asked.origins.origins.where(role=role):
        codes[asked.run.scores.stack.place(row.layer), row.head] = VERDICTS.index(row.verdict)
    return codes


def _maps(asked: Asked, framed: bool) -> HeadMaps:
    """Return a map per role with the verdicts of its heads; a frame for few neurons on request."""
    maps = []
    for one in asked.roles:
        cells = {asked.cell(row): row for row in asked.origins.origins.where(role=one.role)}
        few = sorted(cell for cell, row in cells.items() if row.few == records.FEW)
        shares = {cell: share_text(row) for cell, row in cells.items()}
        name = f"{VERTICAL_COLUMN}{one.role}"
        maps.append(claims.verdict_map(
            name, role_title(one.role), f"{one.vertical} of {one.heads} vertical",
            ("vertical share {share}", "{word}{; |few}"), outside=("does not hold the role",),
            column=asked.run.findings.of(name), looks=CELL_LOOKS, heads=sorted(cells), framed=few,
            values={"share": shares, "few": dict.fromkeys(few, "few neurons")},
        ))  # fmt: skip
    return HeadMaps(
        id="why-maps",
        maps=maps,
        first="all roles",
        key=[look.told for look in CELL_LOOKS],
        caption="The map of a role shows the heads that hold it; the other heads stay empty."
        + " A frame: few neurons." * framed,
    )


def _panel(asked: Asked) -> HeadPanel:
    """Return the panel of a head: its roles, each with its vertical share, neurons and removals."""
    own: dict[int, list[tuple[str, str, str, bool]]] = {}
    for row in asked.origins.origins:
        few = row.few != UNTESTABLE
        rotated = f", {number(row.rotated)} when rotated" * few
        more = [
            ("contrast", damage_text(row.contrast, row.low, row.high), "–"),
            ("participation", f"{number(row.participation)}{rotated}", row.few if few else "–"),
            ("found", f"{row.found:,}", "–"),
            *([("directions", f"{row.rank:,}", "–")] if row.rank >= 0 else []),
        ]
        for test in asked.removals(row):
            what = "directions" if test.by == records.SUBSPACE else "found dimensions"
            scored = "" if test.scored == test.role else f": {role_title(test.scored)}"
            text = f"{number(test.before)} → {damage_text(test.after, test.low, test.high)}"
            more.append((f"without {what}{scored}", text, test.verdict))
        share = (
            role_title(row.role),
            f"vertical share {share_text(row)}",
            row.verdict, row.verdict == VERTICAL,
        )  # fmt: skip
        own.setdefault(asked.cell(row), []).extend([share, *((*line, False) for line in more)])
    width = asked.run.scores.heads
    return HeadPanel(
        own=own, sentences={cell: why.head_sentence(asked, *divmod(cell, width)) for cell in own},
        sentence="This head holds no role that was asked about.",
    )  # fmt: skip


def _maps_for_print(asked: Asked, width: float) -> dict[str, Any]:
    """Draw a map per role with the verdicts of its heads; none without roles, or for very many."""
    if not 0 < len(asked.roles) <= MOST_MAPS:
        return {}
    totals = {word: int(asked.roles[word].sum()) for word in VERDICTS}
    said = ", ".join(f"{totals[word]:,} {word}" for word in VERDICTS if totals[word] or word != UNTESTABLE)
    maps = [
        (phrase_of(one.role).title, f"{one.vertical} of {one.heads}", _codes(asked, one.role, -1))
        for one in asked.roles
    ]
    sentence = (
        f"Origins of {plural(sum(totals.values()), 'role')} of heads: {said}. Layers as rows. Above each "
        "map: its vertical heads, of all that hold the role."
    )
    return {"verdicts": verdict_maps(asked.run, maps, CELL_LOOKS, width, sentence)}
