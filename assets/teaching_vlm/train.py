"""Train the teaching model from scratch, or further, on a CPU or a GPU.

    python assets/teaching_vlm/train.py --out DIR [--init-from DIR ...] [--resume STATE] [--state FILE]
    torchrun --nproc-per-node 2 assets/teaching_vlm/train.py ... --threads 1    # on a CPU: a process for each core

Stage one teaches the vision tower alone with dense labels the renderer knows; the words' vectors stand still in it, as
what the decoder has learned is said in them. Stage two trains the whole model on
packed conversations, few things and pointing questions first, with the dense losses kept as helpers. Hidden matrices
are trained by Muon, everything else by AdamW; both follow one warm-up and cosine. The same seed sees the same batches.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from pathlib import Path
from typing import Any

import parallel
import torch
from architectures import ARCHITECTURES
from checkpoints import CheckpointError, export, load_state, save_state
from family import CAPTION, CHART, DRILL, GENERAL, MULTI_TURN, REASONING, TEXT
from learner import Learner
from packing import Batch, Packer
from scenes import FAMILIES
from tokenization import build_tokenizer
from transformers import AutoTokenizer
from transformers.utils import logging
from transplant import carry_over

WARMUP_SHARE, FINAL_RATE = 0.03, 0.05
MUON_RATIO = 3.0  # Muon's learning rate over AdamW's
DENSE_WEIGHT, REGION_WEIGHT, MENTION_WEIGHT = 1.0, 0.5, 0.5
VISION_RATIO = 0.2  # in stage two the tower only follows: at the full rate noise undoes stage one
VISION_PICTURES = 32  # a step of stage one
HIDDEN = ("layers.", "blocks.", "merger.", "multi_modal_projector.")  # parts whose matrices Muon trains
TOWER = ("visual.", "vision_tower.", "multi_modal_projector.", "image_newline")
#: Long conversations are drawn more often, as many of them do not fit behind what a row holds already.
TOPIC_WEIGHTS = {GENERAL: 1.0, TEXT: 1.6, CHART: 1.0, CAPTION: 0.8, REASONING: 3.0, MULTI_TURN: 1.3}


def parse_arguments(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Train the teaching vision-language model.")
    parser.add_argument("--architecture", choices=ARCHITECTURES, default="qwen")
    parser.add_argument("--out", type=Path, required=True, help="folder for the exported float16 model")
    parser.add_argument(
        "--state", type=Path, default=Path("teaching_vlm_state.pt"), help="file for the training state"
    )
    parser.add_argument(
        "--init-from",
        type=Path,
        nargs="+",
        default=[],
        help="exported models whose weights to start from, as far as they fit; a later one's replace an earlier one's",
    )
    parser.add_argument(
        "--tokenizer", type=Path, help="exported model whose tokenizer to keep; otherwise a new one"
    )
    parser.add_argument("--resume", type=Path, help="training state to go on from")
    parser.add_argument(
        "--vision-steps",
        type=int,
        default=600,
        help=f"steps of stage one, {VISION_PICTURES} pictures a process each",
    )
    parser.add_argument("--steps", type=int, default=3600, help="steps of stage two")
    parser.add_argument(
        "--minutes", type=float, help="end stage two after this time instead of after --steps"
    )
    parser.add_argument("--pictures", type=int, default=8, help="pictures a step and process of stage two")
    parser.add_argument(
        "--row-length", type=int, default=384, help="tokens a picture: prefix and conversations"
    )
    parser.add_argument("--learning-rate", type=float, default=3e-3)
    parser.add_argument(
        "--fact-weight", type=float, default=4.0, help="loss weight of colour, place, number ... words"
    )
    parser.add_argument(
        "--families", type=float, nargs=len(FAMILIES), default=[1.0] * len(FAMILIES), metavar="WEIGHT",
        help=f"how often a picture is one of {', '.join(FAMILIES)}",
    )  # fmt: skip
    parser.add_argument(
        "--drill", type=float, default=2.0, help="weight of drill questions beside 1 for a topic"
    )
    parser.add_argument(
        "--easy-share", type=float, default=0.08, help="first part of stage two that stays easy"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=0, help="CPU threads; 0 leaves torch's choice")
    parser.add_argument(
        "--compile", action="store_true", help="compile the text layers: a fifth faster after about a minute"
    )
    parser.add_argument(
        "--float32",
        action="store_true",
        help="no bfloat16: twice as fast on a CPU without matrix units for it",
    )
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument(
        "--save-every", type=float, default=240.0, help="seconds between saved states and exports"
    )
    return parser.parse_args(arguments)


class Trainer:
    """Owns the learner, its two optimisers and the position in the schedule."""

    def __init__(self, options: argparse.Namespace):
        self.options = options
        self.rank, self.world_size = parallel.start(options.device)
        torch.manual_seed(options.seed)
        architecture = ARCHITECTURES[options.architecture]
        if options.tokenizer:
            tokenizer = AutoTokenizer.from_pretrained(options.tokenizer, local_files_only=True)
            for key in ("is_local", "local_files_only"):  # how it was loaded is no part of what is exported
                tokenizer.init_kwargs.pop(key, None)
            tokenizer.chat_template = architecture.chat_template
        else:
            tokenizer = build_tokenizer(architecture.chat_template)
        self.processor, model = architecture.build_processor(tokenizer), architecture.build_model(tokenizer)
        for folder in options.init_from:
            left = carry_over(folder, model, tokenizer)
            print(f"{folder}: {f'all but {len(left)} parameters' if left else 'all weights'} taken over")
        self.learner = Learner(architecture, model, tokenizer).to(options.device).train()
        if options.compile:
            for layer in model.model.language_model.layers:
                layer.compile()
        self.packer = Packer(architecture, tokenizer, options.row_length, options.fact_weight)
        self.families = dict(zip(FAMILIES, options.families, strict=True))
        self.topics = {**TOPIC_WEIGHTS, DRILL: options.drill}
        matrices, rest = ([], []), ([], [])  # text and vision apart
        for name, parameter in self.learner.named_parameters():
            is_hidden = parameter.ndim == 2 and any(part in name for part in HIDDEN)
            (matrices if is_hidden else rest)[any(part in name for part in TOWER)].append(parameter)
        self.optimizers = [
            torch.optim.Muon(
                [{"params": list(part)} for part in matrices],
                weight_decay=0.02,
                adjust_lr_fn="match_rms_adamw",
            ),
            torch.optim.AdamW([{"params": list(part)} for part in rest], betas=(0.9, 0.98), weight_decay=0.0),
        ]
        self.vision_step = self.step = 0
        self.seconds = 0.0  # spent in stage two

    @property
    def architecture(self) -> str:
        """Every tensor's name and shape: what a state must share with the model it is loaded into."""
        return "; ".join(f"{name} {list(tensor.shape)}" for name, tensor in self.learner.state_dict().items())

    @property
    def progress(self) -> float:
        """How much of stage two is done, 0..1, by the clock where it has a time limit and by steps otherwise."""
        if self.options.minutes:
            return min(1.0, self.seconds / (60 * self.options.minutes))
        return min(1.0, self.step / self.options.steps) if self.options.steps else 1.0

    def resume(self, path: Path) -> None:
        """Go on from a saved state of the same architecture."""
        state = load_state(path, self.architecture)
        self.learner.load_state_dict(state["learner"])
        for optimizer, saved in zip(self.optimizers, state["optimizers"], strict=True):
            optimizer.load_state_dict(saved)
        self.vision_step, self.step, self.seconds = state["vision_step"], state["step"], state["seconds"]

    def save(self) -> None:
        """Write the state and export the model as it is now; of several processes, one does."""
        if self.rank:
            return
        save_state(
            self.options.state,
            {
                "architecture": self.architecture,
                "learner": self.learner.state_dict(),
                "optimizers": [optimizer.state_dict() for optimizer in self.optimizers],
                "vision_step": self.vision_step,
                "step": self.step,
                "seconds": self.seconds,
            },
        )
        export(self.options.out, self.learner.model, self.processor)

    def autocast(self) -> torch.autocast:
        """The precision that the forward passes run in."""
        return torch.autocast(self.options.device, torch.bfloat16, enabled=not self.options.float32)

    def _move(self, value: Any) -> Any:
        """Every tensor of a nested value, on the training device."""
        if isinstance(value, torch.Tensor):
            return value.to(self.options.device)
        if isinstance(value, dict):
            return {name: self._move(part) for name, part in value.items()}
        if isinstance(value, list | tuple):
            return type(value)(self._move(part) for part in value)
        return value

    def _seed(self, stage: str, step: int) -> str:
        """Seed of this process's batch of a step: no two processes and no two steps share one."""
        return Packer.seed(stage, self.options.seed, step * self.world_size + self.rank)

    def _batch(self, *arguments: Any) -> Batch:
        return Batch(**self._move(vars(self.packer.batch(*arguments))))

    def _update(self, loss: torch.Tensor, progress: float, vision_only: bool) -> None:
        """One optimiser step; `progress` 0..1 places it on the schedule, `vision_only` is stage one."""
        warm = min(1.0, progress / WARMUP_SHARE + 0.02)
        cosine = FINAL_RATE + (1 - FINAL_RATE) * 0.5 * (1 + math.cos(math.pi * progress))
        loss.backward()
        if vision_only:
            self.learner.model.get_input_embeddings().weight.grad = None
        parallel.average_gradients(self.learner.parameters())
        torch.nn.utils.clip_grad_norm_(self.learner.parameters(), 1.0)
        part_ratios = (1.0, 1.0 if vision_only else VISION_RATIO)
        for optimizer, ratio in zip(self.optimizers, (MUON_RATIO, 1.0), strict=True):
            for group, part_ratio in zip(optimizer.param_groups, part_ratios, strict=True):
                group["lr"] = self.options.learning_rate * ratio * part_ratio * warm * cosine
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)

    def learn_vision(self) -> str:
        """One step of stage one; returns what to report."""
        batch = self._batch(self._seed("vision", self.vision_step), VISION_PICTURES, self.families, None)
        with self.autocast():
            vectors = self.learner.encode_pictures(batch)
            loss, right = self.learner.dense_loss(vectors, batch.dense, self.learner.heads)
        self._update(loss, self.vision_step / self.options.vision_steps, vision_only=True)
        self.vision_step += 1
        return f"vision {self.vision_step} loss {loss.item():.3f} {_told(right)}"

    def learn_all(self) -> str:
        """One step of stage two; returns what to report."""
        options, progress = self.options, self.progress
        seed = self._seed("train", self.step)
        easy = progress < options.easy_share
        batch = self._batch(seed, options.pictures, self.families, self.topics, easy)
        with self.autocast():
            vectors = self.learner.encode_pictures(batch)
            dense, right = self.learner.dense_loss(vectors, batch.dense, self.learner.heads)
            text, regions, mentions, told = self.learner.text_loss(vectors, batch)
        loss = text + DENSE_WEIGHT * dense + REGION_WEIGHT * regions + MENTION_WEIGHT * mentions
        self._update(loss, progress, vision_only=False)
        self.step += 1
        return (
            f"step {self.step} {_told(told)} dense {dense.item():.3f} {_told(right)} "
            f"regions {regions.item():.3f} mentions {mentions.item():.3f}"
        )

    def run(self) -> None:
        """Train to the end of both stages, saving and reporting on the way."""
        options = self.options
        tokens = options.pictures * options.row_length * self.world_size
        last_saved = started = time.monotonic()
        while self.vision_step < options.vision_steps or self.progress < 1:
            if self.vision_step < options.vision_steps:
                report, step = self.learn_vision(), self.vision_step
                share = self.vision_step / options.vision_steps
                left = (time.monotonic() - started) * (1 - share) / share / 60
                speed = ""
            else:
                before, step_started = self.progress, time.monotonic()
                report, step = self.learn_all(), self.step
                taken = parallel.agreed(time.monotonic() - step_started)
                self.seconds += taken
                left = taken * (1 - self.progress) / max(self.progress - before, 1e-9) / 60
                speed = f" {tokens / taken:.0f} tokens/s {self.seconds / 60:.1f} min,"
            if step % 10 == 0 and not self.rank:
                print(f"{report}{speed} about {left:.1f} min left", flush=True)
            if time.monotonic() - last_saved > options.save_every:
                self.save()
                last_saved = time.monotonic()
        self.save()


def _told(right: dict[str, float]) -> str:
    return " ".join(f"{name} {share:.2f}" for name, share in right.items())


def main() -> int:
    options = parse_arguments()
    logging.disable_progress_bar()
    if options.threads:
        torch.set_num_threads(options.threads)
    try:
        trainer = Trainer(options)
        if options.resume:
            trainer.resume(options.resume)
        trainer.run()
        parallel.finish()
    except CheckpointError as error:
        print(f"train.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
