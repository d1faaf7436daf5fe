"""Small files that would take gigabytes, and models of a million layers: refused before they take memory."""

import gzip
import json
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest

from tests.contract.recorded import RECORDED
from tests.support.folders import hash_again

MOST = 150 * 2**20
"""Bytes that a refused command may take more than the same command on a small valid file."""
STEP, STEPS = 2**26, 54
"""Bytes of a piece of a file in memory, and their number: 3.6 GB."""
TEXTS = ("label", "--data", "{}", "--text-a", "sentence", "--sieve", "local", "--limit", "2", "--out", "out")


def _npz(path: Path, steps: int) -> None:
    """Write maps as an npz of one array of zeros."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        size = STEP * steps // 4 if steps else 16
        with archive.open("0.npy", "w", force_zip64=True) as file:
            head = BytesIO()
            shape = (1, 1, 4, 4) if not steps else (1, 1, 1, size)
            np.lib.format.write_array_header_1_0(
                head, {"descr": "<f4", "fortran_order": False, "shape": shape}
            )
            file.write(head.getvalue())
            if not steps:
                file.write(np.full(16, 0.25, np.float32).tobytes())
            for _ in range(steps):
                file.write(bytes(STEP))
    path.with_suffix(".json").write_text('[{"tokens": ["a", "b", "c", "d"]}]')


def _line(path: Path, steps: int) -> None:
    """Write a table whose second line is long."""
    with gzip.open(path, "wb", 1) as file:
        file.write(b"sentence\nit rains .\nthe cat sat .\n")
    piece = gzip.compress(b"a" * STEP, 1)
    with path.open("ab") as file:
        for _ in range(steps):
            file.write(piece)


def _run(path: Path, steps: int) -> None:
    """Write a run whose table of scores has many equal rows."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    shutil.copytree(RECORDED / "label" / "run", path)
    if not steps:
        return
    table = next((path / "scores").glob("*.parquet"))
    equal = pa.DictionaryArray.from_arrays(np.zeros(STEP // 8, np.int8), [0.5]).dictionary_decode()
    rows = pa.table({"local": equal})
    with pq.ParquetWriter(table, rows.schema, compression="zstd") as writer:
        for _ in range(STEPS):
            writer.write_table(rows)
    (path / "report.html").touch()
    hash_again(path)


def _peak(words: tuple[str, ...], where: Path) -> tuple[int, str, int]:
    """Run a command, and return its exit code, what it said, and the bytes that it took at most."""
    said = where / "said"
    with said.open("w") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "headroles", *words], cwd=where, stdout=out, stderr=out
        )
        _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, said.read_text(), usage.ru_maxrss * 1024


@pytest.mark.release
@pytest.mark.parametrize(
    ("name", "write", "words", "sentence"),
    [
        ("maps.npz", _npz, ("label", "--attention", "{}", "--sieve", "local", "--out", "out"), "times"),
        ("texts.tsv.gz", _line, TEXTS, "a line has at most"),
        ("run", _run, ("show", "{}"), "times as many in memory"),
    ],
)
def test_a_small_file_of_gigabytes_takes_little_memory_before_it_is_refused(
    name: str, write: Callable[[Path, int], None], words: tuple[str, ...], sentence: str, tmp_path: Path
) -> None:
    peaks = []
    for kind, steps in (("small", 0), ("bomb", STEPS)):
        where = tmp_path / kind
        where.mkdir()
        write(where / name, steps)
        code, said, peak = _peak(tuple(word.replace("{}", name) for word in words), where)
        peaks.append(peak)
        assert code == (1 if steps else 0), said
        assert not steps or (sentence in said and "Traceback" not in said), said
        shutil.rmtree(where)
    print(f"{name}: {peaks[0] / 2**20:.0f} MB for a small file, {peaks[1] / 2**20:.0f} MB for the bomb")
    assert peaks[1] - peaks[0] <= MOST


def test_a_model_of_a_million_layers_is_refused_before_it_is_built(planted: Path, tmp_path: Path) -> None:
    shutil.copytree(planted, tmp_path / "model")
    (tmp_path / "texts.tsv").write_text("sentence\nit rains .\nthe cat sat .\n")
    words = (*(word.replace("{}", "texts.tsv") for word in TEXTS), "--model", "model", "--max-length", "16")
    code, said, small = _peak(words, tmp_path)
    assert code == 0, said
    config = json.loads((tmp_path / "model" / "config.json").read_text())
    (tmp_path / "model" / "config.json").write_text(json.dumps(config | {"num_hidden_layers": 10**6}))
    code, said, peak = _peak((*words, "--overwrite"), tmp_path)
    assert (code, "layers" in said, "Traceback" in said) == (1, True, False), said
    assert peak - small <= MOST, (peak, small)
