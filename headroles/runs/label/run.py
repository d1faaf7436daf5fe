"""Label heads with their roles: ``label()``."""

from collections.abc import Callable, Sequence
from typing import Any

from headroles.options.label import label_options_of
from headroles.records.findings import Labelling
from headroles.runs.defaults import sieve_tuple
from headroles.runs.run import run
from headroles.sieves.base import Sieve


def label(
    task: str | None = None,
    *,
    sieve: str | Sieve | Sequence[str | Sieve] = (),
    progress: Callable[[int, int], None] | None = None,
    **options: Any,
) -> Labelling:
    """Label the heads of a model with the roles that survive their tests.

    Args:
        task: "QNLI", "QQP", "MRPC" or "SST-2"; None when ``data`` names the texts.
        sieve: Sieves by name or as objects; all built-in ones when empty.
        progress: Called with the inputs done and their total; inputs that are run again for head cards
            are not counted twice.
        **options: The options of ``headroles label``, by the same names, checked by
            ``headroles.options.label``: ``model`` (folder or hub name; None: the embedded one; or
            a loaded transformers model, with its fast ``tokenizer``), ``revision``, ``source`` ("sample" or
            "hub"), ``data`` (file, folder, pattern or address; a DataFrame, a ``datasets.Dataset``, or a list
            of texts, pairs or dictionaries; with ``source="hub"`` a dataset in GLUE's layout),
            ``text_a``, ``text_b``, ``group`` (columns),
            ``limit`` and ``seed`` (a random subset), ``preset``, ``statistic``, ``margin``, ``alpha``,
            ``test``, ``correction``, ``family``, ``resamples``, ``resample_seed``, ``interval``,
            ``splits``, ``bayes``, ``parser``, ``vectors`` (word vectors), ``maps`` (most attention maps
            kept for head cards, with the tokens of their inputs; 0: none, and no text),
            ``device``, ``dtype``, ``batch_size``, ``max_length``, ``out`` (run folder or address; None:
            nothing is written) and ``overwrite``; ``kind`` (of attention, for encoder-decoders),
            ``attention`` (a file of stored maps), ``stream`` and ``keep`` (corpora), ``shard_size``,
            ``workers``, ``threads``, ``engine``, ``address``, ``gpus`` and ``cache``, as
            ``headroles.options.label`` describes them.

    Returns:
        Scores, findings and everything needed to reproduce them.

    Raises:
        HeadrolesError: One of its subclasses, in one sentence. No file is left half-written. Before the
            first shard is done, nothing is left; later, finished shards stay, and the same call goes on.
    """
    return run(label_options_of(task=task, sieve=sieve_tuple(sieve), **options), progress)
