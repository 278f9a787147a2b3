"""Namespaces share nothing, and a spec's text carries the name of one."""

import json
import threading
from itertools import count

import pytest

from engine import Namespaces, namespace_of, split_namespace, with_namespace

ONE, TWO, THREE = (namespace_of(client) for client in ("one", "two", "three"))
SPEC = '{"type":"structural_tag","format":{"type":"any_text"}}'


def numbered(most: int) -> Namespaces[int]:
    """Return namespaces whose caches are numbers in the order in which they are made."""
    numbers = count(1)
    return Namespaces(0, lambda: next(numbers), most=most)


def test_a_namespace_is_made_once_and_kept():
    names = numbered(2)
    assert names.kept(ONE) is None
    assert [names.of(ONE), names.of(TWO), names.of(ONE)] == [1, 2, 1]
    assert names.kept(TWO) == 2
    assert names.of("") == names.kept("") == 0
    assert list(names) == [0, 2, 1] or list(names) == [0, 1, 2]


def test_the_least_recently_used_namespace_is_dropped():
    """At the bound all are kept; one past it drops one."""
    names = numbered(2)
    names.of(ONE), names.of(TWO)
    assert names.kept(ONE) == 1
    assert names.of(THREE) == 3
    assert (names.kept(ONE), names.kept(TWO)) == (1, None)
    assert names.stats() == {"namespaces": 2, "namespaces_made": 3, "namespaces_dropped": 1}


def test_without_namespaces_every_name_has_the_shared_caches():
    names = Namespaces.one(7)
    assert names.of(ONE) == names.kept(ONE) == 7
    assert list(names) == [7]


def test_threads_that_need_one_namespace_make_it_once():
    together = threading.Barrier(4)
    numbers = count(1)
    names: Namespaces[int] = Namespaces(0, lambda: next(numbers), most=2)
    found: list[int] = []

    def need() -> None:
        together.wait(60)
        found.append(names.of(ONE))

    threads = [threading.Thread(target=need) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert found == [1] * 4


def test_a_name_hides_the_client_and_differs_for_each():
    assert len({ONE, TWO, THREE}) == 3
    assert all("one" not in name and len(name) == 32 for name in (ONE, TWO, THREE))
    assert namespace_of("one") == ONE


def test_a_spec_carries_its_namespace():
    named = with_namespace(SPEC, ONE)
    assert split_namespace(named) == (ONE, SPEC)
    assert json.loads(named) == {"namespace": ONE, **json.loads(SPEC)}
    assert split_namespace(SPEC) == ("", SPEC)
    assert with_namespace(SPEC, "") == SPEC


@pytest.mark.parametrize(
    "text",
    ["", "{", '{"namespace":"x"}', '{"namespace":"' + "A" * 32 + '","a":1}', '["namespace"]'],
)
def test_other_texts_have_no_namespace(text: str):
    assert split_namespace(text) == ("", text)
