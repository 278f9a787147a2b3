"""A short run of the campaign, and that it finds what differs."""

from typing import Any

import pytest

from tests.campaigns.three_apis import bodies
from tests.campaigns.three_apis.campaign import Findings, run


@pytest.mark.parametrize("name", ["hermes", "harmony"])
def test_one_request_has_one_answer_in_all_apis(name: str) -> None:
    found = run(80, 1, (name,))
    assert found.texts == []
    assert found.counts["internal errors"] == 0
    wanted = ("text", "thoughts", "calls", "images", "counts")
    assert all(found.counts[what] for what in wanted), found.counts


def changed(**fields: Any) -> Any:
    """Return the writer of a response with other fields."""
    written = bodies.response
    return lambda asked: {**written(asked), **fields}


@pytest.mark.parametrize(
    ("fields", "what"),
    [
        ({"instructions": "Be long."}, "prompt"),
        ({"seed": 1}, "seed"),
        ({"max_output_tokens": 1}, "max_tokens"),
        ({"truncation": "none"}, "status"),
    ],
)
def test_a_difference_is_found(
    monkeypatch: pytest.MonkeyPatch, fields: dict[str, Any], what: str
) -> None:
    monkeypatch.setattr(bodies, "response", changed(**fields))
    found: Findings = run(5, 1, ("hermes",))
    assert any(f"/v1/responses: {what}:" in text for text in found.texts), found.texts
