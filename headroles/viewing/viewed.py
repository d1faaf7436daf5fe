"""Attention over an input as a page, as a picture or in a notebook: ``Viewed``, and the files of views."""

from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from html import escape
from os.path import isdir
from pathlib import Path
from typing import Any

from headroles.errors import BadInput
from headroles.options.values import parse_numbers
from headroles.options.view import ViewOptions
from headroles.records.brief import brief_lines, describe
from headroles.records.view import Maps, View
from headroles.storage.folder import (
    KINDS,
    make_folder,
    read_manifest,
    write_errors,
    write_files,
)
from headroles.storage.integrity.origin import PAGE_MARK, SVG_MARK, check_replaceable

PAGE = "view.html"
"""File that the command writes by default."""
HEIGHT = 760
"""Height in pixels of a page within a notebook."""
PARTS_OF_FOLDERS = frozenset[str]().union(*(kind.holds for kind in KINDS))


@dataclass(frozen=True, slots=True, eq=False)
class Viewed:
    """Attention over one input, as a page, as a picture, or within a notebook.

    Attributes:
        view: The attention weights, with tokens and model.
        show: View that the page opens with: "head", "model" or "neuron".
        also: Further inputs, which pictures show below the first.
    """

    view: View
    show: str = "head"
    also: tuple[View, ...] = ()

    def __repr__(self) -> str:
        """Return model, texts and the attention that the view holds."""
        facts = [("model", self.view.model), ("texts", describe(self.view.texts))]
        facts += [
            (
                maps.kind,
                f"{len(maps.layers)} layers × {len(maps.heads)} heads, "
                f"{maps.queries.size} × {maps.keys.size} tokens",
            )
            for maps in self.view.maps
        ]
        return brief_lines("Viewed", [*facts, ("shown by", ".html(), .svg(layer), .save(path)")])

    def html(self) -> str:
        """Return one self-contained page with all three views."""
        from headroles.reports.view import view_page

        return view_page(self.view, self.show)

    def svg(
        self,
        layers: Any,
        heads: Any = None,
        *,
        kind: str | None = None,
        form: str = "lines",
        token: str | int | None = None,
        **looks: Any,
    ) -> str:
        """Return an SVG of some heads: lines between tokens, heat maps, or the text with shaded tokens.

        There is a row of pictures for every input and layer. Lines lie over each other, and every head has a
        heat map or a text of its own.

        Args:
            layers: Layers of the view such as 2, "0,2-4" or several numbers, from 0.
            heads: Heads such as "0,2-4", one number or several; None for all of the view.
            kind: Attention of an encoder-decoder: "encoder", "decoder" or "cross"; None for the first one.
            form: "lines", "heat" or "text".
            token: With "text", the token whose attention is shown, by number or itself; None for the
                attention that every token gets, in the mean over the tokens that attend.
            **looks: Options of ``headroles.reports.pictures.view_svg``: ``level``, ``specials``, ``sink``,
                ``width``.

        Raises:
            BadInput: For a layer, head, kind or token that the view does not hold.
            UnknownName: For another form or level.

        Example:
            >>> import numpy as np
            >>> from headroles.records.example import Example
            >>> example = Example("note", ("it", "rains"))
            >>> weights = np.array([[255, 0], [102, 153]], dtype=np.uint8)[None, None]
            >>> maps = Maps("self", (0,), (3,), example, example, weights)
            >>> viewed = Viewed(View("m", ("it rains",), (maps,)))
            >>> viewed.svg(0, form="text", token="rains").count("</text>")
            5
        """
        from headroles.reports.pictures import view_svg

        chosen = [self._maps(view, kind) for view in (self.view, *self.also)]
        return view_svg(
            chosen,
            parse_numbers("layers", layers) or chosen[0].layers,
            parse_numbers("heads", heads) or chosen[0].heads,
            captions=[" / ".join(view.texts) for view in (self.view, *self.also)] if self.also else (),
            form=form,
            token=None if token is None else str(token),
            **looks,
        )

    def _maps(self, view: View, kind: str | None) -> Maps:
        """Return the maps of a kind; the first ones for None."""
        for maps in view.maps:
            if kind in (None, maps.kind):
                return maps
        from headroles.records.numbers import join_names

        raise BadInput(
            f"this view holds {join_names([maps.kind for maps in view.maps])} attention, but got "
            f"{kind!r}; name one of those, or leave the kind out"
        )

    def save(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Write the page as one file, and return its path.

        Args:
            path: The file.
            overwrite: Whether a file there that headroles did not write is replaced.

        Raises:
            BadInput: When the file cannot be written, or headroles did not write the one that is there.
        """
        target = Path(path)
        check_files({target: PAGE_MARK}, overwrite)
        write_contents({target: self.html()})
        return target

    def _repr_html_(self) -> str:
        """Return the page in a frame of its own, separate from the rest of a notebook."""
        return (
            f'<iframe srcdoc="{escape(self.html())}" sandbox="allow-scripts" '
            f'title="{escape(f"Attention of {self.view.model}")}" '
            f'style="width:100%;height:{HEIGHT}px;border:0;resize:vertical"></iframe>'
        )


def marks_of(chosen: ViewOptions) -> dict[Path, str]:
    """Return the files that options name, with the mark of each."""
    named = ((chosen.svg, SVG_MARK), (chosen.out, PAGE_MARK))
    return {Path(place): mark for place, mark in named if place is not None}


def check_files(marks: Mapping[Path, str], overwrite: bool) -> None:
    """Refuse files that cannot be replaced, before any attention is read.

    Raises:
        BadInput: For a folder, a part of a run or comparison, or a file that headroles did not write.
    """
    for path, mark in marks.items():
        if isdir(path):
            raise BadInput(f"a view is written as a file, but '{path}' is a folder; name a file in it")
        if path.name in PARTS_OF_FOLDERS and "headroles" in read_manifest(path.parent):
            raise BadInput(
                f"a view must not replace a file of a run or comparison, but '{path}' is one; name "
                "another file"
            )
        check_replaceable(path, mark, overwrite)


def write_contents(contents: dict[Path, str]) -> None:
    """Write files by rename, either all of them or none.

    Raises:
        BadInput: When a file cannot be written.
    """
    with write_errors(_quoted(contents)), ExitStack() as folders:
        for path in contents:
            folders.enter_context(make_folder(path.parent))
        write_files(dict(contents))


def _quoted(paths: Iterable[Path]) -> str:
    """Return the paths in quotes, joined by "and"."""
    return " and ".join(f"'{path}'" for path in paths)
