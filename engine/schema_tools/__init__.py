"""Tools for JSON Schemas: reports on enforcement, and relaxation of schemas.

words        tables of the keywords of JSON Schema
document     paths, references, modified copies of a schema
weaken       removal of keywords without narrowing a schema
relax        removal of everything that cannot be enforced
reading      which keywords constrain, and which have no effect
report       a report for authors of schemas
"""

from .relax import MOST_ROUNDS, Relaxation, Relaxations, Relaxed, relax
from .report import Report, check_json_schema

__all__ = [
    "MOST_ROUNDS",
    "Relaxation",
    "Relaxations",
    "Relaxed",
    "Report",
    "check_json_schema",
    "relax",
]
