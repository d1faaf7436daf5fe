"""What heads a model does without: the certificate in words, its curve, its tables, page and terminal."""

import math
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np

from headroles.addresses import last_name
from headroles.records.causal.columns import ACCURACY, LOSS, OUTCOME_WORDS, arm_name, parse_column
from headroles.records.causal.pruning import FEW_UNITS, NOT_SHOWN, NOT_TESTED, WITHIN, Pruning
from headroles.records.causal.statement import amount, missed_sentence, statements
from headroles.records.numbers import isolate, number, plural, share, with_range
from headroles.records.table import HEAD, LAYER, Column, Sheet, Table, counted
from headroles.reports import console as terminal
from headroles.reports import report as blocks
from headroles.reports.answer import Answer, Sentence
from headroles.reports.drawing import FAINT, SOFT
from headroles.reports.embedded import LARGEST
from headroles.reports.html import page_html
from headroles.reports.kinds.ablate import MEASURES
from headroles.reports.maps import MARKS, still_map
from headroles.reports.marks import Axis, Dots, Figure, Line, Look, Rule, Trace
from headroles.reports.report import Fold, Grid, Points, Section, Text
from headroles.reports.words import layers_read
from headroles.storage.causal.pruning import certificate
from headroles.storage.folder import PRUNED_MODEL

LOOKS = {
    WITHIN: Look(2), NOT_SHOWN: Look(1, "diamond"), FEW_UNITS: Look(4, "square"),
    NOT_TESTED: Look(7, "circle-open"),
}  # fmt: skip
"""Look of every decision about a set."""
HOVER = (
    "%{x} heads: %{fullData.name}<br>damage %{y:.3~g} [%{customdata[0]:.3~g}, %{customdata[1]:.3~g}], "
    "upper bound %{customdata[2]:.3~g}<extra></extra>"
)
ORDER = Table("", "Order of heads", "a head", (
    LAYER, HEAD, counted("order", "Place in the order.", "order"),
    Column("alone", "Damage of the head alone.", float, "damage alone"),
    Column("removed", "Whether it is removed.", bool, "in the checkpoint",
           lambda gone: "removed" if gone else "kept"),
))  # fmt: skip
"""The heads in the order in which they leave."""


def pruning_page(pruning: Pruning, files: Mapping[str, str] | None = None) -> str:
    """Return the report of a pruned model: one HTML file that requests nothing.

    Args:
        pruning: Heads with the certificate of their damage.
        files: Texts of the files of its folder by name, which a reader can download; of those too large for
            a page, none.
    """
    title, notes, draw = title_of(pruning), ((), pruning.remarks), partial(_page, pruning, files or {})
    report = blocks.Report("headroles prune", title, answer_of(pruning), notes, pruning.manifest, {}, draw)
    return page_html(report)


def title_of(pruning: Pruning) -> str:
    """Return how many heads of which model are removed."""
    name, heads = _model(pruning), plural(pruning.removed.size, "head")
    return f"{int(pruning.removed.sum())} of {heads}{f' of {name}' if name else ''} removed"


def _model(pruning: Pruning) -> str:
    """Return the last name of the model; "" where it has none."""
    model = pruning.manifest.get("model")
    name = str(model.get("name") or "") if isinstance(model, Mapping) else ""
    return last_name(name)


def show_pruning(console: Any, pruning: Pruning, folder: str, detail: blocks.Detail) -> None:
    """Print the certificate, the removed heads by layer, and where model and report are.

    Args:
        console: Of rich, of any width.
        pruning: The pruning.
        folder: Its folder, for the last lines; "" where nothing was written.
        detail: With ``verbose``, every set of heads that was measured.
    """
    terminal.show_title(console, title_of(pruning))
    for sentence in statements(pruning):
        terminal.named_line(console, "", sentence)
    for layer, heads in pruning.heads.items():
        terminal.named_line(console, f"layer {layer}", ", ".join(map(str, heads)))
    if detail.verbose:
        console.print(terminal.terminal_table(steps_sheet(pruning), strong=WITHIN))
    terminal.show_notes(console, (), pruning.remarks, verbose=detail.verbose)
    if folder:
        if pruning.removed.any():
            terminal.named_line(console, "model", f"{folder.rstrip('/')}/{PRUNED_MODEL}")
        terminal.show_report(console, folder)


def pruning_facts(pruning: Pruning) -> dict[str, Any]:
    """Return the certificate, the removed heads and all sets in JSON types; NaN is null."""
    steps = [
        {name: None if value != value else value for name, value in vars(step).items()}
        for step in pruning.steps
    ]
    removed = {str(layer): heads for layer, heads in pruning.heads.items()}
    facts = {"kind": "pruning", "title": title_of(pruning), **certificate(pruning)}
    return facts | {"removed": removed, "steps": steps}


def bound_text(pruning: Pruning) -> str:
    """Return the bound in words, such as "the loss rises by at most 1 %"."""
    outcome = pruning.outcome
    turn = {LOSS: "rises", ACCURACY: "falls"}.get(outcome, "changes")
    return f"the {OUTCOME_WORDS.get(outcome, outcome)} {turn} by at most {amount(pruning, pruning.bound)}"


def answer_of(pruning: Pruning) -> Answer:
    """Return how many heads can go, in a few sentences: the words before the first stop are bold."""
    certified, said = pruning.certified, list[Sentence]()
    for text in statements(pruning):
        ends = [place for place in map(text.find, (". ", ": ", ", ")) if place > 0]
        lead = text[: min(ends)] if ends else text.rstrip(".")
        said.append(Sentence(lead, text[len(lead) :]))
    failed = next((step for step in pruning.steps if step.decision in (NOT_SHOWN, FEW_UNITS)), None)
    if failed is not None and certified is not None:
        damage = with_range(*(_amount(pruning, one) for one in (failed.mean, failed.low, failed.high)))
        shown = failed.decision == NOT_SHOWN
        why = "was not shown to stay within the bound" if shown else "hinges on few units"
        more = ". More inputs may show it" * (failed.mean < pruning.bound)
        lead = f"The next set, of {plural(failed.size, 'head')}, {why}"
        said.insert(1, Sentence(lead, f": its damage is {damage}{more}."))
    if pruning.outcome == ACCURACY:
        measure = "fall of the accuracy in percentage points (negative: a rise)"
    elif pruning.relative:
        measure = "rise of the loss, as a share of it"
    else:
        measure = MEASURES[pruning.outcome].replace("the head", "the heads")
    line = (
        f"damage: {measure}", f"bound {amount(pruning, pruning.bound)}",
        f"heads ordered by their damage alone ({arm_name(pruning.arm)}) on other units",
        f"tested on {plural(len(pruning.units), 'unit')}", f"false certificates ≤ {share(pruning.alpha)}",
    )  # fmt: skip
    title = f"How many heads can {isolate(_model(pruning)) or 'the model'} do without?"
    return Answer(title, " · ".join(line), tuple(said), pruning.remarks)


def _amount(pruning: Pruning, value: float) -> str:
    """Return a damage on the scale of the bound; a dash without any."""
    return "–" if math.isnan(value) else amount(pruning, value)


def steps_sheet(pruning: Pruning) -> Sheet:
    """Return every set with its damage, its test and, for classifiers, right answers before and after."""
    text = partial(_amount, pruning)
    table = pruning.steps.describe("mean", text=text).describe("upper", text=text)
    known = not np.isnan(table["accuracy_after"]).all()
    return table.sheet(leave=() if known else ("accuracy_before", "accuracy_after"))


def order_table(pruning: Pruning) -> Table:
    """Return the heads in the order in which they leave, with the damage of each alone."""
    layers, heads = pruning.order.T
    table = ORDER.of(
        layer=layers, head=heads, order=np.arange(1, len(layers) + 1), alone=pruning.single[layers, heads],
        removed=pruning.removed[layers, heads],
    ).numbered(pruning.stack)  # fmt: skip
    nats = parse_column(pruning.arm).outcome == LOSS
    return table.describe("alone", text=lambda one: number(one) + " nats" * (nats and not math.isnan(one)))


def curve(pruning: Pruning) -> Figure:
    """Draw the damage of growing sets with its band, the bound, and the certified set."""
    scale = 100.0 if pruning.relative or pruning.outcome == ACCURACY else 1.0
    rows, certified = pruning.steps, pruning.certified
    rows = rows.take(np.argsort(rows["size"], kind="stable"))
    rows = rows.replace(**{name: scale * rows[name] for name in ("mean", "low", "high", "upper")})
    known = rows.take(~np.isnan(rows["low"]))
    sizes = known["size"].tolist()
    unit = " (%)" if pruning.relative else " (points)" if pruning.outcome == ACCURACY else ""
    chosen = "No set is certified."
    if certified:
        size = plural(certified.size, "head")
        chosen = f"{size} can go: on average, {bound_text(pruning)}. {missed_sentence(certified)}".rstrip()
    return Figure(
        "pruning", "", f"Damage of removing growing sets of heads. {chosen}",
        "Solid line: the bound. Band: 95\u00a0% intervals. Dashed: the largest damage that the test leaves "
        "possible (one-sided). Dotted: the certified set. Sets after the first failure are drawn, but not "
        "tested.",
        rows,
        [
            Trace({
                "type": "scatter", "x": [*sizes, *reversed(sizes)],
                "y": [*known["high"].tolist(), *known["low"][::-1].tolist()], "mode": "lines",
                "fill": "toself", "fillcolor": SOFT, "line": {"width": 0, "color": SOFT}, "opacity": 0.22,
                "name": "95\u00a0% interval", "hoverinfo": "skip",
            }),
            Line("size", "upper", f"upper bound ({share(1 - pruning.alpha)})", Look(SOFT, ""), dash="dash",
                 width=1.5),
            Dots("size", "mean", by="decision", looks=LOOKS, hover=HOVER, custom=("low", "high", "upper"),
                 toggles=str),
            Rule(scale * pruning.bound, "y"),
            Rule(float(certified.size) if certified else math.nan, dash="dot", colour=FAINT),
        ],
        x=Axis("heads removed", {"showgrid": False, "rangemode": "tozero", "nticks": 10}),
        y=Axis(f"damage: {OUTCOME_WORDS.get(pruning.outcome, pruning.outcome)}{unit}", {"nticks": 7}),
        height=380, single=True,
    )  # fmt: skip


def _page(pruning: Pruning, files: Mapping[str, str]) -> blocks.Page:
    small = {name: text for name, text in files.items() if len(text) <= LARGEST}
    layers, heads = pruning.removed.shape
    label = f"Map of {layers} layers with {heads} heads each; {int(pruning.removed.sum())} heads are removed."
    cells = [("cell kept", 1.0, ~pruning.removed), ("cell gone", 1.0, pruning.removed)]
    drawn = still_map(pruning.stack.numbers, heads, label, cells, {MARKS["removed"]: pruning.removed})
    by_layer = [
        f"Layer {layer}: {'head' if len(gone) == 1 else 'heads'} {', '.join(map(str, gone))}"
        for layer, gone in pruning.heads.items()
    ]
    said = "No set of heads passed, so nothing is certified and no head is removed."
    if pruning.certified:
        said = f"On average over inputs like these, {bound_text(pruning)}, with {share(1 - pruning.alpha)} "
        said += "confidence."
    model = dict(pruning.manifest.get("model") or {})
    if "layers" in model:
        model["layers"] = layers_read(pruning.stack).removesuffix(" layers").removesuffix(" layer")
        model.pop("blocks", None)
    recorded = [*_facts({**pruning.manifest, "model": model})]
    return blocks.Page(
        f"Pruning: {answer_of(pruning).title}",
        [
            Section("curve", "Damage", "Damage of removing heads", [
                curve(pruning),
                Fold("The numbers behind this figure", [Grid(steps_sheet(pruning), WITHIN)]),
            ]),
            Section("heads", "Heads", "Which heads leave", [
                blocks.Drawing("still_map", {"width": 24 + 26 * heads, "map": drawn}),
                Text(f"Rows: layers. Columns: heads. {MARKS['removed']}: the head is removed.", "key"),
                *([Points(by_layer)] if by_layer else []),
                Fold("All heads in their order", [Grid(order_table(pruning), "removed")]),
            ]),
            Section("sure", "Certificate", "What the certificate says", [
                Text(said, "lead"),
                Points([
                    "One half of the units ordered the heads. The other half tested sets of them.",
                    "Sets were tested in their order, until the first that did not pass. So no correction is "
                    "needed.",
                    f"At most {share(pruning.alpha)} of such certificates are expected to be wrong. Harm "
                    "that very few inputs show, such as one in fifty, can be missed.",
                    "The certificate is about the model of this folder, and inputs like these. Other inputs "
                    "need a check of their own.",
                ]),
            ]),
            Section("run", "What was run", "What was run", [
                blocks.Command(str(pruning.manifest.get("command") or "")),
                blocks.Words(recorded, "Everything that was recorded", ""),
                blocks.Downloads((*small, "manifest.json")),
            ]),
        ],
        {}, small,
    )  # fmt: skip


def _facts(manifest: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield what the manifest records in one word or number, with entries of entries by their path."""
    for name, value in manifest.items():
        if isinstance(value, Mapping):
            yield from ((f"{name} · {inner}", text) for inner, text in _facts(value))
        elif isinstance(value, str | int | float) and name != "command" and value != "":
            yield name, str(value)
