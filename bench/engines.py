"""Our engine and its peers behind one interface, each with its best settings and one thread.

Only ``batch`` can use more threads.
"""

import json
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any, ClassVar, Protocol

import numpy as np

from .formats import Format, Tag
from .lark import lark
from .vocabularies import Loaded


class Engine(Protocol):
    """An engine.

    ``compile`` returns a grammar, from which ``start`` creates the state of a text; an exception
    is a refusal. ``library_name`` is a module that is slow to import, so that it can be imported
    before. ``batch`` returns a function that fills the masks of all these states, one row each.
    ``compile_call`` is for ``forced``: it gives known text one spelling if the engine can.
    ``forced`` returns the bytes that must come next.
    """

    library_name: ClassVar[str]

    def compile_schema(self, schema: Any) -> Any: ...
    def compile_tags(self, form: Format, tags: Sequence[Tag]) -> Any: ...
    def start(self, compiled: Any) -> Any: ...
    def fill(self, state: Any) -> None: ...
    def allowed(self, token: int) -> bool: ...
    def accept(self, state: Any, token: int) -> bool: ...
    def batch(self, states: Sequence[Any], threads: int) -> Callable[[], None]: ...
    def compile_call(self, schema: Any, *, compact: bool) -> Any: ...
    def forced(self, state: Any) -> bytes: ...
    def accept_bytes(self, state: Any, data: bytes) -> bool: ...


def structural_tag(form: Format, tags: Sequence[Tag]) -> dict[str, Any]:
    made = [
        {
            "type": "tag",
            "begin": tag.begin,
            "content": {"type": "json_schema", "json_schema": tag.schema},
            "end": tag.end,
        }
        for tag in tags
    ]
    triggered = {"type": "triggered_tags", "triggers": [form.trigger], "tags": made}
    return {"type": "structural_tag", "format": triggered}


class _Masked:
    """Return a mask of one row; bit t % 32 of word t // 32 is token t."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.mask = self.masks(1)
        self.words = np.asarray(self.mask)[0].view("uint32")

    def masks(self, rows: int) -> Any:
        return np.zeros((rows, (self.size + 31) // 32), dtype=np.int32)

    def allowed(self, token: int) -> bool:
        return bool((int(self.words[token >> 5]) >> (token & 31)) & 1)


@cache
def _threads(count: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(count)


class Ours(_Masked):
    """``ahead``: number of masks that are computed with the grammar."""

    library_name = "engine"

    def __init__(self, loaded: Loaded, *, ahead: int = 0, **features: bool) -> None:
        import engine

        super().__init__(len(loaded.tokens))
        vocabulary = engine.Vocabulary(
            loaded.tokens,
            stop_token_ids=[loaded.stop],
            special_token_ids=sorted(loaded.special.values()),
            encode=lambda text: loaded.encoding.encode(text, disallowed_special=()),
        )
        self.matcher = engine.Matcher
        self.fill_batch = engine.fill_bitmask_batch
        self.compiler = engine.Compiler(vocabulary, features=engine.Features(**features))
        self.ahead = ahead

    def compile_schema(self, schema: Any) -> Any:
        compiled = self.compiler.compile_json_schema(schema)
        if self.ahead:
            compiled.prepare(self.ahead)
        return compiled

    def compile_tags(self, form: Format, tags: Sequence[Tag]) -> Any:
        return self.compiler.compile_structural_tag(structural_tag(form, tags))

    def start(self, compiled: Any) -> Any:
        return self.matcher(compiled)

    def fill(self, state: Any) -> None:
        state.fill_bitmask(self.mask)

    def accept(self, state: Any, token: int) -> bool:
        return state.accept_token(token)

    def batch(self, states: Sequence[Any], threads: int) -> Callable[[], None]:
        """Return one call, or one per thread, each with its share of the states."""
        masks = self.masks(len(states))
        if threads == 1:
            rows = list(range(len(states)))
            return lambda: self.fill_batch(states, masks, rows)
        shares = [range(k, len(states), threads) for k in range(min(threads, len(states)))]
        pool = _threads(threads)

        def fill() -> None:
            list(pool.map(lambda s: self.fill_batch([states[k] for k in s], masks, s), shares))

        return fill

    def compile_call(self, schema: Any, *, compact: bool) -> Any:
        whitespace = "compact" if compact else "flexible"
        return self.compiler.compile_json_schema(
            schema, whitespace=whitespace, spelling="canonical"
        )

    def forced(self, state: Any) -> bytes:
        return state.forced_bytes()

    def accept_bytes(self, state: Any, data: bytes) -> bool:
        return state.accept_bytes(data)


class XGrammar(_Masked):
    library_name = "xgrammar"

    def __init__(self, loaded: Loaded) -> None:
        import torch
        import xgrammar

        torch.set_num_threads(1)
        self.library = xgrammar
        super().__init__(len(loaded.tokens))
        info = xgrammar.TokenizerInfo(
            loaded.tokens,
            xgrammar.VocabType.RAW,
            vocab_size=len(loaded.tokens),
            stop_token_ids=[loaded.stop],
        )
        self.compiler = xgrammar.GrammarCompiler(info, max_threads=1)
        self.start = xgrammar.GrammarMatcher
        self.filler = cache(xgrammar.BatchGrammarMatcher)

    def masks(self, rows: int) -> Any:
        return self.library.allocate_token_bitmask(rows, self.size)

    def compile_schema(self, schema: Any) -> Any:
        return self.compiler.compile_json_schema(schema, any_whitespace=True, strict_mode=False)

    def compile_tags(self, form: Format, tags: Sequence[Tag]) -> Any:
        return self.compiler.compile_structural_tag(structural_tag(form, tags))

    def fill(self, state: Any) -> None:
        state.fill_next_token_bitmask(self.mask)

    def accept(self, state: Any, token: int) -> bool:
        return state.accept_token(token)

    def batch(self, states: Sequence[Any], threads: int) -> Callable[[], None]:
        masks, filler = self.masks(len(states)), self.filler(threads)
        return lambda: filler.batch_fill_next_token_bitmask(states, masks)

    def compile_call(self, schema: Any, *, compact: bool) -> Any:
        options = {"separators": (",", ":")} if compact else {}
        return self.compiler.compile_json_schema(
            schema, any_whitespace=not compact, strict_mode=False, **options
        )

    def forced(self, state: Any) -> bytes:
        return state.find_jump_forward_string().encode()

    def accept_bytes(self, state: Any, data: bytes) -> bool:
        return state.accept_string(data)


class LLGuidance(_Masked):
    """``padding``: ids beyond the vocabulary, as in a model with padded logits."""

    library_name = "llguidance.tiktoken"

    def __init__(self, loaded: Loaded, *, padding: int = 64) -> None:
        import llguidance
        import llguidance.numpy
        import llguidance.tiktoken

        super().__init__(len(loaded.tokens) + padding)
        self.library, self.loaded = llguidance, loaded
        self.executor = cache(llguidance.LLExecutor)
        self.tokenizer = llguidance.tiktoken.lltokenizer_from_encoding(
            loaded.encoding, n_vocab=self.size, eos_token=loaded.stop
        )
        self.single = {token[0]: k for k, token in enumerate(loaded.tokens) if len(token) == 1}

    def _matcher(self, grammar: Any) -> Any:
        made = self.library.LLMatcher(self.tokenizer, grammar)
        if made.is_error():
            raise ValueError(made.get_error()[:200])
        return made

    def compile_schema(self, schema: Any) -> Any:
        return self.compile_call(schema, compact=False)

    def compile_tags(self, form: Format, tags: Sequence[Tag]) -> Any:
        """Its own tags if they are plain text, otherwise the closest equivalent."""
        if special := form.special(self.loaded):
            return self._matcher(lark(form, tags, special))
        made = [
            self.library.StructTag(trigger=form.trigger, begin=begin, grammar=schema, end=end)
            for begin, schema, end in tags
        ]
        return self._matcher(self.library.StructTag.to_grammar(made, assume_special=False))

    def start(self, compiled: Any) -> Any:
        return compiled.deep_copy()

    def fill(self, state: Any) -> None:
        self.library.numpy.fill_next_token_bitmask(state, self.mask, 0)

    def accept(self, state: Any, token: int) -> bool:
        return state.consume_token(token)

    def batch(self, states: Sequence[Any], threads: int) -> Callable[[], None]:
        masks, pool = self.masks(len(states)), self.executor(threads)
        fill, pairs = (
            self.library.numpy.fill_next_token_bitmask_par,
            [(state, row) for row, state in enumerate(states)],
        )
        return lambda: fill(pool, pairs, masks)

    def compile_call(self, schema: Any, *, compact: bool) -> Any:
        options = {"whitespace_flexible": not compact}
        text = json.dumps(schema)
        return self._matcher(
            self.library.LLMatcher.grammar_from_json_schema(text, overrides=options)
        )

    def forced(self, state: Any) -> bytes:
        return state.compute_ff_bytes()

    def accept_bytes(self, state: Any, data: bytes) -> bool:
        """Tokenize by single bytes, which every vocabulary here contains."""
        return state.consume_tokens([self.single[byte] for byte in data])


ENGINES: dict[str, Any] = {
    "ours": Ours,
    "xgrammar": XGrammar,
    "llguidance": LLGuidance,
}
