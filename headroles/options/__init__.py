"""Options of every command as frozen dataclasses; everything about an option is written once.

``described`` holds what a description is, ``shared`` the descriptions of options that several commands take,
``values`` the conversion of given values, and ``keywords`` the functions whose keywords are options. ``run``
has the options that all runs share, and ``inputs`` those of all runs on texts; ``finished`` has those of
commands on finished runs; the other files add one command each. Records check their values without opening
any file. Start with ``described``, then ``run`` and ``label``.
"""
