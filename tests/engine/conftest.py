"""Fixtures of the engine's tests."""

from collections.abc import Iterator

import pytest

from engine.sharing import mask_codec as artifact


@pytest.fixture(scope="module")
def every_mask_shared() -> Iterator[None]:
    """Publish every mask, also those of a small vocabulary, which cost less than a fetch.

    For modules about what the log carries; all others run with the gain that ships.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(artifact, "LEAST_GAIN", 0)
        yield
