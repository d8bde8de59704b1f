"""From words and a picture to token ids, by the model's own processor; and from token ids to bytes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from jinja2 import TemplateError
from PIL import Image

from recap.errors import InputError

#: Stands for a user's words while the processor expands the template; a private-use character nobody types.
_STAND_IN = "\ue0f1"
#: For tokenizers without a chat template, as base models have: the turns, a line each.
_PLAIN_TEMPLATE = "{{ messages | map(attribute='content') | join('\\n') }}"


def build_prompt(
    processor: Any,
    images: Sequence[Image.Image],
    question: str,
    history: Sequence[tuple[str, str]] = (),
) -> dict[str, torch.Tensor]:
    """The processor's inputs for a conversation: `input_ids` [1, n] and what the pictures need.

    The pictures stand in the first user turn, before its words. Words are tokenised by the processor within its
    template; words that hold a control mark of the model (`<|im_end|>`, `<image>`) are put in as plain text, so that
    they cannot act as marks.

    Raises:
        InputError: the processor has no chat template, or its template cannot hold this conversation.
    """
    turns = [text for pair in history for text in pair] + [question]
    marks = sorted(
        {_STAND_IN, *processor.tokenizer.all_special_tokens, *processor.tokenizer.get_added_vocab()}
    )
    is_marked = [any(mark in text for mark in marks) for text in turns]
    shown = [_STAND_IN if marked else text for text, marked in zip(turns, is_marked, strict=True)]
    try:
        inputs = dict(_apply_template(processor, images, shown))
    except TemplateError as error:
        raise InputError(
            f"The model's chat template cannot hold this conversation ({error}); ask without earlier turns."
        ) from error
    inputs.pop("attention_mask", None)
    if any(is_marked):
        replacements = [text for text, marked in zip(turns, is_marked, strict=True) if marked]
        _insert_plain_text(processor.tokenizer, inputs, replacements)
    return inputs


def _apply_template(
    processor: Any, images: Sequence[Image.Image], turns: Sequence[str]
) -> dict[str, torch.Tensor]:
    if getattr(processor, "chat_template", None) is None:
        raise InputError(
            "The model's folder has no chat template (chat_template.jinja); get the whole model."
        )
    messages = []
    for index, text in enumerate(turns):
        content: list[dict[str, Any]] = [{"type": "text", "text": text}]
        if index == 0:
            content = [{"type": "image", "image": image} for image in images] + content
        messages.append({"role": "assistant" if index % 2 else "user", "content": content})
    return processor.apply_chat_template(
        messages, tokenize=True, add_generation_prompt=True, return_dict=True, return_tensors="pt"
    )


class TextProcessor:
    """A tokenizer in the place of a processor, for models without pictures."""

    def __init__(self, tokenizer: Any) -> None:
        self.tokenizer = tokenizer
        self.chat_template = tokenizer.chat_template or _PLAIN_TEMPLATE

    def apply_chat_template(self, messages: list[dict[str, Any]], **options: Any) -> dict[str, torch.Tensor]:
        """As the tokenizer's own, whose messages are strings; without a template the turns follow each other."""
        spoken = [{"role": message["role"], "content": message["content"][0]["text"]} for message in messages]
        return self.tokenizer.apply_chat_template(spoken, chat_template=self.chat_template, **options)


def _insert_plain_text(tokenizer: Any, inputs: dict[str, torch.Tensor], replacements: list[str]) -> None:
    """Replace each stand-in among `input_ids` by the ids of plain text; per-token inputs grow along."""
    ids = inputs["input_ids"][0].tolist()
    # Inside a prompt a stand-in has no space before it, which some tokenizers add to a text of its own.
    alone = tokenizer(_STAND_IN, add_special_tokens=False)["input_ids"]
    stand_in = next(alone[start:] for start in range(len(alone)) if _find(ids, alone[start:]) is not None)
    num_tokens = len(ids)
    per_token = {
        name: value[0].tolist()
        for name, value in inputs.items()
        if name != "input_ids" and value.ndim == 2 and tuple(value.shape) == (1, num_tokens)
    }
    end = 0
    for text in replacements:
        found = _find(ids[end:], stand_in)  # behind the last one, as what was typed may hold the stand-in too
        assert found is not None, "every stand-in is found again"
        start = end + found
        # Behind the stand-in, the words are tokenised as in the middle of a text.
        behind = tokenizer(_STAND_IN + text, add_special_tokens=False, split_special_tokens=True)["input_ids"]
        plain = behind[_find(behind, stand_in) + len(stand_in) :]
        ids[start : start + len(stand_in)] = plain
        for values in per_token.values():
            values[start : start + len(stand_in)] = [0] * len(plain)
        end = start + len(plain)
    inputs["input_ids"] = torch.tensor([ids])
    for name, values in per_token.items():
        inputs[name] = torch.tensor([values], dtype=inputs[name].dtype)


def _find(ids: list[int], part: list[int]) -> int | None:
    """Where `part` first stands in `ids`."""
    return next((i for i in range(len(ids) - len(part) + 1) if ids[i : i + len(part)] == part), None)


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
