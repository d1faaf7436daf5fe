"""Shards: how inputs are cut, what counts as done, sums instead of scores, and what is never mixed."""

import json
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import reduce
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import headroles
from headroles import Labelling, Look, records
from headroles import shards as ours
from headroles.catalogue import sieve_of
from headroles.errors import BadInput
from headroles.inputs import Identity
from headroles.kinds import kind_named
from headroles.records import GROUPS, Moments, Passage, Rule, Scores, group_of, moments_of
from headroles.storage import LocalPlace, MemoryPlace, moments_bytes, parse_moments
from tests.storage.conftest import FEW
from tests.support.folders import assert_same

CHANGED = "inputs of a run must not change, but they have"


class Inputs(list[Passage]):
    """Inputs at hand, as a corpus, which counts how many are taken."""

    source: dict[str, Any] = {"kind": "file", "name": "here"}  # noqa: RUF012
    gold, units, identity, taken = False, None, Identity(), 0

    def __iter__(self) -> Iterator[Passage]:
        """Yield the inputs."""
        for passage in list.__iter__(self):
            self.taken += 1
            yield passage

    def close(self) -> None:
        """Nothing is open."""


def inputs(count: int) -> Inputs:
    """Return texts of which every seventh is that of three before, in groups now and then."""
    made = Inputs()
    for k in range(count):
        text = f"text {k - 3 if k % 7 == 6 else k}"
        group = f"group {k // 10}" if k % 10 < 2 else None
        made.append(Passage(f"x/{k}", (text, f"other {k}"), group))
    return made


def receipt(number: int, **more: Any) -> Any:
    """Return a receipt."""
    usual: dict[str, Any] = {"examples": 4, "tokens": 9, "truncated": 1, "digest": "d", "identity": "one"}
    return ours.Receipt(
        number, **usual | {"files": {}, "low": (-0.5, None), "high": (0.1 + 0.2, None)} | more
    )


def test_a_survey_names_units_by_group_or_shared_text_and_shards_follow_the_order_of_inputs() -> None:
    given_inputs, wanted = inputs(60), [*range(60)]
    survey = ours.count_inputs(given_inputs, 100, False)
    for _ in range(60):
        for one, other in combinations(range(60), 2):
            first, second = given_inputs[one], given_inputs[other]
            if first.texts[0] == second.texts[0] or (first.group and first.group == second.group):
                wanted[one] = wanted[other] = min(wanted[one], wanted[other])
    assert len(set(survey.units)) == len(set(wanted)) < 54
    assert len({*zip(survey.units, wanted, strict=True)}) == len(set(wanted))  # the same partition
    assert (survey.count, survey.whole) == (60, True)
    tasks = list(ours.cut_into_tasks(given_inputs, survey, 25))
    assert [(task.number, len(task.passages)) for task in tasks] == [(0, 25), (1, 25), (2, 10)]
    assert [each.key for task in tasks for each in task.passages] == [f"x/{k}" for k in range(60)]
    assert [each for task in tasks for each in task.units] == list(survey.units)
    assert len({task.digest for task in tasks}) == 3


def test_beyond_what_is_kept_a_stream_is_not_gone_through_and_a_file_is_counted() -> None:
    counted, streamed = inputs(40), inputs(40)
    file, stream = ours.count_inputs(counted, 10, False), ours.count_inputs(streamed, 10, True)
    assert (file.count, file.units, file.whole, counted.taken) == (40, None, False, 40)
    assert (stream.count, stream.units, streamed.taken) == (None, None, 11)
    assert file.sha256 == ours.count_inputs(inputs(40), 100, False).sha256 != stream.sha256


def test_inputs_that_change_while_a_run_is_made_are_refused_and_a_stream_may_grow() -> None:
    edited = inputs(24)
    edited[3] = replace(edited[3], texts=("edited",))
    for keep, stream, shards, others in (
        (100, False, 3, (inputs(27), inputs(20), edited)),
        (10, False, 3, (inputs(27), inputs(20), edited)),
        (10, True, 3, (edited, inputs(9))),
    ):
        survey = ours.count_inputs(inputs(24), keep, stream)
        assert len(list(ours.cut_into_tasks(inputs(24), survey, 10))) == shards
        for other in others:
            with pytest.raises(BadInput, match="they have; start it again"):
                list(ours.cut_into_tasks(other, survey, 10))
    assert len(list(ours.cut_into_tasks(inputs(31), ours.count_inputs(inputs(24), 10, True), 10))) == 4


def test_whatever_is_read_of_an_input_is_in_the_digest_of_its_shard() -> None:
    words = records.Words(np.array([[0, 1]], np.int32), np.array([-1], np.int32), ("root",))
    one = Passage("x/0", ("a",), None, (words,))
    others = [
        replace(one, key="x/1"), replace(one, texts=("b",)), replace(one, group="g"),
        replace(one, words=None),
        replace(one, words=(replace(words, relations=("dep",)),)),
        replace(one, words=(replace(words, heads=np.array([0], np.int32)),)),
        replace(one, words=(replace(words, lemmas=("a",)),)),
    ]  # fmt: skip
    digests = [ours.digest_of([each], ["u"]) for each in (one, *others)]
    assert len({*digests, ours.digest_of([one], ["v"])}) == 9


def test_a_receipt_comes_back_as_it_was_written_and_counts_only_byte_for_byte() -> None:
    for written in (receipt(3), receipt(3, counts={"pairs": 2}, files={"a": "b"})):
        data = ours.receipt_bytes(written)
        assert ours.receipt_of(data) == written
        others = [b"", data[:40], b"[]", b"null", b'{"sha256": 1}', data.replace(b'"d"', b'"else"')]
        others += [data[:-1], data + b"\n", b" " + data, data.replace(b"\n", b"\r\n"), b"[" * 100_000]
        others += [data[:k] + bytes([data[k] ^ 1]) + data[k + 1 :] for k in range(len(data))]
        assert [spoiled for spoiled in others if ours.receipt_of(spoiled) is not None] == []


def test_a_shard_is_done_when_all_its_bytes_are_there(tmp_path: Path) -> None:
    (task,) = ours.cut_into_tasks(inputs(4), ours.count_inputs(inputs(4), 9, False), 9)
    for place in (MemoryPlace(), LocalPlace(tmp_path)):

        def found(identity: str = "one", place: Any = place, **change: Any) -> Any:
            return ours.find_finished_shard(place, replace(task, **change), identity)

        assert found() is None
        contents = {"scores/a": b"12", "shards/00000.npz": b"3"}
        written = ours.write_shard(place, receipt(0, digest=task.digest), contents)
        assert found() == written
        assert (found("another"), found(digest="another"), found(number=1)) == (None, None, None)
        assert ours.read_checked_files(place, 0, ("npz",)) == [b"3"]
        for name, whole in contents.items():
            for spoiled in (whole[:-1], whole + b" ", bytes([whole[0] ^ 1]) + whole[1:]):
                place.write(name, spoiled)
                assert ours.find_damaged_file(place, written.files) == name
                assert found() is None
                unneeded = {name}.__contains__
                assert ours.find_finished_shard(place, task, "one", unneeded) == written
            place.write(name, whole)
        place.write("shards/00000.npz", b"4")
        with pytest.raises(BadInput, match=r"'shards/00000\.npz' was altered or taken away while the run"):
            ours.read_checked_files(place, 0, ("npz",))
        place.delete("shards/00000.npz")
        with pytest.raises(BadInput, match=r"'shards/00000\.\*' was altered or taken away while the run"):
            ours.read_checked_files(place, 0, ("npz",))


def test_an_identity_changes_with_each_component_and_says_with_which() -> None:
    components = {"weights": "a", "settings": {"seed": 1}, "parser": None, "device": ["cpu", "float32"]}
    assert ours.name_differences(json.loads(json.dumps(components)), components) == []
    for name, other, said in (
        ("weights", "b", "model weights"),
        ("settings", {"seed": 2}, "settings"),
        ("parser", {"name": "p"}, "parser"),
        ("device", ["cpu", "bfloat16"], "device or precision"),
    ):
        changed = components | {name: other}
        assert ours.identity_of(changed) != ours.identity_of(components)
        assert ours.name_differences(components, changed) == [said]


def test_the_code_of_every_sieve_is_in_the_identity(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    identity: Any = sys.modules[ours.identity_of.__module__]
    here, copy = identity.code(), tmp_path / "headroles"
    shutil.copytree(headroles.__path__[0], copy, ignore=shutil.ignore_patterns("__pycache__", "sieves"))
    shutil.copytree(sys.modules["headroles.sieves"].__path__[0], copy / "sieves")  # as in a wheel: no link
    monkeypatch.setattr(identity, "PACKAGE", copy)
    monkeypatch.setattr(identity, "SIEVES", copy / "sieves")
    assert identity.code() == here
    counting = ("sieves/built_in/local.py", "extraction/capture/plain.py", "records/moments.py")
    for name in (*counting, "cli/main.py", "comparing/compare.py", "shards/engines/here.py"):
        with (copy / name).open("a") as file:
            file.write("\n# changed\n")
        assert (identity.code() != here) == (name in counting), name
        here = identity.code()
    mine, digests = tmp_path / "mine.py", []
    for offset in (1, 1, 2):
        mine.write_text(
            "import numpy as np\nfrom headroles import sieve\n\n@sieve('mine')\ndef mine(example):\n"
            f"    return np.eye(example.size, k={offset}, dtype=bool)\n"
        )
        digests.append(ours.sieves_digest([sieve_of(f"{mine}:mine")])["mine"])
    assert digests[0] == digests[1] != digests[2]
    assert ours.sieves_digest([sieve_of("local"), sieve_of("block")]) == {}


@given(st.permutations(range(8)), st.integers(0, 9))
def test_the_stop_and_all_sums_are_the_same_in_every_order_of_shards(order: list[int], stop: int) -> None:
    """A run that never stops needs all its shards."""
    seen: list[tuple[int, int, int]] = []

    def judge(last: Any, tally: Any) -> Look:
        seen.append((last.number, tally.truncated, tally.counts["pairs"]))
        decision = np.array([[[0 if last.number >= stop else 2]]])
        return Look(len(seen), 2, 2, 40, 40, ("local",), decision, decision == 2)

    tally = ours.PrefixReceipts(judge)
    for number in order:
        if not tally.stopped:
            tally.add(receipt(number, truncated=number, low=(-float(number),), counts={"pairs": number}))
    last = min(stop, 7)
    sums = [sum(range(number + 1)) for number in range(last + 1)]
    assert seen == [(number, total, total) for number, total in enumerate(sums)]
    assert tally.stopped == (stop <= 7)
    assert tally.shards == last + 1
    assert [each.number for each in tally.receipts] == [*range(last + 1)]
    assert tally.low.tolist() == [-float(last)]
    tally.check(8)


def test_late_shards_keep_few_rows_and_none_of_the_sample_is_lost() -> None:
    from scipy import stats

    keys, kept = [f"x/{n}" for n in range(20_000)], []
    for number in range(20):
        own = np.array(keys[number * 1000 : number * 1000 + 1000])
        kept.append(own[ours.select_candidates(own.tolist(), seed=1, before=number * 1000, size=100)])
    assert len(kept[0]) == 100
    assert len(kept[-1]) < 30
    left = np.concatenate(kept)
    sample = left[ours.select_candidates(left.tolist(), seed=1, before=19_000, size=100)]
    assert set(sample) == set(np.array(keys)[np.argsort(ours.ranks_of(keys, 1), kind="stable")[:100]])
    other = np.array(keys)[np.argsort(ours.ranks_of(keys, 2), kind="stable")[:100]]
    assert len({*sample} & {*other}) < 10
    assert stats.kstest(np.array(ours.ranks_of(keys, 1)) / ours.LARGEST_RANK, "uniform").pvalue > 1e-3
    for size in (1, 7, 100, 2000, 20_000):  # the sample is cut into in one of a thousand million runs
        for before in (10 * size + 1000, 10**6, 10**9):
            assert stats.binom.cdf(size, before, ours.rank_ceiling(before, size) / ours.LARGEST_RANK) < 1e-9


RULES = (Rule("a", contrast="c"), Rule("b", pooled=True), Rule("c", role=False))


def scored(examples: int, seed: int = 0) -> Scores:
    """Return scores of 3 columns and 2 x 3 heads with holes, chance values and cells that differ."""
    rng = np.random.default_rng(seed)
    values = rng.normal(0.1, 0.2, (3, examples, 2, 3))
    values[0, rng.random(examples) < 0.2] = np.nan
    values[1, rng.random(examples) < 0.2, 1] = np.nan
    cells = rng.integers(0, 9, (3, examples)).astype(float)
    cells[2] = np.nan
    null = np.stack([np.zeros(examples), rng.random(examples) / 9, np.full(examples, 0.5)])
    keys, units = (tuple(f"{letter}/{n}" for n in range(examples)) for letter in "xu")
    tokens = rng.integers(4, 30, examples)
    return Scores(("a", "b", "c"), keys, units, tokens, cells, values.astype(np.float32), null)


def cut(scores: Scores, size: int) -> list[Scores]:
    """Return the scores of shards of a size."""
    count = len(scores.examples)
    starts = range(0, count, size)
    return [scores.take(np.arange(start, min(start + size, count))) for start in starts]


def sums(scores: Scores, size: int) -> Moments:
    """Return the sums of shards of a size, merged in their order."""
    parts = enumerate(cut(scores, size))
    return reduce(
        lambda one, other: one.merged(other),
        (moments_of(part, RULES, number, f"digest {number}") for number, part in parts),
    )


@given(seed=st.integers(0, 2**32 - 1), size=st.integers(1, 90))
@settings(max_examples=15)
def test_sums_of_shards_are_those_of_all_their_examples_and_of_plain_loops(seed: int, size: int) -> None:
    scores = scored(80, seed)
    added, whole = sums(scores, size), moments_of(scores, RULES, 0)
    for name in records.ARRAYS:
        np.testing.assert_allclose(getattr(added, name), getattr(whole, name), rtol=1e-12, atol=1e-12)
    assert (added.start, added.stop, added.examples) == (0, -(-80 // size), 80)
    x = scores.values.astype(float) - scores.null[:, :, None, None]
    weight = np.ones_like(x)
    weight[1] = scores.cells[1][:, None, None]
    weight[np.isnan(x)] = 0
    np.testing.assert_allclose(added.weight.sum(axis=1), weight.sum(axis=1))
    np.testing.assert_allclose(added.total.sum(axis=1), np.nansum(weight * x, axis=1), atol=1e-12)
    np.testing.assert_allclose(added.square, np.nansum(weight * x * x, axis=1), atol=1e-12)
    assert (added.count == (weight > 0).sum(axis=1)).all()
    assert (added.spoke == (weight > 0).any(axis=(2, 3)).sum(axis=1)).all()
    assert added.tokens == scores.tokens.sum()
    np.testing.assert_allclose(added.cells, np.nansum(scores.cells, axis=1))
    np.testing.assert_allclose(added.nulls, scores.null.sum(axis=1))


def test_units_fall_into_groups_evenly_and_are_documents_or_identical_texts() -> None:
    from scipy import stats

    counts = np.bincount([group_of(f"document {n}") for n in range(20_000)], minlength=GROUPS)
    assert len(counts) == GROUPS
    assert stats.chisquare(counts).pvalue > 1e-3
    assert (group_of("a"), group_of("b")) == (81, 166)  # in every version, or old sums could not be added to
    unit, long, short = records.unit_by_longest_text, "It rains in Spain.", "Why?"
    assert unit("wiki/1", ["a", "b"]) == "wiki/1"
    same = [[long], [short, long], [long, short], [long, "How?"]]
    assert len({unit(None, texts) for texts in same}) == 1
    assert unit(None, [short]) != unit(None, [long])
    assert long not in unit(None, [long])
    assert unit(None, ["ab", "cd"]) == unit(None, ["cd", "ab"])


def test_moments_come_back_from_a_file_of_the_groups_that_units_fall_into_only() -> None:
    whole = sums(scored(100), 7)
    content = moments_bytes(whole)
    assert moments_bytes(sums(scored(100), 7)) == content
    assert_same(parse_moments(content), whole)
    for name, value in (("count", -1), ("square", np.nan), ("weight", -1.0)):
        with pytest.raises((ValueError, BadInput)):
            parse_moments(moments_bytes(replace(whole, **{name: np.full_like(getattr(whole, name), value)})))


def options() -> Any:
    """Return options of a run that keeps sums, of shards of 20."""
    return kind_named("label").options({"task": "QNLI", "keep": 30, "shard_size": 20, "seed": 3})


def leave(place: Any, scores: Scores, number: int) -> None:
    """Leave what a worker leaves of a shard."""
    task = ours.Task(number, (), (), f"digest {number}")
    none = (None,) * len(RULES)
    done = ours.Receipt(number, len(scores.examples), 0, 0, task.digest, "", {}, none, none)
    ours.write_shard(place, done, ours.shard_contents(scores, RULES, task, options()))


def summed_up(scores: Scores, order: Sequence[int]) -> tuple[Moments, Scores, Any]:
    """Do shards in some order; gives the sums and the subsample of all of them, and their place."""
    place, shards = MemoryPlace(), cut(scores, 20)
    adding = ours.RunningSums(place)
    for number in order:
        leave(place, shards[number], number)
        adding.done(number)
    done = adding.finish(len(shards))
    return done, ours.read_subsample(place, len(shards), scores.sieves, (2, 3), options()), place


def test_sums_and_subsample_are_the_same_bits_in_whatever_order_shards_are_done() -> None:
    scores, rng = scored(800), np.random.default_rng(0)
    first, sample, place = summed_up(scores, range(40))
    wanted = ours.select_candidates(scores.examples, seed=3, before=0, size=30)
    assert_same(sample, scores.take(wanted))
    assert not [name for name in place.names() if name.endswith(".npz") and name != "moments.npz"]
    added, other, _ = summed_up(scores, rng.permutation(40).tolist())
    assert moments_bytes(added) == moments_bytes(first) == moments_bytes(sums(scores, 20))
    assert other.examples == sample.examples
    place.write("moments.npz", place.read("moments.npz")[:-9])  # damaged: as none
    assert ours.RunningSums(place).stop == 0
    assert not ours.RunningSums(place).gone("shards/00003.npz")


def test_a_run_that_is_taken_up_again_adds_no_shard_twice_and_none_of_other_inputs() -> None:
    scores = scored(800)
    whole, _, place = summed_up(scores, range(40))
    adding = ours.RunningSums(place)
    for number in range(39):
        adding.seen(ours.Task(number, (), (), "another" if number == 7 else f"digest {number}"))
    with pytest.raises(BadInput, match=CHANGED):
        adding.seen(ours.Task(39, (), (), "digest 39"))
    assert ours.RunningSums(place).stop == 0
    *_, place = summed_up(scores, range(40))
    with pytest.raises(BadInput, match=CHANGED):
        ours.RunningSums(place).finish(39)
    shards, place = cut(scores, 20), MemoryPlace()
    first = ours.RunningSums(place)
    for number in range(25):
        leave(place, shards[number], number)
        first.done(number)
    assert first.stop == 16  # the rest waits, and is still there
    again = ours.RunningSums(place)
    for number in range(40):
        again.seen(ours.Task(number, (), (), f"digest {number}"))
        if number in (3, 12) or number >= 25:  # files of two were damaged, and the shards done again
            leave(place, shards[number], number)
        again.done(number)
    assert moments_bytes(again.finish(40)) == moments_bytes(whole)


def test_its_means_are_those_of_all_examples(summed: Path, label: Callable[..., Labelling]) -> None:
    run, whole = headroles.load(summed), label(group="document", maps=0, shard_size=8)
    assert run.manifest["kept"] == {"mode": "moments", "groups": GROUPS, "examples": 60, "subsample": 20}
    assert run.moments is not None
    assert (run.moments.examples, run.moments.start, run.moments.stop) == (60, 0, 8)
    assert {path.suffix for path in (summed / "shards").iterdir()} == {".json"}  # sums and rows are gone
    means = np.nanmean(whole.scores.values.astype(float), axis=1)
    np.testing.assert_allclose(run.findings.mean, means, atol=1e-9)
    chosen = [whole.scores.examples.index(key) for key in run.scores.examples]
    assert len(chosen) == 20
    assert_same(run.scores, whole.scores.take(np.array(chosen)))
    bounds = [[(rule.low, rule.high) for rule in each.findings.rules] for each in (run, whole)]
    assert bounds[0] == bounds[1]
    np.testing.assert_array_equal(label(**FEW).findings.p, run.findings.p)
    streamed = label(**FEW | {"stream": True, "first": 30})
    assert streamed.manifest["kept"]["examples"] == 30
    assert label(**FEW | {"stream": True, "first": 15}).moments is None
