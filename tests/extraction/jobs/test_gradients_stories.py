"""A trained decoder: it tells its story, and what its loss depends on is finite and of the right kinds."""

from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from headroles.extraction.jobs.gradients import gradient_shards
from headroles.extraction.model.checkpoint import find_checkpoint
from headroles.extraction.model.losses import LossOptions, load_with_loss, losses, prepare_target
from headroles.extraction.texts.tokens import tokenise
from headroles.records.passage import Passage
from headroles.sieves.surface import kinds

STORY = (
    "Once upon a time, there was a little girl named Lily. She loved to play outside in the park. "
    "One day, she saw a big, red ball."
)


def test_the_converted_decoder_tells_the_story_its_author_documents(stories: Path) -> None:
    tokenizer: Any = AutoTokenizer.from_pretrained(stories)
    model: Any = AutoModelForCausalLM.from_pretrained(stories)
    ids = tokenizer(STORY)["input_ids"]
    told = torch.tensor([ids[:1]])
    with torch.inference_mode():
        for _ in ids[1:]:
            told = torch.cat([told, model(told).logits[:, -1:].argmax(-1)], dim=1)
    assert told[0].tolist() == ids
    assert tokenizer.decode(told[0], skip_special_tokens=True) == STORY


def test_a_story_surprises_less_than_its_words_in_disorder(stories: Path) -> None:
    model = load_with_loss(find_checkpoint(str(stories), None), device="cpu", dtype="float32", max_length=128)
    texts = (STORY, " ".join(reversed(STORY.split())))
    options = LossOptions(0.15)
    found = []
    for text in texts:
        (tokenised,) = tokenise(model.tokenizer, [Passage(text[:9], (text,))], 128)
        shown, target = prepare_target(model, tokenised, options)
        logits = model.network(torch.tensor([shown.inputs["input_ids"]]))[0]
        found.append(float(losses(model, logits, [target])[0]))
    assert found[0] < 1 < found[1]


def test_a_trained_decoders_loss_depends_most_on_the_attention_to_its_first_token(stories: Path) -> None:
    model = load_with_loss(find_checkpoint(str(stories), None), device="cpu", dtype="float32", max_length=128)
    texts = [STORY, "The cat was very hungry. She looked for fish, but there was none."]
    (shard,) = gradient_shards(
        model,
        [Passage(text[:9], (text,)) for text in texts],
        kinds,
        options=LossOptions(0.15),
        batch_size=8,
        max_length=128,
        advance=lambda count: None,
    )
    first, separator, punctuation, other = shard.values[4:].astype(np.float64)
    assert np.isnan(separator).all()
    assert (first.mean(axis=(0, 2)) > 2 * other.mean(axis=(0, 2))).all()
    assert (punctuation > 0).all()
