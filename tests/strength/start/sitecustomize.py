"""Let programs that tests start have the same switches; Python imports this file by its name."""

import os

if "STRENGTH" in os.environ and "PYTEST_CURRENT_TEST" in os.environ:
    import tests.strength.plugin  # noqa: F401
