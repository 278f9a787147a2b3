"""The grammar engines of workers: what each reads, enforces and refuses.

GrammarBackend   Switchyard's, in this process or as SGLang's plug-in: enforces everything
XGrammar         SGLang's default; xgrammar_limits has the keywords that it does not enforce
LLGuidance       takes no structural tags: only a schema for the whole answer

A strategy compiles a plan in the engine's dialect (adapters.formats.dialects) and writes the
worker's spec. A new engine is a class here, and a value of the setting ``grammar_backend``.
"""

import json
from typing import Any

from adapters.formats import (
    FormatPlan,
    Location,
    Origin,
    OutputSpec,
    for_own_engine,
    for_reading_foreign,
    inline_styles,
)
from engine import Compiled, Compiler, Relaxed, Vocabulary, WorkBudget

from ..generation import token_node_ids
from .constraint_plan import SpecKind
from .refusals import BeyondBackend, ConstraintRefused
from .relaxation import RelaxedKeyword
from .xgrammar_limits import unenforced_keywords

#: the engine of workers in this process
OWN_BACKEND = "switchyard"


class GrammarBackend:
    """Switchyard's engine, which enforces everything, and the interface of the others."""

    name = OWN_BACKEND
    #: where objects have their additional keys, see ``engine.relax``
    extra_keys = "last"
    #: whether specs may name the namespace of the caches
    reads_namespaces = True

    def check(self, output: OutputSpec) -> None:
        """Raise BeyondBackend for an output that the engine cannot bound."""

    def check_origin(self, origin: Origin) -> None:
        """Raise BeyondBackend for a part that the engine does not read."""

    def compile(
        self, compiler: Compiler, plan: FormatPlan, budget: WorkBudget
    ) -> tuple[FormatPlan, Compiled]:
        """Return the plan in the engine's dialect, and the grammar that reads the answer.

        Raises:
            FormatError, SpecError, LimitExceeded, Cancelled: see ``engine.Compiler``.
        """
        plan = plan.derived(for_own_engine)
        # the text is the cache key, and the worker's input
        return plan, compiler.compile_structural_tag(plan.spec_json, budget=budget)

    def unenforced(self, plan: FormatPlan) -> tuple[RelaxedKeyword, ...]:
        """Return the keywords that the engine does not enforce.

        Raises:
            ConstraintRefused: the schema of such a keyword is strict.
        """
        return ()

    def spec(self, plan: FormatPlan, output: OutputSpec) -> tuple[str | None, SpecKind]:
        """Return the worker's spec. Raises BeyondBackend if the engine cannot enforce the plan."""
        return plan.spec_json, "structural_tag"

    def token_ids(self, plan: FormatPlan, vocabulary: Vocabulary) -> frozenset[int] | None:
        """Return the tokens that are no text, see ForeignParser; None: answers are read by id."""
        return None


class _Foreign(GrammarBackend):
    """Another engine: its text is read with a grammar that accepts more."""

    extra_keys = "anywhere"
    reads_namespaces = False

    def check(self, output: OutputSpec) -> None:
        if output.thinking_tokens is not None:
            raise self._beyond("cannot bound reasoning.", "thinking_token_budget")
        if output.layout_param is not None:
            raise self._beyond("has no layouts of JSON.", output.layout_param)

    def check_origin(self, origin: Origin) -> None:
        if origin.is_own:
            raise self._beyond("reads no Lark grammars.", origin.param)

    def compile(
        self, compiler: Compiler, plan: FormatPlan, budget: WorkBudget
    ) -> tuple[FormatPlan, Compiled]:
        # compile strictly first, so that unenforceable keywords are refused
        compiler.compile_structural_tag(plan.spec, budget=budget)
        loose = plan.derived(for_reading_foreign).spec
        return plan, compiler.compile_structural_tag(loose, budget=budget)

    def token_ids(self, plan: FormatPlan, vocabulary: Vocabulary) -> frozenset[int] | None:
        return token_node_ids(plan.spec, vocabulary)

    def _beyond(self, what: str, param: str | None) -> BeyondBackend:
        return BeyondBackend(f"The workers' grammar backend {self.name!r} {what}", param)


class XGrammar(_Foreign):
    """See the file's header."""

    name = "xgrammar"

    def unenforced(self, plan: FormatPlan) -> tuple[RelaxedKeyword, ...]:
        found: list[RelaxedKeyword] = []

        def collect(origin: Origin, schema: Any) -> Any:
            for pointer, keyword in unenforced_keywords(schema):
                reason = self._reason(keyword)
                if origin.is_strict:
                    raise ConstraintRefused(Location(origin.param, pointer), reason, keyword)
                relaxed = Relaxed(pointer, pointer, keyword, reason)
                found.append(RelaxedKeyword(Location(origin.param), relaxed))
            return schema

        plan.with_schemas(collect)
        # a structural tag of the client is enforced as a whole
        for place, schema in plan.constrained_schemas():
            for pointer, keyword in unenforced_keywords(schema):
                where = plan.locate(place + pointer)
                raise ConstraintRefused(where, self._reason(keyword), keyword)
        return tuple(found)

    def spec(self, plan: FormatPlan, output: OutputSpec) -> tuple[str | None, SpecKind]:
        pointer = next(inline_styles(plan.spec), None)
        if pointer is not None:
            raise self._beyond("reads no styles that are objects.", plan.locate(pointer).param)
        return super().spec(plan, output)

    def _reason(self, keyword: str) -> str:
        return f"the workers' grammar backend {self.name!r} does not enforce {keyword!r}"


class LLGuidance(_Foreign):
    """See the file's header."""

    name = "llguidance"

    def spec(self, plan: FormatPlan, output: OutputSpec) -> tuple[str | None, SpecKind]:
        answer, grammar = plan.spec["format"], output.response_grammar
        if answer["type"] == "json_schema" and grammar is None:
            return json.dumps(answer["json_schema"]), "json_schema"
        if output.tools or not output.is_text:
            param = output.response_param if grammar is None else grammar.param
            raise self._beyond(
                "cannot enforce {tools}, nor a response format behind reasoning: it takes no "
                "structural tags.",
                "tools" if output.tools else param,
            )
        return None, "structural_tag"


#: the engines by their names at SGLang
BACKENDS = {each.name: each() for each in (GrammarBackend, XGrammar, LLGuidance)}
