"""Compare the products of two checkouts: every kind of run, on a tiny checkpoint and the embedded model."""

import io
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.contract.kinds import OF_MAPS, RUNS, inside, make, prepare_models, start
from tests.contract.recorded import words_of
from tests.contract.same import folder_differences

ROOT = Path(__file__).resolve().parents[2]
HERE = """
import os, sys
os.environ["OMP_NUM_THREADS"] = os.environ["MKL_NUM_THREADS"] = "1"
os.environ["HEADROLES_CACHE"] = "none"
product, tests, workspace = sys.argv[1:]
sys.path.insert(0, product)
import headroles
assert os.path.samefile(headroles.__path__[0], os.path.join(product, "headroles")), headroles.__path__
sys.path.insert(0, tests)
from pathlib import Path
from tests.contract.live import make_products
make_products(Path(workspace))
"""
"""The program that makes all runs with the product of a checkout, as these tests ask for them."""
NOT_COMPARED = (
    r"models/.*|prune/(certificate\.json|manifest\.json|report\.html)"
    r"|(compare|atlas[^/]*)/(manifest\.json|report\.html)"
)
"""Files that are no results, that hold measured times, or hashes over manifests of versions."""


def make_products(workspace: Path) -> None:
    """Make every kind of run on the tiny checkpoint and some on the embedded model, and all words of them."""
    import headroles

    prepare_models(workspace)
    make(workspace, OF_MAPS)
    for name in (name for name in RUNS if name not in OF_MAPS):
        with inside(workspace):
            result = start(name)
        texts = words_of(name, workspace, result)
        (workspace / "words" / name).mkdir(parents=True)
        for file, text in texts.items():
            (workspace / "words" / name / file).write_text(text, encoding="utf-8")
    with inside(workspace):
        for task in ("QNLI", "SST-2", "MRPC", "QQP"):
            headroles.label(task, limit=24, threads=1, out=f"embedded/{task}")


@contextmanager
def checkout(old: str) -> Iterator[Path]:
    """Give the folder of a checkout: one that is there, or the files of a revision of this repository."""
    if Path(old).is_dir():
        yield Path(old).resolve()
        return
    with TemporaryDirectory() as folder:
        words = ["git", "-C", str(ROOT), "archive", "--format=tar", old]
        files = subprocess.run(words, check=True, capture_output=True).stdout
        with tarfile.open(fileobj=io.BytesIO(files)) as archive:
            archive.extractall(folder, filter="tar")
        yield Path(folder)


def compare_products(old: str, tolerance: float = 0.0) -> list[str]:
    """Return a sentence for every file that differs between the runs of two products on this machine.

    Args:
        old: Revision of this repository, or folder of a checkout.
        tolerance: Relative difference of numbers that is allowed; 0: bytes, but for versions in manifests.
    """
    with checkout(old) as product, TemporaryDirectory() as folder:
        workspaces = [Path(folder) / name for name in ("old", "new")]
        for own, workspace in zip((product, ROOT), workspaces, strict=True):
            workspace.mkdir()
            words = [sys.executable, "-c", HERE, str(own), str(ROOT), str(workspace)]
            subprocess.run(words, check=True, cwd=workspace)
        return folder_differences(workspaces[0], workspaces[1], tolerance, leave=NOT_COMPARED)
