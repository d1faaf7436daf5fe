"""Read a model's attention over a text, stored maps or arrays, and show it: ``view()`` and ``Viewed``."""

from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from html import escape
from os.path import isdir
from pathlib import Path
from typing import Any

from headroles.errors import BadInput
from headroles.options.keywords import keywords_of
from headroles.options.values import parse_numbers, record_of
from headroles.options.view import MODEL_OPTIONS, ViewOptions
from headroles.records.shown.brief import brief_lines, describe
from headroles.records.view import Maps, View
from headroles.storage.folder import COMPARISON, RUN, make_folder, read_manifest, write_errors, write_files
from headroles.storage.integrity.origin import PAGE_MARK, SVG_MARK, check_replaceable

PAGE = "view.html"
"""File that the command writes by default."""
PLAIN = "plain attention"
"""Stands for the text in the options of a view of arrays."""
HEIGHT = 760
"""Height in pixels of a page within a notebook."""
PARTS_OF_FOLDERS = RUN.holds | COMPARISON.holds


@dataclass(frozen=True, slots=True, eq=False)
class Viewed:
    """Attention over one input, as a page, as a picture, or within a notebook.

    Attributes:
        view: The attention weights, with tokens and model.
        show: View that the page opens with: "head", "model" or "neuron".
    """

    view: View
    show: str = "head"

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
        from headroles.reports.views.page import view_page

        return view_page(self.view, self.show)

    def svg(
        self,
        layer: int,
        heads: Any = None,
        *,
        kind: str | None = None,
        **looks: Any,
    ) -> str:
        """Return an SVG with lines between the tokens of one layer, its heads laid over each other.

        Args:
            layer: A layer of the view, from 0.
            heads: Heads such as "0,2-4", one number or several; None for all of the view.
            kind: Attention of an encoder-decoder: "encoder", "decoder" or "cross"; None for the first one.
            **looks: Options of ``headroles.reports.views.svg.view_svg``: ``level``, ``specials``, ``sink``,
                ``width``.

        Raises:
            BadInput: For a layer, head or kind that the view does not hold.
        """
        from headroles.reports.views.svg import view_svg

        maps = self._maps(kind)
        return view_svg(maps, layer, parse_numbers("heads", heads) or maps.heads, **looks)

    def _maps(self, kind: str | None) -> Maps:
        """Return the maps of a kind; the first ones for None."""
        for maps in self.view.maps:
            if kind in (None, maps.kind):
                return maps
        from headroles.reports.words.words import join_names

        raise BadInput(
            f"this view holds {join_names([maps.kind for maps in self.view.maps])} attention, but got "
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
        _check_files({target: PAGE_MARK}, overwrite)
        _write({target: self.html()})
        return target

    def _repr_html_(self) -> str:
        """Return the page in a frame of its own, separate from the rest of a notebook."""
        return (
            f'<iframe srcdoc="{escape(self.html())}" sandbox="allow-scripts" '
            f'title="{escape(f"Attention of {self.view.model}")}" '
            f'style="width:100%;height:{HEIGHT}px;border:0;resize:vertical"></iframe>'
        )


@keywords_of(ViewOptions, "text", "text_b", read=dict)
def view(options: dict[str, Any], *, segments: Any = None) -> Viewed:
    """Read a model's attention over a sentence or a pair, stored maps or plain arrays, and return a view.

    ``text`` may also be plain attention: an array (layers, heads, tokens, tokens), or a sequence with an
    array or tensor for each layer, (heads, tokens, tokens) or (1, heads, tokens, tokens). ``text_b`` then
    has its tokens, special tokens included, or two lists of tokens for a pair.

    Args:
        segments: With plain attention, the text of each token, 0 or 1, and −1 on special tokens; None: one
            text (a pair: the two lists), no special tokens.
        {options}

    Returns:
        The view. A notebook shows it by itself; ``.html()``, ``.svg(layer)`` and ``.save(path)`` return
        it as text or write it to a file.

    Raises:
        HeadrolesError: One of its subclasses, in one sentence, with nothing left half-written.
    """
    text, text_b = options.pop("text", None), options.pop("text_b", None)
    if text is None or isinstance(text, str):
        chosen = record_of(ViewOptions, text=text, text_b=text_b, **options)
        if segments is not None:
            raise BadInput("segments are those of plain attention, but a text was given; leave segments out")
        _check_files(_marks_of(chosen), chosen.overwrite)
        shown = _read(chosen)
    else:
        chosen = _options_of_arrays(options)
        _check_files(_marks_of(chosen), chosen.overwrite)
        from headroles.maps.shown import view_of_arrays

        numbers = {"layers": chosen.layers or None, "heads": chosen.heads or None}
        shown = view_of_arrays(text, () if text_b is None else text_b, segments, **numbers)
    viewed = Viewed(shown, chosen.view)
    contents: dict[Path, str] = {}
    if chosen.svg is not None:
        contents[Path(chosen.svg)] = viewed.svg(chosen.layers[0], kind=chosen.kind)
    if chosen.out is not None:
        contents[Path(chosen.out)] = viewed.html()
    _write(contents)
    return viewed


def _read(chosen: ViewOptions) -> View:
    """Read the attention of a model over texts, or that of stored maps."""
    layers, heads = chosen.layers or None, chosen.heads or None
    if chosen.attention is not None:
        from headroles.extraction.texts.files import check_present

        check_present(chosen.attention)
        from headroles.maps.shown import view_of_stored

        return view_of_stored(Path(chosen.attention), chosen.example, layers=layers, heads=heads)
    from headroles.extraction.model.borrow import borrow
    from headroles.extraction.model.checkpoint import find_checkpoint
    from headroles.extraction.views.numbers import check_by_configuration

    checkpoint = find_checkpoint(chosen.model, chosen.revision)
    check_by_configuration(checkpoint.target, layers=layers, heads=heads)
    from headroles.extraction.views.view import read_view

    with borrow(chosen.model):
        return read_view(
            checkpoint,
            tuple(text for text in (chosen.text, chosen.text_b) if text is not None),
            layers=layers,
            heads=heads,
            neurons=chosen.svg is None or chosen.out is not None,
            device=chosen.device,
            device_map=chosen.device_map,
            dtype=chosen.dtype,
            max_length=chosen.max_length,
        )


def _options_of_arrays(options: dict[str, Any]) -> ViewOptions:
    """Return the options of a view of plain attention, which name no model and no stored maps."""
    refused = sorted({"attention", "example", "tokenizer", *MODEL_OPTIONS} & options.keys())
    if refused:
        raise BadInput(
            f"plain attention is shown without a model or stored maps, so {refused[0]} has no effect; leave "
            f"it out"
        )
    return record_of(ViewOptions, text=PLAIN, **options)


def _marks_of(chosen: ViewOptions) -> dict[Path, str]:
    """Return the files that options name, with the mark of each."""
    named = ((chosen.svg, SVG_MARK), (chosen.out, PAGE_MARK))
    return {Path(place): mark for place, mark in named if place is not None}


def _check_files(marks: Mapping[Path, str], overwrite: bool) -> None:
    """Refuse files that cannot be replaced, before any attention is read.

    Raises:
        BadInput: For a folder, a part of a run or comparison, or a file that headroles did not write.
    """
    for path, mark in marks.items():
        if isdir(path):
            raise BadInput(f"a view is written as a file, but '{path}' is a folder; name a file in it")
        if path.name in PARTS_OF_FOLDERS and "headroles" in read_manifest(path.parent):
            raise BadInput(
                f"a view does not take the place of a part of a run or comparison, but '{path}' is one; name "
                f"another file"
            )
        check_replaceable(path, mark, overwrite)


def _write(contents: dict[Path, str]) -> None:
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
