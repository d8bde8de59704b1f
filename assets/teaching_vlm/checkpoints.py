"""Training states and exported weights: written beside their place and renamed, so the last good one survives."""

from __future__ import annotations

import os
import pickle
import shutil
from pathlib import Path

import torch
from transformers import PreTrainedModel, ProcessorMixin

FORMAT = 1


class CheckpointError(Exception):
    """A state or an export that cannot be written or read; its text is one sentence for the user."""


def save_state(path: Path, state: dict) -> None:
    """Write `state` (tensors, numbers, strings) to `path` in one step; on failure the old file stays."""
    partial = path.with_name(path.name + ".partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        torch.save({"format": FORMAT, **state}, partial)
        os.replace(partial, path)
    except (OSError, RuntimeError) as error:  # torch reports a full disk as RuntimeError
        partial.unlink(missing_ok=True)
        raise CheckpointError(
            f"state must be writable; got path={path} ({error}); the previous state is kept"
        ) from None


def load_state(path: Path, architecture: str) -> dict:
    """Read a state written by `save_state` for the same `architecture` (names and shapes of its tensors)."""
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
    except FileNotFoundError:
        raise CheckpointError(f"state must exist; got path={path}") from None
    except (OSError, RuntimeError, EOFError, KeyError, ValueError, pickle.UnpicklingError):
        raise CheckpointError(f"state must be a whole file written by train.py; got path={path}") from None
    if not isinstance(state, dict) or state.get("format") != FORMAT:
        raise CheckpointError(f"state must be of format {FORMAT}; got path={path}")
    if state["architecture"] != architecture:
        raise CheckpointError(
            f"state must belong to this architecture; got path={path} (another model's state)"
        )
    return state


def export(folder: Path, model: PreTrainedModel, processor: ProcessorMixin) -> None:
    """Write float16 weights, configuration, tokenizer and processor to `folder`, weights last and in one step."""
    partial = folder.with_name(folder.name + ".partial")
    try:
        shutil.rmtree(partial, ignore_errors=True)
        tied = model.all_tied_weights_keys  # the output layer is the embedding: written once
        weights = {name: t.to(torch.float16) for name, t in model.state_dict().items() if name not in tied}
        model.save_pretrained(partial, state_dict=weights)
        processor.save_pretrained(partial)
        _mark_half(partial / "config.json")
        folder.mkdir(parents=True, exist_ok=True)
        for source in sorted(partial.iterdir(), key=lambda file: file.suffix == ".safetensors"):
            source.chmod(0o644)
            os.replace(source, folder / source.name)
    except OSError as error:
        raise CheckpointError(
            f"export must be writable; got folder={folder} ({error}); old weights are kept"
        ) from None
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _mark_half(config: Path) -> None:
    text = config.read_text(encoding="utf-8")
    config.write_text(text.replace('"dtype": "float32"', '"dtype": "float16"'), encoding="utf-8")
