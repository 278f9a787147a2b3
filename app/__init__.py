"""The gateway: OpenAI's HTTP API in front of model workers, with every answer held to a grammar.

``app.main.create_app`` makes the ASGI application; ``app.cli`` is the ``switchyard`` command.

    settings       variables and the configuration file
    composition    settings to components
    server         the HTTP server: connections, deadlines, event streams, shutdown
    api            routes, keys, request bodies, error answers
    protocol       OpenAI's requests and answers as types
    service        use cases: one class per route, which knows the order of the steps
    conversation   messages to prompt: chat templates, control tokens, tokenizers
    constraints    request to grammar: output spec, constraint plan, backend limits
    generation     worker chunks to answer deltas: decoding, stop strings, several choices
    pool           workers: picking, retries, circuit breaker
    observability  metrics and logs
    cli            the ``switchyard`` command
"""

from importlib import metadata


def version() -> str:
    """Return the installed version; "0+unknown" for a source tree that is not installed."""
    try:
        return metadata.version("switchyard")
    except metadata.PackageNotFoundError:
        return "0+unknown"
