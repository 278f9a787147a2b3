from collections.abc import Callable
from typing import Any

from ..automata.rule_automata import AutomatonCache
from ..features import Features
from ..grammar.ir import Grammar
from ..limits import Limits
from ..masks.token_mask import TokenMaskCache
from ..vocabulary.vocabulary import Vocabulary
from .parser import Parser

class Compiled:
    vocabulary: Vocabulary
    grammar: Grammar
    limits: Limits
    features: Features
    tag_text: str | bytes | None
    extend: Callable[[str, list[dict[str, Any]]], Compiled] | None
    def __init__(
        self,
        vocabulary: Vocabulary,
        grammar: Grammar,
        *,
        limits: Limits,
        features: Features,
        table: TokenMaskCache | None,
        automata_table: AutomatonCache | None,
        avoid_detours: bool = True,
    ) -> None: ...
    def with_tags(self, tags: list[dict[str, Any]]) -> Compiled: ...
    def prepare(self, budget: int = 64) -> int: ...
    def precompute_all(self, most: int = 100_000) -> int: ...
    def held_bytes(self) -> int: ...
    def is_satisfiable(self) -> bool: ...
    def parser(self, *, most_parses: int | None = None) -> Parser: ...
    def stats(self) -> dict[str, int]: ...
