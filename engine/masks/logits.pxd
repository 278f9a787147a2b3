"""Masks laid over logits on the CPU.

Cost     a pass over the mask, 32 tokens a step (logits.h); all-allowed words cost nothing more. It
         takes what writing the memory takes: 2 MB of logits 80-130 us.
Threads  the GIL is released for more than a million logits.
Not here devices other than the CPU: their frameworks have kernels of their own.
"""
