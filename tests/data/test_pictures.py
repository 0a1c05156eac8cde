"""Pixels are exact to one step, whatever the file; what cannot be read is named."""

import struct
import zlib

import numpy as np
import pytest

pytest.importorskip("PIL", reason="needs pillow: pip install regard[vision]")
from PIL import Image

from regard.data.signal import pictures
from regard.data.signal.pictures import in_channels, read_picture, resized
from regard.errors import DataError

RANDOM = np.random.default_rng(5)
GREY = RANDOM.integers(0, 256, (7, 5), dtype=np.uint8)
COLOURS = RANDOM.integers(0, 256, (7, 5, 3), dtype=np.uint8)


def saved(tmp_path, image, name="picture.png", **given):
    path = tmp_path / name
    image.save(path, **given)
    return path


@pytest.mark.parametrize("name", ["grey.png", "grey.webp", "grey.bmp", "grey.tiff", "grey.gif"])
def test_eight_bits_of_grey_are_what_they_were(name, tmp_path):
    given = {"lossless": True} if name.endswith("webp") else {}
    found = read_picture(saved(tmp_path, Image.fromarray(GREY), name, **given))
    assert (found == GREY[..., None]).all() and found.dtype == np.uint8


@pytest.mark.parametrize("name", ["colours.png", "colours.webp", "colours.bmp"])
def test_colours_are_what_they_were(name, tmp_path):
    given = {"lossless": True} if name.endswith("webp") else {}
    found = read_picture(saved(tmp_path, Image.fromarray(COLOURS), name, **given))
    assert (found == COLOURS).all()


def test_a_jpeg_is_near_and_has_its_size(tmp_path):
    smooth = np.add.outer(np.arange(40), np.arange(24)).astype(np.uint8)
    found = read_picture(saved(tmp_path, Image.fromarray(smooth), "smooth.jpg", quality=95))
    assert found.shape == (40, 24, 1) and np.abs(found[..., 0].astype(int) - smooth).max() <= 3


def test_sixteen_bits_are_not_cut_to_eight(tmp_path):
    deep = RANDOM.integers(0, 65536, (5, 3), dtype=np.uint16)
    found = read_picture(saved(tmp_path, Image.fromarray(deep)))
    assert found.dtype == np.uint16 and (found[..., 0] == deep).all()


def test_one_bit_is_black_and_white(tmp_path):
    found = read_picture(saved(tmp_path, Image.fromarray(GREY > 127)))
    assert set(found.ravel().tolist()) == {0, 255} and ((found[..., 0] > 0) == (GREY > 127)).all()


def test_a_palette_becomes_its_colours(tmp_path):
    image = Image.new("P", (2, 2))
    image.putpalette([10, 20, 30, 40, 50, 60, 70, 80, 90])
    image.putdata([0, 1, 2, 1])
    found = read_picture(saved(tmp_path, image))
    assert found.tolist() == [[[10, 20, 30], [40, 50, 60]], [[70, 80, 90], [40, 50, 60]]]


def test_what_is_transparent_shows_the_background(tmp_path):
    pixels = np.zeros((1, 3, 4), dtype=np.uint8)
    pixels[0, :, 0], pixels[0, :, 3] = 200, (0, 128, 255)
    found = read_picture(saved(tmp_path, Image.fromarray(pixels)))
    assert found[0, :, 0].tolist() == [0, round(200 * 128 / 255), 200] and not found[..., 1:].any()


def test_the_first_of_moving_pictures_is_read(tmp_path):
    frames = [Image.fromarray(np.full((4, 6), value, dtype=np.uint8)) for value in (50, 150, 250)]
    path = tmp_path / "moving.gif"
    frames[0].save(path, save_all=True, append_images=frames[1:])
    assert (read_picture(path) == 50).all()


@pytest.mark.parametrize("orientation", range(1, 9))
def test_a_camera_s_picture_stands_as_it_was_held(orientation, tmp_path):
    shown = GREY[..., None]
    # How the file's rows lie, by the orientation that the file names: EXIF 2.3, section 4.6.4, tag 0x0112.
    lie = {
        1: lambda x: x,
        2: lambda x: x[:, ::-1],
        3: lambda x: x[::-1, ::-1],
        4: lambda x: x[::-1],
        5: lambda x: x.swapaxes(0, 1),
        6: lambda x: np.rot90(x),
        7: lambda x: np.rot90(x, 2).swapaxes(0, 1),
        8: lambda x: np.rot90(x, -1),
    }
    exif = Image.Exif()
    exif[0x0112] = orientation
    stored = np.ascontiguousarray(lie[orientation](shown))[..., 0]
    found = read_picture(saved(tmp_path, Image.fromarray(stored), exif=exif))
    assert (found == shown).all()


def test_faults_are_named(tmp_path):
    whole = saved(tmp_path, Image.fromarray(COLOURS)).read_bytes()
    cut, text, nothing = (tmp_path / name for name in ("cut.png", "text.png", "nothing.png"))
    cut.write_bytes(whole[: len(whole) // 2])
    text.write_text("no picture")
    nothing.write_bytes(b"")
    for path in (cut, text, nothing):
        with pytest.raises(DataError, match=f"cannot read the picture .*{path.name}"):
            read_picture(path)
    with pytest.raises(DataError, match=r"there is no file .*missing\.png"):
        read_picture(tmp_path / "missing.png")


def test_a_bomb_is_refused_before_it_is_unpacked(tmp_path):
    """A header that promises more pixels than are read; no such pixels are in the file."""

    def part(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    head = struct.pack(">IIBBBBB", 60_000, 60_000, 8, 0, 0, 0, 0)
    data = b"\x89PNG\r\n\x1a\n" + part(b"IHDR", head) + part(b"IDAT", zlib.compress(b"")) + part(b"IEND", b"")
    path = tmp_path / "bomb.png"
    path.write_bytes(data)
    with pytest.raises(DataError, match=r"bomb.png has more pixels than the 50,000,000 that are read"):
        read_picture(path)


def test_one_pixel_is_a_picture(tmp_path):
    assert read_picture(saved(tmp_path, Image.new("L", (1, 1), 77))).tolist() == [[[77]]]


def test_grey_is_made_of_colours_by_their_brightness():
    assert in_channels(GREY[..., None], 3).shape == (7, 5, 3)
    grey = in_channels(COLOURS, 1)[..., 0].astype(int)
    assert np.abs(grey - np.asarray(Image.fromarray(COLOURS).convert("L")).astype(int)).max() <= 1


def test_a_picture_drawn_smaller_is_made_of_means():
    halves = np.kron(np.array([[10, 30], [50, 90]]), np.ones((4, 4)))[..., None].astype(np.uint8)
    found = resized(halves, 4, 4)
    assert found[0, 0, 0] == 10 and found[-1, -1, 0] == 90 and (resized(halves, 8, 8) == halves).all()


def test_what_is_missing_says_what_to_install(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "PIL.Image", None)
    with pytest.raises(DataError, match=r"the package pillow is missing; pip install regard\[vision\]"):
        read_picture("x.png")


def test_hidden_colours_and_a_phone_s_picture(cases):
    background = round(255 * pictures.BACKGROUND)
    for name in ("b61_rgba_hidden.png", "b61_palette_trns.png", "b61_gray_alpha.png"):
        assert (read_picture(cases / name)[0, 0] == background).all(), name
    held = read_picture(cases / "b61_exif6.jpg")
    assert held.shape[:2] == (16, 8)
    top, bottom = held[2].mean(0), held[-3].mean(0)
    assert top[0] > 200 and top[0] > top[2] and bottom[0] < top[0]
