"""Every page for every reader: axe-core on all pages, hostile names, and figures drawn as files."""

import re
import struct
from typing import Any

import pytest

from headroles.reports import figures_of, files_of
from tests.support.browser import DRAW, FEW_ROWS, UNFOLD, UNSTUCK, Opened, serious, widening
from tests.support.hostile_runs import SCRIPT
from tests.support.pages import KINDS, label_run, small_page

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser of label runs")]


@pytest.mark.parametrize("kind", ["label", *(pytest.param(kind, marks=pytest.mark.ci) for kind in KINDS[1:])])
def test_axe_finds_nothing_serious_and_names_from_data_are_text_that_widens_nothing(
    opened: Opened, kind: str
) -> None:
    window = opened(small_page(kind, hostile=True), width=400, scheme="dark")
    window.evaluate(DRAW)
    window.evaluate(UNFOLD)
    assert widening(window) == 0
    assert window.evaluate("document.querySelectorAll('main script:not([type])').length") == 0
    assert SCRIPT in window.inner_text("main")
    drawn = "plots.every((p) => p.closest('[hidden]') || p.querySelector('.main-svg').getBBox().width > 0)"
    assert window.evaluate(drawn)
    window.evaluate(FEW_ROWS)
    window.evaluate(UNSTUCK)
    assert serious(window) == []


@pytest.fixture(scope="module")
def figure() -> Any:
    """A figure for print; it is drawn without the browser of the other tests."""
    from tests.support.browser import CHROMIUM

    if not CHROMIUM.exists():
        pytest.skip(f"there is no browser at {CHROMIUM}")
    return figures_of(label_run(), width=89.0)["p-values"]


def _twice(figure: Any, form: str) -> bytes:
    """Return a figure as a file, drawn twice by one browser with the same bytes."""
    drawn: dict[str, bytes] = files_of({"one": figure, "other": figure}, form)
    one, other = drawn.values()
    assert one == other
    return one


@pytest.mark.ci
def test_figures_drawn_as_files_have_their_size_fonts_and_text_and_no_clock(figure: Any) -> None:
    text = _twice(figure, "svg").decode()
    assert re.match(r'<svg [^>]*width="89\.00mm" height="[\d.]+mm"', text)
    assert "<desc>p of" in text
    assert "own text of the pair" in text
    assert re.search("(?:&lt;|&#60;)b(?:&gt;|&#62;)loud(?:&lt;|&#60;)/b", text)
    assert not re.findall(r'<b>|<script|(?:href|src)="(?!#)', text)
    assert not re.findall(r"url\((?!['\"&quot;]*#)", text)
    pdf = _twice(figure, "pdf")
    assert pdf.startswith(b"%PDF-")
    assert b"/FontFile" in pdf
    box = re.search(rb"/MediaBox \[0 0 ([\d.]+) ([\d.]+)\]", pdf)
    assert box is not None
    assert float(box[1]) / 72 * 25.4 == pytest.approx(89, abs=0.5)
    assert re.findall(rb"/(?:CreationDate|ModDate) \(([^)]*)\)", pdf) == [b"D:20000101000000+00'00'"] * 2
    png = _twice(figure, "png")
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    wide, _ = struct.unpack(">II", png[16:24])
    assert wide == pytest.approx(89 / 25.4 * 300, abs=2)
    place = png.index(b"pHYs")
    assert struct.unpack(">IIB", png[place + 4 : place + 13]) == (11811, 11811, 1)
