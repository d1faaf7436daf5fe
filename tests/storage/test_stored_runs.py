"""The run folder: its schema, exact round trips of every kind of run, and judging again."""

import csv
import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, fields, replace
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import headroles
from headroles import Example, Labelling
from headroles.records import COLUMNS, Rule
from headroles.storage import RUN, finish_pruning, load_atlas, load_comparison, load_pruning
from tests.support.folders import assert_same, change_manifest, contents, hash_again, names, unseal, verify

Label = Callable[..., Labelling]
PLAIN = ("local", "delimiter", "block")
FILES = [
    "cells.parquet", "depth.csv", "examples.parquet", "findings.csv", "labels.csv", "manifest.json",
    "maps.parquet", "plan.json", "precision.csv", "report.html", "scores", "sensitivity.csv", "sets.csv",
    "several.csv", "shards", "shown.parquet", "together.csv", "typical.csv",
]  # fmt: skip
PARTS = {
    "label": ("exhibited", "cells.parquet maps.parquet shown.parquet typical.csv"),
    "surface": ("surface", "layers.csv noop.csv"),
    "surface, no gradients": ("surface", "layers.csv"),
    "probe": (
        "probed",
        "baselines.csv best.csv conditions.csv contests.csv tallies.parquet trained.csv weights.csv",
    ),
    "probe, nothing found": ("probed", ""),
    "cluster": ("clustered", "choices.csv claims.csv clusters.csv divergence.npz neighbours.csv"),
    "ablate": (
        "ablated",
        "damage.csv groups.csv held.npz margins.csv prediction.csv sets.npz sites.csv",
    ),
    "ablate, no roles": ("ablated", "damage.csv margins.csv"),
    "why": ("origins", "dimensions.csv knockouts.csv origins.csv origins.npz"),
    "why, nothing removed": ("origins", "dimensions.csv origins.csv origins.npz"),
}
"""The part of a run, and its files."""
MADE = (
    *PARTS, "sums", "probe, no gaps or tallies", "cluster, no neighbours", "cluster by spectral",
    "cluster by dbscan",
    "ablate, no groups", "ablate, screened", "why, turning pairs",
    "why, no deals", "why, nothing held",
)  # fmt: skip


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


def rows(file: Path) -> list[dict[str, str]]:
    """Return the rows of a table."""
    with file.open(encoding="utf-8", newline="") as text:
        return list(csv.DictReader(text))


@pytest.mark.parametrize("name", MADE)
def test_a_run_comes_back_field_by_field_and_is_stored_in_the_same_bytes(
    name: str, made: Callable[[str], Labelling], stored: Callable[[str], Path], tmp_path: Path
) -> None:
    run, loaded = made(name), headroles.load(stored(name))
    for field in fields(run):
        if field.name not in ("folder", "manifest"):
            assert_same(getattr(loaded, field.name), getattr(run, field.name), field.name)
    assert loaded.manifest == run.manifest
    headroles.save(loaded, tmp_path / "again")
    assert contents(tmp_path / "again") == contents(stored(name))
    assert {*names(tmp_path / "again")} <= RUN.holds


@pytest.mark.parametrize("name", PARTS)
def test_the_manifest_names_the_part_of_a_run_and_its_files(name: str, stored: Callable[[str], Path]) -> None:
    part, files = PARTS[name]
    assert json.loads((stored(name) / "manifest.json").read_text())["parts"] == {part: files.split()}
    own = {file for _, others in PARTS.values() for file in others.split()}
    assert {*names(stored(name))} & own == {*files.split()}


def test_comparisons_atlases_and_prunings_come_back(run: Path, tmp_path: Path) -> None:
    from tests.support.causal.pruned import pruning

    other = Path(shutil.copytree(run, tmp_path / "other"))
    headroles.judge_again(other, alpha=1e-9)
    compared = headroles.compare(run, other, swaps=99, out=tmp_path / "compared")
    back = load_comparison(tmp_path / "compared")
    assert back.manifest == compared.manifest
    assert back.frame().equals(compared.frame())
    assert back.labels().equals(compared.labels())
    assert back.by_layer().equals(compared.by_layer())
    assert back.by_role().equals(compared.by_role())
    atlas = headroles.atlas([run, other], out=tmp_path / "atlas")
    assert_same(replace(load_atlas(tmp_path / "atlas"), manifest={}), replace(atlas, manifest={}))
    for number, cut in enumerate((pruning(), pruning(fresh=False), pruning(reason="no room"))):
        folder = tmp_path / f"pruned{number}"
        (folder / "model").mkdir(parents=True)
        (folder / "model" / "config.json").write_text("{}")
        finish_pruning(folder, cut, "a page")
        read = load_pruning(folder)
        for field in fields(cut):
            if field.name != "manifest":
                assert_same(getattr(read, field.name), getattr(cut, field.name), field.name)
        assert read.manifest.items() >= {name: cut.manifest[name] for name in ("command", "model")}.items()


def test_a_run_folder_holds_exactly_what_it_should_and_no_pickle(finished: Path) -> None:
    assert names(finished) == FILES
    assert names(finished / "scores") == ["part-00000.parquet"]
    for name, content in contents(finished).items():
        assert not content.startswith(b"\x80"), name
        assert name.rpartition(".")[2] in ("parquet", "csv", "json", "html")


def test_scores_are_one_row_per_example_of_lists_of_layers_times_heads(finished: Path) -> None:
    part = pq.ParquetFile(finished / "scores" / "part-00000.parquet")
    columns = (*PLAIN, "block:matched", "block:swap")
    schema = part.schema_arrow
    assert [(field.name, field.type) for field in list(schema)[:3]] == [
        ("example", pa.string()), ("group", pa.string()), ("tokens", pa.int32())
    ]  # fmt: skip
    assert schema.names[3:] == list(columns)
    for name in columns:
        kind = schema.field(name).type
        assert pa.types.is_fixed_size_list(kind)
        assert (kind.list_size, kind.value_type) == (6, pa.float32())
    group = part.metadata.row_group(0)
    for column in range(group.num_columns):
        about = group.column(column)
        assert about.compression == "ZSTD"
        assert not about.has_dictionary_page
        assert about.statistics is None or about.statistics.null_count == 0
    run, read = headroles.load(finished), part.read()
    assert read["example"].to_pylist() == [f"QNLI/{k}" for k in range(60)] == list(run.scores.examples)
    flat = np.array(read["delimiter"].to_pylist()).reshape(60, 2, 3)
    np.testing.assert_array_equal(flat.astype(np.float32), run.scores.values[1])
    assert flat[:, 0, 2].min() > 0.8
    assert np.abs(np.delete(flat.reshape(60, 6), 2, axis=1)).max() < 0.2


def test_silence_is_stored_as_nan_and_never_as_null_and_unknown_bounds_survive(
    label: Label, tmp_path: Path
) -> None:
    label(sieve=[Last(), "local"], out=tmp_path / "run", maps=0)
    read = pq.read_table(tmp_path / "run" / "scores" / "part-00000.parquet")
    column = read["last, or none"].combine_chunks()
    assert column.null_count == column.flatten().null_count == 0
    silent = np.array(read["tokens"].to_pylist()) % 2 == 0
    values = column.flatten().to_numpy().reshape(60, 6)
    np.testing.assert_array_equal(np.isnan(values).all(axis=1), silent)
    np.testing.assert_array_equal(np.isnan(values).any(axis=1), silent)
    rule = headroles.load(tmp_path / "run").findings.rules[1]
    assert rule.sieve == "last, or none"
    assert np.isnan([rule.low, rule.high]).all()
    assert set(asdict(rule)) == {field.name for field in fields(Rule)}


def test_long_runs_are_stored_in_parts(label: Label, tmp_path: Path) -> None:
    many = tmp_path / "many.tsv"
    many.write_text("sentence\n" + "\n".join(f"the cat {k} sat in house {k}" for k in range(300)) + "\n")
    found = label(task="SST-2", data=many, sieve="local", out=tmp_path / "run")
    parts = sorted((tmp_path / "run" / "scores").iterdir())
    assert [part.name for part in parts] == ["part-00000.parquet", "part-00001.parquet"]
    assert [pq.read_metadata(part).num_rows for part in parts] == [256, 44]
    assert_same(headroles.load(tmp_path / "run").scores, found.scores)


def test_findings_and_labels_say_what_the_labelling_says(finished: Path) -> None:
    run = headroles.load(finished)
    findings, labels = rows(finished / "findings.csv"), rows(finished / "labels.csv")
    assert (finished / "findings.csv").read_text().splitlines()[0] == (
        "sieve,layer,head,count,cells,mean,null,margin,effect,low,high,statistic,p,q,p_not,q_not,decision"
    )
    assert list(labels[0]) == ["layer", "head", "roles", *PLAIN]
    assert (len(findings), len(labels)) == (5 * 6, 6)
    for place, row in zip(np.ndindex(5, 2, 3), findings, strict=True):
        assert row["sieve"] == run.findings.sieves[place[0]]
        assert (int(row["layer"]), int(row["head"])) == place[1:]
        for name in COLUMNS:
            value = float(getattr(run.findings, name)[place])
            assert row[name] == "" if np.isnan(value) else float(row[name]) == value
    for row in labels:
        place = (row["layer"], row["head"])
        told = {
            each["sieve"]: each["decision"] for each in findings if (each["layer"], each["head"]) == place
        }
        assert {name: row[name] for name in PLAIN} == {
            name: {"role": "1", "not": "0"}.get(told[name], "") for name in PLAIN
        }
        assert row["roles"] == ";".join(name for name in PLAIN if told[name] == "role")
        assert told["block:matched"] == ""
    assert b"\r" not in (finished / "findings.csv").read_bytes() + (finished / "labels.csv").read_bytes()


def test_the_manifest_is_plain_json_with_everything_needed_to_do_it_again(finished: Path) -> None:
    facts = json.loads((finished / "manifest.json").read_text(), parse_constant=pytest.fail)
    assert facts["command"].startswith("headroles label --task QNLI --data ")
    assert " --model " in facts["command"]
    assert facts["counts"] == facts["counts"] | {"examples": 60, "units": 60}
    assert {"out", "overwrite", "workers", "threads", "engine", "address", "gpus"}.isdisjoint(
        facts["settings"]
    )
    assert (
        facts["settings"].items() >= {"task": "QNLI", "max_length": 48, "sieve": [*PLAIN], "seed": 0}.items()
    )
    assert {"headroles", "tokenizer", "versions", "machine", "skipped", "decision"} <= facts.keys()
    assert len(facts["model"]["weights_sha256"]) == len(facts["source"]["sha256"]) == 64
    assert [rule["sieve"] for rule in facts["rules"]] == [*PLAIN, "block:matched", "block:swap"]
    assert "kind" not in facts


@pytest.mark.parametrize(
    "options",
    [
        {"sieve": [Last(), "block"], "group": "document", "maps": 2},
        {"preset": "published", "maps": 0},
        {"statistic": "bias", "family": "run", "correction": "holm", "test": "t", "alpha": 0.01, "margin": 0},
        {"task": "SST-2", "data": None, "limit": 9, "max_length": 64},
    ],
    ids=["scorers", "published", "decision", "sample"],
)
def test_what_is_loaded_is_what_was_labelled(label: Label, options: dict[str, Any], tmp_path: Path) -> None:
    found = label(**options, out=tmp_path / "run")
    loaded = headroles.load(tmp_path / "run")
    assert_same(replace(loaded, folder=None, manifest={}), replace(found, folder=None, manifest={}))
    assert loaded.manifest == found.manifest
    headroles.save(found, tmp_path / "saved")
    saved, run = contents(tmp_path / "saved"), contents(tmp_path / "run")
    assert set(run) - set(saved) == {"plan.json", "shards/00000.json", "shards/00000.parquet"}
    assert {name for name in saved if saved[name] != run[name]} == {"manifest.json"}  # hashes of these


@pytest.mark.with_report
def test_judging_again_with_nothing_changed_changes_no_byte_and_back_is_where_it_was(run: Path) -> None:
    before = contents(run)
    headroles.judge_again(run)
    assert contents(run) == before
    headroles.judge_again(run, alpha=0.2, margin=0.3)
    labelling = headroles.judge_again(run, alpha=0.05, margin=0.1)
    after = contents(run)
    assert {name for name in after if after[name] != before[name]} == {"manifest.json", "report.html"}
    assert labelling.manifest["settings"]["alpha"] == 0.05


@pytest.mark.parametrize(
    "changed",
    [
        {"alpha": 1e-100},
        {"margin": 0.9, "test": "t", "correction": "bonferroni"},
        {"alpha": 0.5, "margin": 0.0, "test": "t", "correction": "none", "family": "run"},
    ],
    ids=["alpha", "margin", "all"],
)
def test_judging_again_gives_what_a_new_run_would(
    label: Label, run: Path, changed: dict[str, Any], tmp_path: Path
) -> None:
    judged, fresh = tmp_path / "judged", tmp_path / "fresh"
    headroles.save(replace(headroles.load(run), exhibited=None), judged)  # maps are those of the first roles
    before = contents(judged)
    again, new = headroles.judge_again(judged, **changed), label(**changed)
    headroles.save(replace(new, exhibited=None), fresh)
    for name in ("scores", "findings", "decision", "skipped"):
        assert_same(getattr(again, name), getattr(new, name), name)
    after = contents(judged)
    assert after == contents(fresh)
    assert after["findings.csv"] != before["findings.csv"] or again.decision.alpha < 0.05
    assert after["report.html"] != before["report.html"]


@pytest.mark.parametrize("hashed", [True, False], ids=["hashed", "without hashes"])
def test_judging_again_leaves_files_of_maps_even_of_roles_that_are_no_longer_held(
    hashed: bool, run: Path
) -> None:
    maps = PARTS["label"][1].split()
    if not hashed:
        change_manifest(run, lambda record: record.pop("files"))
    before = {name: ((run / name).read_bytes(), (run / name).stat().st_ino) for name in maps}
    after = headroles.judge_again(run, margin=0.99)
    assert not (after.findings.decision == 0).any()
    assert after.exhibited is not None
    assert {name: ((run / name).read_bytes(), (run / name).stat().st_ino) for name in maps} == before
    assert verify(run).examples == 60
    assert json.loads((run / "manifest.json").read_text())["settings"]["maps"] == 1000


def test_what_is_of_no_part_leaves_with_the_run_that_had_it(label: Label, run: Path) -> None:
    label(maps=0, out=run, overwrite=True)
    assert not {*names(run)} & {*PARTS["label"][1].split()}
    assert json.loads((run / "manifest.json").read_text())["parts"] == {}
    assert headroles.load(run).exhibited is None


def test_runs_of_older_versions_are_read_and_written_in_the_present_format(
    run: Path, copied: Callable[[str], Path]
) -> None:
    before = headroles.load(run)
    table = rows(run / "precision.csv")
    kept = [name for name in table[0] if name not in ("mean_low", "mean_high")]
    lines = [",".join(kept), *(",".join(row[name] for name in kept) for row in table)]
    (run / "precision.csv").write_text("\n".join(lines) + "\n")
    hash_again(run)
    older = headroles.load(run)
    assert older.assessment is not None
    assert np.isnan(older.assessment.precision.mean_low).all()
    np.testing.assert_array_equal(older.mean_intervals(), (older.findings.low, older.findings.high))
    unseal(run)
    assert headroles.load(run).manifest == before.manifest
    headroles.judge_again(run)
    assert json.loads((run / "manifest.json").read_text())["format"] == 2
    verify(run)
    for name in ("surface", "cluster", "probe"):
        folder, (part, files) = copied(name), PARTS[name]
        change_manifest(folder, lambda record: record.pop("parts"))  # parts were known by their files
        assert getattr(headroles.load(folder), part) is not None
        for file in files.split():
            (folder / file).unlink()
        hash_again(folder)
        assert getattr(headroles.load(folder), part) is None


def test_older_archives_that_called_sums_of_divergences_means_are_read(
    made: Callable[[str], Labelling], tmp_path: Path
) -> None:
    run = made("cluster")
    assert run.clustered is not None
    clustered = replace(run.clustered, divergence=replace(run.clustered.divergence, way="sum"))
    headroles.save(replace(run, clustered=clustered), tmp_path)
    with np.load(tmp_path / "divergence.npz") as archive:
        arrays = {name: archive[name] for name in archive.files}
    assert "mean" not in arrays
    np.savez_compressed(tmp_path / "divergence.npz", mean=arrays.pop("sum"), **arrays)
    hash_again(tmp_path)
    back = headroles.load(tmp_path).clustered
    assert back is not None
    np.testing.assert_array_equal(back.divergence.mean(), clustered.divergence.mean())


HOSTILE = ("<script>", "\u202eabc", "👩‍🚀", "a" * 10_000, "\x00", '"', "\n", ",", "'", "=1+1", " ", "nan")
NUMBERS = (0.1 + 0.2, float("nan"), float("inf"), -float("inf"), 5e-324, -0.0, 1.7976931348623157e308)


def test_hostile_texts_and_numbers_of_any_size_come_back_from_all_tables_of_records(
    made: Callable[[str], Labelling], tmp_path: Path
) -> None:
    run, texts, numbers = made("probe"), cycle([text for text in HOSTILE if text != "\x00"]), cycle(NUMBERS)

    def changed(record: Any) -> Any:
        values = {field.name: getattr(record, field.name) for field in fields(record)}
        new: dict[type, Iterator[Any]] = {str: texts, float: numbers}
        given = {name: next(new[type(value)]) for name, value in values.items() if type(value) in new}
        return replace(record, **given)

    probed = run.probed
    assert probed is not None
    records = {
        name: getattr(probed, name)
        for name in ("best", "baselines", "gaps", "trained", "contests", "weights")
    }
    hostile: dict[str, Any] = {name: tuple(map(changed, rows_)) for name, rows_ in records.items()}
    headroles.save(replace(run, probed=replace(probed, **hostile)), tmp_path / "probe")
    assert_same(headroles.load(tmp_path / "probe").probed, replace(probed, **hostile))
    label, kept = made("label"), made("label").exhibited
    assert kept is not None
    tokens = tuple(HOSTILE)
    examples = tuple(replace(one, tokens=(*tokens, *one.tokens[len(tokens) :])) for one in kept.examples)
    exhibited = replace(kept, examples=examples, left=7)
    headroles.save(replace(label, exhibited=exhibited), tmp_path / "label")
    assert_same(headroles.load(tmp_path / "label").exhibited, exhibited)
