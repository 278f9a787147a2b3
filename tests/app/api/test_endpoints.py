"""The list of endpoints in the answer to an unknown path."""

import re
from pathlib import Path

import httpx
import pytest

from tests.app.gateway import Gateway, gateway_fixture

RUNNING = Path(__file__).parents[3] / "docs" / "running.md"
#: endpoints that need no key
OPERATIONS = re.compile(r"/health|/metrics|/version|/docs|/openapi|/ui")


def documented() -> set[str]:
    """The endpoints of clients in docs/running.md, without those of one object."""
    table = RUNNING.read_text().split("## Endpoints")[1].split("\n\n#")[0]
    rows = [row for row in table.splitlines() if row.startswith("| `") and "; admin" not in row]
    found = {each for row in rows for each in re.findall(r"`([A-Z]+ /[^`{]+)`", row)}
    return {each for each in found if not OPERATIONS.search(each)}


gateway = gateway_fixture()


def test_it_has_the_documented_endpoints(gateway: Gateway):
    """REGRESSION: it lacked /v1/responses."""
    message = httpx.get(f"{gateway.url}/v1/nothing").json()["error"]["message"]
    listed = message.partition("endpoints are: ")[2].removesuffix(".").split(", ")
    assert set(listed) == documented()
    assert len(listed) == len(set(listed))


@pytest.mark.parametrize("endpoint", sorted(documented()))
def test_each_endpoint_exists(gateway: Gateway, endpoint: str):
    method, path = endpoint.split()
    assert httpx.request(method, gateway.url + path).status_code in (200, 400)


@pytest.mark.parametrize(
    ("path", "methods"),
    [
        ("/v1/responses", "POST"),
        ("/v1/responses/compact", "POST"),
        ("/v1/responses/input_tokens", "POST"),
        (f"/v1/responses/resp_{'0' * 32}", "DELETE, GET"),
    ],
)
def test_the_methods_of_a_path_are_told(gateway: Gateway, path: str, methods: str):
    """REGRESSION: names of endpoints counted as ids of responses."""
    answer = httpx.put(gateway.url + path)
    assert (answer.status_code, answer.headers["allow"]) == (405, methods)
