"""The base64 of images in a body that arrives: found in any pieces, and nothing else."""

import json
import random
from typing import Any

import pytest

from app.api.image_data import MIN_BYTES, STEP_BYTES, ImageData

LONG = "aB3+/=_-" * 300
SHORT = "A" * (MIN_BYTES - 1)
URL = "data:image/png;base64,"


def chat(url: str) -> str:
    return json.dumps({"url": url, "after": [1, "x"]})


#: JSON text, and the bytes of its spans
CASES: dict[str, tuple[str, int]] = {
    "nothing": ("{}", 0),
    "a data URL": (chat(URL + LONG), len(LONG)),
    "two": (chat(URL + LONG) + chat(URL + LONG), 2 * len(LONG)),
    "longer than a step": (chat(URL + "A" * 3 * STEP_BYTES), 3 * STEP_BYTES),
    "data of a source": (json.dumps({"type": "base64", "data": LONG}), len(LONG)),
    "data with white space": (f'{{"data" \n:\t "{LONG}"}}', len(LONG)),
    "escaped slashes": (chat(URL + LONG).replace("/", "\\/"), len(LONG) + LONG.count("/")),
    "at the least": (chat(f"{URL}{SHORT}A"), MIN_BYTES),
    "too short": (chat(URL + SHORT), 0),
    "ends where it is no base64": (chat(f"{URL}{LONG} {LONG}"), len(LONG)),
    "ends at an escape": (chat(f'{URL}{LONG}"{LONG}'), len(LONG)),
    "no mark": (chat(LONG), 0),
    "another key": (json.dumps({"dat": LONG}), 0),
    "a text with a mark": (json.dumps({"text": f'"data": "{LONG}'}), 0),
}


def read(body: bytes, sizes: Any) -> ImageData:
    """Let a body arrive in pieces."""
    images, arrived, at = ImageData(), bytearray(), 0
    while at < len(body):
        size = next(sizes)
        arrived += body[at : at + size]
        at += size
        while images.read(arrived):
            pass
        assert images.outside + images.size <= len(arrived)
    return images


@pytest.mark.parametrize("name", CASES)
def test_spans_are_the_same_in_any_pieces(name: str) -> None:
    text, size = CASES[name]
    body = text.encode()
    rng = random.Random(name)
    whole = read(body, iter([len(body)]))
    assert whole.size == size
    for _ in range(20):
        most = rng.choice([1, 7, 100, 3000]) if len(body) < 10_000 else 40_000
        images = read(body, iter(lambda most=most: rng.randint(1, most), 0))  # type: ignore[misc]
        assert images.size == size
        assert images.outline(body) == whole.outline(body)


@pytest.mark.parametrize("name", CASES)
def test_the_outline_has_the_structure_of_the_body(name: str) -> None:
    body = CASES[name][0].encode()
    images = read(body, iter([len(body)]))
    outline = images.outline(body)
    assert len(outline) == len(body) - images.size
    if b"}{" not in body:
        assert shape(json.loads(outline)) == shape(json.loads(body))


@pytest.mark.parametrize("name", CASES)
def test_escaped_slashes_change_no_value(name: str) -> None:
    body = CASES[name][0].encode()
    unescaped = read(body, iter([len(body)])).unescaped(body)
    if name == "escaped slashes":
        assert unescaped.count(b"\\") == 1  # that of the media type
    if b"}{" not in body:
        assert json.loads(unescaped) == json.loads(body)


def test_an_escape_between_two_steps_stays_one() -> None:
    data = "A" * (STEP_BYTES - 1) + "\\/" + "A" * 10
    body = chat(URL).replace(URL, URL + data).encode()
    images = read(body, iter([len(body)]))
    assert images.unescaped(body) == body
    assert json.loads(images.outline(body)) == {"url": URL, "after": [1, "x"]}


def shape(value: Any) -> Any:
    """Return a value without its texts."""
    if isinstance(value, dict):
        return {name: shape(each) for name, each in value.items()}
    if isinstance(value, list):
        return list(map(shape, value))
    return type(value)
