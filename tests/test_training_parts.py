"""Parts of the training script: attention in blocks, dense labels by place, weights carried to another model."""

from __future__ import annotations

import random
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import AutoModelForImageTextToText, AutoTokenizer

sys.path.insert(0, str(Path(__file__).parents[1] / "assets" / "teaching_vlm"))

from architectures import ARCHITECTURES
from attention import causal_blocks
from checkpoints import CheckpointError
from dense import dense_labels, region_labels
from family import IGNORED
from labels import CLASSES, DENSE_NAMES
from scenes import FAMILIES
from transplant import carry_over

QWEN = Path(__file__).parents[1] / "assets" / "teaching_vlm" / "qwen"


@pytest.fixture(scope="module")
def tokenizer():
    return AutoTokenizer.from_pretrained(QWEN, local_files_only=True)


@pytest.mark.parametrize("length", [5, 96, 97, 250])
def test_attention_in_blocks_equals_attention_with_the_whole_mask(length):
    generator = torch.Generator().manual_seed(length)
    query, key, value = (torch.randn(2, 3, length, 8, generator=generator) for _ in range(3))
    allowed = torch.rand(2, 1, length, length, generator=generator).lt(0.5) | torch.eye(
        length, dtype=torch.bool
    )
    bias = torch.zeros(2, 1, length, length).masked_fill(~(allowed & torch.ones_like(allowed).tril()), -1e4)
    mixed, weights = causal_blocks(None, query, key, value, bias, scaling=8**-0.5)
    expected = torch.nn.functional.scaled_dot_product_attention(query, key, value, attn_mask=bias)
    torch.testing.assert_close(mixed, expected.transpose(1, 2), atol=1e-5, rtol=1e-5)
    assert weights is None


@pytest.mark.parametrize("architecture", ARCHITECTURES.values(), ids=lambda a: a.name)
@pytest.mark.parametrize("family", FAMILIES.values(), ids=lambda f: f.name)
def test_a_token_takes_the_label_of_the_place_it_looks_at(architecture, family, tokenizer):
    for seed in range(3):
        scene = family.make_scene(random.Random(seed))
        size = family.draw(scene).size
        centers = architecture.prefix(tokenizer, size).centers
        given = family.label(scene)
        labels = dense_labels([(family, scene, size, centers)])
        assert set(labels) == set(DENSE_NAMES)
        for token, (x, y) in enumerate(centers):
            for name, values in labels.items():
                if np.isnan(x) or name not in given:
                    assert (values[token] == IGNORED).all()
                else:
                    place = int(y // 28) * (size[0] // 28) + int(x // 28)
                    np.testing.assert_array_equal(values[token], given[name][place])


@pytest.mark.parametrize("architecture", ARCHITECTURES.values(), ids=lambda a: a.name)
def test_a_region_is_told_at_its_last_token(architecture, tokenizer):
    family = FAMILIES["shapes"]
    scene = family.make_scene(random.Random(3))
    centers = architecture.prefix(tokenizer, (168, 168)).centers
    labels = region_labels([(family, scene, (168, 168), centers)])
    told = torch.nonzero(labels["thing"] != IGNORED).flatten().tolist()
    assert len(told) == 9
    for token in told:
        x, y = centers[token]
        cell = int(y // 56) * 3 + int(x // 56)
        thing = scene.at(cell)
        assert CLASSES["thing"][labels["thing"][token]] == (thing.shape if thing else "nothing")
        later = centers[token + 1 :]
        inside = (later // 56).astype(float)[:, 1] * 3 + (later // 56)[:, 0] == cell
        assert not inside.any()


def test_words_keep_their_vectors_in_another_vocabulary(tokenizer):
    source = AutoModelForImageTextToText.from_pretrained(QWEN, dtype=torch.float32, local_files_only=True)
    other = AutoTokenizer.from_pretrained(QWEN, local_files_only=True)
    other.add_tokens([f"unheard{i}" for i in range(70)])
    model = ARCHITECTURES["qwen"].build_model(other)
    fresh = model.get_input_embeddings().weight.detach().clone()
    assert carry_over(QWEN, model, other) == []
    rows, given = model.get_input_embeddings().weight, source.get_input_embeddings().weight
    assert rows.shape != given.shape
    for token in (" red".replace(" ", "Ġ"), "<|im_end|>", "Ġcircle"):
        assert torch.equal(rows[other.get_vocab()[token]], given[tokenizer.get_vocab()[token]])
    new = other.get_vocab()["unheard3"]
    assert torch.equal(rows[new], fresh[new])
    layer = "model.language_model.layers.3.mlp.up_proj.weight"
    assert torch.equal(dict(model.named_parameters())[layer], dict(source.named_parameters())[layer])


def test_llava_takes_over_what_qwen_has_learned_of_language(tokenizer):
    model = ARCHITECTURES["llava"].build_model(tokenizer)
    left = carry_over(QWEN, model, tokenizer)
    assert all(
        "vision_tower" in name or "projector" in name or "newline" in name or "o_proj.bias" in name
        for name in left
    )
    source = AutoModelForImageTextToText.from_pretrained(QWEN, dtype=torch.float32, local_files_only=True)
    layer = "model.language_model.layers.11.self_attn.q_proj.weight"
    assert torch.equal(dict(model.named_parameters())[layer], dict(source.named_parameters())[layer])


def test_a_broken_model_to_start_from_is_told_in_one_sentence(tmp_path, tokenizer):
    model = ARCHITECTURES["qwen"].build_model(tokenizer)
    with pytest.raises(CheckpointError, match=r"init-from must be a folder that train.py exported"):
        carry_over(tmp_path / "none", model, tokenizer)
    broken = tmp_path / "broken"
    shutil.copytree(QWEN, broken)
    weights = broken / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:100_000])
    with pytest.raises(CheckpointError, match=r"init-from must be a folder that train.py exported"):
        carry_over(broken, model, tokenizer)
