"""Open the roles, groups of units, mean queries and cells of a run that asks why heads attend."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from headroles.extraction.model.load import Model
from headroles.extraction.texts.tokens import tokenise
from headroles.extraction.why.layout import QueryLayout, query_layout
from headroles.extraction.why.products import Families, mean_queries
from headroles.inputs.corpora import Corpus
from headroles.options.causal.why import WhyOptions
from headroles.records.causal.ablation import HeldRoles
from headroles.runs.held.labels import StoredRoles, check_same_model, stored_roles
from headroles.runs.held.references import DrawnInputs, draw_references
from headroles.runs.held.role_cells import RoleCells, asking_options
from headroles.runs.sources import open_source
from headroles.runs.why.groups import Groups, check_groups, cut_into_groups


@dataclass(frozen=True, slots=True, eq=False)
class Opened:
    """Everything that the products of a run need.

    Attributes:
        model: The model.
        roles: The roles of the label run.
        cells: Counts their cells.
        families: Roles that can be counted, and the heads that hold them.
        queries: Mean query of each reference unit, at the head of each family.
        layout: The dimensions of queries.
        drawn: The inputs that gave mean queries, and the units of all inputs.
        groups: Group of each input.
    """

    model: Model
    roles: StoredRoles
    cells: RoleCells
    families: Families
    queries: Float[np.ndarray, "references families size"]
    layout: QueryLayout
    drawn: DrawnInputs
    groups: Groups


def open_all(options: WhyOptions, corpus: Corpus) -> Opened:
    """Read the roles, load the model, and compute mean queries.

    Args:
        options: Of the run.
        corpus: Its inputs.

    Raises:
        BadInput: When the model cannot be used, the roles are of another model, annotation is missing, or no
            unit is left to measure anything.
    """
    roles = stored_roles(options)
    assert roles is not None, "a run of this kind names a label run"
    held = roles.held
    chosen: list[Groups] = []

    def among(units: Sequence[str], examples: Sequence[str]) -> np.ndarray:
        chosen.append(cut_into_groups(held, units, examples, options.seed))
        return chosen[0].knocked

    drawn = draw_references(corpus, options.references, options.seed, among)
    groups = chosen[0]
    check_groups(groups, held.source)
    model = open_source(options, corpus, options.max_length, options.kind)
    assert isinstance(model, Model), "options refuse stored maps"
    check_same_model(roles, model)
    layout = query_layout(model)
    asking = asking_options(options, roles.options.settings())
    owned = [role for role in held.roles if held.heads(role).any()]
    cells = RoleCells(asking, owned, model, corpus)
    references = tokenise(model.tokenizer, drawn.passages, options.max_length)
    families = families_of(held, cells.names)
    queries = mean_queries(model, references, drawn.units, families)
    return Opened(model, roles, cells, families, queries, layout, drawn, groups)


def families_of(held: HeldRoles, names: tuple[str, ...]) -> Families:
    """Return the families of some roles: by role in their order, then by layer and head.

    Args:
        held: The roles.
        names: Those that can be counted.
    """
    places = [
        (role, int(layer), int(head)) for role in names for layer, head in np.argwhere(held.heads(role))
    ]
    return Families(
        roles=tuple(role for role, _, _ in places),
        layers=np.array([layer for _, layer, _ in places], dtype=np.int64),
        heads=np.array([head for _, _, head in places], dtype=np.int64),
    )


def asked_roles(families: Families, held: HeldRoles) -> tuple[str, ...]:
    """Return the roles that have columns: those of the families, or all roles where no head holds any."""
    return tuple(dict.fromkeys(families.roles)) or held.roles
