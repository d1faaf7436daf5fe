"""The engine that scores shards on a Ray cluster, or on a Ray that is started on this machine.

``data`` holds the engine, ``pool`` its actors, ``feed`` the questions they answer, and ``session`` joins or
starts Ray. Ray is imported inside functions only, so that headroles works without it. A newcomer starts with
``data``.
"""
