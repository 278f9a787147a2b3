"""Request to grammar: what an answer must look like, and the compiled grammar that enforces it."""

from .compile_scheduler import CompileScheduler, OneBudget
from .constraint_plan import ConstraintPlan
from .enforcement import Enforcement
from .grammar_backend import BACKENDS, OWN_BACKEND, GrammarBackend
from .mode import MODE_HEADER, ModeSwitch
from .planner import ConstraintPlanner, Found
from .refusals import ConstraintRefused
from .relaxation import RELAXED_HEADER, relaxed_header
from .requested_output import (
    VERBOSITY,
    output_after_prompt,
    requested_output,
    several_calls,
    template_variables,
)
from .strict_profile import violations
from .tenant_caches import TenantCaches, TenantNamespaces, caches_of
