"""The page of files and columns, made from the records that runs write.

``FOLDERS`` says in words what a file is for. Its columns and their meaning are the fields and documentation
of a record, so the page follows the code. ``tests/cli/test_reference_pages.py`` compares it with runs.
"""

import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass, fields

from headroles.records import assessment, clusters, comparison, findings, probes, replication, surface
from headroles.storage import folder as names

HEADS = {
    "sieve": "Name of the sieve, probe row or statistic; contrasts have rows of their own.",
    "layer": "Layer, from 0.",
    "head": "Head in the layer, from 0.",
}
"""First columns of tables with a row per head."""


@dataclass(frozen=True, slots=True)
class File:
    """A file or folder of a finished run.

    Attributes:
        name: Its name in the folder.
        what: What it holds.
        row: What a row of it is; "" for files without columns.
        record: Record whose fields are its columns; None where ``columns`` has all of them.
        columns: Columns that no field of the record describes, with their meaning; they come first. Those
            with the name of a field replace its meaning, where the file says it in another way.
    """

    name: str
    what: str
    row: str = ""
    record: type | None = None
    columns: tuple[tuple[str, str], ...] = ()


HEAD = tuple(HEADS.items())
DECISION = (
    "decision",
    "`role`, `not`, `undetermined`, `untestable` or `explained`; empty on contrasts, which are part of a "
    "role. Explained: the score lies beyond θ, and the contrast below its margin. So what the contrast "
    "controls for, distance or position, explains the score.",
)
OUTCOME = ("outcome", "`changed`, `equivalent`, `undetermined` or `untestable`.")
EVERY = (
    File(names.REPORT, "The whole result on one page. It needs no network."),
    File(
        names.FINDINGS,
        "The outcome of every test.",
        "a sieve, layer and head",
        findings.Findings,
        (*HEAD, DECISION),
    ),
    File(
        names.LABELS,
        "The roles of every head.",
        "a head",
        None,
        (
            HEAD[1],
            HEAD[2],
            ("roles", "Names of its roles, joined by `;`; empty without a role."),
            ("*one for each sieve*", "1 role, 0 not; empty for every other verdict."),
            ("kv_group", "Only where heads share keys: the group of the head."),
        ),
    ),
    File(
        names.PRECISION,
        "Effect sizes, precision and stability.",
        "a sieve, layer and head",
        assessment.Precision,
        HEAD,
    ),
    File(
        names.SENSITIVITY, "Heads with a role under other conventions.", "a value", assessment.SensitivityRow
    ),
    File(names.TOGETHER, "Roles in pairs.", "a pair of roles", assessment.RoleOverlap),
    File(names.SETS, "Roles in exact sets.", "a set of roles", assessment.RoleSet),
    File(names.DEPTH, "Roles over the layers.", "a role", assessment.Depth),
    File(
        names.SEVERAL,
        "Roles of a head, by layer.",
        "a layer, all heads, or a difference",
        assessment.SeveralRoles,
    ),
    File(
        f"{names.SCORES}/part-*.parquet",
        "All scores. `headroles judge` decides again from these.",
        "an input",
        None,
        (
            ("example", "Name of the input."),
            ("group", "Its unit: inputs of one group count as one."),
            ("tokens", "Number of its tokens."),
            (
                "*one for each sieve*",
                "Layers × heads scores as float32, layer by layer; NaN: nothing to count.",
            ),
        ),
    ),
    File(
        names.EXAMPLES,
        "What the scores of an input rest on.",
        "an input",
        None,
        (
            ("example", "Name of the input."),
            ("cells:SIEVE", "Number of queries (or arcs) that counted."),
            ("null:SIEVE", "Chance value."),
        ),
    ),
    File(names.MOMENTS, "Sums over random groups of inputs, of runs with more than `--keep` inputs."),
    File(
        names.TYPICAL,
        "Typical inputs of heads.",
        "an input of a head",
        None,
        (
            ("sieve", "The role; empty for inputs of a head without a role."),
            HEAD[1],
            HEAD[2],
            ("rank", "Place among the inputs shown: the most typical first, then the least typical."),
            ("example", "Name of the input."),
            ("score", "Score of the head on it."),
            ("map", "Row of its attention in `maps.parquet`; empty where no map is kept."),
        ),
    ),
    File(
        names.SHOWN,
        "Tokens of the typical inputs. **This is text of your inputs.** `--maps 0` keeps none.",
        "an input",
        None,
        (
            ("example", "Name of the input."),
            ("tokens", "Its tokens."),
            ("segment", "Text of the pair that each token belongs to."),
            ("special", "Whether each token is a special token."),
            ("first", "Whether each token is the first piece of its word."),
            ("word", "Word of each token, from 0; −1 without a word."),
        ),
    ),
    File(
        names.MAPS,
        "Attention of heads on typical inputs.",
        "a map",
        None,
        (
            ("example", "Row of the input in `shown.parquet`."),
            HEAD[1],
            HEAD[2],
            ("weights", "Weights in steps of 1/255, compressed."),
        ),
    ),
    File(names.CELLS, "Which (query, key) cells each role counts on these inputs, as bits."),
    File(names.PLAN, "The settings that the run started with."),
    File(
        names.SHARDS, "A folder: receipts and further files of the shards. A stopped run goes on from them."
    ),
    File(names.FIGURES, "A folder: figures that `headroles report RUN --figures` writes."),
    File(
        names.EARLIER_RUN,
        "A folder: an earlier run, until the first shard of the run that replaces it is done.",
    ),
    File(
        names.MANIFEST,
        "Model with hash of its weights, inputs with hash, settings, versions, machine, command line, "
        "counts, what was left out, and SHA-256 of every other file. It is JSON.",
    ),
)
PROBES = (
    File(names.BEST, "The best head of every row.", "a relation or kind of mention", probes.BestHead),
    File(names.BASELINES, "Every baseline.", "a row of the probe and a baseline", probes.Baseline),
    File(
        names.CONDITIONS,
        "Gaps between two conditions, of WinoBias and GAP.",
        "a head and a gap",
        probes.ConditionGap,
    ),
    File(names.TRAINED, "Trained probes.", "a trained probe", probes.TrainedProbe),
    File(names.CONTESTS, "Paired tests between trained probes.", "a pair of probes", probes.ProbeComparison),
    File(names.WEIGHTS, "Weights of heads in trained probes.", "a probe and a head", probes.ProbeWeight),
    File(
        names.TALLIES,
        "Right answers of the baselines.",
        "an input",
        None,
        (
            ("example", "Name of the input."),
            ("hits:ROW", "Right answers of each baseline; the metadata of the file names the baselines."),
            ("items:ROW", "Number of questions."),
            ("lost:ROW", "Questions that could not be asked."),
        ),
    ),
)
SURFACE = (
    File(names.LAYERS, "Means of layers.", "a statistic and a layer", surface.LayerMean),
    File(names.NOOP, "Tests of attention that does not matter, with `--gradients`.", "a test", surface.NoOp),
)
CLUSTER = (
    File(
        names.DIVERGENCE,
        "Arrays of numpy, without pickle: Jensen-Shannon divergence of all pairs of heads, per block of "
        "inputs and overall, standard errors, linkage, map.",
    ),
    File(
        names.CLUSTERS,
        "The cluster of every head.",
        "a head",
        None,
        (
            HEAD[1],
            HEAD[2],
            ("cluster", "Number of its cluster, from 0."),
            ("silhouette", "Silhouette of the head, −1 to 1."),
            ("stability", "How often resampled inputs keep it with its cluster, 0 to 1."),
            ("x", "Place on the map."),
            ("y", "Place on the map."),
        ),
    ),
    File(names.CHOICES, "Numbers of clusters that were tried.", "a number of clusters", clusters.Choice),
    File(
        names.NEIGHBOURS,
        "The nearest heads of every head.",
        "a head and a near head",
        None,
        (
            HEAD[1],
            HEAD[2],
            ("rank", "1 for the nearest."),
            ("near_layer", "Layer of the near head."),
            ("near_head", "The near head in its layer."),
            ("distance", "Distance of the two."),
            ("low", "Lower end of its 95 % interval."),
            ("high", "Upper end."),
        ),
    ),
    File(names.CLAIMS, "Claims about heads together.", "a claim", clusters.Claim),
)
COMPARED = (
    File(
        names.DIFFERENCES,
        "Every head under both models.",
        "a sieve, layer and head",
        comparison.Differences,
        (*HEAD, OUTCOME),
    ),
    File(
        names.LABELS,
        "Roles gained and lost.",
        "a head",
        None,
        (
            HEAD[1],
            HEAD[2],
            ("roles_a", "Roles in run A, joined by `;`."),
            ("roles_b", "Roles in run B."),
            ("gained", "Roles in B alone."),
            ("lost", "Roles in A alone."),
        ),
    ),
    File(names.LAYERS, "Changes of every layer.", "a sieve and a layer", comparison.LayerChange),
    File(
        names.SWAPS,
        "Labels that change when the two models are swapped at random.",
        "a role",
        comparison.RoleChange,
    ),
    File(names.REPORT, "The comparison on one page."),
    File(names.MANIFEST, "Both runs, settings, and SHA-256 of every other file."),
)
REPLICATED = (
    File(
        "replicated.csv", "The table that `--out` names.", "a role of a head in run A", replication.Replicate
    ),
)
FOLDERS: tuple[tuple[str, str, tuple[File, ...]], ...] = (
    (
        "Every run",
        "`headroles label` writes these files. Runs of other kinds have those that apply to them.",
        EVERY,
    ),
    (
        "Runs of `headroles probe`",
        "They have these files, too. A file is there when it is not empty.",
        PROBES,
    ),
    ("Runs of `headroles surface`", "They have these files, too.", SURFACE),
    ("Runs of `headroles cluster`", "They have these files, too.", CLUSTER),
    ("Comparisons", "`headroles compare` writes a folder of its own.", COMPARED),
    ("Replications", "`headroles replicate` writes one table.", REPLICATED),
)
"""Kinds of folders: heading, what is said of all, files."""
START = """# Files and columns

This page lists every file of a run folder, and every column. `python -m headroles.cli.reference` makes it
from the records that runs write.

An empty cell of a CSV file means "there is no value", as NaN does in Python. θ is the threshold: chance plus
the margin. No file holds a pickle.

`headroles.load(FOLDER)` reads a folder of a run, and refuses one whose files do not match their hashes.
"""


def files_page() -> str:
    """Return the page with all files and columns."""
    parts = [START]
    for heading, words, files in FOLDERS:
        parts.append(f"## {heading}\n\n{words}\n\n| file | what |\n| --- | --- |")
        parts[-1] += "".join(f"\n| `{file.name}` | {_cell(file.what)} |" for file in files)
        parts += [_columns(file) for file in files if file.row]
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


def columns_of(file: File) -> dict[str, str]:
    """Return the columns of a file with their meaning, in their order."""
    if file.record is None:
        return dict(file.columns)
    described = dict(_attributes(file.record))
    written = [field.name for field in fields(file.record) if field.name != "rules"]
    own = dict(file.columns)
    first = {name: meaning for name, meaning in own.items() if name not in written}
    return first | {name: own.get(name, described[name]) for name in written}


def _columns(file: File) -> str:
    """Return the columns of a file as a folded table."""
    rows = "".join(
        f"\n| {name if name.startswith('*') else f'`{name}`'} | {_cell(meaning)} |"
        for name, meaning in columns_of(file).items()
    )
    table = f"| column | meaning |\n| --- | --- |{rows}"
    return f"### `{file.name}`\n\nA row is {file.row}.\n\n{table}"


def _attributes(record: type) -> Iterator[tuple[str, str]]:
    """Yield the attributes of a record and of its bases, with their documentation."""
    for kind in reversed(record.__mro__):
        lines = inspect.cleandoc(kind.__doc__ or "").partition("Attributes:\n")[2].partition("\n\n")[0]
        for name, text in re.findall(r"^    (\w+): (.*(?:\n {6,}.*)*)", lines, re.M):
            yield name, " ".join(text.split()).replace("``", "`")


def _cell(text: str) -> str:
    """Return text as the cell of a table."""
    return text.replace("|", "\\|")
