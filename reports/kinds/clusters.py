"""What a run that clustered heads found, in words: how distances and clusters were made, what they follow.

Claims about heads are sentences with a number, an interval, and what p is a share of.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import compress

import numpy as np
from jaxtyping import Bool, Float

from headroles.records import clusters as records
from headroles.records.findings import Labelling
from headroles.records.numbers import isolate, join_names, number, plural, three_decimals, two_decimals
from headroles.records.table import HEAD, LAYER, MISSING, Cell, Column, Row, Table, counted, head_cell
from headroles.reports.account import account
from headroles.reports.answer import Answer, Sentence
from headroles.reports.summary import Summary, summarise
from headroles.reports.words import heads_in_layers

NEAREST = 8
"""Nearest heads shown for every head."""
NOISE = -1
"""Cluster number of the heads that DBSCAN puts into no cluster."""
METHODS = {"average": "average linkage", "spectral": "spectral clustering", "dbscan": "DBSCAN"}
NEARLY_ALL = 0.9
"""Least share of all heads at which one cluster counts as having nearly all of them."""
WEAK = 0.25
"""Mean silhouette below which heads fall into no substantial clusters (Kaufman & Rousseeuw 1990, Table 4)."""
STABLE = 0.6
"""Least stability at which a number of clusters is chosen; the rule's, stated on the page."""
CHOSEN, SINGLE = "chosen", "only single heads cut off"
FAR = math.sqrt(math.log(2))
"""Distance of two heads that never attend to the same token: the largest, where divergences are means."""
SIZES, MOST_SIZES = 6, 8
"""Sizes of clusters that a sentence of the answer, and any other, names at most."""
LAYERS_NAMED, ROLES_NAMED = 6, 6
"""Layers, and roles, that a cell names at most."""
LAYERS, ADJACENT, HALVES = "same layer closer", "adjacent layers closer", "split halves agree"
ROLE, CLUSTERS, SETS = "same role closer", "clusters are the role", "clusters are the sets of roles"
ESTIMATE = next(column for column in records.CLAIMS.columns if column.name == "estimate")
"""A claim's number with its interval."""
SPLIT = "middle 95\u00a0% of splits"
PHRASES = {
    (LAYERS, "R2"): "layers account for {} of the squared distances between heads (R²)",
    (LAYERS, "mean distance within layers"): "heads of one layer lie {} apart on average",
    (LAYERS, "mean distance between layers"): "heads of different layers {}",
    (ADJACENT, "mantel r"): "the distance of two heads of different layers correlates with the number of "
    "layers from one to the other: r = {}",
    (ADJACENT, "mantel rho"): "by ranks, rho = {}",
    (HALVES, "adjusted Rand"): "clusters found in two random halves of the inputs agree with an adjusted "
    "Rand index of {} (" + SPLIT + "; 1: the same clusters, 0: as alike as chance)",
    (ROLE, "R2"): "holding the role accounts for {} of the squared distances (R²)",
    (CLUSTERS, "adjusted Rand"): "adjusted Rand index of the clusters with the role {}",
    (SETS, "adjusted Rand"): "adjusted Rand index of the clusters with the sets of roles that heads hold {}",
}
"""Sentence of a claim by name and measure, with a place for its number and interval."""
GLOSSARY = (
    ("distance", f"0: two heads always attend to the same tokens. {FAR:.2f}: never to the same token."),
    ("silhouette", "From −1 to 1: how much nearer a head is to its own cluster than to the next. A mean "
     f"below {WEAK} means that there are no substantial clusters (Kaufman & Rousseeuw 1990)."),
    ("stability", "How alike the clusters of resampled inputs are (adjusted Rand index); 1: the same. "
     f"From {STABLE} on, clusters count as stable."),
    ("by chance", "Other placements of the same heads, drawn at random. They say nothing of other models."),
)  # fmt: skip
"""The words of the page, each with its meaning."""


def cluster_name(number: int) -> str:
    """Return the name of a cluster by its number."""
    return "no cluster" if number == NOISE else f"cluster {number}"


def roles_text(roles: Sequence[str], most: int = ROLES_NAMED) -> str:
    """Return the names of roles; "none" for none, and of many the first."""
    return (", ".join(roles[:most]) + ", …" * (len(roles) > most)) or "none"


def counted_roles(roles: str, most: int = ROLES_NAMED) -> str:
    """Return roles such as "local 2;block 1" in words, with the number of the heads that hold them."""
    pairs = (role.rpartition(" ") for role in roles.split(";") if role)
    return roles_text([f"{name} ({count})" for name, _, count in pairs], most)


def layers_text(counts: Sequence[int], layers: Sequence[int]) -> str:
    """Return layers with the heads that a cluster has in each; of many layers, their ranges and the fullest.

    Example:
        >>> layers_text((1, 2, 0), (3, 7, 11)), layers_text((1, 2, 1, 1, 1, 1, 1, 0, 1), range(9))
        ('3 (1), 7 (2)', '0–6, 8; most in 1 (2)')
    """
    known = {layer: count for layer, count in zip(layers, counts, strict=True) if count}
    if len(known) <= LAYERS_NAMED:
        return ", ".join(f"{layer} ({count})" for layer, count in known.items())
    starts = [layer for layer in known if layer - 1 not in known]
    stops = [layer for layer in known if layer + 1 not in known]
    runs = [f"{one}–{end}" if end > one else f"{one}" for one, end in zip(starts, stops, strict=True)]
    fullest = max(known, key=known.__getitem__)
    return f"{', '.join(runs)}; most in {fullest} ({known[fullest]})"


GROUPS = Table("", "Clusters", "a cluster", (
    Column("cluster", "Its number, by falling size; −1 for the heads in none.", int, "cluster",
           cell=lambda row: Cell(cluster_name(row.cluster), row.cluster if row.cluster >= 0 else 10**6)),
    counted("heads", "Its heads.", "heads"),
    LAYER,
    replace(HEAD, meaning="The head with the smallest mean distance to the others of its cluster.",
            heading="most central head",
            cell=lambda row: head_cell(row) if row.cluster >= 0 else MISSING),
    Column("within", "Mean distance between its heads.", float, "distance within", three_decimals),
    Column("silhouette", "Mean over its heads.", float, "silhouette", two_decimals),
    Column("stability", "Mean over its heads.", float, "stability", two_decimals),
    Column("layers", "Heads in each layer that is read, joined by `;`.", str, "layers (heads)"),
    Column("roles", "Roles with the number of its heads that hold them, joined by `;`.", str,
           "roles (heads)", counted_roles),
), first=("cluster", "heads", "layers", "roles"))  # fmt: skip
"""A row per cluster; layer and head are those of its most central head."""


@dataclass(frozen=True, eq=False)
class Clustered:
    """What a run clustered, with what page and terminal show of it.

    Heads are counted layer after layer.

    Attributes:
        run: A run with clusters.
    """

    run: Labelling

    @property
    def found(self) -> records.ClusterResults:
        """Return its clusters, map and claims."""
        assert self.run.clustered is not None
        return self.run.clustered

    @cached_property
    def summary(self) -> Summary:
        """Return its roles and layers."""
        return summarise(self.run)

    @property
    def held(self) -> Bool[np.ndarray, "roles heads"]:
        """Return whether a head holds a role."""
        return self.summary.held.reshape(len(self.summary.roles), len(self.found.cluster))

    @property
    def names(self) -> list[str]:
        """Return the name of every head."""
        heads = self.summary.heads
        return [self.summary.stack.name(*divmod(cell, heads)) for cell in range(len(self.found.cluster))]

    @property
    def roles_of_heads(self) -> list[list[str]]:
        """Return the names of the roles that every head holds."""
        return [[*compress(self.summary.names, own)] for own in self.held.T]

    @cached_property
    def distance(self) -> Float[np.ndarray, "heads heads"]:
        """Return distances between all heads: square roots of their divergences, 0 on the diagonal."""
        size = len(self.found.cluster)
        square = np.zeros((size, size))
        square[np.triu_indices(size, 1)] = np.sqrt(np.clip(self.found.divergence.mean(), 0.0, None))
        return square + square.T

    @cached_property
    def near(self) -> records.Neighbours:
        """Return at most ``NEAREST`` other heads of every head, nearest first; of equals, the first.

        They have no intervals where the run computed none.
        """
        if (known := self.found.neighbours) is not None:
            columns = (getattr(known, name)[:, :NEAREST] for name in ("head", "distance", "low", "high"))
            return records.Neighbours(*columns)
        distance = self.distance + np.diag(np.full(len(self.distance), np.inf))
        order = np.argsort(distance, axis=1, kind="stable")[:, : min(NEAREST, len(distance) - 1)]
        near = np.take_along_axis(distance, order, axis=1)
        return records.Neighbours(order, near, *np.full((2, *near.shape), np.nan))

    @cached_property
    def groups(self) -> Table:
        """Return a row for every cluster, and one for the heads in none."""
        found, stack, heads = self.found, self.summary.stack, self.found.divergence.heads
        clusters, rows = {*found.cluster.tolist()}, []
        for cluster in sorted(clusters, key=lambda cluster: (cluster == NOISE, cluster)):
            members = np.flatnonzero(found.cluster == cluster)
            mean = self.distance[np.ix_(members, members)].sum(axis=1) / max(len(members) - 1, 1)
            layer, head = divmod(int(members[int(mean.argmin())]), heads)
            layers = np.bincount(members // heads, minlength=found.divergence.layers)
            held = zip(self.summary.names, self.held[:, members].sum(axis=1).tolist(), strict=True)
            roles = sorted((known for known in held if known[1]), key=lambda known: -known[1])
            rows.append({
                "cluster": cluster, "heads": len(members), "layer": stack.numbers[layer], "head": head,
                "within": float(mean.mean()) if len(members) > 1 else math.nan,
                "silhouette": known_mean(found.silhouette[members]),
                "stability": known_mean(found.stability[members]),
                "layers": ";".join(map(str, layers.tolist())),
                "roles": ";".join(f"{name} {count}" for name, count in roles),
            })  # fmt: skip

        def layers_cell(row: Row) -> Cell:
            counts = [*map(int, row.layers.split(";"))]
            first = next(layer for layer, count in enumerate(counts) if count)
            return Cell(layers_text(counts, stack.numbers), f"{first:05}")

        return GROUPS.describe("layers", cell=layers_cell).rows(rows)

    @property
    def sizes(self) -> list[int]:
        """Return the number of heads of every cluster; heads in none do not count."""
        return [group.heads for group in self.groups if group.cluster != NOISE]

    @property
    def choices(self) -> Table:
        """Return the numbers of clusters that were tried, with why one was chosen or not, where it is known.

        Which numbers only cut single heads off follows from the tree, so only average linkage tells it.
        """
        found, heads = self.found, len(self.found.cluster)

        def note(choice: Row) -> Cell:
            text = f"stability below {STABLE}" if choice.stability < STABLE else ""
            merges = found.linkage[: heads - choice.clusters, :2]
            large = len(merges) - int((merges >= heads).sum())  # clusters of two or more heads
            text = SINGLE if found.method == "average" and large < 2 else text
            return Cell(*2 * (CHOSEN if choice.chosen else text,))

        return found.choices.describe("chosen", cell=note)

    @property
    def rule(self) -> str:
        """Return the rule that chose the number of clusters, without a full stop; "" where one was tried."""
        tried = self.found.choices
        if len(tried) < 2:
            return ""
        last = "numbers that only cut single heads off the rest come last"
        if np.isnan(tried["stability"]).all():
            return f"chosen by the largest mean silhouette alone, since no units were resampled; {last}"
        weak = any(choice.chosen and choice.stability < STABLE for choice in tried)
        return (
            f"chosen by the largest mean silhouette among numbers whose stability (mean adjusted Rand index "
            f"with the clusters of resampled units) is at least {STABLE}; {last}"
            f"{'; none of the others is that stable, so the most stable of them was taken' * weak}"
        )

    @property
    def way(self) -> str:
        """Return how distances were made, without a full stop."""
        source = self.found.divergence
        mixed, units = two_decimals(100 * source.smoothing), plural(len(source.block), "unit")
        smoothed = f"after {mixed}\u00a0% of even attention were mixed into every row"
        smoothed = smoothed if source.smoothing else "rows not smoothed"
        what = "Jensen-Shannon divergence (nats) between rows of attention of the same query"
        if source.way == "sum":
            return (
                f"distances are square roots of the {what}, summed over all rows of all inputs of {units} as "
                f"in the released code, {smoothed}; they grow with the number of inputs"
            )
        return (
            f"distances are square roots of the mean {what}, over {units}, {smoothed}; 0: always the same "
            f"attention, {FAR:.2f}: never on the same token"
        )

    @property
    def text(self) -> str:
        """Return the clusters, their separation and their stability in words, without a full stop."""
        found, sizes, silhouette = self.found, self.sizes, known_mean(self.found.silhouette)
        method, alone = METHODS.get(found.method, isolate(found.method)), len(found.cluster) - sum(sizes)
        text = f"{method} puts {plural(sum(sizes), 'head')} into {plural(len(sizes), 'cluster')}"
        if sizes:
            text += f" of {_listed(sizes, MOST_SIZES)} {'head' if sizes == [1] else 'heads'}"
        text += f" and {alone} into none" * (alone > 0)
        apart = len(sizes) > 1 and sizes[0] >= NEARLY_ALL * len(found.cluster)
        text += ": nearly all heads are in one, and a few are apart" * apart
        weak = f"; below {WEAK}: no substantial clusters" * (silhouette < WEAK)
        measured = f"mean silhouette {two_decimals(silhouette)} (1: far apart, 0: on the border{weak})"
        text += f"; {'silhouettes need two clusters' if math.isnan(silhouette) else measured}"
        agreement, stability = self.agreement, known_mean(found.stability)
        if not math.isnan(agreement):
            same = f"{two_decimals(agreement)} (1: the same)"
            return f"{text}; adjusted Rand index with the clusters of resampled units {same}"
        steady = f"; stability of a head under resampled units {two_decimals(stability)} on average"
        return text + steady * (not math.isnan(stability))

    @property
    def agreement(self) -> float:
        """Return how alike the clusters of resampled units are to those that were chosen; NaN if unknown."""
        return next((choice.stability for choice in self.found.choices if choice.chosen), math.nan)

    @property
    def stress(self) -> str:
        """Return what the map leaves out, as one sentence."""
        if math.isnan(self.found.stress):
            return "The stress of the map is not known."
        reading = "distances on it are off by about this share of their size (root mean square)"
        return f"Stress {two_decimals(self.found.stress)}, where 0 would be a faithful map: {reading}."

    def told(self, *, of_roles: bool) -> list[str]:
        """Return the claims about roles, or all others: a sentence for each role, and for each name."""
        subjects: dict[str, list[Row]] = {}
        for claim in self.found.claims:
            if records.about_roles(claim) == of_roles:
                name = f"role {claim.subject}" if claim.subject else claim.claim
                subjects.setdefault(name, []).append(claim)
        sentences = []
        for claims in subjects.values():
            texts = []
            for claim in claims:
                template = PHRASES.get((claim.claim, claim.measure), "{1}, {2}: {0}")
                names = map(isolate, (claim.claim, claim.measure))
                text, known = template.format(ESTIMATE.write(claim).text, *names), not math.isnan(claim.p)
                among = f"the share at least as extreme among {records.reference_text(claim)}"
                texts.append(text + f"; p = {number(claim.p)}, {among}" * known)
            text, role = "; ".join(texts), claims[0].subject
            sentences.append(f"{isolate(role)}: {text}." if role else f"{text[0].upper()}{text[1:]}.")
        return sentences

    @property
    def notes(self) -> list[tuple[str, str]]:
        """Return what each p is a share of, and why some claims have none, each with a short name."""
        claims, names = self.found.claims, dict[str, list[str]]()
        for claim in claims:
            if not math.isnan(claim.p):
                names.setdefault(records.reference_text(claim), []).append(f"{claim.claim}, {claim.measure}")
        return [
            *(("p", f"{'; '.join(own)}: share at least as extreme among {reference}")
              for reference, own in names.items()),
            *[("roles", records.CIRCULAR)] * any(map(records.about_roles, claims)),
            *[("halves", f"the interval is the {SPLIT}")] * bool((claims["claim"] == HALVES).any()),
        ]  # fmt: skip


def known_mean(values: np.ndarray) -> float:
    """Return the mean of the numbers that are not NaN; NaN where there are none."""
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else math.nan


def answer_of(clustered: Clustered) -> Answer:
    """Return what clustering found, on one screen; all counts are those of the clusters and claims."""
    run = clustered.run
    facts, size = account(run), heads_in_layers(run.scores.stack, run.scores.heads)
    return Answer(
        title="Which heads do the same?",
        line=" · ".join([*(isolate(fact) for fact in (facts.model, *facts.facts) if fact), size]),
        sentences=(_clusters(clustered), *_pairs(clustered), *_layers(clustered)),
        warnings=facts.warnings,
    )


def _clusters(clustered: Clustered) -> Sentence:
    """Return how many clusters there are; in one sentence that there are none.

    There are none where one cluster has nearly all heads, where the mean silhouette is below 0.25 (Kaufman &
    Rousseeuw 1990, Table 4: no substantial structure), or where there are fewer than two.
    """
    found, sizes = clustered.found, clustered.sizes
    heads, silhouette = len(found.cluster), known_mean(found.silhouette)
    alone = heads - sum(sizes)
    if len(sizes) < 2:
        into = "one cluster holds" if sizes else "no cluster holds"
        return Sentence("No clusters:", f"{into} {sum(sizes) if alone else 'all'} of {heads:,} heads.")
    weak, listed = not silhouette >= WEAK, f"of {_listed(sizes, SIZES)} heads"
    measured = "" if math.isnan(silhouette) else f". Their silhouette is {two_decimals(silhouette)}"
    if sizes[0] >= NEARLY_ALL * heads or weak:
        measured += f", and clusters begin at {WEAK}" * bool(weak and measured)
        return Sentence("No clusters:", f"the chosen split has groups {listed}{measured}.")
    listed += f"{measured} (1: far apart)" if measured else ""
    stability = clustered.agreement if found.choices["chosen"].any() else known_mean(found.stability)
    if not math.isnan(stability):
        steady = "They are stable" if stability >= STABLE else "They are not stable"
        listed += f". {steady}: resampled inputs agree by {two_decimals(stability)} (1: the same)"
    if alone:
        listed += f". {plural(alone, 'head')} {'is' if alone == 1 else 'are'} in none"
    return Sentence(plural(len(sizes), "cluster"), f"{listed}.")


def _listed(sizes: Sequence[int], most: int) -> str:
    """Return the sizes of clusters, of many the first."""
    named = [f"{size:,}" for size in sizes]
    return ", ".join(named[:most]) + ", …" if len(named) > most else join_names(named)


def _pairs(clustered: Clustered) -> list[Sentence]:
    """Return the two nearest heads and the head farthest from all; nothing of a single head."""
    names, near = clustered.names, clustered.near
    if not near.head.shape[1]:
        return []
    one, lonely = (int(find(near.distance[:, 0])) for find in (np.argmin, np.argmax))
    first, second = (names[head] for head in sorted((one, int(near.head[one, 0]))))
    scale = f" (0: the same, {FAR:.2f}: never)" if clustered.found.divergence.way == "mean" else ""
    least, most = (three_decimals(float(near.distance[head, 0])) for head in (one, lonely))
    alike = f", at a distance of {least}{scale}. {names[lonely]} is the least like any other"
    return [Sentence(f"{first} and {second} are the most alike", f"{alike}, {most} from its nearest.")]


def _layers(clustered: Clustered) -> list[Sentence]:
    """Return how far layers explain distances; nothing where it was not measured."""
    alpha, sentences = clustered.run.decision.alpha, []
    for claim in clustered.found.claims:
        p = "" if math.isnan(claim.p) else f"p = {number(claim.p)}"
        kind, estimate, shown = (claim.claim, claim.measure), claim.estimate, claim.p <= alpha
        if kind == (LAYERS, "R2") and not math.isnan(estimate):
            lead = f"Layers explain {100 * estimate:.0f}\u00a0% of the squared distances"
            chance = p and f", {'more' if shown else 'no more'} than by chance ({p})"
            sentences.append(Sentence(lead, f"between heads{chance}."))
        if kind == (ADJACENT, "mantel r") and not math.isnan(estimate):
            more = "" if shown and estimate > 0 else "are not shown to "
            rest = f"than those of near layers: r = {two_decimals(estimate)}{p and f' ({p})'}."
            sentences.append(Sentence(f"Heads of distant layers {more}differ more", rest))
    return sentences
