"""Verdicts on single tokens behind a text.

allowed     a witness: a rest that makes the text with the token valid JSON, with no key twice
forbidden   a reason why there is none (``refuting``)
undecided   neither was found

A witness that an engine's documented rules allow proves that the engine is wrong to forbid the
token. If all found witnesses break a rule of the engine, that rule explains it.
"""

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import jsonschema

from .completing import Completer, encoded
from .document import Document, Undecidable, subschemas
from .partial import LoneSurrogate, NotJson, OpenNumber, Prefix, Whole, number_of, read
from .refuting import REPEATED, Refuter
from .rules import Rules

ALLOWED, FORBIDDEN, UNDECIDED = "allowed", "forbidden", "undecided"
NO_JSON, FORMAT = "no JSON text", "format"
#: rests that are tried, rests that are valid, and bytes of a text
TRIED, VALID, LONGEST = 36, 4, 20_000


class Verdict(NamedTuple):
    """``reason``: of a verdict. ``witness``: a whole text. ``rules``: by engine, the rule that
    explains why it forbids the token; None is an error of the engine.
    """

    kind: str
    reason: str
    witness: bytes | None = None
    rules: dict[str, str | None] = {}  # noqa: RUF012


class Judge:
    """``texts``: instances, of which the valid ones serve as witnesses."""

    def __init__(self, schema: Any, texts: Sequence[bytes] = ()) -> None:
        self.document = Document(schema)
        self.refuter, self.rules = Refuter(self.document), Rules(self.document)
        self.texts = [text for text in texts if self._valid(text)]
        values = [found.value for text in self.texts if (found := _whole(text)) is not None]
        self.completer = Completer(self.document, values)

    def _valid(self, text: bytes) -> bool:
        return self.fault(text) is None

    def fault(self, text: bytes) -> str | None:
        """Return the keyword that a whole text breaks, or another word, or None."""
        try:
            prefix = read(text)
        except NotJson:
            return NO_JSON
        except LoneSurrogate:
            return "lone surrogate"
        found = _value(prefix)
        if found is None:
            return NO_JSON
        if prefix.repeats:
            return REPEATED
        try:
            return self.document.fault(found.value)
        except Undecidable:
            return UNDECIDED

    def stop(self, text: bytes) -> Verdict:
        """Judge the end of the text."""
        fault = self.fault(text)
        if fault in (UNDECIDED, REPEATED, "lone surrogate"):
            return Verdict(UNDECIDED, fault)
        if fault is not None:
            return Verdict(FORBIDDEN, fault)
        return Verdict(ALLOWED, "the end", text)

    def token(self, text: bytes, token: bytes, forbidding: Collection[str]) -> Verdict:
        """``forbidding``: engines that forbid the token."""
        start, longer = len(text), text + token
        if len(longer) > LONGEST:
            return Verdict(UNDECIDED, "long")
        try:
            prefix = read(longer)
        except NotJson:
            return Verdict(FORBIDDEN, NO_JSON)
        except LoneSurrogate:
            return Verdict(UNDECIDED, "lone surrogate")
        if prefix.repeats:
            return Verdict(UNDECIDED, REPEATED)
        if reason := self.refuter.reason(prefix.root):
            return Verdict(UNDECIDED if reason == REPEATED else FORBIDDEN, reason)
        return self._witnessed(longer, start, prefix, forbidding)

    def _witnessed(
        self, longer: bytes, start: int, prefix: Prefix, forbidding: Collection[str]
    ) -> Verdict:
        rules = {name: self.rules.certain(name, longer, start) for name in forbidding}
        left = {name for name, rule in rules.items() if rule is None}
        rules = {name: rule for name, rule in rules.items() if rule}
        witness = None
        valid = 0
        rests = (encoded(rest) for rest in self.completer.rests(prefix.root, TRIED))
        own = [text[len(longer) :] for text in self.texts if text.startswith(longer)]
        for rest in (*own, *rests):
            if self.fault(longer + rest) is not None:
                continue
            witness = witness or longer + rest
            valid += 1
            for engine in sorted(left):
                rule = self.rules.broken(engine, longer + rest, start, len(longer))
                rules.setdefault(engine, rule)
                if rule is None:
                    rules[engine], witness = None, longer + rest
                    left.discard(engine)
            if not left or valid == VALID:
                break
        if witness is None:
            return Verdict(UNDECIDED, "no witness found")
        return Verdict(ALLOWED, "witness", witness, rules)


def _whole(text: bytes) -> Whole | None:
    return _value(read(text))


def _value(prefix: Prefix) -> Whole | None:
    if isinstance(prefix.root, OpenNumber):
        value = number_of(prefix.root)
        return None if value is None else Whole(value)
    return prefix.root if isinstance(prefix.root, Whole) else None


def judge_of(schema: Any, texts: Sequence[bytes] = ()) -> Judge | str:
    """Return a judge, or a word that says why there is none for a schema."""
    try:
        if any(one.get("nullable") is True for one in subschemas(schema)):
            return "nullable"
        return Judge(schema, texts)
    except jsonschema.SchemaError:
        return "not valid by its meta-schema"
    except (RecursionError, ValueError, TypeError, Undecidable) as error:
        return f"not readable ({type(error).__name__})"
