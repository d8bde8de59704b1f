"""From words and a picture to token ids, by the model's own processor; and from token ids to bytes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import torch
from jinja2 import TemplateError
from PIL import Image

from recap.errors import InputError

#: Stands for a user's words while the processor expands the template; a private-use character nobody types.
_STAND_IN = "\ue0f1"


def build_prompt(
    processor: Any,
    images: Sequence[Image.Image],
    question: str,
    history: Sequence[tuple[str, str]] = (),
) -> dict[str, torch.Tensor]:
    """The processor's inputs for a conversation: `input_ids` [1, n] and what the pictures need.

    The pictures stand in the first user turn, before its words. Words are tokenised by the processor within its
    template; words that hold a control mark of the model (`<|im_end|>`, `<image>`) are put in as plain text, so that
    they cannot act as marks. What a user types cannot be a mark that the tokenizer added without calling it special
    either (`<tool_call>`, `</think>`); in an answer these are the model's own, and the template may look for them.

    Raises:
        InputError: the processor has no chat template, or its template cannot hold this conversation.
    """
    turns = [text for pair in history for text in pair] + [question]
    special, unspecial = _find_marks(processor.tokenizer)
    is_marked = [
        any(mark in text for mark in (special if index % 2 else special | unspecial))
        for index, text in enumerate(turns)
    ]
    shown = [_STAND_IN if marked else text for text, marked in zip(turns, is_marked, strict=True)]
    try:
        inputs = dict(_apply_template(processor, images, shown))
    except TemplateError as error:
        raise InputError(
            f"The model's chat template cannot hold this conversation ({error}); ask without earlier turns."
        ) from error
    inputs.pop("attention_mask", None)
    if any(is_marked):
        replacements = [
            [text] if index % 2 else _split_at(text, unspecial)
            for index, text in enumerate(turns)
            if is_marked[index]
        ]
        _insert_plain_text(processor.tokenizer, inputs, replacements)
    return inputs


def _find_marks(tokenizer: Any) -> tuple[set[str], set[str]]:
    """The tokenizer's special tokens, our stand-in among them, and what it added without calling it special.

    Of the latter only what stands in brackets: tokenizers add runs of spaces and words as well, which are text.
    """
    special = {_STAND_IN, *tokenizer.all_special_tokens}
    unspecial = set()
    for token in tokenizer.added_tokens_decoder.values():
        text = str(token)
        if token.special:
            special.add(text)
        elif len(text) > 1 and (text[0], text[-1]) in (("<", ">"), ("[", "]")):
            unspecial.add(text)
    return special, unspecial - special


def _split_at(text: str, marks: set[str]) -> list[str]:
    """A text in parts of which none holds a mark: each is cut behind its first character."""
    if not marks:
        return [text]
    found = re.compile("|".join(re.escape(mark) for mark in sorted(marks, key=len, reverse=True)))
    parts = [text]
    while match := found.search(parts[-1]):
        rest, cut = parts.pop(), match.start() + 1
        parts += [rest[:cut], rest[cut:]]
    return parts


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
    """A tokenizer in the place of a processor, for models without pictures.

    Base models have no chat template: they are given the turns, a line each, as their tokenizer takes any text.
    """

    def __init__(self, tokenizer: Any) -> None:
        self.tokenizer = tokenizer
        self.chat_template = tokenizer.chat_template or ""

    def apply_chat_template(self, messages: list[dict[str, Any]], **options: Any) -> dict[str, torch.Tensor]:
        """As the tokenizer's own, whose messages are strings."""
        spoken = [{"role": message["role"], "content": message["content"][0]["text"]} for message in messages]
        if self.chat_template:
            return self.tokenizer.apply_chat_template(spoken, chat_template=self.chat_template, **options)
        return self.tokenizer("\n".join(turn["content"] for turn in spoken), return_tensors="pt")


def _insert_plain_text(
    tokenizer: Any, inputs: dict[str, torch.Tensor], replacements: list[list[str]]
) -> None:
    """Replace each stand-in among `input_ids` by the ids of plain text, which comes in parts that are tokenised apart.

    Per-token inputs grow along.
    """
    ids = inputs["input_ids"][0].tolist()

    def ids_of(text: str, **options: bool) -> list[int]:
        return tokenizer(text, add_special_tokens=False, **options)["input_ids"]

    # Inside a text, as some tokenizers add a space to its beginning; a template's own space may be part of the token.
    letter = len(ids_of("a"))
    stand_ins = {space: ids_of(f"a{space}{_STAND_IN}")[letter:] for space in ("", " ")}
    num_tokens = len(ids)
    per_token = {
        name: value[0].tolist()
        for name, value in inputs.items()
        if name != "input_ids" and value.ndim == 2 and tuple(value.shape) == (1, num_tokens)
    }
    end = 0
    for parts in replacements:
        # Behind the last one, as what was typed may hold the stand-in too.
        found = {space: _find(ids, stand_in, end) for space, stand_in in stand_ins.items()}
        start, space = min((place, space) for space, place in found.items() if place is not None)
        plain = []
        for text in (space + parts[0], *parts[1:]):
            # Behind the stand-in, the words are tokenised as in the middle of a text.
            behind = ids_of(_STAND_IN + text, split_special_tokens=True)
            plain += behind[_find(behind, stand_ins[""]) + len(stand_ins[""]) :]
        old = slice(start, start + len(stand_ins[space]))
        ids[old] = plain
        for values in per_token.values():
            values[old] = [0] * len(plain)
        end = start + len(plain)
    inputs["input_ids"] = torch.tensor([ids])
    for name, values in per_token.items():
        inputs[name] = torch.tensor([values], dtype=inputs[name].dtype)


def _find(ids: list[int], part: list[int], start: int = 0) -> int | None:
    """Where `part` first stands in `ids`, from `start` on."""
    ends = range(start, len(ids) - len(part) + 1)
    return next((i for i in ends if ids[i : i + len(part)] == part), None)


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
