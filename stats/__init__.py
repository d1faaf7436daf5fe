"""From scores to decisions: tests, corrections, findings (numpy, scipy, statsmodels)."""

if __name__ != "headroles.stats":
    raise ImportError("this folder is the package headroles.stats; import it by that name")
