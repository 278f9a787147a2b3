"""Objects: listed keys in their order, required ones among them, additional ones anywhere between.

The automaton is made where it is visited (engine.objects), for keys in any order, too.

Listed are the keys of ``properties``, then those that are required but not listed. An additional
key is any string that is none of them, in any spelling. Additional keys may repeat: which value
counts is the reader's choice, and each of them fits.
"""

from libc.stdint cimport uint32_t

from .places cimport Places
from .schema_types cimport Objects

cdef uint32_t build_object(Places places, Objects objects) except? 0xFFFFFFFF
