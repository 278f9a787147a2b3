"""``$ref`` and its like inside one document. Nothing is ever fetched.

A document is one resource, or several: a schema with a URI of its own (``$id``) begins another one.
A reference is resolved against the URI of the resource that it stands in, and names a resource, an
anchor in it, or a place by its JSON pointer. References of the usual form (``#/$defs/name``, one
resource) are followed at once; the document is searched for URIs and anchors when something asks.

Sources   JSON Schema core 2020-12, sections 8.2 and 9.2; RFC 3986 section 5 (urllib's urljoin);
          RFC 6901.
Not here  which keywords a dialect knows (dialects).
"""

from .dialects cimport Dialect
from .schema_types cimport Located


cdef References new_references(root, str pointer)


cdef class References:
    """The document that references point into. ``pointer`` is where its root stands in what the
    caller sent.
    """
    cdef object root
    cdef str pointer
    cdef Dialect dialect
    cdef dict resolved      # reference, if need be with the URI it is resolved against -> what it names
    cdef bint has_inner     # whether a resource inside the document was met
    # by URI, and by (URI, anchor); None until somebody asks
    cdef dict resources, anchors
    cdef dict dynamic       # anchor -> how many places have it as a dynamic one

    cdef Located resolve(self, reference, Located where, str keyword)
    cdef Located resolve_dynamic(self, reference, Located where, str keyword)
    cdef Located follow(self, str reference, Located where, str keyword)
    cdef Located step(self, Located place, str pointer, str reference, Located at, str keyword)
    cdef Located named(self, str uri, str anchor, str reference, Located at, str keyword)
    cdef int search(self) except -1
    cdef int enter(self, Located place, str base, list todo) except -1
    cdef str own_uri(self, schema)
    cdef str base_of(self, Located where)
    cdef bint is_plain(self, str reference) except -1
    cdef int meet_base(self, schema) except -1
