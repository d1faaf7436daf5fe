"""Origins of roles in queries and keys: shared part, dimensions, rotations, directions, knock-outs.

Start with ``judge.judge_origins``. All tests are on units that decided no role.
"""
