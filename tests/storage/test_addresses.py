"""Where files of a run lie: folders, memory, addresses, and an object store of this machine."""

import errno
import hashlib
import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

import headroles
from headroles import Labelling
from headroles.errors import BadInput, MissingExtra
from headroles.exporting import report
from headroles.storage import FsspecPlace, LocalPlace, MemoryPlace, local_copy, place_of
from tests.support.crashing import Shards
from tests.support.folders import verify

Label = Callable[..., Labelling]
QUICK: dict[str, Any] = {"maps": 0, "sieve": ["local", "delimiter"]}
"""Options that leave out what these tests do not look at."""
pytestmark = pytest.mark.xdist_group("object store")


def files(where: str | Path) -> dict[str, bytes]:
    """Return the files at a place."""
    place = place_of(where)
    return {name: place.read(name) for name in place.names()}


@pytest.fixture(params=["folder", "file", "memory", "memory place", "s3"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """An empty place of each kind."""
    name = re.sub(r"\W+", "-", request.node.name)
    if request.param == "memory place":
        return MemoryPlace()
    if request.param == "s3":
        return place_of(f"{request.getfixturevalue('bucket')}/{name}")
    return place_of(
        {"folder": tmp_path, "file": f"file://{tmp_path}/deep"}.get(request.param, f"memory://{name}")
    )


def test_files_are_written_read_listed_and_deleted(place: Any) -> None:
    assert place.names() == []
    for name in ("shards/00001.json", "plan.json", "shards/00000.json", "scores/part-00000.parquet"):
        place.write(name, name.encode())
    listed = ["plan.json", "scores/part-00000.parquet", "shards/00000.json", "shards/00001.json"]
    assert place.names() == listed
    assert place.names("shards/") == listed[2:]
    assert place.names("shards/00001") == listed[3:]
    assert place.names("none/") == []
    place.write("plan.json", b"\x00" * 100_000)
    assert place.read("plan.json") == b"\x00" * 100_000
    assert place.sha256("plan.json") == hashlib.sha256(b"\x00" * 100_000).hexdigest()
    place.delete("plan.json")
    for read in (place.read, place.sha256):
        with pytest.raises(FileNotFoundError):
            read("plan.json")


@pytest.mark.parametrize("kind", ["folder", "file"])
def test_a_file_is_whole_or_not_there(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = place_of(tmp_path if kind == "folder" else f"file://{tmp_path}")
    owner, name = (os, "fsync") if kind == "folder" else (place.system, "mv")
    real, seen = getattr(owner, name), list[list[str]]()

    def looking(*given: Any, **more: Any) -> Any:
        seen.append(place.names())
        return real(*given, **more)

    monkeypatch.setattr(owner, name, looking)
    place.write("shards/00000.json", b"before")
    assert seen == [[]]
    monkeypatch.setattr(owner, name, Mock(side_effect=OSError(errno.ENOSPC, "No space left on device")))
    with pytest.raises(BadInput, match=r"00000\.json' cannot be written .No space left on device."):
        place.write("shards/00000.json", b"after")
    assert [path.name for path in (tmp_path / "shards").iterdir()] == ["00000.json"]
    assert place.read("shards/00000.json") == b"before"


def test_paths_and_addresses_are_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import fsspec

    for local in (tmp_path, "runs/QNLI", "C:\\runs", "a/b://c", Path("s3://bucket/run")):
        assert isinstance(place_of(local), LocalPlace)
    assert place_of("memory://runs/QNLI/").url == "memory://runs/QNLI"
    monkeypatch.setitem(fsspec.config.conf, "gs", {"token": "anon"})
    assert isinstance(place_of("gs://bucket/run"), FsspecPlace)
    assert place_of("gs://bucket/run").root == "bucket/run"
    with pytest.raises(BadInput, match=r"of a kind that fsspec serves.*but got 'swift9://bucket/run'"):
        place_of("swift9://bucket/run")
    monkeypatch.setattr(fsspec, "url_to_fs", lambda url: (_ for _ in ()).throw(ImportError("Install s3fs")))
    with pytest.raises(MissingExtra, match=r"served by s3fs, .*pip install 'headroles\[cloud\]'"):
        place_of("s3://bucket/run")


def test_services_give_sentences_and_listings_are_never_old(monkeypatch: pytest.MonkeyPatch) -> None:
    place, known = place_of("memory://addresses/service"), dict[str, list[str]]()
    find = place.system.find
    monkeypatch.setattr(place.system, "find", lambda path: known.setdefault(path, find(path)))
    monkeypatch.setattr(place.system, "invalidate_cache", known.clear)
    for number in range(2):
        place.write(f"shards/0000{number}.json", b"")
        assert len(place.names("shards/")) == number + 1
    kind = type("NoCredentialsError", (Exception,), {"__module__": "botocore.exceptions"})
    for trouble, met, words in (
        (kind("Unable to locate\n credentials"), BadInput, r"cannot be read .Unable to locate credentials.;"),
        (ZeroDivisionError(), ZeroDivisionError, None),
        (FileNotFoundError("x"), FileNotFoundError, "x"),
    ):
        monkeypatch.setattr(place.system, "cat_file", Mock(side_effect=trouble))
        with pytest.raises(met, match=words):
            place.read("plan.json")


class Watched:
    """Notes what is written to and deleted at addresses, and may fail at a name."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Watch all addresses."""
        self.written: list[str] = []
        self.fails = ""
        write, delete = FsspecPlace.write, FsspecPlace.delete

        def noted(place: Any, name: str, data: bytes) -> None:
            if name == self.fails:
                raise BadInput("the store is gone")
            self.written.append(name)
            write(place, name, data)

        def gone(place: Any, name: str) -> None:
            self.written.append(f"-{name}")
            delete(place, name)

        monkeypatch.setattr(FsspecPlace, "write", noted)
        monkeypatch.setattr(FsspecPlace, "delete", gone)


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> Watched:
    """What is written to addresses."""
    return Watched(monkeypatch)


@pytest.fixture(params=["memory", pytest.param("s3", marks=pytest.mark.ci)])
def address(request: pytest.FixtureRequest) -> str:
    """An address in memory or in the object store, at which nothing is yet."""
    name = re.sub(r"\W+", "-", request.node.name)
    return f"{request.getfixturevalue('bucket')}/{name}" if request.param == "s3" else f"memory://{name}"


@pytest.fixture
def there(address: str, run: Path) -> str:
    """The address of a finished run."""
    for name, data in files(run).items():
        place_of(address).write(name, data)
    return address


def write_half(where: str) -> None:
    """Fail while a run is changed."""
    with local_copy(where, back=True) as folder:
        (folder / "findings.csv").write_text("half")
        raise ZeroDivisionError


@pytest.mark.with_report
def test_reading_writes_nothing_at_an_address(
    there: str, run: Path, watched: Watched, tmp_path: Path
) -> None:
    before = files(there)
    assert headroles.load(there).frame().equals(headroles.load(run).frame())
    assert verify(there) == verify(run)
    assert headroles.table(there, "findings", "csv") == headroles.table(run, "findings", "csv")
    headroles.compare(there, run, swaps=0)
    assert (page := report(there, tmp_path / "page.html")) == tmp_path / "page.html"
    assert Path(page).read_bytes() == Path(report(run, tmp_path / "own.html")).read_bytes()
    with local_copy(there) as folder:
        (folder / "findings.csv").write_text("changed in the copy alone")
        (folder / "examples.parquet").unlink()
    with pytest.raises(ZeroDivisionError):
        write_half(there)
    assert watched.written == []
    assert files(there) == before
    with local_copy(str(run), back=True) as folder:
        assert folder == run
    for name, data in before.items():  # a run put aside is repaired in the copy alone
        place_of(f"{there}-aside").write(f".before/{name}", data)
    watched.written.clear()
    for read in (headroles.load, verify, headroles.table):
        read(f"{there}-aside")
    assert watched.written == []
    place_of(there).delete("findings.csv")
    for refuse in (headroles.load, headroles.judge_again, verify, headroles.table):
        with pytest.raises(BadInput) as caught:
            refuse(there)
        assert there in str(caught.value)
        assert "/tmp" not in str(caught.value)
        with pytest.raises(BadInput, match=r"^No such folder: memory://nowhere; give the address of a fini"):
            refuse("memory://nowhere")


@pytest.mark.with_report
def test_what_was_changed_is_put_back_the_manifest_last(there: str, run: Path, watched: Watched) -> None:
    headroles.judge_again(there, alpha=0.001)
    headroles.judge_again(run, alpha=0.001)
    assert files(there) == files(run)
    assert not [name for name in watched.written if name.startswith(("scores/", "shards/", "examples", "-"))]
    assert watched.written[-1] == "manifest.json"
    verify(there)
    place = place_of(there)
    page = place.read("report.html")
    place.delete("report.html")
    assert report(there) == f"{there}/report.html"
    assert place.read("report.html") == page
    assert report(run, f"{there}/page.html") == f"{there}/page.html"
    assert place.read("page.html") == page
    headroles.compare(there, run, swaps=0, out=f"{there}-compared")
    assert json.loads(place_of(f"{there}-compared").read("manifest.json"))["settings"]["a"] == there


@pytest.mark.parametrize("keep", [100_000, pytest.param(20, marks=pytest.mark.ci)])
def test_a_run_that_stopped_at_an_address_goes_on_there(
    label: Label, address: str, watched: Watched, tmp_path: Path, keep: int
) -> None:
    settings = QUICK | {"shard_size": 16, "keep": keep, "out": address}
    watched.fails = "shards/00002.json"
    with pytest.raises(BadInput, match="the store is gone"):
        label(**settings)
    assert {"plan.json", "shards/00000.json", "shards/00001.json"} < set(place_of(address).names())
    with pytest.raises(BadInput, match=f"the run in '{address}' is not; start the same command"):
        headroles.load(address)
    with pytest.raises(BadInput, match=f"'{address}' holds a run with other settings .max_length"):
        label(max_length=40, **settings)
    watched.fails = ""
    watched.written.clear()
    label(**settings)
    receipts = [name for name in watched.written if name.startswith("shards/") and name.endswith("json")]
    assert receipts == ["shards/00002.json", "shards/00003.json"]
    assert [name for name in watched.written if name[0] != "-"][-1] == "manifest.json"
    label(**settings | {"out": tmp_path / "run"})
    assert files(address) == files(tmp_path / "run")
    assert verify(address) == verify(tmp_path / "run")
    place_of(address).write("scores/part-00000.parquet", b"altered")
    with pytest.raises(BadInput, match=r"part-00000\.parquet"):
        verify(address)
    label(**settings)
    assert files(address) == files(tmp_path / "run")


def test_an_address_is_replaced_wholly(label: Label, address: str, shards: Shards, tmp_path: Path) -> None:
    label(out=address, shard_size=16, **QUICK | {"maps": 5})
    trouble = BadInput("no input can be scored")
    shards.stopped(0, lambda: label(out=f"{address}-new", **QUICK), trouble)
    assert files(f"{address}-new") == {}
    label(out=address, shard_size=32, overwrite=True, **QUICK)
    label(out=tmp_path / "run", shard_size=32, **QUICK)
    assert files(address) == files(tmp_path / "run")
    shards.stopped(0, lambda: label(out=address, overwrite=True, **QUICK | {"sieve": ["block"]}), trouble)
    assert files(address) == {}  # too late for the run before, but nothing of it is taken for the new one
    place_of(address).write("thesis.tex", b"years of work")
    for overwrite in (False, True):
        with pytest.raises(BadInput, match=f"'{address}' holds files that are no run of headroles"):
            label(out=address, overwrite=overwrite)
    assert files(address) == {"thesis.tex": b"years of work"}
    with pytest.raises(BadInput, match="memory belongs to one process"):
        label(out="memory://shared", workers=2)
