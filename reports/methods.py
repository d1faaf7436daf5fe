"""The methods of a result as a paragraph for a paper, every number filled in.

Sentences stand in ``methods.txt``, the facts in them here: those of the manifest, the rules and the decision.
What a result does not hold is left out. Works are cited by their keys, as in "a test [@hall1992removal]";
``reports.works`` turns these into references.

A line of ``methods.txt`` that begins with "fact? " is said where the fact holds, and words in [[ ]] where all
facts in them do. Lines that begin with blanks go on the line above.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from math import isnan
from pathlib import Path, PurePath
from typing import Any

import numpy as np

from headroles.kinds import kind_of
from headroles.records.assessment import MIDDLE, NEAR
from headroles.records.atlas.atlas import Atlas
from headroles.records.causal.ablation import ENOUGH_FOR_LITTLE, FEWEST_UNITS
from headroles.records.causal.columns import EVEN, WHOLE, arm_name, parse_column
from headroles.records.comparison import APART, Comparison
from headroles.records.findings import DECISIONS, Labelling
from headroles.records.numbers import isolate, join_names, plural
from headroles.records.roles import CONTROLS, VALUES, control_of, phrase_of
from headroles.records.rules.rule import FAMILIES, Decision
from headroles.records.stops.look import stop_sentences
from headroles.reports import words
from headroles.reports.kinds.clusters import METHODS, NOISE
from headroles.reports.kinds.probes import QUESTIONS
from headroles.stats.decision import ALL_CORRECTIONS, ENOUGH_FOR_NOT, TESTS

UNTESTABLE, EXPLAINED, ROLE = map(DECISIONS.index, ("untestable", "explained", "role"))
"""Codes of decisions."""
NAMED, NOTES, HASH = 16, 6, 12
"""Most roles that a sentence names, most notes on what was left out, and digits of a hash."""
FOUND = {
    "label": "a role", "probe": "an accuracy beyond its baseline", "surface": "a value above even attention"
}  # fmt: skip
"""What a head of each kind of run was tested for, in words; other kinds have no sentence with a result."""
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


def paragraph(result: Labelling | Comparison | Atlas) -> str:
    """Return the methods of a result in one line, works by their keys; they say only what it records."""
    if isinstance(result, Comparison):
        return _comparison(result)
    return _atlas(result) if isinstance(result, Atlas) else _run(result)


@cache
def _texts() -> Mapping[str, str]:
    """Return the texts of ``methods.txt`` by their headings."""
    text = Path(__file__).with_name("methods.txt").read_text(encoding="utf-8")
    return dict(re.findall(r"^# (\w+)\n(.*?)(?=^# |\Z)", text.replace("\n    ", " "), re.M | re.S))


def _said(heading: str, **facts: Any) -> str:
    """Return a text of ``methods.txt`` in one line with facts in it."""

    def known(part: re.Match[str]) -> str:
        return part[1] if all(facts[name] for name in re.findall(r"\{(\w+)", part[1])) else ""

    lines = []
    for line in _texts()[heading].splitlines():
        asked = re.match(r"(\w+)\? ", line)
        if asked is None or facts[asked[1]]:
            text = re.sub(r"\[\[(.*?)\]\]", known, line[asked.end() if asked else 0 :])
            lines.append(text.format_map(facts))
    return " ".join(" ".join(lines).split())


def _run(run: Labelling) -> str:
    """Return the methods of a run."""
    manifest, findings, decision, kind = run.manifest, run.findings, run.decision, kind_of(run)
    model, parser, statistic = _part(manifest, "model"), _part(manifest, "parser"), manifest.get("statistic")
    facts = [str(model[name]) for name in ("architecture", "dtype") if model.get(name)]
    facts += [f"revision {model['revision']}"] if model.get("revision") else []
    facts += [f"weights SHA-256 {model['weights_sha256'][:HASH]}"] if model.get("weights_sha256") else []
    stop, published = stop_sentences(manifest), manifest.get("preset") == "published"
    notes = [note if note.endswith(".") else f"{note}." for note in run.skipped if note not in stop]
    if (rest := len(notes) - NOTES) > 0:
        more = f"{plural(rest, 'more note')} {'is' if rest == 1 else 'are'} in the manifest of the run."
        notes[NOTES:] = [more]
    numbers = {
        rule.sieve: int((found != UNTESTABLE).sum())
        for rule, found in zip(findings.rules, findings.decision, strict=True) if rule.role
    }  # fmt: skip
    silent = [name for name, number in numbers.items() if not number]
    some = 0 < len(silent) < len(numbers)
    tested = sorted({number for number in numbers.values() if number or not some})
    counts = f"{tested[0]} to {tested[-1]} heads" if len(tested) > 1 else plural(sum(tested), "head")
    own = {"probe": _probe, "surface": _surface, "ablate": _ablation, "why": _origins}
    about: Callable[[Labelling], str] = own.get(kind.name, _roles)
    causal = kind.name in ("ablate", "why")
    return _said(
        "run",
        size=words.layers_of_heads(run.scores.stack, run.scores.heads, "attention head"),
        name=_model_name(model), model=", ".join(facts), where=STACKS.get(str(model.get("kind")), ""),
        maps=" from stored attention maps" * (model.get("capture") == "stored maps"),
        version=manifest.get("headroles"), inputs=_inputs(manifest), stop=" ".join(stop),
        parser=f"{parser.get('name') or ''} {parser.get('version') or ''}".strip(), published=published,
        selectivity=statistic == "selectivity" and not published, bias=statistic == "bias" and not published,
        norms=model.get("weights") == "norm", about=about(run), clusters=_clusters(run),
        test=_test(decision.test), decision=decision, correction=_correction(decision, kind.families(run)),
        silent=_names(silent) if some else "", tested=counts if numbers else "",
        result=_result(run, FOUND.get(kind.name, "")),
        column="other " * some + COLUMNS.get(kind.name, "role"),
        interval=words.interval_name(decision).split(" (that of")[0],
        resampled=words.uses_resamples(decision), enough=ENOUGH_FOR_NOT,
        verdict="" if run.moments is not None or causal else
        "below even attention" if kind.name == "surface" else "not",
        withheld=" withheld, since " in " ".join(run.assessment.remarks if run.assessment else ()),
        left_out=" ".join(notes), software=_software(manifest),
    )  # fmt: skip


def _result(run: Labelling, what: str) -> str:
    """Return in how many heads something was found, and in how many by role; "" where nothing was tested."""
    columns = zip(run.findings.rules, run.findings.decision, strict=True)
    tested = {rule.sieve: found for rule, found in columns if rule.role and (found != UNTESTABLE).any()}
    if what == FOUND["probe"]:  # the row of all items counts those of the others again
        tested = {name: tested[name] for name in tested if name.split(":")[1] != "all"} or tested
    if not tested or not what:
        return ""
    counts = {name: int((found == ROLE).sum()) for name, found in tested.items()}
    ranked = sorted(filter(counts.get, counts), key=lambda name: -counts[name])
    heads, none = np.any([found == ROLE for found in tested.values()], axis=0), [*counts.keys() - {*ranked}]
    parts = [f"{isolate(name)} in {counts[name]:,}" for name in ranked[:NAMED]]
    parts += [f"{len(ranked) - NAMED:,} more in fewer"] * (len(ranked) > NAMED)
    rest = plural(len(none), "other") if len(none) > NOTES else _names(sorted(none)) if none else ""
    return _said(
        "result",
        bare=run.decision.correction == "none", corrected=run.decision.correction != "none", what=what,
        count=f"{heads.sum():,}" if ranked else "none", heads=plural(heads.size, "head"),
        parts=join_names(parts) if parts else "", rest=rest if parts else "",
    )  # fmt: skip


def _inputs(manifest: Mapping[str, Any]) -> str:
    """Return the inputs, how they were drawn, and how many were cut."""
    parts = ("counts", "source", "settings", "kept")
    counts, source, settings, kept = (_part(manifest, name) for name in parts)
    if not isinstance(counts.get("examples"), int):
        return ""
    kind, name = str(source.get("kind") or ""), str(source.get("name") or "")
    name = PurePath(name).name if kind in ("file", "maps", "scores") else name
    facts = [f"{kind}: {isolate(name)}"] if source.get("name") else []
    facts += [f"SHA-256 {source['sha256'][:HASH]}"] if source.get("sha256") else []
    tokens, units, rows = counts.get("tokens"), counts.get("units"), source.get("rows")
    first, drawn = settings.get("first"), ""
    number = settings.get("limit") if first is None else first
    if isinstance(number, int) and not (isinstance(rows, int) and rows <= number):
        what = "documents" if manifest.get("probe") else "rows"
        drawn = f"{number:,} of {rows:,} {what}" if isinstance(rows, int) else f"{number:,} {what} at most"
    longest, cut = _part(manifest, "tokenizer").get("max_length"), counts.get("truncated")
    known = isinstance(cut, int) and bool(longest)
    return _said(
        "inputs",
        examples=plural(counts["examples"], "input"), task=isolate(str(manifest.get("task") or "")),
        source=", ".join(facts),
        tokens=plural(tokens, "token")
        if isinstance(tokens, int) and (tokens or kind != "scores") else "",
        units=plural(units, "independent unit") if isinstance(units, int) else "",
        drawn=drawn if first is None else "", first=drawn if first is not None else "",
        seed=str(settings.get("seed", "")), groups=kept.get("groups") if kept.get("mode") == "moments" else 0,
        cut=f"{plural(cut, 'input')} {'was' if cut == 1 else 'were'}" if known and cut else "",
        whole=known and not cut, longest=longest,
    )  # fmt: skip


def _roles(run: Labelling) -> str:
    """Return the roles with chance value, margin and contrasts."""
    findings, of = run.findings, CONTROLS[VALUES]
    some = (findings.decision != UNTESTABLE).any(axis=(1, 2)).tolist()
    pairs = [(rule, known) for rule, known in zip(findings.rules, some, strict=True) if rule.role]
    rules = [rule for rule, known in pairs if known] or [rule for rule, _ in pairs]
    if not rules:
        return ""
    levels: dict[tuple[str, str], list[str]] = {}
    for rule in rules:
        levels.setdefault((_number(rule.null), _number(rule.margin)), []).append(rule.sieve)
    null, margin = next(iter(levels))
    parts = [f"{null} and {margin} for {_names(names)}" for (null, margin), names in levels.items()]
    by_name = {rule.sieve: rule for rule in findings.rules}

    def groups(field: str) -> list[tuple[str, float, list[str]]]:
        found: dict[tuple[str, float], list[str]] = {}
        for rule in rules:
            if (column := by_name.get(getattr(rule, field))) is not None:
                found.setdefault((control_of(column.sieve), column.margin), []).append(rule.sieve)
        return [(control, beyond, names) for (control, beyond), names in found.items()]

    contrasts, sentences = groups("contrast"), []
    for control, beyond, names in contrasts:
        sentences.append(_said(
            "contrast", values=control == of, names=_names(names), below=_number(-beyond),
            control="" if control == of else control or "the contrast", roles=_the_roles(names),
            margin=_number(beyond),
        ))  # fmt: skip
    for control, beyond, names in groups("stronger"):
        these = len(names) > 1 and [own for *_, own in contrasts[-1:]] == [names]
        subject = f"{'These roles' if these else _the_roles(names)} count{'s' * (len(names) == 1)}"
        sentences.append(_said("stronger", subject=subject, control=control, margin=_number(beyond)))
    tested = run.assessment is not None and np.isfinite(run.assessment.precision.q_explained).any()
    asked, controls = tested or (findings.decision == EXPLAINED).any(), {control for control, *_ in contrasts}
    return _said(
        "roles",
        tested=_roles_were([rule.sieve for rule in rules], "tested"), contrasts=" ".join(sentences),
        several=len(levels) > 1, levels="; ".join(parts), one=len(levels) == 1, null=null, margin=margin,
        every=" for every role" * (len(rules) > 1), explained=asked and controls != {of},
        relative=asked and of in controls,
    )  # fmt: skip


def _roles_were(names: Sequence[str], verb: str) -> str:
    """Return how many roles were tested or compared, their names, and the works behind them."""
    were = f"{plural(len(names), 'role')} {'was' if len(names) == 1 else 'were'}"
    return f"{were} {verb}: {_names(names)}{_works_of(names)}."


def _the_roles(names: Sequence[str]) -> str:
    """Return the subject of a sentence about roles."""
    return f"The role{'s' * (len(names) > 1)} {_names(names)}"


def _probe(run: Labelling) -> str:
    """Return the questions, the baselines and the halves of a run of probes."""
    probe, rules = _part(run.manifest, "probe"), [rule for rule in run.findings.rules if rule.role]
    asked = [(name, QUESTIONS[name]) for name in dict.fromkeys(probe.get("names", ())) if name in QUESTIONS]
    return _said(
        "probe",
        questions=" ".join(
            f"Heads answered questions about gold annotation ({name}): {question[0].lower()}{question[1:]}"
            for name, question in asked
        ),
        rows=plural(len({rule.together or rule.sieve for rule in rules}), "row"),
        works=_works_of([rule.sieve for rule in rules]), halves=_part(probe, "halves"),
        margins=join_names(sorted({_number(100 * rule.margin) for rule in rules})),
    )  # fmt: skip


def _surface(run: Labelling) -> str:
    """Return the statistics of a surface run and what they were compared with."""
    facts, rules = _part(run.manifest, "surface"), [rule for rule in run.findings.rules if rule.role]
    return _said(
        "surface",
        statistics=plural(len(rules), "statistic"), works=_works_of([rule.sieve for rule in rules]),
        names=_names([rule.sieve.partition(":")[2] or rule.sieve for rule in rules]),
        margins=join_names(sorted({_number(rule.margin) for rule in rules})),
        smoothing=facts.get("smoothing"), loss=isolate(str(facts.get("loss") or "")),
    )  # fmt: skip


def _clusters(run: Labelling) -> str:
    """Return how distances between heads and clusters were made; "" for other runs."""
    clustered, settings = run.clustered, _part(run.manifest, "settings")
    if clustered is None:
        return ""
    chosen = "was chosen by silhouette and stability" if clustered.choices else ""
    how, way = "was given" if settings.get("clusters") else chosen, clustered.divergence.way
    return _said(
        "cluster",
        mean="mean" if way == "mean" else "summed", smoothing=clustered.divergence.smoothing, how=how,
        method=METHODS.get(clustered.method, clustered.method).capitalize().replace("Dbscan", "DBSCAN"),
        clusters=plural(len({*clustered.cluster.tolist()} - {NOISE}), "cluster"), draws=settings.get("draws"),
    )  # fmt: skip


def _ablation(run: Labelling) -> str:
    """Return what was taken out, what damage is, its threshold, and how roles were tested."""
    from headroles.reports.kinds.ablate import Measured

    measured = Measured(run)
    ablated = measured.ablated
    names, held = ablated.damage.arms, ablated.held
    arms = [parse_column(arm) for arm in names]
    what = [name for name in WHOLE if any(arm.what == name for arm in arms)]
    outputs, number = [PUT[name] for name in what if name in PUT], _references(run, "ablation")
    acts = [f"its output was replaced by {', or by '.join(outputs)}"] * bool(outputs)
    acts += ["its attention was replaced by even attention"] * (EVEN in what)
    firsts = dict(zip((arm.outcome for arm in arms[::-1]), names[::-1], strict=True)).values()
    return _said(
        "ablate",
        acts=", or ".join(acts), enough=ENOUGH_FOR_LITTLE, fewest=FEWEST_UNITS,
        means=("other" if number is None else f"{number:,}") if "mean" in what else "",
        damage=join_names([measured.measure(arm) for arm in [*firsts][::-1]]),
        thresholds=join_names([f"{measured.threshold(arm)} for {arm_name(arm)}" for arm in names]),
        held=held and _names(held.roles), units=held and plural(len(held.units), "unit"),
        roles=held and ablated.roles, sites=held and ablated.sites, cells=held and ablated.cells,
        sets=measured.rows(ablated.groups)["sets"].tolist() if held else [],
    )  # fmt: skip


def _origins(run: Labelling) -> str:
    """Return how contrasts were decomposed, and how parts and removals were tested."""
    from headroles.reports.kinds.why import Asked

    asked = Asked(run)
    origins, products, alpha = asked.origins, asked.origins.products, run.decision.alpha
    knocked, families = len(origins.knocked.units) if origins.knocked is not None else 0, len(products.roles)
    level = origins.dimensions[0].level if origins.dimensions else 0.0
    tested = round(alpha * families / level) if level > 0 else 0
    of = f" = {alpha:g} × {families:,} / {tested:,}" if tested else ""
    rotations, free = _part(run.manifest, "why").get("rotations"), bool(products.free.all())
    dimensions = len({test.dimension for test in origins.dimensions})
    return _said(
        "why",
        roles=plural(families, "role"), names=_names([*dict.fromkeys(products.roles)]) if families else "",
        held=plural(len(origins.held.units), "unit"), measured=plural(len(products.units), "other unit"),
        knocked=plural(knocked, "further unit") if knocked else "", references=_references(run, "why"),
        fewest=FEWEST_UNITS, one=asked.one, dimensions=plural(dimensions, asked.one) if dimensions else "",
        level=f"{level:.3g}{of}", fixed=families and not free, free=families and free,
        rotations=rotations if isinstance(rotations, int) else 9_999, redeals=products.redealt.shape[1],
        knockouts=len(origins.knockouts),
    )  # fmt: skip


def _comparison(comparison: Comparison) -> str:
    """Return the methods of a comparison."""
    manifest, decision = comparison.manifest, comparison.decision
    runs = [_part(manifest, name) for name in ("a", "b")]
    models = [_model_name(_part(run, "model")) for run in runs]
    same = models[0] == models[1]
    first, second = [isolate(PurePath(str(run.get("folder") or "")).name) for run in runs] if same else models
    about = f", both of {models[0]}," if same and models[0] else ""
    label_test, swaps = str(manifest.get("label_test") or ""), _part(manifest, "settings").get("swaps")
    return _said(
        "comparison",
        sides=f"{first} (A) and {second} (B){about}" if first and second else "two runs (A and B)",
        size=words.layers_of_heads(comparison.stack, comparison.before.count.shape[2], "attention head"),
        version=manifest.get("headroles"), inputs=_inputs(manifest), bound=_number(comparison.bound),
        compared=_roles_were(comparison.before.roles, "compared"), decision=decision,
        test=_test(decision.test).removeprefix("a ").replace("one-sided ", ""),
        correction=_correction(decision, FAMILIES), software=_software(manifest),
        labels=TESTS[label_test].sentence if label_test in TESTS else label_test,
        swaps=swaps if comparison.swaps and not isnan(comparison.swaps[-1].p) else 0,
        apart=manifest.get("matched") == APART,
    )  # fmt: skip


def _atlas(atlas: Atlas) -> str:
    """Return how several runs were compared."""
    names = [
        f"{isolate(run.name)} ({plural(run.examples, 'input')}, {run.tokens:.0f} tokens on average)"
        for run in atlas.runs
    ]
    ways = [COMBINATIONS[way] for way in dict.fromkeys(row.combination for row in atlas.consensus)]
    return _said(
        "atlas",
        runs=plural(len(atlas.runs), "run"), version=atlas.manifest.get("headroles"), names=join_names(names),
        rules=join_names([*dict.fromkeys(f"{isolate(run.preset)} ({run.rule})" for run in atlas.runs)]),
        near=NEAR, far=1 - NEAR, ways=join_names(ways) if ways else "", steps=len(atlas.steps),
        middle=any(row.scope == MIDDLE for several in atlas.several for row in several),
        pooled=any(row.mean == row.mean for row in atlas.consensus), agreement=len(atlas.agreement),
    )  # fmt: skip


def _test(name: str) -> str:
    """Return a test in a sentence, with the work behind it."""
    return f"{TESTS[name].sentence}{_cited(TESTS[name].work)}" if name in TESTS else name


def _correction(decision: Decision, families: Mapping[str, str]) -> str:
    """Return how p values were corrected, and over which tests."""
    name = decision.correction
    method = ALL_CORRECTIONS[name].sentence if name in ALL_CORRECTIONS else name
    if words.is_e_bh(decision.test, name):
        method = f"e-BH, {method} over inverse evidence"
    return _said(
        "correction",
        none=name == "none", method="" if name == "none" else f"{method}{_cited(correction_work(decision))}",
        family=families.get(decision.family, decision.family),
        bounds="expected share of false labels" if name.startswith("fdr") else
        "probability of any false label",
    )  # fmt: skip


def correction_work(decision: Decision) -> str:
    """Return the key of the work behind a correction; "" for none."""
    if words.is_e_bh(decision.test, decision.correction):
        return "wang2022false"
    known = ALL_CORRECTIONS.get(decision.correction)
    return known.work if known else ""


def _software(manifest: Mapping[str, Any]) -> str:
    """Return the versions of the software, and the device."""
    versions = _part(manifest, "versions")
    named = [f"{name} {versions[key]}" for key, name in PACKAGES.items() if versions.get(key)]
    device = _part(manifest, "model").get("device")
    return _said("software", named=join_names(named) if named else "", device=device)


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
    """Return a setting as it was given, such as "0.1" or "0"."""
    return f"{value:.6g}"
