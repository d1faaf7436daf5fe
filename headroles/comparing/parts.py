"""Parts of one corpus with a run each, judged together as one run of the whole."""

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from itertools import combinations

import numpy as np

from headroles.errors import BadInput
from headroles.inputs.identity import WAYS, sketches_of
from headroles.inputs.sketch import shared_share
from headroles.judging.again import options_of
from headroles.judging.scores import judge_scores
from headroles.records.example import Scores
from headroles.records.findings import Labelling
from headroles.records.moments import Moments
from headroles.records.numbers import percent_text
from headroles.records.rules.rule import Rule
from headroles.shards.moment_runs import concatenate_scores
from headroles.shards.moments import SUBSAMPLE, ranks_of

MOST_SHARED = 0.01
"""Largest share of the inputs of a part that another part may have, too: a hundredth more units."""
WHOLE = "whole"
"""Task of the run that parts are merged into."""
EQUAL = ("preset", "statistic")
"""Facts of a manifest that parts have in common."""


def merge_parts(parts: Sequence[Labelling]) -> Labelling:
    """Return the run of a corpus whose parts have a run each.

    Sums add up, so that runs that kept sums give the findings of one run over all inputs, up to the order of
    addition. Units are named alike in all parts by their group or text. Where all scores were kept, inputs of
    one group in two parts are one unit. Units without a group are named by their keys there, so parts with
    equal inputs are refused: they would count twice. The swap contrast pairs inputs of one run, so it has
    fewer units in parts.

    Args:
        parts: Two label runs or more, in the order of the corpus.

    Returns:
        The whole, with the settings of the first part; its command is that of the atlas.

    Raises:
        BadInput: When the parts differ in model, columns, margins or rule, share inputs, or some keep sums
            and others all scores.
    """
    first = parts[0]
    for part in parts[1:]:
        _check_alike(first, part)
    for one, other in combinations([part for part in parts if part.moments is None], 2):
        _check_apart(one, other)
    hashes = [(part.manifest.get("source") or {}).get("sha256") for part in parts]
    if len(set(hashes)) < len(hashes):
        raise BadInput(
            "parts of one corpus have different inputs, but two runs read the same ones (equal SHA-256 of "
            "their texts); name every part once"
        )
    scores = concatenate_scores(_own_names([part.scores for part in parts]))
    moments = None
    if first.moments is not None:
        moments = add_moments([part.moments for part in parts if part.moments is not None])
        scores = _smallest_ranks(scores, first.decision.seed)
    rules = tuple(_merge_rules(rules) for rules in zip(*(part.findings.rules for part in parts), strict=True))
    whole = judge_scores(scores, rules, options_of(first), first.decision, moments)
    counts = [dict(part.manifest.get("counts") or {}) for part in parts]
    known = {name: sum(int(own.get(name) or 0) for own in counts) for name in counts[0]}
    manifest = dict(first.manifest) | {
        "task": WHOLE,
        "source": {"kind": "parts", "name": WHOLE},
        "counts": known | {"units": len(set(scores.units))} if moments is None else known,
    }
    return replace(whole, manifest=manifest)


def _check_apart(first: Labelling, second: Labelling) -> None:
    """Check that two parts whose scores are joined one by one have different inputs.

    Raises:
        BadInput: When they share inputs that no name of a group tells.
    """
    known, asked = sketches_of(first.manifest), sketches_of(second.manifest)
    shares = {way: np.nan_to_num(shared_share(known[way], asked[way])) for way in WAYS}
    share = max(shares["texts"], shares["tokens"])
    if share > max(MOST_SHARED, shares["groups"]):
        names = [(part.manifest.get("source") or {}).get("name", WHOLE) for part in (first, second)]
        raise BadInput(
            f"parts of one corpus have different inputs, but about {percent_text(share)} of those of "
            f"'{names[1]}' are in '{names[0]}', perhaps in another spelling; leave them out of one, or "
            f"name documents "
            "(--group)"
        )


def add_moments(parts: Sequence[Moments]) -> Moments:
    """Return the sums of all parts; shards are counted on from part to part.

    Raises:
        BadInput: When columns or heads differ.
    """

    def add(before: Moments, part: Moments) -> Moments:
        shards = part.stop - part.start
        return before.merged(replace(part, start=before.stop, stop=before.stop + shards))

    return reduce(add, parts)


def _own_names(parts: Sequence[Scores]) -> list[Scores]:
    """Return the scores of parts with names of inputs that no other part has; named groups stay.

    Files of two parts may number their rows alike. Then every name gets the number of its part.
    """
    names = [key for part in parts for key in part.examples]
    if len(set(names)) == len(names):
        return list(parts)
    renamed = []
    for number, part in enumerate(parts, 1):
        keys = set(part.examples)
        units = tuple(f"{number}/{unit}" if unit in keys else unit for unit in part.units)
        renamed.append(replace(part, examples=tuple(f"{number}/{key}" for key in part.examples), units=units))
    return renamed


def _smallest_ranks(scores: Scores, seed: int) -> Scores:
    """Return the random subsample of the whole: of all kept examples those of the smallest ranks."""
    ranks = ranks_of(scores.examples, seed)
    return scores.take(np.sort(np.argsort(ranks, kind="stable")[:SUBSAMPLE]))


def _merge_rules(rules: Sequence[Rule]) -> Rule:
    """Return the rule of one column over all parts: the widest bounds, and the mean chance value."""
    low, high = min(rule.low for rule in rules), max(rule.high for rule in rules)
    return replace(rules[0], low=low, high=high, null=float(np.mean([rule.null for rule in rules])))


def _check_alike(first: Labelling, part: Labelling) -> None:
    """Check that two runs can be parts of one corpus.

    Raises:
        BadInput: When they differ in what parts have in common.
    """
    models = [dict(run.manifest.get("model") or {}) for run in (first, part)]
    pairs = {
        "model": tuple(model.get("weights_sha256") or model.get("name") for model in models),
        "columns, margins and contrasts": tuple(
            [(r.sieve, r.margin, r.contrast) for r in run.findings.rules] for run in (first, part)
        ),
        "rule of decision": (first.decision, part.decision),
        "kept results (sums or all scores)": tuple(run.moments is None for run in (first, part)),
    }
    pairs |= {name: (first.manifest.get(name), part.manifest.get(name)) for name in EQUAL}
    for what, (own, theirs) in pairs.items():
        if own != theirs:
            raise BadInput(
                f"parts of one corpus are runs with the same options, but the {what} of two runs differ; "
                "label all parts alike, or leave --parts out"
            )
