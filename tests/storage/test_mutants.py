"""Received folders with right seals and wrong contents: each is read, or refused in one sentence."""

import contextlib
import io
import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import headroles
from headroles.cli.main import cli
from headroles.errors import HeadrolesError
from headroles.storage import finish_pruning, manifest_text
from tests.contract.recorded import RECORDED
from tests.faults.mutations import mutate
from tests.support.causal.pruned import pruning
from tests.support.folders import hash_again

RUNS = ("label", "cluster", "surface", "probe", "ablate", "why", "scores", "finished")
FOLDERS = (*RUNS, "comparison", "atlas", "pruning")
WRONG: tuple[Any, ...] = (
    None, [], {}, "text", "", -1, 0, 2.5, 1e300, True, ["a"], {"a": 1}, 10**30, "x" * 100_000, [[1]], "../x",
    "\x1b[2J\n", {"a": {"b": [None]}}, [None, 1, "a"], -(10**30), "9" * 5000,
)  # fmt: skip
"""What takes the place of a value."""
COMMANDS = (
    ("show", "{}"),
    ("show", "{}", "--table"),
    ("verify", "{}"),
    ("share", "{}"),
    ("show", "{}", "--json"),
)
SLOW = (("judge", "{}", "--alpha", "0.2"), ("show", "{}", "--page"))
"""Commands that write, which every tenth folder meets."""
LONGEST = 1_000
"""Most characters of a refusal."""


@pytest.fixture
def whole(finished: Path, tmp_path: Path) -> Callable[[str], Path]:
    """Make a whole folder of a kind."""

    def make(kind: str) -> Path:
        place = tmp_path / "whole"
        first, second = (RECORDED / name / "run" for name in ("label", "label-b"))
        if kind == "comparison":
            headroles.compare(first, second, out=place, swaps=0)
        elif kind == "atlas":
            headroles.atlas([first, second], out=place)
        elif kind == "pruning":
            place.mkdir()
            finish_pruning(place, pruning(), "<p>a page</p>")
        else:
            shutil.copytree(finished if kind == "finished" else RECORDED / kind / "run", place)
            (place / "report.html").touch()  # else it is left out of the files that are hashed again
            hash_again(place)
        return place

    return make


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the paths of all values in JSON."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, item in inner for place in _places(item, (*path, key)))]


def _changed(record: Any, rng: random.Random) -> tuple[str, Any]:
    """Return JSON with one value changed or left out, and where."""
    record = json.loads(json.dumps(record))
    places = [place for place in _places(record) if place and place[0] not in ("format", "sha256")]
    first = rng.choice(sorted({place[0] for place in places}))
    place = rng.choice([each for each in places if each[0] == first])
    inner = record
    for key in place[:-1]:
        inner = inner[key]
    if rng.random() < 0.1:
        del inner[place[-1]]
    else:
        inner[place[-1]] = rng.choice(WRONG)
    return ".".join(map(str, place)), record


def _mutate(folder: Path, rng: random.Random) -> str:
    """Change the manifest or another file of a folder, seal the manifest, and return what was changed."""
    manifest = folder / "manifest.json"
    if rng.random() < 0.5:
        place, changed = _changed(json.loads(manifest.read_text()), rng)
        manifest.write_text(manifest_text(changed))
        return place
    names = sorted(
        path for path in folder.rglob("*") if path.is_file() and path.suffix not in (".html", ".svg")
    )
    file = rng.choice([path for path in names if path != manifest] or [manifest])
    if file.suffix == ".json" and rng.random() < 0.8:
        place, record = _changed(json.loads(file.read_text()), rng)
        file.write_text(json.dumps(record))
    else:
        place, data = "bytes", file.read_bytes()
        file.write_bytes(mutate(data, [data], rng))
    if file != manifest:
        hash_again(folder)
    return f"{file.relative_to(folder)}: {place}"


def _faults(folder: Path, commands: tuple[tuple[str, ...], ...]) -> list[str]:
    """Return what is wrong with the answers of commands on a folder."""
    faults = []
    for words in commands:
        asked = [word.replace("{}", str(folder)) for word in words]
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                cli.main(asked, standalone_mode=False, prog_name="headroles")
        except HeadrolesError as error:
            if len(str(error)) > LONGEST or "\x1b" in str(error):
                faults.append(f"{words[0]}: a sentence of {len(str(error))} characters: {str(error)[:300]}")
        except SystemExit:
            pass
        except Exception as error:
            trace = error.__traceback__
            while trace is not None and trace.tb_next is not None:
                trace = trace.tb_next
            where = "" if trace is None else f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}"
            faults.append(f"{words[0]}: {type(error).__name__}: {str(error)[:150]} ({where})")
    return faults


@pytest.mark.parametrize("kind", FOLDERS)
@pytest.mark.parametrize(
    "count",
    [pytest.param(16, marks=pytest.mark.ci), pytest.param(455, marks=pytest.mark.release)],
)
def test_a_sealed_folder_of_wrong_contents_is_read_or_refused_in_a_sentence(
    kind: str, count: int, whole: Callable[[str], Path], tmp_path: Path
) -> None:
    folder, rng, faults = whole(kind), random.Random(f"{kind} {count}"), list[str]()
    cli.main(["show", str(folder)], standalone_mode=False, prog_name="headroles")
    for number in range(count):
        copy = Path(shutil.copytree(folder, tmp_path / "run"))
        what = _mutate(copy, rng)
        commands = (*COMMANDS, *SLOW) if number % 10 == 0 else COMMANDS
        faults += [f"{what}: {fault}" for fault in _faults(copy, commands)]
        shutil.rmtree(copy)
    assert not faults, f"{len(faults)} faults\n" + "\n".join(faults[:40])
