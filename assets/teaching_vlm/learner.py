"""What is learned: the teaching model with word-speaking dense heads, its losses and its optimisers.

The vision tower is run batched over equal pictures, with the patch weights of both time steps added up (a still
picture shows the same pixels twice). The result equals transformers' own tower.
"""

from __future__ import annotations

import torch
from architecture import MERGE_SIZE
from packing import CELL_NAMES, DENSE_WORDS, IGNORED, SIDE, Batch
from torch import Tensor, nn
from torch.nn import functional
from transformers import Qwen2_5_VLForConditionalGeneration, Qwen2Tokenizer
from transformers.models.qwen2_5_vl.modeling_qwen2_5_vl import apply_rotary_pos_emb_vision

CELL_LAYERS = 4  # text layers after which a cell's last token has to know its cell


class Learner(nn.Module):
    """The model and six dense heads that answer in the model's own token embeddings.

    A head's score for 'circle' is its projection of a picture vector times the embedding of ' circle': what the tower
    learns from dense labels already speaks the language of the decoder.
    """

    def __init__(self, model: Qwen2_5_VLForConditionalGeneration, tokenizer: Qwen2Tokenizer):
        super().__init__()
        self.model = model
        hidden_size = model.config.text_config.hidden_size
        self.heads = nn.ModuleDict(
            {name: nn.Linear(hidden_size, hidden_size, bias=False) for name in DENSE_WORDS}
        )
        self.cell_heads = nn.ModuleDict(
            {name: nn.Linear(hidden_size, hidden_size, bias=False) for name in CELL_NAMES}
        )
        for name, words in DENSE_WORDS.items():
            ids = [tokenizer(f" {word}")["input_ids"] for word in words]
            assert all(len(word_ids) == 1 for word_ids in ids), (name, ids)
            self.register_buffer(f"{name}_ids", torch.tensor(ids).squeeze(1), persistent=False)

    def encode_pictures(self, patches: Tensor) -> Tensor:
        """Normalised patches [B, 144, 588] to picture vectors [B, 36, hidden_size]."""
        visual = self.model.model.visual
        num_pictures, num_patches, _ = patches.shape
        hidden = functional.linear(patches, visual.patch_embed.proj.weight.sum(2).flatten(1))
        rows, columns = torch.meshgrid(
            *[torch.arange(SIDE * MERGE_SIZE, device=patches.device)] * 2, indexing="ij"
        )
        order = torch.stack([rows, columns]).reshape(2, SIDE, MERGE_SIZE, SIDE, MERGE_SIZE).transpose(2, 3)
        cos, sin = visual.rotary_pos_emb(hidden, order.reshape(2, num_patches).T)
        for block in visual.blocks:
            attention = block.attn
            query, key, value = (
                attention.qkv(block.norm1(hidden))
                .view(num_pictures, num_patches, 3, attention.num_heads, -1)
                .unbind(2)
            )
            query, key = apply_rotary_pos_emb_vision(query, key, cos, sin)
            mixed = functional.scaled_dot_product_attention(*(x.transpose(1, 2) for x in (query, key, value)))
            hidden = hidden + attention.proj(mixed.transpose(1, 2).flatten(2))
            hidden = hidden + block.mlp(block.norm2(hidden))
        return visual.merger(hidden).view(num_pictures, SIDE * SIDE, -1)

    def dense_losses(self, pictures: Tensor, dense: dict[str, Tensor]) -> tuple[Tensor, dict[str, float]]:
        """Mean cross-entropy over the dense labels, and by label the share right where a thing is covered."""
        embeddings = self.model.get_input_embeddings().weight
        losses, right = [], {}
        for name, head in self.heads.items():
            scores = functional.linear(head(pictures), embeddings[getattr(self, f"{name}_ids")]).float()
            losses.append(functional.cross_entropy(scores.flatten(0, 1), dense[name].flatten()))
            labelled = (dense[name] != IGNORED) & (dense["shape"] != len(DENSE_WORDS["shape"]) - 1)
            right[name] = (scores.argmax(-1) == dense[name])[labelled].float().mean().item()
        return torch.stack(losses).mean(), right

    def cell_loss(self, hidden: Tensor, cells: dict[str, Tensor]) -> Tensor:
        """Mean cross-entropy of what each cell holds, read at its last picture token after a few text layers.

        Attention is causal, so the last of a cell's four tokens is the first that can have seen them all; one
        summary a cell is what counting and finding need. `hidden` is [B, 36, hidden_size].
        """
        grid = hidden.view(len(hidden), SIDE, SIDE, -1)[:, 1::2, 1::2].flatten(1, 2)
        embeddings = self.model.get_input_embeddings().weight
        losses = [
            functional.cross_entropy(
                functional.linear(head(grid), embeddings[getattr(self, f"{name}_ids")]).float().flatten(0, 1),
                cells[name].flatten(),
            )
            for name, head in self.cell_heads.items()
        ]
        return torch.stack(losses).mean()

    def text_loss(
        self, pictures: Tensor, batch: Batch, picture_start: int
    ) -> tuple[Tensor, Tensor, float, float]:
        """Weighted next-token loss on the answers and the cell loss; plain loss and share of fact tokens right."""
        embeddings = self.model.get_input_embeddings()
        inputs = embeddings(batch.input_ids)
        end = picture_start + SIDE * SIDE
        inputs = torch.cat([inputs[:, :picture_start], pictures.to(inputs.dtype), inputs[:, end:]], dim=1)
        segments = batch.segments
        same = (segments[:, None, :] == segments[:, :, None]) | (segments[:, None, :] == 0)
        mask = same & torch.ones_like(same[0]).tril()
        bias = torch.zeros(mask.shape, dtype=inputs.dtype, device=mask.device).masked_fill(~mask, -1e4)[
            :, None
        ]
        output = self.model.model.language_model(
            inputs_embeds=inputs,
            position_ids=batch.position_ids,
            attention_mask=bias,
            use_cache=False,
            output_hidden_states=True,
        )
        hidden = output.last_hidden_state
        cells = self.cell_loss(output.hidden_states[CELL_LAYERS][:, picture_start:end], batch.cells)
        at = batch.labels != IGNORED
        labels, weights = batch.labels[at], batch.weights[at]
        scores = functional.linear(hidden[at], embeddings.weight).float()
        losses = functional.cross_entropy(scores, labels, reduction="none")
        right = (scores.argmax(-1) == labels)[batch.is_fact[at]].float().mean().item()
        return (losses * weights).sum() / weights.sum(), cells, losses.mean().item(), right
