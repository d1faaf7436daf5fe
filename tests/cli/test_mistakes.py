"""Mistakes of a newcomer: the sentence that each gets, before any heavy library is imported."""

import json
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from headroles.exporting import save
from headroles.records.findings import Labelling

HEAVY = ("torch", "transformers", "spacy", "scipy", "pandas", "statsmodels", "sklearn", "plotly", "datasets")
"""Libraries that take seconds to import, and that no mistake below needs."""
CHILD = """
import contextlib, io, json, sys
from headroles.cli.main import main

heavy, told = json.loads(sys.argv[1]), []
for words in json.loads(sys.argv[2]):
    sys.argv[1:], error, seen = words, io.StringIO(), set(sys.modules)
    with contextlib.redirect_stderr(error):
        try:
            main()
        except SystemExit as leaving:
            code = leaving.code
    told.append([code, error.getvalue(), [name for name in heavy if name in {*sys.modules} - seen]])
print(json.dumps(told))
"""
"""A fresh interpreter that makes all mistakes in turn; for each its exit code, sentence and heavy imports."""
NO_RUN = "give the folder of a finished run"

MISTAKES: list[tuple[str, str]] = [
    ("label", "a run needs inputs: name a task with --task, a file with --data, or stored maps with "),
    ("label --task QNLY", "no task is called 'QNLY'; did you mean 'QNLI'? known: MRPC, QNLI, QQP, SST-2"),
    ("label --task QNLI --device gpu", "no device is called 'gpu'; did you mean 'cpu'? known: auto, cpu, "),
    ("label --task QNLI --alpha 5", "alpha must lie between 0 and 1, both excluded, but got 5.0"),
    ("label --task QNLI --limit 0", "limit must be a whole number of at least 1, but got 0"),
    ("label --task QNLI --test t-skwe", "no test is called 't-skwe'; did you mean 't-skew'? known: "),
    ("label --task QNLI --sieve blok", "no sieve is called 'blok'; did you mean 'block'? known: "),
    (
        "label --task QNLI --until decided --sieve bag-of-words",
        "the test 'betting' needs the smallest and largest score that can occur, stated before any score is "
        "seen, but bag-of-words has none; ",
    ),
    (
        "label --task QNLI --until decided --statistic bias --sieve local",
        "the test 'betting' needs the smallest and largest score that can occur, stated before any score is "
        "seen, but local has none; ",
    ),
    (
        "label --task QNLI --sieve mine.py:x",
        "No such file: mine.py; a sieve from a file is given as path/to/",
    ),
    (
        "label --task QNLI --sieve syntactic:nsubject",
        "no relation is called 'nsubject'; did you mean 'nsubj'? known: ",
    ),
    ("label --data nope.csv", "No such file: nope.csv"),
    ("label --data dev.tvs --text-a question", "No such file: dev.tvs; did you mean 'dev.tsv'?"),
    (
        "label --data dev.tsv",
        "'dev.tsv' is a table, so a task or the column of the text must be named; give ",
    ),
    ("label --data dev.tsv --text-a text", "dev.tsv, line 2: the column 'text' is needed but not there; "),
    ("surface --data dev.tsv --task SST-2 --group unit", "dev.tsv, line 2: the column 'unit' is needed but "),
    (
        "label --data notes.txt",
        "data files end in .tsv, .csv, .json, .jsonl or .conllu, with or without .gz, ",
    ),
    (
        "label --task QNLI --model ./nope",
        "No such folder: ./nope; a model is a folder, or a name on the hub ",
    ),
    (
        "label --task QNLI --sieve syntactic --parser en_none",
        "the parser must be an installed spaCy 3 pipeline or the path of one, but 'en_none' is neither; ",
    ),
    (
        "label --task QNLI --out .",
        "a run folder is replaced as a whole, but '.' is the current folder, holds ",
    ),
    ("label --attention nope.npz", "No such file: nope.npz"),
    ("surface --task QNLI --marks abc", "the punctuation marks are one or more marks in one word, as in "),
    ("probe dependencies --data dev.tsv", "no probe is called 'dependencies'; did you mean 'dependency'? "),
    ("probe dependency --data nope.conllu", "No such file: nope.conllu"),
    ("extract nope.json --out maps.npz", "No such file: nope.json"),
    ("preprocess unlabeled nope.txt --out pairs.jsonl", "No such file: nope.txt"),
    (
        "plan --effect 0.3 --head-count 144 --power 2",
        "power must lie between 0 and 1, both excluded, but got 2.0",
    ),
    (
        "plan --effect 0.3 --head-count 144 --correction holmes",
        "no correction is called 'holmes'; did you mean ",
    ),
    ("judge run --alpha 5", "alpha must lie between 0 and 1, both excluded, but got 5.0"),
    ("judge run --test t-skwe", "no test is called 't-skwe'; did you mean 't-skew'? known: "),
    ("compare run run --correction holmes", "no correction is called 'holmes'; did you mean 'holm'? known: "),
    (
        "replicate run run --correction holmes",
        "no correction is called 'holmes'; did you mean 'holm'? known: ",
    ),
    ("judge nope", f"No such folder: nope; {NO_RUN}"),
    (
        "judge",
        "headroles judge takes the folder of a run, or a table with --scores, but got neither; ",
    ),
    ("judge run --low 0", "--low is for a table of scores, so it needs --scores; leave it out"),
    ("judge --scores nope.csv", "No such file: nope.csv"),
    ("judge --scores nope.txt", "tables of scores end in .parquet, .csv, .tsv, .csv.gz, .tsv.gz, but got "),
    ("convert nope.pkl --out maps.npz", "No such file: nope.pkl"),
    (
        "convert nope.pkl --out maps.txt",
        "the new file ends in .safetensors, .npz, .parquet, .csv, .jsonl, ",
    ),
    ("report nope", f"No such folder: nope; {NO_RUN}"),
    ("report nope --figures svg", f"No such folder: nope; {NO_RUN}"),
    ("table nope", f"No such folder: nope; {NO_RUN}"),
    ("prune run", "a certificate says that damage stays below a bound, but none was given; give --bound"),
    ("prune run --bound 0", "bound must be a number above 0, but got 0.0"),
    ("prune run --bound 0.01 --outcome acuracy", "no outcome is called 'acuracy'; did you mean 'accuracy'? "),
    ("prune nope --bound 0.01", f"No such folder: nope; {NO_RUN}"),
    ("prune run --bound 0.01", "heads are removed in the order of their damage, which headroles ablate "),
    (
        "prune run --bound 2 --outcome tokens",
        "the damage of tokens is at most 1, so its bound lies below 1",
    ),
    (
        "prune run --check --data dev.tsv --seed 3",
        "--check writes into the folder of a certificate, and takes its bound, outcome and alpha, but got ",
    ),
    ("prune run --check", "--check measures damage on fresh inputs; name their file with --data"),
    ("prune run --check --data dev.tsv", "this needs a pruning, but 'run' is a run; give a pruning"),
    ("ablate --roles nope", f"No such folder: nope; {NO_RUN}"),
    ("ablate --roles run", "--roles names the folder of a label run, but 'run' holds none; make one with "),
    ("ablate --roles s3://a/b", "--roles names a folder of this machine, but got 's3://a/b'; copy the run h"),
    ("ablate --task QNLI --groups", "--groups needs the roles of heads; name a label run with --roles"),
    ("ablate --task QNLI --sets 200", "--sets has no effect without --groups; leave it out, or add --groups"),
    (
        "ablate --task QNLI --donors 9",
        "--donors has no effect without --by resample; leave it out, or add ",
    ),
    (
        "ablate --task QNLI --by zero --references 9",
        "--references has no effect without --by mean, --by resample, --roles or --screen; leave it out",
    ),
    (
        "ablate --task QNLI --outcome tokens --mask 0.3",
        "--mask is for damage of loss or distribution, but it is measured on tokens; add --outcome loss, or ",
    ),
    (
        "ablate --task QNLI --outcome tokens --screen 3",
        "--screen is for damage of loss, but it is measured on tokens; add --outcome loss, or leave --scree",
    ),
    (
        "ablate --data dev.tsv --outcome distribution --label sentence",
        "--label is for damage of loss, but it is measured on distribution; add --outcome loss, or leave ",
    ),
    (
        "ablate --task QNLI --outcome tokens --margin 1",
        "the damage of tokens is at most 1, so its margin lies below 1, but --margin is 1; give a smaller ",
    ),
    ("why nope", f"No such folder: nope; {NO_RUN}"),
    (
        "why run",
        "FOLDER names the folder of a label run, but 'run' holds none; make one with",
    ),
    (
        "why run --task QNLI",
        "FOLDER names the folder of a label run, but 'run' holds none; make one with",
    ),
    ("why s3://a/b", "FOLDER names a folder of this machine, but got 's3://a/b'; copy the run here"),
    ("why run --attention maps.npz", "queries and keys are those of a model that runs, but --attention na"),
    (
        "why run --task QNLI --preset published",
        "the released code reads no queries and keys; leave --preset ",
    ),
    ("why run --task QNLI --stream", "units are cut into three groups before anything is measured, but "),
    ("why run --task QNLI --redeals 5", "--redeals is 0 or at least 19, so that the largest of them is a 95"),
    ("why run --task QNLI --rotations 9", "rotations must be a whole number of at least 99 and at most 99,9"),
    ("why run --task QNLI --test betting", "contrasts of logits have no bounds, which --test betting needs"),
    ("verify nope", f"No such folder: nope; {NO_RUN}"),
    ("compare runs nope", f"No such folder: nope; {NO_RUN}"),
    ("atlas runs", "an atlas shows two runs or more, but got 1; name the folders of two runs"),
    ("atlas run run", "an atlas shows every run once, but got 'run' twice; name it once"),
    ("atlas run nope", f"No such folder: nope; {NO_RUN}"),
    ("replicate nope runs", f"No such folder: nope; {NO_RUN}"),
    ("report runs", "a run folder holds a manifest.json, but 'runs' does not; give the folder of a run"),
    (
        "report run --out notes.txt",
        "'notes.txt' is there and was not written by headroles; give --overwrite ",
    ),
    ("replicate run run --out notes.txt", "'notes.txt' is there and was not written by headroles; give --ov"),
    (
        "view hello --out notes.txt",
        "'notes.txt' is there and was not written by headroles; give --overwrite ",
    ),
    ("view ''", "a view shows attention between tokens, but text is empty; give a sentence"),
    (
        "view hello --layers 99",
        "--layers takes numbers from 0 to 5, because the model has 6 layers, but got 99",
    ),
    (
        "view hello --heads 12",
        "--heads takes numbers from 0 to 11, because the model has 12 heads, but got 12",
    ),
]


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory, probed_run: Callable[..., Labelling]) -> Path:
    """A folder with a text, a table, an empty folder and a finished run."""
    folder = tmp_path_factory.mktemp("desk")
    (folder / "notes.txt").write_text("milk, eggs\n")
    (folder / "dev.tsv").write_text("question\tsentence\nwho is it ?\tit is me .\n")
    (folder / "runs").mkdir()
    save(probed_run(), folder / "run")
    return folder


@pytest.fixture(scope="module")
def told(desk: Path) -> dict[str, tuple[int, str, list[str]]]:
    """Exit code, text on stderr and newly imported heavy libraries of every mistake."""
    before = {path: path.stat().st_mtime_ns for path in desk.rglob("*")}
    asked = [shlex.split(words) for words, _ in MISTAKES]
    child = subprocess.run(
        [sys.executable, "-c", CHILD, json.dumps(HEAVY), json.dumps(asked)],
        cwd=desk,
        capture_output=True,
        text=True,
        check=True,
    )
    assert {path: path.stat().st_mtime_ns for path in desk.rglob("*")} == before
    return {
        words: tuple(answer) for (words, _), answer in zip(MISTAKES, json.loads(child.stdout), strict=True)
    }


@pytest.mark.parametrize(("words", "sentence"), MISTAKES, ids=[words for words, _ in MISTAKES])
def test_a_mistake_is_one_sentence_before_anything_heavy_is_imported(
    words: str, sentence: str, told: dict[str, tuple[int, str, list[str]]]
) -> None:
    code, error, imported = told[words]
    assert error.startswith(f"headroles: {sentence}")
    assert (code, error.count("\n"), imported) == (1, 1, [])
