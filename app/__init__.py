"""The gateway: OpenAI's HTTP API in front of model workers, with every answer held to a grammar.

``app.main.create_app`` makes the ASGI application; ``app.cli`` is the ``switchyard`` command.
README.md lists the rooms and what each may import.
"""
