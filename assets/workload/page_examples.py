"""What the page's examples ask, and which pictures they may be about."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from charts import captions as chart_captions
from charts.scene import BARS, LINE
from figures import captions as figure_captions
from language import Turn
from scenes import FAMILIES
from shapes import captions as shape_captions
from signs import captions as sign_captions
from signs.scene import RECEIPT, SIGN
from workload_topics import Asker


@dataclass(frozen=True)
class Example:
    """A question for the page: `asker` asks `question` about those scenes of a family that are `fit` to be shown."""

    family: str
    is_fit: Callable[[Any], bool]
    asker: Asker
    question: str


def _is_varied(scene: Any) -> bool:
    values = [{getattr(thing, name) for thing in scene.things} for name in ("shape", "color", "size")]
    return len(scene.things) == 5 and [len(found) for found in values] == [5, 5, 2]


def _is_colorful(person: Any) -> bool:
    return len({garment.color for garment in person.garments}) >= 3


def _dresses_her(scene: Any) -> bool:
    """Whether 'her' goes on in two ways: 'a red hat covers her head', 'green shoes protect her feet'."""
    her = [
        person
        for person in scene.people
        if person.is_female and person.wears("hat") and person.wears("shoes")
    ]
    return len(scene.people) == 2 and bool(her) and all(map(_is_colorful, scene.people))


def _has_bars(chart: Any) -> bool:
    return chart.kind == BARS and chart.is_colorful and len(chart.labels) == 5


def _has_points(chart: Any) -> bool:
    return chart.kind == LINE and len(chart.labels) == 5


def _is_long_receipt(scene: Any) -> bool:
    return scene.kind == RECEIPT and len(scene.items) == 4


def _is_full_sign(scene: Any) -> bool:
    return scene.kind == SIGN and len(scene.lines) == 3


DESCRIPTION = Example(
    "shapes",
    _is_varied,
    partial(shape_captions.ask, form=shape_captions.plain),
    "Describe the picture.",
)
HEAD_DOWN = Example(
    "figures",
    _dresses_her,
    partial(figure_captions.ask, form=figure_captions.plain),
    "Describe what the picture shows.",
)
FEET_UP = Example(
    "figures",
    _dresses_her,
    partial(figure_captions.ask, form=figure_captions.feet_up),
    "Describe everyone from the feet up.",
)
COLOR_TABLE = Example(
    "charts",
    _has_bars,
    partial(chart_captions.ask, form=chart_captions.color_table),
    "Make a table with the colors.",
)
CHANGES = Example(
    "charts",
    _has_points,
    partial(chart_captions.ask, form=chart_captions.changes),
    "Describe how the values change.",
)
RECEIPT_DETAILS = Example(
    "signs",
    _is_long_receipt,
    partial(sign_captions.ask, form=sign_captions.detailed),
    "Describe this image in detail.",
)
STORY = Example(
    "signs",
    _is_full_sign,
    partial(sign_captions.ask, form=sign_captions.spoken),
    "Tell a story about the picture.",
)


def drawings(example: Example) -> Iterator[tuple[Any, Turn]]:
    """Scenes that an example may be about, with its question and their answer, without end."""
    attempt = 0
    while True:
        rng = random.Random(f"example-{example.family}-{example.question}-{attempt}")
        scene = FAMILIES[example.family].make_scene(rng)
        turn = example.asker(rng, scene) if example.is_fit(scene) else None
        if turn is not None and turn.question == example.question:
            yield scene, turn
        attempt += 1
