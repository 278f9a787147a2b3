"""Tools for JSON Schemas: relaxation of unenforceable keywords, and reports for people.

keywords  tables of the keywords of JSON Schema
document  paths, references, and copies of a schema with one change
weaken    removal of a keyword that never makes a schema narrower
relax     removal of all unenforceable keywords
report    the report on a schema, and which of its keywords constrain
"""

from .relax import (
    MAX_ROUNDS,
    Relaxation,
    Relaxations,
    Relaxed,
    attempts_of,
    is_relaxable,
    relax,
)
from .report import Report, check_json_schema

__all__ = [
    "MAX_ROUNDS",
    "Relaxation",
    "Relaxations",
    "Relaxed",
    "Report",
    "attempts_of",
    "check_json_schema",
    "is_relaxable",
    "relax",
]
