"""One bad worker of two behind a real gateway: what do clients notice?

fake        a worker that speaks SGLang's wire over real sockets, and can be made bad
faults      how it can be bad
campaign    requests while a fault lasts, and what came of them
"""
