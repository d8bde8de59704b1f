"""Questions to measure on: MMSpec's `mmspec.jsonl` beside `images/`, and Spec-Bench's text-only lines.

One line is one conversation: a picture or none, and its turns. A turn is one generation unit. Lines are read as they
are published; a line that cannot be used is left out with its number and the reason.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path
from typing import Literal

from recap.errors import InputError
from recap.questions import check_question, is_broken

Order = Literal["interleaved", "blocked", "alternating"]

#: The file looked for when a folder is named: MMSpec's, then Spec-Bench's.
FILE_NAMES = ("mmspec.jsonl", "question.jsonl")


@dataclass(frozen=True, slots=True)
class Conversation:
    """One line: the questions asked in turn about one picture (`image` is None for text alone)."""

    id: str
    topic: str
    image: Path | None
    turns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SkippedLine:
    """A line that was left out: its number, from 1, and why."""

    line: int
    reason: str


@dataclass(frozen=True, slots=True)
class Workload:
    """The conversations of a file, in its order, and the lines that were left out."""

    path: Path
    conversations: tuple[Conversation, ...]
    skipped: tuple[SkippedLine, ...]

    @property
    def num_units(self) -> int:
        """Turns in all."""
        return sum(len(conversation.turns) for conversation in self.conversations)

    def with_first_turns(self) -> Workload:
        """The same conversations, each ending after its first turn."""
        return replace(
            self, conversations=tuple(replace(talk, turns=talk.turns[:1]) for talk in self.conversations)
        )


def read_workload(source: str | Path, *, strict: bool = False) -> Workload:
    """Read a workload: a folder with one of `FILE_NAMES`, or a .jsonl file with `images/` beside it.

    Raises:
        InputError: no such file, no usable line, or (`strict`) the first line that cannot be used.
    """
    path = _find_file(Path(source))
    conversations: list[Conversation] = []
    skipped: list[SkippedLine] = []
    seen_ids: set[str] = set()
    for number, line in _read_lines(path):
        try:
            conversation = _parse_line(line, path.parent)
            if conversation.id in seen_ids:
                raise InputError(f"the id {conversation.id!r} was used by an earlier line")
        except InputError as error:
            if strict:
                raise InputError(f"{path.name}, line {number}: {error}.") from error
            skipped.append(SkippedLine(number, str(error)))
            continue
        seen_ids.add(conversation.id)
        conversations.append(conversation)
    if not conversations:
        first = f"; line {skipped[0].line}: {skipped[0].reason}" if skipped else ""
        raise InputError(f"{path} holds no usable line{first}.")
    return Workload(path, tuple(conversations), tuple(skipped))


def select(workload: Workload, *, topics: Sequence[str] = (), limit: int | None = None) -> Workload:
    """Keep the topics named (all of them if none is) and at most `limit` units, spread evenly over the topics.

    Units are taken topic by topic in turn, in file order; a topic that runs out leaves its share to the others. A
    conversation that is cut keeps its first turns.

    Raises:
        InputError: a topic that the workload does not have, or a limit below 1.
    """
    if limit is not None and limit < 1:
        raise InputError(f"The limit must be at least 1; got {limit}.")
    by_topic = _group_by_topic(workload.conversations)
    if unknown := [topic for topic in topics if topic not in by_topic]:
        raise InputError(f"The workload has no topic {unknown[0]!r}; it has {', '.join(by_topic)}.")
    units = [
        [conversation.id for conversation in conversations for _ in conversation.turns]
        for topic, conversations in by_topic.items()
        if not topics or topic in topics
    ]
    taken = [unit for round_ in zip_longest(*units) for unit in round_ if unit is not None][:limit]
    num_turns = Counter(taken)
    kept = tuple(
        replace(conversation, turns=conversation.turns[: num_turns[conversation.id]])
        for conversation in workload.conversations
        if conversation.id in num_turns
    )
    return replace(workload, conversations=kept)


def arrange(conversations: Sequence[Conversation], order: Order) -> tuple[Conversation, ...]:
    """Put the conversations in the order of the stream; what one method's U meets one after the other.

    `interleaved` keeps the file's order, `blocked` asks one topic after the other, `alternating` one of each topic in
    turn.
    """
    if order == "interleaved":
        return tuple(conversations)
    groups = _group_by_topic(conversations).values()
    if order == "blocked":
        return tuple(conversation for group in groups for conversation in group)
    return tuple(item for round_ in zip_longest(*groups) for item in round_ if item is not None)


def _group_by_topic(conversations: Sequence[Conversation]) -> dict[str, list[Conversation]]:
    groups: dict[str, list[Conversation]] = {}
    for conversation in conversations:
        groups.setdefault(conversation.topic, []).append(conversation)
    return groups


def _find_file(source: Path) -> Path:
    candidates = [source / name for name in FILE_NAMES] if source.is_dir() else [source]
    for path in candidates:
        if path.is_file():
            return path
    wanted = f"a folder with {' or '.join(FILE_NAMES)}" if source.is_dir() else "a folder or a .jsonl file"
    raise InputError(f"No workload at {source}: {wanted} is needed.")


def _read_lines(path: Path) -> Iterator[tuple[int, str]]:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not a text file in UTF-8 (byte {error.start}).") from error
    # Not splitlines(): a question may hold any other separator of Unicode's.
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            yield number, line


def _parse_line(line: str, folder: Path) -> Conversation:
    """One line as a conversation; raises InputError with the reason, as the end of a sentence."""
    try:
        fields = json.loads(line)
    except json.JSONDecodeError as error:
        raise InputError(f"not JSON ({error.msg}, column {error.colno})") from error
    # A number of thousands of digits, or brackets nested as deep.
    except (ValueError, RecursionError) as error:
        raise InputError(f"JSON that cannot be read ({error})") from error
    if not isinstance(fields, dict):
        raise InputError(f"an object is needed, got {type(fields).__name__}")
    id_ = fields.get("id", fields.get("question_id"))
    if isinstance(id_, bool) or not isinstance(id_, int | str) or id_ == "" or is_broken(str(id_)):
        raise InputError("an `id` (MMSpec) or `question_id` (Spec-Bench) is needed")
    turns = fields.get("turns", fields.get("prompt"))
    turns = [turns] if isinstance(turns, str) else turns
    if not isinstance(turns, list) or not turns or not all(_is_question(turn) for turn in turns):
        raise InputError("`turns` must be a list of at least one question, none of them blank or broken")
    topic = fields.get("topic") or fields.get("category") or "all"
    if not isinstance(topic, str):
        raise InputError(f"`topic` must be text, got {type(topic).__name__}")
    if is_broken(topic):  # reports are UTF-8
        raise InputError("`topic` holds half a character")
    return Conversation(str(id_), topic, _find_image(fields.get("image"), folder), tuple(turns))


def _is_question(turn: object) -> bool:
    try:
        check_question(turn)
    except InputError:
        return False
    return True


def _find_image(name: object, folder: Path) -> Path | None:
    if name is None:
        return None
    if not isinstance(name, str) or not name:
        raise InputError("`image` must be a file's name")
    images = (folder / "images").resolve()
    try:
        path = (images / name).resolve()
        is_file = path.is_file()
    # No name of a file: it holds a null byte, or is too long (some files carry the picture itself here).
    except (OSError, ValueError) as error:
        raise InputError("`image` must be a file's name, not the picture itself") from error
    if not path.is_relative_to(images):
        raise InputError(f"the picture {name!r} lies outside images/")
    if not is_file:
        raise InputError(f"the picture images/{name} is missing")
    return path
