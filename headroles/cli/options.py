"""The options of the commands, with the names of the keywords they set.

The options of runs in shards, and of what reads texts as they do.
"""

from collections.abc import Callable
from typing import Any

import click


def option(name: str, kind: Any, text: str, **more: Any) -> Callable[[Any], Any]:
    return click.option(f"--{name}", type=kind, help=text, **more)


Options = tuple[Callable[[Any], Any], ...]


def _margin(usual: str) -> Any:
    return option("margin", float, f"How far beyond chance counts, for every sieve.  [default: {usual}]")


def _decision(test: str) -> Options:
    """How scores are judged; the usual test is that of the kind of run."""
    return (
        option("alpha", float, "Level of both corrections: false roles, and false nots.  [default: 0.05]"),
        option("test", str, f"t-skew, t, bootstrap-t, sign-flip, wilcoxon or sign.  [default: {test}]"),
        option(
            "correction",
            str,
            "fdr_bh, fdr_by, fdr_tsbh, holm, holm-sidak, bonferroni, sidak, maxT or none.  [default: fdr_bh]",
        ),
        option("family", str, "Tests corrected together: of a sieve, run, or layer.  [default: sieve]"),
        option("resamples", int, "Draws of resampling tests, maxT and bca.  [default: 10000]"),
        option("resample-seed", int, "Seed of those draws and of the half-samples.  [default: 0]"),
        option(
            "interval", str, "95 % interval of the mean: test (that of the test), t or bca.  [default: test]"
        ),
        option("splits", int, "Random half-samples behind the stability; 0 for none.  [default: 200]"),
        click.option(
            "--bayes/--no-bayes",
            default=None,
            help="Bayes factor of a point null for every head.  [default: no]",
        ),
    )


DECISION = (_margin("each sieve's own"), *_decision("t-skew"))

INPUTS = (
    option("task", str, "QNLI, QQP, MRPC or SST-2."),
    option("model", str, "A folder or a name on the hub.  [default: the embedded MiniLM encoder]"),
    option("revision", str, "Branch, tag or commit of a model on the hub."),
    option(
        "source", str, "Inputs of the task: sample (shipped) or hub.", default="sample", show_default=True
    ),
    option(
        "data",
        str,
        "Your inputs: .tsv, .csv, .jsonl or .conllu (.gz too) or .parquet; or a folder or pattern of tables.",
    ),
    option("text-a", str, "Column of --data with the text."),
    option("text-b", str, "Column with the second text of a pair."),
    option("group", str, "Column with the document or paragraph, which is then the unit."),
    option("limit", int, "A random subset of this many inputs."),
    option("seed", int, "Seed of that subset.", default=0, show_default=True),
    option("device", str, "auto, cpu, cuda or mps.", default="auto", show_default=True),
    option("dtype", str, "float32, bfloat16 or float16.", default="float32", show_default=True),
    option("batch-size", int, "Largest batch.", default=32, show_default=True),
    option(
        "max-length", int, "Longest input in tokens; longer ones are cut.", default=128, show_default=True
    ),
)
"""Which inputs and which model."""

SIEVES = (
    option("sieve", str, "A sieve or a group of them; may be repeated.  [default: built in]", multiple=True),
    option("preset", str, "calibrated or published.", default="calibrated", show_default=True),
    option("statistic", str, "selectivity or bias.", default="selectivity", show_default=True),
    option("parser", str, "An installed spaCy pipeline or its path.  [default: the one shipped]"),
    option("vectors", str, "Word vectors as text, such as GloVe's, for related:other."),
    option(
        "maps",
        int,
        "Most attention maps kept for head cards, with the tokens of their inputs; 0 keeps none, and then no "
        "text of the inputs is in the folder or the report.",
        default=1000,
        show_default=True,
    ),
)


def folder(default: str, what: str = "Run folder") -> Options:
    """Where a run is written."""
    return (
        option("out", str, f"{what}.  [default: {default}]"),
        click.option("--overwrite", is_flag=True, help="Replace a run with other settings."),
    )


CLUSTER = (
    option("divergence", str, "mean, or published (summed, smoothed).", default="mean", show_default=True),
    option("smoothing", float, "Share of even attention in every row.  [default: 0; published: 0.001]"),
    option("method", str, "average (linkage), spectral or dbscan.", default="average", show_default=True),
    option("clusters", int, "Their number.  [default: by silhouette and stability]"),
    option("draws", int, "Resamples of the units.", default=200, show_default=True),
    *INPUTS,
    *SIEVES,
    *DECISION,
    *folder("runs/cluster-<task>-<model>"),
)

SURFACE = (
    click.option("--gradients", is_flag=True, help="How much the loss depends on attention; slow."),
    option("label", str, "Column of --data with the class, for losses of classifiers."),
    option(
        "mask",
        float,
        "Share of tokens masked, drawn by --seed, for losses of masked words.",
        default=0.15,
        show_default=True,
    ),
    option("marks", str, "Punctuation marks.", default=".,", show_default=True),
    *INPUTS,
    option("preset", str, "calibrated, or published (as released).", default="calibrated", show_default=True),
    *_decision("t-skew"),
    *folder("runs/surface-<task>-<model>"),
)

UNLABELED = (
    option("out", str, "JSON-lines file to write.", required=True),
    click.option("--overwrite", is_flag=True, help="Replace a file that is there."),
    option("model", str, "Whose tokenizer counts.  [default: the embedded MiniLM encoder]"),
    option("revision", str, "Branch, tag or commit of a model on the hub."),
    option("max-length", int, "Longest input, special tokens included.", default=128, show_default=True),
    option("limit", int, "A random subset of this many pairs."),
    option("seed", int, "Seed of splits and subset.", default=0, show_default=True),
)


VIEW = (
    option("model", str, "A folder or a name on the hub.  [default: the embedded MiniLM encoder]"),
    option("revision", str, "Branch, tag or commit of a model on the hub."),
    option("show", str, "What opens first: head, model or neuron.", default="head", show_default=True),
    option("layers", str, "Such as 0,2-4, from 0.  [default: all]"),
    option("heads", str, "Such as 0-3, from 0.  [default: all]"),
    option("max-length", int, "Longest input in tokens.", default=512, show_default=True),
    option("device", str, "auto, cpu, cuda or mps.", default="auto", show_default=True),
    option("dtype", str, "float32, bfloat16 or float16.", default="float32", show_default=True),
    option("out", str, "HTML file to write.  [default: view.html, or none with --svg]"),
    option("svg", str, "SVG file to write: the heads of one layer, which --layers names."),
    option("kind", str, "What an SVG of an encoder-decoder shows: encoder, decoder or cross."),
)


AS_A = "  [default: as in DIR_A]"
COMPARE = (
    option("bound", float, "What a difference may be to count as none.", default=0.05, show_default=True),
    option("swaps", int, "Random swaps of A and B; 0 for none.", default=1000, show_default=True),
    option("alpha", float, "Level of every correction." + AS_A),
    option("test", str, "A test, as for judge." + AS_A),
    option("correction", str, "A correction, as for judge." + AS_A),
    option("family", str, "Tests corrected together." + AS_A),
    option("resamples", int, "Draws of resampling tests, maxT and bca." + AS_A),
    option("resample-seed", int, "Seed of those draws and of the swaps." + AS_A),
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
    option("layout", str, "conllu, words, conll2012, gap, winobias or jsonl.  [default: told from the file]"),
    option(
        "relations",
        str,
        "A relation with a row of its own, or several joined by commas.  [default: all frequent]",
        multiple=True,
    ),
    option("scheme", str, "Names of relations: ud or clearnlp.", default="ud", show_default=True),
    option("root", str, "Root of directed trees: found or given.", default="found", show_default=True),
    option("window", int, "Longest input in tokens; longer documents are cut into windows.  [default: 256]"),
    option("stride", int, "Fewest tokens between windows of a document.  [default: half a window]"),
    option(
        "classifier",
        str,
        "Train a probe: attention, attention+words, distances+words; may be repeated.",
        multiple=True,
    ),
    option("train", str, "Trees to train on."),
    option("vectors", str, "Word vectors as text, such as GloVe's, for classifiers with words."),
    option("epochs", int, "Most passes over the training data.", default=100, show_default=True),
    option("minutes", float, "Time for all training together, in minutes; each probe then stops early."),
    option("model", str, "A folder or a name on the hub.  [default: the embedded MiniLM encoder]"),
    option("revision", str, "Branch, tag or commit of a model on the hub."),
    option("limit", int, "A random subset of this many documents."),
    option("seed", int, "Seed of that subset, of the halves and of training.", default=0, show_default=True),
    option(
        "preset",
        str,
        "calibrated, or published (as the released code counts).",
        default="calibrated",
        show_default=True,
    ),
    _margin("0.05"),
    *_decision("t"),
    option("device", str, "auto, cpu, cuda or mps.", default="auto", show_default=True),
    option("dtype", str, "float32, bfloat16 or float16.", default="float32", show_default=True),
    option("batch-size", int, "Largest batch.", default=32, show_default=True),
    option("out", str, "Run folder.  [default: runs/<probes>-<data>-<model>]"),
    click.option("--overwrite", is_flag=True, help="Replace a run with other settings."),
)


def with_options(options: Options) -> Callable[[Any], Any]:
    def apply(command: Any) -> Any:
        for add_option in reversed(options):
            command = add_option(command)
        return command

    return apply


SHARDS = (
    option("kind", str, "Attention of an encoder-decoder: encoder, decoder or cross.  [default: encoder]"),
    option("attention", str, "Score the maps stored in this file (.npz, .safetensors); no model is run."),
    click.option(
        "--stream",
        is_flag=True,
        help="Read inputs as they come, without counting them first; --limit then takes the first ones.",
    ),
    option(
        "keep",
        int,
        "Most examples whose scores are all kept; of more, moments and a random subsample.",
        default=100_000,
        show_default=True,
    ),
    option("shard-size", int, "Examples scored and written as one.", default=256, show_default=True),
    option("workers", int, "Processes that score shards side by side.", default=1, show_default=True),
    option("threads", int, "Threads of each worker.  [default: the processors, shared among workers]"),
    option("engine", str, "local or ray.", default="local", show_default=True),
    option(
        "address", str, "Of a Ray cluster.  [default: RAY_ADDRESS, else a Ray of its own on this machine]"
    ),
    option("gpus", float, "GPUs of each worker, for Ray.", default=0.0, show_default=True),
    option("cache", str, "Folder of parses already made, or none.  [default: in the user's cache folder]"),
)
"""How a run of sieves is cut and where it is made."""

LABEL = (
    *INPUTS,
    *SIEVES,
    *SHARDS,
    *DECISION,
    *folder("runs/<task>-<model>", "Run folder, or an address such as s3://bucket/run"),
)

DEPPARSE = (
    option("out", str, "JSON-lines file to write.", required=True),
    click.option("--overwrite", is_flag=True, help="Replace a file that is there."),
    option("layout", str, "conllu, words, table or text.  [default: told from the file]"),
    option("text-a", str, "Column of a table with the text."),
    option("text-b", str, "Column with a second text of the same document."),
    option("group", str, "Column with the document that a row belongs to."),
    option("parser", str, "An installed spaCy pipeline or its path.  [default: the one shipped]"),
    option("cache", str, "Folder of parses already made, or none.  [default: in the user's cache folder]"),
    option("limit", int, "A random subset of this many documents."),
    option("seed", int, "Seed of that subset.", default=0, show_default=True),
)
