"""The model of a pruning with its removed heads cut out of the weights: ``load_cut()``."""

from pathlib import Path
from typing import Any

from headroles.addresses import check_place
from headroles.errors import BadInput
from headroles.storage.causal.pruning import load_pruning
from headroles.storage.folder import PRUNED_MODEL, PRUNING
from headroles.storage.integrity.manifest import check_run_folder


def load_cut(folder: str | Path, device: str = "auto") -> Any:
    """Return the network of a pruning without the weights of its removed heads: smaller, and faster.

    It computes what the checkpoint in the folder computes. It is a network of transformers whose layers have
    different numbers of heads. No configuration describes that, so it is loaded by this function only, and
    ``save_pretrained`` would write files that nothing loads. Where query heads share keys and values, a group
    is cut out when all of its heads were removed. Every layer keeps one group.

    Args:
        folder: Folder that ``headroles.prune`` wrote.
        device: "auto", "cpu", "cuda" or "mps".

    Raises:
        BadInput: When the folder is no pruning, no head was removed, or heads cannot be cut out of this
            architecture.
    """
    check_place(folder)
    check_run_folder(folder, PRUNING)
    place = Path(folder)
    pruning = load_pruning(place)
    if not pruning.removed.any():
        raise BadInput(
            f"heads are cut out where some were removed, but no head was removed in '{folder}'; prune with a "
            f"larger --bound first"
        )
    from headroles.extraction.model.checkpoint import find_checkpoint
    from headroles.extraction.padding import pad_inputs
    from headroles.extraction.pruning.cut import cut_heads
    from headroles.extraction.pruning.opening import open_whole
    from headroles.extraction.pruning.passes import use_fast_attention
    from headroles.extraction.pruning.replace import find_projections
    from headroles.extraction.texts.tokens import tokenise
    from headroles.records.passage import Passage

    settings = pruning.manifest["run"]["settings"]
    model = open_whole(
        find_checkpoint(str(place / PRUNED_MODEL), None),
        device=device,
        dtype=settings["dtype"],
        max_length=settings["max_length"],
    )
    short = tokenise(model.tokenizer, [Passage("cut", ("a b c",))], settings["max_length"])
    projections = find_projections(model.network, pad_inputs(model, short))
    use_fast_attention(model.network)
    return cut_heads(model.network, projections, pruning.removed)[0]
