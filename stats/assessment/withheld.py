"""Labels that are withheld because they would hinge on few units, and the remark that counts them."""

import numpy as np
from jaxtyping import Bool

from headroles.records.findings import Findings
from headroles.records.numbers import plural
from headroles.records.rules.rule import Decision
from headroles.stats.assessment.remarks import join_names
from headroles.stats.claims import enough_for_not
from headroles.stats.columns import Columns
from headroles.stats.correction import significant
from headroles.stats.decision import ENOUGH_WITHOUT_BOUND
from headroles.stats.engine import counted_p
from headroles.stats.families import adjust_own_families, family_members
from headroles.stats.methods.names import METHODS


def withheld(
    columns: Columns, findings: Findings, decision: Decision
) -> tuple[Bool[np.ndarray, "sieves heads"], Bool[np.ndarray, "sieves heads"]]:
    """Return which heads get no role, and which no "not", because it would hinge on few units.

    These are undetermined heads whose q would be at most alpha without the guard, by Holm's correction in
    place of maxT.

    Args:
        columns: The columns that were tested.
        findings: Their outcome.
        decision: As they were judged.
    """
    shape = (len(columns), findings.count[0].size)
    layers, heads = findings.count.shape[1:]
    families = family_members(findings.rules, layers, heads, decision.family)
    enough = np.stack([enough_for_not(column, decision.test) for column in columns])
    several = findings.count.reshape(shape) >= METHODS[decision.test].fewest
    undetermined = (findings.decision.reshape(shape) == 2) & several
    found = []
    counted = counted_p(columns, findings, decision)
    for p, guarded, allowed in zip((findings.p, findings.p_not), counted, (several, enough), strict=True):
        own = p.reshape(shape)
        q = adjust_own_families(own, families, decision)
        hinges = guarded.reshape(shape) > own
        found.append(significant(q, decision.alpha, own) & undetermined & allowed & hinges)
    return found[0], found[1]


def withheld_remarks(
    columns: Columns, findings: Findings, decision: Decision, *, nots: bool = True
) -> list[str]:
    """Return remarks that count the labels that are withheld, and name columns without stated bounds.

    Args:
        columns: The columns that were tested.
        findings: Their outcome.
        decision: As they were judged.
        nots: Whether "not" is a verdict of its own.
    """
    labels = ("role", "not") if nots else ("role",)
    rows = dict(zip(labels, withheld(columns, findings, decision), strict=False))
    total, named = dict.fromkeys(labels, 0), list[str]()
    for place, rule in enumerate(findings.rules):
        counts = {label: int(found[place].sum()) * rule.role for label, found in rows.items()}
        if any(counts.values()):
            total = {label: total[label] + count for label, count in counts.items()}
            named.append(f"{rule.sieve} ({', '.join(f'{n} {label}' for label, n in counts.items() if n)})")
    sentences = []
    if named:
        sentences.append(
            f"{plural(sum(total.values()), 'label')} withheld, since a few extreme units could reverse "
            f"{'it' if sum(total.values()) == 1 else 'them'}: {join_names(named)}. More inputs decide this."
        )
    loose = [
        column.rule.sieve
        for column in columns
        if column.rule.role and column.sample.count.any() and np.isnan([column.low, column.high]).any()
    ]
    if loose and nots and METHODS[decision.test].guarded:
        sentences.append(
            f"the scores of {join_names(loose)} have no stated bounds. So the check on few units takes the "
            f"range of the scores seen, which is weaker, and no head is called 'not' below "
            f"{ENOUGH_WITHOUT_BOUND} units. Stated bounds mend both: --low and --high of judge --scores, or "
            f"low and high of a sieve."
        )
    return sentences
