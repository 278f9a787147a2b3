"""Fixtures of the pool's tests."""

from pathlib import Path

import pytest

from app.pool import member as breaker
from tests.sglang.tiny_model import make_tokenizer


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ejected workers are probed soon."""
    monkeypatch.setattr(breaker, "BACKOFF_S", 0.001)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tokenizer")
    make_tokenizer(1024).save_pretrained(path)
    return path
