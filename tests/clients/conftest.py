"""Gateways for the frameworks' tests, one for each wire format, and no fault in any of them."""

from collections.abc import Iterator

import pytest

from .served import WIRES, Served


@pytest.fixture(scope="session", params=WIRES)
def served(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Served]:
    """A running gateway; at its end it must have counted no fault of its own."""
    with Served(request.param, tmp_path_factory.mktemp("gateway") / "log") as running:
        yield running
        assert running.faults() == []


@pytest.fixture(scope="session")
def shipped(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A gateway with the settings of `make serve`, except for a seed of requests without one."""
    log = tmp_path_factory.mktemp("gateway") / "log"
    with Served("hermes", log, {"noise_seed": "1"}) as running:
        yield running
        assert running.faults() == []
