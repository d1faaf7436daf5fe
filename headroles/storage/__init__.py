"""Run folders and comparisons, on disk or at addresses: CSV, JSON, Parquet and npz files, and no pickle.

``folder`` names all files and checks folders before they are replaced. ``integrity`` locks, replaces, seals
and repairs them. ``places`` and ``remote`` serve addresses. ``archive`` stores arrays of any record, and
``arrow`` tables. The other files each write and read one kind of record. Storage may import
``headroles.records``, ``headroles.errors`` and ``headroles.addresses``. Start with ``run``, which writes and
loads a whole run, then ``folder``.
"""

from headroles.public import public_names

__getattr__, __dir__, __all__ = public_names(
    __name__,
    {
        "archive": "archive_bytes arrays_of read_archive record_of",
        "arrow.arrays": "blobs lists numbers numbers_of numbers_of_rows rows texts",
        "arrow.files": "parquet_bytes read_parquet",
        "atlas.folder": "load_atlas",
        "causal.pruning": "finish_pruning load_pruning",
        "comparison": "load_comparison",
        "folder": "MANIFEST RUN check_free stage_folder write_files",
        "integrity.leftovers": "ABANDONED HOST clear_leftovers",
        "integrity.lock": "lock_run_folder",
        "integrity.manifest": "manifest_text parse_manifest",
        "integrity.origin": "FIGURE_MARKS",
        "integrity.reading": "TICK_NS check_files digest_of",
        "integrity.switch": "AFTER is_switching replace_files",
        "map_files": "MapFile",
        "moments": "moments_bytes parse_moments",
        "places": "FsspecPlace LocalPlace MemoryPlace place_of",
        "remote": "local_copy",
        "run": "write_report write_results",
        "tables": "read_table",
    },
)
