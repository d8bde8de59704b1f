"""What a page gives away: nothing of the machine, no outside address; bad calls get a sentence."""

from __future__ import annotations

import base64
import contextlib
import http.server
import io
import re
import socket
import threading

import gradio as gr
import pytest
from page_client import Visitor, scripted_page
from page_runs import PageTarget
from PIL import Image

from demo import api, app, texts
from demo.api import ENDPOINT
from demo.fair_use import MAX_RUNS_OF_ONE_PROGRAM, RUNS_A_MINUTE, Asker, RunLimiter
from demo.host import ModelHost
from demo.models import Models
from recap.errors import InputError
from recap.pictures import MAX_PICTURE_BYTES


@pytest.fixture(scope="module")
def address():
    with scripted_page(is_quiet=False) as (address, _):
        yield address


@pytest.fixture
def visitor(address):
    visitor = Visitor(address)
    yield visitor
    visitor.leave()
    visitor.client.close()


def picture_bytes():
    buffer = io.BytesIO()
    Image.new("RGB", (50, 50), "red").save(buffer, "PNG")
    return buffer.getvalue()


def test_the_page_listens_to_this_machine_alone_unless_told_otherwise(monkeypatch, address):
    monkeypatch.delenv("GRADIO_SERVER_NAME", raising=False)
    assert app.build_parser().parse_args([]).host == "127.0.0.1"
    port = int(address.rpartition(":")[2])
    with socket.socket() as other:  # another address of this machine: free, as the page does not listen there
        other.bind(("127.0.0.2", port))


def test_one_endpoint_is_public_by_its_name(visitor):
    offered = visitor.client.get("/gradio_api/info").json()
    assert list(offered["named_endpoints"]) == [f"/{ENDPOINT}"]
    assert offered["unnamed_endpoints"] == {}
    for path in ("/docs", "/redoc", "/openapi.json", "/monitoring", "/gradio_api/mcp/sse"):
        assert visitor.client.get(path).status_code in (403, 404), path


def test_nothing_is_converted_polled_or_written_for_anybody_outside_the_queue(visitor):
    video = {"video": ("a.mp4", b"video")}
    assert visitor.client.post("/gradio_api/process_recording", files=video).status_code == 404
    body = {"data": [], "component_id": 1, "fn_name": "x", "session_hash": "a"}
    assert visitor.client.post("/gradio_api/component_server", json=body).status_code == 404
    query = {"session_hash": visitor.session_hash}
    for path in ("dev/reload", "proxy=http://127.0.0.1:9/x", "stream/a/b/c/playlist.m3u8"):
        assert visitor.client.get(f"/gradio_api/{path}").status_code == 404, path
    assert visitor.client.get("/gradio_api/deep_link", params=query).status_code == 404


@pytest.mark.parametrize(
    "path",
    ["/etc/passwd", "README.md", "demo/app.py", "../../etc/passwd", ".git/config", "/proc/self/environ",
     "http://127.0.0.1:9/x", "/tmp/../etc/passwd"],
)  # fmt: skip
def test_no_file_of_the_machine_is_served(visitor, path):
    assert visitor.client.get(f"/gradio_api/file={path}").status_code in (403, 404)
    assert visitor.client.get(f"/static/../../{path}").status_code in (403, 404)
    answer = visitor.call("receive_picture", {"path": path, "meta": {"_type": "gradio.FileData"}})
    assert "root:" not in answer.text
    assert answer.status_code == 500 or texts.NOT_UPLOADED in answer.text


def test_no_address_is_fetched_for_a_visitor(visitor):
    asked: list[str] = []

    class Outside(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            self.send_error(404)

        def log_message(self, *args):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Outside) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_address[1]}/picture.png"
        for sent in (
            url,
            {"path": url, "meta": {"_type": "gradio.FileData"}},
            {"path": "a.png", "url": url, "meta": {"_type": "gradio.FileData"}},
            {"path": None, "url": url},
        ):
            visitor.call("receive_picture", sent)
            visitor.call("open_trace", sent)
        assert visitor.client.get(f"/gradio_api/proxy={url}").status_code >= 400
        server.shutdown()
    assert asked == []


def test_a22_every_number_is_checked_behind_the_page(visitor):
    sent = visitor.upload(picture_bytes())
    assert visitor.call("receive_picture", sent).status_code == 200
    for value in (10**6, 0, 2.5, "abc", None, 10**30, [1]):
        status = visitor.run(sent, "What?", 6, value)["status"]
        assert (status["kind"], "1 to 512" in status["sentence"]) == ("error", True)
    for value in (-1, "abc", "-1", ""):
        status = visitor.run(sent, "What?", value, 5)["status"]
        assert (status["kind"], "0 to 128" in status["sentence"]) == ("error", True)
    for value, name in ((6, "recap@6"), ("6", "recap@6"), ("auto", "recap@auto")):
        shown = visitor.run(sent, "What?", value, 5)
        assert shown["status"]["kind"] == "done"
        assert visitor.trace(shown)["runs"][1]["name"] == name


def test_what_the_page_begins_with_is_a_budget_that_follows_the_cost(visitor):
    assert visitor.first_values["nodes"] == "auto"
    parameters = visitor.client.get("/gradio_api/info").json()["named_endpoints"][f"/{ENDPOINT}"][
        "parameters"
    ]
    assert {item["parameter_name"]: item["parameter_default"] for item in parameters}[
        "method"
    ] == "recap@auto"


@pytest.mark.parametrize("num_sent", [0, 1, 4, 6, 50])
def test_a_call_with_too_few_or_too_many_values_is_told_what_to_send(visitor, num_sent):
    is_answered, told = visitor.ask_with_values((["", "What?", "ar", 2, ""] * 10)[:num_sent])
    assert not is_answered
    came = f"{num_sent} value came" if num_sent == 1 else f"{num_sent} values came"
    names = "picture, question, method, max_new_tokens, model"
    assert told["error"] == f"Please send 5 values in this order: {names}; {came}."


@pytest.mark.parametrize("method", [16, None, [], {}, True, "", "recap@", "recap@999", "nothing"])
def test_a_method_that_is_none_is_one_sentence(visitor, method):
    is_answered, told = visitor.ask_with_values(["", "What?", method, 2, ""])
    assert not is_answered
    assert "method" in told["error"]
    assert told["error"].endswith(".")


@pytest.mark.parametrize("picture", ["é", "日本", "no base64!", "data:image/png;base64,AAAA", 5, [1]])
def test_a_picture_that_is_no_base64_is_one_sentence(visitor, picture):
    is_answered, told = visitor.ask_with_values([picture, "What?", "ar", 2, ""])
    assert not is_answered
    assert re.fullmatch(r"The picture must be a file (as|of at most 20 MB as) base64 text.*\.", told["error"])


def test_a_picture_beyond_the_limit_is_refused_before_it_is_decoded(monkeypatch):
    monkeypatch.setattr(api.base64, "b64decode", lambda *_, **__: pytest.fail("decoded"))
    ask = endpoint(ModelHost(Models({"scripted": lambda _: PageTarget()})))
    with pytest.raises(gr.Error, match="at most 20 MB"):
        ask("A" * (4 * MAX_PICTURE_BYTES // 3 + 5), "What?", "ar", 2)


def endpoint(host):
    """The endpoint's function, as gradio is given it."""
    given = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(api.gr, "api", lambda function, **_: given.append(function))
        api.add_endpoint(contextlib.nullcontext(), host)
    return given[0]


def test_a_picture_is_opened_only_for_who_has_a_place(monkeypatch):
    """Too many runs within a minute, two calls at a time, a page without a model: refused, and nothing decoded."""
    picture = base64.b64encode(picture_bytes()).decode()
    opened = []
    real = api.open_picture
    monkeypatch.setattr(api, "open_picture", lambda data: opened.append(data) or real(data))
    host = ModelHost(Models({"scripted": lambda _: PageTarget()}), limiter=RunLimiter(2))
    host.start()
    ask = endpoint(host)
    for _ in range(2):
        assert ask(picture, "What?", "ar", 2)[0]
    with pytest.raises(gr.Error, match="try again in"):
        ask(picture, "What?", "ar", 2)
    assert len(opened) == 2
    with pytest.raises(gr.Error, match="without a model"):
        endpoint(ModelHost(Models({})))(picture, "What?", "ar", 2)
    busy = ModelHost(Models({"scripted": lambda _: PageTarget()}))  # not started: what is asked waits
    for _ in range(MAX_RUNS_OF_ONE_PROGRAM):
        busy.submit(lambda target, ticket: None, Asker("unknown", is_program=True))
    with pytest.raises(gr.Error, match="wait for their answers"):
        endpoint(busy)(picture, "What?", "ar", 2)
    assert len(opened) == 2


def test_a_picture_that_cannot_be_opened_gives_its_place_back_and_holds_nobody_up(monkeypatch):
    """Also where the run has begun and waits for its picture."""
    begun = threading.Event()
    target = PageTarget()
    host = ModelHost(Models({"scripted": lambda _: target}))

    def open_late(data):
        assert begun.wait(30)
        raise InputError("This picture is broken.")

    monkeypatch.setattr(api, "open_picture", open_late)
    make = ModelHost._make
    monkeypatch.setattr(ModelHost, "_make", lambda *args: begun.set() or make(*args))
    host.start()
    ask = endpoint(host)
    for _ in range(3):
        with pytest.raises(gr.Error, match="is broken"):
            ask(base64.b64encode(b"x").decode(), "What?", "ar", 2)
    assert ask("", "What?", "ar", 2)[0]


def test_examples_that_are_not_there_and_visitors_without_a_session_get_a_sentence(visitor):
    for event in ({"index": 99}, {"index": -1}, {"index": "abc"}, {"index": None}, {}, None):
        answer = visitor.call("choose_example", event=event)
        assert answer.status_code == 200
        assert texts.NO_EXAMPLE in answer.json()["data"][2]["sentence"]
    sent = visitor.upload(picture_bytes())
    assert visitor.call("receive_picture", sent, session_hash="").status_code == 200
    shown = visitor.call("run", sent, "What?", 6, 5, session_hash="").json()["data"]
    assert "picture" in shown[0]["sentence"], "nobody finds what another one has left"


def test_runs_and_memories_of_a_tab_end_with_it(visitor, address):
    sent = visitor.upload(picture_bytes())
    visitor.call("receive_picture", sent)
    url = visitor.run(sent, "What?", 6, 5)["player"]["url"]
    other = Visitor(address)
    assert other.client.get(f"/{url}/payload").status_code == 200
    visitor.load()
    for _ in range(100):
        if other.client.get(f"/{url}/payload").status_code == 404:
            break
        threading.Event().wait(0.1)
    assert other.client.get(f"/{url}/payload").json()["sentence"] == texts.RUN_NOT_FOUND
    other.leave()
    other.client.close()


def test_a_program_that_calls_too_often_is_told_when_to_come_back(visitor):
    """Through the endpoint itself: one address, as many calls as a minute may have, and one more."""
    picture = base64.b64encode(picture_bytes()).decode()
    is_answered, answer = visitor.ask_as_program(picture, "What?", "ar", 2)
    assert is_answered, answer
    for _ in range(RUNS_A_MINUTE):
        is_answered, answer = visitor.ask_as_program("", "What?", "ar", 1)
    assert not is_answered
    assert re.fullmatch(r"20 runs were started from here .* try again in \d+ seconds?\.", answer["error"])
    sent = visitor.upload(picture_bytes())
    visitor.call("receive_picture", sent)
    assert visitor.run(sent, "What?", 6, 5)["status"]["kind"] == "done", "the page is not held up"


def test_an_upload_beyond_the_limit_is_refused(visitor):
    answer = visitor.client.post("/gradio_api/upload", files={"files": ("a.png", bytes(61 * 1024 * 1024))})
    assert answer.status_code == 413


def test_no_request_is_larger_than_one_upload_in_whatever_form_it_comes(visitor):
    """Many files at once, a call of another program, and one that does not tell its length."""
    files = [("files", (f"{index}.png", bytes(16 * 1024 * 1024))) for index in range(4)]
    assert visitor.client.post("/gradio_api/upload", files=files).status_code == 413
    pieces = (b'{"data": ["', *(b"A" * 2**20 for _ in range(64)), b'"]}')
    for address in ("/gradio_api/call/answer", "/gradio_api/queue/join", "/gradio_api/run/predict"):
        headers = {"content-type": "application/json"}
        assert visitor.client.post(address, content=b"".join(pieces), headers=headers).status_code == 413
        assert visitor.client.post(address, content=iter(pieces), headers=headers).status_code == 413
