"""What is reproduced: inputs, runs, and every figure and table that is made from them."""

from dataclasses import dataclass

SENTENCE = "The old sailor quickly mended the torn sail."
PAIR = ("Who mended the torn sail?", SENTENCE)
"""Texts of the pictures of single heads."""
TASKS = ("QNLI", "QQP", "MRPC", "SST-2")


@dataclass(frozen=True)
class Step:
    """A command whose result several figures need.

    Attributes:
        command: Words after ``headroles``. ``{out}`` is the folder of results, ``{NAME}`` an input; a word
            that is an input alone is replaced by all words that it stands for.
        makes: What it writes, in the folder of results.
        needs: Inputs and other steps by name.
        limit: Whether it takes ``--limit``.
        model: Whether it takes ``--model``.
    """

    command: str
    makes: str
    needs: tuple[str, ...] = ()
    limit: bool = True
    model: bool = True


@dataclass(frozen=True)
class Figure:
    """A figure or a table.

    Attributes:
        key: Its name, as in ``docs/reproduce.md``.
        title: What it shows.
        step: The step it is made from; "" where its command needs none.
        command: Words after ``headroles`` that make it; "" for a figure of the step's run.
        figure: Name of that figure, which ``headroles show RUN --figures svg`` draws.
        form: Ending of the file; a page, or a drawing that is large as SVG, is photographed as png.
    """

    key: str
    title: str
    step: str = ""
    command: str = ""
    figure: str = ""
    form: str = "svg"


INPUTS = {
    "wikipedia": "running text, as --wikipedia FILE",
    "trees": "a treebank, as --treebank FILE",
    "learn": "a treebank to train on, as --learn FILE",
    "vectors": "word vectors, as --vectors FILE",
    "coreference": "documents with mentions of entities, as --coreference FILE",
    "masked": "a masked-word model, as --masked-lm MODEL (examples/masked-lm makes one)",
    "tuned": "a fine-tuned model, as --fine-tuned MODEL (examples/finetune-mrpc makes one)",
}
"""What may be given, and how."""

STEPS = {
    "heads": Step("label {wikipedia} --sieve patterns --out {out}/runs/heads", "runs/heads", ("wikipedia",)),
    "surface": Step("surface {wikipedia} --out {out}/runs/surface", "runs/surface", ("wikipedia",)),
    "gradients": Step(
        "surface {wikipedia} --gradients --model {masked} --out {out}/runs/gradients",
        "runs/gradients",
        ("wikipedia", "masked"),
        model=False,
    ),
    "cluster": Step("cluster {wikipedia} --out {out}/runs/cluster", "runs/cluster", ("wikipedia",)),
    "dependency": Step(
        "probe dependency --data {trees} --out {out}/runs/dependency", "runs/dependency", ("trees",)
    ),
    "coreference": Step(
        "probe coreference --data {coreference} --out {out}/runs/coreference",
        "runs/coreference",
        ("coreference",),
    ),
    "trained": Step(
        "probe dependency --data {trees} --train {learn} --vectors {vectors} --classifier attention "
        "--classifier attention+words --classifier distances+words --epochs 1 --maps 0 "
        "--out {out}/runs/trained",
        "runs/trained",
        ("trees", "learn", "vectors"),
    ),
    "patterns": Step("label --task QNLI --sieve patterns --out {out}/runs/patterns", "runs/patterns"),
    **{task: Step(f"label --task {task} --out {{out}}/runs/{task}", f"runs/{task}") for task in TASKS},
    "atlas": Step(
        "atlas " + " ".join(f"{{out}}/runs/{task}" for task in TASKS) + " --out {out}/runs/atlas",
        "runs/atlas",
        TASKS,
        limit=False,
        model=False,
    ),
    "MRPC-tuned": Step(
        "label --task MRPC --model {tuned} --out {out}/runs/MRPC-tuned",
        "runs/MRPC-tuned",
        ("tuned",),
        model=False,
    ),
    "tuning": Step(
        "compare {out}/runs/MRPC {out}/runs/MRPC-tuned --out {out}/runs/tuning",
        "runs/tuning",
        ("MRPC", "MRPC-tuned"),
        limit=False,
        model=False,
    ),
}  # fmt: skip
"""Runs by name, in the order in which they are made."""

BEST = "show {run} --table best --out {file}"
FIGURES = (
    Figure("clark-figure-1", "Heads: broad, next token, [SEP], marks", "heads", figure="examples"),
    Figure("clark-figure-2-top", "To first token, separators, marks", "surface", figure="kinds"),
    Figure("clark-figure-2-middle", "To separators, by who looks", "surface", figure="separators"),
    Figure("clark-figure-2-bottom", "To previous, next, same token", "surface", figure="neighbours"),
    Figure("clark-figure-3", "Gradients of the loss by kind of token", "gradients", figure="importance-0"),
    Figure("clark-figure-4-top", "Entropy of all rows", "surface", figure="entropy"),
    Figure("clark-figure-4-bottom", "Entropy of the first token's row", "surface", figure="entropy-first"),
    Figure("clark-figure-5-syntax", "Heads of dependency relations", "dependency", figure="examples"),
    Figure("clark-figure-5-coreference", "A head of coreference", "coreference", figure="examples"),
    Figure("clark-figure-6", "Heads by their distances, clustered", "cluster", figure="cluster-map"),
    Figure("clark-figure-6-layers", "The same, coloured by layer", "cluster", figure="cluster-map-layer"),
    Figure("clark-table-1", "Best heads of relations", "dependency", BEST, form="md"),
    Figure("clark-table-2", "Best head of coreference", "coreference", BEST, form="md"),
    Figure("clark-table-3", "Trained probes", "trained", figure="probe-trained"),
    Figure(
        "pande-patterns", "One head's attention as a heat map",
        command=f'view "{PAIR[0]}" "{PAIR[1]}" --layers 2 --heads 8 --as heat --svg {{file}}',
    ),
    Figure("pande-labels", "Roles of every head, one task", "QNLI", figure="matrix"),
    Figure("pande-tasks", "Roles of every head, four tasks", "atlas", figure="maps", form="png"),
    Figure("pande-p-values", "p values of four tasks, and the share near 0 or 1", "atlas", figure="p-values"),
    Figure("pande-layers", "Roles by layer", "QNLI", figure="layers"),
    Figure("pande-several", "Heads with several roles, by layer", "atlas", figure="several"),
    Figure("pande-overlap", "Roles that heads hold together", "QNLI", figure="overlap"),
    Figure("pande-tuning", "Roles gained and lost by fine-tuning", "tuning", figure="moved"),
    Figure(
        "vig-head-view", "Heads of a layer as lines",
        command=f'view "{SENTENCE}" --layers 2 --heads 0,8 --svg {{file}}',
    ),
    Figure(
        "vig-model-view", "All layers and heads of one text",
        command=f'view "{SENTENCE}" --view model --out {{file}}', form="png",
    ),
    Figure(
        "vig-neuron-view", "Query and key vectors behind a weight",
        command=f'view "{SENTENCE}" --view neuron --out {{file}}', form="png",
    ),
    Figure("vig-patterns", "Next, previous, same tokens, and others", "patterns", figure="examples"),
    Figure("slides-first-row", "Where the first token looks", "surface", figure="rows-first"),
    Figure("slides-separator-rows", "Where separators look", "surface", figure="rows-separator"),
)  # fmt: skip
"""All rows of the table in ``docs/reproduce.md``, in its order."""
