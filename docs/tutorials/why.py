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
# # Are there separator neurons?
#
# Many heads of BERT-like models look at special tokens. What in the head makes them do so? Pictures of
# single products of queries and keys suggest that a few neurons match separators. This tutorial tests that.
#
# ## Label the heads
#
# We begin with the roles. The shipped sample of QNLI has 160 pairs of texts.

# %%
import pandas as pd

import headroles

run = headroles.label("QNLI", sieve=["delimiter:cls", "delimiter", "local"], out="runs/QNLI", maps=0)
{name: len(role.heads) for name, role in run.roles.items()}

# %% [markdown]
# ## Ask what makes them look there
#
# A weight of attention is computed from a logit: the product of a query and a key, summed over the dimensions
# of the head. The *contrast* of a role is the mean logit of its cells minus that of all other keys. So it is
# an exact sum over dimensions. `why` measures it on inputs that decided no label.

# %%
why = headroles.why("runs/QNLI", out="runs/why")
why

# %% [markdown]
# ## Does the query matter?
#
# Replace every query by the mean query of its head. What is left of the contrast is *vertical*: the same for
# all queries. `share` is this part of the contrast.

# %%
origins = pd.read_csv("runs/why/origins.csv")
by_role = origins.groupby("role").agg(
    heads=("head", "count"),
    share=("share", "median"),
    vertical=("verdict", lambda verdicts: (verdicts == "vertical").sum()),
    by_query=("verdict", lambda verdicts: (verdicts == "by query").sum()),
)
by_role.style.format({"share": "{:.2f}"})

# %% tags=["remove_cell"]
assert by_role.loc["delimiter:cls"].vertical > 0.9 * by_role.loc["delimiter:cls"].heads
assert by_role.loc["delimiter:cls"].share > 0.8
assert by_role.loc["local"].by_query > 0.8 * by_role.loc["local"].heads

# %% [markdown]
# Attention to the class token is vertical: every query gives it the same push, whatever the word. Attention
# to neighbours depends on the individual query. It must: each word has other neighbours.
#
# ## Do few neurons carry it?
#
# The participation ratio counts the dimensions that share a contrast. It is low for both roles. But queries
# and keys can be rotated together without changing any weight of attention. So a low ratio can be an accident
# of the basis. `rotated` is the median ratio after random rotations.

# %%
ratios = origins.groupby("role")[["participation", "rotated"]].median()
ratios["few neurons"] = origins.groupby("role").few.apply(lambda few: (few == "few neurons").sum())
ratios.style.format(precision=1)

# %% tags=["remove_cell"]
assert ratios["few neurons"].sum() <= 0.1 * len(origins)

# %% [markdown]
# The ratios are about the same. At most a head or two stand out. The others show no separator neurons: their
# contrast is not shown to concentrate on fewer dimensions than in a random basis.
#
# ## Remove the dimensions
#
# Some dimensions have more than twice their fair share. The third group of inputs is scored again without
# them. `falls` counts the heads whose score falls below the threshold of the role, and `holds` those whose
# score stays above it.

# %%
knockouts = pd.read_csv("runs/why/knockouts.csv")
own = knockouts[knockouts.role == knockouts.scored]
own.pivot_table(index=["by", "role"], columns="verdict", values="head", aggfunc="count", fill_value=0)

# %% [markdown]
# `by` says what was removed: the found dimensions, or the *subspace*. These are directions that other cells
# at the same distance lack. One such direction carries the attention to special tokens in nearly every head.
# But it is no neuron: it spreads over many dimensions. Neighbours need more than one direction.

# %% tags=["remove_cell"]
counts = own.groupby(["by", "role"]).verdict.value_counts().unstack(fill_value=0)
assert counts.loc[("subspace", "delimiter:cls"), "falls"] > 0.9 * by_role.loc["delimiter:cls"].heads
assert counts.loc[("subspace", "local"), "holds"] > counts.loc[("subspace", "local"), "falls"]

# %% [markdown]
# ## Look at one head

# %%
strongest = origins[origins.role == "local"].nlargest(1, "contrast").iloc[0]
why.head(int(strongest["layer"]), int(strongest["head"]))

# %% [markdown]
# ## What this shows, and what it does not
#
# - It is one small encoder. Other models can differ, so ask yours.
# - "As rotated" does not say that all neurons matter. It says that the basis is not shown to be better than
#   another.
# - What earlier layers put into the keys is another question.
#
# The same in the terminal:
#
# ```
# headroles label --task QNLI --sieve delimiter:cls --sieve delimiter --sieve local --out runs/QNLI
# headroles why runs/QNLI --out runs/why
# ```
#
# **Try it.** Ask about roles of syntax: leave `sieve` out. Are they vertical?
