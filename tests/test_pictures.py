"""The one door for pictures: what comes out is upright, RGB and complete, or one sentence says why not."""

from __future__ import annotations

import base64
import io
import time
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFile

from recap.errors import InputError
from recap.pictures import MAX_PICTURE_BYTES, open_picture, thumbnail_data_url

CASES = Path(__file__).parent / "cases"


def encode(image: Image.Image, image_format: str, **options) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, image_format, **options)
    return buffer.getvalue()


def drawing(size: tuple[int, int] = (90, 60)) -> Image.Image:
    image = Image.new("RGB", size, "white")
    ImageDraw.Draw(image).rectangle([10, 10, size[0] // 2, size[1] - 10], fill=(20, 60, 200))
    return image


def refusal(source) -> str:
    """The sentence with which a source is refused, in under a second."""
    start = time.perf_counter()
    with pytest.raises(InputError) as refused:
        open_picture(source)
    assert time.perf_counter() - start < 1
    sentence = str(refused.value)
    assert sentence.endswith(".")
    assert "\n" not in sentence
    return sentence


def test_a01_phone_photo_is_turned_upright():
    picture = open_picture(CASES / "phone_exif6.jpg")
    reference = open_picture(CASES / "phone_upright_reference.png")
    assert picture.image.size == picture.original_size == (160, 240)
    difference = np.abs(np.asarray(picture.image, float) - np.asarray(reference.image, float)).mean()
    assert difference < 3
    assert picture.notes == ("Turned upright, as the camera noted.",)
    assert reference.notes == ()
    assert picture.image.getexif().get(0x0112, 1) == 1


@pytest.mark.parametrize("orientation", range(1, 9))
def test_a01_every_camera_turn_is_undone(orientation):
    upright = Image.new("RGB", (40, 60), "white")
    ImageDraw.Draw(upright).rectangle([0, 0, 15, 15], fill="red")
    # The PIL transpose that stores the pixels in the way each tag says.
    undo = {2: 0, 3: 3, 4: 1, 5: 5, 6: 2, 7: 6, 8: 4}
    stored = upright.transpose(Image.Transpose(undo[orientation])) if orientation > 1 else upright
    exif = Image.Exif()
    exif[0x0112] = orientation
    picture = open_picture(encode(stored, "PNG", exif=exif))
    assert np.array_equal(np.asarray(picture.image), np.asarray(upright))


def test_a02_thin_strip_is_enlarged_in_its_shape():
    picture = open_picture(CASES / "strip_332x27.png")
    assert picture.original_size == (332, 27)
    assert picture.image.size == (344, 28)
    assert "enlarged to 344 × 28" in picture.notes[0]


def test_a02_ribbon_is_padded_not_squeezed():
    picture = open_picture(CASES / "ribbon_4000x10.png")
    assert picture.image.size == (4000, 28)
    assert "padded" in picture.notes[0]
    drawn = np.asarray(picture.image)[9:19]
    assert np.array_equal(drawn, np.asarray(Image.open(CASES / "ribbon_4000x10.png").convert("RGB")))


@pytest.mark.parametrize("size", [(1, 1), (1, 5000), (16000, 1), (27, 27), (28, 5601), (5, 900)])
def test_a02_every_size_meets_the_limits_of_the_model(size):
    width, height = open_picture(Image.new("RGB", size)).image.size
    assert min(width, height) >= 28
    assert max(width, height) <= 200 * min(width, height)


def test_a03_transparency_is_laid_over_white():
    picture = open_picture(CASES / "logo_transparent_black_text.png")
    values = np.asarray(picture.image)
    assert values.mean() > 200
    assert values.min() < 50
    assert values.max() == 255
    assert picture.notes == ("Transparent parts were laid over white.",)


@pytest.mark.parametrize("mode", ["LA", "RGBA", "PA"])
def test_a03_every_transparent_mode_is_laid_over_white(mode):
    clear = Image.new("RGBA", (40, 40), (0, 0, 0, 0)).convert(mode)
    assert np.asarray(open_picture(clear).image).min() == 255


def test_a03_palette_and_grey_with_a_transparent_index_become_white():
    palette = Image.new("P", (40, 40), 3)
    palette.putpalette([0, 0, 0] * 256)
    for image in (palette, Image.new("L", (40, 40), 3)):
        picture = open_picture(encode(image, "PNG", transparency=3))
        assert np.asarray(picture.image).min() == 255


def test_a04_sixteen_bit_grey_is_scaled_by_its_range():
    picture = open_picture(CASES / "gray16_256x96.png")
    row = np.asarray(picture.image)[5, :, 0].astype(int)
    assert row[0] == 0
    assert 100 < row[-1] < 255
    assert (np.diff(row) >= 0).all()
    assert np.asarray(picture.image)[48, 128, 0] == 255
    assert "8 bits" in picture.notes[0]


def test_a04_wide_greys_with_no_range_or_no_number_stay_pictures():
    flat = np.full((40, 40), 65535, np.uint16)
    assert np.asarray(open_picture(Image.fromarray(flat)).image).min() == 255
    broken = np.full((40, 40), np.nan, np.float32)
    assert open_picture(Image.fromarray(broken)).image.mode == "RGB"
    broken[:, :20] = 1.0
    broken[:, 0] = np.inf
    assert open_picture(Image.fromarray(broken)).image.mode == "RGB"


@pytest.mark.parametrize("name", ["gray8_300x120.jpg", "fax_1bit.png"])
def test_a04_grey_and_one_bit_pictures_have_three_channels(name):
    picture = open_picture(CASES / name)
    values = np.asarray(picture.image)
    assert values.shape[2] == 3
    assert values.min() < 60
    assert values.max() > 200
    assert picture.notes == ()


@pytest.mark.parametrize("mode", ["CMYK", "YCbCr", "HSV", "LAB", "P", "L", "1"])
def test_a04_every_colour_mode_becomes_rgb(mode):
    assert open_picture(drawing().convert(mode)).image.mode == "RGB"


def test_a04_colours_without_a_conversion_are_refused():
    assert "La" in refusal(Image.new("La", (40, 40)))


def test_a05_first_frame_of_an_animation_is_used_and_said():
    picture = open_picture(CASES / "anim_3frames.gif")
    assert picture.image.getpixel((3, 3)) == pytest.approx((250, 210, 60), abs=6)
    assert picture.notes == ("Animated: the first frame is used.",)


@pytest.mark.parametrize("image_format", ["PNG", "WEBP"])
def test_a05_animated_png_and_webp_use_their_first_frame(image_format):
    black = Image.new("RGB", (90, 60))
    data = encode(drawing(), image_format, save_all=True, append_images=[black], lossless=True)
    picture = open_picture(data)
    assert np.array_equal(np.asarray(picture.image), np.asarray(drawing()))
    assert "first frame" in picture.notes[0]


def test_a05_first_page_of_a_fax_is_used_and_said():
    data = encode(drawing(), "TIFF", save_all=True, append_images=[drawing()])
    assert open_picture(data).notes == ("Several pages: the first one is used.",)


def test_a06_content_decides_not_the_name():
    assert open_picture(CASES / "really_png.jpg").image.size == (160, 240)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("truncated_half.png", "cut off"),
        ("truncated_tail.jpg", "cut off"),
        ("empty.png", "empty"),
        ("drawing.svg", "SVG"),
        ("prompts.txt", "text file"),
        ("missing.png", "no picture file"),
    ],
)
def test_a06_damaged_and_foreign_files_get_one_sentence(name, says):
    assert says in refusal(CASES / name)


def test_a06_text_called_png_a_pdf_a_heic_and_noise_are_named():
    assert "text file" in refusal("naïve café — not a picture".encode())
    assert "PDF" in refusal(b"%PDF-1.7 ...")
    assert "HEIC" in refusal(b"\0\0\0\x18ftypheic" + bytes(40))
    assert "not a picture" in refusal(bytes(range(256)) * 8)
    assert "text file" in refusal(("é" * 600).encode()[:1025])


@pytest.mark.parametrize("image_format", ["PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF", "PPM"])
def test_a06_every_format_cut_in_the_middle_is_refused(image_format):
    noise = Image.fromarray(np.random.default_rng(3).integers(0, 255, (60, 60, 3), dtype=np.uint8))
    data = encode(noise, image_format)
    assert open_picture(data).image.size == (60, 60)
    for cut in (len(data) // 2, len(data) - 100):
        refusal(data[:cut])


def test_a06_no_process_wide_tolerance_is_switched_on():
    with pytest.raises(InputError):
        open_picture(CASES / "truncated_half.png")
    assert ImageFile.LOAD_TRUNCATED_IMAGES is False


def test_a06_mutated_files_give_a_picture_or_a_sentence():
    random = np.random.default_rng(11)
    originals = [encode(drawing(), kind) for kind in ("PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF")]
    outcomes = set()
    for index in range(300):
        data = bytearray(originals[index % len(originals)])
        for position in random.integers(0, len(data), 6):
            data[position] = random.integers(0, 256)
        try:
            outcomes.add(open_picture(bytes(data)).image.mode)
        except InputError as error:
            outcomes.add(str(error)[-1])
    assert outcomes == {"RGB", "."}


def test_limits_are_checked_before_decoding():
    header = encode(Image.new("1", (7000, 6000)), "PNG")
    assert "40 million" in refusal(header)
    assert "at most 16384" in refusal(encode(Image.new("1", (17000, 10)), "PNG"))
    assert "20 MB" in refusal(bytes(MAX_PICTURE_BYTES + 1))
    bomb = bytearray(encode(Image.new("1", (8, 8)), "BMP"))
    bomb[18:26] = (60_000).to_bytes(4, "little") * 2
    assert "too large" in refusal(bytes(bomb))


def test_a_directory_and_an_impossible_name_are_refused(tmp_path):
    assert "no picture file" in refusal(tmp_path)
    assert refusal("a\0b")


def test_a_pil_image_is_left_as_it_was():
    source = drawing()
    picture = open_picture(source)
    picture.image.paste((0, 0, 0), (0, 0, 50, 50))
    assert np.array_equal(np.asarray(source), np.asarray(drawing()))


def test_thumbnail_is_small_and_decodes_to_the_same_shape():
    noise = Image.fromarray(np.random.default_rng(5).integers(0, 255, (900, 1200, 3), dtype=np.uint8))
    for image, kind in ((drawing(), "png"), (noise, "jpeg")):
        head, _, body = thumbnail_data_url(image).partition(",")
        decoded = Image.open(io.BytesIO(base64.b64decode(body)))
        assert head == f"data:image/{kind};base64"
        assert max(decoded.size) <= 240
        assert decoded.size[0] / decoded.size[1] == pytest.approx(image.size[0] / image.size[1], rel=0.01)
    assert image.size == (1200, 900)
