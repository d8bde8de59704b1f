"""The fused layers do the library's arithmetic: same hidden states, same cache lengths, same query."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from tiny_models import picture, tiny_target

from recap.targets.decoders import FusedDecoder, LibraryDecoder, make_decoder
from recap.targets.image_attention import image_share
from recap.targets.kv_cache import TreeCache
from recap.targets.transformers_vlm import TransformersTarget
from recap.tree import pack_tree
from recap.verification import ancestor_mask


@pytest.fixture(scope="module")
def target(teaching_target: TransformersTarget) -> TransformersTarget:
    return tiny_target(teaching_target.processor, seed=2)


def new_cache(target: TransformersTarget) -> TreeCache:
    config = target.text_config
    head_dim = config.hidden_size // config.num_attention_heads
    return TreeCache(
        config.num_hidden_layers,
        config.num_key_value_heads,
        head_dim,
        400,
        torch.float32,
        torch.device("cpu"),
    )


@torch.inference_mode()
@pytest.mark.parametrize("which", ["target", "teaching_target"])
def test_fused_layers_equal_the_librarys(which: str, request: pytest.FixtureRequest) -> None:
    target: TransformersTarget = request.getfixturevalue(which)
    text_model = target.family.text_model(target.model)
    decoders = [kind(text_model, target.family.position_ids) for kind in (LibraryDecoder, FusedDecoder)]
    caches = [new_cache(target) for _ in decoders]
    for size in ((168, 168), (84, 336)):
        asked = target.build_request(picture(1, size), "Where is the star?", max_new_tokens=8)
        prompt = target.family.embed_prompt(target.model, asked)
        num_prompt = len(asked.prompt_ids)
        hidden = []
        for decoder, cache in zip(decoders, caches, strict=True):
            cache.prefix_length = 0
            hidden.append(decoder.prefill(prompt.embeddings[0], prompt.position_ids, cache))
            cache.append(num_prompt)
        assert torch.allclose(*hidden, atol=1e-4)
        rng = np.random.default_rng(0)
        for num_nodes in (1, 2, 17, 64):
            parents = [-1, *(int(rng.integers(0, i)) for i in range(1, num_nodes))]
            tree = pack_tree(rng.integers(0, 500, num_nodes).tolist(), parents)
            embeddings = target.model.get_input_embeddings()(torch.from_numpy(tree.token_ids))
            positions = torch.from_numpy(tree.depths.astype(np.int64)) + num_prompt + prompt.position_offset
            mask = torch.zeros(num_nodes, num_prompt + num_nodes)
            hidden_from = torch.from_numpy(~ancestor_mask(tree.parent_indices))
            mask[:, num_prompt:].masked_fill_(hidden_from, torch.finfo(torch.float32).min)
            results = [
                decoder.decode(
                    embeddings, positions, cache, None if num_nodes == 1 else mask[None, None], True
                )
                for decoder, cache in zip(decoders, caches, strict=True)
            ]
            assert torch.allclose(results[0].hidden, results[1].hidden, atol=1e-4)
            image = torch.from_numpy(np.flatnonzero(asked.prompt_ids == asked.image_token_id))
            last = target.text_config.num_hidden_layers - 1
            shares = [
                image_share(result.first_query, cache.keys(last, num_prompt + 1), image)
                for result, cache in zip(results, caches, strict=True)
            ]
            assert shares[0] == pytest.approx(shares[1], abs=1e-5)
            assert 0 < shares[0] < 1
            for cache in caches:
                cache.keep(np.arange(1, 1))
                cache.prefix_length = num_prompt


def test_only_small_float_models_on_a_cpu_are_fused(target: TransformersTarget) -> None:
    text_model = target.family.text_model(target.model)
    assert isinstance(make_decoder(text_model, target.family.position_ids), FusedDecoder)
    half = tiny_target(target.processor).model.bfloat16().model.language_model
    assert isinstance(make_decoder(half, target.family.position_ids), LibraryDecoder)
