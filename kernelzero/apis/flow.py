"""The APIs that one function computes with: names, tensor methods, operators, and whether their value can matter.

A light look at kinds (tensor, number, module, other) keeps `x.shape[0] * 2`, `"a".split()` and `self.relu(x)` out.
An API counts only where its value can reach a return, a condition or a store: the rest is reported as dead. Both
looks ignore the order of statements (`x = relu(x); x = y` counts relu), and `0 * sin(x)` counts sin: this is
reading, not proving.
"""

import ast
from dataclasses import dataclass, field

from kernelzero.apis.names import Names, is_torch, unknown_api
from kernelzero.apis.vocabulary import canonical

TENSOR, NUMBER, MODULE, OTHER, UNKNOWN = "tensor", "number", "module", "other", "unknown"
OPERATORS = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.Pow: "**",
    ast.MatMult: "@",
    ast.Mod: "%",
    ast.FloorDiv: "//",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.USub: "unary -",
}
_NUMBER_ATTRIBUTES = {"shape", "ndim", "dtype", "device", "training", "is_cuda", "itemsize", "layout", "requires_grad"}
_NUMBER_METHODS = {"size", "dim", "numel", "item", "stride", "nelement", "element_size", "is_contiguous", "tolist"}
_NUMBER_CALLS = {"len", "int", "float", "bool", "range", "isinstance", "str", "type"}
_EVERY_PART = {"children", "named_children", "modules", "named_modules", "_modules"}
_PROPERTIES = {"T", "mT", "H"}
_NOT_TENSORS = {"torch.device", "torch.Size", "torch.finfo", "torch.iinfo", "torch.is_tensor", "torch.no_grad"}


@dataclass
class Found:
    """What a function uses: apis, dead apis, unknown torch names; attributes of self and top-level names that it
    loads."""

    apis: set[str] = field(default_factory=set)
    dead: set[str] = field(default_factory=set)
    unknown: set[str] = field(default_factory=set)
    attributes: set[str] = field(default_factory=set)
    helpers: set[str] = field(default_factory=set)
    all_attributes: bool = False  # `self` itself escapes, as in self.children(): every attribute may be used


class Flow:
    """One function. attributes: kind of every attribute of self; forward: its parameters are tensors unless
    annotated."""

    def __init__(
        self, function: ast.FunctionDef, names: Names, attributes: dict[str, str], forward: bool, method: bool
    ):
        self.names, self.attributes, self.function = names, attributes, function
        arguments = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
        self.self_name = arguments[0].arg if method and arguments else None
        self.kinds: dict[str, str] = {}
        self.aliases: dict[str, str] = {}
        for argument in arguments[1:] if self.self_name else arguments:
            self.kinds[argument.arg] = _annotated(argument.annotation) or (TENSOR if forward else UNKNOWN)
        for extra in (function.args.vararg, function.args.kwarg):
            if extra:
                self.kinds[extra.arg] = UNKNOWN
        self.statements = list(_statements(function.body))
        for _ in range(2):  # a second time for loops: a kind may come from a later line
            for statement in self.statements:
                self._bind(statement)

    def find(self) -> Found:
        found, live = Found(), self.live()
        for statement in self.statements:
            part = Found()
            for expression in _expressions(statement):
                self._collect(expression, part)
            if isinstance(statement, ast.AugAssign) and self.kind(statement.target) in (TENSOR, UNKNOWN):
                part.apis.add(canonical(OPERATORS.get(type(statement.op), "")) or "")
            if self._matters(statement, live):
                found.apis |= part.apis - {""}
                found.unknown |= part.unknown
                found.attributes |= part.attributes
                found.helpers |= part.helpers
                found.all_attributes |= part.all_attributes
            else:
                found.dead |= part.apis - {""}
        return found

    # -- kinds ---------------------------------------------------------------------------------------------------------
    def _bind(self, statement: ast.stmt) -> None:
        if isinstance(statement, ast.Assign):
            for target in statement.targets:
                self._bind_target(target, statement.value)
        elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
            self._bind_target(statement.target, statement.value)
        elif isinstance(statement, ast.For | ast.AsyncFor):
            kind = self.kind(statement.iter)
            for name in _target_names(statement.target):
                self.kinds[name] = NUMBER if kind == NUMBER else UNKNOWN
        elif isinstance(statement, ast.FunctionDef):
            self.kinds[statement.name] = OTHER

    def _bind_target(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Name):
            path = self.resolve(value)
            if path and is_torch(path):
                self.aliases[target.id] = path
            else:
                self.kinds[target.id] = self.kind(value)
        elif isinstance(target, ast.Tuple | ast.List):
            whole = self.kind(value)
            for position, item in enumerate(target.elts):
                for name in _target_names(item):
                    pair = isinstance(value, ast.Tuple) and len(value.elts) == len(target.elts)
                    self.kinds[name] = self.kind(value.elts[position]) if pair else whole if whole != OTHER else UNKNOWN

    def resolve(self, node: ast.expr) -> str | None:
        hidden = set(self.kinds) | ({self.self_name} if self.self_name else set())
        return self.names.resolve(node, hidden, self.aliases)

    def kind(self, node: ast.expr) -> str:
        """tensor, number (also shapes, dtypes, devices), module, other (text, lists, functions) or unknown."""
        match node:
            case ast.Constant(value=value):
                return OTHER if isinstance(value, str | bytes) else NUMBER
            case ast.Name(id=name):
                return self.kinds.get(name, OTHER if self.resolve(node) or name in self.names.functions else UNKNOWN)
            case ast.Attribute():
                return self._attribute_kind(node)
            case ast.Subscript(value=value):
                inner = self.kind(value)
                return UNKNOWN if inner == OTHER else inner
            case ast.BinOp(left=a, right=b):
                return _join(self.kind(a), self.kind(b))
            case ast.UnaryOp(operand=a):
                return self.kind(a)
            case ast.Compare(left=a, comparators=rest):
                return _join(self.kind(a), *(self.kind(b) for b in rest))
            case ast.IfExp(body=a, orelse=b):
                return _join(self.kind(a), self.kind(b))
            case ast.Call():
                return self._call_kind(node)
            case ast.List() | ast.Tuple() | ast.Dict() | ast.Set() | ast.JoinedStr() | ast.Lambda() | ast.ListComp():
                return OTHER
        return UNKNOWN

    def _attribute_kind(self, node: ast.Attribute) -> str:
        if node.attr in _NUMBER_ATTRIBUTES:
            return NUMBER
        if self._is_self(node.value):
            return self.attributes.get(node.attr, UNKNOWN)
        path = self.resolve(node)
        if path:
            return NUMBER if path.startswith(("math.", "torch.")) else OTHER  # math.pi, torch.float32, torch.inf
        return TENSOR if node.attr in _PROPERTIES | {"weight", "bias", "data", "values"} else UNKNOWN

    def _call_kind(self, node: ast.Call) -> str:
        path = self.resolve(node.func)
        if path:
            return NUMBER if path.startswith("math.") or path in _NOT_TENSORS else TENSOR if is_torch(path) else UNKNOWN
        if isinstance(node.func, ast.Name):
            if node.func.id in _NUMBER_CALLS:
                return NUMBER
            if node.func.id in ("abs", "min", "max", "sum", "round", "pow") and node.args:
                return _join(*(self.kind(a) for a in node.args))
        elif isinstance(node.func, ast.Attribute):
            if node.func.attr in _NUMBER_METHODS:
                return NUMBER
            if self._is_self(node.func.value):
                if self.attributes.get(node.func.attr) == MODULE:
                    return TENSOR
            elif self.kind(node.func.value) == TENSOR:
                return TENSOR
        # a function of ours: what takes a tensor is taken to give one
        return TENSOR if TENSOR in {self.kind(a) for a in node.args} else UNKNOWN

    def _is_self(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Name) and self.self_name is not None and node.id == self.self_name

    # -- what counts ---------------------------------------------------------------------------------------------------
    def _collect(self, node: ast.AST, found: Found) -> None:
        path = self.resolve(node) if isinstance(node, ast.Name | ast.Attribute) else None
        if path:
            name = canonical(path)
            if name:
                found.apis.add(name)
            elif unknown := unknown_api(path):
                found.unknown.add(unknown)
            return  # the chain is one name: its parts are no uses of their own
        if isinstance(node, ast.Name):
            if node.id in self.names.functions or node.id in self.names.classes:
                found.helpers.add(node.id)
            elif self._is_self(node):
                found.all_attributes = True
            return
        if isinstance(node, ast.Attribute) and self._is_self(node.value):
            found.attributes.add(node.attr)
            found.all_attributes |= node.attr in _EVERY_PART
            return
        self._operators(node, found)
        if isinstance(node, ast.Call):
            self._call(node, found)
        elif (
            isinstance(node, ast.Attribute) and node.attr in _PROPERTIES and self.kind(node.value) in (TENSOR, UNKNOWN)
        ):
            found.apis.add(canonical(f"Tensor.{node.attr}") or "")
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr | ast.comprehension | ast.keyword | ast.Slice):
                self._collect(child, found)

    def _call(self, node: ast.Call, found: Found) -> None:
        if isinstance(node.func, ast.Attribute) and not self._is_self(node.func.value) and not self.resolve(node.func):
            name = canonical(f"Tensor.{node.func.attr}")
            if name and self.kind(node.func.value) in (TENSOR, UNKNOWN):
                found.apis.add(name)
        elif (
            isinstance(node.func, ast.Name) and node.func.id in {"abs", "pow", "round"} - set(self.kinds) and node.args
        ):
            found.apis |= {f"torch.{node.func.id}"} if self.kind(node.args[0]) == TENSOR else set()

    def _operators(self, node: ast.AST, found: Found) -> None:
        """Elementary arithmetic counts (x + y is torch.add) where an operand may be a tensor; comparisons where one
        is."""
        if isinstance(node, ast.BinOp | ast.UnaryOp) and type(node.op) in OPERATORS:
            if self.kind(node) in (TENSOR, UNKNOWN) and not isinstance(getattr(node, "operand", None), ast.Constant):
                found.apis.add(canonical(OPERATORS[type(node.op)]) or "")
        elif isinstance(node, ast.Compare) and self.kind(node) == TENSOR:
            found.apis |= {canonical(OPERATORS[type(op)]) or "" for op in node.ops if type(op) in OPERATORS}

    # -- liveness ------------------------------------------------------------------------------------------------------
    def live(self) -> set[str]:
        """Names whose value can reach a return, a condition, an iteration or a store (order of statements ignored)."""
        live: set[str] = set()
        while True:
            size = len(live)
            for statement in self.statements:
                if self._matters(statement, live):
                    for expression in _expressions(statement):
                        live |= {n.id for n in ast.walk(expression) if isinstance(n, ast.Name)}
            if len(live) == size:
                return live

    def _matters(self, statement: ast.stmt, live: set[str]) -> bool:
        if isinstance(statement, ast.Assign | ast.AnnAssign | ast.AugAssign):
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            names = {name for target in targets for name in _target_names(target)}
            stores = any(not isinstance(t, ast.Name | ast.Tuple | ast.List) for t in targets)
            return stores or bool(names & live)
        if isinstance(statement, ast.Expr):
            return self._has_effect(statement.value)
        return True

    def _has_effect(self, value: ast.expr) -> bool:
        """An expression statement matters when it may change something: an in-place method, or a call we do not
        know."""
        if not isinstance(value, ast.Call):
            return False
        path = self.resolve(value.func)
        if path:
            return not canonical(path) or path.endswith("_")
        if isinstance(value.func, ast.Attribute) and not self._is_self(value.func.value):
            return value.func.attr.endswith("_") or canonical(f"Tensor.{value.func.attr}") is None
        return not isinstance(value.func, ast.Attribute)


def _join(*kinds: str) -> str:
    for kind in (TENSOR, UNKNOWN, MODULE):
        if kind in kinds:
            return kind
    return OTHER if OTHER in kinds else NUMBER


def _annotated(annotation: ast.expr | None) -> str | None:
    """Kind that an annotation states: int, float, bool are numbers, str is text; everything else says nothing."""
    if isinstance(annotation, ast.Name):
        return NUMBER if annotation.id in ("int", "float", "bool") else OTHER if annotation.id == "str" else None
    return None


def _statements(body: list[ast.stmt]):
    """Every statement of a function, those inside blocks and nested functions included, in order."""
    for statement in body:
        yield statement
        for name in ("body", "orelse", "finalbody"):
            yield from _statements(getattr(statement, name, []) or [])
        for handler in getattr(statement, "handlers", []):
            yield from _statements(handler.body)


def _expressions(statement: ast.stmt):
    """The expressions of a statement itself, without those of the statements inside it and without annotations."""
    if isinstance(statement, ast.AnnAssign):
        return [statement.value] if statement.value else []
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Import | ast.ImportFrom):
        return []
    found = [child for child in ast.iter_child_nodes(statement) if isinstance(child, ast.expr)]
    if isinstance(statement, ast.With | ast.AsyncWith):
        found += [item.context_expr for item in statement.items]
    if isinstance(statement, ast.Assign):
        found = [statement.value, *(t for t in statement.targets if not isinstance(t, ast.Name))]
    return found


def _target_names(target: ast.expr) -> list[str]:
    return [node.id for node in ast.walk(target) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]
