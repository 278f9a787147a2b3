"""The masks of a way, over the vocabulary of one model.

    ours         Switchyard's engine, in the gateway's own dialect; writes forced text as tokens
    off          no grammar
    xgrammar     the plain structural tag, as SGLang gives it to xgrammar
    llguidance   the same as a Lark grammar, since llguidance's own tags cannot require a call;
                 writes forced tokens
    -tight       a peer with as little white space as its options allow, instead of any:
                 llguidance that of json.dumps; xgrammar one character at most

A grammar's ``start`` returns the state of one answer: ``fill`` computes the mask of its next token,
``allowed`` is that mask as booleans (None: everything), ``forced`` are tokens that must come next,
``take`` adds a token.
"""

import json
from typing import Any, Protocol

import numpy as np

from engine import Compiler, Matcher

from ..lark import literal

#: the ways by their names, with the grammar backend that the gateway plans for
WAYS = {
    "ours": "switchyard",
    "off": "switchyard",
    "xgrammar": "xgrammar",
    "xgrammar-tight": "xgrammar",
    "llguidance": "xgrammar",
    "llguidance-tight": "xgrammar",
}
#: llguidance's words for the white space of json.dumps
DUMPS = {"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": "}


class Row(Protocol):
    def fill(self) -> None: ...
    def allowed(self) -> Any: ...
    def forced(self) -> list[int]: ...
    def take(self, token: int) -> None: ...


class _Bits:
    """A mask of one row as bits, and as booleans."""

    def __init__(self, size: int) -> None:
        self.words = np.zeros((1, (size + 31) // 32), dtype=np.int32)
        self._size = size

    def booleans(self) -> Any:
        bits = np.unpackbits(self.words.view(np.uint8)[0], bitorder="little")
        return bits[: self._size].astype(bool)


def _checked(is_taken: bool, token: int) -> None:
    if not is_taken:
        raise RuntimeError(f"the mask allowed token {token}, the grammar refuses it")


class Free:
    """No grammar: everything is allowed."""

    def start(self, spec: str | None, kind: str) -> Row:
        return self

    def fill(self) -> None:
        pass

    def allowed(self) -> Any:
        return None

    def forced(self) -> list[int]:
        return []

    def take(self, token: int) -> None:
        pass


class Ours:
    """``compiler``: the gateway's."""

    def __init__(self, compiler: Compiler, size: int) -> None:
        self._compiler, self._size = compiler, size

    def start(self, spec: str | None, kind: str) -> Row:
        if spec is None:
            return Free()
        return _OurRow(Matcher(self._compiler.compile_structural_tag(spec)), self._size)


class _OurRow:
    def __init__(self, matcher: Matcher, size: int) -> None:
        self._matcher, self._bits = matcher, _Bits(size)

    def fill(self) -> None:
        self._matcher.fill_bitmask(self._bits.words)

    def allowed(self) -> Any:
        return self._bits.booleans()

    def forced(self) -> list[int]:
        return self._matcher.forced_tokens()

    def take(self, token: int) -> None:
        _checked(self._matcher.accept_token(token), token)


class XGrammar:
    """``tokens``, ``stops``: of the vocabulary."""

    def __init__(self, tokens: list[bytes], stops: list[int], size: int, is_tight: bool) -> None:
        import xgrammar

        self._library, self._size, self._is_tight = xgrammar, size, is_tight
        info = xgrammar.TokenizerInfo(
            tokens, xgrammar.VocabType.RAW, vocab_size=size, stop_token_ids=stops
        )
        self._compiler = xgrammar.GrammarCompiler(info, max_threads=1)

    def start(self, spec: str | None, kind: str) -> Row:
        if spec is None:
            return Free()
        if kind == "json_schema":
            compiled = self._compiler.compile_json_schema(spec, any_whitespace=not self._is_tight)
        else:
            compiled = self._compiler.compile_structural_tag(
                tight(spec) if self._is_tight else spec
            )
        return _XGrammarRow(self._library, self._library.GrammarMatcher(compiled), self._size)


def tight(spec: str) -> str:
    """Return a structural tag whose JSON has at most one character of white space at a place."""

    def bounded(node: Any) -> Any:
        if isinstance(node, list):
            return [bounded(each) for each in node]
        if not isinstance(node, dict):
            return node
        if node.get("type") == "json_schema":
            return {**node, "max_whitespace_cnt": 1}
        return {key: bounded(each) for key, each in node.items()}

    return json.dumps(bounded(json.loads(spec)))


class _XGrammarRow:
    def __init__(self, library: Any, matcher: Any, size: int) -> None:
        self._matcher, self._bits = matcher, _Bits(size)
        self._mask = library.allocate_token_bitmask(1, size)

    def fill(self) -> None:
        self._matcher.fill_next_token_bitmask(self._mask)

    def allowed(self) -> Any:
        self._bits.words = self._mask.numpy()
        return self._bits.booleans()

    def forced(self) -> list[int]:
        return []

    def take(self, token: int) -> None:
        _checked(self._matcher.accept_token(token), token)


class LLGuidance:
    """``tokenizer``: a fast one of transformers; ``special``: texts of its special tokens."""

    def __init__(
        self, tokenizer: Any, special: list[str], stops: list[int], size: int, is_tight: bool
    ) -> None:
        import llguidance
        import llguidance.hf
        import llguidance.numpy

        self._library, self._special, self._size = llguidance, special, size
        self._options = {"x-guidance": DUMPS} if is_tight else {}
        self._tokenizer = llguidance.hf.from_tokenizer(tokenizer, n_vocab=size, eos_token=stops)

    def start(self, spec: str | None, kind: str) -> Row:
        if spec is None:
            return Free()
        grammar = lark_of(json.loads(spec)["format"], self._special, self._options)
        matcher = self._library.LLMatcher(self._tokenizer, grammar)
        if matcher.is_error():
            raise ValueError(matcher.get_error()[:300])
        return _LLGuidanceRow(self._library, matcher, self._size)


class _LLGuidanceRow:
    def __init__(self, library: Any, matcher: Any, size: int) -> None:
        self._fill = library.numpy.fill_next_token_bitmask
        self._matcher, self._bits = matcher, _Bits(size)

    def fill(self) -> None:
        self._fill(self._matcher, self._bits.words, 0)

    def allowed(self) -> Any:
        return self._bits.booleans()

    def forced(self) -> list[int]:
        return self._matcher.compute_ff_tokens()

    def take(self, token: int) -> None:
        _checked(self._matcher.consume_token(token), token)


def lark_of(node: dict[str, Any], special: list[str], options: dict[str, Any]) -> str:
    """Return a structural tag as llguidance's Lark. ``options``: keywords for each schema.

    Raises:
        ValueError: a node has no equivalent here.
    """
    rules = ["TEXT: /(.|\\n)*/"]

    def write(node: dict[str, Any]) -> str:
        match node["type"]:
            case "const_string":
                return literal(node["value"], special)
            case "json_schema":
                schema = node["json_schema"]
                if isinstance(schema, dict):
                    schema = {**schema, **options}
                return f"%json {json.dumps(schema)}"
            case "any_text":
                return "TEXT"
            case "sequence":
                return " ".join(_named(write(each)) for each in node["elements"])
            case "or":
                return " | ".join(_named(write(each)) for each in node["elements"])
            case "tag":
                begin, end = (literal(node[name], special) for name in ("begin", "end"))
                return f"{begin} {_named(write(node['content']))} {end}"
            case "tags_with_separator":
                one = _named(" | ".join(_named(write(tag)) for tag in node["tags"]))
                more = (
                    ""
                    if node["stop_after_first"]
                    else f" ({literal(node['separator'], special)} {one})*"
                )
                return one + more if node["at_least_one"] else f"({one}{more})?"
            case "triggered_tags":
                tags = " | ".join(_named(write(tag)) for tag in node["tags"])
                return f"({_named('TEXT ' + _named(tags))})* TEXT"
        raise ValueError(f"a node of the type {node['type']!r} has no equivalent in Lark here")

    def _named(expression: str) -> str:
        if expression == "TEXT":
            return expression
        rules.append(f"r{len(rules)}: {expression}")
        return f"r{len(rules) - 1}"

    start = write(node)
    return "\n".join(["%llguidance {}", f"start: {start}", *rules, ""])
