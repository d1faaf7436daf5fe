"""Cards of heads in a real browser: opened, read, walked through, left again."""

import html
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from headroles.records.example import Example, Rule
from headroles.records.findings import Labelling
from headroles.records.kept_maps import KeptMaps, TypicalInput
from headroles.reports.page import page
from headroles.reports.summary.score_spread import spreads_of
from headroles.stats.engine import judge
from tests.support.browser import Listener, Opened, chromium, until
from tests.support.clustered_runs import clustered_run, labelled

if TYPE_CHECKING:
    from playwright.sync_api import Page

HOSTILE = "<script>alert(1)</script>\u202e😀"
NAMES = ("local", HOSTILE, "delimiter")
LONG = "a" * 10_000
pytestmark = pytest.mark.browser


def exhibited(run: Labelling) -> KeptMaps:
    """Five examples for every role of every head but those of layer 3, on inputs of hostile tokens."""
    chance = np.random.default_rng(3)
    tokens = ("[CLS]", "it", HOSTILE, "##s", LONG, "[SEP]")
    word = np.array([-1, 0, 1, 1, 2, -1])
    examples = tuple(
        Example(f"in/{number}{HOSTILE}", tokens, np.minimum(word, 0), word=word) for number in range(2)
    )
    held = np.argwhere(run.findings.decision == 0)
    shown = [tuple(place) for place in held.tolist() if place[1] < 3]
    heads = sorted({(layer, head) for _, layer, head in shown})
    places = [(number, *head) for head in heads for number in range(2)]
    exhibits = tuple(
        TypicalInput(NAMES[role], layer, head, rank, 0.5 + rank / 8, places.index((rank % 2, layer, head)))
        for role, layer, head in shown
        for rank in (1, 2, 3, -1, -2)
    )
    weights = tuple(chance.integers(0, 256, (6, 6), dtype=np.uint8) for _ in places)
    return KeptMaps(examples, np.array(places), weights, exhibits, 7, len(weights))


def silent() -> Labelling:
    """A run without a single score."""
    run = labelled(2, 3, NAMES)
    scores = replace(run.scores, values=np.full_like(run.scores.values, np.nan))
    rules = [Rule(name, low=-1.0, high=1.0) for name in NAMES]
    return replace(run, scores=scores, findings=judge(scores, rules, run.decision), assessment=None)


@cache
def run_of(name: str = "usual") -> Labelling:
    """A run with examples; "clustered": with clusters, "bare": without either, "many": of 30 roles,
    "silent": without scores.
    """
    if name == "clustered":
        run = clustered_run(names=NAMES)
    elif name == "many":
        run = labelled(2, 3, tuple(f"role-{number}" for number in range(30)))
    elif name == "silent":
        run = silent()
    else:
        run = labelled(4, 6, NAMES)
    return run if name in {"bare", "many", "silent"} else replace(run, exhibited=exhibited(run))


@cache
def html_of(name: str) -> str:
    """The page of a run, made once."""
    return page(run_of(name))


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
    window.evaluate("document.getElementById('head-card').close()")
    until(window, "location.hash === ''")


def focused(window: "Page") -> str:
    """The id of the focused element."""
    return str(window.evaluate("document.activeElement.id"))


def title(window: "Page") -> str:
    """Which head's card is open; "" for none."""
    return window.inner_text("#head-card-title") if window.locator("#head-card").is_visible() else ""


def title_of(layer: int, head: int) -> str:
    """What the card of a head is called."""
    return f"Layer {layer}, head {head} (both counted from 0)"


def test_the_keyboard_leads_into_a_card_and_back_to_its_cell(opened: Opened) -> None:
    window = opened()
    window.focus("#matrix tbody td")
    for key in ("ArrowDown", "ArrowRight", "Enter"):
        window.keyboard.press(key)
    assert title(window) == title_of(1, 1)
    assert window.locator("#card").is_hidden()
    assert window.evaluate("location.hash") == "#head-1-1"
    inside = "document.activeElement === document.body || !!document.activeElement.closest('#head-card')"
    for _ in range(30):
        window.keyboard.press("Tab")
        assert window.evaluate(inside)
    window.keyboard.press("Escape")
    assert title(window) == ""
    until(window, "location.hash === ''")
    assert focused(window) == "head-1-1"
    assert window.locator("#card").is_hidden()
    window.keyboard.press("ArrowRight")
    assert focused(window) == "head-1-2"
    window.keyboard.press(" ")
    assert title(window) == title_of(1, 2)


def test_a_click_opens_a_card_and_its_buttons_lead_on_and_close_it(opened: Opened) -> None:
    window = opened()
    window.click("#head-0-0")
    window.click("#card-previous")
    assert title(window) == title_of(3, 5)
    window.click("#card-next")
    window.click("#card-next")
    assert title(window) == title_of(0, 1)
    assert focused(window) == "card-next"
    window.click("#card-close")
    until(window, "location.hash === ''")
    assert title(window) == ""
    assert focused(window) == "head-0-1"
    assert window.locator("#matrix td[tabindex='0']").count() == 1


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


def test_the_roles_held_come_first_and_in_bold_with_the_numbers_of_the_run(opened: Opened) -> None:
    window = opened(hash_="#head-0-0")
    frame = run_of().frame().query("layer == 0 and head == 0")
    wanted = frame.sort_values("effect", ascending=False)["sieve"].tolist()
    assert window.locator("#card-roles tbody th").all_text_contents() == wanted
    assert (frame["decision"] == "role").all()
    window.click("#card-next")
    row = run_of().frame().query("layer == 0 and head == 1 and decision == 'role'").iloc[0]
    first, second = window.locator("#card-roles tbody tr").all()[:2]
    cells = first.locator("th, td").all_text_contents()
    numbers = f"{row['mean']:.3f} [{row['low']:.3f}, {row['high']:.3f}]".replace("-", "−")
    assert cells[:3] == [row["sieve"], "role", numbers]
    weight = "row => getComputedStyle(row.cells[0]).fontWeight"
    assert [line.evaluate(weight) for line in (first, second)] == ["700", "400"]


def test_the_histogram_is_that_of_the_run_with_its_table_and_marks(opened: Opened) -> None:
    window = opened(hash_="#head-1-1")
    run = run_of()
    spreads = spreads_of(run.scores, range(3))
    held = [role for role in range(3) if run.findings.decision[role, 1, 1] == 0]
    window.wait_for_selector("#card-spread svg[role='img']", state="attached")
    best = max(held, key=lambda role: float(run.findings.effect[role, 1, 1]))
    assert window.input_value("#card-role") == str(best)
    for role in (best, (best + 1) % 3):
        window.select_option("#card-role", str(role))
        until(window, f"document.querySelector('#card-spread .tone-{role} [role=img]') !== null")
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
    window.locator("#card-examples").scroll_into_view_if_needed()
    window.locator("#card-examples figure").nth(4).scroll_into_view_if_needed()
    window.locator("#card-examples figure").nth(4).locator("canvas").wait_for()
    assert canvases(window, 0) == 5
    assert canvases(window, 1) == 0
    captions = window.locator("#card-examples details[open] figcaption").all_inner_texts()
    assert [text.partition(" in/")[0] for text in captions] == [
        "Most typical: score 0.625",
        "Second most typical: score 0.750",
        "Third most typical: score 0.875",
        "Least typical: score 0.375",
        "Second least typical: score 0.250",
    ]
    first = window.locator("#card-examples figure").first
    assert first.locator(".map-side-0 .map-token").count() == 6
    window.click("#card-drawn [data-level='words']")
    assert first.locator(".map-side-0 .map-token").count() == 5
    window.uncheck("#card-drawn [data-switch='specials']")
    assert first.locator(".map-side-0 .map-token").count() == 3
    window.click("#card-drawn [data-form='heat']")
    assert first.locator(".map[data-form='heat']").count() == 1
    assert window.get_attribute("#card-drawn [data-form='heat']", "aria-pressed") == "true"
    window.check("#card-drawn [data-switch='specials']")
    window.uncheck("#card-drawn [data-switch='sink']")
    assert first.locator(".map-side-0 .map-token").count() == 4
    blocks.nth(1).locator("summary").click()
    blocks.nth(1).locator("canvas").first.wait_for()
    assert blocks.nth(1).locator(".map[data-form='heat']").count() >= 1
    assert "7 more examples of this run were not kept" in window.inner_text("#card-examples-told")


def test_a_card_draws_the_bytes_that_were_kept(opened: Opened) -> None:
    window = opened(hash_="#head-1-1")
    window.locator("#card-examples figure").first.scroll_into_view_if_needed()
    window.locator("#card-examples canvas").first.wait_for()
    kept = run_of().exhibited
    assert kept is not None
    shown = next(each for each in kept.exhibits if (each.layer, each.head, each.rank) == (1, 1, 1))
    weights = kept.weights[shown.map]
    token = window.locator("#card-examples figure").first.locator(".map-side-0 .map-token").nth(1)
    token.focus()
    strongest = f"{weights[1].max() / 255:.2f}"
    assert strongest in window.locator("#card-examples .map-told").first.inner_text()


def test_what_has_no_examples_says_so(opened: Opened) -> None:
    window = opened(hash_="#head-3-0")
    role = int(np.flatnonzero(run_of().findings.decision[:, 3, 0] == 0)[0])
    told = window.inner_text("#card-examples-told")
    assert "No examples are kept of " in told
    assert NAMES[role][:8] in told
    assert window.locator("#card-drawn").is_hidden()
    bare = opened("bare", hash_="#head-0-1")
    assert title(bare) == title_of(0, 1)
    assert bare.inner_text("#card-examples-told") == (
        "This run kept no examples; `headroles label … --maps 1000` keeps them."
    )
    assert "Distances between heads were not computed" in bare.inner_text("#head-card")


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
    assert f"Cluster {cluster} with {others} other heads" in window.inner_text("#card-told")
    first.locator("button").click()
    assert title(window) == title_of(near[0] // 6, near[0] % 6)
    assert focused(window) == "head-card-title"


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
    assert HOSTILE in window.locator("#card-roles tbody th").all_text_contents()
    assert window.locator("#head-card script, #head-card b").count() == 0
    texts = window.locator("#card-examples .map-token").all_text_contents()
    assert any(HOSTILE in text for text in texts)
    sizes = "[...document.querySelectorAll('html, #head-card')].map(e => e.scrollWidth - e.clientWidth)"
    assert max(window.evaluate(sizes)) <= 0


def test_a_printed_page_shows_no_card(opened: Opened) -> None:
    window = opened(hash_="#head-0-0")
    window.emulate_media(media="print")
    assert window.locator("#head-card").is_hidden()
    window.emulate_media(media="screen")


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (400, "dark")])
def test_an_open_card_has_no_serious_violation_of_accessibility(
    opened: Opened, width: int, scheme: str
) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    window = opened("clustered", hash_="#head-0-0", width=width, scheme=scheme)
    window.evaluate("document.getElementById('card-spread-numbers').open = true")
    window.locator("#card-examples figure").first.scroll_into_view_if_needed()
    window.locator("#card-examples canvas").first.wait_for()
    window.wait_for_selector("#card-spread svg[role='img']", state="attached")
    found = axe.run(window, context="#head-card").response["violations"]
    serious = [
        (each["id"], each["nodes"][0]["html"]) for each in found if each["impact"] in {"serious", "critical"}
    ]
    assert serious == []
