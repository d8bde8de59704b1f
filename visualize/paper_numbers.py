"""The paper's own numbers (arXiv 2611.05894; A100-80GB, batch 1): drawn beside measured ones, always marked as such."""

from __future__ import annotations

MARK = "paper, A100"
MODEL = "Qwen2.5-VL-7B"
LLAVA = "LLaVA-1.6-7B"

#: MMSpec's topics, in the order of `MMSPEC`; its last column is the overall value.
TOPICS = (
    "general vqa",
    "text vqa",
    "image captioning",
    "chart understanding",
    "complex reasoning pro",
    "multi-turn conversation",
)
#: MMSpec by our name of the method: speedups S, then acceptance lengths tau (Table 2).
MMSPEC: dict[str, dict[str, tuple[tuple[float, ...], tuple[float, ...]]]] = {
    MODEL: {
        "prompt_lookup": (
            (1.06, 1.21, 1.14, 1.20, 1.28, 1.34, 1.23),
            (1.05, 1.13, 1.15, 1.31, 1.34, 1.27, 1.22),
        ),
        "lookahead": ((1.11, 1.04, 1.44, 1.21, 1.91, 1.39, 1.36), (1.37, 1.29, 1.64, 1.77, 2.28, 1.80, 1.71)),
        "tree_recycling": (
            (1.12, 1.10, 1.22, 1.21, 1.38, 1.25, 1.22),
            (1.40, 1.32, 1.37, 1.64, 1.66, 1.56, 1.51),
        ),
        "token_recycling": (
            (1.51, 1.31, 1.80, 1.38, 1.77, 1.57, 1.56),
            (2.57, 2.49, 2.51, 2.60, 2.64, 2.60, 2.57),
        ),
        "sam": ((1.05, 1.13, 1.03, 1.14, 1.18, 1.08, 1.10), (1.14, 1.13, 1.07, 1.54, 1.31, 1.23, 1.24)),
        "sam_viskip": (
            (0.97, 1.00, 0.95, 1.06, 1.07, 0.99, 1.00),
            (1.16, 1.12, 1.06, 1.55, 1.29, 1.24, 1.24),
        ),
        "recap": ((1.77, 1.26, 2.00, 1.86, 2.16, 2.09, 1.89), (2.69, 2.49, 2.60, 3.02, 2.97, 2.80, 2.77)),
    },
    LLAVA: {
        "prompt_lookup": (
            (1.03, 1.06, 1.09, 1.21, 1.37, 1.33, 1.21),
            (1.10, 1.08, 1.17, 1.54, 1.79, 1.82, 1.48),
        ),
        "lookahead": ((0.93, 0.85, 0.87, 1.02, 1.03, 0.90, 0.92), (1.41, 1.25, 1.34, 1.66, 1.72, 1.43, 1.46)),
        "tree_recycling": (
            (1.12, 1.17, 1.19, 1.34, 1.37, 1.35, 1.27),
            (1.43, 1.40, 1.34, 1.70, 1.77, 1.64, 1.56),
        ),
        "token_recycling": (
            (1.21, 1.35, 1.50, 1.43, 1.46, 1.53, 1.43),
            (2.42, 2.48, 2.50, 2.58, 2.57, 2.65, 2.55),
        ),
        "sam": ((1.07, 1.06, 1.04, 1.24, 1.22, 1.16, 1.14), (1.23, 1.16, 1.09, 1.46, 1.49, 1.28, 1.29)),
        "sam_viskip": (
            (1.04, 1.04, 1.02, 1.21, 1.20, 1.14, 1.12),
            (1.23, 1.16, 1.09, 1.46, 1.49, 1.29, 1.29),
        ),
        "recap": ((1.26, 1.44, 1.65, 1.65, 1.67, 1.73, 1.59), (2.60, 2.64, 2.63, 3.10, 3.09, 2.93, 2.85)),
    },
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
#: With U seeded by the prompt, matched length of fusion (c = 1) without and with the suffix copy (Table 7).
SUFFIX_MATCHED_LENGTH: dict[str, tuple[float, ...]] = {
    "fusion": (1.123, 0.355, 1.417, 0.750),
    "fusion_and_suffix": (1.313, 0.413, 1.538, 0.866),
    "gain": (0.190, 0.059, 0.120, 0.116),
}
#: With U seeded by the prompt, all-query Recall@8 of each rule over c = 1, in percentage points (Table 14).
RECALL_OVER_NO_CONFIDENCE: dict[str, tuple[float, ...]] = {
    "recap": (0.00, 0.00, 0.01, -0.01),
    "no-prior": (-0.08, 0.00, -0.31, 0.00),
    "uniform": (-0.08, 0.00, -0.30, 0.02),
    "hard-gate": (-1.49, -0.14, -1.99, -0.95),
    "U+C+G back-off": (-0.11, 0.00, 1.29, -0.24),
    "soft-priors": (-0.04, 0.00, -0.16, 0.00),
    "sharp-priors": (-0.02, 0.03, 0.15, -0.05),
}
#: Of roots by how many draft tokens their pass accepted: the share that another picture changes, in percent, and the
#: fall of the chosen token's log-probability, in nats (Appendix E).
ROOTS_BY_LENGTH: dict[str, dict[str, float]] = {
    "change_rate": {"0": 34.9, "5+": 12.4},
    "dependence": {"0": 0.620, "5+": 0.198},
}


def model_for(name: str) -> str:
    """Which of the paper's two models stands beside a model of this name: the one of its family, Qwen's otherwise."""
    return LLAVA if "llava" in name.lower() else MODEL


def speedup_by_topic(method: str, model: str) -> dict[str, float]:
    """The paper's S of a method on each topic; empty for what it does not report."""
    found = MMSPEC[model].get(_paper_name(method))
    return dict(zip(TOPICS, found[0], strict=False)) if found else {}


def overall(method: str, model: str) -> tuple[float, float] | None:
    """(S, tau) that the paper reports for a method."""
    found = MMSPEC[model].get(_paper_name(method))
    return (found[0][-1], found[1][-1]) if found else None


def _paper_name(method: str) -> str:
    """The name without its budget; RECAP's only for the paper's own 63 nodes."""
    name, _, nodes = method.partition("@")
    return name if nodes in ("", "63") else ""
