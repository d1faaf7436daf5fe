"""The options of runs in shards, and of what reads texts as they do."""

import click

from headroles.cli_options import DECISION, INPUTS, SIEVES, folder, option

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
