"""doctor's red square: a worker sees it, does not see it, or cannot be shown it."""

import asyncio
import base64
import json
import struct
import zlib
from types import SimpleNamespace
from typing import Any

import pytest

from app.doctor.images import LARGE, SMALL, examine_images, red_square
from app.protocol import ChatRequest, TokenizeRequest
from app.service import RequestContext

#: tokens of the prompt's ids
IDS = 20


class Served:
    """A model whose worker counts ``small`` and ``large`` further tokens for squares."""

    name = "m"

    def __init__(self, *, shows: bool, kind: str, small: int, large: int) -> None:
        self.settings = SimpleNamespace(worker_kind=kind)
        self.tokenizer = SimpleNamespace(shows_images=shows)
        self.chat = self.tokenizing = self
        self._tokens = {red_square(SMALL): small, red_square(LARGE): large}

    async def tokenize(self, request: TokenizeRequest, size: int, client: str) -> bytes:
        return json.dumps({"count": IDS}).encode()

    async def complete(self, request: ChatRequest, context: RequestContext) -> Any:
        url = request.model_dump()["messages"][0]["content"][0]["image_url"]["url"]
        return SimpleNamespace(body={"usage": {"prompt_tokens": IDS + self._tokens[url]}})


SEES = f"sees images: 5 tokens for {SMALL} x {SMALL} pixels, 65 for {LARGE} x {LARGE}"


def member_of(*, sees: bool, **details: str) -> Any:
    health = SimpleNamespace(details=details)
    return SimpleNamespace(name="w", worker=SimpleNamespace(sees_images=sees), health=health)


@pytest.mark.parametrize(
    ("shows", "sees", "kind", "small", "large", "level", "text"),
    [
        (True, True, "sglang", 4, 64, "ok", SEES),
        (True, True, "sglang", 255, 255, "ok", "sees images: 256"),
        (True, True, "sglang", 0, 0, "error", "it does not see"),
        (True, True, "sglang", 0, 9, "error", "it does not see"),
        (True, True, "sglang", 9, 8, "warning", "a red square of 512"),
        (True, False, "sglang", 4, 64, "warning", "the chat template"),
        (False, True, "sglang", 4, 64, "warning", "the worker's"),
        (False, False, "sglang", 4, 64, "", ""),
        (True, True, "noise", 0, 0, "", ""),
    ],
)
def test_what_a_square_costs_is_a_finding(
    shows: bool, sees: bool, kind: str, small: int, large: int, level: str, text: str
):
    member = member_of(sees=sees)
    served: Any = Served(shows=shows, kind=kind, small=small, large=large)
    finding = asyncio.run(examine_images(served, member))
    if not level:
        assert finding is None
        return
    assert finding is not None
    assert (finding.place, finding.level) == ("worker w", level)
    assert finding.text.startswith(text)
    assert bool(finding.advice) == (level != "ok")


def test_a_processor_that_cannot_be_loaded_is_the_reason():
    served: Any = Served(shows=True, kind="embedded", small=4, large=64)
    member = member_of(sees=False, vision_error="ImportError: torchvision is missing")
    finding = asyncio.run(examine_images(served, member))
    assert finding is not None
    assert finding.text.endswith("does not see them: ImportError: torchvision is missing")


def test_the_square_is_a_png_file_of_red_pixels():
    file = base64.b64decode(red_square(3).removeprefix("data:image/png;base64,"), validate=True)
    assert file.startswith(b"\x89PNG\r\n\x1a\n")
    kinds, at, data = [], 8, b""
    while at < len(file):
        (size,) = struct.unpack_from(">I", file, at)
        kind, data = file[at + 4 : at + 8], file[at + 8 : at + 8 + size]
        assert struct.unpack_from(">I", file, at + 8 + size) == (zlib.crc32(kind + data),)
        kinds.append((kind, data))
        at += size + 12
    assert [kind for kind, _ in kinds] == [b"IHDR", b"IDAT", b"IEND"]
    assert kinds[0][1][:8] == struct.pack(">II", 3, 3)
    assert zlib.decompress(kinds[1][1]) == (b"\0" + b"\xff\0\0" * 3) * 3
