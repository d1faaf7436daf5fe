"""view(), its command and its options: what is asked for, what is written, and what a notebook shows."""

import inspect
import re
from collections.abc import Callable
from dataclasses import fields
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import headroles
from headroles.cli.main import cli
from headroles.errors import BadInput, HeadrolesError
from headroles.extraction.model.checkpoint import EMBEDDED
from headroles.options.values import parse_numbers, record_of
from headroles.options.view import ViewOptions
from headroles.records.example import Example
from headroles.records.view import CROSS, DECODER, ENCODER, SELF, Maps, View
from headroles.viewing import Viewed

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Frame

Command = Callable[..., tuple[int, str, str]]
NOTE = "The neuron view is left out, because <b>nobody</b> asked."


def _example(text: str) -> Example:
    words = text.split()
    return Example("x", tuple(words), word=np.arange(len(words)))


def _maps(kind: str, queries: str, keys: str, layers: tuple[int, ...], heads: tuple[int, ...]) -> Maps:
    one, other = _example(queries), _example(keys)
    shape = (len(layers), len(heads), one.size)
    rows = np.random.default_rng(len(kind)).dirichlet(np.ones(other.size), size=shape)
    example = one if queries != keys else other
    return Maps(kind, layers, heads, example, other, np.rint(255 * rows).astype(np.uint8))


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Replaces the reader of views; holds what it was asked for."""
    calls: list[dict[str, Any]] = []

    def read(checkpoint: Any, inputs: list[tuple[str, ...]], **how: Any) -> list[View]:
        calls.append({"model": checkpoint.name, "texts": inputs[0], "inputs": inputs} | how)
        return [read_input(texts, how) for texts in inputs]

    def read_input(texts: tuple[str, ...], how: dict[str, Any]) -> View:
        layers, heads = how["layers"] or (0, 1, 2), how["heads"] or (0, 1)
        if len(texts) == 1:
            return View(
                "some/<i>model</i>", texts, (_maps(SELF, texts[0], texts[0], layers, heads),), (NOTE,)
            )
        sides = ((ENCODER, 0, 0), (DECODER, 1, 1), (CROSS, 1, 0))
        kinds = tuple(_maps(kind, texts[one], texts[other], layers, heads) for kind, one, other in sides)
        return View("some/model", texts, kinds)

    monkeypatch.setattr("headroles.extraction.views.view.read_views", read)
    return calls


def test_the_options_of_view_are_the_keywords_of_view_with_the_same_defaults() -> None:
    command = cli.commands["view"]
    whole = cli.make_context("headroles", ["view", "It rains."])
    given = command.make_context("view", ["It rains."], parent=whole).params
    usual = ViewOptions(text="It rains.")
    expected = {each.name: getattr(usual, each.name) or None for each in fields(ViewOptions)}
    expected |= {"overwrite": False, "also": ()}
    assert given == expected
    described = inspect.getdoc(headroles.view) or ""
    assert not [name for name in given if f"``{name}``" not in described and f"{name}:" not in described]
    for option in command.params:
        if option.param_type_name == "option":
            assert option.opts == ["--" + str(option.name).rstrip("_").replace("_", "-")]
            assert getattr(option, "help", ""), option.name


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([], {"texts": ("It rains .",), "model": EMBEDDED, "layers": None, "heads": None, "neurons": True}),
        (["It pours ."], {"texts": ("It rains .", "It pours .")}),
        (["--layers", "2,0-1", "--heads", "1"], {"layers": (0, 1, 2), "heads": (1,)}),
        (["--device", "cpu", "--dtype", "bfloat16"], {"device": "cpu", "dtype": "bfloat16"}),
        (["--max-length", 9], {"max_length": 9}),
        (["--layers", 1, "--svg", "x.svg"], {"layers": (1,), "neurons": False}),
        (["--layers", 1, "--svg", "x.svg", "--out", "x.html"], {"neurons": True}),
    ],
)
def test_what_is_asked_for_reaches_the_reader(
    words: list[Any],
    expected: dict[str, Any],
    asked: list[dict[str, Any]],
    command: Command,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert command("view", "It rains .", *words)[::2] == (0, "")
    (call,) = asked
    assert {name: call[name] for name in expected} == expected


@pytest.mark.usefixtures("asked")
def test_a_page_is_written_and_its_path_printed(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    said = f"model   some/<i>model</i>\nnote    {NOTE}\n"
    assert command("view", "It rains .") == (0, f"{said}view    view.html\n", "")
    page = Path("view.html").read_text()
    assert page.startswith("<!doctype html>")
    assert command("view", "It rains .", "--view", "model", "--out", "new/[b]x.html") == (
        0, f"{said}view    new/[b]x.html\n", ""
    )  # fmt: skip
    assert Path("new/[b]x.html").read_text() == headroles.view("It rains .", view="model").html() != page


@pytest.mark.usefixtures("asked")
def test_an_svg_is_written_alone_or_beside_a_page(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ("view", "It rains .", "--layers", 2)
    assert command(*words, "--svg", "a.svg")[1].splitlines()[-1] == "view    a.svg"
    assert [each.name for each in tmp_path.iterdir()] == ["a.svg"]
    assert Path("a.svg").read_text() == headroles.view("It rains .", layers=2).svg(2)
    _, out, _ = command(*words, "--svg", "b.svg", "--out", "b.html")
    assert out.splitlines()[-2:] == ["view    b.svg", "view    b.html"]
    assert Path("a.svg").read_bytes() == Path("b.svg").read_bytes()
    command("view", "It rains .", "Es regnet nun .", "--layers", 2, "--svg", "c.svg", "--kind", "cross")
    texts = [each.text for each in ElementTree.parse("c.svg").iter("{http://www.w3.org/2000/svg}text")]
    assert "decoder, attending" in texts
    assert "regnet" in texts


MISTAKES = [
    (["  "], "a view shows attention between tokens, but text is empty; give a sentence"),
    (["It rains .", ""], "but text_b is empty"),
    (["It rains .", "--view", "heads"], "no view is called 'heads'; did you mean 'head'? known: head, model"),
    (["It rains .", "--device", "gpu"], "no device is called 'gpu'"),
    (["It rains .", "--dtype", "float8"], "no dtype is called 'float8'"),
    (["It rains .", "--layers", "3-1"], "layers are whole numbers from 0, such as 0,2-4"),
    (["It rains .", "--layers", ""], "but got ''; leave layers out for all"),
    (["It rains .", "--heads", "0,x"], "heads are whole numbers from 0"),
    (["It rains .", "--heads", "0-99999999"], "but got '0-99999999'"),
    (["It rains .", "--max-length", "3"], "max_length must be a whole number of at least 4, but got 3"),
    (["It rains .", "--revision", "main"], "so --model must name the model"),
    (["It rains .", "--svg", "x.svg"], "--layers must name at least one, but got none"),
    (["It rains .", "--as", "heat"], "--as changes an SVG, which needs --svg"),
    (["It rains .", "--svg", "x.svg", "--layers", "0", "--as", "hot"], "no form of an SVG is called 'hot'"),
    (
        ["It rains .", "--svg", "x.svg", "--layers", "0", "--token", "rains"],
        "give --as text, or leave it out",
    ),
    (
        ["It rains .", "--svg", "x.svg", "--layers", "0", "--as", "text", "--token", "snows"],
        "but got 'snows'; the text has 'It', 'rains' and '.'",
    ),
    (["It rains .", "--also", "It pours ."], "--also is another text in an SVG, so it goes with --svg"),
    (
        ["It rains .", "B .", "--also", "C .", "--svg", "x.svg", "--layers", "0"],
        "of one text each; leave",
    ),
    ([], "a view needs a text, stored maps (--attention) or a run (--run), but got none"),
    (["It rains .", "--run", "r", "--model", "m"], "a run brings its own model, so model has no effect"),
    (["It rains .", "--run", "r", "--revision", "v"], "so revision has no effect"),
    (["--run", "r", "--attention", "maps.npz"], "but got both maps and a run; give one of them"),
    (["It rains .", "--run", "nowhere"], "nowhere"),
    (["It rains .", "--kind", "cross"], "--kind changes an SVG, which needs --svg"),
    (["It rains .", "--svg", "x", "--out", "./x", "--layers", "0"], "--out and --svg both name the file 'x'"),
    (["It rains .", "--out", "."], "--out names a file, but '.' is a folder; name a file in it"),
    (["It rains .", "--model", "nowhere/at-all"], "the model 'nowhere/at-all' is not on this machine"),
    (["It rains .", "--out", "held/view.html"], "'held/view.html' cannot be written ("),
    (["It rains .", "--out", f"new/{'v' * 300}.html"], "cannot be written (File name too long)"),
    (
        ["It rains .", "--svg", "x.svg", "--layers", "1", "--kind", "cross", "--out", "x.html"],
        "this view holds self attention, but got 'cross'; name one of those, or leave the kind out",
    ),
]


@pytest.mark.usefixtures("asked")
@pytest.mark.parametrize(("words", "expected"), MISTAKES, ids=lambda each: " ".join(each)[:30])
def test_a_mistake_is_one_sentence_and_nothing_is_written(
    words: list[str], expected: str, command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.chdir(tmp_path)
    Path("held").write_text("a file")
    code, out, err = command("view", *words)
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert expected in err
    assert [each.name for each in tmp_path.iterdir()] == ["held"]


@pytest.mark.usefixtures("asked")
@pytest.mark.parametrize("name", ["report.html", "findings.csv", "manifest.json"])
def test_a_view_never_takes_the_place_of_a_part_of_a_run(name: str, command: Command, run: Path) -> None:
    before = (run / name).read_bytes()
    for words in (("--out", run / name), ("--svg", run / name, "--layers", 1)):
        code, out, err = command("view", "It rains .", *words)
        assert (code, out, err.count("\n")) == (1, "", 1)
        assert "must not replace a file of a run or comparison" in err
    with pytest.raises(BadInput, match="must not replace a file"):
        headroles.view("It rains .").save(run / name)
    assert (run / name).read_bytes() == before
    assert headroles.view("It rains .").save(run / "view.html").is_file()


@given(st.sets(st.integers(0, 9999), min_size=1, max_size=40))
def test_numbers_are_read_from_text_and_from_sequences_alike(numbers: set[int]) -> None:
    expected = tuple(sorted(numbers))
    parts = [f"{each}-{each + 1}" if each + 1 in numbers else str(each) for each in numbers]
    assert parse_numbers("layers", " , ".join(parts)) == expected
    assert parse_numbers("layers", list(numbers)) == parse_numbers("layers", np.array(expected)) == expected


@pytest.mark.parametrize("value", [-1, [], [1.5], [True], "1;2", "1-2-3", "-1", 10_000, {"a": 1}, 1.0])
def test_what_is_no_number_of_a_layer_is_refused(value: Any) -> None:
    with pytest.raises(BadInput, match="layers are whole numbers from 0"):
        parse_numbers("layers", value)


def test_paths_and_numbers_of_numpy_are_taken_and_strange_options_named() -> None:
    chosen = record_of(ViewOptions, text="a", out=Path("x.html"), layers=range(2), heads=np.int64(3))
    assert (chosen.out, chosen.layers, chosen.heads) == ("x.html", (0, 1), (3,))
    with pytest.raises(HeadrolesError, match="no option is called 'layer'; did you mean 'layers'"):
        headroles.view("It rains.", layer=3)  # type: ignore[call-arg]


@pytest.mark.usefixtures("asked")
def test_a_view_is_saved_shown_and_drawn(tmp_path: Path) -> None:
    viewed = headroles.view("It rains .")
    assert isinstance(viewed, Viewed)
    assert viewed.save(tmp_path / "new" / "x.html").read_text() == viewed.html()
    with pytest.raises(BadInput, match="is a folder; name a file in it"):
        viewed.save(tmp_path)
    assert viewed.svg(1, "1") == viewed.svg(1, [1]) != viewed.svg(1)
    assert 'width="89mm"' in viewed.svg(1, width="89mm", level="words")
    with pytest.raises(BadInput, match="holds the heads 0, 1, but head 4"):
        viewed.svg(1, 4)


@pytest.mark.usefixtures("asked")
def test_pictures_of_several_texts_layers_and_heads_stand_in_one_file(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asked: list[dict[str, Any]]
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ("view", "It rains .", "--also", "Now it pours .", "--layers", "0,2", "--svg", "x.svg")
    for form, count in (("lines", 4), ("heat", 8), ("text", 8)):
        assert command(*words, "--as", form)[::2] == (0, "")
        svg = Path("x.svg").read_text()
        assert svg.count("<g transform=") == count
        assert svg == headroles.view("It rains .", also="Now it pours .", layers="0,2").svg("0,2", form=form)
    assert asked[0]["inputs"] == [("It rains .",), ("Now it pours .",)]
    own = headroles.view("It rains .", svg="y.svg", layers=1, as_="text", token=1)
    assert Path("y.svg").read_text() == own.svg(1, form="text", token="rains")


def test_a_real_model_is_read_as_its_maps(planted: Path, tmp_path: Path) -> None:
    """Head 1-2 of the planted model looks at the next token."""
    words = "what is a cat ?", "the cat sat in house"
    viewed = headroles.view(*words, model=planted, layers=1, heads="1-2", out=tmp_path / "view.html")
    (maps,) = viewed.view.maps
    assert (maps.layers, maps.heads, viewed.view.texts) == ((1,), (1, 2), words)
    inner = maps.weights[0, 1, 1:-1]
    assert (inner.argmax(axis=1) == np.arange(2, maps.keys.size)).mean() > 0.9
    assert (tmp_path / "view.html").read_text() == viewed.html()


def test_all_parts_of_an_encoder_decoder_can_be_drawn(model_of: Any) -> None:
    viewed = headroles.view("It rains.", "Now it pours.", model=model_of("t5"), max_length=32)
    assert [each.kind for each in viewed.view.maps] == [ENCODER, DECODER, CROSS]
    cross = viewed.view.maps[2]
    assert viewed.svg(cross.layers[0], kind="cross").count("<line ") > 0
    assert (cross.queries.size, cross.keys.size) == cross.weights.shape[2:]
    with pytest.raises(
        BadInput, match="this view holds encoder, decoder and cross attention, but got 'self'"
    ):
        viewed.svg(0, kind="self")


def test_a_frame_in_a_notebook_holds_the_page_and_nothing_else() -> None:
    texts = ('<script>alert("1")</script>', "a' b")
    maps = _maps(SELF, texts[0], texts[0], (0,), (0,))
    viewed = Viewed(View('"><b>model</b>', texts, (maps,)))
    tags: list[tuple[str, dict[str, str | None]]] = []
    reader = HTMLParser()
    reader.handle_starttag = lambda tag, attrs: tags.append((tag, dict(attrs)))  # type: ignore[method-assign]
    reader.feed(viewed._repr_html_())
    ((tag, found),) = tags
    assert (tag, found["sandbox"], found["srcdoc"]) == ("iframe", "allow-scripts", viewed.html())
    assert found["title"] == 'Attention of "><b>model</b>'
    assert not re.search(r"[<>]", viewed._repr_html_().removeprefix("<iframe").removesuffix("></iframe>"))


@pytest.mark.browser
@pytest.mark.usefixtures("asked")
def test_two_views_in_one_notebook_both_work_and_keep_to_themselves(
    browser: "Browser",
) -> None:
    one, two = headroles.view("It rains ."), headroles.view("Now it pours again .", view="model")
    page = browser.new_page(viewport={"width": 1000, "height": 1500})
    problems: list[str] = []
    page.on("console", lambda message: problems.append(message.text))
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("request", lambda request: problems.append(request.url) if "//" in request.url else None)
    page.set_content(
        f'<html lang="en"><title>n</title><body>{one._repr_html_()}{two._repr_html_()}</body></html>'
    )
    frames = page.frames[1:]
    assert [_open(frame) for frame in frames] == ["Heads", "Model"]
    frames[0].get_by_role("tab", name="Model").click()
    frames[1].get_by_role("tab", name="Heads").click()
    assert [_open(frame) for frame in frames] == ["Model", "Heads"]
    assert "pours" in frames[1].locator("body").inner_text()
    assert "pours" not in frames[0].locator("body").inner_text()
    assert page.evaluate("Object.keys(window).filter(name => name.startsWith('attention'))") == []
    assert problems == []
    page.close()


def _open(frame: "Frame") -> str:
    """Which view a page shows, by its tabs."""
    return frame.locator('[role="tab"][aria-selected="true"]').inner_text()
