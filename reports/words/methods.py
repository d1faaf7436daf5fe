"""The methods of a run in a paragraph for a paper, every number filled in.

Numbers come from the manifest, the rules and the decision. What a run does not hold is left out, so that
folders of older versions get a shorter paragraph.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePath
from typing import Any

import numpy as np

from headroles.kinds import kind_of
from headroles.records.atlas.atlas import Atlas
from headroles.records.comparison import Comparison
from headroles.records.example import Scores
from headroles.records.findings import DECISIONS, Findings, Labelling
from headroles.records.numbers import isolate, join_names, plural
from headroles.records.roles import CONTROLS, VALUES, control_of
from headroles.records.rules.rule import Decision, Rule
from headroles.records.stops.look import stop_sentences
from headroles.reports.causal.methods import ablation_sentences
from headroles.reports.why.methods import origin_sentences
from headroles.reports.words.atlas import atlas_sentences
from headroles.reports.words.citations import NORMS, cited_correction, reads_norms
from headroles.reports.words.citations import SIEVES as CITED_SIEVES
from headroles.reports.words.citations import TESTS as CITED_TESTS
from headroles.reports.words.cluster_facts import NOISE
from headroles.reports.words.clusters import METHODS
from headroles.reports.words.probes import QUESTIONS
from headroles.reports.words.words import (
    ENOUGH_FOR_NOT,
    FAMILIES,
    interval_name,
    is_e_bh,
    layers_of_heads,
    uses_resamples,
)

UNTESTABLE, EXPLAINED = DECISIONS.index("untestable"), DECISIONS.index("explained")
"""Codes of decisions."""
NAMED = 16
"""Most roles that the paragraph names."""
NOTES = 6
"""Most notes on what was left out that it repeats."""
HASH = 12
"""Digits of a hash that it shows."""
STACKS = {
    "encoder": "in the encoder",
    "decoder": "in the decoder's attention to its own tokens",
    "cross": "in the cross attention from decoder to encoder",
}
TEST_NAMES = {
    "t-skew": "a one-sided one-sample t test with Hall's correction for skew",
    "t": "a one-sided one-sample t test",
    "t-published": "a one-sided t test with the spread divided by n",
    "bootstrap-t": "a one-sided studentised bootstrap of the mean",
    "sign-flip": "one-sided sign flips of score minus threshold",
    "wilcoxon": "the one-sided Wilcoxon signed-rank test",
    "sign": "the one-sided sign test",
    "betting": "a one-sided test by betting, which holds at every look",
}
CORRECTION_NAMES = {
    "fdr_bh": "Benjamini-Hochberg", "fdr_by": "Benjamini-Yekutieli",
    "fdr_tsbh": "two-stage Benjamini-Hochberg", "holm": "Holm", "holm-sidak": "Holm-Šidák",
    "bonferroni": "Bonferroni", "sidak": "Šidák", "maxT": "step-down max-t",
}  # fmt: skip
PACKAGES = {
    "python": "Python", "torch": "torch", "transformers": "transformers", "numpy": "numpy", "scipy": "scipy",
    "statsmodels": "statsmodels", "spacy": "spaCy",
}  # fmt: skip
COLUMNS = {"probe": "row and direction", "surface": "statistic", "ablate": "arm", "why": "column"}
"""Nouns of what is tested, by kind of run; roles in other kinds."""
STORED = "stored maps"
"""How a manifest says that attention was read from files."""
WITHHELD = "on few units are withheld"
"""Words in the remark of a run that withheld labels."""


def methods_text(result: Labelling | Comparison | Atlas) -> str:
    """Return the methods of a run of any kind, of a comparison or of an atlas, as a paragraph for a paper.

    Args:
        result: The run, the comparison or the atlas.

    Returns:
        A paragraph without line breaks. It says only what the run records.
    """
    if isinstance(result, Comparison):
        sentences = _comparison(result)
    else:
        sentences = atlas_sentences(result) if isinstance(result, Atlas) else _run(result)
    return " ".join(re.sub(r"\s+", " ", sentence).strip() for sentence in sentences if sentence)


def _run(run: Labelling) -> list[str]:
    """Return the sentences of a run."""
    manifest, kind = run.manifest, kind_of(run).name
    about = {
        "probe": _probe, "surface": _surface, "ablate": ablation_sentences, "why": origin_sentences,
    }.get(kind, _roles)  # fmt: skip
    stop = stop_sentences(manifest)
    return [
        _model(manifest, run.scores),
        *_inputs(manifest),
        *stop,
        *_annotation(manifest),
        *_weights(manifest),
        *about(run),
        *_clusters(run),
        *_decision(run.decision, run.findings, kind_of(run).families(run), COLUMNS.get(kind, "role")),
        *_guards(run),
        *_left_out([note for note in run.skipped if note not in stop]),
        _software(manifest),
    ]


def _model(manifest: Mapping[str, Any], scores: Scores) -> str:
    """Return the model, its heads, and the version of headroles."""
    model = _part(manifest, "model")
    facts = [str(model[name]) for name in ("architecture", "dtype") if model.get(name)]
    facts += [f"revision {model['revision']}"] if model.get("revision") else []
    facts += [f"weights SHA-256 {model['weights_sha256'][:HASH]}"] if model.get("weights_sha256") else []
    name = f" of {_model_name(model)}" if model.get("name") else ""
    stack = f" {STACKS[model['kind']]}" if model.get("kind") in STACKS else ""
    stack += " from stored attention maps" * (model.get("capture") == STORED)
    with_version = f" with headroles {manifest['headroles']}" if manifest.get("headroles") else ""
    size = layers_of_heads(scores.stack, scores.heads, "attention head")
    return f"We examined the {size}{name}{_in_brackets(facts)}{stack}{with_version}."


def _model_name(model: Mapping[str, Any]) -> str:
    """Return the name of a model; of a folder its last part, and "" where there is none."""
    name = str(model.get("name") or "")
    return isolate(PurePath(name).name if PurePath(name).is_absolute() else name)


def _inputs(manifest: Mapping[str, Any]) -> list[str]:
    """Return the inputs, how they were drawn, and how many were cut."""
    counts, source, settings = (_part(manifest, name) for name in ("counts", "source", "settings"))
    if not isinstance(counts.get("examples"), int):
        return []
    kind, name = str(source.get("kind") or ""), str(source.get("name") or "")
    facts = (
        [f"{kind}: {isolate(PurePath(name).name if kind in ('file', 'maps', 'scores') else name)}"]
        if name
        else []
    )
    facts += [f"SHA-256 {source['sha256'][:HASH]}"] if source.get("sha256") else []
    task = f" of {isolate(str(manifest['task']))}" if manifest.get("task") else ""
    text = f"The scores are from {plural(counts['examples'], 'input')}{task}{_in_brackets(facts)}"
    if isinstance(counts.get("tokens"), int) and (counts["tokens"] or source.get("kind") != "scores"):
        text += f" with {plural(counts['tokens'], 'token')}"
    if isinstance(counts.get("units"), int):
        text += f", in {plural(counts['units'], 'independent unit')}"
    sentences = [f"{text}.", _drawn(settings, source, "documents" if manifest.get("probe") else "rows")]
    kept = _part(manifest, "kept")
    if kept.get("mode") == "moments":
        sentences.append(
            f"Sums over {kept['groups']} random groups of units were kept, and the groups were the units of "
            f"the tests."
        )
    longest = _part(manifest, "tokenizer").get("max_length")
    if isinstance(counts.get("truncated"), int) and longest:
        cut = counts["truncated"]
        verb = "was" if cut == 1 else "were"
        sentences.append(
            f"{plural(cut, 'input')} {verb} cut to {longest} tokens."
            if cut
            else f"No input was longer than {longest} tokens."
        )
    return sentences


def _drawn(settings: Mapping[str, Any], source: Mapping[str, Any], noun: str) -> str:
    """Return how the inputs were drawn from all rows; "" where all were read."""
    rows, first, limit = source.get("rows"), settings.get("first"), settings.get("limit")
    number = limit if first is None else first
    if not isinstance(number, int) or (isinstance(rows, int) and rows <= number):
        return ""
    some = f"{number:,} of {rows:,} {noun}" if isinstance(rows, int) else f"{number:,} {noun} at most"
    if first is not None:
        return f"Only the first {some} were read."
    seed = f" with seed {settings['seed']}" if "seed" in settings else ""
    return f"{some[0].upper()}{some[1:]} were drawn at random{seed}."


def _annotation(manifest: Mapping[str, Any]) -> list[str]:
    """Return the parser and the statistic."""
    parser = _part(manifest, "parser")
    sentences = []
    if parser.get("name"):
        version = f" {parser['version']}" if parser.get("version") else ""
        sentences.append(f"Words and dependencies are those of the parser {parser['name']}{version}.")
    if manifest.get("preset") == "published":
        sentences.append(
            "Scores and decisions follow the preset “published”, which repeats released code for comparison."
        )
    elif manifest.get("statistic") == "selectivity":
        sentences.append(
            "The score of a head on an input is its selectivity: 0 for even attention over the visible keys, "
            "1 for attention to the keys of the role alone."
        )
    elif manifest.get("statistic") == "bias":
        sentences.append("Scores use the statistic “bias”.")
    return sentences


def _weights(manifest: Mapping[str, Any]) -> list[str]:
    """Return how attention was weighted, where that is not usual."""
    if not reads_norms(manifest):
        return []
    return [
        f"Attention was weighted by the norms of the values that it moves ({NORMS}): each weight was "
        f"multiplied by the norm of its value after the output projection, and rows were made to sum to 1."
    ]


def _roles(run: Labelling) -> list[str]:
    """Return the roles with chance value, margin and contrasts."""
    rules = [rule for rule in run.findings.rules if rule.role]
    if not rules:
        return []
    names = [rule.sieve for rule in rules]
    sentences = [
        f"{plural(len(rules), 'role')} {'was' if len(rules) == 1 else 'were'} tested: {_names(names)}"
        f"{_cited(names)}.",
        "A head has a role if its mean score lies above a threshold, the chance value plus a margin.",
        _thresholds(rules),
    ]
    by_name = {rule.sieve: rule for rule in run.findings.rules}
    contrasts = _contrast_groups(rules, by_name, "contrast")
    sentences += [
        _contrast_sentence(control, margin, group) for (control, margin), group in contrasts.items()
    ]
    sentences += [
        f"{_the_roles(group, tuple(contrasts.values()))} {'counts' if len(group) == 1 else 'count'} as "
        f"strong where the contrast with {control} lies above {_number(margin)}, too."
        for (control, margin), group in _contrast_groups(rules, by_name, "stronger").items()
    ]
    tests_explained, controls = _tests_explained(run), {control for control, _ in contrasts}
    if tests_explained and controls != {CONTROLS[VALUES]}:
        sentences.append(
            "A score above its threshold with a contrast below its margin is explained by what the contrast "
            "controls for."
        )
    if tests_explained and CONTROLS[VALUES] in controls:
        sentences.append(
            "A head takes relatively more there if both scores lie above these thresholds."
            " Norms are relative to the other values of the head, whatever their size."
        )
    return sentences


def _contrast_sentence(control: str, margin: float, names: Sequence[str]) -> str:
    """Return what a contrast asks of roles; that of values bounds the score of norm-weighted attention."""
    if control == CONTROLS[VALUES]:
        return (
            f"For {_names(names)}, the mean score of the same keys must also lie below {_number(-margin)} "
            f"where attention is weighted by the norms of the values that it moves ({NORMS})."
        )
    return (
        f"{_the_roles(names)} must also exceed what {control or 'the contrast'} alone gives by more than "
        f"{_number(margin)}."
    )


def _the_roles(names: Sequence[str], before: Sequence[Sequence[str]] = ()) -> str:
    """Return the subject of a sentence about roles; those of the sentence before are not repeated."""
    if len(names) > 1 and list(before[-1:]) == [names]:
        return "These roles"
    return f"The role {_names(names)}" if len(names) == 1 else f"The roles {_names(names)}"


def _tests_explained(run: Labelling) -> bool:
    """Return whether a run tested that contrasts explain scores; runs of older versions did not."""
    tested = run.assessment is not None and bool(np.isfinite(run.assessment.precision.q_explained).any())
    return tested or bool((run.findings.decision == EXPLAINED).any())


def _thresholds(rules: Sequence[Rule]) -> str:
    """Return chance value and margin of the roles, those with equal ones together."""
    levels: dict[tuple[str, str], list[str]] = {}
    for rule in rules:
        levels.setdefault((_number(rule.null), _number(rule.margin)), []).append(rule.sieve)
    if len(levels) == 1:
        ((null, margin),) = levels
        return f"The chance value is {null} and the margin {margin}{' for every role' * (len(rules) > 1)}."
    parts = [f"{null} and {margin} for {_names(names)}" for (null, margin), names in levels.items()]
    return f"Chance value and margin are {'; '.join(parts)}."


def _contrast_groups(
    rules: Sequence[Rule], by_name: Mapping[str, Rule], field: str
) -> dict[tuple[str, float], list[str]]:
    """Return roles by what their contrast controls for and by its margin."""
    groups: dict[tuple[str, float], list[str]] = {}
    for rule in rules:
        column = by_name.get(getattr(rule, field))
        if column is not None:
            groups.setdefault((control_of(column.sieve), column.margin), []).append(rule.sieve)
    return groups


def _probe(run: Labelling) -> list[str]:
    """Return the questions, the baselines and the halves of a run of probes."""
    probe = _part(run.manifest, "probe")
    rules = [rule for rule in run.findings.rules if rule.role]
    margins = sorted({_number(100 * rule.margin) for rule in rules})
    rows = {rule.together or rule.sieve for rule in rules}
    sentences = [
        f"Heads answered questions about gold annotation ({name}): {QUESTIONS[name][0].lower()}"
        f"{QUESTIONS[name][1:]}"
        for name in probe.get("names", ())
        if name in QUESTIONS
    ]
    sentences += [
        f"A score is the accuracy over all items of one of {plural(len(rows), 'row')}. Every item has the "
        f"same weight{_cited([rule.sieve for rule in rules])}.",
        f"Heads were tested for exceeding their baseline by more than {join_names(margins)} percentage "
        f"points.",
    ]
    halves = _part(probe, "halves")
    if halves:
        sentences.append(
            f"Units were split at random (seed {halves['seed']}) into halves of {halves['selection']} and "
            f"{halves['test']}: the best head of a row was chosen on the first and tested on the second, and "
            f"every baseline was chosen on the half that it is not compared on."
        )
    return sentences


def _surface(run: Labelling) -> list[str]:
    """Return the statistics of a surface run and what they were compared with."""
    rules = [rule for rule in run.findings.rules if rule.role]
    names = [rule.sieve.partition(":")[2] or rule.sieve for rule in rules]
    margins = sorted({_number(rule.margin) for rule in rules})
    sentences = [
        f"For every head we computed {plural(len(rules), 'statistic')} of its attention, averaged over "
        f"queries: {_names(names)}{_cited([rule.sieve for rule in rules])}.",
        "Each was tested in both directions against its value under even attention over the visible keys, "
        f"with a margin of {join_names(margins)}.",
    ]
    facts = _part(run.manifest, "surface")
    if facts.get("smoothing"):
        sentences.append(f"Rows were mixed with {facts['smoothing']:g} of even attention for entropies.")
    if facts.get("loss"):
        sentences.append(f"Gradients are those of the loss “{isolate(str(facts['loss']))}”.")
    return sentences


def _clusters(run: Labelling) -> list[str]:
    """Return how distances between heads and clusters were made; nothing for other runs."""
    clustered = run.clustered
    if clustered is None:
        return []
    settings, source = _part(run.manifest, "settings"), clustered.divergence
    combined = "mean" if source.way == "mean" else "summed"
    smoothed = (
        f", with {source.smoothing:g} of even attention mixed into every row" if source.smoothing else ""
    )
    clusters = len(set(clustered.cluster.tolist()) - {NOISE})
    how = "the number of clusters was given" if settings.get("clusters") else ""
    if not how and clustered.choices:
        how = "the number of clusters was chosen by silhouette and stability"
    draws = f", with {settings['draws']} resamples of the units" if settings.get("draws") else ""
    return [
        f"Distances between heads are square roots of the {combined} Jensen-Shannon divergence between their "
        f"rows of attention{smoothed} (Lin, 1991).",
        f"{METHODS.get(clustered.method, clustered.method).capitalize().replace('Dbscan', 'DBSCAN')} gave "
        f"{plural(clusters, 'cluster')}{f'; {how}' if how else ''}{draws}.",
    ]


def _decision(decision: Decision, findings: Findings, families: Mapping[str, str], column: str) -> list[str]:
    """Return test, level, correction, family and intervals."""
    roles = [place for place, rule in enumerate(findings.rules) if rule.role]
    numbers = {place: int((findings.decision[place] != UNTESTABLE).sum()) for place in roles}
    silent = [findings.rules[place].sieve for place, number in numbers.items() if not number]
    tested = sorted(set(numbers.values()) - ({0} if len(silent) < len(roles) else set()))
    counts = f"{tested[0]} to {tested[-1]} heads" if len(tested) > 1 else plural((tested or [0])[0], "head")
    test = TEST_NAMES.get(decision.test, decision.test)
    cited = f" ({CITED_TESTS[decision.test]})" if decision.test in CITED_TESTS else ""
    sentences = [
        f"Means over units were tested by {test}{cited}, at alpha = {decision.alpha:g}.",
        *_correction(decision, families),
        f"No head could be tested for {_names(silent)}." if 0 < len(silent) < len(roles) else "",
        f"Every {'other ' * (0 < len(silent) < len(roles))}{column} was tested in {counts}." if roles else "",
        f"Intervals are 95\u00a0% intervals of one mean: {interval_name(decision).split(' (that of')[0]}.",
    ]
    if uses_resamples(decision):
        sentences.append(f"Resampling used {decision.resamples:,} draws with seed {decision.seed}.")
    return sentences


def _correction(decision: Decision, families: Mapping[str, str]) -> list[str]:
    """Return how p values were corrected, and over which tests."""
    if decision.correction == "none":
        return ["P values were not corrected for the number of tests."]
    over = families.get(decision.family, decision.family)
    cited = cited_correction(decision.test, decision.correction)
    name = CORRECTION_NAMES.get(decision.correction, decision.correction)
    name = f"e-BH, {name} over inverse evidence" if is_e_bh(decision.test, decision.correction) else name
    if decision.correction.startswith("fdr"):
        promise = "which bounds the expected share of false labels"
    else:
        promise = "which bounds the probability of any false label"
    return [
        f"P values were corrected by the method of {name}{f' ({cited})' if cited else ''} over {over}, "
        f"separately for every verdict, {promise}."
    ]


def _guards(run: Labelling) -> list[str]:
    """Return what a "not" needs, and whether labels were withheld."""
    verdict = "below even attention" if kind_of(run).name == "surface" else "not"
    remarks = run.assessment.remarks if run.assessment else ()
    sentences = [f"The verdict “{verdict}” is a test of its own, and needs {ENOUGH_FOR_NOT} units."]
    if run.moments is not None or kind_of(run).name in ("ablate", "why"):
        sentences = []
    if any(WITHHELD in remark for remark in remarks):
        sentences.append("Labels that depend on few units were withheld, and their heads stay undetermined.")
    return sentences


def _left_out(skipped: Sequence[str]) -> list[str]:
    """Return what was left out, as far as there is room."""
    if not skipped:
        return []
    rest = len(skipped) - NOTES
    more = f" {plural(rest, 'more note')} {'is' if rest == 1 else 'are'} in the manifest of the run."
    notes = " ".join(note if note.endswith(".") else f"{note}." for note in skipped[:NOTES])
    return [f"Left out or limited: {notes}{more if rest > 0 else ''}"]


def _software(manifest: Mapping[str, Any]) -> str:
    """Return the versions of the software, and the device."""
    versions = _part(manifest, "versions")
    named = [f"{name} {versions[key]}" for key, name in PACKAGES.items() if versions.get(key)]
    device = _part(manifest, "model").get("device")
    on_device = f", on {device}" if device else ""
    return f"Software: {join_names(named)}{on_device}." if named else ""


def _comparison(comparison: Comparison) -> list[str]:
    """Return the sentences of a comparison."""
    manifest, decision, bound = comparison.manifest, comparison.decision, _number(comparison.bound)
    size = layers_of_heads(comparison.stack, comparison.before.count.shape[2], "attention head")
    version = f" with headroles {manifest['headroles']}" if manifest.get("headroles") else ""
    cited = f" ({CITED_TESTS[decision.test]})" if decision.test in CITED_TESTS else ""
    test = TEST_NAMES.get(decision.test, decision.test).removeprefix("a ").replace("one-sided ", "")
    names = comparison.before.roles
    return [
        f"We compared {_sides(manifest)} over {size}{version}.",
        *_inputs(manifest),
        f"{plural(len(names), 'role')} {'was' if len(names) == 1 else 'were'} compared: {_names(names)}"
        f"{_cited(names)}.",
        "A difference is the mean over units of the score in B minus the score in A, each beyond chance.",
        f"Scores are equivalent if two one-sided tests show a difference within ±{bound} (Schuirmann, 1987).",
        f"Otherwise they changed if the difference from 0 is significant and its 95\u00a0% interval reaches "
        f"beyond ±{bound}.",
        f"Differences were tested by the {test}{cited} at alpha = {decision.alpha:g}.",
        *_correction(decision, FAMILIES),
        *_label_changes(comparison),
        _software(manifest),
    ]


def _sides(manifest: Mapping[str, Any]) -> str:
    """Return both sides of a comparison: their models, or their folders where the models are the same."""
    runs = [_part(manifest, name) for name in ("a", "b")]
    models = [_model_name(_part(run, "model")) for run in runs]
    folders = [isolate(PurePath(str(run.get("folder") or "")).name) for run in runs]
    names = folders if models[0] == models[1] else models
    if not all(names):
        return "two runs (A and B)"
    about = f", both of {models[0]}," if names is folders and models[0] else ""
    return f"{names[0]} (A) and {names[1]} (B){about}"


def _label_changes(comparison: Comparison) -> list[str]:
    """Return how labels were decided, and the swaps that they were compared with."""
    test, swaps = comparison.manifest.get("label_test"), _part(comparison.manifest, "settings").get("swaps")
    sentences = [f"Labels of both runs were decided by {TEST_NAMES.get(test, test)}."] if test else []
    if swaps and comparison.swaps:
        sentences.append(
            f"Labels gained and lost were compared with {swaps:,} random swaps of A and B within units, with "
            f"seed {comparison.decision.seed}."
        )
    return sentences


def _part(manifest: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Return an entry of a manifest that has entries of its own; empty where it is missing."""
    value = manifest.get(name)
    return value if isinstance(value, Mapping) else {}


def _in_brackets(facts: Sequence[str]) -> str:
    """Return facts in brackets; "" for none."""
    return f" ({', '.join(facts)})" if facts else ""


def _names(names: Sequence[str]) -> str:
    """Return names as a sentence does; of many the first ones and the number of the others."""
    shown = [isolate(name) for name in names[:NAMED]]
    rest = len(names) - NAMED
    return join_names([*shown, plural(rest, "other")] if rest > 0 else shown)


def _cited(names: Iterable[str]) -> str:
    """Return the papers behind roles in brackets; "" where none is known."""
    works = dict.fromkeys(work for name in names for work in CITED_SIEVES.get(name.partition(":")[0], ()))
    return f" ({'; '.join(works)})" if works else ""


def _number(value: float) -> str:
    """Return a setting as it was given.

    Example:
        >>> _number(0.1), _number(0.0), _number(100 * 0.05)
        ('0.1', '0', '5')
    """
    return f"{value:.6g}"
