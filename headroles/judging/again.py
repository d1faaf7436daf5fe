"""Judge stored scores by other rules: ``judge_again()``; no model is needed."""

from dataclasses import replace
from typing import Any

from headroles.kinds import kind_of
from headroles.options.finished import JudgeOptions, decision_fields
from headroles.options.keywords import keywords_of
from headroles.records.example import Decision
from headroles.records.findings import Labelling
from headroles.stats.decision import check_decision
from headroles.storage.integrity.lock import lock_present_folder
from headroles.storage.integrity.manifest import check_run_folder
from headroles.storage.remote import local_copy
from headroles.storage.run import load, write_results


@keywords_of(JudgeOptions, "folder")
def judge_again(options: JudgeOptions) -> Labelling:
    """Judge the stored scores of a run folder again, and write the result into it.

    No model is needed. Settings that are not given stay as they were. In a run of probes the halves stay,
    too. In a run of clusters the clusters stay, unless another ``resample_seed`` is given: then they are
    computed again. Kept attention maps stay: a head that gains a role has no map for it.

    Args:
        {options}

    Raises:
        HeadrolesError: When the folder is no run, another command writes it, a file of it was altered, or a
            setting does not exist; the folder then stays as it was.
    """
    given = options.given()
    folder, margin = given.pop("folder"), given.pop("margin", None)
    check_run_folder(folder)
    check_decision(Decision(**decision_fields(given)))
    with local_copy(folder, back=True) as place, lock_present_folder(place):
        after = _judge_by(load(place), given, margin)
        write_results(place, after, kind_of(after).page(after))
    return after


def _judge_by(before: Labelling, given: dict[str, Any], margin: float | None) -> Labelling:
    """Return a labelling judged by other settings; those that are not given stay."""
    settings = dict(before.manifest.get("settings", {})) | given
    settings |= {} if margin is None else {"margin": margin}
    kind = kind_of(before)
    options = kind.options(_with_inputs(settings))
    decision = replace(before.decision, **decision_fields({name: getattr(options, name) for name in given}))
    rules = before.findings.rules
    if margin is not None:
        rules = tuple(replace(rule, margin=float(margin)) if rule.role else rule for rule in rules)
    after = kind.judge_again(before, rules, decision, options)
    manifest = dict(before.manifest)
    if "settings" in manifest:
        manifest |= {"settings": options.settings(), "command": options.command()}
    return replace(after, manifest=manifest, skipped=before.skipped, exhibited=before.exhibited)


def _with_inputs(settings: dict[str, Any]) -> dict[str, Any]:
    """Return settings that name inputs, which runs have and which stored scores no longer need."""
    named = settings.get("attention") or settings.get("scores")
    return settings if named else {"data": "scores"} | settings


def judge_stored_scores(run: Labelling) -> Labelling:
    """Compute the findings of a run again from its scores and rules; nothing is written.

    Raises:
        HeadrolesError: When the settings of the run are not valid.
    """
    kind = kind_of(run)
    options = kind.options(_with_inputs(dict(run.manifest.get("settings", {}))))
    return replace(run, findings=kind.find_again(run, options).findings)
