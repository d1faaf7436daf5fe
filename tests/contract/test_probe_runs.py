"""Runs of probes: accuracies and baselines are counted by hand, and planted answers are learned."""

import json
from collections.abc import Callable
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import headroles
from headroles import Labelling
from headroles.records import ProbeResults
from tests.contract.conftest import Made
from tests.contract.inputs import NOUNS, TREES, VERBS
from tests.contract.kinds import MODEL
from tests.support.reference import rounding_bound

ModelOf = Callable[[str], Path]
WORDS = (*NOUNS[:6], *VERBS[:4])


def of(run: Labelling) -> ProbeResults:
    """Return the results of the probes of a run."""
    assert run.probed is not None
    return run.probed


def words_of(file: Path) -> dict[str, list[tuple[int | None, str]]]:
    """Return how far the head of each word is, None for a root, and its relation, by document."""
    documents: dict[str, list[tuple[int | None, str]]] = {}
    for text in file.read_text(encoding="utf-8").split("# newdoc id = ")[1:]:
        name, *lines = text.splitlines()
        rows = [line.split("\t") for line in lines if line]
        documents[f"{file.stem}/{name}"] = [
            (int(row[6]) - int(row[0]) if row[7] != "root" else None, row[7]) for row in rows
        ]
    return documents


def test_accuracies_are_of_all_arcs_and_hits_of_offsets_are_counted_by_hand(
    made: Made, workspace: Path
) -> None:
    probed = headroles.load(made("probe"))
    tallies = of(probed).tallies
    assert tallies is not None
    column = probed.scores.sieves.index("dependency:all:→")
    items = tallies.items[0]
    shares = probed.scores.values[column].astype(float)
    pooled = np.nansum(shares * items[:, None, None], axis=0) / items.sum()
    np.testing.assert_allclose(probed.findings.mean[column], pooled, atol=rounding_bound(len(items)))
    (best,) = [row for row in of(probed).best if row.row == "dependency:all"]
    hits = tallies.hits[0, :, tallies.baselines.index(best.baseline)]
    np.testing.assert_allclose(probed.findings.null[column], hits.sum() / items.sum(), atol=1e-9)
    documents = words_of(workspace / TREES)
    assert set(probed.scores.units) == set(documents)
    offsets = [name for name in tallies.baselines if name.lstrip("+-").isdigit()]
    assert len(offsets) >= 6
    for row, relation in (("all", None), ("nsubj", "nsubj"), ("det", "det")):
        place = tallies.rows.index(f"dependency:{row}")
        for unit, words in documents.items():
            own = [number for number, name in enumerate(probed.scores.units) if name == unit]
            arcs = [
                far for far, name in words if name not in ("root", "punct") and name == (relation or name)
            ]
            assert tallies.items[place, own].sum() == len(arcs)
            for name in offsets:
                hits = tallies.hits[place, own, tallies.baselines.index(name)].sum()
                assert hits == arcs.count(int(name)), (row, unit, name)


def test_without_data_the_shipped_trees_are_asked_about_and_their_documents_are_the_units(
    model_of: ModelOf,
) -> None:
    run = headroles.probe("dependency", model=model_of("bert"), maps=0, max_length=64)
    source = run.manifest["source"]
    assert (source["kind"], source["name"], source["rows"]) == ("sample", "UD English EWT", 160)
    assert run.manifest["command"].startswith("headroles probe dependency --max-length")
    assert len(set(run.scores.units)) == len(run.scores.examples) == 160


def test_arcs_that_a_window_cuts_off_are_lost_and_counted(tmp_path: Path, model_of: ModelOf) -> None:
    rows = []
    for words in (6, 30, 9, 41, 7):
        relations = ["obj"] * (words - 1) + ["root"]
        rows.append({"words": ["it"] * words, "heads": [*range(2, words + 1), 0], "relations": relations})
    file = tmp_path / "long.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    run = headroles.probe(
        ["dependency", "trees"], data=file, model=model_of("bert"), relations="obj", max_length=22
    )
    tallies = of(run).tallies
    assert tallies is not None
    assert (tallies.items + tallies.lost).sum(axis=1).tolist() == [5 + 29 + 8 + 40 + 6] * len(tallies.rows)
    assert tallies.lost[0].sum() > 20
    assert run.manifest["counts"]["truncated"] == 2
    assert any("2 sentences were cut" in said for said in run.skipped)
    assert any("of dependency:obj were left out" in said for said in run.skipped)


def test_pairs_of_winobias_are_the_units_and_their_gap_is_paired(tmp_path: Path, model_of: ModelOf) -> None:
    jobs = list(permutations(["committee", "treaty", "debate", "Paris", "report"], 2))
    for name, pronouns in (("pro", ("she", "it")), ("anti", ("it", "she"))):
        lines = []
        for number, (first, second) in enumerate(jobs, start=1):
            pronoun = pronouns[number % 2]
            lines.append(f"{number} [the {first}] signed the {second} and [{pronoun}] was long .")
        (tmp_path / f"{name}_stereotyped_type1.txt.dev").write_text("\n".join(lines) + "\n", encoding="utf-8")
    run = headroles.probe("coreference", data=sorted(tmp_path.glob("*.dev")), model=model_of("bert"))
    assert sorted(set(run.scores.units)) == sorted(f"type1/{number}" for number in range(1, 21))
    hits = run.scores.values[run.scores.sieves.index("coreference:all")].astype(float)
    side = {key: place for place, key in enumerate(run.scores.examples)}
    own = {name: [side[key] for key in sorted(side) if f"/{name}/" in key] for name in ("pro", "anti")}
    assert of(run).gaps
    for gap in of(run).gaps:
        pro, anti = (hits[own[name], gap.layer, gap.head] for name in ("pro", "anti"))
        assert (gap.first_value, gap.second_value) == pytest.approx((pro.mean(), anti.mean()))
        if (pro - anti).std() > 0:
            missing = min(1.0, 2 * (1 + abs(gap.difference)) ** -20)
            assert gap.p == pytest.approx(max(stats.ttest_rel(pro, anti).pvalue, missing))


def chain(name: str, seed: int, sentences: int) -> str:
    """Return a document whose words have the word before as head, with a mark at the end, in CoNLL-U."""
    rng = np.random.default_rng(seed)
    lines = [f"# newdoc id = {name}"]
    for _ in range(sentences):
        words = [*rng.choice(WORDS, size=int(rng.integers(3, 8))).tolist(), "."]
        for place, word in enumerate(words, start=1):
            head = 1 if word == "." else place - 1
            relation = "punct" if word == "." else "root" if place == 1 else "dep"
            lines.append(f"{place}\t{word}\t_\tX\t_\t_\t{head}\t{relation}\t_\t_")
        lines.append("")
    return "\n".join(lines) + "\n"


def test_trained_probes_learn_the_planted_head_and_the_control_does_not(
    workspace: Path, tmp_path: Path
) -> None:
    """The answer of a chain is what head 0-0 of the checkpoint looks at."""
    for name, first, documents, sentences in (("train", 0, 16, 8), ("test", 100, 20, 2)):
        texts = (chain(f"{name}{k}", first + k, sentences) for k in range(documents))
        (tmp_path / f"{name}.conllu").write_text("".join(texts))
    rng = np.random.default_rng(0)
    vectors = [" ".join([word, *map(str, rng.normal(size=4).round(3))]) for word in WORDS[:-1]]
    (tmp_path / "vectors.txt").write_text("\n".join(vectors) + "\n")
    run = headroles.probe(
        "dependency", model=workspace / MODEL, relations="dep", maps=0, data=tmp_path / "test.conllu",
        train=tmp_path / "train.conllu", vectors=tmp_path / "vectors.txt", epochs=50,
        classifier=["attention+words", "attention", "distances+words"],
    )  # fmt: skip
    found = of(run)
    rows = {(row.classifier, row.weights): row for row in found.trained}
    assert list(rows) == [
        ("right-branching", ""), ("left-branching", ""), ("distances+words", ""), ("attention", "trained"),
        ("attention+words", "trained"), ("attention", "random"), ("attention+words", "random"),
    ]  # fmt: skip
    assert (rows["left-branching", ""].uas, rows["right-branching", ""].uas) == (1.0, 0.0)
    for name in ("attention", "attention+words"):
        own = rows[name, "trained"]
        assert own.uas > 0.9
        assert own.uas > rows[name, "random"].uas + 0.1
        assert own.low <= own.uas <= own.high
    assert {row.units for row in rows.values()} == {20}
    weights = {(row.layer, row.head, row.direction): row.weight for row in found.weights}
    assert len(weights) == 2 * 3 * 2
    assert weights[0, 0, "→"] > 0.3 > 0 > weights[0, 0, "←"]  # the word before is the head
    assert weights[1, 2, "←"] > 0.3 > 0 > weights[1, 2, "→"]  # the word after is the dependent
    pairs = {(row.first, row.second): row for row in found.contests}
    assert len(pairs) == 7 * 6 // 2
    better = pairs["attention (random weights)", "attention"]
    difference = rows["attention", "random"].uas - rows["attention", "trained"].uas
    assert better.difference == pytest.approx(difference)
    assert better.high < 0
    assert better.p <= better.q < 0.05
