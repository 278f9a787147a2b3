"""Grammar backends inside a real SGLang server: python -m bench.sglang WHAT (see __main__)."""

OURS, PEERS, FREE = "switchyard", ("xgrammar", "llguidance"), "free"
BACKENDS = (OURS, *PEERS, FREE)
