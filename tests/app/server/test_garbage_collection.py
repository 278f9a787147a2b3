"""Garbage collections of a running gateway skip the objects of its startup."""

import gc

import pytest

from app.main import create_app
from app.server.garbage_collection import YOUNG_OBJECTS, frozen
from app.settings import read_settings


async def test_a_running_gateway_has_frozen_what_its_start_made() -> None:
    """REGRESSION: all streams stood still for 220 ms every few seconds."""
    thresholds = gc.get_threshold()
    app = create_app(read_settings(noise_seed=1, log_level="error"))
    async with app.router.lifespan_context(app):
        assert gc.get_freeze_count() > len(gc.get_objects())
        assert gc.get_threshold() == (YOUNG_OBJECTS, *thresholds[1:]) and gc.isenabled()
    assert gc.get_freeze_count() == 0 and gc.get_threshold() == thresholds


def test_what_is_garbage_already_is_not_frozen() -> None:
    class Node:
        alive = 0

        def __init__(self) -> None:
            self.itself = self
            Node.alive += 1

        def __del__(self) -> None:
            Node.alive -= 1

    Node()
    with frozen():
        assert Node.alive == 0
        Node()
        gc.collect()
        assert Node.alive == 0


def test_a_start_that_fails_freezes_nothing() -> None:
    with pytest.raises(RuntimeError), frozen():
        raise RuntimeError
    assert gc.get_freeze_count() == 0
