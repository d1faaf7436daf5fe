"""The public names of a package, imported when they are first used: importing the package stays light."""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def public_names(
    package: str, modules: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` of a package.

    Args:
        package: Name of the package.
        modules: For every module below the package, its public names, separated by spaces. No name may be
            that of a module or folder of the package.

    Example:
        >>> from headroles.stats import adjust
        >>> adjust.__module__
        'headroles.stats.correction'
    """
    homes = {name: f"{package}.{module}" for module, names in modules.items() for name in names.split()}

    def import_name(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(homes[name]), name)

    return import_name, lambda: sorted(homes), sorted(homes)
