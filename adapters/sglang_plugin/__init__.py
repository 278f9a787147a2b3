"""The engine inside an SGLang worker: SGLang's grammar backend ``switchyard``.

SGLang finds ``register`` by its entry point in every process it spawns. From then on
``--grammar-backend switchyard`` constrains every request of that worker with Switchyard's masks.

    versions         the installed SGLang: whether it has what the plug-in needs, and its interfaces
    internals        the table of SGLang's internals that the plug-in uses
    sources          SGLang's sources, read without importing them
    settings         the worker's environment variables
    tokenizers       SGLang's tokenizers -> the engine's vocabulary
    grammar_specs    SGLang's (kind, text) -> what the compiler is given
    options          the server's options: thinking, white space
    compiling        one compile for all requests that wait for it; masks during the prefill
    grammar          one request's grammar, as SGLang drives it; raises ValueError only
    mask_prefetcher  masks computed between two steps, in a thread
    mask_buffers     memory of masks, and their application to logits
    mask_check       a mask compared with SGLang's at the start
    executor         a thread with a bounded queue
    drafts           forced text as drafts for SGLang's n-gram speculation
    backend          SGLang's BaseGrammarBackend, made of all these
    status           the worker's entry in /server_info

Nothing here imports SGLang or torch before ``register`` runs.
"""

import multiprocessing
import sys
from collections.abc import Sequence
from itertools import pairwise

#: the backend's name on SGLang's command line
NAME = "switchyard"


class ShadowedPackage(RuntimeError):
    """Another installed package has the same name as one of Switchyard's."""


def register() -> None:
    """Register the grammar backend. SGLang's entry point; may be called again.

    SGLang logs an error of this function, then refuses ``--grammar-backend switchyard`` as an
    invalid choice.

    Raises:
        SystemExit: the command line names this backend, and SGLang lacks a piece of the table of
            internals. A server that is configured otherwise fails in its scheduler (``_create``).
        ShadowedPackage: the engine or the cache cannot be imported.
    """
    from ..shadowing import shadowing_error

    error = shadowing_error("adapters", "cache", "engine")
    if error is not None:
        raise ShadowedPackage(error)
    from . import versions

    if _is_named(sys.argv) and multiprocessing.parent_process() is None:
        try:
            versions.check()
        except versions.UnsupportedSGLang as refusal:
            raise SystemExit(str(refusal)) from None  # SGLang would only log any other exception
    api = versions.installed()
    api.add_backend(NAME, _create)
    api.add_status(_status)


def _is_named(arguments: Sequence[str]) -> bool:
    """Whether a command line asks for this backend."""
    option = "--grammar-backend"
    pairs = pairwise(arguments)
    return f"{option}={NAME}" in arguments or (option, NAME) in pairs


def _create(
    server_args: object, tokenizer: object, vocab_size: int, eos_token_ids: object
) -> object:
    from .backend import create

    return create(server_args, tokenizer, vocab_size, eos_token_ids)


def _status() -> dict[str, object] | None:
    from .backend import status_here

    return status_here()
