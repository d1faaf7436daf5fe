"""What a terminal shows of clusters."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from rich.console import Console

from headroles.records.clusters import Choice, ClusterResults
from headroles.records.findings import Labelling
from headroles.reports.words.cluster_facts import distances_of
from headroles.reports.words.clusters import choice_rule, reference_text
from headroles.terminal.cluster import CHOICES, GROUPS, PAIRS, show_clusters
from tests.support.clustered_runs import NAMES, clustered_run, replaced

NAN = float("nan")
usual = cache(clustered_run)


def _shown(labelling: Labelling, width: int = 140, *, terminal: bool = True) -> list[str]:
    console = Console(
        width=width, highlight=False, soft_wrap=True, force_terminal=terminal, color_system=None
    )
    with console.capture() as captured:
        show_clusters(console, labelling)
    return [line.rstrip() for line in captured.get().splitlines()]


def _found(run: Labelling) -> ClusterResults:
    assert run.clustered is not None
    return run.clustered


def _after(lines: list[str], start: str) -> list[str]:
    """Lines of the table whose heading starts so."""
    first = next(place for place, line in enumerate(lines) if line.startswith(start))
    rows = lines[first + 1 :]
    return rows[: rows.index("")] if "" in rows else rows


@pytest.mark.parametrize("width", [80, 140])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    assert max(map(len, _shown(usual(), width))) <= width


def test_a_run_without_clusters_shows_nothing() -> None:
    assert _shown(replace(usual(), clustered=None)) == []


def test_distances_clusters_and_the_stress_of_the_map_are_told() -> None:
    text = " ".join(" ".join(_shown(usual())).split())
    assert "square roots of the mean Jensen-Shannon divergence (nats)" in text
    assert "average linkage puts 24 heads into 3 clusters of 8, 8 and 8 heads" in text
    assert f"Stress {_found(usual()).stress:.2f}" in text


def test_every_cluster_has_its_size_heads_and_roles() -> None:
    found = _found(usual())
    rows = _after(_shown(usual()), "cluster ")
    for number, row in enumerate(rows):
        cells = row.split()
        members = [f"{head // 6}-{head % 6}" for head in np.flatnonzero(found.cluster == number)]
        assert cells[:2] == [str(number), str(len(members))]
        assert sorted(cells[4 : 4 + len(members)]) == members
        assert any(f"{name} (8)" in row for name in NAMES)
    assert len(rows) == 3
    narrow = _after(_shown(usual(), 80), "cluster ")
    assert all(" … " in row for row in narrow)


def test_the_chosen_number_is_shown_even_where_others_have_larger_silhouettes() -> None:
    choices = tuple(Choice(number, 0.9 - number / 100, 0.8) for number in range(2, 12))
    choices += (Choice(12, 0.1, 0.8, 1), Choice(13, NAN, NAN))
    rows = _after(
        _shown(replace(usual(), clustered=replaced(_found(usual()), choices=choices))), "clusters tried"
    )
    assert [int(row.split()[0]) for row in rows[:CHOICES]] == [2, 3, 4, 5, 12]
    assert rows[CHOICES - 1].split() == ["12", "0.10", "0.80", "chosen"]
    assert all(row.startswith(("rule  ", "      ")) for row in rows[CHOICES:])


def test_the_rule_of_the_choice_is_told_and_what_kept_other_numbers_from_it() -> None:
    tree = np.array([[0.0, 1, 0.1, 2], [2, 3, 0.2, 2], [5, 6, 0.5, 4], [4, 7, 0.9, 5]])
    choices = (Choice(2, 0.33, 1.0), Choice(3, 0.3, 0.9, 1), Choice(4, 0.4, 0.5))
    run = clustered_run(1, 5)
    found = replaced(_found(run), choices=choices, linkage=tree)
    lines = _shown(replace(run, clustered=found), 80)
    rows = _after(lines, "clusters tried")
    assert [row.split("  ")[-1].strip() for row in rows[:3]] == [
        "only single heads cut off", "chosen", "only single heads cut off"
    ]  # fmt: skip
    told = " ".join(" ".join(rows[3:]).split())
    assert told == f"rule {choice_rule(choices)}"
    assert max(map(len, lines)) <= 80
    alone = replaced(_found(run), choices=choices[1:2])
    assert not [line for line in _shown(replace(run, clustered=alone)) if line.startswith("rule")]


def test_claims_have_intervals_and_those_of_roles_no_p() -> None:
    lines = _shown(usual())
    claims = _found(usual()).claims
    rows = _after(lines, "claim ")
    for each, row in zip((each for each in claims if not each.subject), rows, strict=True):
        told = f"{each.estimate:.3f} [{each.low:.3f}, {each.high:.3f}]".replace("-", "−")
        assert row.startswith(each.claim)
        assert told in row
        assert row.endswith("–") == bool(np.isnan(each.p))
    roles = [line for line in lines if line.startswith(tuple(f"{name}  " for name in NAMES))]
    assert len(roles) == len(NAMES)
    assert all(row.count("[") == 2 for row in roles)
    assert "roles   no p can be given: roles and distances come from the same attention" in lines
    shares = " ".join(" ".join(lines).split())
    assert all(reference_text(each) in shares for each in claims if each.placements)


def test_the_nearest_pairs_are_those_with_the_smallest_distances() -> None:
    distance = distances_of(_found(usual()))
    first, second = np.triu_indices(24, 1)
    best = np.argsort(distance[first, second], kind="stable")[:PAIRS]
    wanted = {f"{first[k] // 6}-{first[k] % 6} and {second[k] // 6}-{second[k] % 6}" for k in best}
    rows = _after(_shown(usual()), "nearest pairs")
    told = [row.split("  ")[0] for row in rows]
    assert {" and ".join(sorted(each.split(" and "))) for each in told} == wanted


@pytest.mark.parametrize("terminal", [True, False])
def test_small_models_noise_and_missing_numbers_are_shown(terminal: bool) -> None:
    run = clustered_run(1, 4)
    found = replaced(
        _found(run),
        cluster=np.full(4, -1),
        silhouette=np.full(4, NAN),
        stability=np.full(4, NAN),
        claims=(),
        choices=(),
        neighbours=None,
    )
    text = "\n".join(_shown(replace(run, clustered=found), terminal=terminal))
    assert "puts 0 heads into 0 clusters and 4 into none" in text
    assert "nan" not in text
    assert "claim " not in text


def test_very_many_clusters_are_left_to_the_file() -> None:
    run = clustered_run(6, 6)
    many = replace(run, clustered=replaced(_found(run), cluster=np.arange(36)))
    lines = _shown(many)
    assert len(_after(lines, "cluster ")) == GROUPS + 1
    assert "more    clusters.csv has 6 more clusters" in lines
    one = replace(run, clustered=replaced(_found(run), cluster=np.arange(36).clip(0, GROUPS)))
    assert "more    clusters.csv has 1 more cluster" in _shown(one)


def test_markup_in_names_is_shown_as_it_is() -> None:
    bad = "[red]x[/red]"
    run = clustered_run(3, 3, (bad, "[/b]"))
    claims = tuple(replace(each, claim=f"{each.claim} {bad}") for each in _found(run).claims)
    text = "\n".join(_shown(replace(run, clustered=replaced(_found(run), claims=claims))))
    assert text.count(bad) >= 4
    assert "[/b]" in text
