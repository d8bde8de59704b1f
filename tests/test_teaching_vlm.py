"""The shipped model: loads offline, sees 36 picture tokens, and is trained on exactly what it meets when asked."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import AutoModelForImageTextToText, AutoProcessor

sys.path.insert(0, str(Path(__file__).parents[1] / "assets" / "teaching_vlm"))

import evaluate
from architecture import SPECIAL_TOKENS, build_config, build_model
from checkpoints import CheckpointError, export, load_state, save_state
from conversations import converse, multi_turn
from learner import Learner
from packing import IGNORED, Packer, patchify
from scenes import draw, make_scene
from train import Trainer, parse_arguments

TEACHING = Path(__file__).parents[1] / "assets" / "teaching_vlm"
FOLDER = TEACHING / "qwen"


@pytest.fixture(scope="module")
def processor():
    return AutoProcessor.from_pretrained(FOLDER, local_files_only=True)


@pytest.fixture(scope="module")
def model():
    loaded = AutoModelForImageTextToText.from_pretrained(FOLDER, dtype=torch.float32, local_files_only=True)
    return loaded.eval()


@pytest.fixture(scope="module")
def packer(processor):
    return Packer(processor.tokenizer, row_length=384, fact_weight=4.0)


def messages(turns):
    asked = []
    for index, turn in enumerate(turns):
        content = [{"type": "image"}] if index == 0 else []
        asked.append({"role": "user", "content": [*content, {"type": "text", "text": turn.question}]})
        asked.append({"role": "assistant", "content": [{"type": "text", "text": turn.answer}]})
    return asked


def test_weights_load_offline_and_are_as_large_as_promised(model):
    assert type(model).__name__ == "Qwen2_5_VLForConditionalGeneration"
    assert 3e6 <= sum(p.numel() for p in model.parameters()) <= 6e6
    assert (FOLDER / "model.safetensors").stat().st_size < 10_000_000
    assert model.lm_head.weight is model.get_input_embeddings().weight
    half = AutoModelForImageTextToText.from_pretrained(FOLDER, local_files_only=True)
    assert half.dtype == torch.float16


def test_plain_greedy_decoding_is_the_default(model):
    settings = model.generation_config
    assert not settings.do_sample
    assert settings.eos_token_id == model.config.text_config.eos_token_id
    assert settings.repetition_penalty in (None, 1.0)


def test_a_picture_becomes_36_tokens_whatever_it_looks_like(processor):
    picture = draw(make_scene(random.Random(0)))
    for image in (picture, picture.resize((640, 640)), picture.resize((20, 20))):
        text = processor.apply_chat_template(
            [{"role": "user", "content": [{"type": "image"}, {"type": "text", "text": "What do you see?"}]}],
            add_generation_prompt=True,
            tokenize=False,
        )
        inputs = processor(text=[text], images=[image], return_tensors="pt")
        assert (inputs["input_ids"] == processor.image_token_id).sum() == 36
        assert inputs["image_grid_thw"].tolist() == [[1, 12, 12]]


def test_every_byte_can_be_written(processor):
    tokenizer = processor.tokenizer
    text = "Zażółć gęślą jaźń \u4f60\u597d \U0001f600 \t\r\n \x00\x7f {}[]|<>" + "".join(
        map(chr, range(32, 256))
    )
    assert tokenizer.decode(tokenizer(text)["input_ids"]) == __import__("unicodedata").normalize("NFC", text)
    assert tokenizer.vocab_size >= 256 + 700
    ids = [tokenizer.convert_tokens_to_ids(token) for token in SPECIAL_TOKENS]
    assert len(set(ids)) == len(SPECIAL_TOKENS)
    assert max(ids) < 1024
    assert all(tokenizer(token)["input_ids"] == [i] for token, i in zip(SPECIAL_TOKENS, ids, strict=True))


def test_training_rows_are_what_the_chat_template_writes(processor, packer):
    for seed in range(20):
        rng = random.Random(f"template-{seed}")
        turns = multi_turn(rng, make_scene(rng), 3)
        text = processor.apply_chat_template(messages(turns), tokenize=False).replace(
            "<|image_pad|>", "<|image_pad|>" * 36
        )
        ids, said = packer.conversation_ids(turns)
        assert processor.tokenizer(text)["input_ids"] == [*packer.prefix_ids, *ids, *packer.encode("\n")]
        spoken = [i for i, is_said in zip(ids, said, strict=True) if is_said]
        assert processor.tokenizer.decode(spoken) == "".join(turn.answer + "<|im_end|>" for turn in turns)


def test_pixels_and_positions_equal_the_processor_and_the_model(processor, packer, model):
    scene = make_scene(random.Random(5))
    prompt = processor.apply_chat_template(
        [{"role": "user", "content": [{"type": "image"}, {"type": "text", "text": "Hi"}]}], tokenize=False
    )
    inputs = processor(text=[prompt], images=[draw(scene)], return_tensors="pt")
    still = inputs["pixel_values"].view(144, 3, 2, 196)
    np.testing.assert_allclose(patchify(scene), still[:, :, 0].reshape(144, -1), atol=1e-5)
    np.testing.assert_allclose(patchify(scene), still[:, :, 1].reshape(144, -1), atol=1e-5)
    positions, _ = model.model.get_rope_index(
        inputs["input_ids"],
        mm_token_type_ids=inputs["mm_token_type_ids"],
        image_grid_thw=inputs["image_grid_thw"],
    )
    np.testing.assert_array_equal(packer.prefix_positions, positions[-3:, 0, : len(packer.prefix_ids)])


def test_the_batched_tower_equals_the_one_of_transformers(processor, model):
    scenes = [make_scene(random.Random(seed)) for seed in (1, 2)]
    inputs = processor.image_processor(images=[draw(scene) for scene in scenes], return_tensors="pt")
    learner = Learner(model, processor.tokenizer)
    with torch.no_grad():
        ours = learner.encode_pictures(torch.from_numpy(np.stack([patchify(scene) for scene in scenes])))
        theirs = model.model.get_image_features(
            inputs["pixel_values"], inputs["image_grid_thw"]
        ).pooler_output
    torch.testing.assert_close(ours.flatten(0, 1), torch.cat(list(theirs)), atol=1e-4, rtol=1e-4)


def test_packed_conversations_score_as_if_asked_alone(processor, packer, model):
    """The packed loss equals the mean loss of separate passes through the whole model."""
    batch = packer.batch("packed", 1, 3, (0.4, 0.3, 0.1, 0.1))
    learner = Learner(model, processor.tokenizer)
    with torch.no_grad():
        pictures = learner.encode_pictures(batch.patches)
        _, _, packed, _ = learner.text_loss(pictures, batch, packer.picture_start)
    rng = random.Random("packed")
    scene = make_scene(rng, rng.randint(1, 3))
    inputs = processor.image_processor(images=[draw(scene)], return_tensors="pt")
    segments, losses = batch.segments[0], []
    assert segments.max() > 1
    for segment in range(1, int(segments.max()) + 1):
        at = segments == segment
        ids = torch.cat([torch.tensor(packer.prefix_ids), batch.input_ids[0][at]])[None]
        with torch.no_grad():
            scores = model(
                input_ids=ids,
                mm_token_type_ids=(ids == processor.image_token_id).int(),
                pixel_values=inputs["pixel_values"],
                image_grid_thw=inputs["image_grid_thw"],
            ).logits[0, len(packer.prefix_ids) :]
        labels = batch.labels[0][at]
        kept = labels != IGNORED
        losses.append(torch.nn.functional.cross_entropy(scores[kept], labels[kept], reduction="none"))
    assert packed == pytest.approx(torch.cat(losses).mean().item(), abs=1e-3)


def test_the_same_seed_packs_the_same_batch(packer):
    first, second = (packer.batch("same", 2, 6, (0.3, 0.3, 0.1, 0.1)) for _ in range(2))
    assert all(
        torch.equal(getattr(first, key), getattr(second, key))
        for key in vars(first)
        if torch.is_tensor(getattr(first, key))
    )
    assert not torch.equal(first.patches, packer.batch("other", 2, 6, (0.3, 0.3, 0.1, 0.1)).patches)


def test_padding_and_questions_carry_no_loss(packer):
    batch = packer.batch("loss", 4, 6, (0.3, 0.3, 0.1, 0.1))
    assert (batch.labels[batch.segments <= 0] == IGNORED).all()
    assert (batch.weights[batch.labels == IGNORED] == 0).all()
    assert (batch.weights[batch.labels != IGNORED] > 0).all()
    assert (batch.labels[batch.is_fact] != IGNORED).all()


def small_trainer(folder: Path) -> Trainer:
    arguments = [
        "--out",
        str(folder / "out"),
        "--state",
        str(folder / "state.pt"),
        "--init-from",
        str(FOLDER),
    ]
    return Trainer(parse_arguments([*arguments, "--steps", "2", "--pictures", "1", "--device", "cpu"]))


def test_training_resumes_exactly_where_it_was_saved(tmp_path):
    through = small_trainer(tmp_path)
    through.learn_all()
    through.save()
    resumed = small_trainer(tmp_path)
    resumed.resume(tmp_path / "state.pt")
    through.learn_all()
    resumed.learn_all()
    for ours, theirs in zip(through.learner.parameters(), resumed.learner.parameters(), strict=True):
        torch.testing.assert_close(ours, theirs, atol=0, rtol=0)
    exported = AutoModelForImageTextToText.from_pretrained(tmp_path / "out", local_files_only=True)
    assert exported.dtype == torch.float16
    assert sorted(file.name for file in (tmp_path / "out").iterdir()) == sorted(
        file.name for file in FOLDER.iterdir() if file.name != "CARD.md"
    )


def test_broken_foreign_and_missing_states_are_refused_in_one_sentence(tmp_path):
    path = tmp_path / "state.pt"
    with pytest.raises(CheckpointError, match=r"state must exist; got path="):
        load_state(path, "a")
    save_state(path, {"architecture": "a", "weights": torch.zeros(1000)})
    assert load_state(path, "a")["weights"].shape == (1000,)
    with pytest.raises(CheckpointError, match=r"state must belong to this architecture"):
        load_state(path, "b")
    path.write_bytes(path.read_bytes()[:-2000])
    with pytest.raises(CheckpointError, match=r"state must be a whole file written by train.py"):
        load_state(path, "a")
    torch.save({"format": 99}, path)
    with pytest.raises(CheckpointError, match=r"state must be of format 1"):
        load_state(path, "a")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_keeps_the_last_good_state(tmp_path):
    path = tmp_path / "state.pt"
    save_state(path, {"architecture": "a", "step": 1})
    (tmp_path / "state.pt.partial").symlink_to("/dev/full")
    with pytest.raises(CheckpointError, match=r"state must be writable; .* the previous state is kept"):
        save_state(path, {"architecture": "a", "step": 2, "weights": torch.zeros(10_000)})
    assert load_state(path, "a")["step"] == 1


def test_an_export_that_cannot_be_written_is_said_in_one_sentence(tmp_path, processor):
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(CheckpointError, match=r"export must be writable"):
        export(tmp_path / "file" / "out", build_model(build_config(processor.tokenizer)), processor)


def test_train_stops_with_a_sentence_and_no_traceback(tmp_path):
    broken = tmp_path / "broken.pt"
    broken.write_bytes(b"not a state")
    run = subprocess.run(
        [
            sys.executable,
            TEACHING / "train.py",
            "--out",
            tmp_path / "out",
            "--init-from",
            FOLDER,
            "--resume",
            broken,
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 1
    assert run.stderr.strip().splitlines()[-1].startswith("train.py: state must be a whole file")
    assert "Traceback" not in run.stderr


def test_evaluation_items_are_seeded_and_scored_from_parsed_answers():
    items = evaluate.make_items(3)
    assert [item.turn for item in items] == [item.turn for item in evaluate.make_items(3)]
    perfect = evaluate.score(items, [(item.turn.answer, True) for item in items])
    assert set(perfect.values()) == {1.0}
    silent = evaluate.score(items, [("", False) for _ in items])
    assert silent["ends"] == silent["counts"] == silent["shape_attributes"] == 0


def test_the_shipped_model_answers_right(processor, model):
    """A smoke test on 8 pictures, with room for their luck; the measured figures stand in CARD.md."""
    items = evaluate.make_items(8)
    shares = evaluate.score(items, evaluate.answer_all(model, processor, items, batch_size=24))
    assert shares["ends"] == 1.0
    assert shares["shape_attributes"] > 0.75


def test_batched_answers_equal_single_ones(processor, model):
    rng = random.Random("single")
    items = [evaluate.Item(draw(scene), (), converse(rng, scene, (0.5, 0.5, 0.0, 0.0))[0], "short")
             for scene in (make_scene(rng) for _ in range(3))]  # fmt: skip
    together = evaluate.answer_all(model, processor, items, batch_size=3)
    assert together == [evaluate.answer_all(model, processor, [item], batch_size=1)[0] for item in items]
