"""What a page embeds: findings, manifest, tables, tokens and arrays, as JSON that no markup can leave."""

import base64
import json
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from headroles.kinds import kind_of
from headroles.records.arrays import key_groups
from headroles.records.example import Example
from headroles.records.findings import COLUMNS, DECISIONS, Labelling
from headroles.records.layers import number_layers
from headroles.records.roles import family_of, parts_of, titles_of, tone_of
from headroles.reports.summary import Summary
from headroles.reports.words import visible_pieces
from headroles.storage.tables import summary_texts

LARGEST = 1_000_000
"""Most characters of a table that a page embeds; larger tables stay in the run folder."""
LEVEL = 9
"""Of zlib's compression: the smallest page."""


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
    summary: Summary, model: object = None, verdicts: Sequence[tuple[int, np.ndarray]] = (), **terms: Any
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
    names = summary.names
    parts, groups = parts_of(names), key_groups(model, summary.layers, summary.heads)
    tested = np.where(summary.codes < 0, len(DECISIONS), summary.codes).astype("u1")
    shown = tested.copy()
    for column, codes in verdicts:
        shown[column] = codes.ravel()

    def column_text(column: Float[np.ndarray, "sieves heads"]) -> str:
        first = column[:, :1]
        same = (column == first) | (np.isnan(column) & np.isnan(first))
        return _base64((first if same.all() else column).astype("<f8"))

    roles = [
        {
            "sieve": role.position, "title": title, "family": family_of(role.sieve),
            "hue": tone_of(family_of(role.sieve)),
            "parts": [names.index(part) for part in parts.get(role.sieve, ())],
            "count": role.tally.role, "code": role.code, "tone": role.tone, "threshold": role.threshold,
            "contrast": summary.sieves.index(role.contrast) if role.contrast else -1,
            "control": role.control, "verdict": role.verdict, "stronger": role.stronger,
            "strong": np.flatnonzero(strong).tolist(), "absent": np.flatnonzero(absent).tolist(),
        }
        for role, title, strong, absent in zip(
            summary.roles, titles_of(names), summary.strong, summary.absent, strict=True
        )
    ]  # fmt: skip
    content = {
        "layers": summary.stack.numbers, "heads": summary.heads, "sieves": summary.sieves,
        "alpha": summary.decision.alpha, "decisions": [*DECISIONS, ""], "names": COLUMNS,
        "precision": summary.precision,
        "columns": {name: column_text(summary.columns[name]) for name in (*COLUMNS, *summary.precision)},
        "decision": _base64(tested), "shown": _base64(shown) if verdicts else "",
        "words": [*DECISIONS, "contrast"], "roles": roles,
        "shared": [] if groups is None else groups.ravel().tolist(), **terms,
    }  # fmt: skip
    return script_json(json.dumps(content, separators=(",", ":")))


def _base64(values: np.ndarray) -> str:
    """Return the bytes of an array as base64."""
    return base64.b64encode(values.tobytes()).decode("ascii")


def manifest_json(manifest: Mapping[str, Any]) -> str:
    """Return the manifest as a file would hold it."""

    def native(value: object) -> object:
        if isinstance(value, Mapping):
            return dict(value)
        return value.item() if isinstance(value, np.generic) else str(value)

    return script_json(json.dumps(manifest, indent=2, default=native))


def files_of(labelling: Labelling) -> dict[str, str]:
    """Return the text of the smaller tables of a run by file name, as the run folder holds them.

    Findings, labels and precision are left out, because the page makes them from the numbers it shows; so
    are tables of more than ``LARGEST`` characters and those that hold no row.

    Args:
        labelling: The result of a run.
    """
    stack = labelling.scores.stack
    texts = summary_texts(labelling.assessment, stack) if labelling.assessment else {}
    downloads = kind_of(labelling).downloads(labelling)
    texts |= {name: number_layers(text, stack.numbers) for name, text in downloads.items()}
    return {name: text for name, text in texts.items() if len(text) <= LARGEST and text.count("\n") > 1}


def files_json(files: Mapping[str, str]) -> str:
    """Return texts by file name as JSON that can stand inside a page."""
    return script_json(json.dumps(dict(files), ensure_ascii=False, separators=(",", ":")))


def pack(array: np.ndarray) -> str:
    r"""Return the bytes of an array, zlib at level 9, base64.

    Args:
        array: Of any shape and a fixed-size dtype; written in C order, as the dtype has its bytes.

    Returns:
        Text that ``unpack`` of ``elements.js`` turns into the same bytes.

    Example:
        >>> zlib.decompress(base64.b64decode(pack(np.array([[1, 2], [3, 255]], dtype=np.uint8))))
        b'\x01\x02\x03\xff'
    """
    return base64.b64encode(zlib.compress(array.tobytes(), LEVEL)).decode("ascii")


def tokens_of(example: Example) -> dict[str, list[Any]]:
    """Return the tokens of an input as a drawing of attention needs them.

    Args:
        example: One input.

    Returns:
        ``pieces``: each token as it is shown; ``segment``: its text from 0, −1 on special tokens;
        ``special``: 1 on special tokens, else 0; ``word``: its word, −1 where none is known.

    Example:
        >>> tokens_of(Example("note", ("Ġit", "Ġrains"), word=np.array([0, 1])))["pieces"]
        ['▁it', '▁rains']
    """
    return {
        "pieces": list(visible_pieces(example)),
        "segment": example.segment.tolist(),
        "special": example.special.astype(int).tolist(),
        "word": example.word.tolist(),
    }
