"""Plans: the weights that turn attention into the scores of sieves, and the reference engine in numpy.

``plan`` and ``contrast`` make the plan of one example, ``reference`` applies it, ``batch`` gives the masks of
an example to the batched engine, and ``long`` plans long inputs. This package may import plans, records, and
the files of ``sieves`` above it, but neither torch nor built-in sieves. Start at ``plan``.
"""
