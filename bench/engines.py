"""Our engine and its peers behind one face, each with its best settings, one thread."""

import json
from typing import Any, Protocol

import numpy as np

from .vocabularies import Loaded


class Engine(Protocol):
    """``compile`` returns something that ``start`` makes a text's state of; errors mean refused."""

    def compile_schema(self, schema: Any) -> Any: ...
    def compile_tags(self, trigger: str, tags: list[tuple[str, Any, str]]) -> Any: ...
    def start(self, compiled: Any) -> Any: ...
    def fill(self, state: Any) -> None: ...
    def allowed(self, token: int) -> bool: ...
    def accept(self, state: Any, token: int) -> bool: ...


def structural_tag(trigger: str, tags: list[tuple[str, Any, str]]) -> dict[str, Any]:
    made = [
        {
            "type": "tag",
            "begin": begin,
            "content": {"type": "json_schema", "json_schema": schema},
            "end": end,
        }
        for begin, schema, end in tags
    ]
    form = {"type": "triggered_tags", "triggers": [trigger], "tags": made}
    return {"type": "structural_tag", "format": form}


class _Masked:
    """A mask of one row; bit t % 32 of word t // 32 is token t."""

    def __init__(self, size: int) -> None:
        self.mask = np.zeros((1, (size + 31) // 32), dtype=np.int32)
        self.words = self.mask[0].view("uint32")

    def allowed(self, token: int) -> bool:
        return bool((int(self.words[token >> 5]) >> (token & 31)) & 1)


class Ours(_Masked):
    def __init__(self, loaded: Loaded) -> None:
        import engine

        super().__init__(len(loaded.tokens))
        vocabulary = engine.Vocabulary(
            loaded.tokens,
            stop_token_ids=[loaded.stop],
            special_token_ids=sorted(loaded.special.values()),
        )
        self.matcher = engine.Matcher
        self.compiler = engine.Compiler(vocabulary)
        self.compile_schema = self.compiler.compile_json_schema

    def compile_tags(self, trigger: str, tags: list[tuple[str, Any, str]]) -> Any:
        return self.compiler.compile_structural_tag(structural_tag(trigger, tags))

    def start(self, compiled: Any) -> Any:
        return self.matcher(compiled)

    def fill(self, state: Any) -> None:
        state.fill_bitmask(self.mask)

    def accept(self, state: Any, token: int) -> bool:
        return state.accept_token(token)


class XGrammar(_Masked):
    def __init__(self, loaded: Loaded) -> None:
        import torch
        import xgrammar

        torch.set_num_threads(1)
        super().__init__(len(loaded.tokens))
        self.torch_mask = xgrammar.allocate_token_bitmask(1, len(loaded.tokens))
        self.words = self.torch_mask.numpy()[0].view("uint32")
        info = xgrammar.TokenizerInfo(
            loaded.tokens,
            xgrammar.VocabType.RAW,
            vocab_size=len(loaded.tokens),
            stop_token_ids=[loaded.stop],
        )
        self.compiler = xgrammar.GrammarCompiler(info, max_threads=1)
        self.start = xgrammar.GrammarMatcher

    def compile_schema(self, schema: Any) -> Any:
        return self.compiler.compile_json_schema(schema, any_whitespace=True, strict_mode=False)

    def compile_tags(self, trigger: str, tags: list[tuple[str, Any, str]]) -> Any:
        return self.compiler.compile_structural_tag(structural_tag(trigger, tags))

    def fill(self, state: Any) -> None:
        state.fill_next_token_bitmask(self.torch_mask)

    def accept(self, state: Any, token: int) -> bool:
        return state.accept_token(token)


class LLGuidance(_Masked):
    def __init__(self, loaded: Loaded) -> None:
        import llguidance
        import llguidance.numpy
        import llguidance.tiktoken

        size = len(loaded.tokens) + 64
        super().__init__(size)
        self.library = llguidance
        self.fill_mask = llguidance.numpy.fill_next_token_bitmask
        self.tokenizer = llguidance.tiktoken.lltokenizer_from_encoding(
            loaded.encoding, n_vocab=size, eos_token=loaded.stop
        )

    def _matcher(self, grammar: Any) -> Any:
        made = self.library.LLMatcher(self.tokenizer, grammar)
        if made.is_error():
            raise ValueError(made.get_error()[:200])
        return made

    def compile_schema(self, schema: Any) -> Any:
        options = {"whitespace_flexible": True}
        text = json.dumps(schema)
        return self._matcher(
            self.library.LLMatcher.grammar_from_json_schema(text, overrides=options)
        )

    def compile_tags(self, trigger: str, tags: list[tuple[str, Any, str]]) -> Any:
        made = [
            self.library.StructTag(trigger=trigger, begin=begin, grammar=schema, end=end)
            for begin, schema, end in tags
        ]
        return self._matcher(self.library.StructTag.to_grammar(made, assume_special=False))

    def start(self, compiled: Any) -> Any:
        return compiled.deep_copy()

    def fill(self, state: Any) -> None:
        self.fill_mask(state, self.mask, 0)

    def accept(self, state: Any, token: int) -> bool:
        return state.consume_token(token)


ENGINES = {"ours": Ours, "xgrammar": XGrammar, "llguidance": LLGuidance}
