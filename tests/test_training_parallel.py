"""Training by several processes: each sees the mean gradient, and the clock of the first decides for all."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

TRAINING = Path(__file__).resolve().parents[1] / "assets" / "teaching_vlm"

#: Rank r's gradients: r + 1 everywhere; 6 in the first process alone; none anywhere.
PROGRAM = f"""
import json, sys
sys.path.insert(0, {str(TRAINING)!r})
import parallel, torch
rank, world_size = parallel.start("cpu")
shared, lone, untouched = (torch.nn.Parameter(torch.zeros(shape)) for shape in ((2, 3), (4,), (5,)))
shared.grad = torch.full((2, 3), float(rank + 1))
if rank == 0:
    lone.grad = torch.full((4,), 6.0)
parallel.average_gradients([shared, lone, untouched])
told = [None if p.grad is None else p.grad.tolist() for p in (shared, lone, untouched)]
with open(f"{{sys.argv[1]}}/{{rank}}.json", "w") as file:
    json.dump([world_size, told, parallel.agreed(10.0 + rank)], file)
parallel.finish()
"""


def run(folder: Path, *launcher: str) -> list[list]:
    program = folder / "program.py"
    program.write_text(PROGRAM, encoding="utf-8")
    subprocess.run([sys.executable, *launcher, str(program), str(folder)], check=True, timeout=120)
    return [json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json"))]


def test_every_process_gets_the_mean_gradient_and_the_first_ones_clock(tmp_path: Path) -> None:
    told = run(tmp_path, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2")
    mean = [[[1.5] * 3] * 2, [3.0] * 4, None]
    assert told == [[2, mean, 10.0]] * 2


def test_a_process_alone_keeps_its_own(tmp_path: Path) -> None:
    assert run(tmp_path) == [[1, [[[1.0] * 3] * 2, [6.0] * 4, None], 10.0]]
