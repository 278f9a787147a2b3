"""The list of endpoints in the answer to an unknown path."""

import re
from pathlib import Path

import httpx
import pytest

from app.api.error_responses import ENDPOINTS
from tests.app.gateway import Gateway

RUNNING = Path(__file__).parents[3] / "docs" / "running.md"
#: endpoints that need no key
OPERATIONS = re.compile(r"/health|/metrics|/version|/docs|/openapi|/ui")


def documented() -> set[str]:
    """The endpoints of clients in docs/running.md, without those of one object."""
    table = RUNNING.read_text().split("## Endpoints")[1].split("\n\n#")[0]
    rows = [row for row in table.splitlines() if row.startswith("| `") and "; admin" not in row]
    found = {each for row in rows for each in re.findall(r"`([A-Z]+ /[^`{]+)`", row)}
    return {each for each in found if not OPERATIONS.search(each)}


def test_it_has_the_documented_endpoints():
    """REGRESSION: it lacked /v1/responses."""
    assert set(ENDPOINTS) == documented()


@pytest.fixture(scope="module")
def gateway():
    with Gateway() as running:
        yield running


@pytest.mark.parametrize("endpoint", ENDPOINTS)
def test_each_endpoint_exists(gateway: Gateway, endpoint: str):
    method, path = endpoint.split()
    assert httpx.request(method, gateway.url + path).status_code in (200, 400)
