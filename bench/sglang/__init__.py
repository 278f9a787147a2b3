"""Grammar backends inside a real SGLang server: python -m bench.sglang WHAT (see __main__)."""
