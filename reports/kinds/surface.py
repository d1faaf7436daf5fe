"""What a surface run showed, in words: where heads look more than even attention does."""

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import groupby

import numpy as np

from headroles.records.findings import DECISIONS, findings_of
from headroles.records.numbers import isolate, join_names, mean, number, plural, with_range
from headroles.records.roles import phrase_of
from headroles.records.rules.rule import Decision
from headroles.records.surface import LAYER_MEANS, SurfaceResults, kind_name
from headroles.records.surface import OUTCOMES as IN_LOSS
from headroles.records.table import (
    ENDS,
    MISSING,
    Column,
    Row,
    Table,
    chance,
    counted,
    head_cell,
    interval_ends,
)
from headroles.reports.answer import Answer, Sentence
from headroles.reports.kinds import claims
from headroles.reports.words import error_rate, heads_in_layers
from headroles.stats.decision import ENOUGH_FOR_NOT

GROUP = "surface"
"""First part of the names of columns that are tested; those of importances have their measure there."""
MEASURES = {
    "gradient": ("|∂loss/∂attention|", "Gradient of the loss with respect to attention to {}"),
    "attention×gradient": (
        "|attention × ∂loss/∂attention|", "Attention to {} × gradient of the loss with respect to it",
    ),
}  # fmt: skip
"""Importances by the first part of their columns' names: as formulas, and in words with a kind of token."""
ENTROPIES = ("surface:entropy", "surface:entropy-first")
NAMES = {f"{GROUP}:{kind}": words for kind, words in {
    "first": ("To the first token", "first token", "first"),
    "separator": ("To separators", "separators", "sepa-\nrator"),
    "separator→separator": ("From separators to separators", "separators → separators", "sep.→\nsep."),
    "other→separator": ("From other tokens to separators", "other tokens → separators", "other→\nsep."),
    "punctuation": ("To punctuation", "punctuation", "punc-\ntuation"),
    "previous": ("To the previous token", "previous token", "pre-\nvious"),
    "next": ("To the next token", "next token", "next"),
    "self": ("To the same token", "same token", "self"),
    "first→first": ("From the first token to itself", "first token → itself", "first→\nitself"),
    "first→separator": ("From the first token to separators", "first token → separators", "first→\nsep."),
    "first→text": ("From the first token to the texts", "first token → texts", "first→\ntexts"),
    "separator→first": ("From separators to the first token", "separators → first token", "sep.→\nfirst"),
    "separator→self": ("From separators to themselves", "separators → themselves", "sep.→\nitself"),
    "separator→own-text": (
        "From separators to the text that they end", "separators → own text", "sep.→\nown",
    ),
    "separator→other-text": ("From separators to the other text", "separators → other text", "sep.→\nother"),
    "entropy": ("Entropy of all rows", "all rows", "entro-\npy"),
    "entropy-first": ("Entropy of the first token's row", "first token's row", "first\nrow"),
}.items()}  # fmt: skip
"""Columns in words: their names, in few words next to others of their group, and above narrow columns."""
ROWS = tuple(NAMES)[8:15]
"""Columns about the rows of special tokens, which have a table of their own in the terminal."""
DECISION_WORDS = ("above even", "below even", "undetermined", "untestable", "explained", "described")
"""Decisions in words where means are tested against even attention; the last: no test."""
OUTCOMES = ("above", "below", "undetermined", "untestable")
"""Decisions of heads by code, as tables name their columns."""
FAMILIES = {
    "sieve": "the heads of one statistic", "run": "all heads and statistics of the run",
    "layer": "the heads of one statistic in one layer",
}  # fmt: skip
SINKS = {
    "surface:first": "the first token", "surface:separator": "separators",
    "surface:punctuation": "punctuation",
}  # fmt: skip
PLACES = {
    "surface:previous": "the previous token", "surface:next": "the next token",
    "surface:self": "the token itself",
}  # fmt: skip


def words_of(column: str) -> tuple[str, str, str]:
    """Return a column in words: its name, in few words next to others of its group, and above its numbers.

    Example:
        >>> words_of("surface:separator")[:2], words_of("mine")[0]
        (('To separators', 'separators'), 'mine')
        >>> words_of("gradient:other")[0]
        'Gradient of the loss with respect to attention to other tokens'
    """
    measure, _, kind = column.partition(":")
    if measure in MEASURES:
        return MEASURES[measure][1].format(kind_name(kind)), kind_name(kind), kind_name(kind)
    return NAMES.get(column, (isolate(column),) * 3)


def column_name(column: str) -> str:
    """Return the name of a column in words."""
    return words_of(column)[0]


def short_name(column: str) -> str:
    """Return a column in few words, next to others of its group."""
    return words_of(column)[1]


def interval_text(column: str, row: Row) -> str:
    r"""Return a mean with its interval; alone where there is none. Importances can be tiny: they have digits.

    Example:
        >>> interval_text("surface:self", Row(mean=0.25, low=0.2, high=0.3))
        '0.25 [0.20,\xa00.30]'
    """
    write = number if column.partition(":")[0] in MEASURES else mean
    return with_range(*map(write, (row.mean, row.low, row.high)))


NONE = Row(layer=None, head=None, place="", **dict.fromkeys(("mean", "low", "high", "q"), math.nan))
"""Head or layer of a column without means."""
STATISTICS = Table("", "Where attention heads look", "a statistic", (
    Column("statistic", "Name of the statistic.", str, "statistic", column_name, short="attention to",
           terminal="narrow"),
    Column("even", "Value of even attention.", float, "even"),
    counted("above", "Heads above even attention.", "above", text=str, terminal="narrow"),
    counted("below", "Heads below even attention.", "below", text=str, terminal="narrow"),
    counted("undetermined", "Heads that the inputs do not decide.", "undetermined", text=str),
    counted("untestable", "Heads that cannot be tested.", "untestable", text=str),
    Column("layer", "Layer of the head with the largest mean.", "int | None"),
    Column("head", "The head with the largest mean.", "int | None", "largest in head", short="strongest",
           cell=lambda row: MISSING if row.head is None else head_cell(row), terminal="narrow"),
    Column("mean", "Its mean.", float, f"its mean {ENDS}", mean, ("low", "high"), short=f"mean {ENDS}",
           terminal="narrow"),
    *interval_ends(),
    chance("q", "Its q of the test above even attention.", "q", terminal="narrow"),
    Column("largest_layer", "The layer with the largest mean.", "int | None", "largest in layer",
           lambda value: "–" if value is None else str(value)),
    Column("layer_mean", "Its mean.", float, f"its mean {ENDS}", mean, ("layer_low", "layer_high")),
    *interval_ends("layer_low", "layer_high"),
), name="Statistics")  # fmt: skip
"""Every statistic, with the head and the layer that have the largest means."""


class Measured(claims.OfRun):
    """What a surface run measured, with the words for it."""

    @cached_property
    def tables(self) -> SurfaceResults:
        """Return means over layers and tests of attention that does not matter, layers by position."""
        found, stack = self.run.surface or SurfaceResults(LAYER_MEANS), self.run.scores.stack
        return SurfaceResults(found.layers.numbered(stack), found.noop.numbered(stack))

    @cached_property
    def layers(self) -> Table:
        """Return the means over layers that are known, layer by layer."""
        rows = self.tables.layers.take(np.argsort(self.tables.layers["layer"], kind="stable"))
        return rows.take(~np.isnan(rows["mean"]))

    @cached_property
    def heads(self) -> Table:
        """Return a row for each column and head with a mean, its decision in the words of the page."""
        rows, words = findings_of(self.run), dict(zip((*DECISIONS, ""), DECISION_WORDS, strict=True))
        rows = rows.replace(decision=[words[decision] for decision in rows["decision"]])
        return rows.take(~np.isnan(rows["mean"]))

    @property
    def size(self) -> str:
        """Return the number of heads, such as "72 heads"."""
        return plural(self.run.findings.mean[0].size, "head")

    def of(self, *groups: str, known: bool = False) -> list[str]:
        """Return the columns of some groups; ``known``: only those with a mean of at least one head."""
        names = [name for name in self.run.findings.sieves if name.partition(":")[0] in groups]
        return [name for name in names if self.has(name)] if known else names

    @cached_property
    def rows(self) -> dict[str, Row]:
        """Return of each column: even attention, heads by decision, head and layer with the largest means.

        ``place`` is layer and head, as in ``3-7``. Where there is none, numbers are NaN or None.
        """
        findings, rows = self.run.findings, {}
        for name in findings.sieves:
            null, most = findings.null[findings.of(name)], self.extreme_layer(name)
            known = name.startswith(GROUP) and not np.isnan(null).all()
            decided = findings.decision[findings.of(name)]
            rows[name] = Row(**vars(self.extreme_head(name)) | {
                "statistic": name, "even": float(np.nanmean(null)) if known else math.nan,
                "largest_layer": most.layer, "layer_mean": most.mean, "layer_low": most.low,
                "layer_high": most.high,
            } | {word: int((decided == code).sum()) for code, word in enumerate(OUTCOMES)})  # fmt: skip
        return rows

    @property
    def table(self) -> Table:
        """Return one row per statistic: heads by decision, head and layer with the largest means."""
        return STATISTICS.rows(vars(self.rows[name]) for name in self.of(GROUP))

    def has(self, column: str) -> bool:
        """Return whether there is a column with a mean of at least one head."""
        return column in self.rows and not math.isnan(self.rows[column].mean)

    def extreme_head(self, column: str, *, largest: bool = True) -> Row:
        """Return the head with the largest (or smallest) mean of a column; the first of equals."""
        rows = self.heads.where(sieve=column)
        if not len(rows):
            return NONE
        row = rows[int(rows["mean"].argmax() if largest else rows["mean"].argmin())]
        row.place = f"{row.layer}-{row.head}"
        return row

    def extreme_layer(self, column: str, *, largest: bool = True) -> Row:
        """Return the layer with the largest (or smallest) mean of a column; the first of equals."""
        rows = self.by_layer(column).values()
        return (max if largest else min)(rows, key=lambda row: row.mean, default=NONE)

    def by_layer(self, column: str) -> dict[int, Row]:
        """Return the means of a column by layer."""
        return {row.layer: row for row in self.layers.where(column=column)}


def answer_of(measured: Measured) -> Answer:
    """Return title, line, at most five sentences and warnings; all counts are those of findings and tests."""
    run = measured.run
    about = [
        heads_in_layers(run.scores.stack, run.scores.heads),
        error_rate(run.decision, "statistic", "“above”", "“above”"),
    ]
    sentences = [
        *_kinds(measured, SINKS), *_kinds(measured, PLACES), *_breadth(measured), *_loss(measured),
        _open(measured),
    ]  # fmt: skip
    return claims.answer_about(run, "What do heads look at on the surface?", about, sentences, named=True)


def _kinds(measured: Measured, names: Mapping[str, str]) -> Iterator[Sentence]:
    """Yield how many heads look at each kind of token more than even attention does."""
    known = {column: name for column, name in names.items() if measured.has(column)}
    if not known:
        return
    above = {column: measured.rows[column].above for column in known}
    first, *others = sorted(known, key=lambda column: -above[column])
    rest = "more than even attention does"
    if not above[first]:
        *most, last = known.values()
        kinds = f"{', '.join(most)} or {last}" if most else last
        yield Sentence(f"No head looks at {kinds}", f"{rest}.", first)
        return
    if others:
        rest += ", " + join_names([f"{above[column]:,} at {known[column]}" for column in others])
    top = measured.rows[first]
    rest += f". {top.place} looks there most, with {interval_text(first, top)} of its attention"
    lead = claims.some_of(above[first], measured.size, "looks", "look", "")
    yield Sentence(f"{lead} at {known[first]}", f"{rest}.", first)


def _breadth(measured: Measured) -> Iterator[Sentence]:
    """Yield the most focused and the broadest head, where entropy was measured."""
    column = ENTROPIES[0]
    if measured.has(column):
        low, high = measured.extreme_head(column, largest=False), measured.rows[column]
        known = "" if math.isnan(high.even) else f"; even attention has {mean(high.even)}"
        rest = f"({mean(low.mean)} nats of entropy), {high.place} the broadest ({mean(high.mean)}){known}."
        yield Sentence(f"Head {low.place} is the most focused", rest, column, "not")


def _loss(measured: Measured) -> Iterator[Sentence]:
    """Yield in how many layers attention to a kind of token matters less, where there are gradients."""
    tests = measured.tables.noop.where(measure="gradient")
    tests = tests.take(tests["count"] > 0)
    if not tests:
        return
    kinds = dict.fromkeys(tests["kind"].tolist())
    less = {kind: claims.count_of(tests.where(kind=kind), IN_LOSS[0]) for kind in kinds}
    first, *others = sorted(kinds, key=lambda kind: -less[kind])
    layers = plural(measured.run.findings.count.shape[1], "layer")
    lead = f"In {less[first]} of {layers}, attention to {kind_name(first)} matters less"
    if not less[first]:
        lead = f"In no layer is attention to {kind_name(first)} shown to matter less"
    more = join_names([f"{less[kind]} for {kind_name(kind)}" for kind in others])
    more = f". The same holds in {more}" if more else ""
    yield Sentence(lead, f"to the loss than attention to other tokens{more}.")


def _open(measured: Measured) -> Sentence:
    """Return how many tests stay open, and what would decide them."""
    table, units = measured.table, int(measured.run.findings.count.max(initial=0))
    undetermined, untestable = (int(table[word].sum()) for word in OUTCOMES[2:])
    total = plural(len(table) * measured.run.findings.mean[0].size, "test")
    said = [f"{untestable:,} could not be made"] * bool(untestable)
    if undetermined:
        few = f"“Below even” takes {ENOUGH_FOR_NOT} units, and these inputs have {units:,}"
        said += [few if units < ENOUGH_FOR_NOT else "More inputs would decide more"]
    lead = claims.some_of(undetermined, total, "stays", "stay", "stays")
    return Sentence(f"{lead} open", "".join(f". {text}" for text in said) + ".", "", "undetermined")


def head_sentence(measured: Measured, layer: int, head: int) -> str:
    """Return where one head looks more than even attention does, its layer by its place."""
    findings, name = measured.run.findings, measured.run.scores.stack.name(layer, head)
    places = [
        isolate(phrase_of(role).one.partition(" ")[2])
        for role in findings.roles
        if role not in (*ENTROPIES, *ROWS) and findings.decision[findings.of(role), layer, head] == 0
    ]
    what = join_names(places) if places else "at nothing that was tested"
    return f"{name} looks {what} more than even attention does."


def column_sentence(measured: Measured, column: str) -> str:
    """Return the result of one column in words, without its name."""
    if not measured.has(column):
        return "Not applicable to these inputs and this model."
    focused, row, heads, over = column in ENTROPIES, measured.rows[column], measured.size, ""
    strongest, even = interval_text(column, row), number(row.even)
    if len(measured.by_layer(column)) > 1:
        extreme = measured.extreme_layer(column, largest=not focused)
        which = f"{'smallest' if focused else 'largest'} in layer {extreme.layer}"
        over = f" The mean over a layer is {which}, {interval_text(column, extreme)}."
    if focused:
        low = measured.extreme_head(column, largest=False)
        return (
            f"From {interval_text(column, low)} nats in head {low.place}, the most focused, to {strongest} "
            f"in head {row.place}, the broadest; even attention has {even}. {row.below} of {heads} below "
            f"it.{over}"
        )
    if not column.startswith(GROUP):
        return f"{over} Largest in head {row.place}, {strongest}.".lstrip()
    parts = [f"{row.above or 'None'} of {heads} above even attention ({even})", f"{row.below} below"]
    parts += [f"{getattr(row, word)} {word}" for word in OUTCOMES[2:] if getattr(row, word)]
    return f"{', '.join(parts)}.{over} Strongest: head {row.place}, {strongest}."


def noop_sentences(measured: Measured) -> list[str]:
    """Return in which layers attention matters less than that to other tokens: one sentence for each kind.

    Kinds that no input has are left out.
    """
    layers, said = measured.run.scores.stack.numbers, []
    known = measured.tables.noop.take(measured.tables.noop["count"] > 0)
    for measure, kind in dict.fromkeys((test.measure, test.kind) for test in known):
        act = "taking away" if measure == "attention×gradient" else "changing"
        claim = f"{act} the attention to {kind_name(kind)} matters less than {act} that to other tokens"
        tests = measured.tables.noop.where(measure=measure, kind=kind)
        less, more, rest, bare = (sorted(tests.where(decision=word)["layer"].tolist()) for word in IN_LOSS)
        if not less and not more and not rest:
            said.append(f"Whether {claim} could be tested in no layer.")
            continue
        first = f"In {_span(less, layers)}, {claim}" if less else f"In no layer is it shown that {claim}"
        others = [(more, "not less"), (rest if less or more else [], "undetermined"), (bare, "untestable")]
        ends = [f"{_span(places, layers)}: {word}" for places, word in others if places]
        said.append("; ".join([first, *ends]) + ".")
    return said


def _span(places: Sequence[int], layers: Sequence[int]) -> str:
    """Return layers in words, runs of three and more by their ends, such as "layers 0–2 and 5"."""
    count = len(layers)
    if len(places) == count and count > 1:
        return "both layers" if count == 2 else f"all {count} layers"
    parts: list[str] = []
    for _, group in groupby(enumerate(places), lambda pair: pair[1] - pair[0]):
        run = [place for _, place in group]
        parts += [f"{run[0]}–{run[-1]}"] if len(run) > 2 else map(str, run)
    return f"layer{'s' if len(places) > 1 else ''} {join_names(parts)}"


def promise(decision: Decision) -> str:
    """Return which error rates the correction controls for heads above and below even attention."""
    level = f"{100 * decision.alpha:g}\u00a0%"
    families = {"run": "all statistics together", "layer": "one statistic in one layer"}
    over = families.get(decision.family, "one statistic")
    return claims.corrected(
        decision,
        f"Nothing was corrected: of heads at even attention, {level} are called above it by chance.",
        f"Of the heads called above even attention ({over}), at most {level} are expected not to be and, "
        f"separately, at most {level} of those called below it.",
        f"The chance of even one false “above even” ({over}) is at most {level} and, separately, that of one "
        "false “below even”.",
    )


def glossary(decision: Decision) -> tuple[tuple[str, str], ...]:
    """Return what the words of the page mean."""
    return (
        ("mean attention", "Over all rows of an input, then over inputs. Rows of the first token, of "
         "separators or of other tokens count alone only where the name says so."),
        ("own text of a separator", "The text that it ends. Its row is divided among first token, "
         "separators, own and other text."),
        ("even attention", "One over the number of visible tokens, the mean over the inputs. Each head is "
         "tested against it in both directions."),
        ("above, below", "Significantly above or below even attention. “Below” needs at least "
         f"{ENOUGH_FOR_NOT} units. {promise(decision)}"),
        ("undetermined", "The inputs do not decide, or the decision would depend on few units."),
        ("interval", "95\u00a0% interval of the mean; it is not adjusted for the choice of the largest head, "
         "whose mean tends to be a little high."),
        ("interval of a layer", "t over units of the mean over the layer’s heads."),
        ("entropy", "It cannot exceed that of even attention, so nearly every head lies below: read its "
         "size."),
        ("size", "A difference from even attention can be certain and small: read the means."),
    )  # fmt: skip
