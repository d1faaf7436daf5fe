"""Built-in sieves: functions from an example to the cells that count, and two scorers.

One file holds one idea, such as offsets, punctuation or dependency arcs; ``headroles.sieves.BUILT_IN`` and
``PATTERNS`` list them by name. This package may import the files of ``sieves`` above it,
``sieves.language``, ``sieves.weights``, plans and records. Start at ``local``.
"""
