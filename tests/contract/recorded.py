"""Read and write recorded runs: what is stored of a run, and what is made of it again."""

import csv
import io
import json
import os
import re
import shutil
from base64 import b64decode
from collections.abc import Iterator
from contextlib import redirect_stdout
from html import unescape
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

import headroles
from tests.contract.kinds import JUDGED, OF_MAPS, inside, start
from tests.contract.same import manifest_facts, names_of

RECORDED = Path(__file__).parent / "recorded"
READ = {
    "compare": ("label", "label-b"), "replicate": ("label", "label-c"), "prune": ("label", "ablate"),
    "atlas": ("label", "label-b", "label-c"), "atlas-of-parts": ("label", "label-c"),
}  # fmt: skip
"""What is made of stored runs, and which."""
NAMES = (*(name for name in JUDGED if name not in ("label-b", "label-c")), *READ)
"""Results whose words, tables and pages are recorded."""
NOT_STORED = ("report.html", "shards/")
"""Files of a run that are made again, or that only the live runs have."""
COMMANDS = {
    "sieves": ("sieves",), "sieve": ("sieves", "bag-of-words"), "family": ("sieves", "local:<tokens>"),
    "cells": ("sieves", "local:1", "--show", "old dogs [red]bark[/red]"), "tasks": ("sieves", "--tasks"),
    "plan": ("plan", "--effect", "0.5", "--head-count", "144"),
}  # fmt: skip
"""Commands whose output is recorded, besides those of results."""
OF_TERMINALS = ("FORCE_COLOR", "NO_COLOR", "COLORTERM", "COLUMNS")
"""Variables that say what a terminal can do."""
DIGITS = 3
"""Digits of the numbers that are recorded of a page."""
LISTED_MAPS = ("maps.safetensors", "maps.json")
SCRIPTS = re.compile(r'<script type="application/json" id="([^"]+)">(.*?)</script>', re.DOTALL)
CODE = re.compile(r"<(script|style)\b.*?</\1>", re.DOTALL)
ROW, CELL = (re.compile(rf"<{name}\b.*?</{name}>", re.DOTALL) for name in ("tr", "t[hd]"))
TOLD = re.compile(r"""\b(?:title|aria-label|alt)=("[^"]*"|'[^']*')""")
WITHOUT_PAGE = ("label-trees", "atlas-of-parts")
"""Results whose pages are those of others with other numbers."""
ALL_NUMBERS = ("findings", "differences", "scores", "damage")
"""Tables for papers that hold what is in a CSV file of the folder."""
IN_TABLES = (".csv", "columns")
"""Ends of names of what a page holds of the tables of the folder."""
LINE = 200
"""Letters of a line of recorded data, where it can be broken."""
READABLE = ("title", "range", "tickvals", "ticktext")
"""What is recorded of an axis of a figure."""
VARYING = re.compile(
    r'(?P<name>"seconds_\w+": |"device": (?="[A-Z]))[^\n]*|[\d.]+(?P<end> ms)|\([^()]*(?=; 32 inputs)'
    r"|(?<![.\w])(?=\d*[a-f])(?:[0-9a-f]{12}|[0-9a-f]{64})\b"
)
"""Times that were measured, the device that took them, and hashes of manifests of other runs."""
HELD_ELSEWHERE = ("manifest", "files")
"""Data of a page that are files of the run."""


def unpack(name: str, workspace: Path) -> Path:
    """Put the stored files of a run into a workspace as a folder, unless it is there, and return it."""
    folder = workspace / name
    if not folder.exists():
        shutil.copytree(RECORDED / name / "run", folder)
        (folder / "report.html").write_text("not stored")
    return folder


def make_again(name: str, workspace: Path) -> Any:
    """Judge a stored run again, or make what is made of several; return it as a Python object."""
    for run in READ.get(name, (name,)):
        unpack(run, workspace)
    with inside(workspace):
        return start(name) if name in READ else headroles.judge_again(name)


def command_text(*words: str) -> str:
    """Return what a command prints where its output is a pipe."""
    from headroles.cli.main import cli

    out = io.StringIO()
    with redirect_stdout(out):
        cli(args=list(words), standalone_mode=False)
    return out.getvalue()


def words_of(name: str, workspace: Path, result: Any) -> dict[str, str]:
    """Return all texts that are written of a result: at a prompt, in a terminal, for papers, and its page."""
    with patch.dict(os.environ):
        for variable in OF_TERMINALS:
            os.environ.pop(variable, None)
        texts = _words_of(name, workspace, result)
    return {file: VARYING.sub(_masked, text) if name in READ else text for file, text in texts.items()}


def _words_of(name: str, workspace: Path, result: Any) -> dict[str, str]:
    texts = {"prompt.txt": f"{result!r}\n"}
    if hasattr(result, "_repr_html_"):
        texts["notebook.txt"] = html_text(result._repr_html_())
    with inside(workspace):
        if name == "replicate":
            words = ("compare", "label", "label-c", "--replicate", "--out", f"{name}.csv", "--overwrite")
            return texts | {
                "terminal.txt": command_text(*words),
                f"{name}.csv": Path(f"{name}.csv").read_text(),
            }
        texts["terminal.txt"] = command_text("show", name)
        texts["verbose.txt"] = command_text("show", name, "--verbose")
        if name not in ("atlas", "probe", "surface", *WITHOUT_PAGE):
            texts["show.json"] = command_text("show", name, "--json")
        if name not in WITHOUT_PAGE:
            page = (Path(name) / "report.html").read_text(encoding="utf-8")
            texts |= {"page.txt": html_text(page), "page.json": page_data(page)}
        if name == "prune":
            return texts
        if name != "compare":
            texts["card.md"] = headroles.share(name).card
        texts["methods.md"] = headroles.methods(name)
        first, *others = table_names(name)
        texts["tables.tex"] = headroles.table(name, first, "latex")
        texts["tables.md"] = "\n".join(headroles.table(name, table) for table in (first, *others))
        if name == "label":
            texts["methods.tex"] = headroles.methods(name, "latex")
            texts["tables.tex"] += "\n".join(headroles.table(name, table, "latex") for table in others)
        return texts


def _masked(found: re.Match[str]) -> str:
    """Return what varies without its number or name."""
    return f"{found['name'] or ''}…{found['end'] or ''}"


def table_names(folder: str) -> list[str]:
    """Return the names of the tables for papers of a folder, from the sentence on a wrong name."""
    try:
        headroles.table(folder, "no such table")
    except headroles.HeadrolesError as error:
        names = str(error).partition("known: ")[2].split(", ")
        return [name for name in names if name not in ALL_NUMBERS]
    raise AssertionError("a table without a name")


def html_text(page: str) -> str:
    """Return what a reader sees of a page, with titles and labels: a line for every row and every text."""
    body = CODE.sub("", page[page.find("<body") :] if "<body" in page else page)
    body = TOLD.sub(lambda found: f">[{found[1][1:-1]}]<x ", ROW.sub(_row, body))
    lines = (" ".join(unescape(piece).split()) for piece in re.split(r"<[^>]*>", body))
    return "\n".join(line for line in lines if line and not line.startswith(("#", "[Link to"))) + "\n"


def _row(found: re.Match[str]) -> str:
    """Return the cells of a row of a table, with bars between them."""
    cells = (re.sub(r"<[^>]*>", " ", cell) for cell in CELL.findall(found[0]))
    return f"<p>{' | '.join(' '.join(cell.split()) for cell in cells)}</p>"


def page_data(page: str) -> str:
    """Return the data that a page embeds as JSON with short lines, its numbers rounded."""
    data = {name: json.loads(text) for name, text in SCRIPTS.findall(page) if name not in HELD_ELSEWHERE}
    return "".join(_lines_of(_plain(data), "")) + "\n"


def _plain(value: Any) -> Any:
    """Return data without encoded arrays, with rounded numbers, and of a figure's layout what can be read."""
    if isinstance(value, dict):
        if value.keys() >= {"bdata", "dtype"}:
            array = np.frombuffer(b64decode(value["bdata"]), np.dtype(value["dtype"]))
            return _plain(array.tolist())
        if "layout" in value and "data" in value:
            axes = {name: axis for name, axis in value["layout"].items() if "axis" in name}
            read = {name: {key: axis[key] for key in READABLE if key in axis} for name, axis in axes.items()}
            value = {"data": value["data"], "axes": read}
        return {key: _plain(item) for key, item in value.items() if not key.endswith(IN_TABLES)}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value


def _lines_of(value: Any, margin: str) -> Iterator[str]:
    """Yield JSON with a line for each item of what is longer than a line."""
    line = json.dumps(value, ensure_ascii=False, separators=(",", ": "))
    flat = not isinstance(value, dict | list) or not any(
        isinstance(item, dict | list) for item in (value.values() if isinstance(value, dict) else value)
    )
    if len(line) < LINE or flat:
        yield line
        return
    inner, ends = f"{margin} ", "{}" if isinstance(value, dict) else "[]"
    yield f"{ends[0]}\n"
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for place, (key, item) in enumerate(items):
        yield f"{inner}{json.dumps(key, ensure_ascii=False)}: " if isinstance(value, dict) else inner
        yield from _lines_of(item, inner)
        yield ",\n" if place < len(value) - 1 else "\n"
    yield f"{margin}{ends[1]}"


def tables_of(name: str, folder: Path) -> dict[str, str]:
    """Return the tables of a folder, its certificate, and the facts of its manifest, by file name."""
    if not folder.is_dir():
        return {}
    files = {
        file: path
        for file, path in names_of(folder).items()
        if file.endswith((".csv", "certificate.json", "pruned.json"))
    }
    texts = {file: path.read_text(encoding="utf-8") for file, path in files.items() if "/" not in file}
    if name.startswith("atlas"):
        del texts["findings.csv"]  # a copy of those of its runs
    facts = manifest_facts((folder / "manifest.json").read_text(encoding="utf-8"))
    texts |= {"manifest.json": json.dumps(facts, indent=1, ensure_ascii=False) + "\n"}
    return {file: VARYING.sub(_masked, text) if name in READ else text for file, text in texts.items()}


def store_run(name: str, workspace: Path) -> None:
    """Store a run of a workspace: the files that a later version needs to make the rest again."""
    target = RECORDED / name / "run"
    shutil.rmtree(target, ignore_errors=True)
    for file, path in names_of(workspace / name).items():
        if not file.startswith(NOT_STORED):
            (target / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target / file)


def store_expected(name: str, workspace: Path, result: Any) -> None:
    """Store the words of a result, and its tables where its folder is not stored."""
    target = RECORDED / name / "expected"
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    tables = tables_of(name, workspace / name) if name in READ else {}
    for file, text in (tables | words_of(name, workspace, result)).items():
        (target / file).write_text(text, encoding="utf-8")


def means_of(folder: Path) -> str:
    """Return the mean score and the decision of every column and head, as lines of a table."""
    with (folder / "findings.csv").open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file)
        names = ("sieve", "layer", "head", "count", "mean", "decision")
        return "".join(",".join(row[name] for name in names) + "\n" for row in rows)


def store_commands() -> None:
    """Store what commands print."""
    (RECORDED / "commands").mkdir(exist_ok=True)
    for name, words in COMMANDS.items():
        (RECORDED / "commands" / f"{name}.txt").write_text(command_text(*words), encoding="utf-8")


def store_maps(workspace: Path) -> None:
    """Store maps of attention with their list, and the findings of every kind of run on them."""
    (RECORDED / "maps").mkdir(exist_ok=True)
    for file in LISTED_MAPS:
        shutil.copyfile(workspace / file, RECORDED / "maps" / file)
    for name in OF_MAPS:
        means = means_of(workspace / name)
        (RECORDED / "maps" / f"{name}.csv").write_text(means, encoding="utf-8")
