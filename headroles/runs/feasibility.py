"""Say what so few inputs cannot decide, before a model is loaded: units are counted from the inputs alone.

The count is an upper bound: inputs that a tokenizer reads alike are one unit later on, and roles that few
inputs have rest on fewer.
"""

from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headroles.errors import HeadrolesError
from headroles.inputs.corpora import Corpus
from headroles.kinds import kind_named
from headroles.options.causal.held import AsksRoles
from headroles.options.run import CommonOptions
from headroles.records.causal.ablation import ENOUGH_FOR_LITTLE, FEWEST_UNITS
from headroles.records.numbers import plural
from headroles.runs.held.labels import SAME_INPUTS
from headroles.stats.decision import ENOUGH_FOR_NOT
from headroles.storage.folder import MANIFEST, read_manifest

FEWEST_SWAPPED = 6
"""Units below which swaps of two runs have no p of at most 0.05: 2^n swaps come in pairs of equal counts."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question of a command that needs a number of units.

    Attributes:
        commands: The commands that ask it.
        open: What cannot be said without these units, as the start of a sentence.
        fewest: The smallest number of units that decides it.
        part: Which units count, by the names of ``PARTS``.
    """

    commands: tuple[str, ...]
    open: str
    fewest: int
    part: str = "all"


PARTS: Mapping[str, Callable[[int, bool], int]] = {
    "all": lambda units, halved: units,
    "tested": lambda units, halved: units - units // 2,
    "asked": lambda units, halved: units - units // 2 * halved,
    "measured": lambda units, halved: (units - units // 2 * halved) // 2,
}
"""Units of a part, by the number of all and whether one half of them decides roles: of all, of the half that
tests what the other half chose, of those that decide no role, and of one half of the latter."""
QUESTIONS = (
    Question(("label", "cluster"), "no head can get a role", FEWEST_UNITS),
    Question(("label", "cluster"), "no head can be called “not”", ENOUGH_FOR_NOT),
    Question(("probe",), "no head can be called beyond its baselines", FEWEST_UNITS),
    Question(("probe",), "no best head can be tested", FEWEST_UNITS, "tested"),
    Question(("probe",), "no head can be called “not”", ENOUGH_FOR_NOT),
    Question(("ablate",), "no head can be called needed", FEWEST_UNITS),
    Question(("ablate",), "no question about roles can be decided", FEWEST_UNITS, "asked"),
    Question(("ablate",), "nothing can be called negligible", ENOUGH_FOR_LITTLE),
    Question(("ablate",), "no role can be shown to do no damage", ENOUGH_FOR_LITTLE, "asked"),
    Question(("ablate",), "headroles prune gives no certificate", ENOUGH_FOR_LITTLE, "tested"),
    Question(("why",), "nothing can be decided about queries and keys", FEWEST_UNITS, "measured"),
    Question(("compare",), "no roles can be shown gained or lost", FEWEST_SWAPPED),
    Question(("compare",), "no score can be called changed or equivalent", ENOUGH_FOR_LITTLE),
)
"""What each command asks, and the fewest units that can decide it. ``prune`` refuses fewer units itself."""


@dataclass(frozen=True, slots=True)
class Outlook:
    """What the inputs of a command cannot decide.

    Attributes:
        line: All of it in one line.
        hopeless: Whether no question of the command can be decided.
    """

    line: str
    hopeless: bool


def outlook_of(
    command: str, units: int, inputs: int | None = None, *, halved: bool | None = None, released: bool = False
) -> Outlook | None:
    """Return what so many units cannot decide; None where they can decide every question of a command.

    Args:
        command: Name of the command.
        units: Number of units at most.
        inputs: Number of inputs; None where it is not known.
        halved: Whether one half of the units decides roles; None where no roles are asked about.
        released: Whether the test is the released one, which labels heads from 2 units on.

    Example:
        >>> outlook_of("ablate", 60, 60).line.partition(";")[0]
        '60 inputs: nothing can be called negligible below 75'
        >>> outlook_of("why", 60, 60, halved=True)
        Outlook(line='60 inputs: nothing can be decided about queries and keys below 79.', hopeless=True)
    """
    asked = [
        question
        for question in QUESTIONS
        if command in question.commands
        and (halved is not None or question.part in ("all", "tested"))
        and not (released and question.fewest == FEWEST_UNITS)
    ]
    open_ = [question for question in asked if PARTS[question.part](units, bool(halved)) < question.fewest]
    if not open_:
        return None
    words = [
        f"{question.open} below "
        f"{next(n for n in range(10**6) if PARTS[question.part](n, bool(halved)) >= question.fewest)}"
        for question in open_
    ]
    counted = plural(units, "input" if inputs == units else "unit")
    if inputs not in (None, units):
        counted += f" in {plural(inputs or 0, 'input')}"
    return Outlook(f"{counted}: {'; '.join(words)}.", len(open_) == len(asked))


def outlook(options: CommonOptions) -> Outlook | None:
    """Return what the inputs of a run cannot decide; None where they can decide every question.

    The inputs are read until there are units enough for every question. No model is loaded. The run itself
    refuses inputs that cannot be used, so nothing is said of them here.
    """
    if not any(options.KIND in question.commands for question in QUESTIONS):
        return None
    try:
        with closing(kind_named(options.KIND).read_corpus(options)) as corpus:
            units, inputs = _count_units(corpus)
    except HeadrolesError:
        return None
    halved = None
    if isinstance(options, AsksRoles) and options.roles is not None:
        stored, own = read_manifest(Path(options.roles), MANIFEST).get("settings") or {}, options.settings()
        halved = all(stored.get(name) == own[name] for name in SAME_INPUTS)
    return outlook_of(
        options.KIND, units, inputs, halved=halved, released=options.decision.test == "t-published"
    )


def _count_units(corpus: Corpus) -> tuple[int, int]:
    """Return the numbers of units and inputs, at most about as many as any question needs."""
    most, units, inputs = 4 * ENOUGH_FOR_LITTLE, set[Any](), 0
    if corpus.units is not None:
        return len({*corpus.units}), len(corpus.units)
    for passage in corpus:
        inputs += 1
        units.add(passage.group or passage.texts)
        if len(units) >= most:
            break
    return len(units), inputs


def outlook_of_runs(first: str, second: str) -> Outlook | None:
    """Return what a comparison of two runs cannot decide, by the smaller number of their units.

    Args:
        first: Folder of run A; an address is not read.
        second: Folder of run B.
    """
    manifests = [read_manifest(Path(folder), MANIFEST) for folder in (first, second)]
    units = [(manifest.get("counts") or {}).get("units") for manifest in manifests]
    counts = [number for number in units if isinstance(number, int)]
    return outlook_of("compare", min(counts)) if len(counts) == len(units) else None
