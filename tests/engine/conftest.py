"""What all tests of the engine have: stores that get everything."""

from collections.abc import Iterator

import pytest

from engine import artifact, automatonbytes
from engine.frontends import shared_patterns


@pytest.fixture(scope="session", autouse=True)
def all_is_worth_it() -> Iterator[None]:
    """Masks of a small vocabulary and most patterns are cheap; here they are shared all the
    same.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(artifact, "LEAST_GAIN", 0)
        patch.setattr(shared_patterns, "LEAST_GAIN", 0)
        patch.setattr(automatonbytes, "LEAST_GAIN", 0)
        yield
