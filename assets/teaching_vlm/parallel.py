"""Training by several processes, each with batches of its own: `torchrun --nproc-per-node N train.py ...`.

Small matrices gain little from a second thread and nearly everything from a second process. Every process holds the
whole model; gradients are averaged before each step, so all stay equal. Started alone, a process averages nothing.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

import torch
from torch import distributed
from torch.nn import Parameter


def start(device: str) -> tuple[int, int]:
    """Join the processes torchrun started; returns this one's rank and their number (0 and 1 without torchrun)."""
    if "RANK" not in os.environ:
        return 0, 1
    on_gpu = device.startswith("cuda")
    if on_gpu:  # each process on a card of its own, which "cuda" then means
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    distributed.init_process_group("nccl" if on_gpu else "gloo")
    return distributed.get_rank(), distributed.get_world_size()


def average_gradients(parameters: Iterable[Parameter]) -> None:
    """Replace each gradient by its mean over the processes; a parameter none of them has reached keeps none."""
    if not distributed.is_initialized():
        return
    parameters = list(parameters)
    device = parameters[0].device
    reached = torch.tensor([parameter.grad is not None for parameter in parameters], device=device).int()
    distributed.all_reduce(reached, distributed.ReduceOp.MAX)
    used = [parameter for parameter, known in zip(parameters, reached.tolist(), strict=True) if known]
    parts = [torch.zeros_like(p) if p.grad is None else p.grad for p in used]
    flat = torch.cat([part.flatten() for part in parts]) / distributed.get_world_size()
    distributed.all_reduce(flat)
    for parameter, part in zip(used, flat.split([p.numel() for p in used]), strict=True):
        parameter.grad = part.view_as(parameter)


def agreed(value: float) -> float:
    """The first process's `value`, in every process: schedules by the clock must not drift apart."""
    if not distributed.is_initialized():
        return value
    box = [value]
    distributed.broadcast_object_list(box, src=0)
    return box[0]


def finish() -> None:
    """Leave the other processes."""
    if distributed.is_initialized():
        distributed.destroy_process_group()
