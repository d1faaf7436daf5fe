"""Judge stored scores by other rules: ``judge_again()``; no model is needed."""

import shutil
from dataclasses import replace
from typing import Any

from headroles.kinds import kind_of
from headroles.options.finished import JudgeOptions, decision_fields
from headroles.options.keywords import keywords_of
from headroles.options.run import JudgedOptions
from headroles.records.findings import Labelling
from headroles.records.numbers import plural
from headroles.records.rules.rule import Decision
from headroles.stats.decision import BETTING, check_decision
from headroles.storage.folder import check_free, stage_folder
from headroles.storage.integrity.lock import lock_present_folder, lock_run_folder
from headroles.storage.integrity.manifest import check_run_folder
from headroles.storage.integrity.switch import file_names
from headroles.storage.remote import local_copy
from headroles.storage.run import load, write_results

NOT_AT_STOPS = "These error rates do not hold (judge with --test betting):"
"""First words of the note on a test that does not hold at a stop."""


@keywords_of(JudgeOptions, "folder")
def judge_again(options: JudgeOptions) -> Labelling:
    """Judge the stored scores of a run folder again, and write the result into it, or into a new folder.

    No model is needed. Settings that are not given stay as they were. In a run of probes the halves stay,
    too. In a run of clusters the clusters stay, unless another ``resample_seed`` is given: then they are
    computed again. Kept attention maps stay: a head that gains a role has no map for it.

    With ``out``, the run is copied there and judged there; the folder stays as it is.

    Args:
        {options}

    Raises:
        HeadrolesError: When the folder is no run, another command writes it, a file of it was altered, or a
            setting does not exist; the folder then stays as it was.
    """
    return judge_stored(options)[1]


def judge_stored(options: JudgeOptions) -> tuple[Labelling, Labelling]:
    """Do what ``judge_again`` does, and return the run before and after it.

    Raises:
        HeadrolesError: As ``judge_again``.
    """
    given = options.given()
    folder, margin, out = given.pop("folder"), given.pop("margin", None), given.pop("out", None)
    overwrite = given.pop("overwrite")
    check_run_folder(folder)
    check_decision(Decision(**decision_fields(given)))
    with local_copy(folder, back=out is None) as place, lock_present_folder(place):
        before = load(place)
        after = _judge_by(before, given, margin)
        page = kind_of(after).page(after)
        if out is None:
            write_results(place, after, page, maps_stay=True)
            return before, after
        with local_copy(out, back=True, new=True) as new, lock_run_folder(new):
            check_free(new, dict(after.manifest.get("settings") or {}), overwrite)
            with stage_folder(new) as staging:
                for name in file_names(place):
                    (staging / name).parent.mkdir(parents=True, exist_ok=True)
                    shutil.copyfile(place / name, staging / name)
                write_results(staging, after, page, maps_stay=True)
    return before, replace(after, folder=out)


def changes_of(before: Labelling, after: Labelling) -> str:
    """Return in one line which verdicts changed when a run was judged again.

    Heads are counted by the first outcome of the kind, such as "role"; other verdicts are counted together.
    """
    kind = kind_of(after)
    one, other = kind.decided(before), kind.decided(after)
    if one.shape != other.shape:
        return "changed: other questions could be asked, so heads are not counted"
    parts, names = [], [rule.sieve for rule in after.findings.rules]
    first = kind.outcomes[0] + "s" * (kind.outcomes[0] == "role")
    rows = zip(names, one, other, strict=True) if len(one) == len(names) else [(first, one, other)]
    for name, old, new in rows:
        lost, gained = int(((old == 0) & (new != 0)).sum()), int(((old != 0) & (new == 0)).sum())
        if lost or gained:
            moved = f" ({gained:,} gained, {lost:,} lost)" if lost and gained else ""
            parts.append(f"{name} {int((old == 0).sum()):,} → {int((new == 0).sum()):,} heads{moved}")
    rest = int(((one != other) & (one != 0) & (other != 0)).sum())
    if rest:
        parts.append(plural(rest, "other verdict"))
    return f"changed: {', '.join(parts)}" if parts else "nothing changed"


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
    if "until" in manifest:
        kept = [note for note in manifest.get("notes", ()) if not note.startswith(NOT_AT_STOPS)]
        manifest["notes"] = [*stop_notes(manifest["until"], decision), *kept]
    return replace(after, manifest=manifest, skipped=before.skipped, exhibited=before.exhibited)


def stop_notes(stop: Any, decision: Decision) -> list[str]:
    """Return a note on a test or interval that does not hold where scores chose the number of inputs.

    Args:
        stop: Where the run stopped, from its manifest; None for runs that read a fixed number of inputs.
        decision: Test and interval by which it is judged now.

    Example:
        >>> stop = {"stopped": True, "units": 384}
        >>> [note] = stop_notes(stop, Decision(test="t-skew"))
        >>> note.partition(": ")[2]
        'the run stopped after 384 units because of its scores, and t-skew assumes a fixed number of units.'
        >>> stop_notes(stop, Decision(test="betting")), stop_notes(None, Decision())
        ([], [])
    """
    if not isinstance(stop, dict) or not stop.get("stopped"):
        return []
    wrong = [decision.test] if decision.test != BETTING else []
    wrong += [f"the interval {decision.interval}"] if decision.interval != "test" else []
    if not wrong:
        return []
    verb = "assumes" if len(wrong) == 1 else "assume"
    return [
        f"{NOT_AT_STOPS} the run stopped after {stop['units']:,} units because of its scores, and "
        f"{' and '.join(wrong)} {verb} a fixed number of units."
    ]


def _with_inputs(settings: dict[str, Any]) -> dict[str, Any]:
    """Return settings that name inputs, which runs have and which stored scores no longer need."""
    named = settings.get("attention") or settings.get("scores")
    return settings if named else {"data": "scores"} | settings


def judge_stored_scores(run: Labelling) -> Labelling:
    """Compute the findings of a run again from its scores and rules; nothing is written.

    Raises:
        HeadrolesError: When the settings of the run are not valid.
    """
    return replace(run, findings=kind_of(run).find_again(run, options_of(run)).findings)


def options_of(run: Labelling) -> JudgedOptions:
    """Return the options of a stored run, from the settings in its manifest.

    Raises:
        HeadrolesError: When the settings are not valid.
    """
    return kind_of(run).options(_with_inputs(dict(run.manifest.get("settings", {}))))
