"""Histories as agents send them back: a quick part of the campaign, and that it finds refusals."""

import random

import pytest

from tests.campaigns.replayed_histories.campaign import (
    Findings,
    cases,
    is_of_current,
    through_gateways,
)
from tests.campaigns.replayed_histories.histories import (
    CHANGES,
    CHAT,
    MESSAGES,
    RESPONSES,
    bounded,
    changed,
    generated,
    kinds,
)
from tests.campaigns.replayed_histories.mutations import MUTATIONS


@pytest.mark.parametrize("name", ["hermes", "harmony"])
def test_no_history_is_refused(name: str):
    """REGRESSION: most were, and with them each later turn of an agent."""
    some = list(cases(60, 1, None))
    found = Findings()
    through_gateways(some, [name], found)
    assert set(found.sent) == {*kinds(RESPONSES)}
    assert found.unseen["images"] < found.sent["images"]
    assert {path for _, path, _ in some} == {CHAT, RESPONSES, MESSAGES}
    assert found.texts == {}


def test_a_refusal_is_found_and_named():
    body = bounded(CHAT, {"messages": [{"role": "nobody", "content": ""}]})
    found = Findings()
    through_gateways([("none", CHAT, body)], ["hermes"], found)
    assert (found.refused["none"], found.errors.total()) == (1, 0)
    assert "nobody" in found.texts["none", f"hermes {CHAT}"]


@pytest.mark.parametrize(
    ("behind", "unseen"),
    [((), 1), (("system",), 1), (("user",), 0), (("assistant", "user"), 0), (("assistant",), 0)],
)
def test_only_the_current_message_may_be_refused_for_an_image(behind: tuple[str, ...], unseen: int):
    content = [{"type": "image_url", "image_url": {"url": "x"}}]
    later = [{"role": role, "content": "a"} for role in behind]
    body = bounded(CHAT, {"messages": [{"role": "user", "content": content}, *later]})
    found = Findings()
    through_gateways([("images", CHAT, body)], ["hermes"], found)
    assert (found.unseen["images"], found.texts) == (unseen, {})
    error = {"message": "Invalid 'messages[0].content[0]': the part of type 'image_url' cannot"}
    assert is_of_current(body, error) == bool(unseen)


def test_an_image_behind_results_may_not_be_refused():
    content = [{"type": "image_url", "image_url": {"url": "x"}}]
    result = {"role": "tool", "tool_call_id": "a", "content": "see the next message"}
    body = bounded(CHAT, {"messages": [result, {"role": "user", "content": content}]})
    found = Findings()
    through_gateways([("images", CHAT, body)], ["hermes"], found)
    assert (found.unseen["images"], found.texts) == (0, {})


@pytest.mark.parametrize("path", [CHAT, RESPONSES, MESSAGES])
def test_each_change_changes_histories_and_one_seed_gives_one_history(path: str):
    for kind in set(kinds(path)) - {"none"} if path == MESSAGES else kinds(path):
        made = []
        for seed in range(30):
            rng = random.Random(seed)
            body = generated(path, rng)
            made.append((changed(path, body, kind, rng), body))
        assert any(new != old for new, old in made), kind
    once, again = (list(cases(20, 7, None)) for _ in range(2))
    assert once == again
    assert set(kinds(CHAT)) == {*CHANGES, *MUTATIONS}
