"""GET /openapi.json: the OpenAPI document; GET /docs: a page that shows it, without other hosts.

The document is built for the first request, in a thread, and kept as bytes. The page is Swagger UI
from the package fastapi-swagger, of which only the files are used. Both need no key: they tell what
docs/api.md tells, and name no model, key or worker of this gateway.
"""

import asyncio
from collections.abc import Callable
from importlib import resources
from typing import Final

from fastapi import APIRouter, Response
from fastapi.responses import FileResponse
from starlette.exceptions import HTTPException

from ..server import page_headers

#: the package that has Swagger UI's files
_PACKAGE: Final = "fastapi_swagger"
#: its files, with their content types
_ASSETS: Final = {"swagger-ui-bundle.js": "text/javascript", "swagger-ui.css": "text/css"}
#: the icons of the style sheet are data; styles that a script sets on an element need no permission
_HEADERS: Final = page_headers()
_PAGE: Final = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Switchyard API</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/docs/swagger-ui.css">
</head>
<body>
<div id="page"></div>
<script src="/docs/swagger-ui-bundle.js"></script>
<script src="/docs/start.js"></script>
</body>
</html>
"""
_START: Final = """SwaggerUIBundle({
  url: "/openapi.json",
  dom_id: "#page",
  deepLinking: true,
  validatorUrl: null,
  defaultModelsExpandDepth: 0,
});
"""


def docs_router(build: Callable[[], bytes]) -> APIRouter:
    """Return the routes. ``build`` makes the document."""
    router = APIRouter(include_in_schema=False)
    building = asyncio.Lock()
    made: bytes | None = None

    @router.get("/openapi.json")
    async def document() -> Response:
        nonlocal made
        async with building:
            made = made or await asyncio.to_thread(build)
        return Response(made, media_type="application/json", headers=_HEADERS)

    @router.get("/docs")
    async def page() -> Response:
        return Response(_PAGE, media_type="text/html", headers=_HEADERS)

    @router.get("/docs/start.js")
    async def start() -> Response:
        return Response(_START, media_type="text/javascript", headers=_HEADERS)

    @router.get("/docs/{name}")
    async def asset(name: str) -> Response:
        if name not in _ASSETS:
            raise HTTPException(404)
        # sent in pieces, so that a client that reads slowly holds one of them
        file = str(resources.files(_PACKAGE) / "resources" / name)
        kept = _HEADERS | {"cache-control": "max-age=3600"}
        return FileResponse(file, media_type=_ASSETS[name], headers=kept)

    return router
