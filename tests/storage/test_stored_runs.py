"""The run folder: its schema, exact round trips of every kind of run, and judging again."""

import csv
import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import headroles
from headroles import Labelling
from headroles.records import Table
from headroles.storage import RUN, finish_pruning, load_atlas, load_comparison, load_pruning
from tests.support.folders import assert_same, contents, names, verify

Label = Callable[..., Labelling]
PLAIN = ("local", "delimiter", "block")
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
    "ablate": ("ablated", "damage.csv groups.csv held.npz margins.csv prediction.csv sets.npz sites.csv"),
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
    if name in PARTS:
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
    for table in ("frame", "labels", "by_layer", "by_role"):
        assert getattr(back, table)().equals(getattr(compared, table)()), table
    atlas = headroles.atlas([run, other], out=tmp_path / "atlas")
    assert_same(replace(load_atlas(tmp_path / "atlas"), manifest={}), replace(atlas, manifest={}))
    for number, cut in enumerate((pruning(), pruning(fresh=False), pruning(reason="no room"))):
        folder = tmp_path / f"pruned{number}"
        (folder / "model").mkdir(parents=True)
        (folder / "model" / "config.json").write_text("{}")
        finish_pruning(folder, cut, "a page")
        read = load_pruning(folder)
        assert_same(replace(read, manifest={}), replace(cut, manifest={}))
        assert read.manifest.items() >= {name: cut.manifest[name] for name in ("command", "model")}.items()


def test_scores_are_one_row_per_example_of_lists_of_layers_times_heads(finished: Path) -> None:
    part = pq.ParquetFile(finished / "scores" / "part-00000.parquet")
    columns = [*PLAIN, "block:matched", "block:swap"]
    kinds = {field.name: field.type for field in part.schema_arrow}
    assert list(kinds) == ["example", "group", "tokens", *columns]
    assert [str(kinds[name]) for name in ("example", "group", "tokens")] == ["string", "string", "int32"]
    assert {(kinds[name].list_size, kinds[name].value_type) for name in columns} == {(6, pa.float32())}
    run, read = headroles.load(finished), part.read()
    assert read["example"].to_pylist() == [f"QNLI/{k}" for k in range(60)] == list(run.scores.examples)
    flat = np.array(read["delimiter"].to_pylist()).reshape(60, 2, 3)
    np.testing.assert_array_equal(flat.astype(np.float32), run.scores.values[1])
    assert flat[:, 0, 2].min() > 0.8
    assert np.abs(np.delete(flat.reshape(60, 6), 2, axis=1)).max() < 0.2


def test_long_runs_are_stored_in_parts(label: Label, tmp_path: Path) -> None:
    many = tmp_path / "many.tsv"
    many.write_text("sentence\n" + "\n".join(f"the cat {k} sat in house {k}" for k in range(300)) + "\n")
    found = label(task="SST-2", data=many, sieve="local", out=tmp_path / "run")
    parts = sorted((tmp_path / "run" / "scores").iterdir())
    assert [part.name for part in parts] == ["part-00000.parquet", "part-00001.parquet"]
    assert [pq.read_metadata(part).num_rows for part in parts] == [256, 44]
    assert_same(headroles.load(tmp_path / "run").scores, found.scores)


def test_what_is_loaded_is_what_was_labelled(label: Label, tmp_path: Path) -> None:
    options: dict[str, Any] = {"group": "document", "maps": 2, "statistic": "bias", "family": "run"}
    options |= {"correction": "holm", "test": "t", "alpha": 0.01, "margin": 0}
    found = label(**options, out=tmp_path / "run")
    loaded = headroles.load(tmp_path / "run")
    assert_same(replace(loaded, folder=None, manifest={}), replace(found, folder=None, manifest={}))
    assert loaded.manifest == found.manifest
    headroles.save(found, tmp_path / "saved")
    saved, run = contents(tmp_path / "saved"), contents(tmp_path / "run")
    assert set(run) - set(saved) == {"plan.json", "shards/00000.json", "shards/00000.parquet"}
    assert {name for name in saved if saved[name] != run[name]} == {"manifest.json"}  # hashes of these
    label(**options | {"maps": 0}, out=tmp_path / "run", overwrite=True)  # files of no part leave
    assert not {*names(tmp_path / "run")} & {*PARTS["label"][1].split()}
    assert json.loads((tmp_path / "run" / "manifest.json").read_text())["parts"] == {}


@pytest.mark.with_report
def test_judging_again_with_nothing_changed_changes_no_byte_and_back_is_where_it_was(run: Path) -> None:
    headroles.judge_again(run)  # the run may have the small page of another test
    before = contents(run)
    headroles.judge_again(run)
    assert contents(run) == before
    headroles.judge_again(run, alpha=0.2, margin=0.3)
    assert headroles.judge_again(run, alpha=0.05, margin=0.1).manifest["settings"]["alpha"] == 0.05
    changed = {name for name, data in contents(run).items() if data != before[name]}
    assert changed == {"manifest.json", "report.html"}


def test_judging_again_is_as_a_new_run(label: Label, run: Path, tmp_path: Path) -> None:
    changed: dict[str, Any] = {"alpha": 0.5, "margin": 0.0, "test": "t", "family": "run"}
    changed["correction"] = "none"
    judged, fresh = tmp_path / "judged", tmp_path / "fresh"
    headroles.save(replace(headroles.load(run), exhibited=None), judged)  # maps are those of the first roles
    before = contents(judged)
    again, new = headroles.judge_again(judged, **changed), label(**changed)
    headroles.save(replace(new, exhibited=None), fresh)
    for name in ("scores", "findings", "decision", "skipped"):
        assert_same(getattr(again, name), getattr(new, name), name)
    after = contents(judged)
    assert after == contents(fresh)
    for name in ("findings.csv", "report.html"):
        assert after[name] != before[name]


def test_judging_again_leaves_maps_of_roles_no_longer_held(run: Path) -> None:
    maps = PARTS["label"][1].split()
    before = {name: ((run / name).read_bytes(), (run / name).stat().st_ino) for name in maps}
    after = headroles.judge_again(run, margin=0.99)
    assert not (after.findings.decision == 0).any()
    assert after.exhibited is not None
    assert {name: ((run / name).read_bytes(), (run / name).stat().st_ino) for name in maps} == before
    assert verify(run).examples == 60
    assert json.loads((run / "manifest.json").read_text())["settings"]["maps"] == 1000


HOSTILE = ("<script>", "\u202eabc", "👩‍🚀", "a" * 10_000, "\x00", '"', "\n", ",", "'", "=1+1", " ", "nan")
NUMBERS = (0.1 + 0.2, float("nan"), float("inf"), -float("inf"), 5e-324, -0.0, 1.7976931348623157e308)


def test_hostile_texts_and_numbers_come_back(made: Callable[[str], Labelling], tmp_path: Path) -> None:
    texts, numbers = cycle([text for text in HOSTILE if text != "\x00"]), cycle(NUMBERS)

    def changed(table: Table) -> Table:
        new: dict[Any, Iterator[Any]] = {str: texts, float: numbers}
        free = [column for column in table.columns if column.kind in new and not column.words]
        return table.replace(**{one.name: [next(new[one.kind]) for _ in table] for one in free})

    probe: Any = made("probe")
    tables = ("best", "baselines", "gaps", "trained", "contests", "weights")
    hostile = {name: changed(getattr(probe.probed, name)) for name in tables}
    probed = replace(probe.probed, **hostile)
    headroles.save(replace(probe, probed=probed), tmp_path / "probe")
    assert_same(headroles.load(tmp_path / "probe").probed, probed)
    label: Any = made("label")
    examples = tuple(
        replace(one, tokens=(*HOSTILE, *one.tokens[len(HOSTILE) :])) for one in label.exhibited.examples
    )
    exhibited = replace(label.exhibited, examples=examples, left=7)
    headroles.save(replace(label, exhibited=exhibited), tmp_path / "label")
    assert_same(headroles.load(tmp_path / "label").exhibited, exhibited)
