"""Whether an answer is what was asked for, judged by code that had no part in making it.

    finished    the text is JSON and validates with ``jsonschema`` under draft 2020-12, with the
                formats that the engine asserts and with patterns as ECMA-262 reads them; calls name
                offered tools only
    cut off     all calls but the last are finished ones; the rest is a beginning of JSON (jiter,
                the client's own parser) and of what the schema allows (the engine; it is the only
                one here who can tell)

Not here    asking (asking.py).
"""

import json
import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

import jiter
from jsonschema import Draft202012Validator, FormatChecker, ValidationError
from jsonschema.validators import extend

from app.conversation.tokenizer import BuiltinTokenizer
from engine import Compiler, Matcher

from .asking import Answer

#: formats that the engine asserts; all others are annotations
FORMATS = ("date", "time", "date-time", "ipv4", "uuid")
#: stands in for the bytes of a character that was cut off
CUT_CHARACTER = "\ufffd"
#: what \d, \w and \s stand for in ECMA-262, as the inside of a class; Python's own hold other
#: letters and digits, and no U+FEFF
ECMA_CLASSES = {
    "d": "0-9",
    "w": "A-Za-z0-9_",
    "s": "\t-\r \xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff",
}

Schema = Mapping[str, Any]


class Judge:
    """Holds the compiler that knows what a cut-off text could have become."""

    @cached_property
    def compiler(self) -> Compiler:
        return Compiler(BuiltinTokenizer().vocabulary)

    def calls(self, answer: Answer, schemas: Mapping[str, Schema]) -> list[str]:
        """Return errors of an answer that had to be calls."""
        cut, wrong = answer.finish == "length", _wrong_ending(answer, "tool_calls")
        if not cut and not answer.calls:
            wrong.append("no call")
        if len({call.id for call in answer.calls}) != len(answer.calls):
            wrong.append("two calls of one id")
        for number, call in enumerate(answer.calls):
            if call.name not in schemas:
                wrong.append(f"unknown tool {call.name!r}")
            elif cut and number == len(answer.calls) - 1:
                wrong += self.beginning(call.arguments, schemas[call.name])
            else:
                wrong += whole(call.arguments, schemas[call.name])
        return wrong

    def content(self, answer: Answer, schema: Schema) -> list[str]:
        """Return errors of an answer that had to be one JSON value."""
        wrong = _wrong_ending(answer, "stop")
        if answer.calls:
            wrong.append("a call without tools")
        if answer.finish == "length":
            return wrong + self.beginning(answer.content or "", schema)
        return wrong + whole(answer.content or "", schema)

    def beginning(self, text: str, schema: Schema) -> list[str]:
        """Return errors of a truncated text."""
        text = text.removesuffix(CUT_CHARACTER)
        try:
            if text:
                jiter.from_json(text.encode(), partial_mode="trailing-strings")
        except ValueError as error:
            return [f"no beginning of JSON: {error}: ...{text[-80:]!r}"]
        matcher = Matcher(self.compiler.compile_json_schema(dict(schema)))
        if matcher.accept_bytes(text.encode()):
            return []
        return [f"no beginning of what the schema allows: ...{text[-80:]!r}"]


def whole(text: str, schema: Schema) -> list[str]:
    """Return errors of a complete text."""
    try:
        value = json.loads(text, parse_constant=_no_constant)
    except ValueError as error:
        return [f"no JSON: {error}: {text[:80]!r}"]
    wrong = [] if text == text.strip() else ["white space around the value"]
    validator = Validator(schema, format_checker=_asserted_formats())
    return wrong + [
        f"not valid at {error.json_path[:80]}: {error.message[:160]}"
        for error in validator.iter_errors(value)
    ]


def _asserted_formats() -> FormatChecker:
    """FormatChecker(FORMATS) would take the oldest draft's meaning of "time"."""
    checker = FormatChecker(())
    known = Draft202012Validator.FORMAT_CHECKER.checkers
    checker.checkers = {name: known[name] for name in FORMATS}
    return checker


def in_python(pattern: str) -> str:
    """An ECMA-262 pattern for ``re``: its classes, and a ``$`` that stands for the very end."""
    inside = False

    def translated(match: re.Match[str]) -> str:
        nonlocal inside
        part, name = match[0], match[0][1:]
        if part == "$":
            return part if inside else r"\Z"
        if not part.startswith("\\"):
            inside = part != "]"
        elif name in ECMA_CLASSES:
            return ECMA_CLASSES[name] if inside else f"[{ECMA_CLASSES[name]}]"
        elif name.lower() in ECMA_CLASSES and not inside:
            return f"[^{ECMA_CLASSES[name.lower()]}]"
        return part

    return re.sub(r"\\.|\[|\]|\$", translated, pattern, flags=re.DOTALL)


def _pattern(validator: Any, pattern: str, value: Any, schema: Schema) -> Iterator[ValidationError]:
    if isinstance(value, str) and not re.search(in_python(pattern), value):
        yield ValidationError(f"{value!r} does not match {pattern!r}")


Validator = extend(Draft202012Validator, {"pattern": _pattern})


def _wrong_ending(answer: Answer, expected: str) -> list[str]:
    """Finish reason and usage tell the same."""
    wrong = []
    if answer.finish not in (expected, "length"):
        wrong.append(f"finish_reason {answer.finish!r}")
    unused = answer.limit - answer.completion_tokens
    if unused < 0 or (unused and answer.finish == "length"):
        wrong.append(f"{answer.completion_tokens} tokens with finish_reason {answer.finish!r}")
    if not answer.prompt_tokens or not answer.completion_tokens:
        wrong.append("usage counts nothing")
    return wrong


def _no_constant(text: str) -> Any:
    raise ValueError(f"{text} is not JSON")
