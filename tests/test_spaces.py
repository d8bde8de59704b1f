"""The checkout as a Space starts it, and its one public endpoint asked by gradio's own client."""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from gradio_client import Client

from recap.trace_io import parse_trace

ROOT = Path(__file__).resolve().parent.parent
#: What a run of the page needs of the checkout.
SHIPPED = ("demo", "recap", "visualize", "assets", "README.md", "requirements.txt")


def tree(folder: Path) -> list[str]:
    """Every path below; compiled code aside, which root may write anywhere."""
    paths = (path.relative_to(folder) for path in folder.rglob("*"))
    return sorted(str(path) for path in paths if "__pycache__" not in path.parts)


@pytest.fixture(scope="module")
def space(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """`python demo/app.py` on a copy that may not be written to, an empty home, the port from the environment."""
    copy, home = tmp_path_factory.mktemp("space"), tmp_path_factory.mktemp("home")
    ignored = shutil.ignore_patterns("__pycache__", "*.pyc", ".*")
    for name in SHIPPED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, copy / name, ignore=ignored)
        else:
            shutil.copy(source, copy / name)
    for path in [copy, *copy.rglob("*")]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    before = tree(copy)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    kept = ("PATH", "LANG", "LD_LIBRARY_PATH", "TMPDIR")
    environment = {name: os.environ[name] for name in kept if name in os.environ}
    environment |= {"HOME": str(home), "GRADIO_SERVER_NAME": "127.0.0.1", "GRADIO_SERVER_PORT": str(port)}
    environment |= {"OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1", "HF_HUB_OFFLINE": "1"}
    environment |= {
        "NUMBA_DISABLE_JIT": "1"
    }  # a fresh home means a minute of compiling, which test_jit tries
    process = subprocess.Popen(
        [sys.executable, "demo/app.py"], cwd=copy, env=environment, stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        for line in process.stdout:
            if "is open at" in line:
                break
        assert process.poll() is None, "the page stays open"
        yield f"http://127.0.0.1:{port}", copy
        assert tree(copy) == before, "nothing is written into the checkout"
    finally:
        process.terminate()
        process.wait(timeout=20)
        process.stdout.close()
        for path in copy.rglob("*"):
            if path.is_dir():
                path.chmod(0o755)


@pytest.fixture(scope="module")
def client(space: tuple[str, Path]) -> Iterator[Client]:
    client = Client(space[0], verbose=False)
    yield client
    client.close()


def example() -> str:
    return base64.b64encode((ROOT / "assets/examples/example-1.png").read_bytes()).decode()


def test_the_endpoint_gives_text_figures_and_trace_of_a_whole_run(client: Client) -> None:
    answer, figures, trace = client.predict(
        picture=example(), question="Describe the picture.", method="recap@16", api_name="/answer"
    )
    assert len(answer.split()) > 5
    assert figures["answer"] == answer
    assert figures["method"] == "recap@16"
    assert figures["model"] == "teaching-qwen"
    assert figures["first_difference"] is None, "the same text as plain decoding"
    assert figures["acceptance_length"] > 1
    parsed = parse_trace(json.dumps(trace))
    assert [run.name for run in parsed.runs] == ["ar", "recap@16"]
    assert list(parsed.runs[1].finished.output_ids) == figures["output_ids"]
    assert parsed.request.image is not None


def test_every_call_is_a_stream_of_its_own_and_a_picture_may_be_left_out(client: Client) -> None:
    asked: dict[str, Any] = {"picture": "", "question": "How many circles are there?", "max_new_tokens": 12}
    first, again = (client.predict(**asked, api_name="/answer") for _ in range(2))
    assert first[0] == again[0]
    assert first[1]["passes"] == again[1]["passes"], "no U is carried over"
    plain = client.predict(**asked, method="ar", api_name="/answer")
    assert plain[0] == first[0]
    assert [run["name"] for run in plain[2]["runs"]] == ["ar"]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"question": "  "}, "question"),
        ({"method": "recapp"}, "There is no method called 'recapp'"),
        ({"picture": "not base64"}, "as base64 text; this text is none"),
        ({"picture": base64.b64encode(b"no picture").decode()}, "picture"),
        ({"max_new_tokens": 0}, "from 1 to 512"),
        ({"model": "owner/model"}, "does not offer that model; please choose one of teaching-qwen"),
    ],
)
def test_what_cannot_be_asked_gets_the_page_s_own_sentence(
    client: Client, changes: dict[str, Any], said: str
) -> None:
    asked = {"picture": "", "question": "What is it?", "method": "recap", "max_new_tokens": 8}
    with pytest.raises(Exception, match=re.escape(said)) as caught:
        client.predict(**(asked | changes), api_name="/answer")
    assert "Traceback" not in str(caught.value)


def test_everything_else_is_private(client: Client) -> None:
    endpoints = client.view_api(return_format="dict", print_info=False)
    assert list(endpoints["named_endpoints"]) == ["/answer"]
    assert endpoints["unnamed_endpoints"] == {}
    names = [
        parameter["parameter_name"] for parameter in endpoints["named_endpoints"]["/answer"]["parameters"]
    ]
    assert names == ["picture", "question", "method", "max_new_tokens", "model"]


def test_the_front_matter_says_all_that_a_space_needs() -> None:
    front = (ROOT / "README.md").read_text("utf-8").split("---")[1]
    entries = dict(line.split(": ", 1) for line in front.strip().splitlines())
    assert entries["sdk"] == "gradio"
    assert (ROOT / entries["app_file"]).is_file()
    pins = (ROOT / "requirements.txt").read_text("utf-8")
    assert f"gradio=={entries['sdk_version']}" in pins
    required = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["requires-python"]
    assert required.startswith(f">={entries['python_version'].strip(chr(34))}")
    assert len(entries["short_description"]) <= 60
    assert entries["license"] == "apache-2.0"
