"""Cards of heads in a real browser: opened, read, walked through, left again."""

import html
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from headroles.records.findings import Labelling
from headroles.records.shown.looks import looks_of
from headroles.records.shown.phrases import phrase_of
from headroles.reports.answer.heads import head_sentence
from headroles.reports.page import page_of
from headroles.reports.summary.score_spread import spreads_of
from headroles.reports.summary.summary import summarise
from tests.reports.browser.card_runs import HOSTILE, NAMES, run_of
from tests.support.browser import Listener, Opened, chromium, until

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser


@cache
def html_of(name: str) -> str:
    """The page of a run, made once."""
    return page_of(run_of(name))


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Opened]:
    """Opens a page in a browser of some width; fails on any complaint or request."""
    folder = tmp_path_factory.mktemp("page")
    heard, windows = Listener(), dict[str, "Page"]()
    with chromium() as browser:

        def made(name: str, hash_: str) -> "Page":
            file = folder / f"{name}.html"
            if not file.exists():
                file.write_text(html_of(name), encoding="utf-8")
            window = browser.new_page(reduced_motion="reduce")
            heard.listen(window)
            window.goto(file.as_uri() + hash_)
            return window

        def open_(name: str = "usual", hash_: str = "", width: int = 1280, scheme: Any = "light") -> "Page":
            """The window of a run, with no card open but the one asked for."""
            window = windows.get(name)
            if window is None:
                window = windows[name] = made(name, hash_)
            else:
                close(window)
            window.set_viewport_size({"width": width, "height": 900})
            window.emulate_media(color_scheme=scheme)
            if hash_:
                window.evaluate("hash => { location.hash = hash; }", hash_)
                window.locator("#head-card").wait_for()
            return window

        yield open_
    heard.check(folder.as_uri(), "blob:")


def close(window: "Page") -> None:
    """Close the card, if one is open, and wait until its address is gone."""
    window.evaluate("side.close()")
    until(window, "location.hash === ''")


def focused(window: "Page") -> str:
    """The id of the focused element."""
    return str(window.evaluate("document.activeElement.id"))


def title(window: "Page") -> str:
    """Which head's card is open; "" for none."""
    return window.inner_text("#head-card-title") if window.locator("#head-card").is_visible() else ""


def title_of(layer: int, head: int) -> str:
    """What the card of a head is called."""
    return f"Layer {layer}, head {head}"


def test_the_keyboard_leads_into_a_card_and_back_to_its_cell(opened: Opened) -> None:
    window = opened()
    window.focus("#map-grid svg.map[tabindex='0']")
    for key in ("ArrowDown", "ArrowRight", "Enter"):
        window.keyboard.press(key)
    assert title(window) == title_of(1, 1)
    assert window.evaluate("location.hash") == "#head-1-1"
    assert focused(window) == "head-card-title"
    window.keyboard.press("Tab")
    assert window.evaluate("!!document.activeElement.closest('#head-card')")
    window.keyboard.press("Escape")
    assert title(window) == ""
    until(window, "location.hash === ''")
    window.keyboard.press("ArrowRight")
    window.keyboard.press(" ")
    assert title(window) == title_of(1, 2)


def test_a_click_opens_a_card_and_its_buttons_lead_on_and_close_it(opened: Opened) -> None:
    window = opened()
    window.evaluate("openHead(0, 0)")
    window.click("#card-previous")
    assert title(window) == title_of(3, 5)
    window.click("#card-next")
    window.click("#card-next")
    assert title(window) == title_of(0, 1)
    assert focused(window) == "card-next"
    window.click("#card-close")
    until(window, "location.hash === ''")
    assert title(window) == ""


def test_a_report_within_a_sandboxed_frame_opens_cards_and_copies_without_complaint(opened: Opened) -> None:
    inner = html.escape(html_of("bare"), quote=True)
    browser = opened("bare").context.browser
    assert browser is not None
    window = browser.new_page()
    said: list[str] = []
    window.on("console", lambda message: said.append(message.text))
    window.on("pageerror", lambda error: said.append(str(error)))
    window.set_content(f'<iframe sandbox="allow-scripts" srcdoc="{inner}"></iframe>')
    inside = window.frames[1]
    inside.evaluate("cards.open(7)")
    assert inside.inner_text("#head-card-title") == title_of(1, 1)
    assert inside.evaluate("document.activeElement.id") == "head-card-title"
    inside.evaluate("cards.open(8)")
    assert inside.inner_text("#head-card-title") == title_of(1, 2)
    inside.evaluate("document.getElementById('copy').click()")
    assert inside.inner_text("#copy") in {"Copied", "Selected"}
    window.close()
    assert said == []


def test_where_no_input_has_a_score_nothing_is_drawn_and_nothing_complained_of(opened: Opened) -> None:
    window = opened("silent", hash_="#head-0-1")
    until(window, "document.getElementById('card-spread-told').textContent === 'No input has a score.'")
    window.set_viewport_size({"width": 700, "height": 900})
    window.evaluate("new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")
    assert window.locator("#card-spread svg[role='img']").count() == 0


def test_an_address_opens_a_card_and_another_one_another(opened: Opened) -> None:
    window = opened(hash_="#head-2-3")
    assert title(window) == title_of(2, 3)
    window.evaluate("location.hash = '#head-0-4'")
    until(window, f"document.getElementById('head-card-title').textContent === '{title_of(0, 4)}'")
    window.evaluate("location.hash = '#head-9-9'")
    until(window, "!document.getElementById('head-card').open")


def in_order(run: Labelling, layer: int, head: int) -> list[int]:
    """The roles a head holds, those first that the fewest heads hold."""
    held = run.findings.decision[: len(NAMES)] == 0
    return sorted(np.flatnonzero(held[:, layer, head]).tolist(), key=lambda role: int(held[role].sum()))


def test_the_roles_held_come_first_and_in_bold_with_the_numbers_of_the_run(opened: Opened) -> None:
    window = opened(hash_="#head-0-0")
    wanted = [NAMES[role] for role in in_order(run_of(), 0, 0)]
    titles = "rows => rows.map(row => row.title)"
    assert window.locator("#card-roles tbody th").evaluate_all(titles) == wanted
    assert len(wanted) == 3
    window.click("#card-next")
    first, second = window.locator("#card-roles tbody tr").all()[:2]
    name = NAMES[in_order(run_of(), 0, 1)[0]]
    frame = run_of().frame().query("layer == 0 and head == 1")
    row = frame[frame["sieve"] == name].iloc[0]
    numbers = f"{row['mean']:.3f} [{row['low']:.3f}, {row['high']:.3f}]".replace("-", "−")
    assert first.locator("td").all_text_contents()[0] == numbers
    assert first.locator("td").last.inner_text().startswith("role")
    weight = "row => getComputedStyle(row.cells[0]).fontWeight"
    assert [line.evaluate(weight) for line in (first, second)] == ["700", "400"]
    assert first.locator(".card-dot").count() == first.locator(".card-limit").count() == 1


def test_the_sentence_of_a_head_is_that_of_the_answer_and_follows_the_arrows(opened: Opened) -> None:
    window = opened(hash_="#head-1-1")
    summary = summarise(run_of())
    arrows = {"ArrowRight": (1, 2), "ArrowDown": (2, 2), "ArrowLeft": (2, 1), "ArrowUp": (1, 1)}
    until(window, "document.activeElement.id === 'head-card-title'")
    for key, place in arrows.items():
        window.keyboard.press(key)
        assert title(window) == title_of(*place)
        assert window.evaluate("location.hash") == window.get_attribute("#card-link", "href")
        until(
            window, f"document.getElementById('card-told').textContent.startsWith('{place[0]}-{place[1]} ')"
        )
        assert window.inner_text("#card-told") == head_sentence(summary, *place)
        assert focused(window) == "head-card-title"
    window.focus("#card-role")
    window.keyboard.press("ArrowDown")
    assert title(window) == title_of(1, 1)


def test_the_histogram_is_that_of_the_run_with_its_table_and_marks(opened: Opened) -> None:
    window = opened(hash_="#head-1-1")
    run = run_of()
    spreads = spreads_of(run.scores, range(3))
    looks = looks_of(NAMES)
    window.wait_for_selector("#card-spread svg[role='img']", state="attached")
    best = in_order(run, 1, 1)[0]
    assert window.input_value("#card-role") == str(best)
    for role in (best, (best + 1) % 3):
        window.select_option("#card-role", str(role))
        until(window, f"document.querySelector('#card-spread .tone-{looks[role].tone} [role=img]') !== null")
        counts = window.locator("#card-spread-numbers tbody td:last-child").all_text_contents()
        assert [int(count) for count in counts] == spreads.counts[role, 7].tolist()
        edges = window.locator("#card-spread-numbers tbody th").all_text_contents()
        assert [float(edge.replace("−", "-")) for edge in edges] == spreads.edges[role, :-1].tolist()
        low, quartile, median, upper, high = (
            f"{value:.3f}".replace("-", "−") for value in spreads.five[role, 7].tolist()
        )
        said = (
            f"All 40 inputs have a score, from {low} to {high}; half of them lie between {quartile} and "
            f"{upper}, the median is {median}."
        )
        assert window.inner_text("#card-spread-told") == said
        assert said in str(window.get_attribute("#card-spread svg[role='img']", "aria-label"))
        assert window.locator("#card-spread .card-mark").count() == 6
        mean = f"mean {run.findings.mean[role, 1, 1]:.3f}".replace("-", "−")
        assert mean in window.inner_text("#card-spread-key")
    window.click("#card-next")
    assert window.input_value("#card-role") == str((best + 1) % 3)


def canvases(window: "Page", role: int) -> int:
    """Pictures drawn among the examples of a role."""
    return window.locator(f"#card-examples details:nth-of-type({role + 1}) canvas").count()


def test_examples_are_drawn_when_they_come_near_and_follow_one_set_of_controls(opened: Opened) -> None:
    window = opened(hash_="#head-0-0")
    blocks = window.locator("#card-examples > details")
    assert blocks.count() == 3
    assert [blocks.nth(place).get_attribute("open") for place in range(3)] == ["", None, None]
    window.locator("#card-examples figure").nth(2).scroll_into_view_if_needed()
    window.locator("#card-examples figure").nth(2).locator("canvas").wait_for()
    assert canvases(window, 0) == 3
    window.locator("#card-examples .card-least summary").first.click()
    window.locator("#card-examples figure").nth(4).scroll_into_view_if_needed()
    window.locator("#card-examples figure").nth(4).locator("canvas").wait_for()
    assert canvases(window, 0) == 5
    assert canvases(window, 1) == 0
    captions = window.locator("#card-examples > details[open] figcaption").all_text_contents()
    assert [text.partition(" in/")[0] for text in captions] == [
        "Most typical: score 0.625",
        "Second most typical: score 0.750",
        "Third most typical: score 0.875",
        "Least typical: score 0.375",
        "Second least typical: score 0.250",
    ]
    first = window.locator("#card-examples figure").first
    assert first.locator(".map-side-0 .map-token").count() == 3
    window.click("#card-drawn [data-level='pieces']")
    assert first.locator(".map-side-0 .map-token").count() == 4
    window.check("#card-drawn [data-switch='specials']")
    assert first.locator(".map-side-0 .map-token").count() == 6
    window.click("#card-drawn [data-form='heat']")
    assert first.locator(".map[data-form='heat']").count() == 1
    assert window.get_attribute("#card-drawn [data-form='heat']", "aria-pressed") == "true"
    blocks.nth(1).locator("summary").first.click()
    blocks.nth(1).locator("canvas").first.wait_for()
    assert blocks.nth(1).locator(".map[data-form='heat']").count() >= 1
    assert "7 more examples of this run were not kept" in window.inner_text("#card-examples-told")


def test_special_tokens_are_hidden_unless_the_role_is_about_them(opened: Opened) -> None:
    window = opened("marked", hash_="#head-0-0")
    kept = run_of("marked").exhibited
    assert kept is not None
    told = window.inner_text("#card-examples-told")
    assert told.startswith("Coloured: keys that the role counts. Grey: other keys.")
    for block in window.locator("#card-examples > details").all():
        block.evaluate("block => { block.open = true; }")
        first = block.locator("figure").first
        first.scroll_into_view_if_needed()
        first.locator("canvas").wait_for()
        about = "special tokens" in block.locator("summary").first.inner_text()
        assert first.locator(".map-side-0 .map-token").count() == (5 if about else 3)


def test_the_strongest_link_of_a_role_is_the_largest_weight_among_its_cells(opened: Opened) -> None:
    window = opened("marked", hash_="#head-0-0")
    kept = run_of("marked").exhibited
    assert kept is not None
    shown = next(each for each in kept.exhibits if (each.sieve, each.rank) == ("local", 1))
    cells = kept.counted[int(kept.places[shown.map, 0]), "local"]
    block = window.locator("#card-examples > details", has_text="neighbours").first
    block.evaluate("block => { block.open = true; }")
    window.click("#card-drawn [data-level='pieces']")
    window.check("#card-drawn [data-switch='specials']")
    figure = block.locator("figure").first
    figure.scroll_into_view_if_needed()
    figure.locator("canvas").wait_for()
    strongest = kept.weights[shown.map][cells].max() / 255
    assert figure.locator(".card-pair").first.inner_text().endswith(f" {strongest:.2f}")
    assert figure.locator(".card-pair").count() == 3


def test_a_head_without_a_role_shows_its_inputs(opened: Opened) -> None:
    window = opened("marked", hash_="#head-3-0")
    assert "Heads without a role show the same inputs" in window.inner_text("#card-examples-told")
    captions = window.locator("#card-examples figcaption").all_text_contents()
    assert [text.partition(" in/")[0] for text in captions] == ["Input 1", "Input 2"]
    window.locator("#card-examples canvas").first.wait_for()
    assert window.locator("#card-examples details").count() == 0


def test_a_card_draws_the_bytes_that_were_kept(opened: Opened) -> None:
    window = opened(hash_="#head-1-1")
    window.locator("#card-examples figure").first.scroll_into_view_if_needed()
    window.locator("#card-examples canvas").first.wait_for()
    kept = run_of().exhibited
    assert kept is not None
    first = NAMES[in_order(run_of(), 1, 1)[0]]
    wanted = (first, 1, 1, 1)
    shown = next(each for each in kept.exhibits if (each.sieve, each.layer, each.head, each.rank) == wanted)
    weights = kept.weights[shown.map]
    window.click("#card-drawn [data-level='pieces']")
    window.check("#card-drawn [data-switch='specials']")
    token = window.locator("#card-examples figure").first.locator(".map-side-0 .map-token").nth(1)
    token.focus()
    strongest = f"{weights[1].max() / 255:.2f}"
    assert strongest in window.locator("#card-examples .map-told").first.inner_text()


def test_what_has_no_examples_says_so(opened: Opened) -> None:
    window = opened(hash_="#head-3-0")
    role = int(np.flatnonzero(run_of().findings.decision[:, 3, 0] == 0)[0])
    told = window.inner_text("#card-examples-told")
    assert "No examples are kept of " in told
    assert phrase_of(NAMES[role]).title[:8] in told
    assert window.locator("#card-drawn").is_hidden()
    bare = opened("bare", hash_="#head-0-1")
    assert title(bare) == title_of(0, 1)
    assert bare.inner_text("#card-examples-told") == ("This run kept no examples; `--maps 1000` keeps them.")
    assert "Nearest heads" not in bare.inner_text("#head-card")


def test_nearest_heads_and_the_cluster_are_told_and_lead_on(opened: Opened) -> None:
    window = opened("clustered", hash_="#head-2-4")
    found = run_of("clustered").clustered
    assert found is not None
    assert found.neighbours is not None
    near = found.neighbours.head[16].tolist()
    names = window.locator("#card-near tbody th").all_inner_texts()
    assert names == [f"{head // 6}-{head % 6}" for head in near]
    far, low, high = (
        float(values[16, 0])
        for values in (found.neighbours.distance, found.neighbours.low, found.neighbours.high)
    )
    first = window.locator("#card-near tbody tr").first
    assert f"{far:.3f} [{low:.3f}, {high:.3f}]" in first.inner_text()
    cluster = int(found.cluster[16])
    others = int((found.cluster == cluster).sum()) - 1
    assert f"Cluster {cluster} with {others} other heads" in window.inner_text("#card-cluster")
    first.locator("a").click()
    assert title(window) == title_of(near[0] // 6, near[0] % 6)
    assert focused(window) == "head-card-title"


def test_a_page_of_clusters_opens_the_same_panel_with_examples(opened: Opened) -> None:
    window = opened("clustered")
    window.focus("#cluster-heads svg")
    window.keyboard.press("ArrowRight")
    window.keyboard.press("Enter")
    assert title(window) == title_of(0, 1)
    assert window.evaluate("location.hash") == "#head-0-1"
    until(window, "document.getElementById('card-told').textContent !== ''")
    run = run_of("clustered")
    assert window.inner_text("#card-told") == head_sentence(summarise(run), 0, 1)
    held = int((run.findings.decision[:, 0, 1] == 0).sum())
    assert window.locator("#card-roles tr.held").count() == held
    assert window.locator("#card-examples figure").count() > 0
    assert window.input_value("#nearest-head") == "1"


def test_of_many_roles_the_foremost_are_listed_and_the_rest_are_folded_away(opened: Opened) -> None:
    window = opened("many", hash_="#head-0-0")
    assert window.locator("#card-roles tbody tr").count() == 15
    assert window.locator("#card-every tbody tr").count() == 30
    assert window.locator("#card-every table").is_hidden()
    window.click("#card-every summary")
    assert window.locator("#card-every table").is_visible()
    assert "Of 30 roles: 30 role" in window.inner_text("#card-counted")


def test_the_matrix_filters_by_effect(opened: Opened) -> None:
    window = opened()
    found = run_of().findings
    window.click("[data-view='matrix']")
    window.click("[data-view='matrix']")
    window.fill("#matrix-effect", "5")
    wanted = int(((found.decision == 0) & (found.effect >= 5)).sum())
    assert window.locator("#matrix .chip").count() == wanted
    assert 0 < wanted < int((found.decision == 0).sum())
    window.fill("#matrix-effect", "")
    assert window.locator("#matrix .chip").count() == int((found.decision == 0).sum())


def test_text_of_data_is_text_and_breaks_nothing(opened: Opened) -> None:
    window = opened(hash_="#head-0-0", width=400)
    window.locator("#card-examples figure").first.scroll_into_view_if_needed()
    window.locator("#card-examples canvas").first.wait_for()
    assert HOSTILE in window.locator("#card-roles tbody th bdi").all_text_contents()
    assert window.locator("#head-card script, #head-card b").count() == 0
    window.click("#card-drawn [data-level='pieces']")
    texts = window.locator("#card-examples .map-token").all_text_contents()
    assert any(HOSTILE in text for text in texts)
    sizes = "[...document.querySelectorAll('html, #head-card')].map(e => e.scrollWidth - e.clientWidth)"
    assert max(window.evaluate(sizes)) <= 0


def test_a_printed_page_shows_no_card(opened: Opened) -> None:
    window = opened(hash_="#head-0-0")
    window.emulate_media(media="print")
    assert window.locator("#head-card").is_hidden()
    window.emulate_media(media="screen")


@pytest.mark.parametrize(
    ("name", "width", "scheme"),
    [("clustered", 1280, "light"), ("clustered", 400, "dark"), ("marked", 1280, "dark")],
)
def test_an_open_card_has_no_serious_violation_of_accessibility(
    opened: Opened, name: str, width: int, scheme: str
) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    window = opened(name, hash_="#head-0-0", width=width, scheme=scheme)
    window.evaluate("document.getElementById('card-spread-numbers').open = true")
    window.locator("#card-examples figure").first.scroll_into_view_if_needed()
    window.locator("#card-examples canvas").first.wait_for()
    window.wait_for_selector("#card-spread svg[role='img']", state="attached")
    found = axe.run(window, context="#head-card").response["violations"]
    serious = [
        (each["id"], each["nodes"][0]["html"]) for each in found if each["impact"] in {"serious", "critical"}
    ]
    assert serious == []
