"""The structure of product and tests: imports, seams, generated pages, examples in docstrings, CI."""
