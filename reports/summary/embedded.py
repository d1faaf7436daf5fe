"""Data that the page's scripts read: every finding once, as compact JSON that no markup can leave."""

import base64
import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from headroles.records.arrays import key_groups
from headroles.records.findings import COLUMNS, DECISIONS
from headroles.records.shown.looks import family_of, parts_of, tone_of
from headroles.records.shown.phrases import phrase_of
from headroles.reports.records import Summary


def script_json(text: str) -> str:
    r"""Return JSON that can stand inside a script element: it holds no ``<``, ``>`` or ``&``.

    Example:
        >>> script_json('"</script>"')
        '"\\u003c/script\\u003e"'
    """
    for letter in "<>&":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return text


def findings_json(
    summary: Summary,
    model: object = None,
    verdicts: Sequence[tuple[int, np.ndarray]] = (),
    **terms: Any,
) -> str:
    """Return all findings by column: 64-bit floats, little-endian, base64.

    A column that is the same for all heads of a sieve is stored once per sieve. Where heads share keys
    and values, ``shared`` has the group of each; it is empty elsewhere. For every role,
    ``strong`` and ``absent`` have the numbers of such heads.

    Args:
        summary: Of the run.
        model: The manifest's entry on the model.
        verdicts: Columns whose decisions are shown by codes of the page's own, with these codes; files have
            the decisions of the tests.
        terms: How the table of all numbers writes them. ``words`` are those of the codes, ``fine`` the
            columns with three digits in place of three decimals, ``noun`` what a column is, ``chance`` what
            it is compared with, ``tested`` what is above and below that, ``first`` the column shown at first.
    """
    table = summary.table
    size = table.layers * table.heads
    names = [role.sieve for role in summary.roles]
    parts = parts_of(names)
    groups = key_groups(model, table.layers, table.heads)
    tested = np.where(table.decision < 0, len(DECISIONS), table.decision).astype("u1")
    shown = tested.copy()
    for column, codes in verdicts:
        shown[column * size : (column + 1) * size] = codes.ravel()
    content = {
        "layers": table.stack.numbers,
        "heads": table.heads,
        "sieves": table.sieves,
        "alpha": summary.decision.alpha,
        "decisions": [*DECISIONS, ""],
        "names": COLUMNS,
        "precision": table.precision,
        "columns": {name: _column_text(table.columns[name], size) for name in (*COLUMNS, *table.precision)},
        "decision": _base64(tested),
        "shown": _base64(shown) if verdicts else "",
        "words": [*DECISIONS, "contrast"],
        "roles": [
            {
                "sieve": role.position,
                "title": phrase_of(role.sieve).title,
                "family": family_of(role.sieve),
                "hue": tone_of(family_of(role.sieve)),
                "parts": [names.index(part) for part in parts.get(role.sieve, ())],
                "count": role.tally.role,
                "code": role.code,
                "tone": role.tone,
                "threshold": role.threshold,
                "contrast": table.sieves.index(role.contrast) if role.contrast else -1,
                "control": role.control,
                "verdict": role.verdict,
                "stronger": role.stronger,
                "strong": np.flatnonzero(strong).tolist(),
                "absent": np.flatnonzero(absent).tolist(),
            }
            for role, strong, absent in zip(summary.roles, summary.strong, summary.absent, strict=True)
        ],
        "shared": [] if groups is None else groups.ravel().tolist(),
        **terms,
    }
    return script_json(json.dumps(content, separators=(",", ":")))


def manifest_json(manifest: Mapping[str, Any]) -> str:
    """Return the manifest as a file would hold it."""
    return script_json(json.dumps(manifest, indent=2, default=_native))


def _native(value: object) -> object:
    """Return a value as JSON can hold it."""
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, np.generic):
        return value.item()
    return str(value)


def _column_text(column: Float[np.ndarray, " rows"], size: int) -> str:
    """Return a column as base64; one value per sieve where all heads of every sieve share it."""
    by_sieve = column.reshape(-1, size)
    first = by_sieve[:, :1]
    same = (by_sieve == first) | (np.isnan(by_sieve) & np.isnan(first))
    return _base64((first.ravel() if same.all() else column).astype("<f8"))


def _base64(values: np.ndarray) -> str:
    """Return the bytes of an array as base64."""
    return base64.b64encode(np.ascontiguousarray(values).tobytes()).decode("ascii")
