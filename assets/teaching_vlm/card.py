"""The results of a model's card, so that nobody types figures: print what an evaluation has found as Markdown.

    python assets/teaching_vlm/card.py EVALUATION.json

EVALUATION.json is what `evaluate.py` has written. The output goes under "Results" in the model's CARD.md.
"""

from __future__ import annotations

import argparse
import json
import sys
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from family import CAPTION, CHART, DRILL, GENERAL, MULTI_TURN, REASONING, TEXT
from scenes import FAMILIES
from shares import SHORT_ANSWER

WIDTH = 120  # characters of a line
MODELS = {"qwen2_5_vl": "qwen", "llava_next": "llava"}  # architecture -> the folder of its card
HEADLINE = {  # share of the evaluation -> how the card calls it
    "shape_attributes": "attributes in shape scenes",
    "dressed_attributes": "attributes of dressed figures",
    "chart_values": "values in charts, computed ones included",
    "sign_exact": "answers about a sign's text, exact to the letter",
    "counts": "counting questions",
    "short_answers": f"answers of at most {SHORT_ANSWER} characters",
    "ends": "answers that end by themselves",
}
AIMS = {  # percent
    "qwen": {
        "shape_attributes": 95,
        "dressed_attributes": 92,
        "chart_values": 85,
        "sign_exact": 85,
        "counts": 95,
        "short_answers": 92,
        "ends": 99,
    },
    "llava": {"shape_attributes": 88},
}
FACTS = {  # kinds of facts that the card calls otherwise
    "colors": "colours",
    "figures": "numbers in digits",
    "numbers": "numbers in words",
    "words": "printed words",
    "labels": "labels of values",
    "body": "parts of the body",
    "held": "things held",
}
PARTS = {
    GENERAL: "general questions",
    TEXT: "questions about text",
    CHART: "questions about values",
    CAPTION: "captions, wholly right",
    REASONING: "questions in steps, wholly right",
    MULTI_TURN: "last turns of conversations, wholly right",
    DRILL: "drill",
    "counts": "counting questions",
    "comparisons of two counts": "comparisons of two counts",
    "short answers": HEADLINE["short_answers"],
    "exact text": "answers that are exact to the letter",
    "ends": HEADLINE["ends"],
}


def _percent(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.1f} %"


def _table(*rows: tuple[str, ...]) -> str:
    head, *others = rows
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, ("---",) * len(head), *others))


def results(evaluation: Mapping[str, Any]) -> str:
    """The Markdown text under a card's "Results".

    Raises ValueError where the evaluation is of no teaching model, or of one from before it told its architecture.
    """
    model = MODELS.get(evaluation.get("architecture", ""))
    if model is None:
        known = ", ".join(MODELS)
        raise ValueError(
            f"architecture must be one of {known}; got architecture={evaluation.get('architecture')!r}"
        )
    families = {name: evaluation[name] for name in FAMILIES if name in evaluation}
    pictures, answers = evaluation["pictures"], sum(found["answers"] for found in families.values())
    chosen = "" if len(families) == len(FAMILIES) else f" --families {' '.join(families)}"
    aims = AIMS[model]
    headline = [
        (name, _percent(evaluation[key]), f"{aims[key]} %" if key in aims else "")
        for key, name in HEADLINE.items()
        if key in evaluation
    ]
    kinds = dict.fromkeys(key for found in families.values() for key in found if key.startswith("facts: "))
    names = {"facts": "all facts"}
    names |= {key: FACTS.get(key[len("facts: ") :], key[len("facts: ") :]) for key in kinds} | PARTS
    by_family = [
        (name, *(_percent(found.get(key)) for found in families.values()))
        for key, name in names.items()
        if any(key in found for found in families.values())
    ]
    by_family.append(
        ("distinct forms among the captions", *(str(f["caption forms"]) for f in families.values()))
    )
    measured = (
        f"`python assets/teaching_vlm/evaluate.py --model assets/teaching_vlm/{model}{chosen} --limit {pictures} "
        f"--json OUT` on {pictures} unseen pictures of each family ({', '.join(families)}), {answers:,} answers, "
        "greedy, float32. Facts: those that stand in the right order over all facts, words given away by the question "
        "left out. For the rest: answers in which every fact is right, the evidence included. Forms of captions: their "
        "facts are masked."
    )
    return "\n\n".join(
        (
            textwrap.fill(measured, WIDTH, break_on_hyphens=False),
            _table(("what", "share right", "aim"), *headline),
            "By family of pictures:",
            _table(("what", *families), *by_family),
        )
    )


def main() -> int:
    parser = argparse.ArgumentParser(description="Print the results of a model's card.")
    parser.add_argument("evaluation", type=Path, help="the file that evaluate.py has written")
    options = parser.parse_args()
    try:
        print(results(json.loads(options.evaluation.read_text(encoding="utf-8"))))
    except (OSError, ValueError) as error:
        print(f"card.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
