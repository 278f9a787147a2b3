"""Events that arrive together: an answer is what it is if each token comes alone, read as JSON."""

import asyncio
from random import Random

import pytest

from adapters.formats import for_own_engine
from engine import UnsupportedSchema
from tests.formats.cases import SPECIALS
from tests.formats.harness import compiled_as, walk
from tests.formats.test_streams import closers_of

from .streams import OUTPUTS, Answered, answered, stream_of
from .test_faults import GRAMMAR, PLAN, STREAMS

STOP = {"type": "stop"}
#: tokens after which a walk is drawn towards its end, and its longest length
PATIENCE, LIMIT = 60, 200


def unusual(data: bytes) -> bytes:
    """Return the same events, each in a form that is left to the JSON parser."""
    return data.replace(b"\n\n", b"\r\n\n")


def together(data: bytes, chance: Random, most: int) -> list[bytes]:
    """Return the stream in reads of up to ``most`` events."""
    events = [event + b"\n\n" for event in data.split(b"\n\n")[:-1]]
    reads, at = [], 0
    while at < len(events):
        size = chance.randrange(1, most + 1)
        reads.append(b"".join(events[at : at + size]))
        at += size
    return reads


@pytest.mark.parametrize("name", sorted(SPECIALS))
def test_random_answers(name: str) -> None:
    asyncio.run(_compare(name))


async def _compare(name: str) -> None:
    chance, closers = Random(f"burst {name}"), closers_of(name)
    for choice, output in OUTPUTS.items():
        try:
            plan, grammar = compiled_as(name, output, for_own_engine)
        except UnsupportedSchema:
            continue
        ids = walk(grammar, chance, closers, patience=PATIENCE, limit=LIMIT)
        is_whole = ids[-1] in grammar.vocabulary.stop_token_ids
        finish = STOP if is_whole else {"type": "length", "length": len(ids)}
        is_incremental = chance.random() < 0.5
        data = stream_of(ids, chance, is_incremental=is_incremental, finish=finish, sizes=(1,))
        alone = together(unusual(data), chance, 1)
        expected = await answered(plan, grammar, [alone], has_path=False)
        for most in (9, 1000):
            for has_path in (False, True):
                reads = [together(data, chance, most)]
                found = await answered(plan, grammar, reads, has_path=has_path)
                where = f"{choice}, up to {most} events, path: {has_path}"
                assert str(found.error) == str(expected.error), where
                assert found.deltas == expected.deltas, where
                assert found.events[-1] == expected.events[-1], where
                assert found.counted == expected.counted, where


@pytest.mark.parametrize("is_one_read", [False, True])
@pytest.mark.parametrize("what", STREAMS)
def test_faults_are_those_of_the_json_parser(what: str, is_one_read: bool) -> None:
    reads, most = STREAMS[what]
    if is_one_read:
        reads = [b"".join(reads)]

    async def ask(reads: list[bytes]) -> Answered:
        return await answered(PLAN, GRAMMAR, [reads], has_path=False, max_tokens=most)

    found, expected = asyncio.run(ask(reads)), asyncio.run(ask([*map(unusual, reads)]))
    assert found.deltas == expected.deltas
    assert repr(found.error) == repr(expected.error)
    assert found.counted == expected.counted
