"""Short names for structural tags, for the tables of cases.

A text is a string, or a tuple of strings, bytes and token ids. The vocabulary is the 256 bytes and
SPECIALS; EOS and CALL stop. ``yes`` and ``no`` are accepted or refused by the engine and by
xgrammar 0.2.8 alike; ``ours`` only the engine accepts, ``theirs`` only xgrammar, for ``reason``.
"""

from dataclasses import dataclass
from typing import Any

import engine

EOS, A, B, CALL, TRIG = range(256, 261)
SPECIALS = {"<|eos|>": EOS, "<|a|>": A, "<|b|>": B, "<|call|>": CALL, "<|trig|>": TRIG}
STOPS = (EOS, CALL)
TOKENS = [bytes([byte]) for byte in range(256)] + [name.encode() for name in SPECIALS]

Text = Any
Spec = dict[str, Any]

# Why an answer differs from xgrammar's.
STOP = "a token edge for a stop token wins and ends the answer; xgrammar takes none as text"
UNSPELLED = "JSON strings and patterns never match a special token; xgrammar reads it as its bytes"
FIRST_END = "a tag is over at the first occurrence of its end; xgrammar forgets this end here"
OVERLAP = "a tag is over at the first occurrence of its end, also where the end overlaps itself"
FIRST_TRIGGER = "the first trigger to be completed decides; xgrammar also goes on to a longer one"
LETTER = "a special token is one letter; xgrammar looks for triggers and ends inside its text"
WHOLE_TEXT = "triggers, excludes and ends hold for the whole of repeated text, not for each part"
TWO_READINGS = "where a token could be text too, xgrammar forgets that it is a token of its own"
EMPTY_END = "separated tags are no free text, so an empty end is as good as any"
NO_CHARACTERS = "text with a bound is characters; xgrammar counts those of a special token's text"
REPEATED_TOKEN = "xgrammar forgets what is excluded where a token is repeated"
WHOLE_CHARACTERS = "a text is over between characters; xgrammar forgets that here"
WHOLE_BUDGET = "a character that began must be over within the bound; xgrammar goes past it"
BOUNDED_END = "text with a bound needs no end; xgrammar takes it for endless"
EACH_ONCE = "every key once, and the required ones all; xgrammar looks at neither"
WHITE_SPACE = "white space between elements is that of JSON text, xgrammar's has no bound"
RAW_SPACE = "a string is raw, so white space around it would be part of it"
ELEMENT_END = "a string is over at the first occurrence of its end, whatever its schema says"
KEYWORDS = "a pattern is searched for, as JSON Schema has it; xgrammar anchors it"
OPEN_OBJECT = "an additional key is none of the listed ones"
ORDER_OF_REST = "a required key must be there, listed or not"
NUMBER_NAMES = "the type that an element names is that of its value"
TOGETHER = "a format and lengths hold together; xgrammar looks at the format only"
SHORTEST = "a tag belongs to its shortest trigger; xgrammar refuses tags with two triggers"


@dataclass(frozen=True)
class Case:
    name: str
    format: Spec
    yes: tuple[Text, ...] = ()
    no: tuple[Text, ...] = ()
    ours: tuple[Text, ...] = ()
    theirs: tuple[Text, ...] = ()
    reason: str = ""
    xgrammar_compiles: bool = True


def compiler_of(tokens: list[bytes] = TOKENS) -> engine.Compiler:
    """Return a compiler of the vocabulary, which may have further tokens."""
    vocabulary = engine.Vocabulary(
        tokens, stop_token_ids=list(STOPS), special_token_ids=list(SPECIALS.values())
    )
    return engine.Compiler(vocabulary)


def const(value: str) -> Spec:
    return {"type": "const_string", "value": value}


def token(value: int | str) -> Spec:
    return {"type": "token", "token": value}


def seq(*elements: Spec) -> Spec:
    return {"type": "sequence", "elements": list(elements)}


def either(*elements: Spec) -> Spec:
    return {"type": "or", "elements": list(elements)}


def some(kind: str, content: Spec) -> Spec:
    return {"type": kind, "content": content}


def tag(begin: Any, content: Spec, end: Any) -> Spec:
    return {"type": "tag", "begin": begin, "content": content, "end": end}


def text(*excludes: str) -> Spec:
    return {"type": "any_text", "excludes": list(excludes)}


def bounded(max_chars: int, *excludes: str) -> Spec:
    return {"type": "any_text", "max_chars": max_chars, "excludes": list(excludes)}


def limited(max_tokens: int, *excludes: str, **more: Any) -> Spec:
    return {"type": "any_text", "max_tokens": max_tokens, "excludes": list(excludes), **more}


def repeat(content: Spec, low: int, high: int) -> Spec:
    return {"type": "repeat", "content": content, "min": low, "max": high}


def exclude_token(*tokens: int | str) -> Spec:
    return {"type": "exclude_token", "exclude_tokens": list(tokens)}


def any_tokens(*tokens: int | str) -> Spec:
    return {"type": "any_tokens", "exclude_tokens": list(tokens)}


def dispatch(*rules: list[Any], **more: Any) -> Spec:
    return {"type": "dispatch", "rules": list(rules), **more}


def token_dispatch(*rules: list[Any], **more: Any) -> Spec:
    return {"type": "token_dispatch", "rules": list(rules), **more}


def grammar(text: str) -> Spec:
    return {"type": "grammar", "grammar": text}


def triggered(triggers: list[str], tags: list[Spec], **more: Any) -> Spec:
    return {"type": "triggered_tags", "triggers": triggers, "tags": tags, **more}


def by_token(triggers: list[Any], tags: list[Spec], **more: Any) -> Spec:
    return {"type": "token_triggered_tags", "trigger_tokens": triggers, "tags": tags, **more}


def separated(tags: list[Spec], separator: str, **more: Any) -> Spec:
    return {"type": "tags_with_separator", "tags": tags, "separator": separator, **more}


INTEGER: Spec = {"type": "json_schema", "json_schema": {"type": "integer"}}
BOOLEAN: Spec = {"type": "json_schema", "json_schema": {"type": "boolean"}}
ANYTHING: Spec = {"type": "json_schema", "json_schema": {"type": "string"}}
LETTERS: Spec = {"type": "regex", "pattern": "[a-z]+"}
ANY_TEXT: Spec = {"type": "any_text"}
F_A = tag("<f=a>", const("1"), "</f>")
F_B = tag("<f=b>", const("2"), "</f>")
CALLS = triggered(["<f="], [F_A, F_B])
T_A = tag(token("<|a|>"), const("1"), token("<|b|>"))
T_T = tag(token("<|trig|>"), const("2"), token("<|b|>"))
ONE: dict[str, Any] = {"at_least_one": True}
STOP_1: dict[str, Any] = {"stop_after_first": True}


def letters(parts: Text) -> list[int]:
    """Token ids of a text over the vocabulary of bytes and SPECIALS."""
    made: list[int] = []
    for part in parts if isinstance(parts, tuple) else (parts,):
        encoded = part.encode() if isinstance(part, str) else part
        made += [encoded] if isinstance(encoded, int) else list(encoded)
    return made
