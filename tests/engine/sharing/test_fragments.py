"""Fragments belong to a compiler, and the process caches nothing of a client."""

import re
from pathlib import Path
from typing import Any

import engine
from tests.vocabularies import small_vocabulary

#: a spec of each kind of fragment, and of the sets of characters that patterns name or compute
FRAGMENTS = [
    {"type": "string", "pattern": "^[ab]+$", "maxLength": 9},
    {"type": "string", "format": "date"},
    {"type": "string", "pattern": r"^(?i:\p{L}[^\p{Script=Greek}x])$", "minLength": 2},
    {"type": "integer", "minimum": -3, "maximum": 777},
    {"type": "number", "multipleOf": 0.25},
]


def lookups(compiler: engine.Compiler, schema: dict[str, Any]) -> tuple[int, int]:
    """Return how many fragments a compile finds, and how many it builds."""
    before = compiler.stats()
    compiler.compile_json_schema(schema)
    hits, misses = (
        compiler.stats()[name] - before[name] for name in ("fragment_hits", "fragment_misses")
    )
    return hits, misses


def test_compilers_share_no_fragments() -> None:
    """REGRESSION: the process cached them, so a tenant could time the patterns of another one."""
    one, other = (engine.Compiler(small_vocabulary()) for _ in range(2))
    for schema in FRAGMENTS:
        assert lookups(one, schema) == (0, 1)
        assert lookups(one, {**schema, "title": "again"}) == (1, 0)
        assert lookups(other, {**schema, "title": "another tenant"}) == (0, 1)


#: functions that cache, and caches and dicts of modules
CACHES = re.compile(
    r"@(?:lru_)?cache\b.*\ndef (\w+)"
    r"|^(?:cdef \w+ )?(\w+)(?:: .+)? = (?:\w*Cache\(|OrderedDict\(|{}$)",
    re.MULTILINE,
)


def test_the_process_caches_nothing_of_a_client() -> None:
    """REGRESSION: complements of classes, and names of properties, were cached for all clients."""
    sources = [
        path for end in ("py", "pyx") for path in Path(engine.__file__).parent.rglob(f"*.{end}")
    ]
    texts = [path.read_text() for path in sources]
    found = {name for text in texts for match in CACHES.findall(text) for name in match if name}
    # tables of Unicode and GPT-2's alphabet, both read whole; the two sets of characters of words;
    # a dict that stays empty
    assert found == {"properties", "alike", "_byte_alphabet", "boundaries", "NO_MEMBERS"}


def test_fragments_stay_within_their_bytes() -> None:
    limits = engine.Limits(fragment_bytes=40_000)
    compiler = engine.Compiler(small_vocabulary(), limits=limits)
    for n in range(100):
        compiler.compile_json_schema({"pattern": f"^a{{{n}}}[ab]+(foo|bar)$", "type": "string"})
        assert 0 < compiler.stats()["fragment_bytes"] <= limits.fragment_bytes
    assert 5 < compiler.stats()["fragment_fragments"] < 100
