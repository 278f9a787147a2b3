"""In place of triton: kernels are defined while the server is imported, and never launched."""

from standin import make_tree

_tree = make_tree("triton", "3.7.1")
# These two are called outside of kernels, to size buffers.
_tree.cdiv = lambda total, part: -(-total // part)
_tree.next_power_of_2 = lambda number: 1 << max(0, number - 1).bit_length()
