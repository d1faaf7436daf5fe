"""Parse several texts at once, with the numbers that each of them gets alone.

A parser multiplies the vectors of all tokens of a batch by its weights. ``products`` forms them so that no
row depends on the others. So no text of a batch can decide a near tie of another one. spaCy's own loop over
the steps of its parser takes the lock of the interpreter for every hidden unit of every state. Here a step
of all texts is a few operations on arrays.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from thinc.api import Model

from headroles.extraction.model.threads import one_numpy_thread
from headroles.extraction.parsing.encoder import TokenEncoder
from headroles.extraction.parsing.products import TileOps, multiply, rows_are_independent

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc

LISTENER = {"@architectures": "spacy.Tok2VecListener.v1"}
MODELS: dict[str, dict[str, Any]] = {
    "tok2vec": {
        "@architectures": "spacy.Tok2Vec.v2",
        "embed": {"@architectures": "spacy.MultiHashEmbed.v2", "include_static_vectors": False},
        "encode": {"@architectures": "spacy.MaxoutWindowEncoder.v2", "window_size": 1},
    },
    "parser": {"@architectures": "spacy.TransitionBasedParser.v2", "use_upper": True, "tok2vec": LISTENER},
    "morphologizer": {"@architectures": "spacy.Tagger.v2", "tok2vec": LISTENER},
    "tagger": {"@architectures": "spacy.Tagger.v2", "tok2vec": LISTENER},
}
"""Settings of the models of a pipeline that may take several texts at once, by the factory of the part."""
TEXTS, CHARACTERS = 32, 8_000
"""Most texts in a batch, and most characters of several texts; memory grows with them."""
KEPT_TOKENS = 2_048
"""Most tokens whose table of features is kept for the next batch, 17 MB in the shipped parser."""


def take_several(parser: "Language") -> None:
    """Let a parser take several texts at once, where each of them gets the tree that it gets alone.

    A pipeline of other parts is left as it is. So is every pipeline on a machine whose libraries cannot
    promise that tree.
    """
    factories = [parser.get_pipe_meta(name).factory for name in parser.pipe_names]
    pipes: dict[str, Any] = dict(zip(factories, (pipe for _, pipe in parser.pipeline), strict=True))
    if not {"tok2vec", "parser"} <= pipes.keys() <= MODELS.keys() or len(pipes) < len(factories):
        return
    configs = map(parser.get_pipe_config, parser.pipe_names)
    if not all(_has(config["model"], MODELS[name]) for name, config in zip(factories, configs, strict=True)):
        return
    tok2vec, transitions = pipes.pop("tok2vec"), pipes["parser"]
    if transitions.cfg["beam_width"] != 1 or transitions.model.attrs["unseen_classes"]:
        return
    encoder = TokenEncoder(tok2vec.model)
    nodes = [node for pipe in pipes.values() for node in pipe.model.walk()]
    weights = [node.get_param("W") for node in nodes if node.has_param("W")]
    others = [own.reshape(-1, own.shape[-1]).T for own in weights]
    if not rows_are_independent([*encoder.weights, *others]):
        return
    ops, tok2vec.model = TileOps(), encoder.as_model()
    for node in nodes:
        node.ops = ops
    lower = transitions.model.get_ref("lower")
    transitions.model.replace_node(lower, keep_table(lower))


def takes_several(parser: "Language") -> bool:
    """Return whether a parser takes several texts at once."""
    models = (getattr(pipe, "model", None) for _, pipe in parser.pipeline)
    return any(isinstance(model, Model) and isinstance(model.ops, TileOps) for model in models)


def docs_of(parser: "Language", texts: Sequence[str]) -> Iterator["Doc"]:
    """Yield the parsed documents of texts, in their order."""
    if not takes_several(parser):
        yield from parser.pipe(texts, batch_size=1)
        return
    pipes: list[Any] = [pipe for _, pipe in parser.pipeline]
    transitions = parser.get_pipe("parser")
    for batch in batches(texts):
        docs = [parser.make_doc(text) for text in batch]
        filled = [doc for doc in docs if len(doc)]
        with one_numpy_thread():
            for pipe in pipes if filled else ():
                found = _final_states(pipe, filled) if pipe is transitions else pipe.predict(filled)
                pipe.set_annotations(filled, found)
        yield from docs


def keep_table(lower: Model[Any, Any]) -> Model[Any, Any]:
    """Return a layer of features of a parser's states that fills one table again for every batch.

    A table has 8 kB for each token. To get its pages from the system takes as long as the product in it.
    """
    weights: Any = lower.get_param("W")
    features, units, pieces, inputs = weights.shape
    matrix, table = weights.reshape(-1, inputs).T, np.empty((0, features * units * pieces), dtype=np.float32)

    def fill(model: Model[Any, Any], rows: Any, is_train: bool) -> tuple[Any, None]:
        nonlocal table
        count = len(rows) + 1
        own = table if count <= len(table) else np.empty((count, table.shape[1]), dtype=np.float32)
        table = own if count <= KEPT_TOKENS else table
        own[0] = model.get_param("pad").ravel()
        multiply(rows, matrix, own[1:count])
        return own[:count].reshape(count, features, units, pieces), None

    params: dict[str, Any] = {name: lower.get_param(name) for name in lower.param_names}
    dims: dict[str, int | None] = {name: lower.get_dim(name) for name in lower.dim_names}
    return Model("kept_features", fill, dims=dims, params=params, ops=lower.ops)


def batches(texts: Sequence[str]) -> Iterator[list[str]]:
    """Yield texts in batches: few enough to fit in memory, a long one alone.

    Example:
        >>> [len(batch) for batch in batches(["short"] * 40 + ["long" * 2500] + ["short"])]
        [32, 8, 1, 1]
    """
    batch, characters = list[str](), 0
    for text in texts:
        if batch and (len(batch) == TEXTS or characters + len(text) > CHARACTERS):
            yield batch
            batch, characters = [], 0
        batch.append(text)
        characters += len(text)
    if batch:
        yield batch


def _final_states(transitions: Any, docs: "Sequence[Doc]") -> list[Any]:
    """Return the final state of the parser for each document, after steps of all documents at once."""
    states = transitions.moves.init_batch(docs)
    model = transitions.model.predict(docs)
    unfinished = [state for state in states if not state.is_final()]
    while unfinished:
        hidden = model.state2vec.predict(model.get_token_ids(unfinished))
        unfinished = transitions.transition_states(unfinished, model.vec2scores.predict(hidden))
    return list(states)


def _has(config: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Return whether settings hold the wanted ones, with those of parts of a model."""
    return all(
        _has(config.get(name, {}), value) if isinstance(value, Mapping) else config.get(name) == value
        for name, value in wanted.items()
    )
