"""The engine inside an SGLang worker: SGLang's grammar backend ``switchyard``.

SGLang finds ``register`` by its entry point in every process it spawns. From then on
``--grammar-backend switchyard`` constrains every request of that worker with our masks.

versions      everything that depends on SGLang's version, in one place
settings      what the worker's environment says
tokenizers    SGLang's tokenizers -> the engine's vocabulary
requests      what a request asks for -> what is compiled
compiling     one compilation for all requests that wait for it; masks ahead during the prefill
grammar       one request's grammar, as SGLang drives it; nothing but ValueError leaves it
ahead         masks made between two steps, by a thread
line          a thread with a bounded line before it
drafts        forced text, offered to SGLang's speculator
masks         the masks' memory, and what lays them over logits
backend       joins them: SGLang's BaseGrammarBackend
status        what the worker says of itself at /server_info

Nothing here imports SGLang or torch before ``register`` runs.
"""

#: the backend's name on SGLang's command line
NAME = "switchyard"


def register() -> None:
    """SGLang's entry point; may be called again.

    Raises:
        UnsupportedSGLang: a version that nobody has tried. SGLang logs it, and then refuses
            ``--grammar-backend switchyard`` as an invalid choice.
    """
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
