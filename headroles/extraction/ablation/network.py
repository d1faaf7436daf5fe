"""Run a network with replaced outputs of heads, in rows of copies of one input."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from jaxtyping import Float

from headroles.errors import BadInput
from headroles.extraction.ablation.outcomes import (
    Answers,
    Changes,
    changes_of,
    losses_of,
    places_of,
    predicted,
)
from headroles.extraction.ablation.prefix import Prefix, SharedPass, shared, skippable
from headroles.extraction.ablation.replacing import ABLATE, Attended, Replacing, Row, Taker, Watch, replacing
from headroles.extraction.ablation.trial import (
    Layout,
    check_causal,
    find_backbone,
    find_layout,
    refuse_unfit,
    trial_input,
)
from headroles.extraction.capture.stacks import ModelInputs, cache_arguments
from headroles.extraction.model.load import Model
from headroles.extraction.model.losses import CAUSAL, CLASSES, LossModel, LossTarget, losses
from headroles.extraction.stream import is_out_of_memory
from headroles.extraction.texts.tokens import Tokenised
from headroles.records.causal.columns import LOSS, REPRESENTATION, TOKENS

NO_PADDING = -1
"""Padding token of a classifier without one: rows are never padded, and it refuses several without any."""
ROOM, DEVICE_ROOM = 2**26, 2**32
"""Most bytes of the states, weights and logits of all rows of a pass, by device.

On a processor the largest of their blocks then have about 8 MB, which the C library keeps.
"""


@dataclass(frozen=True, slots=True, eq=False)
class Measured:
    """What was measured on one input.

    Attributes:
        changes: What every row changes.
        matched: For rows that remove attention from matched cells, the share of the role's mass that these
            have; 1 for others.
        clean: Loss of the input without intervention; NaN for none.
        clean_tokens: That of every token; NaN for none.
        norm: Mean norm of each head's part of the layer's output (layers, heads), float64.
    """

    changes: Changes
    matched: Float[np.ndarray, " rows"]
    clean: float
    clean_tokens: Float[np.ndarray, " tokens"]
    norm: Float[np.ndarray, "layers heads"]


@dataclass(slots=True, eq=False)
class _Head:
    """What the model's own head is handed in one pass, and the hidden states that it would have got."""

    places: torch.Tensor | None
    hidden: list[torch.Tensor] = field(default_factory=list)


_HEAD: ContextVar[_Head | None] = ContextVar("headroles_head", default=None)


class AblatedNetwork:
    """A network whose heads can be replaced, row by row, inside ``prepared``."""

    def __init__(self, model: Model, outcomes: Sequence[str]) -> None:
        """Check that heads can be replaced, and find layers and projections.

        Raises:
            BadInput: When the model does not call transformers' attention interface, cross attention is
                asked for, or an outcome needs a head that the model lacks.
        """
        self._model, self._outcomes = model, tuple(outcomes)
        self.about = model.about if isinstance(model, LossModel) else ""
        self._layout = Layout()
        refuse_unfit(model, outcomes)
        model.network.set_attn_implementation(ABLATE)
        short = self.tensors(trial_input(model), 1)
        self._backbone = find_backbone(model, short) if self.about else model.network
        with self.prepared():
            self._layout = find_layout(model, short, self._try)

    @property
    def described(self) -> dict[str, Any]:
        """Return how interventions are run, for the record."""
        return self._layout.described

    @property
    def convex(self) -> bool:
        """Return whether the output of every head is its weights times its values."""
        return self._layout.convex

    @contextmanager
    def prepared(self) -> Iterator[None]:
        """Let the network run with interventions; afterwards it only keeps the name of its attention."""
        layout, config = self._layout, self._model.network.config
        settings: dict[str, Any] = {"use_cache": False} if hasattr(config, "use_cache") else {}
        if self.about == CLASSES and config.pad_token_id is None:
            settings["pad_token_id"] = NO_PADDING
        before = {name: getattr(config, name) for name in settings}
        with ExitStack() as stack:
            for name, value in settings.items():
                setattr(config, name, value)
                stack.callback(setattr, config, name, before[name])
            if self.about:
                hook = self._backbone.register_forward_hook(_hand_over)
                stack.callback(hook.remove)
            stack.enter_context(skippable(layout.blocks, layout.encoder, layout.early))
            yield

    def head_outputs(self, tokenised: Tokenised) -> list[Float[torch.Tensor, "tokens heads _"]]:
        """Return the outputs of all heads of an input, by layer."""
        outputs: list[torch.Tensor] = []

        def take(layer: int, attended: Attended) -> None:
            outputs.append(attended.output[0].clone())

        self.run(self.tensors(tokenised, 1), LossTarget(), [{}], taker=take)
        return outputs

    def measure(self, tokenised: Tokenised, target: LossTarget, rows: Sequence[Row]) -> Measured:
        """Return what every row of replacements changes in an input.

        Rows whose lowest layer is the same run together, from that layer on, on top of what the layers below
        put out in the clean pass. This one has one row. Sums may round differently by the number of rows, so
        a row whose replacements equal what they replaced runs again alone: it changes exactly nothing.

        Raises:
            BadInput: When a model of next words sees later ones, or an input does not fit in memory.
        """
        blocks = bool(self._layout.blocks)
        starts = np.array([min(row) if row and blocks else 0 for row in rows], dtype=np.int64)
        most = int(np.unique(starts, return_counts=True)[1].max(initial=1))
        count = min(most, self._most_rows(len(places_of(target, self.about)), tokenised.size))
        while True:
            try:
                return self._measure(tokenised, target, rows, starts, count)
            except (torch.OutOfMemoryError, MemoryError, RuntimeError) as error:
                if not is_out_of_memory(error):
                    raise
            if count == 1:
                raise BadInput(
                    f"one input of {tokenised.size} tokens does not fit in the memory of "
                    f"{self._model.device}; give a smaller --max-length, or another --device"
                )
            count = -(-count // 2)

    def _measure(
        self,
        tokenised: Tokenised,
        target: LossTarget,
        rows: Sequence[Row],
        starts: np.ndarray,
        count: int,
    ) -> Measured:
        """Measure an input in passes of ``count`` rows."""
        prefix, norms = (Prefix() if self._layout.blocks else None), list[np.ndarray]()

        def take(layer: int, attended: Attended) -> None:
            if self.about == CAUSAL:
                check_causal(self._model, attended)
            norms.append(self._layout.norms(layer, attended.output[0]))

        sharing = None if prefix is None else SharedPass(prefix)
        clean, _ = self.run(self.tensors(tokenised, 1), target, [{}], taker=take, sharing=sharing)

        def changes(answers: Answers) -> Changes:
            return changes_of(answers, clean, self._outcomes, target, self.about, tokenised.size)

        matched, parts, places = np.ones(len(rows)), [changes(clean.none())], [np.zeros(0, dtype=np.int64)]
        for chosen in _passes(starts, count):
            start = int(starts[chosen[0]])
            answers, shares = self._answers(tokenised, target, [rows[own] for own in chosen], prefix, start)
            parts.append(changes(answers))
            places.append(chosen)
            matched[chosen] = shares
        ordered = _in_order(parts, np.concatenate(places))
        losses = self._clean_losses(clean, target, tokenised.size)
        return Measured(ordered, matched, *losses, np.stack(norms))

    def _answers(
        self, tokenised: Tokenised, target: LossTarget, rows: Sequence[Row], prefix: Prefix | None, start: int
    ) -> tuple[Answers, Float[np.ndarray, " rows"]]:
        """Return what a pass of rows puts out, and the share of mass that matched cells have in each."""

        def run(own: Sequence[Row]) -> tuple[Answers, Replacing]:
            sharing = None if prefix is None else SharedPass(prefix, start, len(own))
            return self.run(self.tensors(tokenised, len(own)), target, own, sharing=sharing)

        answers, running = run(rows)
        shares = np.array([running.matched.get(row, 1.0) for row in range(len(rows))])
        unchanged = running.unchanged()
        if len(rows) > 1 and unchanged.any():
            alone, _ = run([rows[int(unchanged.argmax())]])
            answers = answers.put(unchanged, alone)
        return answers, shares

    def gradients(
        self, tokenised: Tokenised, target: LossTarget
    ) -> tuple[list[torch.Tensor], list[torch.Tensor]] | None:
        """Return the outputs of all heads, and the gradients of the loss to them.

        Both are (tokens, heads, head_dim), by layer. None for an input without a loss.
        """
        assert isinstance(self._model, LossModel)
        outputs: list[torch.Tensor] = []

        def watch(output: torch.Tensor) -> torch.Tensor:
            outputs.append(output if output.requires_grad else output.detach().requires_grad_())
            return outputs[-1]

        answers, _ = self.run(self.tensors(tokenised, 1), target, [{}], watch=watch)
        assert answers.logits is not None
        logits = answers.logits[:, 0] if self.about == CLASSES else answers.logits
        own = replace(target, places=np.arange(len(target.places)))
        values, exist = losses(self._model, logits, [own])
        if not exist[0]:
            return None
        gradients = torch.autograd.grad(values.sum(), outputs)
        return [output.detach()[0] for output in outputs], [gradient[0] for gradient in gradients]

    def run(
        self,
        inputs: ModelInputs,
        target: LossTarget,
        rows: Sequence[Row],
        *,
        taker: Taker | None = None,
        watch: Watch | None = None,
        sharing: SharedPass | None = None,
    ) -> tuple[Answers, Replacing]:
        """Run the network once.

        Args:
            inputs: Tensors for the network, one row for each of ``rows``.
            target: Its places are those whose logits are computed.
            rows: Replacements of every row.
            taker: Gets what the attention of every layer computed.
            watch: Gets the outputs of every layer, and returns those the network goes on with; gradients are
                then kept.
            sharing: How layers below interventions are kept or skipped.
        """
        start = 0 if sharing is None or sharing.start is None else sharing.start
        running = Replacing(
            rows,
            self._model.way.modules,
            layer=start,
            taker=taker,
            watch=watch,
            equal=len(rows) > 1 and sharing is not None and sharing.start is not None,
        )
        places = None if self.about == CLASSES else torch.from_numpy(target.places)
        head = _Head(places)
        token = _HEAD.set(head)
        try:
            mode = torch.inference_mode() if watch is None else torch.enable_grad()
            with mode, replacing(running), shared(sharing):
                returned = self._model.network(**inputs, **cache_arguments(inputs))[0]
        finally:
            _HEAD.reset(token)
        if not self.about:
            return Answers(returned, None), running
        states = head.hidden[0] if {REPRESENTATION, TOKENS} & {*self._outcomes} else None
        return Answers(states, returned[:, None] if self.about == CLASSES else returned), running

    def tensors(self, tokenised: Tokenised, rows: int) -> ModelInputs:
        """Return copies of one input."""
        given = dict(tokenised.inputs)
        given.setdefault("attention_mask", [1] * len(given["input_ids"]))
        return {
            name: torch.tensor(values, device=self._model.device).expand(rows, -1).contiguous()
            for name, values in given.items()
        }

    def _clean_losses(self, clean: Answers, target: LossTarget, tokens: int) -> tuple[float, np.ndarray]:
        """Return the loss of an input without intervention, and that of every token; NaN for none."""
        by_token, places = np.full(tokens, np.nan), places_of(target, self.about)
        if LOSS not in self._outcomes or clean.logits is None or not len(places):
            return float("nan"), by_token
        own = losses_of(clean.logits[:1], target, self.about, predicted(clean, self.about))[0]
        if self.about != CLASSES:
            by_token[places] = own
        return float(own.mean()), by_token

    def _try(
        self, tokenised: Tokenised, rows: Sequence[Row], taker: Taker | None, sharing: SharedPass | None
    ) -> Answers:
        """Run rows of an input, with outputs at all of its tokens."""
        target = LossTarget(np.arange(tokenised.size), np.zeros(tokenised.size, dtype=np.int64))
        inputs = self.tensors(tokenised, len(rows))
        return self.run(inputs, target, rows, taker=taker, sharing=sharing)[0]

    def _most_rows(self, places: int, tokens: int) -> int:
        """Return the largest number of rows of a pass.

        Args:
            places: Places whose logits are computed.
            tokens: Tokens of the input.
        """
        model = self._model
        config = model.network.config.get_text_config()
        states = (12 + model.layers) * tokens * int(config.hidden_size)
        words = 3 * places * int(getattr(config, "vocab_size", 0)) * bool(self.about)
        room = ROOM if model.device.type == "cpu" else DEVICE_ROOM
        return max(1, room // (4 * (4 * model.heads * tokens**2 + states + words)))


def _passes(starts: np.ndarray, count: int) -> Iterator[np.ndarray]:
    """Yield the rows of every pass: at most ``count`` with the same first layer, in passes of equal size."""
    for start in np.unique(starts):
        own = np.flatnonzero(starts == start)
        yield from np.array_split(own, -(-len(own) // count))


def _hand_over(module: Any, inputs: Any, output: Any) -> Any:
    """Keep the last hidden states, and hand those at the target's places to the head of the model."""
    head = _HEAD.get()
    if head is not None:
        head.hidden.append(output[0])
        if head.places is not None:
            output["last_hidden_state"] = output[0][:, head.places.to(output[0].device)]
    return output


def _in_order(parts: Sequence[Changes], places: np.ndarray) -> Changes:
    """Return the changes of several passes in the order of the rows."""
    order = np.argsort(places, kind="stable")

    def joined(arrays: Sequence[np.ndarray]) -> np.ndarray:
        whole: np.ndarray = np.concatenate(arrays)[order]
        return whole

    return Changes(
        {name: joined([part.values[name] for part in parts]) for name in parts[0].values},
        {name: joined([part.by_token[name] for part in parts]) for name in parts[0].by_token},
    )
