"""The constraint of one answer: what the worker gets, and how the answer is read.

ConstraintPlan     the worker enforces the grammar, which also reads the answer
UnenforcedPlan     the worker gets no grammar (modes "shadow" and "off"); a grammar that asks for
                   nothing reads the answer, and a shadow may compare it
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal

from adapters.formats import FormatPlan
from engine import Compiled, Parser

from ..generation import ForeignParser
from ..settings import ConstraintMode
from .free_text import FreeParser, TolerantParser
from .mode import MODE_HEADER
from .relaxation import RelaxedKeyword
from .shadow import ShadowParser

#: parses at once of an answer in a grammar of the client. Each byte takes time in proportion to
#: their number (about 0.3 ms for all), in the event loop; unambiguous grammars have one, and so has
#: any number of alternatives that begin with texts
MAX_PARSES = 4_096
#: the backend of answers that nothing constrains
NO_BACKEND: Final = "none"

SpecKind = Literal["structural_tag", "json_schema"]


@dataclass(frozen=True, slots=True)
class ConstraintPlan:
    """See the file's header.

    ``spec``      the worker's spec, of the kind ``spec_kind``; None: nothing to enforce.
    ``backend``   the grammar engine that enforces it.
    ``compiled``  the grammar that parses the answer.
    ``token_ids``  for a foreign backend, see ForeignParser; None: Switchyard's engine enforces.
    ``relaxed``   keywords that the answer may violate.
    ``mode``      see constraints.mode.
    """

    format_plan: FormatPlan
    spec: str | None
    spec_kind: SpecKind
    backend: str
    compiled: Compiled
    token_ids: frozenset[int] | None = None
    relaxed: tuple[RelaxedKeyword, ...] = ()
    mode: ConstraintMode = "enforce"

    @property
    def is_enforced(self) -> bool:
        """Whether the worker enforces the request's constraints."""
        return self.mode == "enforce"

    @property
    def mode_header(self) -> dict[str, str]:
        """Return the response header that names the mode; no header for enforced constraints."""
        return {} if self.is_enforced else {MODE_HEADER: self.mode}

    def parser(self) -> Parser | ForeignParser:
        """Return a parser of one answer."""
        has_grammar = self.format_plan.has_client_grammar
        parser = self.compiled.parser(most_parses=MAX_PARSES if has_grammar else None)
        if self.token_ids is None:
            return parser
        return ForeignParser(parser, self.compiled.vocabulary, self.token_ids)


@dataclass(frozen=True, slots=True, kw_only=True)
class UnenforcedPlan(ConstraintPlan):
    """See the file's header. ``shadow`` begins the comparison of an answer; None: there is none."""

    mode: ConstraintMode
    shadow: Callable[[], ShadowParser] | None = None

    def parser(self) -> FreeParser:
        """Return a parser of one answer, which reads any text."""
        vocabulary = self.compiled.vocabulary
        tolerant = TolerantParser(
            self.compiled.parser(),
            self.format_plan.roles,
            vocabulary.tokens,
            vocabulary.stop_token_ids,
        )
        shadow = None if self.shadow is None else self.shadow()
        return FreeParser(tolerant, vocabulary, self.token_ids or frozenset(), shadow)
