"""What the families of pictures say, for the tests that look through many of their conversations."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from typing import Any


def conversations(family: Any, scene: Any, tries: int) -> Iterator[list[Any]]:
    """The turns of so many conversations of every topic about one scene."""
    for topic in family.conversations:
        for attempt in range(tries):
            yield family.converse(random.Random(f"{topic}-{attempt}"), scene, topic)


def words_of(text: str) -> list[str]:
    """The words of a text in small letters, without its numbers and signs."""
    return re.findall(r"[a-z]+", text.lower())
