"""The section of clusters on the page."""

import json
import re
from base64 import b64decode
from dataclasses import replace
from functools import cache
from html import unescape
from math import factorial
from typing import Any

import numpy as np
import plotly.graph_objects as go
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.cluster.hierarchy import leaves_list

from headroles.records.clusters import Choice, Claim, ClusterResults
from headroles.records.findings import Labelling
from headroles.reports.clusters_page import clusters_page
from headroles.reports.figures.drawing import figure_json
from headroles.reports.page import page
from headroles.reports.sections import clusters
from headroles.reports.sections.cluster_sheets import choices_panel
from headroles.reports.summary.summary import summarise
from headroles.reports.words.cluster_facts import distances_of, groups_of
from headroles.reports.words.clusters import (
    CIRCULAR,
    PHRASES,
    SINGLE,
    STABLE,
    choice_notes,
    choice_rule,
    claim_sentences,
    clustering_text,
    count_groups,
    distance_text,
    p_sentence,
    reference_text,
)
from headroles.stats.clusters import clusters as clusters_module
from headroles.stats.clusters.clusters import cut_tree, linkage_tree
from headroles.stats.clusters.distance_tests import EXACT
from headroles.stats.clusters.layer_claims import layer_claims
from headroles.stats.clusters.run import cluster_heads
from headroles.storage.clusters import cluster_files
from tests.support.clustered_runs import NAMES, clustered_run, divergence, huge_run, labelled, replaced

NAN = float("nan")


@cache
def usual() -> Labelling:
    """Three planted kinds of 24 heads."""
    return clustered_run()


@cache
def html_of(name: str = "usual") -> str:
    """The page of a made-up run, made once."""
    return clusters_page(huge_run() if name == "huge" else usual())


def _found(run: Labelling) -> ClusterResults:
    assert run.clustered is not None
    return run.clustered


def _section(run: Labelling) -> clusters.Section:
    shown = clusters.section(run, summarise(run))
    assert shown is not None
    return shown


def _text(html: str) -> str:
    """What is between the tags of a page, scripts and styles left out."""
    bare = re.sub(r"<(script|style)\b.*?</\1>", " ", html, flags=re.DOTALL)
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]*>", " ", bare)))


def _traces(figure: Any) -> dict[str, Any]:
    return {trace.name: trace for trace in go.Figure(figure).data}


def test_one_cluster_of_nearly_all_heads_is_said_to_be_no_grouping() -> None:
    found = replaced(_found(usual()), cluster=np.array([0] * 23 + [1]))
    groups = groups_of(found, distances_of(found), (), np.zeros((0, 24), dtype=np.bool_))
    assert "nearly all heads are in one" in clustering_text(found, groups)
    assert "nearly all" not in _text(html_of())


def test_a_thousand_heads_add_less_than_eight_megabytes() -> None:
    run = huge_run()
    more = len(html_of("huge").encode()) - len(page(replace(run, clustered=None)).encode())
    assert 0 < more < 8_000_000
    assert "drawn in 250 steps" in _text(html_of("huge"))


def test_the_same_run_gives_the_same_page() -> None:
    assert clusters_page(clustered_run()) == html_of()


def test_a_run_without_clusters_has_no_such_section() -> None:
    run = replace(usual(), clustered=None)
    assert clusters.section(run, summarise(run)) is None
    html = page(run)
    assert 'id="clusters"' not in html
    assert "clusters.csv" not in html[: html.index("<script>")]


def test_the_page_says_how_distances_were_made() -> None:
    text = _text(html_of())
    assert "square roots of the mean Jensen-Shannon divergence (nats)" in text
    assert "over 40 units, rows not smoothed" in text
    released = replaced(_found(usual()), divergence=divergence(4, 6, smoothing=0.001, way="sum"))
    told = distance_text(released)
    assert "summed over all rows of all inputs of 40 units as in the released code" in told
    assert "0.10\u00a0% of even attention" in told


def test_clusters_are_counted_and_those_in_none_are_said() -> None:
    run = usual()
    found = replaced(
        _found(run),
        method="dbscan",
        cluster=np.array([0] * 12 + [1] * 7 + [-1] * 5),
        silhouette=np.full(24, NAN),
        stability=np.full(24, NAN),
        choices=(),
    )
    groups = groups_of(found, distances_of(found), (), np.zeros((0, 24), dtype=np.bool_))
    told = clustering_text(found, groups)
    assert told.startswith("DBSCAN puts 19 heads into 2 clusters of 12 and 7 heads and 5 into none")
    assert "silhouettes need two clusters" in told
    shown = _section(replace(run, clustered=found))
    assert (shown.lone, len(shown.named), shown.choices) == (5, 2, None)
    assert "no cluster" in _text(clusters_page(replace(run, clustered=found)))


def test_every_claim_stands_on_the_page_with_its_interval() -> None:
    claims = _found(usual()).claims
    html = html_of()
    table = html[html.index('role="group" aria-label="Claims"') :]
    rows = [
        _text(row) for row in re.findall(r"<tr>.*?</tr>", table[: table.index("</table>")], flags=re.DOTALL)
    ]
    assert len(rows) == len(claims) + 1
    for each, row in zip(claims, rows[1:], strict=True):
        assert all(word in row for word in (each.claim, each.subject or "all heads", each.measure))
        ends = f"{each.estimate:.3f} [{each.low:.3f},\u00a0{each.high:.3f}]".replace("-", "−")
        assert ends.replace("\u00a0", " ") in row.replace("\u00a0", " ")


def test_every_claim_the_statistics_make_has_words_of_its_own() -> None:
    assert {(each.claim, each.measure) for each in _found(usual()).claims} == set(PHRASES)


def test_a_p_says_what_it_is_a_share_of_and_is_never_nought() -> None:
    claims = _found(usual()).claims
    with_p = [each for each in claims if not np.isnan(each.p)]
    assert len(with_p) == 3
    for each in with_p:
        told = p_sentence(each)
        assert each.reference in told
        assert f"the share at least as extreme among {reference_text(each)}" in told
    tiny = Claim("x", "", "R2", 0.5, 0.4, 0.6, 1e-6, 999_999, "orders", 9, 9)
    assert "p = 1e-06" in p_sentence(tiny)
    assert not re.search(r"p = 0[^.\d]", _text(html_of()))


@pytest.mark.parametrize(("layers", "exact"), [(EXACT, True), (EXACT + 1, False)])
def test_placements_behind_a_p_are_counted_as_the_test_counts_them(layers: int, exact: bool) -> None:
    drawn, *_ = layer_claims(divergence(layers, 2), seed=0)
    assert drawn.p * 10_000 == pytest.approx(round(drawn.p * 10_000))
    assert reference_text(drawn).startswith(
        "10,000 placements (the observed one and 9,999 drawn: random placement"
    )
    *_, orders = layer_claims(divergence(layers, 2), seed=0)
    total = factorial(layers) if exact else 10_000
    assert orders.p * total == pytest.approx(round(orders.p * total))
    told = "all orders of the layers of this model, the observed one among them"
    told = told if exact else "the observed one and 9,999 drawn: random orders of the layers of this model"
    assert reference_text(orders) == f"{total:,} placements ({told})"


def test_claims_about_roles_have_no_p_and_say_why() -> None:
    claims = [each for each in _found(usual()).claims if each.about_roles]
    assert len(claims) == 2 * len(NAMES) + 1
    assert {p_sentence(each) for each in claims} == {CIRCULAR}
    assert CIRCULAR in _text(html_of())
    told = claim_sentences(claims)
    assert [each.split(":")[0] for each in told[:-1]] == list(NAMES)


def test_an_unknown_claim_is_told_by_its_names() -> None:
    bare = Claim("heads that sing", "", "volume", 0.5, NAN, NAN, NAN, 0, "", 24, 40)
    assert claim_sentences([bare]) == ("Heads that sing, volume: 0.500.",)


def test_the_chosen_number_is_marked_and_missing_numbers_are_gaps() -> None:
    choices = (Choice(2, NAN, 0.5), Choice(3, 0.4, 0.9, 1))
    found = replaced(_found(usual()), method="spectral", choices=choices)
    panel = choices_panel(found)
    assert panel is not None
    assert list(_traces(panel.figure)["silhouette"].y) == [None, 0.4]
    assert [shape.x0 for shape in go.Figure(panel.figure).layout.shapes] == [3]
    assert panel.rows == (("2", "–", "0.50", "stability below 0.6"), ("3", "0.40", "0.90", "chosen"))
    assert panel.sentence == "3 clusters, chosen of 2 numbers tried: mean silhouette 0.40, stability 0.90."
    assert choices_panel(replaced(found, choices=())) is None


def test_the_page_says_by_which_rule_the_number_was_chosen() -> None:
    assert STABLE == clusters_module.STABLE
    rule = choice_rule(_found(usual()).choices)
    assert f"{rule[1:]}." in _text(html_of())
    assert "at least 0.6; numbers that only cut single heads off the rest come last" in rule
    assert not choice_rule((Choice(3, 0.4, 0.9, 1),))
    unstable = choice_rule((Choice(2, 0.3, 0.5, 1), Choice(3, 0.4, 0.1)))
    assert unstable == f"{rule}; none of the others is that stable, so the most stable of them was taken"
    unknown = choice_rule((Choice(2, 0.3, NAN, 1), Choice(3, 0.2, NAN)))
    assert unknown.startswith("chosen by the largest mean silhouette alone, since no units were resampled;")
    alone = choices_panel(replaced(_found(usual()), choices=(Choice(3, 0.4, 0.9, 1),)))
    assert alone is not None
    assert alone.sentence == "3 clusters, the only number tried: mean silhouette 0.40, stability 0.90."
    assert alone.caption.endswith("as alike as chance.")


@given(seed=st.integers(0, 10_000), size=st.integers(4, 14), ties=st.booleans())
@settings(max_examples=20)
def test_the_tree_says_which_numbers_only_cut_single_heads_off(seed: int, size: int, ties: bool) -> None:
    chance = np.random.default_rng(seed)
    distance = chance.exponential(1, size * (size - 1) // 2)
    tree = linkage_tree(np.round(distance) if ties else distance)
    numbers = range(2, size + 1)
    wanted = [int((np.bincount(row) >= 2).sum()) for row in cut_tree(tree, numbers)]
    assert [count_groups(tree, number) for number in numbers] == wanted


def test_a_number_that_only_cuts_single_heads_off_is_marked_though_its_numbers_are_better() -> None:
    source = divergence(4, 6)
    sums = source.sums.copy()
    first, second = np.triu_indices(24, 1)
    sums[:, (first == 5) | (second == 5)] += 30.0
    found = cluster_heads(replace(source, sums=sums), draws=10)
    two = found.choices[0]
    assert (two.clusters, two.chosen) == (2, 0)
    assert two.stability >= STABLE
    assert two.silhouette > max(each.silhouette for each in found.choices if each.chosen)
    assert choice_notes(found)[0] == SINGLE
    panel = choices_panel(found)
    assert panel is not None
    assert panel.rows[0][-1] == SINGLE
    assert not choice_notes(replaced(found, method="spectral"))[0]


@pytest.mark.parametrize(("layers", "heads"), [(1, 6), (6, 1), (2, 2)])
def test_small_models_have_a_section_too(layers: int, heads: int) -> None:
    run = clustered_run(layers, heads)
    text = _text(clusters_page(run))
    assert f"{layers * heads} head" in text
    assert "nan" not in text.lower().replace("finance", "")


def test_a_run_without_roles_has_a_section_too() -> None:
    run = clustered_run(3, 3)
    findings = replace(run.findings, decision=np.ones_like(run.findings.decision))
    text = _text(clusters_page(replace(run, findings=findings)))
    assert "cluster 0" in text
    rows = _section(replace(run, findings=findings)).clusters.rows
    assert {row[3].text for row in rows} == {"none"}


def test_one_block_has_distances_without_intervals() -> None:
    source = divergence(3, 3, units=1)
    found = replaced(
        clustered_run(3, 3).clustered,  # type: ignore[arg-type]
        divergence=source,
        neighbours=None,
        cloud=np.zeros((0, 9, 2)),
        choices=(),
        claims=(),
        stability=np.full(9, NAN),
    )
    run = replace(labelled(3, 3), clustered=found)
    shown = _section(run)
    assert (shown.clouds, shown.claims, shown.told, shown.roles) == (0, None, (), ())
    assert "[" not in shown.heads.rows[0][-1].text
    assert "show how sure places are" not in clusters_page(run)


def test_hostile_names_are_text_and_nothing_else() -> None:
    bad = "<script>alert('x')</script><img src=x onerror=y>"
    run = clustered_run(3, 3, (bad, "b"))
    claims = tuple(replace(each, reference=bad, measure=bad, claim=bad) for each in _found(run).claims)
    html = clusters_page(replace(run, clustered=replaced(_found(run), claims=claims, method=bad)))
    assert "<script>alert" not in html
    assert "<img" not in html
    assert "<script" not in figure_json(_section(run).map.figure)


def _data(html: str) -> Any:
    found = re.search(r'id="clusters-data">(.*?)</script>', html, flags=re.DOTALL)
    assert found is not None
    return json.loads(found[1])


def test_what_the_script_reads_is_what_was_found() -> None:
    found, data = _found(usual()), _data(html_of())
    assert found.neighbours is not None
    np.testing.assert_array_equal(
        np.frombuffer(b64decode(data["near"]), "<u4").reshape(24, -1), found.neighbours.head
    )
    low = np.frombuffer(b64decode(data["ends"]["low"]), "<f4").reshape(24, -1)
    np.testing.assert_allclose(low, found.neighbours.low, rtol=1e-6)
    assert data["files"]["claims.csv"] == cluster_files(found)["claims.csv"]
    assert data["order"] == leaves_list(found.linkage).tolist()
