"""Whole runs on a BERT whose heads are planned: sites, idle heads, and heads that make up for others."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.stats import binom

from headroles import Labelling
from headroles.extraction.texts.tokens import tokenise
from headroles.records.causal.ablation import VERDICTS, GroupTest
from headroles.records.passage import Passage
from headroles.runs.ablate.run import ablate
from headroles.runs.label.run import label
from headroles.stats.causal.sites import site_tests
from headroles.stats.columns import select_examples
from tests.support.causal.copies import (
    PAIRS,
    POSITIONS,
    Head,
    Planned,
    copied_texts,
    exact_damage,
    exact_states,
    save_copies,
)
from tests.support.causal.plain import open_model

COPIES, SILENT, EVERYWHERE = (0, 0), (0, 1), (0, 2)
UNREAD = Planned(3.0, PAIRS, looks="even")
EVERY = Planned(2.0, 1, looks="copies", by_word=True)
SITES = {COPIES: Planned(2.5, 0), SILENT: Planned(), EVERYWHERE: EVERY, (0, 3): UNREAD, (1, 0): UNREAD}
"""Three heads look at earlier copies: one writes there alone, one writes nothing, one writes everywhere."""
NOWHERE = {(layer, head): Planned(2.0, 2 * layer + head, looks="copies", by_word=True)
           for layer in range(2) for head in range(2)}  # fmt: skip
"""Four heads look at earlier copies, and write at every token alike."""
REPAIRED = ((0, 0), (1, 0))
OTHERS = {(layer, head): UNREAD for layer in range(2) for head in range(1, 6)}
REPAIR = {**OTHERS, REPAIRED[0]: Planned(5.0, 0), REPAIRED[1]: Planned(10.0, 0, backup=5.0)}
"""1-0 writes half of what it can, and all of it where 0-0 has written nothing: then the state is the same."""
ALIKE = {**OTHERS, REPAIRED[0]: Planned(0.2, 0), REPAIRED[1]: Planned(0.2, 0)}
"""Both heads write the same, whatever the other one does."""


def _table(file: Path, texts: list[str]) -> Path:
    file.write_text("\n".join(["text", *texts]) + "\n", encoding="utf-8")
    return file


def _run(
    folder: Path,
    plan: Mapping[Head, Planned],
    texts: list[str],
    *,
    heads: int,
    by: str,
    groups: bool = False,
    other: list[str] | None = None,
) -> Labelling:
    """Label a planned model on texts, and take its heads out on the same texts, or on others."""
    model = save_copies(folder / "model", plan, heads=heads)
    table = _table(folder / "texts.tsv", texts)
    label(
        data=table, text_a="text", model=model, sieve="duplicate", max_length=POSITIONS, maps=0,
        out=folder / "labels",
    )  # fmt: skip
    if other is not None:
        table = _table(folder / "other.tsv", other)
    return ablate(
        data=table, text_a="text", model=model, max_length=POSITIONS, roles=folder / "labels", by=by,
        outcome="tokens", groups=groups,
    )  # fmt: skip


def _verdicts(run: Labelling) -> dict[Head, str]:
    assert run.ablated is not None
    return {
        (int(at[0]), int(at[1])): VERDICTS[code] for at, code in np.ndenumerate(run.ablated.damage.verdict[0])
    }


@pytest.mark.parametrize("plan", [SITES, NOWHERE, REPAIR])
def test_states_of_the_model_are_the_exact_ones(tmp_path: Path, plan: Mapping[Head, Planned]) -> None:
    model = open_model(save_copies(tmp_path / "model", plan, heads=6))
    for text in copied_texts(3):
        inputs = tokenise(model.tokenizer, [Passage("t", (text,))], POSITIONS)[0].inputs
        given = {name: torch.tensor([values]) for name, values in inputs.items()}
        states = model.network(**given)[0][0].detach().numpy()
        exact = exact_states(text, plan)
        np.testing.assert_allclose(states[:, : exact.shape[1] - 1], exact[:, :-1], atol=1e-4)
        np.testing.assert_allclose(states[:, -1], exact[:, -1], atol=1e-4)


@pytest.fixture(scope="module")
def with_sites(tmp_path_factory: pytest.TempPathFactory) -> Labelling:
    return _run(tmp_path_factory.mktemp("sites"), SITES, copied_texts(100), heads=6, by="mean")


def test_only_heads_that_write_what_is_read_are_needed_and_all_others_are_negligible(
    with_sites: Labelling,
) -> None:
    verdicts = _verdicts(with_sites)
    assert {head for head, verdict in verdicts.items() if verdict == "needed"} == {COPIES, EVERYWHERE}
    assert {head for head, verdict in verdicts.items() if verdict == "negligible"} == {*verdicts} - {
        COPIES,
        EVERYWHERE,
    }


def test_of_three_heads_with_the_role_only_the_one_that_writes_at_its_sites_matters_there(
    with_sites: Labelling,
) -> None:
    assert with_sites.ablated is not None
    rows = {(row.layer, row.head): row for row in with_sites.ablated.sites}
    assert {*rows} == {COPIES, SILENT, EVERYWHERE}
    assert {head for head, row in rows.items() if row.decision == "at its sites"} == {COPIES}
    assert rows[COPIES].controls == 3
    assert rows[COPIES].mean == rows[COPIES].difference > 0.05
    assert rows[SILENT].mean == 0


def test_damage_of_a_run_is_the_exact_one(tmp_path: Path) -> None:
    texts = copied_texts(20, 1)
    run = _run(tmp_path, SITES, texts, heads=6, by="zero")
    assert run.ablated is not None
    for head in (COPIES, SILENT, EVERYWHERE, (0, 3)):
        exact = exact_damage(texts, SITES, [head]).mean()
        assert run.ablated.damage.mean[(0, *head)] == pytest.approx(exact, rel=1e-5, abs=1e-9)


def _group(run: Labelling) -> GroupTest:
    assert run.ablated is not None
    (row,) = run.ablated.groups
    return row


def test_heads_that_make_up_for_each_other_are_negligible_alone_and_rare_together(tmp_path: Path) -> None:
    texts = copied_texts(80, 2)
    run = _run(tmp_path, REPAIR, texts, heads=12, by="zero", groups=True)
    assert {_verdicts(run)[head] for head in REPAIRED} == {"negligible"}
    assert exact_damage(texts, REPAIR, REPAIRED[:1]).max() < 1e-9  # 1-0 makes up for all of it
    row = _group(run)
    assert (row.role, row.heads, row.sets) == ("duplicate", 2, 35)
    assert row.damage == pytest.approx(exact_damage(texts, REPAIR, REPAIRED).mean(), rel=0.1)  # other half
    assert row.p == pytest.approx(1 / 36)
    assert row.decision == "more than random sets"
    assert row.q_excess < 1e-6


def test_a_sum_of_cosines_is_exceeded_by_heads_that_write_alike_without_any_repair(tmp_path: Path) -> None:
    texts = copied_texts(60, 2)
    row = _group(_run(tmp_path, ALIKE, texts, heads=12, by="zero", groups=True))
    alone = [exact_damage(texts, ALIKE, [head]).mean() for head in REPAIRED]
    assert exact_damage(texts, ALIKE, REPAIRED).mean() > 1.5 * sum(alone)
    assert row.q_excess < 1e-6


def _decisions(run: Labelling, units: int) -> list[list[str]]:
    """Return the decisions on sites of sets of so many inputs each."""
    assert run.ablated is not None
    assert run.ablated.held is not None
    every = np.arange(len(run.scores.examples))
    return [
        [
            row.decision
            for row in site_tests(
                select_examples(run.scores, every // units == part), run.ablated.held, run.decision
            )
        ]
        for part in range(len(every) // units)
    ]


@pytest.mark.slow
def test_heads_that_matter_at_every_token_alike_are_found_at_sites_at_most_at_alpha(tmp_path: Path) -> None:
    run = _run(tmp_path, NOWHERE, copied_texts(60, 3), heads=3, by="mean", other=copied_texts(2500, 4))
    decisions = _decisions(run, 50)
    assert {len(own) for own in decisions} == {len(NOWHERE)}
    most = binom.isf(1e-4, len(decisions), 0.05)
    for false in ("at its sites", "elsewhere"):
        assert sum(false in own for own in decisions) <= most
    assert {head for head, verdict in _verdicts(run).items() if verdict == "negligible"} == {(0, 2), (1, 2)}
