"""What is learned: the teaching model with dense heads, and its losses."""

from __future__ import annotations

import attention
import torch
from architectures import Architecture
from family import IGNORED
from labels import CLASSES, DENSE_NAMES, REGION_NAMES, SLOTS, SPOKEN
from packing import Batch
from torch import Tensor, nn
from torch.nn import functional
from transformers import PreTrainedModel, PreTrainedTokenizerBase

REGION_LAYERS = 4  # text layers after which a region's last token has to know what the region holds
MENTION_LAYERS = 8  # text layers after which the end of a phrase has to know the facts of what it means


class Learner(nn.Module):
    """The model and its dense heads.

    A head whose classes are words answers in the model's own token embeddings: its score for 'circle' is its projection
    of a picture vector times the embedding of ' circle', so what the tower learns from dense labels already speaks the
    language of the decoder. Heads for characters and values have classes of their own.
    """

    def __init__(
        self, architecture: Architecture, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase
    ):
        super().__init__()
        model.model.language_model.set_attn_implementation(attention.NAME)
        self.architecture, self.model = architecture, model
        hidden_size = model.config.text_config.hidden_size

        def heads(names: set[str]) -> nn.ModuleDict:
            sizes = {name: hidden_size if name in SPOKEN else len(CLASSES[name]) for name in sorted(names)}
            sizes |= {name: size * SLOTS for name, size in sizes.items() if name == "character"}
            return nn.ModuleDict(
                {name: nn.Linear(hidden_size, size, bias=False) for name, size in sizes.items()}
            )

        self.heads = heads(set(DENSE_NAMES))
        self.region_heads = heads(set(REGION_NAMES))
        self.mention_heads = heads(set(REGION_NAMES))
        for name, words in SPOKEN.items():
            ids = [tokenizer(f" {word}")["input_ids"] for word in words]
            if any(len(word_ids) != 1 for word_ids in ids):
                raise ValueError(f"every word of {name} must be one token; got ids={ids}")
            self.register_buffer(f"{name}_ids", torch.tensor(ids).squeeze(1), persistent=False)

    def encode_pictures(self, batch: Batch) -> Tensor:
        """All picture vectors of a batch, one picture after the other: [T, hidden_size]."""
        return torch.cat(self.architecture.encode(self.model, batch.pictures))

    def dense_loss(
        self, vectors: Tensor, labels: dict[str, Tensor], heads: nn.ModuleDict
    ) -> tuple[Tensor, dict[str, float]]:
        """Mean cross-entropy over the names that have labels, and by name the share of labels that are right."""
        embeddings = self.model.get_input_embeddings().weight
        losses, right = [], {}
        for name, head in heads.items():
            at = labels[name] != IGNORED
            if not at.any():
                continue
            if labels[name].dim() == 2:  # several slots a token
                known = at.any(1)
                scores = head(vectors[known]).float().view(-1, SLOTS, len(CLASSES[name]))
                scores, wanted = scores[at[known]], labels[name][at]
            else:
                scores = head(vectors[at])
                if name in SPOKEN:
                    scores = functional.linear(scores, embeddings[getattr(self, f"{name}_ids")])
                scores, wanted = scores.float(), labels[name][at]
            losses.append(functional.cross_entropy(scores, wanted))
            right[name] = (scores.argmax(-1) == wanted).float().mean().item()
        return torch.stack(losses).mean(), right

    def _helper_loss(
        self, vectors: Tensor, labels: dict[str, Tensor], heads: nn.ModuleDict
    ) -> tuple[Tensor, dict[str, float]]:
        """`dense_loss`, or 0 for a batch without a label."""
        if all((known == IGNORED).all() for known in labels.values()):
            return vectors.new_zeros(()), {}
        return self.dense_loss(vectors, labels, heads)

    def text_loss(self, vectors: Tensor, batch: Batch) -> tuple[Tensor, Tensor, Tensor, dict[str, float]]:
        """Weighted next-token loss on the answers, loss of the regions and of the mentions; and what to report.

        Reported are the plain loss, the share of fact tokens that are right, and that of each fact at its mention.
        """
        embeddings = self.model.get_input_embeddings()
        inputs = embeddings(batch.input_ids)
        inputs = inputs.masked_scatter(batch.is_picture[..., None], vectors.to(inputs.dtype))
        segments = batch.segments
        same = (segments[:, None, :] == segments[:, :, None]) | (segments[:, None, :] == 0)
        mask = same & torch.ones_like(same[0]).tril()
        bias = torch.zeros(mask.shape, dtype=inputs.dtype, device=mask.device).masked_fill(~mask, -1e4)
        positions = batch.position_ids if len(batch.position_ids) > 1 else batch.position_ids[0]
        output = self.model.model.language_model(
            inputs_embeds=inputs,
            position_ids=positions,
            attention_mask=bias[:, None],
            use_cache=False,
            output_hidden_states=True,
        )
        hidden = output.last_hidden_state
        early = output.hidden_states[REGION_LAYERS][batch.is_picture]
        regions, _ = self._helper_loss(early, batch.regions, self.region_heads)
        late = output.hidden_states[MENTION_LAYERS].flatten(0, 1)
        mentioned = {name: labels.flatten() for name, labels in batch.mentions.items()}
        mentions, known = self._helper_loss(late, mentioned, self.mention_heads)
        at = batch.labels != IGNORED
        labels, weights = batch.labels[at], batch.weights[at]
        scores = functional.linear(hidden[at], embeddings.weight).float()
        losses = functional.cross_entropy(scores, labels, reduction="none")
        right = (scores.argmax(-1) == labels)[batch.is_fact[at]].float().mean().item()
        told = {"loss": losses.mean().item(), "facts": right}
        told |= {f"mentioned {name}": share for name, share in known.items()}
        return (losses * weights).sum() / weights.sum(), regions, mentions, told
