"""What a module's code may not do, read from its syntax tree: I/O, foreign imports, state, randomness in forward,
tricks.

Imports allowed: torch, torch.nn (with functional, init), math, typing, __future__. numpy is not: a module is a
specification of tensor work, and a value that numpy computed is a constant or a leak. Randomness belongs into
get_inputs and __init__. Dropout counts as random unless it is an nn module or is given training=self.training. This
is hygiene, for honest code of a language model; it is no security boundary. That is the sandbox, which runs what
passes here. A clever author can write what this does not see.
"""

import ast

from kernelzero.apis.extract import reached
from kernelzero.apis.flow import Flow
from kernelzero.apis.names import Names, is_torch
from kernelzero.modules.reasons import Finding, Reason


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


ALLOWED_IMPORTS = frozenset(
    {"torch", "torch.nn", "torch.nn.functional", "torch.nn.init", "math", "typing", "__future__"}
)
_ALLOWED_SUBMODULES = frozenset({"nn", "special", "linalg", "fft", "Tensor", "Size", "finfo", "iinfo"})
_IO_TORCH = _words("load save from_file hub")
_IO_BUILTINS = _words("open input print breakpoint")
_BUILTINS = _words(
    "eval exec compile getattr setattr delattr globals locals vars dir id memoryview exit quit __import__ object"
)
_TORCH_CALLS = _words(
    "manual_seed seed initial_seed get_rng_state set_rng_state compile set_default_dtype set_default_device "
    "set_default_tensor_type set_num_threads set_num_interop_threads set_float32_matmul_precision "
    "use_deterministic_algorithms set_grad_enabled set_flush_denormal set_printoptions os sys ops classes jit "
    "cuda utils multiprocessing distributed backends library"
)
_METHODS = _words(
    "register_forward_hook register_forward_pre_hook register_full_backward_hook register_hook numpy __reduce__ "
    "data_ptr untyped_storage storage set_ share_memory_ tofile save backward requires_grad_ cuda cpu train eval "
    "half double bfloat16"
)
_RANDOM = _words(
    "rand randn randint randperm rand_like randn_like randint_like bernoulli multinomial normal poisson dropout "
    "alpha_dropout feature_dropout feature_alpha_dropout dropout_ native_dropout"
)
_RANDOM_FUNCTIONAL = _words(
    "dropout dropout1d dropout2d dropout3d alpha_dropout feature_alpha_dropout gumbel_softmax rrelu "
    "fractional_max_pool2d"
)
_RANDOM_METHODS = _words(
    "bernoulli bernoulli_ normal_ uniform_ random_ exponential_ cauchy_ geometric_ log_normal_ multinomial"
)


def check_hygiene(tree: ast.Module) -> list[Finding]:
    """Everything in the source that a module may not do; [] for a clean one. The contract holds (check_contract
    gave [])."""
    names = Names.of(tree)
    findings = _imports(tree) + _names(tree, names) + _global_state(tree)
    for function, method in computing(tree):
        findings += _randomness(function, names) + (_state(function) if method else [])
        if function.name == "forward":
            findings += _inputs(function, names)
    return findings


def computing(tree: ast.Module) -> list[tuple[ast.FunctionDef, bool]]:
    """The functions that compute, each with whether it is a method: all but __init__, what only it reaches, and
    get_*."""
    found = []
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            methods = {n.name: n for n in node.body if isinstance(n, ast.FunctionDef)}
            only_building = reached("__init__", methods) - reached("forward", methods)
            found += [(function, True) for name, function in methods.items() if name not in only_building]
        elif isinstance(node, ast.FunctionDef) and node.name not in ("get_inputs", "get_init_inputs"):
            found.append((node, False))
    return found


def _imports(tree: ast.Module) -> list[Finding]:
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            wrong = [item.name for item in node.names if item.name not in ALLOWED_IMPORTS]
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            star = any(item.name == "*" for item in node.names)
            wrong = [module + (" import *" if star else "")] if module not in ALLOWED_IMPORTS or star else []
        else:
            continue
        found += [Finding(Reason.FORBIDDEN_IMPORT, f"import of {name}", node.lineno) for name in wrong]
    return found


def _names(tree: ast.Module, names: Names) -> list[Finding]:
    found = []
    inner = {id(n.value) for n in ast.walk(tree) if isinstance(n, ast.Attribute)}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            if _dunder(node.name) and node.name != "__init__":
                found.append(Finding(Reason.DUNDER, f"defines {node.name}", node.lineno))
        elif isinstance(node, ast.Attribute):
            if _dunder(node.attr) and node.attr != "__init__":
                found.append(Finding(Reason.DUNDER, f"uses .{node.attr}", node.lineno))
            elif node.attr in _METHODS:
                found.append(Finding(Reason.FORBIDDEN_CALL, f"uses .{node.attr}", node.lineno))
        elif isinstance(node, ast.Name) and (_dunder(node.id) or node.id in _IO_BUILTINS | _BUILTINS):
            reason = (
                Reason.INPUT_OUTPUT
                if node.id in _IO_BUILTINS
                else (Reason.DUNDER if _dunder(node.id) else Reason.FORBIDDEN_CALL)
            )
            found.append(Finding(reason, f"uses {node.id}", node.lineno))
        if (
            isinstance(node, ast.Name | ast.Attribute)
            and id(node) not in inner
            and (path := names.resolve(node, set()))
        ):
            found += _torch_path(path, node.lineno)
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module in ALLOWED_IMPORTS:
            for item in node.names:
                found += _torch_path(f"{node.module}.{item.name}", node.lineno)
    return found


def _torch_path(path: str, line: int) -> list[Finding]:
    """Findings about a dotted name below torch: private parts, submodules off the list, settings of the process,
    files."""
    parts = path.split(".")[1:]
    if not is_torch(path) or not parts:
        return []
    if parts[0] in _IO_TORCH:
        return [Finding(Reason.INPUT_OUTPUT, f"uses {path}", line)]
    private = any(part.startswith("_") and part != "__init__" for part in parts)
    submodule = len(parts) > 1 and parts[0] not in _ALLOWED_SUBMODULES and not _is_member(parts)
    if private or submodule or parts[0] in _TORCH_CALLS:
        return [Finding(Reason.FORBIDDEN_CALL, f"uses {path}", line)]
    return []


def _is_member(parts: list[str]) -> bool:
    """torch.float32.itemsize, torch.inf.real: an attribute of a value, not a submodule's function."""
    return parts[0].startswith(("float", "int", "bfloat", "uint", "bool", "complex")) or parts[0] in (
        "inf",
        "pi",
        "nan",
        "e",
    )


def _dunder(name: str) -> bool:
    return name.startswith("__") and name.endswith("__") and len(name) > 4


def _global_state(tree: ast.Module) -> list[Finding]:
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Global | ast.Nonlocal):
            found.append(
                Finding(Reason.GLOBAL_STATE, f"{type(node).__name__.lower()} {', '.join(node.names)}", node.lineno)
            )
        elif isinstance(node, ast.FunctionDef | ast.Lambda):
            defaults = [*node.args.defaults, *(d for d in node.args.kw_defaults if d is not None)]
            if any(isinstance(d, ast.List | ast.Dict | ast.Set | ast.Call) for d in defaults):
                found.append(
                    Finding(Reason.GLOBAL_STATE, "a default argument that is shared between calls", node.lineno)
                )
        elif isinstance(node, ast.ClassDef):
            found += [
                Finding(Reason.GLOBAL_STATE, f"class {node.name} holds state of its own", item.lineno)
                for item in node.body
                if not isinstance(item, ast.FunctionDef | ast.Pass | ast.Expr) and not _annotation(item)
            ]
        elif isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign | ast.Delete):
            targets = node.targets if isinstance(node, ast.Assign | ast.Delete) else [node.target]
            for target in targets:
                root = _root(target)
                if isinstance(target, ast.Attribute) and root not in ("self", ""):
                    found.append(Finding(Reason.GLOBAL_STATE, f"writes to an attribute of {root}", node.lineno))
    for node in tree.body:
        if isinstance(node, ast.Assign) and any(isinstance(n, ast.List) for n in ast.walk(node.value)):
            found.append(
                Finding(Reason.GLOBAL_STATE, "a list at the top level can be changed by every call", node.lineno)
            )
    return found


def _annotation(item: ast.stmt) -> bool:
    return isinstance(item, ast.AnnAssign) and item.value is None


def _root(node: ast.expr) -> str:
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _state(function: ast.FunctionDef) -> list[Finding]:
    """Writes to self in a method that computes: the next call would see them."""
    found = []
    for node in ast.walk(function):
        targets = []
        if isinstance(node, ast.Assign | ast.Delete):
            targets = node.targets
        elif isinstance(node, ast.AugAssign | ast.AnnAssign):
            targets = [node.target]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            in_place = _in_place(node.func.attr)
            changes = node.func.attr in ("append", "extend", "insert", "pop", "clear", "update", "setdefault", "remove")
            if (in_place or changes) and _root(node.func.value) == "self":
                targets = [node.func.value]
            elif node.func.attr.startswith(("register_", "add_module")):
                targets = [node.func]
        for target in targets:
            for part in ast.walk(target):
                if isinstance(part, ast.Attribute | ast.Subscript) and _root(part) == "self":
                    found.append(
                        Finding(Reason.STATE_IN_FORWARD, f"{function.name} changes {ast.unparse(part)}", node.lineno)
                    )
                    break
    return found


def _randomness(function: ast.FunctionDef, names: Names) -> list[Finding]:
    found = []
    for node in ast.walk(function):
        if not isinstance(node, ast.Call):
            continue
        path = names.resolve(node.func, set()) or ""
        last = path.rsplit(".", 1)[-1]
        arguments = {k.arg: k.value for k in node.keywords}
        functional = path.startswith("torch.nn.functional.")
        random = (functional and last in _RANDOM_FUNCTIONAL) or (
            path.count(".") == 1 and is_torch(path) and last in _RANDOM
        )
        if random and isinstance(arguments.get("training"), ast.Attribute | ast.Constant):
            random = isinstance(arguments["training"], ast.Constant) and arguments["training"].value is not False
        elif last == "rrelu" or path.startswith("torch.nn.init."):
            random = last != "rrelu"  # rrelu draws only when told that it trains
        elif last == "scaled_dot_product_attention":
            rate = arguments.get("dropout_p") or (node.args[4] if len(node.args) > 4 else None)
            random = rate is not None and not (isinstance(rate, ast.Constant) and not rate.value)
        elif not path and isinstance(node.func, ast.Attribute):
            random = node.func.attr in _RANDOM_METHODS
        if random:
            what = path or f".{node.func.attr}" if isinstance(node.func, ast.Attribute) else path
            found.append(
                Finding(Reason.RANDOM_IN_FORWARD, f"{function.name} draws random numbers with {what}", node.lineno)
            )
    return found


def _inputs(function: ast.FunctionDef, names: Names) -> list[Finding]:
    """Inputs that forward never uses, and inputs that it changes in place before giving the name another value."""
    found = []
    arguments = [a.arg for a in [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]][1:]
    live = Flow(function, names, {}, forward=True, method=True).live()
    found += [
        Finding(Reason.UNUSED_INPUT, f"forward never uses its input {name}", function.lineno)
        for name in arguments
        if name not in live
    ]
    rebound: dict[str, int] = {}
    for node in ast.walk(function):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and not _augmented(node, function):
            rebound[node.id] = min(node.lineno, rebound.get(node.id, node.lineno))
    for node in ast.walk(function):
        target = None
        if isinstance(node, ast.AugAssign):
            target = node.target
        elif isinstance(node, ast.Assign) and any(isinstance(t, ast.Subscript) for t in node.targets):
            target = next(t for t in node.targets if isinstance(t, ast.Subscript))
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and _in_place(node.func.attr):
            target = node.func.value
        if isinstance(target, ast.Name | ast.Subscript):
            root = _root(target)
            if root in arguments and node.lineno <= rebound.get(root, node.lineno):
                found.append(Finding(Reason.MUTATES_INPUT, f"forward changes its input {root} in place", node.lineno))
    return found


def _in_place(method: str) -> bool:
    return method.endswith("_") and not method.endswith("__")


def _augmented(name: ast.Name, function: ast.FunctionDef) -> bool:
    return any(isinstance(n, ast.AugAssign) and n.target is name for n in ast.walk(function))
