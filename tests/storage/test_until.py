"""A run that may stop: at the first units by which enough heads are decided, whoever scores them."""

import json
import shutil
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headroles
from headroles import Labelling, Look
from headroles.records import Scores
from headroles.stats import judge
from tests.support.crashing import Shards
from tests.support.folders import contents, verify

Until = Callable[..., Labelling]
UNITS = 150


@pytest.fixture(scope="session")
def settings(planted: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Options of a run that may stop, on 300 texts of several lengths in 150 units of two."""
    chance = np.random.default_rng(5)
    words = ["the", "cat", "dog", "house", "rain", "who", "sat", "on", "small", "red", "is"]
    lines = ["text\tdocument"]
    for row in range(2 * UNITS):
        text = " ".join(chance.choice(words, size=chance.integers(9, 20)))
        lines.append(f"{text} {row} .\tdocument {row % UNITS}")
    file = tmp_path_factory.mktemp("texts") / "texts.tsv"
    file.write_text("\n".join(lines) + "\n")
    return {
        "data": str(file), "text_a": "text", "group": "document", "model": str(planted), "max_length": 48,
        "sieve": ["local", "delimiter"], "until": "decided", "units_per_look": 16, "maps": 4,
    }  # fmt: skip


@pytest.fixture
def until(settings: dict[str, Any]) -> Until:
    """Label the planted model on these texts until all heads are decided, unless told otherwise."""
    return lambda **options: headroles.label(**settings | options)


@pytest.fixture(scope="session")
def stopped(
    settings: dict[str, Any], tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, Labelling, list[Look]]:
    """The folder of a run that stopped, the run, and its looks."""
    folder, looks = tmp_path_factory.mktemp("runs") / "stopped", list[Look]()
    run = headroles.label(**settings, out=folder, watch=looks.append)
    return folder, run, looks


def test_a_run_stops_at_the_first_look_by_which_all_heads_are_decided(
    stopped: tuple[Path, Labelling, list[Look]],
) -> None:
    folder, run, looks = stopped
    assert [look.number for look in looks] == [*range(1, len(looks) + 1)]
    assert [look.units for look in looks] == [16 * look.number for look in looks]
    assert 2 < len(looks) < UNITS // 16
    assert [look.left > 0 for look in looks] == [True] * (len(looks) - 1) + [False]
    assert not (looks[-1].decision == 2).any()
    record = run.manifest["until"]
    assert (record["stopped"], record["units"], record["of_units"]) == (True, looks[-1].units, UNITS)
    assert (record["examples"], record["of_examples"]) == (2 * looks[-1].units, 2 * UNITS)
    assert run.manifest["counts"]["examples"] == record["examples"] == len(run.scores.examples)
    assert run.skipped[0] == (
        f"The run stopped after {record['units']} of {UNITS} units, when all 12 roles × heads were decided."
    )
    assert run.decision.test == "betting"
    roles = [run.findings.of(role) for role in looks[-1].roles]
    assert np.array_equal(run.findings.decision[roles], looks[-1].decision)
    schema = json.loads((resources.files("headroles") / "sharing/schemas/manifest.schema.json").read_text())
    assert set(record) == set(schema["properties"]["until"]["properties"])
    assert len({*(folder / "shards").glob("*.json")}) == len(looks) == run.manifest["shards"]["count"]


def test_every_look_judges_the_units_so_far_as_if_the_run_ended_there(
    stopped: tuple[Path, Labelling, list[Look]],
) -> None:
    _, run, looks = stopped
    for look in looks:
        rows = slice(0, look.examples)
        part = Scores(
            run.scores.sieves, run.scores.examples[rows], run.scores.units[rows], run.scores.tokens[rows],
            run.scores.cells[:, rows], run.scores.values[:, rows], run.scores.null[:, rows],
        )  # fmt: skip
        alone = judge(part, run.findings.rules, run.decision)
        places = [alone.of(role) for role in look.roles]
        assert np.array_equal(alone.decision[places], look.decision)


def test_a_stopped_run_is_an_ordinary_run_that_warns_when_it_is_judged_by_a_test_for_fixed_numbers(
    stopped: tuple[Path, Labelling, list[Look]], tmp_path: Path
) -> None:
    run = Path(shutil.copytree(stopped[0], tmp_path / "run"))
    whole = verify(run, oracles=True)
    units = headroles.load(run).manifest["until"]["units"]
    assert whole.examples == 2 * units
    assert np.array_equal(headroles.judge_again(run).findings.decision, stopped[1].findings.decision)
    assert verify(run).files == whole.files
    warned = headroles.judge_again(run, test="t-skew")
    note = (
        f"These error rates do not hold (judge with --test betting): the run stopped after {units} units "
        f"because of its scores, and t-skew assumes a fixed number of units."
    )
    assert warned.manifest["notes"] == [note]
    assert verify(run)
    both = headroles.judge_again(run, test="t-skew", interval="t").manifest["notes"]
    assert both == [note.replace("t-skew assumes", "t-skew and the interval t assume")]
    assert headroles.judge_again(run, test="betting", interval="test").manifest["notes"] == []


def test_units_are_whole_and_in_an_order_that_the_seed_fixes(
    until: Until, stopped: tuple[Path, Labelling, list[Look]]
) -> None:
    run, other = stopped[1], until(seed=1, maps=0)
    units = list(dict.fromkeys(run.scores.units))
    assert [unit for unit in units for _ in range(2)] == list(run.scores.units)
    assert units != sorted(units)
    assert units != list(dict.fromkeys(other.scores.units))
    assert run.manifest["source"]["sha256"] != other.manifest["source"]["sha256"]


def test_a_share_of_heads_may_stay_open_and_another_level_goes_on_from_the_shards_that_are_there(
    until: Until, tmp_path: Path, shards: Shards
) -> None:
    looks: list[Look] = []
    run = until(decided=0.5, units_per_look=4, watch=looks.append, out=tmp_path / "run")
    record = run.manifest["until"]
    assert record["stopped"]
    assert 6 <= record["decided"] < 12
    assert [look.tests - look.left >= 6 for look in looks] == [False] * (len(looks) - 1) + [True]
    assert f"when {record['decided']} of 12 roles × heads were decided. Open: " in run.skipped[0]
    named = [f"{layer}-{head}" for layer, head in np.argwhere(looks[-1].open[0]).tolist()]
    assert record["open"].get("local", []) == named
    assert shards.scored == [*range(len(looks))]  # none beyond its stop
    more = shards.by(lambda: until(out=tmp_path / "run", units_per_look=4, overwrite=True))
    assert more == [*range(len(looks), headroles.load(tmp_path / "run").manifest["until"]["looks"])]
    until(out=tmp_path / "fresh", units_per_look=4)
    assert contents(tmp_path / "run") == contents(tmp_path / "fresh")


def test_a_budget_that_ends_is_a_run_over_all_inputs_with_the_open_heads_named(until: Until) -> None:
    looks: list[Look] = []
    run = until(limit=40, watch=looks.append)
    record = run.manifest["until"]
    assert not record["stopped"]
    assert record["units"] == record["of_units"] == looks[-1].units == len(set(run.scores.units))
    assert record["examples"] == 40
    assert looks[-1].last
    left = record["tests"] - record["decided"]
    assert run.skipped[0].startswith(f"The budget of {record['units']} units ended with {left} of 12 roles")
    assert left == (run.findings.decision == 2).sum() > 0


def test_a_look_can_take_back_a_decision(tmp_path: Path) -> None:
    """One head holds a role in the first looks of 64 units and not at the end; another one stays open."""
    size, count = 12, 8 * 64
    near = np.eye(size, k=1) + np.eye(size, k=-1)
    far = 1 - near
    patterns = np.stack([pattern / pattern.sum(axis=1, keepdims=True) for pattern in (near, far)])
    words = tuple(f"w{k}" for k in range(size))
    high, low = headroles.score(patterns[None], headroles.Example("x", words), "local")["local"][0]

    def looks_of(means: np.ndarray) -> tuple[list[Look], Labelling]:
        shares = (means - low) / (high - low)  # of the first pattern, units x heads
        weights = np.einsum("uhp,pqk->uhqk", np.stack([shares, 1 - shares], axis=-1), patterns)[:, None]
        rows = [
            {"tokens": [f"{unit} {k}" for k in range(size)], "key": f"{unit:03d}"} for unit in range(count)
        ]
        headroles.write_maps(tmp_path / "maps.npz", [*zip(weights, rows, strict=True)], overwrite=True)
        looks: list[Look] = []
        options: dict[str, Any] = {"sieve": "local", "until": "decided", "units_per_look": 64}
        return looks, headroles.label(attention=tmp_path / "maps.npz", watch=looks.append, **options)

    means = np.zeros((count, 2))
    means[:, 1] = 0.1 + np.where(np.arange(count) % 2, 0.25, -0.25)
    _, order = looks_of(means)
    place = np.array([int(unit.rpartition("/")[2]) for unit in order.scores.units])
    means[place, 0] = np.where(np.arange(count) < 128, 0.5, -0.1)
    looks, run = looks_of(means)
    np.testing.assert_allclose(run.scores.values[0, :, 0, 0], np.repeat([0.5, -0.1], [128, 384]), atol=1e-5)
    first = [int(look.decision[0, 0, 0]) for look in looks]
    assert first == [0, 0, 0, 0, 2, 2, 2, 1]  # a role, as long as means are high, and at last none


def test_a_role_that_hardly_applies_stays_open_until_enough_units_were_read(until: Until) -> None:
    run = until(sieve=["local", "block"], maps=0)  # single texts have no block
    record = run.manifest["until"]
    assert record["stopped"]
    assert record["units"] >= 50
    assert (run.findings.decision[run.findings.of("block")] == 3).all()
    assert "block does not apply to these inputs" in " ".join(run.skipped)


def test_a_run_that_was_stopped_by_hand_or_scored_too_much_ends_in_the_same_bytes(
    until: Until, stopped: tuple[Path, Labelling, list[Look]], tmp_path: Path, shards: Shards
) -> None:
    folder, _, looks = stopped
    for count in (1, 3):
        run = tmp_path / str(count)
        shards.stopped(count, lambda run=run: until(out=run))  # type: ignore[misc]
        assert shards.by(lambda run=run: until(out=run)) == [*range(count, len(looks))]  # type: ignore[misc]
        assert contents(run) == contents(folder)
        assert shards.by(lambda run=run: until(out=run)) == []  # type: ignore[misc]
        assert contents(run) == contents(folder)
    strict = until(out=run, alpha=1e-9, overwrite=True)  # a stricter level needs more units
    assert strict.manifest["until"]["looks"] > len(looks)
    until(out=run, overwrite=True)
    assert contents(run) == contents(folder)


@pytest.mark.ci
def test_three_workers_stop_at_the_same_bytes(
    until: Until, stopped: tuple[Path, Labelling, list[Look]], tmp_path: Path
) -> None:
    until(out=tmp_path / "run", workers=3, threads=1)
    assert contents(tmp_path / "run") == contents(stopped[0])


def test_the_command_watches_in_a_pipe(
    command: Callable[..., tuple[int, str, str]], settings: dict[str, Any], tmp_path: Path
) -> None:
    words = ["label", "--until", "decided", "--units-per-look", "16", "--decided", "0.5", "--watch"]
    for name in ("data", "text_a", "group", "model", "max_length", "maps"):
        words += [f"--{name.replace('_', '-')}", str(settings[name])]
    code, out, err = command(*words, "--sieve", "local", "--sieve", "delimiter", "--out", tmp_path / "run")
    assert code == 0, err
    run = headroles.load(tmp_path / "run")
    looks = [line for line in err.splitlines() if line.startswith("look ")]
    assert len(looks) == run.manifest["until"]["looks"]
    assert looks[0].startswith("look 1: 16 of 150 units, ")
    assert run.skipped[0] in " ".join(out.split())
    for option in ("--until decided", "--units-per-look 16", "--decided 0.5"):
        assert option in run.manifest["command"]
    assert "--test" not in run.manifest["command"]
