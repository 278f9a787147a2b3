"""The memory behind the engine's vectors: taken back, taken again, one pool for all modules."""

import gc
import os
import subprocess
import sys

import pytest

from engine import Compiler
from engine.native import resources
from tests.vocabularies import small_vocabulary

pytestmark = pytest.mark.program

DEBUG = "ENGINE_DEBUG=1 builds take every block from operator new"


def schema(number: int) -> dict[str, object]:
    names = {f"key{number}x{k}": {"type": "string"} for k in range(50)}
    return {"type": "object", "properties": names, "required": list(names)}


@pytest.fixture
def compiler() -> Compiler:
    made = Compiler(small_vocabulary())
    if resources.stats()["taken"] == 0:
        pytest.skip(DEBUG)
    return made


def test_memory_is_given_back_and_taken_again(compiler: Compiler) -> None:
    """In a process of its own: what other tests left in the pool would count, too."""
    script = """if True:
        import gc
        from engine import Compiler
        from engine.native import resources
        from tests.engine.native.test_pool import schema
        from tests.vocabularies import small_vocabulary

        vocabulary = small_vocabulary()

        def run(first):
            made = Compiler(vocabulary)
            for number in range(first, first + 20):
                made.compile_json_schema(schema(number))

        run(0)
        gc.collect()
        before = resources.stats()
        for first in range(20, 200, 20):
            run(first)
        gc.collect()
        after = resources.stats()
        assert after["mapped"] <= before["mapped"], (before, after)
        assert after["taken"] <= before["taken"] + (64 << 10), (before, after)
    """
    done = subprocess.run([sys.executable, "-c", script], stderr=subprocess.PIPE, text=True)
    assert done.returncode == 0, done.stderr


def test_free_memory_goes_back_to_the_system_and_is_taken_again(compiler: Compiler) -> None:
    """REGRESSION: memory stayed at its peak for the life of the process."""
    before = resources.stats()
    made = Compiler(compiler.vocabulary)
    kept = [made.compile_json_schema(schema(number)) for number in range(5000, 5200)]
    for compiled in kept:
        compiled.prepare(20)
    peak = resources.stats()
    grown = peak["taken"] - before["taken"]
    assert grown > 4 << 20, "the case takes memory"
    del made, kept, compiled
    gc.collect()
    resources.trim()
    after = resources.stats()
    assert after["taken"] <= before["taken"] + (64 << 10)
    assert after["mapped"] <= peak["mapped"] - grown // 2
    again = Compiler(compiler.vocabulary).compile_json_schema(schema(5000))
    assert again.is_satisfiable()
    assert resources.stats()["mapped"] >= resources.stats()["taken"]


def test_addresses_are_given_back(compiler: Compiler) -> None:
    """REGRESSION: a process that compiled on and on reserved ever more addresses."""
    script = """if True:
        import gc, random, sys
        from engine import Compiler
        from engine.native import resources
        from tests.engine.native.test_pool import schema
        from tests.vocabularies import small_vocabulary

        def reserved():
            with open("/proc/self/status") as file:
                return next(int(line.split()[1]) for line in file if line.startswith("VmSize"))

        rng, vocabulary, kept = random.Random(1), small_vocabulary(), []
        for number in range(60):
            made = Compiler(vocabulary)
            for each in range(20):
                made.compile_json_schema(schema(number * 20 + each)).prepare(20)
            # some live on among what is dropped
            kept = kept[-5:] + [made] if number % 3 == 0 else kept
            del made
            gc.collect()
            resources.trim()
            if number == 20:
                before = reserved()
        assert reserved() - before < 32 << 10, reserved() - before
    """
    done = subprocess.run([sys.executable, "-c", script], stderr=subprocess.PIPE, text=True)
    assert done.returncode == 0, done.stderr


def test_a_process_without_memory_ends(compiler: Compiler) -> None:
    """It can't go on: a vector that did not grow is a mask that is wrong."""
    script = """if True:
        import resource
        from engine import Compiler
        from tests.engine.native.test_pool import schema
        from tests.vocabularies import small_vocabulary

        made = Compiler(small_vocabulary())
        with open("/proc/self/statm") as file:
            reserved = int(file.read().split()[0]) * 4096
        resource.setrlimit(resource.RLIMIT_AS, (reserved + (40 << 20),) * 2)
        kept = [made.compile_json_schema(schema(number)) for number in range(2000)]
        for compiled in kept:
            compiled.prepare(20)
    """
    done = subprocess.run([sys.executable, "-c", script], stderr=subprocess.PIPE, text=True)
    assert done.returncode != 0
    assert "out of memory" in done.stderr or "MemoryError" in done.stderr, done.stderr


def test_all_modules_share_one_pool(compiler: Compiler) -> None:
    before = resources.stats()["taken"]
    kept = compiler.compile_json_schema(schema(1000))
    assert resources.stats()["taken"] > before
    assert kept.is_satisfiable()


def test_a_process_has_memory_in_hand(compiler: Compiler) -> None:
    assert resources.stats()["mapped"] > resources.stats()["taken"]


def test_the_memory_of_a_new_process_was_touched(compiler: Compiler) -> None:
    """REGRESSION: a block taken before the first compiler was made left a region untouched."""
    code = """
import resource
from engine import Compiler
from engine.native import resources
from engine.grammar.ir import Grammar
from tests.vocabularies import small_vocabulary

def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

grammar = Grammar()
grammar.bytes(b"a block")
vocabulary = small_vocabulary()
compiler = Compiler(vocabulary)
kept = []
for k in range(8):
    keys = {f"key {k} {n}": {"enum": [f"{k} {n}", f"{n} {k}"]} for n in range(60)}
    kept.append(compiler.compile_json_schema({"properties": keys}))
before, taken = faults(), resources.stats()["taken"]
for compiled in kept:
    compiled.prepare(20)
print((resources.stats()["taken"] - taken) >> 12, faults() - before)
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    pages, faults = map(int, found.stdout.split())
    assert pages > 200, "the case takes memory"
    assert faults < pages / 4, "who takes memory does not touch it first"


def test_a_forked_child_can_compile(compiler: Compiler) -> None:
    child = os.fork()
    if child == 0:
        made = compiler.compile_json_schema(schema(2000))
        os._exit(0 if made.is_satisfiable() else 1)
    _, status = os.waitpid(child, 0)
    assert status == 0
