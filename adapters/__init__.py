"""Adapters: wire formats of model families, workers, the SGLang plug-in."""
