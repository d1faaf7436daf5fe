"""Label runs on the planted model: what is planted is found, what is even is not, and options work."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

import headroles
from headroles import Example, Labelling
from tests.support import table as rows_of
from tests.support.reference import rounding_bound

Label = Callable[..., Labelling]
PLAIN = ("local", "delimiter", "block")
OWN = slice(0, 4)
"""Columns whose value for an input depends on that input alone: all but the swap of two inputs."""
NEAR = rounding_bound(48)


def roles_of(labelling: Labelling) -> dict[tuple[int, int], str]:
    """Return the roles of every head."""
    labels = labelling.labels()
    rows = zip(labels["layer"], labels["head"], labels["roles"], strict=True)
    return {(int(layer), int(head)): str(roles) for layer, head, roles in rows}


def test_planted_heads_get_their_roles_and_no_others(label: Label) -> None:
    samples, pairs = label(data=None, max_length=64), label()
    for run in (samples, pairs):
        assert roles_of(run) == {
            (0, 0): "local", (0, 1): "", (0, 2): "delimiter", (1, 0): "", (1, 1): "block", (1, 2): "local",
        }  # fmt: skip
    counts = dict(zip(samples.findings.sieves, samples.findings.count.min(axis=(1, 2)), strict=True))
    swapped = counts.pop("block:swap")
    assert counts == dict.fromkeys([*PLAIN, "block:matched"], 160)
    assert f"block is judged beyond position on {swapped} pairs of inputs" in " ".join(samples.skipped)


def test_even_attention_has_no_role_and_every_absence_is_said(label: Label, even: Path) -> None:
    found = label(model=even).findings
    assert set(found.decision[[found.of("local"), found.of("delimiter")]].ravel().tolist()) == {1}
    assert 0 not in found.decision
    np.testing.assert_allclose(found.mean, 0, atol=NEAR)
    bias = label(model=even, statistic="bias")
    roles = [bias.findings.of(name) for name in bias.findings.roles]
    assert set(bias.findings.null[roles].ravel().tolist()) == {1.0}
    assert set(bias.findings.margin[roles].ravel().tolist()) == {2.0}
    np.testing.assert_allclose(bias.findings.mean[roles], 1, atol=10 * NEAR)
    assert bias.manifest["statistic"] == "bias"


def test_one_input_is_scored_as_among_all_and_nothing_about_it_is_tested(label: Label) -> None:
    one, whole = label(limit=1), label()
    place = whole.scores.examples.index(one.scores.examples[0])
    np.testing.assert_allclose(one.scores.values[:, 0], whole.scores.values[:, place], rtol=0, atol=NEAR)
    assert set(one.frame()["decision"]) <= {"untestable", ""}
    assert "local rests on 1 unit and cannot be tested. Give more inputs." in one.skipped


def test_scores_hardly_depend_on_batches_and_not_at_all_on_maps(label: Label) -> None:
    one, seven, usual, bare = label(batch_size=1), label(batch_size=7), label(), label(maps=0)
    np.testing.assert_allclose(one.scores.values, seven.scores.values, rtol=0, atol=NEAR)
    np.testing.assert_array_equal(one.findings.decision, seven.findings.decision)
    np.testing.assert_array_equal(usual.scores.values, bare.scores.values)
    assert (usual.exhibited is None, bare.exhibited is None) == (False, True)


def test_a_limit_takes_a_random_subset_that_its_seed_reproduces(label: Label) -> None:
    first, again, other = label(limit=20, seed=3), label(limit=20, seed=3), label(limit=20, seed=4)
    assert first.scores.examples == again.scores.examples
    assert first.frame().equals(again.frame())
    assert set(first.scores.examples) != set(other.scores.examples)
    whole = label(limit=1000)
    rows = [whole.scores.examples.index(key) for key in first.scores.examples]
    assert (rows == sorted(rows), len(whole.scores.examples)) == (True, 60)
    np.testing.assert_allclose(first.scores.values[OWN], whole.scores.values[OWN][:, rows], rtol=0, atol=NEAR)


def test_a_group_column_makes_units(label: Label) -> None:
    found = label(group="document")
    assert set(found.findings.count[OWN].ravel().tolist()) == {20}
    assert found.manifest["counts"] == found.manifest["counts"] | {"examples": 60, "units": 20}
    column = found.findings.sieves.index("delimiter")
    means = found.scores.values[column].astype(np.float64).reshape(20, 3, 2, 3).mean(axis=1)
    np.testing.assert_allclose(found.findings.mean[column], means.mean(axis=0), rtol=0, atol=1e-12)
    assert 1 not in found.findings.decision
    assert any(
        "no head is called 'not': " in said and "delimiter (20 units)" in said for said in found.skipped
    )


def test_identical_texts_are_one_unit(label: Label, table: Path, tmp_path: Path) -> None:
    header, *rows = table.read_text().splitlines()
    question = rows[0].split("\t")[0]
    shared = ["\t".join([question, *row.split("\t")[1:]]) for row in rows[:4]]
    runs = {}
    for name, lines in {"twice": 2 * rows[:30], "once": rows[:30], "shared": shared + rows[4:9]}.items():
        (tmp_path / f"{name}.tsv").write_text("\n".join([header, *lines]) + "\n")
        runs[name] = label(data=tmp_path / f"{name}.tsv").findings
    assert set(runs["twice"].count[OWN].ravel().tolist()) == {30}
    np.testing.assert_allclose(runs["twice"].p[OWN], runs["once"].p[OWN], rtol=1e-3, atol=1e-9)
    assert set(runs["shared"].count[OWN].ravel().tolist()) == {6}


def test_the_preset_published_is_the_released_test_of_the_released_scores(
    label: Label, planted: Path
) -> None:
    import torch
    from transformers import AutoModel, AutoTokenizer

    found = label(data=None, max_length=64, limit=40, preset="published", sieve=[*PLAIN, "delimiter:cls"])
    values = found.scores.values.astype(np.float64)
    mean, spread = values.mean(axis=1), values.std(axis=1)
    clear = spread > 1e-5
    t = (mean[clear] - 3) / (spread[clear] / np.sqrt(40))
    np.testing.assert_allclose(found.findings.statistic[clear], t, rtol=1e-6)
    np.testing.assert_allclose(found.findings.p[clear], stats.t.sf(t, 39), rtol=1e-6)
    np.testing.assert_array_equal(found.findings.q, found.findings.p)
    np.testing.assert_array_equal(found.findings.null, 1)
    np.testing.assert_array_equal(found.findings.margin, 2)
    assert "should not be cited as evidence" in " ".join(found.manifest["notes"])
    model = AutoModel.from_pretrained(planted, attn_implementation="eager").eval()
    tokenizer = AutoTokenizer.from_pretrained(planted)
    lines = (Path(headroles.__file__).parent / "samples" / "QNLI.tsv").read_text().splitlines()
    header = lines[0].split("\t")
    column = found.scores.sieves.index("delimiter:cls")
    for place, key in enumerate(found.scores.examples[:6]):
        cells = lines[1 + int(key.split("/")[1])].split("\t")
        pair = [cells[header.index(name)] for name in ("question", "sentence")]
        with torch.inference_mode():
            batch = tokenizer(*pair, return_tensors="pt", truncation=True, max_length=64)
            attention = torch.stack(model(**batch, output_attentions=True).attentions)[:, 0].numpy()
        expected = (attention[..., 0] * attention.shape[-1]).mean(axis=-1)
        np.testing.assert_allclose(found.scores.values[column, place], expected, rtol=1e-4)


@dataclass(frozen=True)
class Inward:
    """Attention of a token on itself; silent on long inputs, and with a chance value of its own."""

    name: str = "inward"
    question: str = "Does the head look at the query itself?"
    needs: frozenset[str] = frozenset()

    def score(self, attention: np.ndarray, example: Example) -> np.ndarray:
        """Return the mean of the diagonal."""
        if example.size > 26:
            return np.full(len(attention), np.nan)
        mean: np.ndarray = np.diagonal(attention, axis1=1, axis2=2).mean(axis=1)
        return mean

    def null(self, example: Example) -> float:
        """Return what even attention gives."""
        return float("nan") if example.size > 26 else 1 / example.size


def test_a_scorer_from_outside_is_scored_tested_recorded_and_keeps_no_cells(label: Label) -> None:
    found = label(sieve=[Inward(), "local"], margin=0.0, alpha=0.9)
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
        said.startswith(f"inward had nothing to count in {60 - speaks.sum()} of 60") for said in found.skipped
    )
    assert found.manifest["settings"]["sieve"] == ["inward", "local"]
    assert found.exhibited is not None
    assert {exhibit.sieve for exhibit in found.exhibited.exhibits} >= {"inward"}
    assert {name for _, name in found.exhibited.counted} <= {"local"}


@pytest.mark.parametrize("causal", [False, True])
def test_kept_cells_are_those_of_the_sieve_on_the_tokens_of_the_input(
    causal: bool, label: Label, model_of: Callable[[str], Path], tmp_path: Path
) -> None:
    options: dict[str, Any] = {"model": model_of("gpt2")} if causal else {}
    sieves = ["local", "previous", "block", "first"]
    kept = label(sieve=sieves, margin=0.0, alpha=0.9, out=tmp_path / "run", **options).exhibited
    loaded = headroles.load(tmp_path / "run").exhibited
    assert kept is not None
    assert loaded is not None
    assert {name for _, name in kept.counted} >= {"local", "previous"}
    shown = {(int(kept.places[exhibit.map, 0]), exhibit.sieve) for exhibit in kept.exhibits if exhibit.sieve}
    assert set(kept.counted) == shown
    for (place, name), cells in kept.counted.items():
        wanted = headroles.show_sieve(name, kept.examples[place], causal=causal).cells.counted
        np.testing.assert_array_equal(cells, wanted)
        np.testing.assert_array_equal(loaded.counted[place, name], cells)


def test_sieves_that_do_not_apply_are_said_and_untestable(label: Label) -> None:
    found = label(task="SST-2", data=None, max_length=64, limit=60)
    block = found.findings.of("block")
    assert set(found.findings.decision[block].ravel().tolist()) == {3}
    assert np.isnan(found.findings.p[block]).all()
    assert "block does not apply to these inputs: nothing in them can be counted." in found.skipped


def test_options_may_be_paths_and_numbers_of_numpy(label: Label, tmp_path: Path) -> None:
    found = label(limit=np.int64(10), alpha=np.float64(0.01), out=tmp_path / "run")
    assert found.manifest["settings"]["limit"] == 10
    assert headroles.load(tmp_path / "run").manifest == found.manifest


def test_the_embedded_model_its_samples_and_the_shipped_parser_work_together(tmp_path: Path) -> None:
    found = headroles.label("QNLI", limit=24, out=tmp_path / "run")
    facts = found.manifest
    assert (facts["model"]["layers"], facts["model"]["heads"]) == (6, 12)
    assert facts["source"] == facts["source"] | {"kind": "sample", "name": "written for headroles"}
    assert facts["parser"]["shipped"] == "yes"
    assert facts["parser"]["license"]
    assert found.findings.roles == (
        "local", "delimiter", "delimiter:cls", "delimiter:sep", "block", "syntactic", "syntactic:nsubj",
        "syntactic:obj", "syntactic:amod", "syntactic:advmod",
    )  # fmt: skip
    assert "local" in roles_of(found)[0, 2]
    assert "block" not in roles_of(found)[0, 2]
    assert headroles.load(tmp_path / "run").frame().equals(found.frame())


CHANGES = """
    task      | SST-2
    text_a    | sentence
    group     | document
    limit     | 30
    sieve     | local
    preset    | published
    statistic | bias
    margin    | 0.3
    test      | t
    correction | holm
    family    | run
    interval  | bca
    dtype     | bfloat16
    max_length | 16
    alpha     | 1e-100
    seed      | 1
"""


def test_every_option_changes_the_findings_and_is_recorded(
    label: Label, table: Path, even: Path, tmp_path: Path
) -> None:
    few: dict[str, Any] = {"limit": 20, "maps": 0}
    usual = label(**few)
    numbers = {"limit": int, "margin": float, "max_length": int, "alpha": float, "seed": int}
    for option, value in rows_of(CHANGES):
        changed = label(**few | {option: numbers.get(option, str)(value)})
        before, after = usual.manifest["settings"], changed.manifest["settings"]
        assert [name for name in before if after[name] != before[name]] == [option]
        assert changed.frame().to_csv() != usual.frame().to_csv(), option
        assert (changed.labels().to_csv() != usual.labels().to_csv()) or option != "alpha"
    (tmp_path / "shorter.tsv").write_text("\n".join(table.read_text().splitlines()[:19]) + "\n")
    others = [label(**few, model=even), label(**few, data=tmp_path / "shorter.tsv")]
    assert len({run.frame().to_csv() for run in (usual, *others)}) == 3
    for option, value in (("device", "cpu"), ("parser", "en_other")):
        changed = label(**few, **{option: value})
        assert changed.manifest["settings"][option] == value
        assert changed.frame().to_csv() == usual.frame().to_csv()
