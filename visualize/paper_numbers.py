"""The paper's own numbers (arXiv 2611.05894; A100-80GB, batch 1): drawn beside measured ones, always marked as such."""

from __future__ import annotations

MARK = "paper, A100"
MODEL = "Qwen2.5-VL-7B"

#: MMSpec with Qwen2.5-VL-7B, speedup S of RECAP by topic (Table 2).
RECAP_SPEEDUP_BY_TOPIC: dict[str, float] = {
    "general vqa": 1.77,
    "text vqa": 1.26,
    "image captioning": 2.00,
    "chart understanding": 1.86,
    "complex reasoning pro": 2.16,
    "multi-turn conversation": 2.09,
}
#: MMSpec overall with Qwen2.5-VL-7B, (S, tau) by our name of the method (Table 2).
OVERALL: dict[str, tuple[float, float]] = {
    "prompt_lookup": (1.23, 1.22),
    "lookahead": (1.36, 1.71),
    "tree_recycling": (1.22, 1.51),
    "token_recycling": (1.56, 2.57),
    "sam": (1.10, 1.24),
    "sam_viskip": (1.00, 1.24),
    "recap": (1.89, 2.77),
}
#: Milliseconds of one pass at 63 nodes with Qwen2.5-VL-7B, in our stages (Table 9).
STAGE_MS: dict[str, float] = {"draft": 0.907, "verify": 19.912, "commit": 0.256, "update": 0.488}
#: Coverage and conditional Recall@8 of U, C and G, in percent, by benchmark (Table 5).
COVERAGE_RECALL: dict[str, tuple[tuple[float, float], ...]] = {
    "ChartQA": ((44.5, 64.5), (23.2, 81.7), (14.8, 86.6)),
    "TextVQA": ((26.3, 52.5), (7.4, 73.5), (3.4, 78.3)),
    "OCRBench": ((54.9, 63.6), (30.4, 84.2), (18.6, 90.6)),
    "MMT-Bench": ((45.6, 56.9), (19.7, 77.9), (11.2, 84.4)),
}
#: Matched continuation length by policy, a benchmark a column, in the order above (Table 6).
MATCHED_LENGTH: dict[str, tuple[float, ...]] = {
    "U": (0.516, 0.224, 0.632, 0.444),
    "U+C back-off": (0.709, 0.253, 1.135, 0.600),
    "U+C+G back-off": (0.778, 0.252, 1.128, 0.638),
    "uniform": (0.737, 0.253, 1.041, 0.629),
    "no-confidence": (0.751, 0.253, 1.066, 0.639),
}


def overall(method: str) -> tuple[float, float] | None:
    """(S, tau) that the paper reports for a method; RECAP's only for its own budget of 63 nodes."""
    name, _, nodes = method.partition("@")
    return OVERALL.get(name) if nodes in ("", "63") else None
