"""Pages of every kind without a browser: closed, repeatable, small; names from data stay text."""

import base64
import hashlib
import re
from collections import Counter
from dataclasses import fields, replace
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headroles.records import Assessment, Precision
from headroles.reports import figures_of, page_of, pruning_page
from tests.support.causal.pruned import pruning
from tests.support.hostile_runs import LONG, SCRIPT, atlas_in, labelled
from tests.support.pages import KINDS, VIEWS, Parts, page, parts_of, small, small_page, view_html

FORBIDDEN = {"link", "iframe", "object", "embed", "img", "base", "form action"}
REPORTS = [pytest.param(kind, marks=pytest.mark.xdist_group(f"page of {kind}")) for kind in KINDS]


def html_of(name: str) -> str:
    """Return the page of a kind of report, or of a made view."""
    return small_page(name) if name in KINDS else view_html(name)


@pytest.mark.parametrize("name", [*REPORTS, *VIEWS])
def test_a_page_is_one_closed_file_whose_own_scripts_alone_run(name: str) -> None:
    html = html_of(name)
    parts = parts_of(html)
    digests = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in parts.programs]
    policy = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', html)
    allowed = " ".join(f"'sha256-{digest}'" for digest in digests)
    assert [unescape(each) for each in policy] == [
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    ]
    assert len(parts.programs) == (2 if name in KINDS else 1)
    assert [link for link in parts.links if not link.startswith("#")] == []
    targets = {link[1:] for link in parts.links if not re.match("#(filter=|head-|$)", link)}
    assert targets <= set(parts.ids)
    assert parts.handlers == []
    assert not FORBIDDEN & set(parts.tags)
    assert [key for key, count in Counter(parts.ids).items() if count > 1] == []
    assert "@import" not in parts.styles
    assert re.findall(r"url\((?!#)", parts.styles) == []
    assert html.startswith("<!doctype html>")
    if name in VIEWS:
        assert re.search(r"\b(https?:|//)[\w.]+\.\w", html) is None
        assert "innerHTML" not in parts.programs[0]
        assert {"b", "i"} & set(parts.tags) == set()
    assert html.count("<script") == html.count("</script>") == len(parts.scripts)
    assert len(html.encode()) < 4_000_000


@pytest.mark.parametrize("kind", REPORTS)
def test_names_from_data_are_text_on_every_page_and_in_every_figure(kind: str) -> None:
    hostile, plain = (parts_of(small_page(kind, hostile=hostile)) for hostile in (True, False))
    watched = ("style", "img", "b", "i", "iframe", *(["script"] * (kind not in ("probe", "ablate"))))
    mine, other = (Counter(tag for tag in parts.tags if tag in watched) for parts in (hostile, plain))
    assert mine == other
    assert hostile.handlers == []
    assert hostile.programs == plain.programs
    assert SCRIPT in hostile.text
    assert "\u202e" not in hostile.text or "\u2068" in hostile.text or "<bdi>" in hostile.html
    for key, island in hostile.islands.items():
        assert not key.endswith("-spec") or "<script" not in str(island)


@pytest.mark.parametrize("kind", ["label", "compare", "atlas"])
def test_figures_for_print_escape_names(kind: str, tmp_path: Path) -> None:
    drawn = figures_of(atlas_in(tmp_path) if kind == "atlas" else small(kind, hostile=True), width=120.0)
    assert len(drawn) > 3
    for name, figure in drawn.items():
        assert re.fullmatch("[a-z0-9]+(-[a-z0-9]+)*", name)
        content = figure.to_plotly_json()
        text = str((content["data"], {key: part for key, part in content["layout"].items() if key != "meta"}))
        assert "<script" not in text, name
        assert LONG[:100] not in text, name
    assert len({figure.layout.width for figure in drawn.values()}) == 1


@pytest.mark.ci
def test_a_thousand_heads_under_twenty_sieves_stay_below_fifteen_megabytes() -> None:
    names = tuple(f"sieve{number}" for number in range(20))
    chance, run = np.random.default_rng(0), labelled(names, (20, 32, 32), assessed=False)
    precision = Precision(*(chance.uniform(size=(20, 32, 32)) for _ in fields(Precision)))
    html = page_of(replace(run, assessment=Assessment(precision)))
    assert len(html.encode()) <= 0.9 * 15_000_000  # examples of head cards come on top
    assert html.count('<span class="marks">') == 1024
    specs = [part.partition("</script>")[0] for part in html.split('-spec">')[1:]]
    assert max(map(len, specs)) < 500_000


def test_a_result_with_little_in_it_has_a_page() -> None:
    from headroles.records import SWAPS

    surface = small("surface")
    no_layers = replace(surface.surface, layers=surface.surface.layers[:0])
    little: dict[str, Any] = {
        "without facts": replace(small("label"), manifest={}, assessment=None, skipped=()),
        "surface without layers": replace(surface, surface=no_layers, manifest={}),
        "compared without swaps": replace(small("compare"), manifest={}, swaps=SWAPS, remarks=()),
        "ablated without facts": replace(small("ablate"), manifest={}, assessment=None),
        "why without facts": replace(small("why"), manifest={}, assessment=None),
        "nothing certified": pruning(bound=0.0001, classes=False, fresh=False, reason="It cannot be cut."),
    }
    for name, made in little.items():
        parts = Parts(page(made))
        assert "nan" not in parts.plain.lower().split(), name
        assert parts.islands["manifest"] == dict(made.manifest), name


def test_a_page_of_a_pruning_leaves_large_tables_out() -> None:
    files = {"steps.csv": "size\n1\n", "large.csv": "x" * 2_000_000}
    parts = Parts(pruning_page(pruning(), files))
    assert parts.islands["files"] == {"steps.csv": "size\n1\n"}
