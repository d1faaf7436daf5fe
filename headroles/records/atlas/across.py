"""Tables of an atlas about one head in many runs: in how many it has a role, and from which step on."""

from headroles.records.assessment import SIEVE
from headroles.records.numbers import mean
from headroles.records.table import COUNT, ENDS, HEAD, LAYER, SHARE, Cell, Column, Row, Table, chance, counted

CONSENSUS = Table(
    "consensus.csv", "In how many runs a head has a role, and its pooled mean",
    "a group of runs, a role and a head",
    (
        Column("group", "The group: runs of one model by one rule.", str, "rule"), SIEVE, LAYER, HEAD,
        counted("runs", "Runs that could test the head, k.", "runs"),
        counted("held", "Runs that gave it the role, each by its own correction.", "labelled in"),
        counted("at_least", "Largest u such that \"a role in at least u of the runs\" holds by its test, "
               "corrected over the heads of the role at each u; 0 for none.", "at least"),
        chance("p_all", "p of \"a role in fewer than all k runs\"."),
        chance("q_all", "The same, corrected.", "q of all"),
        Column("combination", "How p of runs are combined: `fisher` for runs that share no input, else "
               "`bonferroni`.", str, words=("fisher", "bonferroni")),
        chance("r", "Replicability of two runs in both directions: the smallest level at which the head has "
               "the role in both populations; NaN for other numbers of runs, and for runs that share inputs.",
               "r value"),
        Column("mean", "Mean score over the population of runs, by random effects; NaN below five runs, and "
               "for runs that share inputs.", float, f"pooled mean {ENDS}", mean, ("low", "high")),
        Column("low", "Lower end of its 95 % interval."), Column("high", "Upper end."),
        Column("next_low", "Lower end of the 95 % prediction interval of the mean in one more run."),
        Column("next_high", "Upper end."),
        Column("between", "Standard deviation of the true means between runs.", within=COUNT),
        Column("heterogeneity", "I², the part of the variance of means that is not sampling error.",
               within=SHARE),
    ),
    name="Consensus", first=("sieve", "group"), note="No row unless two runs have one model and rule.",
)  # fmt: skip


def _named(step: str) -> str:
    return step or "–"


def _emerged(row: Row) -> Cell:
    """Return the interval of the step from which a role holds, in words.

    Example:
        >>> _emerged(Row(earliest="b", latest="c")).text, _emerged(Row(earliest="", latest="c")).text
        ('b to c', 'by c')
    """
    text = f"{row.earliest} to {row.latest}" if row.earliest else f"by {row.latest}"
    if not row.latest:
        text = f"{row.earliest} or later" if row.earliest else "–"
    return Cell(text, text)


TRENDS = Table(
    "trends.csv", "Trends and first steps of a training", "a role and a head",
    (
        SIEVE, LAYER, HEAD,
        Column("slope", "Mean change of the score from one step to the next.", float, f"change a step {ENDS}",
               mean, ("low", "high")),
        Column("low", "Lower end of its 95 % interval."), Column("high", "Upper end."),
        chance("p", "Two-sided p of no change."),
        chance("q", "`p` corrected over the heads of the role.", "q"),
        Column("trend", "`rises`, `falls` or `undetermined`; `untestable` without two units.", str, "trend",
               words=("rises", "falls", "undetermined", "untestable")),
        Column("emerged", "Name of the first run from which the head has the role until the last; empty "
               "where the last run does not give it.", str, "holds from", _named),
        Column("earliest", "First run in the 95 % interval of the true step; empty where the interval has no "
               "lower end.", str, f"from {ENDS}", cell=_emerged),
        Column("latest", "Last run in it; empty where the last run does not show the role at half the level.",
               str),
        Column("lost", "Name of the first run from which a head that had the role has it no more; empty for "
               "none.", str, "lost at", _named),
    ),
    name="Steps of the training", note="Without a row unless `--steps` was given.",
)  # fmt: skip
