"""All pictures: the four families by name, and a scene of any of them from a seed."""

from __future__ import annotations

from charts.entry import FAMILY as CHARTS
from family import Family
from figures.entry import FAMILY as FIGURES
from shapes.entry import FAMILY as SHAPES
from signs.entry import FAMILY as SIGNS

FAMILIES: dict[str, Family] = {family.name: family for family in (SHAPES, FIGURES, CHARTS, SIGNS)}
