"""Synthetic traces: a small, slow, seeded RECAP on a made-up language, consistent down to the last row.

Nothing here uses the method's own code, so figures and files can be tested against an independent source.
"""

from __future__ import annotations

import math
import random

from recap.events import (
    Environment,
    Finished,
    ImageInfo,
    Iteration,
    MemorySizes,
    MemoryWrite,
    MissedPath,
    Node,
    PassDetail,
    PredictionRow,
    Prefill,
    RequestInfo,
    RetrievedRow,
    Run,
    StageSeconds,
    SuffixMatch,
    TokenForm,
    Trace,
)
from recap.tokens import visible_form

END = 0
IMAGE = 1
#: Tokens that plotly, HTML or MathJax would swallow stand among ordinary words.
NASTY = (
    b"<b>",
    b"$x$",
    b"<br>",
    b"\n",
    b"\xf0\x9f",
    b"\x98\x80",
    "\u05e9\u05dc\u05d5\u05dd".encode(),
    b"&amp;",
    b"  ",
)
WORDS = (
    b"The picture shows a red circle left of the blue square and the green triangle above it . There are three small "
    b"shapes in the top row while the large yellow star is below , next to two orange rings in the corner".split()
)
_PIXEL = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAIAAABLbSncAAAAEklEQVR4nGNgYGD4jwUMLQkAQ7kBf9Y8yB0AAAAA"
    "SUVORK5CYII="
)
_ALPHA = (0.70, 0.20, 0.10)
_ETA = (0.68, 0.63, 0.50, 0.43, 0.40, 0.38)
_LENGTHS = {"G": 3, "C": 2, "U": 1}


def vocabulary() -> list[TokenForm]:
    """END, the image placeholder, then words with a leading space and the nasty tokens."""
    names = [(b"</s>", True), (b"<image>", True)]
    names += [(b" " + word, False) for word in dict.fromkeys(WORDS)] + [(token, False) for token in NASTY]
    return [
        TokenForm(index, data.hex(), visible_form(data, special, data.decode("utf-8", "replace")), special)
        for index, (data, special) in enumerate(names)
    ]


class Language:
    """Scores that depend on the last three tokens, mostly on the last two: a text that nearly repeats itself."""

    def __init__(self, seed: int, vocab_size: int) -> None:
        self.seed, self.vocab_size = seed, vocab_size

    def scores(self, history: tuple[int, ...]) -> list[float]:
        near = random.Random(f"{self.seed}/{history[-2:]}")
        far = random.Random(f"{self.seed}/{history[-3:]}")
        scores = [near.gauss(0, 3) + far.gauss(0, 0.6) for _ in range(self.vocab_size)]
        scores[END] = scores[IMAGE] = -30.0
        return scores


def _ranked(scores: list[float]) -> list[int]:
    return sorted(range(len(scores)), key=lambda token: (-scores[token], token))


def _row(scores: list[float], request: int, index: int) -> PredictionRow:
    ids = _ranked(scores)[:8]
    raw = [math.exp(scores[token] - scores[ids[0]]) for token in ids]
    probabilities = [value / sum(raw) for value in raw]
    entropy = -sum(p * math.log(p) for p in probabilities if p > 0)
    return PredictionRow(tuple(ids), tuple(probabilities), min(1.0, math.exp(-entropy)), request, index)


class _Memory:
    def __init__(self) -> None:
        self.maps: dict[str, dict[tuple[int, ...], int]] = {"G": {}, "C": {}, "U": {}}
        self.rows: list[PredictionRow] = []

    def sizes(self) -> MemorySizes:
        return MemorySizes(*(len(self.maps[name]) for name in "GCU"))

    def write(self, entries: list[tuple[str, tuple[int, ...], int, int]]) -> tuple[MemoryWrite, ...]:
        """Entries are (map, key, node, row); the first of a key wins."""
        writes, seen = [], set()
        for name, key, node, row in entries:
            if (name, key) not in seen:
                seen.add((name, key))
                writes.append(MemoryWrite(name, key, node, row, self.maps[name].get(key)))
                self.maps[name][key] = row
        return tuple(writes)

    def look_up(
        self, history: tuple[int, ...], now: int
    ) -> tuple[tuple[RetrievedRow, ...], list[tuple[int, float]]]:
        """Rows found, most specific first, and the fused top-8 as (token, q)."""
        found = []
        for name in "GCU":
            key = history[-_LENGTHS[name] :]
            if key in self.maps[name]:
                found.append((name, key, self.maps[name][key]))
        total = sum(_ALPHA[rank] * self.rows[row].confidence for rank, (_, _, row) in enumerate(found))
        retrieved, mass = [], {}
        for rank, (name, key, index) in enumerate(found):
            row = self.rows[index]
            weight = _ALPHA[rank] * row.confidence / total
            age = now - row.written_in_pass
            retrieved.append(RetrievedRow(name, key, index, _ALPHA[rank], row.confidence, weight, age))
            for token, probability in zip(row.token_ids, row.probabilities, strict=True):
                mass[token] = mass.get(token, 0.0) + weight * probability
        kept = sorted(mass.items(), key=lambda item: -item[1])[:8]
        norm = sum(value for _, value in kept)
        return tuple(retrieved), [(token, value / norm) for token, value in kept]


def _suffix(history: list[int]) -> SuffixMatch | None:
    for length in range(min(12, len(history) - 1), 1, -1):
        for end in range(len(history) - 1, length - 1, -1):
            if history[end - length : end] == history[-length:] and IMAGE not in history[end - length : end]:
                return SuffixMatch(length, end, tuple(history[end : end + 4]))
    return None


def _draft(
    memory: _Memory, history: list[int], max_nodes: int, now: int
) -> tuple[list[dict], tuple[MissedPath, ...]]:
    """The tree in packed order, each node a dict with its path of ranks."""
    context = tuple(history)
    root = {"path": (), "ids": (), "token": history[-1], "q": 1.0, "score": 1.0, "pop": 0, "origin": "root"}
    nodes, open_paths = [], [root]
    while open_paths and len(nodes) <= max_nodes:
        best = min(open_paths, key=lambda item: (-item["score"], item["path"], item["token"]))
        open_paths.remove(best)
        best["pop"] = len(nodes)
        nodes.append(best)
        depth = len(best["path"])
        best["retrieved"], kept = memory.look_up(context + best["ids"], now)
        best["kept"] = kept
        for rank, (token, q) in enumerate(kept if depth < 10 else []):
            if token != IMAGE:
                eta = _ETA[min(depth, len(_ETA) - 1)]
                path, ids = best["path"] + (rank,), best["ids"] + (token,)
                score = best["score"] * eta * q
                open_paths.append(
                    {"path": path, "ids": ids, "token": token, "q": q, "score": score, "origin": "fusion"}
                )
    missed = sorted(open_paths, key=lambda item: -item["score"])[:10]
    match = _suffix(history)
    if match and max_nodes:
        here, budget = root, 4
        for token in match.continuation_ids:
            children = [n for n in nodes if n["ids"] == here["ids"] + (token,)]
            if children:
                here = children[0]
                continue
            rank = sum(1 for n in nodes if n["path"][:-1] == here["path"] and n["path"])
            new = {
                "path": here["path"] + (rank + 90,),
                "ids": here["ids"] + (token,),
                "token": token,
                "q": None,
            }
            new |= {"score": None, "pop": len(nodes), "origin": "suffix", "retrieved": (), "kept": []}
            nodes.append(new)
            here, budget = new, budget - 1
    nodes.sort(key=lambda item: item["path"])
    return nodes, tuple(MissedPath(item["ids"], item["q"], item["score"]) for item in missed)


def make_run(
    seed: int, max_nodes: int, num_tokens: int, prompt: list[int], name: str, base_ms: float = 11.0
) -> Run:
    """One run on the made-up language: `max_nodes` 0 is plain decoding."""
    clock = random.Random(f"clock/{seed}/{name}")
    vocab_size = len(vocabulary())
    language, memory, history = Language(seed, vocab_size), _Memory(), list(prompt)
    prompt_entries = []
    for position, token in enumerate(prompt):
        if token != IMAGE and max_nodes:
            memory.rows.append(_row(language.scores(tuple(prompt[: position + 1])), 1, 0))
            prompt_entries.append(("U", (token,), position, len(memory.rows) - 1))
    first_scores = language.scores(tuple(prompt))
    first = _ranked(first_scores)[0]
    writes = memory.write(prompt_entries)
    top_two = tuple(sorted(first_scores)[-1:-3:-1])
    prefill = Prefill(
        len(prompt), prompt.count(IMAGE), first, top_two, 0.041 + clock.random() / 500, writes, memory.sizes()
    )
    history.append(first)
    output, iterations = [first], []
    while len(output) < num_tokens:
        index = len(iterations) + 1
        prefix_length, root_id = len(history) - 1, history[-1]
        drafted, missed = _draft(memory, history, max_nodes, index)
        places = {item["path"]: place for place, item in enumerate(drafted)}
        nodes, entries, parents = [], [], []
        for place, item in enumerate(drafted):
            context = tuple(history) + item["ids"]
            scores = language.scores(context)
            order = _ranked(scores)
            parent = places[item["path"][:-1]] if item["path"] else -1
            parents.append(parent)
            rank = sum(1 for earlier in parents[:-1] if earlier == parent)
            nodes.append(
                Node(item["token"], parent, len(item["path"]), rank, item["pop"], item["origin"], item["q"],
                     item["score"], order[0], (scores[order[0]], scores[order[1]]), item["retrieved"],
                     tuple(token for token, _ in item["kept"]), tuple(q for _, q in item["kept"]))
            )  # fmt: skip
            if max_nodes:
                memory.rows.append(_row(scores, 1, index))
                entries += [
                    (name_, context[-_LENGTHS[name_] :], place, len(memory.rows) - 1) for name_ in "GCU"
                ]
        accepted, here = [], 0
        while True:
            children = [
                i
                for i, node in enumerate(nodes)
                if node.parent == here and node.token_id == nodes[here].greedy_id
            ]
            if not children:
                break
            here = children[0]
            accepted.append(here)
        committed = [nodes[i].token_id for i in accepted] + [nodes[here].greedy_id]
        room = num_tokens - len(output)
        selected = committed[-1] if len(committed) <= room else None
        committed, accepted = committed[:room], accepted[: min(room, len(accepted))]
        stop = "length" if len(output) + len(committed) >= num_tokens else None
        detail = PassDetail(
            tuple(nodes),
            missed,
            _suffix(history) if max_nodes else None,
            memory.write(entries),
            memory.sizes(),
        )
        verify = (base_ms + 0.13 * len(nodes) + clock.random()) / 1000
        seconds = StageSeconds(0.0006 * bool(max_nodes), verify, 0.0003, 0.0005 * bool(max_nodes))
        iterations.append(
            Iteration(index, prefix_length, root_id, len(nodes) - 1, tuple(accepted), selected, tuple(committed), stop,
                      seconds, detail)
        )  # fmt: skip
        history += committed
        output += committed
    decode = sum(iteration.seconds.total for iteration in iterations)
    finished = Finished(tuple(output), len(iterations), "length", prefill.seconds, decode)
    settings = (("max_nodes", str(max_nodes)), ("fusion", "recap"))
    environment = Environment("cpu", "float32", "2.14.1", "5.24.0", 1)
    method = "recap" if max_nodes else "ar"
    return Run(name, method, settings, environment, tuple(memory.rows), prefill, tuple(iterations), finished)


def make_trace(seed: int = 0, max_nodes: int = 63, num_tokens: int = 90) -> Trace:
    """A request with plain decoding and RECAP on it."""
    chooser = random.Random(seed)
    tokens = vocabulary()
    words = [token.id for token in tokens if not token.is_special]
    prompt = [IMAGE] * 9 + [chooser.choice(words) for _ in range(14)]
    runs = (
        make_run(seed, 0, num_tokens, prompt, "ar"),
        make_run(seed, max_nodes, num_tokens, prompt, f"recap@{max_nodes}"),
    )
    image = ImageInfo(_PIXEL, (640, 480), (168, 168), ("made smaller",))
    request = RequestInfo("What is in the picture?", tuple(prompt), IMAGE, image, num_tokens)
    return Trace(1, "2026-01-01T00:00:00Z", "Shapes", "made-up language", request, tuple(tokens), runs)
