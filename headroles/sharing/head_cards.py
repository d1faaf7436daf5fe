"""Head cards as JSON: what each head of a run does, with its decisions and means, and no text of an input."""

import json
from typing import Any

from headroles.kinds import kind_of
from headroles.records.findings import Labelling
from headroles.records.roles import phrase_of
from headroles.reports.account import title_of
from headroles.reports.console import MARKS
from headroles.reports.facts import without_nan

CARDS = "heads.json"
"""Name of the file."""
SCHEMAS = ("manifest.schema.json", "heads.schema.json")
"""Names of the schemas."""


def head_cards(labelling: Labelling) -> dict[str, Any]:
    """Return the card of every head in JSON types, as ``heads.schema.json`` describes them.

    Args:
        labelling: A run of any kind.

    Returns:
        Facts of the run, the roles with their thresholds, and one card per head, layer by layer. A card has
        a sentence and, per role, the decision, the mean score with its 95 % interval, and q. A number that
        does not exist (NaN) is None.
    """
    kind, findings = kind_of(labelling), labelling.findings
    low, high = labelling.mean_intervals()
    numbers, heads = labelling.scores.stack.numbers, labelling.scores.heads
    places = {name: findings.of(name) for name in findings.roles}
    rules = {rule.sieve: rule for rule in findings.rules}

    def answer(name: str, layer: int, head: int) -> dict[str, Any]:
        """Return what was decided about one role of one head."""
        spot = (places[name], layer, head)
        decision = int(findings.decision[spot])
        numbers = {"mean": findings.mean, "low": low, "high": high, "q": findings.q}
        return {
            "decision": kind.outcomes[decision] if 0 <= decision < len(kind.outcomes) else None,
            **without_nan({name: float(grid[spot]) for name, grid in numbers.items()}),
        }

    return {
        "schema": SCHEMAS[1],
        "headroles": labelling.manifest.get("headroles"),
        "kind": kind.name,
        "title": title_of(labelling).translate(MARKS),
        "model": dict(labelling.manifest.get("model") or {}).get("name"),
        "layers": len(numbers),
        "heads": heads,
        "roles": [
            {"name": name, "title": phrase_of(name).title.translate(MARKS)}
            | without_nan({"margin": float(rules[name].margin)})
            for name in places
        ],
        "cards": [
            {
                "layer": number,
                "head": head,
                "sentence": kind.head_sentence(labelling, layer, head).translate(MARKS),
                "roles": {name: answer(name, layer, head) for name in places},
            }
            for layer, number in enumerate(numbers)
            for head in range(heads)
        ],
    }


def head_cards_text(labelling: Labelling) -> str:
    """Return the head cards of a run as the text of ``heads.json``."""
    return json.dumps(head_cards(labelling), indent=1, ensure_ascii=False, allow_nan=False) + "\n"
