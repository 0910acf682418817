"""Kernels as data: what a @triton.jit function refers to, and whether its body is Triton's language and nothing else.

A kernel travels as its source (decorators stripped) with the values of the names it uses: numbers, constexprs, dtypes,
modules of Triton's language by name, other kernels by number. `check` is applied by the replay, before anything of it
is executed there: under the interpreter a kernel is Python, so what the real front end would never visit (a dead
branch) is looked at too.
"""

import ast
import builtins
import importlib
import math
import types

import triton
import triton.language as tl
from triton.runtime.jit import JITFunction

MODULES = ("triton", "triton.language", "math")
BUILTINS = ("range", "len", "min", "max", "abs", "int", "float", "bool", "isinstance", "print", "tuple", "list")
STATEMENTS = (
    ast.FunctionDef,
    ast.Return,
    ast.Assign,
    ast.AugAssign,
    ast.AnnAssign,
    ast.For,
    ast.While,
    ast.If,
    ast.Expr,
    ast.Pass,
    ast.Break,
    ast.Continue,
    ast.Assert,
)
EXPRESSIONS = (
    ast.Call,
    ast.Name,
    ast.Attribute,
    ast.Constant,
    ast.BinOp,
    ast.UnaryOp,
    ast.Compare,
    ast.BoolOp,
    ast.IfExp,
    ast.Subscript,
    ast.Slice,
    ast.Tuple,
    ast.List,
    ast.Starred,
    ast.JoinedStr,
    ast.FormattedValue,
)
OTHER = (
    ast.Module,
    ast.arguments,
    ast.arg,
    ast.keyword,
    ast.expr_context,
    ast.operator,
    ast.unaryop,
    ast.boolop,
    ast.cmpop,
)
ATTRIBUTES = frozenset(
    name
    for kind in (tl.tensor, tl.dtype, tl.block_type, tl.pointer_type, tl.core.tensor_descriptor_base)
    for name in dir(kind)
    if not name.startswith("_")
) | {"value", "dtype", "type", "shape", "element_ty"}


# the language's enumerations (tl.PropagateNan): classes of its compiled half
ENUMERATIONS = tuple(v for v in vars(tl).values() if isinstance(v, type) and hasattr(v, "__members__") and v.__module__.startswith("triton."))


class NotTriton(Exception):
    """The kernel holds something that is not Triton's language; the message says what."""


def referenced_names(source: str) -> list[str]:
    """Names that the function reads and neither takes nor assigns, sorted."""
    function = ast.parse(source).body[0]
    loaded, stored = set(), set()
    for node in ast.walk(function):
        if isinstance(node, ast.Name):
            (loaded if isinstance(node.ctx, ast.Load) else stored).add(node.id)
        elif isinstance(node, ast.arg):
            stored.add(node.arg)
    return sorted(loaded - (stored - set(_annotation_names(function))))


def _annotation_names(function) -> list[str]:
    args = [*function.args.args, *function.args.kwonlyargs, *function.args.posonlyargs]
    return [n.id for a in args if a.annotation for n in ast.walk(a.annotation) if isinstance(n, ast.Name)]


def encode_value(value, kernel_index):
    """A kernel's global as JSON, or None when a kernel has no business with it. `kernel_index(fn)` numbers kernels."""
    if isinstance(value, types.ModuleType):
        name = value.__name__
        return {"module": name} if name in MODULES or name.startswith("triton.language.") else None
    if isinstance(value, JITFunction):
        if (value.module or "").startswith("triton."):
            return {"ref": [value.module, value.fn.__qualname__]}
        return {"kernel": kernel_index(value)}
    if isinstance(value, tl.constexpr):
        inner = encode_value(value.value, kernel_index)
        return None if inner is None else {"constexpr": inner}
    if isinstance(value, tl.dtype):
        return {"dtype": value.name}
    if isinstance(value, ENUMERATIONS):
        return {"enumeration": [type(value).__name__, value.name]}
    if value is None or isinstance(value, (bool, int, float, str)):
        return {"scalar": value}
    if isinstance(value, (tuple, list)):
        items = [encode_value(item, kernel_index) for item in value]
        return None if None in items else {"tuple": items}
    module, name = getattr(value, "__module__", None), getattr(value, "__name__", None)
    if isinstance(module, str) and isinstance(name, str) and (module == "math" or module.startswith("triton.")):
        return {"ref": [module, name]}
    return None


def decode_value(node, kernels: list):
    """The inverse, in the replay. Only names of Triton's language and of `math` can be reached."""
    ((kind, body),) = node.items()
    if kind == "module":
        if body not in MODULES and not body.startswith("triton.language."):
            raise NotTriton(f"module {body}")
        return importlib.import_module(body)
    if kind == "ref":
        module, name = body
        if module != "math" and not module.startswith("triton.") or not name.isidentifier() or name.startswith("__"):
            raise NotTriton(f"{module}.{name}")
        value = getattr(importlib.import_module(module), name)
        if not is_language(value):
            raise NotTriton(f"{module}.{name}")
        return value
    if kind == "kernel":
        return kernels[body]
    if kind == "constexpr":
        return tl.constexpr(decode_value(body, kernels))
    if kind == "dtype":
        return next(d for d in DTYPES if d.name == body)
    if kind == "enumeration":
        return next(e for e in ENUMERATIONS if e.__name__ == body[0]).__members__[body[1]]
    if kind == "tuple":
        return tuple(decode_value(item, kernels) for item in body)
    if kind == "scalar" and (body is None or isinstance(body, (bool, int, float, str))):
        return body
    raise NotTriton(f"a global of kind {kind}")


DTYPES = [d for d in vars(tl).values() if isinstance(d, tl.dtype)]


def is_language(value) -> bool:
    """Part of Triton's language: a builtin, a standard function, a dtype, constexpr, a function of math."""
    if isinstance(value, JITFunction):
        return (value.module or "").startswith("triton.")
    if (
        tl.core.is_builtin(value)
        or isinstance(value, (tl.dtype, int, float))
        and not isinstance(value, types.ModuleType)
    ):
        return True
    if isinstance(value, type):
        return value in ENUMERATIONS or (value.__module__ or "").startswith("triton.language")
    if value in (tl.range, tl.static_range, triton.cdiv, triton.next_power_of_2):
        return True
    module = getattr(value, "__module__", "") or ""
    if module == "math":
        return isinstance(value, types.BuiltinFunctionType)
    return module.startswith("triton.language.extra") or isinstance(value, triton.runtime.jit.ConstexprFunction)


def check(source: str, namespace: dict) -> str:
    """The kernel's name, if its source is one function in Triton's language whose names are all known; NotTriton
    otherwise.
    """
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError) as error:
        raise NotTriton(f"does not parse: {error}") from None
    if len(tree.body) != 1 or not isinstance(tree.body[0], ast.FunctionDef) or tree.body[0].decorator_list:
        raise NotTriton("not one function")
    function = tree.body[0]
    own = {n.id for n in ast.walk(function) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
    own |= {n.arg for n in ast.walk(function) if isinstance(n, ast.arg)}
    for node in ast.walk(function):
        if not isinstance(node, (*STATEMENTS, *EXPRESSIONS, *OTHER)) or (
            isinstance(node, ast.FunctionDef) and node is not function
        ):
            raise NotTriton(f"{type(node).__name__} (line {getattr(node, 'lineno', '?')} of the kernel)")
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            if node.id not in own and node.id not in namespace and node.id not in BUILTINS:
                raise NotTriton(
                    f"the name {node.id}, which is no argument, kernel, constant or part of triton.language"
                )
        elif isinstance(node, ast.Attribute):
            _check_attribute(node, own, namespace)
    return function.name


def _check_attribute(node: ast.Attribute, own: set, namespace: dict) -> None:
    if node.attr.startswith("_") or not isinstance(node.ctx, ast.Load):
        raise NotTriton(f"the attribute {node.attr}")
    chain, root = [node.attr], node.value
    while isinstance(root, ast.Attribute):
        chain.append(root.attr)
        root = root.value
    value = namespace.get(root.id) if isinstance(root, ast.Name) and root.id not in own else None
    if not isinstance(value, types.ModuleType):
        member = len(chain) == 1 and isinstance(value, type) and value in ENUMERATIONS and node.attr in value.__members__
        if node.attr not in ATTRIBUTES and not member:
            raise NotTriton(f"the attribute {node.attr}")
        return
    for name in reversed(chain):
        if not isinstance(value, types.ModuleType):
            if name not in ATTRIBUTES and not (value in ENUMERATIONS and name in value.__members__):
                raise NotTriton(f"the attribute {name}")
            return
        value = getattr(value, name, None)
        if isinstance(value, types.ModuleType):
            if not value.__name__.startswith("triton.language"):
                raise NotTriton(f"the module {value.__name__}")
        elif value is None or not is_language(value):
            raise NotTriton(f"{'.'.join([root.id, *reversed(chain)])}, which is no part of Triton's language")


def safe_builtins() -> dict:
    return {name: getattr(builtins, name) for name in BUILTINS} | {
        "True": True,
        "False": False,
        "None": None,
        "__debug__": True,
        "AssertionError": AssertionError,
        "math": math,
    }
