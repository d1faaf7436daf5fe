"""Read a model's attention over a text, stored maps, arrays or an input of a run: ``view()``."""

from pathlib import Path
from typing import Any

from headroles.errors import BadInput
from headroles.options.keywords import keywords_of
from headroles.options.values import record_of
from headroles.options.view import MODEL_OPTIONS, RUN, ViewOptions
from headroles.records.findings import Labelling
from headroles.records.objects import ModelObject
from headroles.records.view import View
from headroles.viewing.viewed import Viewed, check_files, marks_of, write_contents

PLAIN = "plain attention"
"""Stands for the text in the options of a view of arrays."""


@keywords_of(ViewOptions, "text", "text_b", read=dict)
def view(options: dict[str, Any], *, segments: Any = None) -> Viewed:
    """Read a model's attention over a sentence or a pair, stored maps or plain arrays, and return a view.

    ``text`` may also be plain attention: an array (layers, heads, tokens, tokens), or a sequence with an
    array or tensor for each layer, (heads, tokens, tokens) or (1, heads, tokens, tokens). ``text_b`` then
    has its tokens, special tokens included, or two lists of tokens for a pair.

    With ``run`` the model is the run's own. Heads then have the roles that the run found in them, and the
    keys of a role can be coloured.

    Args:
        segments: With plain attention, the text of each token, 0 or 1, and −1 on special tokens; None: one
            text (a pair: the two lists), no special tokens.
        {options}

    Returns:
        The view. A notebook shows it by itself; ``.html()``, ``.svg(layers)`` and ``.save(path)`` return
        it as text or write it to a file.

    Raises:
        HeadrolesError: One of its subclasses, in one sentence, with nothing left half-written.
    """
    text, text_b, run = (options.pop(name, None) for name in ("text", "text_b", "run"))
    if isinstance(options.get("token"), int) and not isinstance(options["token"], bool):
        options["token"] = str(options["token"])
    if text is None or isinstance(text, str):
        named = RUN if isinstance(run, Labelling) else run
        chosen = record_of(ViewOptions, text=text, text_b=text_b, run=named, **options)
        if segments is not None:
            raise BadInput("segments are those of plain attention, but a text was given; leave segments out")
        check_files(marks_of(chosen), chosen.overwrite)
        views = _read_stored(chosen) if chosen.attention else _read_model(chosen, run)
    else:
        chosen = _options_of_arrays(options | ({} if run is None else {"run": run}))
        check_files(marks_of(chosen), chosen.overwrite)
        from headroles.maps.shown import view_of_arrays

        numbers = {"layers": chosen.layers or None, "heads": chosen.heads or None}
        views = [view_of_arrays(text, () if text_b is None else text_b, segments, **numbers)]
    viewed = Viewed(views[0], chosen.view, tuple(views[1:]))
    contents: dict[Path, str] = {}
    if chosen.svg is not None:
        contents[Path(chosen.svg)] = viewed.svg(
            chosen.layers, kind=chosen.kind, form=chosen.as_, token=chosen.token
        )
    if chosen.out is not None:
        contents[Path(chosen.out)] = viewed.html()
    write_contents(contents)
    return viewed


def _read_stored(chosen: ViewOptions) -> list[View]:
    """Read the attention of stored maps on some examples."""
    from headroles.extraction.texts.files import check_present

    check_present(str(chosen.attention))
    from headroles.maps.shown import view_of_stored

    return [
        view_of_stored(
            Path(str(chosen.attention)), key, layers=chosen.layers or None, heads=chosen.heads or None
        )
        for key in (chosen.example, *chosen.also)
    ]


def _read_model(chosen: ViewOptions, given: str | Path | Labelling | None) -> list[View]:
    """Read the attention of a model over texts, with the roles of a run where one is given."""
    from headroles.extraction.model.borrow import borrow
    from headroles.extraction.model.checkpoint import find_checkpoint
    from headroles.extraction.views.numbers import check_by_configuration
    from headroles.records.passage import Passage

    run, own_weights = None, "attention"
    texts = tuple(text for text in (chosen.text, chosen.text_b) if text is not None)
    if given is None:
        checkpoint = find_checkpoint(chosen.model, chosen.revision)
        passage = Passage("view", texts)
    else:
        from headroles.viewing.of_run import (
            open_run,
            own_input,
            run_checkpoint,
            run_weights,
            weights_read,
            with_roles,
        )

        run = open_run(given)
        model = chosen.model if isinstance(chosen.model, ModelObject) else None
        checkpoint = run_checkpoint(run, model)
        own_weights = weights_read(run)
        passage = Passage("view", texts) if texts else own_input(run, chosen.sieve)
    layers, heads = chosen.layers or None, chosen.heads or None
    check_by_configuration(checkpoint.target, layers=layers, heads=heads)
    from headroles.extraction.views.view import read_views

    with borrow(chosen.model):
        views = read_views(
            checkpoint,
            [passage.texts, *((text,) for text in chosen.also)],
            layers=layers,
            heads=heads,
            neurons=chosen.svg is None or chosen.out is not None,
            device=chosen.device,
            device_map=chosen.device_map,
            dtype=chosen.dtype,
            max_length=chosen.max_length,
            norms=(chosen.weights or own_weights) == "norm",
            **({} if run is None else {"weights": run_weights(run)}),
        )
        if run is not None:
            views[0] = with_roles(views[0], run, checkpoint, passage, chosen.sieve)
    return views


def _options_of_arrays(options: dict[str, Any]) -> ViewOptions:
    """Return the options of a view of plain attention, which name no model and no stored maps."""
    refused = sorted({"attention", "example", "also", "run", "tokenizer", *MODEL_OPTIONS} & options.keys())
    if refused:
        raise BadInput(
            f"plain attention is shown without a model, run or stored maps, so {refused[0]} has no effect; "
            f"leave it out"
        )
    return record_of(ViewOptions, text=PLAIN, **options)
