"""Which connection gives way."""

import pytest

from app.server.waiting_connections import WaitingConnections


@pytest.mark.parametrize(
    ("waiting", "first"),
    [
        ("", None),
        ("a1", "a1"),
        ("a1 a2 b1", "a1"),
        ("b1 a1 a2", "a1"),
        # a connection that worked meanwhile waits anew
        ("a1 a2 -a1 a1", "a2"),
        ("a1 a2 -a1 -a2", None),
        ("a1 a2 -a1 -a1 b1 b2", "b1"),
        # what waits already keeps its turn
        ("a1 a2 a1", "a1"),
    ],
)
def test_the_longest_wait_of_the_address_with_the_most(waiting: str, first: str | None):
    held = WaitingConnections[str]()
    for name in waiting.split():
        if name.startswith("-"):
            held.discard(name[1], name[1:])
        else:
            held.add(name[0], name)
    assert held.first() == first
