"""Summaries and answers count as the tables do, and name the heads that hold what they say."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from headroles.kinds import kind_of, report_of
from headroles.records import DECISIONS, Labelling, Rule
from headroles.reports import summarise
from tests.support import table
from tests.support.causal.ablated_runs import ablated_run
from tests.support.causal.origins import why_run
from tests.support.made_runs import made_run
from tests.support.pages import label_run, result, strong_run

CONTRASTED = ("block", "identical", "syntactic")
"""Roles, and their parts, that need a contrast."""


def decided(codes: dict[str, list[int]], shape: tuple[int, int] = (2, 3)) -> Labelling:
    """Return a labelling with these decisions, one per head, layer by layer."""
    names = tuple(codes)
    pairs = [name for name in names if name.partition(":")[0] in CONTRASTED]
    rules = [
        Rule(name, contrast=f"{name}:matched" if name in pairs else "", low=-1.0, high=1.0) for name in names
    ]
    rules += [Rule(f"{name}:matched", margin=0.02, role=False, low=-1.0, high=1.0) for name in pairs]
    chance = np.random.default_rng(7)
    level = chance.beta(0.4, 1.6, size=(len(rules), 1, *shape))
    values = (level + chance.normal(0, 0.1, size=(len(rules), 60, *shape))).clip(-1, 1)
    run = made_run(rules, values, facts={"model": {"name": "tiny/model"}, "task": "QNLI"})
    decision = np.full(run.findings.decision.shape, -1)
    for place, row in enumerate(codes.values()):
        decision[place] = np.array(row).reshape(shape)
    return replace(run, findings=replace(run.findings, decision=decision))


def texts(run: Any) -> list[str]:
    """Return the sentences of the answer of a run."""
    return [sentence.text for sentence in kind_of(run).answer(run).sentences]


# summaries


def test_a_summary_counts_as_the_findings_do() -> None:
    run = label_run()
    found, summary = run.findings, summarise(run)
    lows, highs = run.mean_intervals()
    held = np.stack([found.decision[found.of(name)] == 0 for name in found.roles])
    np.testing.assert_array_equal(summary.held, held)
    for place, role in enumerate(summary.roles):
        decision, tally = found.decision[role.position], role.tally
        counts = [int((decision == code).sum()) for code in range(len(DECISIONS))]
        assert [tally.role, tally.not_role, tally.undetermined, tally.untestable, tally.explained] == counts
        assert (role.sieve, tally.heads, tally.tests) == (found.roles[place], 20, 20 - counts[3])
        assert role.layers == tuple(held[place].sum(axis=1).tolist())
        assert (role.strongest is None) == (not held[place].any())
        if role.strongest is None:
            continue
        at = (role.position, role.strongest.layer, role.strongest.head)
        score = role.strongest.score
        evidence = lows[found.of("block:matched") if role.contrast else role.position]
        assert evidence[held[place]].max() == evidence[at[1:]]
        assert (score.mean, score.low, score.high) == (found.mean[at], lows[at], highs[at])
        if role.contrast:
            assert role.strongest.contrast.mean == found.mean[(found.of("block:matched"), *at[1:])]
    exact = {each.roles: each.heads for each in summary.combinations}
    patterns = [tuple(np.flatnonzero(head).tolist()) for head in held.reshape(len(held), -1).T]
    assert exact == {roles: patterns.count(roles) for roles in {*patterns} - {()}}


def test_strong_explained_and_absent_heads_and_roles_of_few_units_are_counted() -> None:
    run = strong_run()
    syntactic, local = (role.tally for role in summarise(run).roles)
    assert (syntactic.role, syntactic.strong, syntactic.explained) == (2, 1, 1)
    assert (syntactic.not_role, syntactic.absent, syntactic.heads) == (3, 2, 6)
    assert (local.role, local.strong, local.explained, local.absent) == (1, 0, 0, 5)
    of_syntax, of_places = summarise(run).supports
    assert (of_syntax.minority, of_places.minority, of_places.least) == (0, 1, pytest.approx(0.25))
    assert run.labels()["syntactic"].isna().tolist() == [head == 2 for head in range(6)]


# answers of label runs


def test_the_answer_of_a_run_counts_roles_and_names_their_heads() -> None:
    rows = table("""
    # decisions of heads 0-0 to 1-2, by role | what the answer says of them
    delimiter=000121 local=021011 | 2 of 6 heads only park, heads hold no role, 1 more is open
    block=044213 | 1 head stays, strongest 0-0, For 2 heads; distance alone gives, 1 more is open
    syntactic=001111 syntactic:obj=010421 syntactic:nsubj=111111 | 3 heads follow, 0-0 and 0-2, Not found: sub
    local=111111 ending=110111 start=110101 mine=121212 | ending 0-2, start 0-2 and 1-1, 3 more are open
    local=333333 mine=000000 | 6 heads have the role mine, Not testable on these inputs: neighbours
    local=333333 | 6 heads hold no role, Not testable on these inputs: neighbours
    local=111111 ending=111110 start=111111 | 1 head holds another role, : ending 1-2, Not found: start
    ending=111111 start=111111 mine=211111 | No head is shown to hold the role, 1 is open
    first=011111 punctuation=111111 local=111111 | 1 of 6 heads only parks, 1 looks at the first token
    delimiter=000101 delimiter:cls=000111 local=011011 | 3 of 6 heads only park, they are 4: 3 look at
    """)
    for codes, words in rows:
        run = decided(
            {name: [*map(int, code)] for name, _, code in (part.partition("=") for part in codes.split())}
        )
        told = " ".join(texts(run))
        lacking = [word for word in words.split(", ") if word.replace(";", ",") not in told]
        assert lacking == [], (codes, told)


def test_few_inputs_leave_no_role_not_found_and_the_answer_says_how_many_would_do() -> None:
    run = decided({"local": [0, 2, 2, 2, 2, 2], "syntactic:obj": [2] * 6})
    told = []
    for counts in ((60, 13), (40, 13), (12, 13)):
        count = np.array([counts[name == "syntactic:obj"] for name in run.findings.sieves])
        grid = np.broadcast_to(count[:, None, None], run.findings.count.shape)
        codes = run.findings.decision.copy()
        codes[0] = 2 if counts[0] < 20 else codes[0]
        few = replace(run, findings=replace(run.findings, count=grid, decision=codes))
        told.append(texts(few))
    assert told[0][-1].startswith("Object → verb needs more inputs: it can be tested on 13 of 60 inputs.")
    assert told[0][-1].endswith(" About 231 like these would decide it.")
    assert "5 more are open." in told[0][0]
    assert told[1][0].startswith("1 head looks at neighbouring tokens")
    assert told[1][-1].startswith("No head can be shown to lack a role yet: that takes 50 inputs")
    assert [len(told[1]), len(told[2])] == [3, 1]
    assert told[2][0].startswith("These inputs are too few for any label: a role takes 20")
    assert not any("Not found" in text or "open" in text for text in told[1] + told[2])


def test_the_line_promises_what_holds_for_these_roles() -> None:
    run = decided({"local": [0, 1, 1, 1, 1, 1]})
    tails = "outliers near the threshold (kurtosis above 9): local (1 of 2 heads)."
    for count, notes, words in ((60, [], "role"), (20, [], "up to 10"), (60, [tails], "up to 13")):
        found = replace(run.findings, count=np.full(run.findings.count.shape, count))
        changed = replace(run, findings=found, manifest={**run.manifest, "notes": notes})
        line = kind_of(run).answer(changed).line.rpartition("false labels")[2]
        assert words in line
        assert ("in simulations for" in line) == (words != "role")


def test_layers_are_named_only_where_they_stand_out() -> None:
    rows = table("""
    0 4 0 0 | : all in layer 1;
    1 1 4 1 | : most in layer 2;
    1 2 3 0 | : most in layers 1 and 2;
    3 2 2 0 | : strongest
    1 2 1 2 | : most in layers 1 and 3;
    """)
    for counts, words in rows:
        codes = [int(head >= int(count)) for count in counts.split() for head in range(4)]
        assert words in texts(decided({"local": codes}, (4, 4)))[0], counts


def test_the_sentence_of_a_head_names_its_roles_or_why_it_has_none() -> None:
    codes = {"local": "011111", "delimiter": "000000", "delimiter:cls": "001111", "syntactic:amod": "011111"}
    run = decided({name: [*map(int, code)] for name, code in codes.items()})
    told = [run.head(*divmod(cell, 3)).sentence for cell in range(6)]
    roles = "neighbouring tokens, from adjectives to their noun and at the class token."
    assert told[0] == f"0-0 looks at {roles}"
    assert told[2] == "0-2 looks at special tokens."
    run = decided({"local": [1, 1, 1, 1, 2, 2], "block": [1, 4, 2, 1, 1, 1]})
    mean = run.findings.mean.copy()
    mean[0], mean[1] = 0.05, 0.02
    mean[1].flat[1:3] = 0.4
    run = replace(run, findings=replace(run.findings, mean=mean))
    told = [run.head(*divmod(cell, 3)).sentence for cell in range(6)]
    assert "highest score is 0.05 for neighbours, below the threshold 0.10." in told[0]
    assert "highest score is 0.40 for own text of the pair, explained by distance." in told[1]
    assert told[2].endswith("above the threshold 0.10 but undetermined.")
    assert told[3].endswith("below the threshold 0.10.")
    assert told[4].endswith("below the threshold 0.10 but undetermined.")


# answers of other kinds


def test_an_answer_says_where_nothing_is_found() -> None:
    run = result("cluster")
    found = run.clustered
    assert found is not None
    single = found.cluster * 0
    single[-1] = 1
    for fields in (
        {"cluster": single},
        {"silhouette": np.full(24, 0.2)},
        {"cluster": found.cluster * 0, "silhouette": np.full(24, np.nan)},
    ):
        assert texts(replace(run, clustered=replace(found, **fields)))[0].startswith("No clusters: ")
    ablated = result("ablate")
    part = ablated.ablated
    assert part is not None
    undetermined = replace(part.damage, verdict=np.full_like(part.damage.verdict, 2))
    told = texts(replace(ablated, ablated=replace(part, damage=undetermined)))
    assert [text.split(".")[0] for text in told[:2]] == [
        f"None of 72 heads is shown to be {word}" for word in ("needed", "negligible")
    ]
    assert "72 stay open. More inputs would decide more." in told[1]
    assert "18 could not be tested." in texts(ablated_run(screened=3))[1]
    assert len(texts(why_run(held=False))) == 1
    found = result("compare")
    outcome = np.ones_like(found.differences.outcome)
    for changed, lead in ((1, "None of 36 scores changed"), (2, "None of 36 scores is shown to change")):
        outcome[0, 0, 0] = changed
        settled = replace(found, differences=replace(found.differences, outcome=outcome.copy()))
        assert report_of(settled).answer.sentences[0].lead == lead


def test_answers_count_as_their_tables_do_in_at_most_five_sentences() -> None:
    kinds = "cluster", "probe", "surface", "compare", "ablate", "why"
    said = {kind: report_of(result(kind)).answer.sentences for kind in kinds}
    told = {kind: " ".join(sentence.text for sentence in own) for kind, own in said.items()}
    assert {kind: len(own) for kind, own in said.items() if len(own) > 3 + 2 * (kind != "ablate")} == {}
    part, origins = result("ablate").ablated, result("why").origins.origins
    held, codes = part.held.heads("delimiter"), part.damage.verdict[part.damage.of("loss:mean")]
    needed, negligible, still, _, better = np.bincount(codes.ravel(), minlength=5)
    sites = part.sites.where(arm="loss:mean", decision="at its sites")
    vertical, query = (int((origins["verdict"] == word).sum()) for word in ("vertical", "by query"))
    rows = [row for row in result("probe").probed.best if not row.row.endswith(":all")]
    surface, changes = result("surface").findings, result("compare").differences
    tests = surface.decision[[name.startswith("surface:") for name in surface.sieves]]
    sizes, roles = np.bincount(result("cluster").clustered.cluster), [rule.role for rule in changes.rules]
    wanted = [
        ("ablate", f"{needed} of 72 heads are needed."), ("ablate", f" {better} interfere: "),
        ("ablate", f" {negligible} of 72 heads are negligible."), ("ablate", f" {still} stay open."),
        ("ablate", f"Of {held.sum()} heads that look at special tokens, {(codes[held] == 1).sum()} are."),
        ("ablate", f"None of {len(part.roles.where(arm='loss:mean'))} roles is shown to go with more damage"),
        ("ablate", f" {len({(row.layer, row.head) for row in sites})} of 26 heads matter where their roles"),
        ("why", f"{vertical} of {len(origins)} roles of heads is vertical"),
        ("why", f" {query} are by query"),
        ("probe", f" {[row.decision for row in rows].count('undetermined')} stay open."),
        ("cluster", f"{len(sizes)} clusters of {sizes[0]}, "),
        ("surface", f"{(tests == 2).sum()} of {tests.size} tests stay open"),
        ("compare", f" {(changes.outcome[roles] == 2).sum()} scores stay open"),
    ]  # fmt: skip
    assert [(kind, words) for kind, words in wanted if words not in told[kind]] == []


def test_what_is_no_test_gives_no_headline() -> None:
    run, part = result("why"), result("why").origins
    few = part.origins.replace(verdict=["untestable"] * 4, count=[10] * 4)
    (said,) = texts(replace(run, origins=replace(part, origins=few)))
    assert said.startswith("Nothing could be tested. A role is tested from 20 units on;")
    parked = part.origins.replace(role=["delimiter"] * 4)
    assert "beyond distance" in " ".join(texts(run))
    assert "beyond distance" not in " ".join(texts(replace(run, origins=replace(part, origins=parked))))
