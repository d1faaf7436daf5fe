"""The page of files and columns, made from the records that runs write.

``FOLDERS`` says in words what a file is for. Its columns and their meaning are the fields and documentation
of a record, so the page follows the code. ``tests/structure/test_reference.py`` compares it with runs.
"""

from dataclasses import dataclass

from headroles.records import (
    assessment,
    clusters,
    comparison,
    findings,
    kept_maps,
    probes,
    replication,
    surface,
)
from headroles.records.atlas import across, atlas
from headroles.records.causal import ablation, origins, pruning
from headroles.records.table import Table
from headroles.storage import folder as names

PLACE = (
    ("layer", "Position of the layer in the model, from 0; layers without attention count."),
    ("head", "Head in the layer, from 0."),
)
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
        record: Table that describes its columns; None where ``columns`` has them.
        columns: Columns with their meaning, of files without such a table.
    """

    name: str
    what: str
    row: str = ""
    record: Table | None = None
    columns: tuple[tuple[str, str], ...] = ()


EVERY = (
    File(names.REPORT, "The whole result on one page. It needs no network."),
    described(findings.FINDINGS),
    described(findings.labels_table(["*one for each sieve*"], shared=True)),
    described(assessment.PRECISION),
    described(assessment.SENSITIVITY),
    described(assessment.TOGETHER),
    described(assessment.SETS),
    described(assessment.DEPTH),
    described(assessment.SEVERAL),
    described(assessment.VALUES),
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
    described(kept_maps.TYPICAL_INPUTS),
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
    File(names.FIGURES, "A folder: figures that `headroles show RUN --figures` writes."),
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
    described(probes.BEST_HEADS),
    described(probes.BASELINES),
    described(probes.CONDITION_GAPS),
    described(probes.TRAINED_PROBES),
    described(probes.PROBE_CONTESTS),
    described(probes.PROBE_WEIGHTS),
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
    described(surface.LAYER_MEANS),
    described(surface.NO_OPS),
)
CLUSTER = (
    File(
        names.DIVERGENCE,
        "Arrays of numpy, without pickle: Jensen-Shannon divergence of all pairs of heads, per block of "
        "inputs and overall, standard errors, linkage, map.",
    ),
    described(clusters.HEAD_CLUSTERS),
    described(clusters.CHOICES),
    described(clusters.NEAR_HEADS),
    described(clusters.CLAIMS),
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
    described(origins.ORIGINS),
    described(origins.DIMENSION_TESTS),
    described(origins.KNOCKOUTS),
    File(
        names.PRODUCTS,
        "Roles that were asked about, parts of contrasts by unit and by reference unit, and scores before "
        "and after removals, as arrays.",
    ),
)
COMPARED = (
    described(comparison.DIFFERENCES),
    described(comparison.MOVED),
    described(comparison.LAYERS),
    described(comparison.SWAPS),
    File(names.REPORT, "The comparison on one page."),
    File(names.MANIFEST, "Both runs, settings, and SHA-256 of every other file."),
)
REPLICATED = (described(replication.REPLICATES),)
REMOVED = (
    File(f"{names.PRUNED_MODEL}/*", "The model without the removed heads, as `from_pretrained` reads it."),
    File(names.PRUNED, "The removed heads by layer, and the model that they were removed from."),
    File(names.CERTIFICATE, "What was certified, in sentences and numbers; what is gained; fresh inputs."),
    described(pruning.STEPS),
    File(names.PRUNE_UNITS, "Order of the heads, and damage of every set and test unit, as arrays."),
    File(names.REPORT, "The certificate on one page, with its curve."),
    File(names.MANIFEST, "Run, settings, versions, counts, and the SHA-256 of every file."),
)
CHARTED = (
    described(atlas.FINDINGS),
    described(across.CONSENSUS),
    described(across.TRENDS),
    described(atlas.AGREEMENT),
    described(atlas.SEVERAL_OF_RUNS),
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
    ("Replications", "`headroles compare --replicate` writes one table.", REPLICATED),
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
    return {column.name: column.meaning for column in file.record.columns}


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
