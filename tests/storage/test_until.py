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
Stopped = tuple[Path, Labelling, list[Look]]
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
def stopped(settings: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Stopped:
    """The folder of a run that stopped, the run, and its looks."""
    folder, looks = tmp_path_factory.mktemp("runs") / "stopped", list[Look]()
    run = headroles.label(**settings, out=folder, watch=looks.append)
    return folder, run, looks


def test_a_run_stops_at_the_first_look_by_which_all_heads_are_decided(stopped: Stopped, until: Until) -> None:
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
    schema = json.loads((resources.files("headroles") / "storage/schemas/manifest.schema.json").read_text())
    assert set(record) == set(schema["$defs"]["run"]["properties"]["until"]["properties"])
    assert len({*(folder / "shards").glob("*.json")}) == len(looks) == run.manifest["shards"]["count"]
    other = until(seed=1, maps=0)  # units are whole, and in an order that the seed fixes
    units = list(dict.fromkeys(run.scores.units))
    assert [unit for unit in units for _ in range(2)] == list(run.scores.units)
    assert units != sorted(units)
    assert units != list(dict.fromkeys(other.scores.units))
    assert run.manifest["source"]["sha256"] != other.manifest["source"]["sha256"]


def test_every_look_judges_the_units_so_far_as_if_the_run_ended_there(stopped: Stopped) -> None:
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


def test_a_stopped_run_warns_when_judged_by_a_test_of_fixed_numbers(stopped: Stopped, tmp_path: Path) -> None:
    run = Path(shutil.copytree(stopped[0], tmp_path / "run"))
    whole = verify(run, oracles=True)
    units = headroles.load(run).manifest["until"]["units"]
    assert whole.examples == 2 * units
    assert np.array_equal(headroles.judge_again(run).findings.decision, stopped[1].findings.decision)
    assert verify(run).files == whole.files
    warned = headroles.judge_again(run, test="t-skew")
    note = f"These error rates do not hold (judge with --test betting): the run stopped after {units} units "
    note += "because of its scores, and t-skew assumes a fixed number of units."
    assert warned.manifest["notes"] == [note]
    assert verify(run)
    assert headroles.judge_again(run, test="betting", interval="test").manifest["notes"] == []


def test_a_share_of_heads_may_stay_open(until: Until, tmp_path: Path, shards: Shards) -> None:
    looks: list[Look] = []
    run = until(decided=0.5, units_per_look=4, watch=looks.append, out=tmp_path / "run")
    record = run.manifest["until"]
    assert record["stopped"]
    assert 6 <= record["decided"] < 12
    assert [look.tests - look.left >= 6 for look in looks] == [False] * (len(looks) - 1) + [True]
    assert f"when {record['decided']} of 12 roles × heads were decided. Open: " in run.skipped[0]
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


def test_a_role_that_hardly_applies_stays_open_until_enough_units_were_read(until: Until) -> None:
    run = until(sieve=["local", "block"], maps=0)  # single texts have no block
    record = run.manifest["until"]
    assert record["stopped"]
    assert record["units"] >= 50
    assert (run.findings.decision[run.findings.of("block")] == 3).all()
    assert "block does not apply to these inputs" in " ".join(run.skipped)


def test_a_run_stopped_by_hand_goes_on(
    until: Until, stopped: Stopped, tmp_path: Path, shards: Shards
) -> None:
    folder, _, looks = stopped
    for count in (1, 3):
        run = tmp_path / str(count)
        shards.stopped(count, lambda run=run: until(out=run))  # type: ignore[misc]
        assert shards.by(lambda run=run: until(out=run)) == [*range(count, len(looks))]  # type: ignore[misc]
        assert contents(run) == contents(folder)
        assert shards.by(lambda run=run: until(out=run)) == []  # type: ignore[misc]
        assert contents(run) == contents(folder)


def test_the_command_watches_in_a_pipe(
    command: Callable[..., tuple[int, str, str]], settings: dict[str, Any], tmp_path: Path
) -> None:
    words = ["label", "--watch", "--until", "decided", "--units-per-look", "16", "--sieve", "local"]
    for name in ("data", "text_a", "group", "model", "max_length", "maps"):
        words += [f"--{name.replace('_', '-')}", str(settings[name])]
    code, out, err = command(*words, "--out", tmp_path / "run")
    assert code == 0, err
    run = headroles.load(tmp_path / "run")
    looks = [line for line in err.splitlines() if line.startswith("look ")]
    assert len(looks) == run.manifest["until"]["looks"]
    assert looks[0].startswith("look 1: 16 of 150 units, ")
    assert run.skipped[0] in " ".join(out.split())
    assert "--units-per-look 16" in run.manifest["command"]


@pytest.mark.ci
def test_three_workers_stop_at_the_same_bytes(until: Until, stopped: Stopped, tmp_path: Path) -> None:
    until(out=tmp_path / "run", workers=3, threads=1)
    assert contents(tmp_path / "run") == contents(stopped[0])
