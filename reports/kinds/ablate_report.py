"""The report of a run that takes heads out: its figures, tables, sections and maps."""

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from headroles.records.causal.ablation import VERDICTS, VERDICTS_BY_ARM
from headroles.records.causal.columns import LOSS, MEAN, OUTCOME_WORDS, SCREEN, arm_name, parse_column
from headroles.records.causal.columns import Column as Arm
from headroles.records.findings import Labelling
from headroles.records.numbers import number, plural
from headroles.records.roles import phrase_of
from headroles.records.table import Column, Row, Table, counted
from headroles.reports import maps, marks
from headroles.reports import report as blocks
from headroles.reports.account import Named, account
from headroles.reports.drawing import FAINT, SOFT, SYMBOLS
from headroles.reports.kinds import ablate, claims
from headroles.reports.kinds.ablate import FAMILIES, NEEDED, NEGLIGIBLE, Measured
from headroles.reports.kinds.claims import BARS, FEW, count_of, place_name, role_title
from headroles.reports.marks import Axis, Dots, Figure, Line, Look, Rule, decided
from headroles.reports.papers import caption, captioned
from headroles.reports.print_maps import MOST_MAPS, verdict_maps
from headroles.reports.prints import file_names
from headroles.reports.recorded import verdicts_page
from headroles.reports.report import LONG, Detail, Fold, Grid, Section, Text, Words

LOOKS = {
    "needed": Look(1, "diamond"), "negligible": Look(7), "undetermined": Look(4, "square"),
    "interfering": Look(0, "triangle-down"),
}  # fmt: skip
"""Look of every verdict that is drawn."""
CELL_LOOKS = (
    maps.CellLook("needed", maps.MARKS["needed"], tone=1, shade=1),
    maps.CellLook("negligible", maps.MARKS["negligible"], tone=7, faint=True, shade=1),
    maps.CellLook("undetermined", hatched=True), maps.CellLook("untestable", maps.MARKS["untestable"]),
    maps.CellLook("interfering", maps.MARKS["interfering"], tone=0, shade=1),
)  # fmt: skip
"""Look of every verdict in the cells of maps, in the order of their codes."""
KEY = (0, 1, 4, 2, 3)
"""Order of the verdicts in the key of the maps."""
CHANGING = ("needed", "negligible", "interfering")
"""Verdicts that are counted under other margins."""
HOVER = (
    "%{fullData.name}<br>layer %{customdata[0]} head %{customdata[1]}<br>damage %{y:.3~g} "
    "[%{customdata[2]:.3~g}, %{customdata[3]:.3~g}]<extra></extra>"
)
"""Hover text of a head."""
HOVER_MARGIN = "margin %{x:.3~g}: %{y} %{fullData.name}<extra></extra>"
TOP = 10
"""Heads of largest damage that are looked up among those of largest damage to first order."""
SPAN = 0.8
"""Part of a layer's width over which its heads are spread."""
CLOSE = 16
"""Layers up to which each can be switched on and off."""
BY_LAYER = Table("", "Damage by layer", "a layer", (
    counted("layer", "Layer.", "layer"), counted("heads", "Heads that were taken out.", "heads"),
    Column("mean", "Mean damage.", float, "mean damage"),
    Column("least", "Smallest damage.", float, "smallest"),
    Column("most", "Largest damage.", float, "largest"),
    *(counted(word, f"Heads that are {word}.", word) for word in LOOKS),
))  # fmt: skip
BY_SCORE = Table("", "Damage of heads with and without a role", "a layer", (
    counted("layer", "Layer.", "layer"), counted("with_role", "Heads with the role.", "with the role"),
    Column("mean", "Their mean damage.", float, "their mean damage"),
    counted("others", "Other heads.", "others"),
    Column("mean_others", "Their mean damage.", float, "their mean damage"),
))  # fmt: skip
ROLES_OF_HEAD = Column("roles", "Roles that the head holds.", str, "roles")
FIRST_ORDER = Column("first", "Damage to first order.", float, "to first order")
PLACE, SCORE = Column("at", "Place along the axis."), Column("score", "Mean score.", float, "score")


def report(run: Labelling) -> blocks.Report:
    """Return the report of a run that takes heads out."""
    measured = Measured(run)
    tables, note = measured.ablated, partial(captioned, run, families=FAMILIES)
    tests = {
        "prediction": tables.roles, "sites": tables.sites, "cells": tables.cells, "groups": tables.groups,
        "margins": tables.margins,
    }  # fmt: skip
    papers: dict[str, Callable[[], Any]] = {
        "verdicts": lambda: note(verdicts_by_arm(measured)),
        "damage": lambda: note(_with_roles(measured), leave=() if measured.held else ("roles",)),
        **{name: partial(note, table) for name, table in tests.items() if len(table)},
    }
    return claims.report_about(
        run, "ablate", ablate.answer_of(measured), papers,
        lambda: [
            claims.tested_line(run, "needed, negligible and interfering, each by itself", "sieve", "arm"),
            Named("damage", measured.measure(measured.arm), ""),
        ],
        page=partial(_page, measured), screen=partial(_screen, measured),
        cell=lambda: [
            Grid(verdicts_by_arm(measured)),
            *(Grid(measured.rows(table)) for table in (tables.roles, tables.sites, tables.groups)),
        ],
        prints=partial(_maps_for_print, measured),
    )  # fmt: skip


def _screen(measured: Measured, detail: Detail) -> list[Grid | Words]:
    tables, rows = measured.ablated, (lambda table: table) if detail.verbose else measured.rows
    titles = {role: phrase_of(role).title for role in measured.held.roles} if measured.held else {}
    found = ((rows(tables.roles), LONG), (rows(tables.groups), LONG), (rows(tables.sites), FEW))
    more: list[Grid | Words] = (
        [Grid(tables.margins), Words(ablate.glossary(measured))] if detail.verbose else []
    )
    grids = [Grid(table, words=titles, most=most) for table, most in (*found, (tables.cells, FEW))]
    return [Grid(verdicts_by_arm(measured)), *grids, *more]


def verdicts_by_arm(measured: Measured) -> Table:
    """Return a row per arm: its threshold, heads by verdict, and the head of the largest damage."""
    nothing = Row(layer=-1, head=-1, mean=math.nan, low=math.nan, high=math.nan)
    return VERDICTS_BY_ARM.rows(
        vars(measured.largest(arm) or nothing) | dict(zip(VERDICTS, measured.counts(arm), strict=True))
        | {"arm": arm, "threshold": measured.least(arm)}
        for arm in measured.ablated.damage.arms
    )  # fmt: skip


def _with_roles(measured: Measured) -> Table:
    """Return the damage of every head with the roles that it holds."""
    heads = np.ndindex(measured.ablated.damage.mean.shape)
    names = [", ".join(measured.roles_of(layer, head)) or "–" for _, layer, head in heads]
    return measured.damage.extended(ROLES_OF_HEAD, names)


def _forest(
    rows: Table, words: tuple[str, str, str, str], drawn: Sequence[marks.Mark], axis: str, numbers: str, *,
    heads: bool = False, **more: Any,
) -> Figure:  # fmt: skip
    """Draw rows one below the other, of heads with a role or of roles; ``numbers`` names their columns."""

    def name(row: Row) -> str:
        return role_title(row.role) + (f" · {place_name(row)}" if heads else "")

    x = Axis(axis, {"nticks": 6, "showline": True} | more.pop("x", {}))
    headings = dict.fromkeys(numbers.split(), "") | more.pop("headings", {})
    return Figure(*words, rows, drawn, x, names=name, numbers=headings, **more)


def _figures(measured: Measured) -> Iterator[Figure]:
    """Yield every figure that has something to show, in the order of the page."""
    for arm in measured.arms:
        yield _damage(measured, arm)
    yield from _screened(measured)
    for role in measured.holders:
        yield _scores(measured, role)
    tables, arm = measured.ablated, measured.arm
    if rows := measured.rows(tables.roles):
        yield _prediction(measured, rows)
    all_rows = measured.rows(tables.sites)
    rows, tested, cut = marks.clearest(all_rows)
    if tested:
        yield _forest(
            rows,
            ("sites", "Damage at the sites of a role",
             "Damage where the role applies (its sites) minus that at other tokens. It is larger at sites "
             f"for {count_of(all_rows, 'at its sites')} of {plural(tested, 'label')} of heads.",
             "Orange diamonds: larger at sites. Blue: smaller. Circles: the same minus that of heads of the "
             f"layer without the role. Both must lie above 0. {BARS}{cut}"),
            [
                Dots("mean", ends=("low", "high"), by="decision", looks=decided("at its sites", "elsewhere"),
                     shift=0.16),
                Rule(0.0, dash="dot", colour=FAINT),
                Dots("difference", ends=("difference_low", "difference_high"),
                     looks={"": Look(SOFT, "circle-open")}, name="beyond controls", shift=-0.2, size=6),
            ],
            f"at sites − elsewhere{measured.unit_title(rows[0].arm)}",
            "layer role mean difference decision", heads=True,
        )  # fmt: skip
    all_rows = measured.rows(tables.cells)
    rows, tested, cut = marks.clearest(all_rows)
    if tested:
        yield _forest(
            rows,
            ("cells", "Damage without the cells of a role",
             "Damage without the attention that the role counts (its cells), minus that without as much at "
             f"the same offsets elsewhere. It is larger for {count_of(all_rows, 'its cells matter')} of "
             f"{plural(tested, 'label')} of heads.",
             f"Orange: larger. Blue: smaller. {BARS}{cut}"),
            [
                Dots("difference", ends=("low", "high"), by="decision",
                     looks=decided("its cells matter", "other cells matter more")),
                Rule(0.0, dash="dot", colour=FAINT),
            ],
            f"its cells − other cells{measured.unit_title(Arm(rows[0].outcome, MEAN).name)}",
            "layer role cells matched difference decision", heads=True,
        )  # fmt: skip
    if rows := measured.rows(tables.groups):
        yield _forest(
            rows,
            ("groups", "All heads of a role at once",
             "Damage of taking out all heads of a role together. It is more than that of random sets of "
             f"heads for {count_of(rows, 'more than random sets')} of {plural(len(rows), 'role')}.",
             f"Grey: from the 2.5 to the 97.5\u00a0% point of {rows[0].sets} random sets, with as many heads "
             "in each layer and in each half of its norms. p is of damage beyond the line by norm. Stroke: "
             f"their median. Cross: the damages of the heads alone, added up. {BARS}"),
            [
                marks.Span("random_low", "random_high", "random_middle", "random sets"),
                Dots("damage", ends=("low", "high"), by="decision", looks=decided("more than random sets")),
                Dots("singles", looks={"": Look("var(--ink)", "x-thin-open")}, name="sum of single heads"),
            ],
            measured.axis(rows[0].arm), "role heads damage random_middle singles decision",
            x={"rangemode": "tozero"},
        )  # fmt: skip
    if rows := measured.rows(tables.margins):
        rows, outcome = rows.take(np.argsort(rows["margin"], kind="stable")), parse_column(arm).outcome
        margins, loss = rows["margin"].tolist(), outcome == LOSS
        yield Figure(
            "margins", "Other margins",
            f"Heads by verdict under other margins ({arm_name(arm)}): of the smallest margin "
            f"{rows[0].needed:,} are needed, of the largest {rows[-1].needed:,}.",
            "Line: the margin of this run.",
            rows,
            [
                *(Line("margin", word, word, LOOKS[word], HOVER_MARGIN, number=VERDICTS.index(word))
                  for word in CHANGING),
                Rule(measured.least(arm) / (measured.clean_loss(arm) if loss else 1.0)),
            ],
            Axis(f"margin ({'share of the loss' if loss else f'damage: {OUTCOME_WORDS[outcome]}'})", {
                "type": "log", "showgrid": False,
                **marks.ticks(margins, [f"{margin:g}" for margin in margins]),
            }),
            Axis("heads", {"rangemode": "tozero", "nticks": 6}),
            height=320, numbers=dict.fromkeys(("margin", *CHANGING), ""),
        )  # fmt: skip


def _of_heads(
    measured: Measured, arm: str, x: str, words: Sequence[str], rows: Table, more: Sequence[marks.Mark],
    axis: Axis, looks: dict[str, Look] = LOOKS, toggles: Any = str, *, log: bool = False, **settings: Any,
) -> Figure:  # fmt: skip
    """Draw the damage of heads in one arm, by layer or against another number."""
    dots = Dots(
        x, "mean", ("low", "high"), "verdict", looks, size=7, line=1, hover=HOVER,
        custom=("layer", "head", "low", "high"), toggles=toggles,
    )  # fmt: skip
    y = Axis(measured.axis(arm), {"type": "log", "dtick": 1} if log else {"nticks": 6})
    key, title, sentence, note = words
    return Figure(key, title, sentence, note, rows, [dots, *more], axis, y, **settings)


def _damage(measured: Measured, arm: str) -> Figure:
    """Draw the damage of every head by layer in one arm."""
    run, main, outcome = measured.run, arm == measured.arm, arm_name(arm)
    stack, rows = run.scores.stack, measured.damage.where(arm=arm)
    rows = rows.extended(PLACE, rows["layer"] + SPAN * ((rows["head"] + 0.5) / run.scores.heads - 0.5))
    steep, counts = marks.is_steep(rows["mean"]), dict(zip(VERDICTS, measured.counts(arm), strict=True))
    by_layer = []
    for layer in stack.numbers:
        own = rows.where(layer=layer)
        known = own["mean"][~np.isnan(own["mean"])]
        ends = (known.mean(), known.min(), known.max()) if known.size else (math.nan,) * 3
        numbers = dict(zip(("mean", "least", "most"), ends, strict=True))
        numbers |= {word: count_of(own, word, "verdict") for word in LOOKS}
        by_layer.append({"layer": layer, "heads": known.size, **numbers})
    said = ", ".join(f"{counts[word]:,} {word}" for word in LOOKS if counts[word]) or "no head was tested"
    zero = [] if steep else [Rule(0.0, "y", dash="dot", colour=FAINT, width=1)]
    words = (
        "damage" + f"-{arm.replace(':', '-')}" * (not main), "Damage by layer" + f": {outcome}" * (not main),
        f"Damage of taking out each head alone ({outcome}): {said}.",
        f"Line: the threshold, {measured.threshold(arm)}. {BARS} Heads of a layer stand side by side in "
        "their order.",
    )  # fmt: skip
    return _of_heads(
        measured, arm, "at", words, rows, [Rule(measured.least(arm), "y", name="threshold"), *zero],
        marks.layers_axis(stack, showgrid=False, range=[-0.6, stack.blocks - 0.4]), log=steep,
        numbers=BY_LAYER.rows(by_layer).sheet(),
    )  # fmt: skip


def _screened(measured: Measured) -> Iterator[Figure]:
    """Draw exact damage against damage to first order, where that was measured."""
    findings, arm = measured.run.findings, measured.arm
    name = Arm(parse_column(arm).outcome, SCREEN).name
    if name not in findings.sieves or np.isnan(findings.mean[findings.of(name)]).all():
        return
    rows = measured.damage.where(arm=arm).extended(FIRST_ORDER, findings.mean[findings.of(name)].ravel())
    first, exact = rows["first"], rows["mean"]
    both, ends = ~np.isnan(first) & ~np.isnan(exact), (float(np.nanmin(first)), float(np.nanmax(first)))
    shown = int(both.sum())
    top = min(TOP, shown)
    foretold, order = (np.argsort(-np.where(both, values, -np.inf)) for values in (first, exact))
    same = np.intersect1d(foretold[:top], order[:top]).size
    words = (
        "screen", "Estimated damage (to first order)",
        f"Measured damage of {plural(shown, 'head')} against its estimate, gradient times difference. {same} "
        f"of the {top} heads of largest damage are among the {top} of largest estimate.",
        "Dotted: where both are the same. Heads that were not taken out are not drawn.",
    )  # fmt: skip
    yield _of_heads(
        measured, arm, "first", words, rows.take(order[:shown]),
        [Line(ends, ends, "the same", Look(FAINT, ""), dash="dot")],
        Axis(f"to first order{measured.unit_title(arm)}", {"showgrid": False, "nticks": 7}),
        numbers={"layer": "", "first": "", "mean": "exact", "verdict": ""},
    )  # fmt: skip


def _scores(measured: Measured, role: str) -> Figure:
    """Draw the score of one role against damage: filled where the head holds the role."""
    held, arm, layers = measured.held, measured.arm, measured.run.scores.stack.numbers
    assert held is not None
    place, rows = held.roles.index(role), measured.damage.where(arm=arm)
    holds = measured.holders[role].ravel()
    of_layers = zip(rows["layer"], holds, strict=True)
    words = [f"layer {layer}: {'holds the role' if own else 'does not'}" for layer, own in of_layers]
    rows = rows.extended(SCORE, held.score[place].ravel().astype(float)).replace(verdict=words)
    known, means = ~np.isnan(rows["score"]) & ~np.isnan(rows["mean"]), rows["mean"]
    looks = {
        f"layer {layer}: {word}": Look(row % 8, f"{SYMBOLS[row % len(SYMBOLS)]}{suffix}")
        for row, layer in enumerate(layers)
        for word, suffix in (("holds the role", ""), ("does not", "-open"))
    }

    def mean(which: np.ndarray) -> float:
        return float(means[which].mean()) if which.any() else math.nan

    by_layer = []
    for layer in layers:
        own, others = (known & part & (rows["layer"] == layer) for part in (holds, ~holds))
        by_layer.append({
            "layer": layer, "with_role": own.sum(), "mean": mean(own), "others": others.sum(),
            "mean_others": mean(others),
        })  # fmt: skip
    title = (
        f"scores-{place}", f"Score of {role_title(role)}, and damage",
        f"Mean damage of {plural(int((holds & known).sum()), 'head')} with the role: "
        f"{number(mean(holds & known))}; of the others: {number(mean(~holds & known))}. Layers differ, so "
        "compare within them.",
        f"Filled: the head holds the role. Line: the threshold. {BARS}",
    )  # fmt: skip
    return _of_heads(
        measured, arm, "score", title, rows, [Rule(measured.least(arm), "y", name="threshold")],
        Axis(f"score of {role_title(role)}", {"showgrid": False, "nticks": 7}), looks,
        (lambda word: word.partition(":")[0]) if len(layers) <= CLOSE else None, log=marks.is_steep(means),
        numbers=BY_SCORE.rows(by_layer).sheet(), name=f"scores-{file_names(held.roles)[place]}",
    )  # fmt: skip


def _prediction(measured: Measured, rows: Table) -> Figure:
    """Draw whether roles go with damage within layers, and the mean damage of the heads of each role."""
    arm = rows[0].arm
    least = measured.least(arm)
    below = [Rule(-least, name="threshold")] if rows["damage_low"].min() < 0 else []
    beside = _forest(
        rows,
        ("prediction-damage", "", "Mean damage of the heads of each role, each taken out alone.", ""),
        [
            Dots("damage", ends=("damage_low", "damage_high"), by="no_damage",
                 looks={"negligible": Look(7), "undetermined": Look(4, "square")}),
            Rule(least, name="threshold"), *below,
        ],
        f"mean {measured.axis(arm)}", "", x={"nticks": 5, "rangemode": "tozero"},
    )  # fmt: skip
    return _forest(
        rows,
        ("prediction", "Roles and damage",
         "The chance that a head with the role does more damage than a head of its layer without it "
         f"({arm_name(arm)}).",
         "Left: orange for more damage, blue for less. Dotted: no relation. Right: mean damage of heads with "
         f"the role, grey where negligible; line: the threshold. {BARS[:-1]} over units."),
        [
            Dots("area", ends=("low", "high"), by="decision",
                 looks=decided("more damage", "less damage", symbol="circle")),
            Rule(0.5, name="no relation", dash="dot", colour=FAINT),
        ],
        "area (0.5: no relation)", "role heads needed negligible area decision damage",
        headings={"decision": "decision"}, beside=beside,
    )  # fmt: skip


def _page(measured: Measured) -> blocks.Page:
    """Return the page; damages have three digits, since they can be far below a thousandth."""
    run, tables, damage = measured.run, measured.ablated, measured.ablated.damage
    drawn = {figure.key: figure for figure in _figures(measured)}

    def of(*keys: str) -> list[Figure]:
        return [figure for key, figure in drawn.items() if key.startswith(keys)]

    where = [
        *claims.with_tests(of("sites"), Grid(tables.sites, "at its sites")),
        *claims.with_tests(of("cells"), Grid(tables.cells, "its cells matter")),
    ]
    every = Grid(_with_roles(measured), "needed", () if measured.held else ("roles",), limit=LONG)
    return verdicts_page(
        run,
        f"Damage: {account(run).model or ablate.answer_of(measured).title}",
        [
            Section("profiles", "Heads", "Heads", [_maps(measured)]),
            Section("damage", "Damage", "Damage of every head", [
                drawn["damage"], *(Fold(figure.title, [figure]) for figure in of("damage-", "screen")),
            ]),
            Section("roles", "Which heads", "Do roles say which heads matter?", [
                *of("prediction"),
                Fold("Every role, with all tests", [
                    Grid(tables.roles, "more damage"),
                    Text("Special tokens, first token, punctuation and parked predict no damage. "
                         "“Negligible” in the last column confirms it."),
                ]),
                blocks.Choice("Role in the next figure", of("scores-")),
            ]),
            Section("sites", "Where", "Do roles say where heads matter?", where),
            Section("groups", "Together", "Heads taken out together", claims.with_tests(
                of("groups"), Grid(tables.groups, "more than random sets"), "All sets, with all tests"
            )),
            Section("verdicts", "How sure", "How sure", [
                Grid(verdicts_by_arm(measured)), *of("margins"), Words(ablate.glossary(measured)),
            ]),
        ],
        _panel(measured),
        (
            "One row per column, layer and head. The decision of a head is its verdict, and q belongs to "
            "“needed”. Columns that are no arm are not tested.",
            "needed 2-9", caption(run, "Damage of heads", FAMILIES),
            [Fold("Every head with its three tests", [every])],
        ),
        {
            "family": FAMILIES.get(run.decision.family, run.decision.family),
            "margin": "; ".join(f"{measured.threshold(arm)}: {arm_name(arm)}" for arm in damage.arms),
        },
        verdicts=[(run.findings.of(arm), measured.verdicts(arm)) for arm in damage.arms],
        noun="column", words=[*VERDICTS, "not tested"],
        fine=["mean", "null", "low", "high", "margin", "mean_low", "mean_high"], first=measured.arm,
    )  # fmt: skip


def _number(measured: Measured, column: str) -> str:
    """Return the template of a number of a column with its unit."""
    unit = measured.unit(column) if column != "norm" else ""
    return f"{{|mean|{unit}}}" if unit else "{mean}"


def _maps(measured: Measured) -> maps.HeadMaps:
    """Return a map of verdicts per arm, one of the damage, and one per role with verdicts of its heads."""
    findings, codes = measured.run.findings, measured.verdicts(measured.arm)
    column = findings.of(measured.arm)
    means = findings.mean[column]
    ends = [np.nanmin(means), np.nanmax(means)] if np.isfinite(means).any() else []
    text = f"damage {_number(measured, measured.arm)}"
    verdicts, *others = (
        claims.verdict_map(
            arm, f"Verdicts ({arm_name(arm)})" if place else "Verdicts",
            f"{measured.counts(arm)[NEEDED]} needed", (f"damage {_number(measured, arm)}", "{word}"),
            column=findings.of(arm), looks=CELL_LOOKS, hidden=place > 0,
        )
        for place, arm in enumerate(measured.arms)
    )  # fmt: skip
    roles = [
        claims.verdict_map(
            role, phrase_of(role).title,
            f"{int((codes[holds] == NEGLIGIBLE).sum())} of {int(holds.sum())} negligible",
            (text, "{word}; holds the role"), outside=(text, "{word}; does not hold the role"), column=column,
            looks=CELL_LOOKS, heads=np.flatnonzero(holds).tolist(),
        )
        for role, holds in measured.holders.items()
    ]  # fmt: skip
    of_damage = claims.verdict_map(
        "damage", "Damage", " to ".join(maps.short_number(float(end)) for end in ends), (text, "{word}"),
        column=column, shade=maps.MEAN, largest=maps.largest_of(means), looks=(),
    )  # fmt: skip
    return maps.HeadMaps(
        id="ablation-maps",
        maps=[verdicts, of_damage, *roles, *others],
        first="verdicts, damage and all roles",
        key=[CELL_LOOKS[code].told for code in KEY],
        caption="The map of a role shows the verdicts of the heads that hold it; the other heads stay empty. "
        "In the map of damage, darker is more.",
    )


def _panel(measured: Measured) -> maps.HeadPanel:
    """Return the panel of a head: its damage by every arm, its scores of roles, and the other columns."""
    findings, held, arms = measured.run.findings, measured.held, measured.arms

    def of(column: str) -> maps.Told:
        title, arm = arm_name(column), column in arms
        return maps.Told(
            title=title if arm else f"{title[:1].upper()}{title[1:]}", column=findings.of(column),
            lines=(_number(measured, column), "{word}" if arm else "–"), plain=not arm,
        )  # fmt: skip

    roles = []
    for role, holds in measured.holders.items():
        assert held is not None
        scores = held.score[held.roles.index(role)].ravel().tolist()
        roles.append(maps.Told(
            title=f"score: {phrase_of(role).title}", heads=np.flatnonzero(holds).tolist(),
            values={"score": ["–" if math.isnan(score) else f"{score:z.3f}" for score in scores]},
            lines=("{score}", "role"), outside=("{score}", "–"),
        ))  # fmt: skip
    heads = [*np.ndindex(findings.count.shape[1:])]
    others = [name for name in findings.sieves if name not in arms]
    return maps.HeadPanel(
        rows=[*map(of, arms), *roles, *map(of, others)],
        sentences=[ablate.head_sentence(measured, *place) for place in heads] if len(heads) <= LONG else (),
        sentence="Damage with its 95 % interval, and the verdict.",
    )


def _maps_for_print(measured: Measured, width: float) -> dict[str, Any]:
    """Draw the verdict of every head, and a map per role with the verdicts of the heads that hold it."""
    codes, counts = measured.verdicts(measured.arm), measured.counts(measured.arm)
    drawn = [("verdicts", plural(codes.size, "head"), codes)]
    for role, holds in measured.holders.items() if len(measured.holders) <= MOST_MAPS else ():
        negligible = f"{int((codes[holds] == NEGLIGIBLE).sum())} of {int(holds.sum())}"
        drawn.append((phrase_of(role).title, negligible, np.where(holds, codes, -1)))
    said = ", ".join(f"{count} {word}" for count, word in zip(counts, VERDICTS, strict=True) if count)
    beside = " Above the map of a role: its negligible heads, of all that hold it." * (len(drawn) > 1)
    sentence = f"Verdicts of all heads ({arm_name(measured.arm)}): {said}. Layers as rows.{beside}"
    return {"verdicts": verdict_maps(measured.run, drawn, CELL_LOOKS, width, sentence)}
