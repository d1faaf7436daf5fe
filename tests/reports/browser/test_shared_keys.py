"""The report in a browser says which heads share keys: in its table of labels, and on head cards."""

from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import pytest

from headroles.reports.page import page
from tests.support.browser import chromium
from tests.support.clustered_runs import labelled

pytestmark = pytest.mark.browser


def test_downloads_and_cards_tell_of_shared_keys(tmp_path: Path) -> None:
    run = labelled(2, 6, ("local", "block"))
    run = replace(run, manifest=MappingProxyType(dict(run.manifest) | {"model": {"kv_heads": 2}}))
    file = tmp_path / "page.html"
    file.write_text(page(run), encoding="utf-8")
    with chromium() as browser:
        window = browser.new_page(reduced_motion="reduce")
        window.goto(f"{file.as_uri()}#head-1-4")
        told = window.locator("#card-told").inner_text()
        window.keyboard.press("Escape")
        with window.expect_download() as waiting:
            window.click('#downloads [data-file="labels.csv"]')
        waiting.value.save_as(tmp_path / "labels.csv")
    assert "shares keys and values with 1-3, 1-5." in told
    text = (tmp_path / "labels.csv").read_text(encoding="utf-8")
    assert text == run.labels().to_csv(index=False, lineterminator="\n")
    assert text.splitlines()[0] == "layer,head,roles,local,block,kv_group"
