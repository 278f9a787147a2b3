"""A fixture of the campaigns that send requests to bad workers."""

from collections.abc import Iterator

import pytest

from app.pool import member


@pytest.fixture(scope="module")
def short_backoffs() -> Iterator[None]:
    """Let ejected workers be probed soon: how backoffs grow is tested with the pool."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(member, "BACKOFF_S", 0.05)
        patch.setattr(member, "BACKOFF_MAX_S", 0.2)
        yield
