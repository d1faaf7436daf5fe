"""Check at load that the heads of a network can be replaced, and find its layers and projections."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float

from headroles.errors import BadInput
from headroles.extraction.ablation.outcomes import Answers
from headroles.extraction.ablation.prefix import (
    Prefix,
    SharedPass,
    find_blocks,
    find_early,
    skippable,
)
from headroles.extraction.ablation.replacing import Attended, Replacement, Row, Taker
from headroles.extraction.capture.stacks import ModelInputs
from headroles.extraction.model.load import Model
from headroles.extraction.model.losses import CLASSES, LossModel
from headroles.extraction.model.projections import output_projections
from headroles.extraction.texts.tokens import Tokenised, tokenise
from headroles.records.causal.columns import DISTRIBUTION, LOSS
from headroles.records.passage import Passage
from headroles.records.rules.names import RETURNED
from headroles.records.view import CROSS, DECODER

TRIAL = "The heads of a model look at words, and at each other."
CLOSE = {torch.float64: 1e-9, torch.float32: 1e-4, torch.bfloat16: 5e-2, torch.float16: 5e-3}
"""Largest difference of an output with skipped layers from one without, relative to its largest number."""


Run = Callable[[Tokenised, Sequence[Row], Taker | None, SharedPass | None], Answers]
"""Runs rows of an input, with outputs at all of its tokens."""


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """The parts of a network that interventions need.

    Attributes:
        blocks: Its layers; none where every pass computes all of them.
        encoder: The encoder that a decoder reads; None for none.
        early: Modules of layers that come before attention, and are computed for one row while all are equal.
        grams: By layer, the products W_O W_Oᵀ of every head's projection (heads, head_dim, head_dim); none
            where norms are those of the heads' own outputs.
        convex: Whether the output of every head is its weights times its values.
    """

    blocks: Sequence[torch.nn.Module] = ()
    encoder: torch.nn.Module | None = None
    early: Sequence[torch.nn.Module] = ()
    grams: Sequence[Float[torch.Tensor, "heads _ _"]] = ()
    convex: bool = True

    @property
    def described(self) -> dict[str, Any]:
        """Return how interventions are run, for the record."""
        return {
            "passes": "from the layer of the intervention on" if self.blocks else "all layers",
            "norms": "of the part of the layer's output" if self.grams else "of the head's own output",
        }

    def norms(self, layer: int, output: Float[torch.Tensor, "tokens heads _"]) -> Float[np.ndarray, " heads"]:
        """Return the mean norm over tokens of every head's part of a layer's output."""
        wide = output if output.dtype == torch.float64 else output.float()
        if self.grams:
            gram = self.grams[layer].to(wide)
            squared = torch.einsum("thd,hde,the->th", wide, gram, wide).clamp(min=0)
        else:
            squared = wide.square().sum(-1)
        norms: np.ndarray = squared.sqrt().double().mean(0).cpu().numpy()
        return norms


def refuse_unfit(model: Model, outcomes: Sequence[str]) -> None:
    """Refuse a model whose heads cannot be replaced, and outcomes that it has not.

    Raises:
        BadInput: When the model does not call transformers' attention interface, cross attention is asked
            for, or an outcome needs a head that the model lacks.
    """
    name = model.described["architecture"]
    if model.way.name == RETURNED:
        raise BadInput(
            f"heads are taken out of models that call transformers' attention interface, but {name} does "
            f"not; give a model of another architecture (docs/reference/models.md)"
        )
    if model.way.kind == CROSS:
        raise BadInput(
            "heads are taken out of attention within one text, but --kind is cross; give --kind encoder or "
            "--kind decoder"
        )
    lacking = [weight for weight in model.described["missing_weights"] if "pooler" not in weight]
    if lacking:
        raise BadInput(
            f"damage is measured on the last hidden states, but these depend on {lacking[0]!r}, which "
            f"{model.described['name']!r} lacks; give a checkpoint with all weights of {name}"
        )
    needs = [outcome for outcome in outcomes if outcome in (LOSS, DISTRIBUTION)]
    if needs and not isinstance(model, LossModel):
        raise BadInput(
            f"--outcome {needs[0]} needs a model with a head that has a loss, but {name} was loaded without; "
            f"give --outcome representation"
        )
    classes = isinstance(model, LossModel) and model.about == CLASSES
    if DISTRIBUTION in needs and classes and model.network.config.num_labels == 1:
        raise BadInput(
            f"--outcome distribution needs several classes or words, but {name} puts out one number; give "
            f"--outcome loss"
        )


def trial_input(model: Model) -> Tokenised:
    """Return a short input."""
    texts = (TRIAL,) * (2 if model.way.kind == DECODER else 1)
    return tokenise(model.tokenizer, [Passage("trial", texts)], 64)[0]


def find_layout(model: Model, inputs: ModelInputs, run: Run) -> Layout:
    """Run a short input, check what attention puts out, and find layers and projections.

    Args:
        model: The model.
        inputs: Tensors of the short input.
        run: Runs rows of it.

    Raises:
        BadInput: When attention does not put out one array for every layer and head.
    """
    tokenised, heads = trial_input(model), model.heads
    modules: list[torch.nn.Module] = []
    shapes: list[tuple[int, ...]] = []
    convex: list[bool] = []

    def take(layer: int, attended: Attended) -> None:
        modules.append(attended.module)
        shapes.append((*attended.output.shape[1:3], attended.weights.shape[1]))
        convex.append(_is_convex(attended))

    run(tokenised, [{}], take, None)
    if shapes != [(tokenised.size, heads, heads)] * model.layers:
        raise BadInput(
            f"an output of every head is replaced at every token, but the attention of "
            f"{model.described['architecture']} puts out {sorted(set(shapes))} in {len(shapes)} calls for "
            f"{model.layers} layers of {heads} heads; give another model"
        )
    grams = _find_grams(model, inputs)
    blocks = find_blocks(model.network, modules)
    encoder = model.network.get_encoder() if blocks and model.way.kind == DECODER else None
    early = find_early(blocks, 2, lambda see: run(tokenised, [{}, {}], lambda layer, _: see(layer), None))
    if not _skips_rightly(model, blocks, encoder, early, run):
        early = []
        if not _skips_rightly(model, blocks, encoder, early, run):
            blocks, encoder = [], None
    return Layout(blocks, encoder, early, grams, all(convex))


def find_backbone(model: Model, inputs: ModelInputs) -> torch.nn.Module:
    """Return the module whose last hidden states the model's own head reads: the last that returns some.

    Args:
        model: A model with a head.
        inputs: Tensors of a short input.

    Raises:
        BadInput: When no module of the network returns its last hidden states by name.
    """
    found: list[torch.nn.Module] = []

    def hook(module: torch.nn.Module, given: Any, output: Any) -> None:
        if module is not model.network and isinstance(output, dict) and "last_hidden_state" in output:
            found.append(module)

    hooks = [module.register_forward_hook(hook) for module in model.network.modules()]
    try:
        with torch.inference_mode():
            model.network(**inputs)
    finally:
        for handle in hooks:
            handle.remove()
    if not found:
        raise BadInput(
            f"damage is measured on what the head of a model makes of its last hidden states, but no part of "
            f"{model.described['architecture']} returns these; give another model"
        )
    return found[-1]


def check_causal(model: Model, attended: Attended) -> None:
    """Refuse a model of next words that sees them.

    Raises:
        BadInput: When a query sees a later key.
    """
    visible = attended.visible(0)
    if len(visible) > 1 and bool(visible.triu(1).any()):
        raise BadInput(
            f"a loss of next words needs a model that cannot see them, but {model.described['name']!r} "
            f"({model.described['architecture']}) does; give a model for masked words, or a decoder"
        )


def _is_convex(attended: Attended) -> bool:
    """Return whether the output of the first row is its weights times its values."""
    if attended.value.dim() != 4 or attended.output.shape[2] % attended.value.shape[1]:
        return False
    heads = range(attended.output.shape[2])
    values = torch.stack([attended.values(0, head) for head in heads])
    if values.shape[-1] != attended.output.shape[-1]:
        return False
    made = (attended.weights[0].to(values.dtype) @ values).transpose(0, 1)
    return _are_close(made, attended.output[0])


def _are_close(first: torch.Tensor, second: torch.Tensor) -> bool:
    scale = float(second.float().abs().max()) if second.numel() else 0.0
    return first.shape == second.shape and torch.allclose(
        first, second, rtol=0, atol=CLOSE[second.dtype] * scale
    )


def _find_grams(model: Model, inputs: ModelInputs) -> list[torch.Tensor]:
    """Return W_O W_Oᵀ of every head by layer; none where norms cannot use projections."""
    try:
        found = output_projections(model.network, inputs, model.way.modules)
    except BadInput:
        return []
    if len(found) != model.layers or any(projection.gated for projection in found):
        return []
    with torch.inference_mode():
        weights = [projection.weight.detach() for projection in found]
        wide = [weight if weight.dtype == torch.float64 else weight.float() for weight in weights]
        return [weight @ weight.transpose(1, 2) for weight in wide]


def _skips_rightly(
    model: Model,
    blocks: Sequence[torch.nn.Module],
    encoder: torch.nn.Module | None,
    early: Sequence[torch.nn.Module],
    run: Run,
) -> bool:
    """Return whether passes that skip layers put out what whole passes do, also with a head taken out."""
    tokenised, prefix = trial_input(model), Prefix()
    with skippable(blocks, encoder, early):
        try:
            run(tokenised, [{}], None, SharedPass(prefix))
            for start in range(len(blocks)):
                rows: list[Row] = [{}, {start: [Replacement(0, torch.zeros(1, 1))]}]
                whole = run(tokenised, rows, None, None)
                part = run(tokenised, rows, None, SharedPass(prefix, start, len(rows)))
                pairs = zip(part.arrays, whole.arrays, strict=True)
                if not all(_are_close(*pair) for pair in pairs):
                    return False
        except (RuntimeError, TypeError, ValueError, AttributeError, LookupError):
            return False
    return True
