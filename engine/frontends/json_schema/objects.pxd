"""Objects: listed keys in their order, required ones among them, additional ones anywhere between.

    states   F_i   no member yet, i is the lowest listed index still allowed
             S_i   some member written, the last one being member i - 1 or an additional one
             K_i   some member written, and member i - 1 left out since
    moves    member i       F_i, S_i or K_i to S_(i+1)
             leaving it out F_i to F_(i+1), S_i or K_i to K_(i+1), where member i is not required
             an additional  F_0 to S_0, S_i to S_i: only from S, so that a text has one way through
                            the states
    ends     F_n, S_n and K_n

Listed are the keys of ``properties``, then those that are required but not listed. An additional
key is any string that is none of them, in any spelling. Additional keys may repeat: which value
counts is the reader's choice, and each of them fits.
"""

from libc.stdint cimport uint32_t

from .places cimport Places
from .shapes cimport Objects

cdef uint32_t build_object(Places places, Objects objects) except? 0xFFFFFFFF
