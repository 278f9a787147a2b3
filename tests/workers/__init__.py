"""Tests of adapters.workers. ``recorded/`` holds raw answers of a real SGLang 0.5.23 on a CPU."""
