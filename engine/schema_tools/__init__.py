"""What the engine has to say about a JSON Schema, beyond yes and no.

words        the words of JSON Schema
document     places, references, copies with one place changed
weaken       keywords are taken out so that a schema never becomes narrower
relax        all that can't be enforced is taken out
reading      which keywords constrain, and which say nothing
report       all of it, for people
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
