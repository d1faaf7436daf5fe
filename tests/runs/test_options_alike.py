"""An option means the same in every kind of run, in extract and in preprocess."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import headroles
from headroles import Labelling
from headroles.errors import BadInput, HeadrolesError, UnknownName
from headroles.kinds import KINDS, kind_named

QUICK: dict[str, dict[str, Any]] = {
    "label": {"sieve": "local", "maps": 0},
    "cluster": {"sieve": "local", "maps": 0, "draws": 20},
    "surface": {},
    "ablate": {"outcome": "tokens"},
    "why": {"rotations": 99},
    "probe": {"probes": "dependency", "relations": "nsubj"},
}
INPUTS = 8
every_kind = pytest.mark.parametrize("kind", KINDS)

Start = Callable[..., Labelling]


@pytest.fixture(scope="module")
def gold(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Documents with words and trees, one a line."""
    file = tmp_path_factory.mktemp("alike") / "gold.jsonl"
    rows = [
        {
            "text": f"we sign treaty number {number}",
            "words": ["we", "sign", "treaty", "number", str(number)],
            "heads": [2, 0, 2, 3, 4],
            "relations": ["nsubj", "root", "obj", "nsubj", "nsubj"],
        }
        for number in range(INPUTS)
    ]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


@pytest.fixture(scope="module")
def labelled(planted: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a label run on other inputs, so that these decide no role."""
    folder = tmp_path_factory.mktemp("labelled") / "run"
    headroles.label("QNLI", model=planted, limit=24, max_length=48, sieve="local", maps=0, out=folder)
    return folder


@pytest.fixture(scope="module")
def start(gold: Path, planted: Path, labelled: Path) -> Start:
    """Make a run of a kind on these documents."""

    def run(kind: str, **options: Any) -> Labelling:
        texts: dict[str, Any] = {} if kind == "probe" else {"text_a": "text"}
        texts |= {"folder": labelled} if kind == "why" else {}
        given = {"data": gold, "model": planted, "max_length": 48} | texts | QUICK[kind] | options
        labelling: Labelling = getattr(headroles, kind)(**given)
        return labelling

    return run


def _numbers(run: Labelling) -> list[int]:
    """Numbers of the inputs of a run, from their keys such as "gold/3" or "gold/3@0"."""
    return [int(key.partition("/")[2].partition("@")[0]) for key in run.scores.examples]


@every_kind
def test_first_is_the_first_inputs_and_the_run_says_so(kind: str, start: Start) -> None:
    run = start(kind, first=4)
    assert _numbers(run) == [0, 1, 2, 3]
    assert run.manifest["source"]["taken"] == "the first 4"
    assert run.manifest["settings"]["first"] == 4
    assert "--first 4" in run.manifest["command"]
    assert run.skipped[0].startswith("only the first 4 inputs were read (--first)")


@every_kind
def test_limit_is_a_random_subset_that_the_seed_draws(kind: str, start: Start) -> None:
    drawn = [tuple(_numbers(start(kind, limit=4, seed=seed))) for seed in (0, 0, 1, 2)]
    assert drawn[0] == drawn[1]
    assert len(set(drawn)) > 1
    assert all(list(numbers) == sorted(numbers) for numbers in drawn)


@every_kind
def test_limit_and_first_together_are_refused(kind: str, start: Start) -> None:
    with pytest.raises(BadInput, match="--limit draws a random sample and --first takes the first inputs"):
        start(kind, limit=4, first=4)


@pytest.mark.parametrize("kind", ["label", "cluster", "surface"])
def test_a_stream_reads_the_first_inputs_of_every_run_on_texts(kind: str, start: Start) -> None:
    counted, streamed = start(kind, first=4), start(kind, first=4, stream=True)
    assert streamed.scores.values.tobytes() == counted.scores.values.tobytes()
    assert streamed.findings.p.tobytes() == counted.findings.p.tobytes()
    assert "--stream" in streamed.manifest["command"]
    with pytest.raises(BadInput, match="use --first 4"):
        start(kind, limit=4, stream=True)


def test_probes_have_no_stream(start: Start) -> None:
    with pytest.raises(UnknownName, match="no option is called 'stream'"):
        start("probe", stream=True)


@pytest.mark.parametrize("kind", ["label", "cluster", "surface"])
def test_a_task_in_any_case_is_the_same_run(kind: str, planted: Path, tmp_path: Path) -> None:
    contents = []
    for task in ("QNLI", "qnli"):
        out = tmp_path / task
        options: dict[str, Any] = {"model": planted, "max_length": 48, "first": 3} | QUICK[kind]
        getattr(headroles, kind)(task, out=out, **options)
        contents.append(
            {path.relative_to(out): path.read_bytes() for path in out.rglob("*") if path.is_file()}
        )
    assert contents[0] == contents[1]
    with pytest.raises(UnknownName, match="did you mean 'QNLI'"):
        getattr(headroles, kind)("qnlii")


@pytest.mark.parametrize("kind", ["label", "cluster", "surface"])
def test_a_stream_of_an_earlier_version_with_a_limit_had_the_first_inputs(
    kind: str, start: Start, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    now = start(kind, first=6, stream=True, out=out)
    before = dict(now.manifest["settings"]) | {"limit": 6}
    del before["first"]
    options: Any = kind_named(kind).options(before)
    assert (options.first, options.limit) == (6, None)
    assert options.settings() == now.manifest["settings"]


def test_a_probe_of_an_earlier_version_had_a_window(start: Start) -> None:
    settings = dict(start("probe").manifest["settings"])
    settings["window"] = settings.pop("max_length")
    options = kind_named("probe").options(settings)
    assert options.settings() == start("probe").manifest["settings"]


def test_probes_take_the_longest_input_by_the_name_that_all_runs_use(start: Start) -> None:
    run = start("probe", probes=["dependency", "trees"], max_length=8)
    assert run.manifest["tokenizer"]["max_length"] == 8
    with pytest.raises(HeadrolesError, match="no option is called 'window'"):
        start("probe", window=8)
