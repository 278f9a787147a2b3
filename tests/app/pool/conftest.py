"""Fixtures of the pool's tests."""

import pytest

from app.pool import member as breaker


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ejected workers are probed soon."""
    monkeypatch.setattr(breaker, "BACKOFF_S", 0.001)
