"""Query heads that share keys and values: which do, where it is said, and that they really do."""

import csv
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from transformers.models.llama.modeling_llama import repeat_kv

import headroles
from headroles.errors import BadSieve
from headroles.records.arrays import key_groups, shared_keys_note
from headroles.records.findings import Labelling
from headroles.reports.page import page
from headroles.reports.print.tables import table_text
from headroles.sieves.base import sieve
from tests.support.clustered_runs import labelled

ModelOf = Callable[[str], Path]
Command = Callable[..., tuple[int, str, str]]


def _label(folder: Path, tmp_path: Path, **options: Any) -> Labelling:
    data = tmp_path / "texts.tsv"
    rows = [f"the committee did not decide about the treaty {k}" for k in range(6)]
    data.write_text("sentence\n" + "\n".join(rows) + "\n")
    usual = {
        "data": data,
        "text_a": "sentence",
        "model": folder,
        "sieve": ["local", "previous"],
        "max_length": 48,
        "maps": 0,
    }
    return headroles.label(**{**usual, **options})


@pytest.mark.parametrize(("heads", "shared"), [(4, 2), (8, 2), (6, 3), (4, 1)])
def test_groups_are_those_of_the_librarys_own_repetition(heads: int, shared: int) -> None:
    keys = torch.arange(shared).reshape(1, shared, 1, 1)
    repeated = repeat_kv(keys, heads // shared)[0, :, 0, 0]
    groups = key_groups({"kv_heads": shared}, 3, heads)
    assert groups is not None
    assert groups.tolist() == [repeated.tolist()] * 3


def test_nothing_is_said_where_no_heads_share_or_nothing_is_known() -> None:
    for model in ({"kv_heads": 4}, {}, None, "unknown", {"kv_heads": 3}, {"kv_heads": 0}, {"kv_heads": [2]}):
        assert key_groups(model, 2, 4) is None
    assert shared_keys_note({"layers": 2, "heads": 4, "kv_heads": 4}) == []
    assert shared_keys_note({"layers": 2, "heads": 4}) == []
    mixed = key_groups({"kv_heads": [4, 1]}, 2, 4)
    assert mixed is not None
    assert mixed.tolist() == [[0, 1, 2, 3], [0, 0, 0, 0]]


@pytest.mark.with_report
@pytest.mark.parametrize(
    ("name", "groups", "told"),
    [
        ("llama", [0, 0, 1, 1] * 3, "The 4 query heads of a layer share 2 heads of keys and values"),
        ("falcon", [0, 0, 0, 0] * 2, "The 4 query heads of a layer share 1 head of keys and values"),
        (
            "gemma4",
            [0, 0, 1, 1, 0, 0, 0, 0],
            "The 4 query heads of a layer share 1 or 2 heads of keys and values",
        ),
    ],
)
def test_a_run_says_which_heads_share_keys_in_table_manifest_and_report(
    name: str, groups: list[int], told: str, model_of: ModelOf, tmp_path: Path
) -> None:
    found = _label(model_of(name), tmp_path, out=tmp_path / "run")
    assert list(found.labels().columns) == ["layer", "head", "roles", "local", "previous", "kv_group"]
    rows = list(csv.DictReader((tmp_path / "run" / "labels.csv").read_text().splitlines()))
    assert [int(row["kv_group"]) for row in rows] == groups
    facts = json.loads((tmp_path / "run" / "manifest.json").read_text())
    (note,) = facts["notes"]
    assert note.startswith(told)
    assert "Heads of one group depend on each other" in note
    assert "fdr_bh is right where heads depend positively" in note
    assert told in (tmp_path / "run" / "report.html").read_text()
    pd.testing.assert_frame_equal(headroles.load(tmp_path / "run").labels(), found.labels())
    again = headroles.judge_again(tmp_path / "run", alpha=0.2)
    assert again.labels()["kv_group"].tolist() == groups


def test_the_terminal_says_it_too(model_of: ModelOf, tmp_path: Path, command: Command) -> None:
    _label(model_of("llama"), tmp_path)
    out = tmp_path / "run"
    words = ["label", "--data", tmp_path / "texts.tsv", "--text-a", "sentence", "--model", model_of("llama")]
    code, shown, error = command(*words, "--sieve", "previous", "--max-length", 48, "--maps", 0, "--out", out)
    assert (code, error) == (0, "")
    assert "share 2 heads of keys and values (kv_group says which)" in shown
    code, shown, _ = command("table", out, "--name", "heads")
    assert code == 0
    assert shown.splitlines()[0].startswith("Roles of every attention head")
    assert "| kv group |" in shown


def test_a_model_whose_heads_share_nothing_has_no_such_column_or_note(
    model_of: ModelOf, tmp_path: Path
) -> None:
    found = _label(model_of("gpt2"), tmp_path)
    assert "kv_group" not in found.labels()
    assert found.manifest["notes"] == []
    assert found.manifest["model"]["kv_heads"] == 4
    assert "kv" not in table_text(found, "heads")
    assert '"shared":[]' in page(found)


def test_the_table_of_heads_has_a_column_for_groups(tmp_path: Path) -> None:
    run = labelled(2, 4, ("local",))
    grouped = replace(run, manifest=MappingProxyType({"model": {"kv_heads": 2}}))
    lines = list(csv.DictReader(table_text(grouped, "heads", "csv").splitlines()))
    assert [line["kv_group"] for line in lines] == list("00110011")
    assert "heads of one layer with the same kv group share keys and values" in table_text(grouped, "heads")


def test_a_sieve_cannot_take_the_columns_name(tmp_path: Path, model_of: ModelOf) -> None:
    @sieve("kv_group")
    def taken(example: headroles.Example) -> np.ndarray:
        """Every key."""
        return np.ones(example.size, dtype=np.bool_)

    with pytest.raises(BadSieve, match=r"no column of a run \(.*kv_group\), but got 'kv_group'; rename it"):
        _label(model_of("llama"), tmp_path, sieve=[taken])


@pytest.mark.parametrize("shared", [1, 2, 4])
def test_heads_of_one_group_share_keys_and_other_heads_do_not(shared: int, model_of: ModelOf) -> None:
    from transformers import LlamaConfig, LlamaModel

    from headroles.extraction.capture.attention import run
    from headroles.extraction.capture.method import CaptureMethod
    from headroles.records.rules.names import EAGER
    from tests.support.read_models import Kept

    torch.manual_seed(0)
    size: dict[str, Any] = {"hidden_size": 32, "num_attention_heads": 4, "intermediate_size": 48}
    size |= {"num_hidden_layers": 1, "num_key_value_heads": shared, "vocab_size": 50}
    network: Any = LlamaModel(LlamaConfig(**size))
    network.eval()
    with torch.no_grad():  # equal queries: heads then attend alike exactly where their keys are the same
        queries = network.layers[0].self_attn.q_proj.weight
        queries.copy_(torch.randn(8, 32).repeat(4, 1))
        network.layers[0].self_attn.k_proj.weight.normal_(0, 1)
    network.set_attn_implementation(EAGER)
    kept, ids = Kept(), torch.arange(3, 13)[None]
    run(network, CaptureMethod(EAGER), {"input_ids": ids, "attention_mask": torch.ones_like(ids)}, [10], kept)
    rows = kept.whole(0, 0)
    alike = [[bool(torch.equal(rows[a], rows[b])) for b in range(4)] for a in range(4)]
    groups = key_groups({"kv_heads": shared}, 1, 4)
    own = np.arange(4)[None] if groups is None else groups
    assert alike == (own[0][:, None] == own[0][None, :]).tolist()
