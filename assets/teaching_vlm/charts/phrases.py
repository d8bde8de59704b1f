"""How the answers speak of a chart's parts."""

from __future__ import annotations

from collections.abc import Sequence

from language import join, number, versus

from charts.scene import BARS, LINE, SIDEWAYS, Chart
from charts.words import PLURALS

KIND_NAMES = {BARS: "bar chart", SIDEWAYS: "sideways bar chart", LINE: "line chart"}


def mark(chart: Chart) -> str:
    """What shows one value: 'bar' or 'dot'."""
    return "dot" if chart.kind == LINE else "bar"


def direction(chart: Chart) -> str:
    return "from top to bottom" if chart.kind == SIDEWAYS else "from left to right"


def title(chart: Chart) -> str:
    return " ".join(chart.title)


def plural_group(chart: Chart) -> str:
    """'months'."""
    return PLURALS[chart.group]


def pairs(chart: Chart) -> list[tuple[str, int]]:
    """Labels with their values in reading order."""
    return list(zip(chart.labels, chart.values, strict=True))


def ranked(chart: Chart) -> list[tuple[str, int]]:
    """Labels with their values from the highest to the lowest."""
    return sorted(pairs(chart), key=lambda pair: -pair[1])


def minus(one: int, other: int) -> str:
    """'13 minus 9 is 4', the larger number first."""
    high, low = max(one, other), min(one, other)
    return f"{high} minus {low} is {high - low}"


def plus(one: int, other: int) -> str:
    return f"{one} plus {other} is {one + other}"


def beside_best(values: Sequence[int], sign: int) -> list[str]:
    """What to say behind each value on the way to the highest (sign 1) or lowest (-1).

    The best so far is said again right behind the value, so that the two numbers are compared side by side.
    """
    best, remarks = values[0], [""]
    for value in values[1:]:
        remarks.append(f" against {best}, which is {versus(value, best)}")
        best = value if sign * value > sign * best else best
    return remarks


def beside(one: int, other: int) -> str:
    """'20 against 15 is more': two numbers side by side before the word that tells which is larger."""
    return f"{one} against {other} is {versus(one, other)}"


def climb(found: Sequence[tuple[str, int]], sign: int) -> str:
    """'pear has 20; grape has 75 against 20, which is more; fig has 10 against 75, which is less'."""
    remarks = beside_best([value for _, value in found], sign)
    return "; ".join(
        f"{label} has {value}{remark}" for (label, value), remark in zip(found, remarks, strict=True)
    )


def put_in_order(values: Sequence[int], sign: int) -> str:
    """Values put one by one into the row of those before, from the highest on (sign 1) or the lowest (-1)."""
    row, told = [values[0]], [f"Begin with {values[0]}."]
    openings = ("Put in {}:", "Then put in {}:", "Next, put in {}:", "Last, put in {}:")
    for opening, value in zip(openings, values[1:], strict=False):
        row = sorted((*row, value), key=lambda other: -sign * other)
        told.append(f"{opening.format(value)} {', '.join(map(str, row))}.")
    return " ".join(told)


def count_marks(chart: Chart) -> str:
    """'pear with 20 makes one and fig with 10 makes two'."""
    return join(
        [f"{label} with {value} makes {number(i)}" for i, (label, value) in enumerate(pairs(chart), 1)]
    )


def count_beyond(chart: Chart, limit: int, sign: int) -> str:
    """'pear with 20 against 15 makes one and fig with 10 against 15 does not count', above (sign 1) or below (-1)."""
    told, found = [], 0
    for label, value in pairs(chart):
        counts = sign * value > sign * limit
        found += counts
        fate = f"makes {number(found)}" if counts else "does not count"
        told.append(f"{label} with {value} against {limit} {fate}")
    return join(told)


def numbered_labels(chart: Chart) -> str:
    """'number one is pear and number two is fig'."""
    return join([f"number {number(i)} is {label}" for i, label in enumerate(chart.labels, 1)])


def label_colors(chart: Chart) -> str:
    """'the bar of pear is red and the bar of fig is blue'; a line has one color."""
    if chart.kind == LINE:
        return f"the line is {chart.colors[0]}"
    told = [f"the bar of {label} is {color}" for label, color in zip(chart.labels, chart.colors, strict=True)]
    return join(told)


def same_color(chart: Chart) -> str:
    """What follows from the colors of the bars."""
    return "So every bar has its own color." if chart.is_colorful else f"So all bars are {chart.colors[0]}."
