"""Words that charts print: category labels by group, and title words."""

from __future__ import annotations

# group -> its labels, in the order in which they may stand; those of ORDERED groups follow each other
GROUPS: dict[str, tuple[str, ...]] = {
    "month": ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"),
    "day": ("mon", "tue", "wed", "thu", "fri", "sat", "sun"),
    "fruit": ("apple", "pear", "plum", "kiwi", "lemon", "grape", "peach", "fig"),
    "city": ("paris", "rome", "oslo", "cairo", "lima", "tokyo", "delhi", "bern"),
    "sport": ("golf", "judo", "yoga", "rugby", "polo", "surf", "chess", "dance"),
}
ORDERED = ("month", "day")
PLURALS = {"month": "months", "day": "days", "fruit": "fruits", "city": "cities", "sport": "sports"}
QUANTITIES = ("sales", "votes", "guests", "points", "hours", "trips", "prizes", "books")
LINKS = ("by", "per")
SETTINGS = ("school", "home", "work", "camp")

CHART_WORDS = (
    *(label for labels in GROUPS.values() for label in labels),
    *QUANTITIES, *GROUPS, *LINKS, "at", *SETTINGS,
)  # fmt: skip
