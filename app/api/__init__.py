"""HTTP routes, keys, request bodies, error answers, request ids."""

from .adapter_routes import adapter_router
from .admin_routes import admin_router
from .answering import Answering, generation_router
from .arriving_bodies import ArrivingBodies
from .auth import AdminKeys, credential
from .body import BodyReader, validated
from .body_limit import BodyLimit
from .browser_guard import BrowserGuard
from .constraint_routes import constraint_router, warn_unenforced
from .conversations_routes import conversations_router
from .debug_routes import debug_router
from .direct_routes import DirectRoutes, add_direct
from .docs_routes import docs_router
from .error_responses import endpoints_of, install_error_handlers
from .exchange import exchange_of
from .grammar_routes import grammars_router
from .messages_routes import greeting_router, messages_router
from .middleware import RequestMiddleware
from .operations_routes import models_router, operations_router
from .responses_routes import responses_router
from .responses_socket import PATH as SOCKET_PATH
from .responses_socket import ResponsesSocket
from .tokenize_routes import tokenize_router
from .worker_routes import worker_router
