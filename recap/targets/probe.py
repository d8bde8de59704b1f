"""One small tree, checked against the library's own passes: may a model of unknown kind be verified as a tree?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch

from recap.targets.base import Request
from recap.targets.cacheability import Cacheability
from recap.tree import pack_tree

if TYPE_CHECKING:
    from recap.targets.transformers_vlm import TransformersTarget

#: Most that scores may differ in the root mean square, in standard deviations of the scores of their position. Not the
#: largest difference: of 152,064 rounded scores one always lies far off.
_TOLERANCES = {torch.float32: 1e-4, torch.bfloat16: 0.15, torch.float16: 0.05}


def check_scores(target: TransformersTarget) -> None:
    """Refuse speculation where the scores at a tree's second branch are not those of the text it stands for.

    That is so where positions are not given by `position_ids` (ALiBi), or scores are changed behind the output layer.
    """
    if target.cacheability.obstacle:
        return
    token_ids = [token for token in range(target.vocab_size) if token not in target.blocked_ids]
    prompt, (root, wrong, right) = np.array(token_ids[:12], np.int64), token_ids[-3:]
    try:
        decoding = target.prefill(Request(prompt, 1), False, 3)
        packed = decoding.verify(pack_tree([root, wrong, right], [-1, 0, 0]), want_all_scores=True)
    except (RuntimeError, TypeError, ValueError) as error:  # another shape of cache, mask or positions
        target.cacheability = Cacheability(f"its passes take no packed tree ({type(error).__name__})")
        return
    decoding.close()
    text = torch.tensor([[*prompt.tolist(), root, right]], device=target.device)
    with torch.inference_mode():
        fresh = target.model(input_ids=text, use_cache=False).logits[0, -1].float().cpu().numpy()
    assert packed.all_scores is not None
    rms = float(np.sqrt(np.square(packed.all_scores[2] - fresh).mean()))
    difference = rms / max(float(fresh.std()), 1e-6)
    if not difference <= _TOLERANCES.get(target.model.dtype, 0.15):
        target.cacheability = Cacheability("a tree's scores are not those of the texts it stands for")
