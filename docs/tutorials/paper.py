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
# # From run to paper
#
# A result needs more than a picture. It needs a question that was fixed in advance, a table, and the
# methods in words. It also needs references, and files that others can check. This tutorial makes all of
# them from one run. The run takes about half a minute on two free cores.
#
# ## Fix the plan first
#
# Write down the question, the number of inputs and the rule before you see scores. If you look again and
# again, and stop at the first role, errors are far more frequent than alpha says.
#
# Our plan: *which of the 72 heads of the embedded encoder stay in their own text, look at neighbours, or
# find the noun of an adjective?* We ask it on 160 pairs of QNLI, at an error rate of 0.01.

# %%
import headroles

questions = ["local", "block", "syntactic:amod"]
run = headroles.label("QNLI", sieve=questions, alpha=0.01, out="runs/paper")
run

# %% [markdown]
# ## The warnings
#
# Open the warnings above before anything else. The run also lists what was left out. Both belong in the
# paper: each one limits what you may say.

# %%
for note in run.skipped:
    print("-", note)

# %% [markdown]
# ## A table
#
# `headroles.table` returns it as LaTeX, Markdown or CSV, and writes it to a file. The caption states the
# test, the correction and the units. These are its rows:

# %%
latex = headroles.table("runs/paper", format="latex", out="roles.tex")
print("\n".join(latex.splitlines()[6:]))

# %% [markdown]
# `\input{roles.tex}` puts it into a paper. The first line names the packages that it needs. The table
# `findings` has every test, for the supplement.
#
# ## A figure
#
# `headroles.figures` draws all figures of the report for print, as SVG, PDF or PNG. The width is that of
# a column (89 mm) or of a page (183 mm).

# %%
from IPython.display import SVG

paths = headroles.figures("runs/paper", "svg", "figures", width=183)
print(*sorted(path.name for path in paths))
SVG(filename="figures/maps.svg")

# %% [markdown]
# The caption must say what the marks mean. A dot is a role. `~` is a score above the threshold that
# distance or position explains. Hatching is undetermined. For a PDF, type `headroles show runs/paper
# --figures pdf --width 89`.
#
# ## The methods
#
# The paragraph takes every number from the run. It names the model with its hash, the inputs, the units,
# the chance values and the test. It also names what was left out, and the versions of the software.

# %%
print(headroles.methods(run).partition("References")[0])

# %% [markdown]
# In LaTeX it cites by `\citep`. These are the entries for your `.bib` file:

# %%
bibtex = headroles.methods(run, "bibtex")
print(bibtex[: bibtex.index("\n\n")])

# %% tags=["remove_cell"]
text = headroles.methods(run)
assert "160 inputs of QNLI" in text
assert "alpha = 0.01" in text
assert latex.startswith("%")
assert "booktabs" in latex.splitlines()[0]
assert bibtex.count("@") >= 3

# %% [markdown]
# ## A sentence for the results
#
# Say how many heads were tested. Say what is *not* there as carefully as what is. These are the counts
# with their intervals:

# %%
evidence = run.evidence()
evidence.groupby("sieve").verdict.value_counts().unstack(fill_value=0)

# %%
run.roles["local"]

# %% [markdown]
# This makes a sentence for the paper, with its numbers from the run:

# %%
local = run.roles["local"].frame()
held = local[local.verdict == "role"]["mean"]
below = local.verdict.isin(["not", "absent"]).sum()
print(
    f"Of {len(local)} heads, {len(held)} look at neighbouring tokens "
    f"(selectivity {held.min():.2f} to {held.max():.2f}), and {below} stay significantly below the "
    f"threshold. "
    f"The inputs do not decide about the other {len(local) - len(held) - below}."
)

# %% [markdown]
# ## Does it hang on one choice?
#
# Decide the same scores by another rule. This takes seconds, and no model. Work on a copy, so that the
# run of the paper stays as it is.

# %%
import shutil

import pandas as pd

rules = {
    "as planned": {},
    "correction over all roles": {"family": "run"},
    "maxT (family-wise)": {"correction": "maxT"},
    "margin 0.2": {"margin": 0.2},
}
counts = {}
for name, rule in rules.items():
    shutil.copytree("runs/paper", "runs/other", dirs_exist_ok=True)
    other = headroles.judge_again("runs/other", **rule) if rule else run
    counts[name] = {role: len(other.roles[role].heads) for role in questions}
    shutil.rmtree("runs/other")
pd.DataFrame(counts).T

# %% tags=["remove_cell"]
moved = pd.DataFrame(counts).T
assert moved.loc["margin 0.2"].sum() < moved.loc["maxT (family-wise)"].sum() < moved.loc["as planned"].sum()

# %% [markdown]
# The margin matters most: it is a convention, and not a fact about heads. The report has a section on it,
# "How sure".
#
# ## Let others check it
#
# The run folder holds the scores, and a manifest with the hash of every file. `headroles verify`
# recomputes every verdict from the scores, without the model. With `--oracles`, scipy, statsmodels and
# pingouin recompute the numbers, too.

# %%
# !headroles verify runs/paper --oracles

# %% [markdown]
# [Share a run](../how-to/share.md) shows how to publish the folder. The folder holds typical inputs as
# text. For confidential data, make the run with `maps=0`.
#
# To cite headroles itself, use `CITATION.cff`. Cite the papers behind the sieves, too: the paragraph
# above does.
#
# **Try it.** Replicate the roles on another sample: `headroles.label("MRPC", sieve=questions, …)` and
# `headroles.replicate`. It is the strongest sentence that a results section can have.
