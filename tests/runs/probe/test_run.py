"""Probes from files to run folders: what is asked, written, judged again and refused."""

import csv
import json
from collections.abc import Callable
from dataclasses import fields
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests

import headroles
from headroles.cli.main import cli
from headroles.errors import BadInput, HeadrolesError, UnknownName
from headroles.extraction.gold.read import read_documents
from headroles.extraction.texts.tokens import example_of, tokenise
from headroles.inputs.units import unit_names
from headroles.options.probe import ProbeOptions
from headroles.options.values import record_of
from headroles.records.documents import Window
from headroles.runs.probe.inputs import read_probe_corpus
from headroles.runs.probe.work import ProbeWork
from headroles.sieves.probes.dependency import DependencyProbe
from headroles.storage.run import load
from tests.support.planted import real_report
from tests.support.reference import rounding_bound

ModelOf = Callable[[str], Path]
Command = Callable[..., tuple[int, str, str]]
WORDS = (
    "the",
    "committee",
    "signed",
    "it",
    "in",
    "Paris",
    "and",
    "Ann",
    "said",
    "that",
    "she",
    "was",
    "there",
)


def _sentence(rng: np.random.Generator, length: int) -> list[list[str]]:
    """Rows of a random sentence; the head of most words is the next one, so offset +1 is a good guess."""
    words = rng.choice(WORDS, length).tolist()
    rows = []
    for place, word in enumerate(words, start=1):
        last = place == length
        relation = "root" if last else str(rng.choice(["nsubj", "det", "obj"]))
        head = 0 if last else (place + 1 if rng.random() < 0.7 else length)
        rows.append(
            [
                str(place),
                word,
                word,
                "PRON" if word in ("it", "she") else "NOUN",
                "_",
                "_",
                str(head),
                relation,
                "_",
                "_",
            ]
        )
    return rows


@pytest.fixture(scope="module")
def treebank(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve documents of a few sentences, with two entities each."""
    rng = np.random.default_rng(5)
    lines = []
    for number in range(12):
        lines.append(f"# newdoc id = d{number}")
        for _ in range(int(rng.integers(3, 6))):
            rows = _sentence(rng, int(rng.integers(4, 10)))
            for place in sorted(rng.choice(len(rows), 3, replace=False).tolist()):
                rows[place][9] = f"Entity=({rng.integers(1, 3)}-person)"
            lines += ["\t".join(row) for row in rows] + [""]
    file = tmp_path_factory.mktemp("trees") / "made.conllu"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file


@pytest.fixture(scope="module")
def folder(treebank: Path, model_of: ModelOf, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run of all probes on a tiny model."""
    place = tmp_path_factory.mktemp("probes") / "run"
    with real_report():
        headroles.probe(
            ["dependency", "trees", "coreference"],
            data=treebank,
            model=model_of("bert"),
            relations=["nsubj", "det"],
            max_length=48,
            out=place,
        )
    return place


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as text:
        return list(csv.DictReader(text))


def test_a_run_folder_holds_findings_best_and_baselines_of_every_row(folder: Path) -> None:
    sieves = {row["sieve"] for row in _rows(folder / "findings.csv")}
    assert {"dependency:nsubj:→", "dependency:det:←", "dependency:all:→:matched"} <= sieves
    assert {"trees:uuas", "trees:uas:←", "coreference:pronoun"} <= sieves
    best = {row["row"]: row for row in _rows(folder / "best.csv")}
    assert list(best) == [
        "dependency:all", "dependency:nsubj", "dependency:det", "trees:uuas", "trees:uas",
        "coreference:all", "coreference:pronoun", "coreference:proper", "coreference:nominal",
    ]  # fmt: skip
    assert best["dependency:all"]["baseline"] == "+1"
    assert 0 <= float(best["dependency:all"]["low"]) <= float(best["dependency:all"]["accuracy"])
    names = {row["baseline"] for row in _rows(folder / "baselines.csv") if row["row"] == "trees:uas"}
    assert names == {"right-branching", "left-branching", "random tree"}
    assert (folder / "report.html").stat().st_size > 1e6


def test_a_right_answer_is_read_from_the_tokens_of_a_word_and_of_its_head(
    treebank: Path, model_of: ModelOf
) -> None:
    options = record_of(
        ProbeOptions, probes=("dependency", "trees"), data=(str(treebank),), model=model_of("bert")
    )
    corpus = read_probe_corpus(options)
    work = ProbeWork(options, corpus)
    passages = list(corpus)[:6]
    names = ("dependency:all:→", "dependency:all:←", "trees:uuas")
    cells = work.count_cells(passages, [names] * len(passages))
    tokenised = tokenise(work.source.tokenizer, passages, 256)
    arcs = 0
    for passage, given, counted in zip(passages, tokenised, cells, strict=True):
        window = corpus.inputs.windows[passage.key]
        document = window.document
        assert document.heads is not None
        assert document.relations is not None
        words = example_of(given, passage.words, False).word
        wanted = np.zeros((given.size, given.size), dtype=np.bool_)
        for word in range(window.start, window.stop):
            head = document.heads[word]
            if head >= 0 and document.relations[word] != "punct":
                arcs += 1
                attending = np.flatnonzero(words == word - window.start)
                attended = np.flatnonzero(words == head - window.start)
                wanted[np.ix_(attending, attended)] = True
        assert set(counted) == {"dependency:all:→", "dependency:all:←"}
        np.testing.assert_array_equal(counted["dependency:all:→"], wanted)
        np.testing.assert_array_equal(counted["dependency:all:←"], wanted.T)
    assert arcs


def test_inputs_of_heads_are_kept_with_their_maps_and_none_on_request(
    folder: Path, treebank: Path, model_of: ModelOf
) -> None:
    kept = load(folder).exhibited
    assert kept is not None
    assert len(kept.weights) <= 200
    assert {exhibit.sieve for exhibit in kept.exhibits} - {""} <= set(load(folder).findings.roles)
    bare = headroles.probe("dependency", data=treebank, model=model_of("bert"), maps=0)
    assert bare.exhibited is None


def test_findings_are_accuracies_over_all_arcs_beside_the_baseline_of_the_other_half(folder: Path) -> None:
    run = headroles.load(folder)
    assert run.probed is not None
    tallies = run.probed.tallies
    assert tallies is not None
    column = run.scores.sieves.index("dependency:all:→")
    items = tallies.items[0]
    shares = run.scores.values[column].astype(float)
    pooled = np.nansum(shares * items[:, None, None], axis=0) / items.sum()
    np.testing.assert_allclose(run.findings.mean[column], pooled, atol=rounding_bound(len(items)))
    rival = tallies.baselines.index("+1")
    null = tallies.hits[0, :, rival].sum() / items.sum()
    np.testing.assert_allclose(run.findings.null[column], null, atol=1e-9)
    assert run.findings.count[column].max() == 12


def test_judging_again_changes_decisions_and_keeps_answers(folder: Path, tmp_path: Path) -> None:
    before = headroles.load(folder)
    same = headroles.judge_again(folder)
    assert same.probed is not None
    assert before.probed is not None
    assert repr(same.probed.best) == repr(before.probed.best)
    changed = headroles.judge_again(folder, correction="bonferroni", margin=0.0, alpha=0.2)
    assert changed.probed is not None
    assert {each.margin for each in changed.probed.best} == {0.0}
    for old, new in zip(before.probed.best, changed.probed.best, strict=True):
        assert (old.layer, old.head, old.baseline, old.items) == (
            new.layer,
            new.head,
            new.baseline,
            new.items,
        )
        assert not new.p > old.p
    np.testing.assert_array_equal(changed.scores.values, before.scores.values)
    headroles.judge_again(folder, correction="fdr_bh", margin=0.05, alpha=0.05)


def test_equal_runs_are_equal_and_batches_do_not_matter(treebank: Path, model_of: ModelOf) -> None:
    runs = [
        headroles.probe(["dependency"], data=treebank, model=model_of("bert"), batch_size=size)
        for size in (1, 32)
    ]
    hits = [name for name in runs[0].scores.sieves if not name.endswith("matched")]
    for name in hits:
        place = runs[0].scores.sieves.index(name)
        np.testing.assert_array_equal(runs[0].scores.values[place], runs[1].scores.values[place])
    one, other = (run.probed.best for run in runs if run.probed is not None)
    for first, second in zip(one, other, strict=True):
        told = (first.layer, first.head, first.accuracy, first.p, first.q)
        assert told == (second.layer, second.head, second.accuracy, second.p, second.q)
        assert first.contrast == pytest.approx(second.contrast, abs=rounding_bound(96))


def test_the_published_way_chooses_and_shows_on_all_data_and_tests_nothing(
    treebank: Path, model_of: ModelOf, tmp_path: Path
) -> None:
    place = tmp_path / "published"
    headroles.probe("dependency", data=treebank, model=model_of("bert"), preset="published", out=place)
    run = headroles.judge_again(place, alpha=0.01)
    assert run.probed is not None
    tallies = run.probed.tallies
    assert tallies is not None
    assert tallies.baselines == ("-3", "-2", "-1", "0", "+1", "+2")
    lines = treebank.read_text(encoding="utf-8").splitlines()
    words = sum(line.partition("\t")[0].isdecimal() for line in lines)
    assert tallies.items[0].sum() == words
    for each in run.probed.best:
        assert each.decision == "untestable"
        assert np.isnan([each.p, each.q, each.statistic]).all()
        assert each.selection == pytest.approx(each.accuracy, abs=rounding_bound(words))
    assert "chosen on the data" in run.manifest["notes"][0]


def test_heads_of_one_row_in_both_directions_are_one_family(folder: Path) -> None:
    found = headroles.load(folder).findings
    for row, arrows in (("dependency:nsubj", "→←"), ("trees:uas", "→←"), ("coreference:all", ("",))):
        columns = [found.of(":".join(part for part in (row, arrow) if part)) for arrow in arrows]
        p = found.p[columns].ravel()
        known = ~np.isnan(p)
        wanted = multipletests(p[known], method="fdr_bh")[1]
        np.testing.assert_allclose(found.q[columns].ravel()[known], wanted, rtol=1e-10)
        assert known.sum() > 4


def test_documents_are_the_units(folder: Path) -> None:
    run = headroles.load(folder)
    assert set(run.scores.units) == {f"made/d{number}" for number in range(12)}
    assert unit_names(run.scores.units, [()] * len(run.scores.units), run.scores.examples) == list(
        run.scores.units
    )


def test_the_command_prints_the_table_and_repeats_itself(
    treebank: Path, model_of: ModelOf, tmp_path: Path, command: Command
) -> None:
    words = ["probe", "dependency", "--data", treebank, "--model", model_of("bert")]
    code, out, err = command(
        *words, "--relations", "nsubj,det", "--scheme", "clearnlp", "--out", tmp_path / "run"
    )
    assert (code, err) == (0, "")
    first = {line.split()[0] for line in out.splitlines() if line.split()}
    assert {"all", "nsubj", "det"} <= first
    assert "+1" in out
    facts = json.loads((tmp_path / "run" / "manifest.json").read_text(encoding="utf-8"))
    assert facts["command"].startswith("headroles probe dependency --data ")
    assert facts["probe"]["scheme"] == "clearnlp"
    assert facts["probe"]["halves"] == {"selection": 6, "test": 6, "seed": 0}
    code, out, err = command("judge", tmp_path / "run", "--alpha", "0.01", "--verbose")
    assert (code, err) == (0, "")
    assert "alpha 0.01" in out


def test_the_options_of_probe_are_the_keywords_of_probe_with_the_same_defaults() -> None:
    asked = cli.commands["probe"]
    whole = cli.make_context("headroles", ["probe", "dependency"])
    given = asked.make_context("probe", ["dependency", "--data", "x.conllu"], parent=whole).params
    chosen = ProbeOptions(probes=("dependency",), data=("x.conllu",))
    own = {each.name for each in fields(ProbeOptions)}
    printed = given.keys() - own
    given = {name: given[name] for name in own}
    assert printed == {"quiet", "verbose", "json", "open"}
    assert given == {each.name: getattr(chosen, each.name) for each in fields(ProbeOptions)}
    described = headroles.probe.__doc__ or ""
    assert not [name for name in given if f"``{name}``" not in described and f"{name}:" not in described]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"probes": "dependancy"}, "no probe is called 'dependancy'; did you mean 'dependency'?"),
        ({"probes": []}, "names at least one of dependency, trees, coreference"),
        ({"data": []}, "probes need gold annotation"),
        ({"scheme": "stanford"}, "no scheme is called"),
        ({"root": "first"}, "no root is called"),
        ({"classifier": "attention"}, "name their file with --train"),
        ({"train": "x"}, "--train is for trained probes"),
        ({"classifier": "attention+words", "train": "x"}, "need word vectors"),
        ({"probes": "coreference", "max_length": 64, "stride": 65}, "the stride is at most the window"),
        ({"max_length": 4}, "max_length must be a whole number of at least 8"),
        ({"relations": ["punct"]}, "other than punct"),
        ({"layout": "conll"}, "no layout is called"),
        ({"max_length": 10_000}, "takes at most"),
        ({"margin": -1.0}, "margin must be"),
        ({"minutes": 3.0}, "--minutes is for trained probes"),
        ({"epochs": 3}, "--epochs is for trained probes"),
        ({"probes": "trees", "relations": ["det"]}, "--relations is for the probe dependency"),
        ({"root": "given"}, "--root is for the probe trees"),
        ({"stride": 9}, "--stride is for the probe coreference"),
        ({"relations": ["nonsense"]}, "no relation is called 'nonsense'; known: "),
        ({"classifier": "attention", "train": "missing.conllu"}, "No such file: missing.conllu"),
    ],
)
def test_what_cannot_be_asked_is_refused_in_a_sentence(
    given: dict[str, Any], said: str, treebank: Path, model_of: ModelOf, tmp_path: Path
) -> None:
    asked: dict[str, Any] = {"probes": "dependency", "data": treebank, "model": model_of("bert")} | given
    with pytest.raises(HeadrolesError, match=said.replace("(", r"\(").replace("?", r"\?")) as refused:
        headroles.probe(asked.pop("probes"), **asked, out=tmp_path / "run")
    assert "\n" not in str(refused.value)
    assert not (tmp_path / "run").exists()


def test_data_without_the_annotation_asked_about_is_refused(tmp_path: Path, model_of: ModelOf) -> None:
    plain = tmp_path / "plain.jsonl"
    plain.write_text('{"words": ["it", "rains"]}\n' * 4, encoding="utf-8")
    for name, what in (("dependency", "dependency trees"), ("coreference", "mentions of entities")):
        with pytest.raises(BadInput, match=f"needs gold {what}, but 4 of 4 documents have none"):
            headroles.probe(name, data=plain, model=model_of("bert"))
    with pytest.raises(UnknownName, match="no option is called"):
        headroles.probe("dependency", data=plain, sieves="local")  # type: ignore[call-arg]


def _long(words: int) -> str:
    """A sentence in JSON whose words all have the next one as head."""
    heads = [*range(2, words + 1), 0]
    return json.dumps(
        {"words": ["it"] * words, "heads": heads, "relations": ["obj"] * (words - 1) + ["root"]}
    )


def test_arcs_that_a_window_cuts_off_are_lost_and_counted(tmp_path: Path, model_of: ModelOf) -> None:
    file = tmp_path / "long.jsonl"
    file.write_text("".join(_long(words) + "\n" for words in (6, 30, 9, 41, 7)), encoding="utf-8")
    run = headroles.probe(
        ["dependency", "trees"], data=file, model=model_of("bert"), relations="obj", max_length=22
    )
    assert run.probed is not None
    tallies = run.probed.tallies
    assert tallies is not None
    due = 5 + 29 + 8 + 40 + 6
    assert (tallies.items + tallies.lost).sum(axis=1).tolist() == [due] * len(tallies.rows)
    assert tallies.lost[0].sum() > 20
    assert run.manifest["counts"]["truncated"] == 2
    assert any("2 sentences were cut" in said for said in run.skipped)
    assert any("of dependency:obj were left out" in said for said in run.skipped)


def test_nulls_are_shares_of_the_baselines_of_each_input(folder: Path, treebank: Path) -> None:
    run = headroles.load(folder)
    assert run.probed is not None
    tallies = run.probed.tallies
    assert tallies is not None
    documents = {each.key: each for each in read_documents(treebank, "made")}
    probe = DependencyProbe(("nsubj", "det"))
    hits = {key: np.zeros((3, 20), dtype=np.int64) for key in documents}
    for place, unit in enumerate(run.scores.units):
        hits[unit] += tallies.hits[:3, place, :20]
    for key, document in documents.items():
        whole = probe.baseline_hits(Window(document, 0, len(document.words), 0))
        np.testing.assert_array_equal(hits[key], whole)
    assert len({repr(each.tolist()) for each in hits.values()}) == len(hits)


def test_pairs_of_winobias_are_the_units_and_their_gap_is_paired(tmp_path: Path, model_of: ModelOf) -> None:
    jobs = list(permutations(["committee", "treaty", "debate", "Paris"], 2))
    for name, pronouns in (("pro", ("she", "it")), ("anti", ("it", "she"))):
        lines = []
        for number in range(1, 13):
            (first, second), pronoun = jobs[number - 1], pronouns[number % 2]
            lines.append(f"{number} [the {first}] signed the {second} and [{pronoun}] was long .")
        (tmp_path / f"{name}_stereotyped_type1.txt.dev").write_text("\n".join(lines) + "\n", encoding="utf-8")
    files = sorted(tmp_path.glob("*.dev"))
    run = headroles.probe("coreference", data=files, model=model_of("bert"))
    assert sorted(set(run.scores.units)) == sorted(f"type1/{number}" for number in range(1, 13))
    assert run.probed is not None
    hits = run.scores.values[run.scores.sieves.index("coreference:all")].astype(float)
    side = {key: place for place, key in enumerate(run.scores.examples)}
    for gap in run.probed.gaps:
        own = hits[:, gap.layer, gap.head]
        pro, anti = (
            np.array([own[side[key]] for key in sorted(side) if f"/{name}/" in key])
            for name in ("pro", "anti")
        )
        assert (gap.first_value, gap.second_value) == pytest.approx((pro.mean(), anti.mean()))
        spread = (pro - anti).std(ddof=1) / np.sqrt(len(pro))
        if spread > 0:
            assert gap.p == pytest.approx(2 * stats.t.sf(abs((pro - anti).mean() / spread), len(pro) - 1))


def test_too_few_documents_are_refused(tmp_path: Path, model_of: ModelOf) -> None:
    few = tmp_path / "few.jsonl"
    row = {"words": ["it", "rains"], "heads": [2, 0], "relations": ["expl", "root"]}
    few.write_text("".join(json.dumps(row | {"document": str(k)}) + "\n" for k in range(3)), encoding="utf-8")
    with pytest.raises(BadInput, match="at least"):
        headroles.probe("dependency", data=few, relations=["expl"], model=model_of("bert"))


def test_mentions_reach_the_coreference_sieve_of_label(treebank: Path, model_of: ModelOf) -> None:
    run = headroles.label(
        data=treebank, sieve=["coreference", "syntactic:nsubj", "local"], model=model_of("bert"),
        max_length=48,
    )  # fmt: skip
    assert (run.findings.count[run.findings.of("coreference")] > 2).all()
    assert max(run.scores.tokens) <= 48
    assert set(run.scores.units) == {f"made/d{number}" for number in range(12)}


def test_the_coreference_sieve_needs_mentions(model_of: ModelOf, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="needs gold mentions of entities, which no task and no table has"):
        headroles.label("QNLI", sieve="coreference", model=model_of("bert"))
    trees = tmp_path / "trees.conllu"
    trees.write_text("1\tit\t_\tPRON\t_\t_\t2\texpl\t_\t_\n2\trains\t_\tVERB\t_\t_\t0\troot\t_\t_\n\n" * 3)
    with pytest.raises(BadInput, match="read gold mentions of entities, but documents of"):
        headroles.label(data=trees, sieve="coreference", model=model_of("bert"))
