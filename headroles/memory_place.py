"""A place for the files of a run that are written nowhere."""


class Memory:
    """A place that is gone with its process, for runs that are written nowhere."""

    def __init__(self) -> None:
        """Hold nothing yet."""
        self._files: dict[str, bytes] = {}

    @property
    def url(self) -> str:
        """No other process can reach it."""
        return ""

    def write(self, name: str, data: bytes) -> None:
        """Hold a file."""
        self._files[name] = data

    def read(self, name: str) -> bytes:
        """What a file holds.

        Raises:
            FileNotFoundError: When there is none.
        """
        if name not in self._files:
            raise FileNotFoundError(name)
        return self._files[name]

    def names(self, prefix: str = "") -> list[str]:
        """Names of all files that begin with a prefix, sorted."""
        return sorted(name for name in self._files if name.startswith(prefix))

    def delete(self, name: str) -> None:
        """Let a file go."""
        self._files.pop(name, None)
