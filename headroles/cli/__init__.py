"""The command line: commands, their options, and the entry point.

``main.py`` holds ``main()`` and the commands that run or judge a model; ``commands.py`` holds the others, and
``options.py`` all options. Only these modules import click. Start with ``main.py``.
"""
