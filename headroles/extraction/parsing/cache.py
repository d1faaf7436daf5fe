"""Parses kept on disk by text and parser, so that a text is parsed once and not once a run."""

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
"""Bytes of the parses of one parser, some two million sentences; nothing is added beyond."""
PAGE = 4096
ASKED = 500
"""Texts looked up in one query."""
PATIENCE = 20.0
"""Seconds that another process may hold the file before what was asked is done without it."""
DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
TABLE = "CREATE TABLE IF NOT EXISTS parses (key BLOB PRIMARY KEY, words BLOB NOT NULL) WITHOUT ROWID"


def cache_folder(asked: str | None) -> Path | None:
    """Where parses are kept: the folder asked for, that of ``HEADROLES_CACHE``, or the user's cache.

    Args:
        asked: A folder, "none" for no cache, or None for the usual place.

    Returns:
        The folder, whether it is there or not; None for no cache.

    Example:
        >>> cache_folder("none") is None, cache_folder("parses").name
        (True, 'parses')
    """
    named = asked or os.environ.get(VARIABLE) or None
    if named is not None:
        return None if named == NONE else Path(named).expanduser()
    return user_cache_path("headroles", appauthor=False, opinion=False)


def opened_cache(asked: str | None, identity: str) -> tuple["ParseCache | None", str | None]:
    """The cache of one parser, and a sentence where there should be one but cannot.

    Args:
        asked: As for ``cache_folder``.
        identity: Says all that decides how a text is parsed; another parser has another file.
    """
    try:
        folder = cache_folder(asked)
        return (None if folder is None else ParseCache(folder, identity)), None
    except (OSError, sqlite3.Error, RuntimeError) as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        return None, (
            f"parses are not kept: the folder of --cache must be one that can be written, but "
            f"'{asked or os.environ.get(VARIABLE) or 'the cache folder of the user'}' is not ({reason})."
        )


class ParseCache:
    """Words of texts as one parser gives them, in one SQLite file that many processes share.

    What is read equals what was put in, or is a miss: every entry has a checksum over its key and its
    words, and a file that is no database any more is replaced by an empty one. A process that is killed
    leaves no half entry. Whatever else fails (disk full, another process in the way) is a miss as well.
    """

    def __init__(self, folder: Path, identity: str) -> None:
        """Open the file of a parser, making it and its folder where they are not there.

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
        """What the parse of a text is kept under."""
        return hashlib.sha256(self._identity + b"\0" + text.encode()).digest()

    def get(self, texts: Sequence[str]) -> dict[str, Words]:
        """The words of those texts that are there and whole."""
        keys = {self.key(text): text for text in texts}
        found: dict[str, Words] = {}
        wanted = list(keys)
        with self._lock, self._mended():
            for start in range(0, len(wanted), ASKED):
                part = wanted[start : start + ASKED]
                asked = f"SELECT key, words FROM parses WHERE key IN ({','.join('?' * len(part))})"
                for key, packed in self._opened().execute(asked, part):
                    words = unpack(packed, key) if isinstance(packed, bytes) else None
                    if words is not None:
                        found[keys[key]] = words
        return found

    def put(self, words: Mapping[str, Words]) -> None:
        """Keep the words of some texts, all or none of them."""
        rows = [
            (key, pack(each, key)) for key, each in ((self.key(text), each) for text, each in words.items())
        ]
        if not rows:
            return
        with self._lock, self._mended(), self._opened() as database:
            database.execute("BEGIN IMMEDIATE")
            database.executemany("INSERT OR REPLACE INTO parses VALUES (?, ?)", rows)

    def close(self) -> None:
        """Let the file go; it is opened again when something is asked of it."""
        with self._lock:
            self._close()

    def _opened(self) -> sqlite3.Connection:
        return self._open() if self._database is None else self._database

    def _open(self) -> sqlite3.Connection:
        """Connect; a rollback journal, not a write-ahead log, because that needs a local disk."""
        database = sqlite3.connect(self.file, timeout=PATIENCE, isolation_level=None, check_same_thread=False)
        self._database = database
        try:
            self._seen = self.file.stat()
            database.execute("PRAGMA journal_mode = TRUNCATE")
            # What a power cut may damage is found by its checksum and made again.
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
    def _mended(self) -> Iterator[None]:
        """Do without what fails; a damaged file is replaced."""
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            self._close()
            if _is_damage(error):
                with suppress(sqlite3.Error, OSError):
                    self._replace()

    def _replace(self) -> None:
        """An empty file in place of a damaged one, unless another process has replaced it by now."""
        self._close()
        with suppress(FileNotFoundError):
            now = self.file.stat()
            if self._seen is None or (now.st_ino, now.st_dev) == (self._seen.st_ino, self._seen.st_dev):
                Path(f"{self.file}-journal").unlink(missing_ok=True)
                self.file.unlink(missing_ok=True)
        self._open()


def _is_damage(error: BaseException) -> bool:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in DAMAGED
