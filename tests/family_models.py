"""A folder with a random model of each family, its tokenizer and its processor, laid out as checkpoints are."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import transformers as hf
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers

from recap.targets.loading import TEACHING_MODELS

WORDS = (
    "Describe the picture. What is in it? A red circle stands left of two small squares; the star is blue. "
    "Where is the green triangle? It is at the top right. How many shapes are there? There are three shapes. "
    "USER: ASSISTANT: User: Assistant: <|im_start|>user <|im_start|>assistant\n"
)
TEXT = {"num_hidden_layers": 3, "hidden_size": 32, "intermediate_size": 48, "num_attention_heads": 4}
TEXT |= {"num_key_value_heads": 2, "max_position_embeddings": 2048, "tie_word_embeddings": False}

QWEN_TEMPLATE = (
    "{% for message in messages %}{% if loop.first and message.role != 'system' %}<|im_start|>system\n"
    "You are a helpful assistant.<|im_end|>\n{% endif %}<|im_start|>{{ message.role }}\n"
    "{% if message.content is string %}{{ message.content }}{% else %}{% for part in message.content %}"
    "{% if part.type == 'image' %}<|vision_start|><|image_pad|><|vision_end|>{% else %}{{ part.text }}{% endif %}"
    "{% endfor %}{% endif %}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
LLAVA_TEMPLATE = (
    "{% for message in messages %}{{ message.role.upper() + ': ' }}"
    "{% for part in message.content if part.type == 'image' %}{{ '<image>\n' }}{% endfor %}"
    "{% for part in message.content if part.type == 'text' %}{{ part.text + ' ' }}{% endfor %}"
    "{% if message.role == 'assistant' %}{{ '</s>' }}{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}{{ 'ASSISTANT:' }}{% endif %}"
)
SMOLVLM_TEMPLATE = (
    "<|im_start|>{% for message in messages %}{{ message.role.capitalize() }}"
    "{{ ':' if message.content[0].type == 'image' else ': ' }}{% for part in message.content %}"
    "{% if part.type == 'text' %}{{ part.text }}{% else %}{{ '<image>' }}{% endif %}{% endfor %}"
    "<end_of_utterance>\n{% endfor %}{% if add_generation_prompt %}{{ 'Assistant:' }}{% endif %}"
)


def byte_level_tokenizer(special: list[str], end: str, pad: str) -> Any:
    """The teaching model's tokenizer, byte-level as Qwen's, with a family's marks."""
    tokenizer = hf.AutoTokenizer.from_pretrained(TEACHING_MODELS["teaching-qwen"])
    tokenizer.add_tokens([AddedToken(token, special=True, normalized=False) for token in special], True)
    tokenizer.eos_token, tokenizer.pad_token = end, pad
    tokenizer.chat_template = None
    return tokenizer


def metaspace_tokenizer(special: list[str]) -> Any:
    """A vocabulary as sentencepiece makes them: U+2581 for a space, single bytes as <0xE2>."""
    bpe = Tokenizer(models.BPE(byte_fallback=True, unk_token="<unk>", fuse_unk=True))
    bpe.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first", split=True)
    bpe.decoder = decoders.Metaspace()
    first = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))]
    trainer = trainers.BpeTrainer(vocab_size=420, special_tokens=first, show_progress=False)
    bpe.train_from_iterator([WORDS] * 5, trainer)
    trained = json.loads(bpe.to_str())["model"]
    tokenizer = hf.LlamaTokenizer(
        vocab=trained["vocab"],
        merges=[tuple(merge) for merge in trained["merges"]],
        pad_token="<unk>",
        model_max_length=2048,
    )
    tokenizer.add_tokens([AddedToken(token, special=True, normalized=False) for token in special], True)
    return tokenizer


def text_config(kind: str, tokenizer: Any, **settings: Any) -> dict[str, Any]:
    """Three layers of 32, the scores padded beyond the vocabulary as real checkpoints do."""
    ids = {"eos_token_id": tokenizer.eos_token_id, "pad_token_id": tokenizer.pad_token_id}
    width = -(-len(tokenizer) // 64) * 64
    return TEXT | {"model_type": kind, "vocab_size": width, "bos_token_id": None} | ids | settings


def qwen(kind: str) -> tuple[Any, Any]:
    """Qwen2-VL, Qwen2.5-VL and Qwen3-VL, with their own processors."""
    tokenizer = byte_level_tokenizer([], "<|im_end|>", "<|endoftext|>")
    marks = {"image": "image_pad", "video": "video_pad"}
    marks |= {"vision_start": "vision_start", "vision_end": "vision_end"}
    ids = {f"{name}_token_id": tokenizer.convert_tokens_to_ids(f"<|{mark}|>") for name, mark in marks.items()}
    rope = {"rope_type": "default", "rope_theta": 100.0, "mrope_section": [2, 1, 1]}
    vision = {"depth": 2, "patch_size": 14, "spatial_merge_size": 2, "temporal_patch_size": 2}
    if kind == "qwen2_vl":
        vision |= {"embed_dim": 32, "num_heads": 2, "hidden_size": 32, "mlp_ratio": 2}
        config_class, model_class = hf.Qwen2VLConfig, hf.Qwen2VLForConditionalGeneration
    elif kind == "qwen2_5_vl":
        vision |= {"hidden_size": 32, "num_heads": 2, "intermediate_size": 64, "out_hidden_size": 32}
        vision |= {"window_size": 56, "fullatt_block_indexes": [1]}
        config_class, model_class = hf.Qwen2_5_VLConfig, hf.Qwen2_5_VLForConditionalGeneration
    else:
        vision |= {"hidden_size": 32, "num_heads": 2, "intermediate_size": 64, "out_hidden_size": 32}
        vision |= {"deepstack_visual_indexes": [0, 1], "num_position_embeddings": 64}
        rope |= {"mrope_interleaved": True}
        config_class, model_class = hf.Qwen3VLConfig, hf.Qwen3VLForConditionalGeneration
    text = text_config(f"{kind}_text", tokenizer, rope_parameters=rope, head_dim=8)
    config = config_class(text_config=text, vision_config=vision, tie_word_embeddings=False, **ids)
    pixels = {"min_pixels": 84**2, "max_pixels": 112**2, "patch_size": 14, "merge_size": 2}
    processors = {
        "qwen2_vl": hf.Qwen2VLProcessor,
        "qwen2_5_vl": hf.Qwen2_5_VLProcessor,
        "qwen3_vl": hf.Qwen3VLProcessor,
    }
    video = hf.Qwen3VLVideoProcessor if kind == "qwen3_vl" else hf.Qwen2VLVideoProcessor
    processor = processors[kind](
        image_processor=hf.Qwen2VLImageProcessor(**pixels, temporal_patch_size=2),
        tokenizer=tokenizer,
        video_processor=video(**pixels, temporal_patch_size=2),
        chat_template=QWEN_TEMPLATE,
    )
    return model_class(config), processor


def llava(kind: str) -> tuple[Any, Any]:
    """LLaVA-1.5 and LLaVA-1.6 with a CLIP tower and a Llama text model."""
    tokenizer = metaspace_tokenizer(["<image>"])
    image_id = tokenizer.convert_tokens_to_ids("<image>")
    vision = {"model_type": "clip_vision_model", "hidden_size": 32, "intermediate_size": 64, "image_size": 28}
    vision |= {"num_hidden_layers": 3, "num_attention_heads": 2, "patch_size": 14, "projection_dim": 32}
    common = {"text_config": text_config("llama", tokenizer, head_dim=8), "vision_config": vision}
    common |= {"image_token_index": image_id, "vision_feature_layer": -2, "tie_word_embeddings": False}
    size = {"size": {"shortest_edge": 28}, "crop_size": {"height": 28, "width": 28}}
    shared = {"patch_size": 14, "vision_feature_select_strategy": "default", "num_additional_image_tokens": 1}
    shared |= {"tokenizer": tokenizer, "chat_template": LLAVA_TEMPLATE}
    if kind == "llava":
        processor = hf.LlavaProcessor(image_processor=hf.CLIPImageProcessor(**size), **shared)
        return hf.LlavaForConditionalGeneration(hf.LlavaConfig(**common)), processor
    grid = {"image_grid_pinpoints": [[28, 56], [56, 28], [56, 56], [84, 28], [28, 84]]}
    processor = hf.LlavaNextProcessor(image_processor=hf.LlavaNextImageProcessor(**size, **grid), **shared)
    return hf.LlavaNextForConditionalGeneration(hf.LlavaNextConfig(**common, **grid)), processor


def smolvlm(kind: str) -> tuple[Any, Any]:
    """Idefics3 and SmolVLM, whose pictures are cut into a grid of tiles."""
    rows = [f"<row_{row}_col_{column}>" for row in range(1, 7) for column in range(1, 7)]
    marks = ["<image>", "<fake_token_around_image>", "<end_of_utterance>", "<global-img>", *rows]
    tokenizer = byte_level_tokenizer(marks, "<end_of_utterance>", "<|im_end|>")
    vision = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2}
    vision |= {"image_size": 32, "patch_size": 8}
    image_id = tokenizer.convert_tokens_to_ids("<image>")
    settings = {"scale_factor": 2, "image_token_id": image_id, "tie_word_embeddings": False}
    settings |= {"pad_token_id": tokenizer.pad_token_id}
    text = text_config("llama", tokenizer, head_dim=8)
    size = {"size": {"longest_edge": 64}, "max_image_size": {"longest_edge": 32}}
    if kind == "idefics3":
        config = hf.Idefics3Config(text_config=text, vision_config=vision, **settings)
        processor_class, image_class = hf.Idefics3Processor, hf.Idefics3ImageProcessor
        model = hf.Idefics3ForConditionalGeneration(config)
        extra = {}
    else:
        config = hf.SmolVLMConfig(text_config=text, vision_config=vision, **settings)
        processor_class, image_class = hf.SmolVLMProcessor, hf.SmolVLMImageProcessor
        model = hf.SmolVLMForConditionalGeneration(config)
        extra = {"video_processor": hf.SmolVLMVideoProcessor(**size)}
    processor = processor_class(
        image_processor=image_class(**size),
        tokenizer=tokenizer,
        image_seq_len=4,
        chat_template=SMOLVLM_TEMPLATE,
        **extra,
    )
    return model, processor


def text_only(kind: str, **settings: Any) -> tuple[Any, Any]:
    """A causal language model and its tokenizer."""
    tokenizer = byte_level_tokenizer([], "<|im_end|>", "<|endoftext|>")
    tokenizer.chat_template = QWEN_TEMPLATE
    config = hf.AutoConfig.for_model(**text_config(kind, tokenizer, **settings))
    return hf.AutoModelForCausalLM.from_config(config), tokenizer


FAMILIES: dict[str, Callable[[], tuple[Any, Any]]] = {
    "qwen2_vl": lambda: qwen("qwen2_vl"),
    "qwen2_5_vl": lambda: qwen("qwen2_5_vl"),
    "qwen3_vl": lambda: qwen("qwen3_vl"),
    "llava": lambda: llava("llava"),
    "llava_next": lambda: llava("llava_next"),
    "idefics3": lambda: smolvlm("idefics3"),
    "smolvlm": lambda: smolvlm("smolvlm"),
    "llama": lambda: text_only("llama"),
    "qwen3": lambda: text_only("qwen3", head_dim=8),
}


def save_tiny(build: Callable[[], tuple[Any, Any]], folder: Path, scale: float = 8.0) -> Path:
    """Build with a fixed seed, scale the weights up so that texts vary, and save everything; returns the folder."""
    torch.manual_seed(0)
    model, processor = build()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.ndim == 2 and "embed" not in name:
                parameter.mul_(scale)
    model.generation_config.pad_token_id = getattr(processor, "tokenizer", processor).pad_token_id
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder
