"""The report in a browser says which heads share keys: in its table of labels, and on head cards."""

import importlib.util
import os
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import pytest

from headroles.reports.page import page
from tests.support.clustered_runs import labelled

CHROMIUM = Path("/usr/bin/chromium")
pytestmark = pytest.mark.browser


def test_downloads_and_cards_tell_of_shared_keys(tmp_path: Path) -> None:
    if importlib.util.find_spec("playwright") is None or not CHROMIUM.exists():
        reason = f"this test takes playwright and a browser at {CHROMIUM}"
        pytest.fail(reason) if os.environ.get("HEADROLES_REQUIRE_ALL") == "1" else pytest.skip(reason)
    from playwright.sync_api import sync_playwright

    run = labelled(2, 6, ("local", "block"))
    run = replace(run, manifest=MappingProxyType(dict(run.manifest) | {"model": {"kv_heads": 2}}))
    file = tmp_path / "page.html"
    file.write_text(page(run), encoding="utf-8")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=str(CHROMIUM), args=["--no-sandbox", "--disable-gpu"]
        )
        window = browser.new_page(reduced_motion="reduce")
        window.goto(f"{file.as_uri()}#head-1-4")
        told = window.locator("#card-told").inner_text()
        window.keyboard.press("Escape")
        with window.expect_download() as waiting:
            window.click('#downloads [data-file="labels.csv"]')
        waiting.value.save_as(tmp_path / "labels.csv")
        browser.close()
    assert "Shares keys and values with 1-3, 1-5." in told
    text = (tmp_path / "labels.csv").read_text(encoding="utf-8")
    assert text == run.labels().to_csv(index=False, lineterminator="\n")
    assert text.splitlines()[0] == "layer,head,roles,local,block,kv_group"
