"""Trace files changed at random: a valid trace, which must draw and be saved again, or one sentence."""

from __future__ import annotations

import json
import random
from functools import cache

import numpy as np
from make_traces import make_trace

from recap.errors import TraceError
from recap.memory import Memories
from recap.recording import RecordedRun, build_trace
from recap.targets.base import Request
from recap.targets.scripted import ScriptedTarget, random_scores
from recap.trace_io import dump_trace, parse_trace
from visualize.payload import build_payload

#: What a value may turn into: wrong types, edges of the numbers, texts that break what reads them carelessly.
VALUES = (
    None, True, False, 0, 1, -1, 2, 7, 2**31 - 1, 2**31, 2**53 + 1, 2**70, -(2**70), 0.5, -0.0, 1.0000001, 1e308,
    1e-320, "", "x", "G", "C", "U", "root", "suffix", "fusion", "ar", "\0", "\u202e", "\ud83d", "\ufffd",
    "<script>1</script>", "</script><img src=x onerror=1>", "$x$ $y$", "a\nb", "f" * 3000, "NaN",
    "data:image/png;base64,AAAA", [], {}, [0], [[]], [None] * 3, {"id": 1}, [2**31 - 1] * 9,
)  # fmt: skip
#: Text that takes the place of a number.
NUMBERS = (
    "NaN",
    "Infinity",
    "-Infinity",
    "1e999",
    "1" + "0" * 5000,
    "00",
    "1.",
    "0x1",
    "-",
    '"',
    "null",
    "[",
    "1e5",
)


@cache
def originals() -> tuple[str, ...]:
    """Small traces of both makers: a made-up one with nasty tokens, and one that the engine recorded."""
    target = ScriptedTarget(12, random_scores(12, order=2, seed=9), end_ids=(0,), blocked_ids=(1,))
    request = Request(np.array([1, 2, 3, 2, 3, 4], np.int64), 10, image_token_id=1)
    runs = []
    for method, memories in (("ar", None), ("recap@5", Memories(12))):
        recorded = RecordedRun(target, request, method, memories)
        assert list(recorded)
        runs.append(recorded.run())
    return (
        dump_trace(build_trace(target, request, "What is it?", runs)),
        dump_trace(make_trace(5, max_nodes=4, num_tokens=7)),
    )


def places(value: object, path: tuple = ()) -> list[tuple]:
    """Every path of keys in a JSON value."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, item in items for place in places(item, (*path, key)))]


def change(rng: random.Random, content: object, place: tuple) -> object:
    """The JSON value with one thing at a place changed; what lies beside it is shared, not copied."""
    if place:
        copy = dict(content) if isinstance(content, dict) else list(content)
        copy[place[0]] = change(rng, copy[place[0]], place[1:])
        return copy
    kind = rng.randrange(6)
    if isinstance(content, list) and content and kind < 3:
        copy = list(content)
        if kind == 0:
            copy.pop(rng.randrange(len(copy)))
        elif kind == 1:
            copy.insert(rng.randrange(len(copy)), rng.choice(copy))
        else:
            rng.shuffle(copy)
        return copy
    if isinstance(content, dict) and content and kind < 2:
        copy = dict(content)
        key = rng.choice(list(copy))
        item = copy.pop(key)
        if kind == 1:
            copy[rng.choice(("", "more", key.upper(), "schema_version"))] = item
        return copy
    if isinstance(content, bool | str) or content is None or kind < 4:
        return rng.choice(VALUES)
    return content + rng.choice((-1, 1)) if isinstance(content, int) else rng.choice(VALUES)


def change_bytes(rng: random.Random, data: bytes) -> bytes:
    """The file cut, with bytes flipped, doubled or put in, or with one of its numbers written otherwise."""
    kind, at = rng.randrange(5), rng.randrange(len(data))
    if kind == 0:
        return data[:at]
    if kind == 1:
        return data[:at] + bytes(rng.randrange(256) for _ in range(rng.choice((1, 4)))) + data[at + 1 :]
    if kind == 2:
        return data[:at] + data[max(0, at - rng.randrange(200)) :]
    if kind == 3:
        return (
            data[:at] + rng.choice((b"\xff", b"\0", b"[" * 400, b"{", b"}", b",", b'"\\ud800"')) + data[at:]
        )
    digits = [i for i in range(at, min(at + 400, len(data))) if data[i : i + 1].isdigit()]
    if not digits:
        return data[:at]
    return data[: digits[0]] + rng.choice(NUMBERS).encode() + data[digits[0] + 1 :]


def is_valid(data: bytes) -> bool:
    """Whether the file is a trace; then it draws, and comes out of a second saving as it was. Else one sentence."""
    try:
        trace = parse_trace(data)
    except TraceError as error:
        message = str(error)
        assert message.endswith(".")
        assert message.isprintable(), message
        assert len(message) < 500
        message.encode()  # no half characters either
        return False
    json.dumps(build_payload(trace), allow_nan=False, ensure_ascii=False).encode()
    assert parse_trace(dump_trace(trace)) == trace
    return True


def test_a_changed_trace_is_valid_or_told_in_one_sentence(is_full: bool) -> None:
    rng = random.Random(83)
    contents = [json.loads(text) for text in originals()]
    every_place = [places(content) for content in contents]
    num_valid = {"values": 0, "bytes": 0}
    for index in range(20_000 if is_full else 400):
        which = rng.randrange(len(contents))
        if index % 2:
            changed = contents[which]
            for _ in range(rng.choice((1, 1, 2, 4))):
                try:
                    changed = change(rng, changed, rng.choice(every_place[which]))
                except (LookupError, TypeError):
                    continue  # an earlier change has taken the place away
            num_valid["values"] += is_valid(json.dumps(changed).encode())
        else:
            data = originals()[which].encode()
            for _ in range(rng.choice((1, 1, 3))):
                data = change_bytes(rng, data) or data
            num_valid["bytes"] += is_valid(data)
    assert all(is_valid(text.encode()) for text in originals())
    assert min(num_valid.values()) > 0, f"harmless changes must pass: {num_valid}"
