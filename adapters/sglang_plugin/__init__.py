"""The engine inside an SGLang worker: SGLang's grammar backend ``switchyard``.

SGLang finds ``register`` by its entry point in every process it spawns. From then on
``--grammar-backend switchyard`` constrains every request of that worker with Switchyard's masks.

    versions         everything that depends on SGLang's version
    settings         the worker's environment variables
    tokenizers       SGLang's tokenizers -> the engine's vocabulary
    grammar_specs    SGLang's (kind, text) -> what the compiler is given
    compiling        one compile for all requests that wait for it; masks during the prefill
    grammar          one request's grammar, as SGLang drives it; raises ValueError only
    mask_prefetcher  masks computed between two steps, in a thread
    mask_buffers     memory of masks, and their application to logits
    executor         a thread with a bounded queue
    drafts           forced text as drafts for SGLang's n-gram speculation
    backend          SGLang's BaseGrammarBackend, made of all these
    status           the worker's entry in /server_info

Nothing here imports SGLang or torch before ``register`` runs.
"""

#: the backend's name on SGLang's command line
NAME = "switchyard"


class ShadowedPackage(RuntimeError):
    """Another installed package has the same name as one of Switchyard's."""


def register() -> None:
    """Register the grammar backend. SGLang's entry point; may be called again.

    SGLang logs an error of this function, then refuses ``--grammar-backend switchyard`` as an
    invalid choice.

    Raises:
        UnsupportedSGLang: the plug-in was not tested with this version.
        ShadowedPackage: the engine or the cache cannot be imported.
    """
    from ..shadowing import shadowing_error

    error = shadowing_error("adapters", "cache", "engine")
    if error is not None:
        raise ShadowedPackage(error)
    from . import versions

    api = versions.check()
    api.add_backend(NAME, _create)
    api.add_status(_status)


def _create(
    server_args: object, tokenizer: object, vocab_size: int, eos_token_ids: object
) -> object:
    from .backend import create

    return create(server_args, tokenizer, vocab_size, eos_token_ids)


def _status() -> dict[str, object] | None:
    from .backend import status_here

    return status_here()
