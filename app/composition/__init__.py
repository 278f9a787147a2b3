"""Composition: from settings to the components of an app.

Only this package names concrete classes. ``build`` makes everything, ``Components.aclose`` closes
it in reverse order. Nothing heavy is imported early: a gateway in front of SGLang never loads
torch, and one without a model never loads transformers.

    components   of the process: metrics, logger, offload threads, compile scheduler, all models
    engines      of a vocabulary: the compiler, its caches, and its client of the log in Redis
    models       of a model: tokenizer, planner, services
    workers      of a model: workers and their pool
    state        of the process: stored responses
    access       of the process: keys of clients, admission

A model whose tokenizer cannot be loaded aborts startup. A model whose workers are down is served as
soon as they are healthy.
"""

from .access import make_redis_keys, make_tokens
from .components import Components, build, build_core
from .models import Core
