"""Grammar backends in SGLang on a GPU: python -m bench.gpu PART (see __main__)."""
