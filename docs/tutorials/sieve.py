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
# # Write a sieve
#
# A *sieve* is a question about heads. It marks the tokens that a head with the role would look at.
# headroles does the rest: chance, tests, correction, report. This tutorial writes a sieve, checks it,
# looks at it, runs it, and makes a plug-in of it. It makes one run, of about half a minute on two free
# cores.
#
# ## The question
#
# *Does the head look at the mark that ends the sentence?* Such a mark is a period or a question mark. A
# head could collect there what the sentence says.
#
# We write the sieve into a file, so that the command line can use it, too. The function gets an
# `Example`, which has the tokens of one input. It returns `True` for the tokens that count. It never
# sees attention.

# %%
from pathlib import Path

source = '''"""Does the head look at the mark that ends the sentence?"""

import numpy as np

from headroles import Example, MaskSieve, sieve, sieve_family


@sieve("ending", contrast=0.05)
def ending(example: Example) -> np.ndarray:
    """Does the head look at the mark that ends the sentence?"""
    return np.array([token in ".?!" for token in example.tokens])


@sieve_family("mark", parameter="mark", example="?")
def mark(wanted: str) -> MaskSieve:
    """Does the head look at this mark?"""
    named = sieve(f"mark:{wanted}", contrast=0.05, question=f"Does the head look at {wanted} marks?")
    return named(lambda example: np.array([token == wanted for token in example.tokens]))
'''
_ = Path("my_sieves.py").write_text(source)

# %% [markdown]
# Two things are worth a closer look.
#
# - `contrast=0.05`: the mark stands next to the last words, and close to the separator. A head that only
#   looks at near tokens would score there, too. The contrast counts what the head gives to the mark
#   beyond its own distance profile. A role needs more than 0.05 of it.
# - `mark` is a *family*: a sieve with a parameter. `mark:?` and `mark:.` are two sieves from one
#   function.
#
# ## Look at it
#
# A picture shows mistakes that code hides. Queries are rows, keys are columns, and the cells that count
# are filled.

# %%
import headroles

headroles.show_sieve("my_sieves.py:ending", "Is it Dr. Who?")

# %% [markdown]
# Two marks count. The last one ends the sentence. The other one belongs to *Dr.*, and should not count.
# Read what a sieve counts before you believe its scores! We keep only the last mark of each text.

# %%
better = source.replace(
    """    return np.array([token in ".?!" for token in example.tokens])
""",
    """    marks = np.array([token in ".?!" for token in example.tokens])
    last = np.zeros(example.size, dtype=bool)
    for text in range(example.segment.max() + 1):
        last[np.flatnonzero(example.segment == text)[-1]] = True
    return marks & last
""",
    1,
)
_ = Path("my_sieves.py").write_text(better)
headroles.show_sieve("my_sieves.py:ending", "Is it Dr. Who?", "It is.")

# %% tags=["remove_cell"]
cells = headroles.show_sieve("my_sieves.py:ending", "Is it Dr. Who?").cells
assert sorted(set(map(int, cells.counted.nonzero()[1]))) == [cells.example.size - 2]

# %% [markdown]
# ## Check it
#
# `check_sieve` scores random examples. It makes sure that even attention scores 0. The sieve must change
# nothing in its input, and remember nothing from one example to the next. `check_sieve` prints nothing
# when all is well.

# %%
import my_sieves

from headroles.testing import check_sieve

check_sieve(my_sieves.ending)
check_sieve(my_sieves.mark.sieve("?"))

# %% [markdown]
# If a sieve is wrong, the error is one sentence. This one forgets a token:

# %%
import numpy as np

from headroles import HeadrolesError, sieve


@sieve("forgets")
def forgets(example):
    """Does the head look at the first tokens?"""
    return np.ones(example.size - 1, dtype=bool)


try:
    check_sieve(forgets)
except HeadrolesError as error:
    print(error)

# %% [markdown]
# You can also try a sieve on attention that you know. Two heads look at an example of five tokens: the
# first one only at the mark, the second one at everything alike.

# %%
example = headroles.Example("note", ("it", "rains", "again", "today", "."))
attention = np.full((1, 2, 5, 5), 0.2)
attention[0, 0] = [0, 0, 0, 0, 1]
headroles.score(attention, example, my_sieves.ending)["ending"].round(3)

# %% [markdown]
# The scores are 1 and 0, as they should be.

# %% tags=["remove_cell"]
known = headroles.score(attention, example, my_sieves.ending)["ending"]
assert np.allclose(known, [[1, 0]])

# %% [markdown]
# ## Run it
#
# We run the sieve and both members of the family on 160 pairs of a question and a sentence:

# %%
asked = ["my_sieves.py:ending", "my_sieves.py:mark:?", "my_sieves.py:mark:."]
run = headroles.label("QNLI", sieve=asked, out="runs/ending")
run.evidence().sort_values("mean", ascending=False).groupby("sieve").head(2)[
    ["sieve", "layer", "head", "verdict", "mean", "contrast"]
].style.hide(axis="index").format(precision=2)

# %% [markdown]
# One head of 72 looks at the ending: head 3-11. It gives about 40 % of the attention beyond chance to one
# or two tokens, and hardly less beyond distance. The next head is far below the threshold.

# %% tags=["remove_cell"]
ending = run.roles["ending"]
assert [tuple(place) for place in ending.heads] == [(3, 11)]
frame = run.evidence()
frame = frame[frame.sieve == "ending"].sort_values("mean")
assert 0.36 < frame["mean"].iloc[-1] < 0.46
assert frame["contrast"].iloc[-1] > 0.8 * frame["mean"].iloc[-1]
assert frame["mean"].iloc[-2] < 0.09

# %%
run.head(3, 11)

# %% [markdown]
# Now look at it on one sentence. The shade is the mean attention that a token gets from the others:

# %%
from IPython.display import SVG

viewed = run.view("Who mended the sail?", "The old sailor quickly mended the torn sail.", layers=3, heads=11)
SVG(viewed.svg(3, 11, form="text"))

# %% [markdown]
# In the terminal the same run is
#
# ```
# headroles label --task QNLI --sieve my_sieves.py:ending --sieve 'my_sieves.py:mark:?'
# ```
#
# ## Publish it
#
# An entry point makes a sieve known by its name wherever your package is installed. The whole package is
# `my_sieves.py` and this `pyproject.toml`:
#
# ```toml
# [project]
# name = "headroles-endings"
# version = "0.1"
# dependencies = ["headroles"]
#
# [project.entry-points."headroles.sieves"]
# ending = "my_sieves:ending"
# mark = "my_sieves:mark"
#
# [tool.setuptools]
# py-modules = ["my_sieves"]
# ```
#
# After `pip install .` everybody can type `headroles label --task QNLI --sieve ending --sieve 'mark:?'`.
# `examples/headroles-punctuation/` is such a package, with tests. Copy it.
#
# ## What this shows, and what it does not
#
# - The head looks at the mark. Whether the model stores something there is another question. Change
#   activations to answer it.
# - The sieve was written before the scores were seen. If you try ten sieves and report the best one, say
#   so. headroles corrects over the heads of a sieve. With `--family run` it corrects over all sieves.
#
# [Sieves of your own](../sieves.md) has all that a sieve can state: scopes, groups, words, trees,
# scorers.
#
# **Try it.** Write a sieve for opening quotation marks, or for numbers. What contrast does it need?
