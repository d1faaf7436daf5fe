"""The page of files and columns, made from the records that runs write.

``FOLDERS`` says in words what a file is for. Its columns and their meaning are the fields and documentation
of a record, so the page follows the code. ``tests/structure/test_reference.py`` compares it with runs.
"""

from dataclasses import dataclass, fields

from headroles.records import assessment, clusters, comparison, findings, probes, replication, surface
from headroles.records.atlas import across, atlas
from headroles.records.causal import ablation, origins, pruning
from headroles.records.shown.meanings import field_meanings
from headroles.records.table import Table
from headroles.sharing.atlas_schema import FINDING_COLUMNS
from headroles.storage import folder as names

HEADS = {
    "sieve": "Name of the sieve, probe row or statistic; contrasts have rows of their own.",
    "layer": "Position of the layer in the model, from 0; layers without attention count.",
    "head": "Head in the layer, from 0.",
}
"""First columns of tables with a row per head."""


def described(table: Table) -> "File":
    """Return the file of a table."""
    return File(table.file, f"{table.title}. {table.note}".strip(), table.row, table)


@dataclass(frozen=True, slots=True)
class File:
    """A file or folder of a finished run.

    Attributes:
        name: Its name in the folder.
        what: What it holds.
        row: What a row of it is; "" for files without columns.
        record: Table or record that describes its columns; None where ``columns`` has all of them.
        columns: Columns that no field of the record describes, with their meaning; they come first. Those
            with the name of a field replace its meaning, where the file says it in another way.
    """

    name: str
    what: str
    row: str = ""
    record: type | Table | None = None
    columns: tuple[tuple[str, str], ...] = ()


HEAD = tuple(HEADS.items())
PLACE = HEAD[1:]
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
            *PLACE,
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
        names.VALUES,
        "Scores by attention and by norm-weighted attention; only with a sieve such as `parked`.",
        "a role, layer and head",
        assessment.ValueDrop,
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
            *PLACE,
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
            *PLACE,
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
            *PLACE,
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
            *PLACE,
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
ABLATED = (
    *map(
        described,
        (
            ablation.HEAD_DAMAGE,
            ablation.ROLE_TESTS,
            ablation.SITE_TESTS,
            ablation.CELL_TESTS,
            ablation.SET_TESTS,
            ablation.MARGIN_ROWS,
        ),
    ),
    File(names.HELD, "Roles that were asked about: decisions, scores and units that decided, as arrays."),
    File(names.HEAD_SETS, "Sets of heads that were taken out together, and their damage, as arrays."),
)
ASKED = (
    File(
        names.ORIGINS,
        "What the contrast of a role consists of. These tests have the error of the mean query in them; "
        "those of `findings.csv` do not.",
        "a role of a head",
        origins.Origin,
    ),
    File(
        names.DIMENSIONS,
        "Parts of the contrast by dimension, or by frequency pair.",
        "a role of a head and a dimension",
        origins.DimensionTest,
    ),
    File(
        names.KNOCKOUTS,
        "Scores after directions were removed from queries.",
        "a removal and a scored role",
        origins.KnockOut,
    ),
    File(
        names.PRODUCTS,
        "Roles that were asked about, parts of contrasts by unit and by reference unit, and scores before "
        "and after removals, as arrays.",
    ),
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
            *PLACE,
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
REMOVED = (
    File(f"{names.PRUNED_MODEL}/*", "The model without the removed heads, as `from_pretrained` reads it."),
    File(names.PRUNED, "The removed heads by layer, and the model that they were removed from."),
    File(names.CERTIFICATE, "What was certified, in sentences and numbers; what is gained; fresh inputs."),
    File(names.STEPS, "Sets of heads that were removed, and their tests.", "a set", pruning.PruneStep),
    File(names.PRUNE_UNITS, "Order of the heads, and damage of every set and test unit, as arrays."),
    File(names.REPORT, "The certificate on one page, with its curve."),
    File(names.MANIFEST, "Run, settings, versions, counts, and the SHA-256 of every file."),
)
RUN_OF_ATLAS = ("run", "Name of the run, as in the manifest.")
CHARTED = (
    File(
        names.FINDINGS,
        "Every role, layer and head of every run.",
        "a run, role, layer and head",
        None,
        tuple((name, meaning) for name, (_, meaning) in FINDING_COLUMNS.items()),
    ),
    File(
        names.CONSENSUS,
        "In how many runs a head has a role, and its pooled mean. No row unless two runs have one model and "
        "rule.",
        "a group of runs, a role and a head",
        across.Consensus,
    ),
    File(
        names.TRENDS,
        "Trends and first steps of a training. Without a row unless `--steps` was given.",
        "a role and a head",
        across.StepTrend,
    ),
    File(names.AGREEMENT, "Agreement of labels.", "a role and a pair of runs, or a mean", atlas.Agreement),
    File(
        names.SEVERAL,
        "Roles of a head, by layer.",
        "a run, and a layer, all heads, or a difference",
        assessment.SeveralRoles,
        (RUN_OF_ATLAS,),
    ),
    File(names.REPORT, "All runs on one page."),
    File(names.MANIFEST, "The runs with their inputs and models, and SHA-256 of every other file."),
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
    (
        "Runs of `headroles ablate`",
        "They have these files, too. Those of roles are there when `--roles` names a label run.",
        ABLATED,
    ),
    (
        "Runs of `headroles why`",
        "They have these files, too. That of scores after removals is there when something was removed.",
        ASKED,
    ),
    ("Comparisons", "`headroles compare` writes a folder of its own.", COMPARED),
    ("Atlases", "`headroles atlas` writes a folder of its own.", CHARTED),
    ("Pruned models", "`headroles prune` writes a folder of its own.", REMOVED),
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
    if isinstance(file.record, Table):
        return {column.name: column.meaning for column in file.record.columns}
    if file.record is None:
        return dict(file.columns)
    described = field_meanings(file.record)
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


def _cell(text: str) -> str:
    """Return text as the cell of a table."""
    return text.replace("|", "\\|")
