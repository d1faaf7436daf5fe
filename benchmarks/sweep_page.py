"""The tables of architectures in the documentation, made from the figures of ``sweep.py``."""

import json
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "reference" / "models.md"
FIGURES = PAGE.with_name("architectures.json")
ENTRIES = Path(__file__).with_name("sweep.toml")
HEADS = (
    "| architecture | family | path | layers read | in a batch | `--weights norm` | prune | notes |",
    "| architecture | why it is refused |",
)
"""First lines of the two tables."""


def entries() -> dict[str, dict[str, Any]]:
    """Return what is known of each architecture, by its name."""
    return tomllib.loads(ENTRIES.read_text("utf-8"))


def page_of(text: str, figures: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> str:
    """Return the page with its two tables made anew.

    Args:
        text: The page.
        figures: Results by architecture and kind of attention ("" where there is one kind).
    """
    known = entries()
    read = [row for name, results in figures.items() for row in _rows(name, known[name], results)]
    refused = [row for name, results in figures.items() for row in _refusals(name, results)]
    for head, rows in zip(HEADS, (read, refused), strict=True):
        start = text.index(head)
        old = text[start:].split("\n\n")[0].rstrip("\n")
        line = "|" + " --- |" * (head.count("|") - 1)
        text = text.replace(old, "\n".join([head, line, *rows]))
    return text


def _rows(name: str, entry: Mapping[str, Any], results: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Yield a row for the kinds of attention that are read in one way."""
    kinds: dict[tuple[Any, ...], list[str]] = {}
    family = entry["family"]
    for kind, result in results.items():
        if "refused" in result:
            continue
        shared = result["key_heads"] if isinstance(result["key_heads"], list) else [result["key_heads"]]
        if max(shared) < result["heads"]:
            family = f"{entry['family']}, {'grouped queries' if max(shared) > 1 else 'multi-query'}"
        every = result["of"] in (None, result["layers"])
        cells = (
            result["path"],
            "all" if every else f"{result['layers']} of {result['of']}",
            result["batches"],
            "no" if result["norms"] else "yes",
            "no" if result["prune"] else "yes",
        )
        kinds.setdefault(cells, []).append(kind)
    for row, same in kinds.items():
        what = f"{name} ({', '.join(same)})" if any(same) else name
        yield "| " + " | ".join([what, family, *row, entry.get("notes", "")]) + " |"


def _refusals(name: str, results: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Yield a row for each reason for which kinds of attention are refused."""
    reasons: dict[str, list[str]] = {}
    for kind, result in results.items():
        if "refused" in result:
            reasons.setdefault(result["refused"].replace("|", "\\|"), []).append(kind)
    for reason, kinds in reasons.items():
        what = f"{name} ({', '.join(kinds)})" if any(kinds) else name
        yield f"| {what} | {reason} |"


def write_page(figures: Mapping[str, Any]) -> None:
    """Write the figures, and the page with its tables."""
    rows = (f"{json.dumps(name)}: {json.dumps(kinds, ensure_ascii=False)}" for name, kinds in figures.items())
    FIGURES.write_text("{\n" + ",\n".join(rows) + "\n}\n", "utf-8")
    PAGE.write_text(page_of(PAGE.read_text("utf-8"), figures), "utf-8")
