"""The task format, read from the syntax tree: does a source define exactly what a module must define?

Exactly: imports, a docstring, constants of literals, `class Model(nn.Module)` with `forward`, `get_inputs()` and
`get_init_inputs()`. Methods of Model are free. With exact=False (a suite's or a user's own module) anything may
stand beside them. Whether the code behaves is hygiene.py's and the sandbox's business.
"""

import ast

from kernelzero.apis.names import Names
from kernelzero.modules.reasons import Finding, Reason
from kernelzero.source import normalise

MAX_CHARACTERS = 20_000
MAX_NODES = 5_000
_PARTS = {"Model": Reason.NO_MODEL, "get_inputs": Reason.NO_GET_INPUTS, "get_init_inputs": Reason.NO_GET_INIT_INPUTS}


def parse(source: str) -> ast.Module | Finding:
    """The syntax tree, or the finding that there is none."""
    try:
        tree = ast.parse(normalise(source))
        compile(tree, "<module>", "exec", dont_inherit=True)  # finds `return` at the top level; runs nothing
    except SyntaxError as error:
        return Finding(Reason.SYNTAX_ERROR, f"line {error.lineno}: {error.msg}", error.lineno or 0)
    except (ValueError, RecursionError, MemoryError) as error:  # a null byte, nesting beyond the parser's stack
        return Finding(Reason.SYNTAX_ERROR, f"cannot be parsed: {error or type(error).__name__}")
    return tree


def check_length(source: str, tree: ast.Module) -> list[Finding]:
    """A proposal's size has a limit; a suite's or a user's module has none."""
    nodes = sum(1 for _ in ast.walk(tree))
    if len(source) > MAX_CHARACTERS:
        return [Finding(Reason.TOO_LONG, f"{len(source)} characters; the limit is {MAX_CHARACTERS}")]
    if nodes > MAX_NODES:
        return [Finding(Reason.TOO_LONG, f"{nodes} syntax nodes; the limit is {MAX_NODES}")]
    return []


def check_contract(tree: ast.Module, exact: bool = True) -> list[Finding]:
    """Every way in which a source departs from the task format, the gravest first; [] when it keeps to it."""
    definitions = [n for n in tree.body if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)]
    by_name = {node.name: node for node in definitions}
    findings = [
        Finding(reason, f"{name} is not defined at the top level")
        for name, reason in _PARTS.items()
        if not isinstance(by_name.get(name), ast.ClassDef if name == "Model" else ast.FunctionDef)
    ]
    if findings:
        return findings
    names = Names.of(tree)
    model = by_name["Model"]
    if not _is_module(model, names, by_name):
        findings.append(Finding(Reason.NOT_A_MODULE, "class Model does not derive from torch.nn.Module", model.lineno))
    methods = {n.name: n for n in model.body if isinstance(n, ast.FunctionDef)}
    inherits = any(isinstance(base, ast.Name) and base.id in by_name for base in model.bases)
    if "forward" not in methods and not inherits:
        return [*findings, Finding(Reason.NO_FORWARD, "class Model has no method forward", model.lineno)]
    findings += _signatures(by_name, methods)
    findings += _doubles(definitions, model)
    if not exact:
        return findings
    findings += [
        Finding(Reason.EXTRA_DEFINITION, f"{n.name} is defined beside the contract", n.lineno)
        for n in definitions
        if n.name not in _PARTS
    ]
    findings += [
        Finding(Reason.EXTRA_STATEMENT, "a top-level statement that is no import, definition or constant", n.lineno)
        for position, n in enumerate(tree.body)
        if not _allowed(n, position)
    ]
    return findings


def _is_module(node: ast.ClassDef, names: Names, classes: dict, seen: tuple[str, ...] = ()) -> bool:
    for base in node.bases:
        path = names.resolve(base, set())
        if path and path.startswith("torch.nn.") and path.rsplit(".", 1)[1][0].isupper():
            return True
        if isinstance(base, ast.Name) and base.id not in seen and isinstance(classes.get(base.id), ast.ClassDef):
            return _is_module(classes[base.id], names, classes, (*seen, node.name, base.id))
    return False


def _signatures(by_name: dict, methods: dict[str, ast.FunctionDef]) -> list[Finding]:
    found = []
    for name in ("get_inputs", "get_init_inputs"):
        function = by_name[name]
        if _required(function) or function.args.kwonlyargs or function.decorator_list:
            found.append(
                Finding(Reason.WRONG_SIGNATURE, f"{name} must take no arguments and no decorator", function.lineno)
            )
        elif not any(isinstance(n, ast.Return) and n.value is not None for n in ast.walk(function)):
            found.append(Finding(Reason.WRONG_SIGNATURE, f"{name} returns nothing", function.lineno))
    for method, source in (("forward", "get_inputs"), ("__init__", "get_init_inputs")):
        function = methods.get(method)
        if function is None:
            continue
        if function.decorator_list or not function.args.args:
            found.append(Finding(Reason.WRONG_SIGNATURE, f"{method} must be a plain method with self", function.lineno))
            continue
        given, least = _list_length(by_name[source]), len(_required(function)) - 1
        most = len(function.args.posonlyargs + function.args.args) - 1 if function.args.vararg is None else 10**6
        if given is not None and not least <= given <= most:
            detail = (
                f"{method} takes {least if least == most else f'{least} to {most}'} arguments, {source} gives {given}"
            )
            found.append(Finding(Reason.WRONG_SIGNATURE, detail, function.lineno))
        if method == "forward" and most == 0:
            found.append(Finding(Reason.WRONG_SIGNATURE, "forward takes no input", function.lineno))
    return found


def _required(function: ast.FunctionDef) -> list[ast.arg]:
    """Positional arguments without a default, self included."""
    positional = function.args.posonlyargs + function.args.args
    return positional[: len(positional) - len(function.args.defaults)]


def _list_length(function: ast.FunctionDef) -> int | None:
    """How many values the function returns, when its only return is a list or tuple written out."""
    returns = [n.value for n in ast.walk(function) if isinstance(n, ast.Return)]
    if len(returns) == 1 and isinstance(returns[0], ast.List | ast.Tuple):
        items = returns[0].elts
        return None if any(isinstance(item, ast.Starred) for item in items) else len(items)
    return None


def _doubles(definitions: list, model: ast.ClassDef) -> list[Finding]:
    found = []
    for group in (definitions, [n for n in model.body if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]):
        seen = set()
        for node in group:
            if node.name in seen:
                found.append(Finding(Reason.DUPLICATE_DEFINITION, f"{node.name} is defined twice", node.lineno))
            seen.add(node.name)
    return found


def _allowed(node: ast.stmt, position: int) -> bool:
    if isinstance(node, ast.Import | ast.ImportFrom | ast.FunctionDef | ast.ClassDef):
        return True
    if isinstance(node, ast.Expr):  # the docstring
        return position == 0 and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
    if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        return all(_constant_target(t) for t in targets) and is_literal(node.value)
    return False


def _constant_target(target: ast.expr) -> bool:
    if isinstance(target, ast.Tuple):
        return all(_constant_target(item) for item in target.elts)
    return isinstance(target, ast.Name) and target.id not in _PARTS


def is_literal(node: ast.expr) -> bool:
    """Numbers, text, names of other constants, and tuples, lists and arithmetic of them: nothing that calls."""
    parts = (
        ast.Constant,
        ast.Name,
        ast.Tuple,
        ast.List,
        ast.BinOp,
        ast.UnaryOp,
        ast.operator,
        ast.unaryop,
        ast.expr_context,
    )
    return all(isinstance(part, parts) for part in ast.walk(node))
