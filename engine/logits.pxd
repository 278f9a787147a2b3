"""Masks laid over logits on the CPU.

Cost     a pass over the mask, 32 tokens a step; all-allowed words cost nothing more, and a word that
         allows nothing is 32 stores.
Threads  the GIL is released.
Not here devices other than the CPU: their frameworks have kernels of their own.
"""
