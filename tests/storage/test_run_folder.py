"""The run folder: its schema, exact round trips, judging again, and nothing half-written."""

import csv
import errno
import filecmp
import json
import os
import shutil
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import headroles
from headroles import Example, Labelling
from headroles.errors import BadInput
from headroles.exporting import save
from headroles.options.label import LabelOptions
from headroles.records.findings import COLUMNS
from headroles.records.rules.rule import Rule
from tests.storage.manifests import change_manifest, hash_again

PLAIN = ("local", "delimiter", "block")
FIRST_STEPS = ("headroles.extraction.model.load.load", "headroles.runs.label.work.stream_tokenised")
FILES = [
    "cells.parquet", "depth.csv", "examples.parquet", "findings.csv", "labels.csv", "manifest.json",
    "maps.parquet", "plan.json", "precision.csv", "report.html", "scores", "sensitivity.csv", "sets.csv",
    "several.csv", "shards", "shown.parquet", "together.csv", "typical.csv",
]  # fmt: skip


@dataclass(frozen=True)
class Last:
    """Attention on the last token; silent on some inputs, without bounds."""

    name: str = "last, or none"
    needs: frozenset[str] = frozenset()

    def score(self, attention: np.ndarray, example: Example) -> np.ndarray:
        """Mean over queries."""
        mean: np.ndarray = attention[:, :, -1].mean(axis=1)
        return mean if example.size % 2 else np.full(len(attention), np.nan)

    def null(self, example: Example) -> float:
        """What even attention gives."""
        return 1 / example.size if example.size % 2 else float("nan")


Label = Callable[..., Labelling]


def _rows(file: Path) -> list[dict[str, str]]:
    with file.open(encoding="utf-8", newline="") as text:
        return list(csv.DictReader(text))


def _contents(folder: Path) -> dict[str, bytes]:
    return {
        str(file.relative_to(folder)): file.read_bytes()
        for file in sorted(folder.rglob("*"))
        if file.is_file()
    }


def _same(one: Labelling, other: Labelling) -> None:
    """Every array equal to the last bit, every other field equal."""
    for name in ("scores", "findings"):
        first, second = getattr(one, name), getattr(other, name)
        for each in fields(first):
            mine, theirs = getattr(first, each.name), getattr(second, each.name)
            if isinstance(mine, np.ndarray):
                assert (mine.dtype, mine.shape) == (theirs.dtype, theirs.shape), each.name
                assert mine.tobytes() == theirs.tobytes() or np.array_equal(mine, theirs, equal_nan=True)
            else:
                assert repr(mine) == repr(theirs)
    assert one.decision == other.decision
    assert one.manifest == other.manifest
    assert one.skipped == other.skipped


def test_a_run_folder_holds_exactly_what_it_should(finished: Path) -> None:
    assert sorted(each.name for each in finished.iterdir()) == FILES
    assert [each.name for each in (finished / "scores").iterdir()] == ["part-00000.parquet"]


def test_scores_are_one_row_per_example_of_lists_of_layers_times_heads(finished: Path) -> None:
    part = pq.ParquetFile(finished / "scores" / "part-00000.parquet")
    wanted = [("example", pa.string()), ("group", pa.string()), ("tokens", pa.int32())]
    names = (*PLAIN, "block:matched", "block:swap")
    schema = part.schema_arrow
    assert [(field.name, field.type) for field in list(schema)[:3]] == wanted
    assert schema.names[3:] == list(names)
    for name in names:
        kind = schema.field(name).type
        assert pa.types.is_fixed_size_list(kind)
        assert (kind.list_size, kind.value_type) == (6, pa.float32())
    group = part.metadata.row_group(0)
    for column in range(group.num_columns):
        about = group.column(column)
        assert about.compression == "ZSTD"
        assert not about.has_dictionary_page
        assert about.statistics is None or about.statistics.null_count == 0
    run = headroles.load(finished)
    read = part.read()
    assert read["example"].to_pylist() == [f"QNLI/{k}" for k in range(60)] == list(run.scores.examples)
    flat = np.array(read["delimiter"].to_pylist()).reshape(60, 2, 3)
    np.testing.assert_array_equal(flat.astype(np.float32), run.scores.values[1])
    assert flat[:, 0, 2].min() > 0.8
    assert np.abs(np.delete(flat.reshape(60, 6), 2, axis=1)).max() < 0.2


def test_silence_is_stored_as_nan_and_never_as_null(label: Label, tmp_path: Path) -> None:
    label(sieve=[Last(), "local"], out=tmp_path / "run")
    read = pq.read_table(tmp_path / "run" / "scores" / "part-00000.parquet")
    column = read["last, or none"].combine_chunks()
    assert column.null_count == 0
    assert column.flatten().null_count == 0
    silent = np.array(read["tokens"].to_pylist()) % 2 == 0
    values = column.flatten().to_numpy().reshape(60, 6)
    np.testing.assert_array_equal(np.isnan(values).all(axis=1), silent)
    np.testing.assert_array_equal(np.isnan(values).any(axis=1), silent)


def test_long_runs_are_stored_in_parts(label: Label, tmp_path: Path) -> None:
    many = tmp_path / "many.tsv"
    many.write_text("sentence\n" + "\n".join(f"the cat {k} sat in house {k}" for k in range(300)) + "\n")
    found = label(task="SST-2", data=many, sieve="local", out=tmp_path / "run")
    parts = sorted((tmp_path / "run" / "scores").iterdir())
    assert [part.name for part in parts] == ["part-00000.parquet", "part-00001.parquet"]
    assert [pq.read_metadata(part).num_rows for part in parts] == [256, 44]
    _same(headroles.load(tmp_path / "run"), found)
    parts[1].unlink()
    with pytest.raises(BadInput, match="is damaged or from another version"):
        headroles.load(tmp_path / "run")


def test_findings_and_labels_say_what_the_labelling_says(finished: Path) -> None:
    run = headroles.load(finished)
    findings, labels = _rows(finished / "findings.csv"), _rows(finished / "labels.csv")
    header = (
        "sieve,layer,head,count,cells,mean,null,margin,effect,low,high,statistic,p,q,p_not,q_not,decision"
    )
    assert (finished / "findings.csv").read_text().splitlines()[0] == header
    assert list(labels[0]) == ["layer", "head", "roles", *PLAIN]
    assert len(findings) == 5 * 6
    assert len(labels) == 6
    for place, row in zip(np.ndindex(5, 2, 3), findings, strict=True):
        assert row["sieve"] == run.findings.sieves[place[0]]
        assert (int(row["layer"]), int(row["head"])) == place[1:]
        for name in COLUMNS:
            value = float(getattr(run.findings, name)[place])
            assert row[name] == "" if np.isnan(value) else float(row[name]) == value
    for row in labels:
        told = {
            each["sieve"]: each["decision"]
            for each in findings
            if (each["layer"], each["head"]) == (row["layer"], row["head"])
        }
        assert {name: row[name] for name in PLAIN} == {
            name: {"role": "1", "not": "0"}.get(told[name], "") for name in PLAIN
        }
        assert row["roles"] == ";".join(name for name in PLAIN if told[name] == "role")
        assert told["block:matched"] == ""
    for line in (*(finished / name for name in ("findings.csv", "labels.csv")),):
        assert b"\r" not in line.read_bytes()


def test_the_manifest_is_plain_json_with_everything_needed_to_do_it_again(finished: Path) -> None:
    def refuse(name: str) -> None:
        raise AssertionError(f"{name} is no JSON")

    facts = json.loads((finished / "manifest.json").read_text(), parse_constant=refuse)
    assert facts["command"].startswith("headroles label --task QNLI --data ")
    assert " --model " in facts["command"]
    assert facts["counts"] == facts["counts"] | {"examples": 60, "units": 60}
    every = {each.name for each in fields(LabelOptions)}
    assert set(facts["settings"]) == every - {*LabelOptions.PLACES}
    assert {"out", "overwrite", "workers", "threads", "engine", "address", "gpus", "cache"} <= {
        *LabelOptions.PLACES
    }
    for name in ("headroles", "model", "source", "tokenizer", "versions", "machine", "skipped", "decision"):
        assert name in facts
    assert len(facts["model"]["weights_sha256"]) == len(facts["source"]["sha256"]) == 64
    assert [rule["sieve"] for rule in facts["rules"]] == [*PLAIN, "block:matched", "block:swap"]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"sieve": [Last(), "block"], "group": "document"},
        {"preset": "published"},
        {"statistic": "bias", "family": "run", "correction": "holm", "test": "t", "alpha": 0.01, "margin": 0},
        {"task": "SST-2", "data": None, "limit": 9, "max_length": 64},
    ],
)
def test_what_is_loaded_is_what_was_labelled(label: Label, options: dict[str, Any], tmp_path: Path) -> None:
    found = label(**options, out=tmp_path / "run")
    loaded = headroles.load(tmp_path / "run")
    _same(loaded, found)
    headroles.save(found, tmp_path / "first")
    headroles.save(loaded, tmp_path / "second")
    first, run = _contents(tmp_path / "first"), _contents(tmp_path / "run")
    assert _contents(tmp_path / "second") == first
    of_the_making = {"plan.json", "shards/00000.json", "shards/00000.parquet"}
    assert set(run) - set(first) == of_the_making
    assert {name for name in first if first[name] != run[name]} == {"manifest.json"}  # hashes of these


@pytest.mark.with_report
def test_a_run_is_the_same_to_the_last_byte_when_done_again(
    label: Label, finished: Path, tmp_path: Path
) -> None:
    label(out=tmp_path / "again")
    assert _contents(tmp_path / "again") == _contents(finished)
    label(out=tmp_path / "again")
    assert _contents(tmp_path / "again") == _contents(finished)
    assert sorted(tmp_path.iterdir()) == [tmp_path / "again"]


@pytest.mark.with_report
def test_judging_again_with_nothing_changed_changes_no_byte(run: Path) -> None:
    before = _contents(run)
    headroles.judge_again(run)
    assert _contents(run) == before


@pytest.mark.parametrize(
    "changed",
    [
        {"alpha": 1e-100},
        {"margin": 0.9},
        {"test": "t"},
        {"correction": "bonferroni"},
        {"family": "run"},
        {"alpha": 0.5, "margin": 0.0, "test": "t", "correction": "none", "family": "run"},
    ],
)
def test_judging_again_gives_what_a_new_run_would(
    label: Label, run: Path, changed: dict[str, Any], tmp_path: Path
) -> None:
    judged, fresh = tmp_path / "judged", tmp_path / "fresh"
    save(replace(headroles.load(run), exhibited=None), judged)  # maps are those of the first roles
    before = _contents(judged)
    again, new = headroles.judge_again(judged, **changed), label(**changed)
    save(replace(new, exhibited=None), fresh)
    _same(again, new)
    assert _contents(judged) == _contents(fresh)
    assert _contents(judged)["findings.csv"] != before["findings.csv"] or again.decision.alpha < 0.05
    assert _contents(judged)["report.html"] != before["report.html"]


def test_judging_again_and_back_is_where_it_was(run: Path) -> None:
    before = _contents(run)
    headroles.judge_again(run, alpha=0.2, margin=0.3)
    labelling = headroles.judge_again(run, alpha=0.05, margin=0.1)
    after = _contents(run)
    assert {name for name in after if after[name] != before[name]} == {"manifest.json", "report.html"}
    assert labelling.manifest["settings"]["alpha"] == 0.05


def test_judging_needs_no_model_and_no_data(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("the model was asked for")

    monkeypatch.setattr("headroles.runs.sources.find_checkpoint", refuse)
    monkeypatch.setattr("headroles.runs.sources.read_corpus", refuse)
    assert headroles.judge_again(run, alpha=0.01).decision.alpha == 0.01


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"alpha": 1.0}, "alpha must lie between 0 and 1"),
        ({"margin": -0.1}, "margin must be a number of at least 0"),
        ({"test": "wilcox"}, "no test is called 'wilcox'"),
        ({"correction": "fdr"}, "no correction is called 'fdr'; did you mean"),
        ({"family": "runs"}, "no family is called 'runs'; did you mean 'run'"),
    ],
)
def test_a_wrong_setting_leaves_the_run_as_it_was(run: Path, given: dict[str, Any], sentence: str) -> None:
    before = _contents(run)
    with pytest.raises(headroles.HeadrolesError, match=sentence):
        headroles.judge_again(run, **given)
    assert _contents(run) == before


def test_a_run_with_other_settings_is_kept_unless_told_otherwise(label: Label, run: Path) -> None:
    before = _contents(run)
    with pytest.raises(BadInput, match=r"holds a run with other settings \(limit, seed\); give --overwrite"):
        label(limit=10, seed=1, out=run)
    assert _contents(run) == before
    label(limit=10, out=run, overwrite=True)
    assert len(headroles.load(run).scores.examples) == 10


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_folder_that_is_no_run_is_never_replaced(label: Label, run: Path, overwrite: bool) -> None:
    thesis = run.parent / "thesis"
    thesis.mkdir()
    (thesis / "chapter.tex").write_text("years of work")
    with pytest.raises(BadInput, match="holds files that are no run of headroles"):
        label(out=thesis, overwrite=overwrite)
    (thesis / "manifest.json").write_text('{"name": "a web application"}')
    with pytest.raises(BadInput, match="holds files that are no run of headroles"):
        label(out=thesis, overwrite=overwrite)
    (thesis / "manifest.json").write_text("not json")
    with pytest.raises(BadInput, match="holds files that are no run of headroles"):
        label(out=thesis, overwrite=overwrite)
    (run / "notes.txt").write_text("my notes")
    with pytest.raises(BadInput, match=r"also holds 'notes.txt'; move it away"):
        label(out=run, overwrite=overwrite)
    with pytest.raises(BadInput, match=r"must be a folder, but .* is a file"):
        label(out=thesis / "chapter.tex", overwrite=overwrite)
    assert (thesis / "chapter.tex").read_text() == "years of work"
    assert (run / "notes.txt").read_text() == "my notes"


def test_folders_that_cannot_be_replaced_are_refused_before_any_work(
    label: Label, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "inner").mkdir()
    monkeypatch.chdir(tmp_path / "inner")
    for place in (".", "..", tmp_path):
        with pytest.raises(BadInput, match="is the current folder, holds it, or is a mount point"):
            label(out=place)
    monkeypatch.chdir("/")
    monkeypatch.setattr(Path, "is_mount", lambda self: True)
    with pytest.raises(BadInput, match="mount point; name a new folder"):
        label(out=tmp_path / "inner")


def test_an_empty_folder_and_a_link_are_filled(label: Label, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    label(limit=5, out=tmp_path / "link")
    label(limit=5, out=tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert sorted(each.name for each in (tmp_path / "real").iterdir()) == FILES
    assert sorted(each.name for each in tmp_path.iterdir()) == ["link", "real"]


@pytest.mark.parametrize("trouble", [RuntimeError("a bug"), KeyboardInterrupt(), OSError("not ours")])
@pytest.mark.parametrize("place", FIRST_STEPS)
def test_a_crash_before_the_first_shard_leaves_nothing_behind(
    label: Label, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str, trouble: BaseException
) -> None:
    def crash(*_: object, **__: object) -> None:
        raise trouble

    monkeypatch.setattr(place, crash)
    with pytest.raises(type(trouble)) as raised:
        label(limit=5, out=tmp_path / "new" / "deep" / "run")
    assert raised.value is trouble
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("place", FIRST_STEPS)
def test_a_crash_before_the_first_shard_leaves_the_run_that_was_there(
    label: Label, run: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    before = _contents(run)

    def crash(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(place, crash)
    with pytest.raises(KeyboardInterrupt):
        label(limit=5, out=run, overwrite=True)
    monkeypatch.setattr("headroles.stats.engine.judge", crash)
    with pytest.raises(KeyboardInterrupt):
        headroles.judge_again(run, alpha=0.1)
    assert _contents(run) == before
    assert list(run.parent.iterdir()) == [run]


def test_a_run_that_cannot_take_its_place_gives_it_back(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before, rename, labelling = _contents(run), Path.rename, headroles.load(run)

    def stubborn(self: Path, target: Path) -> Path:
        if Path(target).name == ".after":
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", stubborn)
    with pytest.raises(BadInput, match=r"cannot be written \(Invalid cross-device link\)"):
        save(labelling, run, overwrite=True)
    assert _contents(run) == before
    assert list(run.parent.iterdir()) == [run]


FULL = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.fixture
def full_disk(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Make one way of writing fail as on a full disk."""

    def fill(target: str) -> None:
        def fail(*_: object, **__: object) -> None:
            raise FULL

        monkeypatch.setattr(target, fail)

    return fill


def test_a_full_disk_is_one_sentence_and_leaves_nothing(
    label: Label, tmp_path: Path, full_disk: Callable[[str], None]
) -> None:
    full_disk("os.fsync")
    with pytest.raises(BadInput, match=r"cannot be written \(No space left on device\); "):
        label(limit=5, out=tmp_path / "runs" / "run")
    assert list(tmp_path.iterdir()) == []


def test_a_disk_that_fills_after_the_shards_keeps_them(
    label: Label, tmp_path: Path, full_disk: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as full:
        full.setattr("pathlib.Path.write_text", Path.write_text)
        full_disk("pathlib.Path.write_text")
        with pytest.raises(
            BadInput, match=r"cannot be written \(No space left on device\); name another --out"
        ):
            label(limit=5, out=tmp_path / "run")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["run"]
    assert [each.name for each in (tmp_path / "run" / "shards").glob("*.json")] == ["00000.json"]


def test_a_full_disk_leaves_a_judged_run_as_it_was(run: Path, full_disk: Callable[[str], None]) -> None:
    before = _contents(run)
    full_disk("pathlib.Path.write_text")
    with pytest.raises(BadInput, match=r"the results of the run cannot be written \(No space left"):
        headroles.judge_again(run, alpha=0.01)
    with pytest.raises(BadInput, match=r"'.*report.html' cannot be written \(No space left"):
        headroles.exporting.report(run)
    assert _contents(run) == before


@pytest.mark.parametrize("place", ["/proc/x", "/proc/x/y", "/dev/null", "/dev/null/x"])
def test_an_unwritable_place_is_one_sentence(label: Label, place: str) -> None:
    with pytest.raises(BadInput, match=r"^the (run )?folder '.*' cannot be written \(.*\); name another"):
        label(limit=5, out=place)


@pytest.mark.parametrize("place", ["x" * 300, "a\0b", "a\ud800b"])
def test_a_name_that_no_system_takes_is_refused_before_anything_is_read(
    label: Label, place: str, tmp_path: Path
) -> None:
    with pytest.raises(BadInput, match=r"^(every name in a path has at most 255 bytes|out must be text)"):
        label(limit=5, out=f"{tmp_path}/{place}")
    assert list(tmp_path.iterdir()) == []


def _spoil(run: Path, how: str) -> None:
    lines = (run / "findings.csv").read_text().splitlines(keepends=True)
    if how == "no scores":
        shutil.rmtree(run / "scores")
    elif how == "scores cut off":
        part = run / "scores" / "part-00000.parquet"
        part.write_bytes(part.read_bytes()[:500])
    elif how == "manifest cut off":
        (run / "manifest.json").write_text((run / "manifest.json").read_text()[:200])
    elif how == "manifest of another kind":
        (run / "manifest.json").write_text("[1, 2]")
    elif how == "other shape":
        change_manifest(run, lambda record: record["model"].update(heads=7))
    elif how == "rule of the future":
        change_manifest(run, lambda record: record["rules"][0].update(colour="red"))
    elif how == "findings cut off":
        (run / "findings.csv").write_text("".join(lines[:5]))
    elif how == "findings in another order":
        (run / "findings.csv").write_text("".join([lines[0], *reversed(lines[1:])]))
    elif how == "a decision nobody knows":
        (run / "findings.csv").write_text("".join(lines).replace("role", "rolle"))
    elif how == "a column gone":
        (run / "findings.csv").write_text("".join(lines).replace("p_not", "pnot"))
    else:
        (run / how).unlink()


@pytest.mark.parametrize(
    "how",
    [
        "no scores",
        "scores cut off",
        "manifest cut off",
        "manifest of another kind",
        "other shape",
        "rule of the future",
        "findings cut off",
        "findings in another order",
        "a decision nobody knows",
        "a column gone",
        "examples.parquet",
        "findings.csv",
    ],
)
@pytest.mark.parametrize("hashed", [False, True])
def test_a_damaged_run_is_one_sentence(run: Path, how: str, hashed: bool) -> None:
    _spoil(run, how)
    if hashed and "manifest" not in how:
        hash_again(run)
    before = _contents(run)
    with pytest.raises(BadInput, match="is damaged or from another version"):
        headroles.judge_again(run)
    assert _contents(run) == before


def test_settings_of_another_version_are_one_sentence(run: Path) -> None:
    def rename(record: dict[str, Any]) -> None:
        record["settings"]["sources"] = record["settings"].pop("source")

    change_manifest(run, rename)
    with pytest.raises(
        headroles.HeadrolesError, match="no option is called 'sources'; did you mean 'source'"
    ):
        headroles.judge_again(run)


def test_a_folder_without_a_manifest_is_no_run(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"a run folder holds a manifest.json, but '.*' does not"):
        headroles.load(tmp_path)
    for read in (headroles.load, headroles.judge_again, headroles.exporting.report, headroles.figures):
        with pytest.raises(BadInput, match=r"^No such folder: .*/nowhere; give the folder of a"):
            read(tmp_path / "nowhere")
    assert list(tmp_path.iterdir()) == []


def test_nothing_in_a_run_folder_is_a_pickle(finished: Path) -> None:
    for name, content in _contents(finished).items():
        assert not content.startswith(b"\x80"), name
        assert name.rpartition(".")[2] in ("parquet", "csv", "json", "html")


def test_rules_survive_with_their_unknown_bounds(label: Label, tmp_path: Path) -> None:
    label(sieve=Last(), out=tmp_path / "run")
    (rule,) = headroles.load(tmp_path / "run").findings.rules
    assert np.isnan([rule.low, rule.high]).all()
    assert set(asdict(rule)) == {each.name for each in fields(Rule)}


@pytest.mark.with_report
def test_the_report_of_a_folder_is_written_again_as_it_was(run: Path, tmp_path: Path) -> None:
    other = tmp_path / "deep" / "page.html"
    assert headroles.exporting.report(run, other) == other
    assert filecmp.cmp(other, run / "report.html", shallow=False)
    assert [each.name for each in other.parent.iterdir()] == ["page.html"]
    with pytest.raises(BadInput, match="cannot be written"):
        headroles.exporting.report(run, tmp_path)


def test_the_manifest_says_which_kind_of_run_it_is(run: Path) -> None:
    facts = json.loads((run / "manifest.json").read_text())
    assert list(facts["parts"]) == ["exhibited"]
    assert "kind" not in facts
    change_manifest(run, lambda record: record.pop("parts"))  # as written before
    found = headroles.judge_again(run)
    assert (found.probed, found.surface, found.clustered) == (None, None, None)
    assert list(json.loads((run / "manifest.json").read_text())["parts"]) == ["exhibited"]


def test_tables_that_csv_cannot_read_are_one_sentence(run: Path) -> None:
    (run / "findings.csv").write_bytes(b'sieve,layer,head\n"' + b"9" * 200_000)
    with pytest.raises(BadInput, match="is damaged or from another version"):
        headroles.load(run)


def test_a_run_of_an_older_version_has_no_intervals_of_means(run: Path) -> None:
    """Its table lacks two columns; what is missing is NaN, and the intervals of the findings are shown."""
    rows = _rows(run / "precision.csv")
    names = [name for name in rows[0] if name not in ("mean_low", "mean_high")]
    with (run / "precision.csv").open("w", encoding="utf-8", newline="") as text:
        writer = csv.DictWriter(text, names, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    hash_again(run)
    older = headroles.load(run)
    assert older.assessment is not None
    assert np.isnan(older.assessment.precision.mean_low).all()
    np.testing.assert_array_equal(older.mean_intervals(), (older.findings.low, older.findings.high))
