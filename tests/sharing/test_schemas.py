"""JSON Schemas of manifests and head cards: valid themselves, true of runs of every kind, and strict."""

import copy
import json
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest

import headroles
from headroles.kinds import KINDS, kind_of
from headroles.records.findings import Labelling
from headroles.sharing.head_cards import SCHEMAS, head_cards, head_cards_text, schema_text


@pytest.fixture(scope="module")
def stored(runs: dict[str, Path]) -> dict[str, tuple[Labelling, dict[str, Any]]]:
    """A run of every kind with its manifest."""
    return {
        name: (headroles.load(folder), json.loads((folder / "manifest.json").read_text()))
        for name, folder in runs.items()
    }


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_schema_is_one_of_draft_2020_12(name: str) -> None:
    schema = json.loads(schema_text(name))
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    jsonschema.Draft202012Validator.check_schema(schema)


def _validator(name: str) -> Any:
    return jsonschema.Draft202012Validator(json.loads(schema_text(name)))


@pytest.mark.parametrize("kind", KINDS)
def test_manifest_and_head_cards_of_every_kind_are_valid(kind: str, stored: Any) -> None:
    run, manifest = stored[kind]
    assert kind_of(run).name == kind
    assert [error.message for error in _validator(SCHEMAS[0]).iter_errors(manifest)] == []
    cards = json.loads(head_cards_text(run))
    assert [error.message for error in _validator(SCHEMAS[1]).iter_errors(cards)] == []


@pytest.mark.parametrize("kind", KINDS)
def test_head_cards_have_the_decisions_means_and_intervals_of_the_findings(kind: str, stored: Any) -> None:
    run, _ = stored[kind]
    cards = head_cards(run)
    outcomes = kind_of(run).outcomes
    low, high = run.mean_intervals()
    assert [(card["layer"], card["head"]) for card in cards["cards"]] == [
        (layer, head) for layer in range(cards["layers"]) for head in range(cards["heads"])
    ]
    for card in cards["cards"]:
        for name, answer in card["roles"].items():
            spot = (run.findings.of(name), card["layer"], card["head"])
            assert answer["decision"] == outcomes[int(run.findings.decision[spot])]
            numbers = {
                "mean": run.findings.mean[spot],
                "low": low[spot],
                "high": high[spot],
                "q": run.findings.q[spot],
            }
            for key, number in numbers.items():
                assert answer[key] == (float(number) if np.isfinite(number) else None)


@pytest.mark.parametrize("field", ["format", "headroles", "command", "model", "rules", "files", "sha256"])
def test_a_manifest_without_a_field_is_invalid(field: str, stored: Any) -> None:
    manifest = copy.deepcopy(stored["label"][1])
    del manifest[field]
    assert not _validator(SCHEMAS[0]).is_valid(manifest)


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("cards", 0, "roles", "local", "decision"), "maybe"),
        (("cards", 0, "roles", "local", "q"), 1.5),
        (("cards", 0, "sentence"), ""),
        (("cards", 0, "layer"), -1),
        (("kind",), "compare"),
        (("texts",), []),
    ],
)
def test_wrong_head_cards_are_invalid(place: tuple[Any, ...], value: Any, stored: Any) -> None:
    cards = json.loads(head_cards_text(stored["label"][0]))
    inner = cards
    for step in place[:-1]:
        inner = inner[step]
    inner[place[-1]] = value
    assert not _validator(SCHEMAS[1]).is_valid(cards)
