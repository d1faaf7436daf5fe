"""Made-up runs, tiny models and servers that tests share."""

import re
import resource

from headroles.progress import PHASES

PHASE = re.compile(rf"^({'|'.join(PHASES)}) +\d.*\n", re.MULTILINE)
"""A line that a run writes on stderr when one of its phases ends."""
OUTLOOK = re.compile(r"^[\d,]+ (?:input|unit).* below .*\n", re.MULTILINE)
"""The line on what so few inputs cannot decide, which is said before a model is loaded."""


def processor_time() -> float:
    """Return the processor time of this process and of those it waited for, in seconds."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


def table(text: str) -> list[tuple[str, ...]]:
    r"""Return the rows of a table with bars between cells; empty lines and lines after # are left out.

    Example:
        >>> table('''
        ... # words   | sentence
        ... label     | a run needs inputs
        ... ''')
        [('label', 'a run needs inputs')]
    """
    lines = [line.strip() for line in text.splitlines()]
    return [tuple(cell.strip() for cell in line.split("|")) for line in lines if line and line[0] != "#"]
