"""Runs of probes: accuracies and baselines are counted by hand, and planted answers are learned."""

import json
from collections.abc import Callable
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

import headroles
from headroles import HeadrolesError, Labelling
from headroles.records import ProbeResults
from tests.contract.conftest import Made
from tests.contract.inputs import NOUNS, TREES, VERBS
from tests.contract.kinds import MAPS, MODEL, inside
from tests.support.reference import rounding_bound

WORDS = (*NOUNS[:6], *VERBS[:4])
RELATIONS = {"dependency:all": None, "dependency:nsubj": "nsubj", "dependency:det": "det"}


def of(run: Labelling) -> ProbeResults:
    """Return the results of the probes of a run."""
    assert run.probed is not None
    return run.probed


def documents_of(file: Path) -> dict[str, list[list[tuple[int, str]]]]:
    """Return head and relation of every word, by document and sentence."""
    documents: dict[str, list[list[tuple[int, str]]]] = {}
    for block in file.read_text(encoding="utf-8").strip().split("\n\n"):
        rows = []
        for line in block.splitlines():
            if line.startswith("# newdoc id = "):
                name = f"{file.stem}/{line.removeprefix('# newdoc id = ')}"
            elif line:
                cells = line.split("\t")
                rows.append((int(cells[6]), cells[7]))
        documents.setdefault(name, []).append(rows)
    return documents


@pytest.fixture(scope="module")
def probed(made: Made) -> Labelling:
    """The run of all probes on the made-up treebank, as it is loaded."""
    return headroles.load(made("probe"))


def test_accuracies_are_those_of_all_arcs_beside_the_baseline_of_the_other_half(probed: Labelling) -> None:
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
    assert probed.findings.count[column].max() == 20
    assert 0 <= best.low <= best.accuracy <= best.high <= 1


def test_hits_of_offsets_are_counted_by_hand_in_every_document(probed: Labelling, workspace: Path) -> None:
    tallies = of(probed).tallies
    assert tallies is not None
    documents = documents_of(workspace / TREES)
    assert set(probed.scores.units) == set(documents)
    offsets = [name for name in tallies.baselines if name.lstrip("+-").isdigit()]
    assert len(offsets) >= 6
    for row, relation in RELATIONS.items():
        place = tallies.rows.index(row)
        for unit, sentences in documents.items():
            own = [number for number, name in enumerate(probed.scores.units) if name == unit]
            arcs = [
                head - word
                for sentence in sentences
                for word, (head, kind) in enumerate(sentence, start=1)
                if head and kind != "punct" and kind == (relation or kind)
            ]
            assert tallies.items[place, own].sum() == len(arcs)
            for name in offsets:
                hits = tallies.hits[place, own, tallies.baselines.index(name)].sum()
                assert hits == arcs.count(int(name)), (row, unit, name)


def test_kept_cells_are_the_tokens_of_a_word_and_of_its_head(probed: Labelling, workspace: Path) -> None:
    kept = probed.exhibited
    assert kept is not None
    assert len(kept.weights) <= 4
    arrows = {name for _, name in kept.counted}
    assert arrows <= {*probed.findings.roles}
    for (place, name), cells in kept.counted.items():
        example = kept.examples[place]
        if name.startswith("dependency:all"):
            other = kept.counted.get((place, name.replace("→", "×").replace("←", "→").replace("×", "←")))
            assert cells.any()
            assert not cells[example.special].any()
            assert not cells[:, example.special].any()
            assert other is None or np.array_equal(other, cells.T)


def test_heads_of_one_row_in_both_directions_are_one_family(probed: Labelling) -> None:
    found = probed.findings
    for row, arrows in (("dependency:nsubj", "→←"), ("trees:uas", "→←"), ("coreference:all", ("",))):
        columns = [found.of(":".join(part for part in (row, arrow) if part)) for arrow in arrows]
        p = found.p[columns].ravel()
        known = ~np.isnan(p)
        np.testing.assert_allclose(
            found.q[columns].ravel()[known], stats.false_discovery_control(p[known]), rtol=1e-10
        )
        assert known.sum() > 4


def test_batches_do_not_matter_and_the_published_way_tests_nothing(workspace: Path) -> None:
    with inside(workspace):
        one, usual, published = (
            headroles.probe("dependency", data=TREES, model=MODEL, relations="nsubj", maps=0, **more)
            for more in ({"batch_size": 1}, {}, {"preset": "published"})
        )
    for name in usual.scores.sieves:
        if not name.endswith("matched"):
            place = usual.scores.sieves.index(name)
            np.testing.assert_array_equal(one.scores.values[place], usual.scores.values[place])
    for first, second in zip(of(one).best, of(usual).best, strict=True):
        np.testing.assert_equal((first.layer, first.head, first.q), (second.layer, second.head, second.q))
    tallies = of(published).tallies
    assert tallies is not None
    assert tallies.baselines == ("-3", "-2", "-1", "0", "+1", "+2")
    words = sum(len(rows) for document in documents_of(workspace / TREES).values() for rows in document)
    assert tallies.items[0].sum() == words
    for row in of(published).best:
        assert row.decision == "untestable"
        assert np.isnan([row.p, row.q, row.statistic]).all()
        assert row.selection == pytest.approx(row.accuracy, abs=rounding_bound(words))
    assert "chosen on the data" in published.manifest["notes"][0]


def test_arcs_that_a_window_cuts_off_are_lost_and_counted(
    tmp_path: Path, model_of: Callable[[str], Path]
) -> None:
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


def test_a_relation_that_stored_maps_have_no_arc_of_is_refused(workspace: Path) -> None:
    with inside(workspace), pytest.raises(HeadrolesError, match="'nonsense'"):
        headroles.probe("dependency", attention=MAPS, relations="nonsense")


def test_pairs_of_winobias_are_the_units_and_their_gap_is_paired(
    tmp_path: Path, model_of: Callable[[str], Path]
) -> None:
    jobs = list(permutations(["committee", "treaty", "debate", "Paris"], 2))
    for name, pronouns in (("pro", ("she", "it")), ("anti", ("it", "she"))):
        lines = []
        for number in range(1, 13):
            (first, second), pronoun = jobs[number - 1], pronouns[number % 2]
            lines.append(f"{number} [the {first}] signed the {second} and [{pronoun}] was long .")
        (tmp_path / f"{name}_stereotyped_type1.txt.dev").write_text("\n".join(lines) + "\n", encoding="utf-8")
    run = headroles.probe("coreference", data=sorted(tmp_path.glob("*.dev")), model=model_of("bert"))
    assert sorted(set(run.scores.units)) == sorted(f"type1/{number}" for number in range(1, 13))
    hits = run.scores.values[run.scores.sieves.index("coreference:all")].astype(float)
    side = {key: place for place, key in enumerate(run.scores.examples)}
    assert of(run).gaps
    for gap in of(run).gaps:
        own = hits[:, gap.layer, gap.head]
        pro, anti = (
            np.array([own[side[key]] for key in sorted(side) if f"/{name}/" in key])
            for name in ("pro", "anti")
        )
        assert (gap.first_value, gap.second_value) == pytest.approx((pro.mean(), anti.mean()))
        spread = (pro - anti).std(ddof=1) / np.sqrt(len(pro))
        if spread > 0:
            assert gap.p == pytest.approx(2 * stats.t.sf(abs((pro - anti).mean() / spread), len(pro) - 1))


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


@pytest.fixture(scope="module")
def train(workspace: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Labelling]:
    """Train probes on chains, whose answer head 0-0 of the checkpoint looks at."""
    folder = tmp_path_factory.mktemp("chains")
    for name, first, documents, sentences in (("train", 0, 16, 8), ("test", 100, 8, 4)):
        texts = (chain(f"{name}{k}", first + k, sentences) for k in range(documents))
        (folder / f"{name}.conllu").write_text("".join(texts))

    def run(**options: Any) -> Labelling:
        files: dict[str, Any] = {"data": folder / "test.conllu", "train": folder / "train.conllu"}
        return headroles.probe(
            "dependency", model=workspace / MODEL, relations="dep", maps=0, **files, **options
        )

    return run


def test_trained_probes_learn_the_planted_head_and_the_control_does_not(
    train: Callable[..., Labelling], tmp_path_factory: pytest.TempPathFactory
) -> None:
    rng = np.random.default_rng(0)
    vectors = tmp_path_factory.mktemp("vectors") / "vectors.txt"
    rows_of_words = [" ".join([word, *map(str, rng.normal(size=4).round(3))]) for word in WORDS[:-1]]
    vectors.write_text("\n".join(rows_of_words) + "\n")
    every = ["attention+words", "attention", "distances+words"]
    found = of(train(classifier=every, vectors=vectors, epochs=50))
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
    assert {row.units for row in rows.values()} == {8}
    weights = {(row.layer, row.head, row.direction): row.weight for row in found.weights}
    assert len(weights) == 2 * 3 * 2
    assert weights[0, 0, "→"] > 0.3 > 0 > weights[0, 0, "←"]  # the word before is the head
    assert weights[1, 2, "←"] > 0.3 > 0 > weights[1, 2, "→"]  # the word after is the dependent
    pairs = {(row.first, row.second): row for row in found.contests}
    assert len(pairs) == 7 * 6 // 2
    better = pairs["attention (random weights)", "attention"]
    assert better.difference == pytest.approx(
        rows["attention", "random"].uas - rows["attention", "trained"].uas
    )
    assert better.high < 0
    assert better.p <= better.q < 0.05


def test_equal_seeds_train_equal_probes(train: Callable[..., Labelling]) -> None:
    first, again, other = (of(train(classifier="attention", epochs=2, seed=seed)) for seed in (1, 1, 2))
    assert repr(first.trained) == repr(again.trained)
    weights = [[row.weight for row in found.weights] for found in (first, again, other)]
    assert weights[0] == weights[1] != weights[2]
