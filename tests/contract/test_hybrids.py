"""Recorded runs as those of a hybrid: whatever a person reads names a layer by the position of its block."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headroles
from headroles.kinds import kind_of
from headroles.records import Stack, StackLayer
from tests.contract.kinds import inside, start
from tests.contract.recorded import READ, RECORDED, command_text, tables_of, words_of

STACK = Stack((StackLayer(5, "blocks.5"), StackLayer(8, "blocks.8")), 9)
"""Layers 5 and 8 of 9, in place of the two layers of the recorded runs."""
UNREAD = re.compile(r"(?<![\w.−-])[01]-[0-2](?![\w.-])|\b[Ll]ayers? [01]\b(?!\.\d)")
"""Heads and layers by their places among those that are read."""
READ_LAYERS = re.compile(r"(?<![\w.-])(?:5|8)-[0-2](?![\w.-])|\b[Ll]ayers? (?:5|8)\b")
KINDS = ("label", "surface", "cluster", "probe", "ablate", "why", "compare", "replicate", "atlas-of-parts")
ROWS = {"differences.csv", "findings.csv", "labels.csv", "layers.csv", "noop.csv", "sites.csv", "origins.csv"}


def of_hybrid(name: str, workspace: Path) -> Any:
    """Store the recorded run, or what it is made of, as one of the hybrid, and judge it again."""
    for run in READ.get(name, (name,)):
        stored = headroles.load(RECORDED / run / "run")
        facts = {**stored.manifest, "model": {**stored.manifest["model"], **STACK.described}}
        scores = replace(stored.scores, stack=STACK)
        headroles.save(replace(stored, scores=scores, manifest=facts, folder=None), workspace / run)
        with inside(workspace):
            result: Any = headroles.judge_again(run)
    with inside(workspace):
        return start(name) if name in READ else result


@pytest.mark.parametrize("name", KINDS)
def test_layers_of_a_hybrid_are_named_by_the_position_of_their_block(name: str, tmp_path: Path) -> None:
    result, folder = of_hybrid(name, tmp_path), tmp_path / name
    texts = words_of(name, tmp_path, result) | tables_of(name, folder)
    if name == "label":
        with inside(tmp_path):
            texts["grid.txt"] = command_text("show", name, "--grid")
    assert {file: found for file, text in texts.items() if (found := UNREAD.findall(text))} == {}
    few = {"tables.md"} if name == "compare" else set()  # below 75 units no head is named as changed
    for file in texts.keys() & {"page.txt", "tables.md"} - few:
        assert READ_LAYERS.search(texts[file]), file
    for file in texts.keys() & ROWS:
        header, *rows = (line.split(",") for line in texts[file].splitlines())
        assert {row[header.index("layer")] for row in rows} <= {"5", "8"}, file
    page = (folder / "report.html").read_text(encoding="utf-8") if folder.is_dir() else ""
    if page and not name.startswith("atlas"):
        assert '"layers":[5,8]' in page
        assert "attention in 2 of 9 layers" in texts["page.txt"] + texts["terminal.txt"]
    if name in READ:
        return
    run = headroles.load(folder)
    assert {*run.frame()["layer"]} == {5, 8}
    assert "8-2" in repr(run.head(8, 2)) + run.head(8, 2).sentence
    with pytest.raises(headroles.HeadrolesError, match="layers with attention are 5, 8, but got 1"):
        run.head(1, 2)
    drawn = json.dumps(kind_of(run).figures(run, 183.0), default=np.ndarray.tolist)
    assert not re.search(r'"layer [01][:"]|"[01]-[0-2]"', drawn)
    np.testing.assert_array_equal(run.scores.values, headroles.load(RECORDED / name / "run").scores.values)
