"""The report of a run that takes heads out: its figures, tables, sections and maps."""

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from headroles.records.causal.ablation import VERDICTS, VERDICTS_BY_ARM
from headroles.records.causal.columns import LOSS, MEAN, OUTCOME_WORDS, SCREEN, Column, arm_name, parse_column
from headroles.records.findings import Labelling
from headroles.records.numbers import number, plural
from headroles.records.roles import phrase_of
from headroles.records.table import Column as TableColumn
from headroles.records.table import Row, Table, counted
from headroles.reports.account import account
from headroles.reports.drawing import FAINT, SOFT, SYMBOLS
from headroles.reports.kinds.ablate import (
    FAMILIES,
    NEEDED,
    NEGLIGIBLE,
    Measured,
    answer_of,
    glossary,
    head_sentence,
    role_title,
)
from headroles.reports.maps import MEAN as SHADED_BY_MEAN
from headroles.reports.maps import (
    CellLook,
    HeadMap,
    HeadMaps,
    HeadPanel,
    Told,
    largest_of,
    short_number,
)
from headroles.reports.marks import (
    Axis,
    Dots,
    Figure,
    Line,
    Look,
    Rule,
    Span,
    clearest,
    decided,
    is_steep,
    layers_axis,
)
from headroles.reports.papers import caption, captioned, findings_table
from headroles.reports.print_maps import (
    MOST_MAPS,
    verdict_maps,
)
from headroles.reports.prints import file_names
from headroles.reports.recorded import account_lines, all_notes, describe_test, title_of, verdicts_page
from headroles.reports.report import (
    LONG,
    Block,
    Choice,
    Detail,
    Fold,
    Grid,
    Named,
    Page,
    Report,
    Section,
    Text,
    Words,
)

LOOKS = {
    "needed": Look(1, "diamond"), "negligible": Look(7), "undetermined": Look(4, "square"),
    "interfering": Look(0, "triangle-down"),
}  # fmt: skip
"""Look of every verdict that is drawn."""
CELL_LOOKS = {
    "needed": CellLook("needed", "◆", tone=1, shade=1),
    "negligible": CellLook("negligible", "○", tone=7, faint=True, shade=1),
    "undetermined": CellLook("undetermined", hatched=True),
    "untestable": CellLook("untestable", "×"),
    "interfering": CellLook("interfering", "▼", tone=0, shade=1),
}
"""Look of every verdict in the cells of maps, in the order of their codes."""
KEY = ("needed", "negligible", "interfering", "undetermined", "untestable")
"""Order of the verdicts in the key of the maps."""
BARS = "Bars: 95\u00a0% intervals."
HOVER = (
    "%{fullData.name}<br>layer %{customdata[0]} head %{customdata[1]}<br>"
    "damage %{y:.3~g} [%{customdata[2]:.3~g}, %{customdata[3]:.3~g}]<extra></extra>"
)
"""Hover text of a head."""
HOVER_MARGIN = "margin %{x:.3~g}: %{y} %{fullData.name}<extra></extra>"
OF_HEAD = ("layer", "head", "low", "high")
TOP = 10
"""Heads of largest damage that are looked up among those of largest damage to first order."""
SPAN = 0.8
"""Part of a layer's width over which its heads are spread."""
CLOSE = 16
"""Layers up to which each can be switched on and off."""
FEW = 12
"""Labelled heads that a terminal lists without ``--verbose``."""
BY_LAYER = Table("", "Damage by layer", "a layer", (
    counted("layer", "Layer.", "layer"), counted("heads", "Heads that were taken out.", "heads"),
    TableColumn("mean", "Mean damage.", float, "mean damage"),
    TableColumn("least", "Smallest damage.", float, "smallest"),
    TableColumn("most", "Largest damage.", float, "largest"),
    *(counted(word, f"Heads that are {word}.", word) for word in LOOKS),
))  # fmt: skip
BY_SCORE = Table("", "Damage of heads with and without a role", "a layer", (
    counted("layer", "Layer.", "layer"),
    counted("with_role", "Heads with the role.", "with the role"),
    TableColumn("mean", "Their mean damage.", float, "their mean damage"),
    counted("others", "Other heads.", "others"),
    TableColumn("mean_others", "Their mean damage.", float, "their mean damage"),
))  # fmt: skip
ROLES_OF_HEAD = TableColumn("roles", "Roles that the head holds.", str, "roles")
FIRST_ORDER = TableColumn("first", "Damage to first order.", float, "to first order")
PLACE, SCORE = TableColumn("at", "Place along the axis."), TableColumn("score", "Mean score.", float, "score")


def report(run: Labelling) -> Report:
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
        "findings": partial(findings_table, run),
    }
    return Report(
        "headroles ablate",
        title_of(run),
        answer_of(measured),
        all_notes(run),
        run.manifest,
        papers,
        page=partial(_page, measured),
        screen=partial(_screen, measured),
        cell=lambda: [
            Grid(verdicts_by_arm(measured)),
            *(Grid(measured.rows(table)) for table in (tables.roles, tables.sites, tables.groups)),
        ],
        facts=partial(_facts, measured),
        prints=partial(_maps_for_print, measured),
    )


def _facts(measured: Measured, detail: Detail) -> list[Named]:
    """Return model, inputs, test and damage, where they are asked for."""
    run = measured.run
    test = describe_test(run.decision, run.manifest.get("preset")).replace("sieve", "arm")
    tested = f"needed, negligible and interfering, each by itself; {test}"
    lines = [Named("tested", tested, ""), Named("damage", measured.measure(measured.arm), "")]
    return [*account_lines(run), *lines] if detail.verbose else []


def _screen(measured: Measured, detail: Detail) -> list[Grid | Words]:
    """Return the tables of a terminal."""
    tables, rows = measured.ablated, (lambda table: table) if detail.verbose else measured.rows
    titles = {role: phrase_of(role).title for role in measured.held.roles} if measured.held else {}
    found = (rows(tables.roles), rows(tables.groups), rows(tables.sites), tables.cells)
    grids = [
        Grid(table, words=titles, most=most)
        for table, most in zip(found, (LONG, LONG, FEW, FEW), strict=True)
    ]
    more: list[Grid | Words] = [Grid(tables.margins), Words(glossary(measured))]
    return [Grid(verdicts_by_arm(measured)), *grids, *(more if detail.verbose else [])]


def verdicts_by_arm(measured: Measured) -> Table:
    """Return a row per arm: its threshold, heads by verdict, and the head of the largest damage."""
    nothing = Row(layer=-1, head=-1, mean=math.nan, low=math.nan, high=math.nan)
    rows = []
    for arm in measured.ablated.damage.arms:
        largest = vars(measured.largest(arm) or nothing)
        counts = dict(zip(VERDICTS, measured.counts(arm), strict=True))
        rows.append(largest | {"arm": arm, "threshold": measured.least(arm), **counts})
    return VERDICTS_BY_ARM.rows(rows)


def _with_roles(measured: Measured) -> Table:
    """Return the damage of every head with the roles that it holds."""
    held, names = measured.held, []
    for _, layer, head in np.ndindex(measured.ablated.damage.mean.shape):
        roles = [name for name in held.roles if held.heads(name)[layer, head]] if held else []
        names.append(", ".join(roles) or "–")
    return measured.damage.extended(ROLES_OF_HEAD, names)


def _figures(measured: Measured) -> Iterator[Figure]:
    """Yield every figure that has something to show, in the order of the page."""
    for arm in measured.arms:
        yield _damage(measured, arm)
    yield from _screened(measured)
    for place, role in enumerate(measured.held.roles if measured.held else ()):
        if role in measured.roles:
            yield _scores(measured, place, role)
    tables, arm = measured.ablated, measured.arm
    if len(rows := measured.rows(tables.roles)):
        yield _prediction(measured, rows)
    rows, tested, cut = clearest(measured.rows(tables.sites))
    if tested:
        found = int((measured.rows(tables.sites)["decision"] == "at its sites").sum())
        yield Figure(
            "sites",
            "Damage at the sites of a role",
            f"Damage where the role applies (its sites) minus that at other tokens. It is larger at sites "
            f"for {found} of {plural(tested, 'labelled head')}.",
            "Orange diamonds: larger at sites. Blue: smaller. Circles: the same minus that of heads of the "
            f"layer without the role. Both must lie above 0. {BARS}{cut}",
            rows,
            [
                Dots("mean", ends=("low", "high"), by="decision", looks=decided("at its sites", "elsewhere"),
                     shift=0.16),
                Rule(0.0, dash="dot", colour=FAINT),
                Dots("difference", ends=("difference_low", "difference_high"),
                     looks={"": Look(SOFT, "circle-open")}, name="beyond controls", shift=-0.2, size=6),
            ],
            x=_level(f"at sites − elsewhere{measured.unit_title(rows['arm'][0])}"),
            names=_labelled,
            numbers=dict.fromkeys(("layer", "role", "mean", "difference", "decision"), ""),
        )  # fmt: skip
    rows, tested, cut = clearest(measured.rows(tables.cells))
    if tested:
        found = int((measured.rows(tables.cells)["decision"] == "its cells matter").sum())
        yield Figure(
            "cells",
            "Damage without the cells of a role",
            f"Damage without the attention that the role counts (its cells), minus that without as much at "
            f"the same offsets elsewhere. It is larger for {found} of {plural(tested, 'labelled head')}.",
            f"Orange: larger. Blue: smaller. {BARS}{cut}",
            rows,
            [
                Dots("difference", ends=("low", "high"), by="decision",
                     looks=decided("its cells matter", "other cells matter more")),
                Rule(0.0, dash="dot", colour=FAINT),
            ],
            x=_level(f"its cells − other cells{measured.unit_title(Column(rows['outcome'][0], MEAN).name)}"),
            names=_labelled,
            numbers=dict.fromkeys(("layer", "role", "cells", "matched", "difference", "decision"), ""),
        )  # fmt: skip
    if len(rows := measured.rows(tables.groups)):
        found = int((rows["decision"] == "more than random sets").sum())
        yield Figure(
            "groups",
            "All heads of a role at once",
            f"Damage of taking out all heads of a role together. It is more than that of random sets of "
            f"heads for {found} of {plural(len(rows), 'role')}.",
            f"Grey: from the 2.5 to the 97.5\u00a0% point of {rows['sets'][0]} random sets, with as many "
            "heads in each layer and in each half of its norms. p is of damage beyond the line by norm. "
            f"Stroke: their median. Cross: the damages of the heads alone, added up. {BARS}",
            rows,
            [
                Span("random_low", "random_high", "random_middle", "random sets"),
                Dots("damage", ends=("low", "high"), by="decision", looks=decided("more than random sets")),
                Dots("singles", looks={"": Look("var(--ink)", "x-thin-open")}, name="sum of single heads"),
            ],
            x=_level(measured.axis(rows["arm"][0]), rangemode="tozero"),
            names=lambda row: role_title(row.role),
            numbers=dict.fromkeys(("role", "heads", "damage", "random_middle", "singles", "decision"), ""),
        )
    rows = measured.rows(tables.margins)
    if len(rows):
        rows, loss = rows.take(np.argsort(rows["margin"], kind="stable")), parse_column(arm).outcome == LOSS
        outcome = OUTCOME_WORDS[parse_column(arm).outcome]
        yield Figure(
            "margins",
            "Other margins",
            f"Heads by verdict under other margins ({arm_name(arm)}): of the smallest margin "
            f"{rows['needed'][0]:,} are needed, of the largest {rows['needed'][-1]:,}.",
            "Line: the margin of this run.",
            rows,
            [
                *(Line("margin", word, word, LOOKS[word], HOVER_MARGIN, number=VERDICTS.index(word))
                  for word in ("needed", "negligible", "interfering")),
                Rule(measured.least(arm) / (measured.clean_loss(arm) if loss else 1.0)),
            ],
            x=Axis(f"margin ({'share of the loss' if loss else f'damage: {outcome}'})", {
                "type": "log", "showgrid": False, "tickmode": "array", "tickvals": rows["margin"].tolist(),
                "ticktext": [f"{margin:g}" for margin in rows["margin"].tolist()],
            }),
            y=Axis("heads", {"rangemode": "tozero", "nticks": 6}),
            height=320,
            numbers=dict.fromkeys(("margin", "needed", "negligible", "interfering"), ""),
        )  # fmt: skip


def _level(title: str, **settings: Any) -> Axis:
    """Return the first axis of a forest plot."""
    return Axis(title, {"nticks": 6, "showline": True} | settings)


def _layer_of(word: str) -> str:
    """Return the layer that a mark is of, such as "layer 2"."""
    return word.partition(":")[0]


def _labelled(row: Row) -> str:
    """Return the name of a head with a role in a figure."""
    return f"{role_title(row.role)} · {row.layer}-{row.head}"


def _damage_axis(measured: Measured, arm: str, steep: bool) -> Axis:
    """Return the axis of the damage of heads, logarithmic where it spans too much for a linear one."""
    return Axis(measured.axis(arm), {"type": "log", "dtick": 1} if steep else {"nticks": 6})


def _damage(measured: Measured, arm: str) -> Figure:
    """Draw the damage of every head by layer in one arm."""
    run, main, outcome = measured.run, arm == measured.arm, arm_name(arm)
    stack, rows = run.scores.stack, measured.damage.where(arm=arm)
    heads = run.scores.heads
    rows = rows.extended(PLACE, rows["layer"] + SPAN * ((rows["head"] + 0.5) / heads - 0.5))
    steep, counts = is_steep(rows["mean"]), dict(zip(VERDICTS, measured.counts(arm), strict=True))
    by_layer = []
    for layer in stack.numbers:
        own = rows.where(layer=layer)
        known = own["mean"][~np.isnan(own["mean"])]
        ends = (known.mean(), known.min(), known.max()) if known.size else (math.nan,) * 3
        words = {word: int((own["verdict"] == word).sum()) for word in LOOKS}
        by_layer.append(
            {"layer": layer, "heads": known.size}
            | dict(zip(("mean", "least", "most"), ends, strict=True))
            | words
        )
    said = ", ".join(f"{counts[word]:,} {word}" for word in LOOKS if counts[word]) or "no head was tested"
    zero = [] if steep else [Rule(0.0, "y", dash="dot", colour=FAINT, width=1)]
    return Figure(
        "damage" if main else f"damage-{arm.replace(':', '-')}",
        "Damage by layer" if main else f"Damage by layer: {outcome}",
        f"Damage of taking out each head alone ({outcome}): {said}.",
        f"Line: the threshold, {measured.threshold(arm)}. {BARS} Heads of a layer stand side by side in "
        "their order.",
        rows,
        [
            Dots("at", "mean", ("low", "high"), "verdict", LOOKS, size=7, line=1, hover=HOVER, custom=OF_HEAD,
                 toggles=str),
            Rule(measured.least(arm), "y", name="threshold"),
            *zero,
        ],
        x=layers_axis(stack, showgrid=False, range=[-0.6, stack.blocks - 0.4]),
        y=_damage_axis(measured, arm, steep),
        numbers=BY_LAYER.rows(by_layer).sheet(),
    )  # fmt: skip


def _screened(measured: Measured) -> Iterator[Figure]:
    """Draw exact damage against damage to first order, where that was measured."""
    findings, arm = measured.run.findings, measured.arm
    name = Column(parse_column(arm).outcome, SCREEN).name
    if name not in findings.sieves or np.isnan(findings.mean[findings.of(name)]).all():
        return
    rows = measured.damage.where(arm=arm).extended(FIRST_ORDER, findings.mean[findings.of(name)].ravel())
    first, exact = rows["first"], rows["mean"]
    both = ~np.isnan(first) & ~np.isnan(exact)
    ends = (float(np.nanmin(first)), float(np.nanmax(first)))
    shown, top = int(both.sum()), min(TOP, int(both.sum()))
    largest = [{*np.argsort(-np.where(both, values, -np.inf))[:top].tolist()} for values in (first, exact)]
    order = np.argsort(-np.where(both, exact, -np.inf))[:shown]
    yield Figure(
        "screen",
        "Estimated damage (to first order)",
        f"Measured damage of {plural(shown, 'head')} against its estimate, gradient times difference. "
        f"{len(largest[0] & largest[1])} of the {top} heads of largest damage are among the {top} of largest "
        "estimate.",
        "Dotted: where both are the same. Heads that were not taken out are not drawn.",
        rows.take(order),
        [
            Dots("first", "mean", ("low", "high"), "verdict", LOOKS, size=7, line=1, hover=HOVER,
                 custom=OF_HEAD, toggles=str),
            Line(ends, ends, "the same", Look(FAINT, ""), dash="dot"),
        ],
        x=Axis(f"to first order{measured.unit_title(arm)}", {"showgrid": False, "nticks": 7}),
        y=Axis(measured.axis(arm), {"nticks": 6}),
        numbers={"layer": "", "first": "", "mean": "exact", "verdict": ""},
    )  # fmt: skip


def _scores(measured: Measured, place: int, role: str) -> Figure:
    """Draw the score of one role against damage: filled where the head holds the role."""
    held, arm = measured.held, measured.arm
    assert held is not None
    rows, holds = measured.damage.where(arm=arm), held.heads(role).ravel()
    layers = measured.run.scores.stack.numbers
    words = [
        f"layer {layer}: {'holds the role' if own else 'does not'}"
        for layer, own in zip(rows["layer"], holds, strict=True)
    ]
    rows = rows.extended(SCORE, held.score[place].ravel().astype(float)).replace(verdict=words)
    known = ~np.isnan(rows["score"]) & ~np.isnan(rows["mean"])
    looks = {
        f"layer {layer}: {word}": Look(row % 8, f"{SYMBOLS[row % len(SYMBOLS)]}{suffix}")
        for row, layer in enumerate(layers)
        for word, suffix in (("holds the role", ""), ("does not", "-open"))
    }
    means, steep = rows["mean"], is_steep(rows["mean"])

    def mean(which: np.ndarray) -> float:
        return float(means[which].mean()) if which.any() else math.nan

    by_layer = []
    for layer in layers:
        own, others = ((rows["layer"] == layer) & known & part for part in (holds, ~holds))
        by_layer.append({
            "layer": layer, "with_role": int(own.sum()), "mean": mean(own), "others": int(others.sum()),
            "mean_others": mean(others),
        })  # fmt: skip
    return Figure(
        f"scores-{place}",
        f"Score of {role_title(role)}, and damage",
        f"Mean damage of {plural(int((holds & known).sum()), 'head')} with the role: "
        f"{number(mean(holds & known))}; of the others: {number(mean(~holds & known))}. Layers differ, so "
        "compare within them.",
        f"Filled: the head holds the role. Line: the threshold. {BARS}",
        rows,
        [
            Dots("score", "mean", ("low", "high"), "verdict", looks, size=7, line=1, hover=HOVER,
                 custom=OF_HEAD, toggles=_layer_of if len(layers) <= CLOSE else None),
            Rule(measured.least(arm), "y", name="threshold"),
        ],
        x=Axis(f"score of {role_title(role)}", {"showgrid": False, "nticks": 7}),
        y=_damage_axis(measured, arm, steep),
        numbers=BY_SCORE.rows(by_layer).sheet(),
        name=f"scores-{file_names(held.roles)[place]}",
    )  # fmt: skip


def _prediction(measured: Measured, rows: Table) -> Figure:
    """Draw whether roles go with damage within layers, and the mean damage of the heads of each role."""
    arm = str(rows["arm"][0])
    least = measured.least(arm)
    below = [Rule(-least, name="threshold")] if rows["damage_low"].min() < 0 else []
    return Figure(
        "prediction",
        "Roles and damage",
        "The chance that a head with the role does more damage than a head of its layer without it "
        f"({arm_name(arm)}).",
        "Left: orange for more damage, blue for less. Dotted: no relation. Right: mean damage of heads "
        f"with the role, grey where negligible; line: the threshold. {BARS[:-1]} over units.",
        rows,
        [
            Dots("area", ends=("low", "high"), by="decision",
                 looks=decided("more damage", "less damage", symbol="circle")),
            Rule(0.5, name="no relation", dash="dot", colour=FAINT),
        ],
        x=_level("area (0.5: no relation)"),
        names=lambda row: role_title(row.role),
        numbers=dict.fromkeys(("role", "heads", "needed", "negligible", "area"), "")
        | {"decision": "decision", "damage": ""},
        beside=Figure(
            "prediction-damage", "", "Mean damage of the heads of each role, each taken out alone.", "", rows,
            [
                Dots("damage", ends=("damage_low", "damage_high"), by="no_damage",
                     looks={"negligible": Look(7), "undetermined": Look(4, "square")}),
                Rule(least, name="threshold"), *below,
            ],
            x=Axis(f"mean {measured.axis(arm)}", {"nticks": 5, "rangemode": "tozero", "showline": True}),
            names=lambda row: role_title(row.role),
        ),
    )  # fmt: skip


def _page(measured: Measured) -> Page:
    """Return the page; damages have three digits, since they can be far below a thousandth."""
    run, tables, damage = measured.run, measured.ablated, measured.ablated.damage
    drawn = {figure.key: figure for figure in _figures(measured)}

    def of(*keys: str) -> list[Figure]:
        return [figure for key, figure in drawn.items() if key.startswith(keys)]

    where: list[Block] = []
    for key, tests, strong in (
        ("sites", tables.sites, "at its sites"), ("cells", tables.cells, "its cells matter"),
    ):  # fmt: skip
        for figure in of(key):
            where += [figure, Fold(f"All tests: {figure.title.lower()}", [Grid(tests, strong)])]
    leave = () if measured.held else ("roles",)
    return verdicts_page(
        run,
        f"Damage: {account(run).model or answer_of(measured).title}",
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
                Choice("Role in the next figure", of("scores-")),
            ]),
            Section("sites", "Where", "Do roles say where heads matter?", where),
            Section("groups", "Together", "Heads taken out together", [
                *of("groups"),
                Fold("All sets, with all tests", [Grid(tables.groups, "more than random sets")]),
            ]),
            Section("verdicts", "How sure", "How sure",
                    [Grid(verdicts_by_arm(measured)), *of("margins"), Words(glossary(measured))]),
        ],
        _panel(measured),
        (
            "One row per column, layer and head. The decision of a head is its verdict, and q belongs to "
            "“needed”. Columns that are no arm are not tested.",
            "needed 2-9",
            caption(run, "Damage of heads", FAMILIES),
            [Fold("Every head with its three tests",
                  [Grid(_with_roles(measured), "needed", leave, limit=LONG)])],
        ),
        {
            "family": FAMILIES.get(run.decision.family, run.decision.family),
            "margin": "; ".join(f"{measured.threshold(arm)}: {arm_name(arm)}" for arm in damage.arms),
        },
        verdicts=[(run.findings.of(arm), measured.verdicts(arm)) for arm in damage.arms],
        words=[*VERDICTS, "not tested"],
        fine=["mean", "null", "low", "high", "margin", "mean_low", "mean_high"],
        first=measured.arm,
    )  # fmt: skip


def _number(measured: Measured, column: str) -> str:
    """Return the template of a number of a column with its unit."""
    unit = measured.unit(column) if column != "norm" else ""
    return f"{{|mean|{unit}}}" if unit else "{mean}"


def _maps(measured: Measured) -> HeadMaps:
    """Return a map of verdicts per arm, one of the damage, and one per role with verdicts of its heads."""
    findings, damage, main = measured.run.findings, measured.ablated.damage, measured.arm
    column, text = findings.of(main), f"damage {_number(measured, main)}"
    codes, means = damage.verdict[damage.of(main)], findings.mean[column]
    ends = [np.nanmin(means), np.nanmax(means)] if np.isfinite(means).any() else []

    def verdicts(arm: str, title: str, hidden: bool = False) -> HeadMap:
        return HeadMap(
            name=arm, title=title, note=f"{measured.counts(arm)[NEEDED]} needed", column=findings.of(arm),
            looks=[*CELL_LOOKS.values()], hidden=hidden,
            lines=("{head} · {title}", f"damage {_number(measured, arm)}", "{word}"),
        )  # fmt: skip

    roles = []
    for role in measured.roles:
        assert measured.held is not None
        holds = measured.held.heads(role)
        negligible = f"{int((codes[holds] == NEGLIGIBLE).sum())} of {int(holds.sum())} negligible"
        roles.append(
            HeadMap(
                name=role, title=phrase_of(role).title, note=negligible, column=column,
                looks=[*CELL_LOOKS.values()], heads=np.flatnonzero(holds).tolist(),
                lines=("{head} · {title}", text, "{word}; holds the role"),
                outside=("{head} · {title}", text, "{word}; does not hold the role"),
            )
        )  # fmt: skip
    of_damage = HeadMap(
        name="damage", title="Damage", note=" to ".join(short_number(float(end)) for end in ends),
        column=column, shade=SHADED_BY_MEAN, largest=largest_of(means), looks=(),
        lines=("{head} · {title}", text, "{word}"),
    )  # fmt: skip
    others = [verdicts(arm, f"Verdicts ({arm_name(arm)})", hidden=True) for arm in measured.arms[1:]]
    return HeadMaps(
        id="ablation-maps",
        maps=[verdicts(main, "Verdicts"), of_damage, *roles, *others],
        first="verdicts, damage and all roles",
        key=[(CELL_LOOKS[word].mark or "▨", word) for word in KEY],
        caption="The map of a role shows the verdicts of the heads that hold it; the other heads stay empty. "
        "In the map of damage, darker is more.",
    )


def _panel(measured: Measured) -> HeadPanel:
    """Return the panel of a head: its damage by every arm, its scores of roles, and the other columns."""
    findings, held = measured.run.findings, measured.held

    def of(column: str, title: str, word: str = "{word}") -> Told:
        lines = _number(measured, column), word
        return Told(title=title, column=findings.of(column), lines=lines, plain=word != "{word}")

    roles = []
    for role in measured.roles:
        assert held is not None
        scores = held.score[held.roles.index(role)].ravel().tolist()
        roles.append(
            Told(
                title=f"score: {phrase_of(role).title}", heads=np.flatnonzero(held.heads(role)).tolist(),
                values={"score": ["–" if math.isnan(score) else f"{score:z.3f}" for score in scores]},
                lines=("{score}", "role"), outside=("{score}", "–"),
            )
        )  # fmt: skip
    names = {name: arm_name(name) for name in findings.sieves if name not in measured.arms}
    heads = [*np.ndindex(findings.count.shape[1:])]
    return HeadPanel(
        rows=[
            *(of(arm, arm_name(arm)) for arm in measured.arms), *roles,
            *(of(name, f"{title[:1].upper()}{title[1:]}", "–") for name, title in names.items()),
        ],
        sentences=[head_sentence(measured, *place) for place in heads] if len(heads) <= LONG else (),
        sentence="Damage with its 95 % interval, and the verdict.",
    )  # fmt: skip


def _maps_for_print(measured: Measured, width: float) -> dict[str, Any]:
    """Draw the verdict of every head, and a map per role with the verdicts of the heads that hold it."""
    held, codes, counts = measured.held, measured.verdicts(measured.arm), measured.counts(measured.arm)
    maps = [("verdicts", plural(codes.size, "head"), codes)]
    for role in measured.roles if len(measured.roles) <= MOST_MAPS else ():
        assert held is not None
        own = np.where(held.heads(role), codes, -1)
        negligible = f"{int((own == NEGLIGIBLE).sum())} of {int((own >= 0).sum())}"
        maps.append((phrase_of(role).title, negligible, own))
    said = ", ".join(f"{count} {word}" for count, word in zip(counts, VERDICTS, strict=True) if count)
    beside = " Above the map of a role: its negligible heads, of all that hold it." * (len(maps) > 1)
    sentence = f"Verdicts of all heads ({arm_name(measured.arm)}): {said}. Layers as rows.{beside}"
    return {"verdicts": verdict_maps(measured.run, maps, [*CELL_LOOKS.values()], width, sentence)}
