"""Open what a run that takes heads out needs: model and outcomes, roles, and reference inputs."""

from collections.abc import Sequence
from dataclasses import dataclass

from headroles.errors import BadInput
from headroles.extraction.model.checkpoint import Checkpoint, find_checkpoint
from headroles.extraction.model.load import Model, check_length
from headroles.extraction.model.losses import (
    CLASSES,
    LossModel,
    LossNeed,
    LossOptions,
    LossTarget,
    describe_loss,
    has_loss,
    prepare_target,
)
from headroles.extraction.texts.tokens import Tokenised
from headroles.inputs.corpora import Corpus
from headroles.options.causal.ablate import AblateOptions
from headroles.records.causal.columns import BY_TOKEN, DISTRIBUTION, LOSS, REPRESENTATION, TOKENS
from headroles.runs.held.labels import StoredRoles, check_same_model, stored_roles
from headroles.runs.losses import loss_options, model_with_loss
from headroles.runs.sources import open_source

NEED = LossNeed("losses", "measure --outcome representation or tokens")


@dataclass(frozen=True, slots=True, eq=False)
class OpenModel:
    """The model of a run, with what damage is measured on.

    Attributes:
        model: The model, with its loss where an outcome needs one.
        outcomes: What damage is measured on.
        losses: Settings of the loss.
        about: The loss in a sentence; "" where none is computed.
    """

    model: Model
    outcomes: tuple[str, ...]
    losses: LossOptions
    about: str

    @property
    def by_token(self) -> tuple[str, ...]:
        """Return the outcomes that have a value for each token."""
        whole = isinstance(self.model, LossModel) and self.model.about == CLASSES
        kinds = (TOKENS,) if whole else BY_TOKEN
        return tuple(outcome for outcome in self.outcomes if outcome in kinds)

    def targets(self, inputs: Sequence[Tokenised]) -> tuple[list[Tokenised], list[LossTarget] | None]:
        """Return inputs as the model reads them, masked for a loss of masked words, and their targets.

        Returns:
            The inputs, and a target for each; None where the model has no loss.

        Raises:
            BadInput: When the label of an input is missing, or is not one of the model's.
        """
        model = self.model
        if not isinstance(model, LossModel):
            return list(inputs), None
        pairs = [prepare_target(model, given, self.losses) for given in inputs]
        return [given for given, _ in pairs], [target for _, target in pairs]


def open_model(options: AblateOptions, corpus: Corpus) -> OpenModel:
    """Load the model of a run, with the head that it was saved with where an outcome needs it.

    Args:
        options: Of the run.
        corpus: Its inputs.

    Raises:
        BadInput: When the model cannot be used, has no loss that is asked for, or leaves an option unused.
    """
    checkpoint = find_checkpoint(options.model, options.revision)
    outcomes = _outcomes(options, checkpoint)
    with_head = bool({LOSS, DISTRIBUTION} & {*outcomes})
    options.check_outcomes(outcomes)
    if options.kind is not None and with_head:
        raise BadInput(
            f"--kind is for models with encoder and decoder, but {' and '.join(outcomes)} needs a model that "
            f"is all encoder or all decoder; leave --kind out, or give --outcome representation or tokens"
        )
    losses = loss_options(options)
    if with_head:
        model = model_with_loss(checkpoint, options, losses, NEED)
        check_length(model, checkpoint, options.max_length)
        return OpenModel(model, outcomes, losses, describe_loss(model, losses))
    source = open_source(options, corpus, options.max_length, options.kind)
    assert isinstance(source, Model), "options refuse stored maps"
    return OpenModel(source, outcomes, losses, "")


def _outcomes(options: AblateOptions, checkpoint: Checkpoint) -> tuple[str, ...]:
    """Return what damage is measured on: what the options name, or else what the model has."""
    if options.outcome:
        return options.outcome
    return (LOSS,) if has_loss(checkpoint) else (REPRESENTATION, TOKENS)


def open_roles(options: AblateOptions, model: Model) -> StoredRoles | None:
    """Return the roles of the label run, which must be those of the model's own heads; None without any.

    Raises:
        BadInput: When they are of other weights, of another kind of attention, or of other heads, or when no
            head holds a role that is asked about.
    """
    roles = stored_roles(options)
    if roles is None:
        return None
    check_same_model(roles, model)
    held = roles.held
    if options.of_roles and not any(held.heads(role).any() for role in held.roles):
        raise BadInput(
            f"{options.of_roles[0]} needs heads that hold a role, but none does on the units of "
            f"'{options.roles}' that decide roles; label more inputs, or leave it out"
        )
    return roles
