"""Log probabilities name the tokens of content, each once, with the delta of its first byte.

The oracle is a run with tokens of one byte, whose listed tokens must spell the content. A run with
longer tokens must list those that cover one of these bytes. Log probabilities number the tokens.
"""

from collections.abc import Sequence
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.formats import ContentDelta, FormatPlan
from adapters.workers import Chunk, TokenLogprob
from app.generation.choice_decoder import ChoiceDecoder
from app.generation.content_logprobs import ContentLogprobs, ContentToken
from app.generation.content_stops import ContentStops
from app.generation.foreign_parser import ForeignParser
from engine import Compiled
from tests.formats.cases import ANSWERS, AUTO, SPECIALS, Answer, Said
from tests.formats.harness import compiled, compiler, encode

#: lengths of tokens, of which longer ones cross the borders of marks and of characters
LONGEST = 10


def case_name(answer: Answer) -> str:
    return f"{answer.format}-{answer.text[:30]!r}"


def chunked(ids: Sequence[int], finish: str, chance: Random | None) -> list[Chunk]:
    """The chunks of one answer, of random sizes; None: a single chunk."""
    chunks, at = [], 0
    while at < len(ids):
        size = len(ids) if chance is None else chance.randrange(1, 6)
        part = tuple(ids[at : at + size])
        numbered = tuple(TokenLogprob(-float(n)) for n in range(at, at + len(part)))
        at += size
        end = finish if at >= len(ids) else None
        chunks.append(Chunk(part, end, 1, at, logprobs=numbered))  # type: ignore[arg-type]
    return chunks


def listed(
    plan: FormatPlan,
    grammar: Compiled,
    chunks: list[Chunk],
    stops: Sequence[str] = (),
    foreign: frozenset[int] | None = None,
) -> tuple[str, list[tuple[str, list[ContentToken]]]]:
    """The content, and each ContentDelta with its tokens."""
    tokens = grammar.vocabulary.tokens
    parser = grammar.parser()
    reader = plan.traced_reader()
    decoder = ChoiceDecoder(
        parser if foreign is None else ForeignParser(parser, grammar.vocabulary, foreign),
        reader,
        ContentStops(stops),
        tokens,
        ContentLogprobs(reader, tokens),
    )
    shown = []
    for chunk in chunks:
        item, end = decoder.feed(chunk)
        assert item.logprobs is not None
        for delta, found in zip(item.deltas, item.logprobs, strict=True):
            assert isinstance(delta, ContentDelta) == (found is not None)
            if isinstance(delta, ContentDelta):
                shown.append((delta.text, found or []))
        if end is not None:
            break
    return "".join(text for text, _ in shown), shown


def numbers(shown: list[tuple[str, list[ContentToken]]]) -> list[int]:
    return [-int(token.logprob) for _, tokens in shown for token in tokens]


def ranges(name: str, ids: Sequence[int]) -> list[tuple[int, int]]:
    tokens, at, found = compiler(name).vocabulary.tokens, 0, []
    for number in ids:
        found.append((at, at + len(tokens[number])))
        at += len(tokens[number])
    return found


def check(answer: Answer, text: str, finish: str, stops: Sequence[str] = ()) -> None:
    name = answer.format
    plan, grammar = compiled(name, answer.output)
    short = encode(name, text)
    content, shown = listed(plan, grammar, chunked(short, finish, None), stops)
    spelt = b"".join(token.data for _, tokens in shown for token in tokens)
    assert spelt.decode(errors="replace") == content
    places = ranges(name, short)
    covered = [at for n in numbers(shown) for at in range(*places[n])]
    for seed, longest in enumerate([1, 3, LONGEST, LONGEST]):
        ids = encode(name, text, longest)
        wanted = [
            n
            for n, (begin, end) in enumerate(ranges(name, ids))
            if any(begin <= at < end for at in covered)
        ]
        for chance in (None, Random(f"{text}{seed}")):
            again, found = listed(plan, grammar, chunked(ids, finish, chance), stops)
            assert again == content
            assert numbers(found) == wanted
            check_deltas(name, ids, covered, found)


def check_deltas(
    name: str, ids: Sequence[int], covered: list[int], shown: list[tuple[str, list[ContentToken]]]
) -> None:
    """Each token is in the delta that has its first byte of content."""
    places, at = ranges(name, ids), 0
    for text, tokens in shown:
        size = len(text.encode())
        mine = covered[at : at + size]
        for token in tokens:
            begin, end = places[-int(token.logprob)]
            first = next(place for place in covered if begin <= place < end)
            assert first in mine
        at += size


@pytest.mark.parametrize("answer", ANSWERS, ids=case_name)
def test_the_listed_tokens_cover_the_content(answer: Answer) -> None:
    """For each format's answers, however they are cut into tokens and chunks."""
    check(answer, answer.text, "stop")


@pytest.mark.parametrize(
    "answer", [each for each in ANSWERS if each.format in ("harmony", "hermes", "llama3_json")],
    ids=case_name,
)  # fmt: skip
def test_a_truncated_answer_lists_the_tokens_of_what_is_left(answer: Answer) -> None:
    for end in range(1, len(answer.text), 3):
        if not any(
            special.startswith(answer.text[at:end])
            for special in SPECIALS[answer.format]
            for at in range(max(0, end - len(special) + 1), end)
        ):
            check(answer, answer.text[:end], "length")


texts = st.text(alphabet=st.sampled_from("ab \n;é漢😀<>{"), max_size=30)


@settings(max_examples=40, deadline=None)
@given(
    texts, texts, st.lists(st.sampled_from(["a", "b;", "漢", "é a", "<tool_", "\n"]), max_size=3)
)
def test_random_text_around_a_call(before: str, after: str, stops: list[str]) -> None:
    """Also white space that is syntax, and stop strings, which remove text and its tokens."""
    call = '<tool_call>\n{"name": "f", "arguments": {"city": "Oslo"}}\n</tool_call>'
    text = f"<think>\nWhich city?\n</think>\n\n{before}{call}{after}<|im_end|>"
    check(Answer("hermes", AUTO, text, Said()), text, "stop", stops)


@pytest.mark.parametrize("cut", [1, 2, 3])
def test_a_cut_character_lists_the_tokens_of_its_bytes(cut: int) -> None:
    """The answer's end makes U+FFFD of an incomplete character."""
    plan, grammar = compiled("plain", AUTO)
    ids = encode("plain", "a😀")[: 1 + cut]
    content, shown = listed(plan, grammar, chunked(ids, "length", None))
    assert (content, numbers(shown)) == ("a\ufffd", list(range(1 + cut)))


@pytest.mark.parametrize(
    ("data", "content"),
    [
        (b"a\xffb", "a\ufffdb"),
        (b"\xf0\x9f\x98a", "\ufffda"),
        (b"\xe6\xbc\xe6\xbc\xa2b", "\ufffd漢b"),
        ("漢b".encode(), "漢b"),
    ],
)
def test_broken_text_of_a_foreign_engine(data: bytes, content: str) -> None:
    """U+FFFD is longer than the bytes that it stands for; what follows keeps its tokens."""
    plan, grammar = compiled("plain", AUTO)
    chunks = chunked([*data, *encode("plain", "cd")], "length", None)
    got, shown = listed(plan, grammar, chunks, foreign=frozenset())
    assert got == content + "cd"
    assert numbers(shown) == list(range(len(data) + 2))


def test_a_worker_that_omits_log_probabilities_fails() -> None:
    plan, grammar = compiled("plain", AUTO)
    with pytest.raises(ValueError, match="shorter"):
        listed(plan, grammar, [Chunk((97,), "length", 1, 1)])
