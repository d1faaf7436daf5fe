"""Judge stored scores by other rules: ``judge_again()``; no model is needed."""

from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from headroles.judging.clusters import add_clusters, update_role_claims
from headroles.judging.probes import judge_probes_again
from headroles.judging.scores import judge_scores
from headroles.judging.surface import judge_surface
from headroles.options.cluster import ClusterOptions, cluster_options_of
from headroles.options.label import label_options_of
from headroles.options.probe import probe_options_of
from headroles.options.run import CommonOptions
from headroles.options.surface import surface_options_of
from headroles.records.example import Decision, Rule
from headroles.records.findings import Labelling
from headroles.reports.page import page_of
from headroles.storage.remote import accept_address
from headroles.storage.run import load, write_results
from headroles.storage.whole.lock import lock_present_folder

DECISION_NAMES = {"resample_seed": "seed"}
"""Names of options in a decision, where they differ."""


@accept_address(back=True)
def judge_again(
    folder: str | Path,
    *,
    alpha: float | None = None,
    margin: float | None = None,
    test: str | None = None,
    correction: str | None = None,
    family: str | None = None,
    resamples: int | None = None,
    resample_seed: int | None = None,
    interval: str | None = None,
    splits: int | None = None,
    bayes: bool | None = None,
) -> Labelling:
    """Judge the stored scores of a run folder again, and write the result into it.

    No model is needed. Settings that are not given stay as they were. In a run of probes the halves stay,
    too. In a run of clusters the clusters stay, unless another ``resample_seed`` is given: then they are
    computed again. Kept attention maps stay: a head that gains a role has no map for it.

    Raises:
        HeadrolesError: When the folder is no run, another command writes it, a file of it was altered, or a
            setting does not exist; the folder then stays as it was.
    """
    options_given = {
        "alpha": alpha, "test": test, "correction": correction, "family": family,
        "resamples": resamples, "resample_seed": resample_seed, "interval": interval,
        "splits": splits, "bayes": bayes,
    }  # fmt: skip
    given = {name: value for name, value in options_given.items() if value is not None}
    with lock_present_folder(folder):
        after = _judge_by(load(folder), given, margin)
        write_results(Path(folder), after, page_of(after))
    return after


def _judge_by(before: Labelling, given: dict[str, Any], margin: float | None) -> Labelling:
    """Return a labelling judged by other settings; those that are not given stay."""
    settings = dict(before.manifest.get("settings", {})) | given
    settings |= {} if margin is None else {"margin": margin}
    options = _options(before, {"data": "scores"} | settings)
    decision_fields = {field.name for field in fields(Decision)}
    changed = {DECISION_NAMES.get(name, name): getattr(options, name) for name in given}
    decision = replace(
        before.decision, **{name: value for name, value in changed.items() if name in decision_fields}
    )
    rules = before.findings.rules
    if margin is not None:
        rules = tuple(replace(rule, margin=float(margin)) if rule.role else rule for rule in rules)
    after = _judge_as_before(before, rules, decision, options)
    manifest = dict(before.manifest)
    if "settings" in manifest:
        manifest |= {"settings": options.settings(), "command": options.command()}
    return replace(after, manifest=manifest, skipped=before.skipped, exhibited=before.exhibited)


def _options(before: Labelling, settings: dict[str, Any]) -> CommonOptions:
    """Return the options of the kind of run that gave a labelling."""
    if before.probed is not None:
        return probe_options_of(**{"probes": "dependency"} | settings)
    if before.surface is not None:
        return surface_options_of(**settings)
    settings = {"maps": 0} | settings  # of folders from before maps were kept
    return label_options_of(**settings) if before.clustered is None else cluster_options_of(**settings)


def _judge_as_before(
    before: Labelling, rules: Sequence[Rule], decision: Decision, options: CommonOptions
) -> Labelling:
    """Judge the same scores again in the way of their kind of run."""
    if before.probed is not None and before.probed.tallies is not None:
        return judge_probes_again(before, rules, decision, options)
    if before.surface is not None:
        return judge_surface(before.scores, rules, options, decision)
    after = judge_scores(before.scores, rules, options, decision, before.moments)
    after = replace(after, probed=before.probed)
    if before.clustered is None or not isinstance(options, ClusterOptions):
        return after
    if decision.seed != before.decision.seed:
        return add_clusters(after, before.clustered.divergence, options.clustering)
    return update_role_claims(after, before.clustered, options.clustering)


def judge_stored_scores(run: Labelling) -> Labelling:
    """Compute the findings of a run again from its scores and rules; nothing is written.

    Raises:
        HeadrolesError: When the settings of the run are not valid.
    """
    options = _options(run, {"data": "scores"} | dict(run.manifest.get("settings", {})))
    if run.clustered is None:
        judged_run = _judge_as_before(run, run.findings.rules, run.decision, options)
    else:
        judged_run = judge_scores(run.scores, run.findings.rules, options, run.decision, run.moments)
    return replace(run, findings=judged_run.findings)
