"""Descriptions of options that several commands take, each written once."""

from headroles.errors import BadInput
from headroles.options.described import INFINITY, Option
from headroles.presets import PRESETS
from headroles.stats.decision import ALL_CORRECTIONS, FEWEST, INTERVALS, MOST, TESTS
from headroles.stats.families import FAMILIES
from headroles.tasks import TASKS

SOURCES = ("sample", "hub")
DEVICES = ("auto", "cpu", "cuda", "mps")
DEVICE_MAPS = ("auto", "balanced", "balanced_low_0", "sequential")
DTYPES = ("float32", "bfloat16", "float16")
ENGINES = ("local", "ray")
STACKS = ("self", "encoder", "decoder", "cross")
SPLITS, MOST_SPLITS = 200, 100_000
"""Random half-samples behind the stability: default number, and most."""
EMBEDDED = "the embedded MiniLM encoder"
USER_CACHE = "in the user's cache folder"

# inputs
TASK = Option("A task of GLUE, in any case.", "Inputs", choices=tuple(TASKS), any_case=True)
SOURCE = Option("Inputs of the task: sample (shipped) or hub.", "Inputs", choices=SOURCES)
DATA = Option("A file of your inputs.", "Inputs", path=True, python="str | Path | Any | None")
ATTENTION = Option(
    "A file of stored maps (.npz, .safetensors) to read; no model is run.", "Inputs", path=True
)
TEXT_A = Option("Column of --data with the text.", "Inputs")
TEXT_B = Option("Second text of a pair.", "Inputs")
COLUMN_B = TEXT_B.but(detail="Its column of --data.")
GROUP = Option("Column of --data with the document or paragraph, which becomes the unit.", "Inputs")
LIMIT = Option("A random sample of this many inputs.", "Inputs", least=1)
FIRST = Option("Only this many inputs, the first ones.", "Inputs", least=1)
SEED = Option("Seed of every random choice among inputs.", "Inputs", least=0)
MAX_LENGTH = Option("Longest input in tokens, special tokens included.", "Inputs", least=4)
LAYOUT = Option("Layout of the file.", "Inputs", default="detected")

# model
MODEL = Option(
    "A folder of a model, or its name on the hub.",
    "Model",
    path=True,
    default=EMBEDDED,
    python="str | Path | Any | None",
    in_python="Or a loaded transformers model, with its tokenizer.",
)
TOKENIZER = Option("Fast tokenizer of a model that is given as an object.", "Model", python="Any | None")
"""A keyword of functions that take a loaded model; it becomes a part of the model."""
REVISION = Option("Branch, tag or commit of a model on the hub.", "Model")
DEVICE = Option("Device of the model.", "Model", choices=DEVICES)
DEVICE_MAP = Option(
    "Place parts of the model on several devices by this rule; needs accelerate.",
    "Model",
    choices=DEVICE_MAPS,
)
DTYPE = Option("Precision of the model's numbers.", "Model", choices=DTYPES)
BATCH_SIZE = Option("Largest batch.", "Model", least=1)
KIND = Option("Attention of an encoder-decoder.", "Model", kind="kind of attention", choices=STACKS)
PARSER = Option("An installed spaCy pipeline or its path.", "Model", default="the one shipped", path=True)

# questions
SIEVE = Option(
    "A sieve or a group of sieves; may be repeated.",
    "Questions",
    default="all built-in sieves",
    python="str | Sieve | Sequence[str | Sieve]",
)
PRESET = Option(
    "Calibrated, or published (as the released code does it).", "Questions", choices=tuple(PRESETS)
)
STATISTIC = Option("Statistic of mask sieves.", "Questions", choices=("selectivity", "bias"))
VECTORS = Option("Word vectors as text, such as GloVe's.", "Questions", path=True)

# decision
ALPHA = Option("Level of every correction.", "Decision", above=0, below=1, default="0.05")
MARGIN = Option("How far beyond chance a mean must lie.", "Decision", least=0, below=INFINITY)
TEST = Option("Test of every mean.", "Decision", choices=TESTS)
CORRECTION = Option(
    "Correction for the number of tests.", "Decision", choices=ALL_CORRECTIONS, default="fdr_bh"
)
FAMILY = Option(
    "Tests corrected together: of a sieve, of the run, or of a layer.",
    "Decision",
    choices=FAMILIES,
    default="sieve",
)
RESAMPLES = Option(
    "Draws of resampling tests, maxT and bca.",
    "Decision",
    least=FEWEST,
    most=MOST,
    default="10000",
)
RESAMPLE_SEED = Option("Seed of the draws that resample units.", "Decision", least=0, default="0")
INTERVAL = Option("95 % interval: that of the test, t or bca.", "Decision", choices=INTERVALS, default="test")
STABILITY = Option(
    "Random half-samples for the stability; 0 for none.",
    "Decision",
    least=0,
    most=MOST_SPLITS,
    default=str(SPLITS),
)
BAYES = Option("Bayes factor of a point null for every head.", "Decision", default="no")

# output
OUT = Option("Where the result is written.", "Output", path=True)
SVG = Option("SVG file to write.", "Output", path=True)
OVERWRITE = Option("Replace what is there.", "Output")
MAPS = Option(
    "Largest number of attention maps kept for head cards, with the tokens of their inputs; with 0, no text "
    "of the inputs is in the folder or the report.",
    "Output",
    least=0,
)

# running
KEEP = Option(
    "Largest number of examples with all scores kept; of more, moments and a random subsample.",
    "Running",
    least=1,
)
STREAM = Option("Read inputs in order, without counting or fetching them first; not with --limit.", "Running")
CACHE = Option("Folder for stored parses, or none.", "Running", default=USER_CACHE, path=True)
SHARD_SIZE = Option("Examples per shard, scored and written together.", "Running", least=1)
WORKERS = Option("Processes that score shards in parallel.", "Running", least=1)
THREADS = Option(
    "Threads of each worker.", "Running", least=1, default="the processors, shared among workers"
)
ENGINE = Option("What starts the workers: this machine, or Ray.", "Running", choices=ENGINES)
ADDRESS = Option(
    "Address of a Ray cluster.", "Running", default="RAY_ADDRESS, else a new Ray on this machine"
)
GPUS = Option("GPUs of each worker, fractions allowed; for Ray.", "Running", least=0, below=INFINITY)


def check_devices(device: str, device_map: str | None) -> None:
    """Refuse a device beside a device map.

    Raises:
        BadInput: When both are given.
    """
    if device_map is not None and device != "auto":
        raise BadInput(
            f"a device map places the parts of a model, so --device {device} has no effect beside it; give "
            f"one of the two"
        )


def check_subset(limit: int | None, first: int | None, stream: bool = False) -> None:
    """Check that a subset of the inputs is either random or their first ones, and possible in a stream.

    Raises:
        BadInput: When both are given, or a random subset of a stream, whose inputs are not counted.
    """
    if limit is not None and first is not None:
        raise BadInput(
            f"--limit draws a random sample and --first takes the first inputs, but got --limit {limit} and "
            f"--first {first}; give one of them"
        )
    if limit is not None and stream:
        raise BadInput(
            f"a stream is read in order, without counting its inputs, but --limit {limit} draws them at "
            f"random; use --first {limit}, or leave --stream out"
        )


AS_IN_A = "as in DIR_A"
"""Default of decisions about two runs."""
