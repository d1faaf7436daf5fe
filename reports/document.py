"""Template loading, and the policy that lets a page run only its own scripts."""

import base64
import hashlib
from functools import cache
from importlib.resources import files
from urllib.parse import quote

from jinja2 import Environment, FunctionLoader, StrictUndefined

from headroles.records.roles import titles_of

PLOTLY = "plotly/plotly-basic.min.js"
"""Plotly's script for pages: scatter, bar and pie charts only, a quarter of the whole."""
NO_FINDINGS = '{"layers":[],"heads":0,"sieves":[],"names":[],"precision":[],"columns":{},"decision":""}'
"""What the scripts of all pages read of findings, for pages that have none."""


@cache
def environment() -> Environment:
    """Return the Jinja environment, which escapes every value and refuses every missing one.

    It keeps its templates, so that a second page of a process compiles none of them again. Its filter
    ``hash`` makes a name a part of the hash of an address, and ``titles_of`` gives titles of roles.
    """
    made = Environment(
        loader=FunctionLoader(template),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        optimized=False,  # a page renders its templates once, so that folding their constants does not pay
    )
    made.globals["titles_of"] = titles_of
    made.filters["hash"] = lambda text: quote(str(text), safe=":")
    return made


@cache
def template(name: str) -> str:
    """Return the text of a file in ``templates``, named by folder and file."""
    return files("headroles.reports").joinpath("templates", name).read_text(encoding="utf-8")


def policy(scripts: list[str]) -> str:
    """Return a content security policy that allows no request of any kind and only these scripts."""
    digests = " ".join(
        "'sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() + "'"
        for script in scripts
    )
    return (
        f"default-src 'none'; script-src {digests}; style-src 'unsafe-inline'; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )
