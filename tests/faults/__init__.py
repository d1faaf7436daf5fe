"""Kills, errors, damage and hostile input: what they may do to a run, and a long mode to look for more.

``python -m tests.faults --minutes 30`` is for use before a release; the tests of this folder run a short one.
"""

import os

# One thread, from before numpy is imported: a process with several cannot be forked safely.
for _name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[_name] = "1"
# No parse comes from the cache of the user, or goes into it.
os.environ["HEADROLES_CACHE"] = "none"
