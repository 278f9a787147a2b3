"""Switchyard's grammar engine: token masks and parsing for constrained generation.

It is usable on its own.

    vocabulary = Vocabulary(tokens, stop_token_ids=[2])
    compiled = Compiler(vocabulary).compile_json_schema({"type": "object"})
    matcher = Matcher(compiled)
    matcher.fill_bitmask(bitmask)        # which tokens may come next
    matcher.accept_token(token)          # one of them came
"""

from . import _modules as _modules
from .runtime.batch import fill_bitmask_batch
from .masks.bitmask import Bitmask
from .budget import WorkBudget
from .runtime.compiled import Compiled
from .compiler import Compiler
from .errors import (
    Cancelled,
    EngineError,
    InternalError,
    LimitExceeded,
    ParseDivergence,
    SpecError,
    UnsupportedSchema,
)
from .events import Event
from .features import Features
from .inspection import Inspection, inspect
from .limits import Limits
from .masks.logits import apply_bitmask, apply_bitmask_at
from .runtime.matcher import Matcher, Tally, fill_bitmask_tree
from .runtime.parser import Parser
from .schema_tools import Relaxation, Relaxations, Relaxed, Report, check_json_schema, relax
from .versions import ARTIFACT_VERSION, SPEC_VERSION
from .sharing.artifact_log import ArtifactLog
from .vocabulary.vocabulary import Vocabulary

__all__ = [
    "ARTIFACT_VERSION",
    "SPEC_VERSION",
    "ArtifactLog",
    "Bitmask",
    "Cancelled",
    "Compiled",
    "Compiler",
    "EngineError",
    "Event",
    "Features",
    "Inspection",
    "InternalError",
    "LimitExceeded",
    "Limits",
    "Matcher",
    "ParseDivergence",
    "Parser",
    "Relaxation",
    "Relaxations",
    "Relaxed",
    "Report",
    "SpecError",
    "Tally",
    "UnsupportedSchema",
    "Vocabulary",
    "WorkBudget",
    "apply_bitmask",
    "apply_bitmask_at",
    "check_json_schema",
    "fill_bitmask_batch",
    "fill_bitmask_tree",
    "inspect",
    "relax",
]
