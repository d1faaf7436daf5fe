"""A run stops at the first units by which enough heads are decided, and is a run like others."""

import json
import shutil
from collections.abc import Callable
from functools import partial
from importlib import resources
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest

import headroles
from headroles import Labelling, Look
from headroles.options.label import LabelOptions
from headroles.records.example import Scores
from headroles.records.rules.rule import Rule
from headroles.runs.label.until import Looks, open_heads
from headroles.shards.prefix import PrefixReceipts
from headroles.shards.survey import Survey
from headroles.shards.verify import verify
from headroles.shards.work import Facts, Known, Receipt
from headroles.stats.engine import judge
from headroles.storage.places import MemoryPlace
from tests.runs.until.conftest import UNITS

Until = Callable[..., Labelling]


def test_a_run_stops_at_the_first_look_by_which_all_heads_are_decided(until: Until, tmp_path: Path) -> None:
    looks: list[Look] = []
    run = until(watch=looks.append, out=tmp_path / "run")
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


def test_a_stopped_run_is_an_ordinary_run_that_can_be_read_judged_and_verified(
    stopped: Path, tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(stopped, tmp_path / "run"))
    whole = verify(folder, oracles=True)
    run = headroles.load(folder)
    assert whole.examples == len(run.scores.examples) == run.manifest["until"]["examples"]
    assert whole.shards == run.manifest["until"]["looks"] == run.manifest["shards"]["count"]
    assert len([*(folder / "shards").glob("*.json")]) == whole.shards
    assert len([*(folder / "scores").glob("*.parquet")]) == whole.shards
    again = headroles.judge_again(folder)
    assert np.array_equal(again.findings.decision, run.findings.decision)
    assert verify(folder).files == whole.files


def test_every_look_judges_the_units_so_far_as_if_the_run_ended_there(until: Until) -> None:
    looks: list[Look] = []
    run = until(watch=looks.append)
    for look in looks:
        rows = slice(0, look.examples)
        part = Scores(
            run.scores.sieves, run.scores.examples[rows], run.scores.units[rows], run.scores.tokens[rows],
            run.scores.cells[:, rows], run.scores.values[:, rows], run.scores.null[:, rows],
        )  # fmt: skip
        alone = judge(part, run.findings.rules, run.decision)
        places = [alone.of(role) for role in look.roles]
        assert np.array_equal(alone.decision[places], look.decision)


def test_units_are_whole_and_in_an_order_that_the_seed_fixes(until: Until) -> None:
    run, other = until(), until(seed=1)
    units = list(dict.fromkeys(run.scores.units))
    assert [unit for unit in units for _ in range(2)] == list(run.scores.units)
    assert units != sorted(units)
    assert units != list(dict.fromkeys(other.scores.units))
    assert run.manifest["source"]["sha256"] != other.manifest["source"]["sha256"]


def test_a_share_of_heads_may_stay_open_and_is_named(until: Until) -> None:
    looks: list[Look] = []
    run = until(decided=0.5, units_per_look=4, watch=looks.append)
    record = run.manifest["until"]
    assert record["stopped"]
    assert 6 <= record["decided"] < 12
    assert [look.tests - look.left >= 6 for look in looks] == [False] * (len(looks) - 1) + [True]
    assert f"when {record['decided']} of 12 roles × heads were decided. Open: " in run.skipped[0]
    named = [f"{layer}-{head}" for layer, head in np.argwhere(looks[-1].open[0]).tolist()]
    assert record["open"].get("local", []) == named


def test_a_budget_that_ends_is_a_run_over_all_inputs_with_the_open_heads_named(until: Until) -> None:
    looks: list[Look] = []
    run = until(limit=40, watch=looks.append)
    record = run.manifest["until"]
    assert not record["stopped"]
    assert record["units"] == record["of_units"] == looks[-1].units == len(set(run.scores.units))
    assert record["examples"] == 40
    assert looks[-1].last
    left = record["tests"] - record["decided"]
    assert left > 0
    assert run.skipped[0].startswith(f"The budget of {record['units']} units ended with {left} of 12 roles")
    assert left == (run.findings.decision == 2).sum()


def test_a_look_can_take_back_a_decision(monkeypatch: pytest.MonkeyPatch) -> None:
    means = [0.5, 0.5, -0.1, -0.1, -0.1, -0.1, -0.1, -0.1]  # of shards of 64 units
    rules = (Rule("local", stated_low=-0.5, stated_high=1.0),)
    facts = Facts(1, 2, {}, "", ("local",), {}, Known())
    names = [f"u{place}" for place in range(64 * len(means))]
    survey = Survey(len(names), len(names), tuple(names), "", "", "", dict.fromkeys(names, 0))

    def read(place: Any, receipt: Receipt, *_: Any) -> Scores:
        own = tuple(names[64 * receipt.number : 64 * receipt.number + 64])
        values = np.full((1, 64, 1, 2), means[receipt.number], dtype=np.float32)
        values[..., 1] = -0.1
        level, tokens = np.zeros((1, 64)), np.full(64, 12)
        return Scores(("local",), own, own, tokens, level + 12, values, level)

    monkeypatch.setattr("headroles.shards.receipts.read_shard", read)
    looks: list[Look] = []
    options = LabelOptions(task="QNLI", until="decided")
    tally = PrefixReceipts(
        Looks(options, rules, lambda rules, counts: rules, facts, survey, MemoryPlace(), looks.append)
    )
    monkeypatch.setattr(Look, "stops", False)
    for number in range(len(means)):
        tally.add(Receipt(number, 64, 0, 0, "", "", {}, (None,), (None,)))
    first = [int(look.decision[0, 0, 0]) for look in looks]
    assert first[1] == 0  # a role, as long as means are high
    assert first[-1] == 1  # and none of its evidence is left
    assert 2 in first
    assert [int(look.decision[0, 0, 1]) for look in looks][2:] == [1] * 6


def test_another_level_goes_on_from_the_shards_that_are_there(until: Until, tmp_path: Path) -> None:
    until(out=tmp_path / "run", units_per_look=4, decided=0.5)
    before = {file.name: file.stat().st_mtime_ns for file in (tmp_path / "run" / "shards").iterdir()}
    run = until(out=tmp_path / "run", units_per_look=4, overwrite=True)
    after = {file.name: file.stat().st_mtime_ns for file in (tmp_path / "run" / "shards").iterdir()}
    assert before.items() < after.items()
    assert run.manifest["until"]["decided"] == 12
    fresh = until(out=tmp_path / "fresh", units_per_look=4)
    assert np.array_equal(run.findings.p, fresh.findings.p, equal_nan=True)
    assert verify(tmp_path / "run").files == verify(tmp_path / "fresh").files


def test_a_role_that_hardly_applies_stays_open_until_enough_units_were_read(until: Until) -> None:
    run = until(sieve=["local", "block"])  # single texts have no block
    record = run.manifest["until"]
    assert record["stopped"]
    assert record["units"] >= 50
    assert (run.findings.decision[run.findings.of("block")] == 3).all()
    assert "block does not apply to these inputs" in " ".join(run.skipped)


def test_heads_of_a_role_whose_contrast_lacks_inputs_are_open_before_the_end(stopped: Path) -> None:
    run = headroles.load(stopped)
    places = [run.findings.of("local"), run.findings.of("delimiter")]
    still_open = partial(open_heads, run.findings, places, run.scores)
    assert not still_open((), False).any()
    assert still_open((True, False), False)[0].all()
    assert not still_open((True, False), False)[1].any()
    assert not still_open((True, True), True).any()


def test_judging_a_stopped_run_by_a_test_for_fixed_numbers_warns_until_it_is_taken_back(
    stopped: Path, tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(stopped, tmp_path / "run"))
    units = headroles.load(folder).manifest["until"]["units"]
    warned = headroles.judge_again(folder, test="t-skew")
    (note,) = warned.manifest["notes"]
    assert note == (
        f"These error rates do not hold (judge with --test betting): the run stopped after {units} units "
        f"because of its scores, and t-skew assumes a fixed number of units."
    )
    assert verify(folder)
    assert note in headroles.load(folder).manifest["notes"]
    both = headroles.judge_again(folder, test="t-skew", interval="t").manifest["notes"]
    assert both == [note.replace("t-skew assumes", "t-skew and the interval t assume")]
    back = headroles.judge_again(folder, test="betting", interval="test")
    assert back.manifest["notes"] == []


def test_the_manifest_of_a_stopped_run_has_the_schema(stopped: Path) -> None:
    schema = json.loads((resources.files("headroles") / "sharing/schemas/manifest.schema.json").read_text())
    stop = json.loads((stopped / "manifest.json").read_text())["until"]
    assert set(stop) == set(schema["properties"]["until"]["properties"])
    jsonschema.validate(stop, schema["properties"]["until"])


@pytest.mark.with_report
def test_the_report_says_in_its_line_that_the_run_stopped(until: Until, tmp_path: Path) -> None:
    run = until(out=tmp_path / "run")
    units = run.manifest["until"]["units"]
    assert f"stopped at {units} of {UNITS} units" in (tmp_path / "run" / "report.html").read_text()


def test_the_methods_paragraph_says_how_units_were_read_and_where_the_run_stopped(stopped: Path) -> None:
    run = headroles.load(stopped)
    text, looks = headroles.methods(run), run.manifest["until"]["looks"]
    order = "Units were read in random order (seed 0), with a look at all heads after every 16 units"
    assert f"{order} ({looks} looks). {run.skipped[0]}" in text
    assert text.count(run.skipped[0]) == 1
