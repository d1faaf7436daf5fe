"""Summary of a run: everything that a page may state about it."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import fields

import numpy as np
from jaxtyping import Bool, Int

from headroles.kinds import kind_of
from headroles.records.assessment import Assessment, Precision
from headroles.records.findings import (
    COLUMNS,
    DECISIONS,
    Findings,
    Labelling,
    absent_heads,
    stronger_roles,
)
from headroles.records.roles import Look, control_of, looks_of
from headroles.reports.records import Combination, Interval, Role, Strongest, Summary, Table, Tally
from headroles.reports.summary.account import account
from headroles.reports.summary.verdicts import supports_of


def summarise(labelling: Labelling) -> Summary:
    """Count, name and order the results of a run; nothing statistical is computed.

    Args:
        labelling: The result of a run.

    Returns:
        Counts per role, strongest heads, what was run and left out, all findings and assessments.
    """
    findings, assessed = labelling.findings, labelling.assessment
    strong = stronger_roles(findings, labelling.decision)
    absent = _absent(labelling)
    roles = _roles(labelling, strong.sum(axis=(1, 2)), absent.sum(axis=(1, 2)))
    held = np.stack([findings.decision[role.position] == 0 for role in roles]) if roles else _none(findings)
    run_account = account(labelling)
    return Summary(
        account=run_account,
        decision=labelling.decision,
        roles=roles,
        supports=supports_of(labelling),
        held=held,
        strong=strong,
        absent=absent,
        combinations=_combinations(held, [role.sieve for role in roles], assessed),
        assessment=assessed,
        skipped=labelling.skipped,
        table=_table(labelling),
    )


def _none(findings: Findings) -> Bool[np.ndarray, "roles layers heads"]:
    """Return an empty array of held roles."""
    return np.zeros((0, *findings.count.shape[1:]), dtype=np.bool_)


def _absent(labelling: Labelling) -> Bool[np.ndarray, "roles layers heads"]:
    """Return which heads are absent; none without an assessment."""
    findings, assessed = labelling.findings, labelling.assessment
    roles = [rule.role for rule in findings.rules]
    if assessed is None:
        return np.zeros((sum(roles), *findings.count.shape[1:]), dtype=np.bool_)
    return absent_heads(findings, assessed.precision, labelling.decision)[roles]


def _roles(
    labelling: Labelling, strong: Int[np.ndarray, " roles"], absent: Int[np.ndarray, " roles"]
) -> tuple[Role, ...]:
    """Return every sieve that can be a role, with its look on the page."""
    findings = labelling.findings
    places = [k for k, rule in enumerate(findings.rules) if rule.role]
    looks = looks_of([findings.rules[k].sieve for k in places])
    return tuple(
        _role(labelling, place, looks[number], {"absent": absent[number], "strong": strong[number]})
        for number, place in enumerate(places)
    )


def _role(labelling: Labelling, position: int, look: Look, parts: Mapping[str, np.integer]) -> Role:
    """Return one role with its counts (absent and strong heads are parts), thresholds and strongest head."""
    findings = labelling.findings
    rule = findings.rules[position]
    decided = findings.decision[position]
    return Role(
        sieve=rule.sieve,
        position=position,
        question=rule.question,
        code=look.mark,
        tone=look.tone,
        symbol=look.symbol,
        threshold=_threshold(findings, position),
        contrast=rule.contrast,
        contrast_threshold=_threshold(findings, findings.of(rule.contrast))
        if rule.contrast
        else float("nan"),
        tally=Tally(
            *(int((decided == kind).sum()) for kind in range(len(DECISIONS))),
            **{name: int(part) for name, part in parts.items()},
        ),
        layers=tuple(int(count) for count in (decided == 0).sum(axis=1)),
        strongest=_strongest(labelling, position),
        together=rule.together,
        control=" or ".join(
            control_of(name) or "its contrast" for name in (rule.weaker, rule.contrast) if name
        ),
        stronger=control_of(rule.stronger) if rule.stronger in findings.sieves else "",
        bounded=_is_bounded(labelling, position),
    )


def _is_bounded(labelling: Labelling, position: int) -> bool:
    """Return whether heads of a role were tested for absence: not in probes, and not for ratios."""
    assessed = labelling.assessment
    return assessed is not None and not bool(np.isnan(assessed.precision.p_absent[position]).all())


def _threshold(findings: Findings, position: int) -> float:
    """Return θ: the chance value met in the run plus the margin; the rule's own where no score was seen."""
    null = findings.null[position]
    if np.isnan(null).all():
        return findings.rules[position].threshold
    return float(np.nanmean(null)) + findings.rules[position].margin


def _strongest(labelling: Labelling, position: int) -> Strongest | None:
    """Return the head with the largest mean among those that hold the role, the first of equals."""
    findings = labelling.findings
    held = findings.decision[position] == 0
    if not held.any():
        return None
    layer, head = (
        int(index)
        for index in np.unravel_index(
            int(np.argmax(np.where(held, findings.mean[position], -np.inf))), held.shape
        )
    )
    place, name = (position, layer, head), findings.rules[position].contrast
    return Strongest(
        layer=layer,
        head=head,
        score=_interval(labelling, place),
        contrast=_interval(labelling, (findings.of(name), layer, head)) if name else None,
        beyond=_difference(findings, place) if kind_of(labelling).baselines else None,
    )


def _interval(labelling: Labelling, place: tuple[int, int, int]) -> Interval:
    """Return the mean of one head with its own interval."""
    low, high = labelling.mean_intervals()
    return Interval(float(labelling.findings.mean[place]), float(low[place]), float(high[place]))


def _difference(findings: Findings, place: tuple[int, int, int]) -> Interval:
    """Return the difference of one head's mean from its chance value, with its interval."""
    mean, null, low, high = (
        float(getattr(findings, name)[place]) for name in ("mean", "null", "low", "high")
    )
    return Interval(mean - null, low - null, high - null)


def _combinations(
    held: Bool[np.ndarray, "roles layers heads"], names: list[str], assessed: Assessment | None
) -> tuple[Combination, ...]:
    """Return exact role sets of heads with a role, most frequent first, then in the order of roles."""
    expected = {role_set.roles: role_set for role_set in assessed.sets} if assessed else {}
    sets: Counter[tuple[int, ...]] = Counter()
    for column in held.reshape(held.shape[0], held.shape[1] * held.shape[2]).T:
        sets[tuple(int(role) for role in np.flatnonzero(column))] += 1
    sets.pop((), None)
    ordered = sorted(sets.items(), key=lambda pair: (-pair[1], pair[0]))
    combinations = []
    for roles, count in ordered:
        known = expected.get(";".join(names[role] for role in roles))
        ends = (known.expected, known.expected_low, known.expected_high) if known else ()
        combinations.append(Combination(roles, count, *ends))
    return tuple(combinations)


def _table(labelling: Labelling) -> Table:
    """Return all findings and precisions as columns."""
    findings, assessed = labelling.findings, labelling.assessment
    sources: dict[str, np.ndarray] = {name: getattr(findings, name) for name in COLUMNS}
    precision = tuple(field.name for field in fields(Precision)) if assessed else ()
    sources |= {name: getattr(assessed.precision, name) for name in precision} if assessed else {}
    return Table(
        sieves=findings.sieves,
        stack=labelling.scores.stack,
        heads=findings.count.shape[2],
        columns={name: np.asarray(column, dtype=np.float64).ravel() for name, column in sources.items()},
        decision=np.asarray(findings.decision, dtype=np.int64).ravel(),
        precision=precision,
    )
