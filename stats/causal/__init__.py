"""Tests of interventions: whether heads matter, whether roles say where and which, and certificates.

Start with ``judge.judge_ablation``.
"""
