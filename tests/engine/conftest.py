"""What all tests of the engine have: logs that get everything."""

from collections.abc import Iterator

import pytest

from engine import artifact


@pytest.fixture(scope="session", autouse=True)
def all_is_worth_it() -> Iterator[None]:
    """Masks of a small vocabulary are cheap; here they are shared all the same."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(artifact, "LEAST_GAIN", 0)
        yield
