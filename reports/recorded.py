"""Parts that the reports of all runs share: their heading, methods, and what was run."""

from collections.abc import Mapping, Sequence
from typing import Any

from headroles.addresses import last_name
from headroles.records.findings import Labelling
from headroles.records.numbers import plural
from headroles.records.rules.rule import BOTH, FAMILIES, Decision, Rule
from headroles.reports import report as blocks
from headroles.reports.account import account
from headroles.reports.embedded import files_of, findings_json
from headroles.reports.maps import HeadPanel
from headroles.reports.summary import summarise
from headroles.reports.words import uses_resamples
from headroles.reports.works import citation_bibtex, methods_text
from headroles.tasks import TASKS


def last_sections(run: Labelling, values: Mapping[str, str] | None = None) -> list[blocks.Section]:
    """Return the methods of a run, and what was run and left out.

    Args:
        run: Any run.
        values: Values of lines of what was run, by term, in the words of its kind.
    """
    facts = account(run).with_values(dict(values or {}))
    methods, rest = blocks.Methods(methods_text(run), citation_bibtex(run)), [blocks.Recorded(facts.rest)]
    nothing = blocks.Text("Nothing was left out, cut or found not applicable.", "")
    left = [blocks.Points(run.skipped) if run.skipped else nothing]
    return [
        blocks.Section("methods", "Methods", "Methods", [methods]),
        blocks.Section("run", "", "What was run", [
            blocks.Command(facts.command),
            blocks.Fold("Model, inputs and decision, with hashes", [blocks.Recorded(facts.main)]),
            *([blocks.Fold("Everything else that was recorded", rest)] if facts.rest else []),
            blocks.Fold(f"What was left out ({len(run.skipped)})", left, "skipped"),
        ]),
    ]  # fmt: skip


def verdicts_page(
    run: Labelling,
    tab: str,
    sections: Sequence[blocks.Section],
    heads: HeadPanel,
    numbers: tuple[str, str, str, Sequence[blocks.Block]],
    values: Mapping[str, str],
    *,
    nouns: tuple[str, str] = ("Column", "Verdict"),
    files: Mapping[str, str] | None = None,
    **terms: Any,
) -> blocks.Page:
    """Return the page of a run that gives verdicts: its sections, all numbers, methods, and what was run.

    Args:
        run: Any run.
        tab: Title of the browser's tab.
        sections: Those above all numbers.
        heads: Panel of a head.
        numbers: Of the table of all numbers: what a row is, a search that finds something, the caption as
            it is copied, and what stands between the table and the downloads.
        values: As of ``last_sections``.
        nouns: What a column of findings, and a decision, is called.
        files: Texts of the files that the page embeds, which then come before the table of precision; None
            for all small tables of the run.
        **terms: As of ``findings_json``.
    """
    summary, own, files = summarise(run), files is not None, files_of(run) if files is None else files
    precision = ["precision.csv"] * bool(summary.precision)
    tables = [*files, *precision] if own else [*precision, *files]
    names = ["findings.csv", "labels.csv", *tables, "run.json"]
    lead, example, title, more = numbers
    alpha = f"{run.decision.alpha:g}, for every verdict by itself"
    script = "This table, the plots and the downloads need JavaScript. The other tables do not."
    table: list[blocks.Block] = [
        blocks.Text(lead, "lead"),
        blocks.Text(script, "warning"),
        blocks.Numbers(example, names, title, *nouns, more),
    ]
    return blocks.Page(
        tab,
        [
            *sections,
            blocks.Section("findings", "All numbers", "All numbers", table),
            *last_sections(run, {"alpha": alpha, **values}),
        ],
        {"findings-columns": findings_json(summary, run.manifest.get("model"), **terms)},
        files,
        heads=heads,
    )


def account_lines(run: Labelling, more: str = "") -> list[blocks.Named]:
    """Return model and inputs of a run as far as its manifest names them; ``more`` follows the inputs."""
    facts = run.manifest
    model, counts, source = facts.get("model", {}), facts.get("counts", {}), facts.get("source", {})
    kind = f" ({model['architecture']})" if model.get("architecture") else ""
    origin = f", from {model['origin']}" if model.get("origin") else ""
    named = source.get("name")
    names = {"sample": "samples written for headroles", "hub": f"the dataset {named}"}
    name = names.get(source.get("kind", ""), f"the file {named}" if named else "")
    inputs = ", ".join(str(part) for part in (facts.get("task"), name) if part)
    sizes = [plural(counts[f"{noun}s"], noun) for noun in ("example", "unit") if f"{noun}s" in counts]
    parts = [inputs, ", ".join(sizes)]
    return [
        blocks.Named("model", f"{model.get('name') or 'unknown'}{kind}{origin}", ""),
        blocks.Named("inputs", f"{': '.join(filter(None, parts))}{more}", ""),
    ]


def title_of(labelling: Labelling) -> str:
    """Return heads, model and inputs of a run, as far as its manifest names them.

    Such as "72 heads of all-MiniLM-L6-v2 on 160 QNLI pairs".
    """
    facts, count = labelling.manifest, labelling.findings.count
    task, source = facts.get("task"), facts.get("source", {})
    model, data = (last_name(str(of.get("name") or "")) for of in (facts.get("model", {}), source))
    heads = plural(count[0].size if len(count) else count.shape[1] * count.shape[2], "head")
    title, number = f"{heads} of {model}" if model else heads, facts.get("counts", {}).get("examples")
    if not isinstance(number, int):
        return title
    known = TASKS.get(str(task))
    noun = "pair" if known is not None and len(known.columns) == 2 else "input"
    if task:
        return f"{title} on {plural(number, f'{task} {noun}')}"
    return f"{title} on {plural(number, noun)}" + (f" of {data}" if data else "")


def all_notes(labelling: Labelling) -> tuple[list[str], list[str]]:
    """Return what must be known of a run, and what was left out, each once."""
    assessed = labelling.assessment
    warnings = [*labelling.manifest.get("notes", ()), *(assessed.remarks if assessed else ())]
    return list(dict.fromkeys(warnings)), [note for note in labelling.skipped if note not in warnings]


def describe_run(run: Mapping[str, Any]) -> str:
    """Return folder, model and inputs of a run, as far as its manifest names them."""
    model, source = run.get("model", {}).get("name"), run.get("source", {}).get("name")
    parts = [f"model {model}" if model else "", str(run.get("task") or ""), str(source or "")]
    return ", ".join([str(run["folder"]), *(part for part in parts if part)])


def describe_test(decision: Decision, preset: str | None, rules: Sequence[Rule] = ()) -> str:
    """Return test, correction and family, with interval, resamples and seed where they matter.

    Example:
        >>> describe_test(Decision(test="sign-flip", correction="maxT"), "calibrated").split("; ")[1]
        '10,000 resamples, seed 0'
    """
    over = FAMILIES.get(decision.family, decision.family) + BOTH * any(rule.together for rule in rules)
    words = f"{decision.test}, {decision.correction} over {over}, alpha {decision.alpha:g}"
    words += f", preset {preset}" if preset else ""
    if decision.interval != "test":
        words += f", interval {decision.interval}"
    return words + f"; {decision.resamples:,} resamples, seed {decision.seed}" * uses_resamples(decision)
