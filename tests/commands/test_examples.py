"""The examples: what their scripts train, write, skip and refuse, and that their commands are ours."""

import gzip
import importlib.util
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np
import pytest

import headroles
from headroles.cli.main import cli
from headroles.tasks import TASKS

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


def test_pairs_rates_and_checkpoints_of_fine_tuning(
    finetune: Any, tokenizer: Any, pairs_file: Path, tmp_path: Path
) -> None:
    pairs = finetune.read_pairs(pairs_file, tokenizer, None, 0)
    assert [pair.label for pair in pairs] == [1, 0] * 4
    known = {tuple(pair.inputs["input_ids"]): pair.label for pair in pairs}
    some = finetune.read_pairs(pairs_file, tokenizer, 3, 0)
    assert (len(known), len(some)) == (8, 3)
    assert all(known[tuple(pair.inputs["input_ids"])] == pair.label for pair in some)
    (tmp_path / "odd.tsv").write_text(f"{HEADER}\n1\t1\t2\ta\tb\n2\t1\t2\ta\tb\n")
    with pytest.raises(headroles.HeadrolesError, match="row 2 below the header: 'Quality' is 0 or"):
        finetune.read_pairs(tmp_path / "odd.tsv", tokenizer, None, 0)
    done = invoked(finetune.main, "--train", pairs_file, "--out", tmp_path)
    told = f"Error: --out must be a new or empty folder, but '{tmp_path}' is there already; name another\n"
    assert (done.exit_code, done.output) == (1, told)
    shares = [finetune.share_of_rate(step, 690) for step in range(691)]
    assert (max(shares), int(np.argmax(shares)), shares[690]) == (1, 68, 0)
    assert finetune.checkpoint_steps(3, 2) == [0, 1, 2]


@pytest.mark.ci
def test_the_script_writes_checkpoints_that_headroles_labels(
    finetune: Any, pairs_file: Path, tmp_path: Path, label: Any
) -> None:
    words = ["--train", pairs_file, "--dev", pairs_file, "--out", tmp_path / "out", "--epochs", 1]
    done = invoked(finetune.main, *words, "--limit", 6, "--batch-size", 3, "--checkpoints", 3)
    assert done.exit_code == 0, done.output
    folders = sorted(folder for folder in (tmp_path / "out").iterdir() if folder.is_dir())
    assert [folder.name for folder in folders] == ["step-0", "step-1", "step-2"]
    run = label(task="MRPC", data=pairs_file, limit=8, sieve=["local", "block"], model=folders[-1])
    model = run.manifest["model"]
    assert (model["architecture"], model["blocks"], model["heads"]) == ("BertModel", 6, 12)
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


@pytest.mark.ci
def test_a_step_of_training_gives_a_model_that_is_measured(masked: dict[str, Any], tmp_path: Path) -> None:
    rows = (SAMPLES / "QNLI.tsv").read_text(encoding="utf-8").splitlines()[1:21]
    texts, out = tmp_path / "texts.txt", tmp_path / "model"
    texts.write_text("\n\n".join("\n".join(row.split("\t")[1:3]) for row in rows) + "\n", encoding="utf-8")
    words = ["--texts", texts, "--out", out, "--steps", 1, "--batch-size", 2]
    refused = invoked(masked["train"].main, *words, "--minutes", 1)
    assert refused.output.startswith("Error: the end of training is --minutes or --steps, but got both")
    done = invoked(masked["train"].main, *words, "--frozen")
    assert done.exit_code == 0, done.output
    lines = [json.loads(line) for line in done.output.splitlines()]
    assert lines[-1]["steps"] == 1
    facts = json.loads(invoked(masked["measure"].main, "--model", out, "--texts", texts, "--limit", 3).output)
    for name in masked["measure"].MEASURES:
        share, low, high = facts[name]
        assert 0 <= low <= share <= high <= 1


# Atlases and the figures of papers.


def test_the_atlas_cuts_its_samples_skips_what_is_absent_and_tells_what_its_tables_hold(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make = script(EXAMPLES / "atlas" / "make.py")
    source, columns = tmp_path / "QNLI.tsv", TASKS["QNLI"].columns
    rows = ["\t".join(f"{column} of {number % 21}" for column in columns) for number in range(24)]
    source.write_text("\n".join(["\t".join(columns), *rows]) + "\n", encoding="utf-8-sig")
    parts = [file.read_text("utf-8").splitlines() for file in make.write_samples(source, "QNLI", tmp_path, 8)]
    assert [part[0] for part in parts] == ["\t".join(columns)] * 2
    assert len({*parts[0][1:], *parts[1][1:]} & {*rows}) == 16  # with no text in common
    genres = ["news", "vlog", "court", "fiction"]
    texts = [f"# newdoc id = GUM_{genre}_{number}\n1\t{genre}\n\n" for number, genre in enumerate(genres)]
    (tmp_path / "gum.conllu.gz").write_bytes(gzip.compress("".join(texts).encode()))
    spoken, written = make.write_genres(tmp_path / "gum.conllu.gz", tmp_path)
    assert spoken.read_text(encoding="utf-8") == texts[1] + texts[2]
    assert written.read_text(encoding="utf-8") == texts[0] + texts[3]
    make.main(["--shared", str(tmp_path / "none"), "--out", str(tmp_path / "out")])
    printed = capsys.readouterr().out
    for name in ("data/glue/QNLI/dev.tsv", "models/stories260K", "data/glue/MRPC/train.tsv"):
        assert f"skipped: '{tmp_path / 'none' / name}' is not there; --shared names the folder" in printed


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
    assert {"label", "surface", "cluster", "probe", "view", "compare", "show"} <= names
    for words in called:
        if words[0] in cli.commands:
            assert isinstance(cli.commands[words[0]].make_context(words[0], list(words[1:])), click.Context)


# Clusters of machines, and plug-ins.


def _asked(entrypoint: str) -> dict[str, Any]:
    """Return the options that a command line of ``headroles label`` gives, checked."""
    program, name, *words = shlex.split(entrypoint)
    assert (program, name) == ("headroles", "label")
    return dict(cli.commands[name].make_context(name, words).params)


def test_jobs_ask_for_what_ray_kuberay_and_headroles_take() -> None:
    import yaml

    job = yaml.safe_load((JOB / "job.yaml").read_text())
    spec = yaml.safe_load((RAYJOB / "rayjob.yaml").read_text())["spec"]
    page = re.sub(r"\\\n\s*", "", (JOB / "README.md").read_text())
    (block,) = (part for part in page.split("```") if "ray job submit" in part)
    assert _asked(block.partition(" -- ")[2]) == _asked(job["entrypoint"])
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert {*re.findall(r"\[(.*)\]", job["runtime_env"]["pip"][0])[0].split(",")} <= {*extras}
    for wanted in (job, spec):  # Ray keeps a driver on the head as long as it asks for nothing
        assert not [name for name in wanted if re.match(r"entrypoint_?(num|mem|res|label)", name, re.I)]
        asked = _asked(wanted["entrypoint"])
        assert (asked["engine"], asked["maps"]) == ("ray", 0)
    pinned = dict(re.findall(r"^(\S+)==(\S+)$", (ROOT / "constraints.txt").read_text(), re.M))
    assert spec["rayClusterSpec"]["rayVersion"] == pinned["ray"]
    assert f"FROM rayproject/ray:{pinned['ray']}-py311-gpu" in (RAYJOB / "Dockerfile").read_text()
    (group,) = spec["rayClusterSpec"]["workerGroupSpecs"]
    for part in (spec["rayClusterSpec"]["headGroupSpec"], group):
        (container,) = part["template"]["spec"]["containers"]
        assert {"name": "RAY_USAGE_STATS_ENABLED", "value": "0"} in container["env"]
    gpus = float(container["resources"]["limits"]["nvidia.com/gpu"])
    assert asked["workers"] * asked["gpus"] <= group["replicas"] * gpus
    assert asked["cache"] == container["volumeMounts"][0]["mountPath"]


@pytest.mark.ci
def test_an_installed_plug_in_is_listed_labels_heads_and_passes_its_own_test(
    tmp_path: Path, planted: Path
) -> None:
    ignored = shutil.ignore_patterns("__pycache__", "*.egg-info")
    copy = shutil.copytree(EXAMPLES / "headroles-punctuation", tmp_path / "source", ignore=ignored)

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
    (marks,) = re.findall("^marks .*", run("-m", "headroles", "sieves"), re.M)
    assert marks.split()[-1] == "headroles-punctuation"
    words = ["-m", "headroles", "label", "--task", "QNLI", "--model", planted, "--max-length", 48]
    assert "• No head has the role marks." in run(*words, "--sieve", "marks", "--limit", 60, "--out", "run")
    own = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:randomly", "--import-mode=importlib"]
    assert "2 passed" in run(*own, "--rootdir", ".", copy)
