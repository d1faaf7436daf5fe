"""Figures as files: those of the report, in light colours, told apart without colour, the same every time."""

import json
import os
import re
import struct
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import plotly.graph_objects as go
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import headroles
from headroles import exporting
from headroles.errors import BadInput, MissingExtra, UnknownName
from headroles.records.atlas.atlas import Atlas
from headroles.records.comparison import Comparison
from headroles.records.example import Scores
from headroles.records.findings import Labelling
from headroles.records.rules.rule import Decision, Rule
from headroles.reports.figures.cluster_map import look_of
from headroles.reports.figures.run import figures as page_figures
from headroles.reports.print import files as print_files
from headroles.reports.print.dress import TYPE, palette, pixels, scale_to, shorten
from headroles.reports.print.figures import figures_of, file_names
from headroles.reports.print.files import files_of
from headroles.reports.print.matrix import _place_marks
from headroles.reports.summary.summary import summarise
from headroles.reports.words import words
from headroles.stats.engine import judge
from tests.support.browser import CHROMIUM
from tests.support.clustered_runs import clustered_run
from tests.support.hostile_runs import charted

LOUD = '<b>loud</b>, "quoted" \u202e😀'
NAMES = ("local", "block", LOUD, "x" * 10_000)
Command = Callable[..., tuple[int, str, str]]


def _labelled(names: tuple[str, ...], level: np.ndarray, spread: float = 0.1) -> Labelling:
    """Forty inputs with scores around a level for each sieve, layer and head."""
    chance = np.random.default_rng(3)
    values = level[:, None] + chance.normal(0, spread, size=(len(names), 40, *level.shape[1:]))
    keys = tuple(f"e{number}" for number in range(40))
    scores = Scores(
        sieves=names,
        examples=keys,
        units=keys,
        tokens=np.full(40, 20),
        cells=np.full(values.shape[:2], 12.5),
        values=values.clip(-1, 1).astype(np.float32),
        null=np.zeros(values.shape[:2]),
    )
    findings = judge(scores, [Rule(name, low=-1.0, high=1.0) for name in names], Decision())
    return Labelling(scores, findings, Decision(), {"model": {"name": "tiny"}, "task": "QNLI"})


@pytest.fixture(scope="module")
def hostile() -> Labelling:
    """Three layers of four heads; names of sieves with markup, a turned direction, 10,000 letters."""
    return _labelled(NAMES, np.random.default_rng(3).beta(0.6, 1.2, size=(len(NAMES), 3, 4)))


@pytest.fixture(scope="module")
def compared(finished: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a comparison of a run with itself."""
    folder = tmp_path_factory.mktemp("compared") / "comparison"
    headroles.compare(finished, finished, swaps=0, out=folder)
    return folder


def _texts(drawn: Mapping[str, go.Figure]) -> str:
    return json.dumps({name: figure.to_plotly_json() for name, figure in drawn.items()}, default=str)


def _shown(figure: go.Figure) -> list[str]:
    return [trace.name for trace in figure.data if trace.showlegend]


def test_the_figures_are_those_of_the_page_and_the_label_matrix(hostile: Labelling) -> None:
    panels = page_figures(summarise(hostile))
    keys = [each.key for panel in panels for each in (panel, panel.beside) if each is not None]
    drawn = figures_of(hostile)
    assert list(drawn) == ["matrix", "maps", *keys]
    for panel in panels:
        page, print_ = (go.Figure(figure).to_plotly_json() for figure in (panel.figure, drawn[panel.key]))
        assert len(print_["data"]) >= len(page["data"])
        for before, after in zip(page["data"], print_["data"], strict=False):
            for side in ("x", "y", "z"):
                np.testing.assert_array_equal(np.asarray(before.get(side)), np.asarray(after.get(side)))


@pytest.mark.parametrize("kind", ["hostile", "cluster", "probe", "surface", "comparison", "atlas"])
def test_no_colour_of_the_page_is_left_as_a_variable_and_the_ground_is_white(
    kind: str, request: pytest.FixtureRequest
) -> None:
    made: dict[str, Callable[[], Labelling | Comparison | Atlas]] = {
        "hostile": lambda: request.getfixturevalue("hostile"),
        "cluster": lambda: clustered_run(3, 4),
        "probe": lambda: request.getfixturevalue("probed_run")(("all", "det"), shape=(20, 2, 3)),
        "surface": lambda: request.getfixturevalue("surface_run")((20, 2, 3)),
        "comparison": lambda: exporting.load_result(request.getfixturevalue("compared")),
        "atlas": lambda: charted(("local", "block", "delimiter")),
    }
    drawn = figures_of(made[kind](), width=120.0)
    expected = {
        "hostile": {"matrix", "maps", "means", "layers", "overlap"},
        "cluster": {"cluster-map", "cluster-map-layer", "cluster-map-roles", "cluster-tree", "matrix"},
        "probe": {"probe-0", "probe-trained", "probe-weights-0", "probe-weights-0-back", "matrix"},
        "surface": {"kinds", "separators", "neighbours", "entropy", "importance-0"},
        "comparison": {"moved", "map-local", "means-local", "outcomes-local"},
        "atlas": {"maps", "agreement", "p-values", "several"},
    }
    assert expected[kind] <= drawn.keys()
    assert "var(--" not in _texts(drawn)
    for figure in drawn.values():
        assert figure.layout.paper_bgcolor == figure.layout.plot_bgcolor == "#ffffff"
        assert figure.layout.width == pytest.approx(pixels(120.0))
        assert figure.layout.meta["sentence"]


def test_sizes_of_type_and_of_the_figure_are_those_of_print() -> None:
    assert 13 * scale_to() * 72 / 96 == pytest.approx(TYPE)
    assert pixels(89.0) * scale_to() / 96 * 25.4 == pytest.approx(89)
    assert scale_to("png") / scale_to() * 96 == pytest.approx(300)


def test_the_palette_is_the_light_theme() -> None:
    style = Path(print_files.__file__).parents[1] / "templates" / "shared" / "page.css"
    light, dark = style.read_text().split("prefers-color-scheme: dark", 1)
    tones = [palette()[f"tone-{number}"] for number in range(8)]
    for number, colour in enumerate(tones):
        assert f"--tone-{number}: {colour};" in light
        assert f"--tone-{number}: {colour};" not in dark
    assert {"ink", "soft", "faint", "rule", "accent", "on-tone", "panel", "paper"} <= palette().keys()


def test_marks_of_roles_have_a_legend_with_every_role(hostile: Labelling) -> None:
    drawn = figures_of(hostile)
    roles = [name.split(" ")[-2] for name in _shown(drawn["matrix"])]
    assert roles[:2] == ["local", "block"]
    assert "&lt;b&gt;loud" in _shown(drawn["matrix"])[2]
    assert all(len(name) <= 48 for name in _shown(drawn["matrix"]))
    tones = {trace.marker.color for trace in drawn["matrix"].data if trace.showlegend}
    assert {palette()[f"tone-{role.tone}"] for role in summarise(hostile).roles} == tones


def test_strokes_and_fillings_are_explained_where_there_is_no_caption(finished: Path) -> None:
    run = headroles.load(finished)
    drawn = figures_of(run)

    def told(name: str, of: Mapping[str, go.Figure] = drawn) -> list[str]:
        return [trace.name for trace in of[name].data if trace.showlegend]

    assert told("p-values") == ["holds the role", "does not", "largest p of a role"]
    assert told("means") == ["holds the role", "does not", "threshold", "by chance"]
    assert told("maps")[0] == "holds the role"
    assert told("overlap", figures_of(replace(run, assessment=None))) == []


def test_the_matrix_has_a_mark_for_every_role_of_every_head(hostile: Labelling) -> None:
    summary = summarise(hostile)
    wide, narrow = (figures_of(hostile, width)["matrix"] for width in (183.0, 60.0))
    (marks,) = (trace for trace in wide.data if trace.mode == "text")
    assert len(marks.text) == int(summary.held.sum()) > 0
    for role, held in zip(summary.roles, summary.held, strict=True):
        own = [place for place, code in enumerate(marks.text) if code == role.code]
        cells = {(round(float(marks.y[place])), round(float(marks.x[place]))) for place in own}
        assert cells == {(int(layer), int(head)) for layer, head in np.argwhere(held)}
    (symbols,) = (trace for trace in narrow.data if trace.name == "roles")
    assert len(symbols.x) == len(marks.x)
    crowded = _labelled(NAMES, np.full((len(NAMES), 2, 70), 0.5))
    (counts,) = figures_of(crowded, 60.0)["matrix"].data
    assert list(counts.text) == summarise(crowded).held.sum(axis=0).astype(str).ravel().tolist()


def test_a_whole_is_drawn_only_where_no_part_of_it_holds() -> None:
    names = ("delimiter", "delimiter:cls", "local")
    level = np.array([[[0.5, 0.5, -0.5]], [[0.5, -0.5, -0.5]], [[0.5, -0.5, 0.5]]])
    run = _labelled(names, level)
    (marks,) = (trace for trace in figures_of(run)["matrix"].data if trace.mode == "text")
    drawn = {(round(float(x)), code) for x, code in zip(marks.x, marks.text, strict=True)}
    assert drawn == {(0, "Dc"), (0, "L"), (1, "D"), (2, "L")}
    assert summarise(run).held.sum() == 5


def test_a_map_shows_mean_and_decision_of_every_head_of_its_role(hostile: Labelling) -> None:
    explained = hostile.findings.decision.copy()
    explained[1, 0, 0] = 4
    run = replace(hostile, findings=replace(hostile.findings, decision=explained))
    drawn, summary = figures_of(run)["maps"], summarise(run)
    for place, role in enumerate(summary.roles):
        axis = f"x{place + 1 if place else ''}"
        own = [trace for trace in drawn.data if trace.xaxis in ((axis, None) if axis == "x" else (axis,))]
        (cells,) = (trace for trace in own if trace.type == "bar")
        mean = run.findings.mean[role.position]
        np.testing.assert_allclose(cells.marker.color, mean.ravel().clip(0), rtol=1e-6)
        hatched = [shape == "/" for shape in cells.marker.pattern.shape]
        assert hatched == (explained[role.position] == 2).ravel().tolist()
        held = {(y, x) for trace in own if trace.name == "•" for x, y in zip(trace.x, trace.y, strict=True)}
        assert held == {tuple(cell) for cell in np.argwhere(explained[role.position] == 0).tolist()}
        told = [(y, x) for trace in own if trace.name == "~" for x, y in zip(trace.x, trace.y, strict=True)]
        assert told == [tuple(cell) for cell in np.argwhere(explained[role.position] == 4).tolist()]
    notes = [note.text for note in drawn.layout.annotations]
    assert notes[1::2] == [words.plural(role.tally.role, "head") for role in summary.roles]


@given(most=st.integers(1, 20), seed=st.integers(0, 99))
@settings(max_examples=25)
def test_marks_of_a_cell_lie_inside_it_and_apart(most: int, seed: int) -> None:
    held = np.random.default_rng(seed).random((most, 2, 3)) < 0.6
    names = tuple(f"role{number}" for number in range(most))
    summary = summarise(_labelled(names, np.where(held, 0.5, -0.5)))
    np.testing.assert_array_equal(summary.held, held)
    full = int(held.sum(axis=0).max())
    across = 1 if full < 2 else 2 if full <= 4 else 3 if full <= 9 else 4
    places = _place_marks(summary, across, max(-(-full // across), 1))
    assert len(places) == held.sum()
    for role, x, y, _ in places:
        assert held[role.position, round(y), round(x)]
        assert max(abs(x - round(x)), abs(y - round(y))) < 0.5
    assert len({(round(x, 6), round(y, 6)) for _, x, y, _ in places}) == len(places)


# Machado, Oliveira and Fernandes (2009), severity 1.0, on linear RGB
SIGHT = {
    "usual": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
}
TO_XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
)


def _lab(colour: str, sight: np.ndarray) -> np.ndarray:
    """CIE L*a*b* of a colour as someone with that sight sees it."""
    coded = np.array([int(colour[place : place + 2], 16) for place in (1, 3, 5)]) / 255
    linear = np.where(coded <= 0.04045, coded / 12.92, ((coded + 0.055) / 1.055) ** 2.4)
    xyz = TO_XYZ @ np.clip(sight @ linear, 0, 1) / np.array([0.95047, 1, 1.08883])
    f = np.where(xyz > 216 / 24389, np.cbrt(xyz), (24389 / 27 * xyz + 16) / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("sight", sorted(SIGHT))
def test_tones_that_look_alike_to_the_colour_blind_never_share_a_symbol(sight: str) -> None:
    seen = [_lab(palette()[f"tone-{number}"], SIGHT[sight]) for number in range(8)]
    alike = {pair for pair in combinations(range(8), 2) if np.linalg.norm(seen[pair[0]] - seen[pair[1]]) < 15}
    expected = {"usual": 0, "protanopia": 3, "deuteranopia": 5}
    assert len(alike) == expected[sight]
    looks = [look_of(number) for number in range(8)]
    assert all(looks[one].symbol != looks[other].symbol for one, other in alike)
    outcomes = {(0, 1), (0, 7), (1, 7)}  # changed, equivalent and undetermined of a comparison
    assert not alike & outcomes


def test_roles_of_one_colour_have_different_symbols_and_letters() -> None:
    names = tuple(f"role{number}" for number in range(20))
    roles = summarise(_labelled(names, np.zeros((20, 1, 2)))).roles
    assert len({(role.tone, role.symbol) for role in roles}) == len({role.code for role in roles}) == 20


@given(st.text(max_size=90), st.integers(2, 60))
def test_a_name_is_cut_to_whole_letters(text: str, longest: int) -> None:
    from html import escape, unescape

    told = shorten(escape(text, quote=False), longest)
    read = unescape(told)
    if len(unescape(re.sub("<[^>]*>", "", escape(text, quote=False)))) <= longest:
        assert told == escape(text, quote=False)
    else:
        assert read.rstrip("\u2069").endswith("…") or "\u2069" in text
        assert "<" not in told


@given(st.lists(st.text(max_size=60), max_size=12))
def test_names_of_files_are_safe_and_never_alike(names: list[str]) -> None:
    made = file_names(names)
    assert len(set(made)) == len(names)
    assert all(re.fullmatch("[a-z0-9]+(-[a-z0-9]+)*", name) for name in made)


def test_a_comparison_read_back_is_drawn_as_it_was(finished: Path, compared: Path) -> None:
    found = headroles.compare(finished, finished, swaps=0)
    read = exporting.load_result(compared)
    assert isinstance(read, Comparison)
    assert read.differences.sieves == found.differences.sieves
    np.testing.assert_array_equal(read.differences.outcome, found.differences.outcome)
    np.testing.assert_allclose(read.differences.difference, found.differences.difference, atol=1e-15)
    assert read.layers == found.layers
    assert read.decision == found.decision
    for name in ("before", "after"):
        one, other = (getattr(each, name).decision == 0 for each in (read, found))
        np.testing.assert_array_equal(one, other)
    assert _texts(figures_of(read)) == _texts(figures_of(found))


@pytest.fixture
def painted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files without a browser: the name of the figure and the form."""

    def drawn(figures: Mapping[str, go.Figure], form: str) -> dict[str, bytes]:
        return {name: f"{name} {form} {figure.layout.width:.0f}".encode() for name, figure in figures.items()}

    monkeypatch.setattr("headroles.reports.print.files.files_of", drawn)


@pytest.mark.usefixtures("painted")
def test_figures_go_into_the_run_and_leave_with_an_earlier_outcome(command: Command, run: Path) -> None:
    code, out, err = command("report", run, "--figures", "svg", "--width", 100)
    assert (code, err) == (0, "")
    files = sorted(each.name for each in (run / "figures").iterdir())
    assert {"matrix.svg", "maps.svg", "means.svg", "layers.svg"} <= set(files)
    assert sorted(out.split("figure  ")[1:]) == [f"{run}/figures/{name}\n" for name in files]
    assert (run / "figures" / "means.svg").read_text() == f"means svg {pixels(100.0):.0f}"
    before = (run / "report.html").read_bytes()
    headroles.figures(run, "pdf")
    assert (run / "report.html").read_bytes() == before
    assert len(list((run / "figures").iterdir())) == 2 * len(files)
    headroles.judge_again(run, alpha=0.01)
    assert not (run / "figures").exists()


@pytest.mark.usefixtures("painted")
def test_figures_go_where_they_are_told(command: Command, run: Path, compared: Path, tmp_path: Path) -> None:
    other = tmp_path / "paper" / "figures"
    assert command("report", compared, "--figures", "png", "--out", other)[0] == 0
    assert (other / "map-local.png").is_file()
    assert not (compared / "figures").exists()
    for place in (run, run / "scores", run / "deeper" / "figures", run / "figures" / "deeper"):
        with pytest.raises(BadInput, match="folder of their own"):
            headroles.figures(run, out=place)
    with pytest.raises(BadInput, match="is a file"):
        headroles.figures(run, out=run / "manifest.json")


def test_a_width_without_figures_is_refused(command: Command, run: Path) -> None:
    before = (run / "report.html").read_bytes()
    code, out, err = command("report", run, "--width", 89)
    assert (code, out) == (1, "")
    assert "--width is for figures" in err
    assert (run / "report.html").read_bytes() == before


@pytest.mark.parametrize("width", [5, 501, float("nan"), True])
def test_a_width_that_cannot_be_read_is_refused(width: Any, finished: Path) -> None:
    with pytest.raises(BadInput, match="millimetres from 60 to 500"):
        headroles.figures(finished, width=width)


def test_an_unknown_form_or_folder_is_named(run: Path, tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="known: pdf, png, svg"):
        headroles.figures(run, "gif")
    with pytest.raises(BadInput, match="does not"):
        headroles.figures(tmp_path)
    assert not (run / "figures").exists()


def test_a_damaged_comparison_is_named(compared: Path, tmp_path: Path) -> None:
    copy = tmp_path / "damaged"
    copy.mkdir()
    for name in ("manifest.json", "labels.csv", "layers.csv", "swaps.csv"):
        (copy / name).write_bytes((compared / name).read_bytes())
    (copy / "differences.csv").write_text("sieve,layer,head\nlocal,0,0\n")
    with pytest.raises(BadInput, match="is damaged"):
        headroles.figures(copy)


def test_without_kaleido_or_a_browser_the_sentence_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, run: Path
) -> None:
    monkeypatch.setitem(sys.modules, "kaleido", None)
    with pytest.raises(MissingExtra, match=r"pip install 'headroles\[figures\]'"):
        headroles.figures(run)
    assert not (run / "figures").exists()


def test_no_browser_is_said(monkeypatch: pytest.MonkeyPatch, run: Path) -> None:
    import kaleido
    from kaleido.errors import ChromeNotFoundError

    def missing(**options: Any) -> None:
        raise ChromeNotFoundError("no Chrome")

    monkeypatch.setattr(kaleido, "Kaleido", missing)
    with pytest.raises(BadInput, match="none is on this machine; install one"):
        headroles.figures(run)
    assert not (run / "figures").exists()


def test_a_browser_that_fails_is_one_sentence(monkeypatch: pytest.MonkeyPatch, run: Path) -> None:
    from kaleido.errors import BrowserFailedError

    async def failing(*given: Any) -> dict[str, bytes]:
        raise BrowserFailedError("it closed\nimmediately.", "Try another one.")

    monkeypatch.setattr(print_files, "_draw_all", failing)
    with pytest.raises(
        BadInput, match=r"as svg \(BrowserFailedError: it closed immediately\.\), and nothing"
    ):
        headroles.figures(run)
    assert not (run / "figures").exists()


def test_what_the_browser_would_ask_of_its_own_accord_goes_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    import kaleido

    asked: list[dict[str, Any]] = []

    class Noted(kaleido.Kaleido):  # type: ignore[misc]
        def __init__(self, *given: Any, **settings: Any) -> None:
            asked.append(settings)
            raise OSError("enough")

    monkeypatch.setattr(kaleido, "Kaleido", Noted)
    with pytest.raises(BadInput, match="enough"):
        files_of({"one": go.Figure()}, "png")
    assert asked[0]["proxy_server"] == print_files.NOWHERE == "127.0.0.1:9"


def test_the_page_that_draws_can_ask_for_nothing() -> None:
    import kaleido

    page = print_files._page(kaleido).generate_index()
    assert "default-src 'none'; script-src file:;" in page
    sources = re.findall('src="([^"]*)"', page)
    assert len(sources) == 2
    assert all(each.startswith("file:///") for each in sources)


@pytest.fixture(scope="module")
def drawn(hostile: Labelling) -> Callable[[str], list[bytes]]:
    """The matrix in one form, drawn twice by one browser."""
    if not CHROMIUM.exists():
        required = os.environ.get("HEADROLES_REQUIRE_ALL") == "1"
        (pytest.fail if required else pytest.skip)(
            f"there is no browser at {CHROMIUM}: apt-get install chromium"
        )
    figure = figures_of(hostile, width=89.0)["p-values"]

    def made(form: str) -> list[bytes]:
        return list(files_of({"one": figure, "other": go.Figure(figure)}, form).values())

    return made


@pytest.mark.browser
def test_an_svg_has_text_a_size_in_millimetres_and_always_the_same_bytes(
    drawn: Callable[[str], list[bytes]],
) -> None:
    one, other = drawn("svg")
    assert one == other
    text = one.decode()
    assert re.match(r'<svg [^>]*width="89\.00mm" height="[\d.]+mm"', text)
    assert "<desc>p of" in text
    assert ">block</text>" in text
    assert re.search("(?:&lt;|&#60;)b(?:&gt;|&#62;)loud(?:&lt;|&#60;)/b", text)
    assert "<b>" not in text
    assert "Arial" in text
    assert "<script" not in text
    assert not re.findall(r'(?:href|src)="(?!#)', text)
    assert not re.findall(r"url\((?!['\"&quot;]*#)", text)


@pytest.mark.browser
def test_a_pdf_has_its_size_fonts_and_no_clock(drawn: Callable[[str], list[bytes]]) -> None:
    one, other = drawn("pdf")
    assert one == other
    assert one.startswith(b"%PDF-")
    assert b"/FontFile" in one
    box = re.search(rb"/MediaBox \[0 0 ([\d.]+) ([\d.]+)\]", one)
    assert box is not None
    assert float(box[1]) / 72 * 25.4 == pytest.approx(89, abs=0.5)
    assert re.findall(rb"/(?:CreationDate|ModDate) \(([^)]*)\)", one) == [b"D:20000101000000+00'00'"] * 2


@pytest.mark.browser
def test_a_png_has_300_dots_an_inch_and_always_the_same_bytes(drawn: Callable[[str], list[bytes]]) -> None:
    one, other = drawn("png")
    assert one == other
    assert one.startswith(b"\x89PNG\r\n\x1a\n")
    wide, _ = struct.unpack(">II", one[16:24])
    assert wide == pytest.approx(89 / 25.4 * 300, abs=2)
    place = one.index(b"pHYs")
    assert struct.unpack(">IIB", one[place + 4 : place + 13]) == (11811, 11811, 1)
