"""In place of nixl's front package, which picks one of its builds by the CUDA that it finds.

The build is real and moves memory between processes. SGLang names the memory of a KV cache by the
device of a GPU; on a CPU, it is the host's.
"""
