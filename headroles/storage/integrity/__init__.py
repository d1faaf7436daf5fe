"""Folders that change whole or not at all, whenever a command is killed.

``leftovers`` names half-written files and removes those of dead processes. ``switch`` replaces many files in
one step. ``manifest`` seals the file that marks a folder as finished. ``lock`` keeps commands apart, and lets
``repair`` finish or undo what a killed command left. ``reading`` gives readers one state of a folder.
``origin`` knows single files that headroles wrote.
"""
