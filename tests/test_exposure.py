"""What a page gives away: nothing of the machine, no outside address; bad calls get a sentence."""

from __future__ import annotations

import base64
import http.server
import io
import re
import socket
import threading

import pytest
from page_client import Visitor, scripted_page
from PIL import Image

from demo import api, app, texts
from demo.api import ENDPOINT
from demo.fair_use import RUNS_A_MINUTE
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
    with pytest.raises(InputError, match="at most 20 MB"):
        api._open_base64("A" * (4 * MAX_PICTURE_BYTES // 3 + 5))


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
