"""Modules that can be imported, subclassed and decorated with, but not run.

    triton, torchvision        whole trees of such modules (make_tree)
    sgl_kernel                 real functions in torch where the server calls them on a CPU
    IPython                    two names that one import line asks for
    pydantic_extra_types       one name, for a package that processors import
    tree_verification          a plug-in of the server: attention for speculative decoding on a CPU
    nixl                       the front of a real package, whose build is installed
    pinned_memory              a plug-in of the server: ordinary memory in place of pinned one

All of these stand in for packages that exist for CUDA only, so that SGLang's server starts on a
machine without a GPU: it imports them whatever the device, then runs its own torch-native layers.
They are for these tests only; nothing of them belongs into a deployment.

Representation   every attribute of a stand-in is made when first asked for: a class where the name
                 begins with a capital letter, else another stand-in, itself a module.
Invariants       I1 a stand-in used as a decorator gives back what it decorates. I2 a kernel that is
                 launched (``kernel[grid](...)``) raises: nothing ever pretends to have computed.
"""

import importlib.abc
import importlib.machinery
import sys
import types
from collections.abc import Iterator, Sequence
from typing import Any


class Placeholder:
    """Base of a stand-in's classes: it accepts every argument and does nothing."""

    def __init__(self, *_: Any, **__: Any) -> None:
        pass

    def __init_subclass__(cls, **_: Any) -> None:
        super().__init_subclass__()


class StandIn(types.ModuleType):
    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.__path__: list[str] = []
        self.__spec__ = importlib.machinery.ModuleSpec(name, None, is_package=True)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        value = self._made(name)
        setattr(self, name, value)
        return value

    def _made(self, name: str) -> Any:
        if name[0].isupper():
            return type(name, (Placeholder,), {"__module__": self.__name__})
        full = f"{self.__name__}.{name}"
        return sys.modules.get(full) or StandIn(full)

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        """``@jit`` gives the function back; ``@jit(...)`` a decorator that does."""
        if len(arguments) == 1 and callable(arguments[0]) and not options:
            return arguments[0]
        return lambda decorated: decorated

    def __getitem__(self, _: Any) -> Any:
        raise RuntimeError(f"{self.__name__} is a stand-in and can't be launched")

    def __mro_entries__(self, _: tuple[Any, ...]) -> tuple[type, ...]:
        return (Placeholder,)

    def __or__(self, _: Any) -> "StandIn":
        return self  # annotations: `constexpr | None`

    __ror__ = __or__

    def __bool__(self) -> bool:
        return False

    def __iter__(self) -> Iterator[Any]:
        return iter(())


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Makes a stand-in of every module below one name."""

    def __init__(self, root: str) -> None:
        self._prefix = f"{root}."

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if not name.startswith(self._prefix):
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        return StandIn(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        pass


def make_tree(root: str, version: str) -> StandIn:
    """Puts a stand-in in place of the package ``root``, and of all below it."""
    sys.meta_path.insert(0, _Finder(root))
    module = StandIn(root)
    module.__version__ = version
    sys.modules[root] = module
    return module
