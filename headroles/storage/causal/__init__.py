"""Tables and archives of runs that intervene on heads.

Start with ``ablation.ablation_files``.
"""
