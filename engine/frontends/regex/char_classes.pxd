"""Sets of characters, as far as compiled modules share them."""

from ...native.resources cimport WorkBudget

cdef enum:
    # ranges that are merged, copied or complemented in about a microsecond
    RANGES_PER_STEP = 8

# Return the union of sets, which spends steps of a budget; None: it spends nothing.
cdef tuple union_of(list sets, WorkBudget budget)
