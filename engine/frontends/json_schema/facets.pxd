"""The keywords that a schema has of its own, read into one shape.

Every value is checked for its form, whether its types are allowed or not. What can't be enforced
goes into the shape as a refusal, which is raised only where it would matter.
"""

from .keywords cimport KeywordsC
from .references cimport References
from .shapes cimport Located, Shape


cdef Shape own_shape(KeywordsC* found, Located where, References references, bint refuse_unknown)
