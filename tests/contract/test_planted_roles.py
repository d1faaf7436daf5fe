"""Label runs on the planted model: what is planted is found, what is even is not, and options work."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

import headroles
from headroles import Labelling
from tests.support import table as rows_of
from tests.support.browser import DRAW
from tests.support.planted import UNEQUAL, write_pairs
from tests.support.reference import rounding_bound

Label = Callable[..., Labelling]
OWN = slice(0, 4)
"""Columns whose value for an input depends on that input alone: all but the swap of two inputs."""
NEAR = rounding_bound(48)


def roles_of(labelling: Labelling) -> dict[tuple[int, int], str]:
    """Return the roles of every head."""
    labels = labelling.labels()
    rows = zip(labels["layer"], labels["head"], labels["roles"], strict=True)
    return {(int(layer), int(head)): str(roles) for layer, head, roles in rows}


def test_planted_heads_get_their_roles_and_even_heads_none(label: Label, even: Path, tmp_path: Path) -> None:
    planted = {(0, 0): "local", (0, 1): "", (0, 2): "delimiter", (1, 0): "", (1, 1): "block", (1, 2): "local"}
    assert roles_of(label(data=write_pairs(tmp_path / "pairs.tsv", 160, UNEQUAL), max_length=64)) == planted
    assert roles_of(label()) == planted | {(1, 1): ""}  # too few pairs whose exchanged layouts differ
    found = label(model=even).findings
    assert set(found.decision[[found.of("local"), found.of("delimiter")]].ravel().tolist()) == {1}
    assert 0 not in found.decision
    np.testing.assert_allclose(found.mean, 0, atol=NEAR)
    bias = label(model=even, statistic="bias").findings
    roles = [bias.of(name) for name in bias.roles]
    assert set(bias.null[roles].ravel().tolist()) == {1.0}
    assert set(bias.margin[roles].ravel().tolist()) == {2.0}
    np.testing.assert_allclose(bias.mean[roles], 1, atol=10 * NEAR)


def test_a_group_column_and_identical_texts_make_units(label: Label, table: Path, tmp_path: Path) -> None:
    grouped = label(group="document")
    assert set(grouped.findings.count[OWN].ravel().tolist()) == {20}
    assert grouped.manifest["counts"] == grouped.manifest["counts"] | {"examples": 60, "units": 20}
    column = grouped.findings.sieves.index("delimiter")
    means = grouped.scores.values[column].astype(np.float64).reshape(20, 3, 2, 3).mean(axis=1)
    np.testing.assert_allclose(grouped.findings.mean[column], means.mean(axis=0), rtol=0, atol=1e-12)
    assert 1 not in grouped.findings.decision
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


def test_the_preset_published_is_the_released_test(label: Label) -> None:
    found = label(data=None, max_length=64, limit=40, preset="published")
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


def test_the_embedded_model_its_samples_and_the_shipped_parser_work_together_on_a_page_of_some_size(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    found = headroles.label("QNLI", out=tmp_path / "run")
    facts = found.manifest
    assert (facts["model"]["blocks"], facts["model"]["heads"]) == (6, 12)
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
    page = tmp_path / "run" / "report.html"
    assert page.stat().st_size <= 2_300_000
    window = request.getfixturevalue("opened")(page)
    window.evaluate(DRAW)
    assert window.evaluate("document.documentElement.scrollHeight") <= 5000
    assert len(window.inner_text("body").split()) <= 1100


CHANGES = """
    task      | SST-2
    text_a    | sentence
    group     | document
    limit     | 30
    sieve     | local
    preset    | published
    statistic | bias
    weights   | norm
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


def test_every_option_changes_the_findings_and_is_recorded(label: Label) -> None:
    few: dict[str, Any] = {"limit": np.int64(20), "maps": 0}
    usual = label(**few)
    numbers = {"limit": int, "margin": float, "max_length": int, "alpha": np.float64, "seed": int}
    for option, value in rows_of(CHANGES):
        changed = label(**few | {option: numbers.get(option, str)(value)})
        before, after = usual.manifest["settings"], changed.manifest["settings"]
        assert [name for name in before if after[name] != before[name]] == [option]
        assert changed.frame().to_csv() != usual.frame().to_csv(), option
        assert (changed.labels().to_csv() != usual.labels().to_csv()) or option != "alpha"
    for option, value in (("device", "cpu"), ("parser", "en_other")):
        changed = label(**few, **{option: value})
        assert changed.manifest["settings"][option] == value
        assert changed.frame().to_csv() == usual.frame().to_csv()
