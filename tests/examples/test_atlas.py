"""The example of atlases: samples, corpora, what it prints, skips and keeps, and checkpoints of a model."""

import gzip
import importlib.util
import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import headroles
from headroles.storage.atlas.folder import load_atlas
from headroles.tasks import TASKS
from tests.support.hostile_runs import labelled

FOLDER = Path(__file__).resolve().parents[2] / "examples"
ROLES = ("local", "delimiter", "syntactic")


def _script(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def example() -> Any:
    """The script as a module."""
    return _script(FOLDER / "atlas" / "make.py")


@pytest.fixture(scope="module")
def finetune() -> Any:
    """The script of the fine-tuning as a module."""
    return _script(FOLDER / "finetune-mrpc" / "finetune.py")


def _glue(shared: Path) -> None:
    """Write a file for every task, with a text that comes twice."""
    for task in TASKS:
        columns = TASKS[task].columns
        rows = [[f"{column} of {number % 21}" for column in columns] for number in range(24)]
        file = shared / "data" / "glue" / task / "dev.tsv"
        file.parent.mkdir(parents=True)
        lines = "\n".join("\t".join(row) for row in [list(columns), *rows])
        file.write_text(f"{lines}\n", encoding="utf-8-sig")


@pytest.fixture
def maker(example: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A maker whose runs are made up; of the data, only those of GLUE are there."""
    _glue(tmp_path / "shared")
    made = example.Maker(tmp_path / "shared", tmp_path / "out", 8, 24)

    def run(name: str, task: str | None = None, preset: str = "calibrated", **options: object) -> Path:
        folder = Path(made.out / "runs" / name)
        facts = {"model": {"name": "tiny", "layers": 6, "heads": 4}, "preset": preset, "task": task}
        if not folder.exists():
            seed = len(list(folder.parent.iterdir())) + 1
            run = labelled(ROLES, (40, 6, 4), seed=seed)
            headroles.save(replace(run, manifest=dict(run.manifest) | facts), folder)
        return folder

    monkeypatch.setattr(made, "run", run)
    return made


def test_samples_have_no_text_in_common_and_keep_whole_rows(example: Any, tmp_path: Path) -> None:
    _glue(tmp_path)
    for task in TASKS:
        source = tmp_path / "data" / "glue" / task / "dev.tsv"
        first, second = example.write_samples(source, task, tmp_path, 8)
        header, *rows = source.read_text(encoding="utf-8-sig").splitlines()
        parts = [file.read_text(encoding="utf-8").splitlines() for file in (first, second)]
        assert [part[0] for part in parts] == [header] * 2
        chosen = parts[0][1:] + parts[1][1:]
        assert len(chosen) == len(set(chosen)) == 16
        assert set(chosen) <= set(rows)
        assert example.write_samples(source, task, tmp_path / "data", 100)[0].read_text().count("\n") == 11


def test_documents_of_gum_are_cut_by_genre(example: Any, tmp_path: Path) -> None:
    lines = [
        f"# newdoc id = GUM_{genre}_{number}\n1\t{genre}\n\n"
        for number, genre in enumerate(["news", "vlog", "court", "fiction"])
    ]
    source = tmp_path / "gum.conllu.gz"
    source.write_bytes(gzip.compress("".join(lines).encode()))
    spoken, written = example.write_genres(source, tmp_path)
    assert spoken.read_text(encoding="utf-8") == lines[1] + lines[2]
    assert written.read_text(encoding="utf-8") == lines[0] + lines[3]


@pytest.mark.slow
def test_tasks_prints_what_holds_by_the_tables_of_its_atlases(example: Any, maker: Any) -> None:
    said = list(example.tasks(maker))
    atlases = {name: load_atlas(maker.out / "atlas" / name) for name in TASKS}
    for name, atlas in atlases.items():
        both = sum(row.held == 2 for row in atlas.consensus)
        confirmed = sum(row.held > 0 and row.r <= 0.05 for row in atlas.consensus)
        assert f"| {name} | {len(example.given_somewhere(atlas))} | {both} | {confirmed} |" in said[3]
    whole = load_atlas(maker.out / "atlas" / "tasks")
    assert len(whole.runs) == 8
    everywhere = sum(row.at_least == 8 for row in whole.consensus)
    assert any(text.startswith(f"{everywhere} of ") for text in said)
    counts = [line.split(" | ") for line in said[1].splitlines()[2:]]
    assert [row[0].strip("| ") for row in counts] == [*ROLES, "all roles"]
    assert [sum(int(row[place]) for row in counts[:-1]) for place in (1, 2, 3)] == [
        int(counts[-1][place]) for place in (1, 2, 3)
    ]


@pytest.mark.slow
def test_trainings_are_shown_in_the_order_of_their_steps(example: Any, maker: Any) -> None:
    (maker.shared / "data" / "glue" / "MRPC" / "train.tsv").touch()
    for step in (100, 0, 20):
        (maker.out / "models" / "mrpc" / f"step-{step}").mkdir(parents=True)
    said = list(example.training(maker))
    assert (
        said[1].splitlines()[0]
        == "| role | from step-0 | from step-20 | from step-100 | lost | rise | fall |"
    )
    assert (maker.out / "atlas" / "training" / "trends.csv").exists()


def test_what_is_absent_is_skipped_with_its_reason(
    example: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    example.main(["--shared", str(tmp_path / "none"), "--out", str(tmp_path / "out")])
    printed = capsys.readouterr().out
    for name in ("data/glue/QNLI/dev.tsv", "models/stories260K", "data/glue/MRPC/train.tsv"):
        assert f"skipped: '{tmp_path / 'none' / name}' is not there; --shared names the folder" in printed
    assert list((tmp_path / "out" / "runs").iterdir()) == []


def test_runs_of_other_sizes_are_not_mixed(example: Any, tmp_path: Path) -> None:
    words = ["--shared", str(tmp_path / "none"), "--out", str(tmp_path / "out"), "--only"]
    example.main(words)
    example.main(words)
    with pytest.raises(SystemExit, match=r"other settings: .*100.*; name another --out"):
        example.main([*words[:-1], "--limit", "50", "--only"])


def test_a_finished_run_is_not_made_again(
    example: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[dict[str, Any]] = []

    def label(task: str, *, out: Path, **options: Any) -> None:
        calls.append(options | {"task": task})
        out.mkdir()
        (out / "report.html").touch()

    monkeypatch.setattr(example.headroles, "label", label)
    made = example.Maker(tmp_path, tmp_path / "out", 8, 24)
    assert made.run("QNLI", "QNLI", limit=9) == made.run("QNLI", "QNLI") == tmp_path / "out" / "runs" / "QNLI"
    assert calls == [{"task": "QNLI", "model": None, "limit": 9, "maps": 0}]


@given(count=st.integers(2, 9), steps=st.integers(0, 5000))
def test_checkpoints_go_evenly_from_before_the_first_step_to_after_the_last(
    finetune: Any, count: int, steps: int
) -> None:
    kept = finetune.checkpoint_steps(count, steps)
    assert (kept[0], kept[-1], len(kept)) == (0, steps, count)
    gaps = [after - before for before, after in pairwise(kept)]
    assert max(gaps) - min(gaps) <= 1


def test_stories_are_written_one_a_line(stories: Path, tmp_path: Path) -> None:
    script, file = _script(FOLDER / "atlas" / "stories.py"), tmp_path / "stories.jsonl"
    script.write_stories(stories, file, 3, tokens=12)
    first = file.read_text(encoding="utf-8")
    texts = [json.loads(line)["text"] for line in first.splitlines()]
    assert len(set(texts)) == 3
    script.write_stories(stories, file, 3, tokens=12)
    assert file.read_text(encoding="utf-8") == first
