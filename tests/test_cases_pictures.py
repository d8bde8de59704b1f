"""Pictures that broke other programs (A01 to A06), through every way in: library, page, command line, benchmark."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from page_runs import PageTarget, Tab, make_page
from PIL import Image

from demo.states import MAX_PREVIEW_PIXELS, describe, preview
from recap import cli
from recap.bench.runner import BenchRunner
from recap.bench.settings import BenchSettings
from recap.bench.workload import read_workload
from recap.drafters import AutoregressiveDrafter
from recap.engine import generate
from recap.errors import InputError
from recap.pictures import MAX_COSTLY_PIXELS, open_picture
from recap.pixels import MAX_MODEL_PIXELS

CASES = Path(__file__).parent / "cases"
GOOD = {
    "A01": ("phone_exif6.jpg", "upright"),
    "A02 strip": ("strip_332x27.png", "enlarged"),
    "A02 ribbon": ("ribbon_4000x10.png", "padded"),
    "A03": ("logo_transparent_black_text.png", "over white"),
    "A04 16 bit": ("gray16_256x96.png", "8 bits"),
    "A04 grey": ("gray8_300x120.jpg", ""),
    "A04 1 bit": ("fax_1bit.png", ""),
    "A05": ("anim_3frames.gif", "first frame"),
    "A06 misnamed": ("really_png.jpg", ""),
}
BAD = {
    "A06 half": ("truncated_half.png", "cut off"),
    "A06 tail": ("truncated_tail.jpg", "cut off"),
    "A06 empty": ("empty.png", "empty"),
    "A06 SVG": ("drawing.svg", "SVG"),
}


class Listener(PageTarget):
    """Keeps the pictures that reach it, and answers none."""

    def __init__(self) -> None:
        super().__init__()
        self.images: list[Image.Image] = []

    def build_request(self, image, question, max_new_tokens=200, history=()):
        self.images.append(image)
        raise InputError("That is all.")


def by_page(path: Path, folder: Path) -> tuple[Image.Image, Image.Image, str]:
    """The page's preview, what its model is given, and the note below the preview."""
    uploaded = str(shutil.copy(path, folder / path.name))
    target = Listener()
    tab = Tab(make_page(target), "a")
    preview, note, _ = tab.handlers.receive_picture(SimpleNamespace(path=uploaded), tab.request)
    assert tab.run()["status"]["sentence"] == "That is all."
    return preview, target.images[0], note["sentence"]


def by_command_line(path: Path, monkeypatch) -> Image.Image:
    target = Listener()
    monkeypatch.setattr("recap.targets.loading.load_target", lambda model: target)
    assert cli.main(["run", "--image", str(path), "--question", "What?"]) == 2
    return target.images[0]


def by_benchmark(path: Path, folder: Path) -> Image.Image:
    (folder / "images").mkdir()
    shutil.copy(path, folder / "images" / path.name)
    line = {"id": "1", "image": path.name, "turns": ["What?"]}
    (folder / "mmspec.jsonl").write_text(json.dumps(line))
    workload = read_workload(folder)
    target = Listener()
    list(BenchRunner(target, BenchSettings(methods=("ar",))).run(workload.conversations))
    return target.images[-1]


@pytest.mark.parametrize("case", GOOD)
def test_a01_to_a06_every_way_in_gives_the_model_the_same_picture(case, tmp_path, monkeypatch):
    name, said = GOOD[case]
    monkeypatch.setenv("GRADIO_TEMP_DIR", str(tmp_path))
    picture = open_picture(CASES / name)
    expected = np.asarray(picture.image)
    preview, given, note = by_page(CASES / name, tmp_path)
    ways = [preview, given, by_command_line(CASES / name, monkeypatch), by_benchmark(CASES / name, tmp_path)]
    for image in ways:
        assert image.mode == "RGB"
        assert np.array_equal(np.asarray(image), expected)
    assert note == describe(picture)
    assert all(sentence in note for sentence in picture.notes)
    assert said in note
    assert bool(picture.notes) == bool(said), "what was not changed is not said to be"


@pytest.mark.parametrize("case", BAD)
def test_a06_every_way_in_refuses_with_the_same_sentence_before_any_model(
    case, tmp_path, monkeypatch, capsys
):
    name, said = BAD[case]
    monkeypatch.setenv("GRADIO_TEMP_DIR", str(tmp_path))
    uploaded = str(shutil.copy(CASES / name, tmp_path / name))
    target = PageTarget()
    handlers = make_page(target)
    request = SimpleNamespace(session_hash="a")
    preview, _, status = handlers.receive_picture(SimpleNamespace(path=uploaded), request)
    assert preview is None
    assert said in status["sentence"]
    assert handlers._session(request).picture_path is None
    assert target.num_passes == 0
    monkeypatch.setattr("recap.targets.loading.load_target", lambda model: pytest.fail("no model is needed"))
    assert cli.main(["run", "--image", str(CASES / name), "--question", "What?"]) == 2
    assert capsys.readouterr().err.strip() == status["sentence"]
    with pytest.raises(InputError) as refused:
        open_picture((CASES / name).read_bytes())
    assert str(refused.value) == status["sentence"]


@pytest.mark.parametrize(
    "name",
    [
        "phone_exif6.jpg",
        "strip_332x27.png",
        "ribbon_4000x10.png",
        "gray8_300x120.jpg",
        "gray16_256x96.png",
        "fax_1bit.png",
    ],
)
def test_a01_a02_a04_every_shipped_model_reads_them(name, shipped_target):
    """The processor takes every picture that has come through the door, and has places for it."""
    image = open_picture(CASES / name).image
    request = shipped_target.build_request(image, "What is in the picture?", 2)
    assert request.num_image_tokens > 0
    *_, finished = generate(shipped_target, AutoregressiveDrafter(), request)
    assert 1 <= len(finished.output_ids) <= 2


@pytest.mark.parametrize("name", ["strip_332x27.png", "ribbon_4000x10.png", "gray8_300x120.jpg"])
def test_a02_the_grid_keeps_the_picture_s_shape(name, teaching_target):
    image = open_picture(CASES / name).image
    request = teaching_target.build_request(image, "What is in the picture?", 4)
    _, height, width = request.model_inputs["image_grid_thw"][0].tolist()
    assert request.num_image_tokens == height * width // 4
    assert width > height


def test_a01_the_turned_photo_takes_as_many_picture_tokens_as_the_upright_one(shipped_target):
    counts = {
        shipped_target.build_request(open_picture(CASES / name).image, "What?", 4).num_image_tokens
        for name in ("phone_exif6.jpg", "phone_upright_reference.png")
    }
    assert len(counts) == 1


def test_a01_a_turned_tiff_says_so_too(tmp_path):
    image, exif = Image.new("RGB", (60, 40), "white"), Image.Exif()
    image.paste((255, 0, 0), (0, 0, 20, 20))
    exif[0x0112] = 6
    image.save(tmp_path / "scan.tiff", exif=exif)
    picture = open_picture(tmp_path / "scan.tiff")
    assert picture.original_size == picture.image.size == (40, 60)
    assert picture.image.getpixel((35, 5)) == (255, 0, 0)
    assert picture.notes == ("Turned upright, as the camera noted.",)


def test_a03_a04_a_wide_grey_with_a_transparent_level_is_laid_over_white(tmp_path):
    levels = np.full((40, 40), 1000, np.uint16)
    levels[10:20, 10:20], levels[20:30, 20:30] = 30_000, 60_000
    Image.fromarray(levels).save(tmp_path / "scan.png", transparency=1000)
    picture = open_picture(tmp_path / "scan.png")
    assert [picture.image.getpixel(place)[0] for place in ((0, 0), (15, 15), (25, 25))] == [255, 0, 255]
    assert len(picture.notes) == 2


def test_a04_a_scan_that_counts_from_white_is_not_shown_as_its_negative(tmp_path):
    levels = np.full((40, 40), 1000, np.uint16)
    levels[10:20, 10:20] = 60_000
    Image.fromarray(levels).save(tmp_path / "scan.tiff", tiffinfo={262: 0})
    image = open_picture(tmp_path / "scan.tiff").image
    assert (image.getpixel((0, 0))[0], image.getpixel((15, 15))[0]) == (255, 0)


def test_a02_a_very_large_picture_is_made_smaller_in_its_shape_and_says_so():
    large = Image.fromarray(np.linspace(0, 255, 5000 * 4000, dtype=np.uint8).reshape(4000, 5000))
    picture = open_picture(large)
    width, height = picture.image.size
    assert width * height <= MAX_MODEL_PIXELS < (width + 2) * (height + 2)
    assert width / height == pytest.approx(1.25, rel=1e-3)
    assert picture.original_size == (5000, 4000)
    assert picture.notes == (f"Very large: made smaller to {width} × {height} pixels.",)
    whole = np.asarray(large.resize((width, height), Image.Resampling.BOX), int)
    assert np.abs(np.asarray(picture.image)[..., 0] - whole).max() <= 1, "strips leave no seams"


def test_a02_the_preview_of_a_large_picture_is_the_model_s_in_the_pixels_of_a_screen():
    large = open_picture(
        Image.fromarray(np.linspace(0, 255, 3000 * 4000, dtype=np.uint8).reshape(3000, 4000))
    )
    shown = preview(large)
    assert shown.width * shown.height <= MAX_PREVIEW_PIXELS < (shown.width + 2) * (shown.height + 2)
    assert shown.width / shown.height == pytest.approx(4 / 3, rel=1e-3)
    whole = np.asarray(large.image.resize(shown.size, Image.Resampling.BOX), int)
    assert np.abs(np.asarray(shown) - whole).max() <= 2
    assert large.image.size == (4000, 3000), "what the model gets is left as it is"


def test_a02_formats_that_cost_much_memory_are_refused_sooner():
    assert set(MAX_COSTLY_PIXELS) == {"WEBP", "AVIF", "progressive JPEG"}
    image = Image.new("RGB", (4000, 3100))
    image.format = "WEBP"  # what a file's header would have said
    with pytest.raises(InputError, match="12 million"):
        open_picture(image)
