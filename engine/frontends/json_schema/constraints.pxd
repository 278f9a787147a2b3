"""The keywords that a schema has of its own, read into one shape.

Every value is checked for its form, whether its types are allowed or not. What can't be enforced
goes into the shape as a refusal, which is raised only where it would matter.
"""

from .evaluate cimport Evaluator
from .keywords cimport KeywordsC
from .schema_types cimport Evaluated, Located, Shape


cdef Shape own_shape(KeywordsC* found, Located where, Evaluator evaluator, bint refuse_unknown)
cdef Evaluated evaluated_by(KeywordsC* found, Located where, bint by_contains)
