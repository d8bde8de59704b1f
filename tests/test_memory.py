"""The three memories behave as three dicts: one row a key, newest batch, first occurrence within a batch."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest
from bridges import as_arrays, assert_same_contents, context_of, found_row
from oracles import (
    KEY_LENGTHS,
    SOURCES,
    DictMemories,
    Row,
    confidence_of,
    path_to,
    random_parents,
    random_row,
    scaled,
)

from recap.memory import Memories
from recap.prediction_map import MAX_VOCAB_SIZE
from recap.tree import chain_tree


def plain_row(*token_ids: int) -> Row:
    """A falling row over up to eight ids."""
    total = sum(0.5**k for k in range(len(token_ids)))
    probabilities = tuple(float(np.float32(0.5**k / total)) for k in range(len(token_ids)))
    return Row(token_ids, probabilities, confidence_of(probabilities))


def contexts_of(history: list[int], token_ids: list[int], parents: list[int]) -> np.ndarray:
    """The last three tokens at every node of a tree whose root ends `history`."""
    paths = [[token_ids[i] for i in path_to(node, parents)] for node in range(len(token_ids))]
    return np.array([context_of(history[:-1] + path) for path in paths], np.int64)


def write_both(
    memories: Memories,
    dicts: DictMemories,
    history: list[int],
    token_ids: list[int],
    parents: list[int],
    rows: list[Row],
) -> np.ndarray:
    dicts.write_pass(history, token_ids, parents, rows)
    return memories.write(contexts_of(history, token_ids, parents), as_arrays(rows))


VOCAB_SIZES = (5, 9, 60, 50_000, MAX_VOCAB_SIZE - 1)


def random_alphabet(rng: random.Random, vocab_size: int) -> list[int]:
    """A few ids of a vocabulary, its first and last among them."""
    return sorted({0, vocab_size - 1, *(rng.randrange(vocab_size) for _ in range(rng.choice((1, 3, 12))))})


def test_lookups_equal_three_dicts_after_any_passes() -> None:
    rng = random.Random(11)
    for _ in range(scaled(300, 5)):
        vocab_size = rng.choice(VOCAB_SIZES)
        alphabet = random_alphabet(rng, vocab_size)
        memories, dicts = Memories(vocab_size), DictMemories()
        memories.begin_request()
        for _ in range(rng.randrange(1, 12)):
            if rng.random() < 0.15:
                memories.begin_request()
                dicts.reset_request()
            history = [rng.choice(alphabet) for _ in range(rng.choice((1, 2, 3, 9)))]
            parents = random_parents(rng, rng.choice((1, 1, 2, 7, 25, 68)))
            token_ids = [history[-1], *(rng.choice(alphabet) for _ in parents[1:])]
            rows = [random_row(rng, alphabet, vocab_size) for _ in parents]
            write_both(memories, dicts, history, token_ids, parents, rows)
        assert_same_contents(memories, dicts)
        for u, v, x in itertools.islice(itertools.product([-1, *alphabet], repeat=3), 200):
            context = [token_id for token_id in (u, v, x) if token_id >= 0]
            if x < 0 or (u >= 0 > v):
                continue
            found = {source: row for source in SOURCES if (row := found_row(memories, source, context))}
            assert found == dict(dicts.lookup(context))


def test_first_occurrence_in_packed_order_is_kept_within_a_batch() -> None:
    memories, dicts = Memories(100), DictMemories()
    memories.begin_request()
    # the root 7 has children 8 and 9; both have the child 5, and 9 also has the child 7: U[5] and U[7] occur twice
    token_ids, parents = [7, 8, 5, 9, 5, 7], [-1, 0, 1, 0, 3, 3]
    rows = [plain_row(i) for i in range(10, 16)]
    written = write_both(memories, dicts, [1, 2, 7], token_ids, parents, rows)
    assert written.tolist() == [
        [True, True, True],
        [True, True, True],
        [True, True, True],
        [True, True, True],
        [True, True, False],
        [True, True, False],
    ]
    assert found_row(memories, "U", [5]) == plain_row(12)
    assert found_row(memories, "C", [9, 5]) == plain_row(14)
    assert found_row(memories, "G", [2, 7, 8]) == plain_row(11)
    assert found_row(memories, "U", [7]) == plain_row(10)
    assert_same_contents(memories, dicts)


def test_the_newest_batch_replaces_a_row() -> None:
    memories, dicts = Memories(100), DictMemories()
    memories.begin_request()
    for value in (20, 21, 22):
        write_both(memories, dicts, [1, 2, 3], [3, 4], [-1, 0], [plain_row(value), plain_row(value + 10)])
        for source in SOURCES:
            assert found_row(memories, source, [1, 2, 3]) == plain_row(value)
            assert found_row(memories, source, [2, 3, 4]) == plain_row(value + 10)
    assert_same_contents(memories, dicts)


def test_a_narrower_row_leaves_nothing_of_the_wider_one_before_it() -> None:
    memories = Memories(100)
    memories.begin_request()
    for row in (plain_row(*range(10, 18)), plain_row(30, 31)):
        memories.write(np.array([[1, 2, 3]]), as_arrays([row]))
    assert found_row(memories, "G", [1, 2, 3]) == plain_row(30, 31)


def test_a_history_shorter_than_a_key_neither_writes_nor_finds() -> None:
    memories, dicts = Memories(100), DictMemories()
    memories.begin_request()
    written = write_both(memories, dicts, [9], [9, 4], [-1, 0], [plain_row(1), plain_row(2)])
    assert written.tolist() == [[False, False, True], [False, True, True]]
    assert found_row(memories, "U", [9]) == plain_row(1)
    assert found_row(memories, "C", [9]) is None
    assert found_row(memories, "G", [9, 4]) is None
    assert_same_contents(memories, dicts)


def test_keys_of_other_orders_and_of_permuted_tokens_are_different_keys() -> None:
    memories = Memories(MAX_VOCAB_SIZE - 1)
    memories.begin_request()
    large = MAX_VOCAB_SIZE - 2
    keys = [*itertools.permutations((0, 1, large), 3), (large,) * 3, (0,) * 3]
    for number, key in enumerate(keys):
        memories.write(np.array([key]), as_arrays([plain_row(number)]))
    for number, key in enumerate(keys):
        assert found_row(memories, "G", key) == plain_row(number)
    assert found_row(memories, "G", (1, 1, large)) is None
    assert found_row(memories, "C", (1, 1)) is None


def test_prefill_seeds_the_unigram_map_alone_and_keeps_first_occurrences() -> None:
    rng = random.Random(12)
    for _ in range(scaled(200, 5)):
        memories, dicts = Memories(60), DictMemories()
        image_id = 59
        for _ in range(3):  # U of earlier requests is replaced, key by key
            memories.begin_request()
            dicts.reset_request()
            prompt = [rng.choice([*range(12), image_id]) for _ in range(rng.choice((1, 5, 40)))]
            rows = {i: random_row(rng, range(60), 60) for i, token in enumerate(prompt) if token != image_id}
            dicts.write_prompt(prompt, rows, {image_id})
            eligible = np.array([prompt[i] for i in rows], np.int64)
            written = memories.seed_unigram(eligible, as_arrays(list(rows.values())))
            assert written.tolist() == [token not in eligible[:i] for i, token in enumerate(eligible)]
            assert_same_contents(memories, dicts)
        assert memories.sizes.trigram == memories.sizes.bigram == 0


def test_a_pass_after_prefill_replaces_the_seeded_row() -> None:
    memories = Memories(20)
    memories.begin_request()
    memories.seed_unigram(np.array([3]), as_arrays([plain_row(1)]))
    memories.write(np.array([[-1, -1, 3]]), as_arrays([plain_row(2)]))
    assert found_row(memories, "U", [3]) == plain_row(2)


def test_local_maps_live_for_one_request_and_the_unigram_map_lives_on() -> None:
    memories = Memories(100)
    memories.begin_request()
    memories.write(np.array([[1, 2, 3]]), as_arrays([plain_row(4)]))
    memories.begin_request()
    assert [found_row(memories, s, [1, 2, 3]) for s in SOURCES] == [None, None, plain_row(4)]
    assert (memories.sizes.trigram, memories.sizes.bigram, memories.sizes.unigram) == (0, 0, 1)


def test_reset_forgets_everything() -> None:
    memories = Memories(100)
    memories.begin_request()
    memories.write(np.array([[1, 2, 3]]), as_arrays([plain_row(4)]))
    memories.reset()
    assert [found_row(memories, s, [1, 2, 3]) for s in SOURCES] == [None] * 3
    assert (memories.request, memories.batch) == (0, 0)
    assert memories.sizes.unigram == 0


def test_a_row_tells_the_request_and_the_pass_that_wrote_it() -> None:
    memories = Memories(100)
    memories.begin_request()
    memories.seed_unigram(np.array([5, 3]), as_arrays([plain_row(1), plain_row(2)]))
    memories.write(np.array([[1, 2, 3]]), as_arrays([plain_row(4)]))
    memories.begin_request()
    memories.write(np.array([[1, 2, 6]]), as_arrays([plain_row(4)]))
    stamps = {}
    for token_id in (5, 3, 6):
        row = memories.lookup("U", (-1, -1, token_id))
        assert row is not None
        stamps[token_id] = (row.request, row.pass_index, row.batch)
    assert stamps == {5: (1, 0, 1), 3: (1, 1, 2), 6: (2, 1, 3)}


def test_restore_brings_back_the_unigram_map_of_the_snapshot_however_often() -> None:
    rng = random.Random(13)
    for _ in range(scaled(100, 4)):
        vocab_size = rng.choice((9, 3_000))
        memories, dicts = Memories(vocab_size), DictMemories()
        alphabet = [rng.randrange(vocab_size) for _ in range(8)]

        def some_passes(count: int, size: int = vocab_size, among: list[int] = alphabet) -> None:
            for _ in range(count):
                parents = random_parents(rng, 30)
                tokens = [rng.choice(among) for _ in parents]
                rows = [random_row(rng, among, size) for _ in parents]
                write_both(memories, dicts, [0, 1, tokens[0]], tokens, parents, rows)  # noqa: B023

        memories.begin_request()
        some_passes(rng.randrange(3))
        snapshot, before = memories.snapshot(), dicts.copy()
        counters = memories.request, memories.batch
        for _ in range(2):
            memories.begin_request()
            some_passes(3)
            # enough new keys to make the store grow: the snapshot must not share it
            ids = np.arange(vocab_size)
            memories.seed_unigram(ids, as_arrays([plain_row(0)] * len(ids)))
            memories.restore(snapshot)
            assert (memories.request, memories.batch) == counters
            dicts = before.copy()
            dicts.reset_request()
            assert_same_contents(memories, dicts)


def test_what_was_learned_of_acceptance_is_restored_and_reset_with_the_stream() -> None:
    memories = Memories(20)

    def learn() -> None:
        sources = np.ones(3, np.int64)
        memories.survival.observe(chain_tree(1, [2, 3]), sources, 2, 0, np.array([1, 2]))
        memories.survival.pace = memories.survival.pace.after(3, 0.1)

    def told() -> tuple[list[float], tuple[float, float]]:
        return memories.survival.of_searched(np.ones(2, np.int64)).tolist(), memories.survival.pace

    new = told()
    learn()
    before = told()
    assert before[0] != new[0]
    snapshot = memories.snapshot()
    for _ in range(2):
        learn()
        memories.restore(snapshot)
        assert told() == before
    memories.reset()
    assert told() == new


def test_a_batch_after_restore_is_written_although_its_number_was_used_before() -> None:
    memories = Memories(10)
    memories.begin_request()
    snapshot = memories.snapshot()
    for value in (1, 2):
        memories.write(np.array([[1, 2, 3]]), as_arrays([plain_row(value)]))
        assert found_row(memories, "G", [1, 2, 3]) == plain_row(value)
        memories.restore(snapshot)


def test_the_unigram_map_holds_at_most_a_row_a_token() -> None:
    for vocab_size in (1, 5, 1_024, 1_500, 5_000):
        memories = Memories(vocab_size)
        memories.begin_request()
        for batch in range(3):
            ids = np.concatenate([np.arange(vocab_size)] * 2)
            memories.seed_unigram(ids, as_arrays([plain_row(batch)] * len(ids)))
        assert memories.sizes.unigram == vocab_size
        assert found_row(memories, "U", [vocab_size - 1]) == plain_row(2)
        assert len(memories.unigram.batches) <= max(vocab_size, 1)


def test_rows_survive_growth_through_several_doublings() -> None:
    rng = random.Random(14)
    vocab_size = 150_000
    memories, dicts = Memories(vocab_size), DictMemories()
    memories.begin_request()
    row_of_batch = [plain_row(i) for i in range(10)]
    bytes_before = memories.num_bytes
    num_batches = scaled(200, 40)
    for batch in range(num_batches):
        tokens = [rng.randrange(vocab_size) for _ in range(256)]
        parents = [-1, *[0] * 255]
        history = [rng.randrange(vocab_size), rng.randrange(vocab_size), tokens[0]]
        rows = [row_of_batch[(batch + i) % 10] for i in range(256)]
        write_both(memories, dicts, history, tokens, parents, rows)
    assert memories.sizes.trigram > 8 * 1_024  # three doublings of the first capacity and more
    assert memories.num_bytes > bytes_before
    assert_same_contents(memories, dicts)


def test_one_batch_larger_than_the_whole_store_fits() -> None:
    memories = Memories(100_000)
    memories.begin_request()
    ids = np.arange(0, 100_000, 7)
    contexts = np.stack([np.zeros_like(ids), ids, ids], axis=1)
    memories.write(contexts, as_arrays([plain_row(int(i)) for i in ids]))
    for token_id in ids[::97].tolist():
        for source in SOURCES:
            assert found_row(memories, source, [0, token_id, token_id]) == plain_row(token_id)
    assert memories.sizes.trigram == memories.sizes.bigram == memories.sizes.unigram == len(ids)


def test_two_streams_share_nothing() -> None:
    one, other = Memories(50), Memories(50)
    for memories in (one, other):
        memories.begin_request()
    one.write(np.array([[1, 2, 3]]), as_arrays([plain_row(4)]))
    assert [found_row(other, s, [1, 2, 3]) for s in SOURCES] == [None] * 3


@pytest.mark.parametrize("vocab_size", [0, -5, MAX_VOCAB_SIZE])
def test_a_vocabulary_that_keys_cannot_hold_is_refused(vocab_size: int) -> None:
    with pytest.raises(ValueError, match=f"vocab_size must be from 1 to .*; got vocab_size={vocab_size}"):
        Memories(vocab_size)


@pytest.mark.parametrize("token_id", [-1, 50, 10**9])
def test_a_token_outside_the_vocabulary_is_refused_and_changes_nothing(token_id: int) -> None:
    memories = Memories(50)
    memories.begin_request()
    with pytest.raises(ValueError, match="token ids must be from 0 to 49"):
        memories.write(np.array([[1, 2, 3], [2, 3, token_id]]), as_arrays([plain_row(4)] * 2))
    with pytest.raises(ValueError, match="token ids must be from 0 to 49"):
        memories.seed_unigram(np.array([3, token_id]), as_arrays([plain_row(4)] * 2))
    assert memories.batch == 0
    assert memories.sizes.unigram == 0


def test_keys_of_the_three_maps_have_three_two_and_one_tokens() -> None:
    memories = Memories(50)
    assert {source: int(memories.map(source).order[0]) for source in SOURCES} == KEY_LENGTHS


def test_an_id_outside_the_vocabulary_has_no_row_in_any_map() -> None:
    memories = Memories(10)
    memories.begin_request()
    memories.write(np.array([[1, 2, 9]]), as_arrays([plain_row(3)]))
    for source in SOURCES:
        assert found_row(memories, source, [1, 2, 9]) == plain_row(3)
        for token in (10, 11, 785, 10**7):
            assert memories.lookup(source, (1, 2, token)) is None


def test_prompt_rows_that_are_not_finite_are_left_out() -> None:
    """As if their positions were not eligible: a later occurrence of the token counts as its first."""
    memories = Memories(10)
    memories.begin_request()
    rows = as_arrays([plain_row(1), plain_row(2), plain_row(3), plain_row(4)])
    rows.confidences[[0, 3]] = np.nan
    assert memories.seed_unigram(np.array([5, 5, 6, 7]), rows).tolist() == [False, True, True, False]
    assert found_row(memories, "U", [5]) == plain_row(2)
    assert memories.sizes.unigram == 2
