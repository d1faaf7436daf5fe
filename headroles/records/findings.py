"""Result of a run: the outcome of every test, and the labelling that holds it with scores and manifest."""

from __future__ import annotations

import webbrowser
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Bool, Float, Int

from headroles.errors import BadInput, shorten
from headroles.progress import in_notebook
from headroles.records.arrays import key_groups, read_only
from headroles.records.assessment import NAME, Assessment, Precision
from headroles.records.brief import brief
from headroles.records.causal.ablation import Ablation
from headroles.records.causal.origins import Origins
from headroles.records.clusters import ClusterResults
from headroles.records.example import Scores
from headroles.records.kept_maps import KeptMaps
from headroles.records.layers import Stack
from headroles.records.moments import Moments
from headroles.records.numbers import mean
from headroles.records.probes import ProbeResults
from headroles.records.prompt import Head, Place, RoleMap, dataset_of, head_of, labelling_text
from headroles.records.roles import controls_of, explained_words
from headroles.records.rules.rule import Decision, Rule
from headroles.records.surface import SurfaceResults
from headroles.records.table import COUNT, ENDS, HEAD, LAYER, SHARE, Column, Table, chance, counted

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

    from headroles.viewing.viewed import Viewed

DECISIONS = ("role", "not", "undetermined", "untestable", "explained")
"""Decisions by code."""
FINDINGS = Table("findings.csv", "The outcome of every test", "a sieve, layer and head", (
    NAME, LAYER, HEAD,
    counted("count", "Units that counted; of scores kept as moments, examples.", "units"),
    Column("cells", "Mean number of eligible queries (or arcs) per example.", within=COUNT),
    Column("mean", "Mean score over units, on the score scale.", float, f"mean {ENDS}", mean),
    Column("null", "Mean chance value.", float, "chance"),
    Column("margin", "Distance beyond the null that counts."),
    Column("effect", "`(mean − null − margin) / sd`, signed, sd over what is counted; NaN without spread.",
           float, "effect"),
    Column("low", "Lower end of the 95 % interval of the difference `mean − null`, laid around the mean "
           "(two-sided, not adjusted for selection). It is that of the mean in surface runs, and where all "
           "inputs have one chance value; for probes see `mean_low` of `precision.csv`."),
    Column("high", "Upper end of that interval."),
    Column("statistic", "The test statistic of `mean − null − margin`."),
    chance("p", "One-sided p of \"not beyond the margin\"; joint with the contrast where there is one. In "
           "the row of a second contrast it is joint with the sieve and its first contrast, too."),
    chance("q", "`p` adjusted over its family.", "q"),
    chance("p_not", "One-sided p of \"not below the margin\", of the column by itself."),
    chance("q_not", "`p_not` adjusted over its family.", "q of not"),
    Column("decision", "`role`, `not`, `undetermined`, `untestable` or `explained`; empty on contrasts, "
           "which are part of a role. Explained: the score lies beyond θ, and the contrast below its margin. "
           "So what the contrast controls for, distance or position, explains the score.", str, "decision",
           lambda decision: decision or "contrast", words=(*DECISIONS, "")),
))  # fmt: skip
COLUMNS = tuple(column.name for column in FINDINGS.columns[3:-1])
"""Columns of numbers of ``FINDINGS``, which are arrays of ``Findings``."""


def labels_table(sieves: Iterable[str], shared: bool) -> Table:
    """Return the description of ``labels.csv``, which has a column for every sieve.

    Args:
        sieves: Names of the sieves that can be roles.
        shared: Whether query heads share keys and values.
    """
    meaning = "1 role, 0 not; empty for every other verdict."
    return Table("labels.csv", "The roles of every head", "a head", (
        LAYER, HEAD,
        Column("roles", "Names of its roles, joined by `;`; empty without a role.", str),
        *(Column(sieve, meaning, "int | None", within=SHARE) for sieve in sieves),
        *[counted("kv_group", "Only where heads share keys: the group of the head.")] * shared,
    ))  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class HeadGrid:
    """Rules and unit counts of tests, one entry per sieve, layer and head; subclasses add their arrays.

    Attributes:
        rules: Rule of each sieve, in the order of the first axis.
        count: Units that counted.

    Raises:
        BadInput: When an array does not have one entry per sieve, layer and head.
    """

    rules: tuple[Rule, ...]
    count: Int[np.ndarray, "sieves layers heads"]

    __repr__ = brief

    def __post_init__(self) -> None:
        """Check shapes of all fields but the rules, and make the arrays read-only."""
        content = type(self).__name__.lower()
        for name in (entry.name for entry in fields(self) if entry.name != "rules"):
            array = getattr(self, name)
            if array.ndim != 3 or array.shape != (len(self.rules), *self.count.shape[1:]):
                raise BadInput(
                    f"{content} have one entry per sieve, layer and head, but {name!r} of "
                    f"{len(self.rules)} sieves has shape {array.shape}"
                )
            object.__setattr__(self, name, read_only(array))

    @property
    def sieves(self) -> tuple[str, ...]:
        """Names of the sieves, contrasts included."""
        return tuple(rule.sieve for rule in self.rules)

    def of(self, sieve: str) -> int:
        """Return the position of a sieve on the first axis."""
        return self.sieves.index(sieve)

    def flat_columns(self, names: Iterable[str], stack: Stack) -> dict[str, Any]:
        """Return columns of a table with one row per sieve × layer × head: these three, then named arrays.

        Args:
            names: Fields that are arrays, in the order of the columns.
            stack: The layers by their positions.
        """
        sieve, layer, head = (index.ravel() for index in np.indices(self.count.shape))
        columns: dict[str, Any] = {
            "sieve": np.array(self.sieves, dtype=object)[sieve], "layer": stack.positions[layer], "head": head
        }  # fmt: skip
        return columns | {name: getattr(self, name).ravel() for name in names}


@dataclass(frozen=True, slots=True, eq=False)
class Findings(HeadGrid):
    """The outcome of every test, one entry per sieve, layer and head.

    Its arrays are the columns of ``FINDINGS``, which says what they mean.

    Attributes:
        rules: Rule that each sieve was tested by, in the order of the first axis.
        decision: 0 role, 1 not, 2 undetermined, 3 untestable, 4 explained (``DECISIONS``); −1 on contrasts,
            which are part of a role and no role themselves.
    """

    cells: Float[np.ndarray, "sieves layers heads"]
    mean: Float[np.ndarray, "sieves layers heads"]
    null: Float[np.ndarray, "sieves layers heads"]
    margin: Float[np.ndarray, "sieves layers heads"]
    effect: Float[np.ndarray, "sieves layers heads"]
    low: Float[np.ndarray, "sieves layers heads"]
    high: Float[np.ndarray, "sieves layers heads"]
    statistic: Float[np.ndarray, "sieves layers heads"]
    p: Float[np.ndarray, "sieves layers heads"]
    q: Float[np.ndarray, "sieves layers heads"]
    p_not: Float[np.ndarray, "sieves layers heads"]
    q_not: Float[np.ndarray, "sieves layers heads"]
    decision: Int[np.ndarray, "sieves layers heads"]

    __repr__ = brief

    @property
    def roles(self) -> tuple[str, ...]:
        """Names of the sieves that can be roles."""
        return tuple(rule.sieve for rule in self.rules if rule.role)


TIE = 1e-12
"""Adjusted p above alpha by at most this part of alpha count as alpha, as in ``stats.correction``."""


def stronger_roles(findings: Findings, decision: Decision) -> Bool[np.ndarray, "roles layers heads"]:
    """Return which roles are strong roles: those whose second contrast lies beyond its margin, too.

    Null: the score, its contrast or its second contrast is at most its margin. The row of the second
    contrast holds p of all three (the largest) and its q over the heads of the sieve.

    Args:
        findings: Findings of a run.
        decision: Its alpha decides.

    Returns:
        One entry per role, layer and head; False for roles without a second contrast.
    """
    places = [k for k, rule in enumerate(findings.rules) if rule.role]
    strong = np.zeros((len(places), *findings.count.shape[1:]), dtype=np.bool_)
    for role, place in enumerate(places):
        column = findings.rules[place].stronger
        if column in findings.sieves:
            other = findings.of(column)
            passes = _reaches_alpha(findings.q[other], findings.p[other], decision)
            strong[role] = (findings.decision[place] == 0) & passes
    return strong


def absent_heads(
    findings: Findings, precision: Precision, decision: Decision
) -> Bool[np.ndarray, "sieves layers heads"]:
    """Return which heads called "not" are absent: their mean lies within the bound around chance.

    Args:
        findings: Findings of a run.
        precision: Its two one-sided tests of the bound (``p_absent``, ``q_absent``).
        decision: Its alpha decides.
    """
    passes = _reaches_alpha(precision.q_absent, precision.p_absent, decision)
    absent: np.ndarray = (findings.decision == 1) & passes
    return absent


def _reaches_alpha(q: np.ndarray, p: np.ndarray, decision: Decision) -> Bool[np.ndarray, "*shape"]:
    """Return whether p and adjusted p are at most alpha, as ``stats.correction.significant``; NaN is not."""
    reached: np.ndarray = (q <= decision.alpha * (1 + TIE)) & (p <= decision.alpha)
    return reached


@dataclass(frozen=True, slots=True, eq=False)
class Labelling:
    """The result of a run.

    Attributes:
        scores: One number per sieve, example and head.
        findings: The outcome of every test.
        decision: Test, correction and level that judged the scores.
        manifest: All facts needed to reproduce the run (JSON types only).
        skipped: Inputs and sieves left out, cut or not applicable, one sentence each.
        assessment: Precision, stability, sensitivity, roles together; None when not computed.
        probed: Results of probes beyond the findings; None where no probes ran.
        surface: Surface statistics of layers; None in other runs.
        clustered: Distances between heads, and clusters; None where not requested.
        ablated: Verdicts of heads that were taken out, and tests of roles; None in other runs.
        origins: What makes heads attend where they do; None in other runs.
        exhibited: Typical inputs with their attention maps; None where none were kept.
        moments: Sums over random groups of all examples, where they were too many to keep all scores;
            ``scores`` are then those of a random subsample.
        folder: Folder or address that it was written to or read from; None where it is in memory alone.
    """

    scores: Scores
    findings: Findings
    decision: Decision
    manifest: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    skipped: tuple[str, ...] = ()
    assessment: Assessment | None = None
    probed: ProbeResults | None = None
    surface: SurfaceResults | None = None
    clustered: ClusterResults | None = None
    ablated: Ablation | None = None
    origins: Origins | None = None
    exhibited: KeptMaps | None = None
    moments: Moments | None = None
    folder: str | None = None

    def frame(self) -> pd.DataFrame:
        """Return one row per sieve × layer × head with the columns of ``findings.csv``."""
        return findings_of(self).frame()

    def mean_intervals(
        self,
    ) -> tuple[Float[np.ndarray, "sieves layers heads"], Float[np.ndarray, "sieves layers heads"]]:
        """Return lower and upper ends of the 95 % interval of every mean itself, on the score scale.

        ``findings.low`` and ``findings.high`` are those of the difference from the chance value, laid around
        the mean. Both are the same where every input has one chance value, but not for probes.

        Returns:
            The ends of ``assessment.precision``, or those of the findings where it has none; NaN where a
            run of probes has none.
        """
        findings, assessed = self.findings, self.assessment
        if assessed is None:
            own: tuple[np.ndarray, np.ndarray] = (np.full(findings.low.shape, np.nan),) * 2
        else:
            own = (assessed.precision.mean_low, assessed.precision.mean_high)
        from headroles.kinds import kind_of

        if kind_of(self).baselines:
            return own
        low, high = (
            np.where(np.isnan(ends), other, ends)
            for ends, other in zip(own, (findings.low, findings.high), strict=True)
        )
        return low, high

    def labels(self) -> pd.DataFrame:
        """Return one row per head: its roles joined by ``;`` and, per sieve, 1 role, 0 not, <NA> neither.

        An explained head has <NA>, like an undetermined one.

        Where query heads share keys and values, a last column ``kv_group`` shows which: heads of one
        layer with the same number.
        """
        return labels_of(self).frame().astype(dict.fromkeys(self.findings.roles, "Int8"))

    def to_pandas(self) -> pd.DataFrame:
        """Return the same as ``frame``."""
        return self.frame()

    def to_xarray(self) -> xr.Dataset:
        """Return scores and findings as arrays with named axes, for xarray and ArviZ.

        Returns:
            ``score`` (sieve × input × layer × head, float32, NaN without a value), ``chance`` and ``queries``
            (sieve × input: chance values and eligible queries), and every column of ``findings.csv`` with the
            ``decision`` in words (sieve × layer × head). Coordinates name ``sieve``, ``input``, ``layer``,
            ``head``, the ``unit`` and the ``tokens`` of each input, and whether a sieve can be a ``role``.
        """
        return dataset_of(self)

    def evidence(self) -> pd.DataFrame:
        """Return one row per role × layer × head with the verdict in words, contrasts within their row.

        Columns: ``sieve``, ``layer``, ``head``, ``verdict`` ("role", "not", "absent", "explained by distance"
        or "takes relatively more there" and the like, "undetermined" or "untestable"), ``mean`` with the ends
        ``low`` and ``high`` of its 95 % interval, ``threshold``, ``contrast`` with ``contrast_low``,
        ``contrast_high`` and ``contrast_threshold`` (NaN without a contrast), and ``q``.
        """
        import pandas as pd

        findings = self.findings
        roles = [place for place, rule in enumerate(findings.rules) if rule.role]
        names = findings.sieves
        low, high = self.mean_intervals()
        threshold = findings.null + findings.margin
        grids = {"verdict": self._verdicts(), "mean": findings.mean, "low": low, "high": high}
        grids |= {"threshold": threshold}
        contrast = {"": findings.mean, "_low": low, "_high": high, "_threshold": threshold}
        for name, values in ((f"contrast{end}", values) for end, values in contrast.items()):
            grids[name] = np.full(findings.mean.shape, np.nan)
            for place in roles:
                if findings.rules[place].contrast in names:
                    grids[name][place] = values[findings.of(findings.rules[place].contrast)]
        grids["q"] = findings.q
        sieve, layer, head = (index.ravel() for index in np.indices((len(roles), *findings.count.shape[1:])))
        columns: dict[str, Any] = {"sieve": np.array(findings.roles, dtype=object)[sieve]}
        columns |= {"layer": self.scores.stack.positions[layer], "head": head}
        return pd.DataFrame(columns | {name: grid[roles].ravel() for name, grid in grids.items()})

    def _verdicts(self) -> np.ndarray:
        """Return the verdict of every sieve, layer and head in words; "" on contrasts."""
        from headroles.kinds import kind_of

        findings, kind = self.findings, kind_of(self)
        outcomes = np.array([*(*kind.outcomes, "explained")[:5], ""], dtype=object)
        words: np.ndarray = outcomes[kind.decided(self)]
        for place, rule in enumerate(findings.rules):
            if control := controls_of(rule.weaker, rule.contrast):
                words[place][findings.decision[place] == 4] = explained_words(control)
        if self.assessment is not None:
            words[absent_heads(findings, self.assessment.precision, self.decision)] = "absent"
        return words

    @property
    def roles(self) -> RoleMap:
        """Return the roles by name: ``run.roles["local"]`` has the heads, counts and a table."""
        return RoleMap(self)

    def head(self, name: str | Place | int, head: int | None = None) -> Head:
        """Return one head: a sentence on what it does, its roles, and the evidence as a small table.

        Args:
            name: Its name, as in "2-8", "L2H8", "2.8" or (2, 8); or the position of its layer in the model,
                from 0.
            head: Its place in this layer, from 0; None with a name.

        Raises:
            BadInput: When the run has no such head.
        """
        from headroles.kinds import kind_of

        stack, given = self.scores.stack, name if head is None else (name, head)
        layer, number = stack.head(given, self.findings.count.shape[2])
        link = f"{self.report_path}#head-{layer}-{number}" if self.report_path else ""
        sentence = kind_of(self).head_sentence(self, stack.place(layer), number)
        return head_of(self, layer, number, sentence, link)

    @property
    def report_path(self) -> Path | None:
        """Return the file of the report; None where the run was not written to this machine."""
        from headroles.kinds import kind_of

        return kind_of(self).report_path(self)

    def view(self, text: str | None = None, text_b: str | None = None, **options: Any) -> Viewed:
        """Return the attention of the run's model over a text or a pair, with the roles of its heads.

        Args:
            text: The text; None for a typical input that the run kept.
            text_b: The second text of a pair.
            **options: Further keywords of ``headroles.view``.

        Raises:
            HeadrolesError: One of its subclasses, as ``headroles.view`` raises them.
        """
        from headroles.kinds import kind_of

        return kind_of(self).view(self, text, text_b, **options)

    def show(self) -> None:
        """Show the run: its maps in a notebook, its report in the browser anywhere else.

        Raises:
            BadInput: Outside of a notebook, when the run has no report on this machine.
        """
        if in_notebook():
            import_module("IPython.display").display(self)
            return
        report = self.report_path
        if report is None:
            raise BadInput(
                f"a run that was written to this machine has a report to show, but got one of folder "
                f"{shorten(self.folder)}; run with out=, or load(folder)"
            )
        webbrowser.open(report.resolve().as_uri())

    def __repr__(self) -> str:
        """Return model, inputs, the answer and counts of heads per role, in at most 20 lines."""
        from headroles.kinds import kind_of

        kind = kind_of(self)
        answer = [sentence.text for sentence in kind.answer(self).sentences]
        return labelling_text(self, kind.decided(self), answer)

    def _repr_html_(self) -> str:
        """Return the answer in sentences, and the maps of all roles or tables, for notebooks."""
        from headroles.kinds import kind_of

        return kind_of(self).notebook(self)


def findings_of(run: Labelling) -> Table:
    """Return the rows of ``findings.csv``, one per sieve × layer × head.

    Args:
        run: The result of a run.
    """
    columns = run.findings.flat_columns(COLUMNS, run.scores.stack)
    words = np.array([*DECISIONS, ""], dtype=object)[run.findings.decision.ravel()]
    return FINDINGS.of(**columns, decision=words)


def labels_of(run: Labelling) -> Table:
    """Return the rows of ``labels.csv``, one per head.

    Args:
        run: The result of a run. Of a head that is neither a role nor a "not", the entry is None.
    """
    findings = run.findings
    names = findings.roles
    decision = np.stack([findings.decision[findings.of(name)] for name in names]).reshape(len(names), -1)
    layer, head = (index.ravel() for index in np.indices(findings.count.shape[1:]))
    columns: dict[str, Any] = {"layer": run.scores.stack.positions[layer], "head": head}
    columns["roles"] = [
        ";".join(name for name, code in zip(names, column, strict=True) if code == 0) for column in decision.T
    ]
    for name, codes in zip(names, decision.tolist(), strict=True):
        columns[name] = [{0: 1, 1: 0}.get(code) for code in codes]
    groups = key_groups(run.manifest.get("model"), *findings.count.shape[1:])
    if groups is not None:
        columns["kv_group"] = groups.ravel()
    return labels_table(names, groups is not None).of(**columns)
