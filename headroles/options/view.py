"""Options of a view."""

from dataclasses import dataclass, fields
from os.path import isdir
from pathlib import Path
from typing import Annotated

from headroles.errors import BadInput
from headroles.options.described import Option, check_values
from headroles.options.shared import (
    ATTENTION,
    DEVICE,
    DEVICE_MAP,
    DTYPE,
    KIND,
    MAX_LENGTH,
    MODEL,
    OUT,
    OVERWRITE,
    REVISION,
    SVG,
    TEXT_B,
    check_devices,
)
from headroles.records.objects import ModelObject

SHOWS = ("head", "model", "neuron")
"""The three views on a page, of which one opens first."""
MODEL_OPTIONS = ("model", "revision", "max_length", "device", "device_map", "dtype", "kind")
"""Options of views of a model, which views of stored maps and of arrays do not accept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewOptions:
    """Options of a view; ``headroles.view`` documents each.

    Raises:
        UnknownName: For a first view, a kind of attention, a device or a precision that does not exist.
        BadInput: For neither a text nor stored maps, texts without a letter, numbers out of range, options
            that exclude each other, or files that cannot be written where they are named.
    """

    text: Annotated[
        str | None,
        Option(
            "Text for the model; for the encoder of an encoder-decoder.",
            "Inputs",
            argument=True,
            python="str | Any | None",
        ),
    ] = None
    text_b: Annotated[
        str | None,
        TEXT_B.but(detail="For the decoder of an encoder-decoder.", argument=True, python="str | Any | None"),
    ] = None
    attention: Annotated[str | None, ATTENTION] = None
    example: Annotated[
        str | None,
        Option("Key or number (from 0) of an example of the stored maps.", "Inputs", default="the first"),
    ] = None
    model: Annotated[str | ModelObject | None, MODEL] = None
    revision: Annotated[str | None, REVISION] = None
    view: Annotated[str, Option("View that opens first.", "Output", choices=SHOWS)] = "head"
    layers: Annotated[
        tuple[int, ...],
        Option(
            "Layers such as 0,2-4, counted from 0.",
            "Questions",
            default="all",
            python="str | int | Iterable[int] | None",
        ),
    ] = ()
    heads: Annotated[
        tuple[int, ...],
        Option(
            "Heads such as 0-3, counted from 0.",
            "Questions",
            default="all",
            python="str | int | Iterable[int] | None",
        ),
    ] = ()
    max_length: Annotated[int, MAX_LENGTH] = 512
    device: Annotated[str, DEVICE] = "auto"
    device_map: Annotated[str | None, DEVICE_MAP] = None
    dtype: Annotated[str, DTYPE] = "float32"
    out: Annotated[
        str | None, OUT.but(detail="An HTML file.", default="view.html, or none with --svg; none in Python")
    ] = None
    svg: Annotated[
        str | None,
        SVG.but(detail="The heads of one layer, which --layers names."),
    ] = None
    overwrite: Annotated[bool, OVERWRITE.but(detail="Needed for files that headroles did not write.")] = False
    kind: Annotated[
        str | None, KIND.but(detail="Only for --svg.", default="the first that the model has")
    ] = None

    def __post_init__(self) -> None:
        """Check what can be checked without opening anything."""
        check_values(self)
        check_devices(self.device, self.device_map)
        self._check_source()
        for name, text in (("text", self.text), ("text_b", self.text_b)):
            if text is not None and not text.strip():
                raise BadInput(f"a view shows attention between tokens, but {name} is empty; give a sentence")
        if self.revision is not None and self.model is None:
            raise BadInput("--revision is that of a model on the hub, so --model must name the model")
        self._check_files()

    def _check_source(self) -> None:
        """Refuse texts together with stored maps, neither of them, and options of the other."""
        if (self.text is None) == (self.attention is None):
            got = "neither" if self.text is None else "both"
            raise BadInput(f"a view is of a text, or of stored maps (--attention), but got {got}; give one")
        if self.attention is None and self.example is not None:
            raise BadInput("--example names an example of stored maps, so --attention must name their file")
        defaults = {field.name: field.default for field in fields(self)}
        for name in ("text_b", *MODEL_OPTIONS) if self.attention is not None else ():
            if getattr(self, name) != defaults[name]:
                raise BadInput(
                    f"stored maps are shown without a model, so {name.replace('_', '-')} has no effect; "
                    f"leave it out"
                )

    def _check_files(self) -> None:
        """Refuse paths where no file can be, and an SVG of no layer or several layers."""
        for name, place in (("out", self.out), ("svg", self.svg)):
            if place is not None and (not place or isdir(place)):
                raise BadInput(
                    f"--{name} names a file, but '{place}' is {'a folder' if place else 'no name'}; "
                    f"name a file in it"
                )
        if self.svg is None and self.kind is not None:
            raise BadInput("--kind is for an SVG, which only --svg asks for; leave it out")
        if self.svg is None:
            return
        if len(self.layers) != 1:
            raise BadInput(
                f"an SVG shows one layer, so --layers must name exactly one, but got "
                f"{len(self.layers) or 'none'}; a page (--out) shows several"
            )
        if self.out is not None and Path(self.out).resolve() == Path(self.svg).resolve():
            raise BadInput(f"--out and --svg both name the file '{self.svg}'; name another for one of them")
