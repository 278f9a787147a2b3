"""Control tokens in client text: they stay text.

A prompt is one text in which a chat template spells its control tokens, and a tokenizer makes a
token of each, whoever wrote it: a tool's result that holds ``<|im_end|>`` would end its message.
So each spelling of a control token in client text is broken by a mark before the template runs.
What the template then spells whole is its own. A second tokenizer knows the control tokens under
names that no client can guess; it encodes the prompt with the template's spellings replaced by
these names, and with the clients' put together again.

Representation   ``_mark`` and the names are random digits, drawn at start: templates do not change
                 them, and no client knows them.
Invariants       I1 a prompt without marks has the ids that the tokenizer gives it. I2 a prompt with
                 marks has exactly the control tokens that the template wrote.
Cost             a scan of every string of the request; the second tokenizer is made when the first
                 prompt needs it, in about a second for 150,000 tokens.
Threads          safe; at worst two threads make the second tokenizer.
"""

import json
import re
import secrets
from collections.abc import Collection, Mapping
from functools import cached_property
from typing import Any, NamedTuple

from tokenizers import Tokenizer as Backend

_DIGITS = 24


class UnwritableText(ValueError):
    """This tokenizer can't write the text of a control token as anything but this token."""


class _Renamed(NamedTuple):
    """A tokenizer with other names for control tokens. ``ids``: its ids of added tokens, and those
    of the model; ``control``: the model's ids that no ordinary text may become.
    """

    backend: Backend
    names: Mapping[str, str]
    ids: Mapping[int, int]
    control: frozenset[int]


class ControlText:
    """Breaks control tokens in client text, and encodes prompts with what was broken.

    ``texts``: of the control tokens; those of one character are left alone. ``backend``: the
    tokenizer; None: prompts with broken tokens are refused.
    """

    def __init__(self, backend: Backend | None, texts: Collection[str]) -> None:
        self._backend = backend
        self._texts = sorted(text for text in texts if len(text) > 1 and text.strip())
        self._mark = _random_digits()
        spelled = _pattern(set(self._texts))
        self._whole = re.compile(spelled) if spelled else None
        self._begins = re.compile(f"(?={spelled})(?s:.)") if spelled else None

    def broken(self, value: Any) -> Any:
        """A copy of a JSON value with a mark in every control token of its strings and keys."""
        if self._begins is None:
            return value
        if isinstance(value, str):
            return self._begins.sub(lambda match: match[0] + self._mark, value)
        if isinstance(value, Mapping):
            return {self.broken(key): self.broken(each) for key, each in value.items()}
        if isinstance(value, list | tuple):
            return [self.broken(each) for each in value]
        return value

    def broken_message(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """The same of a message. Escapes in a call's arguments may hide a token from a reader of
        their text, but not from a template that parses them.
        """
        copy: dict[str, Any] = self.broken(message)
        calls = message.get("tool_calls") or ()
        for call, given in zip(copy.get("tool_calls") or (), calls, strict=True):
            call["function"]["arguments"] = self._broken_json(given["function"]["arguments"])
        return copy

    def _broken_json(self, text: str) -> str:
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            value = None
        broken = self.broken(value)
        if broken == value:
            return str(self.broken(text))
        return json.dumps(broken, ensure_ascii=False)

    def whole(self, text: str) -> str:
        """Text as the client wrote it."""
        return text.replace(self._mark, "")

    def is_in(self, prompt: str) -> bool:
        """Whether a prompt holds client text that was broken."""
        return self._mark in prompt

    def encode(self, prompt: str) -> list[int]:
        """The ids of a prompt that holds broken tokens.

        Raises:
            UnwritableText: one of them can't be written as text.
        """
        renamed = self._renamed
        if renamed is None or self._whole is None:
            raise UnwritableText
        named = self._whole.sub(lambda match: renamed.names[match[0]], prompt)
        encoding = renamed.backend.encode(self.whole(named), add_special_tokens=False)
        if not renamed.control.isdisjoint(encoding.ids):
            raise UnwritableText
        return [renamed.ids.get(number, number) for number in encoding.ids]

    @cached_property
    def _renamed(self) -> _Renamed | None:
        if self._backend is None:
            return None
        secret = _random_digits()
        names = {text: f"{secret}{number:06d}" for number, text in enumerate(self._texts)}
        described = json.loads(self._backend.to_str())
        # it refers to tokens by their names, and is for what add_special_tokens adds
        described["post_processor"] = None
        added = [token["id"] for token in described["added_tokens"]]
        for token in described["added_tokens"]:
            token["content"] = names.get(token["content"], token["content"])
        backend = Backend.from_str(json.dumps(described))
        vocabulary = backend.get_vocab()
        contents = (token["content"] for token in described["added_tokens"])
        ids = dict(zip(map(vocabulary.__getitem__, contents), added, strict=True))
        ordinary = set(backend.get_vocab(with_added_tokens=False).values())
        if any(backend.token_to_id(name) in ordinary for name in names.values()):
            return None
        known = self._backend.get_vocab()
        control = {known[text] for text in self._texts}
        return _Renamed(backend, names, ids, frozenset(control - ids.keys()))


def _random_digits() -> str:
    return "".join(str(secrets.randbelow(10)) for _ in range(_DIGITS))


def _pattern(texts: Collection[str]) -> str:
    """A pattern of any of these texts, the longest that fits; it looks at each character once."""
    rests: dict[str, set[str]] = {}
    for text in texts:
        if text:
            rests.setdefault(text[0], set()).add(text[1:])
    branches = "|".join(re.escape(first) + _pattern(rest) for first, rest in sorted(rests.items()))
    if not branches:
        return ""
    return f"(?:{branches})" + ("?" if "" in texts else "")
