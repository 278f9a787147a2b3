"""Tool calls in llguidance's Lark, for formats whose tags are special tokens.

llguidance's own tags (StructTag) accept only plain text. These grammars are the fairest equivalent:
free text and tags in turn, and Harmony's messages written out one by one.
"""

import json
from collections.abc import Iterable, Sequence

from .formats import HARMONY, Format, Tag

_HEAD = "%llguidance {}\n"
_TEXT = "TEXT: /(.|\\n)*/\n"
_MESSAGES = (
    'analysis: <|channel|> "analysis" <|message|> TEXT <|end|> again\n'
    'again: <|start|> "assistant"\n'
)


def literal(text: str, special: Iterable[str]) -> str:
    """Return text in quotes and special tokens without them."""
    longest = sorted(special, key=len, reverse=True)
    out, plain, at = [], "", 0
    while at < len(text):
        mark = next((token for token in longest if text.startswith(token, at)), None)
        if mark is None:
            plain += text[at]
            at += 1
            continue
        out += [json.dumps(plain), mark] if plain else [mark]
        plain, at = "", at + len(mark)
    return " ".join([*out, json.dumps(plain)] if plain else out)


def lark(form: Format, tags: Sequence[Tag], special: Iterable[str]) -> str:
    names = " | ".join(f"t{k}" for k in range(len(tags)))
    in_messages = form.name == HARMONY.name
    if in_messages:
        start = f"start: (analysis)* ({names}) (again ({names}))*\n{_MESSAGES}"
    else:
        start = f"start: ({names})* TEXT\n"
    lead = "" if in_messages else "TEXT "
    rules = [
        f"t{k}: {lead}{literal(tag.begin, special)} %json {json.dumps(tag.schema)} "
        f"{literal(tag.end, special)}\n"
        for k, tag in enumerate(tags)
    ]
    return _HEAD + start + "".join(rules) + _TEXT
