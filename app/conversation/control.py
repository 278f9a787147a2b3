"""Control tokens: templates and formats write them, clients cannot.

A chat template writes control tokens as text, and the tokenizer turns every such text into a token,
no matter who wrote it: a tool's result that contains ``<|im_end|>`` would end its message. So
control tokens have names, and the constants of a template contain the names instead of the
spellings (named_template). In a rendered prompt a name is a control token, and a spelling is text
of a client, also if the template made it of several pieces of client text by deleting what stood
between them.

The formats write prompts, too. They delete nothing, so it is enough that a mark breaks each
spelling of a control token in client text (``broken``), and parts of spellings that the format may
complete: some formats put names from clients between ``<`` and ``>``. Spellings that are still
whole afterwards are the format's, and get their names (``adopted``).

A second tokenizer has the names as the texts of its control tokens. It encodes prompts in which
clients spell control tokens.

Prompts with images are different: processors of some models decode the ids, count placeholders in
the text, and encode it again, so a control token that a client spells would become one there. In
these prompts SEPARATOR follows its first character (``separated``), and the original
tokenizer encodes them.

Representation   names and ``_mark`` are random digits, drawn at startup: templates do not change
                 them, and clients cannot know them.
Invariants       I1 a prompt without control tokens in client text gets the ids of the original
                 tokenizer. I2 any other prompt has exactly the control tokens that the template or
                 the format wrote. I3 so has the text of a separated prompt.
Cost             a scan of the prompt. The second tokenizer shares the model of the first one, its
                 vocabulary and merges.
Threads          safe.
"""

import json
import re
import secrets
from array import array
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from tokenizers import AddedToken
from tokenizers import Tokenizer as Backend

from ..concurrency import gil_released

_DIGITS = 24
#: the zero width space: models read past it, vocabularies have it, no normal form of Unicode
#: removes it, and it is no white space for ``strip``
SEPARATOR = "\u200b"


class UnwritableText(ValueError):
    """This tokenizer cannot write the text of a control token as ordinary tokens."""


class DeepArguments(ValueError):
    """A call's arguments are nested too deeply to be copied."""


class _Renamed(NamedTuple):
    """A tokenizer with names for control tokens. ``ids``: from its ids of added tokens to those of
    the model. ``control``: the model's ids that ordinary text must never become.
    """

    backend: Backend
    ids: Mapping[int, int]
    control: frozenset[int]


class ControlText:
    """The names of control tokens, and the encoding of prompts that contain them.

    ``texts``: of the control tokens; those of one character are dropped. ``backend``: the
    tokenizer; None: prompts in which clients spell control tokens are refused.
    """

    def __init__(self, backend: Backend | None, texts: Collection[str]) -> None:
        self.texts = sorted(text for text in texts if len(text) > 1 and text.strip())
        self._mark = random_digits()
        secret = random_digits()
        self._names = {text: f"{secret}{number:06d}" for number, text in enumerate(self.texts)}
        self._spellings = {name: text for text, name in self._names.items()}
        self._name = re.compile(rf"({secret}\d{{6}})")
        spelled = _pattern(set(self.texts))
        self._whole = re.compile(spelled) if spelled else None
        self._begins = begins_of(self.texts)
        self._parts = _Parts(self.texts)
        self._renamed = None if backend is None else _renamed(backend, self._names)

    # -- names -------------------------------------------------------------------------------------
    def named(self, text: str) -> str:
        """Return a text of a template or a format with names instead of spellings."""
        if self._whole is None:
            return text
        return self._whole.sub(lambda match: self._names[match[0]], text)

    def adopted(self, text: str) -> str:
        """Return a text that a format wrote from broken text: its own control tokens as names, and
        the client's text as it was.
        """
        return self.named(text).replace(self._mark, "")

    def spelled(self, text: str) -> str:
        """Return a text with spellings instead of names."""
        return self._name.sub(lambda match: self._spellings.get(match[0], match[0]), text)

    def spellings_in(self, text: str) -> list[str]:
        """Return the control tokens that a text spells out, in their order."""
        return [] if self._whole is None else self._whole.findall(text)

    def encode(self, prompt: str, plainly: Callable[[str], list[int]]) -> list[int]:
        """Return the ids of a prompt with names. ``plainly``: encodes with the original tokenizer.

        Raises:
            UnwritableText: a control token in client text cannot be written as text.
        """
        text = self.spelled(prompt)
        if not self._is_forged(prompt, text):
            return plainly(text)
        renamed = self._renamed
        if renamed is None:
            raise UnwritableText
        ids = encoded(renamed.backend, prompt)
        if not renamed.control.isdisjoint(ids):
            raise UnwritableText
        return [renamed.ids.get(number, number) for number in ids]

    def separated(self, prompt: str) -> str:
        """Return a prompt with spellings instead of names, in which SEPARATOR breaks every other
        control token, also one that client text would complete with those around it.
        """
        pieces, names, length = list[str](), list[tuple[int, int]](), 0
        for number, piece in enumerate(self._name.split(prompt)):
            spelling = self._spellings.get(piece) if number % 2 else None
            pieces.append(piece if spelling is None else spelling)
            length += len(pieces[-1])
            if spelling is not None:
                names.append((length - len(spelling), length))
        text = "".join(pieces)
        edges = [0, *sorted({*self._forgeries(text, names)}), len(text)]
        return SEPARATOR.join(text[start:end] for start, end in pairwise(edges))

    def _forgeries(self, text: str, names: Sequence[tuple[int, int]]) -> Iterator[int]:
        """Yield positions inside of the control tokens of a text other than those in ``names``."""
        ends = [end for _, end in names]
        for begin in self._begins:
            for match in begin.finditer(text):
                number = bisect_right(ends, match.start())
                if number == len(names) or match.start() < names[number][0]:
                    yield match.end()
        # text behind a token may continue it to a longer one
        for start, end in names:
            longest = self._whole.match(text, start) if self._whole else None
            if longest is not None and longest.end() > end:
                yield end

    def _is_forged(self, prompt: str, text: str) -> bool:
        """Whether the spelled prompt has other control tokens than those with names."""
        if self._whole is None:
            return False
        names = self._name.findall(prompt)
        # mostly there are no others, and this search is the faster one
        if sum(1 for begin in self._begins for _ in begin.finditer(text)) == len(names):
            return False
        return self._whole.findall(text) != [self._spellings.get(name) for name in names]

    # -- client text -------------------------------------------------------------------------------
    def broken(self, value: Any) -> Any:
        """Return a JSON value with a mark in every control token of its strings and keys."""
        if not self._begins:
            return value
        if isinstance(value, str):
            return self._broken_text(value)
        if isinstance(value, Mapping):
            return {self.broken(key): self.broken(each) for key, each in value.items()}
        if isinstance(value, list | tuple):
            return [self.broken(each) for each in value]
        return value

    def _broken_text(self, text: str) -> str:
        found = (match.end() for begin in self._begins for match in begin.finditer(text))
        places = {*found, *self._parts.places(text)}
        if not places:
            return text
        edges = [0, *sorted(places), len(text)]
        return self._mark.join(text[start:end] for start, end in pairwise(edges))

    def broken_message(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Return a message with its control tokens broken.

        Escapes in a call's arguments could hide a token in the text, but not from a format that
        parses it, so arguments are parsed here too.

        Raises:
            DeepArguments: they cannot be searched.
        """
        copy = {name: self.broken(value) for name, value in message.items() if name != "tool_calls"}
        copy["role"] = message["role"]
        if isinstance(parts := message.get("content"), list):
            copy["content"] = [
                {**part, "text": self.broken(part["text"])} if "text" in part else part
                for part in parts
            ]
        if calls := message.get("tool_calls"):
            copy["tool_calls"] = [self._broken_call(call) for call in calls]
        return copy

    def _broken_call(self, call: Mapping[str, Any]) -> dict[str, Any]:
        arguments = call["function"]["arguments"]
        is_text = isinstance(arguments, str)
        function = {
            "name": self.broken(call["function"]["name"]),
            "arguments": self._broken_json(arguments) if is_text else self.broken(arguments),
        }
        return {**call, "id": self.broken(call["id"]), "function": function}

    def _broken_json(self, text: str) -> str:
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            # formats cannot parse it either
            return str(self.broken(text))
        try:
            broken = self.broken(value)
            is_same = broken == value
        except RecursionError:
            raise DeepArguments from None
        return str(self.broken(text)) if is_same else json.dumps(broken, ensure_ascii=False)


def encoded(backend: Backend, text: str, add: bool = False) -> list[int]:
    """Return the ids of a text that contains every special token as text. ``add``: with the tokens
    that the tokenizer puts around a text.

    A batch of one text, because only batches release the GIL: encoding a prompt of 1 MB stopped all
    threads for 0.7 s, now for 0.01 s.
    """
    with gil_released():
        (encoding,) = backend.encode_batch_fast([text], add_special_tokens=add)
    ids: list[int] = encoding.ids
    return ids


def encoded_each(backend: Backend, texts: Sequence[str]) -> "list[array[int]]":
    """Return the ids of each text. One by one, because a batch of several wakes threads of the
    library, which save nothing.
    """
    encode = backend.encode_batch_fast
    with gil_released():
        return [array("I", encode([text], add_special_tokens=False)[0].ids) for text in texts]


def _renamed(backend: Backend, names: Mapping[str, str]) -> _Renamed | None:
    """Return the second tokenizer; None: the names would change ids of ordinary tokens."""
    # without the post-processor: it refers to tokens by name, and only adds the tokens of
    # add_special_tokens
    made = Backend(backend.model)
    made.normalizer, made.pre_tokenizer = backend.normalizer, backend.pre_tokenizer
    added = sorted(backend.get_added_tokens_decoder().items())
    made.add_tokens([_with_content(token, names.get(token.content)) for _, token in added])
    if any(made.model.token_to_id(name) is not None for name in names.values()):
        return None
    number_of = {names.get(token.content, token.content): number for number, token in added}
    decoder = made.get_added_tokens_decoder()
    ids = {number: number_of[token.content] for number, token in decoder.items()}
    control = {n for text in names if (n := backend.token_to_id(text)) is not None}
    return _Renamed(made, ids, frozenset(control - ids.keys()))


def _with_content(token: AddedToken, content: str | None) -> AddedToken:
    """Return a copy of an added token, with another content unless that is None."""
    return AddedToken(
        token.content if content is None else content,
        single_word=token.single_word,
        lstrip=token.lstrip,
        rstrip=token.rstrip,
        normalized=token.normalized,
        special=token.special,
    )


class _Parts:
    """Parts of control tokens at the edges of client text, ignoring white space: the beginning of
    one at the text's end, the end of one at its beginning, and a token without the punctuation
    around it. A single character is not a part.
    """

    def __init__(self, texts: Collection[str]) -> None:
        self._heads = {text[:end] for text in texts for end in range(2, len(text))}
        self._tails = {text[start:] for text in texts for start in range(1, len(text) - 1)}
        self._cores = {core for text in texts for core in _cores(text)}
        self._longest = max(map(len, texts), default=0)
        # most texts begin and end with other characters
        self._last = {head[-2:] for head in self._heads}
        self._first = {tail[:2] for tail in self._tails}

    def places(self, text: str) -> Iterator[int]:
        """Return the positions of marks."""
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
    """Yield a control token without some of the punctuation around it."""
    inside = [at for at, letter in enumerate(text) if letter.isalnum()]
    if inside:
        for start in range(inside[0] + 1):
            for end in range(inside[-1] + 1, len(text) + 1):
                if end - start < len(text):
                    yield text[start:end]


def random_digits() -> str:
    """Return digits that no client can guess."""
    # one draw: each digit alone takes as long
    return f"{secrets.randbelow(10**_DIGITS):0{_DIGITS}d}"


def begins_of(texts: Collection[str]) -> list[re.Pattern[str]]:
    """Return patterns that together match the first character of each of these texts.

    A pattern for each first character, because ``re`` searches for a constant prefix 25 times as
    fast: 4 MiB take 1 ms, in which no other thread runs, instead of 29 ms.
    """
    rests: dict[str, set[str]] = {}
    for text in texts:
        rests.setdefault(text[0], set()).add(text[1:])
    return [
        re.compile(f"{re.escape(first)}(?={_pattern(rest)})")
        for first, rest in sorted(rests.items())
    ]


def _pattern(texts: Collection[str]) -> str:
    """Return a pattern for the longest match of these texts; it reads each character once."""
    rests: dict[str, set[str]] = {}
    for text in texts:
        if text:
            rests.setdefault(text[0], set()).add(text[1:])
    branches = "|".join(re.escape(first) + _pattern(rest) for first, rest in sorted(rests.items()))
    if not branches:
        return ""
    return f"(?:{branches})" + ("?" if "" in texts else "")
