"""The page /ui: the state of the gateway, a playground of grammars, and a chat."""

from .routes import ui_router
