"""Train the teaching model from scratch, or further, on a CPU or a GPU.

    python assets/teaching_vlm/train.py --out DIR [--init-from DIR] [--resume STATE] [--state FILE]

Stage one teaches the vision tower alone with dense labels the renderer knows. Stage two trains the whole model on
packed conversations, few things and pointing questions first, with the dense losses kept as helpers. Hidden matrices
are trained by Muon, everything else by AdamW; both follow one warm-up and cosine. The same seed sees the same batches.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from pathlib import Path

import torch
from architecture import build_config, build_model, build_processor, build_tokenizer
from checkpoints import CheckpointError, export, load_state, save_state
from learner import Learner
from packing import Batch, Packer
from scenes import MAX_THINGS
from transformers import AutoModelForImageTextToText, AutoProcessor
from transformers.utils import logging

WARMUP_SHARE, FINAL_RATE = 0.03, 0.05
MUON_RATIO = 3.0  # Muon's learning rate over AdamW's
EASY_THINGS, EASY_SHARES = 3, (0.1, 0.4, 0.1, 0.3)  # the first part of stage two: few things, short questions
DENSE_WEIGHT, CELL_WEIGHT = 1.0, 0.5
VISION_RATIO = 0.2  # in stage two the tower only follows: at the full rate noise undoes stage one


def parse_arguments(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Train the teaching vision-language model.")
    parser.add_argument("--out", type=Path, required=True, help="folder for the exported float16 model")
    parser.add_argument(
        "--state", type=Path, default=Path("teaching_vlm_state.pt"), help="file for the training state"
    )
    parser.add_argument("--init-from", type=Path, help="exported model to start from (skips stage one)")
    parser.add_argument("--resume", type=Path, help="training state to go on from")
    parser.add_argument("--vision-steps", type=int, default=300, help="steps of stage one, 32 pictures each")
    parser.add_argument("--steps", type=int, default=3600, help="steps of stage two")
    parser.add_argument(
        "--minutes", type=float, help="end stage two after this time instead of after --steps"
    )
    parser.add_argument("--pictures", type=int, default=8, help="pictures a step of stage two")
    parser.add_argument(
        "--row-length", type=int, default=384, help="tokens a picture: prefix and conversations"
    )
    parser.add_argument("--learning-rate", type=float, default=3e-3)
    parser.add_argument(
        "--fact-weight", type=float, default=4.0, help="loss weight of colour, place, number ... words"
    )
    parser.add_argument(
        "--shares", type=float, nargs=4, default=(0.3, 0.3, 0.2, 0.1), metavar="SHARE",
        help="shares of captions, short questions, reasoning, counting and finding; the rest is multi-turn",
    )  # fmt: skip
    parser.add_argument(
        "--easy-share", type=float, default=0.08, help="first part of stage two that stays easy"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=0, help="CPU threads; 0 leaves torch's choice")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument(
        "--save-every", type=float, default=240.0, help="seconds between saved states and exports"
    )
    return parser.parse_args(arguments)


class Trainer:
    """Owns the learner, its two optimisers and the position in the schedule."""

    def __init__(self, options: argparse.Namespace):
        self.options = options
        torch.manual_seed(options.seed)
        if options.init_from:
            processor = AutoProcessor.from_pretrained(options.init_from, local_files_only=True)
            model = AutoModelForImageTextToText.from_pretrained(
                options.init_from, dtype=torch.float32, local_files_only=True
            )
            for key in ("is_local", "local_files_only"):  # how it was loaded is no part of what is exported
                processor.tokenizer.init_kwargs.pop(key, None)
        else:
            tokenizer = build_tokenizer()
            processor, model = build_processor(tokenizer), build_model(build_config(tokenizer))
        self.processor = processor
        self.learner = Learner(model, processor.tokenizer).to(options.device).train()
        self.packer = Packer(processor.tokenizer, options.row_length, options.fact_weight)
        matrices, rest = ([], []), ([], [])  # text and vision apart
        for name, parameter in self.learner.named_parameters():
            hidden = parameter.ndim == 2 and ("layers." in name or "blocks." in name or "merger." in name)
            (matrices if hidden else rest)["visual." in name].append(parameter)
        self.optimizers = [
            torch.optim.Muon(
                [{"params": list(part)} for part in matrices],
                weight_decay=0.02,
                adjust_lr_fn="match_rms_adamw",
            ),
            torch.optim.AdamW([{"params": list(part)} for part in rest], betas=(0.9, 0.98), weight_decay=0.0),
        ]
        self.vision_step = options.vision_steps if options.init_from else 0
        self.step = 0
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
        return min(1.0, self.step / max(1, self.options.steps))

    def resume(self, path: Path) -> None:
        """Go on from a saved state of the same architecture."""
        state = load_state(path, self.architecture)
        self.learner.load_state_dict(state["learner"])
        for optimizer, saved in zip(self.optimizers, state["optimizers"], strict=True):
            optimizer.load_state_dict(saved)
        self.vision_step, self.step, self.seconds = state["vision_step"], state["step"], state["seconds"]

    def save(self) -> None:
        """Write the state and export the model as it is now."""
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

    def _move(self, batch: Batch) -> Batch:
        def move(value: torch.Tensor | dict) -> torch.Tensor | dict:
            if isinstance(value, dict):
                return {name: move(part) for name, part in value.items()}
            return value.to(self.options.device)

        return Batch(**{name: move(value) for name, value in vars(batch).items()})

    def _update(self, loss: torch.Tensor, progress: float, vision_ratio: float) -> None:
        """One optimiser step; `progress` 0..1 places it on the schedule, `vision_ratio` scales the tower's rate."""
        warm = min(1.0, progress / WARMUP_SHARE + 0.02)
        cosine = FINAL_RATE + (1 - FINAL_RATE) * 0.5 * (1 + math.cos(math.pi * progress))
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.learner.parameters(), 1.0)
        for optimizer, ratio in zip(self.optimizers, (MUON_RATIO, 1.0), strict=True):
            for group, part_ratio in zip(optimizer.param_groups, (1.0, vision_ratio), strict=True):
                group["lr"] = self.options.learning_rate * ratio * part_ratio * warm * cosine
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)

    def learn_vision(self) -> str:
        """One step of stage one; returns what to report."""
        batch = self._move(
            self.packer.batch(
                Packer.seed("vision", self.options.seed, self.vision_step), 32, MAX_THINGS, (), False
            )
        )
        with torch.autocast(self.options.device, dtype=torch.bfloat16):
            loss, right = self.learner.dense_losses(self.learner.encode_pictures(batch.patches), batch.dense)
        self._update(loss, self.vision_step / self.options.vision_steps, 1.0)
        self.vision_step += 1
        return f"vision {self.vision_step} loss {loss.item():.3f} " + " ".join(
            f"{k} {v:.3f}" for k, v in right.items()
        )

    def learn_all(self) -> str:
        """One step of stage two; returns what to report."""
        options, progress = self.options, self.progress
        easy = progress < options.easy_share
        batch = self._move(
            self.packer.batch(
                Packer.seed("train", options.seed, self.step),
                options.pictures,
                EASY_THINGS if easy else MAX_THINGS,
                EASY_SHARES if easy else tuple(options.shares),
            )
        )
        with torch.autocast(options.device, dtype=torch.bfloat16):
            pictures = self.learner.encode_pictures(batch.patches)
            dense, right = self.learner.dense_losses(pictures, batch.dense)
            loss, cells, plain, facts = self.learner.text_loss(pictures, batch, self.packer.picture_start)
        self._update(loss + DENSE_WEIGHT * dense + CELL_WEIGHT * cells, progress, VISION_RATIO)
        self.step += 1
        return (
            f"step {self.step} loss {plain:.4f} facts {facts:.3f} dense {dense.item():.3f} cells {cells.item():.3f} "
            f"shape {right['shape']:.3f} color {right['color']:.3f}"
        )

    def run(self) -> None:
        """Train to the end of both stages, saving and reporting on the way."""
        options = self.options
        tokens = options.pictures * options.row_length
        last_saved = started = time.monotonic()
        while self.vision_step < options.vision_steps:
            report = self.learn_vision()
            share = self.vision_step / options.vision_steps
            if self.vision_step % 10 == 0:
                left = (time.monotonic() - started) * (1 - share) / share / 60
                print(f"{report} about {left:.1f} min left", flush=True)
        while self.progress < 1:
            before, step_started = self.progress, time.monotonic()
            report = self.learn_all()
            taken = time.monotonic() - step_started
            self.seconds += taken
            if self.step % 10 == 0:
                left = taken * (1 - self.progress) / max(self.progress - before, 1e-9) / 60
                print(
                    f"{report} {tokens / taken:.0f} tokens/s {self.seconds / 60:.1f} min, {left:.1f} left",
                    flush=True,
                )
            if self.progress == 1 or time.monotonic() - last_saved > options.save_every:
                self.save()
                last_saved = time.monotonic()


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
    except CheckpointError as error:
        print(f"train.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
