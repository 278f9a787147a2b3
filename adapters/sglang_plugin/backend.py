"""The grammar backend ``switchyard`` of SGLang: requests in, grammars out.

Thinking   SGLang marks requests whose answers begin with reasoning. If the server has a reasoning
           parser, the grammar of such a request begins with a region of free text that ends at
           the parser's end tag (grammar_specs). The request's ``thinking_budget`` or
           SGLANG_MAX_THINK_TOKENS bounds this region. With ``--enable-strict-thinking``, the region
           excludes the texts that SGLang excludes, and SGLang's own filter bounds the thinking of
           requests without a grammar, by masks of this backend.
Threads    the scheduler's thread; compiles run in threads of their own (compiling).
"""

import gc
import logging
import secrets
from collections.abc import Collection, Sequence
from concurrent.futures import Future
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

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
from .internals import load
from .mask_buffers import MaskBuffers
from .mask_check import check_masks
from .mask_prefetcher import MaskPrefetcher
from .options import Options, read_options
from .status import describe
from .tokenizers import read_vocabulary

_log = logging.getLogger(__name__)

#: characters of an engine's message that clients see
MESSAGE_CHARS = 500

_here: "Here | None" = None


class SwitchyardBackend(BaseGrammarBackend):  # type: ignore[misc]
    """See the file's header."""

    def __init__(
        self,
        compiler: Compiler,
        masks: MaskBuffers,
        settings: environment.Settings,
        options: Options | None = None,
    ) -> None:
        super().__init__()
        self.compiler = compiler
        self.options = Options() if options is None else options
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
        #: of the request whose grammar SGLang asks for next
        self.facts = versions.RequestFacts()
        self._filter: Any = None

    # -- what SGLang calls for each request --------------------------------------------------------
    def get_cached_or_future_value(
        self, key: tuple[str, str], require_reasoning: bool
    ) -> tuple[BaseGrammarObject | Future[BaseGrammarObject], bool]:
        """Return the grammar or its future, and whether it is the grammar."""
        try:
            spec = self._grammar_spec(key, require_reasoning)
            found = self.compilations.known(spec)
            if found is not None:
                return self._grammar(spec, found, is_hit=True), True
            deliver = self._deliverer(spec)
            return self.compilations.start(spec, self.facts.prompt_tokens, deliver), False
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

    # -- the thinking of requests without a grammar ------------------------------------------------
    def filter_thinking(self, maker: Any) -> None:
        """Let SGLang's ``maker`` of filters serve requests without a grammar."""
        self._filter, self._enable_strict_thinking = maker, True

    def init_strict_reasoning_grammar(self, reasoning: bool) -> BaseGrammarObject | None:
        """Return SGLang's filter for a request; None: the server does not filter."""
        if self._filter is None:
            return None
        made: BaseGrammarObject = self._filter.init_strict_reasoning_grammar(reasoning)
        return made

    @property
    def is_support_token_filter(self) -> bool:
        return True

    def set_token_filter(
        self,
        vocab_mask: Any,
        token_ids: Sequence[int],
        batch_idx: int,
        is_allowed: bool = True,
        reset_vocab_mask: bool = True,
    ) -> None:
        """Allow or forbid tokens in a row of the masks, after all or none of it if it is reset."""
        options = {"is_allowed": is_allowed, "reset_vocab_mask": reset_vocab_mask}
        load("set_token_filter_torch")(vocab_mask, list(token_ids), batch_idx, **options)

    def allocate_vocab_mask(self, vocab_size: int, batch_size: int, device: Any) -> Any:
        """Return masks for a batch, with every token allowed."""
        return self.shared.masks.allocate(vocab_size, batch_size, device)

    def move_vocab_mask(self, vocab_mask: Any, device: Any) -> Any:
        """Return the masks of a batch on the device."""
        return self.shared.masks.move(vocab_mask, device)

    def apply_vocab_mask(self, logits: Any, vocab_mask: Any) -> None:
        """Apply the masks of a batch to its logits, in place."""
        self.shared.masks.apply(logits, vocab_mask)

    # -- making grammars ---------------------------------------------------------------------------
    def _grammar_spec(self, key: tuple[str, str], require_reasoning: bool) -> GrammarSpec:
        kind, text = key[0], str(key[1])
        namespace, text = self._split(kind, text)
        thinking = self._thinking(kind) if require_reasoning else None
        return GrammarSpec(kind, text, thinking, self.options.whitespace, namespace)

    def _thinking(self, kind: str) -> ThinkingRegion | None:
        """Return the region before the grammar of a request that thinks first; None: the grammar
        contains the thinking, or the server has no reasoning parser.
        """
        options, facts = self.options, self.facts
        contains_it = kind == "full_assistant_ebnf" or facts.covers_reasoning
        if options.thinking_end is None or contains_it:
            return None
        budget = facts.thinking_budget
        most = options.most_thinking if budget is None or budget < 0 else budget
        return ThinkingRegion(options.thinking_end, most, options.excludes)

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
            spec = GrammarSpec(kind, text, None, self.options.whitespace, namespace)
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


def see_request(backend: Any, facts: versions.RequestFacts) -> bool:
    """Keep the facts of the request whose grammar is next; False: for a foreign backend."""
    if not isinstance(backend, SwitchyardBackend):
        return False
    backend.facts = facts
    return True


def short_key(key: tuple[str, str]) -> tuple[str, GrammarText]:
    """Return a key of SGLang's with a short repr."""
    return key[0], GrammarText(key[1])


class Here(NamedTuple):
    """The backend of this process, and the SGLang that runs it."""

    api: versions.SGLangApi
    backend: SwitchyardBackend


def create(
    server_args: Any, tokenizer: Any, vocab_size: int, eos_token_ids: Any
) -> SwitchyardBackend:
    """Return the backend of this scheduler's process.

    Raises:
        UnsupportedSGLang, UnsupportedTokenizer, BadSetting, RuntimeError: the server cannot start,
            for the reason in the message.
    """
    global _here
    api = versions.check()
    settings = environment.load()
    if not api.stands_alone(server_args):
        # masks computed ahead depend on timing, and so would a limit that counts them
        settings = replace(settings, prefill_most_ms=0, masks_ahead=False)
    options = read_options(api, tokenizer)
    for warning in options.warnings:
        _log.warning("switchyard: %s", warning)
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
    masks = MaskBuffers(can_pin=api.can_pin(), device_kernel=api.device_kernel)
    check_masks(api.set_bits, masks, api.device())
    backend = SwitchyardBackend(
        Compiler(
            vocabulary,
            store=store,
            limits=_limits(settings),
            avoid_detours=settings.detours == "avoid",
        ),
        masks,
        settings,
        options,
    )
    if options.filters is not None:
        backend.filter_thinking(api.strict_filter(backend, options.filters, tokenizer))
    backend.compiler.start(
        settings.cache_prefetch_seconds, loads_per_second=settings.cache_loads_per_second
    )
    api.add_request_facts(see_request, short_key)
    api.add_tree_walk(walk_tree)
    if settings.drafts and api.speculates_by_ngrams(server_args):
        api.add_drafts(offer)
    _here = Here(api, backend)
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
    if _here is None:
        return None
    backend = _here.backend
    return describe(
        backend.compilers, backend.shared, backend.compilations, _here.api, backend.options.warnings
    )
