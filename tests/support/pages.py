"""Pages of all kinds, made once, and what stands on them."""

import base64
import json
import re
import zlib
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import headroles
from headroles.kinds import report_of
from headroles.records import Comparison, Labelling, Pruning, Rule
from headroles.reports import page_html, page_of, pruning_page, view_page
from tests.support import made_views
from tests.support.causal.ablated_runs import ablated_run
from tests.support.causal.origins import why_run
from tests.support.causal.pruned import pruning
from tests.support.clustered_runs import clustered_run
from tests.support.hostile_runs import FACTS, NAMES, PLAIN, atlas_in, compared, labelled
from tests.support.made_runs import LOUD, made_run, probed_labelling, surface_labelling

KINDS = ("label", "cluster", "probe", "surface", "compare", "atlas", "ablate", "why", "prune")
RUNS = ("label", "cluster", "probe", "surface", "ablate", "why")
VIEWS = ("usual", "grouped", "encoder_decoder", "with_roles", "carried")
SIEVES = ("local", "block", LOUD, "rare")
"""Sieves of the usual label run; nothing can be said of the last."""
MANIFEST: dict[str, Any] = {
    "headroles": "0.1.0",
    "command": "headroles label --task QNLI",
    "task": "QNLI",
    "source": {"kind": "sample", "name": "QNLI sample", "sha256": "ab" * 32, "rows": 60},
    "model": {"name": "tiny/<i>model</i>", "revision": None, "architecture": "BertModel"},
    "preset": "calibrated",
    "statistic": "selectivity",
    "counts": {"examples": 60, "units": 30},
    "number": 1.0,
    "settings": {},
    "oddity": {"never heard of": [1, 2]},
}


@cache
def label_run() -> Labelling:
    """Return four layers of five heads on 60 inputs in 30 groups of two, with all that a run can have."""
    chance = np.random.default_rng(3)
    rules = [
        Rule(name, f"Asks {name}?", contrast="block:matched" * (name == "block"), low=-1.0, high=1.0)
        for name in SIEVES
    ]
    rules.append(Rule("block:matched", margin=0.02, role=False, low=-1.0, high=1.0))
    level = chance.beta(0.4, 1.6, size=(len(rules), 1, 4, 5))
    values = (level + chance.normal(0, 0.1, size=(len(rules), 60, 4, 5))).clip(-1, 1)
    values[SIEVES.index("rare"), 1:] = np.nan
    units = [f"u{number // 2}" for number in range(60)]
    skipped = (f"rare: {LOUD} has one example only.",)
    return made_run(rules, values, facts=MANIFEST, skipped=skipped, assessed=True, bayes=True, units=units)


@cache
def strong_run() -> Labelling:
    """Return six heads: strong, role, explained, absent, not, and one that scores 0.9 in a few units only."""
    means = np.array([
        [0.3, 0.3, 0.3, 0.0, 0.06, 0.0],
        [0.1, 0.1, -0.1, 0.0, 0.1, 0.0],
        [0.1, -0.1, 0.1, 0.0, 0.1, 0.0],
        [0.0, 0.0, 0.0, 0.0, 0.0, 0.16],
    ])  # fmt: skip
    chance = np.random.default_rng(0)
    values = means[:, None] + chance.normal(0, 0.03, (4, 300, 6))
    values[3, :, 5] = np.where(np.arange(300) < 75, 0.9, 0.0) + chance.normal(0, 0.01, 300)
    rules = (
        Rule("syntactic", contrast="syntactic:matched", stronger="syntactic:class"),
        Rule("syntactic:matched", margin=0.02, role=False),
        Rule("syntactic:class", margin=0.02, role=False),
        Rule("local"),
    )
    facts = {"model": {"name": "tiny/model"}, "settings": {"splits": 4}}
    return made_run(rules, values[:, :, None], facts=facts, assessed=True, key="x")


@cache
def result(kind: str) -> Any:
    """Return the usual result of a kind, as large as tests of numbers need it."""
    makers: dict[str, Callable[[], Any]] = {
        "label": label_run, "cluster": clustered_run, "probe": probed_labelling, "surface": surface_labelling,
        "compare": compared, "ablate": ablated_run, "why": why_run, "prune": pruning,
    }  # fmt: skip
    return makers[kind]()


@cache
def small(kind: str, *, hostile: bool = False) -> Any:
    """Return a small result of a kind; a hostile one has names and facts that are whatever data may bring."""
    names = NAMES if hostile else PLAIN
    made: dict[str, Callable[[], Any]] = {
        "label": lambda: labelled(names),
        "cluster": lambda: clustered_run(3, 4, names),
        "probe": probed_labelling,
        "surface": surface_labelling,
        "compare": lambda: compared(names),
        "ablate": lambda: ablated_run((60, 3, 4), roles=("syntactic", *names)),
        "why": why_run,
        "prune": pruning,
    }
    found = made[kind]()
    if hostile and isinstance(found, Pruning):
        return replace(found, manifest=dict(found.manifest) | FACTS, remarks=tuple(FACTS["notes"]))
    if hostile and isinstance(found, Labelling) and kind != "label":
        return replace(found, manifest=dict(found.manifest) | FACTS, skipped=tuple(FACTS["notes"]))
    return found


def page(result: Any) -> str:
    """Return the page of a run, a comparison or a pruning."""
    if isinstance(result, Comparison):
        return str(page_html(report_of(result)))
    html: str = (pruning_page if isinstance(result, Pruning) else page_of)(result)
    return html


@cache
def usual_page(kind: str) -> str:
    """Return the page of a usual result, made once."""
    return page(result(kind))


@cache
def small_page(kind: str, *, hostile: bool = False) -> str:
    """Return the page of a small result, made once."""
    if kind != "atlas":
        return page(small(kind, hostile=hostile))
    with TemporaryDirectory() as folder:
        atlas_in(Path(folder), NAMES if hostile else PLAIN)
        return (Path(folder) / "atlas" / "report.html").read_text(encoding="utf-8")


@cache
def view_html(name: str) -> str:
    """Return the page of a made view, made once."""
    html: str = view_page(getattr(made_views, name)())
    return html


class Parts(HTMLParser):
    """Visible text, tags, attributes and scripts of a page."""

    def __init__(self, html: str) -> None:
        """Read a page."""
        super().__init__()
        self.html, self.text, self._inside = html, "", ""
        self.links: list[str] = []
        self.handlers: list[str] = []
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.scripts: list[tuple[dict[str, str | None], str]] = []
        self.styles = ""
        self.feed(html)
        self.close()
        self.plain = " ".join(self.text.split())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note a tag with its attributes."""
        self.tags.append(tag)
        self._inside = tag if tag in {"script", "style"} else ""
        if tag == "script":
            self.scripts.append((dict(attrs), ""))
        self.links += [value or "" for name, value in attrs if name in {"src", "href", "data", "action"}]
        self.handlers += [name for name, _ in attrs if name.startswith("on")]
        self.ids += [value or "" for name, value in attrs if name == "id"]

    def handle_endtag(self, tag: str) -> None:
        """Leave a script or style."""
        self._inside = ""

    def handle_data(self, data: str) -> None:
        """Sort text by where it stands."""
        if self._inside == "script":
            attributes, text = self.scripts[-1]
            self.scripts[-1] = (attributes, text + data)
        elif self._inside == "style":
            self.styles += data
        else:
            self.text += data

    @property
    def islands(self) -> dict[str, Any]:
        """The data that stand in the page as JSON, by id."""
        return {
            str(attributes["id"]): json.loads(text)
            for attributes, text in self.scripts
            if attributes.get("type") == "application/json"
        }

    @property
    def programs(self) -> list[str]:
        """The scripts that a browser may run: those of the page, and plotly's where it waits to be needed."""
        programs = [each for each in self.scripts if each[0].get("type") != "application/json"]
        return [
            zlib.decompress(base64.b64decode(text)).decode() if "id" in attributes else text
            for attributes, text in programs
        ]

    def rows(self, start: str, end: str = "</table>") -> list[list[str]]:
        """Return the texts of the cells of every row between two places of the page."""
        part = self.html[self.html.index(start) :]
        part = part[: part.index(end)]
        rows = re.findall(r"<tr\b.*?</tr>", part, flags=re.DOTALL)
        return [
            [Parts(cell).plain for cell in re.findall(r"<t[hd]\b.*?</t[hd]>", row, flags=re.DOTALL)]
            for row in rows
        ]


@cache
def parts_of(html: str) -> Parts:
    """Return what stands on a page, read once."""
    return Parts(html)


def unpacked(figure: Any) -> Any:
    """Return a figure of a page with plain arrays in place of those in base64."""
    if isinstance(figure, dict) and "bdata" in figure:
        values = np.frombuffer(base64.b64decode(figure["bdata"]), dtype=figure["dtype"])
        return (
            values.reshape([int(side) for side in figure["shape"].split(",")])
            if "shape" in figure
            else values
        )
    if isinstance(figure, dict):
        return {name: unpacked(inner) for name, inner in figure.items()}
    return [unpacked(inner) for inner in figure] if isinstance(figure, list | tuple) else figure


def result_files(run: Labelling) -> dict[str, bytes]:
    """Return the files of a run folder by name."""
    facts = {"headroles": "0.1.0", "settings": {}} | dict(run.manifest)
    with TemporaryDirectory() as folder:
        headroles.save(replace(run, manifest=facts), Path(folder) / "run")
        files = (Path(folder) / "run").rglob("*")
        return {file.name: file.read_bytes() for file in files if file.is_file()}
