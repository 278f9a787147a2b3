"""One bad worker of two on one side of a gateway with prefill and decode workers.

halves      workers of both modes, which meet in rooms as SGLang's do
faults      what only a half can do wrong
campaign    requests while a fault lasts, and what came of them
"""
