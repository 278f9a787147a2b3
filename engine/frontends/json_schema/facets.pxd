"""The keywords that a schema has of its own, read into one shape.

Every value is checked for its form, whether its types are allowed or not. What can't be enforced
goes into the shape as a refusal, which is raised only where it would matter.
"""

from .keywords cimport KeywordsC
from .shapes cimport Located, Shape


cdef class Dialect:
    """``is_older``: the document names a draft before 2020-12. ``refuse_unknown``: formats."""
    cdef bint is_older, refuse_unknown


cdef Shape own_shape(KeywordsC* found, Located where, Dialect dialect)
