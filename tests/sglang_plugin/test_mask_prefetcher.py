"""Masks made ahead are the ones that a step would have made, and nothing waits for them."""

import threading
from typing import Any

import numpy as np
import pytest

from adapters.sglang_plugin import mask_prefetcher as module
from adapters.sglang_plugin.mask_prefetcher import MaskPrefetcher
from engine import Compiler, Matcher
from tests.engine.frontends.random_schemas import byte_vocabulary

SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "integer"}}}
TEXT = b'{"a":"x","b":-12}'


def mask_of(matcher: Matcher) -> bytes:
    mask = np.zeros((1, matcher.compiled.vocabulary.words), np.int32)
    matcher.fill_bitmask(mask)
    return mask.tobytes()


def walked(prefetcher: MaskPrefetcher | None) -> list[bytes]:
    matcher, found = Matcher(Compiler(byte_vocabulary()).compile_json_schema(SCHEMA)), []
    for byte in TEXT:
        assert matcher.accept_token(byte)
        if prefetcher is not None:
            prefetcher.submit(matcher)
            prefetcher.executor.wait()
            assert not matcher.lacks_mask()
        found.append(mask_of(matcher))
    return found


def test_a_mask_made_ahead_is_the_mask() -> None:
    prefetcher = MaskPrefetcher()
    assert walked(prefetcher) == walked(None)
    assert prefetcher.made > 0


def test_no_more_wait_than_there_is_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_WAITING", 3)
    prefetcher, gate = MaskPrefetcher(), threading.Event()
    assert prefetcher.executor.submit(gate.wait, 60)
    compiler = Compiler(byte_vocabulary())
    for number in range(5):
        prefetcher.submit(Matcher(compiler.compile_regex("x" * (number + 1))))
    assert prefetcher.made == 2
    gate.set()
    prefetcher.executor.wait()
    prefetcher.submit(Matcher(compiler.compile_regex("y")))
    assert prefetcher.made == 3


def test_a_matcher_that_has_ended_needs_none() -> None:
    matcher: Any = Matcher(Compiler(byte_vocabulary()).compile_regex("a"))
    assert matcher.accept_token(ord("a")) and matcher.accept_token(256)
    assert not matcher.lacks_mask()
    matcher.make_mask()
