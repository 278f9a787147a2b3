"""Imports the engine's compiled modules, all of which lie in one shared library (``_library``).

Python would look for ``engine.rows`` in a file of its own. Importing this module, which the package
does first, makes Python look in the library instead, before any file that an older build has left.
"""

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ExtensionFileLoader, ModuleSpec
from importlib.util import spec_from_file_location
from types import ModuleType

from . import _library


class LibraryFinder(MetaPathFinder):
    """Finds the modules that the library lists."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname not in _library.MODULES:
            return None
        file = _library.__file__
        return spec_from_file_location(fullname, file, loader=ExtensionFileLoader(fullname, file))


sys.meta_path.insert(0, LibraryFinder())
