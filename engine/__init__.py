"""Switchyard's grammar engine: token masks and parsing for constrained generation.

The engine can be used without the gateway:

    vocabulary = Vocabulary(tokens, stop_token_ids=[2])
    compiled = Compiler(vocabulary).compile_json_schema({"type": "object"})
    matcher = Matcher(compiled)
    matcher.fill_bitmask(bitmask)        # which tokens may come next
    matcher.accept_token(token)          # one of them came
"""

from . import _modules as _modules
from .compiler import Compiler, from_caches
from .errors import (
    Cancelled,
    EngineError,
    InternalError,
    LimitExceeded,
    ParseDivergence,
    SpecError,
    UnsupportedSchema,
)
from .features import Features
from .frontends.json_schema.layout import GUIDANCE
from .frontends.structural_tag.style_reader import read_style, style_field, style_of
from .frontends.structural_tag.tag_styles import STYLES, Style
from .frontends.structural_tag.tag_styles import Region as StyleRegion
from .inspection import Inspection, inspect
from .limits import Limits
from .masks.row_masks import Bitmask, apply_bitmask, apply_bitmask_at
from .native.resources import WorkBudget, trim
from .runtime.compiled import Compiled
from .runtime.matcher import (
    Matcher,
    MatcherCounters,
    fill_bitmask_batch,
    fill_bitmask_tree,
)
from .runtime.parser import Event, Parser
from .schema_tools import (
    Relaxation,
    Relaxations,
    Relaxed,
    Report,
    attempts_of,
    check_json_schema,
    is_relaxable,
    relax,
)
from .sharing.artifact_cache import ArtifactLog
from .sharing.namespaces import Namespaces, namespace_of, split_namespace, with_namespace
from .sharing.spec_hash import SpecHash
from .versions import ARTIFACT_VERSION, SPEC_VERSION
from .vocabulary.vocabulary import Vocabulary

__all__ = [
    "ARTIFACT_VERSION",
    "GUIDANCE",
    "SPEC_VERSION",
    "STYLES",
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
    "MatcherCounters",
    "Namespaces",
    "ParseDivergence",
    "Parser",
    "Relaxation",
    "Relaxations",
    "Relaxed",
    "Report",
    "SpecError",
    "SpecHash",
    "Style",
    "StyleRegion",
    "UnsupportedSchema",
    "Vocabulary",
    "WorkBudget",
    "apply_bitmask",
    "apply_bitmask_at",
    "attempts_of",
    "check_json_schema",
    "fill_bitmask_batch",
    "fill_bitmask_tree",
    "from_caches",
    "inspect",
    "is_relaxable",
    "namespace_of",
    "read_style",
    "relax",
    "split_namespace",
    "style_field",
    "style_of",
    "trim",
    "with_namespace",
]
