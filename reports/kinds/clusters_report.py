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
from headroles.reports import report as parts
from headroles.reports.account import Named, all_notes, title_of
from headroles.reports.cards import PANEL_SCRIPTS, cards_json
from headroles.reports.embedded import files_of, findings_json
from headroles.reports.kinds import cluster_figures as drawn
from headroles.reports.kinds import clusters as words
from headroles.reports.kinds import label_report as label
from headroles.reports.kinds.terminal_roles import HeadGrid
from headroles.reports.maps import DECIDED, MARKS, MEAN, CellLook, HeadMap, HeadMaps, key_of, largest_of
from headroles.reports.notebook import maps_html
from headroles.reports.papers import caption, families_of, inputs_text, units_of
from headroles.reports.recorded import last_sections
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


def report(run: Labelling) -> parts.Report:
    """Return the report of a run that clustered heads."""
    clustered, papers = words.Clustered(run), label.role_papers(run)

    def clusters() -> parts.Paper:
        title = f"Clusters of attention heads{inputs_text(run.manifest)}"
        units = plural(units_of(run), "unit")
        return parts.Paper(clustered.groups, f"{title}: {clustered.text}. {units}.")

    tables = {"roles": papers["roles"], "heads": papers["heads"], "clusters": clusters}
    return parts.Report(
        "headroles cluster", title_of(run), words.answer_of(clustered), all_notes(run), run.manifest,
        tables | {"findings": papers["findings"]},
        page=partial(_page, clustered), screen=partial(_screen, clustered),
        cell=lambda: maps_html(run, clustered.summary),
        facts=lambda detail: label.run_facts(run) if detail.verbose else (),
        prints=lambda width: {**drawn.prints(clustered), **label.role_prints(run, width)},
        few=FEW,
    )  # fmt: skip


def _screen(clustered: words.Clustered, detail: parts.Detail) -> list[Any]:
    """Return what a terminal shows: distances, clusters, numbers tried, claims, nearest pairs, roles."""
    claims, tried = clustered.found.claims, clustered.choices
    if not detail.verbose:
        return [HeadGrid(clustered.summary)] if detail.grid else []
    silhouettes, more = np.nan_to_num(tried["silhouette"], nan=-2.0), len(clustered.groups) - WIDEST
    best = np.lexsort((-silhouettes, -tried["chosen"]))[:TRIED]
    best = best[np.argsort(tried["clusters"][best], kind="stable")]
    rule = [parts.Grid(tried.take(best), words.CHOSEN), Named("rule", clustered.rule)]
    return [
        Named("far", clustered.way, ""),
        Named("found", clustered.text, ""),
        Named("map", clustered.stress, ""),
        parts.Grid(clusters_on_screen(clustered, detail.width >= WIDE)),
        *[Named("more", f"clusters.csv has {plural(more, 'more cluster')}")] * (more > 0),
        *rule[: 2 * (len(tried) > 1)],
        parts.Grid(claims.where(subject="")),
        parts.Grid(role_claims_sheet(claims.take(claims["subject"] != ""))),
        *(Named(*note) for note in clustered.notes),
        parts.Grid(nearest_pairs(clustered)),
        *label.role_blocks(clustered.summary, detail),
    ]


def clusters_on_screen(clustered: words.Clustered, wide: bool) -> Sheet:
    """Return the first clusters with their heads, the most central one first, and roles for a terminal."""
    most, roles = (10, 4) if wide else (4, 1)
    names, groups, summary, texts = clustered.names, clustered.groups[:WIDEST], clustered.summary, []
    for row in groups:
        central = summary.stack.place(row.layer) * summary.heads + row.head
        first = row.cluster != words.NOISE
        members = np.flatnonzero(clustered.found.cluster == row.cluster).tolist()
        members.sort(key=lambda head: first and head != central)
        texts.append(" ".join(names[head] for head in members[:most]) + " …" * (len(members) > most))
    table = groups.extended(Column("members", "Its heads.", str, "heads in it"), texts)
    table = table.describe("roles", heading="roles", text=partial(words.counted_roles, most=roles))
    table = table.describe("cluster", cell=None, text=lambda own: "no cluster" if own < 0 else str(own))
    for name, short in () if wide else (("silhouette", "sil."), ("stability", "stab.")):
        table = table.describe(name, heading=short)
    return table.sheet(only=("cluster", "heads", "silhouette", "stability", "members", "roles"))


def role_claims_sheet(claims: Table) -> Sheet:
    """Return the estimates of claims about roles: one row per role, one column per claim."""
    known = {(claim.subject, claim.claim, claim.measure): words.ESTIMATE.write(claim) for claim in claims}
    kinds = list(dict.fromkeys(key[1:] for key in known))
    rows = (
        (Cell(subject, subject), *(known.get((subject, *kind), MISSING) for kind in kinds))
        for subject in dict.fromkeys(key[0] for key in known)
    )
    return Sheet("Claims about roles", ("role", *(", ".join(kind) for kind in kinds)), tuple(rows))


def nearest_pairs(clustered: words.Clustered) -> Table:
    """Return the nearest pairs of heads, each pair once, nearest first."""
    near, names, cluster = clustered.near, clustered.names, clustered.found.cluster.tolist()
    seen: dict[tuple[int, ...], dict[str, Any]] = {}
    for flat in np.argsort(near.distance, axis=None, kind="stable").tolist():
        head, place = divmod(flat, near.distance.shape[1])
        pair = (head, int(near.head[head, place]))
        clusters = dict.fromkeys(words.cluster_name(cluster[one]).removeprefix("cluster ") for one in pair)
        texts = {"pair": " and ".join(names[one] for one in pair), "clusters": " and ".join(clusters)}
        seen.setdefault(tuple(sorted(pair)), texts | {end: getattr(near, end)[head, place] for end in FAR})
        if len(seen) == PAIRS:
            break
    return NEAREST_PAIRS.rows(seen.values())


def heads_table(clustered: words.Clustered) -> Table:
    """Return one row per head: the numbers behind the map, its roles, and its nearest head."""
    near, names, table = clustered.near, clustered.names, clustered.found.heads

    def nearest(row: Row) -> Cell:
        if not near.head.shape[1]:
            return MISSING
        ends = Row(**{name: float(getattr(near, name)[row.place, 0]) for name in FAR})
        cell = NEAREST_PAIRS.columns[1].write(ends)
        return replace(cell, text=f"{names[near.head[row.place, 0]]}: {cell.text}")

    roles = [words.roles_text(roles) for roles in clustered.roles_of_heads]
    place = counted("place", "The nearest head.", f"nearest head {ENDS}", cell=nearest)
    table = table.extended(Column("roles", "Roles that it holds.", str, "roles"), roles)
    table = table.extended(place, range(len(roles)))
    table = table.describe("cluster", cell=lambda row: Cell(words.cluster_name(row.cluster), row.cluster))
    return replace(table.numbered(clustered.summary.stack), first=("head", "cluster", "roles"))


def between_sheet(clustered: words.Clustered) -> Sheet:
    """Return mean distances between heads of two clusters, and within one; a dash within a single head."""
    numbers = clustered.groups["cluster"]
    membership = (clustered.found.cluster == numbers[:, None]).astype(np.float64)
    sizes = membership.sum(axis=1)
    pairs = np.outer(sizes, sizes) - np.diag(sizes)
    sums = membership @ clustered.distance @ membership.T
    mean = np.divide(sums, pairs, out=np.full_like(sums, np.nan), where=pairs > 0)[:WIDEST, :WIDEST]
    names = [words.cluster_name(number) for number in numbers[:WIDEST].tolist()]
    rows = [
        (Cell(name, place), *(Cell(three_decimals(value), value) for value in row))
        for place, (name, row) in enumerate(zip(names, mean.tolist(), strict=True))
    ]
    return Sheet("Mean distances within and between clusters", ("mean distance", *names), tuple(rows))


def _page(clustered: words.Clustered) -> parts.Page:
    """Return sections and data of the page."""
    run, found, summary = clustered.run, clustered.found, clustered.summary
    files, maps, told = files_of(run), _maps(clustered), clustered.told(of_roles=False)
    many = len(clustered.groups)
    cut = f" Of {many} clusters the table has the first {WIDEST}." * (many > WIDEST)
    choices = [parts.Fold("Number of clusters", [drawn.choices_figure(clustered)])] if found.choices else []
    return parts.Page(
        f"Clusters: {summary.account.model or words.answer_of(clustered).title}",
        [
            parts.Section("clusters", "Heads", "Heads", [
                parts.Beside([maps, drawn.map_block(clustered)]),
                parts.Grid(clustered.groups),
                parts.Text("Most central: the head with the smallest mean distance to the others of its "
                           "cluster."),
                parts.Drawing("nearest_heads", {"near": clustered.near.head.shape[1]}),
                parts.Grid(heads_table(clustered), folded=True),
            ]),
            parts.Section("tree", "Tree", "Tree and distances", [
                parts.Fold("Draw the tree and all distances", [
                    parts.Drawing("cluster_tree", {"figure": drawn.tree_figure(clustered, cut)}),
                    parts.Grid(between_sheet(clustered), folded=True),
                ]),
            ]),
            parts.Section("sure", "How sure", "How sure", [
                parts.Text(f"{clustered.text[0].upper()}{clustered.text[1:]}.", "lead"),
                *[parts.Points(told)] * bool(told),
                *choices,
                parts.Fold("What is claimed", [
                    parts.Grid(found.claims),
                    parts.Text("Intervals: 95\u00a0%, units resampled or left out in turn. Heads are all the "
                               "heads of this model and no sample of anything: a p compares with other "
                               "placements of the same heads, and says nothing of other models."),
                ]),
                parts.Text(f"{clustered.way[0].upper()}{clustered.way[1:]}."),
                parts.Words(words.GLOSSARY),
            ]),
            parts.Section("roles", "Roles", "Roles", _roles(clustered)),
            parts.Section("findings", "All numbers", "All numbers", [
                parts.Text("Scores of roles: one row per sieve, layer and head. Rows marked “contrast” are "
                           "the second test of a role. Clusters and claims are in the files below.", "lead"),
                parts.Text("This table, the plots and the downloads need JavaScript. "
                           "The tables of clusters do not.", "warning"),
                parts.Numbers(
                    "local 2-9",
                    ["clusters.csv", "claims.csv", "findings.csv", "labels.csv",
                     *["precision.csv"] * bool(summary.precision), *files, "run.json"],
                    caption(run, "Findings", families_of(run)),
                ),
            ]),
            *last_sections(run),
        ],
        {
            "clusters-data": drawn.page_data(clustered),
            "cards-data": cards_json(run, summary),
            "findings-columns": findings_json(summary, run.manifest.get("model")),
        },
        files | {"claims.csv": found.claims.csv()},
        panel="head_card",
        values={"summary": summary, "clusters": clustered},
        scripts=("clusters.js", *PANEL_SCRIPTS),
    )  # fmt: skip


def _maps(clustered: words.Clustered) -> HeadMaps:
    """Return the map of the cluster of every head."""
    found, sizes = clustered.found.cluster.tolist(), clustered.sizes
    looks = [
        CellLook(words.cluster_name(place), str(place), place % drawn.TONES, shade=0.45)
        for place in range(len(sizes))
    ]
    clusters = HeadMap(
        title="Cluster of every head", note=f"{len(sizes)} clusters",
        looks=[*looks, CellLook("no cluster", MARKS["no cluster"])],
        codes=[number if number != words.NOISE else len(looks) for number in found],
        values={
            "heads": [f"{found.count(number)} heads" for number in found],
            "roles": [", ".join(roles) for roles in clustered.roles_of_heads],
        },
        lines=("{head} · {word}", "{heads}", "roles: {|roles||none}"),
    )  # fmt: skip
    return HeadMaps(id="cluster-heads", maps=[clusters])


def _roles(clustered: words.Clustered) -> list[parts.Block]:
    """Return the section on roles, if there are any: maps, heads by decision, and claims about them."""
    told, means = clustered.told(of_roles=True), clustered.run.findings.mean
    if not clustered.summary.roles:
        return []
    more, title = len(told) - MOST_SENTENCES, f"Roles beside distances and clusters ({len(told)})"
    rest = f"{more} more {'is' if more == 1 else 'are'} in the table under “What is claimed”."
    points: list[parts.Block] = [parts.Points(told[:MOST_SENTENCES]), *[parts.Text(rest)] * (more > 0)]
    maps = [
        HeadMap(
            name=role.sieve,
            title=phrase_of(role.sieve).title,
            note=f"{role.tally.role} heads",
            column=role.position,
            shade=MEAN,
            largest=largest_of(means[role.position]),
            looks=DECIDED,
            tone=role.tone,
            lines=("{head} · {title}", "mean {mean}", "{word}"),
        )
        for role in clustered.summary.roles
    ]
    key = key_of(role="role", explained="explained by distance or position")
    return [
        parts.Text(Markup(
            "Roles and clusters come from the same attention, so that they go together is no evidence for "
            "either. The report of roles is drawn by <code>headroles label</code> on the same inputs."
        ), "lead"),
        parts.Fold("Maps of the roles", [HeadMaps(id="role-maps", maps=maps, key=key)]),
        parts.Fold("Heads by decision, one line per role",
                   [parts.Grid(label.verdict_sheet(clustered.summary))]),
        *([parts.Fold(f"{title}; no p can be given", points)] if told else []),
    ]  # fmt: skip
