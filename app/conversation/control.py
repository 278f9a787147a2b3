"""Control tokens in client text: they stay text.

A prompt is one text in which a chat template spells its control tokens, and a tokenizer makes a
token of each, whoever wrote it: a tool's result that holds ``<|im_end|>`` would end its message.
So each spelling of a control token in client text is broken by a mark before the template runs,
and so is a part of one where the template may write the rest of it: templates that write calls in
tags put a client's keys and names between ``<`` and ``>``. What the template then spells whole is
its own. A second tokenizer knows the control tokens under names that no client can guess; it
encodes the prompt with the template's spellings replaced by these names, and with the clients' put
together again.

Representation   ``_mark`` and the names are random digits, drawn at start: templates do not change
                 them, and no client knows them.
Invariants       I1 a prompt in which marks keep no control token apart has the ids that the
                 tokenizer gives it. I2 every other one has exactly the control tokens that the
                 template wrote.
Cost             a scan of every string of the request; the second tokenizer is made when the first
                 prompt needs it, in about a second for 150,000 tokens.
Threads          safe; at worst two threads make the second tokenizer.
"""

import json
import re
import secrets
from collections.abc import Collection, Iterator, Mapping
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

from tokenizers import Tokenizer as Backend

_DIGITS = 24


class UnwritableText(ValueError):
    """This tokenizer can't write the text of a control token as anything but this token."""


class DeepArguments(ValueError):
    """A call's arguments are nested deeper than they can be copied."""


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
        self._begins = re.compile(f"(?={spelled})") if spelled else None
        self._parts = _Parts(self._texts)

    def broken(self, value: Any) -> Any:
        """A copy of a JSON value with a mark in every control token of its strings and keys."""
        if self._begins is None:
            return value
        if isinstance(value, str):
            return self._broken_text(self._begins, value)
        if isinstance(value, Mapping):
            return {self.broken(key): self.broken(each) for key, each in value.items()}
        if isinstance(value, list | tuple):
            return [self.broken(each) for each in value]
        return value

    def _broken_text(self, begins: re.Pattern[str], text: str) -> str:
        places = {match.start() + 1 for match in begins.finditer(text)}
        places.update(self._parts.places(text))
        if not places:
            return text
        edges = [0, *sorted(places), len(text)]
        return self._mark.join(text[start:end] for start, end in pairwise(edges))

    def broken_message(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """The same of a message. Escapes in a call's arguments may hide a token from a reader of
        their text, but not from a template that parses them.

        Raises:
            DeepArguments: these can't be searched.
        """
        copy = {name: self.broken(value) for name, value in message.items() if name != "tool_calls"}
        copy["role"] = message["role"]
        if calls := message.get("tool_calls"):
            copy["tool_calls"] = [self._broken_call(call) for call in calls]
        return copy

    def _broken_call(self, call: Mapping[str, Any]) -> dict[str, Any]:
        function = {
            "name": self.broken(call["function"]["name"]),
            "arguments": self._broken_json(call["function"]["arguments"]),
        }
        return {**call, "id": self.broken(call["id"]), "function": function}

    def _broken_json(self, text: str) -> str:
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            # no template parses it either
            return str(self.broken(text))
        try:
            broken = self.broken(value)
            is_same = broken == value
        except RecursionError:
            raise DeepArguments from None
        return str(self.broken(text)) if is_same else json.dumps(broken, ensure_ascii=False)

    def whole(self, text: str) -> str:
        """Text as the client wrote it."""
        return text.replace(self._mark, "")

    def is_in(self, prompt: str) -> bool:
        """Whether a prompt without its marks would have other control tokens."""
        if self._whole is None or self._mark not in prompt:
            return False
        return self._whole.findall(prompt) != self._whole.findall(self.whole(prompt))

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


class _Parts:
    """Parts of control tokens at the edges of a client's text, white space aside: the beginning of
    one at its end, the end of one at its beginning, and all of one but the punctuation around it.
    One character at an edge is no part.
    """

    def __init__(self, texts: Collection[str]) -> None:
        self._heads = {text[:end] for text in texts for end in range(2, len(text))}
        self._tails = {text[start:] for text in texts for start in range(1, len(text) - 1)}
        self._cores = {core for text in texts for core in _cores(text)}
        self._longest = max(map(len, texts), default=0)
        # most texts end and begin otherwise
        self._last = {head[-2:] for head in self._heads}
        self._first = {tail[:2] for tail in self._tails}

    def places(self, text: str) -> Iterator[int]:
        """Where marks break them."""
        bare = text.strip()
        if not bare:
            return
        start = text.index(bare[0])
        end = start + len(bare)
        if bare[-2:] in self._last:
            for at in range(max(start, end - self._longest), end - 1):
                if text[at:end] in self._heads:
                    yield at + 1
        lengths = range(2, min(self._longest, len(bare) + 1))
        is_tail = bare[:2] in self._first and any(bare[:n] in self._tails for n in lengths)
        if is_tail or bare in self._cores:
            yield start + 1


def _cores(text: str) -> Iterator[str]:
    """A control token without some of the punctuation before it and behind it."""
    inside = [at for at, letter in enumerate(text) if letter.isalnum()]
    if inside:
        for start in range(inside[0] + 1):
            for end in range(inside[-1] + 1, len(text) + 1):
                if end - start < len(text):
                    yield text[start:end]


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
