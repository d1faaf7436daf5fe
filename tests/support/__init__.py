"""Made-up runs, tiny models and servers that tests share."""

import re

from headroles.progress import PHASES
from tests.support.tables import table as table

PHASE = re.compile(rf"^({'|'.join(PHASES)}) +\d.*\n", re.MULTILINE)
"""A line that a run writes on stderr when one of its phases ends."""
