"""Records of interventions on heads: the names of their columns, and the results of their tests.

Start with ``ablation.Ablation``.
"""
