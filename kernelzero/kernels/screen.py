"""The static screen: what is refused before anything runs, judged by the syntax tree and never by words.

It asks for what must exist: a source that parses, `class ModelNew(nn.Module)` with a `forward`, a kernel of the
backend, and a constructor that takes the task's arguments. It forbids nothing: whether a torch operator, a `try` or an
import is a trick is seen by Keck from what runs. Where the tree alone cannot tell, it lets the candidate pass.
"""

import ast

from kernelzero.kernels.names import class_named, defines, dotted, method, parse

SYNTAX_ERROR = "syntax_error"
NO_MODEL_NEW = "no_model_new"
NAMED_MODEL = "named_model"  # the class is called Model; it is not renamed
MODEL_NOT_DEFINED = "model_not_defined"  # inherits from a Model that only the harness has
SCREENED_OUT = "screened_out"  # ModelNew without a forward
NO_KERNEL = "no_kernel"
CONSTRUCTOR_ARGUMENTS = "constructor_arguments"

_JIT = {"triton.jit", "jit", "triton.runtime.jit", "gluon.jit"}
_CUDA_BUILDERS = {"load_inline", "RawKernel", "RawModule", "compile_source", "_compile_kernel", "SourceModule"}


def screen(
    source: str, backend: str = "triton", policy: str = "strict", module: str | None = None
) -> tuple[str, str] | None:
    """(reason, one sentence) of a refusal, or None. module: the task's source; with it the constructor is compared as
    well.

    policy: part of the key of a judgement; both policies ask for the same here, since even where torch operators are
    allowed an answer without any kernel is no answer."""
    del policy
    tree = parse(source)
    if isinstance(tree, SyntaxError):
        return SYNTAX_ERROR, _syntax_detail(tree, source)
    names = defines(tree)
    if "ModelNew" not in names:
        if isinstance(names.get("Model"), ast.ClassDef):
            return NAMED_MODEL, "the answer calls its class Model; it must be ModelNew, and nothing is renamed"
        return NO_MODEL_NEW, "the answer defines no class ModelNew"
    cls = class_named(tree, "ModelNew")
    refusal = _screen_class(cls, names, tree) if cls is not None else None
    if refusal is None and not _has_kernel(tree, backend):
        refusal = NO_KERNEL, _no_kernel_detail(tree, backend)
    if refusal is None and cls is not None and module is not None:
        refusal = _screen_constructor(cls, names, module)
    return refusal


def _syntax_detail(error: SyntaxError, source: str) -> str:
    if error.lineno is None:
        return error.msg
    lines = source.split("\n")
    line = lines[error.lineno - 1].strip() if 0 < error.lineno <= len(lines) else ""
    return f"line {error.lineno}: {error.msg}" + (f": {line[:80]}" if line else "")


def _screen_class(cls: ast.ClassDef, names: dict[str, ast.stmt], tree: ast.Module) -> tuple[str, str] | None:
    chain = _ancestry(cls, names)
    unknown = [base.id for link in chain for base in link.bases if isinstance(base, ast.Name) and base.id not in names]
    if "Model" in unknown and not _imports_star(tree):
        return MODEL_NOT_DEFINED, "ModelNew inherits from Model, which is not defined in the answer"
    bases = [base for link in chain for base in link.bases]
    if all(
        isinstance(base, ast.Name) and (base.id == "object" or base.id in names) and _is_own(base, names)
        for base in bases
    ):
        return NO_MODEL_NEW, "ModelNew does not inherit from nn.Module"
    imported = [base for base in bases if not _is_own(base, names) and dotted(base).split(".")[-1] != "Module"]
    if imported or any(_binds(link, "forward") for link in chain):
        return None
    return SCREENED_OUT, "ModelNew has no method forward"


def _binds(cls: ast.ClassDef, name: str) -> bool:
    """Whether the class body binds the name: by def, by assignment, or within an if or try."""
    for node in ast.walk(cls):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name == name:
            return True
        if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store):
            return True
        if isinstance(node, ast.Attribute) and node.attr == name and isinstance(node.ctx, ast.Store):
            return True
    return False


def _ancestry(cls: ast.ClassDef, names: dict[str, ast.stmt]) -> list[ast.ClassDef]:
    """ModelNew and those of its ancestors that the answer defines."""
    chain, waiting = [], [cls]
    while waiting:
        link = waiting.pop()
        if link in chain:
            continue
        chain.append(link)
        for base in link.bases:
            parent = names.get(base.id) if isinstance(base, ast.Name) else None
            if isinstance(parent, ast.ClassDef):
                waiting.append(parent)
    return chain


def _is_own(base: ast.expr, names: dict[str, ast.stmt]) -> bool:
    return isinstance(base, ast.Name) and (base.id == "object" or isinstance(names.get(base.id), ast.ClassDef))


def _imports_star(tree: ast.Module) -> bool:
    return any(
        isinstance(node, ast.ImportFrom) and any(alias.name == "*" for alias in node.names) for node in ast.walk(tree)
    )


def _has_kernel(tree: ast.Module, backend: str) -> bool:
    return _has_cuda(tree) if backend == "cuda" else _has_triton(tree)


def _has_triton(tree: ast.Module) -> bool:
    """A function under @triton.jit (any spelling, under any other decorators), or triton.jit(function)."""
    jit = set(_JIT)
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("triton"):
            jit.update(alias.asname for alias in node.names if alias.name == "jit" and alias.asname)
        elif isinstance(node, ast.Import):
            jit.update(f"{alias.asname}.jit" for alias in node.names if alias.name == "triton" and alias.asname)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            heads = [mark.func if isinstance(mark, ast.Call) else mark for mark in node.decorator_list]
            if any(dotted(head) in jit for head in heads):
                return True
        elif isinstance(node, ast.Call) and dotted(node.func) in jit:
            return True
    return False


def _has_cuda(tree: ast.Module) -> bool:
    """A build from source, or a string that holds a `__global__` function."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and dotted(node.func).split(".")[-1] in _CUDA_BUILDERS:
            return True
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and "__global__" in node.value
            and "{" in node.value
        ):
            return True
    return False


def _no_kernel_detail(tree: ast.Module, backend: str) -> str:
    other = _has_triton(tree) if backend == "cuda" else _has_cuda(tree)
    if backend == "cuda":
        return "the answer holds no CUDA source" + (", but Triton, and CUDA was asked for" if other else "")
    return "the answer has no @triton.jit kernel" + (", but CUDA, and Triton was asked for" if other else "")


def _screen_constructor(cls: ast.ClassDef, names: dict[str, ast.stmt], module: str) -> tuple[str, str] | None:
    """ModelNew is called with the task's init inputs, by position: required arguments beyond them have nobody to pass
    them."""
    given = init_input_count(module)
    init = next((found for link in _ancestry(cls, names) if (found := method(link, "__init__"))), None)
    if given is None or init is None or init.decorator_list:
        return None
    arguments = init.args
    positional = [argument.arg for argument in [*arguments.posonlyargs, *arguments.args]][1:]
    required = positional[: len(positional) - len(arguments.defaults)] if arguments.defaults else positional
    left = required[given:]
    left += [word.arg for word, value in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if value is None]
    if left:
        return CONSTRUCTOR_ARGUMENTS, f"the constructor wants {', '.join(left)}, which the task does not pass"
    if given > len(positional) and arguments.vararg is None:
        return CONSTRUCTOR_ARGUMENTS, f"the constructor takes {len(positional)} arguments and the task passes {given}"
    return None


def init_input_count(module: str) -> int | None:
    """How many arguments the task passes to a constructor, where `get_init_inputs` is one return of a plain list."""
    tree = parse(module)
    function = defines(tree).get("get_init_inputs") if isinstance(tree, ast.Module) else None
    if not isinstance(function, ast.FunctionDef):
        return None
    returns = [node.value for node in ast.walk(function) if isinstance(node, ast.Return)]
    if len(returns) != 1 or not isinstance(returns[0], (ast.List, ast.Tuple)):
        return None
    items = returns[0].elts
    return None if any(isinstance(item, ast.Starred) for item in items) else len(items)
