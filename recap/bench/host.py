"""What a pass costs beside the target: every host stage by itself, without a model (the paper's Table 9).

Setting: U holds a row for every id, C and G hold 2,000 rows each, a row of each map is found at every node, and the
search makes exactly the nodes asked for. Only our own code is timed; no target pass cools the caches in between.
"""

from __future__ import annotations

import argparse
import copy
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np
import torch

from recap.config import ROW_WIDTH, RecapConfig
from recap.drafters.recap import RecapDrafter, node_contexts
from recap.errors import InputError
from recap.jit import jit
from recap.memory import Memories
from recap.prediction_map import find_row, reserve, write_row
from recap.rows import PredictionRows, make_rows
from recap.suffix import SuffixAutomaton
from recap.targets.kv_cache import TreeMask
from recap.tree import pack, path_contexts
from recap.verification import verify_path

STAGES = ("lookup_fusion_search", "packing", "memory_write", "suffix_lookup", "suffix_update", "commit")
#: The paper's own at 63 nodes by its two models (Table 9, and its account of a full vocabulary of rows). The total is
#: that of these stages; the paper's 1.778 and 1.974 ms hold "other decoding" besides, which is not measured here.
QWEN, LLAVA = "Qwen2.5-VL-7B", "LLaVA-1.6-7B"
PAPER: dict[str, dict[str, float]] = {
    QWEN: {
        **dict(zip(STAGES, (0.506, 0.391, 0.461, 0.010, 0.027, 0.256), strict=True)),
        "total": 1.651,
        "lookup_ns": 386.0,
        "memory_mib": 109.14,
    },
    LLAVA: {
        **dict(zip(STAGES, (0.592, 0.519, 0.414, 0.010, 0.028, 0.286), strict=True)),
        "total": 1.849,
        "lookup_ns": 183.0,
        "memory_mib": 23.36,
    },
}
LLAVA_VOCAB_SIZE = 32_064
NUM_LOCAL_ROWS = 2000
#: Tokens between two stretches of a prompt that repeat later: as many as a match may copy.
_NUM_COPIED = 14
_MIN_PROMPT_TOKENS = 20
_NUM_ROUNDS, _NUM_PASSES = 25, 20
_NUM_LOOKUP_RUNS, _NUM_LOOKUPS = 100, 5000


class HostSetting(NamedTuple):
    """What is measured.

    Attributes:
        vocab_size: width V of the target's scores.
        num_nodes: nodes that the search makes beside the root; copied nodes come on top.
        num_history_tokens: tokens committed before the first pass.
        num_prompt_tokens: tokens of the prompt, at least 20.
    """

    vocab_size: int = 152_064
    num_nodes: int = 63
    num_history_tokens: int = 50
    num_prompt_tokens: int = 100


def measure_host(setting: HostSetting, num_rounds: int = _NUM_ROUNDS, seed: int = 0) -> dict[str, float]:
    """Median milliseconds of each stage and of their sum in a pass, nanoseconds of a lookup in U, MiB of all maps.

    Each of `num_rounds` rounds follows a new text for 20 passes; a round before them compiles and is not counted.

    Raises:
        InputError: a setting that no pass can be built for.
    """
    bench = _HostBench(setting, np.random.default_rng(seed))
    seconds = [list(bench.passes()) for _ in range(1 + num_rounds)][1:]
    by_stage = np.array(seconds).reshape(-1, len(STAGES))
    milliseconds = dict(zip(STAGES, (1e3 * np.median(by_stage, axis=0)).tolist(), strict=True))
    return {
        **milliseconds,
        "total": 1e3 * float(np.median(by_stage.sum(axis=1))),
        "lookup_ns": bench.lookup_nanoseconds(),
        "memory_mib": bench.memories.num_bytes / 2**20,
    }


def add_command(commands: Any) -> None:
    """The options of `host`, on argparse's subparsers."""
    default = HostSetting()
    parser = commands.add_parser("host", help="time our own work in a pass, stage by stage, without a model")
    parser.add_argument(
        "--vocab", type=int, default=default.vocab_size, help="width of the scores (default 152064)"
    )
    parser.add_argument("--nodes", type=int, default=default.num_nodes, help="draft nodes (default 63)")
    parser.add_argument(
        "--history", type=int, default=default.num_history_tokens, help="committed tokens (default 50)"
    )
    parser.add_argument(
        "--prompt", type=int, default=default.num_prompt_tokens, help="prompt tokens (default 100)"
    )
    parser.add_argument("--json", type=Path, help="where the figures go, too")


def run_command(options: argparse.Namespace) -> tuple[dict[str, float], str]:
    """The command `host`: its figures, and a table with the paper's beside. Raises InputError."""
    measured = measure_host(HostSetting(options.vocab, options.nodes, options.history, options.prompt))
    return measured, to_markdown(measured, LLAVA if options.vocab == LLAVA_VOCAB_SIZE else QWEN)


def to_markdown(measured: dict[str, float], model: str) -> str:
    """The figures as a table, those of the paper's `model` beside."""
    lines = [f"| | here | paper ({model}, 63 nodes) |", "|---|---:|---:|"]
    for name, value in measured.items():
        stem, _, unit = name.rpartition("_") if name in ("lookup_ns", "memory_mib") else (name, "", "ms")
        unit = {"mib": "MiB"}.get(unit, unit)
        lines.append(f"| {stem.replace('_', ' ')}, {unit} | {value:.3f} | {PAPER[model][name]:.3f} |")
    return "\n".join(lines)


class _HostBench:
    """Full memories and texts to draft for."""

    def __init__(self, setting: HostSetting, rng: np.random.Generator) -> None:
        if setting.num_prompt_tokens < _MIN_PROMPT_TOKENS or setting.num_history_tokens < 0:
            raise InputError(
                f"The prompt must have at least {_MIN_PROMPT_TOKENS} tokens, the history none or more."
            )
        try:
            self._config = RecapConfig(max_nodes=setting.num_nodes)
            self.memories = Memories(setting.vocab_size)
        except ValueError as error:
            raise InputError(f"This cannot be measured: {error}.") from error
        self._setting = setting
        self._rng = rng
        self._drafter = RecapDrafter(self._config, self.memories)
        self.memories.begin_request()
        self.memories.seed_unigram(np.arange(setting.vocab_size), self._random_rows(setting.vocab_size))
        num_roots = max(1, NUM_LOCAL_ROWS // (1 + setting.num_nodes))
        self._roots = [self._covered_root() for _ in range(num_roots)]
        num_others = max(0, NUM_LOCAL_ROWS - self.memories.sizes.trigram)
        others = rng.integers(0, setting.vocab_size, (num_others, 3))
        self._write_local(others)
        #: Passes write here, so that the trees drafted from `memories` stay as they were made.
        self._written = copy.deepcopy(self.memories)

    def _random_rows(self, num_rows: int) -> PredictionRows:
        shape = (num_rows, ROW_WIDTH)
        scores = -np.sort(-self._rng.normal(0, 3, shape), axis=1).astype(np.float32)
        return make_rows(self._rng.integers(0, self._setting.vocab_size, shape), scores)

    def _covered_root(self) -> np.ndarray:
        """Three random tokens, and rows written until the search finds one of each map at every node."""
        root = self._rng.integers(0, self._setting.vocab_size, 3)
        while True:
            token_ids, parents, *_ = self._drafter.search(root, self._config.max_nodes)
            for context in path_contexts(token_ids, parents, root[0], root[1]):
                if self.memories.lookup("G", tuple(context.tolist())) is None:
                    # Its row changes what comes behind it in the search, so only the first one is written.
                    self._write_local(context[None])
                    break
            else:
                return root

    def _write_local(self, contexts: np.ndarray) -> None:
        """Random rows in G and C; U stays, on which the trees made so far depend."""
        memories, rows = self.memories, self._random_rows(len(contexts))
        memories.batch += 1
        memories.trigram = reserve(memories.trigram, len(contexts))
        memories.bigram = reserve(memories.bigram, len(contexts))
        for index, context in enumerate(contexts):
            for arrays in (memories.trigram, memories.bigram):
                write_row(arrays, *context, rows, index, memories.request, 0, memories.batch)

    def _text(self) -> np.ndarray:
        """Prompt and history: stretches of the prompt come back in the history, as they do in real answers."""
        setting, rng = self._setting, self._rng
        stretch = 3 + _NUM_COPIED
        prompt = rng.integers(0, setting.vocab_size, setting.num_prompt_tokens)
        order = rng.permutation(len(self._roots))
        places = range(0, setting.num_prompt_tokens - stretch + 1, stretch)
        for place, index in zip(places, np.resize(order, len(places)), strict=True):
            prompt[place : place + 3] = self._roots[index]
        self._in_prompt = [self._roots[index] for index in order[: len(places)]]
        history = np.concatenate([self._next_root() for _ in range(-(-setting.num_history_tokens // 3) + 1)])
        return np.append(prompt, history[-max(3, setting.num_history_tokens) :])

    def _next_root(self) -> np.ndarray:
        return self._in_prompt[self._rng.integers(len(self._in_prompt))]

    def passes(self) -> Iterator[tuple[float, ...]]:
        """Seconds of each stage, pass by pass, over one new text."""
        clock = time.perf_counter
        drafter, builder = self._drafter, self._drafter.builder
        text = self._text()
        history = np.append(text, np.empty(3 * _NUM_PASSES, np.int64))
        length = len(text)
        drafter.suffix = SuffixAutomaton()
        drafter.suffix.extend(text)
        mask = TreeMask(drafter.max_tree_nodes, len(history) + drafter.max_tree_nodes, torch.float32)
        for _ in range(_NUM_PASSES):
            known = history[:length]
            times = [clock()]
            searched = drafter.search(known, self._config.max_nodes)
            times.append(clock())
            continuation = drafter.suffix_continuation()
            times.append(clock())
            tree = pack(*builder.with_suffix(searched, continuation))
            mask.fill(tree.parent_indices, length - 1)
            torch.from_numpy(tree.depths + (length - 1))
            times.append(clock())
            scores = self._scores(len(tree.token_ids))
            greedy_ids = scores[0][:, 0].copy()
            accepted = tree.token_ids[1:3]
            greedy_ids[: len(accepted)] = accepted
            started_writing = clock()
            self._written.write(node_contexts(known, tree), make_rows(*scores))
            written = clock()
            verify_path(tree, greedy_ids, (), len(known))
            committed = clock()
            next_root = self._next_root()
            started_suffix = clock()
            drafter.suffix.extend(next_root)
            ended = clock()
            history[length : length + 3] = next_root
            length += 3
            search, look_up, packing = np.diff(times).tolist()
            yield (
                search,
                packing,
                written - started_writing,
                look_up,
                ended - started_suffix,
                committed - written,
            )

    def _scores(self, num_nodes: int) -> tuple[np.ndarray, np.ndarray]:
        shape = (num_nodes, ROW_WIDTH)
        top_ids = self._rng.integers(0, self._setting.vocab_size, shape)
        return top_ids, -np.sort(-self._rng.normal(0, 3, shape), axis=1).astype(np.float32)

    def lookup_nanoseconds(self) -> float:
        """Nanoseconds to find a random token's row in U and read it, the median of many short runs."""
        seconds = []
        for _ in range(1 + _NUM_LOOKUP_RUNS):
            token_ids = self._rng.integers(0, self._setting.vocab_size, _NUM_LOOKUPS)
            started = time.perf_counter()
            _read_rows(self.memories.unigram, token_ids)
            seconds.append(time.perf_counter() - started)
        return 1e9 * median(seconds[1:]) / _NUM_LOOKUPS


@jit
def _read_rows(arrays, token_ids):
    total = 0.0
    for token in token_ids:
        row = find_row(arrays, np.int64(-1), np.int64(-1), token)
        for k in range(arrays.token_ids.shape[1]):
            total += arrays.token_ids[row, k] * arrays.probabilities[row, k]
        total += arrays.row_confidences[row]
    return total
