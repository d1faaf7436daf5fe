"""Measure the parts of contrasts on the inputs of shards."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool

from headroles.extraction.capture.cross import expected_visible
from headroles.extraction.source import AttentionSource
from headroles.extraction.stream import free_memory
from headroles.extraction.texts.tokens import Tokenised, tokenise
from headroles.extraction.why.products import InputProducts, read_products
from headroles.extraction.why.redeals import contrasted_rows
from headroles.inputs.corpora import Corpus
from headroles.options.causal.why import WhyOptions
from headroles.progress import Advance
from headroles.records.example import Scores
from headroles.records.rules.rule import Rule
from headroles.runs.held.role_cells import Cells
from headroles.runs.why.columns import column_names, column_rules
from headroles.runs.why.facts import known_of
from headroles.runs.why.opening import asked_roles, open_all
from headroles.runs.why.products import PRODUCTS, ShardProducts
from headroles.shards.work import ShardResult, Task


class WhyWork:
    """Measures the parts of contrasts on the inputs of shards.

    The model reads only inputs of units that give products. On other inputs the columns are NaN.
    """

    def __init__(self, options: WhyOptions, corpus: Corpus) -> None:
        """Read the roles, load the model, and compute mean queries.

        Args:
            options: Of the run.
            corpus: Its inputs.

        Raises:
            BadInput: When the model does not show its queries and keys, the roles are of another model,
                annotation is missing, or too few units decide no role.
        """
        self._options, self._opened = options, open_all(options, corpus)
        opened = self._opened
        self.source: AttentionSource = opened.model
        self._roles = asked_roles(opened.families, opened.roles.held)
        self.rules: Sequence[Rule] = column_rules(column_names(self._roles))
        drawn, where = opened.drawn, opened.groups.measured
        self._measured = frozenset(key for key, own in zip(drawn.every_key, where, strict=True) if own)
        self.known = known_of(options, opened)

    def read(self, task: Task, advance: Advance) -> ShardResult:
        """Measure the parts of contrasts on the inputs of a shard."""
        memory = free_memory()
        opened, options = self._opened, self._options
        plain = tokenise(opened.model.tokenizer, task.passages, options.max_length)
        asked = [place for place, given in enumerate(plain) if given.passage.key in self._measured]
        counted = dict(zip(asked, opened.cells.of([plain[place] for place in asked]), strict=True))
        table = _Table(self._roles, len(plain), (opened.model.layers, opened.model.heads))
        sums = ShardProducts(opened.families, opened.layout, options.redeals, opened.queries)
        mean_query = opened.queries.mean(axis=0)
        for place, given in enumerate(plain):
            if place in counted and len(opened.families):
                products = read_products(
                    opened.model, given, counted[place], opened.families, mean_query,
                    options.redeals, options.seed,
                )  # fmt: skip
                sums.add(given.passage.key, products, task.members[place])
                self._score(place, given, counted[place], products, table)
                memory.trim()
            advance(1)
        unknown = np.full(len(self.rules), np.nan)
        return ShardResult(
            table.scores(self.rules, task, plain),
            unknown,
            unknown,
            truncated=sum(given.truncated for given in plain),
            files={PRODUCTS: sums.content()},
        )

    def expect(self, task: Task) -> None:
        """Announce a later shard, so that parser processes can parse its texts ahead."""
        passages = [passage for passage in task.passages if passage.key in self._measured]
        self._opened.cells.expect(passages)

    def close(self) -> None:
        """Stop the parser processes and close the cache of parses."""
        self._opened.cells.close()

    def _score(
        self, place: int, given: Tokenised, cells: Cells, products: InputProducts, table: "_Table"
    ) -> None:
        """Write the contrasts of an input into the table of its shard."""
        families = self._opened.families
        contrast = products.parts.sum(axis=1)
        visible = expected_visible(given, self._opened.model.way.causal)
        for role in self._roles:
            own = np.array([name == role for name in families.roles], dtype=np.bool_)
            if role not in cells or not own.any():
                continue
            heads = families.layers[own], families.heads[own]
            rows = len(contrasted_rows(cells[role], _mask(visible, given.size)))
            table.put(role, place, heads, contrast[own], products.vertical[own], rows)


def _mask(visible: Bool[np.ndarray, "tokens tokens"] | None, size: int) -> Bool[np.ndarray, "tokens tokens"]:
    """Return which keys each query sees; all keys where no mask is given."""
    return np.ones((size, size), dtype=np.bool_) if visible is None else visible


class _Table:
    """Scores of the inputs of a shard, while they are measured; NaN elsewhere."""

    def __init__(self, roles: Sequence[str], inputs: int, grid: tuple[int, int]) -> None:
        self._places = {role: 2 * place for place, role in enumerate(roles)}
        self._values = np.full((2 * len(roles), inputs, *grid), np.nan, dtype=np.float32)
        self._cells = np.full((2 * len(roles), inputs), np.nan)

    def put(
        self,
        role: str,
        place: int,
        heads: tuple[np.ndarray, np.ndarray],
        contrast: np.ndarray,
        vertical: np.ndarray,
        rows: int,
    ) -> None:
        """Write the contrasts of the heads of a role on an input, and the number of queries that count."""
        column = self._places[role]
        self._values[(column, place, *heads)] = contrast
        self._values[(column + 1, place, *heads)] = 2 * vertical - contrast
        self._cells[column : column + 2, place] = rows

    def scores(self, rules: Sequence[Rule], task: Task, inputs: Sequence[Tokenised]) -> Scores:
        """Return the scores of the shard."""
        return Scores(
            sieves=tuple(rule.sieve for rule in rules),
            examples=tuple(passage.key for passage in task.passages),
            units=tuple(task.units),
            tokens=np.array([given.size for given in inputs]),
            cells=self._cells,
            values=self._values,
            null=np.zeros(self._cells.shape),
        )
