"""A whole run: what is planted is found, what is even is not, and the same asked twice is the same."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats as reference

import headroles
from headroles import Example, Labelling
from headroles.extraction.model.checkpoint import EMBEDDED_SHA256
from tests.support.reference import rounding_bound

Label = Callable[..., Labelling]
PLAIN = ("local", "delimiter", "block")
OWN = slice(0, 4)
"""Columns whose value for an input depends on that input alone: all but the swap of two inputs."""


def _roles(labelling: Labelling) -> dict[tuple[int, int], str]:
    labels = labelling.labels()
    rows = zip(labels["layer"], labels["head"], labels["roles"], strict=True)
    return {(int(layer), int(head)): str(roles) for layer, head, roles in rows}


def test_planted_heads_get_their_roles_and_no_others(label: Label) -> None:
    planted_roles = {
        (0, 0): "local",
        (0, 1): "",
        (0, 2): "delimiter",
        (1, 0): "",
        (1, 1): "block",
        (1, 2): "local",
    }
    samples = label(data=None, max_length=64)
    assert _roles(samples) == planted_roles
    assert _roles(label()) == planted_roles
    counts = dict(zip(samples.findings.sieves, samples.findings.count.min(axis=(1, 2)), strict=True))
    pairs = counts.pop("block:swap")
    assert counts == dict.fromkeys([*PLAIN, "block:matched"], 160)
    assert f"block is judged beyond position on {pairs} pairs of inputs" in " ".join(samples.skipped)


def test_even_attention_has_no_role_and_every_absence_is_said(label: Label, even: Path) -> None:
    found = label(model=even).findings
    assert set(found.decision[[found.of("local"), found.of("delimiter")]].ravel().tolist()) == {1}
    assert 0 not in found.decision
    np.testing.assert_allclose(found.mean, 0, atol=rounding_bound(48))


def test_one_input_is_scored_and_nothing_about_it_is_tested(label: Label) -> None:
    one, all_inputs = label(limit=1), label()
    place = all_inputs.scores.examples.index(one.scores.examples[0])
    values, wanted = one.scores.values[:, 0], all_inputs.scores.values[:, place]
    np.testing.assert_allclose(values, wanted, rtol=0, atol=rounding_bound(48))
    assert set(one.frame()["decision"]) <= {"untestable", ""}
    assert "local rests on 1 unit and cannot be tested. Give more inputs." in one.skipped


def test_results_hardly_depend_on_how_inputs_are_batched(label: Label) -> None:
    one, seven = label(batch_size=1), label(batch_size=7)
    np.testing.assert_allclose(one.scores.values, seven.scores.values, rtol=0, atol=rounding_bound(48))
    np.testing.assert_array_equal(one.findings.decision, seven.findings.decision)


def test_a_limit_takes_a_random_subset_that_its_seed_reproduces(label: Label) -> None:
    first, again, other = label(limit=20, seed=3), label(limit=20, seed=3), label(limit=20, seed=4)
    assert first.scores.examples == again.scores.examples
    assert first.frame().equals(again.frame())
    assert set(first.scores.examples) != set(other.scores.examples)
    everything = label()
    assert set(first.scores.examples) < set(everything.scores.examples)
    rows = [everything.scores.examples.index(key) for key in first.scores.examples]
    assert rows == sorted(rows)
    np.testing.assert_allclose(
        first.scores.values[OWN], everything.scores.values[OWN][:, rows], rtol=0, atol=rounding_bound(48)
    )
    assert label(limit=1000).scores.examples == everything.scores.examples


def test_a_group_column_makes_units(label: Label) -> None:
    found = label(group="document")
    assert set(found.findings.count[OWN].ravel().tolist()) == {20}
    assert found.manifest["counts"] == found.manifest["counts"] | {"examples": 60, "units": 20}
    column = found.findings.sieves.index("delimiter")
    means = found.scores.values[column].astype(np.float64).reshape(20, 3, 2, 3).mean(axis=1)
    np.testing.assert_allclose(found.findings.mean[column], means.mean(axis=0), rtol=0, atol=1e-12)
    assert 1 not in found.findings.decision
    assert any(
        "no head is called 'not': " in line and "delimiter (20 units)" in line for line in found.skipped
    )


def test_identical_texts_are_one_unit(label: Label, table: Path, tmp_path: Path) -> None:
    header, *rows = table.read_text().splitlines()
    twice = tmp_path / "twice.tsv"
    twice.write_text("\n".join([header, *rows[:30], *rows[:30]]) + "\n")
    once = tmp_path / "once.tsv"
    once.write_text("\n".join([header, *rows[:30]]) + "\n")
    doubled, single = label(data=twice), label(data=once)
    assert set(doubled.findings.count[OWN].ravel().tolist()) == {30}
    np.testing.assert_allclose(doubled.findings.p[OWN], single.findings.p[OWN], rtol=1e-3, atol=1e-9)
    shared = tmp_path / "shared.tsv"
    question = rows[0].split("\t")[0]
    shared.write_text(
        "\n".join([header, *("\t".join([question, *row.split("\t")[1:]]) for row in rows[:4]), *rows[4:9]])
    )
    assert set(label(data=shared).findings.count[OWN].ravel().tolist()) == {6}


def test_the_bias_has_a_chance_value_of_one(label: Label, even: Path) -> None:
    found = label(model=even, statistic="bias").findings
    roles = [found.of(name) for name in found.roles]
    assert set(found.null[roles].ravel().tolist()) == {1.0}
    assert set(found.margin[roles].ravel().tolist()) == {2.0}
    np.testing.assert_allclose(found.mean[roles], 1, atol=rounding_bound(48, magnitude=10))
    assert label(statistic="bias").manifest["statistic"] == "bias"


def test_the_preset_published_is_the_released_test_of_the_released_scores(label: Label) -> None:
    found = label(data=None, max_length=64, limit=40, preset="published")
    assert found.findings.sieves == PLAIN
    values = found.scores.values.astype(np.float64)
    mean, spread = values.mean(axis=1), values.std(axis=1)
    clear = spread > 1e-5
    t = (mean[clear] - 3) / (spread[clear] / np.sqrt(40))
    np.testing.assert_allclose(found.findings.statistic[clear], t, rtol=1e-6)
    np.testing.assert_allclose(found.findings.p[clear], reference.t.sf(t, 39), rtol=1e-6)
    np.testing.assert_array_equal(found.findings.q, found.findings.p)
    np.testing.assert_array_equal(found.findings.null, 1)
    np.testing.assert_array_equal(found.findings.margin, 2)
    (warning,) = found.manifest["notes"]
    assert "should not be cited as evidence" in warning


def test_published_scores_are_the_formula_on_the_attention_of_the_model(label: Label, planted: Path) -> None:
    import torch
    from transformers import AutoModel, AutoTokenizer

    found = label(data=None, max_length=64, limit=8, preset="published", sieve="delimiter:cls")
    model = AutoModel.from_pretrained(planted, attn_implementation="eager").eval()
    tokenizer = AutoTokenizer.from_pretrained(planted)
    rows = (Path(headroles.__file__).parent / "samples" / "QNLI.tsv").read_text().splitlines()
    header = rows[0].split("\t")
    for place, key in enumerate(found.scores.examples):
        cells = rows[1 + int(key.split("/")[1])].split("\t")
        pair = [cells[header.index(name)] for name in ("question", "sentence")]
        with torch.inference_mode():
            batch = tokenizer(*pair, return_tensors="pt", truncation=True, max_length=64)
            attention = torch.stack(model(**batch, output_attentions=True).attentions)[:, 0].numpy()
        expected = (attention[..., 0] * attention.shape[-1]).mean(axis=-1)
        np.testing.assert_allclose(found.scores.values[0, place], expected, rtol=1e-4)


@dataclass(frozen=True)
class Inward:
    """Attention of a token on itself; silent on long inputs, and with a chance value of its own."""

    name: str = "inward"
    question: str = "Does the head look at the query itself?"
    needs: frozenset[str] = frozenset()

    def score(self, attention: np.ndarray, example: Example) -> np.ndarray:
        """Mean of the diagonal."""
        if example.size > 26:
            return np.full(len(attention), np.nan)
        mean: np.ndarray = np.diagonal(attention, axis1=1, axis2=2).mean(axis=1)
        return mean

    def null(self, example: Example) -> float:
        """What even attention gives."""
        return float("nan") if example.size > 26 else 1 / example.size


def test_a_scorer_from_outside_is_scored_tested_and_recorded(label: Label) -> None:
    found = label(sieve=[Inward(), "local"])
    assert found.findings.sieves == ("local", "inward")
    speaks = found.scores.tokens <= 26
    assert 0 < speaks.sum() < 60
    inward = found.findings.of("inward")
    np.testing.assert_array_equal(np.isnan(found.scores.values[inward]).all(axis=(1, 2)), ~speaks)
    assert set(found.findings.count[inward].ravel().tolist()) == {int(speaks.sum())}
    chance = (1 / found.scores.tokens[speaks]).mean()
    np.testing.assert_allclose(found.findings.null[inward], chance)
    np.testing.assert_allclose(found.findings.mean[inward][:, :2].min(), chance, rtol=1e-5)
    assert any(
        line.startswith(f"inward had nothing to count in {60 - speaks.sum()} of 60") for line in found.skipped
    )
    assert found.manifest["settings"]["sieve"] == ["inward", "local"]


def test_sieves_that_do_not_apply_are_said_and_untestable(label: Label) -> None:
    found = label(task="SST-2", data=None, max_length=64, limit=60)
    block = found.findings.of("block")
    assert set(found.findings.decision[block].ravel().tolist()) == {3}
    assert np.isnan(found.findings.p[block]).all()
    assert "block does not apply to these inputs: nothing in them can be counted." in found.skipped


def test_gold_trees_are_used_as_they_are(label: Label, tmp_path: Path) -> None:
    lines = ["# newdoc id = one"]
    for sentence in range(12):
        if sentence == 5:
            lines.append("# newdoc id = two")
        noun = ("cat", "dog", "house", "rain", "street", "man")[sentence // 2]
        words = ["the", "small", noun, "sat", "in", "the", "room"][: 4 + 3 * (sentence % 2)]
        heads, relations = [3, 3, 4, 0, 7, 7, 4], ["det", "amod", "nsubj", "root", "case", "det", "obl"]
        for place, word in enumerate(words):
            head = heads[place] if heads[place] <= len(words) else 4
            lines.append(f"{place + 1}\t{word}\t_\t_\t_\t_\t{head}\t{relations[place]}\t_\t_")
        lines.append("")
    gold = tmp_path / "gold.conllu"
    gold.write_text("\n".join(lines) + "\n")
    found = label(task=None, data=gold, sieve=["syntactic", "syntactic:nsubj", "local"])
    assert found.manifest["parser"] is None
    assert found.manifest["source"]["trees"] == "gold"
    assert set(found.scores.units) == {"one", "two"}
    syntactic, nsubj = found.findings.of("syntactic"), found.findings.of("syntactic:nsubj")
    assert set(found.scores.cells[nsubj].tolist()) == {1.0}
    assert found.scores.cells[syntactic].max() == 6
    assert found.findings.mean[nsubj, 1, 2] > 0.8


def test_lengths_beyond_the_limit_are_cut_and_counted(label: Label) -> None:
    found = label(max_length=20)
    assert found.scores.tokens.max() == 20
    cut = found.manifest["counts"]["truncated"]
    assert 0 < cut < 60
    assert f"{cut} of 60 inputs were cut to 20 tokens, longest text first." in found.skipped


def test_progress_is_told_up_to_the_last_input(label: Label) -> None:
    told: list[tuple[int, int]] = []
    label(limit=50, batch_size=8, progress=lambda done, total: told.append((done, total)))
    assert [done for done, _ in told] == [8, 16, 24, 32, 40, 48, 50]
    assert {total for _, total in told} == {50}


def test_options_may_be_paths_and_numbers_of_numpy(label: Label, tmp_path: Path) -> None:
    out = tmp_path / "run"
    found = label(limit=np.int64(10), alpha=np.float64(0.01), out=out)
    assert found.manifest["settings"]["limit"] == 10
    assert headroles.load(out).manifest == found.manifest


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"modle": "x"}, r"no option is called 'modle'; did you mean 'model'\?"),
        ({"limit": "ten"}, "limit must be a whole number, but got 'ten'"),
        ({"limit": 2.5}, "limit must be a whole number, but got 2.5"),
        ({"limit": True}, "limit must be a whole number, but got True"),
        ({"alpha": "0.05"}, "alpha must be a number, but got '0.05'"),
        ({"overwrite": 1}, "overwrite must be True or False, but got 1"),
        ({"text_a": b"x"}, "text_a must be text in UTF-8, but got b'x'"),
        ({"out": "a\0b"}, "out must be text in UTF-8"),
        ({"sieve": [Inward]}, "a sieve is made by @sieve or has .*, but got a type"),
        ({"sieve": Inward(name="tokens")}, "no column of a run .*, but got 'tokens'; rename it"),
        ({"sieve": Inward(name="a;b")}, "has no ';'"),
        ({"sieve": [Inward(), Inward()]}, "'inward' was given twice; name it once"),
    ],
)
def test_a_wrong_keyword_or_value_is_one_sentence(label: Label, given: dict[str, Any], sentence: str) -> None:
    with pytest.raises(headroles.HeadrolesError, match=sentence):
        label(**given)


def test_the_embedded_model_its_samples_and_the_shipped_parser_work_together(tmp_path: Path) -> None:
    found = headroles.label("QNLI", limit=24, out=tmp_path / "run")
    facts = found.manifest
    assert facts["model"]["weights_sha256"] == EMBEDDED_SHA256
    assert (facts["model"]["layers"], facts["model"]["heads"]) == (6, 12)
    assert facts["source"] == facts["source"] | {"kind": "sample", "name": "written for headroles"}
    assert facts["parser"]["shipped"] == "yes"
    assert facts["parser"]["license"]
    assert found.findings.roles == (
        "local",
        "delimiter",
        "delimiter:cls",
        "delimiter:sep",
        "block",
        "syntactic",
        "syntactic:nsubj",
        "syntactic:obj",
        "syntactic:amod",
        "syntactic:advmod",
    )
    assert "local" in _roles(found)[0, 2]
    assert "block" not in _roles(found)[0, 2]
    loaded = headroles.load(tmp_path / "run")
    assert loaded.frame().equals(found.frame())


CHANGES: dict[str, dict[str, Any]] = {
    "task": {"task": "SST-2"},
    "text_a": {"text_a": "sentence"},
    "text_b": {"text_b": "question", "text_a": "question"},
    "group": {"group": "document"},
    "limit": {"limit": 30},
    "sieve": {"sieve": ["local", "block"]},
    "preset": {"preset": "published"},
    "statistic": {"statistic": "bias"},
    "margin": {"margin": 0.3},
    "test": {"test": "t"},
    "correction": {"correction": "holm"},
    "family": {"family": "run"},
    "interval": {"interval": "bca"},
    "dtype": {"dtype": "bfloat16"},
    "max_length": {"max_length": 16},
    "alpha": {"alpha": 1e-100},
    "seed": {"seed": 1},
}
FEW = {"limit": 20, "maps": 0}


@pytest.fixture(scope="module")
def usual(planted: Path, table: Path) -> Labelling:
    """A run of few inputs with the usual options."""
    options: dict[str, Any] = {"sieve": ["local", "delimiter", "block"], "max_length": 48}
    return headroles.label("QNLI", data=table, model=planted, **options | FEW)


@pytest.mark.parametrize("option", CHANGES)
def test_an_option_changes_the_findings_and_is_recorded(option: str, label: Label, usual: Labelling) -> None:
    changed = label(**FEW | CHANGES[option])
    before, after = usual.manifest["settings"], changed.manifest["settings"]
    assert {name for name, each in before.items() if after[name] != each} == set(CHANGES[option])
    assert changed.frame().to_csv() != usual.frame().to_csv()
    if option == "alpha":
        assert changed.labels().to_csv() != usual.labels().to_csv()


def test_model_and_data_change_the_findings(
    label: Label, usual: Labelling, even: Path, table: Path, tmp_path: Path
) -> None:
    shorter = tmp_path / "shorter.tsv"
    shorter.write_text("\n".join(table.read_text().splitlines()[:19]) + "\n")
    found = [usual, label(**FEW, model=even), label(**FEW, data=shorter)]
    assert len({each.frame().to_csv() for each in found}) == 3


@pytest.mark.parametrize(("option", "value"), [("device", "cpu"), ("parser", "en_other")])
def test_an_option_that_must_not_change_the_findings_is_recorded(
    option: str, value: str, label: Label, usual: Labelling
) -> None:
    changed = label(**FEW, **{option: value})
    assert changed.manifest["settings"][option] == value
    assert changed.frame().to_csv() == usual.frame().to_csv()
