"""Every page for every reader: contrasts, axe-core, the keyboard, and whatever names data may bring."""

import re
from collections.abc import Callable, Iterator
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from headroles.records.causal.pruning import Pruning
from headroles.records.findings import Labelling
from headroles.reports.atlas_page import atlas_page
from headroles.reports.causal.pruning_page import pruning_page
from headroles.reports.compare_page import comparison_page
from headroles.reports.document import template
from headroles.reports.page import page, page_of
from tests.support.browser import DRAW, Listener, Opened, chromium
from tests.support.causal.ablated_runs import ablated_run
from tests.support.causal.origins import why_run
from tests.support.causal.pruned import pruning
from tests.support.clustered_runs import clustered_run
from tests.support.hostile_runs import FACTS, LONG, NAMES, charted, compared, labelled

if TYPE_CHECKING:
    from playwright.sync_api import Page

PLAIN = ("local", "block", "delimiter")
PAGES = ("label", "cluster", "probe", "surface", "compare", "atlas", "ablate", "why", "prune")
SETTINGS: dict[str, dict[str, Any]] = {
    "light": {"viewport": {"width": 1280, "height": 900}, "color_scheme": "light"},
    "dark": {"viewport": {"width": 400, "height": 900}, "color_scheme": "dark"},
}
SHOW_ALL = "document.querySelectorAll('details').forEach((each) => { each.open = true; })"
FEW_ROWS = """document.querySelectorAll("tbody").forEach((body) => {
  [...body.rows].slice(4).forEach((row) => row.remove()); })"""
"""The rows of a table are alike, and axe-core takes its time."""
UNSTUCK = """(() => { const style = document.createElement("style");
  style.textContent = "* { position: static !important; } .unseen, .skip { display: none !important; }";
  document.head.append(style); })()"""
"""axe-core gives no verdict on text that something sticky may lie on."""


def luminance(colour: str) -> float:
    """Relative luminance of a colour, as WCAG defines it."""
    parts = [int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    """Contrast ratio of two colours."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def mixed(over: str, under: str, share: float) -> str:
    """What a colour of some opacity gives over another."""
    pairs = [(int(over[k : k + 2], 16), int(under[k : k + 2], 16)) for k in (1, 3, 5)]
    return "#" + "".join(f"{round(share * one + (1 - share) * other):02x}" for one, other in pairs)


def colours(theme: str) -> dict[str, str]:
    """The variables of a theme."""
    css = template("shared/page.css")
    dark = css.index("@media (prefers-color-scheme: dark)")
    block = css[:dark] if theme == "light" else css[dark : css.index("* { box-sizing")]
    found = dict(re.findall(r"--([\w-]+):\s*(#[0-9a-f]{6})", block))
    shade = re.findall(r"--shade:\s*(\d+), (\d+), (\d+)", block)[0]
    return found | {"shade": "#" + "".join(f"{int(part):02x}" for part in shade)}


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_text_has_a_contrast_of_four_and_a_half_in_both_themes(theme: str) -> None:
    named = colours(theme)
    for ground in ("paper", "panel", "warm"):
        for text in ("ink", "soft", "accent"):
            assert contrast(named[text], named[ground]) >= 4.5, (text, ground)
    for number in range(8):
        assert contrast(named["on-tone"], named[f"tone-{number}"]) >= 4.5, number
    deepest = mixed(named["shade"], named["panel"], 0.55)
    assert contrast(named["ink"], deepest) >= 3.0
    assert contrast(named["ink"], named["panel"]) >= 4.5


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_marks_have_a_contrast_of_three_in_both_themes(theme: str) -> None:
    named = colours(theme)
    for ground in ("paper", "panel", "warm"):
        for mark in ("faint", *(f"tone-{number}" for number in range(8))):
            assert contrast(named[mark], named[ground]) >= 3.0, (mark, ground)
    for number in range(8):  # marks of a figure are a little transparent
        tone = mixed(named[f"tone-{number}"], named["paper"], 0.85)
        assert contrast(tone, named["paper"]) >= 3.0, number


def test_controls_are_bordered_by_a_colour_that_can_be_seen() -> None:
    for name in (
        "atlas/atlas.css",
        "shared/page.css",
        "clusters/clusters.css",
        "compare/compare.css",
        "probes/probes.css",
        "surface/surface.css",
        "causal/causal.css",
        "why/why.css",
    ):
        for rule in re.findall(r"[^{}]+\{[^{}]*\}", template(name)):
            if re.search(r"(button|input|select)[^{]*\{", rule):
                assert "var(--rule)" not in rule, rule


def test_styles_name_no_colour_outside_the_variables_and_stop_motion_on_request() -> None:
    folders = files("headroles.reports").joinpath("templates").iterdir()
    styles = [file for folder in folders for file in folder.iterdir() if file.name.endswith(".css")]
    assert len(styles) > 5
    for file in styles:
        if not str(file).endswith("shared/page.css"):
            assert not re.search(r"#[0-9a-f]{3,8}\b(?![\w-]*\s*[{,.:>\[])", file.read_text()), file.name
    css = template("shared/page.css")
    assert re.search(r"prefers-reduced-motion: reduce\).*transition: none !important", css)
    assert "scroll-behavior: auto" in css


@cache
def html_of(name: str, hostile: bool = False) -> str:
    """A page of some kind, made once."""
    names = NAMES if hostile else PLAIN
    if name == "label":
        return page(labelled(names))
    if name == "cluster":
        run = clustered_run(3, 4, names)
        return page_of(told(run) if hostile else run)
    if name == "prune":
        return pruning_page(pruned(hostile))
    if name == "atlas":
        return atlas_page(charted(names))
    return comparison_page(compared(names, (40, 3, 4)))


def pruned(hostile: bool) -> Pruning:
    """A made pruning, with whatever data may bring in its manifest."""
    from dataclasses import replace

    made = pruning()
    return (
        replace(made, manifest=dict(made.manifest) | FACTS, remarks=tuple(FACTS["notes"]))
        if hostile
        else made
    )


def told(run: Labelling) -> Labelling:
    """The same with whatever data may bring in its manifest."""
    from dataclasses import replace

    return replace(run, manifest=dict(run.manifest) | FACTS, skipped=tuple(FACTS["notes"]))


@pytest.fixture(scope="module")
def written(
    tmp_path_factory: pytest.TempPathFactory, surface_run: Any, probed_run: Any
) -> Callable[..., Path]:
    """The file of a page, hostile or not."""
    folder = tmp_path_factory.mktemp("pages")

    def write(name: str, hostile: bool = False) -> Path:
        path = folder / f"{name}-{hostile}.html"
        if not path.exists():
            made: dict[str, Callable[[], Labelling]] = {
                "probe": lambda: _probed(probed_run, hostile),
                "surface": lambda: surface_run((40, 3, 4)),
                "ablate": lambda: ablated_run(
                    (60, 3, 4), roles=("syntactic", *(NAMES if hostile else PLAIN))
                ),
                "why": lambda: why_run(
                    (30, 3, 4), roles=("delimiter:sep", "syntactic:amod", *(NAMES if hostile else PLAIN))
                ),
            }
            if name in made:
                text = page_of(told(made[name]()) if hostile else made[name]())
            else:
                text = html_of(name, hostile)
            path.write_text(text, encoding="utf-8")
        return path

    return write


def _probed(make: Any, hostile: bool) -> Labelling:
    rows = ("all", "case", LONG, NAMES[0]) if hostile else tuple(f"row {number}" for number in range(20))
    found: Labelling = make(rows, shape=(40, 2, 3))
    return found


@pytest.fixture(scope="module")
def opened(written: Callable[..., Path]) -> Iterator[Opened]:
    """A page with every figure drawn, opened once; in the end fails on any complaint or request."""
    heard, windows = Listener(), dict[tuple[str, str, bool], "Page"]()
    with chromium("axe_playwright_python") as browser:

        def open_(name: str, setting: str = "light", *, hostile: bool = False) -> "Page":
            asked = (name, setting, hostile)
            if asked not in windows or windows[asked].is_closed():
                windows[asked] = made(*asked)
            return windows[asked]

        def made(name: str, setting: str, hostile: bool) -> "Page":
            window = browser.new_context(accept_downloads=True, **SETTINGS[setting]).new_page()
            heard.listen(window)
            window.goto(written(name, hostile).as_uri())
            window.evaluate(DRAW)
            return window

        yield open_
    heard.check(written("label").parent.as_uri(), "blob:")


@cache
def axe() -> str:
    """The script of axe-core."""
    (path,) = files("axe_playwright_python").joinpath("").rglob("axe.min.js")  # type: ignore[attr-defined]
    text: str = path.read_text(encoding="utf-8")
    return text


@pytest.mark.browser
@pytest.mark.parametrize("name", PAGES)
def test_every_figure_has_a_name_a_sentence_and_a_table_behind_it(opened: Opened, name: str) -> None:
    window = opened(name)
    told = window.evaluate("""plots.map((plot) => [plot.getAttribute("aria-label"), plot.getAttribute("role"),
      [...plot.querySelectorAll(".main-svg")].every((each) => each.getAttribute("aria-hidden") === "true"),
      Boolean(plot.closest("section").querySelector("table"))])""")
    assert len(told) > (0 if name == "prune" else 2)
    for label, role, quiet, table in told:
        assert len(label) > 15
        assert (role, quiet, table) == ("figure", True, True)


@pytest.mark.browser
@pytest.mark.parametrize("name", PAGES)
def test_names_from_data_are_text_and_widen_no_page(opened: Opened, name: str) -> None:
    window = opened(name, "dark", hostile=True)
    window.evaluate(SHOW_ALL)
    wide, inner = window.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    assert wide <= inner
    assert window.evaluate("document.querySelectorAll('main script:not([type])').length") == 0
    assert "<script>alert(1)</script>" in window.inner_text("main")
    assert window.evaluate(
        "plots.every((p) => p.closest('[hidden]') || p.querySelector('.main-svg').getBBox().width > 0)"
    )


@pytest.mark.browser
def test_legends_and_tables_obey_the_keyboard(opened: Opened) -> None:
    window = opened("label")
    hidden = "document.getElementById('figure-p-values').data.filter((t) => t.visible === false).length"
    window.focus("summary:text-is('p values')")
    window.keyboard.press("Enter")
    window.focus("#p-values .legend button")
    window.keyboard.press("Space")
    assert window.evaluate(hidden) > 0
    window.focus("#table thead button:text-is('mean')")
    window.keyboard.press("Enter")
    assert window.locator("#table th[aria-sort='ascending']").all_text_contents() == ["mean"]


@pytest.mark.browser
def test_long_tables_are_searched_and_sorted(opened: Opened) -> None:
    window = opened("probe")
    window.evaluate(SHOW_ALL)
    place = window.locator(".controls:has(+ .scroll [data-key])").first
    rows = window.locator(".controls + .scroll table.sortable").first.locator("tbody tr")
    assert rows.count() > 16
    place.locator("input").fill("row 7")
    assert rows.locator("visible=true").count() == 1
    assert place.locator("[role=status]").inner_text() == f"1 of {rows.count()} rows"
    place.locator("input").fill("nothing like it")
    assert rows.locator("visible=true").count() == 0
    place.locator("input").fill("")


@pytest.mark.browser
def test_tables_of_figures_sort_by_the_numbers_they_show(opened: Opened) -> None:
    window = opened("label")
    window.evaluate(SHOW_ALL)
    table = window.locator("#p-values table")
    table.locator("thead button:has-text('smallest')").click()
    shown = table.locator("tbody tr td:nth-child(6)").all_text_contents()
    numbers = [float(text.replace("<", "")) for text in shown]
    assert numbers == sorted(numbers)
    keys = window.evaluate(
        "['−1.5 [−2, 3]', '<0.001', '1,234', '12\\u00a0%', '–', 'yes', '2-11', '10.2e3'].map(keyOf)"
    )
    assert keys == ["-1.5", "0.001", "1234", "12", "nan", "yes", "2-11", "10200"]


@pytest.mark.browser
def test_the_skip_link_comes_first_and_leads_to_the_answer(opened: Opened) -> None:
    window = opened("label")
    window.reload()  # the focus begins at the top
    window.keyboard.press("Tab")
    assert window.evaluate("document.activeElement.className") == "skip"
    window.keyboard.press("Enter")
    assert window.evaluate("location.hash") == "#answer"
    window.context.close()


@pytest.mark.browser
def test_a_comparison_offers_its_tables_as_its_folder_has_them(opened: Opened, tmp_path: Path) -> None:
    window, found = opened("compare"), compared(PLAIN, (40, 3, 4))
    tables = {
        "differences.csv": found.frame(),
        "labels.csv": found.labels(),
        "layers.csv": found.by_layer(),
        "swaps.csv": found.by_role(),
    }
    for name, table in tables.items():
        with window.expect_download() as waiting:
            window.click(f'#downloads [data-file="{name}"]')
        waiting.value.save_as(tmp_path / name)
        assert (tmp_path / name).read_text("utf-8") == table.to_csv(index=False, lineterminator="\n")


@pytest.mark.browser
@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("name", PAGES)
def test_axe_finds_nothing_serious(opened: Opened, name: str, setting: str) -> None:
    window = opened(name, setting)
    window.evaluate(SHOW_ALL)
    wide, inner = window.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    assert wide <= inner
    window.evaluate(axe())
    window.evaluate(FEW_ROWS)
    window.evaluate(UNSTUCK)
    found = window.evaluate("axe.run(document, { resultTypes: ['violations'] })")
    judged = [each["id"] for each in found["passes"]]
    assert "color-contrast" in judged
    serious = [
        (each["id"], [node["html"][:160] for node in each["nodes"][:3]])
        for each in found["violations"]
        if each["impact"] in ("serious", "critical")
    ]
    window.context.close()  # it has lost most of its rows
    assert serious == []
