"""The fused layers do the library's arithmetic: the same hidden states after every layer, keys, values and queries."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from tiny_models import picture, tiny_target
from transformers import LlamaConfig, LlamaModel, MistralConfig, MistralModel, Qwen2Config, Qwen2Model

from recap.targets.decoder import Decoder
from recap.targets.fused_decoder import FusedDecoder, fuse_head, is_fusible
from recap.targets.image_attention import image_share
from recap.targets.kv_cache import TreeCache, TreeMask
from recap.targets.transformers_vlm import TransformersTarget
from recap.tree import DraftTree, pack_tree

SMALL = {
    "vocab_size": 50,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 4096,
}
SCALED_ROPE = {
    "rope_type": "yarn",
    "rope_theta": 100.0,
    "factor": 4.0,
    "original_max_position_embeddings": 64,
}


def text_model(kind: str) -> torch.nn.Module:
    torch.manual_seed(0)
    made = {
        "llama": lambda: LlamaModel(LlamaConfig(**SMALL)),
        "llama with scaled positions": lambda: LlamaModel(LlamaConfig(**SMALL, rope_parameters=SCALED_ROPE)),
        "llama with biases": lambda: LlamaModel(LlamaConfig(**SMALL, attention_bias=True)),
        "llama with wide heads": lambda: LlamaModel(LlamaConfig(**SMALL, head_dim=16)),
        "mistral": lambda: MistralModel(MistralConfig(**SMALL, sliding_window=None)),
        "qwen2": lambda: Qwen2Model(Qwen2Config(**SMALL)),
    }[kind]().eval()
    with torch.no_grad():
        for parameter in made.parameters():  # norm weights and biases too, which start as ones and zeros
            parameter.add_(0.2 * torch.randn_like(parameter))
    return made


def new_cache(config: object) -> TreeCache:
    head_dim = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    devices = [torch.device("cpu")] * config.num_hidden_layers
    return TreeCache(devices, config.num_key_value_heads, head_dim, 400, torch.float32)


def random_tree(rng: np.random.Generator, num_nodes: int) -> DraftTree:
    parents = [-1, *(int(rng.integers(0, i)) for i in range(1, num_nodes))]
    return pack_tree(rng.integers(0, 50, num_nodes).tolist(), parents)


def first_layers(model: torch.nn.Module, num_layers: int) -> torch.nn.Module:
    """The same model cut behind a layer: what leaves it is what that layer gave, normed."""
    model.layers = model.layers[:num_layers]
    model.config.num_hidden_layers = num_layers
    return model


@torch.inference_mode()
@pytest.mark.parametrize(
    "kind",
    [
        "llama",
        "llama with scaled positions",
        "llama with biases",
        "llama with wide heads",
        "mistral",
        "qwen2",
    ],
)
def test_every_layer_of_every_family_equals_the_librarys(kind: str) -> None:
    rng = np.random.default_rng(0)
    embeddings = torch.from_numpy(rng.normal(0, 1, (40, 32)).astype(np.float32))
    for num_layers in (1, 2, 3):
        model = first_layers(text_model(kind), num_layers)
        assert is_fusible(model)
        decoders = [made(model, lambda positions: positions[None]) for made in (Decoder, FusedDecoder)]
        caches = [new_cache(model.config) for _ in decoders]
        prefilled = [
            decoder.prefill(embeddings[:30], torch.arange(30)[None], cache, {})
            for decoder, cache in zip(decoders, caches, strict=True)
        ]
        assert torch.allclose(*prefilled, atol=1e-4)
        for cache in caches:
            cache.append(30)
        mask = TreeMask(10, 400, torch.float32)
        for num_nodes in (1, 2, 10):
            tree = random_tree(rng, num_nodes)
            positions = 30 + torch.from_numpy(tree.depths.astype(np.int64))
            rows = [
                decoder.decode(
                    embeddings[:num_nodes], positions, cache, mask.fill(tree.parent_indices, 30), True
                )
                for decoder, cache in zip(decoders, caches, strict=True)
            ]
            assert torch.allclose(rows[0].hidden, rows[1].hidden, atol=1e-4)
            # Rotated pairs stand elsewhere in the fused cache, so products of queries and keys are compared.
            shares = [
                image_share(row.first_query, cache.keys(num_layers - 1, 31), torch.arange(3, 20))
                for row, cache in zip(rows, caches, strict=True)
            ]
            assert 0 < shares[0] < 1
            assert shares[0] == pytest.approx(shares[1], abs=1e-5)


@torch.inference_mode()
def test_positions_on_three_axes_equal_the_librarys(teaching_target: TransformersTarget) -> None:
    rng = np.random.default_rng(1)
    for target in (tiny_target(teaching_target.processor, seed=2), teaching_target):
        model = target.family.text_model(target.model)
        decoders = [made(model, target.family.position_ids) for made in (Decoder, FusedDecoder)]
        for size in ((168, 168), (84, 336)):
            asked = target.build_request(picture(1, size), "Where is the star?", max_new_tokens=8)
            prompt = target.family.embed_prompt(target.model, asked)
            num_prompt = len(asked.prompt_ids)
            tree = random_tree(rng, 17)
            rows = target.model.get_input_embeddings()(torch.from_numpy(tree.token_ids))
            positions = torch.from_numpy(tree.depths.astype(np.int64)) + num_prompt + prompt.position_offset
            mask = TreeMask(17, 400, torch.float32).fill(tree.parent_indices, num_prompt)
            hidden = []
            for decoder in decoders:
                cache = new_cache(target.text_config)
                hidden.append(decoder.prefill(prompt.embeddings[0], prompt.position_ids, cache, {}))
                cache.append(num_prompt)
                hidden.append(decoder.decode(rows, positions, cache, mask, False).hidden)
            assert torch.allclose(hidden[0], hidden[2], atol=1e-4)
            assert torch.allclose(hidden[1], hidden[3], atol=1e-4)


def test_what_the_fused_layers_do_not_know_is_left_to_the_library() -> None:
    assert is_fusible(text_model("llama"))
    assert not is_fusible(text_model("llama").bfloat16())
    for config in (
        LlamaConfig(**SMALL, mlp_bias=True),
        LlamaConfig(**SMALL, hidden_act="gelu"),
    ):
        assert not is_fusible(LlamaModel(config))
    assert not is_fusible(MistralModel(MistralConfig(**SMALL, sliding_window=8)))
    assert not is_fusible(torch.nn.Linear(2, 2))


@pytest.mark.parametrize("has_bias", [False, True])
@pytest.mark.parametrize("num_rows", [1, 16])
def test_the_fused_head_scores_as_the_librarys(has_bias: bool, num_rows: int) -> None:
    torch.manual_seed(0)
    head = torch.nn.Linear(32, 50, bias=has_bias)
    fused, hidden = fuse_head(head), torch.randn(num_rows, 32)
    assert fused is not head
    with torch.inference_mode():
        torch.testing.assert_close(fused(hidden), head(hidden))


def test_a_head_that_is_no_plain_product_is_left_to_the_library() -> None:
    class Capped(torch.nn.Linear):
        def forward(self, hidden: torch.Tensor) -> torch.Tensor:
            return super().forward(hidden).tanh()

    for head in (Capped(32, 50), torch.nn.Linear(32, 50).to(torch.bfloat16)):
        assert fuse_head(head) is head


def test_the_mask_of_a_pass_shows_the_prefix_and_the_ancestors_alone() -> None:
    rng = np.random.default_rng(2)
    mask = TreeMask(20, 80, torch.float32)
    prefix = 5
    for _ in range(12):
        tree = random_tree(rng, int(rng.integers(1, 20)))
        filled = mask.fill(tree.parent_indices, prefix)[0, 0]
        assert filled.shape == (len(tree.token_ids), prefix + len(tree.token_ids))
        for node in range(len(tree.token_ids)):
            seen, above = set(range(prefix)), node
            while above >= 0:
                seen.add(prefix + above)
                above = int(tree.parent_indices[above])
            assert set(torch.nonzero(filled[node] == 0)[:, 0].tolist()) == seen
            assert (filled[node] < -1e30).sum() == filled.shape[1] - len(seen)
        prefix += int(rng.integers(1, 6))
