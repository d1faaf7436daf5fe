"""The report of a run that clustered heads: its tables, the sections of its page, and its terminal.

Roles stand on it as far as clusters need them; ``headroles label`` on the same inputs draws their report.
"""

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from markupsafe import Markup

from headroles.records.findings import Labelling
from headroles.records.numbers import plural, three_decimals
from headroles.records.roles import phrase_of
from headroles.records.table import ENDS, MISSING, Cell, Column, Row, Sheet, Table, counted, interval_ends
from headroles.reports.cards import PANEL_SCRIPTS, cards_json
from headroles.reports.embedded import files_of, findings_json
from headroles.reports.kinds.cluster_figures import (
    TONES,
    choices_figure,
    map_block,
    page_data,
    prints,
    tree_figure,
)
from headroles.reports.kinds.clusters import (
    CHOSEN,
    ESTIMATE,
    GLOSSARY,
    NOISE,
    Clustered,
    answer_of,
    cluster_name,
    counted_roles,
    roles_text,
)
from headroles.reports.kinds.label import head_sentences
from headroles.reports.kinds.label_report import (
    role_blocks,
    role_papers,
    role_prints,
    run_facts,
    verdict_sheet,
)
from headroles.reports.kinds.terminal_roles import HeadGrid
from headroles.reports.maps import DECIDED, MEAN, CellLook, HeadMap, HeadMaps, largest_of
from headroles.reports.notebook import maps_html
from headroles.reports.papers import caption, families_of, inputs_text, units_of
from headroles.reports.recorded import all_notes, last_sections, title_of
from headroles.reports.report import (
    Beside,
    Block,
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
from headroles.reports.terminal import WIDE

MOST_SENTENCES = 12
"""Most roles whose claims are written as sentences; the table has all."""
WIDEST = 30
"""Most clusters in the table of distances between them, and in a terminal."""
FEW, PAIRS, TRIED = 2, 5, 5
"""What a terminal shows: sentences where nothing more is asked for, nearest pairs of heads, and numbers of
clusters, the chosen one and those with the largest silhouettes."""
FAR = ("distance", "low", "high")
"""A distance and the ends of its interval."""
NEAREST_PAIRS = Table("", "Nearest pairs", "a pair of heads", (
    Column("pair", "The two heads.", str, "nearest pairs", terminal="narrow"),
    Column("distance", "Their distance.", float, f"distance {ENDS}", three_decimals, ("low", "high"),
           terminal="narrow"),
    *interval_ends(),
    Column("clusters", "Their clusters.", str, "clusters", terminal="narrow"),
))  # fmt: skip


def report(run: Labelling) -> Report:
    """Return the report of a run that clustered heads."""
    clustered = Clustered(run)

    def clusters() -> Paper:
        title, units = (
            f"Clusters of attention heads{inputs_text(run.manifest)}",
            plural(units_of(run), "unit"),
        )
        return Paper(clustered.groups, f"{title}: {clustered.text}. {units}.")

    papers = role_papers(run) | {"clusters": clusters}
    return Report(
        "headroles cluster",
        title_of(run),
        answer_of(clustered),
        all_notes(run),
        run.manifest,
        {name: papers[name] for name in ("roles", "heads", "clusters", "findings")},
        page=partial(_page, clustered),
        screen=partial(_screen, clustered),
        cell=lambda: maps_html(run, clustered.summary, head_sentences(clustered.summary)),
        facts=lambda detail: run_facts(run) if detail.verbose else (),
        prints=lambda width: {**prints(clustered), **role_prints(run, width)},
        brief=True,
        few=FEW,
    )  # fmt: skip


def _screen(clustered: Clustered, detail: Detail) -> list[Any]:
    """Return what a terminal shows: distances, clusters, numbers tried, claims, nearest pairs, roles."""
    claims, tried = clustered.found.claims, clustered.choices
    if not detail.verbose:
        return [HeadGrid(clustered.summary)] if detail.grid else []
    silhouettes, more = np.nan_to_num(tried["silhouette"], nan=-2.0), len(clustered.groups) - WIDEST
    best = np.lexsort((-silhouettes, -tried["chosen"]))[:TRIED]
    best = best[np.argsort(tried["clusters"][best], kind="stable")]
    return [
        Named("far", clustered.way, ""),
        Named("found", clustered.text, ""),
        Named("map", clustered.stress, ""),
        Grid(clusters_on_screen(clustered, detail.width >= WIDE)),
        *[Named("more", f"clusters.csv has {plural(more, 'more cluster')}")] * (more > 0),
        *([Grid(tried.take(best), CHOSEN), Named("rule", clustered.rule)] if len(tried) > 1 else []),
        Grid(claims.where(subject="")),
        Grid(role_claims_sheet(claims.take(claims["subject"] != ""))),
        *(Named(*note) for note in clustered.notes),
        Grid(nearest_pairs(clustered)),
        *role_blocks(clustered.summary, detail),
    ]


def clusters_on_screen(clustered: Clustered, wide: bool) -> Sheet:
    """Return the first clusters with their heads, the most central one first, and roles for a terminal."""
    most, roles = (10, 4) if wide else (4, 1)
    names, groups, summary, texts = clustered.names, clustered.groups[:WIDEST], clustered.summary, []
    for row in groups:
        members = np.flatnonzero(clustered.found.cluster == row.cluster).tolist()
        if row.cluster != NOISE:
            central = summary.stack.place(row.layer) * summary.heads + row.head
            members.sort(key=lambda head: head != central)
        texts.append(" ".join(names[head] for head in members[:most]) + " …" * (len(members) > most))
    table = groups.extended(Column("members", "Its heads.", str, "heads in it"), texts)
    table = table.describe("roles", heading="roles", text=partial(counted_roles, most=roles))
    table = table.describe("cluster", cell=None, text=lambda own: "no cluster" if own < 0 else str(own))
    for name, short in () if wide else (("silhouette", "sil."), ("stability", "stab.")):
        table = table.describe(name, heading=short)
    return table.sheet(only=("cluster", "heads", "silhouette", "stability", "members", "roles"))


def role_claims_sheet(claims: Table) -> Sheet:
    """Return the estimates of claims about roles: one row per role, one column per claim."""
    kinds = list(dict.fromkeys((claim.claim, claim.measure) for claim in claims))
    known = {(claim.subject, claim.claim, claim.measure): claim for claim in claims}
    rows = []
    for subject in dict.fromkeys(claim.subject for claim in claims):
        found = (known.get((subject, *kind)) for kind in kinds)
        rows.append((Cell(subject, subject), *(ESTIMATE.write(one) if one else MISSING for one in found)))
    return Sheet("Claims about roles", ("role", *(", ".join(kind) for kind in kinds)), tuple(rows))


def nearest_pairs(clustered: Clustered) -> Table:
    """Return the nearest pairs of heads, each pair once, nearest first."""
    near, names, cluster = clustered.near, clustered.names, clustered.found.cluster.tolist()
    seen: dict[tuple[int, ...], dict[str, Any]] = {}
    for flat in np.argsort(near.distance, axis=None, kind="stable").tolist():
        head, place = divmod(flat, near.distance.shape[1])
        pair = (head, int(near.head[head, place]))
        clusters = dict.fromkeys(cluster_name(cluster[one]).removeprefix("cluster ") for one in pair)
        words = {"pair": " and ".join(names[one] for one in pair), "clusters": " and ".join(clusters)}
        seen.setdefault(tuple(sorted(pair)), words | {end: getattr(near, end)[head, place] for end in FAR})
        if len(seen) == PAIRS:
            break
    return NEAREST_PAIRS.rows(seen.values())


def heads_table(clustered: Clustered) -> Table:
    """Return one row per head: the numbers behind the map, its roles, and its nearest head."""
    near, names, table = clustered.near, clustered.names, clustered.found.heads

    def nearest(row: Row) -> Cell:
        if not near.head.shape[1]:
            return MISSING
        ends = Row(**{name: float(getattr(near, name)[row.place, 0]) for name in FAR})
        cell = NEAREST_PAIRS.columns[1].write(ends)
        return replace(cell, text=f"{names[near.head[row.place, 0]]}: {cell.text}")

    roles = [roles_text(roles) for roles in clustered.roles_of_heads]
    place = counted("place", "The nearest head.", f"nearest head {ENDS}", cell=nearest)
    table = table.extended(Column("roles", "Roles that it holds.", str, "roles"), roles)
    table = table.extended(place, range(len(roles)))
    table = table.describe("cluster", cell=lambda row: Cell(cluster_name(row.cluster), row.cluster))
    return replace(table.numbered(clustered.summary.stack), first=("head", "cluster", "roles"))


def between_sheet(clustered: Clustered) -> Sheet:
    """Return mean distances between heads of two clusters, and within one; a dash within a single head."""
    numbers = clustered.groups["cluster"].tolist()
    membership = np.array([clustered.found.cluster == number for number in numbers], np.float64)
    sizes = membership.sum(axis=1)
    pairs = np.outer(sizes, sizes)
    np.fill_diagonal(pairs, sizes * (sizes - 1))
    sums = membership @ clustered.distance @ membership.T
    mean = np.divide(sums, pairs, out=np.full_like(sums, np.nan), where=pairs > 0)[:WIDEST, :WIDEST]
    names = [cluster_name(number) for number in numbers[:WIDEST]]
    rows = [
        (Cell(name, place), *(Cell(three_decimals(value), value) for value in row))
        for place, (name, row) in enumerate(zip(names, mean.tolist(), strict=True))
    ]
    return Sheet("Mean distances within and between clusters", ("mean distance", *names), tuple(rows))


def _page(clustered: Clustered) -> Page:
    """Return sections and data of the page."""
    run, found, summary = clustered.run, clustered.found, clustered.summary
    files, maps, told = files_of(run), _maps(clustered), clustered.told(of_roles=False)
    many = len(clustered.groups)
    cut = f" Of {many} clusters the table has the first {WIDEST}." * (many > WIDEST)
    return Page(
        f"Clusters: {summary.account.model or answer_of(clustered).title}",
        [
            Section("clusters", "Heads", "Heads", [
                Beside([maps[0], map_block(clustered)]),
                Grid(clustered.groups),
                Text("Most central: the head with the smallest mean distance to the others of its cluster."),
                Drawing("nearest_heads", {"near": clustered.near.head.shape[1]}),
                Grid(heads_table(clustered), folded=True),
            ]),
            Section("tree", "Tree", "Tree and distances", [
                Fold("Draw the tree and all distances", [
                    Drawing("cluster_tree", {"figure": tree_figure(clustered, cut)}),
                    Grid(between_sheet(clustered), folded=True),
                ]),
            ]),
            Section("sure", "How sure", "How sure", [
                Text(f"{clustered.text[0].upper()}{clustered.text[1:]}.", "lead"),
                *([Points(told)] if told else []),
                *([Fold("Number of clusters", [choices_figure(clustered)])] if found.choices else []),
                Fold("What is claimed", [
                    Grid(found.claims),
                    Text("Intervals: 95\u00a0%, units resampled or left out in turn. Heads are all the heads "
                         "of this model and no sample of anything: a p compares with other placements of the "
                         "same heads, and says nothing of other models."),
                ]),
                Text(f"{clustered.way[0].upper()}{clustered.way[1:]}."),
                Words(GLOSSARY),
            ]),
            *([Section("roles", "Roles", "Roles", _roles(clustered, maps[1]))] if summary.roles else []),
            Section("findings", "All numbers", "All numbers", [
                Text("Scores of roles: one row per sieve, layer and head. Rows marked “contrast” are the "
                     "second test of a role. Clusters and claims are in the files below.", "lead"),
                Text("This table, the plots and the downloads need JavaScript. "
                     "The tables of clusters do not.", "warning"),
                Numbers(
                    "local 2-9",
                    ["clusters.csv", "claims.csv", "findings.csv", "labels.csv",
                     *["precision.csv"] * bool(summary.precision), *files, "run.json"],
                    caption(run, "Findings", families_of(run)),
                ),
            ]),
            *last_sections(run),
        ],
        {
            "clusters-data": page_data(clustered),
            "cards-data": cards_json(run, summary),
            "findings-columns": findings_json(summary, run.manifest.get("model")),
        },
        files | {"claims.csv": found.claims.csv()},
        panel="head_card",
        values={"summary": summary, "clusters": clustered},
        scripts=("clusters.js", *PANEL_SCRIPTS),
    )  # fmt: skip


def _roles(clustered: Clustered, maps: HeadMaps) -> list[Block]:
    """Return the section on roles: their maps, their heads by decision, and claims about them."""
    told = clustered.told(of_roles=True)
    more, title = len(told) - MOST_SENTENCES, f"Roles beside distances and clusters ({len(told)})"
    rest = f"{more} more {'is' if more == 1 else 'are'} in the table under “What is claimed”."
    points: list[Block] = [Points(told[:MOST_SENTENCES]), *[Text(rest)] * (more > 0)]
    return [
        Text(Markup(
            "Roles and clusters come from the same attention, so that they go together is no evidence for "
            "either. The report of roles is drawn by <code>headroles label</code> on the same inputs."
        ), "lead"),
        Fold("Maps of the roles", [maps]),
        Fold("Heads by decision, one line per role", [Grid(verdict_sheet(clustered.summary))]),
        *([Fold(f"{title}; no p can be given", points)] if told else []),
    ]  # fmt: skip


def _maps(clustered: Clustered) -> tuple[HeadMaps, HeadMaps]:
    """Return the map of the cluster of every head, and a map per role."""
    found, means = clustered.found.cluster.tolist(), clustered.run.findings.mean
    sizes, names = clustered.sizes, [cluster_name(number) for number in range(len(clustered.sizes))]
    looks = [CellLook(name, str(place), place % TONES, shade=0.45) for place, name in enumerate(names)]
    clusters = HeadMap(
        title="Cluster of every head",
        note=f"{len(sizes)} clusters",
        looks=[*looks, CellLook("no cluster", "×")],
        codes=[number if number != NOISE else len(looks) for number in found],
        values={
            "heads": [f"{found.count(number)} heads" for number in found],
            "roles": [", ".join(roles) for roles in clustered.roles_of_heads],
        },
        lines=("{head} · {word}", "{heads}", "roles: {|roles||none}"),
    )
    roles = [
        HeadMap(
            name=role.sieve, title=phrase_of(role.sieve).title, note=f"{role.tally.role} heads",
            column=role.position, shade=MEAN, largest=largest_of(means[role.position]),
            looks=(*DECIDED, CellLook(), CellLook(mark="~")), tone=role.tone,
            lines=("{head} · {title}", "mean {mean}", "{word}"),
        )
        for role in clustered.summary.roles
    ]  # fmt: skip
    marks = (("•", "role"), ("~", "explained by distance or position"), ("▨", "undetermined"))
    return HeadMaps(id="cluster-heads", maps=[clusters]), HeadMaps(id="role-maps", maps=roles, key=marks)
