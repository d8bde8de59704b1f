"""U as a safetensors file, for one tokenizer and one model: a stream that goes on tomorrow where it ended today."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from recap.config import ROW_WIDTH
from recap.errors import InputError
from recap.memory import Memories, MemorySnapshot
from recap.prediction_map import MAX_VOCAB_SIZE, MapArrays, empty_map, reserve
from recap.survival import SurvivalTable

if TYPE_CHECKING:
    from recap.targets.transformers_vlm import TransformersTarget

_FORMAT = "recap-unigram-1"
#: Name in the file -> field of the map, dtype and shape behind the rows.
_ROW_TENSORS: dict[str, tuple[str, type, tuple[int, ...]]] = {
    "token_ids": ("token_ids", np.int32, (ROW_WIDTH,)),
    "probabilities": ("probabilities", np.float32, (ROW_WIDTH,)),
    "confidences": ("row_confidences", np.float32, ()),
    "requests": ("requests", np.int32, ()),
    "passes": ("passes", np.int32, ()),
    "batches": ("batches", np.int32, ()),
}
_SAMPLED_VALUES = 64
#: Counters are kept as int32 beside every row; a file's leave them room to go on.
_MAX_COUNTER = 2**30


class Fingerprints(NamedTuple):
    """What a file of rows belongs to, as hexadecimal hashes: the tokenizer's ids and the model's shape and weights."""

    tokenizer: str
    model: str


def fingerprint(target: TransformersTarget) -> Fingerprints:
    """The fingerprints of a loaded target.

    The tokenizer's: every token and its id. The model's: every parameter's name, shape and first values, rounded to
    bfloat16, so that one checkpoint has one fingerprint in float32 and in bfloat16.
    """
    vocabulary = sorted(target.tokenizer.get_vocab().items())
    hashed = hashlib.sha256()
    for name, parameter in sorted(target.model.named_parameters()):
        hashed.update(f"{name} {tuple(parameter.shape)} ".encode())
        hashed.update(_first_values(target.model, name, parameter).view(torch.int16).numpy().tobytes())
    return Fingerprints(hashlib.sha256(json.dumps(vocabulary).encode()).hexdigest(), hashed.hexdigest())


def _first_values(model: torch.nn.Module, name: str, parameter: torch.Tensor) -> torch.Tensor:
    """A parameter's first values in bfloat16, also of one that waits in main memory or on the disk for want of room."""
    if parameter.device.type == "meta":
        from accelerate.utils import align_module_device  # there wherever such a model is

        module_name, _, own_name = name.rpartition(".")
        module = model.get_submodule(module_name)
        with align_module_device(module, torch.device("cpu")):
            return _first_values(model, name, getattr(module, own_name))
    return parameter.detach().flatten()[:_SAMPLED_VALUES].to(torch.bfloat16).cpu().contiguous()


def save_unigram(memories: Memories, path: Path | str, fingerprints: Fingerprints) -> None:
    """Write U and the stream's counters. What a method with a budget of its own has learnt of it is left out.

    A file that is there is replaced at once: whoever reads meanwhile gets the old one or the new one.
    """
    unigram = memories.unigram
    num_rows = int(unigram.num_rows[0])
    keys = np.flatnonzero(unigram.slots >= 0).astype(np.int32)
    rows = unigram.slots[keys]
    assert len(keys) == num_rows, (len(keys), num_rows)
    tensors = {name: getattr(unigram, field)[rows].copy() for name, (field, _, _) in _ROW_TENSORS.items()}
    metadata = {"format": _FORMAT, **fingerprints._asdict()}
    metadata |= {name: str(getattr(memories, name)) for name in ("vocab_size", "request", "batch")}
    path = Path(path)
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        save_file({"keys": keys, **tensors}, partial, metadata=metadata)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def load_unigram(path: Path | str, fingerprints: Fingerprints) -> Memories:
    """A stream with U as it was saved, C and G empty.

    Raises:
        InputError: the file is missing or broken, or was written for another tokenizer or model.
    """
    try:
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - not a mapping
    except FileNotFoundError as error:
        raise InputError(f"There is no memory file {path}; save one first, or start without it.") from error
    except (OSError, SafetensorError) as error:
        raise InputError(
            f"The memory file {path} cannot be read; start without it, or save it anew."
        ) from error
    if metadata.get("format") != _FORMAT:
        raise InputError(f"The file {path} holds no memory of this program; choose another one.")
    for name, ours in fingerprints._asdict().items():
        if metadata.get(name) != ours:
            raise InputError(
                f"The memory file {path} was written for another {name}; use it with that one, or start without it."
            )
    problem = _find_problem(tensors, metadata)
    if problem:
        raise InputError(f"The memory file {path} is broken ({problem}); start without it, or save it anew.")
    memories = Memories(int(metadata["vocab_size"]))
    unigram = _build_map(tensors, memories.vocab_size)
    counters = int(metadata["request"]), int(metadata["batch"])
    memories.restore(MemorySnapshot(unigram, *counters, SurvivalTable()))
    return memories


def _build_map(tensors: dict[str, np.ndarray], vocab_size: int) -> MapArrays:
    keys = tensors["keys"]
    unigram = reserve(empty_map(1, vocab_size), len(keys))
    unigram.slots[keys] = np.arange(len(keys))
    unigram.num_rows[0] = len(keys)
    for name, (field, _, _) in _ROW_TENSORS.items():
        getattr(unigram, field)[: len(keys)] = tensors[name]
    return unigram


def _find_problem(tensors: dict[str, np.ndarray], metadata: dict[str, str]) -> str:
    """What is wrong with a file's contents, as a phrase; empty where nothing is."""
    for name in ("vocab_size", "request", "batch"):
        text = metadata.get(name, "")
        if not text.isdecimal() or len(text) > len(str(_MAX_COUNTER)) or int(text) > _MAX_COUNTER:
            return f"no usable {name}"
    vocab_size = int(metadata["vocab_size"])
    if not 1 <= vocab_size < MAX_VOCAB_SIZE:
        return f"vocab_size {vocab_size}"
    shapes = {"keys": (np.int32, ())} | {name: (kind, rest) for name, (_, kind, rest) in _ROW_TENSORS.items()}
    if set(tensors) != set(shapes):
        return "other tensors than expected"
    num_rows = len(tensors["keys"])
    for name, (kind, rest) in shapes.items():
        if tensors[name].dtype != kind or tensors[name].shape != (num_rows, *rest):
            return f"{name} of another form"
    keys, ids = tensors["keys"], tensors["token_ids"]
    if num_rows and (keys.min() < 0 or keys.max() >= vocab_size or (np.diff(keys) <= 0).any()):
        return "keys out of range or order"
    if num_rows and (ids.min() < -1 or ids.max() >= vocab_size):
        return "token ids out of range"
    for name in ("requests", "passes", "batches"):
        if (tensors[name] < 0).any() or (tensors[name] > _MAX_COUNTER).any():
            return f"{name} out of range"
    for name in ("probabilities", "confidences"):
        if not ((tensors[name] >= 0) & (tensors[name] <= 1.001)).all():
            return f"{name} out of range"
    return ""
