"""A decoder reads what the model's own code makes it read, from the start token the checkpoint says."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from tokenizers import processors
from transformers import AutoModel, PreTrainedTokenizerFast

from headroles.errors import BadInput
from headroles.extraction.model.checkpoint import Checkpoint
from headroles.extraction.model.two_texts import TargetTokenizer, set_decoder_start, shift_right
from headroles.extraction.texts.tokens import tokenise
from headroles.records.passage import Passage

ModelOf = Callable[[str], Path]


def _network(folder: Path) -> Any:
    return AutoModel.from_pretrained(folder)


def _where(folder: Path) -> Checkpoint:
    return Checkpoint("it", str(folder), None, "a local folder")


def _said(folder: Path, start: int) -> None:
    (folder / "generation_config.json").write_text(f'{{"decoder_start_token_id": {start}}}')


@pytest.mark.parametrize(("said", "start"), [(None, 0), (7, 7)])
def test_the_start_token_is_what_is_said_for_generation_else_padding(
    said: int | None, start: int, model_of: ModelOf, tmp_path: Path
) -> None:
    network = _network(model_of("t5"))
    if said is not None:
        _said(tmp_path, said)
    set_decoder_start(network, _where(tmp_path))
    assert shift_right(network, [5, 6, 1]) == [start, 5, 6]


def test_a_start_token_in_the_configuration_comes_first(model_of: ModelOf, tmp_path: Path) -> None:
    network = _network(model_of("bart"))
    _said(tmp_path, 7)
    set_decoder_start(network, _where(tmp_path))
    assert shift_right(network, [0, 5, 6, 2]) == [2, 0, 5, 6]


def test_a_model_without_a_rule_or_with_another_one_is_refused(model_of: ModelOf) -> None:
    with pytest.raises(BadInput, match="but the rule of BertModel is unknown; give the first text alone"):
        shift_right(_network(model_of("bert")), [5, 6])
    network = _network(model_of("t5"))
    network._shift_right = lambda labels: labels.flip(1)
    with pytest.raises(BadInput, match="but T5Model shifts it otherwise"):
        shift_right(network, [5, 6, 1])
    network._shift_right = lambda labels: torch.cat([labels[:, -1:], labels[:, :-1]], dim=1)
    assert shift_right(network, [5, 6, 1]) == [1, 5, 6]  # the language, where a model ends with it


class _Speaking(PreTrainedTokenizerFast):
    """A tokenizer that ends texts to be said otherwise, as those of translators do."""

    def _switch_to_target_mode(self) -> None:
        ending = [("</s>", 1), ("<unk>", 2)]
        raw: Any = self._tokenizer
        raw.post_processor = processors.TemplateProcessing(
            single="$A </s> <unk>", pair="$A $B", special_tokens=ending
        )


def test_texts_to_be_said_are_made_as_the_tokenizer_makes_them(tokenizer_of: Callable[[str], Any]) -> None:
    plain = tokenizer_of("t5")
    speaking = _Speaking(tokenizer_object=plain._tokenizer, model_input_names=["input_ids", "attention_mask"])  # type: ignore[no-untyped-call]
    passage = Passage("x", ("look at words",))
    (read,) = tokenise(plain, [passage], 50)
    (said,) = tokenise(TargetTokenizer(speaking), [passage], 50)
    assert (read.tokens[-1], said.tokens[-2:]) == ("</s>", ("</s>", "<unk>"))
    assert said.tokens[:-1] == read.tokens
