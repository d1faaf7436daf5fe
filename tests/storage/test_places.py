"""Where files of a run lie: folders, addresses, and an object store of this machine."""

import errno
import hashlib
import os
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from headroles import addresses
from headroles.addresses import is_address
from headroles.errors import BadInput, MissingExtra
from headroles.storage.places import FsspecPlace, LocalPlace, Place, place_of

KINDS = ("folder", "file", "memory", "s3")


@pytest.fixture(params=KINDS)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    """An empty place of each kind."""
    name = f"run-{os.getpid()}-{request.node.name}".replace("[", "-").replace("]", "")
    if request.param == "s3":
        bucket: str = request.getfixturevalue("bucket")
        return place_of(f"{bucket}/{name}")
    where: dict[str, Path | str] = {
        "folder": tmp_path,
        "file": f"file://{tmp_path}/deep",
        "memory": f"memory://{name}",
    }
    return place_of(where[request.param])


def test_files_are_written_read_listed_and_deleted(place: Place) -> None:
    assert place.names() == []
    for name in ("shards/00001.json", "plan.json", "shards/00000.json", "scores/part-00000.parquet"):
        place.write(name, name.encode())
    assert place.names() == [
        "plan.json", "scores/part-00000.parquet", "shards/00000.json", "shards/00001.json"
    ]  # fmt: skip
    assert place.names("shards/") == ["shards/00000.json", "shards/00001.json"]
    assert place.names("shards/00001") == ["shards/00001.json"]
    assert place.names("none/") == []
    place.write("plan.json", b"\x00" * 100_000)
    assert place.read("plan.json") == b"\x00" * 100_000
    assert place.sha256("plan.json") == hashlib.sha256(b"\x00" * 100_000).hexdigest()
    place.delete("plan.json")
    place.delete("plan.json")
    with pytest.raises(FileNotFoundError):
        place.read("plan.json")
    with pytest.raises(FileNotFoundError):
        place.sha256("plan.json")
    assert place_of(place.url).names("scores") == ["scores/part-00000.parquet"]


@pytest.mark.parametrize("name", ["", "/etc/passwd", "../beside", "scores/../../beside", "a//b", "."])
def test_a_name_that_leaves_its_place_is_refused(name: str, tmp_path: Path) -> None:
    for each in (LocalPlace(tmp_path / "run"), FsspecPlace("memory://run")):
        for what in (partial(each.write, data=b""), each.read, each.sha256, each.delete):
            with pytest.raises(BadInput, match="must stay within its place"):
                what(name)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("kind", ["folder", "file"])
def test_a_write_that_fails_leaves_the_file_before_and_nothing_else(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = place_of(tmp_path if kind == "folder" else f"file://{tmp_path}")
    place.write("plan.json", b"before")

    def full(*given: Any, **more: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    if not isinstance(place, FsspecPlace):
        monkeypatch.setattr(os, "fsync", full)
    else:
        monkeypatch.setattr(place.system, "mv", full)
    with pytest.raises(BadInput, match=r"cannot be written .No space left on device.") as caught:
        place.write("plan.json", b"after")
    assert "plan.json" in str(caught.value)
    assert [each.name for each in tmp_path.iterdir()] == ["plan.json"]
    assert place.read("plan.json") == b"before"


@pytest.mark.parametrize("kind", ["folder", "file"])
def test_a_file_that_is_half_written_is_not_seen(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = place_of(tmp_path if kind == "folder" else f"file://{tmp_path}")
    seen: list[list[str]] = []

    def looking(*given: Any, **more: Any) -> None:
        seen.append(place.names())

    if isinstance(place, FsspecPlace):
        real = place.system.mv

        def moving(*given: Any, **more: Any) -> None:
            looking()
            real(*given, **more)

        monkeypatch.setattr(place.system, "mv", moving)
    else:
        monkeypatch.setattr(os, "fsync", looking)
    place.write("shards/00000.json", b"whole")
    assert seen == [[]]
    assert place.names() == ["shards/00000.json"]


def test_paths_and_addresses_are_told_apart(tmp_path: Path) -> None:
    assert isinstance(place_of(tmp_path), LocalPlace)
    assert isinstance(place_of("runs/QNLI"), LocalPlace)
    assert isinstance(place_of("memory://runs/QNLI/"), FsspecPlace)
    assert place_of("memory://runs/QNLI/").url == "memory://runs/QNLI"
    assert [is_address(each) for each in ("gs://b/c", "simplecache::s3://b/c", "C:\\runs", "a/b://c")] == [
        True, True, False, False
    ]  # fmt: skip
    assert not is_address(Path("s3://bucket/run"))


def test_an_address_of_an_unknown_kind_is_refused() -> None:
    with pytest.raises(BadInput, match=r"of a kind that fsspec serves.*but got 'swift9://bucket/run'"):
        place_of("swift9://bucket/run")


def test_a_missing_driver_is_named_with_the_extra_that_brings_it(monkeypatch: pytest.MonkeyPatch) -> None:
    import fsspec

    def missing(url: str) -> None:
        raise ImportError("Install s3fs to access S3")

    monkeypatch.setattr(fsspec, "url_to_fs", missing)
    with pytest.raises(
        MissingExtra, match=r"served by s3fs, which is not installed; pip install 'headroles\[cloud\]'"
    ):
        place_of("s3://bucket/run")


def test_what_others_wrote_is_listed_by_drivers_that_remember_listings(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    place = place_of(f"memory://remembered-{os.getpid()}")
    assert isinstance(place, FsspecPlace)
    known: dict[str, list[str]] = {}
    find = place.system.find
    monkeypatch.setattr(place.system, "find", lambda path: known.setdefault(path, find(path)))
    monkeypatch.setattr(place.system, "invalidate_cache", known.clear)
    for number in range(2):
        place.write(f"shards/0000{number}.json", b"")
        assert len(place.names("shards/")) == number + 1


def test_a_store_that_refuses_says_so_in_one_sentence(bucket: str) -> None:
    nowhere = place_of("s3://no-such-bucket/run")
    with pytest.raises(BadInput, match=r"'s3://no-such-bucket/run/plan.json' cannot be written .*bucket"):
        nowhere.write("plan.json", b"")
    assert nowhere.names() == []


def test_errors_of_services_become_sentences_and_bugs_stay_bugs() -> None:
    kind = type("NoCredentialsError", (Exception,), {"__module__": "botocore.exceptions"})
    with (
        pytest.raises(
            BadInput, match=r"^'s3://b/x' cannot be read .Unable to locate credentials.; check add"
        ),
        addresses.explain_errors("'s3://b/x'", "read"),
    ):
        raise kind("Unable to locate\n credentials")
    with pytest.raises(ZeroDivisionError), addresses.explain_errors("'s3://b/x'", "read"):
        raise ZeroDivisionError
    with pytest.raises(FileNotFoundError), addresses.explain_errors("'x'", "read"):
        raise FileNotFoundError("x")


def test_gs_addresses_go_the_same_way(monkeypatch: pytest.MonkeyPatch) -> None:
    import fsspec

    monkeypatch.setitem(fsspec.config.conf, "gs", {"token": "anon"})
    place = place_of("gs://bucket/run")
    assert isinstance(place, FsspecPlace)
    assert (place.root, place._puts_whole()) == ("bucket/run", True)
