"""Record of an atlas: several label runs, their findings, and how far their labels agree."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Bool, Float, Int

from headroles.records.assessment import SeveralRoles
from headroles.records.atlas.across import Consensus, StepTrend
from headroles.records.brief import brief, brief_lines
from headroles.records.layers import Stack, StackLayer
from headroles.records.shown.notebook import answer_html

if TYPE_CHECKING:
    import pandas as pd

NUMBERS = (
    "count", "mean", "low", "high", "threshold", "effect", "p", "q", "p_not", "q_not", "stability",
)  # fmt: skip
"""Columns of numbers of ``findings.csv`` of an atlas."""


@dataclass(frozen=True, slots=True)
class AtlasRun:
    """One run of an atlas.

    Attributes:
        name: Short name, unique in the atlas: its task, with the preset where several runs share the task.
        folder: Folder or address that it was read from.
        manifest_sha256: SHA-256 of its ``manifest.json``.
        group: Runs with one group have one model and one rule of decision, so their heads can be matched.
        model: Name of the model.
        weights: SHA-256 of its weights; "" where it is not known.
        inputs_sha256: SHA-256 of its inputs; "" where it is not known.
        preset: Name of the preset.
        statistic: Name of the statistic.
        rule: Test, correction and alpha in a few words.
        layers: Positions of the layers that are read, in the model.
        blocks: Number of all layers, those without attention counted.
        heads: Heads in a layer.
        examples: Number of inputs.
        units: Number of units.
        tokens: Mean length of an input in tokens, special tokens included.
    """

    name: str
    folder: str
    manifest_sha256: str
    group: str
    model: str
    weights: str
    inputs_sha256: str
    preset: str
    statistic: str
    rule: str
    layers: tuple[int, ...]
    blocks: int
    heads: int
    examples: int
    units: int
    tokens: float

    @property
    def depths(self) -> Float[np.ndarray, " layers"]:
        """Return the relative depth of every layer that is read, 0 to 1."""
        return Stack(tuple(map(StackLayer, self.layers)), self.blocks).depths()


@dataclass(frozen=True, slots=True, eq=False)
class RunRoles:
    """Findings of the roles of one run; contrasts are part of a role and left out.

    Attributes:
        roles: Names of the roles.
        numbers: Columns of ``NUMBERS`` by name; NaN without a value.
        verdict: The verdicts in words, as ``Labelling.evidence`` has them.
        held: Whether a head holds a role.
    """

    roles: tuple[str, ...]
    numbers: Mapping[str, Float[np.ndarray, "roles layers heads"] | Int[np.ndarray, "roles layers heads"]]
    verdict: np.ndarray
    held: Bool[np.ndarray, "roles layers heads"]

    __repr__ = brief

    @property
    def tested(self) -> tuple[str, ...]:
        """Return the roles that could be tested in some head."""
        known = ~np.isnan(self.numbers["p"])
        return tuple(role for role, any_head in zip(self.roles, known, strict=True) if any_head.any())

    def of(self, role: str) -> int:
        """Return the place of a role."""
        return self.roles.index(role)


@dataclass(frozen=True, slots=True)
class Agreement:
    """Agreement of two runs of one group about the heads of a role, or the mean over pairs of runs.

    Attributes:
        group: The group of both runs.
        sieve: The role; "" for the mean over the roles of the group.
        run_a: Name of one run; "" for the mean over all pairs of the group.
        run_b: Name of the other.
        heads: Heads that both runs could test; over several pairs, of the first.
        both: Heads with the role in both; of a mean, its mean over pairs.
        either: Heads with the role in at least one.
        kappa: Cohen's kappa of the labels over heads, at most 1; NaN where it is not defined: in both runs
            all heads hold the role, or none does.
        low: Lower end of its 95 % interval over inputs: where kappa of fresh samples of both lies.
        high: Upper end.
    """

    group: str
    sieve: str
    run_a: str
    run_b: str
    heads: int
    both: float
    either: float
    kappa: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, eq=False)
class Atlas:
    """Several label runs on one page.

    Heads are matched within groups only: runs of one model with one rule of decision.

    Attributes:
        runs: The runs, in the order in which they were given.
        findings: Findings of the roles of each run.
        several: Number of roles a head by layer, of each run.
        agreement: Agreement of labels, pair by pair and as means.
        consensus: Every role and head of the groups with two runs or more.
        steps: Every role and head over the steps of one training, where the runs are its checkpoints.
        manifest: All facts needed to reproduce the atlas (JSON types only).
        remarks: Remarks for the reader, one sentence each.
    """

    runs: tuple[AtlasRun, ...]
    findings: tuple[RunRoles, ...]
    several: tuple[tuple[SeveralRoles, ...], ...]
    agreement: tuple[Agreement, ...] = ()
    consensus: tuple[Consensus, ...] = ()
    steps: tuple[StepTrend, ...] = ()
    manifest: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    remarks: tuple[str, ...] = ()

    @property
    def roles(self) -> tuple[str, ...]:
        """Return the roles of all runs, each once, in the order in which they first come."""
        return tuple(dict.fromkeys(name for found in self.findings for name in found.roles))

    @property
    def groups(self) -> tuple[str, ...]:
        """Return the groups, in the order in which they first come."""
        return tuple(dict.fromkeys(run.group for run in self.runs))

    def members(self, group: str) -> tuple[int, ...]:
        """Return the places of the runs of a group."""
        return tuple(place for place, run in enumerate(self.runs) if run.group == group)

    def given(self, group: str) -> tuple[int, ...]:
        """Return the places of the runs of a group, without the whole that was made of parts."""
        whole = bool((self.manifest.get("settings") or {}).get("parts"))
        return tuple(place for place in self.members(group) if place or not whole)

    def p_values(self, place: int) -> Float[np.ndarray, " tests"]:
        """Return p of all roles and heads of a run, before correction; NaN without a test."""
        p: np.ndarray = self.findings[place].numbers["p"].ravel()
        return p

    def frame(self) -> pd.DataFrame:
        """Return one row per run × role × layer × head with the columns of ``findings.csv``.

        ``depth`` is the relative depth of the layer, (layer + 1/2) / blocks.
        """
        import pandas as pd

        tables = []
        for run, found in zip(self.runs, self.findings, strict=True):
            sieve, layer, head = (index.ravel() for index in np.indices(found.held.shape))
            columns: dict[str, Any] = {"run": run.name, "sieve": np.array(found.roles, dtype=object)[sieve]}
            columns |= {"layer": np.array(run.layers)[layer], "head": head, "depth": run.depths[layer]}
            columns |= {name: found.numbers[name].ravel() for name in NUMBERS}
            tables.append(pd.DataFrame(columns | {"verdict": found.verdict.ravel()}))
        return pd.concat(tables, ignore_index=True)

    def to_pandas(self) -> pd.DataFrame:
        """Return the same as ``frame``."""
        return self.frame()

    def by_layer(self) -> pd.DataFrame:
        """Return roles a head and heads with several roles, with the columns of ``several.csv``."""
        import pandas as pd

        rows = [
            {"run": run.name} | asdict(row)
            for run, own in zip(self.runs, self.several, strict=True)
            for row in own
        ]
        return pd.DataFrame(rows)

    def agreements(self) -> pd.DataFrame:
        """Return the agreement of labels, with the columns of ``agreement.csv``."""
        import pandas as pd

        columns = [column.name for column in fields(Agreement)]
        return pd.DataFrame([asdict(row) for row in self.agreement], columns=columns)

    def consensus_frame(self) -> pd.DataFrame:
        """Return roles and heads of groups with two runs or more, with the columns of ``consensus.csv``."""
        import pandas as pd

        columns = [column.name for column in fields(Consensus)]
        return pd.DataFrame([asdict(row) for row in self.consensus], columns=columns)

    def steps_frame(self) -> pd.DataFrame:
        """Return every role and head over the steps of one training, with the columns of ``trends.csv``."""
        import pandas as pd

        columns = [column.name for column in fields(StepTrend)]
        return pd.DataFrame([asdict(row) for row in self.steps], columns=columns)

    def __repr__(self) -> str:
        """Return the runs and the answer, in at most 20 lines."""
        from headroles.kinds import atlas_answer

        answer = [sentence.text for sentence in atlas_answer(self).sentences]
        facts = [(run.name, f"{run.model}, {run.preset}, {run.examples:,} inputs") for run in self.runs]
        tables = [("tables", ".to_pandas(), .by_layer(), .agreements(), .consensus_frame(), .steps_frame()")]
        return brief_lines(f"Atlas of {len(self.runs)} runs", [*facts, *tables], answer)

    def _repr_html_(self) -> str:
        """Return the answer in sentences, for notebooks."""
        from headroles.kinds import atlas_answer

        return answer_html(atlas_answer(self))
