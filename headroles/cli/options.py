"""Options of all commands, named like the keywords of the functions they call."""

from collections.abc import Callable
from typing import Any

import click


def option(name: str, kind: Any, text: str, **settings: Any) -> Callable[[Any], Any]:
    """Make an option from its name, type and help text."""
    return click.option(f"--{name}", type=kind, help=text, **settings)


Options = tuple[Callable[[Any], Any], ...]


def with_options(options: Options) -> Callable[[Any], Any]:
    """Return a decorator that adds options to a command, in their order."""

    def apply(command: Any) -> Any:
        for add_option in reversed(options):
            command = add_option(command)
        return command

    return apply


def _margin(usual: str) -> Any:
    """Make the option --margin with its usual value."""
    return option(
        "margin", float, f"How far above chance a score must be, for every sieve.  [default: {usual}]"
    )


def _decision(test: str) -> Options:
    """Make the options for judging scores; the usual test depends on the kind of run."""
    return (
        option(
            "alpha", float, "Level of both corrections, for false roles and for false nots.  [default: 0.05]"
        ),
        option("test", str, f"t-skew, t, bootstrap-t, sign-flip, wilcoxon or sign.  [default: {test}]"),
        option(
            "correction",
            str,
            "fdr_bh, fdr_by, fdr_tsbh, holm, holm-sidak, bonferroni, sidak, maxT or none.  [default: fdr_bh]",
        ),
        option("family", str, "Tests corrected together: of a sieve, run, or layer.  [default: sieve]"),
        option("resamples", int, "Draws of resampling tests, maxT and bca.  [default: 10000]"),
        option("resample-seed", int, "Seed of these draws and of the half-samples.  [default: 0]"),
        option(
            "interval", str, "95 % interval of the mean: test (as in the test), t or bca.  [default: test]"
        ),
        option("splits", int, "Random half-samples for the stability; 0 for none.  [default: 200]"),
        click.option(
            "--bayes/--no-bayes",
            default=None,
            help="Bayes factor of a point null for every head.  [default: no]",
        ),
    )


def folder(default: str) -> Options:
    """Make the options for the folder of a run."""
    return (
        option("out", str, f"Run folder, or an address such as s3://bucket/run.  [default: {default}]"),
        click.option("--overwrite", is_flag=True, help="Replace a run with other settings."),
    )


DECISION = (_margin("each sieve's own"), *_decision("t-skew"))

INPUTS = (
    option("task", str, "QNLI, QQP, MRPC or SST-2, in any case."),
    option("model", str, "A folder or a name on the hub.  [default: the embedded MiniLM encoder]"),
    option("revision", str, "Branch, tag or commit of a model on the hub."),
    option(
        "source", str, "Inputs of the task: sample (shipped) or hub.", default="sample", show_default=True
    ),
    option(
        "data",
        str,
        "Your inputs: .tsv, .csv, .json, .jsonl, .conllu (.gz too) or .parquet; a folder or pattern of them.",
    ),
    option("text-a", str, "Column of --data with the text."),
    option("text-b", str, "Column with the second text of a pair."),
    option("group", str, "Column with the document or paragraph, which becomes the unit."),
    option("limit", int, "A random subset of this many inputs."),
    option("first", int, "Only this many inputs, the first ones."),
    option("seed", int, "Seed of that subset.", default=0, show_default=True),
    option("device", str, "auto, cpu, cuda or mps.", default="auto", show_default=True),
    option("dtype", str, "float32, bfloat16 or float16.", default="float32", show_default=True),
    option("batch-size", int, "Largest batch.", default=32, show_default=True),
    option(
        "max-length", int, "Longest input in tokens; longer inputs are cut.", default=128, show_default=True
    ),
    option("kind", str, "Attention of an encoder-decoder: encoder, decoder or cross.  [default: encoder]"),
    click.option(
        "--stream",
        is_flag=True,
        help="Read inputs in order, without counting or fetching them first; not with --limit.",
    ),
)
"""Options for the inputs and the model."""

SIEVES = (
    option(
        "sieve",
        str,
        "A sieve or a group of sieves; may be repeated.  [default: all built-in sieves]",
        multiple=True,
    ),
    option("preset", str, "calibrated or published.", default="calibrated", show_default=True),
    option("statistic", str, "selectivity or bias.", default="selectivity", show_default=True),
    option("parser", str, "An installed spaCy pipeline or its path.  [default: the one shipped]"),
    option("vectors", str, "Word vectors as text, such as GloVe's, for related:other."),
    option(
        "maps",
        int,
        "Largest number of attention maps kept for head cards, with the tokens of their inputs; with 0, no "
        "text of the inputs is in the folder or the report.",
        default=1000,
        show_default=True,
    ),
)


CACHE = (option("cache", str, "Folder for stored parses, or none.  [default: in the user's cache folder]"),)

CORPORA = (
    option(
        "keep",
        int,
        "Largest number of examples with all scores kept; of more, moments and a random subsample.",
        default=100_000,
        show_default=True,
    ),
)
"""Options for corpora of any size, which only label has."""

SHARDS = (
    option("attention", str, "Read the maps stored in this file (.npz, .safetensors); no model is run."),
    option(
        "shard-size", int, "Examples per shard, scored and written together.", default=256, show_default=True
    ),
    option("workers", int, "Processes that score shards in parallel.", default=1, show_default=True),
    option("threads", int, "Threads of each worker.  [default: the processors, shared among workers]"),
    option("engine", str, "local or ray.", default="local", show_default=True),
    option(
        "address", str, "Address of a Ray cluster.  [default: RAY_ADDRESS, else a new Ray on this machine]"
    ),
    option("gpus", float, "GPUs of each worker; for Ray.", default=0.0, show_default=True),
)
"""Options for stored maps, for shards, and for the processes that score them."""

LABEL = (
    *INPUTS,
    *SIEVES,
    *CACHE,
    *CORPORA,
    *SHARDS,
    *DECISION,
    *folder("runs/<task>-<model>"),
)

CLUSTER = (
    option("divergence", str, "mean, or published (summed, smoothed).", default="mean", show_default=True),
    option(
        "smoothing", float, "Share of even attention mixed into every row.  [default: 0; published: 0.001]"
    ),
    option("method", str, "average (linkage), spectral or dbscan.", default="average", show_default=True),
    option("clusters", int, "Number of clusters.  [default: chosen by silhouette and stability]"),
    option("draws", int, "Resamples of the units.", default=200, show_default=True),
    *INPUTS,
    *SIEVES,
    *CACHE,
    *SHARDS,
    *DECISION,
    *folder("runs/cluster-<task>-<model>"),
)

SURFACE = (
    click.option("--gradients", is_flag=True, help="Measure how much the loss depends on attention; slow."),
    option("label", str, "Column of --data with the class, for losses of classifiers."),
    option(
        "mask",
        float,
        "Share of tokens masked, drawn with --seed; for losses of masked words.",
        default=0.15,
        show_default=True,
    ),
    option("marks", str, "Punctuation marks.", default=".,", show_default=True),
    *INPUTS,
    option("preset", str, "calibrated, or published (as released).", default="calibrated", show_default=True),
    *SHARDS,
    *_decision("t-skew"),
    *folder("runs/surface-<task>-<model>"),
)

UNLABELED = (
    option("out", str, "JSON-lines file to write.", required=True),
    click.option("--overwrite", is_flag=True, help="Replace an existing file."),
    option("model", str, "Model whose tokenizer counts the tokens.  [default: the embedded MiniLM encoder]"),
    option("revision", str, "Branch, tag or commit of a model on the hub."),
    option(
        "max-length", int, "Longest input in tokens, special tokens included.", default=128, show_default=True
    ),
    option("limit", int, "A random subset of this many pairs."),
    option("first", int, "Only this many pairs, the first ones."),
    option("seed", int, "Seed of the splits and of the subset.", default=0, show_default=True),
)

DEPPARSE = (
    option("out", str, "JSON-lines file to write.", required=True),
    click.option("--overwrite", is_flag=True, help="Replace an existing file."),
    option("layout", str, "conllu, words, table or text.  [default: detected from the file]"),
    option("text-a", str, "Column of a table with the text."),
    option("text-b", str, "Column with a second text of the same document."),
    option("group", str, "Column with the document that a row belongs to."),
    option("parser", str, "An installed spaCy pipeline or its path.  [default: the one shipped]"),
    option("cache", str, "Folder for stored parses, or none.  [default: in the user's cache folder]"),
    option("limit", int, "A random subset of this many documents."),
    option("first", int, "Only this many documents, the first ones."),
    option("seed", int, "Seed of that subset.", default=0, show_default=True),
)

VIEW = (
    option("attention", str, "A file of stored maps to show instead of a model's."),
    option("example", str, "Key or number (from 0) of the example of stored maps.  [default: the first]"),
    option("model", str, "A folder or a name on the hub.  [default: the embedded MiniLM encoder]"),
    option("revision", str, "Branch, tag or commit of a model on the hub."),
    option("show", str, "View that opens first: head, model or neuron.", default="head", show_default=True),
    option("layers", str, "Layers such as 0,2-4, counted from 0.  [default: all]"),
    option("heads", str, "Heads such as 0-3, counted from 0.  [default: all]"),
    option("max-length", int, "Longest input in tokens.", default=512, show_default=True),
    option("device", str, "auto, cpu, cuda or mps.", default="auto", show_default=True),
    option("dtype", str, "float32, bfloat16 or float16.", default="float32", show_default=True),
    option("out", str, "HTML file to write.  [default: view.html, or none with --svg]"),
    option("svg", str, "SVG file to write: the heads of one layer, which --layers names."),
    option("kind", str, "Attention of an encoder-decoder in the SVG: encoder, decoder or cross."),
)

AS_A = "  [default: as in DIR_A]"
COMPARE = (
    option("bound", float, "Largest difference that counts as none.", default=0.05, show_default=True),
    option("swaps", int, "Random swaps of A and B; 0 for none.", default=1000, show_default=True),
    option("alpha", float, "Level of every correction." + AS_A),
    option("test", str, "A test, as for judge." + AS_A),
    option("correction", str, "A correction, as for judge." + AS_A),
    option("family", str, "Tests corrected together." + AS_A),
    option("resamples", int, "Draws of resampling tests, maxT and bca." + AS_A),
    option("resample-seed", int, "Seed of these draws and of the swaps." + AS_A),
    option("interval", str, "95 % interval of the difference: test, t or bca." + AS_A),
    option("out", str, "Folder to write.  [default: compare/<name of A>-<name of B>]"),
    click.option("--overwrite", is_flag=True, help="Replace a comparison with other settings."),
)

REPLICATE = (
    option("correction", str, "A correction of B over the roles of A, as for judge." + AS_A),
    option("out", str, "CSV file to write, one row per role of A.  [default: none]"),
)

PROBE = (
    option("data", str, "Gold annotation; may be repeated (GAP, WinoBias pro and anti).", multiple=True),
    option(
        "layout", str, "conllu, words, conll2012, gap, winobias or jsonl.  [default: detected from the file]"
    ),
    option(
        "relations",
        str,
        "A relation with a row of its own, or several joined by commas.  [default: all frequent]",
        multiple=True,
    ),
    option("scheme", str, "Scheme of relation names: ud or clearnlp.", default="ud", show_default=True),
    option("root", str, "Root of directed trees: found or given.", default="found", show_default=True),
    option(
        "max-length", int, "Longest input in tokens; longer documents are cut into windows.  [default: 256]"
    ),
    option("stride", int, "Fewest tokens between windows of a document.  [default: half a window]"),
    option(
        "classifier",
        str,
        "Probe to train: attention, attention+words, distances+words; may be repeated.",
        multiple=True,
    ),
    option("train", str, "File of trees to train on."),
    option("kind", str, "Attention of an encoder-decoder: encoder, the only one that reads one text."),
    option("vectors", str, "Word vectors as text, such as GloVe's, for classifiers with words."),
    option("epochs", int, "Largest number of passes over the training data.", default=100, show_default=True),
    option(
        "minutes", float, "Time limit in minutes for all training together; each probe may then stop early."
    ),
    option("model", str, "A folder or a name on the hub.  [default: the embedded MiniLM encoder]"),
    option("revision", str, "Branch, tag or commit of a model on the hub."),
    option("limit", int, "A random subset of this many documents."),
    option("first", int, "Only this many documents, the first ones."),
    option("seed", int, "Seed of that subset, of the halves and of training.", default=0, show_default=True),
    option(
        "preset",
        str,
        "calibrated, or published (counted like the released code).",
        default="calibrated",
        show_default=True,
    ),
    _margin("0.05"),
    *_decision("t"),
    option("device", str, "auto, cpu, cuda or mps.", default="auto", show_default=True),
    option("dtype", str, "float32, bfloat16 or float16.", default="float32", show_default=True),
    option("batch-size", int, "Largest batch.", default=32, show_default=True),
    *SHARDS,
    *folder("runs/<probes>-<data>-<model>"),
)
