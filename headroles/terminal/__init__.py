"""Results in the terminal: tables and lines of runs, comparisons, replications and lists.

``run.py`` shows a run by its kind with ``label.py``, ``probe.py``, ``surface.py`` or ``cluster.py``;
``console.py`` makes the console. These modules may import rich, ``records`` and ``reports``. Start with
``run.py``.
"""
