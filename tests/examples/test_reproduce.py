"""The example that makes every figure: its rows are those of the page, and its commands can be typed."""

import importlib.util
import re
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import click
import pytest

from headroles.cli.main import cli
from tests.support.browser import CHROMIUM

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "examples" / "reproduce"
PAGE = ROOT / "docs" / "reproduce.md"
LARGEST = {".svg": 150_000, ".png": 300_000}
"""Most bytes of a picture by its ending."""
ModelOf = Callable[[str], Path]


@pytest.fixture(scope="module")
def example() -> Iterator[Any]:
    """The script as a module."""
    spec = importlib.util.spec_from_file_location("reproduce_make", FOLDER / "make.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    before = list(sys.path)
    spec.loader.exec_module(module)
    sys.path[:] = before
    yield module
    sys.modules.pop("figures", None)


def _rows() -> dict[str, str]:
    """Return the rows of the page's tables: the rest of the line by the name of the figure."""
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    return {match[1]: match[2] for line in lines if (match := re.match(r"\| `([a-z0-9-]+)` \|(.*)\|$", line))}


def test_the_page_has_the_rows_of_the_script_in_its_order(example: Any) -> None:
    assert list(_rows()) == [figure.key for figure in example.FIGURES]


def test_every_row_has_its_picture_or_a_page_or_the_reason_why_there_is_none() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for key, row in _rows().items():
        pictures = re.findall(r"\]\((pictures/reproduce/[^)]+)\)", row)
        elsewhere = re.search(r"\| \[(picture|table)\]\((?:findings|how-to)/[a-z]+\.md\) \|", row)
        assert bool(pictures) + bool(elsewhere) + ("| no picture |" in row) == 1, key
        assert ("| no picture |" in row) == (f"- `{key}`: " in text), key
        for name in pictures:
            file = PAGE.parent / name
            assert file.stem == key
            assert file.stat().st_size <= LARGEST[file.suffix]


def test_every_row_names_the_figure_that_the_script_takes(example: Any) -> None:
    rows = _rows()
    for figure in example.FIGURES:
        named = re.search(r"figure `([a-z0-9-]+)`", rows[figure.key])
        assert (named[1] if named else "") == figure.figure, figure.key


def test_every_picture_stands_on_the_page() -> None:
    files = {file.name for file in (PAGE.parent / "pictures" / "reproduce").iterdir()}
    assert files == set(re.findall(r"\]\(pictures/reproduce/([^)]+)\)", PAGE.read_text(encoding="utf-8")))


def test_every_command_can_be_typed(example: Any, tmp_path: Path) -> None:
    given = dict.fromkeys(example.INPUTS, "given.conllu")
    maker = example.Maker(tmp_path, given, None, 24)
    called: list[Sequence[str]] = []

    def call(words: Sequence[str]) -> None:
        called.append(words)
        made = Path(words[words.index("--out") + 1]) if "--out" in words else tmp_path
        if made.parent == tmp_path / "runs":
            made.mkdir(parents=True)
            (made / "manifest.json").write_text("{}")

    maker.call = call
    example.photograph, before = (lambda page, file: None), example.photograph
    try:
        example.make_all(maker, example.FIGURES)
    finally:
        example.photograph = before
    names = {words[0] for words in called}
    assert {"label", "surface", "cluster", "probe", "view", "compare", "table", "report"} <= names
    for words in called:
        if words[0] in cli.commands:
            context = cli.commands[words[0]].make_context(words[0], list(words[1:]))
            assert isinstance(context, click.Context)


def test_what_has_no_data_is_skipped_with_the_option_that_gives_it(
    example: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    chosen = [figure for figure in example.FIGURES if figure.key in ("clark-figure-3", "clark-table-2")]
    maker = example.Maker(tmp_path, {}, None, None)
    maker.call = lambda words: pytest.fail(f"called {shlex.join(words)}")
    assert example.make_all(maker, chosen) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["clark-figure-3", "clark-table-2"]
    assert "skipped: it needs a masked-word model, as --masked-lm MODEL" in lines[0]
    assert "skipped: it needs documents with mentions of entities, as --coreference FILE" in lines[1]


def test_the_embedded_encoder_is_tuned_once_where_no_tuned_model_is_given(
    example: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[list[str]] = []

    def run_python(words: Sequence[str], shown: str) -> None:
        calls.append(shown.split())
        folder = Path(words[words.index("--out") + 1])
        assert not folder.exists()
        folder.mkdir(parents=True)
        (folder / "model.safetensors").touch()

    monkeypatch.setattr(example, "run_python", run_python)
    (tmp_path / "inputs" / "tuned").mkdir(parents=True)
    (tmp_path / "inputs" / "tuned" / "config.json").touch()
    maker = example.Maker(tmp_path, {}, None, 24)
    assert maker.input("tuned") == maker.input("tuned") == str(tmp_path / "inputs" / "tuned")
    assert [Path(words[1]).name for words in calls] == ["finetune.py"]
    assert Path(calls[0][1]).exists()
    assert calls[0][-2:] == ["--limit", "24"]
    assert example.Maker(tmp_path, {"tuned": "mine"}, None, None).input("tuned") == "mine"
    with pytest.raises(example.Missing, match="it needs a fine-tuned model, as --fine-tuned MODEL"):
        example.Maker(tmp_path, {}, "another-model", None).input("tuned")


def test_a_step_runs_once_for_all_its_figures_and_not_again(
    example: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    chosen = [figure for figure in example.FIGURES if figure.step == "surface"]
    calls: list[str] = []

    def call(words: Sequence[str]) -> None:
        calls.append(words[0])
        run = tmp_path / "runs" / "surface"
        run.mkdir(parents=True, exist_ok=True)
        (run / "manifest.json").write_text("{}")
        if words[0] == "report":
            (run / "figures").mkdir()
            for figure in chosen[1:]:
                (run / "figures" / f"{figure.figure}.svg").write_text("<svg/>")

    maker = example.Maker(tmp_path, {}, None, 24)
    maker.call = call
    assert example.make_all(maker, chosen) == 1
    assert calls == ["surface", "report"]
    assert "failed: the run has no figure kinds" in capsys.readouterr().out
    assert example.make_all(maker, chosen[1:]) == 0
    assert calls == ["surface", "report"]


def test_a_command_that_fails_says_why_in_every_figure_that_needs_it(
    example: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    chosen = [figure for figure in example.FIGURES if figure.step == "cluster"]
    maker = example.Maker(tmp_path, {}, str(tmp_path / "no-model"), 24)
    assert example.make_all(maker, chosen) == len(chosen) == 2
    lines = capsys.readouterr().out.splitlines()
    assert sum(line.startswith("$ headroles cluster") for line in lines) == 1
    assert all("failed: " in line and "no-model" in line for line in lines if not line.startswith("$"))


def test_results_of_other_settings_are_not_mixed(example: Any, tmp_path: Path) -> None:
    example.check_settings(tmp_path, {"limit": 24})
    example.check_settings(tmp_path, {"limit": 24})
    with pytest.raises(SystemExit, match="name another --out"):
        example.check_settings(tmp_path, {"limit": 25})


@pytest.mark.slow
@pytest.mark.skipif(not CHROMIUM.exists(), reason="needs Chromium")
def test_figures_are_made_from_shipped_samples_by_a_tiny_model(
    example: Any, tmp_path: Path, model_of: ModelOf, capsys: pytest.CaptureFixture[str]
) -> None:
    chosen = ["clark-figure-2-top", "clark-table-1", "slides-separator-rows"]
    words = ["--out", str(tmp_path), "--model", str(model_of("bert")), "--limit", "24", "--only"]
    example.main([*words, *chosen])
    assert {file.stem for file in tmp_path.glob("clark-*")} == {"clark-figure-2-top", "clark-table-1"}
    assert (tmp_path / "slides-separator-rows.svg").read_text(encoding="utf-8").startswith("<svg")
    assert "| dependency | det |" in (tmp_path / "clark-table-1.md").read_text(encoding="utf-8").lower()
    capsys.readouterr()
    example.main([*words, *chosen])
    assert "$ headroles" not in capsys.readouterr().out
