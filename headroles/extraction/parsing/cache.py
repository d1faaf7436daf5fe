"""Cache of parses on disk by text and parser, so that a text is parsed once and not once per run."""

import hashlib
import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock

from platformdirs import user_cache_path

from headroles.extraction.parsing.packing import pack, unpack
from headroles.records.passage import Words

NONE, VARIABLE = "none", "HEADROLES_CACHE"
LARGEST = 2 * 2**30
"""Largest size in bytes of the parses of one parser, about two million sentences; nothing is added beyond."""
PAGE = 4096
QUERY = 500
"""Number of texts looked up in one query."""
PATIENCE = 20.0
"""Seconds that another process may hold the file before a call does without it."""
DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
TABLE = "CREATE TABLE IF NOT EXISTS parses (key BLOB PRIMARY KEY, words BLOB NOT NULL) WITHOUT ROWID"


def cache_folder(asked: str | None) -> Path | None:
    """Return the folder of the cache: the requested one, that of ``HEADROLES_CACHE``, or the user's.

    Args:
        asked: A folder, "none" for no cache, or None for the usual place.

    Returns:
        The folder, which need not exist; None for no cache.

    Example:
        >>> cache_folder("none") is None, cache_folder("parses").name
        (True, 'parses')
    """
    named = asked or os.environ.get(VARIABLE) or None
    if named is not None:
        return None if named == NONE else Path(named).expanduser()
    return user_cache_path("headroles", appauthor=False, opinion=False)


def open_cache(asked: str | None, identity: str) -> tuple["ParseCache | None", str | None]:
    """Open the cache of one parser.

    Args:
        asked: As for ``cache_folder``.
        identity: Everything that decides how a text is parsed; another parser has another file.

    Returns:
        The cache, None for no cache; and a sentence where the cache cannot be opened, otherwise None.
    """
    try:
        folder = cache_folder(asked)
        return (None if folder is None else ParseCache(folder, identity)), None
    except (OSError, sqlite3.Error, RuntimeError) as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        return None, (
            "parses are not kept, because the folder of --cache must be writable, but "
            f"'{asked or os.environ.get(VARIABLE) or 'the cache folder of the user'}' is not ({reason})."
        )


class ParseCache:
    """The words of texts from one parser, in one SQLite file that many processes share.

    A value that is read equals the value that was put in, or is a miss: every entry has a checksum over its
    key and its words, and a file that is no longer a database is replaced by an empty one. A process that is
    killed leaves no half entry. Every other failure (disk full, file locked by another process) is a miss,
    too.
    """

    def __init__(self, folder: Path, identity: str) -> None:
        """Open the file of a parser; make file and folder where they are missing.

        Raises:
            OSError, sqlite3.Error: When it cannot be written.
        """
        folder.mkdir(parents=True, exist_ok=True)
        self._identity = identity.encode()
        self.file = folder / f"parses-{hashlib.sha256(self._identity).hexdigest()[:16]}.sqlite"
        self._lock = Lock()
        self._seen: os.stat_result | None = None
        self._database: sqlite3.Connection | None = None
        with self._lock:
            try:
                self._open()
            except sqlite3.DatabaseError as error:
                if not _is_damage(error):
                    raise
                self._replace()

    def key(self, text: str) -> bytes:
        """Return the key of the parse of a text."""
        return hashlib.sha256(self._identity + b"\0" + text.encode()).digest()

    def get(self, texts: Sequence[str]) -> dict[str, Words]:
        """Return the words of those texts that are in the cache and undamaged."""
        keys = {self.key(text): text for text in texts}
        found: dict[str, Words] = {}
        wanted = list(keys)
        with self._lock, self._repaired():
            for start in range(0, len(wanted), QUERY):
                part = wanted[start : start + QUERY]
                query = f"SELECT key, words FROM parses WHERE key IN ({','.join('?' * len(part))})"
                for key, packed in self._connection().execute(query, part):
                    words = unpack(packed, key) if isinstance(packed, bytes) else None
                    if words is not None:
                        found[keys[key]] = words
        return found

    def put(self, words: Mapping[str, Words]) -> None:
        """Put in the words of some texts, all of them or none."""
        rows = [
            (key, pack(parse, key))
            for key, parse in ((self.key(text), parse) for text, parse in words.items())
        ]
        if not rows:
            return
        with self._lock, self._repaired(), self._connection() as database:
            database.execute("BEGIN IMMEDIATE")
            database.executemany("INSERT OR REPLACE INTO parses VALUES (?, ?)", rows)

    def close(self) -> None:
        """Close the file; it is opened again when it is needed."""
        with self._lock:
            self._close()

    def _connection(self) -> sqlite3.Connection:
        return self._open() if self._database is None else self._database

    def _open(self) -> sqlite3.Connection:
        """Connect, with a rollback journal: a write-ahead log would need a local disk."""
        database = sqlite3.connect(self.file, timeout=PATIENCE, isolation_level=None, check_same_thread=False)
        self._database = database
        try:
            self._seen = self.file.stat()
            database.execute("PRAGMA journal_mode = TRUNCATE")
            # Damage by a power cut is found by the checksum, and the entry made again.
            database.execute("PRAGMA synchronous = OFF")
            database.execute(f"PRAGMA max_page_count = {LARGEST // PAGE}")
            database.execute(TABLE)
        except BaseException:
            self._close()
            raise
        return database

    def _close(self) -> None:
        database, self._database = self._database, None
        if database is not None:
            with suppress(sqlite3.Error):
                database.close()

    @contextmanager
    def _repaired(self) -> Iterator[None]:
        """Ignore failures, and replace a damaged file."""
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            self._close()
            if _is_damage(error):
                with suppress(sqlite3.Error, OSError):
                    self._replace()

    def _replace(self) -> None:
        """Replace a damaged file by an empty one, unless another process has already done so."""
        self._close()
        with suppress(FileNotFoundError):
            now = self.file.stat()
            if self._seen is None or (now.st_ino, now.st_dev) == (self._seen.st_ino, self._seen.st_dev):
                Path(f"{self.file}-journal").unlink(missing_ok=True)
                self.file.unlink(missing_ok=True)
        self._open()


def _is_damage(error: BaseException) -> bool:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in DAMAGED
