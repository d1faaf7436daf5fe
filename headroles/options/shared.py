"""Descriptions of options that several commands take, each written once."""

from headroles.errors import BadInput
from headroles.options.described import INFINITY, Option
from headroles.presets import PRESETS
from headroles.records.rules.names import PATHS
from headroles.stats.decision import ALL_CORRECTIONS, FAMILIES, FEWEST, INTERVALS, MOST, TESTS
from headroles.tasks import TASKS

SOURCES = ("sample", "hub")
DEVICES = ("auto", "cpu", "cuda", "mps")
DEVICE_MAPS = ("auto", "balanced", "balanced_low_0", "sequential")
DTYPES = ("float32", "bfloat16", "float16")
ENGINES = ("local", "ray")
STACKS = ("self", "encoder", "decoder", "cross")
WEIGHT_KINDS = ("attention", "norm")
EMBEDDED = "the embedded MiniLM encoder"
USER_CACHE = "in the user's cache folder"

# inputs
TASK = Option("A task of GLUE, in capital or small letters.", "Inputs", choices=tuple(TASKS), any_case=True)
SOURCE = Option(
    "Where the inputs of the task are: in the shipped sample, or on the hub.", "Inputs", choices=SOURCES
)
DATA = Option("A file of your inputs.", "Inputs", path=True, python="str | Path | Any | None")
ATTENTION = Option(
    "A file of stored attention maps (.npz, .safetensors) to read; no model is run.", "Inputs", path=True
)
TEXT_A = Option("Column of the inputs with the text, or with the first text of a pair.", "Inputs")
TEXT_B = Option("Second text of a pair.", "Inputs")
COLUMN_B = TEXT_B.but(detail="Name its column.")
GROUP = Option(
    "Column or field with the document or paragraph of an input, which becomes its unit.", "Inputs"
)
LIMIT = Option("Take a random sample of this many inputs.", "Inputs", least=1)
FIRST = Option("Take only the first inputs, this many.", "Inputs", least=1, rare=True)
SEED = Option("Seed of every random choice among inputs.", "Inputs", least=0, rare=True)
MAX_LENGTH = Option("Longest input in tokens, special tokens included.", "Inputs", least=4, rare=True)
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
REVISION = Option("Branch, tag or commit of a model on the hub.", "Model", rare=True)
DEVICE = Option("Device that the model runs on.", "Model", choices=DEVICES)
DEVICE_MAP = Option(
    "Place parts of the model on several devices by this rule; needs the package accelerate.",
    "Model",
    choices=DEVICE_MAPS,
    rare=True,
)
DTYPE = Option("Precision of the model's numbers.", "Model", choices=DTYPES, rare=True)
BATCH_SIZE = Option("Largest number of inputs in a batch.", "Model", least=1, rare=True)
KIND = Option(
    "Which attention of an encoder-decoder is read; cross is from the decoder to the encoder.",
    "Model",
    kind="kind of attention",
    choices=STACKS,
    rare=True,
)
PARSER = Option(
    "A spaCy pipeline that annotates texts: the name of an installed one, or a path.",
    "Model",
    default="the one shipped",
    path=True,
    rare=True,
)

PATH = Option(
    "How scores are taken: from rows of attention weights, or fused, without forming weights. Use fused for "
    "long inputs on a GPU; it is slower on a processor.",
    "Model",
    choices=PATHS,
    rare=True,
)

# questions
SIEVE = Option(
    "A sieve or group of sieves, from the list of headroles sieves or as path/to/file.py:name; the title of "
    "its role, such as neighbours, stands for the name. May be repeated.",
    "Questions",
    default="all built-in sieves",
    python="str | Sieve | Sequence[str | Sieve]",
)
OWN_SIEVE = SIEVE.but(
    detail="It is one of the label run that came from a file. A stored run runs no code. So the file is "
    "yours, with the code that the run was scored with.",
    default="",
    python="",
    rare=True,
)
PRESET = Option(
    "Scores and tests: calibrated, or published, as in the released code.",
    "Questions",
    choices=tuple(PRESETS),
)
WEIGHTS = Option(
    "Weights that are read: attention, or norm, which is attention times the norms of the values that it "
    "moves, with rows made to sum to 1.",
    "Questions",
    kind="kind of weights",
    choices=WEIGHT_KINDS,
    rare=True,
)
STATISTIC = Option("Statistic of mask sieves.", "Questions", choices=("selectivity", "bias"), rare=True)
LOSS_LABEL = Option(
    "Column of --data with the class, for losses of classifiers.",
    "Questions",
    default="the model's own prediction",
)
REFERENCES = Option("Most reference inputs, from which means are taken.", "Questions", least=2, rare=True)
MASK_SHARE = Option(
    "Share of tokens that are masked, drawn by --seed; for losses of masked words.",
    "Questions",
    above=0,
    below=1,
    rare=True,
)
VECTORS = Option("A text file of word vectors, such as GloVe's.", "Questions", path=True, rare=True)

# decision
BOUND = Option("Bound below which a change is tolerated.", "Decision", above=0, below=INFINITY)
ALPHA = Option("Rate of errors that every correction allows.", "Decision", above=0, below=1, default="0.05")
MARGIN = Option(
    "How far a mean must lie beyond chance, or beyond no damage.", "Decision", least=0, below=INFINITY
)
TEST = Option("Test of every mean.", "Decision", choices=tuple(TESTS))
CORRECTION = Option(
    "Correction for the number of tests.", "Decision", choices=tuple(ALL_CORRECTIONS), default="fdr_bh"
)
FAMILY = Option(
    "Which tests are corrected together: those of a sieve, of the run, or of a layer.",
    "Decision",
    choices=FAMILIES,
    default="sieve",
    rare=True,
)
RESAMPLES = Option(
    "Number of draws of resampling tests, of maxT and of bca.",
    "Decision",
    least=FEWEST,
    most=MOST,
    default="10000",
    rare=True,
)
RESAMPLE_SEED = Option("Seed of the draws that resample units.", "Decision", least=0, default="0", rare=True)
INTERVAL = Option(
    "95 % interval of every mean: that of the test, t or bca.",
    "Decision",
    choices=INTERVALS,
    default="test",
    rare=True,
)
BAYES = Option(
    "Compute a Bayes factor for every head, which tests a point null.", "Decision", default="no", rare=True
)

# output
OUT = Option("Where the result is written.", "Output", path=True)
SVG = Option("SVG file to write.", "Output", path=True)
OVERWRITE = Option("Replace what is there.", "Output", rare=True)
MAPS = Option(
    "Largest number of attention maps kept as examples of heads, with the tokens of their inputs. With 0, "
    "folder and report hold no text of the inputs.",
    "Output",
    least=0,
    rare=True,
)

# running
KEEP = Option(
    "Largest number of examples whose scores are all kept. Beyond it, sums and a random subsample are kept.",
    "Running",
    least=1,
    rare=True,
)
UNTIL = Option(
    "Read units in random order, judge all heads after every few units, and stop when they are decided; the "
    "test is betting, which may be looked at at any time.",
    "Inputs",
    choices=("decided",),
    default="all inputs are read",
)
DECIDED = Option(
    "Share of all tests, heads times roles, that is decided before a run with --until stops.",
    "Inputs",
    above=0,
    most=1,
    rare=True,
)
UNITS_PER_LOOK = Option(
    "Units after which a run with --until judges all heads again; they are one shard.",
    "Inputs",
    least=1,
    rare=True,
)
STREAM = Option(
    "Read inputs in order, without counting or fetching them first; not with --limit.", "Running", rare=True
)
CACHE = Option(
    "Folder that keeps parses for later runs; with none, nothing is kept.",
    "Running",
    default=USER_CACHE,
    path=True,
    rare=True,
)
SHARD_SIZE = Option("Examples per shard, scored and written together.", "Running", least=1, rare=True)
WORKERS = Option("Processes that score shards in parallel.", "Running", least=1)
THREADS = Option(
    "Threads of each worker.",
    "Running",
    least=1,
    default="the processors, shared among workers",
    rare=True,
)
ENGINE = Option("What starts the workers: this machine, or Ray.", "Running", choices=ENGINES, rare=True)
ADDRESS = Option(
    "Address of a Ray cluster.",
    "Running",
    default="RAY_ADDRESS, else a new Ray on this machine",
    rare=True,
)
GPUS = Option(
    "GPUs of each worker, whole or a fraction; for Ray.", "Running", least=0, below=INFINITY, rare=True
)


def check_devices(device: str, device_map: str | None) -> None:
    """Refuse a device together with a device map.

    Raises:
        BadInput: When both are given.
    """
    if device_map is not None and device != "auto":
        raise BadInput(
            f"a device map places the parts of a model, so --device {device} has no effect; give one of the "
            f"two"
        )


def check_norms(weights: str, stored: bool, preset: str) -> None:
    """Refuse norm-weighted attention where it cannot be formed, or is not what is asked.

    Args:
        weights: One of ``WEIGHT_KINDS``.
        stored: Whether stored maps are read.
        preset: The preset of the run.

    Raises:
        BadInput: For stored maps, and for the preset published.
    """
    if weights == "norm" and stored:
        raise BadInput(
            "norm-weighted attention needs the values of a model that runs, but stored maps hold weights "
            "only; give --model, or leave --weights out"
        )
    if weights == "norm" and preset == "published":
        raise BadInput(
            "the preset 'published' scores attention, as the released code does, but --weights is 'norm'; "
            "leave one of them out"
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
