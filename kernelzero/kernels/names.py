"""What a Python source defines and what it needs, by its syntax tree. Pure functions over text and trees, nothing runs.

Scopes are not modelled: a name bound anywhere counts as bound. So `needed` may miss a name, but never invents one.
"""

import ast
import builtins
from collections.abc import Iterator

_BUILTIN = frozenset(dir(builtins)) | {"__file__", "__name__", "__doc__", "__class__"}


def parse(source: str) -> ast.Module | SyntaxError:
    """The tree, or the reason why there is none (a null byte and absurd nesting are syntax errors too)."""
    try:
        return ast.parse(source)
    except SyntaxError as error:
        return error
    except ValueError as error:
        return SyntaxError(str(error))
    except (RecursionError, MemoryError):
        return SyntaxError("the code is nested too deeply to be parsed")


def top_level(tree: ast.Module) -> Iterator[ast.stmt]:
    """Statements that run on import: also those within `if`, `try` and `with` at module level."""
    waiting = list(tree.body)
    while waiting:
        node = waiting.pop(0)
        yield node
        inner: list[ast.stmt] = []
        for part in ("body", "orelse", "finalbody"):
            if isinstance(node, (ast.If, ast.Try, ast.With, ast.For, ast.While)):
                inner += getattr(node, part, [])
        for handler in getattr(node, "handlers", []):
            inner += handler.body
        waiting = inner + waiting


def defines(tree: ast.Module) -> dict[str, ast.stmt]:
    """Name -> the last top-level statement that binds it (class, function, assignment or import)."""
    found: dict[str, ast.stmt] = {}
    for node in top_level(tree):
        if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            found[node.name] = node
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            for alias in node.names:
                found[(alias.asname or alias.name).split(".")[0]] = node
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                for name in ast.walk(target):
                    if isinstance(name, ast.Name):
                        found[name.id] = node
    return found


def needed(tree: ast.Module) -> set[str]:
    """Names that the source reads and binds nowhere; empty when it imports a star, since then nobody knows."""
    read, bound = set(), set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            (read if isinstance(node.ctx, ast.Load) else bound).add(node.id)
        elif isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            bound.add(node.name)
        elif isinstance(node, ast.arg):
            bound.add(node.arg)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            names = [(alias.asname or alias.name).split(".")[0] for alias in node.names]
            if "*" in names:
                return set()
            bound.update(names)
        elif isinstance(node, ast.ExceptHandler) and node.name:
            bound.add(node.name)
    return read - bound - _BUILTIN


def class_named(tree: ast.Module, name: str) -> ast.ClassDef | None:
    """The last top-level class of that name."""
    node = defines(tree).get(name)
    return node if isinstance(node, ast.ClassDef) else None


def method(cls: ast.ClassDef, name: str) -> ast.FunctionDef | None:
    found = [node for node in cls.body if isinstance(node, ast.FunctionDef) and node.name == name]
    return found[-1] if found else None


def is_hollow(function: ast.FunctionDef) -> bool:
    """Only `...`, `pass` and strings: a sketch, not an implementation."""
    return all(
        isinstance(node, ast.Pass) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
        for node in function.body
    )


def dotted(node: ast.expr) -> str:
    """`a.b.c` for a chain of attributes on a name, '' for anything else."""
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else ""
