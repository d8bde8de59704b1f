"""The trie of windows: its counts, its order, its halving; and the tree drafted from it."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
from oracles import scaled
from scripted_runs import paths_of

from recap.drafters.frequency_trie import FrequencyTrie
from recap.drafters.lookahead import LookaheadDrafter
from recap.verification import Outcome

Path = tuple[int, ...]


def windows(text: list[int], blocked_ids: set[int], longest: int = 12) -> Counter[Path]:
    """Every substring of at most `longest` tokens, without a blocked one, in the order in which they end."""
    counts: Counter[Path] = Counter()
    for end in range(1, len(text) + 1):
        for start in range(max(0, end - longest), end):
            if not blocked_ids & set(text[start:end]):
                counts[tuple(text[start:end])] += 1
    return counts


def random_text(rng: random.Random) -> list[int]:
    vocab_size = rng.choice((2, 4, 10))
    return [rng.randrange(vocab_size) for _ in range(rng.choice((0, 1, 5, 20, 60)))]


def assert_counts(trie: FrequencyTrie, prompt: Counter[Path], output: Counter[Path]) -> None:
    assert trie.num_nodes == len(set(prompt) | set(output))
    for path in set(prompt) | set(output):
        node = trie.find(np.array(path, np.int64))
        assert trie.arrays.prompt_counts[node] == prompt[path], path
        assert trie.arrays.output_counts[node] == output[path], path


def test_counts_equal_a_count_of_all_substrings() -> None:
    rng = random.Random(101)
    for _ in range(scaled(300, 30)):
        blocked_ids = {1} if rng.random() < 0.4 else set()
        trie = FrequencyTrie(12, frozenset(blocked_ids))
        prompt: Counter[Path] = Counter()
        output: Counter[Path] = Counter()
        for _ in range(rng.choice((1, 3))):
            text, is_prompt = random_text(rng), rng.random() < 0.5
            cut = rng.randrange(len(text) + 1)
            trie.begin_text()
            trie.extend(np.array(text[:cut], np.int64), is_prompt)
            trie.extend(np.array(text[cut:], np.int64), is_prompt)
            (prompt if is_prompt else output).update(windows(text, blocked_ids))
        assert_counts(trie, prompt, output)
        absent = (*rng.choices(range(10), k=3), 77)
        assert trie.find(np.array(absent, np.int64)) == -1


def test_substrings_are_found_as_often_as_they_occur() -> None:
    rng = random.Random(106)
    for _ in range(scaled(100_000, 300)):
        vocab_size = rng.choice((2, 4, 10))
        text = [rng.randrange(vocab_size) for _ in range(rng.choice((1, 5, 12, 30)))]
        trie = FrequencyTrie(12, frozenset())
        trie.extend(np.array(text, np.int64), is_prompt=True)
        for _ in range(3):
            start, length = rng.randrange(len(text)), rng.choice((1, 2, 3, 12))
            pattern = text[start : start + length]
            if rng.random() < 0.3:
                pattern[-1] = rng.randrange(vocab_size)
            length = len(pattern)
            count = sum(text[i : i + length] == pattern for i in range(len(text) - length + 1))
            node = trie.find(np.array(pattern, np.int64))
            assert (trie.arrays.prompt_counts[node] if node >= 0 else 0) == count


def best_by_hand(weights: dict[Path, float], key: Path, max_nodes: int) -> list[Path]:
    """Paths below `key` as they are popped: the heaviest whose parent was popped, ties in the order of insertion."""
    made = {path: order for order, path in enumerate(weights)}
    popped: list[Path] = []
    while len(popped) < max_nodes:
        still_open = [
            path
            for path in weights
            if path[: len(key)] == key
            and path != key
            and (path[:-1] == key or path[:-1] in popped)
            and path not in popped
        ]
        if not still_open:
            break
        popped.append(min(still_open, key=lambda path: (-weights[path], made[path])))
    return [path[len(key) :] for path in popped]


def test_the_draft_is_the_most_frequent_continuations() -> None:
    rng = random.Random(102)
    sizes = []
    for _ in range(scaled(300, 30)):
        prompt, answer = random_text(rng), [*random_text(rng), 0]
        old = random_text(rng)
        drafter = LookaheadDrafter()
        drafter.trie.extend(np.array(old, np.int64), is_prompt=False)
        nothing = np.empty(0, np.int64)
        drafter.begin(np.array(prompt, np.int64), answer[0], nothing, None)
        outcome = Outcome(nothing, None, np.array(answer[1:], np.int64), None)
        history = np.array([*prompt, answer[0]], np.int64)
        drafter.observe(history, drafter.draft(history), None, outcome)
        history = np.array([*prompt, *answer], np.int64)
        counts = [windows(text, set()) for text in (old, prompt, answer)]
        weights = {
            path: counts[1][path] + 1e-4 * (counts[0][path] + counts[2][path])
            for path in dict.fromkeys([path for count in counts for path in count])
        }
        expected: list[Path] = []
        for length in (2, 1):
            expected = expected or best_by_hand(weights, tuple(history[-length:].tolist()), 64)
        tree = drafter.draft(history)
        assert tree.num_draft_nodes == len(expected)
        made = [path for _, path in sorted(zip(tree.pop_orders[1:].tolist(), paths_of(tree), strict=True))]
        assert made == expected
        sizes.append(len(expected))
    assert min(sizes) < 10 < max(sizes)


def test_the_prompt_weighs_more_than_many_answers() -> None:
    trie = FrequencyTrie(12, frozenset())
    for _ in range(50):
        trie.begin_text()
        trie.extend(np.array([5, 6]), is_prompt=False)
    trie.begin_text()
    trie.extend(np.array([5, 7]), is_prompt=True)
    assert trie.best_below(trie.find(np.array([5])), 64)[0].tolist() == [7, 6]


def test_prompt_counts_go_with_their_request_and_answers_stay() -> None:
    rng = random.Random(103)
    for _ in range(scaled(300, 30)):
        prompt, answer = random_text(rng), random_text(rng)
        trie = FrequencyTrie(12, frozenset())
        trie.extend(np.array(prompt, np.int64), is_prompt=True)
        trie.begin_text()
        trie.extend(np.array(answer, np.int64), is_prompt=False)
        trie.forget_prompt(10**6)
        assert_counts(trie, Counter(), windows(answer, set()))


def test_over_the_cap_counts_are_halved_until_what_is_left_fits() -> None:
    rng = random.Random(104)
    for _ in range(scaled(300, 30)):
        trie = FrequencyTrie(12, frozenset())
        output: Counter[Path] = Counter()
        for _ in range(8):
            text = random_text(rng)
            trie.begin_text()
            trie.extend(np.array(text, np.int64), is_prompt=False)
            output.update(windows(text, set()))
        cap = rng.choice((0, 1, 10, 100))
        while len(output) > cap:
            output = Counter({path: count // 2 for path, count in output.items() if count > 1})
        trie.forget_prompt(cap)
        assert_counts(trie, Counter(), output)


def test_the_trie_grows_beyond_its_first_room() -> None:
    rng = random.Random(105)
    text = [rng.randrange(200) for _ in range(1500)]
    trie = FrequencyTrie(12, frozenset())
    trie.extend(np.array(text, np.int64), is_prompt=True)
    assert_counts(trie, windows(text, set()), Counter())


def test_no_window_reaches_from_one_text_into_the_next() -> None:
    drafter = LookaheadDrafter()
    nothing = np.empty(0, np.int64)
    drafter.begin(np.array([1, 2], np.int64), 3, nothing, None)
    assert drafter.trie.find(np.array([2, 3])) == -1
    drafter.begin(np.array([4], np.int64), 5, nothing, None)
    assert drafter.trie.find(np.array([3])) > 0
    assert drafter.trie.find(np.array([1])) == -1
    assert drafter.trie.find(np.array([3, 4])) == -1
