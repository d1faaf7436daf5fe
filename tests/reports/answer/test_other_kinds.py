"""Answers of probes, surface statistics, clusters and comparisons count as their tables do."""

import re
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from headroles.errors import BadInput
from headroles.records.clusters import Choice
from headroles.records.comparison import OUTCOMES
from headroles.records.findings import Labelling
from headroles.records.probes import ProbeResults
from headroles.reports.answer import clusters, comparison, probes, surface
from headroles.reports.answer.records import Answer, Sentence
from headroles.reports.words.probes import baseline_title, percent, row_title
from headroles.reports.words.surface import decision_counts
from tests.reports.test_compare import comparison as compared
from tests.support.clustered_runs import clustered_run, replaced, with_clusters

Made = Callable[..., Labelling]


def _starting(answer: Answer, start: str) -> Sentence:
    (sentence,) = [sentence for sentence in answer.sentences if re.match(start, sentence.text)]
    return sentence


# surface


def test_a_surface_answer_counts_heads_above_even_attention(surface_run: Made) -> None:
    run = surface_run()
    answer = surface.answer_of(run)
    for sentence, kinds in zip(answer.sentences, (surface.SINKS, surface.PLACES), strict=False):
        above = {kind: decision_counts(run.findings, f"surface:{kind}")[0] for kind in kinds}
        most = max(above, key=lambda kind: above[kind])
        assert sentence.sieve == f"surface:{most}"
        assert re.match(f"{above[most] or 'No'} (of 72 heads|head)", sentence.lead)
        assert kinds[most] in sentence.lead
        for kind in above.keys() - {most}:
            assert f"{above[kind]} at {kinds[kind]}" in sentence.rest
    roles = [place for place, rule in enumerate(run.findings.rules) if rule.sieve.startswith("surface")]
    open_tests = int((run.findings.decision[roles] == 2).sum())
    assert f"{open_tests} of {len(roles) * 72} tests" in answer.sentences[-1].text


def test_a_surface_answer_without_a_head_above_names_all_kinds(surface_run: Made) -> None:
    run = surface_run()
    none = replace(run.findings, decision=np.full_like(run.findings.decision, 1))
    told = [sentence.text for sentence in surface.answer_of(replace(run, findings=none)).sentences]
    assert told[0] == (
        "No head looks at the first token, separators or punctuation more than even attention does."
    )
    assert told[1].startswith("No head looks at the previous token, the next token or the token itself more")


def test_a_surface_answer_names_the_extreme_entropies_and_the_layers_that_matter_less(
    surface_run: Made,
) -> None:
    run = surface_run()
    answer, findings = surface.answer_of(run), run.findings
    entropy = findings.mean[findings.of("surface:entropy")]
    names = [
        "-".join(map(str, np.unravel_index(int(place), entropy.shape)))
        for place in (entropy.argmin(), entropy.argmax())
    ]
    sentence = _starting(answer, "Head .* most focused")
    assert f"Head {names[0]} is" in sentence.lead
    assert f"{names[1]} the broadest" in sentence.rest
    assert run.surface is not None
    less = [
        test.kind
        for test in run.surface.noop
        if test.measure == "gradient" and test.decision == "less important"
    ]
    assert f"In {max(map(less.count, less))} of 6 layers, attention to" in _starting(answer, "In ").text


def test_a_surface_answer_leaves_out_what_was_not_measured(surface_run: Made) -> None:
    lacking = ("surface:first", "surface:separator", "surface:punctuation", "surface:entropy")
    run = surface_run(lacking=lacking, gradients=False)
    texts = [sentence.text for sentence in surface.answer_of(run).sentences]
    assert len(texts) == 2
    assert not re.search("separators|focused|matters less", " ".join(texts))


# probes


def test_a_probe_answer_counts_rows_and_heads_as_the_tables_do(probed_run: Made) -> None:
    run = probed_run()
    answer = probes.answer_of(run)
    assert run.probed is not None
    assert answer.title == "Which heads follow syntax and coreference?"
    own = [
        row for row in run.probed.best if row.row.startswith("dependency:") and row.row != "dependency:all"
    ]
    count = sum(row.decision == "beyond" for row in own)
    assert answer.sentences[0].text.startswith(f"{count or 'None'} of {len(own)} relations")
    rows = run.findings.roles
    names = {name.removesuffix(":→").removesuffix(":←") for name in rows}
    own_names = sorted(name for name in names if not name.endswith(":all"))
    beaten = np.zeros((len(own_names), 6, 12), dtype=bool)
    for name in rows:
        row = name.removesuffix(":→").removesuffix(":←")
        if row in own_names:
            beaten[own_names.index(row)] |= run.findings.decision[run.findings.of(name)] == 0
    assert probes.beating_heads(run).sum() == beaten.sum()
    assert (probes.beating_heads(run).sum(axis=0) == beaten.sum(axis=0)).all()


def test_the_best_head_of_an_answer_was_shown_to_be_beyond_its_baseline(probed_run: Made) -> None:
    run = probed_run()
    assert run.probed is not None
    top = max((row for row in run.probed.best if row.decision == "beyond"), key=lambda row: row.difference)
    sentence = _starting(probes.answer_of(run), "Best: ")
    assert f"head {top.layer}-{top.head}, {row_title(top.row, top.direction)}" in sentence.lead
    assert f"{percent(top.accuracy)}\u00a0%" in sentence.rest
    assert f"{baseline_title(top.baseline)}, {percent(top.baseline_accuracy)}\u00a0%" in sentence.rest


def test_published_rules_test_nothing_and_the_answer_says_so(probed_run: Made) -> None:
    answer = probes.answer_of(probed_run(preset="published"))
    text = " ".join(sentence.text for sentence in answer.sentences)
    assert "nothing is tested" in text
    assert "undetermined" not in text


def test_trained_probes_alone_have_an_answer(probed_run: Made) -> None:
    run = probed_run()
    assert run.probed is not None
    alone = replace(run, probed=ProbeResults(None, trained=run.probed.trained))
    answer = probes.answer_of(alone)
    assert answer.title == "How much syntax does attention hold?"
    assert "finds 75.0\u00a0% of the head words" in answer.sentences[0].lead
    with pytest.raises(BadInput, match="needs a run with probes"):
        probes.answer_of(replace(run, probed=None))


# clusters


def test_clusters_are_counted_with_their_sizes() -> None:
    run = clustered_run()
    assert run.clustered is not None
    sizes = np.bincount(run.clustered.cluster).tolist()
    first = clusters.answer_of(run).sentences[0]
    assert clusters.has_clusters(run.clustered)
    assert first.lead == f"{len(sizes)} clusters"
    assert first.rest.startswith(f"of {', '.join(map(str, sizes[:-1]))} and {sizes[-1]} heads; silhouette ")


@pytest.mark.parametrize("why", ["nearly all in one", "flat", "one"])
def test_that_there_are_no_clusters_is_one_sentence(why: str) -> None:
    run = clustered_run()
    assert run.clustered is not None
    size = len(run.clustered.cluster)
    cluster, silhouette = run.clustered.cluster.copy(), run.clustered.silhouette
    if why == "nearly all in one":
        cluster = np.zeros(size, dtype=cluster.dtype)
        cluster[-1] = 1
    elif why == "flat":
        silhouette = np.full(size, 0.2)
    else:
        cluster, silhouette = np.zeros(size, dtype=cluster.dtype), np.full(size, np.nan)
    found = replaced(run.clustered, cluster=cluster, silhouette=silhouette, choices=(Choice(2, 0.2, 0.9, 1),))
    first = clusters.answer_of(with_clusters(run, found)).sentences[0]
    assert first.text.startswith("No clusters: ")
    assert first.text.count(". ") == 0


def test_the_nearest_pair_is_the_nearest_of_all_distances() -> None:
    run = clustered_run()
    assert run.clustered is not None
    mean = run.clustered.divergence.mean()
    first, second = (int(index[mean.argmin()]) for index in np.triu_indices(24, 1))
    sentence = _starting(clusters.answer_of(run), r"\d+-\d+ and ")
    assert sentence.lead == f"{first // 6}-{first % 6} and {second // 6}-{second % 6} are the most alike"
    assert f"{np.sqrt(mean.min()):.3f}" in sentence.rest


def test_only_what_beats_random_placements_is_called_more_than_by_chance() -> None:
    run = clustered_run()
    assert run.clustered is not None
    for p, words in ((0.001, "more than by chance"), (0.4, "no more than by chance")):
        claims = tuple(replace(claim, p=p) for claim in run.clustered.claims)
        told = with_clusters(run, replaced(run.clustered, claims=claims))
        text = _starting(clusters.answer_of(told), "Layers explain").text
        assert f", {words} (p = {p:g})" in text
    with pytest.raises(BadInput, match="needs a run with clusters"):
        clusters.answer_of(replace(run, clustered=None))


# comparisons


def test_the_headline_of_a_comparison_counts_changes_beyond_the_bound_only() -> None:
    found = compared()
    differences = found.differences
    roles = [rule.role for rule in differences.rules]
    changed = differences.outcome[roles] == 0
    size = np.abs(differences.difference[roles])
    beyond, within = comparison.changes_beyond(found)
    assert beyond == int((changed & (size > 0.05)).sum())
    assert beyond + within == int(changed.sum())
    assert comparison.answer_of(found).sentences[0].lead == f"{beyond} of 60 head × role pairs changed"


def test_a_change_below_the_bound_is_not_in_the_headline() -> None:
    found = compared()
    small = np.where(found.differences.outcome == 0, 0.0004, found.differences.difference)
    told = replace(found, differences=replace(found.differences, difference=small))
    first = comparison.answer_of(told).sentences[0]
    _, within = comparison.changes_beyond(told)
    assert first.lead == "No score is shown to change"
    assert f"{within} more changed by less" in first.rest


def test_no_change_is_claimed_only_where_every_pair_is_settled() -> None:
    found = compared()
    same = np.full_like(found.differences.outcome, OUTCOMES.index("equivalent"))
    settled = replace(found, differences=replace(found.differences, outcome=same))
    assert comparison.answer_of(settled).sentences[0].lead == "No score changed"
    same[0, 0, 0] = OUTCOMES.index("undetermined")
    unsettled = replace(found, differences=replace(found.differences, outcome=same))
    assert comparison.answer_of(unsettled).sentences[0].lead == "No score is shown to change"


def test_gained_and_lost_roles_are_those_of_the_swaps() -> None:
    found = compared()
    row = found.swaps[-1]
    sentence = _starting(comparison.answer_of(found), r"\d+ roles? gained")
    assert sentence.lead == f"{row.gained} role{'s' * (row.gained != 1)} gained and {row.lost} lost"
    moved = found.labels().query("gained != '' or lost != ''")
    assert f"in {len(moved)} head" in sentence.rest
    same = replace(found, swaps=(replace(row, gained=0, lost=0, changed=0),))
    assert _starting(comparison.answer_of(same), "No head gained").rest.startswith(f"({row.labels_a} labels")


def test_an_answer_of_a_comparison_counts_every_pair_once() -> None:
    found = compared()
    outcome = found.differences.outcome[[rule.role for rule in found.differences.rules]]
    answer = comparison.answer_of(found)
    assert f"{(outcome == 1).sum()} pair" in _starting(
        answer, r"\d+ pairs? (is|are) equivalent|No pair"
    ).lead or (not (outcome == 1).any())
    last = answer.sentences[-1].text
    assert last.startswith(f"{(outcome == 2).sum()} pair")
    assert f"{(outcome == 3).sum()} could not be tested" in last
