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
# # How many inputs are enough?
#
# Nobody knows beforehand. A head far from its threshold is decided after 30 inputs, and a head near it after
# thousands. This tutorial shows why a plain test must not be repeated until it rejects. Then a run looks at
# its heads after every 32 inputs, and stops when most of them are decided.
#
# ## Why not look until p is small?
#
# We draw scores of 2,000 heads whose true mean is exactly at the threshold, so no head has the role. We
# look after every 16 of 208 inputs, and test each time. A head is *called* once p is below 0.05 at any look.

# %%
import numpy as np
import pandas as pd
from scipy import stats

inputs = np.arange(1, 209)
scores = np.random.default_rng(0).normal(size=(2000, len(inputs)))
sums, squares = scores.cumsum(axis=1), (scores**2).cumsum(axis=1)
looks = inputs[15::16]
mean = sums[:, looks - 1] / looks
spread = np.sqrt((squares[:, looks - 1] - looks * mean**2) / (looks - 1))
p = stats.t.sf(mean / (spread / np.sqrt(looks)), looks - 1)
ever = (np.minimum.accumulate(p, axis=1) < 0.05).mean(axis=0)
pd.DataFrame({"called now": (p < 0.05).mean(axis=0), "called at any look so far": ever}, index=looks).iloc[
    [0, 1, 3, 6, 12]
].style.format("{:.1%}")

# %% tags=["remove_cell"]
assert ever[0] < 0.065
assert ever[-1] > 0.15

# %% [markdown]
# One look errs in 5 % of heads, as it should. A test that looks 13 times, and stops at the first small p,
# errs three to four times as often.
#
# ## A test that holds at every look
#
# `until="decided"` uses another test, `betting`. For each head it bets against "the mean is below the
# threshold". The capital of a fair bet rarely grows, however often one looks. So its p holds at every look.
#
# The shipped sample of SST-2 has 200 film reviews. That is our budget. We ask two questions about 72 heads,
# and stop when 85 % of the 144 answers are decided. `watch` gets a `Look` after every 32 inputs.

# %%
import headroles

seen = []
run = headroles.label(
    "SST-2",
    sieve=["local", "delimiter"],
    until="decided",
    decided=0.85,
    units_per_look=32,
    watch=seen.append,
    out="runs/decided",
    maps=0,
)
pd.DataFrame(
    {
        "inputs read": [look.units for look in seen],
        "decided": [look.tests - look.left for look in seen],
        "open: local": [len(look.open_heads().get("local", [])) for look in seen],
        "open: delimiter": [len(look.open_heads().get("delimiter", [])) for look in seen],
    }
).style.hide(axis="index")

# %% [markdown]
# Most heads are far from the threshold, and are decided early. A few need most of the inputs. The manifest
# says where the run stopped, and which heads are open:

# %%
stop = run.manifest["until"]
print(f"stopped after {stop['units']} of {stop['of_units']} inputs")
print(f"{stop['decided']} of {stop['tests']} answers are decided; open:")
print(stop["open"])

# %% tags=["remove_cell"]
assert stop["stopped"]
assert stop["units"] < stop["of_units"]
assert stop["decided"] >= 0.85 * stop["tests"]
assert [look.left for look in seen] == sorted((look.left for look in seen), reverse=True)

# %% [markdown]
# ## What did the early stop cost?
#
# Here all 200 inputs are at hand. So we decide them by `t-skew`, the default, whose number of inputs is fixed
# beforehand:

# %%
fixed = headroles.label("SST-2", sieve=["local", "delimiter"], out="runs/fixed", maps=0)
both = run.evidence().merge(fixed.evidence(), on=["sieve", "layer", "head"])
both = both.replace({"verdict_x": "absent", "verdict_y": "absent"}, "not")  # "absent" is a stronger "not"
pd.crosstab(
    [both.sieve, both.verdict_x], both.verdict_y, rownames=["", "at the stop"], colnames=["all inputs"]
)

# %% tags=["remove_cell"]
said = both[both.verdict_x.isin(["role", "not"]) & both.verdict_y.isin(["role", "not"])]
assert (said.verdict_x == said.verdict_y).all()
assert len(said) > 110

# %% [markdown]
# No verdict is reversed: no head is "role" at the stop and "not" with all inputs, or the other way round. The
# early stop leaves more heads open. On large corpora the last heads can take ten times the inputs of the
# first 90 %. [What looking costs](../findings/looks.md) has the numbers for three corpora.
#
# ## What this shows, and what it does not
#
# - The error rates hold at the stop, whenever that is. Stop by the looks of this run only. Do not choose
#   another alpha after you have seen them.
# - "Decided" is a share that you fix beforehand. A share of 1 waits for the last head, and may read
#   everything.
# - Roles with a contrast against distance or position need many more inputs. `block` may never be decided.
#
# In the terminal, `--watch` draws all heads while the run decides them:
#
# ```
# headroles label --task SST-2 --sieve local --sieve delimiter --until decided --decided 0.85 --watch
# ```
#
# **Try it.** Ask one question only, or take `decided=0.95`. The steps are in [stop when the heads are
# decided](../how-to/until.md).
