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
# # Which heads can go?
#
# A role says where a head looks. It does not say whether the model needs the head. This tutorial takes
# every head of the embedded encoder out, one at a time, and tests the damage. Then it removes several
# heads at once. A certificate states how large the damage is at most.
#
# ## Label the heads
#
# We begin with the roles. The shipped sample of QNLI has 160 pairs of texts.

# %%
import pandas as pd

import headroles

run = headroles.label("QNLI", out="runs/QNLI", maps=0)
print(len(run.roles["delimiter"].heads), "heads attend to special tokens")

# %% [markdown]
# ## Take each head out
#
# `ablate` replaces the output of a head by its mean over other inputs, and measures what changes. This
# encoder represents texts as vectors, and has no loss. So the damage is 1 − the cosine of two vectors: the
# representation with the head, and without it. `roles` names the label run, whose inputs are used again.

# %%
damage = headroles.ablate(roles="runs/QNLI", outcome="representation", out="runs/damage")
damage

# %% [markdown]
# Every head gets a verdict. The threshold of damage is 0.01 here.
#
# - *needed*: the damage is significantly above the threshold.
# - *negligible*: the damage is significantly within ± the threshold.
# - *interfering*: the loss falls by more than the threshold without the head. Here this is not asked,
#   because 1 − cosine cannot fall below 0.
# - *undetermined*: none of these is shown. 1 − cosine can be 1, and 160 inputs do not exclude rare ones with
#   such damage. So they call no head negligible here: that takes 299 inputs at least.
#
# Each kind of verdict has its own correction for 72 heads.

# %%
verdicts = pd.read_csv("runs/damage/damage.csv")
layers = verdicts.pivot_table(index="layer", columns="verdict", values="head", aggfunc="count", fill_value=0)
layers["mean damage"] = verdicts.groupby("layer")["mean"].mean()
layers.style.format({"mean damage": "{:.4f}"})

# %% tags=["remove_cell"]
needed = verdicts[verdicts.verdict == "needed"]
assert set(needed.layer) == {5}
assert len(needed) == 12
means = verdicts.groupby("layer")["mean"].mean()
assert means[5] > 5 * means[:5].max()

# %% [markdown]
# All needed heads lie in the last layer. No layer after it can make up for a missing head.
# Layers differ so much that we compare heads only with heads of their own layer.
#
# ## Do roles say which heads matter?
#
# For each role, `area` is the chance that a head with the role does more damage than a head of the same
# layer without it. It is 0.5 where the role says nothing. One half of the inputs decided the labels, and
# the other half measured this damage. `p_labels` compares with labels at random, as many in each layer. It
# is twice the share of them whose area is at least as far out. "More" or "less" needs a rare one.

# %%
prediction = pd.read_csv("runs/damage/prediction.csv")
columns = ["role", "heads", "negligible", "area", "low", "high", "decision", "p_labels"]
prediction[columns].style.hide(axis="index").format(precision=2)

# %% tags=["remove_cell"]
special = prediction.set_index("role").loc["delimiter"]
assert special.high < 0.5
assert (prediction.p_labels > 0.05).all()

# %% [markdown]
# Within layers, heads that attend to special tokens tend to do less damage than the other heads. But
# `p_labels` is above 0.05 for every role. So we find no role that predicts which single head matters.
#
# ## Remove heads with a certificate
#
# Heads can stand in for each other. So the damages of single heads do not tell what happens when several
# leave. `prune` orders the heads by their damage on one half of the inputs. On the other half it removes
# the first two, the first four, and so on, and tests the damage of each set. Testing ends with the first
# set whose damage is not shown to be below the bound. The bound is 0.05 here, so 80 inputs can show more.

# %%
pruned = headroles.prune("runs/damage", bound=0.05, out="pruned")
steps = pd.read_csv("pruned/steps.csv")
steps[["size", "count", "mean", "upper", "decision"]].style.hide(axis="index").format(precision=4)

# %% tags=["remove_cell"]
certified = pruned.certified
assert certified is not None
assert certified.size >= 8
assert certified.upper < 0.05
removed = pruned.removed
assert removed.sum() == certified.size
assert not removed[5].any()

# %% [markdown]
# `upper` is the largest damage that the test leaves possible, with 95 % confidence. The certified set is the
# last one "within the bound". The next set *hinges on few units*: three more units with the largest possible
# damage would break the claim. Sets after it are measured for the curve, and not tested. More inputs allow
# larger sets, or smaller bounds.

# %%
print(f"{certified.size} of 72 heads leave; the damage is at most {certified.upper:.4f}")
print({layer: heads for layer, heads in pruned.heads.items() if heads})

# %% [markdown]
# The folder `pruned/model` is a normal checkpoint, which plain transformers loads. The mean outputs of the
# removed heads are part of a bias now.

# %%
import torch
from transformers import AutoModel, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained("pruned/model")
batch = tokenizer("Which heads can go?", return_tensors="pt")
with torch.inference_mode():
    output = AutoModel.from_pretrained("pruned/model")(**batch).last_hidden_state
tuple(output.shape)

# %% [markdown]
# ## What this shows, and what it does not
#
# - Damage was measured on pairs of QNLI. Other texts need a check of their own. If `FILE` has your texts,
#   type `headroles prune pruned --check --data FILE`.
# - Damage of a single head is a lower bound of what it does, because other heads can make up for a part.
# - "Needed" says that the output changes without the head. It does not say what the head computes.
#
# The same in the terminal:
#
# ```
# headroles label --task QNLI --out runs/QNLI
# headroles ablate --roles runs/QNLI --outcome representation --out runs/damage
# headroles prune runs/damage --bound 0.05 --out pruned
# ```
#
# **Try it.** Take a model with a loss, such as a classifier of your own: the threshold is then 1 % of its
# loss. Add `by=["mean", "zero"]`, and see whether verdicts depend on what replaces a head.
