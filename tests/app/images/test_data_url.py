"""Data URLs: what is read as lenient servers do, and what is refused for which reason."""

from base64 import b64decode, b64encode, urlsafe_b64encode
from contextlib import suppress
from textwrap import wrap

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.images.data_url import MAX_TAIL, PIECE, decode_data_url
from app.images.unreadable import ImageError
from tests.turns import draws

MAX_BYTES = 1 << 20
DATA = bytes(range(256)) + b"\xfb\xff\xfe"
TEXT = b64encode(DATA).decode()
URL_SAFE = urlsafe_b64encode(DATA).decode()
PADDED = b64encode(DATA[:-1]).decode()

READ = {
    "plain": f"data:image/png;base64,{TEXT}",
    "upper case": f"DATA:IMAGE/PNG;BASE64,{TEXT}",
    "another image type": f"data:image/jpg;base64,{TEXT}",
    "a parameter": f"data:image/png;charset=utf-8;base64,{TEXT}",
    "a parameter behind": f"data:image/png;base64;name=a.png,{TEXT}",
    "white space in front": f"data: image/png ; base64,\n {TEXT}",
    "lines": f"data:image/png;base64,{chr(10).join(wrap(TEXT, 76))}\r\n",
    "no type": f"data:;base64,{TEXT}",
    "octet stream": f"data:application/octet-stream;base64,{TEXT}",
    "URL-safe": f"data:image/png;base64,{URL_SAFE}",
}


@pytest.mark.parametrize("name", READ)
def test_a_data_url_is_read(name: str) -> None:
    assert decode_data_url(READ[name], MAX_BYTES) == (DATA, TEXT)


@pytest.mark.parametrize(
    "text", [PADDED, PADDED.rstrip("="), PADDED + "\n", PADDED[:9] + "\n" + PADDED[9:]]
)
def test_padding_may_be_missing(text: str) -> None:
    assert decode_data_url("data:image/png;base64," + text, MAX_BYTES) == (DATA[:-1], PADDED)


def test_base64_that_is_not_canonical_is_written_anew() -> None:
    assert decode_data_url("data:;base64,QR==", MAX_BYTES) == (b"A", "QQ==")


HEAD = "data:image/png;base64,"
REFUSED = {
    "no comma": (
        "data:image/png;base64",
        "invalid_image_url",
        "no comma in 'data:image/png;base64'",
    ),
    "a comma far away": ("data:" + "x" * 2_000 + ",", "invalid_image_url", "no comma in 'data:xxx"),
    "no base64": (f"data:image/png,{TEXT}", "invalid_image_url", "got 'data:image/png,'"),
    "text": (f"data:text/plain;base64,{TEXT}", "unsupported_image_media_type", "got 'text/plain'"),
    "PDF": (
        f"data:application/pdf;base64,{TEXT}",
        "unsupported_image_media_type",
        "one of image/png, image/jpeg, image/webp and image/gif, got 'application/pdf'",
    ),
    "empty": (HEAD, "empty_image_file", "its file is empty"),
    "only padding": (HEAD + "==", "empty_image_file", "its file is empty"),
    "one character": (HEAD + "A", "empty_image_file", "its file is empty"),
    "cut": (HEAD + "AAAAA", "invalid_base64_image", "cut"),
    "another character": (HEAD + "AAAA*AAA", "invalid_base64_image", "'*' at 4 of"),
    "not ASCII": (HEAD + "AAAA\u20acAAA", "invalid_base64_image", "'\u20ac' at 4 of"),
    "a percent sign": (HEAD + "AAAA%3D", "invalid_base64_image", "'%' at 4 of"),
    "a NUL": (HEAD + "AAAA\0AAA", "invalid_base64_image", "'\\x00' at 4 of"),
    "padding inside": (HEAD + "AAA=AAAA", "invalid_base64_image", "'=' at 3 of"),
    "far away": (
        HEAD + "A" * PIECE * 2 + "!" + "A" * 7,
        "invalid_base64_image",
        f"'!' at {PIECE * 2:,} of",
    ),
    "before a piece": (
        HEAD + "A" * (PIECE - 3) + "! " + "A" * 40,
        "invalid_base64_image",
        f"'!' at {PIECE - 3:,} of",
    ),
    "white space only": (HEAD + " " * MAX_TAIL * 2, "empty_image_file", "its file is empty"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_another_url_is_refused_by_reason(name: str) -> None:
    url, code, reason = REFUSED[name]
    with pytest.raises(ImageError) as caught:
        decode_data_url(url, MAX_BYTES)
    got = caught.value.unreadable
    assert (got.code, reason in got.reason) == (code, True), got


@pytest.mark.parametrize("space", ["", "\n"])
def test_the_bound_of_bytes_is_exact(space: str) -> None:
    data = bytes(3_000)
    text = space.join(wrap(b64encode(data).decode(), 4))
    assert decode_data_url(HEAD + text, 3_000)[0] == data
    with pytest.raises(ImageError) as caught:
        decode_data_url(HEAD + text, 2_999)
    assert caught.value.unreadable.code == "image_file_too_large"
    assert caught.value.unreadable.reason == "its file may have at most 2,999 bytes, got 3,000"


@draws(300)
@given(st.binary(min_size=1, max_size=100), st.data())
def test_base64_is_decoded_wherever_white_space_stands(data: bytes, drawn: st.DataObject) -> None:
    text = b64encode(data).decode()
    for _ in range(drawn.draw(st.integers(0, 3))):
        at = drawn.draw(st.integers(0, len(text)))
        text = text[:at] + drawn.draw(st.sampled_from([" ", "\n", "\r\n", "\t"])) + text[at:]
    got, standard = decode_data_url(HEAD + text, MAX_BYTES)
    assert (got, b64decode(standard, validate=True)) == (data, data)


@draws(300)
@given(st.text(max_size=40), st.booleans())
def test_any_text_is_read_or_refused(text: str, has_head: bool) -> None:
    with suppress(ImageError):
        decode_data_url((HEAD if has_head else "data:") + text, MAX_BYTES)
