"""Ask every head questions with right answers from gold annotation: ``probe()``."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from headroles.options.probe import probe_options_of
from headroles.records.findings import Labelling
from headroles.runs.defaults import default_folder as run_folder
from headroles.runs.run import run


def probe(
    probes: str | Iterable[str],
    *,
    progress: Callable[[int, int], None] | None = None,
    **options: Any,
) -> Labelling:
    """Ask every head questions with right answers: head words, trees, antecedents.

    Args:
        probes: "dependency", "trees", "coreference", or several, which share one forward pass.
        progress: Called with the inputs done and their total.
        **options: The options of ``headroles probe``, by the same names, checked by
            ``headroles.options.probe``: ``data`` (a file or several, or a list of
            dictionaries with the fields of JSON lines), ``layout`` (None: detected from
            the file), ``relations`` (None: all with enough arcs), ``scheme`` ("ud" or "clearnlp"), ``root``
            of directed trees ("found" or "given"), ``window`` and ``stride`` in tokens, ``classifier``
            (probes to train), ``train`` (their sentences), ``vectors``, ``epochs``, ``minutes``,
            ``model`` (a folder, a hub name, or a loaded one with ``tokenizer``), ``revision``, ``limit``
            and ``seed`` (a random subset of the documents; the seed
            also draws the halves), ``preset``, ``margin`` (beyond the best baseline), ``alpha``,
            ``test``, ``correction``, ``family``, ``resamples``, ``resample_seed``, ``interval``,
            ``splits``, ``bayes``, ``device``, ``dtype``, ``batch_size``, ``attention`` (a file of stored maps
            whose list has words and trees, instead of ``data``), ``shard_size``, ``workers``, ``threads``,
            ``engine``, ``address``, ``gpus``, ``out`` (run folder or address; None: nothing is written)
            and ``overwrite``.

    Returns:
        Scores (shares of right answers per window), findings against the cross-fitted baseline, and
        ``probed``: the best head of each row, baselines, gaps, trained probes.

    Raises:
        HeadrolesError: One of its subclasses, in one sentence, with nothing left half-written.
    """
    return run(probe_options_of(probes=probes, **options), progress)


def default_folder(options: Mapping[str, Any]) -> str:
    """Return the run folder that the command uses by default: ``runs/<probes>-<inputs>-<model>``.

    Example:
        >>> options = {"data": ["dev.conllu.gz"], "model": None, "attention": None}
        >>> default_folder({"probes": ["dependency"]} | options)
        'runs/dependency-dev-all-MiniLM-L6-v2'
    """
    data = options["data"][0] if options["data"] else None
    return run_folder({**options, "task": None, "data": data}, "-".join(options["probes"]))
