"""How many faults of the product the tests catch: mutants, planted one at a time.

``mutants`` finds the places of the product where one small change makes another program, and writes all
chosen changes into one program with a switch for each. ``plugin`` runs the tests over that program: first to
see which tests reach which change; then, for every change, the tests that reach it, in a process of its own.
``python -m tests.strength --help`` is the command.
"""
