"""view() and its command: what is asked for, what is written, and what a notebook shows."""

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import headroles
from headroles.errors import BadInput
from headroles.records import Example, Maps, View
from tests.conftest import Command

NOTE = "The neuron view is left out, because <b>nobody</b> asked."


def _maps(kind: str, queries: str, keys: str, layers: tuple[int, ...], heads: tuple[int, ...]) -> Maps:
    """Return random maps between two texts of words."""
    one, other = (
        Example("x", tuple(text.split()), word=np.arange(len(text.split()))) for text in (queries, keys)
    )
    shape = (len(layers), len(heads), one.size)
    rows = np.random.default_rng(len(kind)).dirichlet(np.ones(other.size), size=shape)
    example = one if queries != keys else other
    return Maps(kind, layers, heads, example, other, np.rint(255 * rows).astype(np.uint8))


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Replaces the reader of views; holds what it was asked for."""
    calls: list[dict[str, Any]] = []

    def read_input(texts: tuple[str, ...], how: dict[str, Any]) -> View:
        layers, heads = how["layers"] or (0, 1, 2), how["heads"] or (0, 1)
        if len(texts) == 1:
            maps = (_maps("self", texts[0], texts[0], layers, heads),)
            return View("some/<i>model</i>", texts, maps, (NOTE,))
        sides = (("encoder", 0, 0), ("decoder", 1, 1), ("cross", 1, 0))
        kinds = tuple(_maps(kind, texts[one], texts[other], layers, heads) for kind, one, other in sides)
        return View("some/model", texts, kinds)

    def read(checkpoint: Any, inputs: list[tuple[str, ...]], **how: Any) -> list[View]:
        calls.append({"model": checkpoint.name, "texts": inputs[0], "inputs": inputs} | how)
        return [read_input(texts, how) for texts in inputs]

    monkeypatch.setattr("headroles.extraction.views.view.read_views", read)
    return calls


def test_what_is_asked_for_reaches_the_reader(
    asked: list[dict[str, Any]], command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    cases: list[tuple[list[Any], dict[str, Any]]] = [
        ([], {"texts": ("It rains .",), "layers": None, "heads": None, "neurons": True}),
        (["It pours ."], {"texts": ("It rains .", "It pours .")}),
        (["--layers", "2,0-1", "--heads", "1"], {"layers": (0, 1, 2), "heads": (1,)}),
        (["--device", "cpu", "--dtype", "bfloat16"], {"device": "cpu", "dtype": "bfloat16"}),
        (["--max-length", 9], {"max_length": 9}),
        (["--layers", 1, "--svg", "x.svg"], {"layers": (1,), "neurons": False}),
        (["--layers", 1, "--svg", "x.svg", "--out", "x.html"], {"neurons": True}),
    ]
    for words, expected in cases:
        assert command("view", "It rains .", *words)[::2] == (0, ""), words
        call = asked.pop()
        assert {name: call[name] for name in expected} == expected, words


@pytest.mark.usefixtures("asked")
def test_pages_and_pictures_are_written_and_their_paths_printed(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    said = f"model   some/<i>model</i>\nnote    {NOTE}\n"
    assert command("view", "It rains .") == (0, f"{said}view    view.html\n", "")
    page = Path("view.html").read_text()
    words = ("--view", "model", "--out", "new/[b]x.html")
    assert command("view", "It rains .", *words) == (0, f"{said}view    new/[b]x.html\n", "")
    assert Path("new/[b]x.html").read_text() == headroles.view("It rains .", view="model").html() != page
    assert command("view", "It rains .", "--layers", 2, "--svg", "a.svg")[0] == 0
    assert Path("a.svg").read_text() == headroles.view("It rains .", layers=2).svg(2)
    command("view", "It rains .", "Es regnet nun .", "--layers", 2, "--svg", "c.svg", "--kind", "cross")
    texts = [node.text for node in ElementTree.parse("c.svg").iter("{http://www.w3.org/2000/svg}text")]
    assert "decoder, attending" in texts
    assert "regnet" in texts
    several = ("view", "It rains .", "--also", "Now it pours .", "--layers", "0,2", "--svg", "x.svg")
    for form, count in (("lines", 4), ("heat", 8), ("text", 8)):
        assert command(*several, "--as", form)[::2] == (0, "")
        svg = Path("x.svg").read_text()
        assert svg.count("<g transform=") == count
        assert svg == headroles.view("It rains .", also="Now it pours .", layers="0,2").svg("0,2", form=form)
    viewed = headroles.view("It rains .")
    assert viewed.save(tmp_path / "other" / "x.html").read_text() == viewed.html()
    assert viewed.svg(1, "1") == viewed.svg(1, [1]) == viewed.svg(1, np.array([1])) != viewed.svg(1)
    assert 'width="89mm"' in viewed.svg(1, width="89mm", level="words")
    with pytest.raises(BadInput, match="holds the heads 0, 1, but head 4"):
        viewed.svg(1, 4)


@pytest.mark.usefixtures("asked")
def test_a_view_never_takes_the_place_of_a_part_of_a_run(command: Command, run: Path) -> None:
    for name in ("report.html", "findings.csv", "manifest.json"):
        before = (run / name).read_bytes()
        for words in (("--out", run / name), ("--svg", run / name, "--layers", 1)):
            code, out, err = command("view", "It rains .", *words)
            assert (code, out, err.count("\n")) == (1, "", 1)
            assert "must not replace a file of a run or comparison" in err
        assert (run / name).read_bytes() == before
    assert headroles.view("It rains .").save(run / "view.html").is_file()


def test_a_real_model_is_read_as_its_maps(planted: Path, tmp_path: Path) -> None:
    words = "what is a cat ?", "the cat sat in house"
    viewed = headroles.view(*words, model=planted, layers=1, heads="1-2", out=tmp_path / "view.html")
    (maps,) = viewed.view.maps
    assert (maps.layers, maps.heads, viewed.view.texts) == ((1,), (1, 2), words)
    inner = maps.weights[0, 1, 1:-1]  # head 1-2 looks at the next token
    assert (inner.argmax(axis=1) == np.arange(2, maps.keys.size)).mean() > 0.9
    assert (tmp_path / "view.html").read_text() == viewed.html()


def test_a_frame_in_a_notebook_holds_the_page_and_nothing_else() -> None:
    texts = ('<script>alert("1")</script>', "a' b")
    maps = _maps("self", texts[0], texts[0], (0,), (0,))
    viewed = headroles.Viewed(View('"><b>model</b>', texts, (maps,)))
    tags: list[tuple[str, dict[str, str | None]]] = []
    reader = HTMLParser()
    reader.handle_starttag = lambda tag, attrs: tags.append((tag, dict(attrs)))  # type: ignore[method-assign]
    reader.feed(viewed._repr_html_())
    ((tag, found),) = tags
    assert (tag, found["sandbox"], found["srcdoc"]) == ("iframe", "allow-scripts", viewed.html())
    assert found["title"] == 'Attention of "><b>model</b>'
    assert not re.search(r"[<>]", viewed._repr_html_().removeprefix("<iframe").removesuffix("></iframe>"))
