"""Options of every command as frozen dataclasses, with the names of the command line and of the functions.

Each class checks its values without opening any file. ``run`` has the options that all runs share, and
``inputs`` those of all runs on texts; the other files add one command each. Options may import records,
presets, tasks, the kinds of map files, and names that ``sieves`` defines. Start with ``run``, then ``label``.
"""
