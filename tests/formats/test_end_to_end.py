"""With the engine: what each grammar lets a model write, what it forbids, and how it is read."""

import json
import random
import re

import numpy as np
import pytest
from jsonschema import Draft202012Validator

from adapters.formats import ContentDelta, OutputSpec, get_format
from engine import Compiled, Matcher, ParseDivergence, SpecError

from .cases import ANSWERS as TEXT_ANSWERS
from .cases import (
    AUTO,
    OUTPUTS,
    REQUIRED,
    SPECIALS,
    TOOLS,
    VALUE,
    Answer,
    Said,
    Wrong,
    quiet,
)
from .cases import WRONG as TEXT_WRONG
from .harmony_cases import ACCEPTED, REJECTED
from .harness import LONGER, compiled, compiler, encode, is_accepted, read

ANSWERS = [*TEXT_ANSWERS, *ACCEPTED]
WRONG = [*TEXT_WRONG, *REJECTED]

NAMES = sorted(SPECIALS)


def case_id(case: Answer | Wrong) -> str:
    output = next((name for name, output in OUTPUTS.items() if output == case.output), "quiet")
    return f"{case.format}-{output}-{case.text[:24]!r}"


# -- answers by hand ------------------------------------------------------------------------------


@pytest.mark.parametrize("answer", ANSWERS, ids=case_id)
@pytest.mark.parametrize("longest", [1, 9])
def test_what_models_write_is_accepted_and_read(answer: Answer, longest: int) -> None:
    plan, grammar = compiled(answer.format, answer.output)
    ids = encode(answer.format, answer.text, longest)
    assert is_accepted(grammar, ids)
    assert read(plan, grammar, ids) == answer.means


@pytest.mark.parametrize("answer", ANSWERS, ids=case_id)
def test_a_json_value_is_told_apart_from_text(answer: Answer) -> None:
    plan, grammar = compiled(answer.format, answer.output)
    parser, reader = grammar.parser(), plan.reader()
    for token in encode(answer.format, answer.text):
        for delta in reader.feed(parser.feed(token)):
            if isinstance(delta, ContentDelta):
                is_value = answer.output.response_schema is not None and not answer.means.calls
                assert delta.is_value is is_value


@pytest.mark.parametrize("wrong", WRONG, ids=case_id)
@pytest.mark.parametrize("longest", [1, 9])
def test_what_was_not_asked_for_is_rejected(wrong: Wrong, longest: int) -> None:
    _, grammar = compiled(wrong.format, wrong.output)
    assert not is_accepted(grammar, encode(wrong.format, wrong.text, longest)), wrong.why


@pytest.mark.parametrize("wrong", WRONG, ids=case_id)
def test_spelling_marks_out_does_not_help(wrong: Wrong) -> None:
    """The bytes of a special token's text are no way around it."""
    _, grammar = compiled(wrong.format, wrong.output)
    assert not is_accepted(grammar, list(wrong.text.encode())), wrong.why


@pytest.mark.parametrize("answer", TEXT_ANSWERS, ids=case_id)
def test_marks_that_are_not_special_tokens_mean_the_same(answer: Answer) -> None:
    plan, grammar = compiled(answer.format, answer.output)
    ids = list(answer.text.encode())
    assert is_accepted(grammar, ids)
    assert read(plan, grammar, ids) == answer.means


MARKS = (
    "<tool_call>",
    "<|python_tag|>",
    "<think>",
    "Action:",
    *(f'{{"name": "{tool.name}"' for tool in TOOLS),
    *(f"<function={tool.name}>" for tool in TOOLS),
)


def without_begun_mark(text: str) -> str:
    """Return ``text`` without the beginning of a mark at its end."""
    for size in range(min(16, len(text)), 0, -1):
        if any(mark.startswith(text[-size:]) for mark in MARKS):
            return text[:-size].rstrip("; \n")
    return text


@pytest.mark.parametrize("answer", ANSWERS, ids=case_id)
def test_cut_off_output_loses_no_text_and_leaks_no_marks(answer: Answer) -> None:
    """Each cut is a beginning of the whole, up to a mark or a character that it leaves half."""
    plan, grammar = compiled(answer.format, answer.output)
    ids = encode(answer.format, answer.text)
    for cut in range(len(ids)):
        said = read(plan, grammar, ids[:cut])
        if not said.starts(answer.means):
            said.content = without_begun_mark(said.content.removesuffix("�"))
            said.reasoning = said.reasoning.removesuffix("�")
            said.reasoning = re.sub("\n?(</?t?h?i?n?k?)?$", "", said.reasoning)
        assert said.starts(answer.means), cut


def test_the_stop_token_itself_is_no_text() -> None:
    plan, grammar = compiled("hermes", AUTO)
    ids = encode("hermes", "Hi<|im_end|>")
    matcher = Matcher(grammar)
    assert all(map(matcher.accept_token, ids))
    assert matcher.is_terminated()
    assert read(plan, grammar, ids) == Said("Hi")


def test_a_call_ends_a_harmony_answer() -> None:
    _, grammar = compiled("harmony", AUTO)
    case = next(answer for answer in ACCEPTED if answer.text.endswith("<|call|>"))
    matcher = Matcher(grammar)
    assert all(map(matcher.accept_token, encode("harmony", case.text)))
    assert matcher.is_terminated()


def test_a_reader_is_fed_as_soon_as_the_text_is_certain() -> None:
    """Streaming: arguments come out while they are written, not when the call is over."""
    plan, grammar = compiled("hermes", quiet(REQUIRED))
    parser, reader, said = grammar.parser(), plan.reader(), Said()
    begin = '<tool_call>\n{"name": "f", "arguments": '
    for token in encode("hermes", begin + '{"city": "Os'):
        said.add(reader.feed(parser.feed(token)))
    assert said == Said("", "", [("f", '{"city": "Os')])


@pytest.mark.parametrize("name", NAMES)
def test_text_that_does_not_fit_is_a_divergence(name: str) -> None:
    _, grammar = compiled(name, quiet(REQUIRED))
    with pytest.raises(ParseDivergence):
        grammar.parser().feed_bytes(b"never")


# -- answers by chance ----------------------------------------------------------------------------


def walk(name: str, grammar: Compiled, seed: int, limit: int) -> tuple[list[int], bool]:
    """Random allowed tokens, pulled towards the ends of strings and tags; and whether it ended."""
    chance = random.Random(seed)
    matcher, ids = Matcher(grammar), []
    size = compiler(name).vocabulary.size
    mask = np.zeros((1, (size + 31) // 32), dtype=np.int32)
    closers = [*b'"}]<{>', *range(256 + len(LONGER), size)]
    while len(ids) < limit:
        matcher.fill_bitmask(mask)
        bits = np.unpackbits(mask.view(np.uint8), bitorder="little")[:size]
        allowed = np.flatnonzero(bits).tolist()
        assert allowed
        pulled = [token for token in closers if bits[token]]
        ids.append(chance.choice(pulled if pulled and chance.random() < 0.4 else allowed))
        assert matcher.accept_token(ids[-1])
        if matcher.is_terminated():
            return ids, True
    return ids, False


def check(said: Said, output: OutputSpec) -> None:
    """The message is one that the output spec allows."""
    tools = {tool.name: tool for tool in TOOLS}
    for name, arguments in said.calls:
        schema = tools[name].parameters or {"type": "object", "maxProperties": 0}
        Draft202012Validator(dict(schema)).validate(json.loads(arguments))
    counts = {"none": {0}, "named": {1}, "required": range(1, 10_000), "auto": range(10_000)}
    assert len(said.calls) in counts[output.tool_choice]
    if not output.parallel_tool_calls:
        assert len(said.calls) <= 1
    if output.tool_choice == "named":
        assert said.calls[0][0] == output.tool_name
    if output.response_schema is not None and not said.calls:
        Draft202012Validator(VALUE).validate(json.loads(said.content))
    if output.tool_choice in ("required", "named"):
        assert not said.content or said.calls


@pytest.mark.share
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("output", OUTPUTS)
def test_even_noise_is_a_valid_message(name: str, output: str) -> None:
    plan, grammar = compiled(name, OUTPUTS[output])
    ended = 0
    for seed in range(12):
        ids, whole = walk(name, grammar, seed, 400)
        said = read(plan, grammar, ids)
        assert all(call[0] in {tool.name for tool in OUTPUTS[output].tools} for call in said.calls)
        if whole:
            check(said, OUTPUTS[output])
            ended += 1
    assert ended


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("output", ["auto", "none", "free", "value or call"])
def test_chunks_of_tokens_do_not_matter(name: str, output: str) -> None:
    plan, grammar = compiled(name, OUTPUTS[output])
    for seed in range(8):
        ids, _ = walk(name, grammar, seed, 200)
        parser, reader, said = grammar.parser(), plan.reader(), Said()
        events = [event for token in ids for event in parser.feed(token)] + parser.finish()
        assert said.add(reader.feed(events)).add(reader.finish()) == read(plan, grammar, ids)


# -- refusals -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_what_the_engine_refuses_is_blamed_on_the_request(name: str) -> None:
    bad = {"type": "object", "properties": {"a": {"type": "nonsense"}}}
    for output, place in (
        (
            OutputSpec((TOOLS[0], type(TOOLS[0])("bad", bad)), "required"),
            "tools[1].function.parameters",
        ),
        (OutputSpec(response_schema=bad), "response_format"),
    ):
        plan = get_format(name).plan(output, SPECIALS[name])
        with pytest.raises(SpecError) as caught:
            compiler(name).compile_structural_tag(plan.spec_json)
        location = plan.locate(caught.value.pointer)
        assert location.param == place
        assert location.pointer.startswith("/properties/a")
