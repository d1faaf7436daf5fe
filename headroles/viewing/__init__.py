"""Views: attention over one input, read from a model, stored maps or arrays, with the roles of a run.

``read.view`` reads it, ``viewed.Viewed`` shows it, and ``of_run`` has what a run brings.
"""

from headroles.viewing.read import view
from headroles.viewing.viewed import PAGE, Viewed

__all__ = ["PAGE", "Viewed", "view"]
