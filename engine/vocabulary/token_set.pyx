"""TokenSet: see the header file."""

from libcpp.algorithm cimport binary_search


cdef class TokenSet:
    """Token ids in ascending order, each once."""

    def __cinit__(self, ids):
        self.ids = sorted(set(ids))

    def __len__(self):
        return self.ids.size()

    def __iter__(self):
        return iter(<object>self.ids)

    def __contains__(self, token):
        return isinstance(token, int) and token >= 0 and binary_search(
            self.ids.begin(), self.ids.end(), <uint32_t>token)

    def __eq__(self, other):
        return isinstance(other, TokenSet) and self.ids == (<TokenSet>other).ids

    __hash__ = None

    def __repr__(self):
        return f"TokenSet({list(self)})"
