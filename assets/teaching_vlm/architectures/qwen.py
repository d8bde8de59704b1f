"""The teaching model, its tokenizer and its processor, built in one place.

A `Qwen2_5_VLForConditionalGeneration` of transformers, deep and narrow as a large model is seen from a decoder: twelve
text layers of hidden size 160, four vision layers of 128 with full attention, tied embeddings, its own byte-level BPE.
Pictures of 168 x 168 pixels become 12 x 12 patches and 36 picture tokens.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator

from conversations import converse
from scenes import BACKGROUNDS, COLORS, PICTURE_SIZE, PLACES, SHAPES, SIZES, make_scene
from tokenizers import AddedToken, Tokenizer, models, trainers
from tokenizers.pre_tokenizers import ByteLevel
from transformers import (
    GenerationConfig,
    Qwen2_5_VLConfig,
    Qwen2_5_VLForConditionalGeneration,
    Qwen2_5_VLProcessor,
    Qwen2Tokenizer,
    Qwen2VLImageProcessor,
    Qwen2VLVideoProcessor,
)

SYSTEM_PROMPT = "You are a helpful assistant."
PATCH_SIZE = 14
MERGE_SIZE = 2
NUM_PICTURE_TOKENS = (PICTURE_SIZE // (PATCH_SIZE * MERGE_SIZE)) ** 2
VOCABULARY_LIMIT = 1500
VOCABULARY_MULTIPLE = 64  # scores are padded to it, as real checkpoints do
SPECIAL_TOKENS = (
    "<|endoftext|>",
    "<|im_start|>",
    "<|im_end|>",
    "<|vision_start|>",
    "<|vision_end|>",
    "<|image_pad|>",
    "<|video_pad|>",
)
CHAT_TEMPLATE = (
    "{% for message in messages %}"
    "{% if loop.first and message['role'] != 'system' %}"
    "<|im_start|>system\n" + SYSTEM_PROMPT + "<|im_end|>\n"
    "{% endif %}"
    "<|im_start|>{{ message['role'] }}\n"
    "{% if message['content'] is string %}{{ message['content'] }}"
    "{% else %}{% for content in message['content'] %}"
    "{% if content['type'] == 'image' or 'image' in content or 'image_url' in content %}"
    "<|vision_start|><|image_pad|><|vision_end|>"
    "{% elif content['type'] == 'video' or 'video' in content %}"
    "<|vision_start|><|video_pad|><|vision_end|>"
    "{% elif 'text' in content %}{{ content['text'] }}{% endif %}"
    "{% endfor %}{% endif %}<|im_end|>\n"
    "{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def _corpus(num_conversations: int) -> Iterator[str]:
    """Text for the tokenizer: the fact words in every spelling, then conversations as training will see them."""
    facts = [*COLORS, *SHAPES, *SIZES, *BACKGROUNDS, *" ".join(PLACES).split()]
    for word in facts:
        yield from [f"{word} {word}", word.capitalize()] * 500
    yield from ["system", "user", "assistant", SYSTEM_PROMPT] * 500
    for index in range(num_conversations):
        rng = random.Random(f"tokenizer-{index}")
        for turn in converse(rng, make_scene(rng), (0.35, 0.3, 0.25, 0.0)):
            yield turn.question
            yield turn.answer


def build_tokenizer(num_conversations: int = 6000) -> Qwen2Tokenizer:
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
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
        model_max_length=2048,
    )
    tokenizer.add_tokens(
        [AddedToken(token, special=True, normalized=False) for token in SPECIAL_TOKENS], True
    )
    tokenizer.chat_template = CHAT_TEMPLATE
    return tokenizer


def build_processor(tokenizer: Qwen2Tokenizer) -> Qwen2_5_VLProcessor:
    """Processor that brings every picture to about 168 x 168 pixels."""
    pixels = {"min_pixels": PICTURE_SIZE**2, "max_pixels": PICTURE_SIZE**2}
    patches = {"patch_size": PATCH_SIZE, "merge_size": MERGE_SIZE, "temporal_patch_size": 2}
    return Qwen2_5_VLProcessor(
        image_processor=Qwen2VLImageProcessor(**pixels, **patches),
        tokenizer=tokenizer,
        video_processor=Qwen2VLVideoProcessor(**pixels, **patches),
        chat_template=CHAT_TEMPLATE,
    )


def build_config(tokenizer: Qwen2Tokenizer) -> Qwen2_5_VLConfig:
    """Shape of the teaching model. The low rotary base keeps a step of one picture token visible on all three axes."""
    ids = {token: tokenizer.convert_tokens_to_ids(token) for token in SPECIAL_TOKENS}
    return Qwen2_5_VLConfig(
        text_config={
            "model_type": "qwen2_5_vl_text",
            "vocab_size": -(-len(tokenizer) // VOCABULARY_MULTIPLE) * VOCABULARY_MULTIPLE,
            "hidden_size": 160,
            "intermediate_size": 320,
            "num_hidden_layers": 12,
            "num_attention_heads": 5,
            "num_key_value_heads": 5,
            "max_position_embeddings": 2048,
            "rms_norm_eps": 1e-6,
            "rope_parameters": {"rope_type": "default", "rope_theta": 100.0, "mrope_section": [4, 6, 6]},
            "bos_token_id": None,
            "eos_token_id": ids["<|im_end|>"],
            "pad_token_id": ids["<|endoftext|>"],
            "tie_word_embeddings": True,
        },
        vision_config={
            "model_type": "qwen2_5_vl_vision",
            "depth": 4,
            "hidden_size": 128,
            "intermediate_size": 256,
            "num_heads": 4,
            "patch_size": PATCH_SIZE,
            "spatial_merge_size": MERGE_SIZE,
            "temporal_patch_size": 2,
            "window_size": PICTURE_SIZE,
            "out_hidden_size": 160,
            "fullatt_block_indexes": [0, 1, 2, 3],
        },
        image_token_id=ids["<|image_pad|>"],
        video_token_id=ids["<|video_pad|>"],
        vision_start_token_id=ids["<|vision_start|>"],
        vision_end_token_id=ids["<|vision_end|>"],
        eos_token_id=ids["<|im_end|>"],
        pad_token_id=ids["<|endoftext|>"],
        tie_word_embeddings=True,
    )


def build_model(config: Qwen2_5_VLConfig) -> Qwen2_5_VLForConditionalGeneration:
    """Model with random weights in float32; plain greedy decoding is its default."""
    model = Qwen2_5_VLForConditionalGeneration(config)
    model.generation_config = GenerationConfig(
        do_sample=False,
        eos_token_id=config.text_config.eos_token_id,
        pad_token_id=config.text_config.pad_token_id,
    )
    return model
