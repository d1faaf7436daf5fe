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
    OWN_SIEVE,
    REVISION,
    SVG,
    TEXT_B,
    WEIGHTS,
    check_devices,
)
from headroles.records.objects import ModelObject

SHOWS = ("head", "model", "neuron")
"""The three views on a page, of which one opens first."""
FORMS = ("lines", "heat", "text")
"""What an SVG draws: lines between tokens, a heat map, or the text with shaded tokens."""
RUN = "a run in memory"
"""Stands for the folder of a run that was given as an object."""
MODEL_OPTIONS = ("model", "revision", "max_length", "device", "device_map", "dtype", "kind", "weights")
"""Options of views of a model, which views of stored maps and of arrays do not accept."""
OF_RUN = ("model", "revision")
"""Options that a run answers by itself."""


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
        TEXT_B.but(
            detail="The decoder of an encoder-decoder reads it.", argument=True, python="str | Any | None"
        ),
    ] = None
    run: Annotated[
        str | None,
        Option(
            "A finished run: the view shows its model, its roles and their keys. Without TEXT, the "
            "view shows an input of the run.",
            "Inputs",
            path=True,
            python="str | Path | Labelling | None",
            in_python="Or the run itself.",
        ),
    ] = None
    sieve: Annotated[tuple[str, ...], OWN_SIEVE] = ()
    also: Annotated[
        tuple[str, ...],
        Option(
            "Another text for the SVG, below the first; of stored maps, another example. Can be given "
            "several times.",
            "Inputs",
        ),
    ] = ()
    attention: Annotated[str | None, ATTENTION] = None
    example: Annotated[
        str | None,
        Option("Key or number (from 0) of an example of the stored maps.", "Inputs", default="the first"),
    ] = None
    model: Annotated[str | ModelObject | None, MODEL] = None
    revision: Annotated[str | None, REVISION] = None
    weights: Annotated[
        str | None, WEIGHTS.but(default="attention; with --run, as the run read it", python="str | None")
    ] = None
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
        SVG.but(detail="It shows the heads of the layers that --layers names."),
    ] = None
    as_: Annotated[
        str,
        Option(
            "What the SVG draws: lines, a heat map, or the text with shaded tokens.",
            "Output",
            kind="form of an SVG",
            choices=FORMS,
        ),
    ] = "lines"
    token: Annotated[
        str | None,
        Option(
            "Token whose attention the text shows, by its number (from 0) or its text. Only for --as text.",
            "Output",
            default="the attention that each token gets",
            python="str | int | None",
        ),
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
        if self.revision is not None and self.model is None and self.run is None:
            raise BadInput("--revision is that of a model on the hub, so --model must name the model")
        self._check_files()

    def _check_source(self) -> None:
        """Refuse texts together with stored maps, no input at all, and options of another source."""
        stored = self.attention is not None
        if stored and (self.text is not None or self.run is not None):
            other = "a text" if self.text is not None else "a run"
            raise BadInput(
                "a view shows stored maps (--attention), or a model on a text, but got both maps and "
                f"{other}; give one of them"
            )
        if not stored and self.text is None and self.run is None:
            raise BadInput(
                "a view needs a text, stored maps (--attention) or a run (--run), but got none; give one"
            )
        if not stored and self.example is not None:
            raise BadInput("--example names an example of stored maps, so --attention must name their file")
        if self.sieve and self.run is None:
            raise BadInput("--sieve gives a sieve of a run; name the run with --run")
        maps = "stored maps are shown without a model"
        source = maps if self.run is None else "a run brings its own model"
        for name in self._unused():
            if getattr(self, name) != {field.name: field.default for field in fields(self)}[name]:
                raise BadInput(f"{source}, so {name.replace('_', '-')} has no effect; leave it out")
        for text in self.also:
            if self.text_b is not None or not text.strip():
                raise BadInput(
                    "--also is another text, below the first, so it goes with views of one text each; leave "
                    "it out, or give it some text"
                )

    def _unused(self) -> tuple[str, ...]:
        """Return the options that have no effect for the source of the view."""
        if self.attention is not None:
            return ("text_b", *MODEL_OPTIONS)
        if self.run is None or isinstance(self.model, ModelObject):
            return ()
        return OF_RUN if self.text is not None else ("text_b", *OF_RUN)

    def _check_files(self) -> None:
        """Refuse paths where no file can be, and options of an SVG that is not asked for."""
        for name, place in (("out", self.out), ("svg", self.svg)):
            if place is not None and (not place or isdir(place)):
                raise BadInput(
                    f"--{name} names a file, but '{place}' is {'a folder' if place else 'no name'}; "
                    f"name a file in it"
                )
        if self.svg is None:
            for flag, chosen in (("kind", self.kind), ("as", self.as_ != FORMS[0]), ("token", self.token)):
                if chosen:
                    raise BadInput(f"--{flag} changes an SVG, which needs --svg; leave it out, or give --svg")
            return
        if self.token is not None and self.as_ != "text":
            raise BadInput("--token is for the text with shaded tokens; give --as text, or leave it out")
        if not self.layers:
            raise BadInput(
                "an SVG shows some layers, so --layers must name at least one, but got none; a page (--out) "
                "shows them all"
            )
        if self.out is not None and Path(self.out).resolve() == Path(self.svg).resolve():
            raise BadInput(f"--out and --svg both name the file '{self.svg}'; name another for one of them")
