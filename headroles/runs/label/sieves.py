"""The sieves of a run, checked before inputs or a model are opened, and their relations before scoring."""

import json
from dataclasses import replace
from importlib import resources

from headroles.arrays import selection_of
from headroles.errors import BadInput
from headroles.extraction.texts.files import file_format
from headroles.extraction.texts.sources import CONLLU_ENDING
from headroles.inputs.corpora import Corpus
from headroles.inputs.passages import check_data
from headroles.options.label import Options
from headroles.plans.scorers import SpreadScorer
from headroles.records.rules.names import FUSED
from headroles.runs.checks import check_parser
from headroles.sieves.base import COUNTED
from headroles.sieves.built_in.syntactic import named_relations
from headroles.sieves.language.relations import check_relations, unknown_relations
from headroles.sieves.selection import Selection
from headroles.stats.decision import BETTING, check_bounds


def selection_of_run(options: Options) -> Selection:
    """Return the sieves that the options name, for inputs with partners.

    Where the test bets, inputs that could score beyond the bounds of a sieve are left out of its column.

    Raises:
        HeadrolesError: When a sieve does not exist, or breaks its contract.
    """
    selection = selection_of(options.sieve or None, preset=options.preset, statistic=options.statistic)
    _check_values(selection, options)
    _check_path(selection, getattr(options, "path", "rows"))
    return replace(selection, paired=True, stated=options.decision.test == BETTING)


def _check_values(selection: Selection, options: Options) -> None:
    """Refuse sieves that compare attention with norm-weighted attention where there is only one of them.

    Raises:
        BadInput: For stored maps, for a run of norm-weighted attention, and for the statistic bias.
    """
    if not selection.valued:
        return
    name = selection.valued[0].name
    for reason, wrong in (
        ("stored maps hold weights only; give --model", options.attention is not None),
        ("--weights is 'norm'; leave --weights out", options.weights == "norm"),
        ("--statistic is 'bias'; leave --statistic out", options.statistic == "bias"),
    ):
        if wrong:
            raise BadInput(
                f"the sieve {name!r} compares the selectivity of attention with that of norm-weighted "
                f"attention, but {reason}, or leave the sieve out"
            )


def check_until(options: Options) -> None:
    """Refuse tests that hold for a fixed number of inputs only, where a run may stop.

    Raises:
        BadInput: For such a test.
    """
    if getattr(options, "until", None) is not None and options.test not in (None, BETTING):
        raise BadInput(
            f"a run with --until stops when its scores say so, and only the test {BETTING!r} holds then, but "
            f"got --test {options.test}; leave --test out, or leave --until out"
        )


def _check_path(selection: Selection, path: str) -> None:
    """Refuse sieves that need rows of weights where none are formed.

    Raises:
        BadInput: Naming the first of them.
    """
    scorers = [sieve.name for sieve in selection.scorers if not isinstance(sieve, SpreadScorer)]
    needing = [*scorers, *(sieve.name for sieve in selection.valued)]
    if path == FUSED and needing:
        names = ", ".join(map(repr, needing))
        raise BadInput(
            f"the fused path forms no rows of attention, but these sieves need them: {names}; leave --path "
            f"fused out, or name other sieves with --sieve"
        )


def check_sieves(options: Options) -> None:
    """Refuse sieves, data and a parser that do not exist, before anything is opened.

    A relation that no scheme has is refused here where only the parser of headroles can read the inputs.
    Where the test bets, sieves without stated bounds are refused here, unless workers may leave them out.

    Raises:
        UnknownName: For a sieve or relation that does not exist, with the nearest name.
        HeadrolesError: When a sieve breaks its contract or has no bounds, or the data cannot be read.
    """
    selection = selection_of_run(options)
    check_bounds(options.decision, selection.fitting(frozenset()).rules(options.margin))
    if "mentions" in selection.needs:
        return
    check_data(options)
    data = options.data if isinstance(options.data, str) else ""
    if options.attention is not None or file_format(data) == CONLLU_ENDING:
        return
    if options.parser is None:
        check_relations(named_relations(options.sieve), shipped_relations())
    elif selection.needs - COUNTED:
        check_parser(options.parser)


def check_data_relations(options: Options, corpus: Corpus) -> None:
    """Refuse relations that neither a scheme, nor the gold trees of the inputs, nor their parser has.

    The inputs are read only where no scheme has a relation. A parser that the options name is asked for its
    labels when it is loaded.

    Raises:
        UnknownName: For a relation that does not exist, with the nearest name.
    """
    wanted = unknown_relations(named_relations(options.sieve), shipped_relations())
    if not wanted:
        return
    found, parsed = set[str](), False
    for passage in corpus:
        parsed = parsed or passage.words is None
        found.update(*(words.relations for words in passage.words or ()))
    if not (parsed and options.parser is not None):
        check_relations(wanted, found)


def shipped_relations() -> tuple[str, ...]:
    """Return the relations that the parser of headroles knows."""
    facts = json.loads((resources.files("headroles") / "parser" / "meta.json").read_bytes())
    return tuple(facts["labels"]["parser"])
