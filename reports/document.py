"""What every page is made with: templates, and a policy that lets only its own scripts run."""

import base64
import hashlib
from functools import cache
from importlib.resources import files

from jinja2 import Environment, FunctionLoader, StrictUndefined


def environment() -> Environment:
    """Templates with every value escaped and every missing one refused."""
    return Environment(
        loader=FunctionLoader(template),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


@cache
def template(name: str) -> str:
    """The text of a file in ``templates``."""
    return files("headroles.reports").joinpath("templates", name).read_text(encoding="utf-8")


def policy(scripts: list[str]) -> str:
    """A content security policy: no request of any kind, no script but these."""
    digests = " ".join(
        "'sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() + "'"
        for script in scripts
    )
    return (
        f"default-src 'none'; script-src {digests}; style-src 'unsafe-inline'; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )
