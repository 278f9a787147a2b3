"""The memory behind the engine's vectors: taken back, taken again, one pool for all modules."""

import gc
import os

import pytest

from engine import Compiler, pool
from tests.vocabularies import small_vocabulary

DEBUG = "ENGINE_DEBUG=1 builds take every block from operator new"


def schema(number: int) -> dict[str, object]:
    names = {f"key{number}x{k}": {"type": "string"} for k in range(50)}
    return {"type": "object", "properties": names, "required": list(names)}


@pytest.fixture
def compiler() -> Compiler:
    made = Compiler(small_vocabulary())
    if pool.stats()["taken"] == 0:
        pytest.skip(DEBUG)
    return made


def test_memory_is_given_back_and_taken_again(compiler: Compiler) -> None:
    def run(first: int) -> None:
        made = Compiler(compiler.vocabulary)
        for number in range(first, first + 20):
            made.compile_json_schema(schema(number))

    run(0)
    gc.collect()
    before = pool.stats()
    for first in range(20, 200, 20):
        run(first)
    gc.collect()
    after = pool.stats()
    assert after["mapped"] == before["mapped"]
    assert after["taken"] <= before["taken"] + (64 << 10)


def test_all_modules_share_one_pool(compiler: Compiler) -> None:
    before = pool.stats()["taken"]
    kept = compiler.compile_json_schema(schema(1000))
    assert pool.stats()["taken"] > before
    assert kept.is_satisfiable()


def test_a_process_has_memory_in_hand(compiler: Compiler) -> None:
    assert pool.stats()["mapped"] > pool.stats()["taken"]


def test_a_forked_child_can_compile(compiler: Compiler) -> None:
    child = os.fork()
    if child == 0:
        made = compiler.compile_json_schema(schema(2000))
        os._exit(0 if made.is_satisfiable() else 1)
    _, status = os.waitpid(child, 0)
    assert status == 0
