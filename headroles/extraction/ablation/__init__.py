"""Run a model with interventions on its heads: what is put in their place, and what it does to the output.

Start with ``arms.Ablator``. ``network`` runs the passes of an input and ``trial`` checks at load that they
can be run; ``prefix`` skips layers, ``replacing`` puts outputs in place of a head's own, ``removal`` takes
attention away from cells, ``references`` has the mean outputs, and ``outcomes`` compares what comes out.
"""
