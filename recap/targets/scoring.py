"""The K highest scores at each position, with one tie rule everywhere: the lower id wins."""

from __future__ import annotations

import numpy as np
import torch

from recap.config import ROW_WIDTH
from recap.jit import jit
from recap.targets.base import Scores


def score_positions(logits: torch.Tensor, want_all_scores: bool = False) -> Scores:
    """Top-K of `logits` [num_positions, V] on any device and in any floating dtype.

    A row that holds NaN gets NaN as its highest score, so that the caller can refuse it.
    """
    width = min(ROW_WIDTH, logits.shape[-1])
    if logits.device.type == "cpu":
        scores = logits.float().numpy()
        top_ids, top_scores = _top_k(scores, width)
        return Scores(top_ids, top_scores, scores.copy() if want_all_scores else None)
    top_ids, top_scores = _top_k_on_device(logits, width)
    # One transfer: ids below 2^24 are exact in fp32.
    both = torch.cat([top_ids.float(), top_scores], dim=-1).cpu().numpy()
    all_scores = logits.float().cpu().numpy() if want_all_scores else None
    return Scores(both[:, :width].astype(np.int64), np.ascontiguousarray(both[:, width:]), all_scores)


def _top_k_on_device(logits: torch.Tensor, width: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Top-K with ties to the lower id: one `topk` over 64-bit keys, score above and negated id below."""
    scores = logits.float() + 0.0  # -0.0 becomes 0.0, which it must tie with
    bits = scores.view(torch.int32).long()
    # IEEE floats order like sign-magnitude integers; flipping negative ones makes the order total.
    ordered = torch.where(bits < 0, bits ^ 0x7FFFFFFF, bits)
    ids = torch.arange(scores.shape[-1], device=scores.device)
    keys = (ordered << 32) + (0x7FFFFFFF - ids)
    top_ids = torch.topk(keys, width, dim=-1).indices
    top_scores = scores.gather(-1, top_ids)
    has_nan = scores.isnan().any(dim=-1, keepdim=True)
    return top_ids, torch.where(has_nan, torch.nan, top_scores)


@jit
def _top_k(scores, width):
    num_positions, vocab_size = scores.shape
    top_ids = np.empty((num_positions, width), np.int64)
    top_scores = np.empty((num_positions, width), np.float32)
    for i in range(num_positions):
        count = 0
        has_nan = False
        bound = np.float32(-np.inf)  # the lowest score kept, once the row is full
        for token in range(vocab_size):
            score = scores[i, token]
            if count == width and score <= bound:
                continue
            if score != score:
                has_nan = True
                if count == width:
                    continue
            place = count if count < width else width - 1
            while place > 0 and score > top_scores[i, place - 1]:
                top_ids[i, place] = top_ids[i, place - 1]
                top_scores[i, place] = top_scores[i, place - 1]
                place -= 1
            top_ids[i, place] = token
            top_scores[i, place] = score
            if count < width:
                count += 1
            bound = top_scores[i, width - 1] if count == width else bound
        if has_nan:
            top_scores[i] = np.nan
    return top_ids, top_scores
