"""GET /ui: a page of local files, which calls the API like any client.

The files are served as they are: ES modules, a style sheet and one document. The page needs no
key, because it names nothing of this gateway; its requests carry the key that its reader enters.

Invariants   I1 only the files listed when the router is made are served, so no path leads out of
                the folder. I2 the policy allows no inline scripts or styles, and no other host.
"""

from importlib import resources
from pathlib import PurePath
from typing import Final

from fastapi import APIRouter, Response
from fastapi.responses import FileResponse
from starlette.exceptions import HTTPException

from ..server import page_headers

#: content types of the files, by suffix
_TYPES: Final = {".html": "text/html", ".css": "text/css", ".js": "text/javascript"}
_HEADERS: Final = {
    **page_headers("require-trusted-types-for 'script'", "trusted-types 'none'"),
    "cross-origin-opener-policy": "same-origin",
}
_PAGE: Final = "index.html"


def ui_router() -> APIRouter:
    """Return the routes."""
    router = APIRouter(include_in_schema=False)
    folder = resources.files(__package__) / "static"
    files = {
        file.name: str(file) for file in folder.iterdir() if PurePath(file.name).suffix in _TYPES
    }

    def sent(name: str) -> Response:
        kind = _TYPES[PurePath(name).suffix]
        return FileResponse(files[name], media_type=kind, headers=_HEADERS)

    @router.get("/ui")
    async def page() -> Response:
        return sent(_PAGE)

    @router.get("/ui/{name}")
    async def file(name: str) -> Response:
        if name not in files or name == _PAGE:
            raise HTTPException(404)
        return sent(name)

    return router
