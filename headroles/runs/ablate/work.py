"""Take the heads of a model out on the inputs of shards, and measure the damage."""

from collections.abc import Iterator, Sequence

import numpy as np

from headroles.extraction.ablation.arms import Ablator
from headroles.extraction.ablation.references import References
from headroles.extraction.source import AttentionSource
from headroles.extraction.stream import free_memory, split_into_batches
from headroles.extraction.texts.tokens import Tokenised, tokenise
from headroles.inputs.corpora import Corpus
from headroles.options.causal.ablate import AblateOptions
from headroles.progress import Advance
from headroles.records.causal.columns import LOSS, SCREEN, Column
from headroles.records.rules.rule import Rule
from headroles.runs.ablate.arms.batches import Batch, arms_of, write_effects
from headroles.runs.ablate.arms.laying import ReadInputs, lay_out
from headroles.runs.ablate.arms.layout import main_intervention, needs_references, screened_with
from headroles.runs.ablate.arms.opening import open_model, open_roles
from headroles.runs.ablate.arms.table import DamageTable
from headroles.runs.ablate.columns import column_rules
from headroles.runs.ablate.facts import known_of
from headroles.runs.ablate.sets import SETS, sets_bytes
from headroles.runs.held.references import draw_references
from headroles.runs.held.role_cells import RoleCells, asking_options
from headroles.shards.work import ShardResult, Task


class AblateWork:
    """Takes heads out on the inputs of shards.

    Sites, cells and sets of heads are measured on inputs of units that decide no label, and no damage on
    inputs of units that chose the heads. Elsewhere the columns are NaN.
    """

    def __init__(self, options: AblateOptions, corpus: Corpus) -> None:
        """Load the model, read the roles, compute mean outputs, and lay out the arms.

        Args:
            options: Of the run.
            corpus: Its inputs.

        Raises:
            BadInput: When the model has no loss that is asked for, heads cannot be taken out of it, the roles
                are of another model, or annotation is missing.
        """
        self._options, self._opened = options, open_model(options, corpus)
        model = self._opened.model
        self.source: AttentionSource = model
        roles = open_roles(options, model)
        held = None if roles is None else roles.held
        drawn = draw_references(corpus, options.references, options.seed)
        plain = tokenise(model.tokenizer, drawn.passages, options.max_length)
        read, targets = self._opened.targets(plain)
        references = References(read, drawn.units) if needs_references(options) else None
        self._ablator = Ablator(
            model, self._opened.outcomes, references, seed=options.seed, draws=options.donors
        )
        self._deciding = frozenset[str]()
        if held is not None:
            apart = held.apart(drawn.every_unit, drawn.every_key)
            self._deciding = frozenset(
                unit for unit, stays in zip(drawn.every_unit, apart, strict=True) if not stays
            )
        deciding = np.array([unit in self._deciding for unit in drawn.units], dtype=np.bool_)
        self._cells: RoleCells | None = None
        if roles is not None:
            asking = asking_options(options, roles.options.settings())
            owned = [role for role in roles.held.roles if roles.held.heads(role).any()]
            self._cells = RoleCells(asking, owned, model, corpus)
        sample = ReadInputs(plain, read, targets, drawn.units, deciding)
        laid = lay_out(options, self._opened, self._ablator, held, self._cells, sample)
        self._layout, self._chose = laid.layout, laid.chose
        self.rules: Sequence[Rule] = column_rules(self._layout.names)
        self.known = known_of(options, self._opened, self._ablator, held, self._cells, laid, drawn)

    def read(self, task: Task, advance: Advance) -> ShardResult:
        """Take heads out on the inputs of a shard."""
        memory = free_memory()
        plain = tokenise(self._opened.model.tokenizer, task.passages, self._options.max_length)
        model = self._opened.model
        table = DamageTable(self._layout, plain, (model.layers, model.heads), self._opened.outcomes)
        for batch in self._batches(plain, task.units):
            self._measure(batch, table)
            memory.trim()
            advance(len(batch.places))
        main = main_intervention(self._options.by)
        arms = tuple(f"{outcome}:{main}" for outcome in self._opened.outcomes)
        low, high = (np.array([getattr(rule, end) for rule in self.rules]) for end in ("low", "high"))
        return ShardResult(
            table.scores(task),
            low,
            high,
            truncated=sum(given.truncated for given in plain),
            files={SETS: sets_bytes(arms, self._layout.sets, table.sets)} if self._options.groups else {},
        )

    def expect(self, task: Task) -> None:
        """Announce a later shard, so that parser processes can parse its texts ahead."""
        if self._cells is not None:
            self._cells.expect(task.passages)

    def close(self) -> None:
        """Stop the parser processes and close the cache of parses."""
        if self._cells is not None:
            self._cells.close()

    def _batches(self, plain: Sequence[Tokenised], units: Sequence[str]) -> Iterator[Batch]:
        """Yield batches of inputs on which the same is measured, longest inputs first."""
        kinds: dict[tuple[bool, bool], list[int]] = {}
        for place, unit in enumerate(units):
            alone = unit not in self._chose
            kinds.setdefault((alone, alone and unit not in self._deciding), []).append(place)
        sizes = [given.size for given in plain]
        for (alone, asked), places in sorted(kinds.items()):
            order = np.array(sorted(places, key=lambda place: (-sizes[place], place)))
            for batch in split_into_batches(order, sizes, self._options.batch_size, self.source):
                inputs = [plain[place] for place in batch]
                cells = self._cells.of(inputs) if asked and self._cells is not None else []
                read, targets = self._opened.targets(inputs)
                own = [units[place] for place in batch]
                yield Batch(batch, read, targets, own, cells, alone, asked and self._cells is not None)

    def _measure(self, batch: Batch, table: DamageTable) -> None:
        """Measure all arms on a batch, and write the damages into the table of its shard."""
        by = self._options.by
        laid = arms_of(batch, self._layout, by)
        effects = self._ablator.measure(batch.inputs, batch.units, batch.targets, laid.arms)
        write_effects(batch, laid, effects, self._layout, by, table)
        if self._options.screen is not None and batch.targets is not None:
            first_order = self._ablator.screen(batch.inputs, batch.units, batch.targets, screened_with(by))
            table.put_all(Column(LOSS, SCREEN), batch.places, first_order)
