"""Parts that the pages of runs share: all numbers, methods, and what was run."""

from collections.abc import Mapping, Sequence
from typing import Any

from headroles.records.findings import Labelling
from headroles.reports import report as blocks
from headroles.reports.account import account
from headroles.reports.embedded import files_of, findings_json
from headroles.reports.maps import HeadPanel
from headroles.reports.summary import summarise
from headroles.reports.works import citation_bibtex, methods_text


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
