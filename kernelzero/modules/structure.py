"""The structure of a module: what forward computes, as a sequence of tokens in which spelling no longer shows.

Names of variables, layout, intermediate assignments and the order of commuting operands disappear: `y =
torch.relu(x)` then `return F.softmax(y, 1)` and `return torch.softmax(x.relu(), dim=-1)` are one structure.
Straight-line code is substituted away; loops and branches keep their statements. Two grades:
- abstract (for nearness): operators by family (F.relu, torch.relu, nn.ReLU are `relu`), numbers are `#`, sizes are
  gone;
- exact (for repeats): canonical API names and numbers stay, and so do the inputs that get_inputs makes.
It is no proof of equality: rewriting softmax by hand gives another structure.
"""

import ast

from kernelzero.apis.extract import reached
from kernelzero.apis.flow import OPERATORS
from kernelzero.apis.names import Names, is_torch
from kernelzero.apis.vocabulary import canonical, short
from kernelzero.source import normalise

Tokens = tuple[str, ...]
_COMMUTE = {"torch.add", "torch.mul", "torch.maximum", "torch.minimum", "torch.eq", "torch.ne"}
_ARITHMETIC = {canonical(symbol) for symbol in OPERATORS.values()}
_FRAMES = {"(function", "(item", "(apply", "(sequence", "(setitem"}
_LONGEST = 300  # tokens of a value that is still substituted; a longer one gets a name, or x = x + x would explode
_SKIPPED_ATTRIBUTES = {"values", "indices"}
_NUMERIC_ATTRIBUTES = {"shape", "ndim", "dtype", "device"}


def structure(source: str, abstract: bool = True) -> Tokens:
    """The tokens of class Model's computation; () without such a class. Raises SyntaxError.

    abstract: without names, numbers and sizes; else the exact grade, which begins with `inputs_structure`.
    """
    tree = ast.parse(normalise(source))
    names = Names.of(tree)
    model = names.classes.get("Model")
    if model is None:
        return ()
    reader = _reader(tree, names, abstract)
    methods = {n.name: n for n in model.body if isinstance(n, ast.FunctionDef)}
    reader.build([methods[name] for name in sorted(reached("__init__", methods))])
    for name in ["forward", *sorted(reached("forward", methods) - {"forward"})]:
        if name in methods:
            reader.function(methods[name], method=True)
    return (() if abstract else inputs_structure(source)) + tuple(reader.out)


def inputs_structure(source: str) -> Tokens:
    """The tokens, numbers included, of what get_inputs and get_init_inputs make. Raises SyntaxError."""
    tree = ast.parse(normalise(source))
    names = Names.of(tree)
    reader = _reader(tree, names, abstract=False)
    for name in ("get_inputs", "get_init_inputs"):
        if name in names.functions:
            reader.function(names.functions[name], method=False)
    return tuple(reader.out)


def operators(tokens: Tokens) -> int:
    """How many operators a structure holds."""
    return sum(token.startswith("(") and token[1:2].isalpha() and token not in _FRAMES for token in tokens)


def _reader(tree: ast.Module, names: Names, abstract: bool) -> "_Reader":
    """A reader that knows the constants of the top level."""
    reader = _Reader(names, abstract)
    for node in tree.body:
        if isinstance(node, ast.Assign) and not any(isinstance(n, ast.Call) for n in ast.walk(node.value)):
            reader.bind(node.targets, reader.read(node.value))
    return reader


class _Reader:
    """Symbolic reading of functions: `env` maps a name to the tokens of its value, `out` collects what was returned."""

    def __init__(self, names: Names, abstract: bool):
        self.names, self.abstract = names, abstract
        self.constants: dict[str, Tokens] = {}
        self.env: dict[str, Tokens] = self.constants
        self.parts: dict[str, Tokens] = {}  # attribute of self -> the operator (or its value) that __init__ gave it
        self.out: list[str] = []
        self.named = 0
        self.inside = ""  # name that self has in the function that is read

    # -- functions and statements --------------------------------------------------------------------------------------
    def build(self, methods: list[ast.FunctionDef]) -> None:
        """Reads what the attributes of self are built of; the rest of __init__ leaves no tokens."""
        for method in methods:
            self._enter(method, method=True, prefix="init")
            keep, self.out = self.out, []
            self._statements(method.body)
            self.out = keep

    def function(self, function: ast.FunctionDef, method: bool) -> None:
        self._enter(function, method, prefix="in")
        self.out.append("(function")
        self._statements(function.body)
        self.out.append(")")

    def _enter(self, function: ast.FunctionDef, method: bool, prefix: str) -> None:
        arguments = [a.arg for a in [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]]
        self.env = dict(self.constants)
        self.inside = arguments[0] if method and arguments else ""
        for position, name in enumerate(arguments[1:] if method else arguments):
            number = self.abstract and prefix == "init"  # constructor arguments are sizes
            self.env[name] = ("#",) if number else (f"{prefix}{position}",)

    def _statements(self, body: list[ast.stmt]) -> None:
        for node in body:
            match node:
                case ast.Assign(targets=targets, value=value):
                    self.bind(targets, self.read(value))
                case ast.AnnAssign(target=target, value=value) if value is not None:
                    self.bind([target], self.read(value))
                case ast.AugAssign(target=target, op=op, value=value):
                    loaded = ast.BinOp(left=_load(target), op=op, right=value)
                    self.bind([target], self.read(loaded))
                case ast.Return(value=value):
                    self.out += ["return", *(self.read(value) if value else ())]
                case ast.Expr(value=value):
                    self._effect(value)
                case ast.For(target=target, iter=iterable):
                    self.out += ["for", *self.read(iterable)]
                    self.bind([target], ("item",))
                    self._block(node.body, [target])
                case ast.While(test=test) | ast.If(test=test):
                    self.out += [type(node).__name__.lower(), *self.read(test)]
                    self._block(node.body)
                    if node.orelse:
                        self.out.append("else")
                        self._block(node.orelse)
                case ast.With():
                    self._statements(node.body)

    def _block(self, body: list[ast.stmt], targets: list[ast.expr] = ()) -> None:
        """A branch or loop: names that it binds are written out, since what they hold depends on the way taken."""
        before = dict(self.env)
        self._statements(body)
        for name in sorted(self.env):
            if self.env[name] != before.get(name) and before.get(name):
                self.out += ["set", *self.env[name]]
                self.named += 1
                self.env[name] = (f"t{self.named}",)
        self.out.append("end")

    def bind(self, targets: list[ast.expr], value: Tokens) -> None:
        if len(value) > _LONGEST:
            self.named += 1
            self.out += [f"t{self.named}", "=", *value]
            value = (f"t{self.named}",)
        for target in targets:
            if isinstance(target, ast.Name):
                self.env[target.id] = value
            elif isinstance(target, ast.Tuple | ast.List):
                for position, item in enumerate(target.elts):
                    self.bind([item], ("part", str(position), *value))
            elif isinstance(target, ast.Attribute) and self._on_self(target):
                self.parts[target.attr] = value
            elif isinstance(target, ast.Subscript):
                base = target.value.id if isinstance(target.value, ast.Name) else ""
                self.env[base] = ("(setitem", *self.read(target.value), *self.read(target.slice), *value, ")")

    def _effect(self, value: ast.expr) -> None:
        """An in-place method rebinds its receiver; `layers.append(..)` too; anything else pure leaves nothing."""
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
            receiver, method = value.func.value, value.func.attr
            if method in ("register_buffer", "register_parameter", "add_module") and self._on_self(value.func):
                if len(value.args) > 1 and isinstance(value.args[0], ast.Constant):
                    self.parts[str(value.args[0].value)] = self.read(value.args[1])
            elif (
                isinstance(receiver, ast.Name)
                and receiver.id in self.env
                and (method.endswith("_") or method == "append")
            ):
                self.env[receiver.id] = self.read(value)

    # -- expressions ---------------------------------------------------------------------------------------------------
    def read(self, node: ast.expr) -> Tokens:
        match node:
            case ast.Constant(value=value):
                number = isinstance(value, int | float) and not isinstance(value, bool)
                return ("#",) if self.abstract and number else (repr(value),)
            case ast.Name(id=name):
                if name in self.env:
                    return self.env[name]
                path = self.names.resolve(node, set())
                return (self._family(path),) if path else ("self",) if name == self.inside else ("name",)
            case ast.Attribute():
                return self._attribute(node)
            case ast.Call():
                return self._call(node)
            case ast.BinOp(left=a, op=op, right=b):
                return self._operator(
                    canonical(OPERATORS.get(type(op), "")) or type(op).__name__, [self.read(a), self.read(b)]
                )
            case ast.UnaryOp(op=op, operand=a):
                inner = self.read(a)
                if isinstance(op, ast.USub):
                    if len(inner) == 1 and isinstance(a, ast.Constant):
                        return inner if self.abstract else (f"-{inner[0]}",)
                    return self._operator("torch.neg", [inner])
                return self._operator(type(op).__name__, [inner])
            case ast.Compare(left=a, ops=ops, comparators=rest):
                name = canonical(OPERATORS.get(type(ops[0]), "")) or type(ops[0]).__name__
                return self._operator(name, [self.read(a), *(self.read(b) for b in rest)])
            case ast.Starred(value=value):
                return self.read(value)
            case ast.Subscript(value=value, slice=index):
                base = self.read(value)
                return ("#",) if base == ("#",) else ("(item", *base, *self.read(index), ")")
            case ast.List(elts=items) | ast.Tuple(elts=items):
                tokens = [t for item in items for t in self.read(item)]
                return ("#",) if self.abstract and items and set(tokens) == {"#"} else ("[", *tokens, "]")
        children = [t for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr) for t in self.read(child)]
        return (f"({type(node).__name__}", *children, ")")

    def _on_self(self, node: ast.Attribute) -> bool:
        return isinstance(node.value, ast.Name) and bool(self.inside) and node.value.id == self.inside

    def _attribute(self, node: ast.Attribute) -> Tokens:
        path = self.names.resolve(node, set(self.env))
        if path:
            return (self._family(path),)
        if self._on_self(node):
            return self.parts.get(node.attr, ("attribute",))
        base = self.read(node.value)
        if node.attr in _NUMERIC_ATTRIBUTES and self.abstract:
            return ("#",)
        if node.attr in ("T", "mT", "H"):
            return self._operator("torch.transpose", [base])
        if node.attr in _SKIPPED_ATTRIBUTES and self.abstract:
            return ("(item", *base, "#", ")")
        return (f"(.{node.attr}", *base, ")")

    def _call(self, node: ast.Call) -> Tokens:
        arguments = [self.read(a) for a in node.args]
        keywords = {k.arg or "**": self.read(k.value) for k in node.keywords}
        path = self.names.resolve(node.func, set(self.env))
        if path and is_torch(path):
            if short(path) in ("nn.Sequential", "nn.ModuleList"):
                return ("(sequence", *(t for a in arguments for t in a), ")")
            return self._operator(canonical(path) or short(path), arguments, keywords)
        if isinstance(node.func, ast.Attribute) and not path:
            if self._on_self(node.func):
                return _apply(self.parts.get(node.func.attr, ("method",)), [t for a in arguments for t in a])
            name = canonical(f"Tensor.{node.func.attr}") or f".{node.func.attr}"
            return self._operator(name, [self.read(node.func.value), *arguments], keywords)
        if isinstance(node.func, ast.Call):  # nn.ReLU()(x)
            return _apply(self.read(node.func), [t for a in arguments for t in a])
        name = node.func.id if isinstance(node.func, ast.Name) and node.func.id not in self.env else "call"
        name = "helper" if name in self.names.functions or name in self.names.classes else name
        return self._operator(path or name, arguments, keywords)

    def _operator(self, name: str, arguments: list[Tokens], keywords: dict[str, Tokens] | None = None) -> Tokens:
        if self.abstract and arguments and all(a == ("#",) for a in arguments) and name in _ARITHMETIC:
            return ("#",)  # arithmetic of sizes
        if name in _COMMUTE:
            arguments = sorted(arguments)
        if self.abstract and name not in _ARITHMETIC:  # dim=-1, (1,), 3: sizes; a text such as 'tanh' stays
            arguments = [a for a in arguments if a not in (("#",), ("None",))]
            keywords = {
                k: v for k, v in (keywords or {}).items() if v not in (("#",), ("None",), ("True",), ("False",))
            }
        tail = [t for key, value in sorted((keywords or {}).items()) for t in (f"{key}=", *value)]
        return (f"({self._family(name)}", *(t for a in arguments for t in a), *tail, ")")

    def _family(self, name: str) -> str:
        if not self.abstract:
            return canonical(name) or short(name)
        return (canonical(name) or name).rsplit(".", 1)[-1].lower().replace("_", "")


def _apply(part: Tokens, arguments: list[str]) -> Tokens:
    """A module's tokens called on arguments: (relu ) on x is (relu x ); a sequence is applied part after part."""
    if part == ("#",):
        return part
    if part[0] == "(sequence":
        value = list(arguments)
        for item in _items(part[1:-1]):
            value = list(_apply(item, value))
        return tuple(value)
    if part[0].startswith("(") and part[0][1:2].isalpha():
        return (part[0], *arguments, *part[1:])
    return ("(apply", *part, *arguments, ")")


def _items(tokens: Tokens) -> list[Tokens]:
    """The top-level items of a run of tokens, by their brackets."""
    items, depth, current = [], 0, []
    for token in tokens:
        current.append(token)
        depth += token.startswith(("(", "[")) - (token in (")", "]"))
        if depth == 0:
            items.append(tuple(current))
            current = []
    return items


def _load(target: ast.expr) -> ast.expr:
    """The target of an augmented assignment as a value."""
    return ast.parse(ast.unparse(target), mode="eval").body
