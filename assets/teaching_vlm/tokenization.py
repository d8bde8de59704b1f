"""The tokenizer of both teaching models: a byte-level BPE of the grammar's own words, laid out as Qwen's."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator

from labels import NOTHING, SPOKEN
from language import NUMBERS
from scenes import FAMILIES
from tokenizers import AddedToken, Tokenizer, models, trainers
from tokenizers.pre_tokenizers import ByteLevel
from transformers import PreTrainedTokenizerBase, Qwen2Tokenizer

SYSTEM_PROMPT = "You are a helpful assistant."
END = "<|im_end|>"
PADDING = "<|endoftext|>"
SPECIAL_TOKENS = (
    PADDING,
    "<|im_start|>",
    END,
    "<|vision_start|>",
    "<|vision_end|>",
    "<|image_pad|>",
    "<|video_pad|>",
    "<image>",
)
VOCABULARY_LIMIT = 3008
VOCABULARY_MULTIPLE = 64  # scores are padded to it, as real checkpoints do


def _corpus(num_conversations: int) -> Iterator[str]:
    """Text for the tokenizer: the fact words in every spelling, then conversations as training will see them."""
    facts = {word for words in SPOKEN.values() for phrase in words for word in phrase.split()}
    facts |= {word for family in FAMILIES.values() for words in family.facts.values() for word in words}
    for word in sorted(facts | {*NUMBERS, NOTHING}):
        yield from [f"{word} {word}", word.capitalize()] * 500
    yield from ["system", "user", "assistant", SYSTEM_PROMPT] * 500
    for index in range(num_conversations):
        rng = random.Random(f"tokenizer-{index}")
        family = rng.choice(list(FAMILIES.values()))
        scene = family.make_scene(rng)
        for turn in family.converse(rng, scene, rng.choice(sorted(family.conversations))):
            yield turn.question
            yield turn.answer


def build_tokenizer(chat_template: str, num_conversations: int = 12000) -> Qwen2Tokenizer:
    """Byte-level BPE trained on the grammar: every byte has an entry, every word of the grammar is one token."""
    layout = Qwen2Tokenizer().backend_tokenizer  # normaliser, splitter and decoder exactly as Qwen's
    bpe = Tokenizer(models.BPE())
    bpe.normalizer, bpe.pre_tokenizer, bpe.decoder = layout.normalizer, layout.pre_tokenizer, layout.decoder
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY_LIMIT - len(SPECIAL_TOKENS),
        initial_alphabet=ByteLevel.alphabet(),
        show_progress=False,
    )
    bpe.train_from_iterator(_corpus(num_conversations), trainer)
    trained = json.loads(bpe.to_str())["model"]
    tokenizer = Qwen2Tokenizer(
        vocab=trained["vocab"],
        merges=[tuple(merge) for merge in trained["merges"]],
        eos_token=END,
        pad_token=PADDING,
        model_max_length=2048,
    )
    tokenizer.add_tokens(
        [AddedToken(token, special=True, normalized=False) for token in SPECIAL_TOKENS], True
    )
    tokenizer.chat_template = chat_template
    return tokenizer


def padded_vocabulary(tokenizer: PreTrainedTokenizerBase) -> int:
    """Rows of the embedding: the tokenizer's length up to the next multiple."""
    return -(-len(tokenizer) // VOCABULARY_MULTIPLE) * VOCABULARY_MULTIPLE


def chat_template(image_text: str) -> str:
    """ChatML with `image_text` where a picture stands."""
    return (
        "{% for message in messages %}"
        "{% if loop.first and message['role'] != 'system' %}"
        "<|im_start|>system\n" + SYSTEM_PROMPT + "<|im_end|>\n"
        "{% endif %}"
        "<|im_start|>{{ message['role'] }}\n"
        "{% if message['content'] is string %}{{ message['content'] }}"
        "{% else %}{% for content in message['content'] %}"
        "{% if content['type'] == 'image' or 'image' in content or 'image_url' in content %}"
        + image_text
        + "{% elif content['type'] == 'video' or 'video' in content %}"
        "<|vision_start|><|video_pad|><|vision_end|>"
        "{% elif 'text' in content %}{{ content['text'] }}{% endif %}"
        "{% endfor %}{% endif %}<|im_end|>\n"
        "{% endfor %}"
        "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
    )
