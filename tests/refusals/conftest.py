"""All rows of mistakes, answered once in a session."""

import contextlib
import os
import subprocess
import sys
from dataclasses import dataclass
from hashlib import sha256
from json import dumps, loads
from pathlib import Path

import pytest
from jaxtyping import config as shapes

from tests.refusals.asking import IMPORTS, Answer, Row, call, read_rows, run_command, write_files
from tests.refusals.names import Names
from tests.refusals.prepared import prepare_light, prepare_models
from tests.refusals.sites import ROOT


@dataclass(frozen=True, slots=True)
class Answered:
    """Every row with its answer, and hashes of the files of the folder before and after."""

    answers: list[tuple[Row, Answer]]
    before: dict[str, str]
    after: dict[str, str]
    root: Path


def contents(folder: Path) -> dict[str, str]:
    """Return a hash of every file of a folder, but of no byte code that Python keeps of a file."""
    files = (path for path in folder.rglob("*") if path.is_file() and path.suffix != ".pyc")
    return {str(path): sha256(path.read_bytes()).hexdigest() for path in files}


@pytest.fixture(scope="session")
def answered(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Answered:
    """The answers to all rows, in a prepared folder; types of arrays are not checked, as outside tests."""
    rows, root = read_rows(), tmp_path_factory.mktemp("refusals")
    desk = root / "desk"
    desk.mkdir()
    write_files(rows, desk)
    names = Names(request, desk, root / "made")
    prepare_light(names)
    before = contents(desk)
    fresh = [row for stage in IMPORTS for row in rows if row.stage == stage]
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", str(ROOT))])
    child = subprocess.run(
        [sys.executable, "-m", "tests.refusals.asking"],
        cwd=desk,
        env=os.environ | {"PYTHONPATH": path},
        input=dumps([(row.stage, row.asked) for row in fresh]),
        capture_output=True,
        text=True,
        check=False,
    )
    assert child.returncode == 0, child.stderr
    answers = list(zip(fresh, [Answer(**answer) for answer in loads(child.stdout)], strict=True))
    prepare_models(names)
    linked = before | contents(desk)
    checked = shapes.jaxtyping_disable
    shapes.update("jaxtyping_disable", True)
    with contextlib.chdir(desk):
        for row in rows:
            if row.stage in ("command", "python"):
                answers.append(
                    (row, run_command(row.asked) if row.stage == "command" else call(row.asked, names))
                )
    shapes.update("jaxtyping_disable", checked)
    return Answered(answers, linked, contents(desk), root)
