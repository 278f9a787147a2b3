"""With the path of plain text, an answer is what it is without: random answers of every format."""

import asyncio
from random import Random

import pytest

from adapters.formats import for_own_engine
from engine import UnsupportedSchema
from tests.formats.cases import FREE, SPECIALS, quiet
from tests.formats.harness import compiled_as, walk
from tests.formats.test_streams import closers_of

from .streams import OUTPUTS, answered, cut, stream_of

ANSWERS = 3
STOP = {"type": "stop"}
#: tokens after which a walk is drawn towards its end, and its longest length
PATIENCE, LIMIT = 60, 200


@pytest.mark.parametrize("name", sorted(SPECIALS))
def test_random_answers(name: str) -> None:
    asyncio.run(_compare(name))


async def _compare(name: str) -> None:
    chance, closers = Random(f"text path {name}"), closers_of(name)
    passed = 0
    for choice, output in OUTPUTS.items():
        try:
            plan, grammar = compiled_as(name, output, for_own_engine)
        except UnsupportedSchema:
            continue
        for number in range(ANSWERS):
            ids = walk(grammar, chance, closers, patience=PATIENCE, limit=LIMIT)
            is_whole = ids[-1] in grammar.vocabulary.stop_token_ids
            finish = STOP if is_whole else {"type": "length", "length": len(ids)}
            data = stream_of(ids, chance, is_incremental=number % 2 == 0, finish=finish)
            streams = [cut(data, chance) for _ in range(1 + number % 3 // 2)]
            general = await answered(plan, grammar, streams, has_path=False)
            compiled = await answered(plan, grammar, streams, has_path=True)
            where = f"{choice}, answer {number}"
            assert str(compiled.error) == str(general.error), where
            assert compiled.deltas == general.deltas, where
            assert compiled.events[-1] == general.events[-1], where
            assert compiled.counted == general.counted, where
            passed += compiled.passed
    assert passed > 2_000, "the path took next to nothing"


def test_events_of_single_tokens_are_the_same_bytes() -> None:
    """Of a server that sends each token alone, the general path writes each alone, too."""

    async def work() -> None:
        plan, grammar = compiled_as("hermes", quiet(FREE), for_own_engine)
        text = 'A "quoted" \\ text\u2028 with\x01 all of it: \x85 é 漢 😀 end'
        ids = [*text.encode(), grammar.vocabulary.stop_token_ids[0]]
        data = stream_of(ids, Random(1), finish=STOP, sizes=(1,))
        reads = [part + b"\n\n" for part in data.split(b"\n\n") if part]
        general = await answered(plan, grammar, [reads], has_path=False)
        compiled = await answered(plan, grammar, [reads], has_path=True)
        assert b"".join(compiled.events) == b"".join(general.events)
        assert compiled.passed > 0 == general.passed

    asyncio.run(work())
