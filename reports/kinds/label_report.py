"""The report of roles: tables, sections, maps, and what a terminal prints of roles."""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from headroles.kinds import kind_of
from headroles.records.arrays import key_groups
from headroles.records.assessment import DEPTH, VALUES
from headroles.records.findings import DECISIONS, Labelling
from headroles.records.numbers import count as count_text
from headroles.records.numbers import mean, plural, share, two_decimals
from headroles.records.numbers import number as digits_of
from headroles.records.roles import explained_list, family_of, titles_of, tone_of
from headroles.records.table import (  # fmt: skip
    COUNT,
    ENDS,
    HEAD,
    LAYER,
    MISSING,
    Cell,
    Column,
    Row,
    Sheet,
    Table,
    chance,
    counted,
    interval_ends,
)
from headroles.reports import report as blocks
from headroles.reports.account import Named, account_lines, all_notes, describe_test, title_of
from headroles.reports.cards import PANEL_SCRIPTS, cards_json
from headroles.reports.embedded import files_of, findings_json
from headroles.reports.kinds.calibration import calibration
from headroles.reports.kinds.example_heads import examples
from headroles.reports.kinds.label import answer_of, glossary
from headroles.reports.kinds.label_figures import figures
from headroles.reports.kinds.label_pairs import expected_text, pair_sentences, pairs_of
from headroles.reports.kinds.terminal_roles import HeadGrid, RoleCounts, span_text, verdict_lines
from headroles.reports.maps import BEYOND, MARKS, CellLook, HeadMap, HeadMaps, largest_of
from headroles.reports.notebook import maps_html
from headroles.reports.papers import P_VALUES, caption, families_of, findings_table, inputs_text, p_row
from headroles.reports.print_maps import maps, matrix
from headroles.reports.recorded import last_sections
from headroles.reports.report import Detail, Drawing, Fold, Grid, Paper, Report, Section, Text, Words
from headroles.reports.summary import Role, Summary, Support, summarise
from headroles.reports.words import ABSENT, CAPTION, POWER, RELABELLINGS, STEADY, middle_sentence

MOST_NAMED = 12
"""Heads with a role that the label of its map names."""
SHARED = "; heads of one layer with the same kv group share keys and values, and are dependent"


def _only_with(name: str, fact: str) -> Callable[[Row], Cell]:
    """Return the writer of a count, of the roles that have something."""
    return lambda row: Cell(f"{getattr(row, name):,}", getattr(row, name)) if getattr(row, fact) else MISSING


def _interval_columns(name: str, meaning: str, heading: str) -> tuple[Column, ...]:
    ends = ("low", "high") if name == "mean" else (f"{name}_low", f"{name}_high")
    return Column(name, meaning, float, f"{heading} {ENDS}", mean, ends), *interval_ends(*ends)


ROLES = Table("", "Roles", "a role", (
    Column("role", "The role.", str, "role", cell=lambda row: Cell(row.title, row.role)),
    Column("title", "The role in words.", str),
    counted("heads", "Heads with the role.", "heads", short="role"),
    counted("tested", "Heads that were tested.", "heads",
            cell=lambda row: Cell(f"{row.heads}/{row.tested}", row.heads)),
    Column("layer", "Layer of the strongest head: the lower end of the interval of its contrast, or else of "
           "its mean, is the highest. None without a role.", "int | None", within=COUNT),
    Column("head", "This head.", "int | None", "strongest head", short="strongest\nhead",
           within=COUNT, cell=lambda row: Cell("none", math.nan) if row.layer is None
           else Cell(f"{row.layer}-{row.head}", row.layer + row.head / 1000)),
    *_interval_columns("mean", "Its mean.", "its mean"),
    *_interval_columns("contrast", "Mean of its contrast.", "contrast"),
    Column("threshold", "Mean chance value plus the margin.", float, "threshold", "{:.3f}".format),
    Column("contrast_threshold", "Threshold of the contrast."),
    chance("q", "Its q.", "q"),
    *_interval_columns("difference", "Its mean less that of the baseline.", "difference to baseline"),
    counted("strong", "Of these, heads that hold it beyond its second contrast, too.", "of these strong",
            cell=_only_with("strong", "has_second")),
    counted("explained", "Heads that are explained by the contrast.", "explained", short="ex-\nplained",
            cell=_only_with("explained", "has_contrast")),
    counted("not", "Heads that are not.", "not"),
    counted("absent", "Of those that are not, heads whose mean lies around chance.", "of these absent",
            cell=_only_with("absent", "has_bounds")),
    counted("undetermined", "Heads that are undetermined.", "undetermined", short="unde-\nter-\nmined"),
    counted("untestable", "Heads that could not be tested.", "untestable", short="untest-\nable"),
    counted("steady", "Labels that fresh samples give again.", "stable labels", short="stable",
            cell=lambda row: Cell(f"{row.steady}/{row.labels}", row.steady / row.labels) if row.labels
            else MISSING),
    counted("labels", "Labels whose stability is known."),
    Column("has_contrast", "Whether the role has a contrast.", bool),
    Column("has_bounds", "Whether heads can be absent.", bool),
    Column("has_second", "Whether the role has a second contrast.", bool),
), name="Verdicts")  # fmt: skip
DIFFERENCE = ("difference", "difference_low", "difference_high")
IN_FILES = (
    "role", "heads", "tested", "layer", "head", "mean", "low", "high", "contrast", "contrast_low",
    "contrast_high", "threshold", "contrast_threshold", "q", *DIFFERENCE, "strong", "explained", "not",
    "absent",
)  # fmt: skip
"""Columns of roles with all digits, for papers; those of the difference are of probes."""
HEADS = Table("", "Heads", "a head", (
    LAYER, HEAD,
    Column("roles", "Its roles, joined by `;`.", str, "roles", lambda roles: roles.replace(";", ", ") or "–"),
    Column("strongest", "The role with the largest effect.", str),
    Column("effect", "This effect.", float, "strongest effect",
           cell=lambda row: Cell(f"{digits_of(row.effect)} ({row.strongest})", row.effect) if row.strongest
           else MISSING),
    counted("kv_group", "The group of the head, where heads share keys.", "kv group"),
))  # fmt: skip
VERDICT = Column("verdict", "The verdict of the run.", str, "verdict")


def roles_table(summary: Summary) -> Table:
    """Return one line per role: heads by decision, the strongest head, and stable labels."""
    rows = []
    supports, titles = summary.supports or (None,) * len(summary.roles), titles_of(summary.names)
    for role, title, firmness in zip(summary.roles, titles, supports, strict=True):
        head, tally = role.strongest, role.tally
        known = firmness if firmness is not None and firmness.steady is not None else None
        row: dict[str, Any] = tally._asdict() | {
            "role": role.sieve, "title": title, "heads": tally.role, "tested": tally.tests,
            "not": tally.not_role,
            "layer": summary.stack.numbers[head.layer] if head else None,
            "head": head.head if head else None, "threshold": role.threshold,
            "q": summary.of("q", role.position)[head.layer * summary.heads + head.head] if head else math.nan,
            "contrast_threshold": role.contrast_threshold,
            "steady": known.steady if known else 0, "labels": known.labels if known else 0,
            "has_contrast": bool(role.contrast), "has_bounds": role.bounded,
            "has_second": bool(role.stronger),
        }  # fmt: skip
        values = (head.score, head.contrast, head.beyond) if head else (None,) * 3
        for name, value in zip(("mean", "contrast", "difference"), values, strict=True):
            ends = ("low", "high") if name == "mean" else (f"{name}_low", f"{name}_high")
            row |= dict(zip((name, *ends), value or (math.nan,) * 3, strict=True))
        rows.append(row)
    return ROLES.rows(rows)


def roles_sheet(summary: Summary, only: Iterable[str], width: str = "") -> Sheet:
    """Return some columns of ``roles_table``, in their order, after the role.

    Columns of contrasts, of explained, absent, strong and untestable heads, of differences to baselines and
    of stable labels are there where a role has any.

    Args:
        summary: Of the run.
        only: Names of columns of ``ROLES``.
        width: As for ``Table.sheet``; in terminals contrasts stand without intervals.
    """
    table = roles_table(summary)
    if width:
        table = table.describe("contrast", short="con-\ntrast", ends=())
        table = table.describe("mean", short=f"mean {ENDS}")
    return table.sheet(width, only=["role", *_there(summary, only)])


def _there(summary: Summary, names: Iterable[str]) -> list[str]:
    """Return the columns that some role has."""
    contrast = any(role.contrast for role in summary.roles)
    there = {
        "explained": contrast, "contrast": contrast,
        "absent": any(role.bounded for role in summary.roles),
        "strong": any(role.stronger for role in summary.roles),
        "untestable": any(role.tally.untestable for role in summary.roles),
        "difference": any(role.strongest and role.strongest.beyond for role in summary.roles),
        "steady": any(firmness.steady is not None for firmness in summary.supports),
    }  # fmt: skip
    return [name for name in names if there.get(name, True)]


def verdict_sheet(summary: Summary) -> Sheet:
    """Return the columns of ``roles_table`` that a page shows."""
    return roles_sheet(summary, (
        "heads", "strong", "explained", "not", "absent", "undetermined", "untestable", "threshold", "head",
        "mean", "difference", "steady",
    ))  # fmt: skip


def values_table(summary: Summary) -> Table:
    """Return scores by attention and by norm-weighted attention, and the verdict, of every head by role."""
    drops = summary.assessment.drops if summary.assessment else VALUES
    roles, verdicts = {role.sieve: role for role in summary.roles}, []
    for row in drops:
        code = int(summary.decided(roles[row.sieve].position)[row.layer * summary.heads + row.head])
        verdicts.append({0: "parked", 4: roles[row.sieve].verdict}.get(code) or DECISIONS[code])
    return drops.numbered(summary.stack).extended(VERDICT, verdicts)


def heads_table(run: Labelling, summary: Summary) -> Table:
    """Return the roles of every head, and the largest of their effects."""
    groups, rows = key_groups(run.manifest.get("model"), summary.layers, summary.heads), []
    for place in range(summary.layers * summary.heads):
        layer, head = divmod(place, summary.heads)
        roles = [role for number, role in enumerate(summary.roles) if summary.held[number, layer, head]]
        effects = [float(summary.of("effect", role.position)[place]) for role in roles]
        best = int(np.nanargmax(effects)) if np.isfinite(effects).any() else None
        rows.append({
            "layer": summary.stack.numbers[layer], "head": head,
            "roles": ";".join(role.sieve for role in roles),
            "strongest": "" if best is None else roles[best].sieve,
            "effect": math.nan if best is None else effects[best],
            "kv_group": 0 if groups is None else groups[layer, head],
        })  # fmt: skip
    table = HEADS.rows(rows)
    return table.kept([name for name in table.data if groups is not None or name != "kv_group"])


def role_papers(run: Labelling) -> dict[str, Callable[[], Paper]]:
    """Return functions that make the tables for papers of a run of sieves, by name."""
    assessed = run.assessment

    def noted(title: str, more: str = "") -> str:
        return caption(run, title, families_of(run), more)

    def roles() -> Paper:
        summary, probes = summarise(run), kind_of(run).baselines
        contrast = "the mean of its contrast, " * any(role.contrast for role in summary.roles)
        second = "its difference to the baseline, " if probes else contrast
        columns = [name for name in IN_FILES if probes or name not in DIFFERENCE]
        shown = ("tested", "strong", "explained", "absent", "head", "mean", "contrast", "difference")
        stronger = " and ".join(sorted({role.stronger for role in summary.roles} - {""}))
        parts = [
            *[f"; strong heads beyond {stronger}, too"] * bool(stronger),
            *["; explained heads, above the threshold with a contrast below its margin"] * bool(contrast),
            *[f"; absent heads, with a mean within ± {ABSENT:g} of chance"]
            * any(role.bounded for role in summary.roles),
        ]
        text = (
            f": heads with each role, of those tested{''.join(parts)}; of the head with the "
            "best evidence, its mean with its 95\u00a0% interval (not adjusted for selection), "
            f"{second}and q. Means are tested against the threshold"
        )
        only = ("role", *_there(summary, shown), "threshold", "q")
        return Paper(roles_table(summary), noted("Roles of attention heads", text), (), only, columns)

    def heads() -> Paper:
        table = heads_table(run, summarise(run))
        shared = SHARED * any(column.name == "kv_group" for column in table.columns)
        text = (
            ", named by layer and head from 0, and the largest of their effects, (mean − θ) / standard "
            f"deviation{shared}"
        )
        return Paper(table, noted("Roles of every attention head", text))

    def p_values() -> Paper:
        findings = run.findings
        p = {name: findings.p[findings.of(name)].ravel() for name in findings.roles}
        p["all roles"] = np.concatenate([*p.values()] or [np.empty(0)])
        text = ", over the heads of each role; with a contrast, p is the larger of the two tests"
        table = P_VALUES.rows(p_row(*pair) for pair in p.items())
        return Paper(table, noted("P values before correction that lie near 0 or 1", text))

    def values() -> Paper:
        text = (
            "Mean scores of heads by attention, and by attention weighted by the norms of the values it moves"
            f"{inputs_text(run.manifest)}, with the mean difference over units and its 95\u00a0% interval."
        )
        digits = [column.name for column in VALUES.columns]
        return Paper(values_table(summarise(run)), text, digits=digits)

    papers: dict[str, Callable[[], Paper]] = {"roles": roles, "heads": heads}
    if assessed and assessed.several:
        words = f". {CAPTION} {middle_sentence(assessed.several)}".rstrip(" .")
        papers["several"] = lambda: Paper(assessed.several, noted("Number of roles a head", words))
    papers["p-values"] = p_values
    papers |= {"values": values} if assessed and assessed.drops else {}
    return papers | {"findings": partial(findings_table, run)}


def report(run: Labelling) -> Report:
    """Return the report of a run of sieves."""
    summary = summarise(run)
    return Report(
        "headroles label", title_of(run), answer_of(summary), all_notes(run), run.manifest, role_papers(run),
        page=partial(_page, run, summary),
        screen=partial(role_blocks, summary),
        cell=lambda: maps_html(run, summary),
        facts=lambda detail: run_facts(run) if detail.verbose else (),
        prints=partial(role_prints, run),
    )  # fmt: skip


def role_prints(run: Labelling, width: float) -> Mapping[str, Any]:
    """Draw the matrix, the maps of roles and examples of heads for print, of a width in millimetres."""
    summary = summarise(run)
    drawn = matrix(summary, width), maps(summary, width), examples(run, summary, width)
    made = zip(("matrix", "maps", "examples"), drawn, strict=True)
    return {name: figure for name, figure in made if figure is not None}


def run_facts(run: Labelling) -> list[Named]:
    """Return model, inputs, parser and test of a run, as lines of a terminal."""
    facts, parser = run.manifest, run.manifest.get("parser")
    gold = facts.get("source", {}).get("trees") == "gold"
    name = (
        f"{parser['name']} {parser.get('version', '')}".rstrip() if parser else "none: the file's gold trees"
    )
    return [
        *account_lines(run), *[Named("parser", name, "")] * bool(parser or gold),
        Named("tested", describe_test(run.decision, facts.get("preset")), ""),
    ]  # fmt: skip


def role_blocks(summary: Summary, detail: Detail) -> list[Any]:
    """Return counts of all roles, and what else is asked for of them, as blocks of a terminal."""
    if not summary.roles:
        return []
    shown: list[Any] = [RoleCounts(summary), *[HeadGrid(summary)] * detail.grid]
    if detail.verbose:
        names = ["heads", "explained", "not", "undetermined", "untestable", "steady", "head", "mean"]
        shown += [Grid(roles_sheet(summary, [*names, "contrast"], "narrow")), *verdict_lines(summary)]
    return shown


def _page(run: Labelling, summary: Summary) -> blocks.Page:
    """Return sections and data of the page."""
    files, roles = files_of(run), summary.roles
    known = {
        name for name in ("stability", "bayes_factor")
        if not np.isnan(summary.columns.get(name, np.array([]))).all()
    }  # fmt: skip
    contrast, steady = any(role.contrast for role in roles), "stability" in known
    precision = ["precision.csv"] * bool(summary.precision)
    columns = [
        ("mean", "The mean score over units, with its 95 % interval. Intervals are not adjusted for "
         "selection.", True),
        ("contrast", "What the head shows beyond distance or position. A role needs both, mean and contrast. "
         "Rows of contrasts stand under the decision “contrast”.", contrast),
        ("effect", "(mean − threshold) / standard deviation.", True),
        ("q", "p adjusted for the number of tests"
         f"{'; where a role has a contrast, that of both tests together' * contrast}.", True),
        ("stability", "The probability that a fresh sample of as many units gives the role. It is no "
         "probability of being true.", steady),
        ("hedges g", "The effect corrected for few units, with its 95 % interval.", precision),
        ("detectable", f"The smallest effect that a t test of these units finds with power {POWER}.",
         precision),
        ("BF10", "Evidence against a mean of exactly the threshold, by a two-sided Bayes factor. A head far "
         "below has a large one, too.", "bayes_factor" in known),
    ]  # fmt: skip
    warning = Section("published", "", "", [Drawing("published")])
    return blocks.Page(
        answer_of(summary).title,
        [
            *[warning] * (summary.account.preset == "published"),
            Section("maps", "", "", [
                Drawing("label_maps", _matrix(summary) | {"steady": steady}, [_maps(summary)])
            ]),
            Section("heads", "Heads", "Heads", [Drawing("head_list")]),
            *(_evidence(summary) if roles else []),
            Section("findings", "All numbers", "All numbers", [
                Text("This table, the plots and the downloads need JavaScript. The answer and the numbers "
                     "behind each figure do not.", "warning"),
                blocks.Numbers(
                    "local 2-9", ["findings.csv", "labels.csv", *precision, *files, "run.json"],
                    caption(run, "Findings", families_of(run)), "Role", stable=steady, choice=True,
                    blocks=[Words([(term, meaning) for term, meaning, there in columns if there],
                                  "What the columns mean", "")],
                ),
            ]),
            *last_sections(run),
        ],
        {
            "findings-columns": findings_json(
                summary, run.manifest.get("model"), titles=titles_of(summary.sieves)
            ),
            "cards-data": cards_json(run, summary),
        },
        files,
        panel="head_card",
        rail="go_to_head",
        values={"summary": summary},
        scripts=(*PANEL_SCRIPTS, "label.js"),
    )  # fmt: skip


def support_sentence(firmness: Support, contrast: bool) -> str:
    r"""Return how firm the labels of one role are; "" where there is no value.

    Args:
        firmness: Stability, detectable effects and design effect of the role.
        contrast: Whether the role asks for a contrast as well.

    Example:
        >>> support_sentence(Support(21, 18, (0.24, 0.24), math.nan, 2, 0.41), False).split("; ")[-1]
        '2 of 21 labels hold in under half of the units (at least 41\xa0%), by the score alone.'
    """
    labels, steady, parts = firmness.labels, firmness.steady, []
    if labels and steady is not None:
        stable = f"{steady} of {labels} labels are stable"
        if labels == 1:
            stable = f"the one label is {'' if steady else 'not '}stable"
        elif steady in (0, labels):
            stable = f"{'all' if steady else 'none of the'} {labels} labels are stable"
        gives = f"a fresh sample gives {'it' if labels == 1 else 'each'} again with probability ≥"
        parts.append(f"{stable}: {gives} {100 * STEADY:g}\u00a0%")
    if effects := span_text(firmness.detectable):
        parts.append(f"smallest detectable effect {effects}{' (of the score)' * contrast}")
    if not math.isnan(firmness.design):
        parts.append(f"median design effect {two_decimals(firmness.design)}")
    if firmness.minority:
        hold = f"{firmness.minority} of {plural(labels, 'label')} {'holds' if labels == 1 else 'hold'}"
        least = f"at least {share(firmness.least)}"
        parts.append(f"{hold} in under half of the units ({least}), by the score alone")
    text = "; ".join(parts)
    return f"{text[0].upper()}{text[1:]}." if text else ""


def _evidence(summary: Summary) -> list[Section]:
    """Return how sure the roles are, where they lie, and which go together."""
    drawn = {figure.key: [figure] for figure in figures(summary)}
    titles = dict(zip(summary.names, titles_of(summary.names), strict=True))
    firm = [
        (titles[role.sieve], support_sentence(firmness, bool(role.contrast)))
        for role, firmness in zip(summary.roles, summary.supports, strict=False)
    ]
    depth = {row["sieve"]: row for row in map(vars, summary.assessment.depth if summary.assessment else ())}
    told = pair_sentences(summary)
    pairs: blocks.Block = Text("Pairs that share no head are left out here; together.csv has all.") if (
        summary.many
    ) else Drawing("role_pairs", {"pairs": pairs_of(summary), "by_chance": _by_chance})  # fmt: skip
    return [
        Section("sure", "How sure", "How sure", [
            *drawn["means"],
            Text("Roles by decision", "heading"),
            Grid(verdict_sheet(summary), "beyond"),
            Fold("Scores by attention and by norm", [
                Text("Mean score of the role parked by attention, and where attention is weighted by the "
                     "norms of the values that it moves. The drop is the mean difference over units. Norms "
                     "are relative to the other values of the head: they say nothing about how large its "
                     "values are in all."),
                Grid(values_table(summary)),
            ]),
            Words(glossary(summary)),
            *[Words([each for each in firm if each[1]], "How firm the labels of each role are", "")]
            * bool(firm),
            Fold("How counts move with margin and alpha", drawn.get("sensitivity", [])),
            Fold("p values", drawn["p-values"]),
            calibration(summary),
        ]),
        Section("depth", "Depth", "Depth", [
            Fold("Roles by layer", drawn["layers"]),
            Fold("Heads with several roles", drawn.get("several", [])),
            Fold("Trend over depth", [
                Grid(DEPTH.rows(
                    depth[name] | {"sieve": title} for name, title in titles.items() if name in depth
                )),
                Text("Trend: the correlation of depth with the share of a layer's heads that hold the role. "
                     "Below 0, the role becomes rarer towards the last layer; above 0, more frequent. "
                     f"Thirds: shares of the role's heads. Intervals: {RELABELLINGS} resamples of the "
                     "inputs; they show how far the labels depend on these inputs. Reorderings as strong: "
                     "the share of random layer orders with as strong a trend (descriptive, not a test)."),
            ]),
        ]),
        Section("together", "Overlap", "Overlap", [
            Fold("Roles together", drawn.get("overlap", [])),
            *([Fold("Pairs of roles", [*drawn["pairs"], *[blocks.Points(told)] * bool(told), pairs])]
              if "pairs" in drawn else []),
        ]),
    ]  # fmt: skip


def _by_chance(pair: Row) -> str:
    """Return the number of shared heads by chance; with its range where it has one."""
    return expected_text(pair) if pair.expected_low != pair.expected_high else count_text(pair.expected)


def _matrix(summary: Summary) -> dict[str, Any]:
    """Return what the label matrix and the bar above it show."""
    roles, shape = summary.roles, (len(summary.roles), summary.layers * summary.heads)
    held, strong = summary.held.reshape(shape), summary.strong.reshape(shape)
    most = int(held.sum(axis=0).max(initial=0))
    return {
        "marks": [
            [(roles[place], bool(strong[place, cell])) for place in np.flatnonzero(held[:, cell]).tolist()]
            for cell in range(shape[1])
        ],
        "verdict_words": explained_list(role.control for role in roles),
        "kinds_of_verdicts": ["explained"] * any(role.contrast for role in roles)
        + ["absent"] * any(role.bounded for role in roles),
        "stronger": sorted({role.stronger for role in roles if role.tally.strong}),
        "slots": 2 if most <= 4 else 3 if most <= 9 else 4,
    }


def _maps(summary: Summary) -> HeadMaps:
    """Return a map per role that together fit the window; scores of the calibrated kind share one scale."""
    peaks = [
        largest_of(summary.of("mean", role.position) - np.nan_to_num(summary.of("null", role.position)))
        for role in summary.roles
    ]
    peak, shown, titles = max(peaks, default=0.0), [], titles_of(summary.names)
    for number, role in enumerate(summary.roles):
        held, strong = summary.held[number].ravel(), summary.strong[number].ravel()
        codes = np.select([strong, summary.absent[number].ravel()], [5, 6], 0)
        title, count = titles[number], plural(role.tally.role, "head")
        names = ", ".join(map(summary.name, np.flatnonzero(held).tolist())) or "no head"
        listed = count if role.tally.role > MOST_NAMED else names
        shown.append(HeadMap(
            name=role.sieve, title=title, note=count, column=role.position, shade=BEYOND,
            largest=peak if peak <= 1 else peaks[number], looks=_looks(role),
            codes={int(cell): int(codes[cell]) for cell in np.flatnonzero(codes)},
            tone=tone_of(family_of(role.sieve)),
            label=f"{title}: {listed}. Arrow keys move between heads.",
            lines=("{head} · {title}", "{mean |mean||no score}", "{word}"),
        ))  # fmt: skip
    order = [*range(len(shown))]
    if summary.many:
        order.sort(key=lambda number: -summary.roles[number].tally.role)
    return HeadMaps(
        id="map-grid", maps=shown, order=order,
        scale=f"darkest {peak:.2f}" if peak <= 1 else "darkest at the largest of each role",
    )  # fmt: skip


def _looks(role: Role) -> tuple[CellLook, ...]:
    """Return the looks of a role by code.

    After the decisions stand 5 for a strong role, and 6 for a head that is shown not to have the role.
    """
    strong, weak = "role", "role"
    if role.stronger:
        strong, weak = f"role, beyond {role.stronger}", f"role, beyond {role.control} only"
    dot = CellLook(weak, MARKS["role"], framed=True)
    return (
        dot, CellLook("not"), CellLook("undetermined", hatched=True),
        CellLook("untestable", MARKS["untestable"]), CellLook(role.verdict, MARKS["explained"]),
        replace(dot, word=strong), CellLook("not, absent"),
    )  # fmt: skip
