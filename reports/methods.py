"""The methods of a result as sentences for a paper, every number filled in.

Numbers come from the manifest, the rules and the decision. What a result does not hold is left out. Works are
cited by their keys, as in "a test [@hall1992removal]"; ``reports.works`` turns these into references.
"""

from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any

import numpy as np

from headroles.kinds import kind_of
from headroles.records.assessment import MIDDLE, NEAR
from headroles.records.atlas.atlas import Atlas
from headroles.records.causal.ablation import ENOUGH_FOR_LITTLE, FEWEST_UNITS
from headroles.records.causal.columns import EVEN, WHOLE, arm_name, parse_column
from headroles.records.comparison import Comparison
from headroles.records.findings import DECISIONS, Labelling
from headroles.records.numbers import isolate, join_names, plural
from headroles.records.roles import CONTROLS, VALUES, control_of, phrase_of
from headroles.records.rules.rule import FAMILIES, Decision, Rule
from headroles.records.stops.look import stop_sentences
from headroles.reports import words as written
from headroles.reports.kinds.clusters import METHODS, NOISE
from headroles.reports.kinds.probes import QUESTIONS
from headroles.stats.decision import ALL_CORRECTIONS, ENOUGH_FOR_NOT, TESTS

UNTESTABLE, EXPLAINED = DECISIONS.index("untestable"), DECISIONS.index("explained")
"""Codes of decisions."""
NAMED = 16
"""Most roles that a sentence names."""
NOTES = 6
"""Most notes on what was left out that the paragraph repeats."""
HASH = 12
"""Digits of a hash that it shows."""
STACKS = {
    "encoder": " in the encoder",
    "decoder": " in the decoder's attention to its own tokens",
    "cross": " in the cross attention from decoder to encoder",
}
PACKAGES = {
    "python": "Python", "torch": "torch", "transformers": "transformers", "numpy": "numpy", "scipy": "scipy",
    "statsmodels": "statsmodels", "spacy": "spaCy",
}  # fmt: skip
COLUMNS = {"probe": "row and direction", "surface": "statistic", "ablate": "arm", "why": "column"}
"""Nouns of what is tested, by kind of run; roles in other kinds."""
PUT = {"mean": "its mean over other inputs", "zero": "zero", "resample": "its output on other inputs"}
"""What replaces the output of a head."""
COMBINATIONS = {
    "fisher": "Fisher's method, because no two runs share a text, an input or a document",
    "bonferroni": "Bonferroni's method, because runs share inputs",
}
"""Ways to combine p of runs, with the reason, in words."""


def methods_sentences(result: Labelling | Comparison | Atlas) -> list[str]:
    """Return the methods of a result as sentences; "" among them says nothing.

    They say only what the result records, and cite works by their keys.
    """
    if isinstance(result, Comparison):
        return _comparison(result)
    return _atlas(result) if isinstance(result, Atlas) else _run(result)


def _run(run: Labelling) -> list[str]:
    """Return the sentences of a run."""
    manifest, kind = run.manifest, kind_of(run)
    about = {"probe": _probe, "surface": _surface, "ablate": _ablation, "why": _origins}
    stop = stop_sentences(manifest)
    notes = [note if note.endswith(".") else f"{note}." for note in run.skipped if note not in stop]
    rest = len(notes) - NOTES
    more = f" {plural(rest, 'more note')} {'is' if rest == 1 else 'are'} in the manifest of the run."
    left_out = f"Left out or limited: {' '.join(notes[:NOTES])}{more if rest > 0 else ''}" if notes else ""
    return [
        _model(run),
        *_inputs(manifest),
        *stop,
        *_annotation(manifest),
        *about.get(kind.name, _roles)(run),
        *_clusters(run),
        *_decision(run, kind.families(run), COLUMNS.get(kind.name, "role")),
        *_guards(run, kind.name),
        left_out,
        _software(manifest),
    ]


def _model(run: Labelling) -> str:
    """Return the model, its heads, and the version of headroles."""
    model = _part(run.manifest, "model")
    facts = [str(model[name]) for name in ("architecture", "dtype") if model.get(name)]
    facts += [f"revision {model['revision']}"] if model.get("revision") else []
    facts += [f"weights SHA-256 {model['weights_sha256'][:HASH]}"] if model.get("weights_sha256") else []
    name = f" of {_model_name(model)}" if model.get("name") else ""
    where = STACKS.get(str(model.get("kind")), "")
    where += " from stored attention maps" * (model.get("capture") == "stored maps")
    size = written.layers_of_heads(run.scores.stack, run.scores.heads, "attention head")
    return f"We examined the {size}{name}{_in_brackets(facts)}{where}{_version(run.manifest)}."


def _inputs(manifest: Mapping[str, Any]) -> list[str]:
    """Return the inputs, how they were drawn, and how many were cut."""
    counts, source, settings = (_part(manifest, name) for name in ("counts", "source", "settings"))
    if not isinstance(counts.get("examples"), int):
        return []
    kind, name = str(source.get("kind") or ""), str(source.get("name") or "")
    name = PurePath(name).name if kind in ("file", "maps", "scores") else name
    facts = [f"{kind}: {isolate(name)}"] if source.get("name") else []
    facts += [f"SHA-256 {source['sha256'][:HASH]}"] if source.get("sha256") else []
    task = f" of {isolate(str(manifest['task']))}" if manifest.get("task") else ""
    text = f"The scores are from {plural(counts['examples'], 'input')}{task}{_in_brackets(facts)}"
    if isinstance(counts.get("tokens"), int) and (counts["tokens"] or kind != "scores"):
        text += f" with {plural(counts['tokens'], 'token')}"
    if isinstance(counts.get("units"), int):
        text += f", in {plural(counts['units'], 'independent unit')}"
    sentences = [f"{text}."]
    rows, first, limit = source.get("rows"), settings.get("first"), settings.get("limit")
    number = limit if first is None else first
    if isinstance(number, int) and not (isinstance(rows, int) and rows <= number):
        what = "documents" if manifest.get("probe") else "rows"
        some = f"{number:,} of {rows:,} {what}" if isinstance(rows, int) else f"{number:,} {what} at most"
        seed = f" with seed {settings['seed']}" if "seed" in settings else ""
        sentences.append(
            f"{some} were drawn at random{seed}." if first is None else f"Only the first {some} were read."
        )
    kept = _part(manifest, "kept")
    if kept.get("mode") == "moments":
        sentences.append(
            f"Sums over {kept['groups']} random groups of units were kept, and the groups were the units of "
            "the tests."
        )
    longest, cut = _part(manifest, "tokenizer").get("max_length"), counts.get("truncated")
    if isinstance(cut, int) and longest:
        sentences.append(
            f"{plural(cut, 'input')} {'was' if cut == 1 else 'were'} cut to {longest} tokens."
            if cut
            else f"No input was longer than {longest} tokens."
        )
    return sentences


def _annotation(manifest: Mapping[str, Any]) -> list[str]:
    """Return the parser, the statistic, and how attention was weighted where that is not usual."""
    parser, statistic = _part(manifest, "parser"), manifest.get("statistic")
    sentences = []
    if parser.get("name"):
        version = f" {parser['version']}" if parser.get("version") else ""
        sentences.append(f"Words and dependencies are those of the parser {parser['name']}{version}.")
    if manifest.get("preset") == "published":
        sentences.append(
            "Scores and decisions follow the preset “published”, which repeats released code for comparison."
        )
    elif statistic == "selectivity":
        sentences.append(
            "The score of a head on an input is its selectivity: 0 for even attention over the visible keys, "
            "1 for attention to the keys of the role alone."
        )
    elif statistic == "bias":
        sentences.append("Scores use the statistic “bias”.")
    if _part(manifest, "model").get("weights") == "norm":
        sentences.append(
            "Attention was weighted by the norms of the values that it moves [@kobayashi2020attention]: each "
            "weight was multiplied by the norm of its value after the output projection, and rows were made "
            "to sum to 1."
        )
    return sentences


def _roles(run: Labelling) -> list[str]:
    """Return the roles with chance value, margin and contrasts."""
    findings = run.findings
    rules = [rule for rule in findings.rules if rule.role]
    if not rules:
        return []
    levels: dict[tuple[str, str], list[str]] = {}
    for rule in rules:
        levels.setdefault((_number(rule.null), _number(rule.margin)), []).append(rule.sieve)
    parts = [f"{null} and {margin} for {_names(names)}" for (null, margin), names in levels.items()]
    (null, margin), *others = levels
    every = " for every role" * (len(rules) > 1)
    sentences = [
        _roles_were([rule.sieve for rule in rules], "tested"),
        "A head has a role if its mean score lies above a threshold, the chance value plus a margin.",
        f"Chance value and margin are {'; '.join(parts)}."
        if others
        else f"The chance value is {null} and the margin {margin}{every}.",
    ]
    by_name = {rule.sieve: rule for rule in findings.rules}
    contrasts = _contrast_groups(rules, by_name, "contrast")
    for (control, beyond), names in contrasts.items():
        sentences.append(
            f"For {_names(names)}, the mean score of the same keys must also lie below {_number(-beyond)} "
            "where attention is weighted by the norms of the values that it moves [@kobayashi2020attention]."
            if control == CONTROLS[VALUES]
            else f"{_the_roles(names)} must also exceed what {control or 'the contrast'} alone gives by more "
            f"than {_number(beyond)}."
        )
    before = list(contrasts.values())[-1:]
    for (control, beyond), names in _contrast_groups(rules, by_name, "stronger").items():
        these = "These roles" if len(names) > 1 and before == [names] else _the_roles(names)
        sentences.append(
            f"{these} {'counts' if len(names) == 1 else 'count'} as strong where the contrast with {control} "
            f"lies above {_number(beyond)}, too."
        )
    tested = run.assessment is not None and np.isfinite(run.assessment.precision.q_explained).any()
    if tested or (findings.decision == EXPLAINED).any():
        controls = {control for control, _ in contrasts}
        if controls != {CONTROLS[VALUES]}:
            sentences.append(
                "A score above its threshold with a contrast below its margin is explained by what the "
                "contrast controls for."
            )
        if CONTROLS[VALUES] in controls:
            sentences.append(
                "A head takes relatively more there if both scores lie above these thresholds. Norms are "
                "relative to the other values of the head, whatever their size."
            )
    return sentences


def _roles_were(names: Sequence[str], verb: str) -> str:
    """Return how many roles were tested or compared, their names, and the works behind them."""
    were = f"{plural(len(names), 'role')} {'was' if len(names) == 1 else 'were'}"
    return f"{were} {verb}: {_names(names)}{_works_of(names)}."


def _the_roles(names: Sequence[str]) -> str:
    """Return the subject of a sentence about roles."""
    return f"The role{'s' * (len(names) > 1)} {_names(names)}"


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
    asked = {name: QUESTIONS[name] for name in probe.get("names", ()) if name in QUESTIONS}
    sentences = [
        f"Heads answered questions about gold annotation ({name}): {question[0].lower()}{question[1:]}"
        for name, question in asked.items()
    ]
    sentences += [
        f"A score is the accuracy over all items of one of {plural(len(rows), 'row')}. Every item has the "
        f"same weight{_works_of([rule.sieve for rule in rules])}.",
        f"Heads were tested for exceeding their baseline by more than {join_names(margins)} percentage "
        "points.",
    ]
    if halves := _part(probe, "halves"):
        sentences.append(
            f"Units were split at random (seed {halves['seed']}) into halves of {halves['selection']} and "
            f"{halves['test']}: the best head of a row was chosen on the first and tested on the second, and "
            "every baseline was chosen on the half that it is not compared on."
        )
    return sentences


def _surface(run: Labelling) -> list[str]:
    """Return the statistics of a surface run and what they were compared with."""
    rules = [rule for rule in run.findings.rules if rule.role]
    names = [rule.sieve.partition(":")[2] or rule.sieve for rule in rules]
    margins = sorted({_number(rule.margin) for rule in rules})
    facts = _part(run.manifest, "surface")
    mixed, loss = facts.get("smoothing"), facts.get("loss")
    return [
        f"For every head we computed {plural(len(rules), 'statistic')} of its attention, averaged over "
        f"queries: {_names(names)}{_works_of([rule.sieve for rule in rules])}.",
        "Each was tested in both directions against its value under even attention over the visible keys, "
        f"with a margin of {join_names(margins)}.",
        f"Rows were mixed with {mixed:g} of even attention for entropies." if mixed else "",
        f"Gradients are those of the loss “{isolate(str(loss))}”." if loss else "",
    ]


def _clusters(run: Labelling) -> list[str]:
    """Return how distances between heads and clusters were made; nothing for other runs."""
    clustered = run.clustered
    if clustered is None:
        return []
    settings, source = _part(run.manifest, "settings"), clustered.divergence
    smoothed = (
        f", with {source.smoothing:g} of even attention mixed into every row" if source.smoothing else ""
    )
    how = "; the number of clusters was given" if settings.get("clusters") else ""
    if not how and clustered.choices:
        how = "; the number of clusters was chosen by silhouette and stability"
    draws = f", with {settings['draws']} resamples of the units" if settings.get("draws") else ""
    method = METHODS.get(clustered.method, clustered.method).capitalize().replace("Dbscan", "DBSCAN")
    clusters = len(set(clustered.cluster.tolist()) - {NOISE})
    return [
        f"Distances between heads are square roots of the {'mean' if source.way == 'mean' else 'summed'} "
        f"Jensen-Shannon divergence between their rows of attention{smoothed} [@lin1991divergence].",
        f"{method} gave {plural(clusters, 'cluster')}{how}{draws}.",
    ]


def _ablation(run: Labelling) -> list[str]:
    """Return what was taken out, what damage is, its threshold, and how roles were tested."""
    from headroles.reports.kinds.ablate import Measured

    measured = Measured(run)
    ablated = measured.ablated
    names = ablated.damage.arms
    arms = [parse_column(arm) for arm in names]
    what = [name for name in WHOLE if any(arm.what == name for arm in arms)]
    outputs = [PUT[name] for name in what if name in PUT]
    acts = [f"its output was replaced by {', or by '.join(outputs)}"] * bool(outputs)
    acts += ["its attention was replaced by even attention"] * (EVEN in what)
    means = ""
    if "mean" in what:
        number = _references(run, "ablation")
        drawn = f" of {number:,} inputs" if number is not None else " of other inputs"
        means = (
            f"Means are those{drawn}, by class of token (first, special, other), and cross-fitted over units."
        )
    firsts = dict(zip((arm.outcome for arm in arms[::-1]), names[::-1], strict=True)).values()
    sentences = [
        f"We took out one head at a time [@michel2019sixteen; @voita2019analyzing]: {', or '.join(acts)}.",
        means,
        f"Damage is the {join_names([measured.measure(arm) for arm in [*firsts][::-1]])}.",
        "The smallest damage that counts was "
        f"{join_names([f'{measured.threshold(arm)} for {arm_name(arm)}' for arm in names])}.",
        "A head is needed if its damage lies significantly above this threshold, interfering if it lies "
        "below minus the threshold, and negligible if two one-sided tests show it within both "
        "[@schuirmann1987comparison].",
        "Each must hold with three more units at the value that speaks most against it: of the head for "
        "“negligible”, and of any head of the layer for the others. Where the threshold is a share of the "
        "loss, the tests carry its error.",
        f"“Negligible” and “interfering” need {ENOUGH_FOR_LITTLE} units. Below {FEWEST_UNITS} units nothing "
        "was decided.",
    ]
    held = ablated.held
    if held is None:
        return sentences
    sentences.append(
        f"Heads held {_names(held.roles)} as decided on {plural(len(held.units), 'unit')} of a label run, "
        "and damage of roles was measured on other units."
    )
    if ablated.roles:
        sentences.append(
            "For every role, the area under the curve between holding it and damage was computed over the "
            "heads of each layer in every unit, and its mean over units was tested against 0.5 in both "
            "directions. More or less damage had to be rarer among random labels of as many heads in each "
            "layer, too."
        )
    if ablated.sites:
        sentences.append(
            "At the sites of a role, the damage of its heads was compared with that at other tokens of like "
            "loss and position, and with that of heads of the layer without the role, scaled to the mean "
            "damage of the head; both had to be larger."
        )
    if ablated.cells:
        sentences.append(
            "Attention on the cells of a role was removed and compared with removing the same mass from "
            "other cells at the same offsets."
        )
    groups = measured.rows(ablated.groups)
    if len(groups):
        sentences.append(
            f"All heads of a role were taken out together and compared with {groups['sets'][0]} random sets "
            "of as many heads in each layer and in each half of its norms, beyond the line of damage by norm."
        )
    return sentences


def _origins(run: Labelling) -> list[str]:
    """Return how contrasts were decomposed, and how parts and removals were tested."""
    from headroles.reports.kinds.why import Asked

    asked = Asked(run)
    origins = asked.origins
    products, held, number = origins.products, origins.held, _references(run, "why")
    roles = [*dict.fromkeys(products.roles)]
    knocked = len(origins.knocked.units) if origins.knocked is not None else 0
    removed = f", and scores without parts of queries on {plural(knocked, 'further unit')}" if knocked else ""
    drawn = f" over {number:,} inputs of other units" if number else ""
    sentences = [
        f"We asked where {plural(len(products.roles), 'role')} of heads come from in queries and "
        f"keys{f': {_names(roles)}' if roles else ''}.",
        f"Heads held these roles as decided on {plural(len(held.units), 'unit')}. Products of queries and "
        f"keys were measured on {plural(len(products.units), 'other unit')}{removed}.",
        "The contrast of a role is the mean logit of its cells minus that of the other visible keys, "
        "averaged over the queries that have both.",
        "It is the sum over dimensions of scaling × query × (mean key of the cells − mean key of the rest), "
        "without position bias.",
        f"The vertical part replaces every query by the head’s mean query{drawn}.",
        "The mean query has an error of its own, which all units share. It is part of every p value and "
        "interval of the vertical part, with Satterthwaite’s degrees of freedom.",
        "A role of a head is vertical if this part is significantly larger than the rest of the contrast, "
        "and by query if it is significantly smaller.",
        f"Both needed a contrast significantly above 0, {FEWEST_UNITS} units and as many for the mean query, "
        "and were corrected over all roles of heads together.",
        "Intervals of the vertical share are those of Fieller for a ratio [@fieller1954some].",
    ]
    if origins.dimensions:
        level, families = origins.dimensions[0].level, len(products.roles)
        tested = round(run.decision.alpha * families / level) if level > 0 else 0
        of = f" = {run.decision.alpha:g} × {families:,} / {tested:,}" if tested else ""
        number_of = plural(len({test.dimension for test in origins.dimensions}), asked.one)
        sentences += [
            f"A {asked.one} was found if its part of the contrast "
            f"was significantly more than twice the fair share, the contrast divided by {number_of}.",
            "These tests were corrected by the method of Benjamini and Hochberg within each role of a head, "
            f"at the level {level:.3g}{of}: alpha times the share of roles of heads that were selected "
            "[@benjamini2014selective].",
        ]
    if products.roles and not products.free.all():
        sentences.append(
            "Rotary positions fix the dimensions of a head, so concentration was not compared with random "
            "rotations."
        )
    elif products.roles:
        count = _part(run.manifest, "why").get("rotations")
        rotations = count if isinstance(count, int) else 9_999
        sentences += [
            "Concentration is the participation ratio of the mean parts, (Σ c²)² / Σ c⁴: 1 for a single "
            "dimension, all dimensions where all parts are equal.",
            f"It was compared with {rotations:,} random rotations of the head’s space by Haar measure "
            "[@mezzadri2007how], which change no logit. P values were corrected over all roles of heads.",
        ]
    if redeals := products.redealt.shape[1]:
        sentences += [
            "Directions are singular vectors of the contrastive covariance, the mean of scaling × query × "
            "(difference of mean keys)ᵀ [@lee2026decomposing].",
            "A re-deal moves the cells by chance to other queries at the same offsets.",
            "A direction counts if its singular value lies above the 95\u00a0% point of the largest one over "
            f"{redeals:,} re-deals. This is no test where many queries share a key, as with special tokens: "
            "any shared key has such a direction.",
        ]
    if origins.knockouts:
        sentences += [
            "Found dimensions were removed from the queries of a head, and in another pass the directions of "
            "a role. Attention was computed and scored again.",
            "The mean score after a removal was tested against the threshold of the role in both directions: "
            "“falls” below it, “holds” above it.",
            "These tests were corrected over all removals of the same kind, separately for the role itself "
            "and for other roles of the head.",
        ]
    return sentences


def _decision(run: Labelling, families: Mapping[str, str], column: str) -> list[str]:
    """Return test, level, correction, family and intervals."""
    decision, findings = run.decision, run.findings
    roles = [place for place, rule in enumerate(findings.rules) if rule.role]
    numbers = {place: int((findings.decision[place] != UNTESTABLE).sum()) for place in roles}
    silent = [findings.rules[place].sieve for place, number in numbers.items() if not number]
    some = 0 < len(silent) < len(roles)
    tested = sorted(set(numbers.values()) - ({0} if len(silent) < len(roles) else set()))
    counts = f"{tested[0]} to {tested[-1]} heads" if len(tested) > 1 else plural((tested or [0])[0], "head")
    return [
        f"Means over units were tested by {_test(decision.test)}, at alpha = {decision.alpha:g}.",
        _correction(decision, families),
        f"No head could be tested for {_names(silent)}." if some else "",
        f"Every {'other ' * some}{column} was tested in {counts}." if roles else "",
        "Intervals are 95\u00a0% intervals of one mean: "
        f"{written.interval_name(decision).split(' (that of')[0]}.",
        f"Resampling used {decision.resamples:,} draws with seed {decision.seed}."
        if written.uses_resamples(decision)
        else "",
    ]


def _test(name: str) -> str:
    """Return a test in a sentence, with the work behind it."""
    return f"{TESTS[name].sentence}{_cited(TESTS[name].work)}" if name in TESTS else name


def _correction(decision: Decision, families: Mapping[str, str]) -> str:
    """Return how p values were corrected, and over which tests."""
    name = decision.correction
    if name == "none":
        return "P values were not corrected for the number of tests."
    method = ALL_CORRECTIONS[name].sentence if name in ALL_CORRECTIONS else name
    if written.is_e_bh(decision.test, name):
        method = f"e-BH, {method} over inverse evidence"
    bounds = "expected share of" if name.startswith("fdr") else "probability of any"
    false = "false labels" if name.startswith("fdr") else "false label"
    return (
        f"P values were corrected by the method of {method}{_cited(correction_work(decision))} over "
        f"{families.get(decision.family, decision.family)}, separately for every verdict, which bounds the "
        f"{bounds} {false}."
    )


def correction_work(decision: Decision) -> str:
    """Return the key of the work behind a correction; "" for none."""
    if written.is_e_bh(decision.test, decision.correction):
        return "wang2022false"
    words = ALL_CORRECTIONS.get(decision.correction)
    return words.work if words else ""


def _guards(run: Labelling, kind: str) -> list[str]:
    """Return what a "not" needs, and whether labels were withheld."""
    verdict = "below even attention" if kind == "surface" else "not"
    sentences = [f"The verdict “{verdict}” is a test of its own, and needs {ENOUGH_FOR_NOT} units."]
    if run.moments is not None or kind in ("ablate", "why"):
        sentences = []
    if run.assessment and any("on few units are withheld" in remark for remark in run.assessment.remarks):
        sentences.append("Labels that depend on few units were withheld, and their heads stay undetermined.")
    return sentences


def _software(manifest: Mapping[str, Any]) -> str:
    """Return the versions of the software, and the device."""
    versions, device = _part(manifest, "versions"), _part(manifest, "model").get("device")
    named = [f"{name} {versions[key]}" for key, name in PACKAGES.items() if versions.get(key)]
    return f"Software: {join_names(named)}{f', on {device}' if device else ''}." if named else ""


def _comparison(comparison: Comparison) -> list[str]:
    """Return the sentences of a comparison."""
    manifest, decision, bound = comparison.manifest, comparison.decision, _number(comparison.bound)
    size = written.layers_of_heads(comparison.stack, comparison.before.count.shape[2], "attention head")
    runs = [_part(manifest, name) for name in ("a", "b")]
    models = [_model_name(_part(run, "model")) for run in runs]
    folders = [isolate(PurePath(str(run.get("folder") or "")).name) for run in runs]
    same = models[0] == models[1]
    first, second = folders if same else models
    about = f", both of {models[0]}," if same and models[0] else ""
    sides = f"{first} (A) and {second} (B){about}" if first and second else "two runs (A and B)"
    test = _test(decision.test).removeprefix("a ").replace("one-sided ", "")
    label_test, swaps = str(manifest.get("label_test") or ""), _part(manifest, "settings").get("swaps")
    labels = TESTS[label_test].sentence if label_test in TESTS else label_test
    return [
        f"We compared {sides} over {size}{_version(manifest)}.",
        *_inputs(manifest),
        _roles_were(comparison.before.roles, "compared"),
        "A difference is the mean over units of the score in B minus the score in A, each beyond chance.",
        f"Scores are equivalent if two one-sided tests show a difference within ±{bound} "
        "[@schuirmann1987comparison].",
        "Otherwise they changed if the difference from 0 is significant and its 95\u00a0% interval reaches "
        f"beyond ±{bound}.",
        f"Differences were tested by the {test} at alpha = {decision.alpha:g}.",
        _correction(decision, FAMILIES),
        f"Labels of both runs were decided by {labels}." if label_test else "",
        f"Labels gained and lost were compared with {swaps:,} random swaps of A and B within units, with "
        f"seed {decision.seed}."
        if swaps and comparison.swaps
        else "",
        _software(manifest),
    ]


def _atlas(atlas: Atlas) -> list[str]:
    """Return how several runs were compared."""
    names = [
        f"{isolate(run.name)} ({plural(run.examples, 'input')}, {run.tokens:.0f} tokens on average)"
        for run in atlas.runs
    ]
    rules = list(dict.fromkeys(f"{isolate(run.preset)} ({run.rule})" for run in atlas.runs))
    sentences = [
        f"We collected {plural(len(atlas.runs), 'run')}{_version(atlas.manifest)}: {join_names(names)}.",
        f"Labels are those of the runs, by {join_names(rules)}.",
        f"P values are counted as near 0 or 1 below {NEAR:g} or above {1 - NEAR:g}, before correction.",
        "Roles a head leave out a role where the head holds a part of it.",
        "Intervals are those of fresh samples of as many inputs: 300 resamples of resamples, each tested and "
        "corrected anew.",
    ]
    if any(row.scope == MIDDLE for several in atlas.several for row in several):
        sentences.append(
            "For the claim that heads with several roles sit in the middle layers, the share of heads with "
            "two or more roles in the middle third of layers less that in the others was tested over inputs, "
            "and set beside all choices of as many layers."
        )
    if atlas.consensus:
        ways = join_names(
            [COMBINATIONS[way] for way in dict.fromkeys(row.combination for row in atlas.consensus)]
        )
        sentences.append(
            "Whether a head has a role in at least u of its k runs was tested by partial conjunction "
            f"[@benjamini2008screening], with p combined by {ways}, and corrected over the heads of each "
            "role."
        )
        if any(row.mean == row.mean for row in atlas.consensus):
            sentences.append(
                "Means over runs were pooled by random effects, with the variance between runs of Paule and "
                "Mandel [@paule1982consensus] and the interval of Hartung and Knapp [@hartung2001refined]."
            )
    if atlas.steps:
        sentences.append(
            "Trends over checkpoints are the least-squares slopes of the units over the order of the steps, "
            "tested against 0 on both sides. The step from which a role holds was found by tests in a fixed "
            "sequence [@westfall2001optimally], from the last step backwards, for the heads that hold the "
            "role at the last step."
        )
    if atlas.agreement:
        sentences.append(
            "Labels of runs of one model by one rule were compared by Cohen's kappa over heads "
            "[@cohen1960coefficient], with intervals over fresh samples of both inputs."
        )
    return sentences


def _part(manifest: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Return an entry of a manifest that has entries of its own; empty where it is missing."""
    value = manifest.get(name)
    return value if isinstance(value, Mapping) else {}


def _references(run: Labelling, part: str) -> int | None:
    """Return how many other inputs means were taken over; None where the manifest does not say it."""
    number = _part(_part(run.manifest, part), "references").get("inputs")
    return number if isinstance(number, int) else None


def _model_name(model: Mapping[str, Any]) -> str:
    """Return the name of a model; of a folder its last part, and "" where there is none."""
    name = str(model.get("name") or "")
    return isolate(PurePath(name).name if PurePath(name).is_absolute() else name)


def _version(manifest: Mapping[str, Any]) -> str:
    """Return the version of headroles; "" where it is not recorded."""
    return f" with headroles {manifest['headroles']}" if manifest.get("headroles") else ""


def _in_brackets(facts: Sequence[str]) -> str:
    """Return facts in brackets; "" for none."""
    return f" ({', '.join(facts)})" if facts else ""


def _names(names: Sequence[str]) -> str:
    """Return names as a sentence does; of many the first ones and the number of the others."""
    shown = [isolate(name) for name in names[:NAMED]]
    rest = len(names) - NAMED
    return join_names([*shown, plural(rest, "other")] if rest > 0 else shown)


def _works_of(names: Sequence[str]) -> str:
    """Return the keys of the works behind roles in brackets; "" where none is known."""
    return _cited(*(key for name in names for key in phrase_of(name).works))


def _cited(*keys: str) -> str:
    """Return keys of works in brackets, after a space; "" for none, or where all are ""."""
    named = [f"@{key}" for key in dict.fromkeys(keys) if key]
    return f" [{'; '.join(named)}]" if named else ""


def _number(value: float) -> str:
    """Return a setting as it was given.

    Example:
        >>> _number(0.1), _number(0.0), _number(100 * 0.05)
        ('0.1', '0', '5')
    """
    return f"{value:.6g}"
