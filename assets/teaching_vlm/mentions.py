"""Phrases of the text that mean one thing of the picture: where they end, and what the decoder should know there.

'The coat of the girl' is one garment only; a decoder that knows its color at the end of the phrase has found it. So
looking up by name is learned wherever a name is read or said, not only in the one word of an answer that depends on it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache

import numpy as np
from family import IGNORED
from labels import CLASSES, REGION_NAMES


class MentionFinder:
    """Finds phrases among token ids; `encode` turns a text into ids."""

    def __init__(self, encode: Callable[[str], list[int]]):
        self._encode = cache(lambda text: tuple(encode(text)))
        self._digits = {encode(digit)[0] for digit in "0123456789"}

    def labels(self, mentions: Mapping[str, Mapping[str, str]], ids: Sequence[int]) -> dict[str, np.ndarray]:
        """For each name of a fact its class index at the last token of a phrase, IGNORED elsewhere: [len(ids)] each.

        Of two phrases that end together the longer one counts; a number is no part of a longer number.
        """
        found = {name: np.full(len(ids), IGNORED, dtype=np.int64) for name in REGION_NAMES}
        phrases = [(self._encode(f" {phrase}"), facts) for phrase, facts in mentions.items()]
        for tokens, facts in sorted(phrases, key=lambda phrase: len(phrase[0])):
            for end in range(len(tokens), len(ids) + 1):
                if ids[end - 1] != tokens[-1] or tuple(ids[end - len(tokens) : end]) != tokens:
                    continue
                if tokens[-1] in self._digits and end < len(ids) and ids[end] in self._digits:
                    continue
                for name, word in facts.items():
                    found[name][end - 1] = CLASSES[name].index(word)
        return found
