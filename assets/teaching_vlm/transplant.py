"""Carry trained weights over to a model of another vocabulary or architecture, as far as they fit."""

from __future__ import annotations

from pathlib import Path

import torch
from checkpoints import CheckpointError
from safetensors import SafetensorError
from transformers import AutoModelForImageTextToText, AutoTokenizer, PreTrainedModel, PreTrainedTokenizerBase


def carry_over(folder: Path, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> list[str]:
    """Copy the weights exported to `folder` into `model`; returns the names of parameters that stay as they were.

    Tensors go by name and shape; rows of the embedding go by token, so that a word keeps its vector under a new id.

    Raises:
        CheckpointError: `folder` holds no model.
    """
    try:
        source = AutoModelForImageTextToText.from_pretrained(
            folder, dtype=torch.float32, local_files_only=True
        )
        source_ids = AutoTokenizer.from_pretrained(folder, local_files_only=True).get_vocab()
    except (OSError, ValueError, KeyError, SafetensorError) as error:
        raise CheckpointError(
            f"init-from must be a folder that train.py exported; got {folder} ({error})"
        ) from None
    given, left = dict(source.named_parameters()), []
    embedding = model.get_input_embeddings().weight
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter is embedding:
                continue
            if name in given and given[name].shape == parameter.shape:
                parameter.copy_(given[name])
            else:
                left.append(name)
        rows = source.get_input_embeddings().weight
        if rows.shape[1] == embedding.shape[1]:
            for token, index in tokenizer.get_vocab().items():
                if token in source_ids:
                    embedding[index] = rows[source_ids[token]]
        else:
            left.append("embedding")
    return left
