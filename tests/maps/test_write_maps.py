"""Maps of any source that are written to disk give the commands what plain arrays give in Python."""

import errno
import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headroles
from headroles import Example
from headroles.errors import BadInput, UnknownName
from headroles.maps.stored import open_stored_maps
from headroles.maps.write import write_maps
from headroles.storage.integrity.leftovers import HOST

PAIR: dict[str, Any] = {
    "tokens": ["[CLS]", "who", "slept", "[SEP]", "Ann", "slept", "[SEP]"],
    "segment": np.array([-1, 0, 0, -1, 1, 1, -1]),
    "first": [0],
    "key": "who",
}


def _attention(size: int, seed: int, layers: int = 2, heads: int = 3) -> np.ndarray:
    """Random attention."""
    raw = np.random.default_rng(seed).random((layers, heads, size, size))
    weights: np.ndarray = raw / raw.sum(-1, keepdims=True)
    return weights


@pytest.mark.parametrize("name", ["maps.npz", "maps.safetensors"])
def test_a_run_on_written_maps_has_the_scores_of_plain_arrays(tmp_path: Path, name: str) -> None:
    inputs = [(_attention(7 + k, k), [*PAIR["tokens"][:-1], *"abcdefgh"[:k], "[SEP]"]) for k in range(4)]
    rows = [
        (array, {"tokens": tokens, "segment": [-1, 0, 0, -1, *[1] * (len(tokens) - 5), -1]})
        for array, tokens in inputs
    ]
    written = headroles.write_maps(tmp_path / name, rows, model="mine")
    assert (written.count, written.layers, written.heads, written.units) == (4, 2, 3, 34)
    run = headroles.label(attention=tmp_path / name, sieve=["local", "block"], out=tmp_path / "run")
    frame = run.frame()
    for sieve in ("local", "block"):
        scores = [
            headroles.score(
                array, Example("e", tuple(row["tokens"]), segment=np.array(row["segment"])), sieve
            )
            for array, row in rows
        ]
        expected = np.nanmean([score[sieve] for score in scores], axis=0)
        means = frame[frame.sieve == sieve]["mean"].to_numpy().reshape(2, 3)
        np.testing.assert_allclose(means, expected, atol=1e-6)
    assert json.loads((tmp_path / "run" / "manifest.json").read_text())["model"]["name"] == "mine"


def test_written_maps_are_read_back_with_their_fields(tmp_path: Path) -> None:
    array = _attention(7, 0).astype(np.float32)
    headroles.write_maps(
        tmp_path / "m.npz", [(array, PAIR), (array[:, :, :3, :3] * 0 + 1 / 3, ["a", "b", "c"])]
    )
    with open_stored_maps(tmp_path / "m.npz", "m") as maps:
        first, second = maps.tokenizer.inputs.values()
        assert (first.passage.key, second.passage.key) == ("m/who", "m/1")
        assert first.texts.tolist() == [-1, 0, 0, -1, 1, 1, -1]
        assert second.tokens == ("a", "b", "c")
        np.testing.assert_array_equal(maps.load(first).weights, array)


def test_half_precision_halves_the_file(tmp_path: Path) -> None:
    array = _attention(40, 0)
    sizes = [
        headroles.write_maps(tmp_path / f"{kind}.npz", [(array, ["a"] * 40)], precision=kind)
        .file.stat()
        .st_size
        for kind in ("float32", "float16")
    ]
    assert 0.5 <= sizes[1] / sizes[0] < 0.52


EVEN = np.full((2, 3, 3, 3), 1 / 3)
ABC = ["a", "b", "c"]
REFUSED: list[tuple[Any, str]] = [
    ([], "holds at least one input, but none was given"),
    ([EVEN[:1]], "as a pair, but input 0 is"),
    ([(EVEN, "abc")], "input 0: tokens are a list of strings, at least one, but got 'abc'"),
    ([(EVEN, {"segment": [0, 0, 0]})], "input 0: tokens are a list of strings, at least one, but got None"),
    ([(EVEN, ABC), (EVEN, ABC[:2])], r"\(layers, heads, 2, 2\) for the 2 tokens of example 'input 1'"),
    ([(EVEN, ABC), (EVEN[:1], ABC)], r"all maps must be from one model, but those of 'm/1' have \(1, 3\)"),
    ([(EVEN / 2, ABC)], "give sinks=True"),
    ([(EVEN, {"tokens": ABC, "segment": [0, 0]})], "'segment' holds whole numbers for each of its 3 tokens"),
    (
        [(EVEN, {"tokens": ABC, "key": "k"})] * 2,
        "every example has a key of its own, but 'm/k' is there twice",
    ),
    (
        [(EVEN, {"tokens": ABC, "visible": [[0, 0], [0, 0]]})],
        "visible must hold every key that gets attention",
    ),
    ([(EVEN, {"tokens": ABC, "visible": [[None, None]]})], "one pair for each of its 2 layers, but got 1"),
    ([(EVEN, {"tokens": ABC, "note": float("nan")})], "all fields are kept as JSON"),
]


@pytest.mark.parametrize(("maps", "sentence"), REFUSED, ids=range(len(REFUSED)))
def test_maps_that_a_run_would_refuse_are_not_written(tmp_path: Path, maps: Any, sentence: str) -> None:
    with pytest.raises(BadInput, match=sentence):
        write_maps(tmp_path / "m.npz", maps)
    assert not list(tmp_path.iterdir())


def test_files_that_are_there_are_replaced_only_when_told(tmp_path: Path) -> None:
    for name in ("m.npz", "m.json"):
        (tmp_path / name).write_text("mine")
        with pytest.raises(BadInput, match=rf"{name}' is there already; give overwrite=True"):
            write_maps(tmp_path / "m.npz", [(EVEN, ABC)])
        assert (tmp_path / name).read_text() == "mine"
        write_maps(tmp_path / "m.npz", [(EVEN, ABC)], overwrite=True)
        (tmp_path / "m.npz").unlink()
        (tmp_path / "m.json").unlink()


def test_maps_whose_list_a_killed_command_did_not_write_are_written_again(tmp_path: Path) -> None:
    out = tmp_path / "m.npz"
    write_maps(out, [(EVEN, ABC)])
    wanted = out.read_bytes(), out.with_suffix(".json").read_text()
    out.with_suffix(".json").unlink()
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    left = tmp_path / f".m.npz.list.{HOST}.{ended.pid}.partial"
    left.write_text("[]")
    write_maps(out, [(EVEN, ABC)])
    assert (out.read_bytes(), out.with_suffix(".json").read_text()) == wanted
    assert not left.exists()


def test_maps_whose_list_cannot_be_put_in_its_place_are_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace = Path.replace

    def fail(self: Path, target: Path) -> Path:
        if target.suffix == ".json":
            raise PermissionError(errno.EACCES, "Permission denied", str(target))
        return replace(self, target)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "replace", fail)
        with pytest.raises(BadInput, match="Permission denied"):
            write_maps(tmp_path / "m.npz", [(EVEN, ABC)])
    assert not list(tmp_path.iterdir())
    write_maps(tmp_path / "m.npz", [(EVEN, ABC)])


def test_other_endings_folders_and_precisions_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"files of attention maps end in \.safetensors or \.npz"):
        write_maps(tmp_path / "m.pkl", [(EVEN, ABC)])
    with pytest.raises(BadInput, match="written into a folder that is there, but there is no"):
        write_maps(tmp_path / "none" / "m.npz", [(EVEN, ABC)])
    with pytest.raises(UnknownName, match="no precision is called 'float64'"):
        write_maps(tmp_path / "m.npz", [(EVEN, ABC)], precision="float64")


def test_rows_of_sinks_are_written_and_read_as_such(tmp_path: Path) -> None:
    write_maps(tmp_path / "m.npz", [(EVEN / 2, ABC)], sinks=True)
    with open_stored_maps(tmp_path / "m.npz", "m") as maps:
        (given,) = maps.tokenizer.inputs.values()
        assert maps.load(given).weights.sum(-1).max() == pytest.approx(0.5)


def test_the_script_of_the_docs_writes_maps_that_label_reads(
    tmp_path: Path, model_of: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "how-to" / "interop.md").read_text()
    (script,) = re.findall(r"```python\n(import torch.*?)```", page, re.DOTALL)
    monkeypatch.chdir(tmp_path)
    exec(script.replace("path/to/folder", str(model_of("bert"))), {})
    run = headroles.load(tmp_path / "run")
    assert {"local", "delimiter"} <= set(run.frame().sieve)
    assert run.frame()["mean"].notna().all()
