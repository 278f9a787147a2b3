"""What one compiler leaves in a store serves others; what does not fit is refused and not used."""

import struct
from collections.abc import Callable, Iterator

import pytest

import engine
from engine import artifact
from engine.triples import TripleTable
from tests.engine.harness import DictStore, new_mask
from tests.vocabularies import small_vocabulary

#: a rule whose masks are costly, the same whatever the property's name
MAIL = {"type": "string", "format": "email", "maxLength": 40}
HEAD, PLACE = struct.Struct("<4sIIII"), struct.Struct("<II")
LISTS = ("words", "ids", "need_ends", "exits", "exit_counts", "triggers")


def padded(vocabulary: engine.Vocabulary, by: int) -> engine.Vocabulary:
    """The same tokens with empty ones behind them, as a worker has them for its logits."""
    return engine.Vocabulary(
        [*vocabulary.tokens, *[b""] * by],
        stop_token_ids=vocabulary.stop_token_ids,
        special_token_ids=vocabulary.special_token_ids,
    )


def walk(compiler: engine.Compiler, name: str, texts: tuple[str, ...]) -> list[bytes]:
    """The masks before every byte of each text, without the words of padding."""
    properties = {name: MAIL, "free": {"type": "string"}}
    compiled = compiler.compile_json_schema({"type": "object", "properties": properties})
    mask, found = new_mask(compiler.vocabulary), []
    for text in texts:
        matcher = engine.Matcher(compiled)
        for byte in text.replace("NAME", name).encode():
            matcher.fill_bitmask(mask)
            found.append(mask[:, : small_vocabulary().words].tobytes())
            assert not mask[:, small_vocabulary().words :].any()
            assert matcher.accept_bytes(bytes([byte]))
    return found


TEXTS = ('{"NAME": "somebody@example.org"', '{"free": "\\u00e9 and more"}')


def learnt(*texts: str) -> DictStore:
    """A store with what a compiler leaves there, text by text."""
    store = DictStore()
    compiler = engine.Compiler(small_vocabulary(), store=store)
    for text in texts:
        walk(compiler, "first", (text,))
        compiler.flush()
    assert store.kept
    return store


@pytest.mark.parametrize("by", [0, 1, 40], ids=["the same", "a little padding", "words of padding"])
def test_masks_from_a_store_are_used(by: int) -> None:
    cold = walk(engine.Compiler(small_vocabulary()), "other", TEXTS)
    reader = engine.Compiler(padded(small_vocabulary(), by), store=learnt(*TEXTS))
    assert walk(reader, "other", TEXTS) == cold
    stats = reader.stats()
    assert stats["store_hits"] > 0
    assert stats["store_rejected"] == 0


def test_masks_of_a_padded_vocabulary_serve_one_without() -> None:
    store = DictStore()
    writer = engine.Compiler(padded(small_vocabulary(), 40), store=store)
    cold = walk(writer, "other", TEXTS)
    writer.flush()
    reader = engine.Compiler(small_vocabulary(), store=store)
    assert walk(reader, "other", TEXTS) == cold
    assert reader.stats()["store_hits"] > 0


def test_what_is_learnt_later_is_added_to_what_lies_there() -> None:
    whole, first = learnt(TEXTS[0][:20], TEXTS[0]), learnt(TEXTS[0][:20])
    assert whole.kept.keys() >= first.kept.keys()
    for key, value in first.kept.items():
        assert {tuple(triple["place"]) for triple in triples(value)} <= {
            tuple(triple["place"]) for triple in triples(whole.kept[key])
        }
    assert sum(map(len, whole.kept.values())) > sum(map(len, first.kept.values()))


def test_damaged_values_are_not_used() -> None:
    cold = walk(engine.Compiler(small_vocabulary()), "other", TEXTS)
    store = learnt(*TEXTS)
    for key, value in store.kept.items():
        store.kept[key] = value[: len(value) // 2]
    reader = engine.Compiler(small_vocabulary(), store=store)
    assert walk(reader, "other", TEXTS) == cold
    assert reader.stats()["store_rejected"] > 0
    assert reader.stats()["store_hits"] == 0


def test_every_damage_is_refused() -> None:
    vocabulary, tried = small_vocabulary(), set()
    for value in learnt(*TEXTS).kept.values():
        assert fits(value, vocabulary)
        for name, damaged in damages(value, vocabulary):
            assert not fits(damaged, vocabulary), name
            tried.add(name)
    assert tried >= CHANGES.keys()


def test_another_vocabularys_values_are_refused() -> None:
    small = small_vocabulary()
    other = engine.Vocabulary(
        [*small.tokens, b"somebody"],
        stop_token_ids=small.stop_token_ids,
        special_token_ids=small.special_token_ids,
    )
    for value in learnt(*TEXTS).kept.values():
        assert not fits(value, other)


# -- values ----------------------------------------------------------------------------------------
def fits(value: bytes, vocabulary: engine.Vocabulary) -> bool:
    table = TripleTable(1 << 24)
    fitted = artifact.load(table, b"sixteen bytes of", value, vocabulary)
    assert fitted == (table.stats()["triples"] > 0)
    return fitted


def triples(value: bytes) -> list[dict[str, list[int]]]:
    """A value as it is told in artifact's header."""
    *_, count = HEAD.unpack_from(value)
    at, out = HEAD.size, []
    for _ in range(count):
        found: dict[str, list[int]] = {"place": list(PLACE.unpack_from(value, at))}
        at += PLACE.size
        for name in LISTS:
            (size,) = struct.unpack_from("<I", value, at)
            found[name] = list(struct.unpack_from(f"<{size}I", value, at + 4))
            at += 4 + 4 * size
        out.append(found)
    assert at == len(value)
    return out


def value_of(head: bytes, found: list[dict[str, list[int]]]) -> bytes:
    parts = [head]
    for triple in found:
        parts.append(PLACE.pack(*triple["place"]))
        for name in LISTS:
            parts.append(struct.pack(f"<I{len(triple[name])}I", len(triple[name]), *triple[name]))
    return b"".join(parts)


def damages(value: bytes, vocabulary: engine.Vocabulary) -> Iterator[tuple[str, bytes]]:
    """Of every kind as many as the value has room for."""
    head = value[: HEAD.size]
    assert value_of(head, triples(value)) == value
    yield "nothing", b""
    yield "half a head", value[:9]
    yield "an odd size", value[:-1]
    yield "a word less", value[:-4]
    yield "a word more", value + b"\0\0\0\0"
    yield "other magic", b"XXXX" + value[4:]
    yield "another version", value[:4] + struct.pack("<I", artifact.VERSION + 1) + value[8:]
    yield "another width", value[:8] + struct.pack("<I", vocabulary.words + 1) + value[12:]
    yield "another trie", value[:12] + struct.pack("<I", vocabulary.trie_nodes + 1) + value[16:]
    yield "more triples", value[:16] + b"\xff" * 4 + value[20:]
    for number in range(len(triples(value))):
        for name, change in CHANGES.items():
            found = triples(value)
            if change(found[number], vocabulary):
                yield name, value_of(head, found)


def _stop_token(triple: dict[str, list[int]], vocabulary: engine.Vocabulary) -> bool:
    triple["ids"] += [vocabulary.stop_token_ids[0]]
    return True


def _stop_bit(triple: dict[str, list[int]], vocabulary: engine.Vocabulary) -> bool:
    stop = vocabulary.stop_token_ids[0]
    if triple["words"]:
        triple["words"][stop >> 5] |= 1 << (stop & 31)
    return bool(triple["words"])


def _far_token(triple: dict[str, list[int]], vocabulary: engine.Vocabulary) -> bool:
    triple["ids"] += [vocabulary.size]
    return True


def _far_node(triple: dict[str, list[int]], vocabulary: engine.Vocabulary) -> bool:
    triple["place"][1] = vocabulary.trie_nodes
    return True


def _far_exit(triple: dict[str, list[int]], vocabulary: engine.Vocabulary) -> bool:
    triple["exits"] += [vocabulary.trie_nodes, vocabulary.trie_nodes + 1]
    return True


def _half_an_exit(triple: dict[str, list[int]], vocabulary: engine.Vocabulary) -> bool:
    triple["exits"] += [1]
    return True


def _far_trigger(triple: dict[str, list[int]], vocabulary: engine.Vocabulary) -> bool:
    triple["triggers"] += [vocabulary.trie_nodes]
    return True


def _needs_that_fall(triple: dict[str, list[int]], vocabulary: engine.Vocabulary) -> bool:
    triple["need_ends"] += [len(triple["ids"]), 0]
    return bool(triple["ids"])


def _short_words(triple: dict[str, list[int]], vocabulary: engine.Vocabulary) -> bool:
    triple["words"] = triple["words"][:-1]
    return bool(triple["words"])


CHANGES: dict[str, Callable[[dict[str, list[int]], engine.Vocabulary], bool]] = {
    "a stop token": _stop_token,
    "a stop token's bit": _stop_bit,
    "a far token": _far_token,
    "a far node": _far_node,
    "a far exit": _far_exit,
    "half an exit": _half_an_exit,
    "a far trigger": _far_trigger,
    "needs that fall": _needs_that_fall,
    "short words": _short_words,
}
