"""Colours, marker shapes and line styles of every figure, in one place, for light and dark.

Source colours are Okabe and Ito's, which stay apart for colour-blind readers; each source also has a marker and an
underline of its own, so that colour is never the only sign. Figures are built in the light palette; the dark one is the
same figure with every colour exchanged (`recolour`).
"""

from __future__ import annotations

from typing import Any, Literal

from plotly.graph_objects import Figure

ThemeName = Literal["light", "dark"]
#: Who proposed a token. `draft` stands for a draft token of a run that was not recorded node by node.
Proposer = Literal["G", "C", "U", "suffix", "target", "draft"]

LIGHT: dict[str, str] = {
    "G": "#009E73",
    "C": "#0072B2",
    "U": "#E69F00",
    "suffix": "#CC79A7",
    "target": "#1F2A37",
    "draft": "#7A8699",
    "background": "#FFFFFF",
    "ink": "#1B2430",
    "muted": "#5D6878",
    "faint": "#6B7585",
    "edge": "#CBD2DC",
    "grid": "#EEF1F5",
    "accepted": "#222E3C",
    "accent": "#6D4AFF",
}
DARK: dict[str, str] = {
    "G": "#1FBF92",
    "C": "#56B4E9",
    "U": "#F0B429",
    "suffix": "#E29CC4",
    "target": "#F3F5F8",
    "draft": "#8D99AB",
    "background": "#171C24",
    "ink": "#E8ECF2",
    "muted": "#A3AEBD",
    "faint": "#8793A4",
    "edge": "#3E4857",
    "grid": "#222934",
    "accepted": "#F0F3F7",
    "accent": "#A996FF",
}
PALETTES: dict[ThemeName, dict[str, str]] = {"light": LIGHT, "dark": DARK}

MARKERS: dict[str, str] = {
    "G": "circle",
    "C": "square",
    "U": "triangle-up",
    "suffix": "hexagon",
    "target": "diamond",
    "draft": "cross",
}
LABELS: dict[str, str] = {
    "G": "trigram",
    "C": "bigram",
    "U": "unigram",
    "suffix": "suffix copy",
    "target": "target",
    "draft": "draft",
}
#: The name in a legend: the memory's letter before its label.
KEYS: dict[str, str] = {
    name: f"{name} {label}" if len(name) == 1 else label for name, label in LABELS.items()
}
PROPOSERS: tuple[Proposer, ...] = ("G", "C", "U", "suffix", "target")
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"


def recolour(figure: Any, theme: ThemeName) -> Any:
    """A copy of a figure's JSON with the light palette's colours exchanged for `theme`'s.

    Only values under keys that hold colours are touched: a token that looks like a colour stays as it is.
    """
    if theme == "light":
        return figure
    exchange = {LIGHT[role]: PALETTES[theme][role] for role in LIGHT}

    def walk(value: Any, holds_colour: bool) -> Any:
        if isinstance(value, dict):
            return {key: walk(item, "color" in key.lower()) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [walk(item, holds_colour) for item in value]
        return exchange.get(value, value) if holds_colour and isinstance(value, str) else value

    return walk(figure, False)


def themed_figure(data: list[dict[str, Any]], layout: dict[str, Any], theme: ThemeName) -> Figure:
    """A figure to save or show by itself: on the theme's own background, without plotly's default template."""
    layout = layout | {"paper_bgcolor": LIGHT["background"], "template": {"data": {}, "layout": {}}}
    return Figure(recolour({"data": data, "layout": layout}, theme))


def plotly_text(text: str) -> str:
    """Text that plotly draws as it reads: no tag, entity or formula is seen in it.

    plotly takes `<b>` for bold and two dollar signs for a formula; entities are its way to write them.
    """
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return text.replace("$", "&#36;")


def base_layout() -> dict[str, Any]:
    """Layout that all figures share, in the light palette."""
    return {
        # Transparent: the player draws on its own card.
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"family": FONT, "size": 12, "color": LIGHT["ink"]},
        "margin": {"l": 8, "r": 8, "t": 28, "b": 8},
        "hoverlabel": {
            "bgcolor": LIGHT["background"],
            "bordercolor": LIGHT["edge"],
            "font": {"family": FONT, "size": 12, "color": LIGHT["ink"]},
            "align": "left",
        },
        "showlegend": False,
    }
