"""A real Chromium for tests of the page, and actions that several of them use."""

import json
import shutil
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from typing import Any

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or ""
#: marks of a module with tests in the browser
NEEDS_CHROMIUM = [
    pytest.mark.server,
    pytest.mark.skipif(not CHROMIUM, reason="no Chromium is installed"),
    pytest.mark.skipif(find_spec("playwright") is None, reason="playwright is not installed"),
]
KEY = "one"
VIEWS = ("status", "playground", "chat")
#: an element of each view that appears once the gateway has answered
READY = {"status": "#figures strong", "playground": "#drawing svg", "chat": "#model option"}


def store_keys(page: Any, client: str, operator: str = "") -> None:
    """Keep keys in the page's tab before its scripts run."""
    kept = {"switchyard.client-key": client, "switchyard.operator-key": operator}
    for name, key in kept.items():
        script = f"sessionStorage.setItem({json.dumps(name)}, {json.dumps(key)})"
        page.add_init_script(script)


def explain(page: Any, schema: Any, output: str = "", kind: str = "schema") -> None:
    """Enter a constraint and an output, and wait for the answer."""
    page.locator("#findings li").first.wait_for()
    page.select_option("#kind", kind)
    page.fill("#output", output)
    with page.expect_response("**/v1/grammars/explain") as _:
        page.fill("#source", schema if isinstance(schema, str) else json.dumps(schema, indent=2))


class Recorder:
    """``with Recorder() as recorder``: a server that keeps the bodies of requests."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        bodies = self.bodies

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                bodies.append(self.rfile.read(int(self.headers["content-length"])))
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", "2")
                self.end_headers()
                self.wfile.write(b"{}")

            def log_message(self, *_: Any) -> None: ...

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever)
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> "Recorder":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
