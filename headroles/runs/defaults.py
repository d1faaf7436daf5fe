"""The default folder of a run, and the command that decides a stored run again instead of a new run."""

import json
import re
from hashlib import sha256
from pathlib import Path
from typing import Any

from headroles.extraction.model.checkpoint import EMBEDDED
from headroles.options.described import Described, described
from headroles.options.inputs import input_name
from headroles.options.run import CommonOptions
from headroles.storage.folder import MANIFEST, PLAN, read_manifest

IN_NAME = {"attention", "data", "folder", "group", "model", "probes", "revision", "task", "text_a", "text_b"}
"""Options that the first part of a folder's name stands for."""
DECISION = "Decision"
"""Heading of the options that a stored run can be judged by again."""
LONGEST = 80
"""Most characters that other options add to a folder's name; more become a digest."""


def default_folder(options: CommonOptions) -> str:
    """Return the folder that a command uses where none is named: ``runs/<inputs>-<model>``.

    The kind of run comes first, except for ``label``. Every option that decides the numbers and differs from
    its default is appended. Where that folder holds a run with other settings (such as one on another file
    of the same name), a digest of the settings is appended, too. So runs never meet in one folder.

    Example:
        >>> from headroles.options.label import LabelOptions
        >>> default_folder(LabelOptions(task="QNLI"))
        'runs/QNLI-all-MiniLM-L6-v2'
        >>> default_folder(LabelOptions(task="QNLI", sieve=("patterns",), alpha=0.01))
        'runs/QNLI-all-MiniLM-L6-v2-alpha-0.01-sieve-patterns'
    """
    return _free(_name(options), options)


def judge_instead(options: CommonOptions) -> str | None:
    """Return a sentence with the command that decides a stored run again; None where there is no such run.

    The stored run lies in the default folder, and the options differ from its settings in the decision only.
    """
    decided = [(option, value) for option, value in _differing(options) if option.option.group == DECISION]
    if not decided:
        return None
    names_decided = {option.name for option in described(type(options)) if option.option.group == DECISION}
    stored = _name(options, frozenset(names_decided))
    settings, before = options.settings(), _settings_of(Path(stored))
    names = {*settings, *before} - names_decided
    if not before or any(settings.get(name) != before.get(name) for name in names):
        return None
    flags = " ".join(option.flag if value is True else f"{option.flag} {value}" for option, value in decided)
    return f"{stored} has these scores: headroles judge {stored} {flags} decides again without the model"


def _name(options: CommonOptions, without: frozenset[str] = frozenset()) -> str:
    """Return the name of a folder from options; those in ``without`` add nothing to it."""
    if options.attention is not None:
        inputs, model = input_name(options.attention), "maps"
    else:
        inputs = str(options.name)  # type: ignore[attr-defined]
        given = options.settings()["model"]
        model = Path(EMBEDDED).name if given is None else Path(given).resolve().name
    kind = "-".join(getattr(options, "probes", ())) or (options.KIND if options.KIND != "label" else "")
    more = "-".join(
        f"{option.flag[2:]}-{_words(option, value)}".removesuffix("-")
        for option, value in _differing(options)
        if option.name not in without
    )
    if len(more) > LONGEST:
        more = sha256(more.encode()).hexdigest()[:8]
    return str(Path("runs") / "-".join(part for part in (kind, inputs, model, more) if part))


def _differing(options: CommonOptions) -> list[tuple[Described, Any]]:
    """Return the options that decide the numbers, differ from their defaults, and are not in the name."""
    with_file = {"data"} if getattr(options, "task", None) is not None else set()
    named = (IN_NAME - with_file) | set(options.PLACES)
    every = sorted(described(type(options)), key=lambda option: option.name)
    values = [(option, getattr(options, option.name)) for option in every if option.name not in named]
    return [(option, value) for option, value in values if value != option.value]


def _words(option: Described, value: Any) -> str:
    """Return a value as part of a name: letters, digits and few signs; "" for True."""
    texts = [_word(option, item) for item in (value if isinstance(value, tuple) else (value,))]
    return re.sub(r"[^\w.+=,-]+", "_", "+".join(texts))


def _word(option: Described, value: Any) -> str:
    """Return a single value as text: a file by its name, a sieve in a file by the name of the sieve."""
    text = "" if value is True else str(getattr(value, "name", value))
    if ".py:" in text:
        return text.rpartition(":")[2]
    return input_name(text) if option.option.path else text


def _free(folder: str, options: CommonOptions) -> str:
    """Return the folder, with a digest of the settings where it holds a run with other settings."""
    before, settings = _settings_of(Path(folder)), options.settings()
    if all(before.get(name) == settings.get(name) for name in {*before, *settings}) or not before:
        return folder
    text = json.dumps(settings, sort_keys=True, default=str)
    return f"{folder}-{sha256(text.encode()).hexdigest()[:6]}"


def _settings_of(folder: Path) -> dict[str, Any]:
    """Return the settings of the run in a folder, finished or not; empty where there is none."""
    for name in (MANIFEST, PLAN):
        settings = read_manifest(folder, name).get("settings")
        if isinstance(settings, dict):
            return settings
    return {}
