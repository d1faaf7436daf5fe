"""A small trained decoder: llama2.c's stories260K as a folder of safetensors, and stories that it writes.

Tests of headroles use the same folder.
"""

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tokenizers import Tokenizer, decoders, models, normalizers, processors
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

UNKNOWN, BEGIN, END = "<unk>", "<s>", "</s>"


def convert(source: Path, folder: Path) -> Path:
    """Write the checkpoint and its tokenizer as transformers reads them.

    Args:
        source: Folder with ``stories260K.bin`` and ``tok512.bin``, laid out as the README there says.
        folder: Where to write; made when it is missing.
    """
    model = _model((source / "stories260K.bin").read_bytes())
    model.save_pretrained(folder)
    tokenizer = PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=_tokenizer((source / "tok512.bin").read_bytes()),
        bos_token=BEGIN,
        eos_token=END,
        unk_token=UNKNOWN,
        model_max_length=model.config.max_position_embeddings,
    )
    tokenizer.save_pretrained(folder)
    return folder


def write_stories(folder: Path, file: Path, count: int, seed: int = 0, tokens: int = 120) -> None:
    """Write stories of the decoder as JSON lines with the field ``text``.

    Args:
        folder: Folder of the decoder.
        file: The file.
        count: Number of stories.
        seed: Seed of the draws.
        tokens: Most tokens of a story.
    """
    model: Any = LlamaForCausalLM.from_pretrained(folder)
    tokenizer: Any = PreTrainedTokenizerFast.from_pretrained(folder)  # type: ignore[no-untyped-call]
    torch.manual_seed(seed)
    start = torch.full((count, 1), tokenizer.bos_token_id)
    with torch.inference_mode():
        written = model.generate(
            start,
            attention_mask=torch.ones_like(start),
            do_sample=True,
            max_new_tokens=tokens,
            pad_token_id=tokenizer.eos_token_id,
        )
    texts = tokenizer.batch_decode(written, skip_special_tokens=True)
    lines = (json.dumps({"text": " ".join(text.split())}) + "\n" for text in texts)
    file.write_text("".join(lines), encoding="utf-8")


def _model(raw: bytes) -> Any:
    width, inner, layers, heads, shared, words, positions = struct.unpack("<7i", raw[:28])
    config = LlamaConfig(
        hidden_size=width,
        intermediate_size=inner,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=shared,
        vocab_size=words,
        max_position_embeddings=positions,
        rms_norm_eps=1e-5,
        tie_word_embeddings=True,
        bos_token_id=1,
        eos_token_id=2,
        architectures=["LlamaForCausalLM"],
    )
    numbers = np.frombuffer(raw, dtype="<f4", offset=28)
    size, keys = width // heads, width // heads * shared
    shapes = {
        "embed_tokens": (words, width),
        "input_layernorm": (layers, width),
        "self_attn.q_proj": (layers, width, width),
        "self_attn.k_proj": (layers, keys, width),
        "self_attn.v_proj": (layers, keys, width),
        "self_attn.o_proj": (layers, width, width),
        "post_attention_layernorm": (layers, width),
        "mlp.gate_proj": (layers, inner, width),
        "mlp.down_proj": (layers, width, inner),
        "mlp.up_proj": (layers, inner, width),
        "norm": (width,),
    }
    weights, start = {}, 0
    for name, shape in shapes.items():
        stop = start + int(np.prod(shape))
        array = numbers[start:stop].reshape(shape)
        start = stop
        if name in ("embed_tokens", "norm"):
            weights[f"model.{name}.weight"] = torch.tensor(array)
            continue
        for layer, own in enumerate(array):
            turned = _halves_first(own, size) if "q_proj" in name or "k_proj" in name else own
            weights[f"model.layers.{layer}.{name}.weight"] = torch.tensor(turned)
    if numbers.size != start + positions * size:  # two rotary tables of size / 2 columns end the file
        raise ValueError(f"expected {start + positions * size} numbers, but got {numbers.size}")
    model: Any = LlamaForCausalLM(config)
    weights["lm_head.weight"] = weights["model.embed_tokens.weight"]
    model.load_state_dict(weights)
    return model


def _halves_first(rows: np.ndarray, size: int) -> np.ndarray:
    """Move rotary pairs from neighbours (0, 1), (2, 3), … to places half a head apart (0, size / 2), …."""
    pairs = rows.reshape(-1, size // 2, 2, rows.shape[1])
    turned: np.ndarray = pairs.swapaxes(1, 2).reshape(rows.shape)
    return turned


def _tokenizer(raw: bytes) -> Tokenizer:
    """Return the tokenizer, which joins pieces by their scores: the merge of the best piece is first."""
    pieces, scores, place = [], [], 4
    while place < len(raw):
        score, length = struct.unpack_from("<fi", raw, place)
        pieces.append(raw[place + 8 : place + 8 + length].decode().replace(" ", "▁"))
        scores.append(score)
        place += 8 + length
    pieces[:3] = [UNKNOWN, BEGIN, END]
    numbers = {piece: number for number, piece in enumerate(pieces)}
    joined = [number for number, piece in enumerate(pieces) if number > 258 and len(piece) > 1]
    merges = [
        (pieces[number][:cut], pieces[number][cut:])
        for number in sorted(joined, key=lambda number: -scores[number])
        for cut in range(1, len(pieces[number]))
        if pieces[number][:cut] in numbers and pieces[number][cut:] in numbers
    ]
    tokenizer = Tokenizer(models.BPE(numbers, merges, unk_token=UNKNOWN, fuse_unk=True, byte_fallback=True))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{BEGIN} $A", pair=f"{BEGIN} $A {BEGIN} $B", special_tokens=[(BEGIN, 1)]
    )
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    tokenizer.add_special_tokens([UNKNOWN, BEGIN, END])
    return tokenizer
