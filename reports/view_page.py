"""From a view to one self-contained HTML page: heads, the whole model, and what weights are made of."""

from markupsafe import Markup

from headroles.errors import UnknownName
from headroles.records.view import CROSS, DECODER, ENCODER, SELF, View
from headroles.reports.document import environment, policy, template
from headroles.reports.view_data import view_json
from headroles.reports.words import plural

SHOWS = {"head": "Heads", "model": "Model", "neuron": "Neurons"}
"""The views of a page, and what their tabs say."""
SCRIPTS = (
    "view.js", "attention.js", "attention_draw.js", "view_head.js", "view_model.js", "view_products.js",
    "view_strips.js", "view_neuron.js", "view_tabs.js",
)  # fmt: skip
STYLES = ("page.css", "attention.css", "view.css")
KINDS = {
    SELF: "self-attention",
    ENCODER: "encoder: the input attends to itself",
    DECODER: "decoder: the output attends to itself",
    CROSS: "cross: the output attends to the input",
}
LONG = 400
"""Letters from which on a text scrolls in a box of its own."""


def view_page(view: View, show: str = "head") -> str:
    """Attention over one input as one HTML file that asks for nothing from anywhere.

    The same view gives the same text, byte for byte. Text from data is escaped everywhere, and the
    page's own policy lets only its own scripts run.

    Args:
        view: Weights, tokens, and queries and keys where they are known.
        show: What is open first: ``"head"``, ``"model"`` or ``"neuron"``; the address of a link, such as
            ``view.html#model``, goes first.

    Returns:
        A complete HTML document.

    Raises:
        UnknownName: When there is no such view.
    """
    if show not in SHOWS:
        raise UnknownName("view", show, SHOWS)
    scripts = ["\n".join(template(name) for name in SCRIPTS)]
    return environment().get_template("view.html").render(
        view=view,
        show=show,
        shows=SHOWS,
        kinds=[KINDS[maps.kind] for maps in view.maps],
        heads=_counted(view),
        long=LONG,
        neurons=any(maps.neurons is not None for maps in view.maps),
        style=Markup("\n".join(template(name) for name in STYLES)),
        scripts=[Markup(script) for script in scripts],
        policy=policy(scripts),
        content=Markup(view_json(view)),
    )  # fmt: skip


def _counted(view: View) -> str:
    """How much is shown, in words."""
    told = []
    for maps in view.maps:
        tokens = plural(maps.queries.size, "token")
        if maps.kind == CROSS:
            tokens = f"{plural(maps.queries.size, 'token')} that attend to {maps.keys.size}"
        kind = "" if maps.kind == SELF else f"{maps.kind}: "
        told.append(f"{kind}{plural(len(maps.layers), 'layer')}, {plural(len(maps.heads), 'head')}, {tokens}")
    return "; ".join(told)
