"""SGLang's sources, read without importing them.

Representation   a folder or a wheel that contains the package ``sglang``; a module is parsed when
                 it is first asked for.
Invariants       a name is found where it is bound: by a definition, an assignment or an import of
                 the module or its class, and for fields by a method (``self.name = ...``).
Cost             0.4 s for the modules of the plug-in's table; ``import sglang`` takes seconds.
Not here         which names the plug-in needs (internals).
"""

import ast
import zipfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

_Node = ast.Module | ast.ClassDef
_Function = ast.FunctionDef | ast.AsyncFunctionDef


class Sources:
    """See the file's header.

    Args:
        root: the folder or the wheel that contains ``sglang``.
    """

    def __init__(self, root: Path) -> None:
        self._root: Any = zipfile.Path(root) if root.is_file() else root
        self._modules: dict[str, ast.Module | None] = {}

    @classmethod
    def installed(cls) -> "Sources":
        """Return the sources of the SGLang that this process imports.

        Raises:
            ModuleNotFoundError: there is none.
        """
        found = find_spec("sglang")
        if found is None or not found.submodule_search_locations:
            raise ModuleNotFoundError("No module named 'sglang'", name="sglang")
        return cls(Path(next(iter(found.submodule_search_locations))).parent)

    def module(self, name: str) -> ast.Module | None:
        """Return a module; None: there is no such source, or it cannot be parsed."""
        if name not in self._modules:
            self._modules[name] = self._parsed(name)
        return self._modules[name]

    def _parsed(self, name: str) -> ast.Module | None:
        path = name.replace(".", "/")
        for file in (self._root / f"{path}.py", self._root / path / "__init__.py"):
            if file.is_file():
                content: bytes = file.read_bytes()
                try:
                    return ast.parse(content)
                except (SyntaxError, ValueError):
                    return None
        return None

    def value(self, module: str, name: str) -> ast.AST | None:
        """Return what binds a name of a module, or of its class (``Class.name``)."""
        found: ast.AST | None = self.module(module)
        for part in name.split("."):
            if not isinstance(found, _Node):
                return None
            found = _binding(found, part)
        return found

    def fields(self, module: str, name: str) -> set[str]:
        """Return the names that a class binds, and those that its methods set on ``self``."""
        found = self.value(module, name)
        if not isinstance(found, ast.ClassDef):
            return set()
        return {bound for bound, _ in _bindings(found)} | set(_set_on_self(found))

    def calls(self, module: str, within: str, callee: str) -> list[ast.Call]:
        """Return the calls of a name inside a function, or a whole module (``""``)."""
        found = self.value(module, within) if within else self.module(module)
        calls = (node for node in ast.walk(found) if isinstance(node, ast.Call)) if found else ()
        return [call for call in calls if _name(call.func) == callee]


def parameters(definition: ast.AST | None) -> tuple[tuple[str, ...], int] | None:
    """Return a function's parameters without ``self``, and how many have no default; None: it is no
    function.
    """
    if not isinstance(definition, _Function):
        return None
    given = definition.args
    names = [each.arg for each in (*given.posonlyargs, *given.args)]
    required = len(names) - len(given.defaults)
    if names[:1] in (["self"], ["cls"]):
        names, required = names[1:], required - 1
    needed = [each.arg for each, default in zip(given.kwonlyargs, given.kw_defaults, strict=True)
              if default is None]  # fmt: skip
    optional = [each.arg for each in given.kwonlyargs if each.arg not in needed]
    return (*names[:required], *needed, *names[required:], *optional), required + len(needed)


def returned(definition: ast.AST | None) -> list[ast.expr]:
    """Return the expressions that a function returns."""
    if not isinstance(definition, _Function):
        return []
    return [node.value for node in ast.walk(definition)
            if isinstance(node, ast.Return) and node.value is not None]  # fmt: skip


def abstract(definition: ast.AST | None) -> set[str]:
    """Return the methods of a class that only raise NotImplementedError."""
    if not isinstance(definition, ast.ClassDef):
        return set()
    return {node.name for node in definition.body
            if isinstance(node, _Function) and _only_raises(node)}  # fmt: skip


def _only_raises(method: _Function) -> bool:
    last = method.body[-1]
    if not isinstance(last, ast.Raise) or last.exc is None:
        return False
    return "NotImplementedError" in ast.unparse(last.exc)


def _binding(scope: _Node, name: str) -> ast.AST | None:
    return next((node for bound, node in _bindings(scope) if bound == name), None)


def _bindings(scope: _Node) -> Iterator[tuple[str, ast.AST]]:
    """Yield the names that a module or a class binds, also below ``if`` and ``try``."""
    waiting: list[ast.AST] = list(scope.body)
    while waiting:
        node = waiting.pop(0)
        if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.name, node
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            for alias in node.names:
                yield (alias.asname or alias.name).split(".")[0], node
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                if isinstance(target, ast.Name):
                    yield target.id, node
        elif isinstance(node, (ast.If, ast.Try, ast.With)):
            waiting[:0] = [
                each for each in ast.iter_child_nodes(node) if isinstance(each, ast.stmt)
            ]
            for handler in getattr(node, "handlers", ()):
                waiting.extend(handler.body)


def _set_on_self(scope: ast.ClassDef) -> Iterator[str]:
    for node in ast.walk(scope):
        if not isinstance(node, ast.Attribute) or not isinstance(node.ctx, ast.Store):
            continue
        if isinstance(node.value, ast.Name) and node.value.id == "self":
            yield node.attr


def _name(callee: ast.expr) -> str:
    """Return the last name of a callee: ``f``, ``x.f`` and ``f[x]`` are ``f``."""
    if isinstance(callee, ast.Subscript):
        return _name(callee.value)
    if isinstance(callee, ast.Attribute):
        return callee.attr
    return callee.id if isinstance(callee, ast.Name) else ""
