"""The compiler: turns specs into compiled grammars, and owns everything that grammars share.

There is one compiler per vocabulary and process, and one more for each namespace. It owns the token
masks and automata of its grammars (by rule digest), the fragments of their patterns and numbers, an
LRU of compiled grammars and one of refusals (by spec hash, grammar_cache), and the artifact cache
through which replicas share token masks.

Isolation a cache of clients' content belongs to a compiler. The process has only what is the same
          for all clients: tables of Unicode, and a vocabulary's bytes.

Threads   `compile_*` may be called from many threads. If several need the same spec at once, one
          compiles it; if that one is cancelled, another one does.
Budgets   Compiles of one request share a ``WorkBudget``; without one, a compile has its own. Cached
          results are free: ``from_caches`` asks for nothing else.
Not here  front ends (frontends), rule digests (rule_digest), bytes of artifacts (mask_codec).
"""

import json
import marshal
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import product
from typing import Any, TypeVar

from .automata.rule_automata import AutomatonCache
from .errors import Cancelled, LimitExceeded, SpecError
from .features import Features
from .frontends.choice import build_choice
from .frontends.grammar_text import SYNTAXES, build_grammar
from .frontends.json_schema import build_json_schema
from .frontends.json_schema.formats import PATTERNS as FORMATS
from .frontends.regex.char_classes import load_tables
from .frontends.regex.front_end import build_regex
from .frontends.structural_tag.structural_tag import build_structural_tag
from .frontends.structural_tag.tag_vocabulary import TagVocabulary
from .grammar.ir import FragmentCache, Grammar, Node
from .limits import Limits
from .masks.token_mask import TokenMaskCache
from .native import resources as memory
from .native.resources import WorkBudget
from .runtime.compiled import Compiled
from .runtime.matcher import Matcher
from .sharing.artifact_cache import LOADS_PER_SECOND, ArtifactCache, ArtifactLog
from .sharing.grammar_cache import GrammarCache
from .sharing.mask_artifacts import TokenMaskArtifacts
from .sharing.spec_hash import SpecHash
from .vocabulary.vocabulary import Vocabulary

#: texts that visit the rules that JSON grammars share: strings with and without a bounded length,
#: names, numbers, white space. An integer's states count its last zeros, because 200e-2 is an
#: integer; the token mask of each takes 0.1 to 0.5 ms
WARM_TEXTS: tuple[tuple[Any, bytes], ...] = (
    (True, b'{"a": "b\\n", "c": [1.5e3, -20,\n  true]}'),
    ({"type": "string", "maxLength": 1000}, b'"ab"'),
    ({"items": {"type": "integer"}}, b"[-1, 0, 200000, 1.5e+1, 2e3]"),
)
#: spellings of JSON that requests use
SPELLINGS = ("any", "canonical")
#: number of tokens from which on the masks of formats are built at startup. With fewer tokens they
#: take microseconds; with 128,000 the first use of a format takes 2 to 50 ms, all together 0.3 s
LARGE_VOCABULARY = 16_384
#: masks built for each format, the most expensive ones
FORMAT_MASKS = 64
#: plain text, the base of the token masks of all free text
WARM_TAG = {"type": "structural_tag", "format": {"type": "any_text"}}

#: a front end: adds a spec to a grammar and returns its node
Build = Callable[[Grammar, Any], Node]
Result = TypeVar("Result")


class Compiler:
    """Compiles specs for one vocabulary.

    Args:
        vocabulary: the tokens of the model.
        store: the log in which replicas share token masks; ``start`` follows it.
        limits: limits on work.
        features: optional parts; switching them off changes the cost, not the answers.
        avoid_detours: leave tokens out of masks that the tokenizer never writes there (see
            ``masks.detours``). It needs a vocabulary with ``encode``.

    Raises (from every ``compile_*``):
        SpecError: the spec is invalid, or no text can satisfy it; ``pointer`` is the location.
        UnsupportedSchema: a keyword cannot be enforced; has its name and pointer.
        LimitExceeded: one of ``limits`` was exceeded.
        Cancelled: the ``budget`` was cancelled.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        *,
        store: ArtifactLog | None = None,
        limits: Limits | None = None,
        features: Features | None = None,
        avoid_detours: bool = True,
    ) -> None:
        self.vocabulary = vocabulary
        self.avoid_detours = avoid_detours
        self.limits = limits or Limits()
        self.features = features or Features()
        self._digest = SpecHash(self.limits)
        shares = self.features.cross_grammar
        self._token_masks = TokenMaskCache(self.limits.token_mask_bytes) if shares else None
        self._automata = AutomatonCache(self.limits.automaton_bytes) if shares else None
        self._fragments = FragmentCache(self.limits.fragment_bytes)
        self._cache: ArtifactCache | None = None
        if store is not None and self._token_masks is not None:
            self._cache = ArtifactCache(store, TokenMaskArtifacts(self._token_masks, vocabulary))
        self._tags = TagVocabulary.of(vocabulary)
        self._grammars = GrammarCache(self.limits)

        load_tables()
        memory.keep_ready(wait=True)
        if self._token_masks is not None:
            self._warm()

    def _warm(self) -> None:
        """Build the token masks that all grammars share, so that no request waits for them."""
        words = self.vocabulary.words
        bitmask = memoryview(bytearray(4 * words)).cast("i", (1, words))
        for spelling, (schema, text) in product(SPELLINGS, WARM_TEXTS):
            compiled = self.compile_json_schema(schema, spelling=spelling, budget=WorkBudget())
            matcher = Matcher(compiled)
            for byte in text:
                matcher.fill_bitmask(bitmask)
                matcher.accept_bytes(bytes((byte,)))
        Matcher(self.compile_structural_tag(WARM_TAG, budget=WorkBudget())).fill_bitmask(bitmask)
        if self.vocabulary.size >= LARGE_VOCABULARY:
            for name in FORMATS:
                self._warm_format(name)
        self.clear()
        self._grammars.reset_counts()
        if self._cache is not None:
            # every replica builds these itself
            self._cache.forget_fresh()

    def _warm_format(self, name: str) -> None:
        """Build the most expensive masks of a format, unless a limit is too low for it."""
        with suppress(LimitExceeded):
            schema = {"type": "string", "format": name}
            self.compile_json_schema(schema, budget=WorkBudget()).prepare(FORMAT_MASKS)

    # -- front ends --------------------------------------------------------------------------------
    def compile_json_schema(
        self,
        schema: dict[str, Any] | str | bool,
        *,
        any_order: bool = False,
        whitespace: str = "flexible",
        indent: int | str | None = None,
        separators: Sequence[str] | None = None,
        unknown_formats: str = "annotate",
        spelling: str = "any",
        budget: WorkBudget | None = None,
    ) -> Compiled:
        """Compile a JSON Schema, which may be given as JSON text. Options are those of
        ``frontends.json_schema.build_json_schema``.
        """

        def build(grammar: Grammar, spec: Any) -> Node:
            return build_json_schema(
                grammar,
                self.parse(spec),
                pointer="",
                any_order=any_order,
                whitespace=whitespace,
                indent=indent,
                separators=separators,
                unknown_formats=unknown_formats,
                spelling=spelling,
            )

        kind = f"json_schema {any_order} {whitespace} {unknown_formats} {spelling}"
        if indent is not None or separators is not None:
            kind += f" {indent!r} {separators!r}"
        return self._compile(kind, schema, build, budget)

    def copy_json_schema(
        self, schema: Any, *, limits: Limits, budget: WorkBudget | None = None
    ) -> Compiled:
        """Compile a JSON Schema with the default options, for an inspection, without the cache.

        Args:
            limits: of the copy's automata, rows and masks.
        """

        def build(grammar: Grammar, spec: Any) -> Node:
            return build_json_schema(grammar, spec, pointer="")

        budget = WorkBudget(self.limits) if budget is None else budget
        return self._build(self.parse(schema), build, budget, limits)

    def compile_regex(self, pattern: str, *, budget: WorkBudget | None = None) -> Compiled:
        """Compile a pattern (ECMA-262), which must match the whole text."""
        return self._compile("regex", pattern, build_regex, budget)

    def compile_choice(
        self, choices: Sequence[str], *, budget: WorkBudget | None = None
    ) -> Compiled:
        """Compile a choice: exactly one of the given texts."""
        return self._compile("choice", list(choices), build_choice, budget)

    def compile_grammar(
        self, text: str, syntax: str = "ebnf", *, budget: WorkBudget | None = None
    ) -> Compiled:
        """Compile a grammar given as text, in the syntax "ebnf" (xgrammar's), "gbnf" or "lark"."""
        if syntax not in SYNTAXES:
            raise ValueError(f"syntax must be one of {', '.join(SYNTAXES)}, got {syntax!r}")

        def build(grammar: Grammar, spec: str) -> Node:
            return build_grammar(
                grammar,
                spec,
                syntax=syntax,
                vocabulary=self._tags,
                build_schema=build_json_schema,
            )

        return self._compile(f"grammar {syntax}", text, build, budget)

    def compile_structural_tag(
        self,
        tag: dict[str, Any] | str | Callable[[], dict[str, Any]],
        *,
        key: Any = None,
        budget: WorkBudget | None = None,
    ) -> Compiled:
        """Compile a structural tag, text with tagged regions; ``tag`` may be given as JSON text.

        docs/engine.md describes the language.

        Args:
            key: a JSON value that determines the tag. The grammar is then cached under the key, and
                ``tag`` is a function that returns the tag, called only if the grammar is compiled.
        """

        def compiled(_: Any, budget: WorkBudget) -> Compiled:
            spec = tag() if callable(tag) else tag
            value, packed = (self.parse(spec), spec) if isinstance(spec, str) else _plain(spec)
            made = self._build(value, self._build_tag, budget)
            made.tag_text, made.extend = packed, self._extend
            return made

        if key is not None:
            return self._find_or_compile("structural_tag by key", key, compiled, budget)
        return self._find_or_compile("structural_tag", tag, compiled, budget)

    def copy_structural_tag(
        self,
        compiled: Compiled,
        *,
        limits: Limits | None = None,
        budget: WorkBudget | None = None,
    ) -> Compiled:
        """Compile the structural tag of a grammar again, for an inspection. The copy is not cached:
        it shows nothing that matchers of other requests visited, and nothing waits for it.

        Args:
            limits: of the copy's automata, rows and masks; None: the compiler's.
        """
        if compiled.tag_text is None:
            raise ValueError("the grammar is not that of a structural tag")
        budget = WorkBudget(self.limits) if budget is None else budget
        return self._build(_value_of(compiled.tag_text), self._build_tag, budget, limits)

    def _build_tag(self, grammar: Grammar, spec: Any) -> Node:
        return build_structural_tag(
            grammar,
            spec,
            vocabulary=self._tags,
            build_schema=build_json_schema,
            build_regex=build_regex,
            build_grammar=build_grammar,
        )

    def _extend(self, text: str | bytes, tags: list[dict[str, Any]]) -> Compiled:
        return self.compile_structural_tag(_with_tags(_value_of(text), tags))

    def parse(self, spec: Any) -> Any:
        """Return the value of JSON text; other specs unchanged.

        Raises:
            LimitExceeded: ``spec_bytes``.
            SpecError: the text is not JSON.
        """
        if not isinstance(spec, str):
            return spec
        if len(spec) > self.limits.spec_bytes:
            raise LimitExceeded("spec_bytes", self.limits.spec_bytes, len(spec))
        try:
            return json.loads(spec)
        except (ValueError, RecursionError) as error:
            raise SpecError(f"not JSON: {error}") from None

    # -- compiling ---------------------------------------------------------------------------------
    def _compile(
        self, kind: str, spec: Any, build: Build, budget: WorkBudget | None = None
    ) -> Compiled:
        def compiled(spec: Any, budget: WorkBudget) -> Compiled:
            return self._build(spec, build, budget)

        return self._find_or_compile(kind, spec, compiled, budget)

    def _find_or_compile(
        self,
        kind: str,
        spec: Any,
        compiled: Callable[[Any, WorkBudget], Compiled],
        budget: WorkBudget | None,
    ) -> Compiled:
        """Return the cached grammar of a spec, or compile it. JSON text is hashed as text and
        parsed on a miss only; the same value with another spelling is compiled again.
        """
        if isinstance(spec, str) and len(spec) > self.limits.spec_bytes:
            raise LimitExceeded("spec_bytes", self.limits.spec_bytes, len(spec))
        return self._grammars.get_or_build(self._digest.of(kind, spec), spec, compiled, budget)

    def _build(
        self, spec: Any, build: Build, budget: WorkBudget, limits: Limits | None = None
    ) -> Compiled:
        """Compile a spec: IR, lowered grammar, first row. ``limits``: those of the result."""
        grammar = Grammar(self.limits, budget, self._fragments)
        try:
            grammar.root = grammar.rule("root", build(grammar, spec))
        finally:
            # the front ends' data refer to the grammar: a cycle would keep both after a refusal
            grammar.shared.clear()
        return self._finish(grammar, limits)

    def _finish(self, grammar: Grammar, limits: Limits | None = None) -> Compiled:
        compiled = Compiled(
            self.vocabulary,
            grammar,
            limits=limits or self.limits,
            features=self.features,
            table=self._token_masks,
            automata_table=self._automata,
            avoid_detours=self.avoid_detours,
        )
        if not compiled.is_satisfiable():
            raise SpecError("nothing can satisfy this")
        return compiled

    # -- replicas ----------------------------------------------------------------------------------
    def start(self, load_seconds: float = 1.0, *, loads_per_second: int = LOADS_PER_SECOND) -> None:
        """Follow the log in a background thread: load the most popular entries for at most
        ``load_seconds``, then announced entries, and publish token masks that are built here.
        Without a log it does nothing.
        """
        if self._cache is not None:
            self._cache.start(load_seconds, loads_per_second)

    def load_hottest(self, seconds: float) -> int:
        """Load the log's most popular entries now, in this thread. Return the number accepted.

        Raises:
            all errors of the log.
        """
        return 0 if self._cache is None else self._cache.load_hottest(seconds)

    def clear(self) -> None:
        """Drop cached grammars and return free memory to the system. Matchers keep theirs."""
        self._grammars.forget()
        memory.trim()

    def flush(self) -> None:
        """Publish fresh token masks now, in this thread.

        Raises:
            all errors of the log.
        """
        if self._cache is not None:
            self._cache.flush()

    def close(self, seconds: float = 5.0) -> bool:
        """Publish fresh token masks and stop following the log. Return False on a timeout."""
        return self._cache is None or self._cache.close(seconds)

    @property
    def has_store(self) -> bool:
        """Whether this compiler shares artifacts with other replicas."""
        return self._cache is not None

    def stats(self) -> dict[str, int]:
        """Return counts of compiles, refusals and cache hits, and of cached grammars and refusals;
        ``token_mask_*``, ``automaton_*`` and ``fragment_*`` of the caches; and of the whole process
        ``pool_*``, the bytes held by vectors and mapped for them.
        """
        parts = {
            "shared": self._cache,
            "token_mask": self._token_masks,
            "automaton": self._automata,
            "fragment": self._fragments,
            "pool": memory,
        }
        out = self._grammars.stats()
        for prefix, part in parts.items():
            if part is not None:
                out.update({f"{prefix}_{name}": count for name, count in part.stats().items()})
        return out


def from_caches(work: Callable[[WorkBudget], Result]) -> Result | None:
    """Return the result of ``work``, which compiles with the budget that it gets, if caches have
    everything that it asks for, else None. Nothing is compiled or waited for.

    Raises:
        SpecError, LimitExceeded: a cached refusal, unless ``work`` handles it.
    """
    try:
        # the same way out as that of a cancelled compile: work of several compiles needs no other
        return work(WorkBudget.exhausted())
    except Cancelled:
        return None


def _plain(value: Any) -> tuple[Any, bytes]:
    """Return a JSON value in Python's built-in types, and the same marshalled, which takes a third
    of the time of ``json.dumps``.

    Raises:
        SpecError: the value is not a JSON value.
    """
    try:
        return value, marshal.dumps(value)
    except ValueError:
        # a subclass, such as an OrderedDict
        try:
            value = json.loads(json.dumps(value))
        except (TypeError, ValueError, RecursionError) as error:
            raise SpecError(f"not JSON: {error}") from None
        return value, marshal.dumps(value)


def _value_of(text: str | bytes) -> Any:
    """Return the value of JSON text, or of the bytes of ``_plain``."""
    return json.loads(text) if isinstance(text, str) else marshal.loads(text)  # noqa: S302


def _with_tags(spec: dict[str, Any], tags: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the structural tag with more tags in its outermost set.

    Raises:
        SpecError: the tag has no such set.
    """
    if not isinstance(spec["format"].get("tags"), list):
        kind = spec["format"].get("type")
        raise SpecError(f"a format of type {kind!r} has no set of tags", "/format")
    return {**spec, "format": {**spec["format"], "tags": [*spec["format"]["tags"], *tags]}}
