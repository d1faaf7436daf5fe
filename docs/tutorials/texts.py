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
# # Your own texts
#
# headroles reads tables, lists in Python, and treebanks. This tutorial starts with a list of sentences,
# and ends with gold trees. On the way it shows how many texts you need, and why texts of one document
# must be grouped. It makes five runs, of 2 to 200 inputs. A run on 160 takes about half a minute on two
# free cores.
#
# ## A list of sentences

# %%
import headroles

weather = [
    "The old sailor watched the grey clouds.",
    "She quickly closed the heavy wooden door.",
    "A cold wind rattled the small windows.",
    "Nobody expected such a violent storm.",
    "The tired children finally fell asleep.",
    "Heavy rain flooded the narrow streets.",
    "The mayor calmly opened the town hall.",
    "Volunteers brought dry blankets and hot soup.",
    "By morning the sky was perfectly clear.",
    "The sailor slowly mended his torn sail.",
]
run = headroles.label(data=weather, out="runs/weather")
run

# %% [markdown]
# Ten sentences decide nothing. Below 20 units no head gets a verdict, because so small a sample can lack what
# matters. The whole map is hatching: these heads are *undetermined*.

# %%
run.evidence().verdict.value_counts().to_frame()

# %% tags=["remove_cell"]
verdicts = run.evidence().verdict.value_counts()
assert set(verdicts.index) == {"undetermined", "untestable"}

# %% [markdown]
# The verdict *not* needs at least 50 units, because "I did not find it" in ten sentences says nothing.
# `headroles plan` computes how many texts a study needs. Here the effect is half a standard deviation,
# the model has 72 heads, and the power is 80 %:

# %%
# !headroles plan --effect 0.5 --head-count 72

# %% [markdown]
# ## A table
#
# Real studies read a file. We write one: 200 film reviews, with the film that each one is about. The
# sentences are the shipped sample of SST-2. The films are made up, with five sentences for each.

# %%
from importlib.resources import files

import pandas as pd

reviews = pd.read_csv(files("headroles") / "samples" / "SST-2.tsv", sep="\t", quoting=3)
reviews["film"] = [f"film {number // 5}" for number in range(len(reviews))]
reviews[["film", "sentence"]].to_csv("reviews.csv", index=False)
reviews[["film", "sentence"]].head(3).style.hide(axis="index")

# %% [markdown]
# `text_a` names the column with the text. A pair of texts has a second column, `text_b`.

# %%
plain = headroles.label(data="reviews.csv", text_a="sentence", out="runs/plain", maps=0)
plain.evidence().verdict.value_counts().to_frame()

# %% [markdown]
# ## Groups
#
# Sentences about one film resemble each other. Five similar sentences are not five independent
# observations. `group` names the column of the document. Each document becomes one *unit*, and counts
# once.

# %%
grouped = headroles.label(data="reviews.csv", text_a="sentence", group="film", out="runs/grouped", maps=0)
pd.DataFrame(
    {
        name: {
            "inputs": len(each.scores.examples),
            "units": int(each.findings.count.max()),
            "roles": int((each.evidence().verdict == "role").sum()),
            "undetermined": int((each.evidence().verdict == "undetermined").sum()),
        }
        for name, each in {"without groups": plain, "with groups": grouped}.items()
    }
)

# %% [markdown]
# The inputs are the same, but the test now has 40 units. With fewer than 50 units, no head is called
# *not*. Leave groups out only if your texts are independent.

# %% tags=["remove_cell"]
assert int(grouped.findings.count.max()) == 40
assert int(plain.findings.count.max()) == 200
assert "not" not in set(grouped.evidence().verdict)
assert "not" in set(plain.evidence().verdict)

# %% [markdown]
# headroles finds some dependence by itself. Inputs that share a text, or have the same tokens, are one unit,
# without any option. Copies add nothing:

# %%
copies = headroles.label(data=weather * 5, sieve="local", maps=0)
len(copies.scores.examples), int(copies.findings.count.max())

# %% tags=["remove_cell"]
assert len(copies.scores.examples) == 50
assert int(copies.findings.count.max()) == 10

# %% [markdown]
# ## Gold trees
#
# So far the shipped parser found words and relations. A CoNLL-U file brings its own trees. Each line is a
# word. The columns are its number, the word, lemma, part of speech, and then the number of its head and
# the relation. `# newdoc` starts a document, which becomes the group.

# %%
from pathlib import Path

Path("storm.conllu").write_text("""\
# newdoc id = storm
# text = The storm broke windows.
1	The	the	DET	_	_	2	det	_	_
2	storm	storm	NOUN	_	_	3	nsubj	_	_
3	broke	break	VERB	_	_	0	root	_	_
4	windows	window	NOUN	_	_	3	obj	_	SpaceAfter=No
5	.	.	PUNCT	_	_	3	punct	_	_

# newdoc id = soup
# text = She brought hot soup.
1	She	she	PRON	_	_	2	nsubj	_	_
2	brought	bring	VERB	_	_	0	root	_	_
3	hot	hot	ADJ	_	_	4	amod	_	_
4	soup	soup	NOUN	_	_	2	obj	_	SpaceAfter=No
5	.	.	PUNCT	_	_	2	punct	_	_

""")
gold = headroles.label(data="storm.conllu", sieve=["syntactic:obj", "syntactic:amod"], maps=0)
gold.roles["syntactic:obj"].frame().sort_values("mean", ascending=False)[
    ["layer", "head", "verdict", "mean", "contrast"]
].head(3).style.hide(axis="index").format(precision=2)

# %% [markdown]
# Two sentences decide nothing, and headroles says so. `syntactic:amod` occurs in one sentence only, so it
# is *untestable*. A treebank such as UD English EWT has thousands: `headroles label --data
# en_ewt-ud-dev.conllu.gz` reads it as it is.

# %% tags=["remove_cell"]
frame = gold.evidence()
assert set(frame[frame.sieve == "syntactic:amod"].verdict) == {"untestable"}
assert "role" not in set(frame.verdict)

# %% [markdown]
# ## When something is wrong with a file
#
# headroles checks a file before it loads a model, and says what to do.

# %%
from headroles import HeadrolesError

for options in ({"data": "review.csv", "text_a": "sentence"}, {"data": "reviews.csv", "text_a": "text"}):
    try:
        headroles.label(**options)
    except HeadrolesError as error:
        print(error)

# %% [markdown]
# ## What to remember
#
# - Plan the number of texts before you look at scores. Twenty units are the least for any verdict, and fifty
#   for *not*.
# - Group what belongs together.
# - A result is about texts like yours. Film reviews are no news.
# - Typical inputs are kept in the run folder, and shown in the report. `maps=0` keeps no text: use it for
#   confidential data.
#
# [Corpora](../how-to/corpora.md) has all formats, folders, streams and the hub. In the terminal:
#
# ```
# headroles label --data reviews.csv --text-a sentence --group film
# ```
#
# **Try it.** Write ten sentences of your own, and find the heads that look from their adjectives to the
# nouns.
