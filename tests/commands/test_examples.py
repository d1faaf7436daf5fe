"""The examples: what their scripts train, write, skip and refuse, and that their commands are ours."""

import importlib.util
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
import types
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import click
import numpy as np
import pytest

import headroles
from headroles.cli.main import cli
from headroles.tasks import TASKS
from tests.support.hostile_runs import labelled

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
PAGE = ROOT / "docs" / "reproduce.md"
JOB, RAYJOB = EXAMPLES / "ray-job", EXAMPLES / "kuberay"
SAMPLES = ROOT / "headroles" / "samples"
HEADER = "Quality\t#1 ID\t#2 ID\t#1 String\t#2 String"


def script(path: Path) -> Any:
    """Return a script of the examples as a module; scripts beside it can be imported by it."""
    spec = importlib.util.spec_from_file_location(f"example_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    before = list(sys.path)
    sys.path.insert(0, str(path.parent))
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path[:] = before
    return module


def invoked(command: Any, *words: object) -> Any:
    """Run a command of an example in this process."""
    from click.testing import CliRunner

    return CliRunner().invoke(command, [*map(str, words)], catch_exceptions=False)


@pytest.fixture(scope="module")
def tokenizer(planted: Path) -> Any:
    """The tokenizer of the planted model."""
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(planted)


# Fine-tuning on pairs.


@pytest.fixture(scope="module")
def finetune() -> Any:
    """The script that fine-tunes on MRPC."""
    return script(EXAMPLES / "finetune-mrpc" / "finetune.py")


@pytest.fixture(scope="module")
def pairs_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Eight made-up pairs, half of them of one meaning, in GLUE's layout: with byte-order mark and quotes."""
    rows = [HEADER]
    for number, thing in enumerate(("rain", "dog", "house", "committee")):
        first = f'The small "{thing} was seen in the old town on day {number} .'
        second = f"On day {number} they saw the {thing} in the old town ."
        rows.append(f"1\t{number}\t{number}1\t{first}\t{second}")
        rows.append(f"0\t{number}\t{number}2\t{first}\tNobody knows who took the {number} red keys .")
    file = tmp_path_factory.mktemp("mrpc") / "train.tsv"
    file.write_text("\n".join(rows) + "\n", encoding="utf-8-sig")
    return file


def test_pairs_come_with_their_labels_whatever_the_subset(
    finetune: Any, tokenizer: Any, pairs_file: Path
) -> None:
    pairs = finetune.read_pairs(pairs_file, tokenizer, None, 0)
    assert [pair.label for pair in pairs] == [1, 0] * 4
    known = {tuple(pair.inputs["input_ids"]): pair.label for pair in pairs}
    some = finetune.read_pairs(pairs_file, tokenizer, 3, 0)
    assert len(known) == 8
    assert len(some) == 3
    assert all(known[tuple(pair.inputs["input_ids"])] == pair.label for pair in some)


def test_fine_tuning_refuses_files_without_labels_and_full_folders(
    finetune: Any, tokenizer: Any, pairs_file: Path, tmp_path: Path
) -> None:
    cases = {
        "test.tsv": ("index\t#1 String\t#2 String\n0\ta\tb\n", "the column 'Quality' is needed but not th"),
        "odd.tsv": (f"{HEADER}\n1\t1\t2\ta\tb\n2\t1\t2\ta\tb\n", "row 2 below the header: 'Quality' is 0 or"),
        "rows.jsonl": ('{"Quality": 1}\n', "the files of MRPC end in .tsv or .csv, with or without .gz"),
    }
    for name, (text, sentence) in cases.items():
        (tmp_path / name).write_text(text)
        with pytest.raises(headroles.HeadrolesError, match=sentence):
            finetune.read_pairs(tmp_path / name, tokenizer, None, 0)
    done = invoked(finetune.main, "--train", pairs_file, "--out", tmp_path)
    told = f"Error: --out must be a new or empty folder, but '{tmp_path}' is there already; name another\n"
    assert (done.exit_code, done.output) == (1, told)
    assert {file.name for file in tmp_path.iterdir()} == {*cases}


def test_batches_rates_and_checkpoints_of_fine_tuning(finetune: Any) -> None:
    sizes = np.random.default_rng(3).integers(10, 100, size=1000).tolist()
    first, again, other = (finetune.epoch_batches(sizes, 16, np.random.default_rng(k)) for k in (0, 0, 1))
    assert sorted(np.concatenate(first).tolist()) == list(range(1000))
    assert max(map(len, first)) == 16
    assert sum(len(batch) * max(sizes[place] for place in batch) for batch in first) < 1.15 * sum(sizes)
    assert [batch.tolist() for batch in first] == [batch.tolist() for batch in again]
    assert [batch.tolist() for batch in first] != [batch.tolist() for batch in other]
    for steps in (1, 2, 20, 690):
        shares = [finetune.share_of_rate(step, steps) for step in range(steps)]
        top = int(np.argmax(shares))
        assert (shares[top], top) == (1, max(1, round(0.1 * steps)) - 1)
        assert (np.diff(shares[: top + 1]) > 0).all()
        assert (np.diff(shares[top:]) < 0).all()
        assert finetune.share_of_rate(steps, steps) == 0 < min(shares)
    for count, steps in ((2, 0), (3, 2), (9, 5000)):
        kept = finetune.checkpoint_steps(count, steps)
        assert (kept[0], kept[-1], len(kept)) == (0, steps, count)
        gaps = [after - before for before, after in pairwise(kept)]
        assert max(gaps) - min(gaps) <= 1


def test_accuracy_and_f1_are_those_of_scikit_learn(finetune: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from sklearn.metrics import accuracy_score, f1_score

    said, right = np.random.default_rng(5).integers(0, 2, size=(2, 61)).tolist()
    monkeypatch.setattr(finetune, "guesses", lambda *_: zip(said, right, strict=True))
    figures = finetune.evaluate(None, range(61), 16, 0)
    assert figures["accuracy"] == pytest.approx(accuracy_score(right, said), abs=1e-4)
    assert figures["f1"] == pytest.approx(f1_score(right, said), abs=1e-4)


@pytest.mark.ci
def test_training_learns_and_a_seed_fixes_every_weight(
    finetune: Any, tokenizer: Any, pairs_file: Path, planted: Path
) -> None:
    import torch
    from transformers import BertConfig, BertForSequenceClassification

    pairs = finetune.read_pairs(pairs_file, tokenizer, None, 0)
    states: list[dict[str, Any]] = []
    for seed in (0, 0, 1):
        torch.manual_seed(seed)
        network = BertForSequenceClassification(BertConfig.from_pretrained(planted))
        finetune.train(network, pairs, finetune.Settings(30, 4, 1e-2, seed), 0)
        if not states:
            assert finetune.evaluate(network, pairs, 3, 0) == {"pairs": 8, "accuracy": 1.0, "f1": 1.0}
        states.append(network.state_dict())
    assert all(weights.equal(states[1][name]) for name, weights in states[0].items())
    assert not all(weights.equal(states[2][name]) for name, weights in states[0].items())


@pytest.mark.ci
def test_the_script_writes_checkpoints_that_headroles_labels(
    finetune: Any, pairs_file: Path, tmp_path: Path, label: Any
) -> None:
    from safetensors.torch import load_file

    words = ["--train", pairs_file, "--dev", pairs_file, "--out", tmp_path / "out", "--epochs", 1]
    done = invoked(finetune.main, *words, "--limit", 6, "--batch-size", 3, "--checkpoints", 3)
    assert done.exit_code == 0, done.output
    folders = sorted(folder for folder in (tmp_path / "out").iterdir() if folder.is_dir())
    assert [folder.name for folder in folders] == ["step-0", "step-1", "step-2"]
    weights = [load_file(folder / "model.safetensors") for folder in folders]
    name = next(name for name in weights[0] if name.endswith("layer.5.attention.self.query.weight"))
    assert not weights[1][name].equal(weights[0][name])
    assert not weights[2][name].equal(weights[1][name])
    config = json.loads((folders[-1] / "config.json").read_text())
    assert config["architectures"] == ["BertForSequenceClassification"]
    run = label(task="MRPC", data=pairs_file, limit=8, sieve=["local", "block"], model=folders[-1])
    model = run.manifest["model"]
    assert (model["architecture"], model["layers"], model["heads"]) == ("BertModel", 6, 12)
    assert model["missing_weights"] == []


# Masked words.


@pytest.fixture(scope="module")
def masked() -> Iterator[dict[str, Any]]:
    """The scripts of the masked-word example, which import each other by their names."""
    folder, names = EXAMPLES / "masked-lm", ("masked_text", "train", "measure", "texts")
    sys.path.insert(0, str(folder))
    try:
        yield {name: importlib.import_module(name) for name in names}
    finally:
        sys.path.remove(str(folder))
        for name in names:
            sys.modules.pop(name, None)


def test_sequences_hold_whole_words_in_order_and_whole_words_are_hidden(
    masked: dict[str, Any], tokenizer: Any
) -> None:
    made, draws = masked["masked_text"], np.random.default_rng(0)
    masks = kept = total = 0
    for seed in range(40):
        lengths = np.random.default_rng(seed).integers(1, 5, size=20 + 5 * seed)
        starts = np.concatenate([[True] + [False] * (int(length) - 1) for length in lengths])
        document = made.Document("made", np.arange(200, 200 + len(starts)), starts)
        seen: list[int] = []
        for sequence in made.cut_document(document, tokenizer, draws):
            assert made.SHORTEST + 2 <= len(sequence.tokens) <= made.LENGTH
            assert (sequence.tokens[0], sequence.tokens[-1]) == (
                tokenizer.cls_token_id,
                tokenizer.sep_token_id,
            )
            pieces = sequence.tokens[sequence.words != -1]
            own = sequence.words[sequence.words != -1]
            assert (np.diff(pieces) == 1).all()
            assert (np.diff(own, prepend=-1) != 0).tolist() == starts[pieces - 200].tolist()
            seen += pieces.tolist()
            hidden = made.draw_words(sequence, 0.5, draws)
            chosen = {*sequence.words[hidden].tolist()}
            assert -1 not in chosen
            assert np.isin(sequence.words, list(chosen)).tolist() == hidden.tolist()
            assert len(chosen) == max(1, round(0.5 * (sequence.words.max() + 1)))
            tokens = made.replace_words(sequence, hidden, tokenizer, draws)
            assert (tokens[~hidden] == sequence.tokens[~hidden]).all()
            masks += int((tokens[hidden] == tokenizer.mask_token_id).sum())
            kept += int((tokens[hidden] == sequence.tokens[hidden]).sum())
            total += int(hidden.sum())
        assert seen == sorted({*seen})
        assert len(seen) >= len(starts) - 2 * made.SHORTEST
    assert abs(masks / total - 0.8) < 5 * np.sqrt(0.16 / total)
    assert abs(kept / total - 0.1) < 5 * np.sqrt(0.09 / total) + 0.001


def test_the_rate_of_masked_words_rises_stays_and_falls(masked: dict[str, Any]) -> None:
    usual: dict[str, Any] = {
        "minutes": None, "steps": None, "fall_from": None, "batch_size": 4, "learning_rate": 1e-3,
        "share": 0.2, "seed": 0, "frozen": False, "checkpoint_minutes": 5.0,
    }  # fmt: skip
    train = masked["train"]
    schedule = train.Schedule(train.Settings(**usual | {"minutes": 10.0}))
    rates: list[float] = []
    while (rate := schedule.rate(len(rates), len(rates) / 100)) is not None:
        rates.append(rate)
    assert (schedule.fall_from, len(rates), schedule.steps) == (700, 1000, 1000)
    assert rates[0] == pytest.approx(1e-3 / 60)
    assert rates[60:700] == [1e-3] * 640
    assert (np.diff(rates[700:]) < 0).all()
    again = train.Schedule(train.Settings(**usual | {"steps": 1000, "fall_from": 700}))
    assert [again.rate(step, 0.0) for step in range(1001)] == [*rates, None]


def test_shares_and_their_intervals_are_those_of_resampled_documents(masked: dict[str, Any]) -> None:
    rng, hits = np.random.default_rng(4), 0
    for _ in range(100):
        sizes = rng.integers(20, 60, size=60)
        right = rng.binomial(sizes, rng.beta(8, 12, size=60))
        counts = np.stack([np.stack([right, sizes], axis=1)] * 3, axis=1).astype(float)
        share, low, high = masked["measure"].shares(counts, 0)["words"]
        assert share == round(right.sum() / sizes.sum(), 4)
        hits += low <= 0.4 <= high
    assert hits >= 88  # of 100 intervals of 95 %


def test_corpora_become_documents_of_plain_text(masked: dict[str, Any], tmp_path: Path) -> None:
    files = {
        "a.conllu": (
            "# newdoc id = a\n# text = It rains.\n1\tIt\n\n# text = Go.\n\n# newdoc\n# text = No.\n",
            "It rains.\nGo.\n\nNo.\n",
        ),
        "b.conll": (
            "#begin document (x); part 0\nx\t0\t0\tIt\nx\t0\t1\trains\n\nx\t0\t0\tGo\n#end document\n",
            "It rains\nGo\n",
        ),
        "c.tsv": ('ID\tText\n1\tShe said "no.\n2\tGo.\n', 'She said "no.\n\nGo.\n'),
    }
    for name, (content, wanted) in files.items():
        (tmp_path / name).write_text(content)
        out = tmp_path / "out.txt"
        assert invoked(masked["texts"].main, tmp_path / name, "--out", out).exit_code == 0
        assert out.read_text() == wanted


@pytest.mark.parametrize("steps", [1, pytest.param(24, marks=pytest.mark.release)])
def test_steps_of_training_give_a_model_for_all(steps: int, masked: dict[str, Any], tmp_path: Path) -> None:
    from transformers import AutoModelForMaskedLM

    rows = (SAMPLES / "QNLI.tsv").read_text(encoding="utf-8").splitlines()[1:]
    sentences = [cell for row in rows for cell in row.split("\t")[1:3]][: 40 if steps == 1 else None]
    blocks = ["\n".join(sentences[start : start + 10]) for start in range(0, len(sentences), 10)]
    texts, out = tmp_path / "texts.txt", tmp_path / "model"
    texts.write_text("\n\n".join(blocks) + "\n", encoding="utf-8")
    refused = invoked(masked["train"].main, "--texts", texts, "--out", out, "--steps", 2, "--minutes", 1)
    assert refused.output.startswith("Error: the end of training is --minutes or --steps, but got both")
    words = ["--texts", texts, "--out", out, "--steps", steps, "--batch-size", 2 if steps == 1 else 8]
    done = invoked(masked["train"].main, *words, *(["--frozen"] if steps == 1 else []))
    assert done.exit_code == 0, done.output
    lines = [json.loads(line) for line in done.output.splitlines()]
    assert (lines[0]["documents"], lines[-1]["steps"]) == (len(blocks), steps)
    network = AutoModelForMaskedLM.from_pretrained(out, use_safetensors=True)
    assert network.get_output_embeddings().weight is network.get_input_embeddings().weight
    measured = invoked(masked["measure"].main, "--model", out, "--texts", texts, "--limit", 3)
    facts = json.loads(measured.output)
    for name in masked["measure"].MEASURES:
        share, low, high = facts[name]
        assert 0 <= low <= share <= high <= 1
    if steps > 1:
        start = headroles.surface("QNLI", model=out, gradients=True, limit=4)
        assert start.surface is not None
        assert {test.kind for test in start.surface.noop if test.count} >= {"separator"}


# Atlases and the figures of papers.


def test_samples_of_the_atlas_have_no_text_in_common_and_genres_are_cut_apart(tmp_path: Path) -> None:
    import gzip

    make = script(EXAMPLES / "atlas" / "make.py")
    for task in TASKS:
        columns = TASKS[task].columns
        rows = [[f"{column} of {number % 21}" for column in columns] for number in range(24)]
        source = tmp_path / f"{task}.tsv"
        lines = ["\t".join(row) for row in [list(columns), *rows]]
        source.write_text("\n".join(lines) + "\n", encoding="utf-8-sig")
        parts = [
            file.read_text("utf-8").splitlines() for file in make.write_samples(source, task, tmp_path, 8)
        ]
        assert [part[0] for part in parts] == [lines[0]] * 2
        chosen = parts[0][1:] + parts[1][1:]
        assert len(chosen) == len({*chosen}) == 16
        assert {*chosen} <= {*lines}
    genres = ["news", "vlog", "court", "fiction"]
    texts = [f"# newdoc id = GUM_{genre}_{number}\n1\t{genre}\n\n" for number, genre in enumerate(genres)]
    source = tmp_path / "gum.conllu.gz"
    source.write_bytes(gzip.compress("".join(texts).encode()))
    spoken, written = make.write_genres(source, tmp_path)
    assert spoken.read_text(encoding="utf-8") == texts[1] + texts[2]
    assert written.read_text(encoding="utf-8") == texts[0] + texts[3]


def test_the_atlas_skips_what_is_absent_and_tells_what_its_tables_hold(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    make = script(EXAMPLES / "atlas" / "make.py")
    make.main(["--shared", str(tmp_path / "none"), "--out", str(tmp_path / "out")])
    printed = capsys.readouterr().out
    for name in ("data/glue/QNLI/dev.tsv", "models/stories260K", "data/glue/MRPC/train.tsv"):
        assert f"skipped: '{tmp_path / 'none' / name}' is not there; --shared names the folder" in printed
    (tmp_path / "shared" / "data" / "glue" / "MRPC").mkdir(parents=True)
    rows = ["\t".join(TASKS["MRPC"].columns), *(f"one {n}\tother {n}" for n in range(24))]
    for name in ("train.tsv", "dev.tsv"):
        (tmp_path / "shared" / "data" / "glue" / "MRPC" / name).write_text("\n".join(rows) + "\n")
    maker = make.Maker(tmp_path / "shared", tmp_path / "out", 8, 24)
    for step in (100, 0, 20):
        (maker.out / "models" / "mrpc" / f"step-{step}").mkdir(parents=True)

    def run(name: str, task: str | None = None, preset: str = "calibrated", **options: object) -> Path:
        folder = Path(maker.out / "runs" / name)
        facts = {"model": {"name": "tiny", "layers": 3, "heads": 4}, "preset": preset, "task": task}
        made = labelled(("local", "delimiter"), (40, 3, 4), seed=len(list(folder.parent.iterdir())) + 1)
        headroles.save(replace(made, manifest=dict(made.manifest) | facts), folder, overwrite=True)
        return folder

    monkeypatch.setattr(maker, "run", run)
    header = next(line for line in list(make.training(maker))[1].splitlines())
    assert header == "| role | from step-0 | from step-20 | from step-100 | lost | rise | fall |"
    assert (maker.out / "atlas" / "training" / "trends.csv").exists()


def test_stories_are_written_one_a_line(stories: Path, tmp_path: Path) -> None:
    module, file = script(EXAMPLES / "atlas" / "stories.py"), tmp_path / "stories.jsonl"
    module.write_stories(stories, file, 3, tokens=12)
    first = file.read_text(encoding="utf-8")
    assert len({json.loads(line)["text"] for line in first.splitlines()}) == 3
    module.write_stories(stories, file, 3, tokens=12)
    assert file.read_text(encoding="utf-8") == first


@pytest.fixture(scope="module")
def reproduce() -> Iterator[Any]:
    """The script that makes every figure of the papers."""
    yield script(EXAMPLES / "reproduce" / "make.py")
    sys.modules.pop("figures", None)


def test_the_page_of_figures_has_the_rows_of_the_script_and_every_picture(reproduce: Any) -> None:
    text = PAGE.read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `([a-z0-9-]+)` \|(.*)\|$", text, re.M))
    assert list(rows) == [figure.key for figure in reproduce.FIGURES]
    for figure in reproduce.FIGURES:
        row = rows[figure.key]
        named = re.search(r"figure `([a-z0-9-]+)`", row)
        assert (named[1] if named else "") == figure.figure, figure.key
        pictures = re.findall(r"\]\((pictures/reproduce/[^)]+)\)", row)
        elsewhere = re.search(r"\| \[(picture|table)\]\((?:findings|how-to)/[a-z]+\.md\) \|", row)
        assert bool(pictures) + bool(elsewhere) + ("| no picture |" in row) == 1, figure.key
        assert ("| no picture |" in row) == (f"- `{figure.key}`: " in text), figure.key
        assert all((PAGE.parent / name).stem == figure.key for name in pictures)
        assert all((PAGE.parent / name).stat().st_size <= 300_000 for name in pictures)
    files = {file.name for file in (PAGE.parent / "pictures" / "reproduce").iterdir()}
    assert files == {*re.findall(r"\]\(pictures/reproduce/([^)]+)\)", text)}


def test_every_command_of_a_figure_can_be_typed(
    reproduce: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    maker = reproduce.Maker(tmp_path, dict.fromkeys(reproduce.INPUTS, "given.conllu"), None, 24)
    called: list[Sequence[str]] = []

    def call(words: Sequence[str]) -> None:
        called.append(words)
        made = Path(words[words.index("--out") + 1]) if "--out" in words else tmp_path
        if made.parent == tmp_path / "runs":
            made.mkdir(parents=True)
            (made / "manifest.json").write_text("{}")

    maker.call = call
    monkeypatch.setattr(reproduce, "photograph", lambda page, file: None)
    reproduce.make_all(maker, reproduce.FIGURES)
    names = {words[0] for words in called}
    assert {"label", "surface", "cluster", "probe", "view", "compare", "table", "report"} <= names
    for words in called:
        if words[0] in cli.commands:
            assert isinstance(cli.commands[words[0]].make_context(words[0], list(words[1:])), click.Context)


def test_a_figure_without_data_is_skipped_and_a_step_that_fails_says_why(
    reproduce: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    chosen = [figure for figure in reproduce.FIGURES if figure.key in ("clark-figure-3", "clark-table-2")]
    maker = reproduce.Maker(tmp_path, {}, None, None)
    maker.call = lambda words: pytest.fail(f"called {shlex.join(words)}")
    assert reproduce.make_all(maker, chosen) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "skipped: it needs a masked-word model, as --masked-lm MODEL" in lines[0]
    assert "skipped: it needs documents with mentions of entities, as --coreference FILE" in lines[1]
    chosen = [figure for figure in reproduce.FIGURES if figure.step == "cluster"]
    maker = reproduce.Maker(tmp_path, {}, str(tmp_path / "no-model"), 24)
    assert reproduce.make_all(maker, chosen) == len(chosen) == 2
    lines = capsys.readouterr().out.splitlines()
    assert sum(line.startswith("$ headroles cluster") for line in lines) == 1
    assert all("failed: " in line and "no-model" in line for line in lines if not line.startswith("$"))
    reproduce.check_settings(tmp_path, {"limit": 24})
    with pytest.raises(SystemExit, match="name another --out"):
        reproduce.check_settings(tmp_path, {"limit": 25})


@pytest.mark.ci
def test_figures_are_made_from_shipped_samples_by_a_tiny_model(
    reproduce: Any, tmp_path: Path, model_of: Any
) -> None:
    chosen = ["clark-table-1", "slides-separator-rows"]
    words = ["--out", str(tmp_path), "--model", str(model_of("bert")), "--limit", "24", "--only"]
    reproduce.main([*words, *chosen])
    assert (tmp_path / "slides-separator-rows.svg").read_text(encoding="utf-8").startswith("<svg")
    assert "| dependency | det |" in (tmp_path / "clark-table-1.md").read_text(encoding="utf-8").lower()


# Clusters of machines.


def _asked(entrypoint: str) -> dict[str, Any]:
    """Return the options that a command line of ``headroles label`` gives, checked."""
    program, *words = shlex.split(entrypoint)
    assert program == "headroles"
    name, command, rest = cli.resolve_command(cli.make_context("headroles", list(words)), words)
    assert name == "label"
    assert command is not None
    context = command.make_context("label", list(rest))
    command.check(context)  # type: ignore[attr-defined]
    return dict(context.params)


def test_jobs_ask_for_what_ray_kuberay_and_headroles_take() -> None:
    import yaml

    job = yaml.safe_load((JOB / "job.yaml").read_text())
    rayjob = yaml.safe_load((RAYJOB / "rayjob.yaml").read_text())
    page = re.sub(r"\\\n\s*", "", (JOB / "README.md").read_text())
    (block,) = (part for part in page.split("```") if "ray job submit" in part)
    words = shlex.split(block)
    end = words.index("--")
    options = dict(zip(words[3:end:2], words[4:end:2], strict=True))
    assert _asked(shlex.join(words[end + 1 :])) == _asked(job["entrypoint"])
    assert json.loads(options["--runtime-env-json"]) == job["runtime_env"]
    assert job["runtime_env"]["env_vars"]["RAY_USAGE_STATS_ENABLED"] == "0"
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert {*re.findall(r"\[(.*)\]", job["runtime_env"]["pip"][0])[0].split(",")} <= {*extras}
    for wanted in (job, rayjob["spec"]):  # Ray keeps a driver on the head as long as it asks for nothing
        assert not [name for name in wanted if re.match(r"entrypoint_?(num|mem|res|label)", name, re.I)]
        asked = _asked(wanted["entrypoint"])
        assert (asked["engine"], asked["maps"]) == ("ray", 0)
    spec = rayjob["spec"]
    assert (rayjob["apiVersion"], rayjob["kind"]) == ("ray.io/v1", "RayJob")
    head, (group,) = spec["rayClusterSpec"]["headGroupSpec"], spec["rayClusterSpec"]["workerGroupSpecs"]
    pinned = dict(re.findall(r"^(\S+)==(\S+)$", (ROOT / "constraints.txt").read_text(), re.M))
    assert spec["rayClusterSpec"]["rayVersion"] == pinned["ray"]
    assert f"FROM rayproject/ray:{pinned['ray']}-py311-gpu" in (RAYJOB / "Dockerfile").read_text()
    for part in (head, group):
        assert all(isinstance(value, str) for value in part["rayStartParams"].values())
        (container,) = part["template"]["spec"]["containers"]
        requests, limits = container["resources"]["requests"], container["resources"]["limits"]
        assert requests["memory"] == limits["memory"]
        assert {"name": "RAY_USAGE_STATS_ENABLED", "value": "0"} in container["env"]
    asked = _asked(spec["entrypoint"])
    assert asked["workers"] * asked["gpus"] <= group["replicas"] * float(limits["nvidia.com/gpu"])
    assert asked["cache"] == container["volumeMounts"][0]["mountPath"]
    left_out = {*(ROOT / ".dockerignore").read_text().split()}
    assert {".git", ".venv", "runs", "compare", ".*_cache", ".hypothesis"} <= left_out


@pytest.mark.parametrize(
    ("before", "ends"), [(None, "SUCCEEDED"), ("RUNNING", "FAILED"), ("FAILED", "STOPPED")]
)
def test_a_job_is_submitted_once_and_followed_to_its_end(
    before: str | None, ends: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from ray import job_submission
    from ray.job_submission import JobStatus

    done: list[str] = []

    class Client:
        """A cluster whose job says two lines and ends."""

        def __init__(self, address: str) -> None:
            self.status = None if before is None else JobStatus(before)

        def list_jobs(self) -> list[Any]:
            job = types.SimpleNamespace(submission_id="headroles-corpus-bert-base")
            return [] if self.status is None else [job]

        def delete_job(self, name: str) -> None:
            done.append("deleted")
            self.status = None

        def submit_job(self, **job: Any) -> None:
            done.append("submitted")
            self.status = JobStatus.PENDING

        def get_job_status(self, name: str) -> Any:
            return JobStatus(ends) if "waited" in done else self.status

        def get_job_logs(self, name: str) -> str:
            return "one\ntwo\n" if "waited" in done else "one\n"

    monkeypatch.setattr(job_submission, "JobSubmissionClient", Client)
    monkeypatch.setattr("time.sleep", lambda seconds: done.append("waited"))
    assert script(JOB / "submit.py").main("http://head:8265") == (0 if ends == "SUCCEEDED" else 1)
    assert capsys.readouterr().out == "one\ntwo\n"
    wanted = {None: ["submitted"], "RUNNING": [], "FAILED": ["deleted", "submitted"]}[before]
    assert [word for word in done if word != "waited"] == wanted


@pytest.mark.ci
def test_an_installed_plug_in_is_listed_labels_heads_and_passes_its_own_test(
    tmp_path: Path, planted: Path
) -> None:
    ignored = shutil.ignore_patterns("__pycache__", "*.egg-info")
    copy = shutil.copytree(EXAMPLES / "headroles-punctuation", tmp_path / "source", ignore=ignored)
    code = (copy / "headroles_punctuation.py").read_text().splitlines()
    assert len([line for line in code if line.strip() and not line.lstrip().startswith('"""')]) <= 10

    def run(*words: object) -> str:
        kept = {name: v for name, v in os.environ.items() if name not in ("PYTHONPATH", "PYTEST_ADDOPTS")}
        done = subprocess.run(
            [sys.executable, *map(str, words)],
            cwd=tmp_path,
            env=kept | {"PYTHONPATH": str(tmp_path / "site"), "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            text=True,
            timeout=720,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    quiet = ["--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--disable-pip-version-check"]
    run("-m", "pip", "install", *quiet, "--target", tmp_path / "site", copy)
    listed = run("-m", "headroles", "sieves")
    (marks,) = [line.split() for line in listed.splitlines() if line.startswith("marks ")]
    assert (marks[:5], marks[-1]) == (
        ["marks", "look", "at", "punctuation", "marks?"],
        "headroles-punctuation",
    )
    words = ["-m", "headroles", "label", "--task", "QNLI", "--model", planted, "--max-length", 48]
    assert "• No head has the role marks." in run(*words, "--sieve", "marks", "--limit", 60, "--out", "run")
    assert (tmp_path / "run" / "labels.csv").read_text().splitlines()[0] == "layer,head,roles,marks"
    own = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:randomly", "--import-mode=importlib"]
    assert "2 passed" in run(*own, "--rootdir", ".", copy)
