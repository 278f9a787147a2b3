"""Entries of one compiler serve others; entries that do not fit are refused and not used."""

import struct
from collections.abc import Callable, Iterator

import pytest

import engine
from engine.masks.token_mask import TokenMaskCache
from engine.sharing import mask_codec as artifact
from tests.engine.harness import masks_along, new_mask
from tests.engine.memory_log import MemoryLog, loaded
from tests.vocabularies import small_vocabulary

pytestmark = pytest.mark.usefixtures("every_mask_shared")

#: a rule whose masks are costly, the same whatever the property's name
MAIL = {"type": "string", "format": "email", "maxLength": 40}
HEAD = struct.Struct("<4sIIII")


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


TEXTS = ('{"NAME": "someone0@example.org"', '{"free": "\\u00e9 and more"}')


def learnt(*texts: str) -> MemoryLog:
    """A store with the masks that a compiler leaves there, text by text."""
    store = MemoryLog()
    compiler = engine.Compiler(small_vocabulary(), store=store)
    for text in texts:
        walk(compiler, "first", (text,))
        compiler.flush()
    store.kept = {key: value for key, value in store.kept.items() if key.startswith(b"masks/")}
    assert store.kept
    return store


@pytest.mark.parametrize("by", [0, 1, 40], ids=["the same", "a little padding", "words of padding"])
def test_masks_from_a_store_are_used(by: int) -> None:
    cold = walk(engine.Compiler(small_vocabulary()), "other", TEXTS)
    reader = loaded(learnt(*TEXTS).redis, padded(small_vocabulary(), by))
    assert walk(reader, "other", TEXTS) == cold
    stats = reader.stats()
    assert stats["shared_masks_loaded"] > 0
    assert stats["shared_masks_refused"] == 0


def test_masks_of_a_padded_vocabulary_serve_one_without() -> None:
    store = MemoryLog()
    writer = engine.Compiler(padded(small_vocabulary(), 40), store=store)
    cold = walk(writer, "other", TEXTS)
    writer.flush()
    reader = loaded(store.redis, small_vocabulary())
    assert walk(reader, "other", TEXTS) == cold
    assert reader.stats()["shared_masks_loaded"] > 0


def test_what_is_learnt_later_is_added_to_what_lies_there() -> None:
    whole, first = learnt(TEXTS[0][:20], TEXTS[0]), learnt(TEXTS[0][:20])
    assert whole.kept.keys() >= first.kept.keys()
    for key, value in first.kept.items():
        assert places(value) <= places(whole.kept[key])
    assert sum(map(len, whole.kept.values())) > sum(map(len, first.kept.values()))


def test_what_is_not_worth_it_is_not_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    store = MemoryLog()
    compiler = engine.Compiler(small_vocabulary(), store=store)
    compiler.flush()
    store.kept.clear()
    monkeypatch.setattr(artifact, "LEAST_GAIN", 1 << 40)
    walk(compiler, "first", TEXTS)
    compiler.flush()
    assert not store.kept


def test_every_damage_is_refused(counted: dict[bytes, bytes]) -> None:
    vocabulary, tried = small_vocabulary(), set()
    for value in (*learnt(*TEXTS).kept.values(), *counted.values()):
        assert fits(value, vocabulary)
        for name, damaged in damages(value, vocabulary):
            assert not fits(damaged, vocabulary), name
            tried.add(name)
    assert tried >= CHANGES.keys()


#: texts whose characters are counted, an array whose members are, and one that is searched
COUNTED = (
    {"type": "string", "maxLength": 6},
    {"type": "string", "pattern": '^[^"x]*$', "minLength": 2, "maxLength": 6},
    {"type": "array", "items": {"enum": ["a", "bb"]}, "maxItems": 7},
    {"type": "string", "pattern": "ab.*c"},
)
COUNTED_TEXTS = (b'"ab"', b'"aaaaaa"', '"äöüß"'.encode(), b'["a", "bb", "a"]')


def walk_counted(compiler: engine.Compiler) -> list[bytes]:
    found = []
    for schema in COUNTED:
        found += masks_along(compiler.compile_json_schema(schema), COUNTED_TEXTS)
    return found


@pytest.fixture(scope="module")
def counted() -> dict[bytes, bytes]:
    store = MemoryLog()
    compiler = engine.Compiler(small_vocabulary(), store=store)
    walk_counted(compiler)
    compiler.flush()
    return {key: value for key, value in store.kept.items() if key.startswith(b"masks/")}


def taken(kept: dict[bytes, bytes]) -> engine.Compiler:
    store = MemoryLog()
    store.kept = kept
    compiler = loaded(store.redis, small_vocabulary())
    assert compiler.stats()["shared_masks_loaded"] > 0
    return compiler


def test_masks_without_counts_break_no_rule_that_counts(counted: dict[bytes, bytes]) -> None:
    changed, cleared = {}, 0
    for key, value in counted.items():
        found = token_masks(value)
        for token_mask in found:
            cleared += bool(token_mask.counts)
            token_mask.counts = []
        changed[key] = value[: HEAD.size] + b"".join(token_mask.value() for token_mask in found)
    assert cleared
    walk_counted(taken(changed))


def test_masks_of_any_rule_break_no_other(counted: dict[bytes, bytes]) -> None:
    """Entries that only a holder of the key can forge: masks may be wrong, and nothing worse."""
    keys, values = list(counted), list(counted.values())
    for shift in range(1, len(keys)):
        walk_counted(taken(dict(zip(keys, values[shift:] + values[:shift], strict=True))))


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
LISTED, ALL_BUT, WORDS, SAME = range(4)


class TokenMask:
    """A token mask by the header of mask_bytes; ``body`` is its bytes."""

    def __init__(self, left: "Left", words: int) -> None:
        self.state, self.node, self.took_ns = left.number(), left.number(), left.number()
        start = left.at
        self.kind = left.byte()
        self.same, self.needs = 0, []
        self.accepted: list[int] = []
        self.words = b""
        self.exits: list[int] = []
        self.counts: list[int] = []
        self.triggers: list[int] = []
        if self.kind == SAME:
            self.same = left.number()
            return
        if self.kind == WORDS:
            self.words = left.take(4 * words)
        else:
            self.accepted = left.sequence()
        needs = left.number()
        if needs:
            self.needs = [needs, *(left.number() for _ in range(self.size()))]
        self.exits = left.pairs()
        self.counts, self.triggers = left.sequence(), left.sequence()
        assert left.data[start : left.at] == self.body()

    def size(self) -> int:
        """Tokens accepted."""
        small = small_vocabulary()
        special = set(small.special_token_ids)
        ordinary = [t for t, text in enumerate(small.tokens) if text and t not in special]
        if self.kind == ALL_BUT:
            return len(ordinary) - len(self.accepted)
        return len(self.accepted) + int.from_bytes(self.words).bit_count()

    def body(self) -> bytes:
        if self.kind == SAME:
            return bytes([SAME]) + number(self.same)
        accepted = self.words if self.kind == WORDS else list_of(self.accepted)
        needs = b"".join(map(number, self.needs)) or number(0)
        pairs = number(len(self.exits) // 2)
        last = 0
        for x, k in zip(self.exits[::2], self.exits[1::2], strict=True):
            pairs += folded(x - last) + folded(k - x)
            last = x
        tail = pairs + list_of(self.counts) + list_of(self.triggers)
        return bytes([self.kind]) + accepted + needs + tail

    def value(self) -> bytes:
        return number(self.state) + number(self.node) + number(self.took_ns) + self.body()


class Left:
    """The unread bytes."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def take(self, size: int) -> bytes:
        self.at += size
        return self.data[self.at - size : self.at]

    def byte(self) -> int:
        return self.take(1)[0]

    def number(self) -> int:
        found = shift = 0
        while True:
            byte = self.byte()
            found |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return found

    def distance(self) -> int:
        found = self.number()
        return -((found + 1) // 2) if found % 2 else found // 2

    def sequence(self) -> list[int]:
        out, last = [], 0
        for _ in range(self.number()):
            last += self.distance()
            out.append(last)
        return out

    def pairs(self) -> list[int]:
        out, x = [], 0
        for _ in range(self.number()):
            x += self.distance()
            out += [x, x + self.distance()]
        return out


def number(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def folded(distance: int) -> bytes:
    return number(2 * distance if distance >= 0 else -2 * distance - 1)


def list_of(values: list[int]) -> bytes:
    return number(len(values)) + b"".join(
        folded(value - last) for last, value in zip([0, *values], values, strict=False)
    )


def places(value: bytes) -> set[tuple[int, int]]:
    return {(token_mask.state, token_mask.node) for token_mask in token_masks(value)}


def token_masks(value: bytes) -> list[TokenMask]:
    _, _, words, _, count = HEAD.unpack_from(value)
    left = Left(value[HEAD.size :])
    out = [TokenMask(left, words) for _ in range(count)]
    assert left.at == len(left.data)
    return out


def fits(value: bytes, vocabulary: engine.Vocabulary) -> bool:
    table = TokenMaskCache(1 << 24)
    took_ns = artifact.load(table, b"sixteen bytes of", value, vocabulary)
    assert (took_ns >= 0) == (table.stats()["token_masks"] > 0)
    return took_ns >= 0


def damages(value: bytes, vocabulary: engine.Vocabulary) -> Iterator[tuple[str, bytes]]:
    """Of every kind as many as the value has room for."""
    head = value[: HEAD.size]
    yield "nothing", b""
    yield "half a head", value[:9]
    yield "a byte less", value[:-1]
    yield "a byte more", value + b"\0"
    yield "other magic", b"XXXX" + value[4:]
    yield "another version", value[:4] + struct.pack("<I", engine.ARTIFACT_VERSION + 1) + value[8:]
    yield "another width", value[:8] + struct.pack("<I", vocabulary.words + 1) + value[12:]
    yield "another trie", value[:12] + struct.pack("<I", vocabulary.trie_nodes + 1) + value[16:]
    yield "more token_masks", value[:16] + b"\xff" * 4 + value[20:]
    for place in range(len(token_masks(value))):
        for name, change in CHANGES.items():
            found = token_masks(value)
            if change(found[place], vocabulary):
                yield name, head + b"".join(token_mask.value() for token_mask in found)


def _far_token(token_mask: TokenMask, vocabulary: engine.Vocabulary) -> bool:
    token_mask.accepted.append(vocabulary.size)
    token_mask.needs += [0] * bool(token_mask.needs)
    return token_mask.kind in (LISTED, ALL_BUT)


def _stop_token(token_mask: TokenMask, vocabulary: engine.Vocabulary) -> bool:
    token_mask.accepted.append(vocabulary.stop_token_ids[0])
    token_mask.needs += [0] * bool(token_mask.needs)
    return token_mask.kind == LISTED


def _stop_bit(token_mask: TokenMask, vocabulary: engine.Vocabulary) -> bool:
    stop = vocabulary.stop_token_ids[0]
    words = bytearray(token_mask.words)
    if words:
        words[stop >> 3] |= 1 << (stop & 7)
    token_mask.words = bytes(words)
    return bool(words)


def _far_node(token_mask: TokenMask, vocabulary: engine.Vocabulary) -> bool:
    token_mask.node = vocabulary.trie_nodes
    return True


def _far_exit(token_mask: TokenMask, vocabulary: engine.Vocabulary) -> bool:
    token_mask.exits += [vocabulary.trie_nodes, vocabulary.trie_nodes + 1]
    return token_mask.kind != SAME


def _lone_count(token_mask: TokenMask, vocabulary: engine.Vocabulary) -> bool:
    token_mask.counts += [1]
    return token_mask.kind != SAME and 2 * len(token_mask.counts) != len(token_mask.exits)


def _far_trigger(token_mask: TokenMask, vocabulary: engine.Vocabulary) -> bool:
    token_mask.triggers += [vocabulary.trie_nodes]
    return token_mask.kind != SAME


def _great_need(token_mask: TokenMask, vocabulary: engine.Vocabulary) -> bool:
    if len(token_mask.needs) > 1:
        token_mask.needs[-1] = token_mask.needs[0]
    return len(token_mask.needs) > 1


def _negative_token(token_mask: TokenMask, vocabulary: engine.Vocabulary) -> bool:
    token_mask.accepted.insert(0, -1)
    token_mask.needs += [0] * bool(token_mask.needs)
    return token_mask.kind in (LISTED, ALL_BUT)


def _unknown_kind(token_mask: TokenMask, vocabulary: engine.Vocabulary) -> bool:
    token_mask.kind = 4
    return True


def _same_as_none(token_mask: TokenMask, vocabulary: engine.Vocabulary) -> bool:
    token_mask.kind, token_mask.same = SAME, 1 << 20
    return True


CHANGES: dict[str, Callable[[TokenMask, engine.Vocabulary], bool]] = {
    "a stop token": _stop_token,
    "a stop token's bit": _stop_bit,
    "a far token": _far_token,
    "a negative token": _negative_token,
    "a far node": _far_node,
    "a far exit": _far_exit,
    "a lone count": _lone_count,
    "a far trigger": _far_trigger,
    "a need too great": _great_need,
    "an unknown kind": _unknown_kind,
    "the same as none": _same_as_none,
}
