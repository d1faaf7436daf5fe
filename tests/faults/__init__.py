"""Kills, errors, damage and hostile files; ``python -m tests.faults --minutes 30`` looks for more of them."""

import os

# One thread, from before numpy is imported: a process with several cannot be forked safely.
for _name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[_name] = "1"
# No parse comes from the cache of the user, or goes into it.
os.environ["HEADROLES_CACHE"] = "none"
