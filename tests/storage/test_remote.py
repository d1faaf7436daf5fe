"""Runs at addresses: the same files as in a folder, whatever happens on the way."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import headroles
from headroles.errors import BadInput, HeadrolesError
from headroles.exporting import report
from headroles.judging.again import judge_again
from headroles.shards.verify import verify
from headroles.storage.places import FsspecPlace, Place, place_of
from headroles.storage.remote import local_copy

Label = Callable[..., headroles.Labelling]


QUICK: dict[str, Any] = {"maps": 0, "sieve": ["local", "delimiter"]}
"""Options that leave out what these tests do not look at."""


def _files(place: Place) -> dict[str, bytes]:
    return {name: place.read(name) for name in place.names()}


@pytest.fixture
def address(bucket: str, request: pytest.FixtureRequest) -> str:
    """An address in the object store, at which nothing is yet."""
    return f"{bucket}/{request.node.name}"


@pytest.fixture
def there(address: str, run: Path) -> str:
    """The address of a finished run."""
    place = place_of(address)
    for name, data in _files(place_of(run)).items():
        place.write(name, data)
    return address


def test_a_run_at_an_address_has_the_files_of_one_in_a_folder(
    label: Label, address: str, tmp_path: Path
) -> None:
    settings = QUICK | {"shard_size": 16, "maps": 3}
    here = label(out=tmp_path / "run", **settings)
    far = label(out=address, **settings)
    assert _files(place_of(address)) == _files(place_of(tmp_path / "run"))
    assert far.frame().equals(here.frame())
    assert headroles.load(address).frame().equals(headroles.load(tmp_path / "run").frame())
    assert verify(address) == verify(tmp_path / "run")


def test_a_run_that_keeps_sums_has_the_same_files_at_an_address(
    label: Label, address: str, tmp_path: Path
) -> None:
    for where in (address, str(tmp_path / "run")):
        label(out=where, shard_size=16, keep=30, **QUICK)
        label(out=where, shard_size=16, keep=30, alpha=0.01, overwrite=True, **QUICK)
    assert "moments.npz" in place_of(address).names()
    assert _files(place_of(address)) == _files(place_of(tmp_path / "run"))
    verify(address)


def test_inputs_are_read_from_an_address(label: Label, table: Path, bucket: str, tmp_path: Path) -> None:
    place_of(f"{bucket}/inputs").write("pairs.tsv", table.read_bytes())
    here = label(data=str(table), group="document", **QUICK)
    far = label(data=f"{bucket}/inputs/pairs.tsv", group="document", **QUICK)
    assert far.frame().equals(here.frame())
    assert far.manifest["source"]["name"] == f"{bucket}/inputs/pairs.tsv"
    with pytest.raises(BadInput, match=r"^No such file: s3://\S+/none.tsv$"):
        label(data=f"{bucket}/inputs/none.tsv")


def test_a_run_that_stopped_at_an_address_goes_on(
    label: Label, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, written = place_of(address), []
    real = FsspecPlace.write

    def failing(self: FsspecPlace, name: str, data: bytes) -> None:
        if name == "shards/00002.json":
            raise BadInput("the store is gone")
        real(self, name, data)

    def watched(self: FsspecPlace, name: str, data: bytes) -> None:
        written.append(name)
        real(self, name, data)

    monkeypatch.setattr(FsspecPlace, "write", failing)
    with pytest.raises(BadInput, match="the store is gone"):
        label(out=address, shard_size=16, **QUICK)
    assert {"plan.json", "shards/00000.json", "shards/00001.json"} < set(place.names())
    with pytest.raises(BadInput, match=f"the run in '{address}' is not; start the same command"):
        headroles.load(address)
    monkeypatch.setattr(FsspecPlace, "write", watched)
    with pytest.raises(BadInput, match=f"'{address}' holds a run with other settings .max_length"):
        label(out=address, shard_size=16, max_length=40, **QUICK)
    label(out=address, shard_size=16, **QUICK)
    assert [name for name in written if name.startswith("shards/") and name.endswith("json")] == [
        "shards/00002.json", "shards/00003.json"
    ]  # fmt: skip
    assert written[-1] == "manifest.json"
    verify(address)


def test_a_damaged_shard_at_an_address_is_found_and_made_anew(label: Label, address: str) -> None:
    label(out=address, shard_size=16, **QUICK)
    place = place_of(address)
    before = _files(place)
    place.write("scores/part-00001.parquet", b"altered")
    with pytest.raises(BadInput, match=r"part-00001\.parquet"):
        verify(address)
    label(out=address, shard_size=16, **QUICK)
    assert _files(place) == before


def test_a_run_that_fails_before_its_first_shard_leaves_an_address_as_it_was(
    label: Label, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from headroles.shards.worker import Worker

    label(out=address, **QUICK)
    place = place_of(address)
    before = _files(place)
    with pytest.raises(HeadrolesError, match="the model 'no/such-model-anywhere' is not"):
        label(out=address, model="no/such-model-anywhere", overwrite=True, **QUICK)
    assert _files(place) == before

    def failing(*given: Any, **more: Any) -> None:
        raise BadInput("no input can be scored")

    monkeypatch.setattr(Worker, "score", failing)
    with pytest.raises(BadInput, match="no input can be scored"):
        label(out=f"{address}-new", **QUICK)
    assert place_of(f"{address}-new").names() == []
    with pytest.raises(BadInput, match="no input can be scored"):
        label(out=address, overwrite=True, **QUICK | {"sieve": ["block"]})
    assert place.names() == []  # too late for the run before, but nothing of it is taken for the new one


def test_overwrite_replaces_a_run_at_an_address_wholly(label: Label, address: str, tmp_path: Path) -> None:
    label(out=address, shard_size=16, **QUICK | {"maps": 5})
    label(out=address, shard_size=32, overwrite=True, **QUICK)
    label(out=tmp_path / "run", shard_size=32, **QUICK)
    assert _files(place_of(address)) == _files(place_of(tmp_path / "run"))


def test_an_address_that_holds_something_else_is_left_alone(label: Label, address: str) -> None:
    place = place_of(address)
    place.write("thesis.tex", b"years of work")
    for overwrite in (False, True):
        with pytest.raises(BadInput, match=f"'{address}' holds files that are no run of headroles"):
            label(out=address, overwrite=overwrite)
    assert _files(place) == {"thesis.tex": b"years of work"}


def test_judging_at_an_address_puts_back_what_it_changed(
    there: str, run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[str] = []
    real = FsspecPlace.write

    def watched(self: FsspecPlace, name: str, data: bytes) -> None:
        written.append(name)
        real(self, name, data)

    monkeypatch.setattr(FsspecPlace, "write", watched)
    judge_again(there, alpha=0.001)
    judge_again(run, alpha=0.001)
    assert _files(place_of(there)) == _files(place_of(run))
    assert not [name for name in written if name.startswith(("scores/", "shards/", "examples"))]
    assert written[-1] == "manifest.json"
    verify(there)


def test_errors_of_a_run_at_an_address_name_the_address(there: str, address: str) -> None:
    place_of(there).delete("findings.csv")
    for what in (headroles.load, judge_again, verify, headroles.table):
        with pytest.raises(BadInput) as caught:
            what(there)
        assert address in str(caught.value)
        assert "/tmp" not in str(caught.value)


@pytest.mark.with_report
def test_reports_tables_and_comparisons_are_made_of_addresses(there: str, run: Path, tmp_path: Path) -> None:
    assert headroles.table(there, "findings", "csv") == headroles.table(run, "findings", "csv")
    place = place_of(there)
    page = place.read("report.html")
    place.delete("report.html")
    assert report(there) == f"{there}/report.html"
    assert place.read("report.html") == page
    assert report(there, tmp_path / "page.html") == tmp_path / "page.html"
    assert (tmp_path / "page.html").read_bytes() == page
    assert report(run, f"{there}/page.html") == f"{there}/page.html"
    assert place.read("page.html") == page
    place.delete("page.html")
    with pytest.raises(BadInput, match="must not replace a file of its run"):
        report(there, f"{there}/manifest.json")
    headroles.compare(there, run, swaps=0, out=f"{there}-compared")
    compared = json.loads(place_of(f"{there}-compared").read("manifest.json"))
    assert compared["settings"]["a"] == there


def test_an_address_with_nothing_is_no_folder() -> None:
    for read in (headroles.load, headroles.judge_again, headroles.table, headroles.figures, report, verify):
        with pytest.raises(BadInput, match=r"^No such folder: memory://nowhere; give the address of a fini"):
            read("memory://nowhere")


def test_a_path_is_passed_on_as_it_is(run: Path) -> None:
    with local_copy(run, back=True) as place:
        assert place == run
    with local_copy(str(run)) as place:
        assert place == run


def test_what_fails_in_a_copy_is_not_put_back(there: str) -> None:
    before = _files(place_of(there))

    def half() -> None:
        with local_copy(there, back=True) as place:
            (place / "findings.csv").write_text("half")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        half()
    assert _files(place_of(there)) == before


def _tree(subject: str) -> str:
    """Return the tree of a sentence in CoNLL-U."""
    words = (("the", 2, "det"), (subject, 3, "nsubj"), ("sat", 0, "root"))
    rows = enumerate(words, start=1)
    return "".join(
        f"{place}\t{word}\t{word}\tX\t_\t_\t{head}\t{role}\t_\t_\n" for place, (word, head, role) in rows
    )


def _make(kind: str, model: Path, table: Path, folder: Path, **options: Any) -> headroles.Labelling:
    """Make a small run of a kind."""
    common: dict[str, Any] = {"model": str(model), "limit": 12} | options
    if kind == "probe":
        trees = folder / "trees.conllu"
        texts = (f"# newdoc id = d{number}\n{_tree(f'cat{number}')}\n" for number in range(12))
        trees.write_text("".join(texts))
        return headroles.probe("trees", data=str(trees), max_length=48, **common)
    command = getattr(headroles, kind)
    more: dict[str, Any] = {} if kind == "surface" else {"sieve": ["local", "delimiter"], "maps": 0}
    made: headroles.Labelling = command("QNLI", data=str(table), max_length=24, **common | more)
    return made


@pytest.mark.parametrize("kind", ["label", "cluster", "surface", "probe"])
def test_memory_as_an_address_is_refused_where_several_processes_write(
    kind: str, planted: Path, table: Path, tmp_path: Path
) -> None:
    with pytest.raises(BadInput, match="memory belongs to one process"):
        _make(kind, planted, table, tmp_path, out="memory://run", workers=2)


@pytest.mark.parametrize("kind", ["cluster", "surface", "probe"])
def test_a_run_of_every_kind_at_an_address_has_the_files_of_one_in_a_folder(
    kind: str, planted: Path, table: Path, address: str, tmp_path: Path
) -> None:
    for where in (address, str(tmp_path / "run")):
        _make(kind, planted, table, tmp_path, out=where, shard_size=5)
    assert _files(place_of(address)) == _files(place_of(tmp_path / "run"))
    assert "shards/00001.json" in place_of(address).names()
    assert verify(address) == verify(tmp_path / "run")


def test_a_mixture_of_two_results_at_an_address_is_refused_and_made_whole_by_the_same_command(
    label: Label, request: pytest.FixtureRequest
) -> None:
    where = f"memory://{request.node.name}"
    place = place_of(where)
    label(out=where, limit=20, **QUICK)
    before = _files(place)
    judge_again(where, alpha=0.9, margin=0.3)
    assert place.read("findings.csv") != before["findings.csv"]
    place.write("manifest.json", before["manifest.json"])  # as a judge that stops before its last file
    with pytest.raises(BadInput, match=r"was altered since it was written"):
        headroles.load(where)
    label(out=where, limit=20, **QUICK)
    assert _files(place) == before


def test_commands_take_addresses(there: str, command: Callable[..., tuple[int, str, str]]) -> None:
    for words in (
        ("judge", there, "--alpha", "0.01"),
        ("verify", there),
        ("report", there),
        ("table", there),
    ):
        code, out, err = command(*words)
        assert (code, err) == (0, ""), words
        assert out
    assert there in command("report", there)[1].replace("\n", "")
