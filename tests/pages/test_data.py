"""What pages hold for their scripts and readers: every number is the one of the run."""

import base64
import json
import re
import sys
import zlib
from dataclasses import fields
from html import unescape
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headroles.kinds import kind_of
from headroles.records import COLUMNS, Precision
from headroles.reports import page_of
from tests.support import made_views
from tests.support.pages import (
    RUNS,
    Parts,
    parts_of,
    result,
    result_files,
    strong_run,
    usual_page,
    view_html,
)

KINDS_OF_RUN = [pytest.param(kind, marks=pytest.mark.xdist_group(f"page of {kind}")) for kind in RUNS]


def _numbers(text: str, kind: str = "<f8") -> np.ndarray:
    """Return the numbers that stand in a page as base64."""
    return np.frombuffer(base64.b64decode(text), dtype=kind)


@pytest.mark.parametrize("kind", KINDS_OF_RUN)
def test_the_embedded_findings_and_precisions_are_those_of_the_run_bit_for_bit(kind: str) -> None:
    run = result(kind)
    stored = parts_of(usual_page(kind)).islands["findings-columns"]
    shape = run.findings.count.shape
    assert (stored["layers"], stored["heads"], stored["alpha"]) == ([*range(shape[1])], shape[2], 0.05)
    assert stored["sieves"] == list(run.findings.sieves)
    assert stored["names"] == list(COLUMNS)
    known = [] if run.assessment is None else [field.name for field in fields(Precision)]
    assert stored["precision"] == known
    for name in (*COLUMNS, *known):
        expected = getattr(run.findings if name in COLUMNS else run.assessment.precision, name)
        values = _numbers(stored["columns"][name])
        values = values if values.size == expected.size else np.repeat(values, shape[1] * shape[2])
        np.testing.assert_array_equal(values, expected.ravel().astype(float), err_msg=name)
    codes = _numbers(stored["decision"], "u1")
    words = run.frame()["decision"].tolist()
    assert [stored["decisions"][code] for code in codes] == words
    roles = [place for place, rule in enumerate(run.findings.rules) if rule.role]
    assert [role["sieve"] for role in stored["roles"]] == roles
    held = (run.findings.decision[roles] == 0).sum(axis=(1, 2))
    assert [role["count"] for role in stored["roles"]] == held.tolist()


DOWNLOADS = {
    "label": {"sensitivity.csv", "together.csv", "sets.csv", "depth.csv", "several.csv"},
    "cluster": {"claims.csv"},
    "ablate": {"damage.csv", "prediction.csv", "sites.csv", "groups.csv", "margins.csv"},
    "why": {"origins.csv", "dimensions.csv", "knockouts.csv"},
}
"""Files that a page offers at least, beside those that its script makes."""


@pytest.mark.parametrize("kind", KINDS_OF_RUN)
def test_tables_to_download_are_the_files_of_the_run_folder(kind: str) -> None:
    run, parts = result(kind), parts_of(usual_page(kind))
    embedded, folder = parts.islands.get("files", {}), result_files(run)
    assert DOWNLOADS.get(kind, set()) <= embedded.keys()
    for name, text in embedded.items():
        assert text.encode() == folder[name], name
        assert f'data-file="{name}"' in parts.html
    assert parts.islands["manifest"] == dict(run.manifest)
    assert set(kind_of(run).downloads(run)) <= folder.keys()


def test_strong_and_absent_heads_reach_the_script_and_the_matrix_rings_strong_ones() -> None:
    parts = Parts(page_of(strong_run()))
    syntactic, local = parts.islands["findings-columns"]["roles"]
    assert (syntactic["strong"], syntactic["absent"]) == ([0], [3, 5])
    assert (syntactic["control"], syntactic["stronger"]) == ("distance", "word class")
    assert (local["strong"], local["absent"]) == ([], [0, 1, 2, 3, 4])
    assert (local["control"], local["stronger"], local["contrast"]) == ("", "", -1)
    assert parts.html.count(' strong">') == 1


def test_the_map_of_a_pruning_has_a_mark_for_every_removed_head() -> None:
    made, parts = result("prune"), parts_of(usual_page("prune"))
    paths = re.findall('<path class="(cell kept|cell gone)"[^>]* d="([^"]*)"', parts.html)
    cells = {kind: path.count("z") or path.count("l8 8") for kind, path in paths}
    removed = made.removed.sum()
    assert cells == {"cell kept": made.removed.size - removed, "cell gone": removed}
    assert parts.html.count(">∅</text>") == removed
    assert removed > 0
    for layer, heads in made.heads.items():
        word = "heads" if len(heads) > 1 else "head"
        assert f"Layer {layer}: {word} {', '.join(map(str, heads))}" in parts.plain


def test_the_numbers_of_a_view_are_held_layer_by_layer_and_what_repeats_once() -> None:
    def read(text: str) -> bytes:
        return zlib.decompress(base64.b64decode(text))

    def maps(name: str) -> Any:
        (island,) = [data for data in parts_of(view_html(name)).islands.values() if "maps" in data]
        return island["maps"][0]

    usual, held = made_views.usual().maps[0], maps("usual")
    assert [read(layer) for layer in held["weights"]] == [layer.tobytes() for layer in usual.weights]
    assert (held["layers"], held["keys"]) == ([2, 3, 5], None)
    tokens = held["queries"]
    assert tokens["pieces"] == list(made_views.PIECES)
    assert tokens["word"] == made_views.WORD.tolist()
    assert tokens["special"] == [int(segment < 0) for segment in made_views.SEGMENT]
    neurons, held = made_views.grouped().maps[0].neurons, maps("grouped")["neurons"]
    assert neurons is not None
    keys = np.frombuffer(read(held["key"][1]), dtype="<f2").reshape(2, 7, 8)
    np.testing.assert_array_equal(keys, neurons.key[1, [0, 2]].astype(np.float16))
    assert (held["place"], held["softcap"]) == ([0, 0, 1, 1], [20.0, None])
    assert (len(held["visible"]["held"]), held["visible"]["of"]) == (1, [0, 0])
    bits = np.unpackbits(np.frombuffer(read(held["visible"]["held"][0]), dtype=np.uint8))[:49]
    np.testing.assert_array_equal(bits.reshape(7, 7), np.tril(np.ones((7, 7))))
    assert held["sink"] == [[0.5] * 4, [None] * 4]


@pytest.mark.xdist_group("page of probe")
def test_every_gap_between_probes_has_its_table() -> None:
    run = result("probe")
    assert run.probed.gaps
    text = unescape(usual_page("probe"))
    assert [gap for gap in run.probed.gaps if f"{gap.measure}: {gap.first} − {gap.second}" not in text] == []


def test_the_simulations_on_the_page_are_an_extract_of_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    folder = Path(__file__).resolve().parents[2] / "benchmarks" / "calibration"
    monkeypatch.setattr(sys, "path", [str(folder), *sys.path])
    module = import_module("extract")
    whole = json.loads(module.WHOLE.read_text(encoding="utf-8"))
    assert module.EXTRACT.read_text(encoding="utf-8") == module.text_of(whole)
