"""Runs in shards: cut the inputs, score, resume, verify, and assemble the scores, for every kind of run.

``work`` has the records between a run and its workers, ``files`` the files of a shard, and ``resume`` the
folder of an unfinished run. The engines in ``engines`` score shards with the ``worker``. Modules here may
import records, options, inputs, extraction, storage, sieves and judging, but neither ``headroles.runs``,
which uses them, nor the command line. A newcomer starts with ``work`` and then reads ``worker``.
"""

from headroles.public import public_names

__getattr__, __dir__, __all__ = public_names(
    __name__,
    {
        "engines": "has_idle_processor threads_per_worker",
        "engines.losses": "Failure failure_of",
        "engines.on_ray.data": "RayEngine",
        "engines.on_ray.feed": "Feed",
        "engines.on_ray.session": "check_room connect_to_ray",
        "engines.process": "error_of_worker",
        "engines.processes": "Processes",
        "files": (
            "find_damaged_file find_finished_shard read_checked_files receipt_bytes receipt_of write_shard"
        ),
        "identity": "identity_of name_differences sieves_digest",
        "moment_runs": "drop_shards read_subsample",
        "moments": ("LARGEST_RANK RunningSums rank_ceiling ranks_of select_candidates shard_contents"),
        "prefix": "PrefixReceipts",
        "receipts": "Receipts read_shard",
        "resume": "Work",
        "survey": "count_inputs cut_into_tasks digest_of",
        "work": "Facts Known Order Receipt Task",
        "worker": "Worker",
    },
)
