"""Attack the claims of ablate, and trends over checkpoints, with heads where the truth is known.

Prints a JSON line a cell. "False" is the share of runs with a false claim, "found" that of true effects
that were found.

    python benchmarks/calibration/ablate_adversaries.py                   # all kinds
    python benchmarks/calibration/ablate_adversaries.py --kind needed --quick
"""

import inspect
import json
import zlib
from collections.abc import Callable, Iterator
from typing import Any

import click
import numpy as np

from headroles.records.causal.ablation import HeadSets, HeldRoles
from headroles.records.causal.columns import CLEAN, LOSS
from headroles.records.example import Scores
from headroles.records.rules.rule import Decision, Rule
from headroles.runs.ablate.sets import lay_sets
from headroles.stats.across.steps import trend_weights, trends
from headroles.stats.causal.damage import damage_tests
from headroles.stats.causal.groups import group_tests
from headroles.stats.causal.roles import role_tests
from headroles.stats.causal.sites import site_tests
from headroles.stats.correction import adjust, significant
from headroles.stats.engine import judge

HOLM = Decision(correction="holm", family="layer")
SIZES = (60, 80, 100, 128, 160, 300)
HEADS, THETA, JITTER = 24, 0.1, 0.01
Cell = dict[str, Any]
Draw = Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]


def rare(share: float, value: float, jitter: float = JITTER) -> Draw:
    """Return draws with mean 0: a share of units at a value, the others at the same little value."""
    most = -share * value / (1 - share)

    def draw(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        return np.where(rng.random(shape) < share, value, most) + jitter * rng.normal(size=shape)

    return draw


def log_normal(sigma: float, side: int) -> Draw:
    """Return draws with mean 0 and standard deviation 0.1, whose tail is on one side."""
    mean, sd = np.exp(sigma**2 / 2), np.sqrt((np.exp(sigma**2) - 1) * np.exp(sigma**2))
    return lambda rng, shape: side * 0.1 * (rng.lognormal(0, sigma, size=shape) - mean) / sd


DAMAGES: dict[str, Draw] = {
    "2 % of units at −1": rare(0.02, -1.0),
    "2 % of units at +1": rare(0.02, 1.0),
    "3 % of units at −0.5": rare(0.03, -0.5),
    "1 % of units at −3": rare(0.01, -3.0),
    "log-normal to the left, σ = 1.5": log_normal(1.5, -1),
    "log-normal to the right, σ = 1.5": log_normal(1.5, 1),
    "t with 2.5 degrees": lambda rng, shape: 0.1 * rng.standard_t(2.5, size=shape),
    "normal": lambda rng, shape: 0.1 * rng.normal(size=shape),
}
"""Damage of a unit beyond a threshold, with mean 0; heads of a run are independent."""


def scores_of(damage: np.ndarray, clean: np.ndarray | None = None) -> tuple[Scores, list[Rule]]:
    """Return damages (units, runs, heads) as those of a model whose layers are runs, with clean losses."""
    units, arm = tuple(map(str, range(len(damage)))), f"{LOSS}:mean"
    columns, rules = [damage], [Rule(arm, margin=THETA)]
    if clean is not None:
        columns.insert(0, np.broadcast_to(clean, damage.shape))
        rules.insert(0, Rule(f"{LOSS}:{CLEAN}", margin=0.0, role=False))
    nothing, values = np.zeros((len(rules), len(units))), np.stack(columns).astype(np.float32)
    names = tuple(rule.sieve for rule in rules)
    return Scores(names, units, units, np.zeros(len(units), int), nothing, values, nothing), rules


def verdicts(damage: np.ndarray, clean: np.ndarray | None = None, share: float = 0.01) -> np.ndarray:
    """Return the verdict of every run and head; runs are layers, or alone where each has own losses."""
    parts = [slice(None)] if clean is None else [slice(run, run + 1) for run in range(damage.shape[1])]
    found = []
    for part in parts:
        own = None if clean is None else clean[:, part]
        scores, rules = scores_of(damage[:, part], own)
        if own is not None:
            rules[1] = Rule(rules[1].sieve, margin=share * float(own.mean()))
        found.append(damage_tests(scores, rules, judge(scores, rules, HOLM), HOLM).verdict[0])
    return np.concatenate(found)


def needed(size: int, runs: int, rng: np.random.Generator) -> Iterator[Cell]:
    """Yield false verdicts of heads exactly at θ or −θ, and those found at 2 θ, −2 θ and 0."""
    for shape, draw in DAMAGES.items():
        noise = draw(rng, (size, runs, HEADS))
        at, below = verdicts(THETA + noise), verdicts(-THETA + noise)
        yield {
            "shape": shape,
            "false needed": (at == 0).any(axis=1).mean(),
            "found needed": (verdicts(2 * THETA + noise) == 0).mean(),
            "false interfering": (below == 4).any(axis=1).mean(),
            "found interfering": (verdicts(-2 * THETA + noise) == 4).mean(),
            "false negligible": (at == 1).any(axis=1).mean(),
            "found negligible": (verdicts(0.1 * noise) == 1).mean(),
        }


def classifier(size: int, runs: int, rng: np.random.Generator) -> Iterator[Cell]:
    """Yield false "needed" of 12 heads of an overconfident classifier: their mean damage is −0.004."""
    for wrong in (0.02, 0.05):
        off = rng.random((size, runs, 1)) < wrong
        clean = np.where(off, rng.gamma(4, 1, size=off.shape), rng.gamma(1, 0.01, size=off.shape))
        gain = -(0.004 + (1 - wrong) * 0.002) / wrong
        damage = np.where(off, gain, 0.002) + 0.001 * rng.normal(size=(size, runs, 12))
        found = verdicts(damage, clean) == 0
        yield {
            "shape": f"{wrong:.0%} of inputs wrong",
            "false needed": found.any(axis=1).mean(),
            "all 12": found.all(axis=1).mean(),
        }


def share_of_loss(size: int, runs: int, rng: np.random.Generator) -> Iterator[Cell]:
    """Yield false verdicts where θ is a share of a loss of large spread."""
    for shape, slope in (("damage apart from the loss", 0.0), ("damage against the loss", -0.2)):
        clean = rng.lognormal(-0.5, 1.0, size=(size, runs, 1))  # mean 1
        noise = slope * (clean - 1) + 0.02 * rng.normal(size=(size, runs, HEADS))
        at, below = verdicts(0.1 + noise, clean, 0.1), verdicts(-0.1 + noise, clean, 0.1)
        yield {
            "shape": shape,
            "false needed": (at == 0).any(axis=1).mean(),
            "found needed": (verdicts(0.2 + noise, clean, 0.1) == 0).mean(),
            "false interfering": (below == 4).any(axis=1).mean(),
            "false negligible": (at == 1).any(axis=1).mean(),
            "found negligible": (verdicts(0.1 * noise, clean, 0.1) == 1).mean(),
        }


STEPS = 5


def trend(size: int, runs: int, rng: np.random.Generator) -> Iterator[Cell]:
    """Yield false trends of scores from 0 to 1 whose mean stays over 5 steps, and trends found."""
    bounds = {} if len(inspect.signature(trends).parameters) == 1 else {"low": 0.0, "high": 1.0}
    place = trend_weights(STEPS) / (trend_weights(STEPS) ** 2).sum() / (STEPS - 1)  # from −1/2 to 1/2

    def claims(slopes: np.ndarray, known: dict[str, float]) -> np.ndarray:
        noise = 0.03 * rng.normal(size=(STEPS, *slopes.shape))
        found = []
        for run in range(runs):
            values = 0.5 + place[:, None, None] * slopes[:, run] * (STEPS - 1) + noise[:, :, run]
            outcome = trends(values, **known)[1]
            p = np.minimum(1, 2 * np.minimum(outcome.p, outcome.p_not))
            found.append(significant(adjust(p, "fdr_bh", 0.05), 0.05, p))
        return np.stack(found)

    shape = (size, runs, HEADS)
    slopes = {
        "log-normal, σ = 1.5": 0.3 * log_normal(1.5, 1)(rng, shape),
        "log-normal to the left": 0.3 * log_normal(1.5, -1)(rng, shape),
        "3 % of units rise": rare(0.03, 0.2, 0.002)(rng, shape),
        "2 % of units fall": rare(0.02, -0.2, 0.002)(rng, shape),
        "normal": 0.05 * rng.normal(size=shape),
    }
    for name, drawn in slopes.items():
        cell = {"shape": name}
        for what, known in (("bounds", bounds), ("no bounds", {})):
            cell[f"false, {what}"] = claims(drawn, known).any(axis=1).mean()
            cell |= {
                f"found at {rise}, {what}": claims(drawn + rise, known).mean() for rise in (0.01, 0.02, 0.05)
            }
        yield cell


def sites(size: int, runs: int, rng: np.random.Generator) -> Iterator[Cell]:
    """Yield false "at its sites" of 4 heads that differ from 3 controls in size alone, and found ones."""
    roles = np.array([[0] * 4 + [1] * 3], dtype=np.int8)[None]
    held = HeldRoles(("induction",), roles, roles * 0.0, ())
    names = ("loss:mean", "loss:sites:induction", "norm")

    def claims(grow: float, alike: float, plant: float, skewed: bool) -> np.ndarray:
        found = []
        for _ in range(runs):
            sized = np.exp(alike * rng.normal(size=7)) * np.where(np.arange(7) < 4, grow, 1.0)
            here, other = (
                rng.gamma(2, 0.5, size=(2, size, 1)) if skewed else 1 + 0.5 * rng.normal(size=(2, size, 1))
            )
            noise = 0.5 * rng.normal(size=(2, size, 7))
            site, rest = sized * (1.6 * here + noise[0]), sized * (other + noise[1])
            site = site + plant * sized * (np.arange(7) < 4)
            values = np.stack(
                [0.2 * site + 0.8 * rest, site - rest, np.broadcast_to(np.arange(7.0), site.shape)]
            )
            units = tuple(map(str, range(size)))
            table = Scores(
                names, units, units, np.zeros(size, int), np.zeros((3, size)),
                values[:, :, None].astype(np.float32), np.zeros((3, size)),
            )  # fmt: skip
            rows = site_tests(table, held, Decision(correction="holm"))
            found.append([row.decision == "at its sites" for row in rows])
        return np.array(found)

    for shape, grow, alike, skewed in (
        ("labelled heads 1.3 times as large", 1.3, 0.2, False),
        ("labelled heads twice as large", 2.0, 0.2, False),
        ("sizes at random", 1.0, 0.5, False),
        ("sizes at random, right skew", 1.0, 0.5, True),
    ):
        yield {
            "shape": shape,
            "false at its sites": claims(grow, alike, 0.0, skewed).any(axis=1).mean(),
            "found at half its size": claims(grow, alike, 0.5, skewed).mean(),
        }


def prediction(size: int, runs: int, rng: np.random.Generator) -> Iterator[Cell]:
    """Yield the share of roles with random labels, and of runs of 6 such, with "more" or "less" damage."""
    shape, count = (2, 12), 6
    for spread, plant in ((0.3, 0.0), (1.0, 0.0), (0.3, 1.0)):
        claimed = []
        for _ in range(max(runs // 4, 10)):
            heads = spread * rng.normal(size=shape)
            decision = np.ones((count, *shape), dtype=np.int8)
            for role in decision:
                for layer in role:
                    layer[rng.choice(12, 4, replace=False)] = 0
            if plant:
                heads = heads + plant * (decision[0] == 0)
            held = HeldRoles(tuple(f"r{k}" for k in range(count)), decision, decision * 0.0, ())
            damage = heads + rng.normal(size=(size, *shape))
            table, rules = scores_of(damage.astype(np.float32))
            found = damage_tests(table, rules, judge(table, rules, HOLM), HOLM)
            rows = role_tests(table, held, found, Decision())
            claimed.append([row.decision in ("more damage", "less damage") for row in rows])
        found = np.array(claimed)
        name = f"heads differ by {spread:g} of the spread over units" + ", first role planted" * bool(plant)
        if plant:
            yield {"shape": name, "found": found[:, 0].mean()}
        else:
            yield {"shape": name, "false roles": found.mean(), "false runs": found.any(axis=1).mean()}


def sets(size: int, runs: int, rng: np.random.Generator) -> Iterator[Cell]:
    """Yield roles said to do more than random sets where damage is as the norm foretells, and found ones.

    6 layers of 12 heads; damage of a head varies by a factor of e^0.3 about its norm, or the square of it.
    Roles hold up to 4 heads of a layer, and prefer those of large norm.
    """
    shape = (6, 12)

    def rarities(power: int, prefer: float, plant: float) -> np.ndarray:
        p = []
        for _ in range(runs):
            norms = rng.lognormal(0, 0.4, size=shape)
            key = prefer * (norms - norms.mean(axis=1, keepdims=True)) / norms.std() + rng.gumbel(size=shape)
            own = key.argsort(axis=1).argsort(axis=1) >= 12 - rng.integers(0, 5, size=(6, 1))
            own[0, key[0].argmax()] = True
            single = norms**power * np.exp(0.3 * rng.normal(size=shape) + plant * own)
            laid = lay_sets({"r": own}, norms, count=99, seed=int(rng.integers(2**31)))
            means = np.array([single[members].sum() for members in laid.members])
            units = tuple(map(str, range(size)))
            values = np.stack([np.broadcast_to(table, (size, *shape)) for table in (single, norms)])
            table = Scores(
                ("loss:mean", "norm"), units, units, np.zeros(size, int), np.zeros((2, size)),
                values.astype(np.float32), np.zeros((2, size)),
            )  # fmt: skip
            damage = (means[:, None] + 0.01 * rng.normal(size=size)).astype(np.float32)[None]
            found = group_tests(
                table, HeadSets(("loss:mean",), laid.roles, laid.number, laid.members, damage), HOLM
            )
            p.append(found[0].p)
        return np.array(p)

    for power in (0, 1, 2):
        for prefer in (1.5, 4.0):
            yield {
                "shape": f"damage by norm to the power of {power}, preference {prefer:g}",
                "false rare": (rarities(power, prefer, 0.0) <= 0.05).mean(),
                "found at e^0.5 of the damage": (rarities(power, prefer, 0.5) <= 0.05).mean(),
            }


KINDS = {
    "sets": sets,
    "sites": sites,
    "prediction": prediction,
    "trend": trend,
    "needed": needed,
    "classifier": classifier,
    "share": share_of_loss,
}


@click.command()
@click.option("--runs", default=300, show_default=True, help="Runs of every cell.")
@click.option("--seed", default=0, show_default=True)
@click.option("--kind", "kinds", multiple=True, type=click.Choice(list(KINDS)), default=tuple(KINDS))
@click.option("--quick", is_flag=True, help="40 runs of two sizes.")
def main(runs: int, seed: int, kinds: tuple[str, ...], quick: bool) -> None:
    """Print a line a cell."""
    for kind in kinds:
        for size in (60, 160) if quick else {"prediction": (20, 60, 200), "sets": (40,)}.get(kind, SIZES):
            rng = np.random.default_rng([seed, zlib.crc32(f"{kind} {size}".encode())])
            for cell in KINDS[kind](size, 40 if quick else runs, rng):
                rounded = {
                    key: value if key == "shape" else round(float(value), 3) for key, value in cell.items()
                }
                click.echo(json.dumps({"kind": kind, "units": size} | rounded, ensure_ascii=False))


if __name__ == "__main__":
    main()
