"""Tokens per second of a decode loop on a GPU: without grammars, with ours, and with the peers'.

The loop does what a serving engine does for a batch: it launches the model's pass, computes the
masks on the host meanwhile, copies and applies them, draws tokens, and replaces rows that end. So
the figures show the cost of grammars without a server around them.

    model       Llama's decoder in plain torch: static cache, CUDA graph
    answers     the rows: real tool sets with their true calls, the same for every backend
    backends    compile, masks and tokens of each engine, behind one interface
    loop        steps of a batch on a CPU or a GPU, with pinned buffers and a stream for copies
    __main__    backends in turns; ratios with intervals

Run by ``python -m bench.gpu decode``, in the interpreter of ``--python``.
"""
