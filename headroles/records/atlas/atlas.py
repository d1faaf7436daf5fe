"""Record of an atlas: several label runs, their findings, and how far their labels agree."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Bool, Float, Int

from headroles.records.assessment import SEVERAL, SIEVE
from headroles.records.atlas.across import CONSENSUS, TRENDS
from headroles.records.brief import brief, brief_lines
from headroles.records.layers import Stack, StackLayer
from headroles.records.markup import answer_html
from headroles.records.numbers import count, mean, two_decimals
from headroles.records.table import (
    COUNT,
    ENDS,
    HEAD,
    LAYER,
    SHARE,
    Cell,
    Column,
    Row,
    Table,
    chance,
    counted,
    interval_ends,
)

if TYPE_CHECKING:
    import pandas as pd


def _first_letters(digest: str) -> str:
    return digest[:12] or "–"


RUN = Column("run", "Name of the run, as in the manifest.", str, "run")
RUNS = Table("", "The runs of the manifest", "a run", (
    Column("name", "Short name, unique in the atlas: its task, with the preset where several runs share the "
           "task.", str, "run"),
    Column("folder", "Folder or address that it was read from.", str, "folder"),
    Column("manifest_sha256", "SHA-256 of its `manifest.json`.", str, "SHA-256 of its manifest",
           _first_letters),
    Column("group", "Runs with one group have one model and one rule of decision, so their heads can be "
           "matched.", str),
    Column("model", "Name of the model.", str, "model"),
    Column("weights", "SHA-256 of its weights; \"\" where it is not known.", str),
    Column("inputs_sha256", "SHA-256 of its inputs; \"\" where it is not known.", str, "of its inputs",
           _first_letters),
    Column("preset", "Name of the preset.", str, "preset"),
    Column("statistic", "Name of the statistic.", str),
    Column("rule", "Test, correction and alpha in a few words.", str, "decided by"),
    Column("layers", "Positions of the layers that are read, in the model.", str),
    counted("blocks", "Number of all layers, those without attention counted."),
    counted("heads", "Heads in a layer."),
    counted("examples", "Number of inputs."),
    counted("units", "Number of units."),
    Column("tokens", "Mean length of an input in tokens, special tokens included.", within=COUNT),
), name="What was collected", first=("name", "folder", "model", "preset", "rule"))  # fmt: skip
FINDINGS = Table("findings.csv", "Every role, layer and head of every run", "a run, role, layer and head", (
    RUN, SIEVE, LAYER, HEAD,
    Column("depth", "Relative depth of the layer, (layer + 1/2) / blocks.", within=SHARE),
    counted("count", "Units with a score."),
    Column("mean", "Mean score.", float, f"mean {ENDS}", mean, ("low", "high")), *interval_ends(),
    Column("threshold", "Mean chance value plus the margin."),
    Column("effect", "(Mean − threshold) / standard deviation."),
    chance("p", "One-sided p of the role, before correction."), chance("q", "`p` corrected.", "q"),
    chance("p_not", "One-sided p of “not”, before correction."), chance("q_not", "`p_not` corrected."),
    Column("stability", "How often fresh samples of the inputs give the role.", within=SHARE),
    Column("verdict", "The outcome in words; `role` for heads that hold the role.", str, "verdict"),
), name="Findings")  # fmt: skip
NUMBERS = tuple(column.name for column in FINDINGS.columns[5:-1])
"""Columns of numbers of ``FINDINGS``, which are arrays of ``RunRoles``."""
SEVERAL_OF_RUNS = replace(
    SEVERAL,
    row=f"a run, and {SEVERAL.row}",
    columns=(RUN, *SEVERAL.columns),
    data={},
    name="Roles by layer",
)


def _pair(row: Row) -> Cell:
    text = f"{row.run_a} – {row.run_b}" if row.run_a else "mean over pairs"
    return Cell(text, text)


AGREEMENT = Table(
    "agreement.csv", "Agreement of labels", "a role and a pair of runs, or a mean",
    (
        Column("group", "The group of both runs.", str, "rule"),
        Column("sieve", "The role; empty for the mean over the roles of the group.", str, "role",
               lambda role: role or "all roles, mean"),
        Column("run_a", "Name of one run; empty for the mean over all pairs of the group.", str, "runs",
               cell=_pair),
        Column("run_b", "Name of the other.", str),
        counted("heads", "Heads that both runs could test; over several pairs, of the first.", "heads"),
        Column("both", "Heads with the role in both; of a mean, its mean over pairs.", float, "both", count,
               within=COUNT),
        Column("either", "Heads with the role in at least one.", float, "either", count, within=COUNT),
        Column("kappa", "Cohen's kappa of the labels over heads; NaN where it is not defined: in both runs "
               "all heads hold the role, or none does.", float, f"kappa {ENDS}", two_decimals,
               ("low", "high"), within=(-1.0, 1.0)),
        Column("low", "Lower end of its 95 % interval over inputs: where kappa of fresh samples of both "
               "lies.", within=(-1.0, 1.0)),
        Column("high", "Upper end.", within=(-1.0, 1.0)),
    ),
    first=("sieve",),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class AtlasRun:
    """One run of an atlas, as the manifest has it; ``RUNS`` says what its fields mean."""

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


@dataclass(frozen=True, slots=True, eq=False)
class Atlas:
    """Several label runs on one page.

    Heads are matched within groups only: runs of one model with one rule of decision.

    Attributes:
        runs: The runs, in the order in which they were given.
        findings: Findings of the roles of each run.
        several: Number of roles a head by layer, of each run (``SEVERAL``).
        agreement: Agreement of labels, pair by pair and as means (``AGREEMENT``).
        consensus: Every role and head of the groups with two runs or more (``CONSENSUS``).
        steps: Every role and head over the steps of one training, where the runs are its checkpoints
            (``TRENDS``).
        manifest: All facts needed to reproduce the atlas (JSON types only).
        remarks: Remarks for the reader, one sentence each.
    """

    runs: tuple[AtlasRun, ...]
    findings: tuple[RunRoles, ...]
    several: tuple[Table, ...]
    agreement: Table = AGREEMENT
    consensus: Table = CONSENSUS
    steps: Table = TRENDS
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

    def largest_means(self, role: str) -> dict[str, float]:
        """Return the largest mean of a role over the runs of each statistic, at least 0."""
        tops: dict[str, float] = {}
        for run, found in zip(self.runs, self.findings, strict=True):
            if role in found.roles:
                top = float(np.nanmax(found.numbers["mean"][found.of(role)], initial=0.0))
                tops[run.statistic] = max(top, tops.get(run.statistic, 0.0))
        return tops

    @property
    def table(self) -> Table:
        """Return every role, layer and head of every run."""
        tables = []
        for run, found in zip(self.runs, self.findings, strict=True):
            sieve, layer, head = (index.ravel() for index in np.indices(found.held.shape))
            columns: dict[str, Any] = {"run": [run.name] * sieve.size, "head": head}
            columns["sieve"] = np.array(found.roles, dtype=object)[sieve]
            columns |= {"layer": np.array(run.layers)[layer], "depth": run.depths[layer]}
            columns |= {name: found.numbers[name].ravel() for name in NUMBERS}
            tables.append(FINDINGS.of(**columns, verdict=found.verdict.ravel()))
        return FINDINGS.joined(tables)

    @property
    def layers(self) -> Table:
        """Return roles a head and heads with several roles, by run and layer."""
        return SEVERAL_OF_RUNS.joined(
            SEVERAL_OF_RUNS.of(run=[run.name] * len(own), **own.data)
            for run, own in zip(self.runs, self.several, strict=True)
        )

    def frame(self) -> pd.DataFrame:
        """Return one row per run × role × layer × head with the columns of ``findings.csv``.

        ``depth`` is the relative depth of the layer, (layer + 1/2) / blocks.
        """
        return self.table.frame()

    def to_pandas(self) -> pd.DataFrame:
        """Return the same as ``frame``."""
        return self.frame()

    def by_layer(self) -> pd.DataFrame:
        """Return roles a head and heads with several roles, with the columns of ``several.csv``."""
        return self.layers.frame()

    def agreements(self) -> pd.DataFrame:
        """Return the agreement of labels, with the columns of ``agreement.csv``."""
        return self.agreement.frame()

    def consensus_frame(self) -> pd.DataFrame:
        """Return roles and heads of groups with two runs or more, with the columns of ``consensus.csv``."""
        return self.consensus.frame()

    def steps_frame(self) -> pd.DataFrame:
        """Return every role and head over the steps of one training, with the columns of ``trends.csv``."""
        return self.steps.frame()

    def __repr__(self) -> str:
        """Return the runs and the answer, in at most 20 lines."""
        from headroles.kinds import report_of

        answer = [sentence.text for sentence in report_of(self).answer.sentences]
        facts = [(run.name, f"{run.model}, {run.preset}, {run.examples:,} inputs") for run in self.runs]
        tables = [("tables", ".to_pandas(), .by_layer(), .agreements(), .consensus_frame(), .steps_frame()")]
        return brief_lines(f"Atlas of {len(self.runs)} runs", [*facts, *tables], answer)

    def _repr_html_(self) -> str:
        """Return the answer in sentences, for notebooks."""
        from headroles.kinds import report_of

        return answer_html(report_of(self).answer)
