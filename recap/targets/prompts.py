"""From words and a picture to token ids, by the model's own processor; and from token ids to bytes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from PIL import Image

#: Stands for a user's words while the processor expands the template; a private-use character nobody types.
_STAND_IN = "\ue0f1"


def build_prompt(
    processor: Any, image: Image.Image | None, question: str, history: Sequence[tuple[str, str]] = ()
) -> dict[str, torch.Tensor]:
    """The processor's inputs for a conversation: `input_ids` [1, n] and what the picture needs.

    The picture stands in the first user turn. Words are tokenised by the processor within its template; words that hold
    a control mark of the model (`<|im_end|>`, `<image>`) are put in as plain text, so that they cannot act as marks.
    """
    turns = [text for pair in history for text in pair] + [question]
    marks = sorted(set(processor.tokenizer.all_special_tokens) | set(processor.tokenizer.get_added_vocab()))
    is_marked = [any(mark in text for mark in marks) for text in turns]
    shown = [_STAND_IN if marked else text for text, marked in zip(turns, is_marked, strict=True)]
    inputs = dict(_apply_template(processor, image, shown))
    inputs.pop("attention_mask", None)
    if any(is_marked):
        replacements = [text for text, marked in zip(turns, is_marked, strict=True) if marked]
        _insert_plain_text(processor.tokenizer, inputs, replacements)
    return inputs


def _apply_template(
    processor: Any, image: Image.Image | None, turns: Sequence[str]
) -> dict[str, torch.Tensor]:
    messages = []
    for index, text in enumerate(turns):
        content: list[dict[str, Any]] = [{"type": "text", "text": text}]
        if index == 0 and image is not None:
            content.insert(0, {"type": "image", "image": image})
        messages.append({"role": "assistant" if index % 2 else "user", "content": content})
    return processor.apply_chat_template(
        messages, tokenize=True, add_generation_prompt=True, return_dict=True, return_tensors="pt"
    )


def _insert_plain_text(tokenizer: Any, inputs: dict[str, torch.Tensor], replacements: list[str]) -> None:
    """Replace each stand-in among `input_ids` by the ids of plain text; per-token inputs grow along."""
    stand_in = tokenizer(_STAND_IN, add_special_tokens=False)["input_ids"]
    ids = inputs["input_ids"][0].tolist()
    num_tokens = len(ids)
    per_token = {
        name: value[0].tolist()
        for name, value in inputs.items()
        if name != "input_ids" and value.ndim == 2 and tuple(value.shape) == (1, num_tokens)
    }
    for text in replacements:
        start = next(i for i in range(len(ids)) if ids[i : i + len(stand_in)] == stand_in)
        plain = tokenizer(text, add_special_tokens=False, split_special_tokens=True)["input_ids"]
        ids[start : start + len(stand_in)] = plain
        for values in per_token.values():
            values[start : start + len(stand_in)] = [0] * len(plain)
    inputs["input_ids"] = torch.tensor([ids])
    for name, values in per_token.items():
        inputs[name] = torch.tensor([values], dtype=inputs[name].dtype)


def token_byte_table(tokenizer: Any) -> tuple[dict[int, bytes], frozenset[int]]:
    """The bytes of every id of the tokenizer, and which ids are special (they add no text).

    Byte-level vocabularies spell bytes with one stand-in character each; sentencepiece ones write a space as U+2581 and
    single bytes as <0xE2>.
    """
    alphabet = _byte_level_alphabet()
    vocabulary: dict[str, int] = tokenizer.get_vocab()
    added = {int(token_id): str(token) for token_id, token in tokenizer.added_tokens_decoder.items()}
    special_ids = frozenset(tokenizer.all_special_ids) | {
        int(token_id) for token_id, token in tokenizer.added_tokens_decoder.items() if token.special
    }
    # Byte-level vocabularies spell a space as U+0120.
    is_byte_level = any("\u0120" in token for token in vocabulary)
    table: dict[int, bytes] = {}
    for token, token_id in vocabulary.items():
        if token_id in added:
            table[token_id] = added[token_id].encode()
        elif is_byte_level and all(character in alphabet for character in token):
            table[token_id] = bytes(alphabet[character] for character in token)
        elif len(token) == 6 and token.startswith("<0x") and token.endswith(">"):
            table[token_id] = bytes([int(token[3:5], 16)])
        else:
            table[token_id] = token.replace("\u2581", " ").encode()
    return table, special_ids


def _byte_level_alphabet() -> dict[str, int]:
    """The byte each character of a byte-level vocabulary stands for (Radford et al. 2019).

    Printable bytes stand for themselves; the others, in order, for the characters from U+0100 on.
    """
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    alphabet = {chr(byte): byte for byte in printable}
    others = (byte for byte in range(256) if byte not in set(printable))
    alphabet.update({chr(0x100 + offset): byte for offset, byte in enumerate(others)})
    return alphabet
