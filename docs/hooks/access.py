"""Names for parts of the theme that screen readers could not tell otherwise."""

from typing import Any

DIALOG = 'data-md-component="search" role="dialog"'
"""The theme's window of the search, which has no name."""


def on_post_page(output: str, **given: Any) -> str:
    """Give the window of the search a name."""
    return output.replace(DIALOG, f'{DIALOG} aria-label="Search"')
