"""Sizes of the simulation, and the sums from which its figures are computed."""

from dataclasses import dataclass

import numpy as np
from populations import Population

from headroles.stats.methods.names import METHODS

ALPHA = 0.05
LEVELS = {"0.05": 0.05, "0.05/144": 0.05 / 144}
UNITS = (20, 50, 128, 200)
DEFAULT = "t-skew"
HEADLINE = ("holm", "fdr_bh")
SHARES = ("fdr_bh", "fdr_by", "fdr_tsbh", "none")
"""Corrections whose error is the share of false labels; that of the others is whether there is one."""
PATTERN = (0.3, 0.5, -0.3, -0.5)
"""Effects of the first heads of every twelve in a mixed run; the other eight lie at θ."""
EFFECTS = (0.0, 0.3, 0.5, 1.0)
BOUNDS = (0.3, 0.5)
"""Bounds of equivalence, in standard deviations."""
ERRORS = ("null", "mixed", "power 0.3", "power 0.5")
DRAWS = {"test": 2999, "maxT": 999, "bca": 1999}


@dataclass(frozen=True)
class Effort:
    """Numbers of runs for each figure, as parts of those of the default test on normal scores."""

    runs: int

    @property
    def chunk(self) -> int:
        """Return the number of runs drawn at once; resampling draws are shared within a chunk."""
        return max(1, min(50, self.runs // 100))

    def headline(self, population: Population) -> int:
        """Return the runs of the default test with the corrections that have limits."""
        return self.runs if population.name == "normal" else self.runs // 5

    def of_test(self, test: str) -> int:
        """Return the runs of a test with every correction."""
        method = METHODS[test]
        if method.bounded is not None:  # its rate at every look: benchmarks/random_stops.py
            return 0
        if method.resampled is not None:
            return self.runs // 100
        return self.runs // 40 if method.ranked is not None else self.runs // 10

    def of_max_t(self, population: Population, units: int, mixed: bool) -> int:
        """Return the runs of max-t by bootstrap: most of them where a limit is set."""
        symmetric, scored = population.kind == "symmetric", population.kind == "real"
        limited = (symmetric and units >= 50) or (scored and units == 128)
        return self.runs // 5 if limited and not mixed else self.runs // 20

    def of_equivalence(self) -> int:
        """Return the runs of paired comparisons."""
        return self.runs // 20


class Tally:
    """Means over runs, and their standard errors."""

    def __init__(self) -> None:
        self._sums: dict[tuple[str, ...], np.ndarray] = {}

    def add(self, key: tuple[str, ...], *figures: np.ndarray) -> None:
        """Add the figures of every run."""
        values = np.stack(figures).astype(np.float64)
        counts = np.full(len(values), values.shape[1])
        sums = np.stack([counts, values.sum(axis=1), (values * values).sum(axis=1)])
        self._sums[key] = self._sums.get(key, 0.0) + sums

    def nested(self) -> dict[str, object]:
        """Return means with standard errors and numbers of runs, nested by the parts of every key.

        Errors and power are in one list, for role and not in the order of ``ERRORS``, without standard
        errors, which are at most those of a yes or no. Their numbers of runs are separate: at θ, and mixed.
        """
        tree: dict[tuple[str, ...], list] = {}
        for key, (count, total, square) in self._sums.items():
            mean, runs = total / count, int(count[0])
            error = np.sqrt(np.maximum(square / count - mean * mean, 0.0) / count)
            if key[0] == "errors":
                place, errors = 2 * ERRORS.index(key[3]), tree.setdefault(("errors", *key[1:3]), [0.0] * 8)
                errors[place : place + 2] = [round(float(value), 4) for value in mean]
                tree.setdefault(("runs", *key[1:3]), [0, 0])[min(place, 2) // 2] = runs
            else:
                pairs = np.stack([mean, error], axis=1).flat
                tree[key] = [*(round(float(value), 5) for value in pairs), runs]
        return _nested(tree)


def _nested(leaves: dict[tuple[str, ...], list]) -> dict[str, object]:
    tree: dict = {}
    for key, leaf in leaves.items():
        place = tree
        for part in key[:-1]:
            place = place.setdefault(part, {})
        place[key[-1]] = leaf
    return tree
