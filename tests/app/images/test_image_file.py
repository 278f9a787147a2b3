"""Files of images: what is read, and what is refused for which reason."""

import tracemalloc
import warnings
import zlib
from collections.abc import Callable
from contextlib import nullcontext, suppress
from io import BytesIO

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image as PillowImage

from app.images.image_file import ImageFacts, check_file, ignore_pillow_warnings
from app.images.image_header import MAX_SCANS
from app.images.unreadable import ImageError
from tests.turns import draws

from . import files

MAX_PIXELS = 50_000_000
KINDS = list(files.MEDIA_TYPES)


def read(data: bytes, max_pixels: int = MAX_PIXELS) -> ImageFacts:
    return check_file(data, max_pixels=max_pixels, large=nullcontext())


def refusal(data: bytes, max_pixels: int = MAX_PIXELS) -> tuple[str, str]:
    with pytest.raises(ImageError) as caught:
        read(data, max_pixels)
    return caught.value.unreadable.code, caught.value.unreadable.reason


READ = {
    **{kind: (files.picture(kind), kind, 8, 6) for kind in KINDS},
    **{f"{kind} of 1 x 1": (files.picture(kind, 1, 1), kind, 1, 1) for kind in KINDS},
    "a long PNG": (files.picture("PNG", 30_000, 150), "PNG", 30_000, 150),
    "a narrow PNG": (files.picture("PNG", 1, 200), "PNG", 1, 200),
    "PNG, RGBA": (files.picture("PNG", mode="RGBA"), "PNG", 8, 6),
    "PNG, palette": (files.picture("PNG", mode="P"), "PNG", 8, 6),
    "PNG, 16 bits": (files.picture("PNG", mode="I;16"), "PNG", 8, 6),
    "PNG, one bit": (files.picture("PNG", mode="1"), "PNG", 8, 6),
    "PNG, text": (files.png(files.chunk(b"tEXt", b"k\0" + b"x" * 500_000)), "PNG", 8, 6),
    "PNG, an animation of one frame": (files.png(*files.one_frame()), "PNG", 8, 6),
    "JPEG, grey": (files.picture("JPEG", mode="L"), "JPEG", 8, 6),
    "JPEG, CMYK": (files.picture("JPEG", mode="CMYK"), "JPEG", 8, 6),
    "JPEG, progressive": (files.picture("JPEG", 300, 200, progressive=True), "JPEG", 300, 200),
    "JPEG, a comment": (files.jpeg_with(files.segment(0xFE, b"x" * 60_000)), "JPEG", 8, 6),
    "JPEG, EXIF that is no EXIF": (
        files.jpeg_with(files.segment(0xE1, b"Exif\0\0MM\0*garbage")),
        "JPEG",
        8,
        6,
    ),
    "JPEG, EXIF bomb": (files.jpeg_with(files.exif_bomb()), "JPEG", 8, 6),
    "JPEG, bytes between segments": (
        files.picture("JPEG")[:20] + b"\0\1\2" + files.picture("JPEG")[20:],
        "JPEG",
        8,
        6,
    ),
    "PNG, rows left out": (files.png(rows=zlib.compress(bytes(9))), "PNG", 8, 6),
    "JPEG, bytes behind its end": (files.picture("JPEG") + b"more", "JPEG", 8, 6),
    "WEBP, lossless": (files.picture("WEBP", lossless=True), "WEBP", 8, 6),
    "WEBP, RGBA": (files.picture("WEBP", mode="RGBA"), "WEBP", 8, 6),
    "GIF, no trailer": (files.picture("GIF").removesuffix(b";"), "GIF", 8, 6),
}


@pytest.mark.parametrize("name", READ)
def test_a_still_image_is_read(name: str) -> None:
    data, kind, width, height = READ[name]
    assert read(data) == ImageFacts(files.MEDIA_TYPES[kind], width, height)


def text_bomb() -> bytes:
    text = b"k\0\0" + zlib.compress(bytes(30_000_000), 9)
    return files.png(files.chunk(b"zTXt", text))


def profile_bomb() -> bytes:
    return files.png(files.chunk(b"iCCP", b"p\0\0" + zlib.compress(bytes(100_000_000), 9)))


def many_texts() -> bytes:
    text = files.chunk(b"zTXt", b"k\0\0" + zlib.compress(bytes(1_000_000), 9))
    return files.png(*[text] * 100)


HUGE = zlib.compress(bytes(100_000_000), 9)
NOT_ALLOWED, TOO_LARGE, BROKEN = (
    "unsupported_image_media_type",
    "image_too_large",
    "image_parse_error",
)
REFUSED: dict[str, tuple[Callable[[], bytes] | bytes, str, str]] = {
    "SVG": (b'<?xml version="1.0"?>\n<!-- a -->\n<svg xmlns="x"/>', NOT_ALLOWED, "it is an SVG"),
    "SVG, bare": (b"<svg/>", NOT_ALLOWED, "it is an SVG"),
    "PDF": (b"%PDF-1.7", NOT_ALLOWED, "it is a PDF"),
    "TIFF": (lambda: files.picture("TIFF"), NOT_ALLOWED, "it is a TIFF"),
    "BMP": (lambda: files.picture("BMP"), NOT_ALLOWED, "it is a BMP"),
    "HEIC": (b"\0\0\0\x18ftypheic\0\0\0\0mif1", NOT_ALLOWED, "it is a HEIC"),
    "AVIF": (b"\0\0\0\x18ftypavif\0\0\0\0mif1", NOT_ALLOWED, "it is an AVIF"),
    "ICO": (lambda: files.picture("ICO"), NOT_ALLOWED, "it is an ICO"),
    "HTML": (b"<!DOCTYPE html><p>", NOT_ALLOWED, "it is an HTML page"),
    "text": (b"hello", NOT_ALLOWED, "it begins with the bytes 68 65 6c 6c 6f"),
    "PNG of 30,000 x 30,000": (
        lambda: files.png(width=30_000, height=30_000, rows=HUGE),
        TOO_LARGE,
        "50,000,000 pixels, got 900,000,000 (30,000 x 30,000)",
    ),
    "JPEG of 30,000 x 30,000": (files.jpeg_of_size(30_000, 30_000), TOO_LARGE, "900,000,000"),
    "JPEG of 65,535 x 65,535": (files.jpeg_of_size(65_535, 65_535), TOO_LARGE, "4,294,836,225"),
    "WEBP of 2**24 x 2**24": (files.webp_of_size(1 << 24, 1 << 24), TOO_LARGE, "16,777,216 x"),
    "GIF with a large screen": (files.gif_of_size(60_000, 60_000), TOO_LARGE, "60,000 x 60,000"),
    "GIF with a large frame": (
        files.gif_of_size(8, 6, frame=(60_000, 60_000)),
        TOO_LARGE,
        "60,000 x 60,000",
    ),
    "PNG of 30,000 x 149": (
        lambda: files.picture("PNG", 30_000, 149),
        BROKEN,
        "200 times as long as the other, got 30,000 x 149",
    ),
    "JPEG of 1 x 201": (files.jpeg_of_size(1, 201), BROKEN, "got 1 x 201"),
    "PNG of 0 x 6": (files.png(width=0), BROKEN, "0 x 6 pixels"),
    "JPEG of 8 x 0": (files.jpeg_of_size(8, 0), BROKEN, "8 x 0 pixels"),
    "GIF of 0 x 0": (files.gif_of_size(0, 0, frame=(0, 0)), BROKEN, "0 x 0 pixels"),
    "PNG, animated": (lambda: files.animated("PNG"), "invalid_image_format", "an animated PNG"),
    "WEBP, animated": (lambda: files.animated("WEBP"), "invalid_image_format", "an animated WEBP"),
    "GIF, animated": (lambda: files.animated("GIF"), "invalid_image_format", "an animated GIF"),
    "PNG, pixels that are no zlib": (files.png(rows=b"none"), BROKEN, "cut or corrupt"),
    "PNG, no pixels": (files.png()[:33], BROKEN, "cut or corrupt"),
    "PNG, text bomb": (text_bomb, BROKEN, "too large"),
    "PNG, profile bomb": (profile_bomb, BROKEN, "cut or corrupt"),
    "PNG, many texts": (many_texts, BROKEN, "MAX_TEXT_MEMORY"),
    "PNG, many chunks": (
        lambda: files.png(*[files.chunk(b"teXt", b"")] * 20_000),
        BROKEN,
        "blocks",
    ),
    "JPEG, many segments": (
        lambda: files.jpeg_with(*[files.segment(0xFE, b"")] * 20_000),
        BROKEN,
        "blocks",
    ),
    "JPEG, many scans": (
        lambda: files.picture("JPEG")[:-2] + files.segment(0xDA, b"") * (MAX_SCANS + 1),
        BROKEN,
        f"more than {MAX_SCANS} scans",
    ),
    "JPEG, only markers": (b"\xff\xd8" + b"\xff" * 1_000, BROKEN, "cut or corrupt"),
    "JPEG, a scan without a frame": (
        b"\xff\xd8" + files.segment(0xDA, bytes(10)),
        BROKEN,
        "without a frame",
    ),
    "GIF, many blocks": (
        lambda: b"GIF89a\x08\0\x06\0\0\0\0!\xfe" + b"\1x" * 20_000,
        BROKEN,
        "blocks",
    ),
    "WEBP whose canvas is not its image": (files.webp_of_size(100, 100), BROKEN, "cut or corrupt"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_another_file_is_refused_by_reason(name: str) -> None:
    data, code, reason = REFUSED[name]
    got_code, got = refusal(data() if callable(data) else data)
    assert (got_code, reason in got) == (code, True), got


@pytest.mark.parametrize("kind", KINDS)
def test_a_cut_file_is_refused_wherever_it_is_cut(kind: str) -> None:
    # a PNG is complete without its last chunk, a GIF without its trailer
    data = files.picture(kind, 40, 30)
    ends = {"PNG": 12, "GIF": 2, "JPEG": 2, "WEBP": 1}[kind]
    for size in range(0, len(data) - ends, 7):
        code, _ = refusal(data[:size])
        assert code in (BROKEN, NOT_ALLOWED), size


def test_the_bound_of_pixels_is_exact() -> None:
    data = files.picture("PNG", 10, 10)
    assert read(data, 100).width == 10
    assert refusal(data, 99) == (TOO_LARGE, "it may have at most 99 pixels, got 100 (10 x 10)")


def test_a_large_webp_is_read_from_its_header() -> None:
    data = bytearray(files.picture("WEBP", 4_000, 3_000, quality=1, method=0))
    data[-200:-100] = bytes(100)
    assert read(bytes(data)) == ImageFacts("image/webp", 4_000, 3_000)


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(files.png(width=30_000, height=30_000, rows=HUGE), id="pixels"),
        pytest.param(files.png(rows=HUGE), id="more rows than claimed"),
        pytest.param(files.jpeg_with(files.exif_bomb()), id="EXIF"),
        pytest.param(profile_bomb(), id="profile"),
    ],
)
def test_memory_is_bounded(data: bytes) -> None:
    tracemalloc.start()
    try:
        with suppress(ImageError):
            read(data)
        assert tracemalloc.get_traced_memory()[1] < 8_000_000
    finally:
        tracemalloc.stop()


def test_pillow_is_left_as_it_was_and_warns_of_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    before = (PillowImage.MAX_IMAGE_PIXELS, dict(PillowImage.OPEN), warnings.showwarning)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        ignore_pillow_warnings()
        for data in (
            files.gif_of_size(8, 6, frame=(12_000, 12_000)),
            files.jpeg_with(files.segment(0xE1, b"Exif\0\0MM\0*\0\0\0\x08\0\1garbage")),
            files.png(files.chunk(b"acTL", bytes(8))),
        ):
            with suppress(ImageError):
                read(data, max_pixels=1 << 30)
    assert capfd.readouterr() == ("", "")
    after = (PillowImage.MAX_IMAGE_PIXELS, dict(PillowImage.OPEN), warnings.showwarning)
    assert after == before


IMAGES = [
    *(files.picture(kind, 20, 10) for kind in KINDS),
    files.picture("JPEG", 20, 10, progressive=True),
    files.picture("PNG", 20, 10, mode="P"),
    files.picture("WEBP", 20, 10, lossless=True),
    files.animated("PNG"),
    files.animated("GIF"),
    files.animated("WEBP"),
]


def facts_or_none(data: bytes) -> ImageFacts | None:
    try:
        return read(data, 1_000_000)
    except ImageError:
        return None


@draws(200)
@given(st.binary(max_size=200), st.sampled_from([b"", *(image[:12] for image in IMAGES)]))
def test_any_bytes_are_an_image_or_refused(data: bytes, head: bytes) -> None:
    facts_or_none(head + data)


@draws(400)
@given(st.data())
def test_a_changed_image_is_refused_or_can_be_decoded_by_workers(data: st.DataObject) -> None:
    file = bytearray(data.draw(st.sampled_from(IMAGES)))
    for _ in range(data.draw(st.integers(1, 6))):
        at = data.draw(st.integers(0, len(file) - 1))
        piece = data.draw(st.binary(max_size=4))
        file[at : at + data.draw(st.integers(0, 4))] = piece
    facts = facts_or_none(bytes(file))
    if facts is not None:
        with warnings.catch_warnings(), PillowImage.open(BytesIO(file)) as image:
            ignore_pillow_warnings()
            # as workers do
            assert image.size == (facts.width, facts.height)
            image.convert("RGB")
