"""Parts that the reports of all runs share: their heading, methods, and what was run."""

from collections.abc import Mapping, Sequence

from headroles.records.findings import Labelling
from headroles.records.numbers import plural
from headroles.reports.account import account
from headroles.reports.embedded import files_of
from headroles.reports.report import (
    Block,
    Command,
    Fold,
    Methods,
    Named,
    Numbers,
    Points,
    Recorded,
    Section,
    Text,
)
from headroles.reports.summary import summarise
from headroles.reports.works import citation_bibtex, methods_text


def last_sections(run: Labelling, values: Mapping[str, str] | None = None) -> list[Section]:
    """Return the methods of a run, and what was run and left out.

    Args:
        run: Any run.
        values: Values of lines of what was run, by term, in the words of its kind.
    """
    facts = account(run).with_values(dict(values or {}))
    left = [Points(run.skipped)] if run.skipped else [
        Text("Nothing was left out, cut or found not applicable.", "")
    ]  # fmt: skip
    rest = [Fold("Everything else that was recorded", [Recorded(facts.rest)])] if facts.rest else []
    return [
        Section("methods", "Methods", "Methods", [Methods(methods_text(run), citation_bibtex(run))]),
        Section("run", "", "What was run", [
            Command(facts.command),
            Fold("Model, inputs and decision, with hashes", [Recorded(facts.main)]),
            *rest,
            Fold(f"What was left out ({len(run.skipped)})", left, "skipped"),
        ]),
    ]  # fmt: skip


def findings_section(
    run: Labelling, lead: str, example: str, title: str, blocks: Sequence[Block]
) -> tuple[Section, dict[str, str]]:
    """Return the section of all numbers of a run that gives verdicts, and the files that it offers.

    Args:
        run: Any run.
        lead: What a row of its table is.
        example: A search that finds something.
        title: Caption of the table, as it is copied.
        blocks: What stands between the table and the downloads.
    """
    files, precision = files_of(run), ["precision.csv"] * bool(summarise(run).precision)
    names = ["findings.csv", "labels.csv", *precision, *files, "run.json"]
    scripts = "This table, the plots and the downloads need JavaScript. The other tables do not."
    numbers = Numbers(example, names, title, "Column", "Verdict", blocks)
    return (
        Section(
            "findings", "All numbers", "All numbers", [Text(lead, "lead"), Text(scripts, "warning"), numbers]
        ),
        files,
    )


def account_lines(run: Labelling, more: str = "") -> list[Named]:
    """Return model and inputs of a run as far as its manifest names them; maps from anywhere name few facts.

    Args:
        run: Any run.
        more: Words after the inputs.
    """
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
        Named("model", f"{model.get('name') or 'unknown'}{kind}{origin}", ""),
        Named("inputs", f"{': '.join(filter(None, parts))}{more}", ""),
    ]
