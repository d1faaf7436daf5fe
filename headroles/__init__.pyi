"""Types of the public names, made by ``python -m headroles.cli.reference``."""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from headroles.arrays import score as score
from headroles.arrays import surface_of as surface_of
from headroles.converting.convert import Converted
from headroles.errors import HeadrolesError as HeadrolesError
from headroles.exporting import figures as figures
from headroles.exporting import methods as methods
from headroles.exporting import save as save
from headroles.maps.adapters import from_nnsight as from_nnsight
from headroles.maps.adapters import from_transformer_lens as from_transformer_lens
from headroles.maps.extract import ExtractedMaps
from headroles.maps.write import write_maps as write_maps
from headroles.plain import head_distances as head_distances
from headroles.plain import probe_of as probe_of
from headroles.preprocessing.pairs import PairFile
from headroles.preprocessing.trees import TreeFile
from headroles.progress import Phases
from headroles.pruning.cut import load_cut as load_cut
from headroles.records.atlas.atlas import Atlas as Atlas
from headroles.records.causal.ablation import Ablation as Ablation
from headroles.records.causal.origins import Origins as Origins
from headroles.records.causal.pruning import Pruning as Pruning
from headroles.records.comparison import Comparison as Comparison
from headroles.records.example import Arc as Arc
from headroles.records.example import Example as Example
from headroles.records.example import Lexical as Lexical
from headroles.records.example import Mention as Mention
from headroles.records.findings import Labelling as Labelling
from headroles.records.replication import Replication as Replication
from headroles.records.stops.look import Look as Look
from headroles.sharing.share import SharedRun as SharedRun
from headroles.showing import ShownSieve as ShownSieve
from headroles.showing import show_sieve as show_sieve
from headroles.sieves.base import Contrast as Contrast
from headroles.sieves.base import MaskSieve as MaskSieve
from headroles.sieves.base import Scorer as Scorer
from headroles.sieves.base import Sieve
from headroles.sieves.base import sieve as sieve
from headroles.sieves.families import SieveFamily as SieveFamily
from headroles.sieves.families import sieve_family as sieve_family
from headroles.sieves.masks import Band as Band
from headroles.sieves.masks import Cells as Cells
from headroles.sieves.masks import Every as Every
from headroles.sieves.masks import Keys as Keys
from headroles.sieves.masks import Match as Match
from headroles.sieves.masks import Pairs as Pairs
from headroles.sieves.masks import Same as Same
from headroles.sieves.masks import Without as Without
from headroles.storage.run import load as load
from headroles.viewing import Viewed as Viewed

__all__ = [
    "Ablation",
    "Arc",
    "Atlas",
    "Band",
    "Cells",
    "Comparison",
    "Contrast",
    "Every",
    "Example",
    "HeadrolesError",
    "Keys",
    "Labelling",
    "Lexical",
    "Look",
    "MaskSieve",
    "Match",
    "Mention",
    "Origins",
    "Pairs",
    "Pruning",
    "Replication",
    "Same",
    "Scorer",
    "SharedRun",
    "ShownSieve",
    "SieveFamily",
    "Viewed",
    "Without",
    "ablate",
    "atlas",
    "cluster",
    "compare",
    "convert_old",
    "convert_pairs",
    "convert_trees",
    "extract",
    "figures",
    "from_nnsight",
    "from_transformer_lens",
    "head_distances",
    "judge_again",
    "judge_scores",
    "label",
    "load",
    "load_cut",
    "methods",
    "probe",
    "probe_of",
    "prune",
    "replicate",
    "save",
    "score",
    "share",
    "show_sieve",
    "sieve",
    "sieve_family",
    "surface",
    "surface_of",
    "table",
    "view",
    "why",
    "write_maps",
]

def ablate(
    task: str | None = None,
    *,
    progress: Callable[[int, int], None] | Phases | None = None,
    attention: str | Path | None = None,
    model: str | Path | Any | None = None,
    tokenizer: Any | None = None,
    revision: str | None = None,
    limit: int | None = None,
    first: int | None = None,
    seed: int = 0,
    preset: str = "calibrated",
    margin: float | None = None,
    alpha: float | None = None,
    test: str | None = None,
    correction: str | None = None,
    family: str | None = None,
    resamples: int | None = None,
    resample_seed: int | None = None,
    interval: str | None = None,
    bayes: bool | None = None,
    device: str = "auto",
    device_map: str | None = None,
    dtype: str = "float32",
    batch_size: int = 32,
    shard_size: int = 256,
    workers: int = 1,
    threads: int | None = None,
    engine: str = "local",
    address: str | None = None,
    gpus: float = 0.0,
    out: str | Path | None = None,
    overwrite: bool = False,
    source: str = "sample",
    data: str | Path | Any | None = None,
    text_a: str | None = None,
    text_b: str | None = None,
    group: str | None = None,
    max_length: int = 128,
    kind: str | None = None,
    stream: bool = False,
    roles: str | Path | None = None,
    sieve: str | Sequence[str] = (),
    by: str | Sequence[str] = ("mean",),
    outcome: str | Sequence[str] = (),
    groups: bool = False,
    sets: int = 99,
    screen: int | None = None,
    donors: int = 5,
    references: int = 200,
    label: str | None = None,
    mask: float = 0.15,
) -> Labelling:
    """Test for every head whether the model needs it, by taking it out."""

def atlas(
    runs: str | Path | Sequence[str | Path],
    *,
    out: str | Path | None = None,
    steps: bool = False,
    parts: bool = False,
    overwrite: bool = False,
) -> Atlas:
    """Show several label runs on one page: their roles, p values, roles by layer, and agreement."""

def cluster(
    task: str | None = None,
    *,
    progress: Callable[[int, int], None] | Phases | None = None,
    attention: str | Path | None = None,
    model: str | Path | Any | None = None,
    tokenizer: Any | None = None,
    revision: str | None = None,
    limit: int | None = None,
    first: int | None = None,
    seed: int = 0,
    preset: str = "calibrated",
    margin: float | None = None,
    alpha: float | None = None,
    test: str | None = None,
    correction: str | None = None,
    family: str | None = None,
    resamples: int | None = None,
    resample_seed: int | None = None,
    interval: str | None = None,
    bayes: bool | None = None,
    device: str = "auto",
    device_map: str | None = None,
    dtype: str = "float32",
    batch_size: int = 32,
    shard_size: int = 256,
    workers: int = 1,
    threads: int | None = None,
    engine: str = "local",
    address: str | None = None,
    gpus: float = 0.0,
    out: str | Path | None = None,
    overwrite: bool = False,
    source: str = "sample",
    data: str | Path | Any | None = None,
    text_a: str | None = None,
    text_b: str | None = None,
    group: str | None = None,
    max_length: int = 128,
    kind: str | None = None,
    stream: bool = False,
    sieve: str | Sieve | Sequence[str | Sieve] = (),
    statistic: str = "selectivity",
    weights: str = "attention",
    parser: str | Path | None = None,
    vectors: str | Path | None = None,
    maps: int = 1000,
    cache: str | Path | None = None,
    divergence: str = "mean",
    smoothing: float | None = None,
    method: str = "average",
    clusters: int | None = None,
    draws: int = 200,
) -> Labelling:
    """Label the heads of a model, and cluster them by the Jensen-Shannon divergence of their attention."""

def compare(
    dir_a: str | Path,
    dir_b: str | Path,
    *,
    bound: float = 0.05,
    swaps: int = 1000,
    alpha: float | None = None,
    test: str = "t",
    correction: str | None = None,
    family: str | None = None,
    resamples: int | None = None,
    resample_seed: int | None = None,
    interval: str | None = None,
    out: str | Path | None = None,
    overwrite: bool = False,
) -> Comparison:
    """Compare two runs head by head: differences, equivalences, and roles gained and lost."""

def convert_old(
    old: str | Path,
    *,
    out: str | Path = "",
    task: str | None = None,
    tokens: str | Path | None = None,
    score_name: str | None = None,
    overwrite: bool = False,
) -> Converted:
    """Convert a file of an older tool into a file that commands of headroles read."""

def convert_pairs(
    file: str | Path,
    *,
    out: str | Path = "",
    limit: int | None = None,
    first: int | None = None,
    seed: int = 0,
    overwrite: bool = False,
    model: str | Path | Any | None = None,
    tokenizer: Any | None = None,
    revision: str | None = None,
    max_length: int = 128,
    cut: str = "lines",
) -> PairFile:
    """Cut running text into pairs of segments that follow each other, as for unlabelled Wikipedia."""

def convert_trees(
    file: str | Path,
    *,
    out: str | Path = "",
    limit: int | None = None,
    first: int | None = None,
    seed: int = 0,
    overwrite: bool = False,
    layout: str | None = None,
    text_a: str | None = None,
    text_b: str | None = None,
    group: str | None = None,
    parser: str | Path | None = None,
    cache: str | Path | None = None,
) -> TreeFile:
    """Write words and dependency trees of texts in the format that probes of dependency read."""

def extract(
    file: str | Path | Any,
    *,
    announce: Callable[[ExtractedMaps], None] | None = None,
    progress: Callable[[int, int], None] | None = None,
    out: str | Path = "",
    model: str | Path | Any | None = None,
    tokenizer: Any | None = None,
    revision: str | None = None,
    word_level: bool = False,
    as_published: bool = False,
    precision: str = "float16",
    group: str | None = None,
    kind: str | None = None,
    limit: int | None = None,
    first: int | None = None,
    seed: int = 0,
    max_length: int = 128,
    batch_size: int = 32,
    device: str = "auto",
    device_map: str | None = None,
    dtype: str = "float32",
    overwrite: bool = False,
) -> ExtractedMaps:
    """Run a model on texts, and write an array (layers, heads, tokens, tokens) of attention for each input."""

def judge_again(
    folder: str | Path,
    *,
    margin: float | None = None,
    alpha: float | None = None,
    test: str | None = None,
    correction: str | None = None,
    family: str | None = None,
    resamples: int | None = None,
    resample_seed: int | None = None,
    interval: str | None = None,
    bayes: bool | None = None,
    out: str | Path | None = None,
    overwrite: bool = False,
) -> Labelling:
    """Judge the stored scores of a run folder again, and write the result into it, or into a new folder."""

def judge_scores(
    scores: str | Path | Any = None,
    *,
    model_name: str | None = None,
    null: float | None = None,
    low: float | None = None,
    high: float | None = None,
    margin: float | None = None,
    alpha: float | None = None,
    test: str | None = None,
    correction: str | None = None,
    family: str | None = None,
    resamples: int | None = None,
    resample_seed: int | None = None,
    interval: str | None = None,
    bayes: bool | None = None,
    out: str | Path | None = None,
    overwrite: bool = False,
) -> Labelling:
    """Judge a table of scores from anywhere: test every head, correct for their number, and label heads."""

def label(
    task: str | None = None,
    *,
    progress: Callable[[int, int], None] | Phases | None = None,
    watch: Callable[[Look], None] | None = None,
    attention: str | Path | None = None,
    model: str | Path | Any | None = None,
    tokenizer: Any | None = None,
    revision: str | None = None,
    limit: int | None = None,
    first: int | None = None,
    seed: int = 0,
    preset: str = "calibrated",
    margin: float | None = None,
    alpha: float | None = None,
    test: str | None = None,
    correction: str | None = None,
    family: str | None = None,
    resamples: int | None = None,
    resample_seed: int | None = None,
    interval: str | None = None,
    bayes: bool | None = None,
    device: str = "auto",
    device_map: str | None = None,
    dtype: str = "float32",
    batch_size: int = 32,
    shard_size: int = 256,
    workers: int = 1,
    threads: int | None = None,
    engine: str = "local",
    address: str | None = None,
    gpus: float = 0.0,
    out: str | Path | None = None,
    overwrite: bool = False,
    source: str = "sample",
    data: str | Path | Any | None = None,
    text_a: str | None = None,
    text_b: str | None = None,
    group: str | None = None,
    max_length: int = 128,
    kind: str | None = None,
    stream: bool = False,
    sieve: str | Sieve | Sequence[str | Sieve] = (),
    statistic: str = "selectivity",
    weights: str = "attention",
    parser: str | Path | None = None,
    vectors: str | Path | None = None,
    maps: int = 1000,
    cache: str | Path | None = None,
    path: str = "rows",
    keep: int = 100000,
    until: str | None = None,
    decided: float = 1.0,
    units_per_look: int = 64,
) -> Labelling:
    """Label the heads of a model with the roles that survive their tests."""

def probe(
    probes: str | Sequence[str] = (),
    *,
    progress: Callable[[int, int], None] | Phases | None = None,
    attention: str | Path | None = None,
    model: str | Path | Any | None = None,
    tokenizer: Any | None = None,
    revision: str | None = None,
    limit: int | None = None,
    first: int | None = None,
    seed: int = 0,
    preset: str = "calibrated",
    margin: float | None = None,
    alpha: float | None = None,
    test: str | None = None,
    correction: str | None = None,
    family: str | None = None,
    resamples: int | None = None,
    resample_seed: int | None = None,
    interval: str | None = None,
    bayes: bool | None = None,
    device: str = "auto",
    device_map: str | None = None,
    dtype: str = "float32",
    batch_size: int = 32,
    shard_size: int = 256,
    workers: int = 1,
    threads: int | None = None,
    engine: str = "local",
    address: str | None = None,
    gpus: float = 0.0,
    out: str | Path | None = None,
    overwrite: bool = False,
    data: Any = (),
    layout: str | None = None,
    relations: str | Sequence[str] = (),
    scheme: str = "ud",
    root: str = "found",
    max_length: int | None = None,
    stride: int | None = None,
    classifier: str | Sequence[str] = (),
    train: str | Path | None = None,
    vectors: str | Path | None = None,
    epochs: int = 100,
    minutes: float | None = None,
    kind: str | None = None,
    weights: str = "attention",
    maps: int = 200,
) -> Labelling:
    """Ask every head questions with right answers: head words, trees, antecedents."""

def prune(
    folder: str | Path,
    bound: float | None = None,
    *,
    progress: Callable[[int, int], None] | Phases | None = None,
    outcome: str | None = None,
    sizes: int | Sequence[int] = (),
    check: bool = False,
    data: str | Path | Any | None = None,
    text_a: str | None = None,
    text_b: str | None = None,
    label: str | None = None,
    alpha: float = 0.05,
    seed: int = 0,
    device: str = "auto",
    batch_size: int = 32,
    out: str | Path | None = None,
    overwrite: bool = False,
) -> Pruning:
    """Remove the largest set of heads whose damage stays below a bound, with a certificate."""

def replicate(
    dir_a: str | Path,
    dir_b: str | Path,
    *,
    correction: str | None = None,
    out: str | Path | None = None,
    overwrite: bool = False,
) -> Replication:
    """Test the roles that run A found on the inputs of run B, and count how many hold there."""

def share(
    folder: str | Path,
    to: str | None = None,
    *,
    with_maps: bool = False,
    private: bool = False,
    out: str | Path | None = None,
    overwrite: bool = False,
) -> SharedRun:
    """Return a finished run or an atlas as a block for a model card, and upload it as a data set on request."""

def surface(
    task: str | None = None,
    *,
    progress: Callable[[int, int], None] | Phases | None = None,
    attention: str | Path | None = None,
    model: str | Path | Any | None = None,
    tokenizer: Any | None = None,
    revision: str | None = None,
    limit: int | None = None,
    first: int | None = None,
    seed: int = 0,
    preset: str = "calibrated",
    alpha: float | None = None,
    test: str | None = None,
    correction: str | None = None,
    family: str | None = None,
    resamples: int | None = None,
    resample_seed: int | None = None,
    interval: str | None = None,
    bayes: bool | None = None,
    device: str = "auto",
    device_map: str | None = None,
    dtype: str = "float32",
    batch_size: int = 32,
    shard_size: int = 256,
    workers: int = 1,
    threads: int | None = None,
    engine: str = "local",
    address: str | None = None,
    gpus: float = 0.0,
    out: str | Path | None = None,
    overwrite: bool = False,
    source: str = "sample",
    data: str | Path | Any | None = None,
    text_a: str | None = None,
    text_b: str | None = None,
    group: str | None = None,
    max_length: int = 128,
    kind: str | None = None,
    stream: bool = False,
    gradients: bool = False,
    label: str | None = None,
    mask: float = 0.15,
    marks: str = ".,",
    weights: str = "attention",
) -> Labelling:
    """Describe for every head which tokens it attends to, and test this against even attention."""

def table(
    folder: str | Path,
    name: str | None = None,
    format: str = "markdown",
    *,
    out: str | Path | None = None,
    overwrite: bool = False,
) -> str:
    """Return a table of a run, a comparison or an atlas as text for a paper, and write it to a file if asked."""

def view(
    text: str | Any | None = None,
    text_b: str | Any | None = None,
    *,
    segments: Any = None,
    run: str | Path | Labelling | None = None,
    sieve: str | Sequence[str] = (),
    also: str | Sequence[str] = (),
    attention: str | Path | None = None,
    example: str | None = None,
    model: str | Path | Any | None = None,
    tokenizer: Any | None = None,
    revision: str | None = None,
    weights: str | None = None,
    view: str = "head",
    layers: str | int | Iterable[int] | None = (),
    heads: str | int | Iterable[int] | None = (),
    max_length: int = 512,
    device: str = "auto",
    device_map: str | None = None,
    dtype: str = "float32",
    out: str | Path | None = None,
    svg: str | Path | None = None,
    as_: str = "lines",
    token: str | int | None = None,
    overwrite: bool = False,
    kind: str | None = None,
) -> Viewed:
    """Read a model's attention over a sentence or a pair, stored maps or plain arrays, and return a view."""

def why(
    folder: str | Path,
    *,
    progress: Callable[[int, int], None] | Phases | None = None,
    attention: str | Path | None = None,
    model: str | Path | Any | None = None,
    tokenizer: Any | None = None,
    revision: str | None = None,
    limit: int | None = None,
    first: int | None = None,
    seed: int = 0,
    preset: str = "calibrated",
    alpha: float | None = None,
    test: str | None = None,
    correction: str | None = None,
    resamples: int | None = None,
    resample_seed: int | None = None,
    interval: str | None = None,
    bayes: bool | None = None,
    device: str = "auto",
    device_map: str | None = None,
    dtype: str = "float32",
    batch_size: int = 32,
    shard_size: int = 256,
    workers: int = 1,
    threads: int | None = None,
    engine: str = "local",
    address: str | None = None,
    gpus: float = 0.0,
    out: str | Path | None = None,
    overwrite: bool = False,
    task: str | None = None,
    source: str = "sample",
    data: str | Path | Any | None = None,
    text_a: str | None = None,
    text_b: str | None = None,
    group: str | None = None,
    max_length: int = 128,
    kind: str | None = None,
    stream: bool = False,
    sieve: str | Sequence[str] = (),
    rotations: int = 9999,
    redeals: int = 19,
    references: int = 200,
) -> Labelling:
    """Test what in queries and keys makes heads hold the roles of a label run."""
