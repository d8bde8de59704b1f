"""One loop for every method: prefill, then draft, verify, commit and learn until the answer ends."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator

import numpy as np

from recap.drafters.base import Drafter
from recap.errors import ModelError
from recap.events import Event, Finished, Iteration, Prefill, StageSeconds, StopReason
from recap.recorder import Recorder
from recap.rows import make_rows
from recap.sampling import Chooser, choose_along_path
from recap.targets.base import Decoding, Request, Scores, Target
from recap.tree import DraftTree
from recap.verification import Outcome, verify_path


def generate(
    target: Target,
    drafter: Drafter,
    request: Request,
    *,
    stop: Callable[[], bool] | None = None,
    recorder: Recorder | None = None,
    chooser: Chooser | None = None,
) -> Iterator[Event]:
    """Decode a request, greedily without a chooser; with exact arithmetic the tokens do not depend on the drafter.

    Yields one `Prefill`, an `Iteration` a verification pass, and a `Finished`. The clock of the events covers image
    encoding, prefill and decoding; recording happens outside it.

    Args:
        target: the model.
        drafter: what proposes trees; its memories are changed as the run goes on. On an error, a stop, or when the
            generator is closed early, what outlives a request returns to its state before the run.
        request: the prompt and the length cap.
        stop: read before every pass; True ends the run there.
        recorder: fills the events' details and its own row table; without one no records are built.
        chooser: what picks each token in place of the argmax, see `recap.sampling`.

    Raises:
        ValueError: a recorder and a chooser, as recorded runs are greedy; or a tree with another root than the last
            token, or with more nodes than the drafter's `max_tree_nodes`.
        ModelError: the scores are not finite; nothing of the run is remembered.
    """
    if recorder and chooser:
        raise ValueError(f"recorded runs must be greedy; got chooser={chooser!r} beside a recorder")
    saved_state = drafter.save_state()
    is_kept = False
    decoding: Decoding | None = None
    should_stop = stop or (lambda: False)
    try:
        started = time.perf_counter()
        decoding = target.prefill(request, drafter.wants_prompt_rows, drafter.max_tree_nodes)
        _check_finite(decoding.first_scores)
        first_id = int(decoding.first_scores.greedy_ids[0])
        if chooser:
            assert decoding.first_scores.all_scores is not None, "targets give all scores of the first token"
            first_id = chooser.choose(request.prompt_ids, decoding.first_scores.all_scores[0])
        prefill_seconds = time.perf_counter() - started
        if recorder:
            recorder.look_prompt(decoding)
        started = time.perf_counter()
        seeded = drafter.begin(request.prompt_ids, first_id, decoding.prompt_row_ids, decoding.prompt_rows)
        prefill_seconds += time.perf_counter() - started

        history = np.empty(len(request.prompt_ids) + request.max_new_tokens, np.int64)
        history[: len(request.prompt_ids)] = request.prompt_ids
        history[len(request.prompt_ids)] = first_id
        length = len(request.prompt_ids) + 1
        prefill = Prefill(
            num_prompt_tokens=len(request.prompt_ids),
            num_image_tokens=request.num_image_tokens,
            first_token_id=first_id,
            top_scores=decoding.first_scores.two_highest(0),
            seconds=prefill_seconds,
            writes=recorder.prompt_writes(request.prompt_ids, decoding, seeded) if recorder else (),
            memory_sizes=drafter.memories.sizes if recorder and drafter.memories else None,
        )
        if recorder:
            recorder.add(prefill)
        yield prefill

        stop_reason: StopReason | None = None
        if first_id in target.end_ids:
            stop_reason = "end_token"
        elif request.max_new_tokens == 1:
            stop_reason = "length"
        num_passes = 0
        decode_seconds = 0.0
        while stop_reason is None:
            if should_stop():
                stop_reason = "stopped"
                break
            num_tokens_left = len(history) - length
            iteration, outcome = _one_pass(
                target,
                drafter,
                decoding,
                history[:length],
                num_tokens_left,
                num_passes + 1,
                recorder,
                chooser,
            )
            history[length : length + len(outcome.committed_ids)] = outcome.committed_ids
            length += len(outcome.committed_ids)
            num_passes += 1
            decode_seconds += iteration.seconds.total
            stop_reason = outcome.stop_reason
            if recorder:
                recorder.add(iteration)
            yield iteration

        finished = Finished(
            output_ids=tuple(history[len(request.prompt_ids) : length].tolist()),
            num_passes=num_passes,
            stop_reason=stop_reason,
            prefill_seconds=prefill_seconds,
            decode_seconds=decode_seconds,
        )
        if recorder:
            recorder.add(finished)
        is_kept = stop_reason != "stopped"
        yield finished
    finally:
        if decoding is not None:
            decoding.close()
        if not is_kept:
            drafter.restore_state(saved_state)


def _one_pass(
    target: Target,
    drafter: Drafter,
    decoding: Decoding,
    history: np.ndarray,
    num_tokens_left: int,
    index: int,
    recorder: Recorder | None,
    chooser: Chooser | None,
) -> tuple[Iteration, Outcome]:
    prefix_length = decoding.prefix_length
    started = time.perf_counter()
    tree = drafter.draft(history)
    _check_tree(tree, history, drafter.max_tree_nodes)
    drafted = time.perf_counter()
    wants = getattr(drafter, "wants", ())  # a drafter need not know of what only a `ScoreReader` asks for
    scores = decoding.verify(tree, want_all_scores=chooser is not None, want=wants)
    verified = time.perf_counter()
    _check_finite(scores)
    chosen_ids = scores.greedy_ids
    if chooser:
        assert scores.all_scores is not None, "all scores were asked for"
        chosen_ids = choose_along_path(
            tree, scores.all_scores, history, chooser, target.end_ids, num_tokens_left
        )
    outcome = verify_path(tree, chosen_ids, target.end_ids, num_tokens_left)
    decoding.keep(outcome.accepted_indices)
    committed = time.perf_counter()
    if recorder:
        recorder.look(history, tree, scores)
    update_started = time.perf_counter()
    if wants:
        drafter.read(scores)
    rows = make_rows(scores.top_ids, scores.top_scores) if drafter.wants_rows else None
    written = drafter.observe(history, tree, rows, outcome)
    updated = time.perf_counter()
    iteration = Iteration(
        index=index,
        prefix_length=prefix_length,
        root_id=int(tree.token_ids[0]),
        num_nodes=tree.num_draft_nodes,
        accepted=tuple(outcome.accepted_indices.tolist()),
        target_selected_id=outcome.target_selected_id,
        committed_ids=tuple(outcome.committed_ids.tolist()),
        stop_reason=outcome.stop_reason,
        seconds=StageSeconds(
            draft=drafted - started,
            verify=verified - drafted,
            commit=committed - verified,
            update=updated - update_started,
        ),
        detail=recorder.detail(history, tree, written) if recorder else None,
    )
    return iteration, outcome


def _check_tree(tree: DraftTree, history: np.ndarray, max_tree_nodes: int) -> None:
    # Whoever writes a drafter must hear of these: one changes the text, the other overruns the target's buffers.
    if tree.token_ids[0] != history[-1]:
        raise ValueError(
            f"a draft's root must be the last token of the text, {history[-1]}; got {tree.token_ids[0]}"
        )
    if len(tree.token_ids) > max_tree_nodes:
        raise ValueError(
            f"a draft must have at most the drafter's max_tree_nodes, {max_tree_nodes}, root included; "
            f"got {len(tree.token_ids)} nodes"
        )


def _check_finite(scores: Scores) -> None:
    # A list of floats: numpy's own reductions take longer to start than these few scores to look through.
    if not all(map(math.isfinite, scores.top_scores[:, 0].tolist())):
        raise ModelError(
            "The model's scores are not finite, so the run was stopped: "
            "load the model in float32 (or bfloat16) and try again."
        )
