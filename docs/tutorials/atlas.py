# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Which roles hold on other texts?
#
# A run speaks about its own texts. Does a head keep its role on other tasks? This tutorial labels one model
# on three tasks, and shows the runs on one page, an *atlas*. It asks two questions: which heads look at
# neighbours, and which at special tokens? Both take seconds, since they need no parser.
#
# ## One run for each task
#
# All runs have one model, and the same sieves and options. Only then can heads be matched.

# %%
import headroles

tasks = ["QNLI", "MRPC", "SST-2"]
questions = ["local", "delimiter", "delimiter:sep"]
for task in tasks:
    headroles.label(task, sieve=questions, limit=80, out=f"runs/{task}", maps=0)

# %% [markdown]
# ## The atlas
#
# The atlas reads the runs and changes nothing in them. It needs no model.

# %%
atlas = headroles.atlas([f"runs/{task}" for task in tasks], out="atlas/tasks")
atlas

# %% [markdown]
# `atlas/tasks/report.html` is the page, with a row of maps for each role.
#
# ## In how many tasks does a head hold a role?
#
# A count of labels is no test. Each run has its own errors, and more runs have more of them. The atlas tests
# "a role in at least u of the 3 runs" for u = 1, 2 and 3. It combines the p values of the runs, and corrects
# over heads. `held` counts labels, and `at_least` is what the test says.

# %%
consensus = atlas.consensus_frame()
consensus.groupby("sieve").agg(
    labelled_in_all=("held", lambda held: (held == 3).sum()),
    holds_in_all=("at_least", lambda runs: (runs == 3).sum()),
    holds_in_none=("at_least", lambda runs: (runs == 0).sum()),
)

# %%
differ = consensus[(consensus.at_least > 0) & (consensus.at_least < 3)]
differ[["sieve", "layer", "head", "held", "at_least", "q_all"]].style.hide(axis="index").format(precision=3)

# %% tags=["remove_cell"]
local = consensus[consensus.sieve == "local"]
assert (local.at_least == 3).sum() >= 12
assert (consensus.at_least <= 3).all()
assert set(consensus.combination) == {"fisher"}

# %% [markdown]
# Most heads hold the same roles in all three tasks. The table has the other heads. Some of them lie near the
# threshold in one task, and more inputs would decide them.
#
# `combination` is "fisher", since no two runs share a text. Hashes in the manifests show that. The p values
# of runs with common texts are combined by a rule that allows for dependence.
#
# ## Two runs, in both directions
#
# Two runs have *r values*. With r of at most 0.05, the head holds the role in both populations of texts, at
# that error rate. Neither run is the first or the second: A and B may be swapped.

# %%
pair = headroles.atlas(["runs/QNLI", "runs/SST-2"]).consensus_frame()
pairs = pair.groupby("sieve").agg(
    labelled_in_both=("held", lambda held: (held == 2).sum()),
    r_at_most_005=("r", lambda r: (r <= 0.05).sum()),
)
pairs

# %% tags=["remove_cell"]
swapped = headroles.atlas(["runs/SST-2", "runs/QNLI"]).consensus_frame()
merged = pair.merge(swapped, on=["sieve", "layer", "head"])
assert ((merged.r_x - merged.r_y).abs().fillna(0) < 1e-12).all()
assert pairs.r_at_most_005.sum() > 20

# %% [markdown]
# ## How far do labels agree?
#
# Cohen's kappa compares the labels of two runs over the 72 heads. It is 1 for full agreement, and 0 for
# labels at random with the same counts. The interval is over inputs: it holds the kappa of fresh samples.

# %%
agreement = atlas.agreements()
rows = agreement[(agreement.sieve != "") & (agreement.run_a != "")]
rows[["sieve", "run_a", "run_b", "both", "either", "kappa", "low", "high"]].style.hide(axis="index").format(
    precision=2
)

# %% [markdown]
# Kappa is missing where no head holds the role in either run.
#
# ## What this shows, and what it does not
#
# - "In all three" is about these three populations of texts, not about texts in general. From five runs
#   on, the atlas also has intervals for one more corpus.
# - Runs of another model can join. They are compared by counts and depth, since heads do not correspond.
# - Checkpoints of one training go in order, with `steps=True`. The atlas then says from which step on roles
#   hold.
#
# The same in the terminal:
#
# ```
# headroles label --task QNLI --sieve local --sieve delimiter --out runs/QNLI
# headroles label --task SST-2 --sieve local --sieve delimiter --out runs/SST-2
# headroles atlas runs/QNLI runs/SST-2 --out atlas/tasks
# ```
#
# [What holds across tasks, corpora and models](../findings/atlas.md) has atlases of larger samples. [Several
# runs on one page](../how-to/atlas.md) has all steps.
#
# **Try it.** Add your own texts as a fourth run: `headroles.label(data="mine.tsv", text_a="text", …)`.
