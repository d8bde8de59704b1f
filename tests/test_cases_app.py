"""Cases of the running program (A19 to A24) that have no home elsewhere, and whether every case has its test."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import SHIPPED_MODELS

from demo import app
from recap.errors import ModelError
from recap.targets.loading import load_target

ROOT = Path(__file__).resolve().parent.parent
TESTS = ROOT / "tests"


def test_every_case_has_tests_that_carry_its_name():
    names = re.findall(
        r"def (test_\w+)", "".join(path.read_text("utf-8") for path in sorted(TESTS.glob("test_*.py")))
    )
    cases = {case.upper() for name in names for case in re.findall(r"(?i)_(a\d\d)(?=_)", name)}
    # Names like a01_to_a06 stand for all between; each of those has a test of its own besides.
    assert cases >= {f"A{number:02}" for number in range(1, 25)}


def test_a23_every_pin_is_met_here_and_a_bad_pair_is_named(tmp_path):
    assert app.version_problems(ROOT / "requirements.txt") == []
    bad = tmp_path / "requirements.txt"
    bad.write_text("# a set that cannot live together\ngradio==5.0.1\nno-such-package-at-all>=2\nnumpy>=1\n")
    first, second = app.version_problems(bad)
    assert re.fullmatch(r"gradio \S+ is installed, but this page was tried with gradio==5\.0\.1; .*\.", first)
    assert "no-such-package-at-all is not installed" in second
    assert "could not be checked" in app.version_problems(tmp_path / "none")[0]


def test_a24_a_bare_machine_loads_every_shipped_model_in_fp32_without_network_and_extras(tmp_path):
    """No GPU, no accelerate, no flash attention, no network: every connection fails at once."""
    code = """
import importlib.util, socket, sys
find = importlib.util.find_spec
hidden = ("accelerate", "flash_attn", "kernels", "gradio", "plotly")
importlib.util.find_spec = lambda name, package=None: None if name.split(".")[0] in hidden else find(name, package)
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in hidden:
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Blocked())
def refuse(*args, **kwargs):
    raise OSError("there is no network")
socket.socket.connect = refuse
socket.getaddrinfo = refuse
from recap.targets.loading import load_target
from recap.drafters import make_drafter
from recap.engine import generate
for model in sys.argv[1:]:
    target = load_target(model, device="cpu")
    request = target.build_request(None, "Describe the picture.", 4)
    *_, finished = generate(target, make_drafter("ar", target.vocab_size, target.blocked_ids), request)
    print(target.environment.dtype, len(finished.output_ids))
"""
    result = subprocess.run(
        [sys.executable, "-c", code, *SHIPPED_MODELS], cwd=ROOT, capture_output=True, text=True, timeout=600
    )
    assert result.returncode == 0, result.stderr
    assert re.fullmatch(r"(float32 [1-4]\n)+", result.stdout)
    assert len(result.stdout.splitlines()) == len(SHIPPED_MODELS) > 0


@pytest.mark.parametrize("fault", ["missing", "cut off", "emptied"])
def test_a24_weights_that_are_not_whole_are_one_sentence(fault, tmp_path):
    folder = tmp_path / "model"
    shutil.copytree(ROOT / "assets" / "teaching_vlm" / "qwen", folder)
    weights = next(folder.glob("*.safetensors"))
    data = weights.read_bytes()
    if fault == "missing":
        weights.unlink()
    else:
        weights.write_bytes(data[: len(data) // 2] if fault == "cut off" else b"")
    with pytest.raises(ModelError) as refused:
        load_target(str(folder), device="cpu")
    sentence = str(refused.value)
    assert str(folder) in sentence
    assert sentence.endswith(".")
    assert "\n" not in sentence
