"""A slice of the campaign: every hostile body gets the answer that it must get."""

import json

import pytest

from tests.app.gateway import Gateway, gateway_fixture

from .bodies import BODIES, BYTES, IMAGES, VALUES, Kind

pytestmark = pytest.mark.campaign

#: of a prompt, which noise counts: a slice of the limit is enough for kinds that are served
SERVED = BYTES // 16

gateway = gateway_fixture()


@pytest.mark.parametrize("kind", BODIES.values(), ids=BODIES.keys())
def test_a_hostile_body_is_refused_by_name_or_served(gateway: Gateway, kind: Kind):
    """REGRESSION: several of them stopped the event loop for seconds."""
    body = kind.make((SERVED if kind.code is None else BYTES) * kind.times)
    assert len(body) <= BYTES * kind.times
    answer = gateway.post(body, path=kind.path)
    is_stream = answer.headers["content-type"].startswith("text/event-stream")
    error = {} if is_stream else answer.json().get("error") or {}
    assert (answer.status_code, error.get("code")) == (kind.status, kind.code)
    assert gateway.metric("switchyard_internal_errors_total") == 0


def test_the_bodies_are_made_for_the_limits_that_ship(gateway: Gateway):
    (settings,) = [line for line in gateway.lines() if line["event"] == "settings"]
    assert (settings["max_body_bytes"], settings["max_json_values"]) == (BYTES, VALUES)
    assert settings["max_image_body_bytes"] == BYTES * IMAGES
    assert json.loads(BODIES["digits"].make(10_000))["model"] == "noise"
