"""Jobs: uses of attention while a model runs, such as answers of probes, divergences or stored maps.

Each job prepares batches and makes readers for ``extraction.stream``. These modules import records, errors,
plans and the folders ``texts``, ``capture``, ``model`` and ``scoring``. Start at ``keep_maps``, the
shortest job.
"""
