"""Maps come to the disk whole, with their own list, and what cannot be written is refused beforehand."""

import errno
import json
import os
import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headroles
from headroles.errors import BadInput
from headroles.extraction.jobs.map_writer import WriteMapsJob
from headroles.maps.writer import open_maps
from headroles.storage.map_files import MapFile

ENDINGS = [".safetensors", ".npz"]
FEW = 64
MANY_MAPS = f"""
import resource
from pathlib import Path
from headroles.storage.map_files import MapFile
from headroles.maps.writer import open_maps

resource.setrlimit(resource.RLIMIT_NOFILE, ({FEW}, {FEW}))
for ending in {ENDINGS}:
    out = Path("maps" + ending)
    with open_maps(out, {{str(number): (1, 2, 3, 3) for number in range(1000)}}, "float16") as making:
        for number, array in enumerate(making.arrays.values()):
            array[:] = number
    with MapFile.open(out) as maps:
        assert all((maps[str(number)] == number).all() for number in range(1000))
"""


def _texts(folder: Path, *rows: dict[str, Any]) -> Path:
    file = folder / "texts.json"
    file.write_text(json.dumps([{"text": "the cat is on a red house ."}, *rows]))
    return file


def _left(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


@pytest.mark.parametrize("ending", ENDINGS)
def test_maps_that_a_killed_command_left_leave_with_the_next_one(ending: str, tmp_path: Path) -> None:
    killed = (
        "import os\nfrom pathlib import Path\nfrom headroles.maps.writer import open_maps\n"
        f"with open_maps(Path('maps{ending}'), {{'0': (1, 2, 3, 3)}}, 'float16'):\n"
        "    os.kill(os.getpid(), 9)\n"
    )
    assert subprocess.run([sys.executable, "-c", killed], cwd=tmp_path, check=False).returncode == -9
    (tmp_path / f".maps{ending}.999999999.whole.partial").write_bytes(b"of an older version")
    (tmp_path / ".other.npz.999999999.whole.partial").write_bytes(b"of other maps")
    assert len(_left(tmp_path)) == 3
    with open_maps(tmp_path / f"maps{ending}", {"0": (1, 2, 3, 3)}, "float16"):
        pass
    assert _left(tmp_path) == [".other.npz.999999999.whole.partial", f"maps{ending}"]


def test_a_thousand_inputs_take_one_open_file(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", MANY_MAPS], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert _left(tmp_path) == ["maps.npz", "maps.safetensors"]


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({"kept": float("nan")}, "Out of range float values are not JSON compliant"),
        ({"kept": [{"deep": float("inf")}]}, "Out of range float values are not JSON compliant"),
        ({"kept": "\ud800"}, "surrogates not allowed"),
        ({"text": "a \udfff dog"}, "surrogates not allowed"),
        ({"group": "\ud800"}, "surrogates not allowed"),
    ],
    ids=["nan", "inf", "half a character", "half a character in a text", "half a character in a group"],
)
def test_a_field_that_no_file_can_hold_is_refused_before_the_model_runs(
    row: dict[str, Any], reason: str, planted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(WriteMapsJob, "prepare", lambda *given: pytest.fail("the model runs"))
    file = _texts(tmp_path, {"text": "a dog"} | row)
    with pytest.raises(BadInput, match=r"object 1: all fields are kept as JSON in UTF-8, but some") as said:
        headroles.extract(file, out=tmp_path / "maps.npz", model=planted)
    assert reason in str(said.value)
    assert _left(tmp_path) == ["texts.json"]


@pytest.mark.parametrize("ending", ENDINGS)
def test_the_list_names_the_file_that_it_was_written_with(ending: str, planted: Path, tmp_path: Path) -> None:
    out = tmp_path / f"maps{ending}"
    headroles.extract(_texts(tmp_path), out=out, model=planted)
    assert json.loads(out.with_suffix(".json").read_text())["sha256"] == sha256(out.read_bytes()).hexdigest()


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("last", ["maps", "list"])
def test_new_maps_are_never_beside_an_old_list(
    last: str, ending: str, planted: Path, even: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, texts = tmp_path / f"maps{ending}", _texts(tmp_path)
    headroles.extract(texts, out=out, model=planted)
    before, honest = out.read_bytes(), Path.replace

    def cut(path: Path, target: Path) -> Path:
        if target == (out if last == "maps" else out.with_suffix(".json")):
            raise KeyboardInterrupt
        return honest(path, target)

    monkeypatch.setattr(Path, "replace", cut)
    with pytest.raises(KeyboardInterrupt):
        headroles.extract(texts, out=out, model=even, overwrite=True)
    assert _left(tmp_path) == [out.name, "texts.json"]
    assert (out.read_bytes() == before) == (last == "maps")
    with pytest.raises(BadInput, match="maps need a list of their inputs"):
        headroles.label(attention=out, sieve=["local"])


@pytest.mark.parametrize("ending", ENDINGS)
def test_two_at_once_do_not_write_into_each_other(ending: str, tmp_path: Path) -> None:
    out, shapes = tmp_path / f"maps{ending}", {"0": (1, 1, 2, 2)}
    with open_maps(out, shapes, "float32") as making:
        making.arrays["0"][:] = 0.5
        other = f"""
from pathlib import Path
from headroles.maps.writer import open_maps
with open_maps(Path({str(out)!r}), {shapes}, "float32") as making:
    making.arrays["0"][:] = 0.25
"""
        subprocess.run([sys.executable, "-c", other], check=True)
        with MapFile.open(out) as maps:
            np.testing.assert_array_equal(maps["0"], 0.25)
        assert (making.arrays["0"] == 0.5).all()
    with MapFile.open(out) as maps:
        np.testing.assert_array_equal(maps["0"], 0.5)
    assert _left(tmp_path) == [out.name]


@pytest.mark.skipif(not hasattr(os, "posix_fallocate"), reason="this system cannot ask for room beforehand")
@pytest.mark.parametrize("ending", ENDINGS)
def test_room_on_the_disk_is_taken_before_anything_is_written(
    ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, shapes = tmp_path / f"maps{ending}", {"0": (4, 4, 64, 64)}
    with open_maps(out, shapes, "float32"):
        (raw,) = tmp_path.iterdir()
        assert raw.stat().st_blocks * 512 >= 4**3 * 64**2

    def full(file: int, start: int, size: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)
    with (
        pytest.raises(BadInput, match=r"cannot be written \(No space left on device\); name another --out"),
        open_maps(tmp_path / f"more{ending}", shapes, "float32"),
    ):
        pytest.fail("there is no room")
    assert _left(tmp_path) == [out.name]


def test_where_room_cannot_be_asked_for_maps_are_written_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unknown(file: int, start: int, size: int) -> None:
        raise OSError(errno.EOPNOTSUPP, "Operation not supported")

    monkeypatch.setattr(os, "posix_fallocate", unknown, raising=False)
    with open_maps(tmp_path / "maps.npz", {"0": (1, 1, 2, 2)}, "float32") as making:
        making.arrays["0"][:] = 1
    assert np.load(tmp_path / "maps.npz")["0"].sum() == 4
