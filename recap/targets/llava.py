"""LLaVA-1.5 and LLaVA-1.6 (LLaVA-NeXT): a projected vision tower; 1.6 cuts a picture into tiles of its shape."""

from __future__ import annotations

from recap.targets.family import PictureFamily


class LlavaFamily(PictureFamily):
    """LLaVA-1.5, and 1.6, whose tiles are put together by the picture's own size."""

    encoder_inputs = ("pixel_values", "image_sizes")
