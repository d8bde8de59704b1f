"""The fused vision tower does the library's arithmetic: the same vectors for every picture, shape and depth."""

from __future__ import annotations

import pytest
import torch
from tiny_models import library_greedy, picture, tiny_qwen, tiny_target

from recap.drafters import make_drafter
from recap.engine import generate
from recap.targets.fused_vision import FusedVisionTower, is_fusible_tower
from recap.targets.transformers_vlm import TransformersTarget


def shaken(tower: torch.nn.Module) -> torch.nn.Module:
    """Every weight moved a little, norm weights and biases too, which start as ones and zeros."""
    torch.manual_seed(1)
    with torch.no_grad():
        for parameter in tower.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    return tower


@torch.inference_mode()
@pytest.mark.parametrize("sizes", [[(168, 168)], [(84, 336)], [(168, 168), (224, 112), (112, 224)]])
def test_vectors_of_pictures_of_any_shape_equal_the_librarys(
    teaching_target: TransformersTarget, sizes: list[tuple[int, int]]
) -> None:
    pictures = [picture(seed, size) for seed, size in enumerate(sizes)]
    for target in (tiny_target(teaching_target.processor), teaching_target):
        inputs = target.build_request(pictures, "What is it?", max_new_tokens=8).model_inputs
        tower = target.model.model.visual
        fused = FusedVisionTower(shaken(tower) if target is not teaching_target else tower)
        for _ in range(2):  # the second time the grids' rotations are those kept
            ours = fused.encode(inputs["pixel_values"], inputs["image_grid_thw"]).pooler_output
            theirs = target.model.model.get_image_features(
                inputs["pixel_values"], inputs["image_grid_thw"]
            ).pooler_output
            assert [len(vectors) for vectors in ours] == [len(vectors) for vectors in theirs]
            for mine, other in zip(ours, theirs, strict=True):
                assert torch.allclose(mine, other, atol=1e-4)
                assert other.std(dim=0).max() > 0.01


@torch.inference_mode()
def test_every_layer_of_the_tower_equals_the_librarys(teaching_target: TransformersTarget) -> None:
    inputs = teaching_target.build_request(picture(3), "What is it?", max_new_tokens=8).model_inputs
    for num_layers in (1, 2, 4):
        model = tiny_qwen()
        model.config.vision_config.depth = num_layers
        model.config.vision_config.fullatt_block_indexes = list(range(num_layers))
        tower = shaken(type(model.model.visual)(model.config.vision_config).eval())
        assert is_fusible_tower(tower)
        ours = FusedVisionTower(tower).encode(inputs["pixel_values"], inputs["image_grid_thw"])
        theirs = tower(inputs["pixel_values"], grid_thw=inputs["image_grid_thw"]).pooler_output
        assert torch.allclose(torch.cat(ours.pooler_output), theirs, atol=1e-4)


def test_towers_it_does_not_know_are_left_to_the_library() -> None:
    assert is_fusible_tower(tiny_qwen().model.visual)
    assert not is_fusible_tower(tiny_qwen().bfloat16().model.visual)
    assert not is_fusible_tower(torch.nn.Linear(2, 2))
    assert not is_fusible_tower(None)
    windowed, curved = tiny_qwen().model.visual, tiny_qwen().model.visual
    windowed.config.fullatt_block_indexes = []
    assert not is_fusible_tower(windowed)
    curved.config.hidden_act = "gelu"
    assert not is_fusible_tower(curved)


def test_a_target_that_may_not_copy_weights_encodes_by_the_model_itself(
    teaching_target: TransformersTarget,
) -> None:
    fused = tiny_target(teaching_target.processor)
    assert fused.vision_tower is not None
    plain = TransformersTarget(
        "tiny", fused.model, fused.processor, fused.family, fused.environment, may_copy_weights=False
    )
    assert plain.vision_tower is None
    asked = fused.build_request(picture(2, (112, 168)), "Describe the picture.", max_new_tokens=20)
    expected = library_greedy(fused, asked)
    scores = []
    for target in (fused, plain):
        *_, finished = generate(
            target, make_drafter("recap@16", target.vocab_size, target.blocked_ids), asked
        )
        assert list(finished.output_ids) == expected
        scores.append(torch.from_numpy(target.prefill(asked, False, 1).first_scores.all_scores))
    assert torch.allclose(*scores, atol=1e-4)
