"""U saved and loaded: the stream goes on as if it had never ended, and only for its own tokenizer and model."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file, save_file
from tiny_models import picture, tiny_target

from recap.drafters import make_drafter
from recap.engine import generate
from recap.errors import InputError
from recap.memory import Memories
from recap.memory_io import Fingerprints, fingerprint, load_unigram, save_unigram
from recap.targets.base import Request
from recap.targets.scripted import ScriptedTarget, random_scores
from recap.targets.transformers_vlm import TransformersTarget

OURS = Fingerprints("tokens", "weights")


def run(target: ScriptedTarget, memories: Memories, method: str, prompt: list[int]) -> list[object]:
    """Everything of a run but its clock."""
    drafter = make_drafter(method, target.vocab_size, (), memories)
    *events, finished = generate(target, drafter, Request(np.array(prompt), 30))
    return [(e.num_nodes, e.accepted, e.committed_ids) for e in events[1:]] + [finished.output_ids]


def target() -> ScriptedTarget:
    return ScriptedTarget(60, random_scores(60, order=2, seed=1), end_ids={59})


@pytest.mark.parametrize("method", ["recap@24", "recap-recency@24"])
def test_a_stream_goes_on_as_if_it_had_never_ended(tmp_path: Path, method: str) -> None:
    kept = Memories(60)
    for prompt in ([1, 2, 3], [4, 5, 6]):
        run(target(), kept, method, prompt)
    save_unigram(kept, tmp_path / "u.safetensors", OURS)
    loaded = load_unigram(tmp_path / "u.safetensors", OURS)
    assert loaded.sizes.unigram == kept.sizes.unigram > 10
    assert (loaded.request, loaded.batch) == (kept.request, kept.batch)
    kept.begin_request()
    loaded.begin_request()
    for token in range(60):
        one, other = (memories.lookup("U", (-1, -1, token)) for memories in (kept, loaded))
        assert (one is None) == (other is None)
        if one is not None:
            assert all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))
    assert run(target(), loaded, method, [7, 2, 3]) == run(target(), kept, method, [7, 2, 3])


def test_an_empty_and_a_full_memory_survive(tmp_path: Path) -> None:
    path = tmp_path / "u.safetensors"
    save_unigram(Memories(4), path, OURS)
    memories = load_unigram(path, OURS)
    assert memories.sizes.unigram == 0
    small = ScriptedTarget(4, random_scores(4, order=1, seed=2))  # fewer tokens than a row has places
    run(small, memories, "recap@8", [0, 1, 2, 3])
    assert memories.sizes.unigram == 4
    save_unigram(memories, path, OURS)
    again = load_unigram(path, OURS)
    assert run(small, again, "recap@8", [1, 2]) == run(small, memories, "recap@8", [1, 2])
    assert [file.name for file in tmp_path.iterdir()] == ["u.safetensors"]


def test_another_tokenizer_or_model_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "u.safetensors"
    save_unigram(Memories(60), path, OURS)
    with pytest.raises(InputError, match=r"for another tokenizer; .*\."):
        load_unigram(path, OURS._replace(tokenizer="others"))
    with pytest.raises(InputError, match=r"for another model; .*\."):
        load_unigram(path, OURS._replace(model="others"))


BROKEN = {
    "keys": lambda t: t | {"keys": t["keys"][::-1].copy()},
    "keys beyond": lambda t: t | {"keys": t["keys"] + np.int32(1000)},
    "ids": lambda t: t | {"token_ids": t["token_ids"] + np.int32(60)},
    "ids below": lambda t: t | {"token_ids": t["token_ids"] - np.int32(80)},
    "probabilities": lambda t: t | {"probabilities": t["probabilities"] * np.float32(np.nan)},
    "confidences": lambda t: t | {"confidences": t["confidences"] + np.float32(2)},
    "counters below": lambda t: t | {"requests": t["requests"] - np.int32(2)},
    "counters beyond": lambda t: t | {"batches": t["batches"] + np.int32(2**30)},
    "shape": lambda t: t | {"confidences": t["confidences"][:-1].copy()},
    "dtype": lambda t: t | {"requests": t["requests"].astype(np.float32)},
    "missing": lambda t: {name: value for name, value in t.items() if name != "passes"},
}


@pytest.mark.parametrize("damage", list(BROKEN))
def test_broken_contents_are_refused(tmp_path: Path, damage: str) -> None:
    path, memories = tmp_path / "u.safetensors", Memories(60)
    run(target(), memories, "recap@8", [1, 2, 3])
    save_unigram(memories, path, OURS)
    metadata = {"format": "recap-unigram-1", "vocab_size": "60", "request": "1", "batch": "9"}
    metadata |= OURS._asdict()
    tensors = load_file(path)
    save_file(tensors, path, metadata=metadata)
    load_unigram(path, OURS)
    save_file(BROKEN[damage](tensors), path, metadata=metadata)
    with pytest.raises(InputError, match=r"is broken \(.*\); start without it"):
        load_unigram(path, OURS)
    for name, value in (
        *(("batch", "-4"), ("vocab_size", "0"), ("request", "")),
        *(("batch", str(2**31)), ("request", "9" * 30), ("vocab_size", "9" * 5000)),
    ):
        save_file(tensors, path, metadata=metadata | {name: value})
        with pytest.raises(InputError, match="is broken"):
            load_unigram(path, OURS)


def test_files_of_another_kind_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "u.safetensors"
    with pytest.raises(InputError, match="There is no memory file"):
        load_unigram(path, OURS)
    path.write_bytes(b"not this")
    with pytest.raises(InputError, match="cannot be read"):
        load_unigram(path, OURS)
    save_file({"weights": np.zeros(3, np.float32)}, path)
    with pytest.raises(InputError, match="holds no memory of this program"):
        load_unigram(path, OURS)


def test_fingerprints_tell_models_and_tokenizers_apart_but_not_precisions(
    teaching_target: TransformersTarget, tmp_path: Path
) -> None:
    processor = teaching_target.processor
    one, same = tiny_target(processor), tiny_target(processor)
    assert fingerprint(one) == fingerprint(same)
    same.model.to(torch.bfloat16)
    assert fingerprint(one) == fingerprint(same)
    other = tiny_target(processor, seed=1)
    assert fingerprint(other).tokenizer == fingerprint(one).tokenizer
    assert fingerprint(other).model != fingerprint(one).model

    memories = Memories(one.vocab_size)
    drafter = make_drafter("recap@16", one.vocab_size, one.blocked_ids, memories)
    request = one.build_request(picture(1), "Where is the star?", 20)
    for _ in generate(one, drafter, request):
        pass
    save_unigram(memories, tmp_path / "u.safetensors", fingerprint(one))
    assert load_unigram(tmp_path / "u.safetensors", fingerprint(one)).sizes.unigram > 10
    with pytest.raises(InputError, match="another model"):
        load_unigram(tmp_path / "u.safetensors", fingerprint(other))

    class Renamed:
        def get_vocab(self) -> dict[str, int]:
            return {"a": 0}

    one.tokenizer = Renamed()
    with pytest.raises(InputError, match="another tokenizer"):
        load_unigram(tmp_path / "u.safetensors", fingerprint(one))
