"""Import hook for the engine's compiled modules, which are all in one shared library
(``_library``).

By default Python looks for each compiled module in a file of its own. The package imports this
module first, so that Python looks in the library instead, before any file left by an older build.
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
