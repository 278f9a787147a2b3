"""The grammar backend ``switchyard`` of SGLang: requests in, grammars out.

Thinking   SGLang marks requests whose answers begin with reasoning. If the server has a reasoning
           parser, the grammar of such a request begins with a region of free text that ends at
           the parser's end tag (grammar_specs). The request's ``thinking_budget`` or
           SGLANG_MAX_THINK_TOKENS bounds this region. ``--enable-strict-thinking`` aborts startup:
           it also filters requests without a grammar.
Threads    the scheduler's thread; compiles run in threads of their own (compiling).
"""

import gc
import logging
import secrets
from collections.abc import Collection, Sequence
from concurrent.futures import Future
from dataclasses import replace
from functools import partial
from typing import Any

from sglang.srt.constrained.base_grammar_backend import (
    BaseGrammarBackend,
    BaseGrammarObject,
    GrammarStats,
    InvalidGrammarObject,
)

from cache import may_use_redis, open_store
from engine import (
    Compiled,
    Compiler,
    EngineError,
    Limits,
    Namespaces,
    SpecError,
    split_namespace,
)

from . import settings as environment
from . import versions
from .compiling import Compilations
from .drafts import offer
from .grammar import Shared, SwitchyardGrammar, walk_tree
from .grammar_specs import GrammarSpec, GrammarText, ThinkingRegion, compile_grammar
from .mask_buffers import MaskBuffers
from .mask_prefetcher import MaskPrefetcher
from .status import describe
from .tokenizers import read_vocabulary

_log = logging.getLogger(__name__)

#: characters of an engine's message that clients see
MESSAGE_CHARS = 500

_here: "SwitchyardBackend | None" = None


class GrammarKey(tuple[str, GrammarText]):
    """SGLang's (kind, text) and the other fields of a request that determine its grammar."""

    prompt_tokens: int
    thinking_budget: int | None


class SwitchyardBackend(BaseGrammarBackend):  # type: ignore[misc]
    """See the file's header."""

    def __init__(
        self,
        compiler: Compiler,
        masks: MaskBuffers,
        settings: environment.Settings,
        *,
        thinking_end: str | None = None,
        most_thinking: int | None = None,
        most_whitespace: int | None = None,
    ) -> None:
        super().__init__()
        self.compiler = compiler
        vocabulary = compiler.vocabulary
        prefetcher = MaskPrefetcher() if settings.masks_ahead else None
        self.shared = Shared(masks, vocabulary.stop_token_ids, vocabulary.words, prefetcher)
        most = settings.cache_namespaces if settings.cache_namespace == "key" else 0
        make = partial(
            Compiler,
            vocabulary,
            limits=compiler.limits,
            avoid_detours=compiler.avoid_detours,
        )
        self.compilers = Namespaces(compiler, make, most=most)
        self.compilations = Compilations(self.compilers, settings)
        self._thinking_end = thinking_end
        self._most_thinking = most_thinking
        self._most_whitespace = most_whitespace

    # -- what SGLang calls for each request --------------------------------------------------------
    def get_request_grammar_key(
        self,
        key: tuple[str, str],
        *,
        input_ids: Sequence[int],
        thinking_budget: int | None,
    ) -> GrammarKey:
        """Return a key with SGLang's further fields; SGLang shows the key in its messages."""
        whole = GrammarKey((key[0], GrammarText(key[1])))
        whole.prompt_tokens, whole.thinking_budget = len(input_ids), thinking_budget
        return whole

    def get_cached_or_future_value(
        self, key: tuple[str, str], require_reasoning: bool
    ) -> tuple[BaseGrammarObject | Future[BaseGrammarObject], bool]:
        """Return the grammar or its future, and whether it is the grammar."""
        try:
            spec = self._grammar_spec(key, require_reasoning)
            found = self.compilations.known(spec)
            if found is not None:
                return self._grammar(spec, found, is_hit=True), True
            prompt_tokens = getattr(key, "prompt_tokens", 0)
            deliver = self._deliverer(spec)
            return self.compilations.start(spec, prompt_tokens, deliver), False
        except Exception as error:
            return self._invalid(error), True

    def set_cache(self, key: tuple[str, str], value: BaseGrammarObject) -> None:
        """Do nothing: the compiler keeps grammars; failures and timeouts must not be cached."""

    def reset(self) -> None:
        """Drop compiled grammars and free their memory."""
        for compiler in self.compilers:
            compiler.clear()

    def dispatch_json(self, key_string: str) -> BaseGrammarObject:
        """Compile in the calling thread, like the other three."""
        return self._compiled_now("json", key_string)

    def dispatch_regex(self, key_string: str) -> BaseGrammarObject:
        return self._compiled_now("regex", key_string)

    def dispatch_ebnf(self, key_string: str) -> BaseGrammarObject:
        return self._compiled_now("ebnf", key_string)

    def dispatch_structural_tag(self, key_string: str) -> BaseGrammarObject:
        return self._compiled_now("structural_tag", key_string)

    # -- making grammars ---------------------------------------------------------------------------
    def _grammar_spec(self, key: tuple[str, str], require_reasoning: bool) -> GrammarSpec:
        kind, text = key[0], str(key[1])
        namespace, text = self._split(kind, text)
        # a grammar of the whole answer contains its own thinking
        if not require_reasoning or self._thinking_end is None or kind == "full_assistant_ebnf":
            return GrammarSpec(kind, text, None, self._most_whitespace, namespace)
        budget = getattr(key, "thinking_budget", None)
        most = self._most_thinking if budget is None or budget < 0 else budget
        thinking = ThinkingRegion(self._thinking_end, most)
        return GrammarSpec(kind, text, thinking, self._most_whitespace, namespace)

    def _split(self, kind: str, text: str) -> tuple[str, str]:
        """Return the namespace of a spec, and its text. Raises SpecError: the setting lacks."""
        if kind != "structural_tag":
            return "", text
        namespace, text = split_namespace(text)
        if namespace and not self.compilers.most:
            raise SpecError("cache namespaces need SWITCHYARD_CACHE_NAMESPACE=key in the worker")
        return namespace, text

    def _grammar(self, spec: GrammarSpec, compiled: Compiled, *, is_hit: bool) -> SwitchyardGrammar:
        stats = GrammarStats(is_cache_hit=is_hit, dispatch_type=spec.kind)
        return SwitchyardGrammar(compiled, self.shared, stats)

    def _deliverer(self, spec: GrammarSpec) -> Any:
        def deliver(made: Compiled | Exception) -> BaseGrammarObject:
            if not isinstance(made, Compiled):
                return self._invalid(made)
            try:
                return self._grammar(spec, made, is_hit=False)
            except Exception as error:
                return self._invalid(error)

        return deliver

    def _compiled_now(self, kind: str, text: str) -> BaseGrammarObject:
        try:
            namespace, text = self._split(kind, text)
            spec = GrammarSpec(kind, text, None, self._most_whitespace, namespace)
            compiled = compile_grammar(self.compilers.of(namespace), spec)
            return self._grammar(spec, compiled, is_hit=False)
        except Exception as error:
            return self._invalid(error)

    def _invalid(self, error: Exception) -> InvalidGrammarObject:
        """Return a grammar that SGLang answers with a 400."""
        if isinstance(error, EngineError):
            return InvalidGrammarObject(str(error)[:MESSAGE_CHARS])
        number = secrets.token_hex(4)
        self.shared.counters.errors += 1
        _log.error("switchyard: compiling failed (%s)", number, exc_info=error)
        return InvalidGrammarObject(f"internal error {number}")


def create(
    server_args: Any, tokenizer: Any, vocab_size: int, eos_token_ids: Any
) -> SwitchyardBackend:
    """Return the backend of this scheduler's process.

    Raises:
        UnsupportedTokenizer, BadSetting, ValueError: the server cannot start, for the reason in
            the message.
    """
    global _here
    api = versions.check()
    settings = environment.load()
    if not api.stands_alone(server_args):
        # masks computed ahead depend on timing, and so would a limit that counts them
        settings = replace(settings, prefill_most_ms=0, masks_ahead=False)
    if api.strict_thinking():
        raise ValueError(
            "--enable-strict-thinking is not supported by the grammar backend 'switchyard': "
            "thinking is part of each request's grammar, bounded by its thinking_budget"
        )
    most_whitespace, whitespace_pattern = api.json_whitespace()
    if whitespace_pattern is not None:
        raise ValueError(
            "--constrained-json-whitespace-pattern is not supported by the grammar backend "
            "'switchyard'; --constrained-json-disable-any-whitespace is"
        )
    if settings.redis_url and not may_use_redis(settings.cache_key, settings.cache_trust):
        _log.warning(
            "switchyard: Redis is not used: set SWITCHYARD_CACHE_KEY or _CACHE_TRUST=network"
        )
    store = open_store(
        redis_url=settings.redis_url,
        key=settings.cache_key,
        ttl_s=settings.cache_ttl_seconds,
        trust=settings.cache_trust,
    )
    vocabulary = read_vocabulary(tokenizer, size=vocab_size, stop_token_ids=_ids(eos_token_ids))
    backend = SwitchyardBackend(
        Compiler(
            vocabulary,
            store=store,
            limits=_limits(settings),
            avoid_detours=settings.detours == "avoid",
        ),
        MaskBuffers(can_pin=api.can_pin(), device_kernel=api.device_kernel),
        settings,
        thinking_end=api.reasoning_end(tokenizer),
        most_thinking=api.most_thinking(),
        most_whitespace=most_whitespace,
    )
    backend.compiler.start(
        settings.cache_prefetch_seconds, loads_per_second=settings.cache_loads_per_second
    )
    api.add_tree_walk(walk_tree)
    if settings.drafts and api.speculates_by_ngrams(server_args):
        api.add_drafts(offer)
    _here = backend
    # The objects of SGLang, torch and the tokenizer stay alive. A full collection would walk over
    # all of them while the scheduler waits.
    gc.collect()
    gc.freeze()
    _log.info("switchyard: constrains with the vocabulary %s", vocabulary.fingerprint)
    return backend


def _limits(settings: environment.Settings) -> Limits:
    """Return the limits of a compiler; with namespaces, all divide the memory."""
    parts = 1 + (settings.cache_namespaces if settings.cache_namespace == "key" else 0)
    return Limits().within(settings.compiler_memory_bytes // parts)


def _ids(given: Any) -> Collection[int]:
    """Return SGLang's end-of-sequence ids, which are a set, a list, one id, or None."""
    if given is None:
        return ()
    return (given,) if isinstance(given, int) else given


def status_here() -> dict[str, Any] | None:
    """Return the status of this process's backend; None: there is no backend."""
    return None if _here is None else describe(_here.compilers, _here.shared, _here.compilations)
