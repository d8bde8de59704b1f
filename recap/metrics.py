"""Speed and acceptance of runs, from their events alone (Eqs. 9 and 10).

A *unit* is one run of one method on one request. Its clock covers image encoding, prefill and decoding, and nothing
else. Units that failed, or never made a pass, have no value: the functions say None and leave them out of means.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import fmean

from recap.events import Iteration, Run

#: A run of the method under test and the run it is compared with, plain decoding's mostly, on the same request.
Pair = tuple[Run, Run]


def output_ids(run: Run) -> tuple[int, ...]:
    """All output ids so far: prefill's token, then what each pass committed."""
    if run.finished is not None:
        return run.finished.output_ids
    committed = [token_id for iteration in run.iterations for token_id in iteration.committed_ids]
    return (run.prefill.first_token_id, *committed)


def num_output_tokens(run: Run) -> int:
    """n of Eq. 9: output tokens so far, prefill's token included."""
    return len(output_ids(run))


def prefill_seconds(run: Run) -> float:
    """Seconds of image encoding, prefill and the first token."""
    return run.finished.prefill_seconds if run.finished is not None else run.prefill.seconds


def decode_seconds(run: Run) -> float:
    """Seconds of all passes so far."""
    if run.finished is not None:
        return run.finished.decode_seconds
    return sum(iteration.seconds.total for iteration in run.iterations)


def run_seconds(run: Run) -> float:
    """T of Eq. 9: prefill and decoding, seconds."""
    return prefill_seconds(run) + decode_seconds(run)


def prefill_share(run: Run) -> float | None:
    """Prefill's share of the run's clock, 0..1; None for a clock that stands at zero."""
    seconds = run_seconds(run)
    return prefill_seconds(run) / seconds if seconds > 0 else None


def throughput_ratio(run: Run, ar_run: Run) -> float | None:
    """r = (n_m / T_m) / (n_AR / T_AR) of one unit.

    Eq. 9. None where a clock stands at zero.
    """
    seconds, ar_seconds = run_seconds(run), run_seconds(ar_run)
    if seconds <= 0 or ar_seconds <= 0:
        return None
    return (num_output_tokens(run) / seconds) / (num_output_tokens(ar_run) / ar_seconds)


def run_speedup(run: Run, ar_run: Run) -> float | None:
    """What is told of one run: its throughput ratio, None without a pass; two prefills alone differ by noise."""
    return throughput_ratio(run, ar_run) if run.iterations else None


def decode_ratio(run: Run, ar_run: Run) -> float | None:
    """Throughput ratio of the passes alone: prefill's time and its one token are left out. None without a pass."""
    seconds, ar_seconds = decode_seconds(run), decode_seconds(ar_run)
    num_tokens, num_ar_tokens = num_output_tokens(run) - 1, num_output_tokens(ar_run) - 1
    if seconds <= 0 or ar_seconds <= 0 or num_tokens < 1 or num_ar_tokens < 1:
        return None
    return (num_tokens / seconds) / (num_ar_tokens / ar_seconds)


def speedup(pairs: Sequence[Pair]) -> float | None:
    """S: the mean of the units' throughput ratios.

    Eq. 9. None when no unit has a ratio.
    """
    ratios = [ratio for run, ar_run in pairs if (ratio := throughput_ratio(run, ar_run)) is not None]
    return fmean(ratios) if ratios else None


def speedup_of_totals(pairs: Sequence[Pair]) -> float | None:
    """Ratio of pooled throughputs: all tokens over all seconds, ours over plain decoding's.

    None where a clock stands at zero.
    """
    seconds = sum(run_seconds(run) for run, _ in pairs)
    ar_seconds = sum(run_seconds(ar_run) for _, ar_run in pairs)
    if seconds <= 0 or ar_seconds <= 0:
        return None
    num_tokens = sum(num_output_tokens(run) for run, _ in pairs)
    num_ar_tokens = sum(num_output_tokens(ar_run) for _, ar_run in pairs)
    return (num_tokens / seconds) / (num_ar_tokens / ar_seconds)


def num_accepted_tokens(iteration: Iteration) -> int:
    """Accepted draft tokens of a pass as Eq. 10 counts them: the tokens it committed, less one."""
    return len(iteration.committed_ids) - 1


def acceptance_length(run: Run) -> float | None:
    """tau of one unit: 1 + mean accepted draft tokens per verification pass.

    Eq. 10, inner mean. Prefill's token is not counted. None for a run without a pass.
    """
    if not run.iterations:
        return None
    return 1 + sum(num_accepted_tokens(iteration) for iteration in run.iterations) / len(run.iterations)


def mean_acceptance_length(runs: Iterable[Run]) -> tuple[float | None, int]:
    """tau over units, and how many units without a pass were left out.

    Eq. 10, outer mean.
    """
    values = [acceptance_length(run) for run in runs]
    kept = [value for value in values if value is not None]
    return (fmean(kept) if kept else None), len(values) - len(kept)


def decode_efficiency(run: Run, ar_run: Run) -> float | None:
    """Decode-only speedup over tau: how much of the accepted length becomes speed. None where either is missing."""
    ratio, length = decode_ratio(run, ar_run), acceptance_length(run)
    return None if ratio is None or not length else ratio / length


def first_difference(run: Run, reference: Run) -> int | None:
    """Index of the first output token that differs from `reference`, or None when the ids are the same.

    Where one output is the other's beginning, the index is the shorter one's length.
    """
    ids, reference_ids = output_ids(run), output_ids(reference)
    for index, (ours, theirs) in enumerate(zip(ids, reference_ids, strict=False)):
        if ours != theirs:
            return index
    return None if len(ids) == len(reference_ids) else min(len(ids), len(reference_ids))


def top_scores_at(run: Run, index: int) -> tuple[float, float] | None:
    """The two highest raw scores from which output token `index` was chosen; None where the pass was not recorded."""
    if index == 0:
        return run.prefill.top_scores
    position = index - 1
    for iteration in run.iterations:
        if position < len(iteration.committed_ids):
            if iteration.detail is None:
                return None
            node = iteration.accepted[position - 1] if position else 0
            return iteration.detail.nodes[node].top_scores
        position -= len(iteration.committed_ids)
    return None


def score_gap(run: Run, reference: Run) -> float | None:
    """Gap between the two highest scores at the first differing token, as `reference` (or else `run`) saw it.

    A tiny gap tells a rounding tie from a fault. None when the outputs are the same or no score was recorded there.
    """
    index = first_difference(run, reference)
    if index is None:
        return None
    scores = top_scores_at(reference, index) or top_scores_at(run, index)
    return None if scores is None else scores[0] - scores[1]
