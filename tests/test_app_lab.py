"""The picture lab: which roots another picture would change, against a slow reading of the scores; its refusals."""

from __future__ import annotations

import asyncio
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from gzip import decompress
from pathlib import Path
from types import SimpleNamespace

import gradio as gr
import numpy as np
import pytest
from page_runs import VOCAB_SIZE, PageTarget, Tab, make_page
from PIL import Image

from demo import texts
from demo.library import Example
from recap.targets.base import Request
from recap.targets.scripted import random_scores


class SeeingTarget(PageTarget):
    """A page target that sees how red a picture is: the first id of its prompt, on which some scores depend."""

    def __init__(self) -> None:
        super().__init__()
        self._next_scores = self.scores
        self._blind = random_scores(VOCAB_SIZE, order=2, seed=4)
        self._seeing = random_scores(VOCAB_SIZE, order=2, seed=9)

    def scores(self, history):
        # After every third token the picture counts, after the others the text alone.
        if history[-1] % 3:
            return self._blind(history)
        return self._blind(history) + (int(history[0]) - 2) * self._seeing(history)

    def build_request(self, image, question, max_new_tokens=200):
        request = super().build_request(image, question, max_new_tokens)
        red = 2 + round(np.asarray(image.convert("RGB"))[..., 0].mean() / 255 * 6)
        return Request(np.concatenate([[red], request.prompt_ids]), max_new_tokens)


class GatedTarget(PageTarget):
    """A page target whose passes wait while its gate is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = threading.Event()
        self.gate.set()

    def score_histories(self, histories, want_all_scores=False):
        assert self.gate.wait(60)
        return super().score_histories(histories, want_all_scores)


@pytest.fixture
def other(tmp_path):
    path = tmp_path / "other.png"
    Image.new("RGB", (60, 30), "black").save(path)
    return path


@pytest.fixture
def picture(tmp_path, monkeypatch):
    """Half red, half black: its mean colour is neither its own nor the other picture's."""
    monkeypatch.setenv("GRADIO_TEMP_DIR", str(tmp_path))
    path = tmp_path / "picture.png"
    image = Image.new("RGB", (40, 40), "red")
    image.paste("white", (0, 0, 20, 40))
    image.save(path)
    return path


def read_again(tab: Tab, url: str, on_state=lambda state: None) -> dict:
    """The last state of the lab, and of the two buttons."""

    async def follow():
        shown = {}
        async for changes in tab.handlers.read_again(tab.request, SimpleNamespace(url=url)):
            shown |= changes
            on_state(changes.get("lab", {}))
        return shown

    return asyncio.run(follow())


def test_every_root_is_read_as_the_scores_say(picture, other):
    target = SeeingTarget()
    tab = Tab(make_page(target, examples=[Example(other, "What?", "")]), "a", picture)
    url = tab.run()["player"]["url"]
    shown = read_again(tab, url)
    told = shown["lab"]
    assert (told["kind"], told["url"]) == ("done", url)
    assert shown["run"]["interactive"]
    assert not shown["stop"]["interactive"]

    run = json.loads(decompress(tab.session.runs[url.rpartition("/")[2]].trace))["runs"][1]
    ids = run["finished"]["output_ids"]
    prompts = [
        target.build_request(image, "What is it?").prompt_ids.tolist()
        for image in (Image.open(picture), Image.new("RGB", (1, 1), "black"))
    ]
    position, expected = 0, []
    for iteration in run["iterations"]:
        choice = []
        for prompt in prompts:
            scores = target.scores([*prompt, *ids[: position + 1]]).astype(np.float64)
            choice.append((int(scores.argmax()), scores - np.log(np.exp(scores).sum())))
        (own_id, own), (other_id, there) = choice
        assert own_id == ids[position + 1]
        changed = None if other_id == own_id else f"\u00b7t{other_id}"
        expected.append((iteration["index"], position + 1, changed, own[own_id] - there[own_id]))
        position += len(iteration["committed_ids"])
    assert [(root["pass"], root["position"], root["others"][1][0]) for root in told["roots"]] == [
        entry[:3] for entry in expected
    ]
    falls = [root["others"][1][1] for root in told["roots"]]
    assert falls == pytest.approx([entry[3] for entry in expected], abs=1e-4)
    num_changed = sum(entry[2] is not None for entry in expected)
    assert 0 < num_changed < len(expected)
    num_blank = sum(root["others"][0][0] is not None for root in told["roots"])
    assert told["sentence"] == texts.picture_effect(len(expected), num_blank, num_changed)


def test_a_model_that_looks_at_no_picture_owes_it_nothing(picture, other):
    tab = Tab(make_page(PageTarget(), examples=[Example(other, "What?", "")]), "a", picture)
    told = read_again(tab, tab.run()["player"]["url"])["lab"]
    assert {form for root in told["roots"] for form, _ in root["others"]} == {None}
    assert told["sentence"] == texts.picture_effect(len(told["roots"]), 0, 0)
    assert "owes it nothing" in told["sentence"]


def test_the_picture_in_the_panel_is_the_other_one_where_it_differs(picture, other):
    tab = Tab(make_page(SeeingTarget()), "a", picture)
    url = tab.run()["player"]["url"]
    assert read_again(tab, url)["lab"]["sentence"] == texts.NO_OTHER_PICTURE
    tab.session.picture_path = other.with_name("deleted.png")
    assert read_again(tab, url)["lab"]["sentence"] == texts.NO_OTHER_PICTURE
    tab.session.picture_path = other
    assert read_again(tab, url)["lab"]["kind"] == "done"


def test_what_cannot_be_read_again_is_one_sentence(picture, other):
    examples = [Example(other, "What?", "")]
    tab = Tab(make_page(PageTarget(), examples=examples), "a", picture)
    short = tab.run(tokens=1)["player"]["url"]
    url = tab.run()["player"]["url"]
    assert read_again(tab, short)["lab"]["sentence"] == texts.ANSWER_TOO_SHORT
    for unknown in ("", "recap/runs/x", "../x"):
        assert read_again(tab, unknown)["lab"]["sentence"] == texts.RUN_NOT_FOUND
    told = asyncio.run(anext(tab.handlers.read_again(tab.request, gr.EventData(None, None))))["lab"]
    assert told["sentence"] == texts.RUN_NOT_FOUND
    stranger = Tab(tab.handlers, "b", picture)
    assert read_again(stranger, url)["lab"]["sentence"] == texts.RUN_NOT_FOUND
    Path(picture).unlink()
    told = read_again(tab, url)["lab"]
    assert (told["kind"], told["sentence"]) == ("error", texts.PICTURE_GONE)


def test_stop_ends_the_reading_and_the_next_run_starts_at_once(picture, other):
    target = GatedTarget()
    tab = Tab(make_page(target, examples=[Example(other, "What?", "")]), "a", picture)
    url = tab.run()["player"]["url"]
    target.gate.clear()
    refused = []

    def press_stop(state):
        if state.get("kind") == "running" and not refused:
            # On another thread, as this one runs the first reading's event loop.
            with ThreadPoolExecutor(1) as pool:
                refused.append(pool.submit(read_again, tab, url).result()["lab"]["sentence"])
            tab.handlers.stop(tab.request)
            target.gate.set()

    shown = read_again(tab, url, press_stop)
    assert shown["lab"]["sentence"] == texts.LAB_STOPPED
    assert refused == [texts.RUN_GOING_ON]
    assert tab.run()["player"]["url"] != url
