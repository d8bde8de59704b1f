"""A map from a key to one prediction row, in flat arrays that compiled code can read and write.

Rows live in a store that grows by doubling; an index finds a key's row: a slot a token id for U, an open-addressing
table over packed 64-bit keys for C and G.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from recap.config import ROW_WIDTH
from recap.jit import jit

#: Bits of a token id in a packed key: three of them fit 63 bits.
TOKEN_BITS = 21
#: Ids, and so the width of a vocabulary, stay below it.
MAX_VOCAB_SIZE = 1 << TOKEN_BITS
#: Marks a free place of an open-addressing table; no packed key is negative.
FREE = np.int64(-1)
_INITIAL_ROWS = 1024


class MapArrays(NamedTuple):
    """One prediction map as arrays, the form compiled functions take.

    Attributes:
        order: int64 [1], tokens a key holds: 1 (U), 2 (C) or 3 (G).
        keys: int64 [capacity], packed keys, -1 where free; capacity is a power of two (empty for U).
        slots: int32 [capacity] (or [vocab_size] for U), the key's row, -1 where there is none.
        num_rows: int64 [1], rows in use.
        token_ids, probabilities: int32 and float32 [row_capacity, K].
        row_confidences: float32 [row_capacity].
        requests, passes: int32 [row_capacity], the request of the stream, and the pass in it, that wrote the row.
        batches: int32 [row_capacity], that pass counted over the whole stream.
    """

    order: np.ndarray
    keys: np.ndarray
    slots: np.ndarray
    num_rows: np.ndarray
    token_ids: np.ndarray
    probabilities: np.ndarray
    row_confidences: np.ndarray
    requests: np.ndarray
    passes: np.ndarray
    batches: np.ndarray


_ROW_FIELDS = ("token_ids", "probabilities", "row_confidences", "requests", "passes", "batches")


def empty_map(order: int, vocab_size: int) -> MapArrays:
    """An empty map for keys of `order` tokens over `vocab_size` ids."""
    row_capacity = min(_INITIAL_ROWS, vocab_size) if order == 1 else _INITIAL_ROWS
    index_size = vocab_size if order == 1 else 2 * row_capacity
    return MapArrays(
        np.array([order]),
        np.full(0 if order == 1 else index_size, FREE),
        np.full(index_size, -1, np.int32),
        np.zeros(1, np.int64),
        np.zeros((row_capacity, ROW_WIDTH), np.int32),
        np.zeros((row_capacity, ROW_WIDTH), np.float32),
        np.zeros(row_capacity, np.float32),
        *(np.zeros(row_capacity, np.int32) for _ in range(3)),
    )


def reserve(arrays: MapArrays, num_new: int) -> MapArrays:
    """The same map with room for `num_new` more rows; unchanged arrays are shared, none is copied without need."""
    row_capacity = len(arrays.batches)
    needed = int(arrays.num_rows[0]) + num_new
    is_unigram = arrays.order[0] == 1
    if is_unigram:
        needed = min(needed, len(arrays.slots))
    if needed <= row_capacity:
        return arrays
    while row_capacity < needed:
        row_capacity *= 2
    if is_unigram:
        row_capacity = min(row_capacity, len(arrays.slots))
    grown = {}
    for name in _ROW_FIELDS:
        old = getattr(arrays, name)
        new = np.zeros((row_capacity, *old.shape[1:]), old.dtype)
        new[: len(old)] = old
        grown[name] = new
    if not is_unigram:
        grown["keys"] = np.full(2 * row_capacity, FREE)
        grown["slots"] = np.full(2 * row_capacity, -1, np.int32)
        _rehash(arrays.keys, arrays.slots, grown["keys"], grown["slots"])
    return arrays._replace(**grown)


def clear_map(arrays: MapArrays) -> None:
    """Forget every row, in place: a request that starts needs no new arrays."""
    _clear(arrays.keys, arrays.slots, arrays.num_rows)


def copy_map(arrays: MapArrays) -> MapArrays:
    """An independent copy."""
    return MapArrays(*(array.copy() for array in arrays))


@jit
def _clear(keys, slots, num_rows):
    keys[:] = FREE
    slots[:] = -1
    num_rows[0] = 0


@jit
def pack_key(order, u, v, x):
    """One integer for the last `order` tokens (u, v, x), or -1 where the history is shorter (token -1)."""
    if order == 1:
        return np.int64(x)
    if v < 0 or (order == 3 and u < 0):
        return np.int64(-1)
    key = (np.int64(v) << TOKEN_BITS) | np.int64(x)
    return key if order == 2 else (np.int64(u) << (2 * TOKEN_BITS)) | key


@jit
def find_place(keys, key):
    """Where `key` stands in an open-addressing table, or the free place where it would go."""
    mask = len(keys) - 1
    # Multiplicative hashing of two halves; the products stay below 2^63, so plain Python and compiled code agree. The
    # middle bits are the well-mixed ones.
    mixed = (key & 0x7FFFFFFF) * 0x5851F42D ^ (key >> 31) * 0x2545F491
    place = (mixed >> 24) & mask
    while keys[place] != key and keys[place] != FREE:
        place = (place + 1) & mask
    return place


@jit
def find_row(arrays, u, v, x):
    """The row stored under the last tokens (u, v, x) of a history, or -1."""
    order = arrays.order[0]
    key = pack_key(order, u, v, x)
    if key < 0:
        return np.int64(-1)
    if order == 1:
        # Rows may name ids that have no slot, where a stream meets a target of another width.
        return np.int64(arrays.slots[key]) if key < len(arrays.slots) else np.int64(-1)
    return np.int64(arrays.slots[find_place(arrays.keys, key)])


@jit
def write_row(arrays, u, v, x, rows, index, request, pass_index, batch):
    """Write row `index` of `rows` under (u, v, x). False where there is no such key or this batch has written it.

    Room for the row must have been reserved.
    """
    order = arrays.order[0]
    key = pack_key(order, u, v, x)
    if key < 0:
        return False
    place = key if order == 1 else find_place(arrays.keys, key)
    row = arrays.slots[place]
    if row < 0:
        row = arrays.num_rows[0]
        arrays.num_rows[0] += 1
        arrays.slots[place] = row
        if order != 1:
            arrays.keys[place] = key
    elif arrays.batches[row] == batch:
        return False
    for k in range(ROW_WIDTH):
        arrays.token_ids[row, k] = rows.token_ids[index, k]
        arrays.probabilities[row, k] = rows.probabilities[index, k]
    arrays.row_confidences[row] = rows.confidences[index]
    arrays.requests[row] = request
    arrays.passes[row] = pass_index
    arrays.batches[row] = batch
    return True


@jit
def _rehash(old_keys, old_slots, keys, slots):
    for place in range(len(old_keys)):
        if old_keys[place] != FREE:
            new_place = find_place(keys, old_keys[place])
            keys[new_place] = old_keys[place]
            slots[new_place] = old_slots[place]
