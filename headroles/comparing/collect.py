"""Collect label runs into an atlas: their findings, roles by layer, and agreement of labels."""

import platform
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from importlib.metadata import version
from typing import Any

import numpy as np

from headroles.addresses import last_name
from headroles.comparing.across import JudgedRun, consensus_rows, judged_run, shared_notes, step_rows
from headroles.comparing.parts import WHOLE, merge_parts
from headroles.errors import BadInput
from headroles.kinds import kind_of
from headroles.records.assessment import SEVERAL
from headroles.records.atlas.across import CONSENSUS, TRENDS
from headroles.records.atlas.atlas import AGREEMENT, Atlas, AtlasRun, RunRoles
from headroles.records.findings import Labelling
from headroles.records.numbers import join_names, plural
from headroles.records.table import Table
from headroles.stats.assessment.several import fresh_roles, relabels, several_roles
from headroles.stats.comparing.agreement import Labels, agreements
from headroles.stats.relabel import Grid
from headroles.storage.folder import MANIFEST
from headroles.storage.remote import local_copy
from headroles.storage.run import load

MANIFEST_FIELDS = ("command", "headroles", "task", "source", "tokenizer", "parser", "counts", "versions")
"""Fields of the manifest of each run that an atlas records, besides those of ``AtlasRun``."""
PACKAGES = ("numpy", "scipy", "statsmodels", "pandas", "plotly")


@dataclass(frozen=True, slots=True, eq=False)
class ReadRun:
    """A run as it was read.

    Attributes:
        folder: Folder or address, as it was given.
        digest: SHA-256 of its manifest.
        labelling: The run.
    """

    folder: str
    digest: str
    labelling: Labelling

    @property
    def facts(self) -> Mapping[str, Any]:
        """The manifest of the run."""
        return self.labelling.manifest

    def fact(self, part: str, name: str) -> str:
        """Return a fact of a part of the manifest as text; "" where it is not there."""
        value = (self.facts.get(part) or {}).get(name)
        return "" if value is None else str(value)

    @property
    def task(self) -> str:
        """The task of the run, or the name of its inputs, or that of its folder."""
        source = self.fact("source", "name") if self.fact("source", "kind") != "sample" else ""
        names = (self.facts.get("task"), source, self.folder)
        return next(last_name(str(name)) for name in names if name)

    @property
    def rule(self) -> str:
        """Test, correction and alpha in a few words."""
        decision = self.labelling.decision
        return f"{decision.test}, {decision.correction} over {decision.family}, alpha {decision.alpha:g}"

    @property
    def key(self) -> tuple[Any, ...]:
        """What runs share whose labels can be matched head by head: the model and the rule of decision."""
        margin = (self.facts.get("settings") or {}).get("margin")
        model = self.fact("model", "weights_sha256") or self.fact("model", "name") or self.folder
        shape = self.labelling.scores.stack.numbers, self.labelling.scores.heads
        kind = self.fact("model", "kind")
        rule = (self.facts.get("preset"), self.facts.get("statistic"), self.rule, margin)
        return (model, kind, shape, *rule)


def collect_runs(folders: Sequence[str], steps: bool = False, parts: bool = False) -> Atlas:
    """Return the atlas of some runs; nothing is written.

    Args:
        folders: Folders or addresses of two or more label runs.
        steps: Whether they are checkpoints of one training, first to last.
        parts: Whether they are parts of one corpus, which is then shown as one more run.

    Raises:
        HeadrolesError: When one of them cannot be read, is no label run, or is no checkpoint like the others.
    """
    runs = [_read(folder) for folder in folders]
    if not parts:
        return atlas_of(runs, steps)
    return atlas_of([_whole(runs), *runs], parts=True)


def _whole(runs: Sequence[ReadRun]) -> ReadRun:
    """Return the run of the corpus whose parts have a run each."""
    digest = sha256("".join(run.digest for run in runs).encode()).hexdigest()
    return ReadRun(WHOLE, digest, merge_parts([run.labelling for run in runs]))


def atlas_of(runs: Sequence[ReadRun], steps: bool = False, parts: bool = False) -> Atlas:
    """Return the atlas of runs that were read.

    Args:
        runs: Two or more label runs.
        steps: As for ``collect_runs``.
        parts: Whether the first is the whole of the others.

    Raises:
        BadInput: When they cannot be steps of one training.
    """
    folders = [run.folder for run in runs][parts:]
    labels = _groups(runs)
    names = _step_names(runs) if steps else []
    names = names or _names(runs, labels)
    rows = tuple(_run(run, name, label) for run, name, label in zip(runs, names, labels, strict=True))
    findings = tuple(_findings(run.labelling) for run in runs)
    judged = [judged_run(name, run.labelling) for name, run in zip(names, runs, strict=True)]
    drawn = _draw_labels(judged, findings)
    several = tuple(_several(run.labelling, own) for run, own in zip(runs, drawn, strict=True))
    agreed: list[Table] = []
    consensus: list[Table] = []
    sharing: list[str] = []
    own_inputs = range(1 if parts else 0, len(runs))  # the whole has those of its parts
    for group in dict.fromkeys(labels):
        members = [place for place in own_inputs if labels[place] == group]
        agreed.append(agreements(group, [drawn[place] for place in members]))
        if len(members) > 1:
            together = [judged[place] for place in members]
            notes = [] if steps else shared_notes(group, together)  # checkpoints share inputs on purpose
            consensus.append(consensus_rows(group, together, apart=not steps and not notes))
            sharing += notes
            if parts and notes:
                sharing.append(f"{WHOLE} counts what two parts share as units of its own in each of them.")
    agreement = AGREEMENT.joined(agreed)
    alone = [] if steps else _apart(rows, agreement)  # weights of checkpoints differ on purpose
    remarks = (*_missing_roles(rows, findings), *_shared_inputs(rows), *sharing, *alone)
    manifest = {
        "headroles": version("headroles"),
        "kind": "atlas",
        "command": shlex.join(["headroles", "atlas", *folders, *["--steps"] * steps, *["--parts"] * parts]),
        "settings": {"runs": list(folders), "steps": steps, "parts": parts},
        "runs": [
            asdict(row) | {"facts": {name: run.facts[name] for name in MANIFEST_FIELDS if name in run.facts}}
            for row, run in zip(rows, runs, strict=True)
        ],
        "remarks": list(remarks),
        "versions": {"python": platform.python_version()} | {name: version(name) for name in PACKAGES},
    }
    return Atlas(
        rows,
        findings,
        several,
        agreement,
        CONSENSUS.joined(consensus),
        step_rows(judged) if steps else TRENDS,
        manifest,
        remarks,
    )


def _several(labelling: Labelling, own: Labels) -> Table:
    """Return roles a head by layer: those of the run, or else of its fresh samples; none where it bets."""
    if labelling.assessment is not None and labelling.assessment.several:
        return labelling.assessment.several
    if not relabels(labelling.decision):
        return SEVERAL
    return several_roles(
        own.roles, own.held, own.fresh, _grid(labelling), labelling.decision.seed, labelling.scores.stack
    )


def _read(folder: str) -> ReadRun:
    """Read a run and hash its manifest; refuse what is no label run, or has no role."""
    with local_copy(folder) as place:
        labelling = load(place)
        digest = sha256((place / MANIFEST).read_bytes()).hexdigest()
    kind = kind_of(labelling).name
    if kind != "label":
        raise BadInput(
            f"an atlas shows label runs, but '{folder}' is a run of {kind}; leave it out, or label its inputs"
        )
    if not labelling.findings.roles:
        raise BadInput(f"an atlas shows roles, but '{folder}' has no sieve that can be one; leave it out")
    return ReadRun(str(folder), digest, labelling)


def _groups(runs: Sequence[ReadRun]) -> list[str]:
    """Return the name of every run's group: its preset, with what else sets it apart from other groups."""
    models = {run.key[0] for run in runs}
    keys = list(dict.fromkeys(run.key for run in runs))
    firsts = {run.key: run for run in reversed(runs)}
    words = {}
    for key in keys:
        run = firsts[key]
        parts = [last_name(run.fact("model", "name"))] if len(models) > 1 else []
        words[key] = ", ".join([*parts, str(run.facts.get("preset") or run.rule)])
    taken = Counter(words.values())
    for key in keys:
        if taken[words[key]] > 1:
            margin = f", margin {key[-1]}" if key[-1] is not None else ""
            words[key] += f" ({firsts[key].rule}{margin})"
    names = list(words.values())
    for place, key in enumerate(keys):
        before = names[:place].count(names[place])
        words[key] += f" #{before + 1}" if before else ""
    return [words[run.key] for run in runs]


def _names(runs: Sequence[ReadRun], groups: Sequence[str]) -> list[str]:
    """Return short names, no two alike: the task, with the group, the folder or a number where needed."""
    names = [run.task for run in runs]
    folders = [last_name(run.folder) for run in runs]
    for words in (groups, folders, [str(place + 1) for place in range(len(runs))]):
        known: dict[str, set[str]] = {}
        for name, word in zip(names, words, strict=True):
            known.setdefault(name, set()).add(word)
        names = [
            name if len(known[name]) == 1 else word if word.startswith(name) else f"{name} {word}"
            for name, word in zip(names, words, strict=True)
        ]
    return names


def _step_names(runs: Sequence[ReadRun]) -> list[str]:
    """Return the names of the folders of checkpoints on one task; nothing where two are alike."""
    names = [last_name(run.folder) for run in runs]
    return names if len(set(names)) == len(runs) and len({run.task for run in runs}) == 1 else []


def _run(run: ReadRun, name: str, group: str) -> AtlasRun:
    """Return the record of a run."""
    scores = run.labelling.scores
    return AtlasRun(
        name=name,
        folder=run.folder,
        manifest_sha256=run.digest,
        group=group,
        model=run.fact("model", "name"),
        weights=run.fact("model", "weights_sha256"),
        inputs_sha256=run.fact("source", "sha256"),
        preset=str(run.facts.get("preset") or ""),
        statistic=str(run.facts.get("statistic") or ""),
        rule=run.rule,
        layers=scores.stack.numbers,
        blocks=scores.stack.blocks,
        heads=scores.heads,
        examples=int((run.facts.get("counts") or {}).get("examples") or len(scores.examples)),
        units=len(set(scores.units)),
        tokens=float(np.mean(scores.tokens)),
    )


def _findings(labelling: Labelling) -> RunRoles:
    """Return the findings of the roles of a run."""
    findings = labelling.findings
    places = [findings.of(name) for name in findings.roles]
    low, high = labelling.mean_intervals()
    stability = np.full(findings.mean.shape, np.nan)
    if labelling.assessment is not None:
        stability = labelling.assessment.precision.stability
    grids = {
        name: getattr(findings, name) for name in ("count", "mean", "effect", "p", "q", "p_not", "q_not")
    }
    grids |= {"low": low, "high": high, "threshold": findings.null + findings.margin, "stability": stability}
    verdict = labelling.evidence()["verdict"].to_numpy(dtype=object)
    held = findings.decision[places] == 0
    return RunRoles(
        findings.roles,
        {name: grid[places] for name, grid in grids.items()},
        verdict.reshape(held.shape),
        held,
    )


def _draw_labels(judged: Sequence[JudgedRun], findings: Sequence[RunRoles]) -> list[Labels]:
    """Return the labels of every run, and those of fresh samples; equal inputs are drawn together."""
    inputs = list(dict.fromkeys(run.labelling.scores.examples for run in judged))
    drawn = []
    for run, found in zip(judged, findings, strict=True):
        labelling = run.labelling
        decision = labelling.decision
        seed = decision.seed + inputs.index(labelling.scores.examples)
        fresh = fresh_roles(run.columns, _grid(labelling), decision, seed)
        size = len(found.roles)
        tested = ~np.isnan(found.numbers["p"]).reshape(size, -1)
        drawn.append(Labels(run.name, found.roles, found.held.reshape(size, -1), tested, fresh))
    return drawn


def _grid(labelling: Labelling) -> Grid:
    """Return layers and heads of a run."""
    return Grid(labelling.scores.layers, labelling.scores.heads)


def _missing_roles(rows: Sequence[AtlasRun], findings: Sequence[RunRoles]) -> list[str]:
    """Return a remark for every role that some run could not test."""
    every = dict.fromkeys(name for found in findings for name in found.roles)
    remarks = []
    for role in every:
        without = [row.name for row, found in zip(rows, findings, strict=True) if role not in found.tested]
        if without:
            remarks.append(
                f"{role} was not tested on {join_names(without)}, so heads there can hold fewer roles."
            )
    return remarks


def _shared_inputs(rows: Sequence[AtlasRun]) -> list[str]:
    """Return a remark on runs of one group that have the same inputs."""
    known: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        if row.inputs_sha256:
            known.setdefault((row.group, row.inputs_sha256), []).append(row.name)
    return [
        f"{join_names(names)} have the same inputs, so their agreement says nothing about other texts."
        for names in known.values()
        if len(names) > 1
    ]


def _apart(rows: Sequence[AtlasRun], agreement: Table) -> list[str]:
    """Return a remark where runs are alone in their group."""
    agreed = {line.group for line in agreement}
    alone = [row.name for row in rows if row.group not in agreed]
    if not alone:
        return []
    verb = "has" if len(alone) == 1 else "have"
    return [
        f"{plural(len(alone), 'run')} ({join_names(alone)}) {verb} no other run of the same model and rule: "
        f"counts and depth are compared, heads are not."
    ]
