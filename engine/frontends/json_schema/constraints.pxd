"""The constraints of a schema's own keywords: one alternative of all keywords that are not applicators.

Every value is checked for its form, whether its types are allowed or not. An unenforceable keyword becomes a
refusal in the alternative, which is raised only where it would matter.
"""

from .document cimport KeywordsC
from .evaluator cimport Evaluator
from .schema_types cimport Evaluated, Location, SchemaType

cdef SchemaType own_type(KeywordsC* found, Location where, Evaluator evaluator, bint refuse_unknown)
cdef Evaluated evaluated_by(KeywordsC* found, Location where, bint by_contains)
