"""Views of a run, on real small runs: its model, its input, its roles and the keys that its sieves count."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headroles
from headroles.catalogue import sieve_of
from headroles.errors import BadInput
from headroles.extraction.model.checkpoint import find_checkpoint
from headroles.extraction.views.sieve_input import read_example
from headroles.records.passage import Passage
from headroles.records.view import ENCODER
from headroles.sieves.weights.cells import count_cells

TEXTS = ("the red cat sat in house ?", "it is a small dog .")
Command = Callable[..., tuple[int, str, str]]


def test_roles_and_means_are_those_of_the_findings(finished: Path) -> None:
    run = headroles.load(finished)
    roles = headroles.view(*TEXTS, run=finished, layers=1, heads="1-2").view.roles
    assert roles is not None
    assert (roles.run, roles.names) == ("finished", run.findings.roles)
    rows = [run.findings.of(name) for name in roles.names]
    np.testing.assert_array_equal(roles.decision, run.findings.decision[rows][:, 1:2, 1:3])
    np.testing.assert_array_equal(roles.mean, run.findings.mean[rows][:, 1:2, 1:3])


def test_keys_are_the_cells_that_the_sieves_of_the_run_count(finished: Path, planted: Path) -> None:
    view = headroles.view(*TEXTS, run=headroles.load(finished)).view
    assert view.roles is not None
    for name, keys in zip(view.roles.names, view.roles.keys, strict=True):
        sieve = sieve_of(name)
        checkpoint = find_checkpoint(str(planted), None)
        example, _ = read_example(checkpoint, Passage("x", TEXTS), name, sieve.needs)
        assert example.tokens == view.maps[0].keys.tokens
        assert keys is not None
        np.testing.assert_array_equal(keys, count_cells(sieve, example).counted)
    assert view.model == str(planted)


def test_without_a_text_a_typical_input_of_the_run_is_shown(finished: Path) -> None:
    run = headroles.load(finished)
    view = headroles.view(run=finished).view
    assert run.exhibited is not None
    kept = {example.tokens for example in run.exhibited.examples}
    assert view.maps[0].keys.tokens in kept
    with pytest.raises(BadInput, match="this run kept none; give a text"):
        headroles.view(run=replace(run, exhibited=None))


def test_another_model_is_refused(run: Path) -> None:
    manifest = json.loads((run / "manifest.json").read_text())
    loaded = headroles.load(run)
    other = {"model": manifest["model"] | {"weights_sha256": "0" * 64}}
    changed = replace(loaded, manifest=dict(loaded.manifest) | other)
    with pytest.raises(BadInput, match="whose weights have SHA-256 000000000000…, but those of"):
        headroles.view(*TEXTS, run=changed)
    with pytest.raises(BadInput, match="a run brings its own model, so model has no effect"):
        headroles.view(*TEXTS, run=run, model="m")


def test_data_that_are_gone_are_named_with_what_to_do(finished: Path, tmp_path: Path) -> None:
    run = headroles.load(finished)
    settings = dict(run.manifest["settings"]) | {"data": str(tmp_path / "gone.tsv")}
    with pytest.raises(BadInput, match=r"the inputs of the run cannot be read again \(.*\); give a text"):
        headroles.view(run=replace(run, manifest=dict(run.manifest) | {"settings": settings}))


def test_a_run_of_another_kind_or_of_stored_maps_is_refused(finished: Path, planted: Path) -> None:
    run = headroles.load(finished)
    settings = dict(run.manifest["settings"]) | {"attention": "maps.npz"}
    with pytest.raises(BadInput, match="this run was made from stored maps; show them with --attention"):
        headroles.view(*TEXTS, run=replace(run, manifest=dict(run.manifest) | {"settings": settings}))
    surface = headroles.surface("QNLI", limit=6, model=planted, max_length=48)
    with pytest.raises(BadInput, match="but got a run of the kind surface"):
        headroles.view(*TEXTS, run=surface)
    with pytest.raises(BadInput, match="plain attention is shown without a model, run or stored maps"):
        headroles.view(np.full((1, 1, 2, 2), 0.5), ["a", "b"], run=run)


def test_sieves_whose_keys_are_not_known_are_named(label: Any) -> None:
    run = label(sieve=["local", "bag-of-words"])
    view = headroles.view(*TEXTS, run=run).view
    assert view.roles is not None
    known = dict(zip(view.roles.names, view.roles.keys, strict=True))
    assert known["local"] is not None
    assert known["bag-of-words"] is None
    assert view.notes[-1] == "Keys are not known here of bag-of-words."


def test_the_command_writes_the_same_page_as_the_function(
    finished: Path, command: Command, tmp_path: Path
) -> None:
    code, _, err = command("view", *TEXTS, "--run", finished, "--out", tmp_path / "x.html")
    assert (code, err) == (0, "")
    assert (tmp_path / "x.html").read_text() == headroles.view(*TEXTS, run=finished).html()
    assert "local" in (tmp_path / "x.html").read_text()


def test_heads_of_an_encoder_have_roles_and_those_of_its_decoder_none(model_of: Any, table: Path) -> None:
    run = headroles.label("QNLI", data=table, model=model_of("t5"), limit=12, max_length=48, sieve="local")
    view = headroles.view(*TEXTS, run=run).view
    assert view.roles is not None
    assert view.roles.kind == ENCODER
    assert view.roles.keys[0] is None or view.roles.keys[0].shape == view.maps[0].weights.shape[2:]
