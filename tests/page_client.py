"""A visitor of a running page without a browser: sends what the page's script sends, and reads what it is told."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx

TESTS = Path(__file__).resolve().parent


@contextlib.contextmanager
def scripted_page(
    pass_seconds: float = 0.0, is_quiet: bool = True, log: Path | None = None
) -> Iterator[tuple[str, subprocess.Popen]]:
    """The address of a page over a target without weights, as a program of its own; ready to answer.

    `is_quiet`: it must not write a traceback to its terminal until the end. `log`: where its runs' times are written.
    """
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, str(TESTS / "scripted_page.py"), str(port), str(pass_seconds)]
    command += [str(log)] if log else []
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "GRADIO_ANALYTICS_ENABLED": "False"}
    process = subprocess.Popen(
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    complaints: list[str] = []
    reader = threading.Thread(target=lambda: complaints.extend(process.stderr), daemon=True)
    reader.start()
    address = f"http://127.0.0.1:{port}"
    try:
        for _ in range(600):
            with contextlib.suppress(httpx.HTTPError):
                if httpx.get(f"{address}/recap/model").json()["state"] == "ready":
                    break
            assert process.poll() is None, "".join(complaints)
            time.sleep(0.1)
        yield address, process
        assert not is_quiet or "Traceback" not in "".join(complaints), "".join(complaints)
    finally:
        process.terminate()
        process.wait(timeout=20)
        reader.join(timeout=20)
        process.stderr.close()


class Visitor:
    """One tab: its own session, its own connection."""

    def __init__(self, address: str) -> None:
        self.client = httpx.Client(base_url=address, timeout=120)
        self._config = self.client.get("/config").json()
        self._functions = {item["api_name"]: item for item in self._config["dependencies"]}
        parts = {item["id"]: item["props"] for item in self._config["components"]}
        names = {id_: (props.get("elem_id") or "").removeprefix("recap-") for id_, props in parts.items()}
        run = self._functions["run"]
        self.first_values = {names[id_]: parts[id_].get("value") for id_ in run["inputs"]}
        self._outputs = [names[id_] for id_ in run["outputs"]]
        self.session_hash = ""
        self._heartbeat: httpx.Response | None = None
        self.seconds_waited, self._is_waiting = 0.0, False
        self.load()

    def load(self) -> None:
        """Open the page, or reload it: a session of its own that ends when the heartbeat's connection ends."""
        self.leave()
        self.session_hash = secrets.token_hex(8)
        self._beat()

    def leave(self) -> None:
        """Close the tab: its connection ends."""
        if self.session_hash and self._heartbeat is not None:
            self._heartbeat.close()
            self._heartbeat = None

    def _beat(self) -> None:
        query = f"/gradio_api/heartbeat/{self.session_hash}"
        request = self.client.build_request("GET", query, timeout=None)
        self._heartbeat = self.client.send(request, stream=True)

    def upload(self, data: bytes, name: str = "picture.png") -> dict[str, Any]:
        """Send a file as the upload field does."""
        answer = self.client.post("/gradio_api/upload", files={"files": (name, data)})
        answer.raise_for_status()
        return {"path": answer.json()[0], "meta": {"_type": "gradio.FileData"}}

    def call(
        self, name: str, *data: Any, event: Any = None, session_hash: str | None = None
    ) -> httpx.Response:
        """A button that answers at once."""
        body = self._body(name, list(data), event)
        if session_hash is not None:
            body["session_hash"] = session_hash or None
        return self.client.post("/gradio_api/run/predict", json=body)

    def ask_as_program(self, picture: str, question: str, method: str, tokens: int) -> tuple[bool, Any]:
        """Call the public endpoint; whether it answered, and its answer or its sentence. `picture` is base64."""
        return self.ask_with_values([picture, question, method, tokens, ""])  # the page's first model

    def ask_with_values(self, values: list[Any]) -> tuple[bool, Any]:
        """Call the public endpoint with values that need not fit; see `ask_as_program`."""
        body = {"data": values}
        event_id = (
            self.client.post("/gradio_api/call/answer", json=body).raise_for_status().json()["event_id"]
        )
        with self.client.stream("GET", f"/gradio_api/call/answer/{event_id}") as lines:
            kind = ""
            for line in lines.iter_lines():
                name, _, value = line.partition(": ")
                if name == "event":
                    kind = value
                elif kind in ("complete", "error"):
                    return kind == "complete", json.loads(value)
        return False, "the connection ended"

    def run(
        self,
        picture: Any,
        question: Any,
        nodes: Any = 6,
        tokens: Any = 20,
        on_start: Callable[[], None] = lambda: None,
    ) -> dict[str, Any]:
        """Press Run; the last answer of each part of the page (`status`, `player`, ...) when the run is over."""
        given = {"picture": picture, "question": question, "nodes": nodes, "new-tokens": tokens}
        body = self._body("run", list((self.first_values | given).values()), None)
        joined = self.client.post("/gradio_api/queue/join", json=body)
        joined.raise_for_status()
        event_id = joined.json()["event_id"]
        query = {"session_hash": self.session_hash}
        shown: dict[str, Any] = {}
        started = time.monotonic()
        self.seconds_waited, self._is_waiting = 0.0, False
        with self.client.stream("GET", "/gradio_api/queue/data", params=query) as lines:
            for line in lines.iter_lines():
                if not line.startswith("data:"):
                    continue
                message = json.loads(line[5:])
                if message.get("event_id") not in (event_id, None):
                    continue
                if message["msg"] == "process_starts":
                    on_start()
                if message["msg"] == "process_generating":
                    self._note_wait(json.dumps(message["output"]), time.monotonic() - started)
                if message["msg"] == "process_completed":
                    assert message["success"], message
                    shown = dict(zip(self._outputs, message["output"]["data"], strict=True))
                if message["msg"] in ("process_completed", "close_stream"):
                    return shown
        return shown

    def _note_wait(self, output: str, seconds: float) -> None:
        """Until when a place in the queue was shown: the next state after it is the run's own."""
        if "In the queue: " in output:
            self._is_waiting = True
        elif self._is_waiting:
            self._is_waiting, self.seconds_waited = False, seconds

    def trace(self, shown: dict[str, Any]) -> dict[str, Any]:
        """The trace of the run that the player was told to show."""
        return self.client.get(f"/{shown['player']['url']}/trace").json()

    def _body(self, name: str, data: list[Any], event: Any) -> dict[str, Any]:
        return {
            "data": data,
            "fn_index": self._functions[name]["id"],
            "session_hash": self.session_hash,
            "event_data": event,
        }
