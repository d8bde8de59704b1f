"""The shipped models: they load offline and are trained on exactly what they meet when asked."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from transformers import AutoModelForImageTextToText, AutoProcessor, AutoTokenizer

sys.path.insert(0, str(Path(__file__).parents[1] / "assets" / "teaching_vlm"))

import evaluate
from architectures import ARCHITECTURES
from checkpoints import CheckpointError, export, load_state, save_state
from family import CAPTION, DRILL, IGNORED, MULTI_TURN, PICTURE_SIZES, TOPICS
from learner import Learner
from packing import Packer
from scenes import FAMILIES
from tokenization import SPECIAL_TOKENS
from train import Trainer, parse_arguments

TEACHING = Path(__file__).parents[1] / "assets" / "teaching_vlm"
SHIPPED = [name for name in ARCHITECTURES if (TEACHING / name / "model.safetensors").exists()]
ALL_FAMILIES = dict.fromkeys(FAMILIES, 1.0)
ALL_TOPICS = {**dict.fromkeys(TOPICS, 1.0), DRILL: 1.0}


@pytest.fixture(scope="module", params=ARCHITECTURES)
def name(request) -> str:
    return request.param


@pytest.fixture(scope="module")
def architecture(name):
    return ARCHITECTURES[name]


@pytest.fixture(scope="module")
def folder(name, architecture, tmp_path_factory) -> Path:
    """The shipped model, or one with random weights where none of this architecture ships."""
    if name in SHIPPED:
        return TEACHING / name
    tokenizer = AutoTokenizer.from_pretrained(TEACHING / "qwen", local_files_only=True)
    tokenizer.chat_template = architecture.chat_template
    for key in ("is_local", "local_files_only"):
        tokenizer.init_kwargs.pop(key, None)
    torch.manual_seed(0)
    made = tmp_path_factory.mktemp("models") / name
    export(made, architecture.build_model(tokenizer), architecture.build_processor(tokenizer))
    return made


@pytest.fixture(scope="module")
def processor(folder):
    return AutoProcessor.from_pretrained(folder, local_files_only=True)


@pytest.fixture(scope="module")
def model(folder):
    loaded = AutoModelForImageTextToText.from_pretrained(folder, dtype=torch.float32, local_files_only=True)
    return loaded.eval()


@pytest.fixture(scope="module")
def packer(architecture, processor):
    return Packer(architecture, processor.tokenizer, row_length=384, fact_weight=4.0)


def picture_of(size: tuple[int, int], seed: int = 0) -> Image.Image:
    """Noise: nothing in it can be left out unnoticed."""
    pixels = np.random.default_rng(seed).integers(0, 256, (size[1], size[0], 3), dtype=np.uint8)
    return Image.fromarray(pixels)


def asked(processor, turns, picture, **options):
    """What the processor makes of a conversation about a picture."""
    text = processor.apply_chat_template(turns, tokenize=False, **options)
    return processor(text=[text], images=[picture], return_tensors="pt")


def messages(turns):
    said = []
    for index, turn in enumerate(turns):
        content = [{"type": "image"}] if index == 0 else []
        said.append({"role": "user", "content": [*content, {"type": "text", "text": turn.question}]})
        said.append({"role": "assistant", "content": [{"type": "text", "text": turn.answer}]})
    return said


QUESTION = [{"role": "user", "content": [{"type": "image"}, {"type": "text", "text": "What do you see?"}]}]


def test_weights_load_offline_and_are_as_large_as_promised(folder, model):
    assert type(model).__name__.startswith(("Qwen2_5_VLFor", "LlavaNextFor"))
    assert 3e6 <= sum(p.numel() for p in model.parameters()) <= 6e6
    assert (folder / "model.safetensors").stat().st_size < 10_000_000
    assert model.get_output_embeddings().weight is model.get_input_embeddings().weight
    half = AutoModelForImageTextToText.from_pretrained(folder, local_files_only=True)
    assert half.dtype == torch.float16


def test_plain_greedy_decoding_is_the_default(model):
    settings = model.generation_config
    assert not settings.do_sample
    assert settings.eos_token_id == model.config.text_config.eos_token_id
    assert settings.repetition_penalty in (None, 1.0)


def test_any_picture_becomes_at_most_as_many_tokens_as_the_largest_drawn(processor, architecture):
    most = max(len(architecture.prefix(processor.tokenizer, size).centers) for size in PICTURE_SIZES)
    for size in ((640, 640), (20, 20), (1000, 400), (300, 900)):
        ids = asked(processor, QUESTION, picture_of(size))["input_ids"]
        assert 20 <= (ids == processor.image_token_id).sum() <= most + 24


def test_every_byte_can_be_written(processor):
    tokenizer = processor.tokenizer
    text = "Zażółć gęślą jaźń \u4f60\u597d \U0001f600 \t\r\n \x00\x7f {}[]|<>" + "".join(
        map(chr, range(32, 256))
    )
    assert tokenizer.decode(tokenizer(text)["input_ids"]) == __import__("unicodedata").normalize("NFC", text)
    assert tokenizer.vocab_size >= 256 + 700
    ids = [tokenizer.convert_tokens_to_ids(token) for token in SPECIAL_TOKENS]
    assert len(set(ids)) == len(SPECIAL_TOKENS)
    assert all(tokenizer(token)["input_ids"] == [i] for token, i in zip(SPECIAL_TOKENS, ids, strict=True))


@pytest.mark.parametrize("family", FAMILIES)
def test_training_rows_are_what_the_processor_writes(processor, packer, family):
    for seed in range(5):
        rng = random.Random(f"template-{seed}")
        scene = FAMILIES[family].make_scene(rng)
        picture = FAMILIES[family].draw(scene)
        turns = FAMILIES[family].converse(rng, scene, MULTI_TURN)
        ids, said = packer.conversation_ids(turns)
        prefix = packer.prefix(picture.size)
        inputs = asked(processor, messages(turns), picture)
        assert inputs["input_ids"][0].tolist() == [*prefix.ids, *ids, *packer.encode("\n")]
        spoken = [i for i, is_said in zip(ids, said, strict=True) if is_said]
        assert processor.tokenizer.decode(spoken) == "".join(turn.answer + "<|im_end|>" for turn in turns)


@pytest.mark.parametrize("size", PICTURE_SIZES)
def test_pictures_and_positions_equal_the_processor_and_the_model(processor, packer, model, size):
    pictures = [picture_of(size, seed) for seed in (1, 2)]
    inputs = [asked(processor, QUESTION, picture) for picture in pictures]
    with torch.no_grad():
        ours = packer.architecture.encode(model, packer.architecture.prepare(pictures))
        for vectors, values in zip(ours, inputs, strict=True):
            seen = {
                key: values[key] for key in ("pixel_values", "image_grid_thw", "image_sizes") if key in values
            }
            theirs = model.get_image_features(**seen).pooler_output[0]
            torch.testing.assert_close(vectors, theirs, atol=1e-4, rtol=1e-4)
    prefix, ids = packer.prefix(size), inputs[0]["input_ids"]
    positions = np.arange(ids.shape[1])[None]
    if "image_grid_thw" in inputs[0]:
        positions = model.model.get_rope_index(
            ids, mm_token_type_ids=inputs[0]["mm_token_type_ids"], image_grid_thw=inputs[0]["image_grid_thw"]
        )[0][-3:, 0].numpy()
    behind = prefix.next_position + np.arange(ids.shape[1] - len(prefix.ids))
    expected = np.concatenate(
        [prefix.position_ids, np.broadcast_to(behind, (len(positions), len(behind)))], axis=1
    )
    np.testing.assert_array_equal(expected, positions)


@pytest.mark.parametrize("size", PICTURE_SIZES)
def test_each_picture_token_is_where_its_center_says(processor, packer, model, size):
    """Changing the pixels around a token's centre changes that token's vector more than most others."""
    prefix, picture = packer.prefix(size), Image.new("RGB", size, (250, 250, 250))
    seen = np.flatnonzero(~np.isnan(prefix.centers[:, 0]))
    with torch.no_grad():
        (before,) = packer.architecture.encode(model, packer.architecture.prepare([picture]))
        for token in seen[:: max(1, len(seen) // 12)]:
            x, y = prefix.centers[token]
            marked = picture.copy()
            marked.paste((200, 30, 30), (int(x) - 7, int(y) - 7, int(x) + 7, int(y) + 7))
            (after,) = packer.architecture.encode(model, packer.architecture.prepare([marked]))
            change = (after - before).norm(dim=1)
            assert (change > change[token]).sum() < len(change) / 4


def test_packed_conversations_score_as_if_asked_alone(processor, packer, model):
    """The packed loss equals the mean loss of separate passes through the whole model."""
    batch = packer.batch("packed", 1, {"shapes": 1.0}, {CAPTION: 1.0, DRILL: 1.0}, True)
    learner = Learner(packer.architecture, model, processor.tokenizer)
    with torch.no_grad():
        *_, told = learner.text_loss(learner.encode_pictures(batch), batch)
    model.set_attn_implementation("sdpa")
    rng = random.Random("packed")
    rng.choices(["shapes"], [1.0])
    picture = FAMILIES["shapes"].draw(FAMILIES["shapes"].make_scene(rng, True))
    inputs = asked(processor, QUESTION, picture)
    prefix, segments, losses = packer.prefix(picture.size), batch.segments[0], []
    assert segments.max() > 1
    for segment in range(1, int(segments.max()) + 1):
        at = segments == segment
        ids = torch.cat([torch.tensor(prefix.ids), batch.input_ids[0][at]])[None]
        seen = {
            key: inputs[key] for key in ("pixel_values", "image_grid_thw", "image_sizes") if key in inputs
        }
        if "image_grid_thw" in seen:
            seen["mm_token_type_ids"] = (ids == processor.image_token_id).int()
        with torch.no_grad():
            scores = model(input_ids=ids, **seen).logits[0, len(prefix.ids) :]
        labels = batch.labels[0][at]
        kept = labels != IGNORED
        losses.append(torch.nn.functional.cross_entropy(scores[kept], labels[kept], reduction="none"))
    assert told["loss"] == pytest.approx(torch.cat(losses).mean().item(), abs=1e-3)


def test_the_same_seed_packs_the_same_batch(packer):
    first, second = (packer.batch("same", 4, ALL_FAMILIES, ALL_TOPICS) for _ in range(2))
    for key in ("input_ids", "labels", "weights", "segments", "position_ids", "is_picture"):
        assert torch.equal(getattr(first, key), getattr(second, key)), key
    for key in first.dense:
        assert torch.equal(first.dense[key], second.dense[key]), key
    other = packer.batch("other", 4, ALL_FAMILIES, ALL_TOPICS)
    assert not torch.equal(first.input_ids, other.input_ids)


def test_padding_and_questions_carry_no_loss(packer):
    batch = packer.batch("loss", 6, ALL_FAMILIES, ALL_TOPICS)
    assert (batch.labels[batch.segments <= 0] == IGNORED).all()
    assert (batch.weights[batch.labels == IGNORED] == 0).all()
    assert (batch.weights[batch.labels != IGNORED] > 0).all()
    assert (batch.labels[batch.is_fact] != IGNORED).all()
    assert batch.is_picture.sum() == len(batch.dense["color"])


def small_trainer(folder: Path, out: Path) -> Trainer:
    arguments = ["--out", str(out / "out"), "--state", str(out / "state.pt"), "--architecture", folder.name]
    arguments += [
        "--init-from",
        str(folder),
        "--tokenizer",
        str(folder),
        "--device",
        "cpu",
        "--vision-steps",
        "0",
    ]
    return Trainer(parse_arguments([*arguments, "--steps", "2", "--pictures", "1"]))


def test_training_resumes_exactly_where_it_was_saved(folder, tmp_path):
    through = small_trainer(folder, tmp_path)
    through.learn_all()
    through.save()
    resumed = small_trainer(folder, tmp_path)
    resumed.resume(tmp_path / "state.pt")
    through.learn_all()
    resumed.learn_all()
    for ours, theirs in zip(through.learner.parameters(), resumed.learner.parameters(), strict=True):
        torch.testing.assert_close(ours, theirs, atol=0, rtol=0)
    exported = AutoModelForImageTextToText.from_pretrained(tmp_path / "out", local_files_only=True)
    assert exported.dtype == torch.float16
    assert sorted(file.name for file in (tmp_path / "out").iterdir()) == sorted(
        file.name for file in folder.iterdir() if file.name != "CARD.md"
    )


def test_exported_weights_start_another_training_unchanged(folder, model, tmp_path):
    trainer = small_trainer(folder, tmp_path)
    given = dict(model.named_parameters())
    known = len(trainer.processor.tokenizer)  # the rows behind belong to no token
    for name, parameter in trainer.learner.model.named_parameters():
        rows = slice(known if "embed_tokens" in name else None)
        assert torch.equal(parameter[rows], given[name][rows]), name


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


def test_an_export_that_cannot_be_written_is_said_in_one_sentence(tmp_path, processor, model):
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(CheckpointError, match=r"export must be writable"):
        export(tmp_path / "file" / "out", model, processor)


def test_train_stops_with_a_sentence_and_no_traceback(tmp_path):
    broken = tmp_path / "broken.pt"
    broken.write_bytes(b"not a state")
    arguments = ["--out", tmp_path / "out", "--tokenizer", TEACHING / "qwen", "--resume", broken]
    run = subprocess.run(
        [sys.executable, TEACHING / "train.py", *arguments], capture_output=True, text=True, check=False
    )
    assert run.returncode == 1
    assert run.stderr.strip().splitlines()[-1].startswith("train.py: state must be a whole file")
    assert "Traceback" not in run.stderr


def test_evaluation_items_are_seeded_and_scored_from_parsed_answers():
    items = evaluate.make_items(2, list(FAMILIES))
    assert [item.turn for item in items] == [item.turn for item in evaluate.make_items(2, list(FAMILIES))]
    perfect = evaluate.score(items, [(item.turn.answer, True) for item in items])
    assert set(perfect.values()) == {1.0}
    silent = evaluate.score(items, [("", False) for _ in items])
    assert silent["ends"] == silent["facts"] == silent["exact text"] == 0


def test_the_shipped_model_answers_right(name, processor, model):
    """A smoke test on a few pictures, with room for their luck; the measured figures stand in CARD.md."""
    if name not in SHIPPED:
        pytest.skip(f"no weights of {name} ship")
    items = evaluate.make_items(6, ["shapes"])
    shares = evaluate.score(items, evaluate.answer_all(model, processor, items, batch_size=24))
    assert shares["ends"] > 0.9
    assert shares["facts"] > 0.75


def test_batched_answers_equal_single_ones(name, processor, model):
    if name not in SHIPPED:
        pytest.skip(f"no weights of {name} ship")
    items = [item for item in evaluate.make_items(1, list(FAMILIES)) if item.part == DRILL]
    together = evaluate.answer_all(model, processor, items, batch_size=len(items))
    assert together == [evaluate.answer_all(model, processor, [item], batch_size=1)[0] for item in items]
