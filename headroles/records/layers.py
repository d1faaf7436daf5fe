"""Layers whose attention is read, by the position of their block in the model.

Arrays hold the layers that are read, in the order in which they run, and rows of results name a layer by its
place among these. In a model with blocks without attention (a hybrid) that is not the layer's number: tables,
pages and messages give the position of the block in its stack, as the checkpoint counts, from 0.
"""

import csv
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from io import StringIO
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
from jaxtyping import Float, Int

from headroles.errors import BadInput, shorten

Row = TypeVar("Row", bound=Any)
HEAD_NAME = re.compile(r"\s*(?:l\s*(\d+)\s*h|(\d+)\s*[-. ])\s*(\d+)\s*", re.IGNORECASE)
"""A head as people name it; the page has the same pattern."""
HEAD_FORMS = "2-8, L2H8, 2.8 or (2, 8)"
"""Names of one head."""
LAYER_COLUMNS = frozenset({"layer", "near_layer"})
"""Columns of tables that hold layers."""


@dataclass(frozen=True, slots=True)
class StackLayer:
    """One layer whose attention is read.

    Attributes:
        index: Position of its block in the stack, from 0, in the order in which blocks run.
        module: Path of the module that computes its attention, or of its block; "" where not known.
        shared: Positions of the other layers that the same module computes.
    """

    index: int
    module: str = ""
    shared: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Stack:
    """The layers that are read, among all blocks of a model's stack.

    Attributes:
        layers: Those whose attention is read, in the order in which they run.
        blocks: Number of all blocks, those without attention counted.
    """

    layers: tuple[StackLayer, ...]
    blocks: int

    @property
    def numbers(self) -> tuple[int, ...]:
        """Return the position of each layer that is read."""
        return tuple(layer.index for layer in self.layers)

    @property
    def positions(self) -> Int[np.ndarray, " layers"]:
        """Return the same as an array."""
        return np.array(self.numbers, dtype=np.int64)

    @property
    def whole(self) -> bool:
        """Return whether every block is read, so that places and positions are the same."""
        return self.numbers == tuple(range(self.blocks))

    @property
    def words(self) -> str:
        """Return in how many layers attention is read; "" where it is read in all.

        Example:
            >>> Stack((StackLayer(3),), 4).words, plain_stack(2).words
            ('attention in 1 of 4 layers', '')
        """
        return "" if self.whole else f"attention in {len(self.layers)} of {self.blocks} layers"

    def name(self, layer: int, head: int) -> str:
        """Return the name of a head, such as "3-0".

        Args:
            layer: Place of its layer among those that are read.
            head: Its place in the layer.
        """
        return f"{self.numbers[layer]}-{head}"

    def place(self, number: Any) -> int:
        """Return the place of a layer among those that are read.

        Args:
            number: Its position.

        Raises:
            BadInput: When no attention of that layer is read.

        Example:
            >>> Stack((StackLayer(3), StackLayer(7)), 8).place(7)
            1
        """
        if isinstance(number, int | np.integer) and number in self.numbers:
            return self.numbers.index(int(number))
        known = f"0 to {self.blocks - 1}" if self.whole else ", ".join(map(str, self.numbers))
        raise BadInput(f"layers with attention are {known}, but got {shorten(number)}; name one of those")

    def head(self, given: Any, heads: int) -> tuple[int, int]:
        """Return the position of the layer of a named head, and its place in the layer.

        Args:
            given: The name: "2-8", "L2H8", "2.8", or layer and head as a pair.
            heads: Heads of a layer.

        Raises:
            BadInput: When it names no head, or one that is not there.

        Example:
            >>> stack = plain_stack(6)
            >>> [stack.head(name, 12) for name in ("2-8", "L2H8", "2.8", (2, 8))]
            [(2, 8), (2, 8), (2, 8), (2, 8)]
        """
        named = HEAD_NAME.fullmatch(given) if isinstance(given, str) else None
        pair = [int(part) for part in named.groups() if part] if named else given
        known = f"{self.numbers[0]}-0 to {self.numbers[-1]}-{heads - 1}"
        if not isinstance(pair, Sequence) or len(pair) != 2 or isinstance(pair, str):
            raise BadInput(
                f"a head is named by its layer and its place in the layer, as in {HEAD_FORMS}, but got "
                f"{shorten(given)}; name one of {known}"
            )
        layer, head = pair
        self.place(layer)
        if not isinstance(head, int | np.integer) or not 0 <= head < heads:
            raise BadInput(f"heads are {known}, but got {layer}-{shorten(head)}; name one of those")
        return int(layer), int(head)

    def depths(self) -> Float[np.ndarray, " layers"]:
        """Return the relative depth of every layer that is read: (position + 1/2) / blocks, 0 to 1."""
        depths: np.ndarray = (self.positions + 0.5) / self.blocks
        return depths

    def thirds(self) -> Int[np.ndarray, " layers"]:
        """Return the third of the whole stack that each layer lies in: 0, 1 or 2.

        Example:
            >>> plain_stack(6).thirds().tolist()
            [0, 0, 1, 1, 2, 2]
        """
        thirds: np.ndarray = np.minimum(3 * (2 * self.positions + 1) // (2 * self.blocks), 2)
        return thirds

    @property
    def described(self) -> dict[str, Any]:
        """Return "layers" and "blocks" of a manifest, in JSON types."""
        layers = [
            {"index": each.index, "module": each.module}
            | ({"shared": list(each.shared)} if each.shared else {})
            for each in self.layers
        ]
        return {"layers": layers, "blocks": self.blocks}


def plain_stack(layers: int) -> Stack:
    """Return a stack of which every block is read, where no module is known.

    Example:
        >>> plain_stack(2).described
        {'layers': [{'index': 0, 'module': ''}, {'index': 1, 'module': ''}], 'blocks': 2}
    """
    return Stack(tuple(StackLayer(place) for place in range(layers)), layers)


def stack_of(model: Mapping[str, Any]) -> Stack:
    """Return the stack that a manifest describes.

    Args:
        model: The manifest's entry of the model.

    Raises:
        ValueError: When positions do not increase, or reach the number of blocks.

    Example:
        >>> stack_of({"layers": [{"index": 3}, {"index": 7}], "blocks": 8}).numbers
        (3, 7)
    """
    layers = tuple(
        StackLayer(int(each["index"]), str(each.get("module", "")), tuple(each.get("shared", ())))
        for each in model["layers"]
    )
    stack = Stack(layers, int(model["blocks"]))
    if not all(a < b for a, b in pairwise([-1, *stack.numbers, stack.blocks])):
        raise ValueError(f"layers {stack.numbers} do not increase below {stack.blocks}")
    return stack


def stored_stack(model: Mapping[str, Any], layers: int) -> Stack:
    """Return the stack that is stated of maps or results; all blocks where none of as many layers is.

    Args:
        model: The entry of the model, of any types.
        layers: Layers of the maps or results.

    Example:
        >>> stored_stack({"layers": [{"index": 3}], "blocks": 4}, 1).numbers, stored_stack({}, 1).numbers
        ((3,), (0,))
    """
    try:
        stack = stack_of(model)
    except (KeyError, TypeError, ValueError, AttributeError):
        return plain_stack(layers)
    return stack if len(stack.layers) == layers else plain_stack(layers)


def by_position(rows: Iterable[Row], stack: Stack) -> tuple[Row, ...]:
    """Return rows whose ``layer`` is the position of a layer, in place of its place; −1, for none, stays.

    Args:
        rows: Dataclasses with a ``layer``.
        stack: The layers by their positions.
    """
    if stack.whole:
        return tuple(rows)
    numbers = (*stack.numbers, -1)
    return tuple(replace(row, layer=numbers[row.layer]) for row in rows)


def number_layers(table: str, numbers: Sequence[int]) -> str:
    """Return the text of a CSV table whose layers are given by position, in place of place.

    Args:
        table: Text of a table with a header; one without layers comes back as it is.
        numbers: Positions of the layers that are read.

    Example:
        >>> number_layers(f"layer,head{chr(10)}1,0", (3, 7)).split()
        ['layer,head', '7,0']
    """
    header = table.partition("\n")[0].split(",")
    if [*numbers] == [*range(len(numbers))] or not LAYER_COLUMNS.intersection(header):
        return table
    names, *rows = csv.reader(StringIO(table))
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    to_number = {str(place): str(number) for place, number in enumerate(numbers)}
    named = [name in LAYER_COLUMNS for name in names]
    writer.writerows(
        [other_layer(cell, to_number) if layer else cell for cell, layer in zip(row, named, strict=True)]
        for row in rows
    )
    return text.getvalue()


def other_layer(cell: str, names: Mapping[str, str]) -> str:
    """Return a cell of a column of layers with the other name of its layer.

    Args:
        cell: Its text; "-1", for no layer, stays.
        names: Other name of each layer.

    Raises:
        ValueError: When it names an unknown layer.
    """
    if cell == "-1":
        return cell
    if cell not in names:
        raise ValueError(f"there is a row of layer {cell!r}, whose attention was not read")
    return names[cell]
