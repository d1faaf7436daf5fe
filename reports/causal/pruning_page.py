"""The page of a pruned model: one self-contained HTML file with the certificate and its curve."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from markupsafe import Markup

from headroles.records.causal.pruning import Pruning
from headroles.records.numbers import share
from headroles.reports.causal.pruning import (
    LOOKS,
    bound_text,
    order_sheet,
    pruning_answer,
    pruning_panel,
    steps_sheet,
)
from headroles.reports.document import NO_FINDINGS
from headroles.reports.embedded import LARGEST, files_json, manifest_json
from headroles.reports.framed import framed_page
from headroles.reports.maps import STYLE, still_map
from headroles.reports.words.words import layers_read

SCRIPTS = ("shared/sheets.js", "shared/files.js")
STYLES = (STYLE, "causal/causal.css")
SECTIONS = (
    ("answer", "Answer"), ("curve", "Damage"), ("heads", "Heads"), ("sure", "Certificate"),
    ("run", "What was run"),
)  # fmt: skip
"""Sections of the page, by their ids."""
NO_FILES: Mapping[str, str] = MappingProxyType({})


def pruning_page(pruning: Pruning, files: Mapping[str, str] = NO_FILES) -> str:
    """Return the report of a pruned model: one HTML file that requests nothing.

    The same pruning gives the same text, byte for byte. Text from data is escaped everywhere, and the page's
    own policy lets only its own scripts run.

    Args:
        pruning: Heads with the certificate of their damage.
        files: Texts of the files of its folder by name, which a reader can download; of those too large for
            a page, none.

    Returns:
        A complete HTML document.
    """
    decided = {step.decision for step in pruning.steps}
    small = {name: text for name, text in files.items() if len(text) <= LARGEST}
    answer, heads = pruning_answer(pruning), pruning.removed.shape[1]
    return framed_page(
        "causal/pruning.html",
        STYLES,
        SCRIPTS,
        answer=answer,
        sections=SECTIONS,
        panel=pruning_panel(pruning),
        looks=[(*look, word) for word, look in LOOKS.items() if word in decided],
        steps=steps_sheet(pruning),
        order=order_sheet(pruning),
        heads=heads,
        map=_map(pruning),
        by_layer=[(layer, ", ".join(map(str, gone))) for layer, gone in pruning.heads.items()],
        bound=bound_text(pruning) if pruning.certified else "",
        sure=share(1 - pruning.alpha),
        alpha=share(pruning.alpha),
        command=str(pruning.manifest.get("command") or ""),
        facts=list(_facts(_with_size(pruning))),
        files=(*small, "manifest.json"),
        embedded=Markup(files_json(small)),
        no_findings=Markup(NO_FINDINGS),
        manifest=Markup(manifest_json(pruning.manifest)),
    )  # fmt: skip


def _map(pruning: Pruning) -> Markup:
    """Return the map of the removed heads: faint cells with a cross."""
    layers, heads = pruning.removed.shape
    label = f"Map of {layers} layers with {heads} heads each; {int(pruning.removed.sum())} heads are removed."
    cells = [("cell kept", 1.0, ~pruning.removed), ("cell gone", 1.0, pruning.removed)]
    return still_map(pruning.stack.numbers, heads, label, cells, {"×": pruning.removed})


def _with_size(pruning: Pruning) -> dict[str, Any]:
    """Return the manifest with the number of layers in place of their list."""
    model = dict(pruning.manifest.get("model") or {})
    if "layers" in model:
        model["layers"] = layers_read(pruning.stack).removesuffix(" layers").removesuffix(" layer")
        model.pop("blocks", None)
    return {**pruning.manifest, "model": model}


def _facts(manifest: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return what the manifest records in one word or number, with entries of entries by their path."""
    facts = []
    for name, value in manifest.items():
        if isinstance(value, Mapping):
            facts += [(f"{name} · {inner}", text) for inner, text in _facts(value)]
        elif isinstance(value, str | int | float) and name != "command" and value != "":
            facts.append((name, str(value)))
    return facts
