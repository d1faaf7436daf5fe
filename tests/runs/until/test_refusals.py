"""Options that a run that may stop refuses, each in one sentence."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import headroles
from headroles import Labelling
from headroles.errors import BadInput, UnknownName
from headroles.options.label import LabelOptions

REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "test": ({"test": "t-skew"}, r"only the test 'betting' .* but got --test t-skew"),
    "interval": ({"interval": "t"}, r"'betting' has an interval that holds at every look, but 't' holds"),
    "correction": ({"correction": "maxT"}, "maxT"),
    "preset": ({"preset": "published"}, "--preset and --until exclude each other"),
    "stream": ({"stream": True}, "--stream and --until exclude each other"),
    "shards": ({"shard_size": 16}, r"holds --units-per-look units, so --shard-size and --until exclude"),
    "keep": ({"keep": 10}, r"there are more than --keep 10"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_does_not_hold_at_a_stop_is_refused(until: Callable[..., Labelling], name: str) -> None:
    options, words = REFUSED[name]
    with pytest.raises(BadInput, match=words):
        until(**options)


@pytest.mark.parametrize("options", [{"decided": 0.5}, {"units_per_look": 8}])
def test_options_of_looks_need_a_run_that_may_stop(options: dict[str, Any]) -> None:
    with pytest.raises(BadInput, match=r"is about runs that stop early; leave it out, or give --until"):
        LabelOptions(task="QNLI", **options)


@pytest.mark.parametrize(
    ("options", "words"),
    [({"decided": 0.0}, "decided"), ({"decided": 1.5}, "decided"), ({"units_per_look": 0}, "units_per_look")],
)
def test_numbers_out_of_range_are_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(BadInput, match=words):
        LabelOptions(task="QNLI", until="decided", **options)


def test_only_decided_ends_a_run() -> None:
    with pytest.raises(UnknownName, match="decided"):
        LabelOptions(task="QNLI", until="done")


def test_looks_can_only_be_watched_of_a_run_that_has_some(until: Callable[..., Labelling]) -> None:
    with pytest.raises(BadInput, match="only a run that may stop has looks to watch"):
        until(until=None, units_per_look=64, watch=print)


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["--watch"], "so it needs --until decided"),
        (["--until", "decided", "--watch", "--quiet"], "--quiet shows nothing of a run"),
        (["--until", "decided", "--test", "t"], "only the test 'betting'"),
    ],
)
def test_the_command_refuses_the_same_before_anything_is_opened(
    command: Callable[..., tuple[int, str, str]], words: list[str], error: str
) -> None:
    code, out, err = command("label", "--task", "QNLI", "--model", "no/such", *words)
    assert (code, out) == (1, "")
    assert error in err


def test_the_command_watches_in_a_pipe_and_repeats_the_run(
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
    assert "--until decided" in run.manifest["command"]
    assert "--units-per-look 16" in run.manifest["command"]
    assert "--decided 0.5" in run.manifest["command"]
    assert "--test" not in run.manifest["command"]
