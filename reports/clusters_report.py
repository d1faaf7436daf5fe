"""The report of a run that clustered heads: its tables, the sections of its page, and its terminal.

Roles stand on it as far as clusters need them; ``headroles label`` on the same inputs draws their report.
"""

import base64
import json
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from markupsafe import Markup

from headroles.records.clusters import about_roles
from headroles.records.findings import Labelling
from headroles.records.numbers import plural, three_decimals
from headroles.records.roles import phrase_of
from headroles.records.table import ENDS, MISSING, Cell, Column, Row, Sheet, Table, interval_ends
from headroles.reports.cards import PANEL_SCRIPTS, PANEL_STYLES, cards_json
from headroles.reports.cluster_figures import (
    TONES,
    choices_figures,
    keys,
    leaves,
    map_figure,
    prints,
    scale_of,
    shrink,
    tree_figure,
    views,
)
from headroles.reports.clusters import (
    CHOSEN,
    GLOSSARY,
    NOISE,
    Clustered,
    answer_of,
    choice_note,
    choice_rule,
    claim_notes,
    claim_sentences,
    cluster_name,
    clustering_text,
    counted_roles,
    distance_text,
    estimate_text,
    roles_text,
    stress_sentence,
)
from headroles.reports.embedded import files_of, findings_json, script_json
from headroles.reports.figures.drawing import SYMBOLS
from headroles.reports.maps import DECIDED, MEAN, CellLook, HeadMap, HeadMaps, largest_of
from headroles.reports.papers import caption
from headroles.reports.print.captions import families_of, inputs_text, units_of
from headroles.reports.print.figures import role_plots
from headroles.reports.print.run_tables import role_tables
from headroles.reports.recorded import account_lines, last_sections
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
from headroles.reports.sections.role_sheets import verdict_sheet
from headroles.reports.terminal import WIDE
from headroles.terminal.facts import all_notes, describe_test, title_of
from headroles.terminal.label import show_roles
from headroles.terminal.roles import show_grid

SHADE = 0.45
"""How strong the colours of clusters are."""
MOST_SENTENCES = 12
"""Most roles whose claims are written as sentences; the table has all."""
WIDEST = 30
"""Most clusters in the table of distances between them, and in a terminal."""
FEW = 2
"""Sentences that a terminal prints where nothing more is asked for."""
PAIRS = 5
"""Number of nearest pairs of heads that a terminal shows."""
TRIED = 5
"""How many numbers of clusters a terminal shows: the chosen one and those with the largest silhouettes."""
NEAREST_PAIRS = Table("", "Nearest pairs", "a pair of heads", (
    Column("pair", "The two heads.", str, "nearest pairs", terminal="narrow"),
    Column("distance", "Their distance.", float, f"distance {ENDS}", three_decimals, ("low", "high"),
           terminal="narrow"),
    *interval_ends(),
    Column("clusters", "Their clusters.", str, "clusters", terminal="narrow"),
))  # fmt: skip


def _nearest(row: Row) -> Cell:
    """Return the nearest head and the distance to it."""
    if not row.near:
        return MISSING
    return Cell(f"{row.near}: {NEAREST_PAIRS.columns[1].write(row).text}", row.distance)


OF_HEADS = (
    Column("roles", "Roles that it holds.", str, "roles"),
    Column("near", "The nearest head.", str),
    Column(
        "distance", "The nearest head and the distance to it.", float, f"nearest head {ENDS}", cell=_nearest
    ),
    *interval_ends(),
)
"""What a page tells of a head beside its cluster."""


def report(run: Labelling) -> Report:
    """Return the report of a run that clustered heads."""
    clustered, of_roles = Clustered(run), role_tables(run)

    def clusters() -> Paper:
        how, units = clustering_text(clustered), plural(units_of(run), "unit")
        about = inputs_text(run.manifest)
        return Paper(clustered.groups, f"Clusters of attention heads{about}: {how}. {units}.")

    return Report(
        "headroles cluster",
        title_of(run),
        answer_of(clustered),
        all_notes(run),
        run.manifest,
        {
            "roles": of_roles["roles"], "heads": of_roles["heads"], "clusters": clusters,
            "findings": of_roles["findings"],
        },
        page=partial(_page, clustered),
        screen=partial(_screen, clustered),
        cell=lambda: [Grid(clustered.groups)],
        facts=partial(_facts, run),
        prints=lambda width: prints(clustered) | role_plots(run, width),
        brief=True,
        few=FEW,
    )  # fmt: skip


def _facts(run: Labelling, detail: Detail) -> list[Named]:
    """Return model, inputs, parser and test, where they are asked for."""
    facts, parser = run.manifest, run.manifest.get("parser")
    lines = account_lines(run)
    if parser:
        lines.append(Named("parser", f"{parser['name']} {parser.get('version', '')}".rstrip(), ""))
    elif facts.get("source", {}).get("trees") == "gold":
        lines.append(Named("parser", "none: the file's gold trees", ""))
    lines.append(Named("tested", describe_test(run.decision, facts.get("preset")), ""))
    return lines if detail.verbose else []


def _screen(clustered: Clustered, detail: Detail) -> list[Any]:
    """Return what a terminal shows: distances, clusters, numbers tried, claims, nearest pairs, roles."""
    found, groups, wide = clustered.found, clustered.groups, detail.width >= WIDE
    if not detail.verbose:
        return [lambda console: show_grid(console, clustered.summary)] if detail.grid else []
    tried, rule = choices_table(clustered), choice_rule(found.choices)
    silhouettes = np.nan_to_num(tried["silhouette"], nan=-2.0)
    best = np.lexsort((-silhouettes, -tried["chosen"]))[:TRIED]
    best = best[np.argsort(tried["clusters"][best], kind="stable")]
    of_role = found.claims["subject"] != ""
    pairs = nearest_pairs(clustered) if len(found.cluster) > 1 else NEAREST_PAIRS
    return [
        Named("far", distance_text(found), ""),
        Named("found", clustering_text(clustered), ""),
        Named("map", stress_sentence(found.stress), ""),
        Grid(clusters_on_screen(clustered, wide)),
        *[Named("more", f"clusters.csv has {plural(len(groups) - WIDEST, 'more cluster')}")]
        * (len(groups) > WIDEST),
        *([Grid(tried.take(best), CHOSEN), Named("rule", rule)] if len(tried) > 1 else []),
        Grid(found.claims.take(~of_role)),
        Grid(role_claims_sheet(found.claims.take(of_role))),
        *(Named(name, text) for name, text in claim_notes(found.claims)),
        Grid(pairs),
        lambda console: show_roles(console, clustered.summary, detail),
    ]


def clusters_on_screen(clustered: Clustered, wide: bool) -> Sheet:
    """Return the first clusters with their heads, the most central one first, and roles for a terminal."""
    most, roles = (10, 4) if wide else (4, 1)
    names, groups = clustered.names, clustered.groups[:WIDEST]
    texts = []
    for number in groups["cluster"].tolist():
        members = clustered.members(number)
        texts.append(" ".join(names[head] for head in members[:most]) + " …" * (len(members) > most))
    table = groups.extended(Column("members", "Its heads.", str, "heads in it"), texts)
    table = table.describe("roles", heading="roles", text=partial(counted_roles, most=roles))
    table = table.describe(
        "cluster", cell=lambda row: _word(cluster_name(row.cluster).removeprefix("cluster "))
    )
    for name in () if wide else ("silhouette", "stability"):
        table = table.describe(name, heading=f"{name[: 3 if name == 'silhouette' else 4]}.")
    return table.sheet(only=("cluster", "heads", "silhouette", "stability", "members", "roles"))


def _word(text: str) -> Cell:
    """Return a cell of words."""
    return Cell(text, text)


def choices_table(clustered: Clustered) -> Table:
    """Return the numbers of clusters that were tried, with why one was chosen."""
    found = clustered.found
    return found.choices.describe("chosen", cell=lambda choice: _word(choice_note(choice, found)))


def role_claims_sheet(claims: Table) -> Sheet:
    """Return the estimates of claims about roles: one row per role, one column per claim."""
    kinds = list(dict.fromkeys((claim.claim, claim.measure) for claim in claims))
    known = {(claim.subject, claim.claim, claim.measure): claim for claim in claims}
    rows = []
    for subject in dict.fromkeys(claim.subject for claim in claims):
        found = [known.get((subject, *kind)) for kind in kinds]
        cells = (Cell(estimate_text(claim), claim.estimate) if claim else MISSING for claim in found)
        rows.append((_word(subject), *cells))
    return Sheet("Claims about roles", ("role", *(", ".join(kind) for kind in kinds)), tuple(rows))


def nearest_pairs(clustered: Clustered) -> Table:
    """Return the nearest pairs of heads, each pair once, nearest first."""
    near, names, found = clustered.near, clustered.names, clustered.found
    seen: dict[tuple[int, ...], dict[str, Any]] = {}
    for flat in np.argsort(near.distance, axis=None, kind="stable").tolist():
        head, place = divmod(flat, near.distance.shape[1])
        pair = (head, int(near.head[head, place]))
        clusters = dict.fromkeys(
            cluster_name(int(found.cluster[one])).removeprefix("cluster ") for one in pair
        )
        ends = {name: float(getattr(near, name)[head, place]) for name in ("distance", "low", "high")}
        words = {"pair": " and ".join(names[one] for one in pair), "clusters": " and ".join(clusters)}
        seen.setdefault(tuple(sorted(pair)), words | ends)
        if len(seen) == PAIRS:
            break
    return NEAREST_PAIRS.rows(seen.values())


def heads_table(clustered: Clustered) -> Table:
    """Return one row per head: the numbers behind the map, its roles, and its nearest head."""
    near, names = clustered.near, clustered.names
    table = clustered.found.heads.numbered(clustered.summary.stack).describe(
        "cluster", cell=lambda row: Cell(cluster_name(row.cluster), row.cluster)
    )
    nothing, any_near = np.full(len(names), np.nan), bool(near.head.shape[1])
    values = {
        "roles": [roles_text(roles) for roles in clustered.roles_of_heads],
        "near": [names[head] for head in near.head[:, 0]] if any_near else [""] * len(names),
    }
    ends = {name: getattr(near, name)[:, 0] if any_near else nothing for name in ("distance", "low", "high")}
    columns, first = (*table.columns, *OF_HEADS), ("head", "cluster", "roles")
    return replace(table, columns=columns, first=first).of(**table.data, **values, **ends)


def between_sheet(clustered: Clustered) -> Sheet:
    """Return mean distances between heads of two clusters, and within one; a dash within a single head."""
    membership = np.array([clustered.found.cluster == number for number in clustered.numbers], np.float64)
    sizes = membership.sum(axis=1)
    pairs = np.outer(sizes, sizes)
    np.fill_diagonal(pairs, sizes * (sizes - 1))
    sums = membership @ clustered.distance @ membership.T
    mean = np.divide(sums, pairs, out=np.full_like(sums, np.nan), where=pairs > 0)
    names = [cluster_name(number) for number in clustered.numbers[:WIDEST]]
    rows = [
        (Cell(name, place), *(Cell(three_decimals(value), value) for value in row))
        for place, (name, row) in enumerate(zip(names, mean[:WIDEST, :WIDEST].tolist(), strict=True))
    ]
    return Sheet("Mean distances within and between clusters", ("mean distance", *names), tuple(rows))


def _page(clustered: Clustered) -> Page:
    """Return sections and data of the page."""
    run, found, summary = clustered.run, clustered.found, clustered.summary
    files, clouds = files_of(run), len(found.cloud) if len(found.cloud) > 2 else 0
    maps = _maps(clustered)
    told = claim_sentences(claim for claim in found.claims if not about_roles(claim))
    tried = choices_table(clustered)
    beyond = len(clustered.numbers) - WIDEST
    cut = f" Of {len(clustered.numbers)} clusters the table has the first {WIDEST}." * (beyond > 0)
    shown = {"figure": map_figure(clustered), "looks": keys(clustered), "clouds": clouds}
    return Page(
        f"Clusters: {summary.account.model or answer_of(clustered).title}",
        [
            Section("clusters", "Heads", "Heads", [
                Beside([maps[0], Drawing("clusters/map.html", shown)]),
                Grid(clustered.groups),
                Text("Most central: the head with the smallest mean distance to the others of its cluster."),
                Drawing("clusters/nearest.html", {"near": clustered.near.head.shape[1]}),
                Grid(heads_table(clustered), folded=True),
            ]),
            Section("tree", "Tree", "Tree and distances", [
                Fold("Draw the tree and all distances", [
                    Drawing("clusters/tree.html", {"figure": tree_figure(clustered, cut)}),
                    Grid(between_sheet(clustered), folded=True),
                ]),
            ]),
            Section("sure", "How sure", "How sure", [
                Text(_sentence(clustering_text(clustered)), "lead"),
                *([Points(told)] if told else []),
                *(Fold("Number of clusters", [figure])
                  for figure in choices_figures(found.choices, tried.sheet())),
                Fold("What is claimed", [
                    Grid(found.claims),
                    Text("Intervals: 95\u00a0%, units resampled or left out in turn. Heads are all the heads "
                         "of this model and no sample of anything: a p compares with other placements of the "
                         "same heads, and says nothing of other models."),
                ]),
                Text(_sentence(distance_text(found))),
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
            "clusters-data": _data(clustered),
            "cards-data": cards_json(run, summary),
            "findings-columns": findings_json(summary, run.manifest.get("model")),
        },
        files | {"claims.csv": found.claims.csv()},
        panel="cards/cards.html",
        values={"summary": summary, "clusters": clustered},
        scripts=("clusters/clusters.js", *PANEL_SCRIPTS),
        styles=("clusters/clusters.css", *PANEL_STYLES),
    )  # fmt: skip


def _sentence(text: str) -> str:
    """Return a text as a sentence."""
    return f"{text[0].upper()}{text[1:]}."


def _roles(clustered: Clustered, maps: HeadMaps) -> list[Block]:
    """Return the section on roles: their maps, their heads by decision, and claims about them."""
    told = claim_sentences(claim for claim in clustered.found.claims if about_roles(claim))
    more = len(told) - MOST_SENTENCES
    verb = "is" if more == 1 else "are"
    blocks: list[Block] = [
        Text(
            Markup(
                "Roles and clusters come from the same attention, so that they go together is no evidence "
                "for either. The report of roles is drawn by <code>headroles label</code> on the same inputs."
            ),
            "lead",
        ),
        Fold("Maps of the roles", [maps]),
        Fold("Heads by decision, one line per role", [Grid(verdict_sheet(clustered.summary))]),
    ]
    if told:
        rest = [Text(f"{more} more {verb} in the table under “What is claimed”.")] if more > 0 else []
        title = f"Roles beside distances and clusters ({len(told)}); no p can be given"
        blocks.append(Fold(title, [Points(told[:MOST_SENTENCES]), *rest]))
    return blocks


def _maps(clustered: Clustered) -> tuple[HeadMaps, HeadMaps]:
    """Return the map of the cluster of every head, and a map per role."""
    found, means = clustered.found.cluster.tolist(), clustered.run.findings.mean
    heads = {number: found.count(number) for number in clustered.numbers}
    looks = [
        CellLook(cluster_name(number), str(number), number % TONES, shade=SHADE)
        for number in range(max(heads) + 1)
    ]
    clusters = HeadMap(
        title="Cluster of every head",
        note=f"{len(heads.keys() - {NOISE})} clusters",
        looks=[*looks, CellLook("no cluster", "×")],
        codes=[number if number != NOISE else len(looks) for number in found],
        values={
            "heads": [f"{heads[number]} heads" for number in found],
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


def _data(clustered: Clustered) -> str:
    """Return columns by head, nearest heads, the order of the tree and the views of the map, as JSON."""
    found, near, order = clustered.found, clustered.near, leaves(clustered.found.linkage)
    ordered = clustered.distance[np.ix_(order, order)]
    low, step = scale_of(ordered)
    columns = {name: found.heads[name] for name in ("silhouette", "stability", "x", "y")}
    content = {
        "cluster": found.cluster.tolist(),
        "columns": {name: _base64(values, "<f8") for name, values in columns.items()},
        "near": _base64(near.head, "<u4"),
        "ends": {name: _base64(getattr(near, name), "<f4") for name in ("distance", "low", "high")},
        "order": order.tolist(),
        "scale": {"low": low, "step": step, "factor": shrink(ordered)[1]},
        "views": views(clustered),
        "symbols": [SYMBOLS[role.symbol] for role in clustered.summary.roles],
    }
    return script_json(json.dumps(content, separators=(",", ":")))


def _base64(values: np.ndarray, kind: str) -> str:
    """Return the values as base64 of a fixed-size dtype."""
    return base64.b64encode(np.ascontiguousarray(values.astype(kind)).tobytes()).decode("ascii")
