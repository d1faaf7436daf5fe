"""The lock of a run folder, which ``headroles.storage.whole.lock`` holds for every command."""

from headroles.storage.whole.lock import lock_run_folder

__all__ = ["lock_run_folder"]
